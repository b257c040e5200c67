//! The image processor of a checkpoint: files to `pixel_values`, as its `preprocessor_config.json` says.

use crate::{Error, LoadOptions, PatchFit, patch_fit::Fit, source};
use dinoxide_checkpoint::{
    Checkpoint, ProcessorConfig,
    processor_config::{ProcessorKind, Resample as ConfigResample, SizeSpec},
};
use dinoxide_image::{
    DecodeOptions, HeightWidth, ImageError, Normalize, Order, Picture, PixelArray, PixelValues,
    ProcessorSpec, Resample, Resize, Size, decode_file, process, process_array,
};
use dinoxide_kernels::Isa;
use ndarray::{Array3, Axis};
use serde_json::{Map, Value};
use std::{ffi::OsStr, path::Path};

/// Turns pictures into what a model takes.
#[derive(Debug, Clone)]
pub struct ImageProcessor {
    spec: ProcessorSpec,
    decode: DecodeOptions,
    pads_to_largest: bool,
    fit: Option<Fit>,
    config: ProcessorConfig,
}

impl ImageProcessor {
    /// The processor of a checkpoint (see [`crate::open`]), which need not have weights; those of a hub id are not downloaded.
    ///
    /// # Errors
    /// No such checkpoint, no processor config, a damaged one, or an option that cannot be carried out.
    pub fn from_pretrained(model: impl AsRef<OsStr>) -> Result<Self, Error> {
        Self::from_pretrained_with(model, &LoadOptions::default())
    }

    /// The same with options, of which those count that say where to look.
    ///
    /// # Errors
    /// As [`Self::from_pretrained`].
    pub fn from_pretrained_with(model: impl AsRef<OsStr>, options: &LoadOptions) -> Result<Self, Error> {
        Self::from_config(&source::processor_config(model.as_ref(), options)?)
    }

    /// The object of a checkpoint's processor file as it is: with keys that are not known here, its values not looked at, and
    /// `image_processor_type` the name of the class even where the file has none. [`ProcessorConfig::from_json`] reads it.
    ///
    /// # Errors
    /// No such checkpoint, no processor config, one that is no JSON object or of no known class.
    pub fn read_object(model: impl AsRef<OsStr>, options: &LoadOptions) -> Result<Map<String, Value>, Error> {
        source::processor_object(model.as_ref(), options)
    }

    /// The processor of a checkpoint.
    ///
    /// # Errors
    /// No processor config, a damaged one, or an option that cannot be carried out.
    pub fn from_checkpoint(checkpoint: &Checkpoint) -> Result<Self, Error> {
        Self::from_config(checkpoint.require_processor()?)
    }

    /// The processor of a config.
    ///
    /// # Errors
    /// A step that is on without what it needs, or that cannot be carried out.
    pub fn from_config(config: &ProcessorConfig) -> Result<Self, Error> {
        // Only the torchvision Bit processor pads; the DINOv3 one ignores the flag.
        let pads = config.do_pad && config.pad_size.is_none() && config.kind == ProcessorKind::Bit;
        let (spec, config) = (spec(config)?, config.clone());
        Ok(Self { spec, decode: DecodeOptions::default(), pads_to_largest: pads, fit: None, config })
    }

    /// The class.
    #[must_use]
    pub fn kind(&self) -> ProcessorKind {
        self.config.kind
    }

    /// The config, with what [`Self::with_size`] and [`Self::without_crop`] made of it. A [`PatchFit`], and how files are read, are no part
    /// of it.
    #[must_use]
    pub fn config(&self) -> ProcessorConfig {
        let mut config = self.config.clone();
        if let Some(resize) = self.spec.resize {
            (config.do_resize, config.size) = (true, Some(size_spec(resize.size)));
            config.resample = Some(match resize.resample {
                Resample::Nearest => ConfigResample::Nearest,
                Resample::Lanczos => ConfigResample::Lanczos,
                Resample::Bilinear => ConfigResample::Bilinear,
                Resample::Bicubic => ConfigResample::Bicubic,
            });
        }
        config.do_center_crop = self.spec.center_crop.is_some();
        if let Some(HeightWidth { height, width }) = self.spec.center_crop {
            config.crop_size = Some(SizeSpec::HeightWidth { height, width });
        }
        config
    }

