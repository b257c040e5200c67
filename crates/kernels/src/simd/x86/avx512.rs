//! AVX-512 F, BW, DQ and VL, with AVX2 and FMA below: 16 lanes, 32 registers, masks.
//!
//! Processors may have more: products of bytes (VNNI), of bf16 or of f16, each with a token of its own kind, which proves it. Few kernels
//! are compiled for those.
//!
//! Most operations are one intrinsic; parts of a vector are loaded and stored under a mask, which touches no float beyond
//! the slice. Reductions halve the vector once, then are those of AVX2.

use super::{
    super::Simd,
    super::dispatch::{Operation, eval_avx512, eval_avx512_bf16, eval_avx512_fp16, eval_avx512_vnni},
    super::vector::{bf16_pair_each, dot_bf16_floats, mul_add_f16_each, store_bf16_each},
    Avx2, instructions,
};
use std::arch::x86_64::*;

/// [`Avx512`] as it is.
pub(crate) const PLAIN: u8 = 0;

/// [`Avx512`] with VNNI.
pub(crate) const VNNI: u8 = 1;

/// [`Avx512`] with BF16.
pub(crate) const BF16: u8 = 2;

/// [`Avx512`] with FP16.
pub(crate) const FP16: u8 = 3;

/// The token of AVX-512 and one of [`PLAIN`], [`VNNI`], [`BF16`], [`FP16`]; it holds the token of the level below.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Avx512<const EXTRA: u8 = PLAIN>(Avx2);

impl Avx512 {
    /// The token, when the processor has all of the features.
    pub(crate) fn new() -> Option<Self> {
        let found = is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512dq")
            && is_x86_feature_detected!("avx512vl");
        Avx2::new().filter(|_| found).map(Self)
    }

    /// With VNNI, when the processor has it.
    #[inline]
    pub(crate) fn with_vnni(self) -> Option<Avx512<VNNI>> {
        is_x86_feature_detected!("avx512vnni").then_some(Avx512(self.0))
    }

    /// With BF16, when the processor has it.
    #[inline]
    pub(crate) fn with_bf16(self) -> Option<Avx512<BF16>> {
        is_x86_feature_detected!("avx512bf16").then_some(Avx512(self.0))
    }

    /// With FP16, when the processor has it.
    #[inline]
    pub(crate) fn with_fp16(self) -> Option<Avx512<FP16>> {
        is_x86_feature_detected!("avx512fp16").then_some(Avx512(self.0))
    }
}

impl<const EXTRA: u8> Avx512<EXTRA> {
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

impl<const EXTRA: u8> Simd for Avx512<EXTRA> {
    type Vec = __m512;
    type Mask = __mmask16;

    const LANES: usize = 16;
    const REGISTERS: usize = 32;
    const LOOKS_UP: bool = true;

