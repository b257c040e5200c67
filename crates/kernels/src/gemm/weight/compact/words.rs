//! The words of rows, and how they get into a panel: a cache line of words of a row at a time, whole vectors of them, then a column
//! of the panel.
//!
//! A run of words that lies whole within a row's inputs is made at once; what is at the end of a row is made word by word, which is
//! also what the runs have to equal.

use super::super::{RUN, assert_stacked};
use crate::floats::bf16_bits;
use crate::simd::{Operation, Simd};
use crate::{FloatSlice, Int4Weight, Int8Weight};
use half::f16;
use half::slice::HalfFloatSliceExt;

/// Rows that are packed as words.
pub(super) trait Words: Sync {
    /// Inputs that a word holds.
    const INPUTS: usize;

    /// How many rows there are.
    fn rows(&self) -> usize;

    /// Inputs of a row.
    fn inputs(&self) -> usize;

    /// Word `j` of a row; what is past the row is 0.
    fn word(&self, row: usize, j: usize) -> u32;

    /// The words from `start` on, which hold inputs of the row only.
    fn run(&self, row: usize, start: usize) -> [u32; RUN];
}

/// Writes rows as the columns of `panel` ([depth, W]).
pub(super) struct PackWords<'a, R> {
    /// W of them, or what is left for the last panel: a part and a row of it.
    pub(super) rows: &'a [(&'a R, usize)],
    pub(super) width: usize,
    pub(super) panel: &'a mut [f32],
}

impl<R: Words> Operation for PackWords<'_, R> {
    type Output = ();

    #[inline(always)]
    fn eval<S: Simd>(self, _simd: S) {
        let Self { rows, width, panel } = self;
        for (block, lines) in panel.chunks_mut(RUN * width).enumerate() {
            let start = block * RUN;
            for (column, (part, row)) in rows.iter().enumerate() {
                if (start + RUN) * R::INPUTS <= part.inputs() {
                    for (line, word) in lines.chunks_exact_mut(width).zip(part.run(*row, start)) {
                        line[column] = f32::from_bits(word);
                    }
                } else {
                    for (line, j) in lines.chunks_exact_mut(width).zip(start..) {
                        line[column] = f32::from_bits(part.word(*row, j));
                    }
                }
            }
        }
    }
}

/// A kind of 16-bit floats.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Half {
    Bf16,
    F16,
}

/// Rows of floats that become halves.
pub(super) struct HalfRows<'a> {
    weight: FloatSlice<'a>,
    k: usize,
    rows: usize,
    half: Half,
}

impl<'a> HalfRows<'a> {
    /// The parts of a stacked weight.
    pub(super) fn of(weights: &[FloatSlice<'a>], (n, k): (usize, usize), half: Half) -> Vec<Self> {
        assert_stacked(weights.iter().map(|weight| weight.len()), (n, k));
        let rows = |weight: &FloatSlice<'_>| weight.len().checked_div(k).unwrap_or(0);
        let mut parts: Vec<_> =
            weights.iter().map(|weight| Self { weight: *weight, k, rows: rows(weight), half }).collect();
        // Rows of nothing cannot be counted by their length.
        if let Some(first) = parts.first_mut().filter(|_| k == 0) {
            first.rows = n;
        }
        parts
    }

    /// Some inputs of a row as halves.
    #[inline(always)]
    fn round(&self, row: usize, start: usize, to: &mut [u16]) {
        let first = row * self.k + start;
        let values = self.weight.slice(first..first + to.len());
        match (self.half, values) {
            (Half::Bf16, FloatSlice::F32(values)) => {
                to.iter_mut().zip(values).for_each(|(to, value)| *to = bf16_bits(*value));
            }
            (Half::Bf16, FloatSlice::Bf16(values)) => {
                to.iter_mut().zip(values).for_each(|(to, value)| *to = value.to_bits());
            }
            (Half::Bf16, FloatSlice::F16(values)) => {
                to.iter_mut().zip(values).for_each(|(to, value)| *to = bf16_bits(value.to_f32()));
            }
            (Half::F16, FloatSlice::F16(values)) => {
                to.iter_mut().zip(values).for_each(|(to, value)| *to = value.to_bits());
            }
            (Half::F16, values) => {
                let (mut wide, mut narrow) = ([0.0; 2 * RUN], [f16::ZERO; 2 * RUN]);
                let (wide, narrow) = (&mut wide[..to.len()], &mut narrow[..to.len()]);
                values.widen(wide);
                narrow.convert_from_f32_slice(wide);
                to.iter_mut().zip(narrow).for_each(|(to, value)| *to = value.to_bits());
            }
        }
    }
}

impl Words for HalfRows<'_> {
    const INPUTS: usize = 2;

    fn rows(&self) -> usize {
        self.rows
    }

    fn inputs(&self) -> usize {
        self.k
    }

    fn word(&self, row: usize, j: usize) -> u32 {
        let mut halves = [0; 2];
        let (from, to) = ((2 * j).min(self.k), (2 * j + 2).min(self.k));
        self.round(row, from, &mut halves[..to - from]);
        u32::from(halves[0]) | u32::from(halves[1]) << 16
    }

