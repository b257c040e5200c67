//! The rows of `a` in the words that tiles multiply with compact weights.
//!
//! bf16: each float rounded to nearest. f16: the same, times a power of two of the row's own (`f16.rs`). Bytes: each row has a scale and
//! a zero of its own,
//! ```text
//! x̂ = scale · (byte − zero)      scale = (most − least) / 255,  zero = round(−least / scale),  least ≤ 0 ≤ most
//! ```
//! so that 0 is exact. Numbers far larger than the rest of their row (beyond [`FAR`] times its root mean square), which would
//! leave few steps to the others, are taken out: their bytes stand for 0, and their products are added in floats. A row that
//! is not finite becomes NaN. All of it depends on the row alone. Signed bytes, for int4, have `scale = max |x| / 127` and no zero;
//! with them go their sums over each group of k.

use crate::matrix::row_stride;
use crate::simd::{Bf16Pairs, F16Pairs, Operation, Simd};
use crate::words::ToHalves;
use crate::{Buffer, Context, MatRef};

/// The largest byte.
const MAX_BYTE: f32 = 255.0;

/// The largest signed byte that is used.
const MAX_SIGNED: f32 = 127.0;

/// From how many times the root mean square of the rest of its row on a number is an outlier.
const FAR: f32 = 8.0;

/// The most outliers of a row; others are quantised with the rest.
const MAX_OUTLIERS: usize = 14;

/// What follows the words of a row of bytes: scale, zero, number of outliers, then place and value of each.
const ROW_NUMBERS: usize = 3 + 2 * MAX_OUTLIERS;

/// Rows of a task.
const TASK_ROWS: usize = 16;

/// Rows in words, each `stride` after the last.
pub(super) struct RowWords<'c> {
    data: Buffer<'c>,
    stride: usize,
    /// Words of a row.
    depth: usize,
}

/// See [`RowWords`].
#[derive(Debug, Clone, Copy)]
pub(super) struct F16Rows<'a> {
    data: &'a [f32],
    stride: usize,
    depth: usize,
}

/// See [`RowWords`].
#[derive(Debug, Clone, Copy)]
pub(super) struct ByteRows<'a> {
    data: &'a [f32],
    stride: usize,
    depth: usize,
}

/// What a row of bytes stands for.
#[derive(Debug, Clone, Copy)]
pub(super) struct ByteRow<'a> {
    pub(super) scale: f32,
    pub(super) zero: f32,
    outliers: &'a [f32],
    /// Of signed bytes: of each group, and then whatever follows.
    pub(super) group_sums: &'a [f32],
}

impl<'c> RowWords<'c> {
    /// Rows [M, K] as bf16 in words [M, ⌈K/2⌉].
    pub(super) fn bf16(ctx: &'c Context, a: MatRef<'_>) -> Self {
        let depth = a.cols().div_ceil(2);
        Self::new(ctx, a, depth, Self::bf16_len(a.cols()), |row, words| {
            ctx.dispatch_products::<Bf16Pairs, _>(ToHalves::<false> { row, words, factor: 1.0 });
        })
    }

    /// Rows [M, K] as f16 in words [M, ⌈K/2⌉], each times the power of two that brings its largest magnitude below `most`, no further than to
    /// half of it; `most` is a power of two from 4 to 2¹⁵.
    pub(super) fn f16(ctx: &'c Context, a: MatRef<'_>, most: f32) -> Self {
        let depth = a.cols().div_ceil(2);
        Self::new(ctx, a, depth, Self::f16_len(a.cols()), |row, out| {
            let (words, scale) = out.split_at_mut(depth);
            ctx.dispatch_products::<F16Pairs, _>(ToF16 { row, words, scale: &mut scale[0], most });
        })
    }

    /// Rows [M, K] as bytes in words [M, ⌈K/4⌉].
    pub(super) fn bytes(ctx: &'c Context, a: MatRef<'_>) -> Self {
        let depth = a.cols().div_ceil(4);
        Self::new(ctx, a, depth, Self::bytes_len(a.cols()), |row, out| {
            let (words, numbers) = out.split_at_mut(depth);
            ctx.dispatch(ToBytes { row, words, numbers, signed: false });
        })
    }

