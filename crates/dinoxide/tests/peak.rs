//! What a model takes in memory at most while it is loaded and run: its weights once, not once in the file and once packed.
//!
//! A peak is a process's own, so each is measured in a process that does nothing else: this binary again, asked for the one
//! ignored test, which finds the checkpoint at a place that both know. Only Linux tells (`VmHWM`).

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use dinoxide::config::TorchDtype;
use dinoxide::{Checkpoint, InitOptions, Inputs, Model, ModelConfig, OpenOptions, SaveOptions, ShardSize};
use ndarray::Array4;
use std::{fs, path::Path, process::Command};

/// The checkpoint that the child loads.
const PLACE: &str = concat!(env!("CARGO_TARGET_TMPDIR"), "/peak");

/// 85 MB of f32 weights, of which the position table is little.
const CONFIG: &str = r#"{"model_type": "dinov2", "hidden_size": 768, "num_hidden_layers": 3,
    "num_attention_heads": 12, "image_size": 56}"#;

/// What of the peak is not the weights': the program, the threads, the activations of four patches, a tensor that is
/// converted (9 MB).
const REST: u64 = 24 << 20;

/// Bytes of the process's peak.
fn peak() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().strip_suffix(" kB").unwrap().parse::<u64>().unwrap() * 1024
}

#[test]
#[ignore = "run by the test below, in a process of its own"]
fn child() {
    let model = Model::from_pretrained(PLACE).unwrap();
    let pixels = Array4::<f32>::ones((1, 3, 28, 28));
    model.forward(&Inputs::new(pixels.view())).unwrap();
    println!("weights {} peak {}.", model.weight_bytes(), peak());
}

/// (bytes of the packed weights, bytes of the peak) of a process that loads the checkpoint and runs it.
fn measured() -> (u64, u64) {
    let child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "child", "--ignored", "--nocapture"])
        .output()
        .unwrap();
    let said = String::from_utf8(child.stdout).unwrap();
    let number = |after: &str| {
        let text = said.split_once(after).unwrap_or_else(|| panic!("{said}")).1;
        text.split([' ', '.']).next().unwrap().parse().unwrap()
    };
    (number("weights "), number("peak "))
}

#[test]
fn weights_are_in_memory_once() {
    let config = ModelConfig::from_json(Path::new("config.json"), CONFIG.as_bytes()).unwrap();
    let fresh = Checkpoint::initialize(config, &InitOptions::default()).unwrap();
    for (dtype, shards) in [(TorchDtype::Float32, 1), (TorchDtype::Float32, 3), (TorchDtype::BFloat16, 1)] {
        let _ = fs::remove_dir_all(PLACE);
        let whole = Path::new(PLACE).join("whole");
        fresh.save_pretrained(&whole, &SaveOptions::default()).unwrap();
        let options = OpenOptions { dtype: Some(dtype), ..OpenOptions::default() };
        let checkpoint = Checkpoint::open_with(&whole, &options).unwrap();
        let max_shard_size = ShardSize::from_bytes(checkpoint.total_bytes() / shards);
        checkpoint.save_pretrained(Path::new(PLACE), &SaveOptions { max_shard_size }).unwrap();
        fs::remove_dir_all(&whole).unwrap();
        let (weights, peak) = measured();
        // In bf16 they are held in half of it.
        let least = if dtype == TorchDtype::BFloat16 { 40_000_000 } else { 80_000_000 };
        assert!(weights > least && weights < least * 5 / 4, "{dtype:?}: {weights}");
        let most = weights * 115 / 100 + REST;
        assert!(
            peak <= most,
            "{dtype:?}, {shards} files: {peak} bytes at the peak, at most {most} are meant"
        );
    }
    fs::remove_dir_all(PLACE).unwrap();
}
