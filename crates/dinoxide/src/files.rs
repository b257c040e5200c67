//! From picture files to outputs: decoded and processed in parallel, batched by size, forwarded, given back in order.
//!
//! Files are decoded until the pictures of one size that wait fill a batch, the first waiting picture always among them. While the
//! model computes it, one thread decodes on, up to a bounded number of pictures and bytes ahead, and then helps the model; so
//! no more threads run than the model has, and none of them waits while there is work. With one thread, one thing follows the other.
//! What is ready is given back before the next batch, and nothing is done before it is asked for. So memory does not grow with the
//! number of files, results come as they are made, and one bad picture is one error.

mod ahead;

use crate::{Error, ImageProcessor, Inputs, Model, OutputHiddenStates, Runner};
use ahead::{Ahead, Decoded, Reader};
use ndarray::{Array4, ArrayView4, Axis, stack};
use std::{
    collections::VecDeque,
    path::Path,
    sync::{Mutex, PoisonError},
};

/// Tokens that a batch aims at when its size is not given: pictures enough for the threads to share evenly, and few enough for
/// their pixels and outputs to be small.
const TOKENS_PER_BATCH: usize = 2048;

/// Most pictures in a batch when its size is not given.
const MAX_CHOSEN_BATCH: usize = 32;

/// Batches that are decoded ahead at most: more let mixed sizes find partners.
const BATCHES_AHEAD: usize = 4;

/// Bytes of outputs that a batch aims at when its size is not given.
const BYTES_PER_BATCH: usize = 256 << 20;

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
    let (paths, window) = (paths.into_iter().fuse(), Window::new());
    Run { runner, processor, options, paths, map, pending: VecDeque::new(), window, broken: false }
}

/// The state between two results.
struct Run<'a, R, I: Iterator, F, T> {
    runner: &'a R,
    processor: &'a ImageProcessor,
    options: FileOptions,
    paths: I,
    map: F,
    /// Taken from `paths` and not given back.
    pending: VecDeque<I::Item>,
    /// What became of them.
    window: Window<T>,
    /// A panic came out of `advance`: what it left cannot be gone on with.
    broken: bool,
}

impl<R, I, F, T> Iterator for Run<'_, R, I, F, T>
where
    R: Runner,
    I: Iterator<Item: AsRef<Path> + Sync>,
    F: Fn(R::Outputs) -> Vec<T>,
{
    type Item = (I::Item, Result<T, Error>);

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(result) = self.window.next_ready() {
                return Some((self.pending.pop_front()?, result));
            }
            let missing = most_ahead(self.options.batch).saturating_sub(self.pending.len());
            self.pending.extend(self.paths.by_ref().take(missing));
            if self.pending.is_empty() || self.broken {
                return None;
            }
            self.broken = true;
            self.advance();
            self.broken = false;
        }
    }
}

impl<R, I, F, T> Run<'_, R, I, F, T>
where
    R: Runner,
    I: Iterator<Item: AsRef<Path> + Sync>,
    F: Fn(R::Outputs) -> Vec<T>,
{
    /// Decodes until there is a batch; forwards it, decoding on.
    fn advance(&mut self) {
        let Self { runner, processor, options, map, pending, window, .. } = self;
        let (runner, processor, options) = (*runner, *processor, &*options);
        let size = |pixels: &Decoded| batch_size(runner.base(), options, pixels.dim());
        let reader = Reader {
            context: runner.base().context(),
            processor,
            paths: pending.make_contiguous(),
            size: &size,
            ahead: Mutex::new(std::mem::take(&mut window.ahead)),
        };
        reader.read_a_batch();
        let batch = reader.take_batch();
        let outputs = match batch.is_empty() {
            // Nothing but errors so far.
            true => None,
            false => reader.read_beside(|| forward(runner, options, &batch)),
        };
        window.ahead = reader.ahead.into_inner().unwrap_or_else(PoisonError::into_inner);
        window.enter_errors();
        if let Some(outputs) = outputs {
            settle((runner, options, &*map), outputs, &batch, window);
        }
    }
}

/// What became of the pending files, by their place in the queue.
struct Window<T> {
    ahead: Ahead,
    /// Of all that have been decoded, or are to be; taken out when given back.
    results: VecDeque<Option<Result<T, Error>>>,
}

impl<T> Window<T> {
    fn new() -> Self {
        Self { ahead: Ahead::default(), results: VecDeque::new() }
    }

    /// The result at the front, if it is there; what is behind it moves up.
    fn next_ready(&mut self) -> Option<Result<T, Error>> {
        self.results.front_mut()?.as_ref()?;
        self.ahead.move_up();
        self.results.pop_front()?
    }

    fn enter(&mut self, place: usize, result: Result<T, Error>) {
        if self.results.len() <= place {
            self.results.resize_with(place + 1, || None);
        }
        self.results[place] = Some(result);
    }