    /// Rows [M, K] as signed bytes in words [M, 2·⌈K/8⌉], with the sums of each `group` of them.
    pub(super) fn signed_bytes(ctx: &'c Context, a: MatRef<'_>, group: usize) -> Self {
        let depth = 2 * a.cols().div_ceil(8);
        Self::new(ctx, a, depth, Self::signed_bytes_len(a.cols(), group), |row, out| {
            let (words, numbers) = out.split_at_mut(depth);
            let (numbers, sums) = numbers.split_at_mut(ROW_NUMBERS);
            words.last_mut().into_iter().for_each(|word| *word = 0.0);
            ctx.dispatch(ToBytes { row, words: &mut *words, numbers, signed: true });
            ctx.dispatch(SumGroups { words, group, sums });
        })
    }

    /// Floats of a row of `k` inputs that [`Self::bf16`] makes.
    pub(super) fn bf16_len(k: usize) -> usize {
        k.div_ceil(2)
    }

    /// The same of [`Self::f16`].
    pub(super) fn f16_len(k: usize) -> usize {
        k.div_ceil(2) + 1
    }

    /// The same of [`Self::bytes`].
    pub(super) fn bytes_len(k: usize) -> usize {
        k.div_ceil(4) + ROW_NUMBERS
    }

    /// The same of [`Self::signed_bytes`].
    pub(super) fn signed_bytes_len(k: usize, group: usize) -> usize {
        2 * k.div_ceil(8) + ROW_NUMBERS + k.div_ceil(group)
    }

    fn new(
        ctx: &'c Context,
        a: MatRef<'_>,
        depth: usize,
        row_len: usize,
        convert: impl Fn(&[f32], &mut [f32]) + Sync,
    ) -> Self {
        let stride = row_stride(row_len);
        let mut data = ctx.scratch(a.rows() * stride);
        // Rows of nothing may have no words.
        if stride > 0 {
            ctx.for_each_chunk_mut(&mut data[..], TASK_ROWS * stride, |task, rows| {
                for (i, out) in rows.chunks_exact_mut(stride).enumerate() {
                    convert(a.row(task * TASK_ROWS + i), &mut out[..row_len]);
                }
            });
        }
        Self { data, stride, depth }
    }

    /// The words.
    pub(super) fn matrix(&self, rows: usize) -> MatRef<'_> {
        MatRef::with_stride(&self.data, rows, self.depth, self.stride)
    }

    /// What they were multiplied by, if they are f16.
    pub(super) fn f16_rows(&self) -> F16Rows<'_> {
        F16Rows { data: &self.data, stride: self.stride, depth: self.depth }
    }

    /// What they stand for, if they are bytes.
    pub(super) fn byte_rows(&self) -> ByteRows<'_> {
        ByteRows { data: &self.data, stride: self.stride, depth: self.depth }
    }
}

impl F16Rows<'_> {
    /// What the sums of row `r` are to be multiplied by; NaN where the row is not finite.
    #[inline(always)]
    pub(super) fn scale(&self, r: usize) -> f32 {
        self.data[r * self.stride + self.depth]
    }
}

impl<'a> ByteRows<'a> {
    /// What row `r` stands for.
    #[inline(always)]
    pub(super) fn row(&self, r: usize) -> ByteRow<'a> {
        let [scale, zero, outliers, rest @ ..] = &self.data[r * self.stride + self.depth..] else {
            unreachable!("the numbers of a row")
        };
        let (places, rest) = rest.split_at(2 * MAX_OUTLIERS);
        ByteRow { scale: *scale, zero: *zero, outliers: &places[..2 * *outliers as usize], group_sums: rest }
    }
}

impl ByteRow<'_> {
    /// Place and value of each number that was taken out.
    #[inline(always)]
    pub(super) fn outliers(&self) -> impl Iterator<Item = (usize, f32)> {
        self.outliers.chunks_exact(2).map(|pair| (pair[0] as usize, pair[1]))
    }
}

/// A row as f16.
struct ToF16<'a> {
    row: &'a [f32],
    /// [⌈K/2⌉].
    words: &'a mut [f32],
    scale: &'a mut f32,
    most: f32,
}

impl Operation for ToF16<'_> {
    type Output = ();

    #[inline(always)]
    fn eval<S: Simd>(self, simd: S) {
        let Self { row, words, scale, most } = self;
        let span = simd.call(Measure::<false> { row, limit: 0.0 });
        let factor = power_up_to(most, span.most.max(-span.least));
        *scale = if span.finite(row) { factor.recip() } else { f32::NAN };
        simd.call(ToHalves::<true> { row, words, factor });
    }
}