    #[inline(always)]
    fn run(&self, row: usize, start: usize) -> [u32; RUN] {
        let mut halves = [0; 2 * RUN];
        self.round(row, 2 * start, &mut halves);
        let (pairs, _) = halves.as_chunks::<2>();
        std::array::from_fn(|j| u32::from(pairs[j][0]) | u32::from(pairs[j][1]) << 16)
    }
}

impl Words for Int8Weight {
    const INPUTS: usize = 4;

    fn rows(&self) -> usize {
        self.n()
    }

    fn inputs(&self) -> usize {
        self.k()
    }

    fn word(&self, row: usize, j: usize) -> u32 {
        let row = &self.codes()[row * self.k()..][..self.k()];
        let code = |i| row.get(4 * j + i).map_or(0, |code: &i8| code.cast_unsigned());
        u32::from_le_bytes([code(0), code(1), code(2), code(3)])
    }

    #[inline(always)]
    fn run(&self, row: usize, start: usize) -> [u32; RUN] {
        let codes = &self.codes()[row * self.k() + 4 * start..][..4 * RUN];
        let (words, _) = codes.as_chunks::<4>();
        std::array::from_fn(|j| u32::from_le_bytes(words[j].map(i8::cast_unsigned)))
    }
}

impl Words for Int4Weight {
    const INPUTS: usize = 8;

    fn rows(&self) -> usize {
        self.n()
    }

    fn inputs(&self) -> usize {
        self.k()
    }

    fn word(&self, row: usize, j: usize) -> u32 {
        let code = |k: usize| if k < self.k() { (self.code(row, k) + 8).cast_unsigned() } else { 0 };
        u32::from_le_bytes([0, 1, 2, 3].map(|i| code(8 * j + i) | code(8 * j + 4 + i) << 4))
    }

    #[inline(always)]
    fn run(&self, row: usize, start: usize) -> [u32; RUN] {
        let codes = &self.codes()[row * self.k().div_ceil(2) + 4 * start..][..4 * RUN];
        let (words, _) = codes.as_chunks::<4>();
        std::array::from_fn(|j| {
            // 8 more, in two's complement of 4 bits.
            let codes = u32::from_le_bytes(words[j]) ^ 0x8888_8888;
            one_a_byte(codes & 0xFFFF) | one_a_byte(codes >> 16) << 4
        })
    }
}

/// Four numbers of 4 bits, each in the low half of a byte.
#[inline(always)]
fn one_a_byte(numbers: u32) -> u32 {
    let two_a_half = (numbers | numbers << 8) & 0x00FF_00FF;
    (two_a_half | two_a_half << 4) & 0x0F0F_0F0F
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Context, ContextOptions};
    use dinoxide_testkit::data::hash32;
    use half::bf16;

    /// Compares every run with its words.
    fn assert_runs<R: Words>(rows: &R, what: &str) {
        assert!(rows.inputs() >= RUN * R::INPUTS);
        for row in 0..rows.rows() {
            for start in 0..=rows.inputs() / R::INPUTS - RUN {
                let words: Vec<u32> = (start..start + RUN).map(|j| rows.word(row, j)).collect();
                assert_eq!(rows.run(row, start)[..], words, "{what} {row} {start}");
            }
        }
    }

    #[test]
    fn a_run_is_its_words() {
        let ctx = Context::new(ContextOptions { isa: None, threads: Some(1) }).unwrap();
        let (n, k) = (3, 139);
        let weight = hash32(1, n * k);
        let bf16s: Vec<_> = weight.iter().map(|w| bf16::from_f32(*w)).collect();
        let f16s: Vec<_> = weight.iter().map(|w| f16::from_f32(*w)).collect();
        for half in [Half::Bf16, Half::F16] {
            for slice in [FloatSlice::from(&weight), FloatSlice::Bf16(&bf16s), FloatSlice::F16(&f16s)] {
                let [rows] = &HalfRows::of(&[slice], (n, k), half)[..] else { panic!("one part") };
                assert_runs(rows, &format!("{half:?}"));
                for i in 0..n * k {
                    let bits = rows.word(i / k, i % k / 2) >> (16 * (i % k % 2)) & 0xFFFF;
                    let wide = match slice {
                        FloatSlice::F32(values) => values[i],
                        FloatSlice::Bf16(values) => values[i].to_f32(),
                        FloatSlice::F16(values) => values[i].to_f32(),
                    };
                    let want = match half {
                        Half::Bf16 => bf16::from_f32(wide).to_bits(),
                        Half::F16 => f16::from_f32(wide).to_bits(),
                    };
                    assert_eq!(bits, u32::from(want), "{half:?} {i}");
                }
            }
        }
        assert_runs(&Int8Weight::quantize(&ctx, &weight, n, k), "int8");
        assert_runs(&Int4Weight::quantize(&ctx, &weight, (n, k), 32), "int4");
    }
}
