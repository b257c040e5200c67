//! AVX-512 F, BW, DQ and VL, with AVX2 and FMA below: 16 lanes, 32 registers, masks.
//!
//! Most operations are one intrinsic; parts of a vector are loaded and stored under a mask, which touches no float beyond
//! the slice. Reductions halve the vector once, then are those of AVX2.

use super::{
    super::Simd,
    super::dispatch::{Operation, eval_avx512},
    Avx2, instructions,
};
use std::arch::x86_64::*;

/// The token of AVX-512; it holds the token of the level below.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Avx512(Avx2);

impl Avx512 {
    /// The token, when the processor has all of the features.
    pub(crate) fn new() -> Option<Self> {
        let found = is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512dq")
            && is_x86_feature_detected!("avx512vl");
        Avx2::new().filter(|_| found).map(Self)
    }

    /// The mask of the first `n` lanes, n ≤ 16.
    #[inline(always)]
    fn first_lanes(self, n: usize) -> __mmask16 {
        assert!(n <= Self::LANES, "{n} floats for 16 lanes");
        ((1_u32 << n) - 1) as __mmask16
    }

    /// The lower and the upper 8 lanes.
    #[inline(always)]
    #[allow(unsafe_code)]
    fn halves(self, a: __m512) -> (__m256, __m256) {
        // SAFETY: the token proves the features.
        unsafe { (_mm512_castps512_ps256(a), _mm512_extractf32x8_ps::<1>(a)) }
    }
}

impl Simd for Avx512 {
    type Vec = __m512;
    type Mask = __mmask16;

    const LANES: usize = 16;
    const REGISTERS: usize = 32;

    #[inline(always)]
    #[allow(unsafe_code)]
    fn call<O: Operation>(self, operation: O) -> O::Output {
        // SAFETY: the token proves the features.
        unsafe { eval_avx512(operation, self) }
    }

    #[inline(always)]
    #[allow(unsafe_code)]
    fn splat(self, x: f32) -> __m512 {
        // SAFETY: the token proves the features.
        unsafe { _mm512_set1_ps(x) }
    }

    #[inline(always)]
    #[allow(unsafe_code)]
    unsafe fn load_ptr(self, src: *const f32) -> __m512 {
        // SAFETY: the caller vouches for 16 floats; the token proves the features.
        unsafe { _mm512_loadu_ps(src) }
    }

    #[inline(always)]
    #[allow(unsafe_code)]
    unsafe fn store_ptr(self, v: __m512, dst: *mut f32) {
        // SAFETY: the caller vouches for 16 floats; the token proves the features.
        unsafe { _mm512_storeu_ps(dst, v) }
    }

    #[inline(always)]
    #[allow(unsafe_code)]
    unsafe fn transpose_ptr(self, src: *const f32, src_stride: usize, dst: *mut f32, dst_stride: usize) {
        // SAFETY: the caller vouches for the addresses; the token proves the features.
        unsafe {
            let rows: [__m512; 16] = std::array::from_fn(
                #[inline(always)]
                |r| _mm512_loadu_ps(src.add(r * src_stride)),
            );
            let mut quads = [_mm512_setzero_ps(); 16];
            // Within each 128 bits: 4×4 blocks. quads[4i + c] has, per quarter q, column 4q + c of rows 4i..4i + 4.
            for i in 0..4 {
                let [a, b, c, d] = [rows[4 * i], rows[4 * i + 1], rows[4 * i + 2], rows[4 * i + 3]];
                let (ab_low, ab_high) = (_mm512_unpacklo_ps(a, b), _mm512_unpackhi_ps(a, b));
                let (cd_low, cd_high) = (_mm512_unpacklo_ps(c, d), _mm512_unpackhi_ps(c, d));
                quads[4 * i] = _mm512_shuffle_ps::<0b01_00_01_00>(ab_low, cd_low);
                quads[4 * i + 1] = _mm512_shuffle_ps::<0b11_10_11_10>(ab_low, cd_low);
                quads[4 * i + 2] = _mm512_shuffle_ps::<0b01_00_01_00>(ab_high, cd_high);
                quads[4 * i + 3] = _mm512_shuffle_ps::<0b11_10_11_10>(ab_high, cd_high);
            }
            // Then the quarters: column 4q + c is quarter q of quads[c], quads[4 + c], quads[8 + c], quads[12 + c].
            for c in 0..4 {
                let [a, b, d, e] = [quads[c], quads[4 + c], quads[8 + c], quads[12 + c]];
                let (ab_even, ab_odd) = (
                    _mm512_shuffle_f32x4::<0b10_00_10_00>(a, b),
                    _mm512_shuffle_f32x4::<0b11_01_11_01>(a, b),
                );
                let (de_even, de_odd) = (
                    _mm512_shuffle_f32x4::<0b10_00_10_00>(d, e),
                    _mm512_shuffle_f32x4::<0b11_01_11_01>(d, e),
                );
                let store = |column: usize, v| _mm512_storeu_ps(dst.add(column * dst_stride), v);
                store(c, _mm512_shuffle_f32x4::<0b10_00_10_00>(ab_even, de_even));
                store(4 + c, _mm512_shuffle_f32x4::<0b10_00_10_00>(ab_odd, de_odd));
                store(8 + c, _mm512_shuffle_f32x4::<0b11_01_11_01>(ab_even, de_even));
                store(12 + c, _mm512_shuffle_f32x4::<0b11_01_11_01>(ab_odd, de_odd));
            }
        }
    }

