//! From what was typed, or the environment says, to what the commands work with: checked once, here.
//!
//! An option on the command line goes before the variable that mirrors it, and an error names the one that was meant. An
//! option that can have no effect on what was named is a warning.

use crate::{
    args::{GlobalArgs, HubArgs, Pool, ProcessorArgs, Size, SourceArgs},
    downloads::Downloads,
    env::{self, Env},
    error::CliError,
    names,
    printer::Printer,
};
use dinoxide::{
    BUILTIN_TINY, Checkpoint, ContextOptions, DecodeOptions, ImageProcessor, Isa, Limits, LoadOptions,
    Pooling, Precision,
};
use std::{
    ffi::{OsStr, OsString},
    path::Path,
    sync::Arc,
};

/// The model when none is named.
pub(crate) const DEFAULT_MODEL: &str = "facebook/dinov2-small";

/// The model with a classifier when none is named.
pub(crate) const DEFAULT_CLASSIFIER: &str = "facebook/dinov2-small-imagenet1k-1-layer";

/// Most threads that are started: more than any machine has cores.
const MAX_THREADS: usize = 1024;

/// A level of the command line's contract that no build has yet.
const NEON: &str = "neon";

/// Threads and instruction set.
///
/// # Errors
/// [`CliError::OptionValue`].
pub(crate) fn context(args: &GlobalArgs, env: &Env) -> Result<ContextOptions, CliError> {
    let threads = either("--threads", args.threads.as_deref(), env::THREADS, env.threads.as_deref());
    let isa = either("--isa", args.isa.as_deref(), env::ISA, env.isa.as_deref());
    Ok(ContextOptions {
        threads: threads.map(read_threads).transpose()?,
        isa: isa.map(read_isa).transpose()?,
    })
}

/// A value with the name of the option, or of the variable, that it comes from.
type Named<'a> = (&'static str, &'a OsStr);

fn either<'a>(
    option: &'static str,
    typed: Option<&'a OsStr>,
    variable: &'static str,
    set: Option<&'a OsStr>,
) -> Option<Named<'a>> {
    typed.map(|value| (option, value)).or(set.map(|value| (variable, value)))
}

fn wrong((option, value): Named<'_>, reason: String) -> CliError {
    CliError::OptionValue { option, got: value.to_string_lossy().into_owned(), reason }
}

fn read_threads(named: Named<'_>) -> Result<usize, CliError> {
    let threads = named.1.to_str().and_then(|text| text.parse().ok()).filter(|&n: &usize| n <= MAX_THREADS);
    threads.ok_or_else(|| wrong(named, format!("is no number from 0 (all cores) to {MAX_THREADS}")))
}

fn read_isa(named: Named<'_>) -> Result<Isa, CliError> {
    let available = || Isa::available().into_iter().map(Isa::name).collect::<Vec<_>>().join(", ");
    let name = named.1.to_string_lossy();
    match name.parse::<Isa>() {
        Ok(isa) if isa.is_available() => Ok(isa),
        Ok(_) => Err(wrong(named, format!("is not a level of this processor, which has {}", available()))),
        Err(_) if name == NEON => {
            Err(wrong(named, format!("is not in this build, which has {}", available())))
        }
        Err(error) => Err(wrong(named, format!("cannot be used: {error}"))),
    }
}

/// Which model: named on the command line, by the environment, or the default.
pub(crate) fn model_name(args: &SourceArgs, env: &Env) -> OsString {
    model_name_or(args, env, DEFAULT_MODEL)
}

/// As [`model_name`], with another default.
pub(crate) fn model_name_or(args: &SourceArgs, env: &Env, default: &str) -> OsString {
    args.model.clone().or_else(|| env.model.clone()).unwrap_or_else(|| default.into())
}

/// Opens a checkpoint. A revision of what has none is a warning: the weights may not be those that were meant.
///
/// # Errors
/// As [`dinoxide::open`].
pub(crate) fn open(name: &OsStr, args: &SourceArgs, printer: &Printer) -> Result<Checkpoint, CliError> {
    open_with(Wishes::default(), name, &args.hub, printer)
}

/// What a checkpoint is opened for.
#[derive(Debug, Default)]
pub(crate) struct Wishes {
    /// Other values for keys of the config.
    pub(crate) overrides: serde_json::Map<String, serde_json::Value>,
    /// What linear layers are to be held in.
    pub(crate) precision: Option<Precision>,
}

impl From<Option<Precision>> for Wishes {
    fn from(precision: Option<Precision>) -> Self {
        Self { precision, ..Self::default() }
    }
}

/// As [`open`], for a precision, with other settings of the config.
///
/// # Errors
/// As [`dinoxide::open`].
pub(crate) fn open_with(
    wishes: Wishes,
    name: &OsStr,
    args: &HubArgs,
    printer: &Printer,
) -> Result<Checkpoint, CliError> {
    if let Some(revision) =
        args.revision.as_ref().filter(|_| name == BUILTIN_TINY || Path::new(name).is_dir())
    {
        let name = name.to_string_lossy();
        printer.warning(&format!(
            "--revision {revision}: has no effect, `{name}` is not looked up in the hub's cache"
        ));
    }
    let downloads = Arc::new(Downloads::new(printer.draws_progress()));
    let options = LoadOptions {
        revision: args.revision.clone(),
        subfolder: args.subfolder.clone(),
        cache_dir: args.cache_dir.clone(),
        offline: args.offline,
        overrides: wishes.overrides,
        precision: wishes.precision,
        progress: Some(Arc::<Downloads>::clone(&downloads)),
        ..LoadOptions::default()
    };
    let opened = dinoxide::open(name, &options);
    for warning in downloads.take_warnings() {
        printer.warning(&warning);
    }
    opened.map_err(|error| match names::meant(name) {
        Some(meant) => CliError::Misnamed { source: Box::new(error), meant },
        None => error.into(),
    })
}

