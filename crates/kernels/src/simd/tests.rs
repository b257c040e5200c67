//! Every operation of every level that the processor has, against plain f32, to the bit.
//!
//! Operands are all pairs of special values: zeros of both signs, subnormals, the largest floats, infinities, NaN. What a
//! level may do as it likes (which NaN; whether `mul_add` rounds once or twice) is left open.

use super::{Level, Operation, Simd, map_in_place};
use crate::Isa;

const SPECIAL: [f32; 16] = [
    0.0,
    -0.0,
    1.0,
    -1.5,
    2.5,
    -3.5,
    1e-40,
    -1e-40,
    f32::MAX,
    f32::MIN,
    f32::MIN_POSITIVE,
    f32::INFINITY,
    f32::NEG_INFINITY,
    f32::NAN,
    1234.567,
    -0.333,
];

fn each_level(mut test: impl FnMut(Level)) {
    Isa::available().into_iter().filter_map(Level::new).for_each(&mut test);
}

/// Bits, but one NaN is as good as another.
fn bits(x: f32) -> u32 {
    if x.is_nan() { f32::NAN.to_bits() } else { x.to_bits() }
}

/// All the two-operand operations on all pairs of special values.
struct Binary;

impl Operation for Binary {
    type Output = ();

    #[inline(always)]
    fn eval<S: Simd>(self, s: S) {
        for (x, y) in SPECIAL.into_iter().flat_map(|x| SPECIAL.into_iter().map(move |y| (x, y))) {
            let (a, b) = (s.splat(x), s.splat(y));
            let check = |what: &str, got: S::Vec, want: f32| {
                let mut out = [0.0; 16];
                s.store(got, &mut out);
                for got in &out[..S::LANES] {
                    assert_eq!(bits(*got), bits(want), "{s:?} {what} {x} {y}: {got}, want {want}");
                }
            };
            check("add", s.add(a, b), x + y);
            check("sub", s.sub(a, b), x - y);
            check("mul", s.mul(a, b), x * y);
            check("div", s.div(a, b), x / y);
            check("min", s.min(a, b), if x < y { x } else { y });
            check("max", s.max(a, b), if x > y { x } else { y });
            check("abs", s.abs(a), x.abs());
            check("neg", s.neg(a), -x);
            check("sqrt", s.sqrt(a), x.sqrt());
            check("copy_sign", s.copy_sign(a, b), x.copysign(y));
            check("select", s.select(s.gt(a, b), a, s.splat(7.0)), if x > y { x } else { 7.0 });
        }
    }
}

#[test]
fn arithmetic_is_that_of_f32() {
    each_level(|level| level.dispatch(Binary));
}

struct Unary;

impl Operation for Unary {
    type Output = ();

    #[inline(always)]
    fn eval<S: Simd>(self, s: S) {
        let first = |v: S::Vec| {
            let mut out = [0.0; 16];
            s.store(v, &mut out);
            out[0]
        };
        for x in [0.5, 1.5, 2.5, -0.5, -1.5, 0.49, 1e6 + 0.5, -4_194_304.0, 3.0, -7.7_f32] {
            assert_eq!(first(s.round(s.splat(x))), x.round_ties_even(), "{s:?} round {x}");
        }
        for x in [0.0, 0.5, 3.999, -0.5, -1.25, -7.7, -126.9, -500.25, f32::NEG_INFINITY, f32::NAN] {
            let (n, rest) = s.split(s.splat(x));
            let (power, n, rest) = (first(s.scale(s.splat(1.5), n)), first(n), first(rest));
            let sum =
                n == x.round_ties_even() && rest == x - n || n <= -127.0 && x < -126.0 && rest.abs() <= 0.5;
            assert!(sum || x.is_nan() && rest.is_nan(), "{s:?} {x} = {n} + {rest}");
            let want = 1.5 * x.round_ties_even().exp2();
            assert!(power == want || power == 0.0 && n <= -127.0 || x.is_nan(), "{s:?} 1.5 · 2^{n}: {power}");
        }
        for n in -127..=128_i32 {
            let want = if n == -127 { 0.0 } else { 2.0_f64.powi(n) as f32 };
            assert_eq!(first(s.pow2(s.splat(n as f32))), want, "{s:?} 2^{n}");
        }
        let (a, b, c) = (1.0 + f32::EPSILON, 1.0 - f32::EPSILON, -1.0);
        let got = first(s.mul_add(s.splat(a), s.splat(b), s.splat(c)));
        assert!(got == a.mul_add(b, c) || got == a * b + c, "{s:?} mul_add: {got}");
    }
}

