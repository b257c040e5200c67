//! Antialiased resize filters and the weights of one axis, as torch and Pillow compute them.
//!
//! For an axis of n_in → n_out samples: scale = n_in / n_out, support = r · max(scale, 1) with r = 1 (bilinear), 2
//! (bicubic), 3 (Lanczos). Output i: centre = scale · (i + 0.5); its inputs are lo = max(int(centre − support + 0.5), 0) to
//! hi = min(int(centre + support + 0.5), n_in); weight_j = f((j + lo − centre + 0.5) / max(scale, 1)), divided by their sum.
//! Sources: ATen `UpSampleKernel.cpp` (`_compute_indices_min_size_weights_aa`), Pillow `Resample.c`.
//! [`Real`] is f64 for byte pictures and f32 for float ones: torch computes the weights in the type it resizes in.

use std::ops::{Add, Div, Mul, Range, Sub};

use crate::Resample;

/// The arithmetic of f32 and f64 that weights need.
pub(crate) trait Real:
    Copy
    + PartialOrd
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + From<i8>
    + Default
{
    fn from_usize(value: usize) -> Self;
    fn from_f64(value: f64) -> Self;
    fn abs(self) -> Self;
    fn sin(self) -> Self;
    /// Truncates toward zero.
    fn to_i64(self) -> i64;
}

macro_rules! real {
    ($t:ty) => {
        impl Real for $t {
            fn from_usize(value: usize) -> Self {
                value as $t
            }
            fn from_f64(value: f64) -> Self {
                value as $t
            }
            fn abs(self) -> Self {
                self.abs()
            }
            fn sin(self) -> Self {
                self.sin()
            }
            fn to_i64(self) -> i64 {
                self as i64
            }
        }
    };
}
real!(f32);
real!(f64);

/// Weights of an output come in multiples of this, so that a dot product has no remainder.
pub(crate) const LANES: usize = 8;

/// A filter with a support: everything but nearest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Filter {
    Bilinear,
    Bicubic,
    Lanczos,
}

impl Filter {
    /// The filter of a resample, `None` for nearest.
    pub(crate) fn of(resample: Resample) -> Option<Self> {
        match resample {
            Resample::Nearest => None,
            Resample::Lanczos => Some(Self::Lanczos),
            Resample::Bilinear => Some(Self::Bilinear),
            Resample::Bicubic => Some(Self::Bicubic),
        }
    }

    fn radius(self) -> i8 {
        match self {
            Self::Bilinear => 1,
            Self::Bicubic => 2,
            Self::Lanczos => 3,
        }
    }

    fn at<T: Real>(self, x: T) -> T {
        let n = |v: i8| T::from(v);
        let x = x.abs();
        match self {
            Self::Bilinear if x < n(1) => n(1) - x,
            Self::Bicubic => {
                let a = T::from_f64(-0.5);
                if x < n(1) {
                    ((a + n(2)) * x - (a + n(3))) * x * x + n(1)
                } else if x < n(2) {
                    ((a * x - n(5) * a) * x + n(8) * a) * x - n(4) * a
                } else {
                    n(0)
                }
            }
            Self::Lanczos if x < n(3) => sinc(x) * sinc(x / n(3)),
            _ => n(0),
        }
    }
}

fn sinc<T: Real>(x: T) -> T {
    if x == T::from(0) {
        return T::from(1);
    }
    let x = x * T::from_f64(std::f64::consts::PI);
    x.sin() / x
}

/// The weights of a run of outputs of one axis.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Weights<T> {
    /// First input of each output.
    starts: Vec<usize>,
    /// Number of inputs of each output.
    counts: Vec<usize>,
    /// `stride` values for each output, of which the first `count` are weights and the rest zeros.
    values: Vec<T>,
    stride: usize,
}

impl<T: Copy + Default> Weights<T> {
    /// First input and weights of output `i`.
    pub(crate) fn of(&self, i: usize) -> (usize, &[T]) {
        (self.starts[i], &self.values[i * self.stride..][..self.counts[i]])
    }

    /// The inputs that any of the outputs needs.
    pub(crate) fn inputs(&self) -> Range<usize> {
        self.inputs_of(0..self.starts.len())
    }

    /// The inputs that some of the outputs need.
    pub(crate) fn inputs_of(&self, outputs: Range<usize>) -> Range<usize> {
        let (starts, counts) = (&self.starts[outputs.clone()], &self.counts[outputs]);
        let start = starts.iter().copied().min().unwrap_or(0);
        let end = starts.iter().zip(counts).map(|(start, count)| start + count).max();
        start..end.unwrap_or(0).max(start)
    }

    /// First input and weights of output `i`, with the zeros that fill up to [`Self::stride`].
    pub(crate) fn padded(&self, i: usize) -> (usize, &[T]) {
        (self.starts[i], &self.values[i * self.stride..][..self.stride])
    }

    /// Values for each output: the most weights that one has, rounded up to a multiple of [`LANES`].
    pub(crate) fn stride(&self) -> usize {
        self.stride
    }

    /// The same weights, each mapped; `f` must keep zero.
    pub(crate) fn map<U>(self, f: impl Fn(T) -> U) -> Weights<U> {
        let values = self.values.into_iter().map(f).collect();
        Weights { starts: self.starts, counts: self.counts, values, stride: self.stride }
    }
}

/// One axis of a resize.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Axis {
    pub(crate) filter: Filter,
    /// Samples before.
    pub(crate) input: usize,
    /// Samples after.
    pub(crate) output: usize,
}

impl Axis {
    fn scale<T: Real>(self) -> T {
        T::from_usize(self.input) / T::from_usize(self.output)
    }

