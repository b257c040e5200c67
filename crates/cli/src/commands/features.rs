//! `features`: every tensor of a forward, under Transformers' names, in one safetensors file.
//!
//! Tensors of single pictures are stacked by the writer where their shapes are the same. The grid of patches goes into the
//! metadata, since it cannot be told from the number of tokens alone.

use super::forward::{Forward, Take};
use crate::{
    args::FeaturesArgs, cleanup::Cleanup, error::CliError, exit::Exit, output::TensorWriter,
    printer::Printer, session::Session,
};
use dinoxide::{FileOptions, Outputs};
use ndarray::ArrayViewD;

pub(super) fn run(args: &FeaturesArgs, session: &mut Session) -> Result<Exit, CliError> {
    TensorWriter::check_name(&args.output)?;
    let forward = Forward::new(&args.run, Some(&args.output), session)?;
    let about = forward.about();
    let features = Features {
        writer: TensorWriter::create(&args.output, about.planned, &Cleanup::on_interrupt())?,
        model: about.model.clone(),
        grids: Vec::new(),
    };
    let asks = FileOptions {
        output_hidden_states: args.hidden_states.into(),
        // Where a model has no attentions, asking for them is the error that says so.
        output_attentions: args.attentions.then_some(true),
        ..FileOptions::default()
    };
    forward.run(asks, Some(&args.output), features, session)
}

/// Writes tensors.
struct Features {
    writer: TensorWriter,
    model: String,
    grids: Vec<[usize; 2]>,
}

impl Take for Features {
    fn take(&mut self, label: &str, outputs: Outputs, _: &mut Printer) -> Result<(), CliError> {
        self.writer.picture(label);
        self.grids.push([outputs.grid.rows, outputs.grid.cols]);
        push_outputs(&mut self.writer, &outputs)
    }

    fn finish(self) -> Result<(), CliError> {
        self.writer.finish(&[("model", self.model), ("grid", grid_json(&self.grids))])
    }
}

/// Adds the tensors of one picture (a batch of one), without the batch axis.
fn push_outputs(writer: &mut TensorWriter, outputs: &Outputs) -> Result<(), CliError> {
    let mut push = |name: &str, array: ArrayViewD<'_, f32>| {
        let values = array.as_standard_layout();
        let shape = array.shape().get(1..).unwrap_or_default();
        writer.push(name, shape, values.as_slice().unwrap_or_default())
    };
    push("last_hidden_state", outputs.last_hidden_state.view().into_dyn())?;
    push("pooler_output", outputs.pooler_output.view().into_dyn())?;
    for (i, state) in outputs.hidden_states.iter().flat_map(dinoxide::HiddenStates::iter) {
        push(&format!("hidden_states.{i}"), state.view())?;
    }
    for (i, attention) in outputs.attentions.iter().flatten().enumerate() {
        push(&format!("attentions.{i}"), attention.view().into_dyn())?;
    }
    Ok(())
}

/// `[rows, cols]` where it is the same for all pictures, else a list with one of them a picture.
fn grid_json(grids: &[[usize; 2]]) -> String {
    match grids {
        [first, rest @ ..] if rest.iter().all(|grid| grid == first) => serde_json::json!(first).to_string(),
        _ => serde_json::json!(grids).to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_grid_stands_for_all_where_they_are_the_same() {
        assert_eq!(grid_json(&[[16, 16], [16, 16]]), "[16,16]");
        assert_eq!(grid_json(&[[16, 16], [2, 3]]), "[[16,16],[2,3]]");
    }
}
