//! Weights that do not fit their config: one error that lists every missing and misshapen tensor.
//!
//! The message names the tensors by their full names in the file, up to a bound; the fields hold all of them. Two causes
//! are common and get words of their own: a position table of another grid, and a patch kernel of another size.

use std::fmt;
use std::path::PathBuf;

use crate::config::Size2;

/// Tensors of one kind that a message names before it says "and n more".
const SHOWN: usize = 12;

/// A tensor that the config asks for and the weights do not have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MissingTensor {
    /// Its name, as the file's other tensors would spell it.
    pub name: String,
    /// Its shape.
    pub shape: Vec<usize>,
}

/// A tensor whose shape is not the one that the config asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShapeMismatch {
    /// Its name in the file.
    pub name: String,
    /// The shape that the config asks for.
    pub expected: Vec<usize>,
    /// The shape in the file.
    pub got: Vec<usize>,
}

/// The numbers of a position table that does not fit the config.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PositionTableMismatch {
    /// `image_size` of the config, in pixels.
    pub image_size: Size2,
    /// `patch_size` of the config, in pixels.
    pub patch_size: Size2,
    /// Entries that the config asks for: CLS and one a patch.
    pub expected: usize,
    /// Entries in the file.
    pub got: usize,
}

/// The numbers of a patch kernel that does not fit the config.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PatchKernelMismatch {
    /// `patch_size` of the config, in pixels.
    pub patch_size: Size2,
    /// The kernel's size in the file, in pixels.
    pub kernel: Size2,
}

/// All the ways in which weights do not fit a config.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LayoutMismatch {
    /// The weights: a file, or the folder of several.
    pub path: PathBuf,
    /// Tensors that are not there.
    pub missing: Vec<MissingTensor>,
    /// Tensors of another shape.
    pub misshapen: Vec<ShapeMismatch>,
    /// The position table, when it is among `misshapen` because its grid differs.
    pub position_table: Option<PositionTableMismatch>,
    /// The patch kernel, when it is among `misshapen` because its size differs.
    pub patch_kernel: Option<PatchKernelMismatch>,
}

impl std::error::Error for LayoutMismatch {}

impl fmt::Display for LayoutMismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the weights in `{}` do not fit config.json", self.path.display())?;
        if let Some(kernel) = &self.patch_kernel {
            write!(f, "; config patch_size {}, patch kernel {}", kernel.patch_size, kernel.kernel)?;
        }
        if let Some(table) = &self.position_table {
            write!(f, "; {table}")?;
        }
        if !self.missing.is_empty() {
            write!(f, "; missing: ")?;
            some(f, &self.missing, |f, tensor| write!(f, "`{}` {:?}", tensor.name, tensor.shape))?;
        }
        if !self.misshapen.is_empty() {
            write!(f, "; wrong shape: ")?;
            some(f, &self.misshapen, |f, tensor| {
                write!(f, "`{}` (expected {:?}, got {:?})", tensor.name, tensor.expected, tensor.got)
            })?;
        }
        Ok(())
    }
}

impl fmt::Display for PositionTableMismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (rows, cols) =
            (self.image_size.height / self.patch_size.height, self.image_size.width / self.patch_size.width);
        write!(
            f,
            "config image_size {} and patch_size {} make a grid of {rows}x{cols}, {} positions with CLS, \
             but the position table has {}",
            self.image_size, self.patch_size, self.expected, self.got
        )?;
        let patches = self.got.saturating_sub(1);
        let side = patches.isqrt();
        if side > 0 && side * side == patches {
            write!(f, " (a grid of {side}x{side})")?;
        }
        Ok(())
    }
}

/// Writes the first `SHOWN` items, then how many more there are.
fn some<T>(
    f: &mut fmt::Formatter<'_>,
    items: &[T],
    write_one: impl Fn(&mut fmt::Formatter<'_>, &T) -> fmt::Result,
) -> fmt::Result {
    for (index, item) in items.iter().take(SHOWN).enumerate() {
        if index > 0 {
            write!(f, ", ")?;
        }
        write_one(f, item)?;
    }
    match items.len().saturating_sub(SHOWN) {
        0 => Ok(()),
        more => write!(f, " and {more} more"),
    }
}
