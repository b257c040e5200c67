#![doc = include_str!("tour.md")]

mod backbone;
mod classifier;
mod configs;
mod embedder;
mod error;
mod files;
mod golden;
mod model;
mod patch_fit;
mod pipeline;
mod pooling;
mod preprocess;
mod pretrained;
mod processor;
mod processor_class;
mod quantize;
mod run_options;
mod runner;
mod source;
mod verify;

pub use backbone::Backbone;
pub use classifier::{ImageClassifier, ImageClassifierOutputs};
pub use configs::PreTrainedConfig;
pub use dinoxide_checkpoint::{
    Archive, Checkpoint, CheckpointError, Dtype, Head, InitOptions, LoadingInfo, MismatchedKey, Numbers,
    OpenOptions, ProcessorConfig, QuantizedTensor, SaveOptions, ShardSize, Storage, TensorSpec, TensorView,
    Tensors,
    config::{
        self, DINOv3ConvNextConfig, DINOv3ViTConfig, Dinov2Config, Dinov2WithRegistersConfig, ModelConfig,
    },
    hub, layout, processor_config,
};
pub use dinoxide_image::{
    DecodeOptions, Format, HeightWidth, ImageError, Layout, Limits, Normalize, Order, Picture, PixelArray,
    ProcessorSpec, Resample, Resize, Rgb8, Samples, Size, decode, decode_file,
};
pub use dinoxide_kernels::{
    Context, ContextOptions, Isa, KernelError, Op, OpBound, OpEpilogue, OpTime, Profile, roof,
};
pub use dinoxide_model::{
    BackboneOptions, BackboneOutputs, DrawPlace, Draws, Grid, HiddenStates, IGNORED_LABEL, Inputs, Interrupt,
    Labels, LinearPrecision, MAX_ATTENTION_BYTES, MAX_PATCHES, ModelError, OutputHiddenStates, Outputs,
    Precision, PrecisionNote, QuantizedLinear, SeededDraws, loss, loss_over,
};
pub use embedder::{EmbedOptions, Embedder};
pub use error::Error;
pub use files::{FileOptions, run_files};
pub use golden::Golden;
pub use model::Model;
/// The arrays of inputs and outputs.
pub use ndarray;
pub use patch_fit::PatchFit;
pub use pipeline::{ClassifyOptions, FunctionToApply, Pipeline, Prediction};
pub use pooling::{Pooling, normalize};
pub use preprocess::load_image;
pub use pretrained::{
    AutoBackbone, AutoConfig, AutoModel, AutoModelForImageClassification, DINOv3ConvNextBackbone,
    DINOv3ConvNextModel, DINOv3ViTBackbone, DINOv3ViTModel, Dinov2Backbone, Dinov2ForImageClassification,
    Dinov2Model, Dinov2WithRegistersBackbone, Dinov2WithRegistersForImageClassification,
    Dinov2WithRegistersModel, FamilyConfig, Pretrained, Typed,
};
pub use processor::ImageProcessor;
pub use processor_class::{
    AutoImageProcessor, Bit, BitImageProcessor, DINOv3ViT, DINOv3ViTImageProcessor, ProcessorClass,
    TypedProcessor,
};
pub use quantize::{Comparison, QuantizeOptions, Reference, Similarity, quantize};
pub use run_options::RunOptions;
pub use runner::Runner;
/// The values of [`LoadOptions::with`].
pub use serde_json;
pub use source::{BUILTIN_TINY, LoadOptions, open};
pub use verify::{Row, hash32, verify};

/// The readme's examples, compiled with the tests.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
