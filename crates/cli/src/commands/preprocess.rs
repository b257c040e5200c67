//! `preprocess`: what the model would see, in one safetensors file.
//!
//! Pictures are decoded in waves on all threads and written at once, so memory does not grow with their number. A
//! processor that pads to the largest of the batch (`do_pad` without `pad_size`) takes all pictures as one batch, as Transformers does: these
//! wait in memory, up to a limit, until the largest is known.

use crate::{
    args::PreprocessArgs,
    cleanup::Cleanup,
    error::CliError,
    exit::Exit,
    inputs::{Opened, Opener, collect, spare},
    options,
    output::{Planned, TensorWriter, check_extension},
    session::{Session, Tally},
    text,
};
use dinoxide::Context;
use ndarray::Array3;
use std::path::{Path, PathBuf};

/// Pictures of a wave, for each thread.
const WAVE_PER_THREAD: usize = 4;

/// Floats that may wait for the largest picture, padded to the largest so far: 2 GiB.
const MAX_WAITING: usize = 1 << 29;

pub(super) fn run(args: &PreprocessArgs, session: &mut Session) -> Result<Exit, CliError> {
    check_extension(&args.output, ".safetensors")?;
    let collected = collect(&args.pictures, &session.printer)?;
    let paths = &collected.pictures;
    spare(paths.iter().map(PathBuf::as_path), &args.output)?;
    let name = options::model_name(&args.source, &session.env);
    let planned = Planned::of(paths.iter().map(|path| text::path_text(path)));
    let writer = TensorWriter::create(&args.output, planned, &Cleanup::on_interrupt())?;
    let checkpoint = options::open(&name, &args.source, &session.printer)?;
    let opener = Opener::new(&checkpoint, &args.processor, session.context.isa)?;
    let mut pixels = Pixels { writer, waiting: Vec::new(), largest: [0; 3] };
    let context = Context::new(session.context).map_err(dinoxide::Error::from)?;
    let fail_fast = args.pictures.fail_fast;
    let mut tally = Tally::start(&mut session.printer, paths.len(), collected.failed, fail_fast);
    'waves: for wave in paths.chunks(context.threads() * WAVE_PER_THREAD) {
        for (path, opened) in wave.iter().zip(open(&context, &opener, wave)) {
            let entered = tally.enter(opened, |Opened { pixels: picture, warning }, printer| {
                warning.iter().for_each(|warning| printer.warning(warning));
                pixels.writer.picture(&text::path_text(path));
                if opener.strict.pads_to_largest() {
                    pixels.wait(picture, &args.output)
                } else {
                    pixels.write(&picture)
                }
            });
            if entered.is_break() {
                break 'waves;
            }
        }
    }
    let metadata = [("model", name.to_string_lossy().into_owned())];
    tally.end(Some(&args.output), || {
        for picture in opener.strict.pad_to_largest(std::mem::take(&mut pixels.waiting))? {
            pixels.write(&picture)?;
        }
        pixels.writer.finish(&metadata)
    })
}

/// Where pictures [3, H, W] go.
struct Pixels {
    writer: TensorWriter,
    /// Those that are not padded yet.
    waiting: Vec<Array3<f32>>,
    /// Channels, height and width that all of them fit in.
    largest: [usize; 3],
}

impl Pixels {
    fn write(&mut self, picture: &Array3<f32>) -> Result<(), CliError> {
        let values = picture.as_standard_layout();
        self.writer.push("pixel_values", picture.shape(), values.as_slice().unwrap_or_default())
    }

    fn wait(&mut self, picture: Array3<f32>, output: &Path) -> Result<(), CliError> {
        for (largest, &side) in self.largest.iter_mut().zip(picture.shape()) {
            *largest = side.max(*largest);
        }
        self.waiting.push(picture);
        if within_limit(self.waiting.len(), self.largest) {
            return Ok(());
        }
        let [_, height, width] = self.largest;
        Err(CliError::OutputLimit {
            path: output.to_owned(),
            reason: format!(
                "so many pictures, padded to {height}x{width}, exceed the limit of {MAX_WAITING} numbers"
            ),
            hint: "preprocess fewer pictures at a time, or smaller ones with --size",
        })
    }
}

/// Whether so many padded pictures may be held.
fn within_limit(pictures: usize, largest: [usize; 3]) -> bool {
    let floats = largest.iter().try_fold(pictures, |floats, &side| floats.checked_mul(side));
    floats.is_some_and(|floats| floats <= MAX_WAITING)
}

/// Opens pictures on all threads; results in order.
fn open(context: &Context, opener: &Opener, paths: &[PathBuf]) -> Vec<Result<Opened, CliError>> {
    let mut results: Vec<_> = paths.iter().map(|_| None).collect();
    context.for_each_chunk_mut(&mut results, 1, |index, result| {
        result[0] = Some(opener.open(&paths[index]).map_err(CliError::from));
    });
    results.into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_waits_is_bounded_by_its_padded_size() {
        assert!(within_limit(2, [4, 1 << 13, 1 << 13]));
        assert!(!within_limit(3, [4, 1 << 13, 1 << 13]));
        assert!(!within_limit(usize::MAX, [3, 2, 2]));
    }
}
