//! GIF through the `gif` crate: the first frame on its canvas, as Pillow shows it.
//!
//! The canvas is the screen, enlarged when the frame reaches over its edge, filled with the transparent index (0 without
//! one). A transparent index stays visible as its palette colour, which becomes the picture's colour key. A frame
//! without any palette is an error of the crate. Indices outside the palette are black. As Pillow, a palette of the frame that holds the
//! plain grey ramp gives way to the file's, when there is one.

use gif::{ColorOutput, DecodingError, MemoryLimit};

use super::alpha::over;
use super::{DecodeOptions, Decoded, PIXEL_BYTES};
use crate::orientation::Orientation;
use crate::{Format, ImageError, Rgb8};

/// Pixels that a byte can hold at most: a code of 12 bits stands for a string of at most 4096.
const MAX_PIXELS_A_BYTE: u64 = 4096 * 8 / 12;

/// Where the first frame lies on its canvas.
struct Frame {
    left: usize,
    top: usize,
    width: usize,
    height: usize,
    /// The transparent index.
    transparent: Option<u8>,
    /// Colours of the 256 indices.
    palette: Vec<[u8; 3]>,
    /// `height · width` indices.
    indices: Vec<u8>,
}

pub(super) fn decode(bytes: &[u8], options: &DecodeOptions) -> Result<Decoded, ImageError> {
    let mut gif_options = gif::DecodeOptions::new();
    gif_options.set_color_output(ColorOutput::Indexed);
    gif_options.set_memory_limit(MemoryLimit::Unlimited);
    gif_options.allow_unknown_blocks(true);
    let mut decoder = gif_options.read_info(bytes).map_err(failure)?;
    let screen = (usize::from(decoder.width()), usize::from(decoder.height()));
    // An empty screen is no error: the frame makes the canvas.
    options.limits.check(screen.0.max(1) as u64, screen.1.max(1) as u64, PIXEL_BYTES + 1)?;
    let global = decoder.global_palette().map(<[u8]>::to_vec);

    let info = decoder.next_frame_info().map_err(failure)?.ok_or_else(|| corrupt("no picture in it"))?;
    let own = info.palette.as_deref().filter(|palette| !(is_grey_ramp(palette) && global.is_some()));
    let mut frame = Frame {
        left: usize::from(info.left),
        top: usize::from(info.top),
        width: usize::from(info.width),
        height: usize::from(info.height),
        transparent: info.transparent,
        palette: colors(own.or(global.as_deref()).unwrap_or_default()),
        indices: Vec::new(),
    };
    options.limits.check(frame.width as u64, frame.height as u64, PIXEL_BYTES + 1)?;
    let (width, height) = (screen.0.max(frame.left + frame.width), screen.1.max(frame.top + frame.height));
    options.limits.check(width as u64, height as u64, PIXEL_BYTES + 1)?;
    let pixels = width as u64 * height as u64;
    let (size, least) = ((width as u64, height as u64), pixels / MAX_PIXELS_A_BYTE);
    options.limits.plausible(Format::Gif, size, bytes.len() as u64, least)?;
    frame.indices = vec![frame.transparent.unwrap_or(0); frame.width * frame.height];
    let truncated = match decoder.read_into_buffer(&mut frame.indices) {
        Err(error) if !options.tolerant => return Err(failure(error)),
        outcome => outcome.is_err(),
    };

    let pixels = Rgb8::from_raw(width, height, frame.paint(width, height, options.background))?;
    let key = frame.transparent.map(|index| frame.palette[usize::from(index)]);
    let transparent_color = if options.background.is_none() { key } else { None };
    Ok(Decoded { pixels, transparent_color, truncated, orientation: Orientation::UPRIGHT })
}

fn is_grey_ramp(palette: &[u8]) -> bool {
    palette.chunks_exact(3).enumerate().all(|(i, color)| color.iter().all(|&v| usize::from(v) == i))
}

/// The colours of all 256 indices.
fn colors(palette: &[u8]) -> Vec<[u8; 3]> {
    let mut colors: Vec<_> = palette.chunks_exact(3).map(|c| [c[0], c[1], c[2]]).collect();
    colors.resize(256, [0; 3]);
    colors
}

impl Frame {
    /// The canvas as RGB.
    fn paint(&self, width: usize, height: usize, background: Option<[u8; 3]>) -> Vec<u8> {
        let color = |index: u8| {
            let alpha = if self.transparent == Some(index) { 0 } else { 255 };
            over(self.palette[usize::from(index)], alpha, background)
        };
        let mut data: Vec<u8> = color(self.transparent.unwrap_or(0)).repeat(width * height);
        let rows = data.chunks_exact_mut(width * 3).skip(self.top);
        for (row, indices) in rows.zip(self.indices.chunks_exact(self.width)) {
            for (pixel, &index) in row[self.left * 3..].chunks_exact_mut(3).zip(indices) {
                pixel.copy_from_slice(&color(index));
            }
        }
        data
    }
}

fn corrupt(reason: &str) -> ImageError {
    ImageError::Corrupt { format: Format::Gif, reason: reason.to_owned() }
}

fn failure(error: DecodingError) -> ImageError {
    match error {
        DecodingError::Io(_) | DecodingError::UnexpectedEof => ImageError::Truncated {
            format: Format::Gif,
            reason: "the data ends before the picture does".to_owned(),
        },
        other => corrupt(&other.to_string()),
    }
}
