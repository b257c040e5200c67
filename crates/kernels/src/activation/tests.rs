//! Every activation on every level that the machine has, against the naive twin, over floats spread over all f32; what
//! infinities and NaN give; that lengths and threads change no bit.
//!
//! Errors are counted twice: in units in the last place where results are not tiny, and relative to the scale everywhere.

use super::*;
use crate::{ContextOptions, Isa, reference};
use dinoxide_testkit::compare::ulps;
use dinoxide_testkit::data::hash32;
use dinoxide_testkit::tolerance::{
    ACTIVATION_BOUNDS, ActivationBound, GATE_ULPS, GELU_STEP, SPECIAL_VALUE_ULPS,
};

fn bound(activation: Activation) -> ActivationBound {
    ACTIVATION_BOUNDS.iter().find(|bound| bound.name == activation.name()).copied().unwrap()
}

fn contexts(threads: usize) -> Vec<Context> {
    let context = |isa| Context::new(ContextOptions { isa: Some(isa), threads: Some(threads) }).unwrap();
    Isa::available().into_iter().map(context).collect()
}

/// The worst of both measures over the floats with bits `first`, `first + step`, ….
fn measure(ctx: &Context, activation: Activation, bits: impl Iterator<Item = u32>) -> (u64, f32, f32, f32) {
    let ActivationBound { from, bounded, .. } = bound(activation);
    let x: Vec<f32> = bits.map(f32::from_bits).filter(|x| x.is_finite() && x.abs() < 1e30).collect();
    let mut got = x.clone();
    activate(ctx, activation, &mut got);
    let (mut worst, mut worst_at, mut worst_of_scale, mut of_scale_at) = (0, 0.0, 0.0, 0.0);
    for (&x, &got) in x.iter().zip(&got) {
        let want = reference::activation(activation, x);
        let distance = ulps(got, want);
        if x >= from && want.abs() > f32::MIN_POSITIVE && want.is_finite() && distance > worst {
            (worst, worst_at) = (distance, x);
        }
        let scale = if bounded { 1.0 } else { x.abs() };
        let of_scale = (got - want).abs() / (scale * f32::EPSILON / 2.0);
        if x.abs() > 1e-30 && want.is_finite() && of_scale > worst_of_scale {
            (worst_of_scale, of_scale_at) = (of_scale, x);
        }
    }
    (worst, worst_at, worst_of_scale, of_scale_at)
}

/// Tests each `stride`-th float, in parts to bound the memory.
fn assert_bounds(stride: u32) {
    for ctx in contexts(1) {
        for activation in Activation::all() {
            let bound = bound(activation);
            let mut worst = ((0, 0.0), (0.0, 0.0));
            for part in 0..64 {
                let bits = (0..(1 << 26) / stride).map(|i| (part << 26) + i * stride + i % stride);
                let (ulps, at, of_scale, of_scale_at) = measure(&ctx, activation, bits);
                worst.0 = if ulps > worst.0.0 { (ulps, at) } else { worst.0 };
                worst.1 = if of_scale > worst.1.0 { (of_scale, of_scale_at) } else { worst.1 };
            }
            let ((ulps, at), (of_scale, of_scale_at)) = worst;
            println!(
                "{} {activation:?}: {ulps} ulp at {at:e}, {of_scale} of its scale at {of_scale_at:e}",
                ctx.isa()
            );
            assert!(ulps <= bound.ulps, "{} {activation:?}: {ulps} ulp at {at:e}", ctx.isa());
            assert!(
                of_scale <= bound.of_scale,
                "{} {activation:?}: {of_scale} of its scale at {of_scale_at:e}",
                ctx.isa()
            );
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
fn gelu_makes_no_step_where_intervals_of_the_table_meet() {
    for ctx in contexts(1) {
        let mut worst = 0.0_f32;
        for edge in (-17..=16).map(|i| (i as f32 + 0.5) * 5.45 / 15.0) {
            let x: Vec<f32> = (0..64).map(|i| f32::from_bits(edge.to_bits() - 32 + i)).collect();
            let mut got = x.clone();
            activate(&ctx, Activation::Gelu, &mut got);
            for (got, x) in got.windows(2).zip(&x) {
                worst = worst.max((got[1] - got[0]).abs() / (x.abs() * f32::EPSILON / 2.0));
            }
        }
        println!("{} steps by {worst}", ctx.isa());
        assert!(worst <= GELU_STEP, "{}: {worst}", ctx.isa());
    }
}

#[test]
fn infinities_nan_and_the_largest_floats_give_what_torch_gives() {
    // torch.nn.functional over these inputs, torch 2.15; for gelu with ∞ the scalar form ½x·(1 + erf(x/√2)).
    let (inf, nan) = (f32::INFINITY, f32::NAN);
    let x = [inf, -inf, nan, 1e30, -1e30, 0.0, -0.0];
    for ctx in contexts(1) {
        for activation in Activation::all() {
            let bound = bound(activation);
            let (low, at_inf) = match activation {
                Activation::Relu | Activation::Relu2 => (0.0, inf),
                Activation::Relu6 => (0.0, 6.0),
                Activation::Gelu10 => (nan, 10.0),
                Activation::Laplace => (0.0, 1.0),
                Activation::SqrtSoftplus => (0.0, inf),
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
                let (got, want) = (got[i], reference::activation(activation, x[i]));
                // `laplace` of 0 is small, and promised to 2⁻²⁴ of 1 only.
                let close = bound.bounded && (got - want).abs() <= bound.of_scale * f32::EPSILON / 2.0;
                let name = format!("{} {activation:?}({}) = {got}", ctx.isa(), x[i]);
                assert!(close || ulps(got, want) <= SPECIAL_VALUE_ULPS, "{name}");
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
                // Rows apart, whose gaps must stay as they are.
                let mut apart = vec![-1.0; rows * (width + 2)];
                let mut out = MatMut::with_stride(&mut apart, rows, width, width + 2);
                gate(&ctx, Activation::Silu, &gate_up, &mut out);
                assert!(apart.chunks(width + 2).all(|row| row[width..] == [-1.0; 2]));
                let out: Vec<f32> = apart.chunks(width + 2).flat_map(|row| row[..width].to_vec()).collect();
                for (i, &got) in out.iter().enumerate() {
                    let (row, column) = (i / width, i % width);
                    let (g, u) = (gate_up[row * 2 * width + column], gate_up[(row * 2 + 1) * width + column]);
                    let want = reference::activation(Activation::Silu, g) * u;
                    assert!(
                        ulps(got, want) <= GATE_ULPS,
                        "{} {rows}x{width} at {i}: {got} {want}",
                        ctx.isa()
                    );
                }
            }
        }
    }
}

#[test]
fn an_unknown_name_gets_the_list_of_known_ones() {
    for name in ["prelu", "xielu", "GELU", ""] {
        let message = name.parse::<Activation>().unwrap_err().to_string();
        assert!(
            message.starts_with(&format!("unknown activation `{name}`, expected one of gelu, ")),
            "{message}"
        );
        assert!(message.contains(", sqrtsoftplus, ") && message.ends_with(", linear"), "{message}");
    }
}
