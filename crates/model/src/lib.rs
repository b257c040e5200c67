//! The DINOv2 and DINOv3 models: `layers` shared by all, one short file a family in `families`.
//!
//! ```text
//! pixel_values [B,C,H,W] ─ patches ─► tokens [B,S,D] ─ layers ─► norm ─► last_hidden_state, pooler_output
//! ```

mod backbone;
mod classifier;
mod draws;
mod error;
mod families;
mod inputs;
mod interrupt;
mod layers;
mod loss;
mod memory;
mod model;
mod outputs;
mod pixels;
mod precision;
mod quantize;
mod record;
mod shape;
mod train;
mod weights;

pub use backbone::{BackboneOptions, BackboneOutputs};
pub use classifier::Classifier;
pub use draws::{DrawPlace, Draws, SeededDraws};
pub use error::ModelError;
pub use inputs::{Inputs, OutputHiddenStates};
pub use interrupt::Interrupt;
pub use loss::{IGNORED_LABEL, Labels, loss, loss_over};
pub use memory::{MAX_ATTENTION_BYTES, MAX_PATCHES};
pub use model::Model;
pub use outputs::{HiddenStates, Outputs};
pub use precision::{LinearPrecision, Precision, PrecisionNote};
pub use quantize::{QuantizedLinear, quantize};
pub use shape::Grid;