    #[inline(always)]
    #[allow(unsafe_code)]
    fn call<O: Operation>(self, operation: O) -> O::Output {
        // SAFETY: the token proves the features, also those of its kind.
        unsafe {
            match EXTRA {
                VNNI => eval_avx512_vnni(operation, Avx512(self.0)),
                BF16 => eval_avx512_bf16(operation, Avx512(self.0)),
                FP16 => eval_avx512_fp16(operation, Avx512(self.0)),
                _ => eval_avx512(operation, Avx512(self.0)),
            }
        }
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
            let rows: [__m512; 16] = std::array::from_fn(
                #[inline(always)]
                |r| _mm512_mul_ps(_mm512_loadu_ps(src.add(r * src_stride)), _mm512_set1_ps(factor)),
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
    fn split(self, a: __m512) -> (__m512, __m512) {
        // SAFETY: the token proves the features.
        unsafe {
            let rest = _mm512_reduce_ps::<{ _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC }>(a);
            (_mm512_sub_ps(a, rest), rest)
        }
    }

    #[inline(always)]
    #[allow(unsafe_code)]
    fn scale(self, p: __m512, n: __m512) -> __m512 {
        // SAFETY: the token proves the features.
        unsafe { _mm512_scalef_ps(p, n) }
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
    fn dot_bytes(self, a: __m512, b: __m512, sum: __m512) -> __m512 {
        // SAFETY: the token proves the features.
        unsafe {
            let (a, b, sum) = (_mm512_castps_si512(a), _mm512_castps_si512(b), _mm512_castps_si512(sum));
            if EXTRA == VNNI {
                return _mm512_castsi512_ps(_mm512_dpbusd_epi32(sum, a, b));
            }
            // Even and odd bytes as 16-bit integers, whose products are added in pairs as 32-bit ones: nothing saturates.
            let even = _mm512_madd_epi16(
                _mm512_and_si512(a, _mm512_set1_epi16(0xFF)),
                _mm512_srai_epi16::<8>(_mm512_slli_epi16::<8>(b)),
            );
            let odd = _mm512_madd_epi16(_mm512_srli_epi16::<8>(a), _mm512_srai_epi16::<8>(b));
            _mm512_castsi512_ps(_mm512_add_epi32(sum, _mm512_add_epi32(even, odd)))
        }
    }

    #[inline(always)]
    #[allow(unsafe_code)]
    fn integer_to_float(self, a: __m512) -> __m512 {
        // SAFETY: the token proves the features.
        unsafe { _mm512_cvtepi32_ps(_mm512_castps_si512(a)) }
    }

    #[inline(always)]
    #[allow(unsafe_code)]
    fn integer_sum(self, a: __m512, b: __m512) -> __m512 {
        // SAFETY: the token proves the features.
        unsafe { _mm512_castsi512_ps(_mm512_add_epi32(_mm512_castps_si512(a), _mm512_castps_si512(b))) }
    }

    #[inline(always)]
    #[allow(unsafe_code)]
    fn signed_byte(self, words: __m512, i: u32) -> __m512 {
        // SAFETY: the token proves the features.
        unsafe {
            let shift = _mm_cvtsi32_si128((24 - 8 * i).cast_signed());
            let at_the_top = _mm512_sll_epi32(_mm512_castps_si512(words), shift);
            _mm512_cvtepi32_ps(_mm512_srai_epi32::<24>(at_the_top))
        }
    }

    #[inline(always)]
    #[allow(unsafe_code)]
    fn nibbles(self, words: __m512, high: bool) -> __m512 {
        // SAFETY: the token proves the features.
        unsafe {
            let words = _mm512_castps_si512(words);
            let low = if high { _mm512_srli_epi32::<4>(words) } else { words };
            _mm512_castsi512_ps(_mm512_and_si512(low, _mm512_set1_epi32(0x0F0F_0F0F)))
        }
    }

    #[inline(always)]
    #[allow(unsafe_code)]
    unsafe fn store_bytes(self, a: [__m512; 4], signed: bool, dst: *mut u8) {
        // SAFETY: the caller vouches for 64 bytes; the token proves the features.
        unsafe {
            let [a, b, c, d] = a.map(
                #[inline(always)]
                |a| _mm512_cvtps_epi32(a),
            );
            let (low, high) = (_mm512_packs_epi32(a, b), _mm512_packs_epi32(c, d));
            let bytes = if signed { _mm512_packs_epi16(low, high) } else { _mm512_packus_epi16(low, high) };
            // Packing works within each 128 bits: their 32-bit parts come in the order 0, 4, 8, 12, 1, …
            let order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
            _mm512_storeu_si512(dst.cast(), _mm512_permutexvar_epi32(order, bytes));
        }
    }

    #[inline(always)]
    #[allow(unsafe_code)]
    fn bf16_half(self, words: __m512, high: bool) -> __m512 {
        // SAFETY: the token proves the features.
        unsafe {
            let words = _mm512_castps_si512(words);
            _mm512_castsi512_ps(match high {
                true => _mm512_and_si512(words, _mm512_set1_epi32(0xFFFF_0000_u32.cast_signed())),
                false => _mm512_slli_epi32::<16>(words),
            })
        }
    }

    #[inline(always)]
    #[allow(unsafe_code)]
    fn f16_half(self, words: __m512, high: bool) -> __m512 {
        // SAFETY: the token proves the features.
        unsafe {
            let words = _mm512_castps_si512(words);
            let low = if high { _mm512_srli_epi32::<16>(words) } else { words };
            _mm512_cvtph_ps(_mm512_cvtepi32_epi16(low))
        }
    }

    #[inline(always)]
    #[allow(unsafe_code)]
    unsafe fn store_bf16(self, a: __m512, dst: *mut u16) {
        // SAFETY: the caller vouches for 16 halves; a token of this kind proves AVX-512 BF16.
        unsafe {
            if EXTRA != BF16 {
                return store_bf16_each(self, a, dst);
            }
            let halves = std::mem::transmute::<__m256bh, __m256i>(_mm512_cvtneps_pbh(a));
            _mm256_storeu_si256(dst.cast(), halves);
        }
    }

    #[inline(always)]
    #[allow(unsafe_code)]
    fn bf16_pair(self, low: __m512, high: __m512) -> __m512 {
        if EXTRA != BF16 {
            return bf16_pair_each(self, low, high);
        }
        // SAFETY: a token of this kind proves AVX-512 BF16; any 512 bits are 32 bf16.
        unsafe {
            let halves = std::mem::transmute::<__m512bh, __m512i>(_mm512_cvtne2ps_pbh(high, low));
            // Half i of `low`, then half i of `high`, which are 16 apart.
            let alternate = _mm512_set_epi16(
                31, 15, 30, 14, 29, 13, 28, 12, 27, 11, 26, 10, 25, 9, 24, 8, 23, 7, 22, 6, 21, 5, 20, 4, 19,
                3, 18, 2, 17, 1, 16, 0,
            );
            _mm512_castsi512_ps(_mm512_permutexvar_epi16(alternate, halves))
        }
    }

    #[inline(always)]
    #[allow(unsafe_code)]
    fn dot_bf16(self, a: __m512, b: __m512, sum: __m512) -> __m512 {
        if EXTRA != BF16 {
            return dot_bf16_floats(self, a, b, sum);
        }
        // SAFETY: a token of this kind proves AVX-512 BF16; any 512 bits are 32 bf16.
        unsafe {
            let halves = |words| std::mem::transmute::<__m512, __m512bh>(words);
            _mm512_dpbf16_ps(sum, halves(a), halves(b))
        }
    }

    #[inline(always)]
    #[allow(unsafe_code)]
    unsafe fn store_f16(self, a: __m512, dst: *mut u16) {
        // SAFETY: the caller vouches for 16 halves; the token proves the features.
        unsafe {
            let halves = _mm512_cvtps_ph::<{ _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC }>(a);
            _mm256_storeu_si256(dst.cast(), halves);
        }
    }

    #[inline(always)]
    #[allow(unsafe_code)]
    fn mul_add_f16(self, a: __m512, b: __m512, c: __m512) -> __m512 {
        if EXTRA != FP16 {
            return mul_add_f16_each(self, a, b, c);
        }
        // SAFETY: a token of this kind proves AVX-512 FP16.
        unsafe {
            let sums = _mm512_fmadd_ph(_mm512_castps_ph(a), _mm512_castps_ph(b), _mm512_castps_ph(c));
            _mm512_castph_ps(sums)
        }
    }

    #[inline(always)]
    #[allow(unsafe_code)]
    fn f16_sum(self, words: __m512) -> __m512 {
        // SAFETY: the token proves the features.
        unsafe {
            // The low halves of all words, then the high ones.
            let order = _mm512_set_epi16(
                31, 29, 27, 25, 23, 21, 19, 17, 15, 13, 11, 9, 7, 5, 3, 1, 30, 28, 26, 24, 22, 20, 18, 16,
                14, 12, 10, 8, 6, 4, 2, 0,
            );
            let halves = _mm512_permutexvar_epi16(order, _mm512_castps_si512(words));
            let (low, high) = (_mm512_castsi512_si256(halves), _mm512_extracti64x4_epi64::<1>(halves));
            _mm512_add_ps(_mm512_cvtph_ps(low), _mm512_cvtph_ps(high))
        }
    }

    #[inline(always)]
    #[allow(unsafe_code)]
    fn lookup(self, table: &[f32; 32], index: __m512) -> __m512 {
        // SAFETY: both halves of the table have 16 floats; the token proves the features.
        unsafe {
            let (low, high) = (_mm512_loadu_ps(table.as_ptr()), _mm512_loadu_ps(table.as_ptr().add(16)));
            _mm512_permutex2var_ps(low, _mm512_castps_si512(index), high)
        }
    }

    #[inline(always)]
    #[allow(unsafe_code)]
    fn reduce_sum(self, a: __m512) -> f32 {
        let (low, high) = self.halves(a);
        // SAFETY: the token proves the features.
        self.0.sum(unsafe { _mm256_add_ps(low, high) })
    }
}
