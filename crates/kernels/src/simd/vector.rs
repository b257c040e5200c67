//! The vector trait: what an instruction set level can do with [`Simd::LANES`] floats at once. It has what the
//! kernels call, and grows with them.
//!
//! Arithmetic is IEEE f32, each operation rounded once to nearest. The only differences between levels: how many
//! lanes there are, whether [`Simd::mul_add`] rounds once or twice, and so the order of sums.

use super::Operation;
use crate::floats::mul_add_f16;
use std::fmt::Debug;

/// A token of an instruction set level, and its operations.
pub(crate) trait Simd: Copy + Debug + Send + Sync + 'static {
    /// `LANES` floats.
    type Vec: Copy + Debug + Send + Sync;
    /// A yes or no per lane.
    type Mask: Copy + Debug;

    /// Floats in a vector; a power of two.
    const LANES: usize;

    /// Vector registers: how many vectors a loop of `mul_add` may keep at once.
    const REGISTERS: usize;

    /// Whether [`Simd::lookup`] is about as fast as arithmetic.
    const LOOKS_UP: bool = false;

    /// Runs an operation as a function of its own, compiled for this level: an inner loop whose registers are then allotted
    /// apart from all around it.
    fn call<O: Operation>(self, operation: O) -> O::Output;

    /// All lanes `x`.
    fn splat(self, x: f32) -> Self::Vec;

    /// `LANES` floats at an address that is aligned for f32.
    ///
    /// # Safety
    /// The address must be aligned for f32, and valid for reading `LANES` floats.
    #[allow(unsafe_code)]
    unsafe fn load_ptr(self, src: *const f32) -> Self::Vec;

    /// Stores `LANES` floats at an address that is aligned for f32.
    ///
    /// # Safety
    /// The address must be aligned for f32, and valid for writing `LANES` floats.
    #[allow(unsafe_code)]
    unsafe fn store_ptr(self, v: Self::Vec, dst: *mut f32);

    /// Transposes a block of `LANES` × `LANES` floats, times `factor`: `dst[c·dst_stride + r] = factor·src[r·src_stride + c]`.
    ///
    /// # Safety
    /// All of these addresses must be aligned for f32 and valid, for reading and writing, and the two blocks apart.
    #[inline(always)]
    #[allow(unsafe_code)]
    unsafe fn transpose_ptr(
        self,
        factor: f32,
        src: *const f32,
        src_stride: usize,
        dst: *mut f32,
        dst_stride: usize,
    ) {
        for r in 0..Self::LANES {
            for c in 0..Self::LANES {
                // SAFETY: by the caller.
                unsafe { *dst.add(c * dst_stride + r) = factor * *src.add(r * src_stride + c) };
            }
        }
    }

    /// Asks for the cache line at an address, which need not be valid. Levels without such an instruction do nothing.
    #[inline(always)]
    fn prefetch(self, _address: *const f32) {}

    /// The first lanes from `src`, which holds at most `LANES` floats; the others `fill`.
    fn load_part(self, src: &[f32], fill: f32) -> Self::Vec;

    /// Stores the first lanes into `dst`, which holds at most `LANES` floats.
    fn store_part(self, v: Self::Vec, dst: &mut [f32]);

    /// The first `LANES` floats of `src`.
    #[inline(always)]
    fn load(self, src: &[f32]) -> Self::Vec {
        let src = &src[..Self::LANES];
        // SAFETY: the slice has `LANES` floats.
        #[allow(unsafe_code)]
        unsafe {
            self.load_ptr(src.as_ptr())
        }
    }

    /// Stores into the first `LANES` floats of `dst`.
    #[inline(always)]
    fn store(self, v: Self::Vec, dst: &mut [f32]) {
        let dst = &mut dst[..Self::LANES];
        // SAFETY: the slice has `LANES` floats.
        #[allow(unsafe_code)]
        unsafe {
            self.store_ptr(v, dst.as_mut_ptr());
        }
    }

    /// a + b.
    fn add(self, a: Self::Vec, b: Self::Vec) -> Self::Vec;
    /// a − b.
    fn sub(self, a: Self::Vec, b: Self::Vec) -> Self::Vec;
    /// a · b.
    fn mul(self, a: Self::Vec, b: Self::Vec) -> Self::Vec;
    /// a / b.
    fn div(self, a: Self::Vec, b: Self::Vec) -> Self::Vec;
    /// √a, correctly rounded; NaN below 0.
    fn sqrt(self, a: Self::Vec) -> Self::Vec;
    /// a · b + c: rounded once where the level has FMA, else twice.
    fn mul_add(self, a: Self::Vec, b: Self::Vec, c: Self::Vec) -> Self::Vec;
    /// The smaller; `b` when either is NaN (so `min(limit, x)` passes a NaN `x` on).
    fn min(self, a: Self::Vec, b: Self::Vec) -> Self::Vec;
    /// The larger; `b` when either is NaN (so `max(limit, x)` passes a NaN `x` on).
    fn max(self, a: Self::Vec, b: Self::Vec) -> Self::Vec;
    /// |a|, by clearing the sign bit.
    fn abs(self, a: Self::Vec) -> Self::Vec;
    /// −a, by flipping the sign bit.
    fn neg(self, a: Self::Vec) -> Self::Vec;
    /// The magnitude (all bits but the sign) of `a` with the sign of `sign`.
    fn copy_sign(self, a: Self::Vec, sign: Self::Vec) -> Self::Vec;
    /// The nearest integer, ties to even, for |a| ≤ 2²².
    fn round(self, a: Self::Vec) -> Self::Vec;
    /// 2ⁿ for integers n in −127..=128, made as exponent bits: −127 gives 0, 128 infinity; other n, or NaN, any value.
    fn pow2(self, n: Self::Vec) -> Self::Vec;

    /// The nearest integer n, ties to even, and the rest a − n, of −2²² ≤ a ≤ 127 or −∞, whose rest is 0; NaN for NaN. A level may
    /// take −127 for what is below.
    #[inline(always)]
    fn split(self, a: Self::Vec) -> (Self::Vec, Self::Vec) {
        let a = self.max(self.splat(-127.0), a);
        let n = self.round(a);
        (n, self.sub(a, n))
    }
    /// p · 2ⁿ of an n by [`Simd::split`] and 0.5 ≤ p ≤ 2; a level may give 0 where n ≤ −127. NaN when p is NaN.
    #[inline(always)]
    fn scale(self, p: Self::Vec, n: Self::Vec) -> Self::Vec {
        self.mul(p, self.pow2(n))
    }

    /// a > b; no when either is NaN.
    fn gt(self, a: Self::Vec, b: Self::Vec) -> Self::Mask;
    /// `yes` where the mask holds, else `no`.
    fn select(self, mask: Self::Mask, yes: Self::Vec, no: Self::Vec) -> Self::Vec;

    /// Words (the 32 bits of a lane) of four bytes: `sum + Σ aᵢ·bᵢ` in 32-bit integers that wrap; the bytes of `a` are unsigned, those
    /// of `b` signed.
    fn dot_bytes(self, a: Self::Vec, b: Self::Vec, sum: Self::Vec) -> Self::Vec;
    /// The floats nearest to 32-bit integers.
    fn integer_to_float(self, a: Self::Vec) -> Self::Vec;
    /// a + b of 32-bit integers that wrap.
    fn integer_sum(self, a: Self::Vec, b: Self::Vec) -> Self::Vec;
    /// Byte `i` of each word, signed, as a float.
    fn signed_byte(self, words: Self::Vec, i: u32) -> Self::Vec;
    /// The four-bit numbers in the low (or high) half of each byte, as bytes.
    fn nibbles(self, words: Self::Vec, high: bool) -> Self::Vec;
    /// Stores the integers nearest to the floats of four vectors, whose magnitudes are below 2²², as bytes, signed or not; what is no
    /// byte becomes the nearest. Of NaN any byte.
    ///
    /// # Safety
    /// The address must be valid for writing 4 · `LANES` bytes.
    #[allow(unsafe_code)]
    unsafe fn store_bytes(self, a: [Self::Vec; 4], signed: bool, dst: *mut u8);

    /// The bf16 in the low (or high) half of each word, as a float.
    fn bf16_half(self, words: Self::Vec, high: bool) -> Self::Vec;
    /// The f16 in the low (or high) half of each word, as a float.
    fn f16_half(self, words: Self::Vec, high: bool) -> Self::Vec;
    /// Stores the bf16 nearest to each float, ties to even; NaN stays NaN, subnormals may become 0.
    ///
    /// # Safety
    /// The address must be aligned for u16, and valid for writing `LANES` of them.
    #[inline(always)]
    #[allow(unsafe_code)]
    unsafe fn store_bf16(self, a: Self::Vec, dst: *mut u16) {
        // SAFETY: by the caller.
        unsafe { store_bf16_each(self, a, dst) }
    }
    /// Words of two bf16, those nearest to each float, ties to even: `low`'s in the low half.
    #[inline(always)]
    fn bf16_pair(self, low: Self::Vec, high: Self::Vec) -> Self::Vec {
        bf16_pair_each(self, low, high)
    }
    /// Words of two bf16: `sum + a₀·b₀ + a₁·b₁`, however rounded; subnormals may count as 0.
    #[inline(always)]
    fn dot_bf16(self, a: Self::Vec, b: Self::Vec, sum: Self::Vec) -> Self::Vec {
        dot_bf16_floats(self, a, b, sum)
    }

    /// Stores the f16 nearest to each float, ties to even; NaN stays NaN.
    ///
    /// # Safety
    /// The address must be aligned for u16, and valid for writing `LANES` of them.
    #[inline(always)]
    #[allow(unsafe_code)]
    unsafe fn store_f16(self, a: Self::Vec, dst: *mut u16) {
        // SAFETY: by the caller.
        unsafe { store_halves_each(self, a, dst, |x| half::f16::from_f32(x).to_bits()) }
    }
    /// Words of two f16: a · b + c of each half, rounded once, to nearest, ties to even.
    #[inline(always)]
    fn mul_add_f16(self, a: Self::Vec, b: Self::Vec, c: Self::Vec) -> Self::Vec {
        mul_add_f16_each(self, a, b, c)
    }
    /// The sum of the two f16 of each word, as a float.
    #[inline(always)]
    fn f16_sum(self, words: Self::Vec) -> Self::Vec {
        self.add(self.f16_half(words, false), self.f16_half(words, true))
    }

    /// `table[i]` for each lane, i being the low five bits of the lane of `index`.
    #[inline(always)]
    fn lookup(self, table: &[f32; 32], index: Self::Vec) -> Self::Vec {
        let mut lanes = [0.0_f32; 32];
        self.store(index, &mut lanes);
        self.load(&lanes.map(|x| table[(x.to_bits() % 32) as usize]))
    }

    /// Sum of all lanes, halves added to halves: an order that depends on the level alone.
    fn reduce_sum(self, a: Self::Vec) -> f32;
}

