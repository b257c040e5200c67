//! From picture files to outputs: decoded and processed in parallel, batched by size, forwarded, given back in order.
//!
//! Work goes in waves. A wave decodes consecutive files on all threads until it holds enough pictures, or enough
//! bytes; then its pictures of one size go through the model together, the first waiting one always among them. What is
//! ready is given back before the next batch, and nothing is done before it is asked for. So memory does not grow with the
//! number of files, results come as they are made, and one bad picture is one error.

use crate::{Error, ImageProcessor, Inputs, Model, OutputHiddenStates, Runner};
use ndarray::{Array3, Array4, ArrayView4, Axis, stack};
use std::{
    collections::VecDeque,
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

/// Bytes of pixel values after which a wave stops decoding, and of outputs that a batch aims at when its size is not given.
const BYTES_PER_WAVE: usize = 256 << 20;

/// What to compute for each picture.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FileOptions {
    /// Pictures a forward; 0 chooses.
    pub batch: usize,
    /// Which `hidden_states` to give as well.
    pub output_hidden_states: OutputHiddenStates,
    /// Whether to give `attentions` as well; absent, the config says.
    pub output_attentions: Option<bool>,
    /// Run the eager attention without giving its probabilities.
    pub eager_attention: bool,
}

impl FileOptions {
    /// Nothing but what a forward gives in any case, whatever the config says.
    #[must_use]
    pub fn plain() -> Self {
        Self {
            output_hidden_states: OutputHiddenStates::None,
            output_attentions: Some(false),
            ..Self::default()
        }
    }

    /// The inputs that ask a forward over `pixel_values` [B, C, H, W] for this.
    #[must_use]
    #[allow(clippy::needless_pass_by_value)] // a view is passed as a slice is
    pub fn inputs<'a>(&self, pixel_values: ArrayView4<'a, f32>) -> Inputs<'a> {
        Inputs {
            output_hidden_states: self.output_hidden_states.clone(),
            output_attentions: self.output_attentions,
            eager_attention: self.eager_attention,
            ..Inputs::new(pixel_values)
        }
    }
}

/// Runs a model, backbone or classifier on picture files, as the iterator is asked: each file, in order, with its outputs (a batch of
/// one) or its error. Files are taken from `paths` as they are needed, so there may be any number of them.
pub fn run_files<'a, R: Runner, I>(
    runner: &'a R,
    processor: &'a ImageProcessor,
    options: FileOptions,
    paths: I,
) -> impl Iterator<Item = (I::Item, Result<R::Outputs, Error>)> + use<'a, R, I>
where
    I: IntoIterator<Item: AsRef<Path> + Sync>,
{
    run_files_mapped(runner, processor, options, paths, R::into_items)
}

/// As [`run_files`], with what is wanted of each picture of a batch taken out of its outputs by `map`.
pub(crate) fn run_files_mapped<'a, R: Runner, I, T>(
    runner: &'a R,
    processor: &'a ImageProcessor,
    options: FileOptions,
    paths: I,
    map: impl Fn(R::Outputs) -> Vec<T>,
) -> impl Iterator<Item = (I::Item, Result<T, Error>)>
where
    I: IntoIterator<Item: AsRef<Path> + Sync>,
{
    let (paths, wave) = (paths.into_iter().fuse(), Wave::new(Vec::new()));
    Waves { runner, processor, options, paths, map, pending: VecDeque::new(), wave }
}

/// The state between two results.
struct Waves<'a, R, I: Iterator, F, T> {
    runner: &'a R,
    processor: &'a ImageProcessor,
    options: FileOptions,
    paths: I,
    map: F,
    /// Taken from `paths` and not given back; those of the wave first.
    pending: VecDeque<I::Item>,
    wave: Wave<T>,
}

impl<R, I, F, T> Iterator for Waves<'_, R, I, F, T>
where
    R: Runner,
    I: Iterator<Item: AsRef<Path> + Sync>,
    F: Fn(R::Outputs) -> Vec<T>,
{
    type Item = (I::Item, Result<T, Error>);

    fn next(&mut self) -> Option<Self::Item> {
        let model = self.runner.base();
        loop {
            if let Some(result) = self.wave.next_ready() {
                return Some((self.pending.pop_front()?, result));
            }
            let size = |pixels: &Array3<f32>| batch_size(model, &self.options, pixels.dim());
            if let Some(batch) = self.wave.next_batch(size) {
                forward_batch(self.runner, &self.options, &batch, &self.map, &mut self.wave);
                continue;
            }
            let missing = most_in_wave(self.options.batch).saturating_sub(self.pending.len());
            self.pending.extend(self.paths.by_ref().take(missing));
            if self.pending.is_empty() {
                return None;
            }
            self.wave = Wave::new(decode_wave(model, self.processor, self.pending.make_contiguous()));
        }
    }
}

