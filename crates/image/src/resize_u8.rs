//! Byte resize in fixed point, equal to the bit to torch's uint8 antialias path (and so to torchvision's).
//!
//! For each axis: weights in f64, then int16 with p bits after the point, p the most for which the largest weight of the
//! whole axis still fits; out = clip((2^(p−1) + Σ w·x) >> p). Horizontal pass first, bytes between the passes, an axis that keeps
//! its size is skipped. Only the window that a crop keeps is computed, from the rows and columns that it needs, in strips of columns.
//! Source: ATen `UpSampleKernel.cpp` (`_compute_index_ranges_int16_weights`, `upsample_avx_bilinear_bicubic_uint8`).
//! The loops are plain Rust that the compiler vectorises; `pulp` runs them compiled for the best instruction set.

use std::ops::Range;

use pulp::{Arch, NullaryFnOnce};

use crate::filters::{Axis, Filter, LANES, Weights};

/// The size that a picture is resized to, and the part of it that is wanted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Target {
    /// Rows of the whole result.
    pub(crate) height: usize,
    /// Columns of the whole result.
    pub(crate) width: usize,
    /// The rows to compute.
    pub(crate) rows: Range<usize>,
    /// The columns to compute.
    pub(crate) columns: Range<usize>,
}

/// Bytes `height × width × C`, interleaved.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bytes<'a, const C: usize> {
    pub(crate) data: &'a [u8],
    pub(crate) height: usize,
    pub(crate) width: usize,
}

/// Samples that the vertical pass handles at once; rows between the passes are padded to a multiple.
const BLOCK: usize = 64;

/// Bytes that are kept between the passes: the window is computed in strips of as many columns as this allows, at least
/// [`BLOCK`] bytes wide. Only pictures of very many rows need more than one.
const MAX_BETWEEN: usize = 1 << 26;

/// The window of the resized picture, `rows × columns × C` interleaved.
pub(crate) fn resize<const C: usize>(
    arch: Arch,
    source: Bytes<'_, C>,
    target: &Target,
    filter: Filter,
) -> Vec<u8> {
    let passes = Passes::new(source, target, filter);
    let (row_len, columns) = (target.columns.len() * C, target.columns.len());
    let mut out = vec![0; target.rows.len() * row_len];
    let strip = strip_len(passes.rows.len(), C);
    for start in (0..columns).step_by(strip) {
        let part = start..columns.min(start + strip);
        let stride = (part.len() * C).next_multiple_of(BLOCK);
        let between = passes.horizontal(arch, part.clone(), stride);
        passes.vertical(
            arch,
            &between,
            stride,
            Strip { out: &mut out, row_len, part: part.start * C..part.end * C },
        );
    }
    out
}

/// Columns of a strip for so many rows.
fn strip_len(rows: usize, channels: usize) -> usize {
    let bytes = MAX_BETWEEN / rows.max(1) / BLOCK * BLOCK;
    bytes.max(BLOCK) / channels
}

/// Both passes of a resize.
struct Passes<'a, const C: usize> {
    source: Bytes<'a, C>,
    /// None where the axis keeps its size.
    horizontal: Option<FixedWeights>,
    vertical: Option<FixedWeights>,
    /// Rows of the source that the window needs.
    rows: Range<usize>,
    target: &'a Target,
}

impl<'a, const C: usize> Passes<'a, C> {
    fn new(source: Bytes<'a, C>, target: &'a Target, filter: Filter) -> Self {
        let axis = |input, output, window: &Range<usize>| {
            (input != output).then(|| FixedWeights::new(Axis { filter, input, output }, window.clone()))
        };
        let vertical = axis(source.height, target.height, &target.rows);
        let horizontal = axis(source.width, target.width, &target.columns);
        let rows = vertical.as_ref().map_or(target.rows.clone(), |v| v.weights.inputs());
        Self { source, horizontal, vertical, rows, target }
    }

    /// The columns `part` of the window in all rows that it needs, `stride` bytes apart.
    fn horizontal(&self, arch: Arch, part: Range<usize>, stride: usize) -> Vec<u8> {
        let (source, rows) = (self.source, self.rows.clone());
        let mut out = vec![0; rows.len() * stride];
        match &self.horizontal {
            Some(weights) => {
                arch.dispatch(Horizontal::<C> { source, rows, weights, part, out: &mut out, stride });
            }
            None => {
                let len = part.len() * C;
                for (out, y) in out.chunks_exact_mut(stride).zip(rows) {
                    let row = &source.data[(y * source.width + self.target.columns.start + part.start) * C..];
                    out[..len].copy_from_slice(&row[..len]);
                }
            }
        }
        out
    }

    /// Those columns in the rows of the window.
    fn vertical(&self, arch: Arch, rows: &[u8], stride: usize, strip: Strip<'_>) {
        match &self.vertical {
            Some(weights) => {
                arch.dispatch(Vertical { rows, first_row: self.rows.start, stride, weights, strip });
            }
            None => {
                for (out, row) in strip.rows().zip(rows.chunks_exact(stride)) {
                    out.copy_from_slice(&row[..out.len()]);
                }
            }
        }
    }
}

/// Where a strip of columns goes: the bytes `part` of rows of `row_len`.
struct Strip<'a> {
    out: &'a mut [u8],
    row_len: usize,
    part: Range<usize>,
}

