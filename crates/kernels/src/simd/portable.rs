//! The portable level: arrays and short loops that compilers turn into the baseline's vectors (SSE2, NEON).
//!
//! 4 lanes, one register of either. No `unsafe` but for loading and storing by address; no branch per lane, as selections
//! are made by bits; `mul_add` rounds twice where the baseline has no such instruction.

use super::{Operation, Simd};

/// The level that every processor has.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Portable(());

/// One SSE2 or NEON register.
#[derive(Debug, Clone, Copy)]
#[repr(align(16))]
pub(crate) struct Lanes([f32; LANES]);

const LANES: usize = 4;

/// 1.5 · 2²³: adding it leaves no bits for a fraction, so the addition rounds to an integer, ties to even.
const TO_INTEGER: f32 = 12_582_912.0;

const SIGN: u32 = 0x8000_0000;

/// The high half of a word.
const HIGH: u32 = 0xFFFF_0000;

impl Portable {
    /// The token; there is nothing to check.
    pub(crate) fn new() -> Self {
        Self(())
    }
}

#[inline(always)]
fn map(a: Lanes, f: impl Fn(f32) -> f32) -> Lanes {
    Lanes(std::array::from_fn(
        #[inline(always)]
        |i| f(a.0[i]),
    ))
}

#[inline(always)]
fn zip(a: Lanes, b: Lanes, f: impl Fn(f32, f32) -> f32) -> Lanes {
    Lanes(std::array::from_fn(
        #[inline(always)]
        |i| f(a.0[i], b.0[i]),
    ))
}

/// Halves combined with halves, down to one.
#[inline(always)]
fn reduce(a: Lanes, f: impl Fn(f32, f32) -> f32) -> f32 {
    f(f(a.0[0], a.0[2]), f(a.0[1], a.0[3]))
}

impl Simd for Portable {
    type Vec = Lanes;
    /// All ones or all zeros: selecting by bits needs no branch.
    type Mask = [u32; LANES];

    const LANES: usize = LANES;
    /// Of 16, some go to products, as there is no FMA that adds them at once, and two-operand instructions copy. Measured with
    /// `benches/gemm.rs` (257 rows, one thread): 10 gives 25 GFLOP/s, 8 gives 24, 12 gives 18, 16 gives 22.
    const REGISTERS: usize = if cfg!(target_arch = "aarch64") { 32 } else { 10 };

    #[inline(never)]
    fn call<O: Operation>(self, operation: O) -> O::Output {
        operation.eval(self)
    }

    #[inline(always)]
    fn splat(self, x: f32) -> Lanes {
        Lanes([x; LANES])
    }

    #[inline(always)]
    #[allow(unsafe_code)]
    unsafe fn load_ptr(self, src: *const f32) -> Lanes {
        // SAFETY: the caller vouches for `LANES` aligned floats; an array of f32 has no alignment but theirs.
        Lanes(unsafe { src.cast::<[f32; LANES]>().read() })
    }

    #[inline(always)]
    #[allow(unsafe_code)]
    unsafe fn store_ptr(self, v: Lanes, dst: *mut f32) {
        // SAFETY: as in `load_ptr`.
        unsafe { dst.cast::<[f32; LANES]>().write(v.0) }
    }

    #[inline(always)]
    fn load_part(self, src: &[f32], fill: f32) -> Lanes {
        let mut lanes = [fill; LANES];
        lanes[..src.len()].copy_from_slice(src);
        Lanes(lanes)
    }

    #[inline(always)]
    fn store_part(self, v: Lanes, dst: &mut [f32]) {
        dst.copy_from_slice(&v.0[..dst.len()]);
    }

    #[inline(always)]
    fn add(self, a: Lanes, b: Lanes) -> Lanes {
        zip(a, b, |x, y| x + y)
    }

    #[inline(always)]
    fn sub(self, a: Lanes, b: Lanes) -> Lanes {
        zip(a, b, |x, y| x - y)
    }

    #[inline(always)]
    fn mul(self, a: Lanes, b: Lanes) -> Lanes {
        zip(a, b, |x, y| x * y)
    }

    #[inline(always)]
    fn div(self, a: Lanes, b: Lanes) -> Lanes {
        zip(a, b, |x, y| x / y)
    }

    #[inline(always)]
    fn sqrt(self, a: Lanes) -> Lanes {
        map(a, f32::sqrt)
    }

    #[inline(always)]
    fn mul_add(self, a: Lanes, b: Lanes, c: Lanes) -> Lanes {
        // Without the instruction, `f32::mul_add` is a call of a library function per lane.
        let fused = cfg!(any(target_arch = "aarch64", target_feature = "fma"));
        Lanes(std::array::from_fn(
            #[inline(always)]
            |i| if fused { a.0[i].mul_add(b.0[i], c.0[i]) } else { a.0[i] * b.0[i] + c.0[i] },
        ))
    }

    #[inline(always)]
    fn min(self, a: Lanes, b: Lanes) -> Lanes {
        zip(a, b, |x, y| if x < y { x } else { y })
    }

    #[inline(always)]
    fn max(self, a: Lanes, b: Lanes) -> Lanes {
        zip(a, b, |x, y| if x > y { x } else { y })
    }

