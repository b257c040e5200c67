use super::*;
use crate::{ContextOptions, Isa, reference};
use dinoxide_testkit::compare::ulps;
use dinoxide_testkit::data::hash32;

const ALL: [Activation; 13] = [
    Activation::Gelu,
    Activation::GeluTanh,
    Activation::QuickGelu,
    Activation::Silu,
    Activation::Relu,
    Activation::Relu6,
    Activation::Relu2,
    Activation::LeakyRelu,
    Activation::HardSwish,
    Activation::Mish,
    Activation::Sigmoid,
    Activation::Tanh,
    Activation::Linear,
];

/// The bounds that [`Activation`] promises.
struct Bound {
    /// Distance from the twin for x ≥ `from`, in units in the last place of the result.
    ulps: u64,
    from: f32,
    /// Largest |difference| / (2⁻²⁴·|x|), everywhere.
    of_x: f32,
}

fn bound(activation: Activation) -> Bound {
    let (ulps, from, of_x) = match activation {
        Activation::Gelu => (3, 0.0, 4.0),
        Activation::GeluTanh | Activation::QuickGelu => (2, 0.0, 3.0),
        Activation::Silu => (2, -80.0, 3.0),
        Activation::Mish => (4, -80.0, 3.0),
        Activation::Sigmoid => (2, -80.0, f32::INFINITY),
        Activation::Tanh | Activation::HardSwish => (2, f32::MIN, 3.0),
        Activation::LeakyRelu | Activation::Relu2 => (1, f32::MIN, f32::INFINITY),
        Activation::Relu | Activation::Relu6 | Activation::Linear => (0, f32::MIN, 0.0),
    };
    Bound { ulps, from, of_x }
}

fn contexts(threads: usize) -> Vec<Context> {
    let context = |isa| Context::new(ContextOptions { isa: Some(isa), threads: Some(threads) }).unwrap();
    Isa::available().into_iter().map(context).collect()
}

/// The worst of both measures over the floats with bits `first`, `first + step`, ….
fn measure(ctx: &Context, activation: Activation, bits: impl Iterator<Item = u32>) -> (u64, f32, f32, f32) {
    let Bound { from, .. } = bound(activation);
    let x: Vec<f32> = bits.map(f32::from_bits).filter(|x| x.is_finite() && x.abs() < 1e30).collect();
    let mut got = x.clone();
    activate(ctx, activation, &mut got);
    let (mut worst, mut worst_at, mut worst_of_x, mut of_x_at) = (0, 0.0, 0.0, 0.0);
    for (&x, &got) in x.iter().zip(&got) {
        let want = reference::activation(activation, x);
        let distance = ulps(got, want);
        if x >= from && want.abs() > f32::MIN_POSITIVE && want.is_finite() && distance > worst {
            (worst, worst_at) = (distance, x);
        }
        let of_x = (got - want).abs() / (x.abs() * f32::EPSILON / 2.0);
        if x.abs() > 1e-30 && want.is_finite() && of_x > worst_of_x {
            (worst_of_x, of_x_at) = (of_x, x);
        }
    }
    (worst, worst_at, worst_of_x, of_x_at)
}

/// Tests each `stride`-th float, in parts to bound the memory.
fn assert_bounds(stride: u32) {
    for ctx in contexts(1) {
        for activation in ALL {
            let bound = bound(activation);
            let mut worst = ((0, 0.0), (0.0, 0.0));
            for part in 0..64 {
                let bits = (0..(1 << 26) / stride).map(|i| (part << 26) + i * stride + i % stride);
                let (ulps, at, of_x, of_x_at) = measure(&ctx, activation, bits);
                worst.0 = if ulps > worst.0.0 { (ulps, at) } else { worst.0 };
                worst.1 = if of_x > worst.1.0 { (of_x, of_x_at) } else { worst.1 };
            }
            let ((ulps, at), (of_x, of_x_at)) = worst;
            println!("{} {activation:?}: {ulps} ulp at {at:e}, {of_x} of x at {of_x_at:e}", ctx.isa());
            assert!(ulps <= bound.ulps, "{} {activation:?}: {ulps} ulp at {at:e}", ctx.isa());
            assert!(of_x <= bound.of_x, "{} {activation:?}: {of_x} of x at {of_x_at:e}", ctx.isa());
        }
    }
}

#[test]
fn activations_keep_their_bounds_over_a_sample_of_all_floats() {
    assert_bounds(10_007);
}

#[test]
#[ignore = "70 million floats for each activation and level take minutes"]
fn activations_keep_their_bounds_over_a_dense_sample_of_all_floats() {
    assert_bounds(61);
}

#[test]
fn infinities_nan_and_the_largest_floats_give_what_torch_gives() {
    // torch.nn.functional over these inputs, torch 2.15; for gelu with ∞ the scalar form ½x·(1 + erf(x/√2)).
    let (inf, nan) = (f32::INFINITY, f32::NAN);
    let x = [inf, -inf, nan, 1e30, -1e30, 0.0, -0.0];
    for ctx in contexts(1) {
        for activation in ALL {
            let (low, at_inf) = match activation {
                Activation::Relu | Activation::Relu2 => (0.0, inf),
                Activation::Relu6 => (0.0, 6.0),
                Activation::LeakyRelu | Activation::Linear => (-inf, inf),
                Activation::Sigmoid => (0.0, 1.0),
                Activation::Tanh => (-1.0, 1.0),
                _ => (nan, inf),
            };
            let mut got = x;
            activate(&ctx, activation, &mut got);
            let want = [at_inf, low, nan, got[3], got[4], got[5], got[6]];
            let same = |(a, b): (&f32, &f32)| a == b || a.is_nan() && b.is_nan();
            assert!(got.iter().zip(&want).all(same), "{} {activation:?}: {got:?}", ctx.isa());
            for i in 3..7 {
                let want = reference::activation(activation, x[i]);
                assert!(ulps(got[i], want) <= 1, "{} {activation:?}({}) = {}", ctx.isa(), x[i], got[i]);
            }
        }
    }
}

#[test]
fn every_length_and_number_of_threads_gives_the_same_bits() {
    let alone = contexts(1);
    for threads in [2, 3] {
        for (ctx, alone) in contexts(threads).iter().zip(&alone) {
            for len in [0, 1, 7, 15, 16, 17, 33, 40_000] {
                let x = hash32(len as u32, len);
                let (mut together, mut single) = (x.clone(), x);
                activate(ctx, Activation::Gelu, &mut together);
                single.chunks_mut(1).for_each(|x| activate(alone, Activation::Gelu, x));
                assert_eq!(together, single, "{}, {len} floats, {threads} threads", ctx.isa());
            }
        }
    }
}

#[test]
fn gate_multiplies_the_activated_half_by_the_other() {
    for threads in [1, 3] {
        for ctx in contexts(threads) {
            for (rows, width) in [(0, 5), (1, 1), (3, 15), (2, 16), (5, 37), (300, 200)] {
                let gate_up = hash32(3, rows * 2 * width);
                let mut out = vec![f32::NAN; rows * width];
                gate(&ctx, Activation::Silu, &gate_up, width, &mut out);
                for (i, &got) in out.iter().enumerate() {
                    let (row, column) = (i / width, i % width);
                    let (g, u) = (gate_up[row * 2 * width + column], gate_up[(row * 2 + 1) * width + column]);
                    let want = reference::activation(Activation::Silu, g) * u;
                    assert!(ulps(got, want) <= 5, "{} {rows}x{width} at {i}: {got} {want}", ctx.isa());
                }
            }
        }
    }
}
