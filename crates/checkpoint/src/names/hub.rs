//! Names in Transformers' files: the hub's (version 4) are canonical, the module names of version 5 become them.
//!
//! First the prefix of the task class goes (`dinov2.`, `model.`, …), then v5 names are turned back:
//! `q_proj` → `attention.query`, `gate_proj` and `up_proj` → the first and second half of `weights_in`, and so on.
//! Source: `conversion_mapping.py` and the `base_model_prefix` of each family in Transformers 5.24.0 and 4.57.

use super::{Place, Role, strip_prefixes};
use crate::config::Family;

/// v5 module path and hub module path of a DINOv2 layer's part.
const DINOV2_MODULES: [(&str, &str); 5] = [
    ("attention.q_proj", "attention.attention.query"),
    ("attention.k_proj", "attention.attention.key"),
    ("attention.v_proj", "attention.attention.value"),
    ("attention.o_proj", "attention.output.dense"),
    ("mlp.down_proj", "mlp.weights_out"),
];

/// v5 modules that are the halves of the hub's fused SwiGLU input, in row order.
const SWIGLU_HALVES: [&str; 2] = ["mlp.gate_proj", "mlp.up_proj"];
/// The hub's fused SwiGLU input.
const SWIGLU_FUSED: &str = "mlp.weights_in";

/// Where the tensor that a file of `family` calls `file_name` belongs.
pub(super) fn place(family: Family, file_name: &str) -> Place {
    let bare = strip_prefixes(file_name, prefixes(family));
    match family {
        Family::Dinov2 | Family::Dinov2WithRegisters => place_dinov2(bare),
        Family::DINOv3Vit | Family::DINOv3ConvNext => Place::new(bare, Role::Whole),
    }
}

/// What a task class puts before the names of its backbone, by version; DINOv3's `model.` is also v5's own module name.
fn prefixes(family: Family) -> &'static [&'static str] {
    match family {
        Family::Dinov2 => &["dinov2."],
        Family::Dinov2WithRegisters => &["dinov2_with_registers."],
        Family::DINOv3Vit => &["model.", "dinov3_vit."],
        Family::DINOv3ConvNext => &["model.", "dinov3_convnext."],
    }
}

/// `encoder.layer.{i}.{module}.{weight|bias}` with a v5 module goes back to the hub's; everything else stays.
fn place_dinov2(bare: &str) -> Place {
    let Some((layer, module, leaf)) = split_layer(bare) else {
        return Place::new(bare, Role::Whole);
    };
    if let Some(index) = SWIGLU_HALVES.iter().position(|half| *half == module) {
        let role = Role::Part { index, count: SWIGLU_HALVES.len() };
        return Place::new(format!("{layer}.{SWIGLU_FUSED}.{leaf}"), role);
    }
    let hub_module = DINOV2_MODULES.iter().find(|(v5, _)| *v5 == module).map_or(module, |(_, hub)| hub);
    Place::new(format!("{layer}.{hub_module}.{leaf}"), Role::Whole)
}

/// The name of half `index` of the SwiGLU input that has `file_name` as one of its halves.
pub(super) fn sibling(file_name: &str, index: usize) -> String {
    let wanted = SWIGLU_HALVES.get(index).copied().unwrap_or(SWIGLU_FUSED);
    let half = SWIGLU_HALVES.iter().find(|half| file_name.contains(*half)).copied();
    half.map_or_else(|| file_name.to_owned(), |half| file_name.replacen(half, wanted, 1))
}

/// The names of version 5's modules, below any task's prefix, for the tensor of this canonical name: two for a fused SwiGLU
/// input.
pub(crate) fn module_names(family: Family, name: &str) -> Vec<String> {
    match family {
        Family::Dinov2 | Family::Dinov2WithRegisters => dinov2_module_names(name),
        Family::DINOv3Vit if name.starts_with("layer.") => vec![format!("model.{name}")],
        Family::DINOv3ConvNext if name.starts_with("stages.") => vec![format!("model.{name}")],
        Family::DINOv3Vit | Family::DINOv3ConvNext => vec![name.to_owned()],
    }
}

fn dinov2_module_names(name: &str) -> Vec<String> {
    let Some((layer, module, leaf)) = split_layer(name) else { return vec![name.to_owned()] };
    if module == SWIGLU_FUSED {
        return SWIGLU_HALVES.map(|half| format!("{layer}.{half}.{leaf}")).to_vec();
    }
    let module = DINOV2_MODULES.iter().find(|(_, hub)| *hub == module).map_or(module, |(v5, _)| v5);
    vec![format!("{layer}.{module}.{leaf}")]
}

