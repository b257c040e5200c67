//! Feeds goldens through the command: their inputs as a file of `--pixel-values`, their outputs as what must come out.

use crate::support::{Tensor, root, run, safetensors};
use ::safetensors::{Dtype, SafeTensors, tensor::TensorView};
use dinoxide_testkit::tolerance::TINY_MODEL_MAX_ABS;
use std::{collections::HashMap, fs, path::Path};

/// What a forward takes.
const INPUTS: [&str; 4] = ["pixel_values", "bool_masked_pos", "attention_mask", "labels"];

/// The path of a golden.
pub(crate) fn golden(fixture: &str, name: &str) -> std::path::PathBuf {
    root().join(format!("fixtures/{fixture}/golden-{name}.safetensors"))
}

/// Writes the inputs of a golden as a file for `--pixel-values`.
pub(crate) fn write_inputs(path: &Path, golden: &Path) {
    let bytes = fs::read(golden).unwrap();
    let (_, header) = SafeTensors::read_metadata(&bytes).unwrap();
    let file = SafeTensors::deserialize(&bytes).unwrap();
    let spec = &header.metadata().as_ref().unwrap()["pixel_values"];
    let (seed, shape) = spec.strip_prefix("hash32:").unwrap().split_once(':').unwrap();
    let shape: Vec<usize> = shape.split(',').map(|n| n.parse().unwrap()).collect();
    let values = dinoxide::hash32(seed.parse().unwrap(), shape.iter().product());
    let pixels: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
    let mut views = vec![("pixel_values", TensorView::new(Dtype::F32, shape, &pixels).unwrap())];
    views.extend(INPUTS[1..].iter().filter_map(|name| Some((*name, file.tensor(name).ok()?))));
    fs::write(path, ::safetensors::serialize(views, None).unwrap()).unwrap();
}

/// Runs `features` on the inputs of a golden, and compares every tensor that the golden names; the tensors and the metadata.
pub(crate) fn assert_features(
    fixture: &str,
    name: &str,
    options: &str,
) -> (HashMap<String, String>, HashMap<String, Tensor>) {
    let dir = tempfile::tempdir().unwrap();
    let (inputs, file) = (dir.path().join("in.safetensors"), dir.path().join("out.safetensors"));
    let golden = golden(fixture, name);
    write_inputs(&inputs, &golden);
    let words = format!("features -q -m fixtures/{fixture} {options} --pixel-values");
    run(&words, &[&inputs, Path::new("-o"), &file]).ok();
    let (metadata, got) = safetensors(&file);
    let (_, want) = safetensors(&golden);
    let outputs: Vec<_> = want.iter().filter(|(name, _)| !INPUTS.contains(&name.as_str())).collect();
    assert!(!outputs.is_empty(), "{fixture} {name}");
    for (tensor, want) in outputs {
        let got = got.get(tensor).unwrap_or_else(|| panic!("{fixture} {name}: no {tensor}"));
        assert_close(&format!("{fixture} {name} {tensor}"), got, want);
    }
    assert_eq!(metadata["model"], format!("fixtures/{fixture}"));
    (metadata, got)
}

/// Asserts that two tensors are the same within the bound for tiny models; NaN is NaN.
pub(crate) fn assert_close(name: &str, got: &Tensor, want: &Tensor) {
    assert_eq!(got.shape, want.shape, "{name}");
    for (&a, &b) in got.values.iter().zip(&want.values) {
        let same = (a.is_nan() && b.is_nan()) || (a - b).abs() <= TINY_MODEL_MAX_ABS;
        assert!(same, "{name}: {a}, expected {b}");
    }
}
