//! Any bytes as a safetensors file of a small model: an error, never a panic, never a large allocation.
#![no_main]

use dinoxide_checkpoint::Checkpoint;

const CONFIG: &[u8] = br#"{"model_type":"dinov2","hidden_size":8,"num_hidden_layers":1,"num_attention_heads":2,"image_size":4,"patch_size":2}"#;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let _ = Checkpoint::from_bytes(CONFIG, None, bytes.to_vec());
});