#[test]
fn rounding_powers_and_fused_products_are_right() {
    each_level(|level| level.dispatch(Unary));
}

struct Lookups;

impl Operation for Lookups {
    type Output = ();

    #[inline(always)]
    fn eval<S: Simd>(self, s: S) {
        let table: [f32; 32] = std::array::from_fn(|i| (i * i) as f32 - 0.5);
        // Bits above the five change nothing.
        let index: [f32; 64] = std::array::from_fn(|i| f32::from_bits(0x4b40_0000 + 21 * i as u32));
        for index in index.chunks_exact(S::LANES) {
            let mut got = [0.0; 16];
            s.store(s.lookup(&table, s.load(index)), &mut got);
            let want = |x: &f32| table[(x.to_bits() & 31) as usize];
            assert!(got.iter().zip(index.iter().map(want)).all(|(got, want)| *got == want), "{s:?} {got:?}");
        }
    }
}

#[test]
fn a_table_is_looked_up_by_the_low_five_bits() {
    each_level(|level| level.dispatch(Lookups));
}

struct Parts;

impl Operation for Parts {
    type Output = ();

    #[inline(always)]
    fn eval<S: Simd>(self, s: S) {
        let data: Vec<f32> = (0..40).map(|i| (i * i % 23) as f32 - 9.0).collect();
        for n in 0..=S::LANES {
            let v = s.load_part(&data[3..3 + n], -20.0);
            assert_eq!(s.reduce_sum(v), data[3..3 + n].iter().sum::<f32>() - 20.0 * (S::LANES - n) as f32);
            let mut out = vec![99.0; n];
            s.store_part(v, &mut out);
            assert_eq!(out, data[3..3 + n], "{s:?} {n} lanes");
        }
        for len in 0..40 {
            let mut x = data[..len].to_vec();
            map_in_place(s, &mut x, |v| s.add(v, s.splat(1.0)));
            assert!(x.iter().zip(&data).all(|(x, d)| *x == d + 1.0), "{s:?} {len} floats");
        }
    }
}

#[test]
fn parts_of_a_vector_load_store_and_reduce() {
    each_level(|level| level.dispatch(Parts));
}

struct Transposed;

impl Operation for Transposed {
    type Output = ();

    #[inline(always)]
    fn eval<S: Simd>(self, s: S) {
        let (from_stride, to_stride) = (S::LANES + 3, S::LANES + 1);
        let from: Vec<f32> = (0..S::LANES * from_stride).map(|i| i as f32).collect();
        let mut to = vec![-1.0; S::LANES * to_stride];
        // SAFETY: both hold `LANES` rows of their stride.
        #[allow(unsafe_code)]
        unsafe {
            s.transpose_ptr(2.0, from.as_ptr(), from_stride, to.as_mut_ptr(), to_stride);
        }
        for (c, row) in to.chunks_exact(to_stride).enumerate() {
            for (r, got) in row.iter().enumerate() {
                let want = if r < S::LANES { 2.0 * from[r * from_stride + c] } else { -1.0 };
                assert_eq!(*got, want, "{s:?} row {c}, column {r}");
            }
        }
    }
}

#[test]
fn a_block_is_transposed_and_nothing_beside_it_is_touched() {
    each_level(|level| level.dispatch(Transposed));
}
