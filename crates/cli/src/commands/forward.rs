//! What `embed` and `features` share: a model run over inputs, each picture's outputs handed on in order.
//!
//! The inputs are found first, then the command makes its output file, then the model is loaded: what is wrong with a name is
//! told before the long work. A picture that fails loses only itself; the output is completed at the end.

use crate::{
    args::{Attn, RunArgs},
    error::CliError,
    exit::Exit,
    inputs::{Fed, Opener, Source},
    options,
    output::About,
    printer::Printer,
    session::{Session, Tally},
};
use dinoxide::{FileOptions, Model, Outputs};
use std::path::Path;

/// What a command makes of the outputs.
pub(super) trait Take {
    /// Takes a picture's outputs, a batch of one; `label` says where the picture came from.
    fn take(&mut self, label: &str, outputs: Outputs, printer: &mut Printer) -> Result<(), CliError>;

    /// Completes what was made.
    fn finish(self) -> Result<(), CliError>;
}

/// Inputs, found, and what is to be done with them.
#[derive(Debug)]
pub(super) struct Forward<'a> {
    args: &'a RunArgs,
    source: Source,
    /// Places that could not be looked into.
    lost: usize,
    about: About,
}

impl<'a> Forward<'a> {
    /// Finds the inputs, none of which `output` may be.
    ///
    /// # Errors
    /// As [`Source::open`] and [`Source::spare_from`].
    pub(super) fn new(args: &'a RunArgs, output: Option<&Path>, session: &Session) -> Result<Self, CliError> {
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
        let model = options::model_name(&args.model.source, &session.env).to_string_lossy().into_owned();
        let about = About { model, planned: source.planned() };
        Ok(Self { args, source, lost, about })
    }

    /// What is known before the first picture.
    pub(super) fn about(&self) -> &About {
        &self.about
    }

    /// Loads the model, runs it, and hands on what it gives. `asks` are the outputs that are wanted; the rest of it comes from
    /// the options. `output` names the file that `take` makes, if it makes one.
    ///
    /// # Errors
    /// No model or processor; what `take` says.
    pub(super) fn run(
        self,
        asks: FileOptions,
        output: Option<&Path>,
        mut take: impl Take,
        session: &mut Session,
    ) -> Result<Exit, CliError> {
        let RunArgs { inputs, model: model_args, batch, processor } = self.args;
        let name = options::model_name(&model_args.source, &session.env);
        let checkpoint = options::open(&name, &model_args.source, &session.printer)?;
        let model = Model::from_checkpoint(&checkpoint, session.context)?;
        session.model_detail(&model);
        let files = FileOptions { batch: *batch, eager_attention: model_args.attn == Attn::Eager, ..asks };
        let (source, isa) = (&self.source, session.context.isa);
        let mut tally =
            Tally::start(&mut session.printer, source.len(), self.lost, inputs.pictures.fail_fast);
        source.run(&model, || Opener::new(&checkpoint, processor, isa), &files, &mut |index, fed| {
            tally.enter(fed, |Fed { outputs, warning }, printer| {
                warning.iter().for_each(|warning| printer.warning(warning));
                if outputs.last_hidden_state.iter().any(|value| !value.is_finite()) {
                    let label = source.label(index);
                    printer.warning(&format!("{label}: the model gave values that are not finite"));
                }
                take.take(&source.label(index), outputs, printer)
            })
        })?;
        tally.end(output, || take.finish())
    }
}
