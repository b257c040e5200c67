//! What untrusted files may ask for, before any memory is taken.
//!
//! A config, a processor config, a shard index or a safetensors header that passes one of these bounds is refused with a
//! typed error. Each bound is far above the largest published model (7B: width 4096, 40 layers, 32 heads), so no
//! honest file meets it; together they keep every product of sizes below 2^63.

/// Bytes of one file of weights that is downloaded; the largest checkpoints are split into files of 5 to 50 GB.
pub const MAX_WEIGHTS_FILE_BYTES: u64 = 100 << 30;
/// Bytes of `config.json`, `preprocessor_config.json` and `processor_config.json`: 21 thousand labels need 2 MB, and parsed
/// JSON takes up to 16 times the bytes of its text.
pub const MAX_JSON_BYTES: u64 = 4 << 20;
/// Bytes of `model.safetensors.index.json`: the 7B model's takes 50 kB.
pub const MAX_INDEX_BYTES: u64 = 4 << 20;
/// Bytes of the pickles of a file of torch.save, without the numbers of tensors: the 7B model's take 100 kB, and a parsed
/// pickle takes up to 130 times its bytes.
pub const MAX_PICKLE_BYTES: usize = 1 << 20;
/// Bytes of a safetensors header: the 7B model's takes 60 kB.
pub const MAX_HEADER_BYTES: u64 = 4 << 20;
/// The same of a file that is no checkpoint, which may name many pictures: the format's own limit.
pub const MAX_ARCHIVE_HEADER_BYTES: u64 = 100_000_000;
/// Shards of one checkpoint: each is one open mapping.
pub const MAX_SHARDS: usize = 4096;
/// Hidden size, MLP width, heads × head size, and channels of a ConvNeXt stage.
pub const MAX_WIDTH: usize = 1 << 20;
/// Layers of a ViT, or blocks of one ConvNeXt stage.
pub const MAX_LAYERS: usize = 4096;
/// Stages of a ConvNeXt.
pub const MAX_STAGES: usize = 64;
/// Attention heads.
pub const MAX_HEADS: usize = 1 << 16;
/// Inputs of a group of a weight in 4 bits.
pub const MAX_GROUP_SIZE: usize = 1 << 20;
/// MLP width as a multiple of the hidden size.
pub const MAX_MLP_RATIO: usize = 1 << 10;
/// Side of the configured image, in pixels.
pub const MAX_IMAGE_SIDE: usize = 1 << 17;
/// Side of a patch, in pixels.
pub const MAX_PATCH_SIDE: usize = 4096;
/// Channels of the input image.
pub const MAX_CHANNELS: usize = 4096;
/// Register tokens.
pub const MAX_REGISTER_TOKENS: usize = 1 << 16;
/// Labels of a classifier.
pub const MAX_LABELS: usize = 1 << 20;
/// Parameters of a fresh model: the 7B model has 6.7 billion.
pub const MAX_FRESH_PARAMETERS: u64 = 1 << 33;
/// Side of a processor's size, crop or padding, in pixels.
pub const MAX_PROCESSOR_SIDE: usize = 1 << 14;
/// Entries of a processor's mean or standard deviation.
pub const MAX_PROCESSOR_CHANNELS: usize = 16;