/// [`Simd::store_bf16`] without instructions for it. It and those below need not be fast: kernels of bf16 and f16 run where the
/// processor has the instructions, and elsewhere in tests alone.
///
/// # Safety
/// As of [`Simd::store_bf16`].
#[inline(always)]
#[allow(unsafe_code)]
pub(super) unsafe fn store_bf16_each<S: Simd>(simd: S, a: S::Vec, dst: *mut u16) {
    // SAFETY: by the caller.
    unsafe { store_halves_each(simd, a, dst, |x| half::bf16::from_f32(x).to_bits()) }
}

/// Stores the half of each float.
///
/// # Safety
/// The address must be aligned for u16, and valid for writing `LANES` of them.
#[inline(always)]
#[allow(unsafe_code)]
unsafe fn store_halves_each<S: Simd>(simd: S, a: S::Vec, dst: *mut u16, half: impl Fn(f32) -> u16) {
    let mut lanes = [0.0; 16];
    simd.store(a, &mut lanes);
    for (i, x) in lanes[..S::LANES].iter().enumerate() {
        // SAFETY: i < LANES, and the caller vouches for as many.
        unsafe { dst.add(i).write(half(*x)) };
    }
}

/// [`Simd::bf16_pair`] without instructions for it.
#[inline(always)]
pub(super) fn bf16_pair_each<S: Simd>(simd: S, low: S::Vec, high: S::Vec) -> S::Vec {
    let (mut words, mut highs) = ([0.0; 16], [0.0; 16]);
    simd.store(low, &mut words);
    simd.store(high, &mut highs);
    for (word, high) in words.iter_mut().zip(highs) {
        let half = |x: f32| u32::from(half::bf16::from_f32(x).to_bits());
        *word = f32::from_bits(half(*word) | half(high) << 16);
    }
    simd.load(&words)
}

