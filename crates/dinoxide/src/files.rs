//! From picture files to outputs: decoded and processed in parallel, batched by size, forwarded, given back in order.
//!
//! Work goes in waves. A wave decodes consecutive files on all threads until it holds enough pictures, or enough
//! bytes; then its pictures of one size go through the model together. So memory does not grow with the number of
//! files, and one bad picture is one error.

use crate::{Error, ImageProcessor, Inputs, Model, Outputs};
use ndarray::{Array3, Array4, Axis, stack};
use std::{
    ops::ControlFlow,
    path::Path,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
};

/// Tokens that a batch aims at when its size is not given: below it a GEMM is too small to be fast, above it the
/// activations leave the cache.
const TOKENS_PER_BATCH: usize = 2048;

/// Most pictures in a batch when its size is not given.
const MAX_CHOSEN_BATCH: usize = 32;

/// Batches that a wave decodes for: more let mixed sizes find partners.
const BATCHES_PER_WAVE: usize = 4;

/// Bytes of pixel values after which a wave stops decoding.
const BYTES_PER_WAVE: usize = 256 << 20;

/// What to compute for each picture.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct FileOptions {
    /// Pictures a forward; 0 chooses.
    pub batch: usize,
    /// Also give `hidden_states`.
    pub output_hidden_states: bool,
    /// Also give `attentions`.
    pub output_attentions: bool,
}

/// Runs the model on picture files. `sink` gets, in the order of `paths`, the index of each file and its outputs (a batch
/// of one) or its error; it may stop the work.
pub fn for_each_file<P: AsRef<Path> + Sync>(
    model: &Model,
    processor: &ImageProcessor,
    options: FileOptions,
    paths: &[P],
    sink: &mut dyn FnMut(usize, Result<Outputs, Error>) -> ControlFlow<()>,
) {
    let mut first = 0;
    while first < paths.len() {
        let wave = decode_wave(model, processor, options.batch, &paths[first..]);
        let decoded = wave.len();
        for (i, result) in forward_wave(model, options, wave).into_iter().enumerate() {
            if sink(first + i, result).is_break() {
                return;
            }
        }
        first += decoded;
    }
}

/// Pictures a forward, for pictures of this size.
fn batch_size(model: &Model, asked: usize, height: usize, width: usize) -> usize {
    if asked > 0 {
        return asked;
    }
    let tokens = match model.config().patch_size() {
        Some(patch) => (height / patch.height) * (width / patch.width),
        // A ConvNeXt has the rows of its first map.
        None => (height / 4) * (width / 4),
    };
    (TOKENS_PER_BATCH / tokens.max(1)).clamp(1, MAX_CHOSEN_BATCH)
}

/// Decodes a run of files from the start of `paths`; at least one.
fn decode_wave<P: AsRef<Path> + Sync>(
    model: &Model,
    processor: &ImageProcessor,
    batch: usize,
    paths: &[P],
) -> Vec<Result<Array3<f32>, Error>> {
    let most = if batch > 0 { batch } else { MAX_CHOSEN_BATCH };
    let most = most.saturating_mul(BATCHES_PER_WAVE).min(paths.len());
    let (next, bytes) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let decoded = Mutex::new(Vec::with_capacity(most));
    // Indices are handed out in order and each one taken is finished, so what is decoded is a run without gaps.
    model.context().for_each(model.context().threads(), |_| {
        while bytes.load(Ordering::Relaxed) < BYTES_PER_WAVE {
            let index = next.fetch_add(1, Ordering::Relaxed);
            if index >= most {
                break;
            }
            let pixels = processor.open(paths[index].as_ref());
            bytes.fetch_add(pixels.as_ref().map_or(0, |p| p.len() * size_of::<f32>()), Ordering::Relaxed);
            decoded.lock().unwrap_or_else(PoisonError::into_inner).push((index, pixels));
        }
    });
    let mut decoded = decoded.into_inner().unwrap_or_else(PoisonError::into_inner);
    decoded.sort_by_key(|(index, _)| *index);
    decoded.into_iter().map(|(_, pixels)| pixels).collect()
}

/// Forwards the pictures of a wave, those of one size together; results in the wave's order.
fn forward_wave(
    model: &Model,
    options: FileOptions,
    wave: Vec<Result<Array3<f32>, Error>>,
) -> Vec<Result<Outputs, Error>> {
    let mut results: Vec<Option<Result<Outputs, Error>>> = Vec::new();
    let mut waiting: Vec<(usize, Array3<f32>)> = Vec::new();
    for (index, pixels) in wave.into_iter().enumerate() {
        results.push(None);
        match pixels {
            Ok(pixels) => waiting.push((index, pixels)),
            Err(error) => results[index] = Some(Err(error)),
        }
    }
    while let Some((_, pixels)) = waiting.first() {
        let dim = pixels.dim();
        let mut room = batch_size(model, options.batch, dim.1, dim.2);
        let taken = |pixels: &Array3<f32>, room: &mut usize| {
            let fits = *room > 0 && pixels.dim() == dim;
            *room -= usize::from(fits);
            fits
        };
        let (batch, rest): (Vec<_>, Vec<_>) =
            waiting.into_iter().partition(|(_, pixels)| taken(pixels, &mut room));
        waiting = rest;
        for (index, result) in forward_batch(model, options, &batch) {
            results[index] = Some(result);
        }
    }
    results.into_iter().flatten().collect()
}

fn forward_batch(
    model: &Model,
    options: FileOptions,
    batch: &[(usize, Array3<f32>)],
) -> Vec<(usize, Result<Outputs, Error>)> {
    let views: Vec<_> = batch.iter().map(|(_, pixels)| pixels.view()).collect();
    let pixel_values = stack(Axis(0), &views).unwrap_or_else(|_| Array4::zeros((0, 0, 0, 0)));
    let inputs = Inputs {
        output_hidden_states: options.output_hidden_states,
        output_attentions: options.output_attentions,
        ..Inputs::new(pixel_values.view())
    };
    match model.forward(&inputs) {
        Ok(outputs) => {
            batch.iter().enumerate().map(|(item, (index, _))| (*index, Ok(outputs.item(item)))).collect()
        }
        // What one picture of this size cannot have, none of them can: each says so for itself.
        Err(_) if batch.len() > 1 => {
            batch.iter().flat_map(|one| forward_batch(model, options, std::slice::from_ref(one))).collect()
        }
        Err(error) => batch.iter().map(|(index, _)| *index).zip(std::iter::once(Err(error))).collect(),
    }
}