    #[inline(always)]
    fn abs(self, a: Lanes) -> Lanes {
        map(a, |x| f32::from_bits(x.to_bits() & !SIGN))
    }

    #[inline(always)]
    fn neg(self, a: Lanes) -> Lanes {
        map(a, |x| f32::from_bits(x.to_bits() ^ SIGN))
    }

    #[inline(always)]
    fn copy_sign(self, a: Lanes, sign: Lanes) -> Lanes {
        zip(a, sign, |x, s| f32::from_bits((x.to_bits() & !SIGN) | (s.to_bits() & SIGN)))
    }

    #[inline(always)]
    fn round(self, a: Lanes) -> Lanes {
        map(a, |x| (x + TO_INTEGER) - TO_INTEGER)
    }

    #[inline(always)]
    fn pow2(self, n: Lanes) -> Lanes {
        // After the addition the low mantissa bits are the integer: no conversion, which saturates and so is slow.
        map(biased(n), |x| f32::from_bits(x.to_bits() << 23))
    }

    #[inline(always)]
    fn gt(self, a: Lanes, b: Lanes) -> [u32; LANES] {
        std::array::from_fn(
            #[inline(always)]
            |i| if a.0[i] > b.0[i] { u32::MAX } else { 0 },
        )
    }

    #[inline(always)]
    fn select(self, mask: [u32; LANES], yes: Lanes, no: Lanes) -> Lanes {
        Lanes(std::array::from_fn(
            #[inline(always)]
            |i| f32::from_bits((yes.0[i].to_bits() & mask[i]) | (no.0[i].to_bits() & !mask[i])),
        ))
    }

    #[inline(always)]
    fn dot_bytes(self, a: Lanes, b: Lanes, sum: Lanes) -> Lanes {
        Lanes(std::array::from_fn(
            #[inline(always)]
            |i| {
                let (a, b) = (a.0[i].to_bits().to_le_bytes(), b.0[i].to_bits().to_le_bytes());
                let product = |j: usize| i32::from(a[j]) * i32::from(b[j].cast_signed());
                let products = product(0) + product(1) + product(2) + product(3);
                f32::from_bits(sum.0[i].to_bits().wrapping_add_signed(products))
            },
        ))
    }

    #[inline(always)]
    fn integer_to_float(self, a: Lanes) -> Lanes {
        map(a, |x| x.to_bits().cast_signed() as f32)
    }

    #[inline(always)]
    fn integer_sum(self, a: Lanes, b: Lanes) -> Lanes {
        zip(a, b, |x, y| f32::from_bits(x.to_bits().wrapping_add(y.to_bits())))
    }

    #[inline(always)]
    fn signed_byte(self, words: Lanes, i: u32) -> Lanes {
        map(words, |word| ((word.to_bits() << (24 - 8 * i)).cast_signed() >> 24) as f32)
    }

    #[inline(always)]
    fn nibbles(self, words: Lanes, high: bool) -> Lanes {
        map(words, |word| f32::from_bits((word.to_bits() >> if high { 4 } else { 0 }) & 0x0F0F_0F0F))
    }

    #[inline(always)]
    #[allow(unsafe_code)]
    unsafe fn store_bytes(self, a: [Lanes; 4], signed: bool, dst: *mut u8) {
        let (least, most) = if signed { (-128.0, 127.0) } else { (0.0, 255.0) };
        for (i, a) in a.into_iter().enumerate() {
            // After the addition the low mantissa bits are the integer.
            let bytes = a.0.map(
                #[inline(always)]
                |x| (x.clamp(least, most) + TO_INTEGER).to_bits() as u8,
            );
            // SAFETY: the caller vouches for 4 · `LANES` bytes.
            unsafe { dst.add(i * LANES).cast::<[u8; LANES]>().write(bytes) }
        }
    }

    #[inline(always)]
    fn bf16_half(self, words: Lanes, high: bool) -> Lanes {
        map(words, |word| f32::from_bits(if high { word.to_bits() & HIGH } else { word.to_bits() << 16 }))
    }

    #[inline(always)]
    fn f16_half(self, words: Lanes, high: bool) -> Lanes {
        map(
            words,
            #[inline(always)]
            |word| {
                let half = if high { word.to_bits() >> 16 } else { word.to_bits() & !HIGH };
                // The exponent's bias grows by 112: so subnormals come right too. That of infinities and NaN grows twice.
                let magnitude = f32::from_bits((half & 0x7FFF) << 13) * f32::from_bits((127 + 112) << 23);
                let special = if half & 0x7C00 == 0x7C00 { 0x7F80_0000 } else { 0 };
                f32::from_bits(magnitude.to_bits() | special | (half & 0x8000) << 16)
            },
        )
    }

    #[inline(always)]
    fn reduce_sum(self, a: Lanes) -> f32 {
        reduce(a, |x, y| x + y)
    }
}

/// Floats whose low mantissa bits are n + 127, the exponent field of 2ⁿ.
#[inline(always)]
fn biased(n: Lanes) -> Lanes {
    map(n, |x| x + (TO_INTEGER + 127.0))
}