    /// Writes [`Self::config`] as `preprocessor_config.json` to a folder, which is made where there is none, in the form that
    /// Transformers reads and writes.
    ///
    /// # Errors
    /// A place that cannot be written to.
    pub fn save_pretrained(&self, dir: impl AsRef<Path>) -> Result<(), Error> {
        Ok(self.config().save_pretrained(dir.as_ref())?)
    }

    /// The steps.
    #[must_use]
    pub fn spec(&self) -> &ProcessorSpec {
        &self.spec
    }

    /// Reads files with other limits, tolerance or background.
    #[must_use]
    pub fn with_decode(self, decode: DecodeOptions) -> Self {
        Self { decode, ..self }
    }

    /// Works with another instruction set level than the best. The numbers are the same to the bit.
    #[must_use]
    pub fn with_isa(mut self, isa: Option<Isa>) -> Self {
        self.spec.isa = isa;
        self
    }

    /// Changes what the model sees, pixels. A processor that crops then crops to it, and keeps the ratio of its resize to its
    /// crop (256/224 for DINOv2: the short side becomes round(256/224 · short side of the size)); one that does not crop
    /// resizes to it.
    #[must_use]
    pub fn with_size(mut self, height: usize, width: usize) -> Self {
        let wanted = HeightWidth { height, width };
        let resample = self.spec.resize.map_or(Resample::Bicubic, |resize| resize.resample);
        match (self.spec.center_crop, self.spec.resize) {
            (Some(crop), Some(resize)) => {
                let size = scaled(resize.size, crop, wanted);
                self.spec.center_crop = Some(wanted);
                self.spec.resize = Some(Resize { size, resample });
            }
            (Some(_), None) => self.spec.center_crop = Some(wanted),
            (None, _) => self.spec.resize = Some(Resize { size: Size::Exact { height, width }, resample }),
        }
        self
    }

    /// Does not crop: the short side becomes that of the crop, the aspect ratio is kept. Without effect on a processor that
    /// does not crop. Call it after [`Self::with_size`].
    #[must_use]
    pub fn without_crop(mut self) -> Self {
        if let (Some(crop), Some(resize)) = (self.spec.center_crop.take(), self.spec.resize) {
            let size = Size::ShortestEdge(crop.height.min(crop.width));
            self.spec.resize = Some(Resize { size, ..resize });
        }
        self
    }

    /// What happens to pixels beyond the last whole patch of `patch` (height, width) pixels, which the model itself ignores. The
    /// grid that a picture came to is [`Outputs::grid`](crate::Outputs).
    ///
    /// # Errors
    /// A patch without pixels.
    pub fn with_patch_fit(mut self, fit: PatchFit, patch: (usize, usize)) -> Result<Self, Error> {
        if patch.0 == 0 || patch.1 == 0 {
            return Err(Error::ProcessorOption { option: "patch", reason: "a side is 0".to_owned() });
        }
        self.fit = Some(Fit { fit, patch });
        Ok(self)
    }

    /// Whether pictures are padded to the largest of their batch: `do_pad` without `pad_size`.
    #[must_use]
    pub fn pads_to_largest(&self) -> bool {
        self.pads_to_largest
    }

    /// Pads pictures [3, H, W] with zeros, at the bottom and right, to the largest height and width among them, when
    /// the processor does so.
    ///
    /// # Errors
    /// A result above the limit of pixels.
    pub fn pad_to_largest(&self, pictures: Vec<Array3<f32>>) -> Result<Vec<Array3<f32>>, Error> {
        if !self.pads_to_largest {
            return Ok(pictures);
        }
        let largest = |axis| pictures.iter().map(|picture| picture.len_of(axis)).max().unwrap_or(0);
        let (height, width) = (largest(Axis(1)), largest(Axis(2)));
        let pad = |picture: Array3<f32>| {
            let (channels, rows, columns) = picture.dim();
            let (data, _) = picture.as_standard_layout().into_owned().into_raw_vec_and_offset();
            let values = PixelValues { data, channels, height: rows, width: columns };
            Ok(array(values.pad(height, width, self.spec.max_output_pixels)?))
        };
        pictures.into_iter().map(pad).collect()
    }

