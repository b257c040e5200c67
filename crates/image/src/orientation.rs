//! EXIF orientations and turning pixels by them.
//!
//! | tag | what shows the picture upright (Pillow's `exif_transpose`) |
//! | --- | --- |
//! | 1 | nothing |
//! | 2, 4 | mirror left-right, top-bottom |
//! | 3 | half a turn |
//! | 5, 7 | mirror at the main, the other diagonal |
//! | 6, 8 | a quarter turn clockwise, counter-clockwise |

use crate::Rgb8;

/// An EXIF orientation tag, 1 to 8.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Orientation(u8);

impl Orientation {
    pub(crate) const UPRIGHT: Self = Self(1);

    /// Any other value than 1 to 8 means upright.
    pub(crate) fn from_tag(tag: u32) -> Self {
        u8::try_from(tag).ok().filter(|t| (1..=8).contains(t)).map_or(Self::UPRIGHT, Self)
    }

    /// Shows the picture upright; takes a second buffer only when rows become columns.
    pub(crate) fn apply(self, mut picture: Rgb8) -> Rgb8 {
        let row = picture.width * 3;
        match self.0 {
            2 => picture.data.chunks_exact_mut(row).for_each(mirror_row),
            3 => mirror_row(&mut picture.data),
            4 => flip_rows(&mut picture.data, row),
            5 => return transpose(&picture, false, false),
            6 => return transpose(&picture, true, false),
            7 => return transpose(&picture, true, true),
            8 => return transpose(&picture, false, true),
            _ => {}
        }
        picture
    }
}

/// Reverses the order of pixels.
fn mirror_row(row: &mut [u8]) {
    row.reverse();
    for pixel in row.chunks_exact_mut(3) {
        pixel.swap(0, 2);
    }
}

fn flip_rows(data: &mut [u8], row: usize) {
    let rows = data.len() / row;
    let (top, bottom) = data.split_at_mut(rows / 2 * row);
    for (a, b) in top.chunks_exact_mut(row).zip(bottom.rchunks_exact_mut(row)) {
        a.swap_with_slice(b);
    }
}

/// `out[y][x] = in[±x][±y]`: `from_bottom` reads the source's rows from the last, `from_right` its columns.
fn transpose(picture: &Rgb8, from_bottom: bool, from_right: bool) -> Rgb8 {
    // Squares of this side keep both the rows read and the rows written in the cache.
    const TILE: usize = 32;
    let (width, height) = (picture.height, picture.width);
    let mut data = vec![0; picture.data.len()];
    for top in (0..height).step_by(TILE) {
        for left in (0..width).step_by(TILE) {
            for y in top..(top + TILE).min(height) {
                let column = if from_right { height - 1 - y } else { y };
                for x in left..(left + TILE).min(width) {
                    let source_row = if from_bottom { width - 1 - x } else { x };
                    let (to, from) = ((y * width + x) * 3, (source_row * height + column) * 3);
                    data[to..to + 3].copy_from_slice(&picture.data[from..from + 3]);
                }
            }
        }
    }
    Rgb8 { width, height, data }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A 3×2 picture whose red samples are 0 1 2 / 3 4 5, turned by `tag`: (width, red samples).
    fn turned(tag: u32) -> (usize, Vec<u8>) {
        let data = (0..6u8).flat_map(|v| [v, v + 100, v + 200]).collect();
        let out = Orientation::from_tag(tag).apply(Rgb8 { width: 3, height: 2, data });
        assert!(out.data.chunks_exact(3).all(|p| p[1] == p[0] + 100 && p[2] == p[0] + 200));
        (out.width, out.data.chunks_exact(3).map(|p| p[0]).collect())
    }

    #[test]
    fn every_tag_turns_as_pillow_does() {
        for (tag, width, want) in [
            (1, 3, [0, 1, 2, 3, 4, 5]),
            (2, 3, [2, 1, 0, 5, 4, 3]),
            (3, 3, [5, 4, 3, 2, 1, 0]),
            (4, 3, [3, 4, 5, 0, 1, 2]),
            (5, 2, [0, 3, 1, 4, 2, 5]),
            (6, 2, [3, 0, 4, 1, 5, 2]),
            (7, 2, [5, 2, 4, 1, 3, 0]),
            (8, 2, [2, 5, 1, 4, 0, 3]),
        ] {
            assert_eq!(turned(tag), (width, want.to_vec()), "tag {tag}");
        }
    }

    #[test]
    fn a_tag_outside_1_to_8_leaves_the_picture_alone() {
        for tag in [0, 9, 256 + 6, u32::MAX] {
            assert_eq!(turned(tag), turned(1), "tag {tag}");
        }
    }

    #[test]
    fn turning_back_gives_the_picture_again_across_tile_edges() {
        let data: Vec<u8> = (0..67 * 45 * 3).map(|i| (i * 7 % 251) as u8).collect();
        let picture = Rgb8 { width: 67, height: 45, data };
        for (there, back) in [(5, 5), (6, 8), (7, 7), (8, 6), (3, 3), (4, 4), (2, 2)] {
            let turned = Orientation::from_tag(there).apply(picture.clone());
            assert_eq!(Orientation::from_tag(back).apply(turned), picture, "{there} then {back}");
        }
    }
}
