//! Long pictures: memory grows with the tokens, not with their square, and what would is refused before it is made.
//!
//! This binary has an allocator of its own, which counts; its one test runs alone in it.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use dinoxide::{ContextOptions, Error, Inputs, LoadOptions, Model, ModelError};
use ndarray::Array4;
use peak_alloc::PeakAlloc;
use std::path::Path;

#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

/// Bytes at the peak of a forward above those before it, the pixels left out.
fn peak(model: &Model, side: usize) -> (usize, usize) {
    let pixels = Array4::<f32>::zeros((1, 3, side, side));
    let before = MEMORY.current_usage();
    MEMORY.reset_peak_usage();
    let outputs = model.forward(&Inputs::new(pixels.view())).unwrap();
    let tokens = outputs.last_hidden_state.dim().1;
    (MEMORY.peak_usage() - before, tokens)
}

#[test]
fn a_picture_of_2048x2048_takes_memory_linear_in_its_tokens() {
    let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/dinov3-vit-16");
    let context = ContextOptions { threads: Some(2), isa: None };
    let options = LoadOptions { context, ..LoadOptions::default() };
    let model = Model::from_pretrained_with(fixture, &options).unwrap();
    peak(&model, 64); // The threads' own memory is there from here on.
    let ((short, few), (long, many)) = (peak(&model, 512), peak(&model, 2048));
    assert!((few, many) == (1029, 16_389), "{few} and {many} tokens");
    let growth = (long as f64 / short as f64) / (many as f64 / few as f64);
    assert!(growth < 1.2, "{short} bytes for {few} tokens, {long} for {many}");
    // One row of attention weights for each token would already be a gigabyte.
    assert!(long < 4 * many * many / 8, "{long} bytes");

    // Two heads of one layer, four pictures: a little above 8 GiB.
    let pixels = Array4::<f32>::zeros((4, 3, 2048, 2048));
    let before = MEMORY.current_usage();
    MEMORY.reset_peak_usage();
    let error = model.forward(&Inputs::new(pixels.view()).with_attentions()).unwrap_err();
    let Error::Model(ModelError::AttentionsTooLarge { shape, limit, .. }) = &error else { panic!("{error}") };
    assert_eq!((&shape[..], *limit), (&[4, 2, 16_389, 16_389][..], dinoxide::MAX_ATTENTION_BYTES));
    assert!(error.to_string().contains("8 GiB"), "{error}");
    assert!(MEMORY.peak_usage() - before < 1 << 20, "{} bytes", MEMORY.peak_usage() - before);
}
