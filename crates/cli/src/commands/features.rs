//! `features`: every tensor of a forward, under Transformers' names, in one safetensors file.

use crate::{
    args::{Attn, FeaturesArgs},
    cleanup::Cleanup,
    error::CliError,
    exit::Exit,
    inputs::Source,
    options,
    output::TensorWriter,
    session::{Session, Tally},
};
use dinoxide::{FileOptions, Model, Outputs};
use ndarray::ArrayViewD;

pub(super) fn run(args: &FeaturesArgs, session: &mut Session) -> Result<Exit, CliError> {
    TensorWriter::check_name(&args.output)?;
    let (source, lost) = Source::open(&args.inputs, &session.printer)?;
    let name = options::model_name(&args.model.source, &session.env);
    let mut writer = TensorWriter::create(&args.output, source.label_bytes(), &Cleanup::on_interrupt())?;
    let checkpoint = options::open(&name, &args.model.source)?;
    let model = Model::from_checkpoint(&checkpoint, session.context)?;
    session.model_detail(&model);
    let attn = if args.attentions { Attn::Eager } else { args.model.attn };
    let files = FileOptions {
        batch: args.batch,
        output_hidden_states: args.hidden_states,
        // Where a model has no attentions, asking for them is the error that says so.
        output_attentions: args.attentions || options::runs_eager(attn, &checkpoint),
    };
    let mut grids = Vec::new();
    let mut tally = Tally::start(&mut session.printer, source.len(), lost, args.inputs.pictures.fail_fast);
    source.run(
        &model,
        || options::processor(&checkpoint, &args.processor),
        files,
        &mut |index, outputs| {
            tally.enter(outputs, |outputs, _| {
                writer.picture(&source.label(index));
                grids.push([outputs.grid.rows, outputs.grid.cols]);
                push_outputs(&mut writer, &outputs, args.attentions)
            })
        },
    )?;
    let metadata =
        |grids: &[[usize; 2]]| [("model", name.to_string_lossy().into_owned()), ("grid", grid_json(grids))];
    tally.end(Some(&args.output), || writer.finish(&metadata(&grids)))
}

/// Adds the tensors of one picture (a batch of one), without the batch axis.
fn push_outputs(writer: &mut TensorWriter, outputs: &Outputs, attentions: bool) -> Result<(), CliError> {
    let mut push = |name: &str, array: ArrayViewD<'_, f32>| {
        let values = array.as_standard_layout();
        let shape = array.shape().get(1..).unwrap_or_default();
        writer.push(name, shape, values.as_slice().unwrap_or_default())
    };
    push("last_hidden_state", outputs.last_hidden_state.view().into_dyn())?;
    push("pooler_output", outputs.pooler_output.view().into_dyn())?;
    for (i, state) in outputs.hidden_states.iter().flatten().enumerate() {
        push(&format!("hidden_states.{i}"), state.view())?;
    }
    let wanted = outputs.attentions.as_ref().filter(|_| attentions);
    for (i, attention) in wanted.into_iter().flatten().enumerate() {
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
