//! Names of tensors: from whatever spelling a file uses to the one that the rest of the project uses.
//!
//! The canonical name is the bare hub name (`encoder.layer.0.norm1.weight`), see `layout`. Each convention of naming
//! is a module here with one function from a file's name to a `Place`: `hub` knows the files that Transformers writes, old
//! and new. A file's tensor may be a part of a canonical one (SwiGLU's two halves), which `Place::part` says.

use crate::config::Family;

mod hub;

/// Where a file's tensor belongs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Place {
    /// The canonical name.
    pub(crate) name: String,
    /// Which of the canonical tensor's parts along axis 0 it is.
    pub(crate) part: Part,
}

/// One of `count` equal parts along axis 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Part {
    /// Place among the parts, in row order.
    pub(crate) index: usize,
    /// How many parts make the whole.
    pub(crate) count: usize,
}

impl Part {
    /// The tensor itself.
    pub(crate) const WHOLE: Self = Self { index: 0, count: 1 };
}

/// A convention of naming the tensors of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Convention {
    /// Transformers' files, with the names of version 4 or 5.
    Hub(Family),
}

impl Convention {
    /// Where the tensor that a file calls `file_name` belongs.
    pub(crate) fn place(self, file_name: &str) -> Place {
        match self {
            Self::Hub(family) => hub::place(family, file_name),
        }
    }

    /// The file's name of part `index` of the tensor that has `file_name` as another of its parts.
    pub(crate) fn sibling(self, file_name: &str, index: usize) -> String {
        match self {
            Self::Hub(_) => hub::sibling(file_name, index),
        }
    }
}
