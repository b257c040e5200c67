//! A forward that is repeated at the same shape allocates nothing: its working memory is the context's, its outputs are those of
//! the forward before.
//!
//! This binary has an allocator of its own, which counts; its one test runs alone in it.

#![allow(clippy::unwrap_used)]

use dinoxide::{ContextOptions, Inputs, LoadOptions, Model, Outputs};
use ndarray::{Array2, Array4};
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};
use std::{alloc::System, path::Path};

#[global_allocator]
static MEMORY: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// One a family.
const NAMES: [&str; 4] = ["dinov2", "dinov2-with-registers", "dinov3-vit", "dinov3-convnext"];

/// Forwards in a row that must allocate nothing.
const REPEATED: usize = 100;

/// Forwards before which such a row must have begun. On one thread the second is already part of it; several may meet in some
/// order that needs one more piece of working memory, each time for good.
const WARM: usize = 10_000;

fn model(name: &str, threads: usize) -> Model {
    let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures").join(name);
    let context = ContextOptions { threads: Some(threads), isa: None };
    Model::from_pretrained_with(fixture, &LoadOptions { context, ..LoadOptions::default() }).unwrap()
}

/// How many forwards went before the first row of [`REPEATED`] that allocate nothing.
fn forwards_before_silence(model: &Model, inputs: &Inputs<'_>) -> Option<usize> {
    let (mut outputs, mut silent) = (Outputs::default(), 0);
    for forward in 0..WARM + REPEATED {
        let region = Region::new(MEMORY);
        model.forward_into(inputs, &mut outputs).unwrap();
        let change = region.change();
        silent = if change.allocations + change.reallocations == 0 { silent + 1 } else { 0 };
        if silent == REPEATED {
            return Some(forward + 1 - REPEATED);
        }
    }
    None
}

#[test]
fn a_repeated_forward_allocates_nothing() {
    for (name, threads) in NAMES.iter().flat_map(|name| [1, 2].map(|threads| (*name, threads))) {
        for batch in [1, 3] {
            // No square, so that position tables are resized.
            let pixels = Array4::<f32>::ones((batch, 3, 32, 64));
            let check = |what: &str, inputs: &Inputs<'_>| {
                let model = model(name, threads);
                let warm = forwards_before_silence(&model, inputs);
                let most = if threads == 1 { 1 } else { WARM };
                let case = format!("{name}, {threads} threads, batch {batch}, {what}");
                assert!(warm.is_some_and(|warm| warm <= most), "{case}: {warm:?} forwards before silence");
            };
            let plain = Inputs::new(pixels.view());
            check("plain", &plain);
            check("all states", &plain.clone().with_hidden_states(true));
            check("two states", &plain.clone().with_hidden_states([-1, 1]));
            if name == "dinov3-convnext" {
                continue;
            }
            check("attentions", &plain.clone().with_hidden_states(true).with_attentions());
            check("eager", &plain.clone().with_eager_attention());
            let outputs = model(name, threads).forward(&plain).unwrap();
            let masked = Array2::from_elem((batch, outputs.grid.len()), true);
            check("masked patches", &plain.clone().with_bool_masked_pos(masked.view()));
            if name != "dinov3-vit" {
                let tokens = outputs.last_hidden_state.dim().1;
                let mask = Array2::from_shape_fn((batch, tokens), |(_, token)| token % 2 == 0);
                check("masked keys", &plain.clone().with_attention_mask(mask.view()));
            }
        }
    }
}
