//! Opens picture files, and says which were not whole.
//!
//! Every file is decoded strictly first. With `--tolerant`, one that turns out to be cut or damaged is decoded again, for
//! what is there of it; so files that are whole cost nothing more, and what is missing is told in the strict decoder's words.

use crate::{args::ProcessorArgs, error::CliError, options};
use dinoxide::{Checkpoint, Error, ImageError, ImageProcessor, Isa};
use ndarray::Array3;
use std::path::Path;

/// A processor, and with `--tolerant` a second one.
#[derive(Debug)]
pub(crate) struct Opener {
    /// Takes whole files only.
    pub(crate) strict: ImageProcessor,
    /// Takes what is there of a file.
    tolerant: Option<ImageProcessor>,
}

/// A picture [3, H, W], and what is to be said of it.
#[derive(Debug)]
pub(crate) struct Opened {
    pub(crate) pixels: Array3<f32>,
    pub(crate) warning: Option<String>,
}

impl Opener {
    /// The checkpoint's processor, with the command line's wishes.
    ///
    /// # Errors
    /// As [`options::processor`].
    pub(crate) fn new(
        checkpoint: &Checkpoint,
        args: &ProcessorArgs,
        isa: Option<Isa>,
    ) -> Result<Self, CliError> {
        let strict = options::processor(checkpoint, args, isa)?;
        let decode = dinoxide::DecodeOptions { tolerant: true, ..options::decode(args) };
        let tolerant = args.tolerant.then(|| strict.clone().with_decode(decode));
        Ok(Self { strict, tolerant })
    }

    /// Opens a picture.
    ///
    /// # Errors
    /// As [`ImageProcessor::open`].
    pub(crate) fn open(&self, path: &Path) -> Result<Opened, Error> {
        match self.strict.open(path) {
            Ok(pixels) => Ok(Opened { pixels, warning: None }),
            Err(error) => self.open_again(path, error),
        }
    }

    /// Opens what is there of a picture that could not be opened whole.
    ///
    /// # Errors
    /// The given one, where nothing else is wanted or to be had.
    pub(crate) fn open_again(&self, path: &Path, error: Error) -> Result<Opened, Error> {
        let tolerant = self.tolerant.as_ref().filter(|_| is_damage(&error));
        match tolerant.and_then(|processor| processor.open(path).ok()) {
            Some(pixels) => {
                Ok(Opened { pixels, warning: Some(format!("{error}; what is there of it was used")) })
            }
            None => Err(error),
        }
    }
}

/// Whether a file's content is at fault, rather than its kind, its size or the system.
fn is_damage(error: &Error) -> bool {
    let Error::Image(ImageError::File { error, .. }) = error else { return false };
    matches!(
        **error,
        ImageError::Truncated { .. } | ImageError::Corrupt { .. } | ImageError::DecoderFailed { .. }
    )
}
