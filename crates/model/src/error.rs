//! What can go wrong when a model is built or run, sorted by whose fault it is.

use dinoxide_checkpoint::{CheckpointError, limits::MAX_GROUP_SIZE};
use dinoxide_kernels::KernelError;

/// Why a model could not be built, or could not take its inputs.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ModelError {
    /// The checkpoint cannot be read.
    #[error(transparent)]
    Checkpoint(#[from] CheckpointError),
    /// The checkpoint asks for an activation that is not computed here.
    #[error("config key `hidden_act`: {reason}")]
    UnknownActivation {
        /// Says the value of `hidden_act`, and lists the known names.
        reason: KernelError,
    },
    /// A name of no precision.
    #[error("unknown precision `{got}`: expected one of {}", crate::Precision::NAMES.join(", "))]
    UnknownPrecision {
        /// What was given.
        got: String,
    },
    /// Groups of a size that there cannot be.
    #[error("a group of {got} inputs: expected 1 to {}", MAX_GROUP_SIZE)]
    GroupSize {
        /// What was given.
        got: usize,
    },
    /// The pictures have another number of channels than the model.
    #[error("pixel_values has {got} channels, the model expects {expected}")]
    Channels {
        /// `config.num_channels`.
        expected: usize,
        /// Axis 1 of `pixel_values`.
        got: usize,
    },
    /// Not even one patch fits, or a stage of a ConvNeXt would be empty.
    #[error(
        "a picture of {height}x{width} pixels is too small, the model needs at least {least_height}x{least_width}"
    )]
    TooSmall {
        /// Picture height.
        height: usize,
        /// Picture width.
        width: usize,
        /// Smallest height.
        least_height: usize,
        /// Smallest width.
        least_width: usize,
    },
    /// A position table that is not square cannot be resized (Transformers cannot either).
    #[error(
        "the position table has {positions} patch positions, which is no square number: it cannot be resized to {rows}x{cols} patches"
    )]
    PositionTable {
        /// Patch positions in the table.
        positions: usize,
        /// Patch rows of the picture.
        rows: usize,
        /// Patch columns of the picture.
        cols: usize,
    },
    /// More memory than an address can name, or than the system gives.
    #[error("{what} of shape {shape:?} do not fit in memory")]
    TooLarge {
        /// The tensor.
        what: &'static str,
        /// Its shape.
        shape: Vec<usize>,
    },
    /// More patches than a picture may have.
    #[error("a picture of {height}x{width} pixels has {patches} patches, more than the limit of {limit}")]
    TooManyPatches {
        /// Picture height.
        height: usize,
        /// Picture width.
        width: usize,
        /// Its patches.
        patches: usize,
        /// [`crate::MAX_PATCHES`].
        limit: usize,
    },
    /// Attentions, which are quadratic in the tokens, above the limit.
    #[error("attentions of {layers} layers, {shape:?} each, exceed the limit of {} GiB", limit >> 30)]
    AttentionsTooLarge {
        /// Shape of one layer's: [B, A, S, S].
        shape: Vec<usize>,
        /// How many layers' would be kept.
        layers: usize,
        /// [`crate::MAX_ATTENTION_BYTES`].
        limit: usize,
    },
    /// An input of another shape than the pixels and the model ask for.
    #[error("{input} has shape {got:?}, expected {expected:?}")]
    InputShape {
        /// Its name.
        input: &'static str,
        /// [B, N] over the patches, or [B, S] over all tokens.
        expected: Vec<usize>,
        /// What was given.
        got: Vec<usize>,
    },
    /// An input that this model, or this use of it, does not take.
    #[error("{model_type} takes no {input} here")]
    InputNotTaken {
        /// Its name.
        input: &'static str,
        /// `config.model_type`.
        model_type: &'static str,
    },
    /// `bool_masked_pos` for a checkpoint without `mask_token`.
    #[error("bool_masked_pos needs a mask token, and the checkpoint has none")]
    NoMaskToken,
    /// A stage that the model does not have.
    #[error("no stage {stage}: the model has {stages}, 0 is the stem")]
    NoStage {
        /// Its index.
        stage: usize,
        /// Stages, the stem included.
        stages: usize,
    },
    /// Stages out of order, or one of them twice: feature maps come in ascending order, each once.
    #[error("stages {stages:?} are not in ascending order, each once")]
    StageOrder {
        /// Their indices, as they were given.
        stages: Vec<usize>,
    },
    /// A backbone without a stage would give no map.
    #[error("no stage is chosen: a backbone needs at least one")]
    NoStageChosen,
    /// Class tokens were asked of a backbone that has none to give.
    #[error("a {model_type} backbone gives no class tokens")]
    NoClassTokens {
        /// `config.model_type`.
        model_type: &'static str,
    },
    /// The final norm is not in the checkpoint, which was saved as a backbone.
    #[error(
        "the checkpoint has no final norm `layer_norm`: it was saved as a backbone, and can only be used as one"
    )]
    NoFinalNorm,
    /// An augmentation of RoPE's coordinates that nothing can be drawn for, in train mode.
    #[error(
        "config key `{key}` is {got}, which train mode cannot draw from: it must be at least {least}, or null"
    )]
    Augmentation {
        /// `pos_embed_shift`, `pos_embed_jitter` or `pos_embed_rescale`.
        key: &'static str,
        /// The smallest value.
        least: f64,
        /// Its value.
        got: f64,
    },
    /// Labels that do not fit the logits or the problem type.
    #[error("labels of shape {got:?} ({kind}) do not fit logits of shape {logits:?} for {problem_type}")]
    Labels {
        /// `integers` or `floats`.
        kind: &'static str,
        /// Their shape.
        got: Vec<usize>,
        /// [B, labels].
        logits: Vec<usize>,
        /// Transformers' name of it.
        problem_type: &'static str,
    },
    /// A label that is no class.
    #[error(
        "label {label} of item {item} is out of range: the classifier has {classes} classes, and −100 is ignored"
    )]
    LabelOutOfRange {
        /// The item.
        item: usize,
        /// Its label.
        label: i64,
        /// Classes.
        classes: usize,
    },
    /// The forward was stopped by its [`crate::Interrupt`].
    #[error("the forward was stopped")]
    Interrupted,
    /// Attentions were asked of a model that has none.
    #[error("a {model_type} model has no attentions")]
    NoAttentions {
        /// `config.model_type`.
        model_type: &'static str,
    },
}
