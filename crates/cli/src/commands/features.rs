//! `features`: every tensor of a forward, under Transformers' names, in one safetensors file.
//!
//! The model runs bare, with its classifier, or as a backbone, as the options ask. Tensors of single pictures are stacked by the
//! writer where their shapes are the same. The grid of patches goes into the metadata, since it cannot be told from the
//! number of tokens alone.

mod backbone;
mod bare;
mod classifier;
mod file;
mod mistyped;

use super::forward::Forward;
use crate::{
    args::{FeaturesArgs, Places},
    error::CliError,
    exit::Exit,
    options::DEFAULT_MODEL,
    output::check_extension,
    session::Session,
};
use dinoxide::{FileOptions, ModelError, OutputHiddenStates, config::ModelConfig};
use file::FeatureFile;

pub(super) fn run(args: &FeaturesArgs, session: &mut Session) -> Result<Exit, CliError> {
    check_extension(&args.output, ".safetensors")?;
    mistyped::check(args)?;
    let forward = Forward::new(&args.run, Some(&args.output), DEFAULT_MODEL, session)?;
    let file = FeatureFile::create(&args.output, forward.about())?;
    if !args.logits {
        forward.leave_labels(session);
    }
    let checkpoint = forward.open(session)?;
    if args.attentions {
        check_attentions(checkpoint.config())?;
    }
    if let Some(Places::Only(places)) = &args.hidden_states {
        warn_of_places(places, checkpoint.config(), session);
    }
    let work = Work { args, forward, checkpoint, asks: asks(args), file };
    if args.backbone.are_given() {
        backbone::run(work, session)
    } else if args.logits {
        classifier::run(work, session)
    } else {
        bare::run(work, session)
    }
}

/// What is to be done, whatever runs.
struct Work<'a> {
    args: &'a FeaturesArgs,
    forward: Forward<'a>,
    checkpoint: dinoxide::Checkpoint,
    asks: FileOptions,
    file: FeatureFile,
}

/// The outputs that are wanted beside the main ones.
fn asks(args: &FeaturesArgs) -> FileOptions {
    FileOptions {
        output_hidden_states: match &args.hidden_states {
            None => OutputHiddenStates::Config,
            Some(Places::All) => OutputHiddenStates::All,
            Some(Places::Only(places)) => OutputHiddenStates::Only(places.clone()),
        },
        output_attentions: args.attentions.then_some(true),
        ..FileOptions::default()
    }
}

/// Refuses attentions of a model that has none, before the work.
fn check_attentions(config: &ModelConfig) -> Result<(), CliError> {
    match config {
        ModelConfig::DINOv3ConvNext(_) => {
            let model_type = config.model_type();
            let error = dinoxide::Error::from(ModelError::NoAttentions { model_type });
            Err(CliError::of_option("--attentions", error))
        }
        _ => Ok(()),
    }
}

/// Says which hidden states there are not; Transformers ignores such places.
fn warn_of_places(places: &[i64], config: &ModelConfig, session: &Session) {
    let count = config.num_features().len() as i64;
    for place in places.iter().filter(|place| !(-count..count).contains(place)) {
        let last = count - 1;
        session.printer.warning(&format!(
            "--hidden-states: there is no hidden state {place}, the model has 0 to {last} (-{count} to -1)"
        ));
    }
}
