//! `preprocess`: what the model would see, in one safetensors file.
//!
//! Pictures are decoded in waves on all threads, so memory does not grow with their number.

use crate::{
    args::PreprocessArgs,
    cleanup::Cleanup,
    error::CliError,
    exit::Exit,
    inputs::collect,
    options,
    output::TensorWriter,
    session::{Session, Tally},
    text,
};
use dinoxide::{Context, ImageProcessor};
use ndarray::Array3;
use std::path::PathBuf;

/// Pictures of a wave, for each thread.
const WAVE_PER_THREAD: usize = 4;

pub(super) fn run(args: &PreprocessArgs, session: &mut Session) -> Result<Exit, CliError> {
    TensorWriter::check_name(&args.output)?;
    let collected = collect(&args.pictures, &session.printer)?;
    let paths = &collected.pictures;
    let name = options::model_name(&args.source, &session.env);
    let path_bytes = paths.iter().map(|path| text::path_text(path).len()).sum();
    let mut writer = TensorWriter::create(&args.output, path_bytes, &Cleanup::on_interrupt())?;
    let checkpoint = options::open(&name, &args.source)?;
    let processor = options::processor(&checkpoint, &args.processor)?;
    let context = Context::new(session.context).map_err(dinoxide::Error::from)?;
    let fail_fast = args.pictures.fail_fast;
    let mut tally = Tally::start(&mut session.printer, paths.len(), collected.failed, fail_fast);
    'waves: for wave in paths.chunks(context.threads() * WAVE_PER_THREAD) {
        for (path, pixels) in wave.iter().zip(process(&context, &processor, wave)) {
            let entered = tally.enter(pixels, |pixels, _| {
                writer.picture(&text::path_text(path));
                let values = pixels.as_standard_layout();
                writer.push("pixel_values", pixels.shape(), values.as_slice().unwrap_or_default())
            });
            if entered.is_break() {
                break 'waves;
            }
        }
    }
    let metadata = [("model", name.to_string_lossy().into_owned())];
    tally.end(Some(&args.output), || writer.finish(&metadata))
}

/// Processes pictures on all threads; results in order.
fn process(
    context: &Context,
    processor: &ImageProcessor,
    paths: &[PathBuf],
) -> Vec<Result<Array3<f32>, CliError>> {
    let mut results: Vec<_> = paths.iter().map(|_| None).collect();
    context.for_each_chunk_mut(&mut results, 1, |index, result| {
        result[0] = Some(processor.open(&paths[index]).map_err(CliError::from));
    });
    results.into_iter().flatten().collect()
}
