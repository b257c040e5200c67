use super::*;
use crate::{Activation, Context, ContextOptions, Epilogue, MatMut, MatRef, PackedWeight, gemm};
use std::time::Duration;

fn norm(rows: usize) -> Op {
    Op::LayerNorm { rows, width: 8 }
}

#[test]
fn nothing_is_kept_unless_asked_for() {
    let recorder = Recorder::default();
    assert!(recorder.open(|| panic!("an operation is named though there is no profile")).is_none());
    assert_eq!(recorder.finish(), Profile { seconds: 0.0, ops: vec![] });
}

#[test]
fn calls_are_counted_by_kind_and_shape() {
    let recorder = Recorder::default();
    recorder.start();
    for rows in [1, 2, 1] {
        drop(recorder.open(|| norm(rows)));
    }
    let profile = recorder.finish();
    let calls: Vec<_> = profile.ops.iter().map(|op| (op.op, op.calls)).collect();
    assert_eq!(calls, [(norm(1), 2), (norm(2), 1)]);
    assert!(recorder.open(|| norm(3)).is_none());
}

#[test]
fn operations_open_together_share_the_time() {
    let recorder = Recorder::default();
    recorder.start();
    let (a, b) = (recorder.open(|| norm(1)), recorder.open(|| norm(2)));
    std::thread::sleep(Duration::from_millis(20));
    drop((a, b));
    std::thread::sleep(Duration::from_millis(10));
    let profile = recorder.finish();
    let [a, b] = [0, 1].map(|i| profile.ops[i].seconds);
    assert!(a >= 0.01 && b >= 0.01, "{profile:?}");
    assert!(a + b <= profile.seconds - 0.01 && profile.rest_seconds() >= 0.01, "{profile:?}");
}

#[test]
fn an_operation_that_was_open_before_is_not_counted() {
    let recorder = Recorder::default();
    recorder.start();
    let early = recorder.open(|| norm(1));
    recorder.start();
    let inside = recorder.open(|| norm(2));
    drop(early);
    drop(inside);
    let profile = recorder.finish();
    assert_eq!(profile.ops.iter().map(|op| op.op).collect::<Vec<_>>(), [norm(2)]);
}

#[test]
fn a_gemm_is_told_by_its_shape_and_epilogue() {
    let ctx = Context::new(ContextOptions { isa: None, threads: Some(2) }).unwrap();
    let weight = PackedWeight::pack(&ctx, &[1.0; 3 * 5], 3, 5);
    let (a, mut out) = ([1.0; 2 * 5], [0.0; 2 * 3]);
    let epilogue =
        Epilogue { bias: Some(&[0.5; 3]), activation: Some(Activation::Gelu), ..Epilogue::default() };
    ctx.start_profile();
    gemm(&ctx, MatRef::new(&a, 2, 5), &weight, &epilogue, &mut MatMut::new(&mut out, 2, 3));
    let profile = ctx.finish_profile();
    assert_eq!(profile.ops.len(), 1);
    let op = profile.ops[0].op;
    assert_eq!((op.kind(), op.to_string().as_str()), ("gemm", "2x3x5 bias gelu"));
    assert_eq!(op.bound(), OpBound::Arithmetic { flops: 60 });
}
