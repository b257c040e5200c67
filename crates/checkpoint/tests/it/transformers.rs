//! The values read from JSON files are those that Transformers holds after reading them.
//!
//! `configs.json` and `processors.json` were written by Transformers itself (`data/make.py`): each case has a
//! file's content, and what Transformers made of it or that it refused it.

use std::path::Path;

use dinoxide_checkpoint::config::{
    CommonConfig, DINOv3ConvNextConfig, DINOv3ViTConfig, Dinov2Config, Family, ProblemType, Size2, TorchDtype,
};
use dinoxide_checkpoint::processor_config::{Resample, SizeSpec};
use dinoxide_checkpoint::{ModelConfig, ProcessorConfig};
use serde_json::{Map, Value, json};

const CONFIGS: &str = include_str!("../data/configs.json");
const PROCESSORS: &str = include_str!("../data/processors.json");

/// Keys of the reference that are looked for under another name, or have no effect.
const NOT_HELD: [&str; 2] = ["interpolate_antialias", "interpolate_offset"];

fn cases(text: &str) -> Vec<Value> {
    let file: Value = serde_json::from_str(text).unwrap();
    let cases = file["cases"].as_array().unwrap().clone();
    assert!(cases.len() > 30, "only {} cases", cases.len());
    cases
}

/// Compares every value that Transformers holds with ours.
fn assert_held(name: &str, held: &Value, ours: &Value) {
    for (key, expected) in held.as_object().unwrap() {
        if NOT_HELD.contains(&key.as_str()) {
            continue;
        }
        let got = ours.get(key).unwrap_or_else(|| panic!("{name}: nothing for {key}"));
        assert!(same(expected, got), "{name}: {key} is {got}, Transformers holds {expected}");
    }
}

/// Equal, numbers by value: 1 and 1.0 are the same.
fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b)),
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(key, a)| b.get(key).is_some_and(|b| same(a, b)))
        }
        (Value::Number(a), Value::Number(b)) => a.as_f64() == b.as_f64(),
        _ => a == b,
    }
}

#[test]
fn configs_hold_what_transformers_holds() {
    for case in cases(CONFIGS) {
        let name = case["name"].as_str().unwrap();
        let parsed = ModelConfig::from_json(Path::new("config.json"), case["json"].to_string().as_bytes());
        match (case.get("held"), parsed) {
            (Some(held), Ok(config)) => assert_held(name, held, &model_values(&config)),
            (None, Err(_)) => {}
            (Some(_), Err(error)) => panic!("{name}: refused, Transformers accepts it: {error}"),
            (None, Ok(_)) => panic!("{name}: accepted, Transformers refuses it: {}", case["error"]),
        }
    }
}

#[test]
fn processor_configs_hold_what_transformers_holds() {
    for case in cases(PROCESSORS) {
        let name = case["name"].as_str().unwrap();
        let family = Family::from_model_type(case["model_type"].as_str().unwrap());
        let json = case["json"].to_string();
        let parsed =
            ProcessorConfig::from_json(Path::new("preprocessor_config.json"), json.as_bytes(), family);
        match (case.get("held"), parsed) {
            (Some(held), Ok(config)) => assert_held(name, held, &processor_values(&config)),
            (None, Err(_)) => {}
            (Some(_), Err(error)) => panic!("{name}: refused, Transformers accepts it: {error}"),
            (None, Ok(_)) => panic!("{name}: accepted, Transformers refuses it: {}", case["error"]),
        }
    }
}

fn model_values(config: &ModelConfig) -> Value {
    let mut values = match config {
        ModelConfig::Dinov2(config) => {
            let mut values = dinov2_values(config);
            values["use_mask_token"] = config.use_mask_token.into();
            values
        }
        ModelConfig::Dinov2WithRegisters(config) => {
            let mut values = dinov2_values(&config.base);
            values["num_register_tokens"] = config.num_register_tokens.into();
            values
        }
        ModelConfig::DINOv3Vit(config) => dinov3_vit_values(config),
        ModelConfig::DINOv3ConvNext(config) => convnext_values(config),
    };
    let map = values.as_object_mut().unwrap();
    map.extend(common_values(config.common()));
    map.insert("model_type".into(), config.model_type().into());
    map.insert("stage_names".into(), json!(config.stage_names()));
    // Transformers fills in the choice that was not given.
    let stages = config.stages().unwrap();
    let names: Vec<&str> = stages.iter().map(|stage| stage.name.as_str()).collect();
    let indices: Vec<usize> = stages.iter().map(|stage| stage.index).collect();
    map.insert("out_features".into(), json!(names));
    let given = config.common().out_indices.as_ref().map(|indices| json!(indices));
    map.insert("out_indices".into(), given.unwrap_or_else(|| json!(indices)));
    values
}