    #[inline(always)]
    #[allow(unsafe_code)]
    fn prefetch(self, address: *const f32) {
        // SAFETY: a prefetch reads nothing, so any address will do; the token proves the features (it needs SSE).
        unsafe { _mm_prefetch::<_MM_HINT_T0>(address.cast()) }
    }

    #[inline(always)]
    #[allow(unsafe_code)]
    fn load_part(self, src: &[f32], fill: f32) -> __m512 {
        let mask = self.first_lanes(src.len());
        // SAFETY: lanes beyond the slice are masked off, so they are not read; the token proves the features.
        unsafe { _mm512_mask_loadu_ps(_mm512_set1_ps(fill), mask, src.as_ptr()) }
    }

    #[inline(always)]
    #[allow(unsafe_code)]
    fn store_part(self, v: __m512, dst: &mut [f32]) {
        let mask = self.first_lanes(dst.len());
        // SAFETY: lanes beyond the slice are masked off, so they are not written; the token proves the features.
        unsafe { _mm512_mask_storeu_ps(dst.as_mut_ptr(), mask, v) }
    }

    instructions! {
        add(a, b) = _mm512_add_ps;
        sub(a, b) = _mm512_sub_ps;
        mul(a, b) = _mm512_mul_ps;
        div(a, b) = _mm512_div_ps;
        sqrt(a) = _mm512_sqrt_ps;
        mul_add(a, b, c) = _mm512_fmadd_ps;
        min(a, b) = _mm512_min_ps;
        max(a, b) = _mm512_max_ps;
        abs(a) = _mm512_abs_ps;
    }

    #[inline(always)]
    #[allow(unsafe_code)]
    fn neg(self, a: __m512) -> __m512 {
        // SAFETY: the token proves the features.
        unsafe { _mm512_xor_ps(_mm512_set1_ps(-0.0), a) }
    }

    #[inline(always)]
    #[allow(unsafe_code)]
    fn copy_sign(self, a: __m512, sign: __m512) -> __m512 {
        // SAFETY: the token proves the features.
        unsafe {
            let bit = _mm512_set1_ps(-0.0);
            _mm512_or_ps(_mm512_andnot_ps(bit, a), _mm512_and_ps(bit, sign))
        }
    }

    #[inline(always)]
    #[allow(unsafe_code)]
    fn round(self, a: __m512) -> __m512 {
        // SAFETY: the token proves the features.
        unsafe { _mm512_roundscale_ps::<{ _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC }>(a) }
    }

    #[inline(always)]
    #[allow(unsafe_code)]
    fn pow2(self, n: __m512) -> __m512 {
        // SAFETY: the token proves the features.
        unsafe {
            let exponent = _mm512_add_epi32(_mm512_cvtps_epi32(n), _mm512_set1_epi32(127));
            _mm512_castsi512_ps(_mm512_slli_epi32::<23>(exponent))
        }
    }

    #[inline(always)]
    #[allow(unsafe_code)]
    fn gt(self, a: __m512, b: __m512) -> __mmask16 {
        // SAFETY: the token proves the features.
        unsafe { _mm512_cmp_ps_mask::<_CMP_GT_OQ>(a, b) }
    }

    #[inline(always)]
    #[allow(unsafe_code)]
    fn select(self, mask: __mmask16, yes: __m512, no: __m512) -> __m512 {
        // SAFETY: the token proves the features.
        unsafe { _mm512_mask_blend_ps(mask, no, yes) }
    }

    #[inline(always)]
    #[allow(unsafe_code)]
    fn reduce_sum(self, a: __m512) -> f32 {
        let (low, high) = self.halves(a);
        // SAFETY: the token proves the features.
        self.0.sum(unsafe { _mm256_add_ps(low, high) })
    }
}
