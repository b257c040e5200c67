//! Pictures for dinoxide: bytes → oriented RGB pixels → `pixel_values`.
//!
//! 1. [`decode`] and [`decode_file`] read JPEG, PNG, WebP, GIF, BMP and TIFF, told apart by content, under named
//!    [`Limits`], turned upright by EXIF or XMP, as Transformers' `load_image` does (Pillow's `convert("RGB")`).
//! 2. [`process`] and [`process_array`] follow a [`ProcessorSpec`]: every option of `BitImageProcessor` and
//!    `DINOv3ViTImageProcessor` (Transformers 5.24.0, torchvision backend). Only what the crop keeps is computed.
//!
//! The crate knows nothing of checkpoints or models.
//!
//! # Limits
//!
//! Every limit is a field, is checked before memory is taken, and is named by [`ImageError::LimitExceeded`].
//!
//! | limit | of | default | bounds |
//! | --- | --- | --- | --- |
//! | `max_width`, `max_height` | [`Limits`] | 131072 | sides of a picture file |
//! | `max_pixels` | [`Limits`] | 250 million | its pixels |
//! | `max_bytes` | [`Limits`] | 2 GiB | its decoded memory, copies included |
//! | `max_file_bytes` | [`Limits`] | 1 GiB | the file |
//! | `max_unproven_pixels` | [`Limits`] | 2²² | pixels of a file shorter than the format's best compression allows |
//! | `max_jpeg_scans` | [`Limits`] | 500 | scans of a JPEG |
//! | `max_jpeg_work` | [`Limits`] | 2³⁰ | pixels times scans after the twentieth of a JPEG |
//! | `max_output_pixels` | [`ProcessorSpec`] | 2²⁶ | pixels after crop or pad |
//! | `max_resized_side` | [`ProcessorSpec`] | 2³⁰ | a side before the crop |
//! | `max_resize_bytes` | [`ProcessorSpec`] | 1 GiB | weights of a resize |
//! | `max_resize_work` | [`ProcessorSpec`] | 2³³ | multiply-adds of a resize, each channel |
//!
//! # What Pillow reads and this crate does not
//!
//! Each is an [`ImageError`] that says so, never other pixels.
//!
//! | format | kinds |
//! | --- | --- |
//! | JPEG | arithmetic coding; sides above 65500 pixels (Pillow neither) |
//! | PNG | an unknown critical chunk (the standard says to refuse it) |
//! | BMP | bit fields other than the usual ones |
//! | TIFF | group 3, Huffman, old JPEG, Zstandard, LZMA and WebP compression; CIELab; fill order 2; a predictor without LZW or deflate; two or RGBA samples under JPEG; 12 bits; white-is-zero floats; bytes of signed grey |
//! | any | above `max_unproven_pixels`: files shorter than their picture can be, which Pillow fills with grey |
//!
//! TIFF of 16-bit grey, of big-endian signed or float grey under LZW or deflate, and of 16-bit planes is read by the
//! standard; Pillow saturates the first and swaps or mixes bytes of the others.
//!
//! ```
//! use dinoxide_image::{Normalize, ProcessorSpec, Resample, Resize, Rgb8, Size, process};
//!
//! let picture = Rgb8::from_raw(4, 2, vec![128; 4 * 2 * 3])?.into();
//! let spec = ProcessorSpec {
//!     resize: Some(Resize { size: Size::Exact { height: 8, width: 8 }, resample: Resample::Bilinear }),
//!     rescale: Some(1.0 / 255.0),
//!     normalize: Some(Normalize { mean: vec![0.5], std: vec![0.5] }),
//!     ..ProcessorSpec::default()
//! };
//! let pixel_values = process(&picture, &spec)?;
//! assert_eq!((pixel_values.channels, pixel_values.height, pixel_values.width), (3, 8, 8));
//! # Ok::<(), dinoxide_image::ImageError>(())
//! ```

mod array;
mod crop;
mod decode;
mod error;
mod filters;
mod limits;
mod nearest;
mod normalize;
mod orientation;
mod plan;
mod process;
mod resize_f32;
mod resize_u8;
mod rgb;
mod simd;
mod size;
mod spec;

pub use dinoxide_kernels::Isa;

pub use array::{Layout, PixelArray, Samples};
pub use decode::{DecodeOptions, Format, decode, decode_file};
pub use error::ImageError;
pub use limits::Limits;
pub use process::{PixelValues, process, process_array};
pub use rgb::{Picture, Rgb8};
pub use size::Size;
pub use spec::{DEFAULT_MAX_OUTPUT_PIXELS, HeightWidth, Normalize, Order, ProcessorSpec, Resample, Resize};
