//! The common JPEG, faster: one baseline scan, grey or YCbCr 4:4:4, 4:2:2 or 4:2:0, whole and without a fault.
//!
//! Every other file, and one in which anything is odd, is left to libjpeg ([`super::jpeg`]), which decides what it is worth. So this
//! decoder has no errors: it gives the pixels that libjpeg gives, to the bit, or nothing. All is integer arithmetic: the same
//! inverse DCT (`jidctint.c`), triangle upsampling (`jdsample.c`) and colour conversion (`jdcolor.c`) as libjpeg-turbo's.
//! Each row of MCUs goes from bits to coefficients to samples to RGB while it is in the cache. The loops are plain Rust that
//! the compiler vectorises, run by `pulp` compiled for the best instruction set.

mod header;
mod huffman;
mod idct;
mod planes;
mod rgb;
mod scan;

use pulp::Arch;

use super::jpeg_header::Frame;
use crate::Rgb8;

/// Decodes a file whose frame has passed the limits; `None` when it is not one for this decoder.
pub(super) fn decode(arch: Arch, bytes: &[u8], frame: &Frame) -> Option<Rgb8> {
    let header = header::read(bytes)?;
    if (header.width, header.height) != (usize::from(frame.width), usize::from(frame.height)) {
        return None;
    }
    let mut data = vec![0; header.width * header.height * 3];
    arch.dispatch(scan::Scan { header: &header, out: &mut data })?;
    Rgb8::from_raw(header.width, header.height, data).ok()
}

#[cfg(test)]
mod tests;
