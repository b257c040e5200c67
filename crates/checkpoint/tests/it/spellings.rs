//! Files with other names hold the same tensors as those with the hub's names.
//!
//! The fixtures hold the same weights under the hub's names, Transformers 5's, the original ones and timm's. Every canonical
//! name must give the same values from all of them.

use std::path::Path;

use dinoxide_checkpoint::{Checkpoint, CheckpointError, layout};

use crate::support::{CONVNEXT, DINOV2, DINOV3_VIT, Weights, f32_bytes, fixtures, open};

/// What may differ in timm's files: the position of CLS is part of its token, and there is no mask token.
const TIMM_DIFFERENCES: [&str; 3] =
    ["embeddings.cls_token", "embeddings.position_embeddings", "embeddings.mask_token"];

/// The fixtures whose names end with `suffix`, and those with the hub's names.
fn pairs(suffix: &str) -> Vec<(String, Checkpoint, Checkpoint)> {
    let mut pairs = Vec::new();
    for entry in std::fs::read_dir(fixtures()).unwrap() {
        let folder = entry.unwrap().path();
        let name = folder.file_name().unwrap().to_str().unwrap().to_owned();
        let Some(hub) = name.strip_suffix(suffix) else { continue };
        let open = |folder: &Path| Checkpoint::open(folder).unwrap();
        let (hub, other) = (open(&folder.with_file_name(hub)), open(&folder));
        pairs.push((name, hub, other));
    }
    assert!(pairs.len() >= 5, "only {} pairs of {suffix}", pairs.len());
    pairs
}

/// Every tensor reads the same, but for those named.
fn assert_same(name: &str, hub: &Checkpoint, other: &Checkpoint, except: &[&str]) {
    assert!(other.unexpected().is_empty(), "{name}: {:?}", other.unexpected());
    assert!(other.loading_info().unexpected_keys.is_empty(), "{name}");
    let specs = [layout::tensor_specs(hub.config()), layout::classifier_specs(hub.config())].concat();
    let mut renamed = 0;
    let compared = |name: &str| hub.tensors().contains(name) && !except.contains(&name);
    for spec in specs.iter().filter(|spec| compared(&spec.name)) {
        let values =
            [hub, other].map(|checkpoint| checkpoint.tensors().read_f32(&spec.name, &spec.shape).unwrap());
        assert_eq!(f32_bytes(&values[0]), f32_bytes(&values[1]), "{name}: {}", spec.name);
        let file_name = |checkpoint: &Checkpoint| {
            checkpoint.tensors().parts(&spec.name).unwrap()[0].name_in_file.to_owned()
        };
        renamed += usize::from(file_name(hub) != file_name(other));
    }
    assert!(renamed > 0, "{name} has the hub's names");
}

#[test]
fn module_names_and_hub_names_read_the_same() {
    for (name, hub, other) in pairs("-v5-names") {
        assert_same(&name, &hub, &other, &[]);
    }
}

#[test]
fn original_names_and_hub_names_read_the_same() {
    for (name, hub, other) in pairs("-fb-names") {
        assert_same(&name, &hub, &other, &[]);
        assert!(other.loading_info().missing_keys.is_empty(), "{name}");
    }
}

#[test]
fn timms_names_and_hub_names_read_the_same_but_for_the_position_of_cls() {
    let mut without_cls = 0;
    for (name, hub, other) in pairs("-timm-names") {
        assert_same(&name, &hub, &other, &TIMM_DIFFERENCES);
        let Some(spec) =
            layout::tensor_specs(hub.config()).into_iter().find(|spec| spec.name == TIMM_DIFFERENCES[1])
        else {
            continue;
        };
        let width = spec.shape[2];
        let tables = [&hub, &other].map(|c| c.tensors().read_f32(&spec.name, &spec.shape).unwrap());
        let tokens =
            [&hub, &other].map(|c| c.tensors().read_f32(TIMM_DIFFERENCES[0], &[1, 1, width]).unwrap());
        assert_eq!(tables[0][width..], tables[1][width..], "{name}");
        let sums =
            [0, 1].map(|i| -> Vec<f32> { tables[i].iter().zip(&tokens[i]).map(|(a, b)| a + b).collect() });
        assert_eq!(sums[0], sums[1], "{name}");
        if tables[1][..width].iter().all(|value| *value == 0.0) {
            assert!(other.tensors().get(&spec.name).is_none(), "no view has the zeros");
            without_cls += 1;
        }
    }
    assert_eq!(without_cls, 1);
}