    /// Reads a picture file and processes it: [3, H, W].
    ///
    /// # Errors
    /// A file that is not a whole picture of a known format within the limits; every error names the file.
    pub fn open(&self, path: impl AsRef<Path>) -> Result<Array3<f32>, Error> {
        let path = path.as_ref();
        let picture = decode_file(path, &self.decode)?;
        self.process(&picture).map_err(|error| match error {
            Error::Image(error) => ImageError::File { path: path.to_owned(), error: Box::new(error) }.into(),
            error => error,
        })
    }

    /// Processes a decoded picture: [3, H, W].
    ///
    /// # Errors
    /// An option that cannot be carried out on this picture, or a result above the limit.
    pub fn process(&self, picture: &Picture) -> Result<Array3<f32>, Error> {
        let size = (picture.pixels.height, picture.pixels.width);
        self.process_with(size, |spec| process(picture, spec))
    }

    /// Processes a picture that a program holds as an array of bytes or floats: [C, H, W], C being 3 unless the processor leaves
    /// the channels as they are.
    ///
    /// # Errors
    /// As [`Self::process`]; floats that are not finite, or that lie in 0..1 while the processor rescales.
    pub fn process_array(&self, pixels: &PixelArray<'_>) -> Result<Array3<f32>, Error> {
        self.process_with(pixels.size(), |spec| process_array(pixels, spec))
    }

    /// Runs the steps on a picture of `size` (height, width).
    fn process_with(
        &self,
        size: (usize, usize),
        process: impl FnOnce(&ProcessorSpec) -> Result<PixelValues, ImageError>,
    ) -> Result<Array3<f32>, Error> {
        let Some(fit) = self.fit else { return Ok(array(process(&self.spec)?)) };
        let spec = self.fitted(fit, size)?;
        fit.apply(array(process(&spec)?))
    }

    /// The steps with the sizes that a fit makes of them: the crop's where there is one, else the resize's.
    fn fitted(&self, fit: Fit, (height, width): (usize, usize)) -> Result<ProcessorSpec, Error> {
        let mut spec = self.spec.clone();
        if let Some(crop) = spec.center_crop {
            let (height, width) = fit.resized(crop.height, crop.width);
            spec.center_crop = Some(HeightWidth { height, width });
        } else if let Some(resize) = spec.resize {
            let (height, width) = resize.size.output(height, width)?;
            let (height, width) = fit.resized(height, width);
            spec.resize = Some(Resize { size: Size::Exact { height, width }, ..resize });
        }
        Ok(spec)
    }
}

fn array(values: PixelValues) -> Array3<f32> {
    let dim = (values.channels, values.height, values.width);
    #[allow(clippy::expect_used)] // pixel values hold as many elements as their sizes say
    Array3::from_shape_vec(dim, values.data).expect("as many elements as the shape has")
}

/// A resize that stands to `wanted` as it stood to `crop`.
fn scaled(size: Size, crop: HeightWidth, wanted: HeightWidth) -> Size {
    let short = |size: HeightWidth| size.height.min(size.width);
    let ratio =
        |edge: usize, from: usize, to: usize| (edge as f64 / from.max(1) as f64 * to as f64).round() as usize;
    let edge = |edge: usize| ratio(edge, short(crop), short(wanted));
    match size {
        Size::ShortestEdge(shortest) => Size::ShortestEdge(edge(shortest)),
        Size::ShortestLongestEdge { shortest_edge, longest_edge } => {
            Size::ShortestLongestEdge { shortest_edge: edge(shortest_edge), longest_edge: edge(longest_edge) }
        }
        Size::Exact { height, width } => Size::Exact {
            height: ratio(height, crop.height, wanted.height),
            width: ratio(width, crop.width, wanted.width),
        },
        Size::MaxHeightWidth { max_height, max_width } => Size::MaxHeightWidth {
            max_height: ratio(max_height, crop.height, wanted.height),
            max_width: ratio(max_width, crop.width, wanted.width),
        },
        other @ (Size::LongestEdge(_) | Size::MinMaxPixels { .. }) => other,
    }
}