/// The largest power of two that makes `x` (0 or more) less than `most`, a power of two from 4 to 2¹⁵; 2¹²⁶ at most, so that its
/// reciprocal is no subnormal. Of an infinite `x` it is some power of two.
#[inline(always)]
fn power_up_to(most: f32, x: f32) -> f32 {
    // x is below 2 to this, half of that or more unless x is subnormal.
    let above = (x.to_bits() >> MANTISSA_BITS).cast_signed() - 126;
    let exponent = (most.to_bits() >> MANTISSA_BITS).cast_signed() - above;
    f32::from_bits(exponent.clamp(1, 253).cast_unsigned() << MANTISSA_BITS)
}

/// Bits of a float below its exponent.
const MANTISSA_BITS: u32 = 23;

/// A row as bytes.
struct ToBytes<'a> {
    row: &'a [f32],
    /// [⌈K/4⌉].
    words: &'a mut [f32],
    /// [`ROW_NUMBERS`].
    numbers: &'a mut [f32],
    signed: bool,
}

impl Operation for ToBytes<'_> {
    type Output = ();

    #[inline(always)]
    fn eval<S: Simd>(self, simd: S) {
        let Self { row, words, numbers, signed } = self;
        let mut span = simd.call(Measure::<false> { row, limit: 0.0 });
        let mut limit = f32::INFINITY;
        let [scale, zero, outliers, places @ ..] = numbers else { unreachable!("numbers of a row") };
        *outliers = 0.0;
        let finite = span.finite(row);
        if finite && span.most.max(-span.least) > span.far(row.len()) {
            (span, limit) = without_outliers(simd, row, span);
            let found = row.iter().enumerate().filter(|(_, x)| x.abs() > limit);
            for ((k, x), place) in found.zip(places.chunks_exact_mut(2)) {
                place.copy_from_slice(&[k as f32, *x]);
                *outliers += 1.0;
            }
        }
        // Their difference may be too large for a float.
        let of_byte = match signed {
            true => span.most.max(-span.least) / MAX_SIGNED,
            false => span.most / MAX_BYTE - span.least / MAX_BYTE,
        };
        let step = if of_byte > f32::MIN_POSITIVE { 1.0 / of_byte } else { 0.0 };
        let middle = if signed { 0.0 } else { (-span.least * step).round_ties_even() };
        *scale = if finite { of_byte } else { f32::NAN };
        *zero = middle;
        match limit.is_finite() {
            true => simd.call(WriteBytes::<true> { row, words, step, middle, limit, signed }),
            false => simd.call(WriteBytes::<false> { row, words, step, middle, limit, signed }),
        }
    }
}

/// What the numbers of a row span.
#[derive(Debug, Clone, Copy)]
struct Span {
    /// 0 or less.
    least: f32,
    /// 0 or more.
    most: f32,
    /// Σ x².
    squares: f32,
    /// Numbers beyond the limit, which do not count above.
    beyond: f32,
}

impl Span {
    /// Whether all of the row that it was measured of is.
    #[inline(always)]
    fn finite(&self, row: &[f32]) -> bool {
        // Not a number if one is not; squares of finite numbers may be infinite too.
        self.squares.is_finite() || row.iter().all(|x| x.is_finite())
    }

    /// From where on a number is far from the others. Squares may add up to infinity: numbers that can bring that about are far.
    fn far(&self, numbers: usize) -> f32 {
        let numbers = numbers as f32;
        match self.squares.is_finite() {
            true => FAR * (self.squares / numbers).sqrt(),
            false => (f32::MAX / numbers).sqrt(),
        }
    }
}

/// The span of a row without its outliers, and the limit beyond which they are: there are at most [`MAX_OUTLIERS`]. Those that are
/// found may have hidden others, so the rest is measured again.
#[inline(always)]
fn without_outliers<S: Simd>(simd: S, row: &[f32], mut span: Span) -> (Span, f32) {
    let mut limit = f32::INFINITY;
    for _ in 0..MAX_OUTLIERS {
        let next = span.far(row.len());
        let rest = simd.call(Measure::<true> { row, limit: next });
        if rest.beyond <= span.beyond || rest.beyond > MAX_OUTLIERS as f32 {
            break;
        }
        (span, limit) = (rest, next);
    }
    (span, limit)
}

/// Measures a row; with LIMITED only the numbers up to a magnitude.
struct Measure<'a, const LIMITED: bool> {
    row: &'a [f32],
    limit: f32,
}

