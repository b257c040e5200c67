//! Rows of floats as words of two bf16 or f16: along a row, or from two rows, as products of halves want them.

use crate::simd::{Operation, Simd};

/// A row times a factor as f16, or else the row as bf16: `words[j]` has numbers 2j and 2j + 1, 0 past the end.
pub(crate) struct ToHalves<'a, const F16: bool> {
    pub(crate) row: &'a [f32],
    /// [⌈K/2⌉].
    pub(crate) words: &'a mut [f32],
    pub(crate) factor: f32,
}

impl<const F16: bool> Operation for ToHalves<'_, F16> {
    type Output = ();

    #[inline(always)]
    fn eval<S: Simd>(self, simd: S) {
        let Self { row, words, factor } = self;
        let whole = row.len() - row.len() % S::LANES;
        assert!(2 * words.len() >= whole, "words of a row");
        let halves = words.as_mut_ptr().cast::<u16>();
        for k in (0..whole).step_by(S::LANES) {
            // SAFETY: k + LANES ≤ 2 · words, by the assertion, and a word is two halves.
            #[allow(unsafe_code)]
            unsafe {
                let x = simd.load(&row[k..]);
                match F16 {
                    true => simd.store_f16(simd.mul(x, simd.splat(factor)), halves.add(k)),
                    false => simd.store_bf16(x, halves.add(k)),
                }
            }
        }
        for (word, pair) in words[whole / 2..].iter_mut().zip(row[whole..].chunks(2)) {
            let half = |i: usize| {
                let x = pair.get(i).copied().unwrap_or(0.0);
                u32::from(match F16 {
                    true => half::f16::from_f32(x * factor).to_bits(),
                    false => half::bf16::from_f32(x).to_bits(),
                })
            };
            *word = f32::from_bits(half(0) | half(1) << 16);
        }
    }
}

/// Two rows as bf16: `words[c]` has number c of either, the second 0 where there is none.
pub(crate) struct PairRows<'a> {
    pub(crate) low: &'a [f32],
    pub(crate) high: Option<&'a [f32]>,
    pub(crate) words: &'a mut [f32],
}

impl Operation for PairRows<'_> {
    type Output = ();

    #[inline(always)]
    fn eval<S: Simd>(self, simd: S) {
        let Self { low, high, words } = self;
        let chunks = words.chunks_mut(S::LANES).zip(low.chunks(S::LANES));
        for (i, (words, low)) in chunks.enumerate() {
            let high = high.map_or(&[][..], |high| &high[i * S::LANES..][..low.len()]);
            let pair = simd.bf16_pair(simd.load_part(low, 0.0), simd.load_part(high, 0.0));
            simd.store_part(pair, words);
        }
    }
}
