//! A config as the JSON that Transformers' `save_pretrained` writes.
//!
//! The family's fields are all written, the common ones where they differ from `PreTrainedConfig`'s defaults. Keys that are
//! not known here are written back as they were read, and so is every value that was read and not changed since: `28` and
//! `[28, 28]`, `0` and `0.0` mean the same and stay what they were.
//! Source: `configuration_utils.py: to_diff_dict` of Transformers 5.24.0.

use serde_json::{Map, Value, json};

use super::{
    DINOv3ConvNextConfig, DINOv3ViTConfig, Dinov2Config, ModelConfig, ProblemType, Size2, TorchDtype,
    backbone, python_json,
};

/// The version of Transformers whose form and defaults are followed; it stands in configs that were never in a file.
const TRANSFORMERS_VERSION: &str = "5.24.0";
/// Keys that are read into others or follow from them.
const NOT_WRITTEN: [&str; 4] = ["num_labels", "torch_dtype", "_name_or_path", "name_or_path"];

impl ModelConfig {
    /// The text of `config.json`, as Transformers writes it: keys sorted, two spaces of indent, a newline at the end.
    ///
    /// `transformers_version` stays what the file had, since that is what its other values come from; a config that was
    /// never in a file gets the version whose form this is.
    pub fn to_json(&self) -> String {
        python_json::to_string(&self.to_map())
    }

    /// The object of `to_json`.
    pub(crate) fn to_map(&self) -> Map<String, Value> {
        let common = self.common();
        let defaults = common_defaults();
        let is_default = |key: &str, value: &Value| defaults.get(key) == Some(value);
        let mut map: Map<String, Value> = common.source.clone();
        map.retain(|key, value| !NOT_WRITTEN.contains(&key.as_str()) && !is_default(key, value));
        for (key, value) in self.family_fields() {
            put(&mut map, key, value);
        }
        for (key, value) in self.common_fields() {
            match is_default(key, &value) {
                true => drop(map.remove(key)),
                false => put(&mut map, key, value),
            }
        }
        self.put_labels(&mut map);
        map
    }

