//! The values that options take, and how they are spelled.

use clap::ValueEnum;
use std::{fmt, str::FromStr};

/// Largest side of `--size`, in pixels: more than any model here was made for, and its square still counts in 32 bits.
pub(crate) const MAX_SIDE: usize = 16_384;

/// A height and a width in pixels: `224`, or `HEIGHTxWIDTH`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Size {
    pub(crate) height: usize,
    pub(crate) width: usize,
}

impl FromStr for Size {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let side = |text: &str| {
            text.parse().ok().filter(|side| (1..=MAX_SIDE).contains(side)).ok_or_else(|| {
                format!("expected a side or HEIGHTxWIDTH in pixels, each from 1 to {MAX_SIDE}, such as 224 or 224x448")
            })
        };
        match text.split_once(['x', 'X', '×']) {
            Some((height, width)) => Ok(Self { height: side(height)?, width: side(width)? }),
            None => side(text).map(|side| Self { height: side, width: side }),
        }
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}x{}", self.height, self.width)
    }
}

/// What the model computes in.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Dtype {
    /// The file's own; f16 and bf16 files are computed in f32.
    #[default]
    Auto,
    /// 32-bit floats.
    F32,
}

impl FromStr for Dtype {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "auto" => Ok(Self::Auto),
            "f32" => Ok(Self::F32),
            "bf16" | "f16" | "int8" | "int4" => {
                Err("cannot be computed in yet: use `f32`, or `auto` (which reads f16 and bf16 files as f32)"
                    .to_owned())
            }
            _ => Err("expected `auto` or `f32`".to_owned()),
        }
    }
}

/// How attention is computed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Attn {
    /// Streaming softmax: memory linear in the tokens
    #[default]
    Sdpa,
    /// The whole matrix of probabilities: memory quadratic in the tokens
    Eager,
}

/// Which tokens make an embedding.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Pool {
    /// `pooler_output`: the CLS token after the final norm
    #[default]
    Cls,
    /// The mean of the patch tokens
    Mean,
    /// Both, one after the other
    #[value(name = "cls+mean")]
    ClsMean,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_size_is_a_side_or_height_by_width() {
        assert_eq!("224".parse(), Ok(Size { height: 224, width: 224 }));
        assert_eq!("70x140".parse(), Ok(Size { height: 70, width: 140 }));
        for wrong in ["", "0", "x", "224x", "x224", "-1", "1.5", "99999999999999999999", "16385", "2x3x4"] {
            assert!(wrong.parse::<Size>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_number_format_of_later_is_told_from_nonsense() {
        assert!("int8".parse::<Dtype>().unwrap_err().contains("yet"));
        assert!("f8".parse::<Dtype>().unwrap_err().contains("expected"));
    }
}
