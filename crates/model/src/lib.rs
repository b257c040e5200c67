//! The DINOv2 and DINOv3 models: `layers` shared by all, one short file a family in `families`.
//!
//! ```text
//! pixel_values [B,C,H,W] ─ patches ─► tokens [B,S,D] ─ layers ─► norm ─► last_hidden_state, pooler_output
//! ```

mod error;
mod families;
mod layers;
mod memory;
mod model;
mod outputs;
mod pixels;
mod shape;
mod weights;

pub use error::ModelError;
pub use memory::{MAX_ATTENTION_BYTES, MAX_PATCHES};
pub use model::Model;
pub use outputs::{Inputs, Outputs};
pub use shape::Grid;