/// The steps of a processor config.
fn spec(config: &ProcessorConfig) -> Result<ProcessorSpec, Error> {
    config.validate()?;
    // Where a step is on, `validate` has made sure that its values are there.
    let on = |flag: bool, value: Option<SizeSpec>| value.filter(|_| flag);
    let resize = match (on(config.do_resize, config.size), config.resample) {
        (Some(size), Some(resample)) => {
            let resample = Resample::from_code(i64::try_from(resample.code()).unwrap_or(-1))?;
            Some(Resize { size: resize_size(size), resample })
        }
        _ => None,
    };
    let normalize = match (&config.image_mean, &config.image_std) {
        (Some(mean), Some(std)) if config.do_normalize => {
            Some(Normalize { mean: mean.clone(), std: std.clone() })
        }
        _ => None,
    };
    Ok(ProcessorSpec {
        order: match config.kind {
            ProcessorKind::Bit => Order::ResizeFirst,
            ProcessorKind::DINOv3ViT => Order::RescaleFirst,
        },
        do_convert_rgb: config.do_convert_rgb,
        resize,
        center_crop: on(config.do_center_crop, config.crop_size)
            .map(|size| exact("crop_size", size))
            .transpose()?,
        rescale: config.rescale_factor.filter(|_| config.do_rescale),
        normalize,
        pad: on(config.do_pad, config.pad_size).map(|size| exact("pad_size", size)).transpose()?,
        ..ProcessorSpec::default()
    })
}

fn resize_size(size: SizeSpec) -> Size {
    match size {
        SizeSpec::HeightWidth { height, width } => Size::Exact { height, width },
        SizeSpec::ShortestEdge { shortest_edge } => Size::ShortestEdge(shortest_edge),
        SizeSpec::ShortestLongestEdge { shortest_edge, longest_edge } => {
            Size::ShortestLongestEdge { shortest_edge, longest_edge }
        }
        SizeSpec::LongestEdge { longest_edge } => Size::LongestEdge(longest_edge),
        SizeSpec::MaxHeightWidth { max_height, max_width } => Size::MaxHeightWidth { max_height, max_width },
        SizeSpec::PixelBounds { min_pixels, max_pixels } => Size::MinMaxPixels { min_pixels, max_pixels },
    }
}

/// The other way round.
fn size_spec(size: Size) -> SizeSpec {
    match size {
        Size::Exact { height, width } => SizeSpec::HeightWidth { height, width },
        Size::ShortestEdge(shortest_edge) => SizeSpec::ShortestEdge { shortest_edge },
        Size::ShortestLongestEdge { shortest_edge, longest_edge } => {
            SizeSpec::ShortestLongestEdge { shortest_edge, longest_edge }
        }
        Size::LongestEdge(longest_edge) => SizeSpec::LongestEdge { longest_edge },
        Size::MaxHeightWidth { max_height, max_width } => SizeSpec::MaxHeightWidth { max_height, max_width },
        Size::MinMaxPixels { min_pixels, max_pixels } => SizeSpec::PixelBounds { min_pixels, max_pixels },
    }
}

