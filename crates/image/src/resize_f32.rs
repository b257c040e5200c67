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

/// The window of the resized picture, `rows × columns × channels` interleaved.
pub(crate) fn resize<T: Sample>(source: Floats<'_, T>, target: &Target, filter: Filter) -> Vec<f32> {
    let axis = |input, output, window: &Range<usize>| {
        (input != output).then(|| Axis { filter, input, output }.weights::<f32>(window.clone()))
    };
    let vertical = axis(source.height, target.height, &target.rows);
    let horizontal = axis(source.width, target.width, &target.columns);
    let rows = vertical.as_ref().map_or(target.rows.clone(), Weights::inputs);
    let columns = horizontal.as_ref().map_or(target.columns.clone(), Weights::inputs);
    let inside = crop(&source, &rows, &columns);

    // The vertical pass runs along whole rows and is the faster one: it comes first unless it leaves far more behind.
    let vertical_leaves = target.rows.len() * columns.len();
    let horizontal_leaves = rows.len() * target.columns.len();
    if vertical_leaves <= 4 * horizontal_leaves {
        let between = down(inside, rows.start, vertical.as_ref(), target.rows.len());
        along(between.view(), columns.start, horizontal.as_ref(), target.columns.len()).data
    } else {
        let between = along(inside, columns.start, horizontal.as_ref(), target.columns.len());
        down(between.view(), rows.start, vertical.as_ref(), target.rows.len()).data
    }
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

/// The vertical pass; without weights the rows are copied. `first` is the input row that the view starts at.
fn down<T: Sample>(view: View<'_, T>, first: usize, weights: Option<&Weights<f32>>, rows: usize) -> Owned {
    let mut data = vec![0.0; rows * view.len];
    Arch::new().dispatch(Down { view, first, weights, out: &mut data });
    Owned { data, rows, len: view.len, channels: view.channels }
}

struct Down<'a, T> {
    view: View<'a, T>,
    first: usize,
    weights: Option<&'a Weights<f32>>,
    out: &'a mut [f32],
}

impl<T: Sample> NullaryFnOnce for Down<'_, T> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let Self { view, first, weights, out } = self;
        for (i, out) in out.chunks_exact_mut(view.len).enumerate() {
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

/// The horizontal pass; without weights the samples are copied. `first` is the input column that the view starts at.
fn along<T: Sample>(
    view: View<'_, T>,
    first: usize,
    weights: Option<&Weights<f32>>,
    columns: usize,
) -> Owned {
    let len = columns * view.channels;
    let mut data = vec![0.0; view.rows * len];
    match weights {
        Some(weights) => Arch::new().dispatch(Along { view, first, weights, out: &mut data, len }),
        None => {
            for (y, out) in data.chunks_exact_mut(len).enumerate() {
                for (sample, value) in out.iter_mut().zip(view.row(y)) {
                    *sample = view.factor * value.to_f32();
                }
            }
        }
    }
    Owned { data, rows: view.rows, len, channels: view.channels }
}

struct Along<'a, T> {
    view: View<'a, T>,
    first: usize,
    weights: &'a Weights<f32>,
    out: &'a mut [f32],
    len: usize,
}

impl<T: Sample> NullaryFnOnce for Along<'_, T> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let Self { view, first, weights, out, len } = self;
        let channels = view.channels;
        // A plane for each channel, with zeros at the end that padded weights may reach.
        let plane_len = view.len / channels + weights.stride();
        let mut planes = vec![0.0_f32; channels * plane_len];
        for (y, out) in out.chunks_exact_mut(len).enumerate() {
            for (c, plane) in planes.chunks_exact_mut(plane_len).enumerate() {
                for (sample, pixel) in plane.iter_mut().zip(view.row(y).chunks_exact(channels)) {
                    *sample = view.factor * pixel[c].to_f32();
                }
            }
            for (i, pixel) in out.chunks_exact_mut(channels).enumerate() {
                let (start, w) = weights.padded(i);
                for (c, sample) in pixel.iter_mut().enumerate() {
                    *sample = dot(w, &planes[c * plane_len + start - first..][..w.len()]);
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
