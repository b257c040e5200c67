//! Float resize with antialias, within 3e-5 of torch's float32 path (no rounding, no clamping).
//!
//! Weights as torch computes them, in f32. Sums run in f32 along each axis; torch sums horizontally first, here the pass that
//! leaves less between the passes comes first: with real numbers the result is the same, in f32 it moves by about 1e-7.
//! One difference is meant: torch 2.15 repeats a row when the result is a single column wide; the formula is followed here.
//! Bytes are read as they are and scaled by `factor` on the way, so a photograph is never copied as floats.
//! Source: ATen `UpSampleKernel.cpp` (separable antialias, scalar type float).

use std::ops::Range;

use pulp::{Arch, NullaryFnOnce};

use crate::filters::{Axis, Filter, LANES, Weights};
use crate::resize_u8::Target;

/// A stored sample that can be read as a float.
pub(crate) trait Sample: Copy + Send + Sync {
    fn to_f32(self) -> f32;
}

impl Sample for u8 {
    #[inline(always)]
    fn to_f32(self) -> f32 {
        f32::from(self)
    }
}

impl Sample for f32 {
    #[inline(always)]
    fn to_f32(self) -> f32 {
        self
    }
}

/// `height × width × channels` samples, interleaved, each to be multiplied by `factor`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Floats<'a, T> {
    pub(crate) data: &'a [T],
    pub(crate) height: usize,
    pub(crate) width: usize,
    pub(crate) channels: usize,
    pub(crate) factor: f32,
}

/// Samples that the vertical pass handles at once.
const BLOCK: usize = 64;

/// Floats that are kept between the passes, as far as a single row or column allows: the window is computed in parts, of
/// rows where the vertical pass comes first, of columns where the horizontal one does.
const MAX_BETWEEN: usize = 1 << 24;

/// The window of the resized picture, `rows × columns × channels` interleaved.
pub(crate) fn resize<T: Sample>(
    arch: Arch,
    source: Floats<'_, T>,
    target: &Target,
    filter: Filter,
) -> Vec<f32> {
    let axis = |input, output, window: &Range<usize>| {
        (input != output).then(|| Axis { filter, input, output }.weights::<f32>(window.clone()))
    };
    let vertical = axis(source.height, target.height, &target.rows);
    let horizontal = axis(source.width, target.width, &target.columns);
    let rows = vertical.as_ref().map_or(target.rows.clone(), Weights::inputs);
    let columns = horizontal.as_ref().map_or(target.columns.clone(), Weights::inputs);
    let inside = crop(&source, &rows, &columns);
    let down = Pass { arch, first: rows.start, weights: vertical.as_ref() };
    let along = Pass { arch, first: columns.start, weights: horizontal.as_ref() };

    let (out_rows, out_columns, channels) = (target.rows.len(), target.columns.len(), source.channels);
    let row_len = out_columns * channels;
    let mut out = vec![0.0; out_rows * row_len];
    // The vertical pass runs along whole rows and is the faster one: it comes first unless it leaves far more behind.
    if out_rows * columns.len() <= 4 * rows.len() * out_columns {
        let step = (MAX_BETWEEN / inside.len).max(1);
        for (part, out) in parts(out_rows, step).zip(out.chunks_mut(step * row_len)) {
            let mut between = Owned::new(part.len(), inside.len, channels);
            down.down(inside, part, between.lines());
            along.along(
                between.view(),
                0..out_columns,
                Lines { data: out, stride: row_len, part: 0..row_len },
            );
        }
    } else {
        let step = (MAX_BETWEEN / (inside.rows * channels)).max(1);
        for part in parts(out_columns, step) {
            let mut between = Owned::new(inside.rows, part.len() * channels, channels);
            along.along(inside, part.clone(), between.lines());
            let part = part.start * channels..part.end * channels;
            down.down(between.view(), 0..out_rows, Lines { data: &mut out, stride: row_len, part });
        }
    }
    out
}

/// `0..len` in runs of `step`.
fn parts(len: usize, step: usize) -> impl Iterator<Item = Range<usize>> {
    (0..len).step_by(step).map(move |start| start..len.min(start.saturating_add(step)))
}

/// A part of a picture: rows of `len` samples, `stride` apart.
#[derive(Clone, Copy)]
struct View<'a, T> {
    data: &'a [T],
    rows: usize,
    len: usize,
    stride: usize,
    channels: usize,
    factor: f32,
}

/// A picture of floats between the passes.
struct Owned {
    data: Vec<f32>,
    rows: usize,
    len: usize,
    channels: usize,
}

impl Owned {
    fn new(rows: usize, len: usize, channels: usize) -> Self {
        Self { data: vec![0.0; rows * len], rows, len, channels }
    }

    fn lines(&mut self) -> Lines<'_> {
        Lines { part: 0..self.len, stride: self.len, data: &mut self.data }
    }

    fn view(&self) -> View<'_, f32> {
        let &Self { rows, len, channels, .. } = self;
        View { data: &self.data, rows, len, stride: len, channels, factor: 1.0 }
    }
}

impl<'a, T> View<'a, T> {
    #[inline(always)]
    fn row(&self, y: usize) -> &'a [T] {
        &self.data[y * self.stride..][..self.len]
    }
}

