//! Any bytes as `config.json` and as `preprocessor_config.json`: an error or a config, never a panic.
#![no_main]

use dinoxide_checkpoint::{config::ModelConfig, layout, processor_config::ProcessorConfig};
use std::path::Path;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let path = Path::new("config.json");
    if let Ok(config) = ModelConfig::from_json(path, bytes) {
        let _ = layout::parameter_count(&config);
        let _ = config.stages();
    }
    let _ = ProcessorConfig::from_json(path, bytes, None);
});
