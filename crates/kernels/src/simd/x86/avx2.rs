//! AVX2, FMA and F16C (which every processor with AVX2 has): 8 lanes, 16 registers.
//!
//! Most operations are one intrinsic; parts of a vector are loaded and stored by masked moves, which touch no float beyond
//! the slice. 2ⁿ is made by shifting n + 127 into the exponent.

use super::{
    super::Simd,
    super::dispatch::{Operation, eval_avx2},
    instructions,
};
use std::arch::x86_64::*;

/// The token of AVX2, FMA and F16C.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Avx2(());

/// A window of 8 that starts at `8 - n` has its first n lanes set, as the masked moves want them.
static FIRST_LANES: [i32; 16] = [-1, -1, -1, -1, -1, -1, -1, -1, 0, 0, 0, 0, 0, 0, 0, 0];

impl Avx2 {
    /// The token, when the processor has the features.
    pub(crate) fn new() -> Option<Self> {
        let found = is_x86_feature_detected!("avx2")
            && is_x86_feature_detected!("fma")
            && is_x86_feature_detected!("f16c");
        found.then_some(Self(()))
    }

    /// The mask of the first `n` lanes, n ≤ 8.
    #[inline(always)]
    #[allow(unsafe_code)]
    fn first_lanes(self, n: usize) -> __m256i {
        let window = &FIRST_LANES[8 - n..][..8];
        // SAFETY: the window has 8 integers; the token proves the features.
        unsafe { _mm256_loadu_si256(window.as_ptr().cast()) }
    }

    /// The sum of 8 lanes, halves added to halves.
    #[inline(always)]
    #[allow(unsafe_code)]
    pub(super) fn sum(self, a: __m256) -> f32 {
        // SAFETY: the token proves the features.
        unsafe {
            let four = _mm_add_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps::<1>(a));
            let two = _mm_add_ps(four, _mm_movehl_ps(four, four));
            _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)))
        }
    }
}

impl Simd for Avx2 {
    type Vec = __m256;
    type Mask = __m256;

    const LANES: usize = 8;
    const REGISTERS: usize = 16;

    #[inline(always)]
    #[allow(unsafe_code)]
    fn call<O: Operation>(self, operation: O) -> O::Output {
        // SAFETY: the token proves the features.
        unsafe { eval_avx2(operation, self) }
    }

    #[inline(always)]
    #[allow(unsafe_code)]
    fn splat(self, x: f32) -> __m256 {
        // SAFETY: the token proves the features.
        unsafe { _mm256_set1_ps(x) }
    }

    #[inline(always)]
    #[allow(unsafe_code)]
    unsafe fn load_ptr(self, src: *const f32) -> __m256 {
        // SAFETY: the caller vouches for 8 floats; the token proves the features.
        unsafe { _mm256_loadu_ps(src) }
    }

