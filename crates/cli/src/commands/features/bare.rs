//! Features of the bare model: `last_hidden_state`, `pooler_output`, and what is asked for.

use super::{FeatureFile, Work};
use crate::{
    commands::forward::{Picture, Take, all_finite, bare_model},
    error::CliError,
    exit::Exit,
    printer::Printer,
    session::Session,
};
use dinoxide::Outputs;

pub(super) fn run(work: Work<'_>, session: &mut Session) -> Result<Exit, CliError> {
    let Work { args, forward, checkpoint, asks, file } = work;
    let model = bare_model(&checkpoint, forward.run_options(session))?;
    forward.run((&checkpoint, &model), asks, Some(&args.output), Bare(file), session)
}

/// Writes the tensors.
struct Bare(FeatureFile);

impl Take for Bare {
    type Outputs = Outputs;

    fn are_finite(outputs: &Outputs) -> bool {
        all_finite(&outputs.last_hidden_state)
    }

    fn take(&mut self, picture: Picture<'_>, outputs: Outputs, _: &mut Printer) -> Result<(), CliError> {
        push(&mut self.0, picture, &outputs)
    }

    fn finish(self) -> Result<(), CliError> {
        self.0.finish()
    }
}

/// Adds a picture with the tensors of the bare model.
pub(super) fn push(file: &mut FeatureFile, picture: Picture<'_>, outputs: &Outputs) -> Result<(), CliError> {
    file.picture(picture, outputs.grid);
    file.push("last_hidden_state", &outputs.last_hidden_state)?;
    file.push("pooler_output", &outputs.pooler_output)?;
    file.push_recorded(outputs.hidden_states.as_ref(), outputs.attentions.as_deref())
}