    /// The keys that Transformers' class of this family has whatever the file held.
    pub(crate) fn known_keys(&self) -> impl Iterator<Item = &'static str> {
        let common = self.common_fields().into_iter().map(|(key, _)| key);
        let others = [
            "num_labels",
            "id2label",
            "label2id",
            "torch_dtype",
            "out_features",
            "out_indices",
            "chunk_size_feed_forward",
            "is_encoder_decoder",
        ];
        self.declared_fields().into_iter().map(|(key, _)| key).chain(common).chain(others)
    }

    /// The fields of a config made in code, for the rules of reading to be checked; its stages only as far as they were set, since
    /// their names are as many as its layers.
    pub(super) fn given_fields(&self) -> Map<String, Value> {
        let common = self.common();
        let mut map = Map::new();
        for (key, value) in
            self.own_fields().into_iter().chain(self.optional_fields()).chain(self.common_fields())
        {
            map.insert(key.to_owned(), value);
        }
        map.insert("num_labels".to_owned(), json!(common.num_labels()));
        for (key, value) in [
            ("stage_names", json!(common.stage_names)),
            ("out_features", json!(common.out_features)),
            ("out_indices", json!(common.out_indices)),
        ] {
            map.insert(key.to_owned(), value);
        }
        map
    }

    /// The fields that the family's class declares, and the stages.
    fn declared_fields(&self) -> Vec<(&'static str, Value)> {
        let mut fields = self.own_fields();
        fields.extend(self.stage_fields());
        fields
    }

    /// The fields that the family's class declares.
    fn own_fields(&self) -> Vec<(&'static str, Value)> {
        match self {
            Self::Dinov2(config) => {
                let mut fields = dinov2_fields(config);
                fields.push(("use_mask_token", json!(config.use_mask_token)));
                fields
            }
            Self::Dinov2WithRegisters(config) => {
                let mut fields = dinov2_fields(&config.base);
                fields.push(("num_register_tokens", json!(config.num_register_tokens)));
                fields
            }
            Self::DINOv3Vit(config) => dinov3_vit_fields(config),
            Self::DINOv3ConvNext(config) => convnext_fields(config),
        }
    }

    /// The declared fields, and those that are written only when they are set.
    fn family_fields(&self) -> Vec<(&'static str, Value)> {
        let mut fields = self.declared_fields();
        fields.extend(self.optional_fields());
        fields
    }

    /// Those that are written only when they are set.
    fn optional_fields(&self) -> Vec<(&'static str, Value)> {
        let mut fields = Vec::new();
        let head_dim = match self {
            Self::Dinov2(config) => config.head_dim,
            Self::Dinov2WithRegisters(config) => config.base.head_dim,
            Self::DINOv3Vit(_) | Self::DINOv3ConvNext(_) => None,
        };
        fields.extend(head_dim.map(|dim| ("head_dim", json!(dim))));
        fields.extend(self.common().tie_last_hidden_states.map(|tie| ("tie_last_hidden_states", json!(tie))));
        match self {
            Self::DINOv3Vit(config)
                if config.return_class_token || config.common.source.contains_key("return_class_token") =>
            {
                fields.push(("return_class_token", json!(config.return_class_token)));
            }
            _ => {}
        }
        fields
    }

    /// Both spellings of the chosen stages, and all of them. Where the config renames its stages, a choice that only follows
    /// from other fields is left out when it could not be read again: reading checks it against the computed names, too.
    fn stage_fields(&self) -> Vec<(&'static str, Value)> {
        let common = self.common();
        let stages = self.stages().unwrap_or_default();
        let names: Vec<_> = stages.iter().map(|stage| stage.name.clone()).collect();
        let indices: Vec<_> = stages.iter().map(|stage| stage.index as i64).collect();
        let computed = self.computed_stage_names();
        let readable = backbone::resolve_stages(&computed, Some(&names), Some(&indices)).is_ok();
        let features = common.out_features.clone().or(readable.then_some(names));
        let indices = common.out_indices.clone().or(readable.then_some(indices));
        let mut fields = vec![("stage_names", json!(self.stage_names()))];
        fields.extend(features.map(|features| ("out_features", json!(features))));
        fields.extend(indices.map(|indices| ("out_indices", json!(indices))));
        fields
    }

    /// The fields of all families, but for the labels.
    fn common_fields(&self) -> Vec<(&'static str, Value)> {
        let common = self.common();
        let architectures = match common.architectures.is_empty() {
            true => Value::Null,
            false => json!(common.architectures),
        };
        let version = common.transformers_version.as_deref().unwrap_or(TRANSFORMERS_VERSION);
        vec![
            ("architectures", architectures),
            ("dtype", json!(common.dtype.map(TorchDtype::name))),
            ("model_type", json!(self.model_type())),
            ("output_attentions", json!(common.output_attentions)),
            ("output_hidden_states", json!(common.output_hidden_states)),
            ("problem_type", json!(common.problem_type.map(ProblemType::name))),
            ("return_dict", json!(common.return_dict)),
            ("transformers_version", json!(version)),
        ]
    }

    /// The labels both ways, unless they are the two that a config has by default.
    fn put_labels(&self, map: &mut Map<String, Value>) {
        let common = self.common();
        let id2label: Map<String, Value> =
            common.id2label.iter().map(|(id, label)| (id.to_string(), json!(label))).collect();
        let defaults = common_defaults();
        let read = map.get("id2label").or(defaults.get("id2label"));
        let as_read = read.and_then(Value::as_object) == Some(&id2label);
        let inverse = common.id2label.iter().map(|(id, label)| (label.clone(), json!(id))).collect();
        let label2id = match map.remove("label2id") {
            Some(Value::Object(label2id)) if as_read => label2id,
            _ => inverse,
        };
        map.remove("id2label");
        for (key, labels) in [("id2label", id2label), ("label2id", label2id)] {
            let labels = Value::Object(labels);
            if defaults.get(key) != Some(&labels) {
                map.insert(key.into(), labels);
            }
        }
    }
}

/// What `PreTrainedConfig` has when nothing is given; these values are not written.
fn common_defaults() -> Map<String, Value> {
    let Value::Object(defaults) = json!({
        "architectures": null, "output_hidden_states": false, "return_dict": true, "dtype": null,
        "chunk_size_feed_forward": 0, "is_encoder_decoder": false, "problem_type": null, "output_attentions": false,
        "id2label": {"0": "LABEL_0", "1": "LABEL_1"}, "label2id": {"LABEL_0": 0, "LABEL_1": 1},
    }) else {
        return Map::new();
    };
    defaults
}