    #[inline(always)]
    #[allow(unsafe_code)]
    unsafe fn store_ptr(self, v: __m256, dst: *mut f32) {
        // SAFETY: the caller vouches for 8 floats; the token proves the features.
        unsafe { _mm256_storeu_ps(dst, v) }
    }

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
        // SAFETY: the caller vouches for the addresses; the token proves the features.
        unsafe {
            let rows: [__m256; 8] = std::array::from_fn(
                #[inline(always)]
                |r| _mm256_mul_ps(_mm256_loadu_ps(src.add(r * src_stride)), _mm256_set1_ps(factor)),
            );
            let mut quads = [_mm256_setzero_ps(); 8];
            // Within each 128 bits: 4×4 blocks. quads[4i + c] has, per half h, column 4h + c of rows 4i..4i + 4.
            for i in 0..2 {
                let [a, b, c, d] = [rows[4 * i], rows[4 * i + 1], rows[4 * i + 2], rows[4 * i + 3]];
                let (ab_low, ab_high) = (_mm256_unpacklo_ps(a, b), _mm256_unpackhi_ps(a, b));
                let (cd_low, cd_high) = (_mm256_unpacklo_ps(c, d), _mm256_unpackhi_ps(c, d));
                quads[4 * i] = _mm256_shuffle_ps::<0b01_00_01_00>(ab_low, cd_low);
                quads[4 * i + 1] = _mm256_shuffle_ps::<0b11_10_11_10>(ab_low, cd_low);
                quads[4 * i + 2] = _mm256_shuffle_ps::<0b01_00_01_00>(ab_high, cd_high);
                quads[4 * i + 3] = _mm256_shuffle_ps::<0b11_10_11_10>(ab_high, cd_high);
            }
            for c in 0..4 {
                let (low, high) = (quads[c], quads[4 + c]);
                _mm256_storeu_ps(dst.add(c * dst_stride), _mm256_permute2f128_ps::<0x20>(low, high));
                _mm256_storeu_ps(dst.add((4 + c) * dst_stride), _mm256_permute2f128_ps::<0x31>(low, high));
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
    fn load_part(self, src: &[f32], fill: f32) -> __m256 {
        let mask = self.first_lanes(src.len());
        // SAFETY: lanes beyond the slice are masked off, so they are not read; the token proves the features.
        unsafe {
            let loaded = _mm256_maskload_ps(src.as_ptr(), mask);
            _mm256_blendv_ps(_mm256_set1_ps(fill), loaded, _mm256_castsi256_ps(mask))
        }
    }

    #[inline(always)]
    #[allow(unsafe_code)]
    fn store_part(self, v: __m256, dst: &mut [f32]) {
        let mask = self.first_lanes(dst.len());
        // SAFETY: lanes beyond the slice are masked off, so they are not written; the token proves the features.
        unsafe { _mm256_maskstore_ps(dst.as_mut_ptr(), mask, v) }
    }

    instructions! {
        add(a, b) = _mm256_add_ps;
        sub(a, b) = _mm256_sub_ps;
        mul(a, b) = _mm256_mul_ps;
        div(a, b) = _mm256_div_ps;
        sqrt(a) = _mm256_sqrt_ps;
        mul_add(a, b, c) = _mm256_fmadd_ps;
        min(a, b) = _mm256_min_ps;
        max(a, b) = _mm256_max_ps;
    }

    #[inline(always)]
    #[allow(unsafe_code)]
    fn abs(self, a: __m256) -> __m256 {
        // SAFETY: the token proves the features.
        unsafe { _mm256_andnot_ps(_mm256_set1_ps(-0.0), a) }
    }

    #[inline(always)]
    #[allow(unsafe_code)]
    fn neg(self, a: __m256) -> __m256 {
        // SAFETY: the token proves the features.
        unsafe { _mm256_xor_ps(_mm256_set1_ps(-0.0), a) }
    }

    #[inline(always)]
    #[allow(unsafe_code)]
    fn copy_sign(self, a: __m256, sign: __m256) -> __m256 {
        // SAFETY: the token proves the features.
        unsafe {
            let bit = _mm256_set1_ps(-0.0);
            _mm256_or_ps(_mm256_andnot_ps(bit, a), _mm256_and_ps(bit, sign))
        }
    }

    #[inline(always)]
    #[allow(unsafe_code)]
    fn round(self, a: __m256) -> __m256 {
        // SAFETY: the token proves the features.
        unsafe { _mm256_round_ps::<{ _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC }>(a) }
    }

    #[inline(always)]
    #[allow(unsafe_code)]
    fn pow2(self, n: __m256) -> __m256 {
        // SAFETY: the token proves the features.
        unsafe {
            let exponent = _mm256_add_epi32(_mm256_cvtps_epi32(n), _mm256_set1_epi32(127));
            _mm256_castsi256_ps(_mm256_slli_epi32::<23>(exponent))
        }
    }

    #[inline(always)]
    #[allow(unsafe_code)]
    fn gt(self, a: __m256, b: __m256) -> __m256 {
        // SAFETY: the token proves the features.
        unsafe { _mm256_cmp_ps::<_CMP_GT_OQ>(a, b) }
    }

    #[inline(always)]
    #[allow(unsafe_code)]
    fn select(self, mask: __m256, yes: __m256, no: __m256) -> __m256 {
        // SAFETY: the token proves the features.
        unsafe { _mm256_blendv_ps(no, yes, mask) }
    }

    #[inline(always)]
    #[allow(unsafe_code)]
    fn dot_bytes(self, a: __m256, b: __m256, sum: __m256) -> __m256 {
        // SAFETY: the token proves the features.
        unsafe {
            let (a, b, sum) = (_mm256_castps_si256(a), _mm256_castps_si256(b), _mm256_castps_si256(sum));
            // Even and odd bytes as 16-bit integers, whose products are added in pairs as 32-bit ones: nothing saturates.
            let even = _mm256_madd_epi16(
                _mm256_and_si256(a, _mm256_set1_epi16(0xFF)),
                _mm256_srai_epi16::<8>(_mm256_slli_epi16::<8>(b)),
            );
            let odd = _mm256_madd_epi16(_mm256_srli_epi16::<8>(a), _mm256_srai_epi16::<8>(b));
            _mm256_castsi256_ps(_mm256_add_epi32(sum, _mm256_add_epi32(even, odd)))
        }
    }

    #[inline(always)]
    #[allow(unsafe_code)]
    fn integer_to_float(self, a: __m256) -> __m256 {
        // SAFETY: the token proves the features.
        unsafe { _mm256_cvtepi32_ps(_mm256_castps_si256(a)) }
    }

    #[inline(always)]
    #[allow(unsafe_code)]
    fn integer_sum(self, a: __m256, b: __m256) -> __m256 {
        // SAFETY: the token proves the features.
        unsafe { _mm256_castsi256_ps(_mm256_add_epi32(_mm256_castps_si256(a), _mm256_castps_si256(b))) }
    }

    #[inline(always)]
    #[allow(unsafe_code)]
    fn signed_byte(self, words: __m256, i: u32) -> __m256 {
        // SAFETY: the token proves the features.
        unsafe {
            let shift = _mm_cvtsi32_si128((24 - 8 * i).cast_signed());
            let at_the_top = _mm256_sll_epi32(_mm256_castps_si256(words), shift);
            _mm256_cvtepi32_ps(_mm256_srai_epi32::<24>(at_the_top))
        }
    }

    #[inline(always)]
    #[allow(unsafe_code)]
    fn nibbles(self, words: __m256, high: bool) -> __m256 {
        // SAFETY: the token proves the features.
        unsafe {
            let words = _mm256_castps_si256(words);
            let low = if high { _mm256_srli_epi32::<4>(words) } else { words };
            _mm256_castsi256_ps(_mm256_and_si256(low, _mm256_set1_epi32(0x0F0F_0F0F)))
        }
    }

    #[inline(always)]
    #[allow(unsafe_code)]
    unsafe fn store_bytes(self, a: [__m256; 4], signed: bool, dst: *mut u8) {
        // SAFETY: the caller vouches for 32 bytes; the token proves the features.
        unsafe {
            let [a, b, c, d] = a.map(
                #[inline(always)]
                |a| _mm256_cvtps_epi32(a),
            );
            let (low, high) = (_mm256_packs_epi32(a, b), _mm256_packs_epi32(c, d));
            let bytes = if signed { _mm256_packs_epi16(low, high) } else { _mm256_packus_epi16(low, high) };
            // Packing works within each 128 bits: their 32-bit parts come in the order 0, 4, 1, 5, …
            let order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
            _mm256_storeu_si256(dst.cast(), _mm256_permutevar8x32_epi32(bytes, order));
        }
    }

    #[inline(always)]
    #[allow(unsafe_code)]
    fn bf16_half(self, words: __m256, high: bool) -> __m256 {
        // SAFETY: the token proves the features.
        unsafe {
            let words = _mm256_castps_si256(words);
            _mm256_castsi256_ps(match high {
                true => _mm256_and_si256(words, _mm256_set1_epi32(0xFFFF_0000_u32.cast_signed())),
                false => _mm256_slli_epi32::<16>(words),
            })
        }
    }

    #[inline(always)]
    #[allow(unsafe_code)]
    fn f16_half(self, words: __m256, high: bool) -> __m256 {
        // SAFETY: the token proves the features.
        unsafe {
            let words = _mm256_castps_si256(words);
            let low = match high {
                true => _mm256_srli_epi32::<16>(words),
                false => _mm256_and_si256(words, _mm256_set1_epi32(0xFFFF)),
            };
            _mm256_cvtph_ps(_mm_packus_epi32(_mm256_castsi256_si128(low), _mm256_extracti128_si256::<1>(low)))
        }
    }

    #[inline(always)]
    fn reduce_sum(self, a: __m256) -> f32 {
        self.sum(a)
    }
}