/// A size that must be a height and a width.
fn exact(option: &'static str, size: SizeSpec) -> Result<HeightWidth, Error> {
    match size {
        SizeSpec::HeightWidth { height, width } => Ok(HeightWidth { height, width }),
        _ => Err(Error::ProcessorOption { option, reason: "expected a height and a width".to_owned() }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dinoxide_checkpoint::CheckpointError;

    fn bit(size: SizeSpec) -> ImageProcessor {
        let config = ProcessorConfig { size: Some(size), ..ProcessorConfig::new(ProcessorKind::Bit) };
        ImageProcessor::from_config(&config).unwrap()
    }

    fn resized(processor: &ImageProcessor) -> Size {
        processor.spec.resize.unwrap().size
    }

    #[test]
    fn a_size_keeps_the_ratio_of_resize_to_crop() {
        let processor = bit(SizeSpec::ShortestEdge { shortest_edge: 256 }).with_size(518, 518);
        assert_eq!(resized(&processor), Size::ShortestEdge(592));
        assert_eq!(processor.spec.center_crop, Some(HeightWidth { height: 518, width: 518 }));
        let wide = bit(SizeSpec::ShortestEdge { shortest_edge: 256 }).with_size(224, 448);
        assert_eq!(resized(&wide), Size::ShortestEdge(256));
    }

    #[test]
    fn without_crop_the_short_side_becomes_the_size() {
        let processor = bit(SizeSpec::ShortestEdge { shortest_edge: 256 }).without_crop();
        assert_eq!((resized(&processor), processor.spec.center_crop), (Size::ShortestEdge(224), None));
        let processor = bit(SizeSpec::ShortestEdge { shortest_edge: 256 }).with_size(518, 518).without_crop();
        assert_eq!((resized(&processor), processor.spec.center_crop), (Size::ShortestEdge(518), None));
    }

    #[test]
    fn a_config_says_what_sizes_were_changed_to_and_makes_the_same_processor() {
        for kind in ProcessorKind::ALL {
            let plain = ImageProcessor::from_config(&ProcessorConfig::new(kind)).unwrap();
            assert_eq!(plain.config(), ProcessorConfig::new(kind));
            for changed in [plain.clone().with_size(518, 392), plain.with_size(64, 64).without_crop()] {
                let again = ImageProcessor::from_config(&changed.config()).unwrap();
                assert_eq!(again.spec(), changed.spec());
            }
        }
    }

    #[test]
    fn a_processor_that_does_not_crop_resizes_to_the_size() {
        let config = ProcessorConfig::new(ProcessorKind::DINOv3ViT);
        let processor = ImageProcessor::from_config(&config).unwrap().with_size(512, 384).without_crop();
        assert_eq!(resized(&processor), Size::Exact { height: 512, width: 384 });
    }

    #[test]
    fn do_pad_without_a_size_pads_to_the_largest_of_the_batch() {
        let config = ProcessorConfig { do_pad: true, ..ProcessorConfig::new(ProcessorKind::Bit) };
        let processor = ImageProcessor::from_config(&config).unwrap();
        assert!(processor.pads_to_largest());
        let pictures = vec![Array3::from_elem((3, 2, 5), 1.0), Array3::from_elem((3, 4, 1), 1.0)];
        let padded = processor.pad_to_largest(pictures).unwrap();
        assert!(padded.iter().all(|picture| picture.dim() == (3, 4, 5)));
        assert_eq!(padded.iter().map(|picture| picture.sum()).collect::<Vec<_>>(), [30.0, 12.0]);
        assert_eq!((padded[0][[2, 1, 4]], padded[0][[2, 2, 0]]), (1.0, 0.0));
    }

    #[test]
    fn a_fit_rounds_what_is_resized_to_whole_patches() {
        let picture = dinoxide_image::Rgb8::from_raw(300, 200, vec![128; 300 * 200 * 3]).unwrap().into();
        let plain = bit(SizeSpec::ShortestEdge { shortest_edge: 224 }).without_crop();
        assert_eq!(plain.process(&picture).unwrap().dim(), (3, 224, 336));
        let fitted =
            |fit| plain.clone().with_patch_fit(fit, (16, 20)).unwrap().process(&picture).unwrap().dim();
        assert_eq!(fitted(PatchFit::Round), (3, 224, 340));
        assert_eq!(fitted(PatchFit::Crop), (3, 224, 320));
        assert_eq!(fitted(PatchFit::Pad), (3, 224, 340));
        assert!(plain.clone().with_patch_fit(PatchFit::Round, (0, 1)).is_err());
    }

    #[test]
    fn a_step_without_its_value_is_an_error() {
        let config = ProcessorConfig { image_mean: None, ..ProcessorConfig::new(ProcessorKind::Bit) };
        let error = ImageProcessor::from_config(&config).unwrap_err();
        assert!(matches!(error, Error::Checkpoint(CheckpointError::ProcessorNeeds { .. })), "{error}");
    }
}
