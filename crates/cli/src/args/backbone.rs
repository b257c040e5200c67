//! Options that run a model as a backbone: feature maps of chosen stages, and their form.

use clap::Args;

/// Which stages, and in which form.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Backbone")]
pub(crate) struct BackboneArgs {
    /// Stages by name (`dinoxide info` tells them), in any order [default: those of the config, else the last]
    #[arg(long, value_name = "NAME,…", value_delimiter = ',', conflicts_with = "out_indices", value_parser = name)]
    pub(crate) out_features: Option<Vec<String>>,

    /// Stages by number, negative ones from the end, in any order; 0 is the stem
    #[arg(long, value_name = "N,…", value_delimiter = ',', allow_hyphen_values = true, value_parser = index)]
    pub(crate) out_indices: Option<Vec<i64>>,

    /// No final norm over the maps; DINOv3 ViT norms the last stage all the same, ConvNeXt never norms
    #[arg(long)]
    pub(crate) no_layernorm: bool,

    /// Sequences of tokens instead of maps; ConvNeXt gives maps all the same
    #[arg(long)]
    pub(crate) no_reshape: bool,

    /// Also cls_tokens, one a stage: DINOv3 ViT
    #[arg(long)]
    pub(crate) class_token: bool,
}

impl BackboneArgs {
    /// The fields.
    pub(super) const NAMES: [&str; 5] =
        ["out_features", "out_indices", "no_layernorm", "no_reshape", "class_token"];

    /// Whether one of them was given, so that the model is to run as a backbone.
    pub(crate) fn are_given(&self) -> bool {
        self.out_features.is_some()
            || self.out_indices.is_some()
            || self.no_layernorm
            || self.no_reshape
            || self.class_token
    }
}

/// A stage's name. Numbers have an option of their own.
fn name(text: &str) -> Result<String, String> {
    let name = text.trim();
    match name.parse::<i64>() {
        Ok(_) => Err("expected names, such as `stage2,stage4`; numbers go to `--out-indices`".to_owned()),
        Err(_) => Ok(name.to_owned()),
    }
}

fn index(text: &str) -> Result<i64, String> {
    text.trim().parse().map_err(|_| "expected whole numbers, such as `-1` or `3,-1`".to_owned())
}
