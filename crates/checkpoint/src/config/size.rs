//! A height and a width: `image_size` and `patch_size` of the configs, given as one number or as a pair.
//!
//! One number is both sides; a pair is height, then width. Sides are at least 1 and within the limit that the field has.
//! Source: `configuration_dinov2.py` and its siblings, Transformers 5.24.0.

use std::fmt;

use serde_json::Value;

use crate::error::CheckpointError;
use crate::json::{self, Fields};

/// A height and a width, in pixels or in patches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Size2 {
    /// The vertical extent.
    pub height: usize,
    /// The horizontal extent.
    pub width: usize,
}

impl Size2 {
    /// The same extent both ways.
    pub const fn square(side: usize) -> Self {
        Self { height: side, width: side }
    }

    /// How it is written in JSON: one number when both are equal, else `[height, width]`.
    pub(crate) fn json(self) -> String {
        match self.height == self.width {
            true => self.height.to_string(),
            false => format!("[{}, {}]", self.height, self.width),
        }
    }

    /// Reads a number, or a list of height and width, each from 1 to `max`.
    pub(crate) fn read(
        fields: &Fields<'_>,
        key: &str,
        default: Self,
        max: usize,
    ) -> Result<Self, CheckpointError> {
        let Some(value) = fields.get(key) else { return Ok(default) };
        let range = 1..=max;
        let size = match value {
            Value::Array(_) => {
                json::list(value, |item| json::int(item, &range)).and_then(|list| match list[..] {
                    [height, width] => Some(Self { height, width }),
                    _ => None,
                })
            }
            other => json::int(other, &range).map(Self::square),
        };
        size.ok_or_else(|| {
            fields.invalid(
                key,
                format!("an integer from 1 to {max}, or a list of two (height, width)"),
                value,
            )
        })
    }
}

impl fmt::Display for Size2 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}x{}", self.height, self.width)
    }
}
