//! What a command works on: picture files, or tensors in their place.

mod collect;
mod feed;
mod list;
mod pixel_values;

pub(crate) use collect::collect;
pub(crate) use feed::Source;
use pixel_values::PixelValues;