#[test]
fn files_of_torch_save_read_the_same() {
    for (suffix, hub) in
        [("-bin", "dinov2-nomask"), ("-sharded-bin", "dinov2-no-qkv-bias"), ("-pth", "dinov3-vit-gated")]
    {
        let name = format!("{hub}{suffix}");
        let open = |name: &str| Checkpoint::open(&fixtures().join(name)).unwrap();
        let (hub, other) = (open(hub), open(&name));
        assert!(other.unexpected().is_empty(), "{name}");
        for spec in layout::tensor_specs(hub.config()) {
            let [a, b] = [&hub, &other].map(|c| c.tensors().read_f32(&spec.name, &spec.shape).unwrap());
            assert_eq!(f32_bytes(&a), f32_bytes(&b), "{name}: {}", spec.name);
        }
    }
}

/// Opens a file that has only these tensors.
fn original(config: &str, names: &[(&str, &[usize])]) -> Result<Checkpoint, CheckpointError> {
    let none = Weights::of(config).only(|_| false);
    open(config, &names.iter().fold(none, |weights, (name, shape)| weights.with(name, shape)))
}

#[test]
fn a_fused_tensor_of_another_shape_is_named_once_with_its_own_name() {
    let error =
        original(DINOV2, &[("blocks.0.attn.qkv.weight", &[24, 9]), ("blocks.0.attn.qkv.bias", &[25])]);
    let Err(CheckpointError::Layout(mismatch)) = error else { panic!("{error:?}") };
    let misshapen: Vec<_> = mismatch
        .misshapen
        .iter()
        .map(|tensor| (tensor.name.as_str(), tensor.expected.clone(), tensor.got.clone()))
        .collect();
    let expected = [
        ("blocks.0.attn.qkv.weight", vec![24, 8], vec![24, 9]),
        ("blocks.0.attn.qkv.bias", vec![24], vec![25]),
    ];
    assert_eq!(misshapen, expected);
    assert!(mismatch.missing.iter().any(|tensor| tensor.name == "embeddings.cls_token"));
}

#[test]
fn one_tensor_under_two_spellings_is_refused() {
    let cases = [
        (DINOV2, ["blocks.0.norm1.bias", "blocks.1.0.norm1.bias"]),
        (DINOV3_VIT, ["blocks.0.mlp.fc1.bias", "blocks.0.mlp.w2.bias"]),
        (CONVNEXT, ["downsample_layers.0.0.bias", "module.downsample_layers.0.0.bias"]),
    ];
    for (config, [first, second]) in cases {
        let error = original(config, &[(first, &[1]), (second, &[1])]);
        assert!(matches!(error, Err(CheckpointError::DuplicateTensor(_))), "{error:?}");
    }
}

#[test]
fn tensors_that_no_convention_knows_are_left_over_under_their_own_names() {
    let folder = fixtures().join("dinov3-vit-fb-names");
    let bytes = std::fs::read(folder.join("model.safetensors")).unwrap();
    let file = safetensors::SafeTensors::deserialize(&bytes).unwrap();
    let strange =
        ["blocks.x.norm1.weight", "blocks.007.norm1.weight", "teacher.dino_head.mlp.0.weight", "ibot_head.a"];
    let zero = vec![0; 4];
    let view = || safetensors::tensor::TensorView::new(safetensors::Dtype::F32, vec![1], &zero).unwrap();
    let tensors = file.tensors().into_iter().chain(strange.map(|name| (name.to_owned(), view())));
    let weights = safetensors::serialize(tensors, None).unwrap();
    let config = std::fs::read(folder.join("config.json")).unwrap();
    let checkpoint = Checkpoint::from_bytes(&config, None, weights).unwrap();
    let mut expected = strange.map(str::to_owned).to_vec();
    expected.sort();
    assert_eq!(checkpoint.loading_info().unexpected_keys, expected);
}