    /// Gives the files that could not be decoded their errors.
    fn enter_errors(&mut self) {
        for (place, error) in self.ahead.take_failed() {
            self.enter(place, Err(error));
        }
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
    let by_bytes = BYTES_PER_BATCH / bytes.max(1);
    (TOKENS_PER_BATCH / patches.max(1)).min(by_bytes).clamp(1, MAX_CHOSEN_BATCH)
}

/// Most files that are taken ahead.
fn most_ahead(batch: usize) -> usize {
    let batch = if batch > 0 { batch } else { MAX_CHOSEN_BATCH };
    batch.saturating_mul(BATCHES_AHEAD)
}

/// Puts what `map` makes of each picture of a batch in its place.
fn settle<R: Runner, T, F: Fn(R::Outputs) -> Vec<T>>(
    run: (&R, &FileOptions, &F),
    outputs: Result<R::Outputs, Error>,
    batch: &[(usize, Decoded)],
    window: &mut Window<T>,
) {
    let (runner, options, map) = run;
    let items = outputs.map(map).and_then(|items| match items.len() {
        got if got == batch.len() => Ok(items),
        got => Err(Error::ItemsOfBatch { expected: batch.len(), got }),
    });
    match items {
        Ok(items) => {
            for ((place, _), item) in batch.iter().zip(items) {
                window.enter(*place, Ok(item));
            }
        }
        // What one picture of this size cannot have, none of them can: each says so for itself.
        Err(_) if batch.len() > 1 => {
            for one in batch {
                let one = std::slice::from_ref(one);
                settle(run, forward(runner, options, one), one, window);
            }
        }
        Err(error) => window.enter(batch[0].0, Err(error)),
    }
}

fn forward<R: Runner>(
    runner: &R,
    options: &FileOptions,
    batch: &[(usize, Decoded)],
) -> Result<R::Outputs, Error> {
    let views: Vec<_> = batch.iter().map(|(_, pixels)| pixels.view()).collect();
    #[allow(clippy::expect_used)] // `Ahead::take_batch` puts pictures of one size together, at least one
    let pixel_values: Array4<f32> = stack(Axis(0), &views).expect("pictures of one size");
    runner.run(&options.inputs(pixel_values.view()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ContextOptions, LoadOptions};

    #[test]
    fn results_are_given_back_in_order_as_soon_as_they_are_there() {
        let failed = || Error::ProcessorOption { option: "size", reason: "of the test".to_owned() };
        let mut window = Window::new();
        let ready = |window: &mut Window<char>| {
            let mut given = String::new();
            while let Some(result) = window.next_ready() {
                given.push(result.unwrap_or('!'));
            }
            given
        };
        window.ahead = Ahead::of_read(4);
        assert_eq!(ready(&mut window), "");
        window.enter(3, Ok('d'));
        window.enter(0, Ok('a'));
        window.enter(1, Err(failed()));
        assert_eq!(ready(&mut window), "a!");
        window.enter(0, Ok('c'));
        assert_eq!(ready(&mut window), "cd");
        assert_eq!(ready(&mut window), "");
    }

    /// Panics at every picture.
    struct Panicking(Model);

    impl Runner for Panicking {
        type Outputs = ();

        fn base(&self) -> &Model {
            &self.0
        }

        fn run(&self, _: &Inputs<'_>) -> Result<(), Error> {
            panic!("of the test")
        }

        fn into_items((): ()) -> Vec<()> {
            vec![()]
        }
    }

    #[test]
    fn after_a_panic_of_the_runner_nothing_more_comes() {
        use std::panic::{AssertUnwindSafe, catch_unwind};
        let processor = ImageProcessor::from_pretrained(crate::BUILTIN_TINY).unwrap();
        let runner = Panicking(Model::from_pretrained(crate::BUILTIN_TINY).unwrap());
        let picture = format!("{}/../../pictures/chelsea.png", env!("CARGO_MANIFEST_DIR"));
        let paths = [picture.as_str(), picture.as_str(), "no such picture", picture.as_str()];
        let mut run = run_files(&runner, &processor, FileOptions { batch: 1, ..FileOptions::plain() }, paths);
        assert!(catch_unwind(AssertUnwindSafe(|| run.next())).is_err());
        assert!(run.next().is_none());
    }

    #[test]
    fn any_number_of_threads_gives_the_same_results_in_order() {
        let processor = ImageProcessor::from_pretrained(crate::BUILTIN_TINY).unwrap().without_crop();
        let name = |i: usize| ["no such picture", "chelsea.png", "rocket.jpg", "chelsea.png"][i * i % 7 % 4];
        let path = |i| format!("{}/../../pictures/{}", env!("CARGO_MANIFEST_DIR"), name(i));
        let paths: Vec<_> = (0..12).map(path).collect();
        let states = |threads| {
            let context = ContextOptions { threads: Some(threads), ..ContextOptions::default() };
            let options = LoadOptions { context, ..LoadOptions::default() };
            let model = Model::from_pretrained_with(crate::BUILTIN_TINY, &options).unwrap();
            let options = FileOptions { batch: 3, ..FileOptions::plain() };
            let run = || run_files(&model, &processor, options.clone(), &paths);
            assert_eq!(run().take(5).count(), 5, "a run may be left at any time");
            run().map(|(path, outputs)| (path, outputs.ok().map(|o| o.last_hidden_state))).collect::<Vec<_>>()
        };
        let alone = states(1);
        assert!(alone.iter().map(|(path, _)| *path).eq(&paths));
        assert!(alone.iter().all(|(path, state)| state.is_some() == Path::new(path).exists()));
        for threads in [2, 3] {
            assert!(states(threads) == alone, "{threads} threads");
        }
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
