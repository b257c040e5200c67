//! What a command works on: picture files, or tensors in their place.
//!
//! `collect` finds files (with `list` for stdin), `opener` decodes them, `fit` tells a processor that makes them too small,
//! `pixel_values` reads tensors, `feed` runs the model on either. Everything read here is untrusted: limits are met before memory is taken, and no pipe is waited for.

mod collect;
mod feed;
mod fit;
mod list;
mod opener;
mod pixel_values;

pub(crate) use collect::collect;
pub(crate) use feed::{Fed, Source, spare};
pub(crate) use fit::{check_fit, made_of};
pub(crate) use opener::{Opened, Opener};
use pixel_values::PixelValues;
