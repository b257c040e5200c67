//! Whether a processor makes pictures that the model can take at all: told once, before the work, when no picture could.
//!
//! What comes out of a resize depends on the picture's sides, so shapes from very wide to very tall are tried. With a crop or a
//! pad there is one size.

use crate::args::Size;
use dinoxide::{Error, ModelError, ProcessorSpec, config::ModelConfig};

/// Heights and widths of the pictures that are tried.
const TRIED: [(usize, usize); 5] =
    [(1000, 1000), (1000, 4000), (4000, 1000), (1000, 100_000), (100_000, 1000)];

/// Refuses a processor that makes every picture too small.
///
/// # Errors
/// [`ModelError::TooSmall`], with the size of what it makes of a square picture.
pub(crate) fn check_fit(config: &ModelConfig, spec: &ProcessorSpec) -> Result<(), Error> {
    let least = config.least_picture();
    let too_small = |size: Size| size.height < least.height || size.width < least.width;
    let sizes: Option<Vec<Size>> = TRIED.iter().map(|&sides| made_of(spec, sides)).collect();
    match sizes.as_deref() {
        Some(sizes @ [square, ..]) if sizes.iter().all(|&size| too_small(size)) => {
            let Size { height, width } = *square;
            let (least_height, least_width) = (least.height, least.width);
            Err(ModelError::TooSmall { height, width, least_height, least_width }.into())
        }
        _ => Ok(()),
    }
}

/// The size that becomes of a picture; nothing where that is an error of its own, or not known before all pictures are.
pub(crate) fn made_of(spec: &ProcessorSpec, (height, width): (usize, usize)) -> Option<Size> {
    if let Some(last) = spec.pad.or(spec.center_crop) {
        return Some(Size { height: last.height, width: last.width });
    }
    let (height, width) = spec.resize?.size.output(height, width).ok()?;
    Some(Size { height, width })
}

#[cfg(test)]
mod tests {
    use super::*;
    use dinoxide::{ImageProcessor, Model};

    #[test]
    fn only_what_no_picture_can_pass_is_refused() {
        let model = Model::from_pretrained(dinoxide::BUILTIN_TINY).unwrap();
        let processor = ImageProcessor::from_pretrained(dinoxide::BUILTIN_TINY).unwrap();
        let fits = |processor: ImageProcessor| check_fit(model.config(), processor.spec()).is_ok();
        assert!(fits(processor.clone()) && fits(processor.clone().with_size(14, 14)));
        assert!(!fits(processor.clone().with_size(13, 14)) && !fits(processor.clone().with_size(28, 13)));
        assert!(!fits(processor.clone().with_size(13, 13).without_crop()));
        assert!(fits(processor.with_size(14, 14).without_crop()));
    }
}