impl<'a> Strip<'a> {
    #[inline(always)]
    fn rows(self) -> impl Iterator<Item = &'a mut [u8]> {
        let part = self.part;
        self.out.chunks_exact_mut(self.row_len).map(move |row| &mut row[part.clone()])
    }
}

/// Weights of an axis as integers.
struct FixedWeights {
    weights: Weights<i16>,
    /// Bits after the point, 1 to 22.
    precision: u32,
}

impl FixedWeights {
    fn new(axis: Axis, window: Range<usize>) -> Self {
        let precision = if axis.input < axis.output { ENLARGED } else { precision(axis.largest_weight()) };
        let scale = f64::from(1_u32 << precision);
        // `round` is half away from zero, as int(w · 2^p ± 0.5) is.
        let weights = axis.weights::<f64>(window).map(|w| (w * scale).round() as i16);
        Self { weights, precision }
    }

    #[inline(always)]
    fn half(&self) -> i32 {
        1 << (self.precision - 1)
    }

    #[inline(always)]
    fn clip(&self, sum: i32) -> u8 {
        (sum >> self.precision).clamp(0, 255) as u8
    }
}

/// The most bits after the point for which the largest weight fits 16 bits: the first p, 1 to 22, whose successor does not.
fn precision(largest: f64) -> u32 {
    let too_large = |p: &u32| (0.5 + largest * f64::from(1_u32 << (p + 1))) as i64 >= 1 << 15;
    (1..22).find(too_large).unwrap_or(22)
}

/// [`precision`] of every enlarged axis. Its first output has a weight of 1 or more (the centre lies at or before the first
/// input's, so the other inputs count nothing or less), and none reaches 2: 14 bits, without looking at what may be
/// millions of outputs.
const ENLARGED: u32 = 14;

/// The horizontal pass over some rows.
struct Horizontal<'a, const C: usize> {
    source: Bytes<'a, C>,
    rows: Range<usize>,
    weights: &'a FixedWeights,
    /// The outputs to compute, counted from the first of the weights.
    part: Range<usize>,
    out: &'a mut [u8],
    stride: usize,
}

impl<const C: usize> NullaryFnOnce for Horizontal<'_, C> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let weights = &self.weights.weights;
        let inputs = weights.inputs_of(self.part.clone());
        // A plane for each channel, with zeros at the end that padded weights may reach.
        let plane_len = inputs.len() + weights.stride();
        let mut planes = vec![0_i16; C * plane_len];
        for (out, y) in self.out.chunks_exact_mut(self.stride).zip(self.rows) {
            let row = &self.source.data[(y * self.source.width + inputs.start) * C..][..inputs.len() * C];
            split(row, C, plane_len, &mut planes);
            for (i, pixel) in self.part.clone().zip(out.chunks_exact_mut(C)) {
                let (start, w) = weights.padded(i);
                for (c, sample) in pixel.iter_mut().enumerate() {
                    let plane = &planes[c * plane_len + start - inputs.start..][..w.len()];
                    *sample = self.weights.clip(self.weights.half() + dot(w, plane));
                }
            }
        }
    }
}

/// Interleaved bytes → a plane of 16-bit samples for each channel.
#[inline(always)]
fn split(row: &[u8], channels: usize, plane_len: usize, planes: &mut [i16]) {
    for (c, plane) in planes.chunks_exact_mut(plane_len).enumerate() {
        for (sample, pixel) in plane.iter_mut().zip(row.chunks_exact(channels)) {
            *sample = i16::from(pixel[c]);
        }
    }
}

/// A dot product of padded weights. Blocks of a known length become single multiply-add instructions.
#[inline(always)]
fn dot(a: &[i16], b: &[i16]) -> i32 {
    let (a_wide, a_rest) = a.as_chunks::<{ 2 * LANES }>();
    let (b_wide, b_rest) = b.as_chunks::<{ 2 * LANES }>();
    let wide = a_wide.iter().zip(b_wide).map(|(a, b)| block(a, b)).sum::<i32>();
    let rest = a_rest.as_chunks::<LANES>().0.iter().zip(b_rest.as_chunks::<LANES>().0);
    wide + rest.map(|(a, b)| block(a, b)).sum::<i32>()
}

#[inline(always)]
fn block<const N: usize>(a: &[i16; N], b: &[i16; N]) -> i32 {
    let mut sum = 0;
    for (&a, &b) in a.iter().zip(b) {
        sum += i32::from(a) * i32::from(b);
    }
    sum
}

/// The vertical pass.
struct Vertical<'a> {
    rows: &'a [u8],
    first_row: usize,
    stride: usize,
    weights: &'a FixedWeights,
    strip: Strip<'a>,
}

impl NullaryFnOnce for Vertical<'_> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        for (i, out) in self.strip.rows().enumerate() {
            let (start, weights) = self.weights.weights.of(i);
            let rows = &self.rows[(start - self.first_row) * self.stride..];
            for (block, out) in out.chunks_mut(BLOCK).enumerate() {
                let mut sums = [self.weights.half(); BLOCK];
                for (row, &w) in rows.chunks_exact(self.stride).zip(weights) {
                    let samples = &row[block * BLOCK..][..BLOCK];
                    for (sum, &sample) in sums.iter_mut().zip(samples) {
                        *sum += i32::from(w) * i32::from(sample);
                    }
                }
                for (sample, &sum) in out.iter_mut().zip(&sums) {
                    *sample = self.weights.clip(sum);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
