//! Features of a model as a backbone: `feature_maps` and, with `--class-token`, `cls_tokens` of the chosen stages.
//!
//! What is not chosen on the command line is as the config says. Transformers wants stages in their order; here any order will do, and
//! the maps come in that of the stages, whose names go into the metadata.

use super::{FeatureFile, Work};
use crate::{
    args::BackboneArgs,
    commands::forward::{Picture, Take, all_finite},
    error::CliError,
    exit::Exit,
    printer::Printer,
    session::Session,
};
use dinoxide::{Backbone, BackboneOutputs, Model, ModelError, config::ModelConfig};

pub(super) fn run(work: Work<'_>, session: &mut Session) -> Result<Exit, CliError> {
    let Work { args, forward, checkpoint, asks, mut file } = work;
    check_form(&args.backbone, checkpoint.config(), session)?;
    let stages = ordered(&args.backbone, &checkpoint.config().stage_names());
    let mut backbone = Backbone::new(Model::from_checkpoint(&checkpoint, forward.run_options(session))?)?;
    if let Some((option, names, indices)) = stages {
        let chosen = backbone.with_stages(names.as_deref(), indices.as_deref());
        backbone = chosen.map_err(|error| CliError::of_option(option, error))?;
    }
    backbone.options.apply_layernorm &= !args.backbone.no_layernorm;
    backbone.options.reshape_hidden_states &= !args.backbone.no_reshape;
    backbone.options.return_class_token |= args.backbone.class_token;
    let names: Vec<String> = backbone.stages().into_iter().map(|stage| stage.name).collect();
    file.stages = Some(serde_json::json!(names).to_string());
    forward.run((&checkpoint, &backbone), asks, Some(&args.output), Maps(file), session)
}

/// Refuses class tokens of a family that gives none, and tells options of a form that has no effect.
fn check_form(args: &BackboneArgs, config: &ModelConfig, session: &Session) -> Result<(), CliError> {
    if args.class_token && !matches!(config, ModelConfig::DINOv3Vit(_)) {
        let error = ModelError::NoClassTokens { model_type: config.model_type() };
        return Err(CliError::of_option("--class-token", error));
    }
    if let ModelConfig::DINOv3ConvNext(_) = config {
        for (option, given) in [("--no-layernorm", args.no_layernorm), ("--no-reshape", args.no_reshape)] {
            if given {
                let model_type = config.model_type();
                session.printer.warning(&format!(
                    "{option}: no effect, a {model_type} backbone gives maps without norm"
                ));
            }
        }
    }
    Ok(())
}

/// The option that chooses stages, and its choice by name or by index.
type Choice = (&'static str, Option<Vec<String>>, Option<Vec<i64>>);

/// The stages that were asked for, those that there are in their order.
fn ordered(args: &BackboneArgs, stage_names: &[String]) -> Option<Choice> {
    if let Some(mut names) = args.out_features.clone() {
        names.sort_by_key(|name| stage_names.iter().position(|known| known == name));
        return Some(("--out-features", Some(names), None));
    }
    let mut indices = args.out_indices.clone()?;
    let count = stage_names.len() as i64;
    indices.sort_by_key(|&index| if index < 0 { index.saturating_add(count) } else { index });
    Some(("--out-indices", None, Some(indices)))
}

/// Writes the tensors.
struct Maps(FeatureFile);

impl Take for Maps {
    type Outputs = BackboneOutputs;

    fn are_finite(outputs: &BackboneOutputs) -> bool {
        outputs.feature_maps.iter().all(all_finite)
    }

    fn take(
        &mut self,
        picture: Picture<'_>,
        outputs: BackboneOutputs,
        _: &mut Printer,
    ) -> Result<(), CliError> {
        let file = &mut self.0;
        file.picture(picture, outputs.grid);
        file.push_all("feature_maps", &outputs.feature_maps)?;
        file.push_all("cls_tokens", outputs.cls_tokens.as_deref().unwrap_or_default())?;
        file.push_recorded(outputs.hidden_states.as_ref(), outputs.attentions.as_deref())
    }

    fn finish(self) -> Result<(), CliError> {
        self.0.finish()
    }
}
