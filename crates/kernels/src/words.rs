//! Rows of floats as words of two bf16: along a row, or from two rows, as products of bf16 want them.

use crate::simd::{Operation, Simd};

/// A row as bf16: `words[j]` has numbers 2j and 2j + 1, 0 past the end.
pub(crate) struct ToBf16<'a> {
    pub(crate) row: &'a [f32],
    /// [⌈K/2⌉].
    pub(crate) words: &'a mut [f32],
}

impl Operation for ToBf16<'_> {
    type Output = ();

    #[inline(always)]
    fn eval<S: Simd>(self, simd: S) {
        let Self { row, words } = self;
        let whole = row.len() - row.len() % S::LANES;
        assert!(2 * words.len() >= whole, "words of a row");
        let halves = words.as_mut_ptr().cast::<u16>();
        for k in (0..whole).step_by(S::LANES) {
            // SAFETY: k + LANES ≤ 2 · words, by the assertion, and a word is two halves.
            #[allow(unsafe_code)]
            unsafe {
                simd.store_bf16(simd.load(&row[k..]), halves.add(k));
            }
        }
        for (word, pair) in words[whole / 2..].iter_mut().zip(row[whole..].chunks(2)) {
            let half = |i: usize| pair.get(i).map_or(0, |x| u32::from(half::bf16::from_f32(*x).to_bits()));
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