/// [`Simd::dot_bf16`] without instructions for it.
#[inline(always)]
pub(super) fn dot_bf16_floats<S: Simd>(simd: S, a: S::Vec, b: S::Vec, sum: S::Vec) -> S::Vec {
    let low = simd.mul_add(simd.bf16_half(a, false), simd.bf16_half(b, false), sum);
    simd.mul_add(simd.bf16_half(a, true), simd.bf16_half(b, true), low)
}

/// [`Simd::mul_add_f16`] without instructions for it.
#[inline(always)]
pub(super) fn mul_add_f16_each<S: Simd>(simd: S, a: S::Vec, b: S::Vec, c: S::Vec) -> S::Vec {
    let mut lanes = [[0.0; 16]; 3];
    for (lanes, vector) in lanes.iter_mut().zip([a, b, c]) {
        simd.store(vector, lanes);
    }
    let [a, b, mut c] = lanes;
    for l in 0..S::LANES {
        let half = |word: f32, high: u32| half::f16::from_bits((word.to_bits() >> (16 * high)) as u16);
        let sum =
            |high| u32::from(mul_add_f16(half(a[l], high), half(b[l], high), half(c[l], high)).to_bits());
        c[l] = f32::from_bits(sum(0) | sum(1) << 16);
    }
    simd.load(&c)
}

/// `x[i] = f(x[i])` for all of `x`; lanes past the end are given to `f` as 0.
#[inline(always)]
pub(crate) fn map_in_place<S: Simd>(simd: S, x: &mut [f32], f: impl Fn(S::Vec) -> S::Vec) {
    let mut chunks = x.chunks_exact_mut(S::LANES);
    for chunk in &mut chunks {
        simd.store(f(simd.load(chunk)), chunk);
    }
    let tail = chunks.into_remainder();
    if !tail.is_empty() {
        simd.store_part(f(simd.load_part(tail, 0.0)), tail);
    }
}
