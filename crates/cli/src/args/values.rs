//! The values that options take, and how they are spelled.
//!
//! Each type reads one value and says what it expects.
//! What a value means for a command is decided elsewhere.

use clap::ValueEnum;
use dinoxide::Precision;
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

/// A colour: `white`, `black`, or `#rrggbb`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Colour(pub(crate) [u8; 3]);

impl FromStr for Colour {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let hex = |text: &str| {
            let digits = text.strip_prefix('#').filter(|digits| digits.len() == 6)?;
            // A sign, which numbers may have, is no digit of a colour.
            let digits = Some(digits).filter(|digits| digits.bytes().all(|byte| byte.is_ascii_hexdigit()))?;
            let [_, red, green, blue] = u32::from_str_radix(digits, 16).ok()?.to_be_bytes();
            Some(Self([red, green, blue]))
        };
        match text {
            "white" => Ok(Self([255; 3])),
            "black" => Ok(Self([0; 3])),
            text => hex(text).ok_or_else(|| "expected `white`, `black` or `#rrggbb`".to_owned()),
        }
    }
}

/// What the weights of linear layers are held and multiplied in; nothing is `auto`, the file's own.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Dtype(pub(crate) Option<Precision>);

/// The names of [`Dtype`], as an error lists them.
const DTYPES: &str = "`auto`, `f32`, `bf16`, `f16`, `int8`, `int4` or `int4-a8`";

/// Most inputs of a group of 4-bit weights: the widest layer there can be.
const MAX_GROUP_SIZE: usize = 1 << 20;

impl FromStr for Dtype {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "auto" => Ok(Self(None)),
            name => {
                name.parse().map(|precision| Self(Some(precision))).map_err(|_| format!("expected {DTYPES}"))
            }
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

/// What makes scores of logits.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Function {
    /// By the config: nothing for regression, sigmoid for several labels or one, else softmax
    #[default]
    Auto,
    /// Scores add up to 1
    Softmax,
    /// Each from 0 to 1
    Sigmoid,
    /// The logits as they are
    None,
}

/// Which hidden states: all of them, or those at some places.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Places {
    All,
    /// Negative ones count from the end.
    Only(Vec<i64>),
}

impl FromStr for Places {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "all" {
            return Ok(Self::All);
        }
        let places: Result<_, _> = text.split(',').map(|place| place.trim().parse()).collect();
        places.map(Self::Only).map_err(|_| "expected whole numbers, such as `0,-1`, or `all`".to_owned())
    }
}

/// What a checkpoint can be quantised to.
pub(super) fn lower_precision(text: &str) -> Result<Precision, String> {
    let lower = text.parse().ok().filter(|precision| *precision != Precision::F32);
    lower.ok_or_else(|| "expected `bf16`, `f16`, `int8`, `int4` or `int4-a8`".to_owned())
}

/// Inputs of a group.
pub(super) fn group_size(text: &str) -> Result<usize, String> {
    text.parse()
        .ok()
        .filter(|size| (1..=MAX_GROUP_SIZE).contains(size))
        .ok_or_else(|| format!("expected a whole number from 1 to {MAX_GROUP_SIZE}"))
}

/// A whole number from 1.
pub(super) fn at_least_one(text: &str) -> Result<usize, String> {
    text.parse().ok().filter(|&n| n > 0).ok_or_else(|| "expected a whole number from 1".to_owned())
}

/// A whole number from 0.
pub(super) fn at_least_zero(text: &str) -> Result<usize, String> {
    text.parse().map_err(|_| "expected a whole number, 0 or more".to_owned())
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
    fn a_colour_is_a_name_or_six_digits() {
        assert_eq!("white".parse(), Ok(Colour([255, 255, 255])));
        assert_eq!("black".parse(), Ok(Colour([0, 0, 0])));
        assert_eq!("#0a80FF".parse(), Ok(Colour([10, 128, 255])));
        for wrong in ["", "#", "ffffff", "#fff", "#fffffff", "#gggggg", "#+fffff", "#ff ff0", "#ééé", "red"]
        {
            assert!(wrong.parse::<Colour>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn places_are_a_list_of_numbers_or_all() {
        assert_eq!("all".parse(), Ok(Places::All));
        assert_eq!("0,-1".parse(), Ok(Places::Only(vec![0, -1])));
        assert_eq!("0, -1".parse(), Ok(Places::Only(vec![0, -1])));
        for wrong in ["", "0,", "first", "1.5", "0 1"] {
            assert!(wrong.parse::<Places>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_number_format_is_auto_or_a_precision() {
        assert_eq!("auto".parse(), Ok(Dtype(None)));
        assert_eq!("int8".parse(), Ok(Dtype(Some(Precision::Int8))));
        for wrong in ["f8", "", "INT8", "int4_a8"] {
            assert!(wrong.parse::<Dtype>().unwrap_err().contains("`int4-a8`"), "{wrong}");
        }
        assert!(lower_precision("f32").is_err() && lower_precision("bf16").is_ok());
        assert!(group_size("0").is_err() && group_size("1048577").is_err() && group_size("32") == Ok(32));
    }
}