/// The pictures of a wave, and what became of them.
struct Wave<T> {
    /// Decoded, not yet through the model, in order.
    waiting: Vec<(usize, Array3<f32>)>,
    /// By place in the wave; taken out when given back.
    results: Vec<Option<Result<T, Error>>>,
    /// How many have been given back.
    given: usize,
}

impl<T> Wave<T> {
    fn new(decoded: Vec<Result<Array3<f32>, Error>>) -> Self {
        let (mut waiting, mut results) = (Vec::new(), Vec::with_capacity(decoded.len()));
        for (index, pixels) in decoded.into_iter().enumerate() {
            match pixels {
                Ok(pixels) => {
                    waiting.push((index, pixels));
                    results.push(None);
                }
                Err(error) => results.push(Some(Err(error))),
            }
        }
        Self { waiting, results, given: 0 }
    }

    /// The result at the front, once, if it is there.
    fn next_ready(&mut self) -> Option<Result<T, Error>> {
        let result = self.results.get_mut(self.given)?.take()?;
        self.given += 1;
        Some(result)
    }

    /// The first waiting picture, and as many others of its size as fit; nothing when none waits.
    fn next_batch(&mut self, size: impl Fn(&Array3<f32>) -> usize) -> Option<Vec<(usize, Array3<f32>)>> {
        let (_, first) = self.waiting.first()?;
        let (dim, mut room) = (first.dim(), size(first));
        let (batch, rest) = std::mem::take(&mut self.waiting).into_iter().partition(|(_, pixels)| {
            let fits = room > 0 && pixels.dim() == dim;
            room -= usize::from(fits);
            fits
        });
        self.waiting = rest;
        Some(batch)
    }
}

/// Pictures a forward, for pictures [C, H, W].
fn batch_size(model: &Model, options: &FileOptions, (_, height, width): (usize, usize, usize)) -> usize {
    if options.batch > 0 {
        return options.batch;
    }
    let config = model.config();
    let patches = match config.patch_size() {
        Some(patch) => (height / patch.height) * (width / patch.width),
        // A ConvNeXt has the rows of its first map.
        None => (height / 4) * (width / 4),
    };
    let layers = config.stage_names().len();
    let states = match &options.output_hidden_states {
        OutputHiddenStates::Config if config.common().output_hidden_states => layers,
        OutputHiddenStates::Config | OutputHiddenStates::None => 1,
        OutputHiddenStates::Only(places) => 1 + places.len().min(layers),
        OutputHiddenStates::All => layers,
    };
    // Every layer has at least one head of at least one probability for each pair of tokens.
    let heads = config.head_dim().map_or(0, |dim| config.hidden_size() / dim.max(1));
    let wants_attentions = options.output_attentions.unwrap_or(config.common().output_attentions);
    let pairs = if wants_attentions { heads * layers * patches } else { 0 };
    let bytes =
        patches.saturating_mul(config.hidden_size() * states + pairs).saturating_mul(size_of::<f32>());
    let by_bytes = BYTES_PER_WAVE / bytes.max(1);
    (TOKENS_PER_BATCH / patches.max(1)).min(by_bytes).clamp(1, MAX_CHOSEN_BATCH)
}

/// Most files that a wave decodes.
fn most_in_wave(batch: usize) -> usize {
    let batch = if batch > 0 { batch } else { MAX_CHOSEN_BATCH };
    batch.saturating_mul(BATCHES_PER_WAVE)
}

