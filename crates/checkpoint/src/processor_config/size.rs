//! The forms in which a processor config gives a size.
//!
//! A number n is a square, or the shortest edge where `default_to_square` is off; a list is height and width; an object has
//! one of six sets of keys. A zero or null `longest_edge` beside a `shortest_edge` counts as not given.
//! Source: `image_processing_utils.py: get_size_dict`, `VALID_SIZE_DICT_KEYS` of Transformers 5.24.0.

use serde_json::{Map, Value};

use crate::error::CheckpointError;
use crate::json::{self, Fields};
use crate::limits::MAX_PROCESSOR_SIDE;

/// A size to resize, crop or pad to, in pixels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SizeSpec {
    /// Exactly this, whatever the picture's shape.
    HeightWidth {
        /// Rows.
        height: usize,
        /// Columns.
        width: usize,
    },
    /// The shorter side becomes this; the shape is kept.
    ShortestEdge {
        /// The shorter side.
        shortest_edge: usize,
    },
    /// As `ShortestEdge`, but smaller where the longer side would pass its bound.
    ShortestLongestEdge {
        /// The shorter side.
        shortest_edge: usize,
        /// The most that the longer side may have.
        longest_edge: usize,
    },
    /// A valid form that cannot be resized to.
    LongestEdge {
        /// The longer side.
        longest_edge: usize,
    },
    /// As large as fits; the shape is kept.
    MaxHeightWidth {
        /// Most rows.
        max_height: usize,
        /// Most columns.
        max_width: usize,
    },
    /// A valid form that cannot be resized to.
    PixelBounds {
        /// Least rows × columns.
        min_pixels: usize,
        /// Most rows × columns.
        max_pixels: usize,
    },
}

impl SizeSpec {
    /// What a single number means.
    pub fn from_number(side: usize, square: bool) -> Self {
        match square {
            true => Self::HeightWidth { height: side, width: side },
            false => Self::ShortestEdge { shortest_edge: side },
        }
    }

    pub(super) fn read(
        fields: &Fields<'_>,
        key: &str,
        default: Option<Self>,
        square: bool,
    ) -> Result<Option<Self>, CheckpointError> {
        let value = match fields.get(key) {
            None => return Ok(default),
            Some(Value::Null) => return Ok(None),
            Some(value) => value,
        };
        let size = match value {
            Value::Array(_) => match json::list(value, side).as_deref() {
                Some(&[height, width]) => Some(Self::HeightWidth { height, width }),
                _ => None,
            },
            Value::Object(map) => Self::from_object(map),
            number => side(number).map(|side| Self::from_number(side, square)),
        };
        size.map(Some).ok_or_else(|| fields.refuse(key, expected(), describe(value)))
    }

    fn from_object(map: &Map<String, Value>) -> Option<Self> {
        let mut keys: Vec<&str> = map.keys().map(String::as_str).collect();
        keys.sort_unstable();
        match keys[..] {
            ["height", "width"] => {
                Some(Self::HeightWidth { height: side(&map["height"])?, width: side(&map["width"])? })
            }
            ["shortest_edge"] => Some(Self::ShortestEdge { shortest_edge: side(&map["shortest_edge"])? }),
            ["longest_edge"] => Some(Self::LongestEdge { longest_edge: side(&map["longest_edge"])? }),
            ["longest_edge", "shortest_edge"] => {
                let shortest_edge = side(&map["shortest_edge"])?;
                match &map["longest_edge"] {
                    longest if is_absent(longest) => Some(Self::ShortestEdge { shortest_edge }),
                    longest => {
                        Some(Self::ShortestLongestEdge { shortest_edge, longest_edge: side(longest)? })
                    }
                }
            }
            ["max_height", "max_width"] => Some(Self::MaxHeightWidth {
                max_height: side(&map["max_height"])?,
                max_width: side(&map["max_width"])?,
            }),
            ["max_pixels", "min_pixels"] => Some(Self::PixelBounds {
                min_pixels: pixels(&map["min_pixels"])?,
                max_pixels: pixels(&map["max_pixels"])?,
            }),
            _ => None,
        }
    }
}

fn side(value: &Value) -> Option<usize> {
    json::int(value, &(1..=MAX_PROCESSOR_SIDE))
}

fn pixels(value: &Value) -> Option<usize> {
    json::int(value, &(1..=MAX_PROCESSOR_SIDE * MAX_PROCESSOR_SIDE))
}

fn is_absent(value: &Value) -> bool {
    value.is_null() || value.as_f64() == Some(0.0)
}

fn expected() -> String {
    format!(
        "null, an integer, a list of two, or an object with the keys height and width, shortest_edge, shortest_edge and \
         longest_edge, longest_edge, max_height and max_width, or min_pixels and max_pixels (sides from 1 to \
         {MAX_PROCESSOR_SIDE})"
    )
}

/// Objects are small here, so the message can show the whole of one.
fn describe(value: &Value) -> String {
    match value {
        Value::Object(map) => {
            let entries: Vec<String> = map
                .iter()
                .take(4)
                .map(|(key, value)| format!("{key:.20}: {}", json::describe(value)))
                .collect();
            format!("{{{}}}", entries.join(", "))
        }
        other => json::describe(other),
    }
}
