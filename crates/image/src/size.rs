//! The `size` forms of a processor config, and the output size of each.
//!
//! Rules and roundings are those of Transformers 5.24.0 (`image_transforms.py`, `TorchvisionBackend.resize`): sides
//! are computed in f64 and truncated, never rounded, except the capped short side, which rounds half to even.
//! `{longest_edge}` and `{min_pixels, max_pixels}` are valid forms that no resize of these processors can carry out.

use crate::ImageError;

/// A processor's `size`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Size {
    /// `{height, width}`: exactly this, whatever the aspect ratio.
    Exact {
        /// Rows.
        height: usize,
        /// Columns.
        width: usize,
    },
    /// `{shortest_edge}`: the short side becomes this, the aspect ratio is kept.
    ShortestEdge(usize),
    /// `{shortest_edge, longest_edge}`: the same, but the long side never exceeds `longest_edge`.
    ShortestLongestEdge {
        /// Wanted short side.
        shortest_edge: usize,
        /// Largest long side.
        longest_edge: usize,
    },
    /// `{max_height, max_width}`: the largest size of this aspect ratio that fits; may enlarge.
    MaxHeightWidth {
        /// Largest height.
        max_height: usize,
        /// Largest width.
        max_width: usize,
    },
    /// `{longest_edge}`: valid in a config, an error in a resize (as in Transformers).
    LongestEdge(usize),
    /// `{min_pixels, max_pixels}`: valid in a config, an error in a resize (as in Transformers).
    MinMaxPixels {
        /// Fewest pixels.
        min_pixels: usize,
        /// Most pixels.
        max_pixels: usize,
    },
}

impl Size {
    /// The size `(height, width)` that a picture of `height × width` is resized to.
    ///
    /// # Errors
    /// [`ImageError::BadOption`] for a form that cannot be resized to, a zero in the form, or a side that
    /// becomes 0.
    pub fn output(self, height: usize, width: usize) -> Result<(usize, usize), ImageError> {
        let (h, w) = match self {
            Self::Exact { height, width } => (height, width),
            Self::ShortestEdge(edge) => shortest(edge, height, width),
            Self::ShortestLongestEdge { shortest_edge: 0, .. }
            | Self::ShortestLongestEdge { longest_edge: 0, .. } => (0, 0),
            Self::ShortestLongestEdge { shortest_edge, longest_edge } => {
                capped(shortest_edge, longest_edge, height, width)
            }
            Self::MaxHeightWidth { max_height, max_width } => {
                let scale = (max_height as f64 / height as f64).min(max_width as f64 / width as f64);
                ((height as f64 * scale) as usize, (width as f64 * scale) as usize)
            }
            Self::LongestEdge(_) => return Err(bad("longest_edge alone gives no size to resize to")),
            Self::MinMaxPixels { .. } => {
                return Err(bad("min_pixels and max_pixels give no size to resize to"));
            }
        };
        if h == 0 || w == 0 {
            return Err(bad(&format!("a {width}x{height} picture would become {w}x{h}")));
        }
        Ok((h, w))
    }
}

fn bad(reason: &str) -> ImageError {
    ImageError::BadOption { option: "size", reason: reason.to_owned() }
}

/// Short side = `edge`, long side = int(edge · long / short).
fn shortest(edge: usize, height: usize, width: usize) -> (usize, usize) {
    let (short, long) = (height.min(width), height.max(width));
    let long = (edge as f64 * long as f64 / short as f64) as usize;
    if width <= height { (long, edge) } else { (edge, long) }
}

/// `get_size_with_aspect_ratio`.
fn capped(edge: usize, longest: usize, height: usize, width: usize) -> (usize, usize) {
    let (min, max) = (height.min(width) as f64, height.max(width) as f64);
    let (mut short, mut scaled) = (edge, edge as f64);
    if max / min * edge as f64 > longest as f64 {
        scaled = longest as f64 * min / max;
        short = scaled.round_ties_even() as usize;
    }
    if height.min(width) == short {
        (height, width)
    } else if width < height {
        ((scaled * height as f64 / width as f64) as usize, short)
    } else {
        (short, (scaled * width as f64 / height as f64) as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_long_side_is_truncated() {
        // (height, width) in → out, from Transformers 5.24.0.
        for (input, want) in [
            ((480, 640), (256, 341)),
            ((333, 500), (256, 384)),
            ((500, 333), (384, 256)),
            ((320, 640), (256, 512)),
            ((512, 686), (256, 343)),
            ((256, 256), (256, 256)),
            ((65535, 1), (16_776_960, 256)),
        ] {
            assert_eq!(Size::ShortestEdge(256).output(input.0, input.1).unwrap(), want, "{input:?}");
        }
    }

    #[test]
    fn forms_without_a_size_are_errors() {
        for size in [
            Size::LongestEdge(256),
            Size::MinMaxPixels { min_pixels: 1, max_pixels: 9 },
            Size::Exact { height: 0, width: 8 },
            Size::ShortestEdge(0),
            Size::MaxHeightWidth { max_height: 4, max_width: 4 },
            Size::ShortestLongestEdge { shortest_edge: 0, longest_edge: 4 },
        ] {
            assert!(
                matches!(size.output(1, 1000), Err(ImageError::BadOption { option: "size", .. })),
                "{size:?}"
            );
        }
    }
}