/// The modules' names for a tensor that no model of the family has; DINOv2's keep the file's prefix.
pub(super) fn unexpected_names(family: Family, file_name: &str) -> Vec<String> {
    let bare = strip_prefixes(file_name, prefixes(family));
    let names = module_names(family, bare);
    match family {
        Family::Dinov2 | Family::Dinov2WithRegisters => {
            let prefix = file_name.strip_suffix(bare).unwrap_or_default();
            names.into_iter().map(|name| format!("{prefix}{name}")).collect()
        }
        Family::DINOv3Vit | Family::DINOv3ConvNext => names,
    }
}

/// `encoder.layer.{i}`, the module path below it, and the last component.
fn split_layer(name: &str) -> Option<(&str, &str, &str)> {
    const PREFIX: &str = "encoder.layer.";
    let index_len = name.strip_prefix(PREFIX)?.find('.')?;
    let (layer, rest) = name.split_at(PREFIX.len() + index_len);
    let (module, leaf) = rest.strip_prefix('.')?.rsplit_once('.')?;
    Some((layer, module, leaf))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn whole(family: Family, name: &str) -> String {
        let place = place(family, name);
        assert_eq!(place.role, Role::Whole, "{name}");
        place.name
    }

    #[test]
    fn dinov2_module_names_become_hub_names() {
        let cases = [
            ("encoder.layer.3.attention.q_proj.weight", "encoder.layer.3.attention.attention.query.weight"),
            ("encoder.layer.3.attention.k_proj.bias", "encoder.layer.3.attention.attention.key.bias"),
            ("encoder.layer.11.attention.v_proj.bias", "encoder.layer.11.attention.attention.value.bias"),
            ("encoder.layer.0.attention.o_proj.weight", "encoder.layer.0.attention.output.dense.weight"),
            ("encoder.layer.0.mlp.down_proj.weight", "encoder.layer.0.mlp.weights_out.weight"),
            ("encoder.layer.0.mlp.fc1.weight", "encoder.layer.0.mlp.fc1.weight"),
            ("encoder.layer.0.layer_scale1.lambda1", "encoder.layer.0.layer_scale1.lambda1"),
            ("layernorm.weight", "layernorm.weight"),
        ];
        for (file_name, hub_name) in cases {
            for prefix in ["", "dinov2."] {
                assert_eq!(whole(Family::Dinov2, &format!("{prefix}{file_name}")), hub_name);
            }
        }
    }

    #[test]
    fn gate_and_up_are_the_first_and_second_half_of_the_fused_weight() {
        for (index, module) in ["gate_proj", "up_proj"].into_iter().enumerate() {
            let file_name = format!("dinov2_with_registers.encoder.layer.7.mlp.{module}.weight");
            let got = place(Family::Dinov2WithRegisters, &file_name);
            assert_eq!(got.name, "encoder.layer.7.mlp.weights_in.weight");
            assert_eq!(got.role, Role::Part { index, count: 2 });
        }
    }

    #[test]
    fn dinov3_keeps_gate_and_up_apart_and_loses_its_prefixes() {
        for prefix in ["", "model.", "dinov3_vit.", "model.model.", "dinov3_vit.model."] {
            let name = format!("{prefix}layer.0.mlp.gate_proj.weight");
            assert_eq!(whole(Family::DINOv3Vit, &name), "layer.0.mlp.gate_proj.weight");
        }
        for prefix in ["", "model.", "dinov3_convnext."] {
            let name = format!("{prefix}stages.0.layers.0.gamma");
            assert_eq!(whole(Family::DINOv3ConvNext, &name), "stages.0.layers.0.gamma");
        }
    }

    #[test]
    fn a_classifier_keeps_its_name_and_other_families_prefixes_stay() {
        assert_eq!(whole(Family::Dinov2, "classifier.weight"), "classifier.weight");
        assert_eq!(whole(Family::Dinov2, "dinov3_vit.norm.weight"), "dinov3_vit.norm.weight");
        assert_eq!(whole(Family::Dinov2WithRegisters, "dinov2.layernorm.bias"), "dinov2.layernorm.bias");
    }

    #[test]
    fn names_with_missing_components_stay_as_they_are() {
        for name in
            ["", ".", "encoder.layer.", "encoder.layer.0", "encoder.layer.0.", "dinov2", "encoder.layer.0.x"]
        {
            assert_eq!(whole(Family::Dinov2, name), name);
        }
    }
}
