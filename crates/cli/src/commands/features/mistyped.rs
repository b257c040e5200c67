//! Values of an option that were typed after a space, and so were taken for pictures.
//!
//! `--hidden-states 3,6` is the option without a value and a picture `3,6`; `--out-features stage6 stage3` names one stage and a
//! picture. Where there is no such file, but it reads as a value of the option that was given, nobody means a picture.

use crate::{
    args::{FeaturesArgs, Places},
    error::CliError,
};
use std::path::PathBuf;

/// Refuses inputs that are not there and were meant as values, before the work.
///
/// # Errors
/// [`CliError::Usage`], with the spelling that was meant.
pub(super) fn check(args: &FeaturesArgs) -> Result<(), CliError> {
    let inputs = &args.run.inputs.pictures.inputs;
    if matches!(args.hidden_states, Some(Places::All)) {
        refuse(inputs, "--hidden-states", &[], is_number)?;
    }
    if let Some(indices) = &args.backbone.out_indices {
        let given: Vec<String> = indices.iter().map(i64::to_string).collect();
        refuse(inputs, "--out-indices", &given, is_number)?;
    }
    if let Some(names) = &args.backbone.out_features {
        refuse(inputs, "--out-features", names, is_stage)?;
    }
    Ok(())
}

/// Refuses inputs that are not there and are lists of what `is_value` knows; `given` are the values that the option got.
fn refuse(
    inputs: &[PathBuf],
    option: &str,
    given: &[String],
    is_value: fn(&str) -> bool,
) -> Result<(), CliError> {
    let values = |path: &PathBuf| {
        let values: Vec<&str> = path.to_str()?.split(',').map(str::trim).filter(|v| !v.is_empty()).collect();
        let are_meant = !values.is_empty() && values.iter().all(|value| is_value(value)) && !path.exists();
        are_meant.then(|| values.join(","))
    };
    let meant: Vec<String> = inputs.iter().filter_map(values).collect();
    if meant.is_empty() {
        return Ok(());
    }
    let input = inputs.iter().find(|path| values(path).is_some()).map(|path| path.display().to_string());
    let given = given.iter().filter(|value| !value.is_empty());
    let all: Vec<&str> = given.chain(&meant).map(String::as_str).collect();
    Err(CliError::Usage {
        message: format!("{}: there is no such picture or folder", input.unwrap_or_default()),
        hint: Some(format!("did you mean `{option}={}`?", all.join(","))),
    })
}

fn is_number(text: &str) -> bool {
    text.parse::<i64>().is_ok()
}

fn is_stage(text: &str) -> bool {
    text == "stem" || text.strip_prefix("stage").is_some_and(|number| number.parse::<u32>().is_ok())
}
