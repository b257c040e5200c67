//! From what was typed, or the environment says, to what the commands work with: checked once, here.

use crate::{
    args::{Attn, GlobalArgs, Pool, ProcessorArgs, Size, SourceArgs},
    env::{self, Env},
    error::CliError,
};
use dinoxide::{Checkpoint, ContextOptions, ImageProcessor, Isa, LoadOptions, Pooling};
use std::ffi::{OsStr, OsString};

/// The model when none is named.
const DEFAULT_MODEL: &str = "facebook/dinov2-small";

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
    args.model.clone().or_else(|| env.model.clone()).unwrap_or_else(|| DEFAULT_MODEL.into())
}

/// Opens a checkpoint.
///
/// # Errors
/// As [`dinoxide::open`].
pub(crate) fn open(name: &OsStr, args: &SourceArgs) -> Result<Checkpoint, CliError> {
    let options = LoadOptions {
        revision: args.revision.clone(),
        cache_dir: args.cache_dir.clone(),
        offline: args.offline,
    };
    Ok(dinoxide::open(name, &options)?)
}

/// The checkpoint's processor, with the command line's wishes.
///
/// # Errors
/// No processor config, or one that cannot be carried out with them.
pub(crate) fn processor(checkpoint: &Checkpoint, args: &ProcessorArgs) -> Result<ImageProcessor, CliError> {
    let mut processor = ImageProcessor::from_checkpoint(checkpoint)?;
    if let Some(Size { height, width }) = args.size {
        processor = processor.with_size(height, width);
    }
    if args.no_crop {
        processor = processor.without_crop();
    }
    Ok(processor)
}

/// Whether the attention must be the eager one. A ConvNeXt has no attention to choose for.
pub(crate) fn runs_eager(attn: Attn, checkpoint: &Checkpoint) -> bool {
    attn == Attn::Eager && checkpoint.config().head_dim().is_some()
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
    fn the_model_is_typed_or_set_or_the_default() {
        let mut source = SourceArgs { model: None, revision: None, cache_dir: None, offline: false };
        let env = Env { model: Some("set".into()), ..Env::default() };
        assert_eq!(model_name(&source, &Env::default()), "facebook/dinov2-small");
        assert_eq!(model_name(&source, &env), "set");
        source.model = Some("typed".into());
        assert_eq!(model_name(&source, &env), "typed");
    }
}
