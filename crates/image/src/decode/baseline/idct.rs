//! The inverse DCT of eight blocks at once, lane by lane as `jpeg_idct_islow` (libjpeg's `jidctint.c`) does one.
//!
//! Loeffler, Ligtenberg and Moschytz with 13-bit constants: columns first, kept with 2 more bits, then rows, and
//! x' = clip(((x + 2¹⁷) >> 18) + 128). libjpeg counts in 64 bits and looks the result up by its lowest 10 bits; sums modulo 2³² have
//! those bits too, provided that the columns' results fit, which coefficients of 15 bits make sure of.

use std::array::from_fn;

/// Blocks side by side that are transformed together.
pub(super) const LANES: usize = 8;

/// Coefficients of [`LANES`] blocks: those of place k (row by row) from `k · LANES`.
pub(super) type Coefficients = [i16; 64 * LANES];

/// Largest place in zigzag order whose coefficient lies in the first four columns, with all before it.
const LAST_IN_FOUR: u8 = 9;

/// A number for each block.
type Lanes = [i32; LANES];

/// The samples of eight blocks side by side: 8 rows, the first of `out`'s, `stride` apart. `last` is the largest place in zigzag order with a
/// coefficient that is not 0.
#[inline(always)]
pub(super) fn inverse(coefficients: &Coefficients, last: u8, out: &mut [u8], stride: usize) {
    let mut between = [[0_i32; LANES]; 64];
    let columns = if last <= LAST_IN_FOUR { 4 } else { 8 };
    for column in 0..columns {
        let x = from_fn(|row| lanes(coefficients, row * 8 + column));
        for (row, value) in transform::<11>(&x).into_iter().enumerate() {
            between[row * 8 + column] = value;
        }
    }
    for (row, out) in between.as_chunks::<8>().0.iter().zip(out.chunks_mut(stride)) {
        let values = transform::<0>(row);
        let mut packed = [0_u64; LANES];
        for (column, value) in values.iter().enumerate() {
            for (packed, &value) in packed.iter_mut().zip(value) {
                // Bits 18 to 27, with their sign.
                let sample = (value.wrapping_add(1 << 17) << 4 >> 22) + 128;
                *packed |= (sample.clamp(0, 255) as u64) << (8 * column);
            }
        }
        for (bytes, packed) in out.as_chunks_mut::<8>().0.iter_mut().zip(packed) {
            *bytes = packed.to_le_bytes();
        }
    }
}

#[inline(always)]
fn lanes(coefficients: &Coefficients, place: usize) -> Lanes {
    from_fn(|lane| i32::from(coefficients[place * LANES + lane]))
}

/// Eight points; the results shifted right by `SHIFT`, rounded.
#[inline(always)]
fn transform<const SHIFT: u32>(x: &[Lanes; 8]) -> [Lanes; 8] {
    let mut out = [[0; LANES]; 8];
    // Written out: the compiler vectorises this loop over lanes as long as there is no other within.
    for lane in 0..LANES {
        let [x0, x1, x2, x3, x4, x5, x6, x7] = x;
        let y = points([x0[lane], x1[lane], x2[lane], x3[lane], x4[lane], x5[lane], x6[lane], x7[lane]]);
        let round = |y: i32| if SHIFT > 0 { y.wrapping_add(1 << (SHIFT - 1)) >> SHIFT } else { y };
        let [y0, y1, y2, y3, y4, y5, y6, y7] = &mut out;
        y0[lane] = round(y[0]);
        y1[lane] = round(y[1]);
        y2[lane] = round(y[2]);
        y3[lane] = round(y[3]);
        y4[lane] = round(y[4]);
        y5[lane] = round(y[5]);
        y6[lane] = round(y[6]);
        y7[lane] = round(y[7]);
    }
    out
}

/// One eight-point transform, scaled by 2¹³·√8.
#[inline(always)]
fn points(x: [i32; 8]) -> [i32; 8] {
    let times = |a: i32, b: i32| a.wrapping_mul(b);
    let add = |a: i32, b: i32| a.wrapping_add(b);
    let sub = |a: i32, b: i32| a.wrapping_sub(b);

    let z = times(add(x[2], x[6]), 4433);
    let (even2, even3) = (add(z, times(x[6], -15137)), add(z, times(x[2], 6270)));
    let (even0, even1) = (add(x[0], x[4]) << 13, sub(x[0], x[4]) << 13);
    let even = [add(even0, even3), add(even1, even2), sub(even1, even2), sub(even0, even3)];

    let z5 = times(add(add(x[7], x[3]), add(x[5], x[1])), 9633);
    let z1 = times(add(x[7], x[1]), -7373);
    let z2 = times(add(x[5], x[3]), -20995);
    let z3 = add(times(add(x[7], x[3]), -16069), z5);
    let z4 = add(times(add(x[5], x[1]), -3196), z5);
    let odd = [
        add(times(x[1], 12299), add(z1, z4)),
        add(times(x[3], 25172), add(z2, z3)),
        add(times(x[5], 16819), add(z2, z4)),
        add(times(x[7], 2446), add(z1, z3)),
    ];
    [
        add(even[0], odd[0]),
        add(even[1], odd[1]),
        add(even[2], odd[2]),
        add(even[3], odd[3]),
        sub(even[3], odd[3]),
        sub(even[2], odd[2]),
        sub(even[1], odd[1]),
        sub(even[0], odd[0]),
    ]
}
