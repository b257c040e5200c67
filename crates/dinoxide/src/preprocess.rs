//! Several pictures at once: what Transformers' `processor(images)` gives, one tensor of a batch.

use crate::{Error, ImageProcessor};
use dinoxide_image::{DecodeOptions, Picture, decode_file};
use ndarray::{Array3, Array4, Axis, stack};
use std::path::Path;

/// Reads a picture file as Transformers' `load_image` does: turned upright by its EXIF orientation, in RGB, alpha dropped.
///
/// # Errors
/// A file that is no whole picture of a known format within the default [`Limits`](crate::Limits).
pub fn load_image(path: impl AsRef<Path>) -> Result<Picture, Error> {
    Ok(decode_file(path.as_ref(), &DecodeOptions::default())?)
}

impl ImageProcessor {
    /// `pixel_values` [B, 3, H, W] of decoded pictures, padded to the largest of them where the processor does so.
    ///
    /// # Errors
    /// A picture that cannot be processed; pictures that come out with different sizes.
    pub fn preprocess(&self, pictures: &[Picture]) -> Result<Array4<f32>, Error> {
        self.batch(pictures.iter().map(|picture| self.process(picture)))
    }

    /// `pixel_values` [B, 3, H, W] of picture files, padded to the largest of them where the processor does so.
    ///
    /// # Errors
    /// As [`ImageProcessor::open`]; pictures that come out with different sizes.
    pub fn preprocess_files<P: AsRef<Path>>(&self, paths: &[P]) -> Result<Array4<f32>, Error> {
        self.batch(paths.iter().map(|path| self.open(path.as_ref())))
    }

    fn batch(
        &self,
        pictures: impl Iterator<Item = Result<Array3<f32>, Error>>,
    ) -> Result<Array4<f32>, Error> {
        let pictures = self.pad_to_largest(pictures.collect::<Result<_, _>>()?)?;
        let Some(first) = pictures.first() else { return Ok(Array4::zeros((0, 3, 0, 0))) };
        let size = |picture: &Array3<f32>| (picture.len_of(Axis(1)), picture.len_of(Axis(2)));
        let expected = size(first);
        for (index, picture) in pictures.iter().enumerate() {
            let got = size(picture);
            if got != expected {
                return Err(Error::MixedSizes { index, expected, got });
            }
        }
        let views: Vec<_> = pictures.iter().map(|picture| picture.view()).collect();
        #[allow(clippy::expect_used)] // pictures of one size, at least one
        Ok(stack(Axis(0), &views).expect("pictures of one size"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::PatchFit;
    use dinoxide_checkpoint::{ProcessorConfig, processor_config::ProcessorKind};
    use dinoxide_image::{Layout, PixelArray, Rgb8, Samples};

    fn picture(width: usize, height: usize) -> Picture {
        Rgb8::from_raw(width, height, vec![7; width * height * 3]).unwrap().into()
    }

    fn processor(do_pad: bool) -> ImageProcessor {
        let defaults = ProcessorConfig::new(ProcessorKind::Bit);
        let config = ProcessorConfig { do_center_crop: false, do_pad, ..defaults };
        ImageProcessor::from_config(&config).unwrap()
    }

    #[test]
    fn pictures_of_one_size_become_a_batch_and_others_are_refused_by_place() {
        let (wide, square) = (picture(40, 20), picture(20, 20));
        let pixels = processor(false).preprocess(&[wide.clone(), wide.clone()]).unwrap();
        assert_eq!(pixels.dim(), (2, 3, 224, 448));
        assert_eq!(processor(false).preprocess(&[]).unwrap().dim(), (0, 3, 0, 0));
        let error = processor(false).preprocess(&[wide.clone(), wide.clone(), square.clone()]).unwrap_err();
        let told = "picture 2 is 224x224 pixels once processed, the first one 224x448";
        assert!(matches!(error, Error::MixedSizes { index: 2, .. }) && error.to_string() == told, "{error}");
        assert_eq!(processor(true).preprocess(&[wide, square]).unwrap().dim(), (2, 3, 224, 448));
    }

    #[test]
    fn an_array_is_processed_as_the_picture_of_the_same_pixels_and_fitted_too() {
        let bytes: Vec<u8> = (0..40 * 30 * 3).map(|i| (i * 7 % 251) as u8).collect();
        let array = PixelArray::new(Samples::U8(&bytes), &[30, 40, 3], Some(Layout::ChannelsLast)).unwrap();
        let picture: Picture = Rgb8::from_raw(40, 30, bytes.clone()).unwrap().into();
        for processor in
            [processor(false), processor(false).with_patch_fit(PatchFit::Crop, (14, 14)).unwrap()]
        {
            assert_eq!(processor.process_array(&array).unwrap(), processor.process(&picture).unwrap());
        }
        let floats: Vec<f32> = bytes.iter().map(|&byte| f32::from(byte) / 255.0).collect();
        let array = PixelArray::new(Samples::F32(&floats), &[30, 40, 3], None).unwrap();
        assert!(processor(false).process_array(&array).is_err());
    }
}