fn crop<'a, T>(source: &Floats<'a, T>, rows: &Range<usize>, columns: &Range<usize>) -> View<'a, T> {
    let &Floats { width, channels, factor, .. } = source;
    let data = &source.data[(rows.start * width + columns.start) * channels..];
    let (len, stride) = (columns.len() * channels, width * channels);
    View { data, rows: rows.len(), len, stride, channels, factor }
}

/// Where a pass writes: the samples `part` of rows of `stride`.
struct Lines<'a> {
    data: &'a mut [f32],
    stride: usize,
    part: Range<usize>,
}

impl<'a> Lines<'a> {
    #[inline(always)]
    fn rows(self) -> impl Iterator<Item = &'a mut [f32]> {
        let part = self.part;
        self.data.chunks_exact_mut(self.stride).map(move |row| &mut row[part.clone()])
    }
}

/// A pass along one axis; without weights the samples are copied.
#[derive(Clone, Copy)]
struct Pass<'a> {
    arch: Arch,
    /// The input row or column that the view starts at.
    first: usize,
    weights: Option<&'a Weights<f32>>,
}

impl Pass<'_> {
    /// The rows `part` of the window.
    fn down<T: Sample>(self, view: View<'_, T>, part: Range<usize>, out: Lines<'_>) {
        self.arch.dispatch(Down { view, first: self.first, weights: self.weights, part, out });
    }

    /// The columns `part` of the window, in every row of the view.
    fn along<T: Sample>(self, view: View<'_, T>, part: Range<usize>, out: Lines<'_>) {
        match self.weights {
            Some(weights) => self.arch.dispatch(Along { view, first: self.first, weights, part, out }),
            None => {
                let from = part.start * view.channels;
                for (y, out) in out.rows().enumerate() {
                    for (sample, value) in out.iter_mut().zip(&view.row(y)[from..]) {
                        *sample = view.factor * value.to_f32();
                    }
                }
            }
        }
    }
}

struct Down<'a, T> {
    view: View<'a, T>,
    first: usize,
    weights: Option<&'a Weights<f32>>,
    part: Range<usize>,
    out: Lines<'a>,
}

impl<T: Sample> NullaryFnOnce for Down<'_, T> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let Self { view, first, weights, part, out } = self;
        for (i, out) in part.zip(out.rows()) {
            let (start, weights) = weights.map_or((i, &[1.0][..]), |w| (w.of(i).0 - first, w.of(i).1));
            for (block, out) in out.chunks_mut(BLOCK).enumerate() {
                let at = block * BLOCK;
                let mut sums = [0.0_f32; BLOCK];
                for (y, &w) in (start..).zip(weights) {
                    add_scaled(&mut sums, &view.row(y)[at..][..out.len()], view.factor, w);
                }
                out.copy_from_slice(&sums[..out.len()]);
            }
        }
    }
}

/// sums += w · (factor · samples).
#[inline(always)]
fn add_scaled<T: Sample>(sums: &mut [f32; BLOCK], samples: &[T], factor: f32, w: f32) {
    // The common case has a length that the compiler knows.
    match <&[T; BLOCK]>::try_from(samples) {
        Ok(samples) => {
            for (sum, sample) in sums.iter_mut().zip(samples) {
                *sum += w * (factor * sample.to_f32());
            }
        }
        Err(_) => {
            for (sum, sample) in sums.iter_mut().zip(samples) {
                *sum += w * (factor * sample.to_f32());
            }
        }
    }
}

struct Along<'a, T> {
    view: View<'a, T>,
    first: usize,
    weights: &'a Weights<f32>,
    part: Range<usize>,
    out: Lines<'a>,
}

impl<T: Sample> NullaryFnOnce for Along<'_, T> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let Self { view, first, weights, part, out } = self;
        let channels = view.channels;
        let inputs = weights.inputs_of(part.clone());
        let from = (inputs.start - first) * channels;
        // A plane for each channel, with zeros at the end that padded weights may reach.
        let plane_len = inputs.len() + weights.stride();
        let mut planes = vec![0.0_f32; channels * plane_len];
        for (y, out) in out.rows().enumerate() {
            let row = &view.row(y)[from..][..inputs.len() * channels];
            for (c, plane) in planes.chunks_exact_mut(plane_len).enumerate() {
                for (sample, pixel) in plane.iter_mut().zip(row.chunks_exact(channels)) {
                    *sample = view.factor * pixel[c].to_f32();
                }
            }
            for (i, pixel) in part.clone().zip(out.chunks_exact_mut(channels)) {
                let (start, w) = weights.padded(i);
                for (c, sample) in pixel.iter_mut().enumerate() {
                    *sample = dot(w, &planes[c * plane_len + start - inputs.start..][..w.len()]);
                }
            }
        }
    }
}

/// A dot product in [`LANES`] running sums: a fixed order of additions, whatever the instruction set.
#[inline(always)]
fn dot(a: &[f32], b: &[f32]) -> f32 {
    let mut sums = [0.0_f32; LANES];
    for (a, b) in a.chunks_exact(LANES).zip(b.chunks_exact(LANES)) {
        for ((sum, a), b) in sums.iter_mut().zip(a).zip(b) {
            *sum += a * b;
        }
    }
    sums.iter().sum()
}

#[cfg(test)]
mod tests;