/// The checkpoint's processor, with the command line's wishes, except `--tolerant`.
///
/// # Errors
/// No processor config, or one that cannot be carried out with them.
pub(crate) fn processor(
    checkpoint: &Checkpoint,
    args: &ProcessorArgs,
    isa: Option<Isa>,
) -> Result<ImageProcessor, CliError> {
    let processor = ImageProcessor::from_checkpoint(checkpoint)?;
    let mut processor = processor.with_decode(decode(args)).with_isa(isa);
    if let Some(Size { height, width }) = args.size {
        processor = processor.with_size(height, width);
        check_size(Size { height, width }, processor.spec().max_output_pixels)?;
    }
    if args.no_crop {
        processor = processor.without_crop();
    }
    Ok(processor)
}

/// Refuses a size of more pixels than a processor makes, before the work.
fn check_size(size: Size, most: u64) -> Result<(), CliError> {
    let pixels = size.height as u64 * size.width as u64;
    if pixels <= most {
        return Ok(());
    }
    let side = most.isqrt();
    let reason = format!("is {pixels} pixels, the most are {most}, such as {side}x{side}");
    Err(CliError::OptionValue { option: "--size", got: size.to_string(), reason })
}

/// Bytes that decoding takes for a pixel at most, whatever the format; also of a file that is not compressed.
const MAX_BYTES_PER_PIXEL: u64 = 32;

/// How files are decoded. More pixels take more memory and larger files; less than the default change neither limit.
pub(crate) fn decode(args: &ProcessorArgs) -> DecodeOptions {
    let mut limits = Limits::default();
    if let Some(max_pixels) = args.max_pixels {
        let bytes = max_pixels.saturating_mul(MAX_BYTES_PER_PIXEL);
        limits.max_pixels = max_pixels;
        if max_pixels > Limits::default().max_pixels {
            limits.max_bytes = limits.max_bytes.max(bytes);
            limits.max_file_bytes = limits.max_file_bytes.max(bytes);
        }
    }
    DecodeOptions { limits, background: args.background.map(|colour| colour.0), tolerant: false }
}

impl From<Pool> for Pooling {
    fn from(pool: Pool) -> Self {
        match pool {
            Pool::Cls => Self::Cls,
            Pool::Mean => Self::Mean,
            Pool::ClsMean => Self::ClsMean,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn args(threads: Option<&str>, isa: Option<&str>) -> GlobalArgs {
        let (threads, isa) = (threads.map(OsString::from), isa.map(OsString::from));
        GlobalArgs { threads, isa, quiet: false, verbose: false, no_progress: false }
    }

    #[test]
    fn an_option_goes_before_the_variable_that_mirrors_it() {
        let env = Env { threads: Some("3".into()), isa: Some("portable".into()), ..Env::default() };
        let from_env = context(&args(None, None), &env).unwrap();
        assert_eq!((from_env.threads, from_env.isa), (Some(3), Some(Isa::Portable)));
        assert_eq!(context(&args(Some("1"), None), &env).unwrap().threads, Some(1));
    }

    #[test]
    fn a_wrong_value_is_told_with_where_it_comes_from() {
        let env = Env { threads: Some("many".into()), ..Env::default() };
        let error = context(&args(None, None), &env).unwrap_err().to_string();
        assert_eq!(error, "DINOXIDE_THREADS: `many` is no number from 0 (all cores) to 1024");
        for (threads, isa) in
            [(Some("-1"), None), (Some("1025"), None), (None, Some("sse9")), (None, Some("neon"))]
        {
            let error = context(&args(threads, isa), &Env::default()).unwrap_err();
            assert!(matches!(error, CliError::OptionValue { option: "--threads" | "--isa", .. }), "{error}");
        }
    }

    #[test]
    fn more_pixels_are_allowed_more_memory_and_fewer_are_not_allowed_less() {
        let limits = |max_pixels| {
            let args =
                ProcessorArgs { size: None, no_crop: false, background: None, tolerant: false, max_pixels };
            decode(&args).limits
        };
        assert_eq!(limits(None), Limits::default());
        assert_eq!(limits(Some(100)), Limits { max_pixels: 100, ..Limits::default() });
        // A scan of 20000x15000, 16 bits a channel with alpha.
        let scan = limits(Some(300_000_000));
        assert_eq!(scan.max_pixels, 300_000_000);
        assert!(scan.max_bytes >= 300_000_000 * (6 + 8) && scan.max_file_bytes >= 300_000_000 * 8);
    }

    #[test]
    fn the_model_is_typed_or_set_or_the_default() {
        let mut source = SourceArgs { model: None, hub: HubArgs::default() };
        let env = Env { model: Some("set".into()), ..Env::default() };
        assert_eq!(model_name(&source, &Env::default()), "facebook/dinov2-small");
        assert_eq!(model_name(&source, &env), "set");
        source.model = Some("typed".into());
        assert_eq!(model_name(&source, &env), "typed");
    }
}
