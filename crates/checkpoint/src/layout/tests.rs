//! Which tensors a config asks for, and how many parameters they have.
//!
//! The numbers of parameters are those of the published sizes, as Transformers 5.24.0 counts them. Flags add or take away
//! tensors, and the sizes of a hand-made config must not wrap around.

use std::path::Path;

use super::*;

fn config(json: &str) -> ModelConfig {
    ModelConfig::from_json(Path::new("config.json"), json.as_bytes()).unwrap()
}

fn parameters(json: &str) -> u64 {
    parameter_count(&config(json))
}

#[test]
fn dinov2_checkpoints_have_their_published_parameter_counts() {
    let cases = [
        (384, 12, 6, "false", 22_056_576, 22_058_112),
        (768, 12, 12, "false", 86_580_480, 86_583_552),
        (1024, 24, 16, "false", 304_368_640, 304_372_736),
        (1536, 40, 24, "true", 1_136_480_768, 1_136_486_912),
    ];
    for (hidden, layers, heads, swiglu, plain, registers) in cases {
        let fields = format!(
            "\"hidden_size\": {hidden}, \"num_hidden_layers\": {layers}, \"num_attention_heads\": {heads}, \
             \"image_size\": 518, \"patch_size\": 14, \"use_swiglu_ffn\": {swiglu}"
        );
        assert_eq!(parameters(&format!("{{\"model_type\": \"dinov2\", {fields}}}")), plain);
        assert_eq!(
            parameters(&format!("{{\"model_type\": \"dinov2_with_registers\", {fields}}}")),
            registers
        );
    }
}

#[test]
fn dinov3_checkpoints_have_their_published_parameter_counts() {
    // Hidden size, layers, heads, MLP width, gated, biases of query and value, parameters.
    let cases = [
        (384, 12, 6, 1536, false, true, 21_596_544),
        (384, 12, 6, 1536, true, true, 28_692_864),
        (768, 12, 12, 3072, false, true, 85_660_416),
        (1024, 24, 16, 4096, false, true, 303_129_600),
        (1280, 32, 20, 5120, true, true, 840_592_640),
        (4096, 40, 32, 8192, true, false, 6_716_035_072),
    ];
    for (hidden, layers, heads, mlp, gated, bias, expected) in cases {
        let got = parameters(&format!(
            "{{\"model_type\": \"dinov3_vit\", \"hidden_size\": {hidden}, \"num_hidden_layers\": {layers}, \
             \"num_attention_heads\": {heads}, \"intermediate_size\": {mlp}, \"use_gated_mlp\": {gated}, \
             \"query_bias\": {bias}, \"value_bias\": {bias}, \"num_register_tokens\": 4}}"
        ));
        assert_eq!(got, expected, "{hidden} {mlp} {gated}");
    }
    let convnexts = [
        ("[96, 192, 384, 768]", "[3, 3, 9, 3]", 27_820_128),
        ("[96, 192, 384, 768]", "[3, 3, 27, 3]", 49_454_688),
        ("[128, 256, 512, 1024]", "[3, 3, 27, 3]", 87_566_464),
        ("[192, 384, 768, 1536]", "[3, 3, 27, 3]", 196_230_336),
    ];
    for (sizes, depths, expected) in convnexts {
        let got = parameters(&format!(
            "{{\"model_type\": \"dinov3_convnext\", \"hidden_sizes\": {sizes}, \"depths\": {depths}}}"
        ));
        assert_eq!(got, expected, "{sizes} {depths}");
    }
}

#[test]
fn a_classifier_adds_one_row_of_both_features_a_label() {
    let json = "{\"model_type\": \"dinov2\", \"hidden_size\": 384, \"num_attention_heads\": 6, \"num_labels\": 1000}";
    let specs = classifier_specs(&config(json));
    assert_eq!((specs[0].name.as_str(), &specs[0].shape[..]), ("classifier.weight", &[1000, 768][..]));
    assert_eq!((specs[1].name.as_str(), &specs[1].shape[..]), ("classifier.bias", &[1000][..]));
    assert!(classifier_specs(&config("{\"model_type\": \"dinov3_vit\"}")).is_empty());
    assert!(classifier_specs(&config("{\"model_type\": \"dinov2\", \"id2label\": {}}")).is_empty());
}

#[test]
fn a_head_dim_of_its_own_widens_the_projections() {
    let json =
        "{\"model_type\": \"dinov2\", \"hidden_size\": 40, \"num_attention_heads\": 2, \"head_dim\": 12}";
    let specs = tensor_specs(&config(json));
    let shape = |name: &str| specs.iter().find(|spec| spec.name == name).unwrap().shape.clone();
    assert_eq!(shape("encoder.layer.0.attention.attention.key.weight"), [24, 40]);
    assert_eq!(shape("encoder.layer.0.attention.attention.key.bias"), [24]);
    assert_eq!(shape("encoder.layer.0.attention.output.dense.weight"), [40, 24]);
}

#[test]
fn biases_exist_where_the_config_switches_them_on() {
    let has = |json: &str, name: &str| tensor_specs(&config(json)).iter().any(|spec| spec.name == name);
    let defaults = "{\"model_type\": \"dinov3_vit\"}";
    assert!(has(defaults, "layer.0.attention.q_proj.bias") && has(defaults, "layer.0.attention.o_proj.bias"));
    assert!(!has(defaults, "layer.0.attention.k_proj.bias"));
    let other =
        "{\"model_type\": \"dinov3_vit\", \"key_bias\": true, \"value_bias\": false, \"mlp_bias\": false}";
    assert!(has(other, "layer.0.attention.k_proj.bias") && !has(other, "layer.0.attention.v_proj.bias"));
    assert!(!has(other, "layer.0.mlp.up_proj.bias"));
    let dinov2 = "{\"model_type\": \"dinov2\", \"qkv_bias\": false}";
    assert!(!has(dinov2, "encoder.layer.0.attention.attention.query.bias"));
    assert!(has(dinov2, "encoder.layer.0.attention.output.dense.bias"));
}

#[test]
fn sizes_of_a_hand_made_config_saturate_instead_of_wrapping() {
    let config = ModelConfig::Dinov2(Dinov2Config {
        hidden_size: usize::MAX,
        mlp_ratio: usize::MAX,
        num_attention_heads: 0,
        num_hidden_layers: 1,
        use_swiglu_ffn: true,
        ..Dinov2Config::default()
    });
    assert_eq!(parameter_count(&config), u64::MAX);
}