fn common_values(common: &CommonConfig) -> Map<String, Value> {
    let values = json!({
        "architectures": common.architectures,
        "output_hidden_states": common.output_hidden_states,
        "output_attentions": common.output_attentions,
        "return_dict": common.return_dict,
        "dtype": common.dtype.map(TorchDtype::name),
        "id2label": common.id2label,
        "problem_type": common.problem_type.map(ProblemType::name),
        "tie_last_hidden_states": common.tie_last_hidden_states,
    });
    values.as_object().unwrap().clone()
}

fn size_value(size: Size2) -> Value {
    if size.height == size.width { json!(size.height) } else { json!([size.height, size.width]) }
}

fn dinov2_values(config: &Dinov2Config) -> Value {
    json!({
        "hidden_size": config.hidden_size,
        "num_hidden_layers": config.num_hidden_layers,
        "num_attention_heads": config.num_attention_heads,
        "head_dim": config.head_dim,
        "mlp_ratio": config.mlp_ratio,
        "hidden_act": config.hidden_act,
        "hidden_dropout_prob": config.hidden_dropout_prob,
        "attention_probs_dropout_prob": config.attention_probs_dropout_prob,
        "initializer_range": config.initializer_range,
        "layer_norm_eps": config.layer_norm_eps,
        "image_size": size_value(config.image_size),
        "patch_size": size_value(config.patch_size),
        "num_channels": config.num_channels,
        "qkv_bias": config.qkv_bias,
        "layerscale_value": config.layerscale_value,
        "drop_path_rate": config.drop_path_rate,
        "use_swiglu_ffn": config.use_swiglu_ffn,
        "apply_layernorm": config.apply_layernorm,
        "reshape_hidden_states": config.reshape_hidden_states,
    })
}

fn dinov3_vit_values(config: &DINOv3ViTConfig) -> Value {
    json!({
        "patch_size": size_value(config.patch_size),
        "hidden_size": config.hidden_size,
        "intermediate_size": config.intermediate_size,
        "num_hidden_layers": config.num_hidden_layers,
        "num_attention_heads": config.num_attention_heads,
        "hidden_act": config.hidden_act,
        "attention_dropout": config.attention_dropout,
        "initializer_range": config.initializer_range,
        "layer_norm_eps": config.layer_norm_eps,
        "rope_theta": config.rope_theta,
        "image_size": size_value(config.image_size),
        "num_channels": config.num_channels,
        "query_bias": config.query_bias,
        "key_bias": config.key_bias,
        "value_bias": config.value_bias,
        "proj_bias": config.proj_bias,
        "mlp_bias": config.mlp_bias,
        "layerscale_value": config.layerscale_value,
        "drop_path_rate": config.drop_path_rate,
        "use_gated_mlp": config.use_gated_mlp,
        "num_register_tokens": config.num_register_tokens,
        "pos_embed_shift": config.pos_embed_shift,
        "pos_embed_jitter": config.pos_embed_jitter,
        "pos_embed_rescale": config.pos_embed_rescale,
        "apply_layernorm": config.apply_layernorm,
        "reshape_hidden_states": config.reshape_hidden_states,
        "return_class_token": config.return_class_token,
    })
}

fn convnext_values(config: &DINOv3ConvNextConfig) -> Value {
    json!({
        "num_channels": config.num_channels,
        "hidden_sizes": config.hidden_sizes,
        "depths": config.depths,
        "hidden_act": config.hidden_act,
        "initializer_range": config.initializer_range,
        "layer_norm_eps": config.layer_norm_eps,
        "layer_scale_init_value": config.layer_scale_init_value,
        "drop_path_rate": config.drop_path_rate,
        "image_size": size_value(config.image_size),
    })
}

fn processor_values(config: &ProcessorConfig) -> Value {
    json!({
        "image_processor_type": config.kind.name(),
        "do_convert_rgb": config.do_convert_rgb,
        "do_resize": config.do_resize,
        "do_center_crop": config.do_center_crop,
        "do_rescale": config.do_rescale,
        "do_normalize": config.do_normalize,
        "do_pad": config.do_pad,
        "size": config.size.map(spec_value),
        "crop_size": config.crop_size.map(spec_value),
        "pad_size": config.pad_size.map(spec_value),
        "image_mean": config.image_mean,
        "image_std": config.image_std,
        "resample": config.resample.map(Resample::code),
        "rescale_factor": config.rescale_factor,
    })
}

fn spec_value(spec: SizeSpec) -> Value {
    match spec {
        SizeSpec::HeightWidth { height, width } => json!({"height": height, "width": width}),
        SizeSpec::ShortestEdge { shortest_edge } => json!({"shortest_edge": shortest_edge}),
        SizeSpec::ShortestLongestEdge { shortest_edge, longest_edge } => {
            json!({"shortest_edge": shortest_edge, "longest_edge": longest_edge})
        }
        SizeSpec::LongestEdge { longest_edge } => json!({"longest_edge": longest_edge}),
        SizeSpec::MaxHeightWidth { max_height, max_width } => {
            json!({"max_height": max_height, "max_width": max_width})
        }
        SizeSpec::PixelBounds { min_pixels, max_pixels } => {
            json!({"min_pixels": min_pixels, "max_pixels": max_pixels})
        }
    }
}