    fn support<T: Real>(self) -> T {
        let scale: T = self.scale();
        let radius = T::from(self.filter.radius());
        if scale >= T::from(1) { radius * scale } else { radius }
    }

    /// Most inputs that an output may have (torch's clamp).
    pub(crate) fn most<T: Real>(self) -> usize {
        let support: T = self.support();
        let whole = support.to_i64();
        let ceil = if T::from_usize(whole as usize) < support { whole + 1 } else { whole };
        (ceil as usize).saturating_mul(2).saturating_add(1)
    }

    /// First input and number of inputs of output `i`.
    fn span<T: Real>(self, i: usize) -> (usize, usize) {
        let half = T::from_f64(0.5);
        let center = self.scale::<T>() * (T::from_usize(i) + half);
        let support: T = self.support();
        // The last input, where the centre of an f32 axis of millions of samples is rounded past the end.
        let start = ((center - support + half).to_i64().max(0) as usize).min(self.input - 1);
        let end = (center + support + half).to_i64().max(0) as usize;
        (start, end.min(self.input).saturating_sub(start).min(self.most::<T>()))
    }

    /// Writes the normalised weights of output `i`.
    fn write<T: Real>(self, i: usize, start: usize, weights: &mut [T]) {
        let half = T::from_f64(0.5);
        let scale: T = self.scale();
        let center = scale * (T::from_usize(i) + half);
        let inverse = if scale >= T::from(1) { T::from(1) / scale } else { T::from(1) };
        let mut total = T::from(0);
        for (j, weight) in weights.iter_mut().enumerate() {
            *weight = self.filter.at((T::from_usize(j + start) - center + half) * inverse);
            total = total + *weight;
        }
        if total != T::from(0) {
            weights.iter_mut().for_each(|weight| *weight = *weight / total);
        }
    }

    /// The weights of the outputs in `window`.
    pub(crate) fn weights<T: Real>(self, window: Range<usize>) -> Weights<T> {
        let spans: Vec<_> = window.clone().map(|i| self.span::<T>(i)).collect();
        let stride = spans.iter().map(|(_, count)| *count).max().unwrap_or(0).next_multiple_of(LANES);
        let mut values = vec![T::default(); spans.len() * stride];
        for (k, (i, &(start, count))) in window.zip(&spans).enumerate() {
            self.write(i, start, &mut values[k * stride..][..count]);
        }
        let (starts, counts) = spans.into_iter().unzip();
        Weights { starts, counts, values, stride }
    }

    /// The largest weight of any output of the axis, inside a window or not. Takes `output · taps` steps.
    pub(crate) fn largest_weight(self) -> f64 {
        let mut weights = Vec::new();
        (0..self.output).fold(0.0_f64, |most, i| {
            let (start, count) = self.span::<f64>(i);
            weights.resize(count, 0.0);
            self.write(i, start, &mut weights);
            weights.iter().copied().fold(most, f64::max)
        })
    }
}

#[cfg(test)]
mod tests {
    use dinoxide_testkit::tolerance::{WEIGHT_MAX_ABS, WEIGHT_SUM_MAX_ABS};

    use super::*;

    #[test]
    fn bicubic_halving_has_the_known_weights() {
        // Interior of a 2:1 reduction: f(±0.25), f(±0.75), f(±1.25), f(±1.75) over their sum, a = −0.5.
        let axis = Axis { filter: Filter::Bicubic, input: 32, output: 16 };
        let weights = axis.weights::<f64>(8..9);
        let (start, w) = weights.of(0);
        assert_eq!(start, 13);
        let want = [
            -0.01171875,
            -0.03515625,
            0.11328125,
            0.43359375,
            0.43359375,
            0.11328125,
            -0.03515625,
            -0.01171875,
        ];
        for (got, want) in w.iter().zip(want) {
            assert!((got - want).abs() <= WEIGHT_MAX_ABS, "{w:?}");
        }
    }

    #[test]
    fn weights_sum_to_one_and_stay_inside_the_picture() {
        for filter in [Filter::Bilinear, Filter::Bicubic, Filter::Lanczos] {
            for (input, output) in [(1, 1), (1, 7), (7, 1), (100, 33), (33, 100), (65535, 224), (3, 5)] {
                let axis = Axis { filter, input, output };
                let weights = axis.weights::<f64>(0..output);
                for i in 0..output {
                    let (start, w) = weights.of(i);
                    assert!(!w.is_empty() && start + w.len() <= input, "{axis:?} output {i}");
                    assert!((w.iter().sum::<f64>() - 1.0).abs() <= WEIGHT_SUM_MAX_ABS, "{axis:?} output {i}");
                }
                assert_eq!(weights.inputs(), 0..input, "{axis:?}");
            }
        }
    }

    #[test]
    fn a_window_has_the_weights_of_the_whole_axis() {
        let axis = Axis { filter: Filter::Bicubic, input: 1000, output: 341 };
        let (whole, window) = (axis.weights::<f64>(0..341), axis.weights::<f64>(58..282));
        for i in 58..282 {
            assert_eq!(whole.of(i), window.of(i - 58), "output {i}");
        }
    }

    #[test]
    fn the_last_output_has_an_input_where_floats_can_no_longer_count() {
        // In f32 the centre of the last output lies past the end.
        let axis = Axis { filter: Filter::Bilinear, input: 30_000_001, output: 30_000_002 };
        let weights = axis.weights::<f32>(axis.output - 3..axis.output);
        for i in 0..3 {
            let (start, w) = weights.of(i);
            assert!(!w.is_empty() && start + w.len() <= axis.input, "output {i}: {start} {w:?}");
        }
    }
}
