//! What `embed`, `classify` and `features` share: a model run over inputs, each picture's outputs handed on in order.
//!
//! The inputs are found first, then the command makes its output file, then the model is loaded: what is wrong with a name is
//! told before the long work. A picture that fails loses only itself; the output is completed at the end.

use super::measured::{Measured, WithPixels};
use crate::{
    args::{Attn, RunArgs},
    error::CliError,
    exit::Exit,
    inputs::{Fed, Opener, Source, check_fit},
    options,
    output::About,
    printer::Printer,
    session::{Session, Tally},
};
use dinoxide::{Checkpoint, FileOptions, Labels, Model, ModelError, RunOptions, Runner, config::ModelConfig};
use ndarray::{Array, Dimension};
use std::{ffi::OsString, path::Path};

/// The final norm of a ConvNeXt, which its backbone does not have.
const CONVNEXT_NORM: &str = "layer_norm.weight";

/// What is known of a picture that went through the model.
#[derive(Debug, Clone, Copy)]
pub(super) struct Picture<'a> {
    /// Where it came from.
    pub(super) label: &'a str,
    /// Height and width of its `pixel_values`.
    pub(super) pixels: [usize; 2],
}

/// What a command makes of the outputs of a model, a classifier or a backbone.
pub(super) trait Take {
    /// What is run gives these.
    type Outputs;

    /// Whether the outputs are numbers all through.
    fn are_finite(outputs: &Self::Outputs) -> bool;

    /// Takes a picture's outputs, a batch of one.
    fn take(
        &mut self,
        picture: Picture<'_>,
        outputs: Self::Outputs,
        printer: &mut Printer,
    ) -> Result<(), CliError>;

    /// Completes what was made.
    fn finish(self) -> Result<(), CliError>;
}

/// The bare model of a checkpoint. One without a final norm is told before the work.
///
/// # Errors
/// As [`Model::from_checkpoint`]; a checkpoint that can only be used as a backbone.
pub(super) fn bare_model(checkpoint: &Checkpoint, options: RunOptions) -> Result<Model, CliError> {
    let is_convnext = matches!(checkpoint.config(), ModelConfig::DINOv3ConvNext(_));
    if is_convnext && !checkpoint.tensors().contains(CONVNEXT_NORM) {
        return Err(dinoxide::Error::from(ModelError::NoFinalNorm).into());
    }
    Ok(Model::from_checkpoint(checkpoint, options)?)
}

/// Whether no value is infinite or not a number.
pub(super) fn all_finite<D: Dimension>(values: &Array<f32, D>) -> bool {
    values.iter().all(|value| value.is_finite())
}

/// Inputs, found, and what is to be done with them.
#[derive(Debug)]
pub(super) struct Forward<'a> {
    args: &'a RunArgs,
    /// The model's.
    name: OsString,
    source: Source,
    /// Places that could not be looked into.
    lost: usize,
    about: About,
}

impl<'a> Forward<'a> {
    /// Finds the inputs, none of which `output` may be; `default_model` runs when none is named.
    ///
    /// # Errors
    /// As [`Source::open`] and [`Source::spare_from`].
    pub(super) fn new(
        args: &'a RunArgs,
        output: Option<&Path>,
        default_model: &str,
        session: &Session,
    ) -> Result<Self, CliError> {
        let (source, lost) = Source::open(&args.inputs, &session.printer)?;
        if let Some(output) = output {
            source.spare_from(output)?;
        }
        let ignored = args.processor.given();
        if args.inputs.pixel_values.is_some() && !ignored.is_empty() {
            let options = ignored.join(", ");
            session
                .printer
                .warning(&format!("{options}: no effect with --pixel-values, which are used as they are"));
        }
        let name = options::model_name_or(&args.model.source, &session.env, default_model);
        let about = About { model: name.to_string_lossy().into_owned(), planned: source.planned() };
        Ok(Self { args, name, source, lost, about })
    }

    /// What is known before the first picture.
    pub(super) fn about(&self) -> &About {
        &self.about
    }

    /// The labels of the inputs, which a file of tensors may have.
    pub(super) fn labels(&self) -> Option<Labels<'_>> {
        self.source.labels()
    }

    /// Says that labels are there and not used.
    pub(super) fn leave_labels(&self, session: &Session) {
        if self.labels().is_some() {
            let what = "`labels`: no effect here, `features --logits` gives the loss against them";
            session.printer.warning(what);
        }
    }

    /// Opens the checkpoint.
    ///
    /// # Errors
    /// As [`options::open`].
    pub(super) fn open(&self, session: &Session) -> Result<Checkpoint, CliError> {
        let model = &self.args.model;
        if model.group_size.is_some() && model.precision().is_none_or(|asked| asked.group_size().is_none()) {
            session.printer.warning("--group-size: no effect but with --dtype int4 or int4-a8");
        }
        options::open_with(model.precision().into(), &self.name, &model.source.hub, &session.printer)
    }

    /// How what is run is built of the checkpoint.
    pub(super) fn run_options(&self, session: &Session) -> RunOptions {
        session.run_options(self.args.model.precision())
    }

    /// Runs what was made of the checkpoint, and hands on what it gives. `asks` are the outputs that are wanted; the rest of it comes
    /// from the options. `output` names the file that `take` makes, if it makes one.
    ///
    /// # Errors
    /// No processor, or one that makes all pictures too small; what `take` says.
    pub(super) fn run<R: Runner, T: Take<Outputs = R::Outputs>>(
        &self,
        (checkpoint, runner): (&Checkpoint, &R),
        asks: FileOptions,
        output: Option<&Path>,
        mut take: T,
        session: &mut Session,
    ) -> Result<Exit, CliError> {
        let RunArgs { inputs, model: model_args, batch, processor } = self.args;
        session.model_detail(runner.base());
        let files = FileOptions { batch: *batch, eager_attention: model_args.attn == Attn::Eager, ..asks };
        let (source, isa) = (&self.source, session.context.isa);
        let opener = || {
            let opener = Opener::new(checkpoint, processor, isa)?;
            check_fit(checkpoint.config(), opener.strict.spec()).map_err(|error| match processor.size {
                Some(_) => CliError::of_option("--size", error),
                None => error.into(),
            })?;
            Ok(opener)
        };
        let mut tally =
            Tally::start(&mut session.printer, source.len(), self.lost, inputs.pictures.fail_fast);
        source.run(&Measured(runner), opener, &files, &mut |index, fed| {
            tally.enter(fed, |Fed { outputs: WithPixels { outputs, pixels }, warning }, printer| {
                warning.iter().for_each(|warning| printer.warning(warning));
                let label = source.label(index);
                if !T::are_finite(&outputs) {
                    printer.warning(&format!("{label}: the model gave values that are not finite"));
                }
                take.take(Picture { label: &label, pixels }, outputs, printer)
            })
        })?;
        tally.end(output, || take.finish())
    }
}