impl<const LIMITED: bool> Operation for Measure<'_, LIMITED> {
    type Output = Span;

    #[inline(always)]
    fn eval<S: Simd>(self, simd: S) -> Span {
        let (limit, zero, one) = (simd.splat(self.limit), simd.splat(0.0), simd.splat(1.0));
        let (mut least, mut most, mut beyond) = (zero, zero, zero);
        // As many sums of squares as hide the latency of an addition.
        let mut squares = [zero; 4];
        for run in self.row.chunks(4 * S::LANES) {
            for (i, squares) in squares.iter_mut().enumerate() {
                let mut x = load_vector(simd, run, i);
                if LIMITED {
                    let far = simd.gt(simd.abs(x), limit);
                    beyond = simd.add(beyond, simd.select(far, one, zero));
                    x = simd.select(far, zero, x);
                }
                (least, most) = (simd.min(x, least), simd.max(x, most));
                *squares = simd.mul_add(x, x, *squares);
            }
        }
        let squares = simd.add(simd.add(squares[0], squares[1]), simd.add(squares[2], squares[3]));
        let mut lanes = [0.0; MAX_LANES];
        simd.store(least, &mut lanes);
        let least = lanes[..S::LANES].iter().fold(0.0, |a: f32, b| a.min(*b));
        simd.store(most, &mut lanes);
        let most = lanes[..S::LANES].iter().fold(0.0, |a: f32, b| a.max(*b));
        Span { least, most, squares: simd.reduce_sum(squares), beyond: simd.reduce_sum(beyond) }
    }
}

/// The lanes of the widest level.
const MAX_LANES: usize = 16;

/// `byte = round(x · step + middle)`, within what a byte can hold; beyond the limit, with LIMITED, `middle`.
struct WriteBytes<'a, const LIMITED: bool> {
    row: &'a [f32],
    words: &'a mut [f32],
    step: f32,
    middle: f32,
    limit: f32,
    signed: bool,
}

impl<const LIMITED: bool> Operation for WriteBytes<'_, LIMITED> {
    type Output = ();

    #[inline(always)]
    fn eval<S: Simd>(self, simd: S) {
        let Self { row, words, step, middle, limit, signed } = self;
        let (step, middle, limit) = (simd.splat(step), simd.splat(middle), simd.splat(limit));
        let len = 4 * S::LANES;
        assert!(4 * words.len() >= row.len(), "words of a row");
        for (run, words) in row.chunks(len).zip(words.chunks_mut(S::LANES)) {
            let mut x = [simd.splat(0.0); 4];
            for (i, x) in x.iter_mut().enumerate() {
                *x = load_vector(simd, run, i);
                if LIMITED {
                    *x = simd.select(simd.gt(simd.abs(*x), limit), simd.splat(0.0), *x);
                }
                *x = simd.mul_add(*x, step, middle);
            }
            let mut last = [0.0; MAX_LANES];
            let whole = words.len() == S::LANES;
            let bytes = if whole { words.as_mut_ptr() } else { last.as_mut_ptr() };
            // SAFETY: either has room for `LANES` words, which are four vectors of bytes.
            #[allow(unsafe_code)]
            unsafe {
                simd.store_bytes(x, signed, bytes.cast());
            }
            if !whole {
                words.copy_from_slice(&last[..words.len()]);
            }
        }
    }
}

/// Vector `i` of a run of numbers, which may end before or within it: 0 there.
#[inline(always)]
fn load_vector<S: Simd>(simd: S, run: &[f32], i: usize) -> S::Vec {
    let start = (i * S::LANES).min(run.len());
    match run.len() >= start + S::LANES {
        true => simd.load(&run[start..]),
        false => simd.load_part(&run[start..], 0.0),
    }
}

/// The sums of each group of signed bytes.
struct SumGroups<'a> {
    words: &'a [f32],
    /// A multiple of 8.
    group: usize,
    sums: &'a mut [f32],
}

impl Operation for SumGroups<'_> {
    type Output = ();

    #[inline(always)]
    fn eval<S: Simd>(self, _: S) {
        for (words, sum) in self.words.chunks(self.group / 4).zip(self.sums) {
            let mut total = 0_i32;
            for word in words {
                for byte in word.to_bits().to_le_bytes() {
                    total += i32::from(byte.cast_signed());
                }
            }
            *sum = total as f32;
        }
    }
}