/// Sets a value, unless what was read means the same.
fn put(map: &mut Map<String, Value>, key: &str, value: Value) {
    if !map.get(key).is_some_and(|read| same(read, &value)) {
        map.insert(key.into(), value);
    }
}

/// Whether both mean the same: numbers by value, one number for two equal sides.
fn same(read: &Value, value: &Value) -> bool {
    match (read, value) {
        (Value::Number(a), Value::Number(b)) => a.as_f64() == b.as_f64(),
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b)),
        (Value::Array(sides), Value::Number(_)) => {
            sides.len() == 2 && sides.iter().all(|side| same(side, value))
        }
        _ => read == value,
    }
}

fn size(size: Size2) -> Value {
    match size.height == size.width {
        true => json!(size.height),
        false => json!([size.height, size.width]),
    }
}

fn dinov2_fields(config: &Dinov2Config) -> Vec<(&'static str, Value)> {
    vec![
        ("hidden_size", json!(config.hidden_size)),
        ("num_hidden_layers", json!(config.num_hidden_layers)),
        ("num_attention_heads", json!(config.num_attention_heads)),
        ("mlp_ratio", json!(config.mlp_ratio)),
        ("hidden_act", json!(config.hidden_act)),
        ("hidden_dropout_prob", json!(config.hidden_dropout_prob)),
        ("attention_probs_dropout_prob", json!(config.attention_probs_dropout_prob)),
        ("initializer_range", json!(config.initializer_range)),
        ("layer_norm_eps", json!(config.layer_norm_eps)),
        ("image_size", size(config.image_size)),
        ("patch_size", size(config.patch_size)),
        ("num_channels", json!(config.num_channels)),
        ("qkv_bias", json!(config.qkv_bias)),
        ("layerscale_value", json!(config.layerscale_value)),
        ("drop_path_rate", json!(config.drop_path_rate)),
        ("use_swiglu_ffn", json!(config.use_swiglu_ffn)),
        ("apply_layernorm", json!(config.apply_layernorm)),
        ("reshape_hidden_states", json!(config.reshape_hidden_states)),
    ]
}

fn dinov3_vit_fields(config: &DINOv3ViTConfig) -> Vec<(&'static str, Value)> {
    vec![
        ("patch_size", size(config.patch_size)),
        ("hidden_size", json!(config.hidden_size)),
        ("intermediate_size", json!(config.intermediate_size)),
        ("num_hidden_layers", json!(config.num_hidden_layers)),
        ("num_attention_heads", json!(config.num_attention_heads)),
        ("hidden_act", json!(config.hidden_act)),
        ("attention_dropout", json!(config.attention_dropout)),
        ("initializer_range", json!(config.initializer_range)),
        ("layer_norm_eps", json!(config.layer_norm_eps)),
        ("rope_theta", json!(config.rope_theta)),
        ("image_size", size(config.image_size)),
        ("num_channels", json!(config.num_channels)),
        ("query_bias", json!(config.query_bias)),
        ("key_bias", json!(config.key_bias)),
        ("value_bias", json!(config.value_bias)),
        ("proj_bias", json!(config.proj_bias)),
        ("mlp_bias", json!(config.mlp_bias)),
        ("layerscale_value", json!(config.layerscale_value)),
        ("drop_path_rate", json!(config.drop_path_rate)),
        ("use_gated_mlp", json!(config.use_gated_mlp)),
        ("num_register_tokens", json!(config.num_register_tokens)),
        ("pos_embed_shift", json!(config.pos_embed_shift)),
        ("pos_embed_jitter", json!(config.pos_embed_jitter)),
        ("pos_embed_rescale", json!(config.pos_embed_rescale)),
        ("apply_layernorm", json!(config.apply_layernorm)),
        ("reshape_hidden_states", json!(config.reshape_hidden_states)),
    ]
}

fn convnext_fields(config: &DINOv3ConvNextConfig) -> Vec<(&'static str, Value)> {
    vec![
        ("num_channels", json!(config.num_channels)),
        ("hidden_sizes", json!(config.hidden_sizes)),
        ("depths", json!(config.depths)),
        ("hidden_act", json!(config.hidden_act)),
        ("initializer_range", json!(config.initializer_range)),
        ("layer_norm_eps", json!(config.layer_norm_eps)),
        ("layer_scale_init_value", json!(config.layer_scale_init_value)),
        ("drop_path_rate", json!(config.drop_path_rate)),
        ("image_size", size(config.image_size)),
    ]
}