/// Decodes a run of files from the start of `paths`; at least one.
fn decode_wave<P: AsRef<Path> + Sync>(
    model: &Model,
    processor: &ImageProcessor,
    paths: &[P],
) -> Vec<Result<Array3<f32>, Error>> {
    let most = paths.len();
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

/// Forwards pictures of one size together, and puts what `map` makes of each in its place.
fn forward_batch<R: Runner, T>(
    runner: &R,
    options: &FileOptions,
    batch: &[(usize, Array3<f32>)],
    map: &impl Fn(R::Outputs) -> Vec<T>,
    wave: &mut Wave<T>,
) {
    let items = forward(runner, options, batch).map(map).and_then(|items| match items.len() {
        got if got == batch.len() => Ok(items),
        got => Err(Error::ItemsOfBatch { expected: batch.len(), got }),
    });
    match items {
        Ok(items) => {
            for ((index, _), item) in batch.iter().zip(items) {
                wave.results[*index] = Some(Ok(item));
            }
        }
        // What one picture of this size cannot have, none of them can: each says so for itself.
        Err(_) if batch.len() > 1 => {
            for one in batch {
                forward_batch(runner, options, std::slice::from_ref(one), map, wave);
            }
        }
        Err(error) => wave.results[batch[0].0] = Some(Err(error)),
    }
}

fn forward<R: Runner>(
    runner: &R,
    options: &FileOptions,
    batch: &[(usize, Array3<f32>)],
) -> Result<R::Outputs, Error> {
    let views: Vec<_> = batch.iter().map(|(_, pixels)| pixels.view()).collect();
    #[allow(clippy::expect_used)] // `Wave::next_batch` puts pictures of one size together, at least one
    let pixel_values: Array4<f32> = stack(Axis(0), &views).expect("pictures of one size");
    runner.run(&options.inputs(pixel_values.view()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn picture(side: usize) -> Result<Array3<f32>, Error> {
        Ok(Array3::zeros((3, side, side)))
    }

    fn failed() -> Result<Array3<f32>, Error> {
        Err(Error::ProcessorOption { option: "size", reason: "of the test".to_owned() })
    }

    #[test]
    fn a_batch_is_the_first_waiting_picture_and_others_of_its_size() {
        let mut wave = Wave::<()>::new(vec![picture(1), picture(2), failed(), picture(1), picture(1)]);
        let places = |batch: Vec<(usize, Array3<f32>)>| batch.into_iter().map(|(i, _)| i).collect::<Vec<_>>();
        assert_eq!(wave.next_batch(|_| 2).map(places), Some(vec![0, 3]));
        assert_eq!(wave.next_batch(|_| 2).map(places), Some(vec![1]));
        assert_eq!(wave.next_batch(|_| 2).map(places), Some(vec![4]));
        assert_eq!(wave.next_batch(|_| 2).map(places), None);
    }

    #[test]
    fn results_are_given_back_in_order_as_soon_as_they_are_there() {
        let mut wave = Wave::new(vec![picture(1), failed(), picture(2), picture(1)]);
        let ready = |wave: &mut Wave<char>| {
            std::iter::from_fn(|| wave.next_ready()).map(|result| result.unwrap_or('!')).collect::<String>()
        };
        assert_eq!(ready(&mut wave), "");
        (wave.results[0], wave.results[3]) = (Some(Ok('a')), Some(Ok('d')));
        assert_eq!(ready(&mut wave), "a!");
        wave.results[2] = Some(Ok('c'));
        assert_eq!(ready(&mut wave), "cd");
        assert_eq!(ready(&mut wave), "");
    }

    /// Says nothing of what it was asked.
    struct Silent(Model);

    impl Runner for Silent {
        type Outputs = ();

        fn base(&self) -> &Model {
            &self.0
        }

        fn run(&self, _: &Inputs<'_>) -> Result<(), Error> {
            Ok(())
        }

        fn into_items((): ()) -> Vec<()> {
            Vec::new()
        }
    }

    #[test]
    fn every_picture_has_a_result_though_the_runner_gives_no_items() {
        let silent = Silent(Model::from_pretrained(crate::BUILTIN_TINY).unwrap());
        let processor = ImageProcessor::from_pretrained(crate::BUILTIN_TINY).unwrap();
        let picture = concat!(env!("CARGO_MANIFEST_DIR"), "/../../pictures/chelsea.png");
        let results: Vec<_> =
            run_files(&silent, &processor, FileOptions::default(), [picture; 3]).take(4).collect();
        let refused =
            |result: &Result<(), Error>| matches!(result, Err(Error::ItemsOfBatch { expected: 1, got: 0 }));
        assert!(results.len() == 3 && results.iter().all(|(_, result)| refused(result)));
    }
}
