//! torch's nearest-exact: output i takes input min(⌊(i + 0.5) · scale⌋, n_in − 1), scale = n_in / n_out in f32.
//!
//! The same for bytes and floats; only the rows and columns of the window are visited.
//! Source: ATen `UpSample.h` (`nearest_neighbor_exact_compute_source_index`).

use std::ops::Range;

use crate::resize_u8::Target;

/// The inputs of the outputs in `window`.
fn sources(input: usize, output: usize, window: Range<usize>) -> Vec<usize> {
    let scale = input as f32 / output as f32;
    window.map(|i| (((i as f32 + 0.5) * scale).floor() as usize).min(input - 1)).collect()
}

/// The window of a nearest resize of `height × width × channels` interleaved samples.
pub(crate) fn resize<T: Copy>(source: &[T], shape: (usize, usize, usize), target: &Target) -> Vec<T> {
    let (height, width, channels) = shape;
    let columns = sources(width, target.width, target.columns.clone());
    let mut out = Vec::with_capacity(target.rows.len() * columns.len() * channels);
    for y in sources(height, target.height, target.rows.clone()) {
        let row = &source[y * width * channels..][..width * channels];
        for &x in &columns {
            out.extend_from_slice(&row[x * channels..][..channels]);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn enlarging_and_reducing_take_torchs_samples() {
        // torch.nn.functional.interpolate(torch.arange(5.)[None, None], size=n, mode="nearest-exact")
        assert_eq!(sources(5, 8, 0..8), [0, 0, 1, 2, 2, 3, 4, 4]);
        assert_eq!(sources(5, 3, 0..3), [0, 2, 4]);
        assert_eq!(sources(5, 2, 0..2), [1, 3]);
    }

    #[test]
    fn a_window_is_a_part_of_the_whole() {
        assert_eq!(sources(1000, 341, 58..282), sources(1000, 341, 0..341)[58..282]);
    }
}
