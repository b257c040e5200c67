//! Image processors: arrays, files and bytes to `pixel_values`.

use crate::{error::exception, load::OpenOptions};
use dinoxide::{
    DecodeOptions, Error, ImageError, ImageProcessor, Layout, PixelArray, ProcessorConfig, Rgb8, Samples,
    decode, decode_file,
    ndarray::{Array3, ArrayViewD},
};
use numpy::{IntoPyArray, PyArray3, PyReadonlyArrayDyn};
use pyo3::{exceptions::PyValueError, prelude::*};
use std::path::{Path, PathBuf};

/// A picture that a program holds.
#[derive(FromPyObject)]
enum ArrayArg<'py> {
    Bytes(PyReadonlyArrayDyn<'py, u8>),
    Floats(PyReadonlyArrayDyn<'py, f32>),
}

/// A picture that is to be decoded.
#[derive(FromPyObject)]
pub(crate) enum FileArg {
    Bytes(pyo3::pybacked::PyBackedBytes),
    Path(PathBuf),
}

impl FileArg {
    fn decode(&self) -> Result<dinoxide::Picture, Error> {
        let options = DecodeOptions::default();
        Ok(match self {
            Self::Bytes(bytes) => decode(bytes, &options)?,
            Self::Path(path) => decode_file(path, &options)?,
        })
    }
}

/// An image processor.
#[pyclass(frozen, module = "dinoxide._native")]
#[derive(Debug)]
pub(crate) struct Processor {
    inner: ImageProcessor,
}

#[pymethods]
impl Processor {
    /// The processor of a checkpoint, whose weights are not needed; and warnings.
    #[staticmethod]
    fn from_pretrained(
        py: Python<'_>,
        source: PathBuf,
        options: OpenOptions,
    ) -> PyResult<(Self, Vec<String>)> {
        options
            .open(py, |options| Ok(Self { inner: ImageProcessor::from_pretrained_with(&source, options)? }))
    }

    /// The processor of a config (JSON, as `preprocessor_config.json`, with `image_processor_type`).
    #[staticmethod]
    fn from_config(config: &str) -> PyResult<Self> {
        let config = ProcessorConfig::from_json(Path::new("config"), config.as_bytes(), None)
            .map_err(|error| exception(Error::from(error)))?;
        Ok(Self { inner: ImageProcessor::from_config(&config).map_err(exception)? })
    }

    /// The config as `preprocessor_config.json` has it.
    #[getter]
    fn config(&self) -> String {
        self.inner.config().to_json()
    }

    /// Whether pictures are padded to the largest of their batch.
    #[getter]
    fn pads_to_largest(&self) -> bool {
        self.inner.pads_to_largest()
    }

    /// Processes an array `[H, W]`, `[C, H, W]` or `[H, W, C]` of bytes or floats, `channels_first` or not (inferred when absent);
    /// gives [C, H, W].
    #[pyo3(signature = (array, channels_first=None))]
    fn process_array<'py>(
        &self,
        py: Python<'py>,
        array: ArrayArg<'py>,
        channels_first: Option<bool>,
    ) -> PyResult<Bound<'py, PyArray3<f32>>> {
        let layout = channels_first.map(|first| match first {
            true => Layout::ChannelsFirst,
            false => Layout::ChannelsLast,
        });
        let pixels = match &array {
            ArrayArg::Bytes(array) => {
                let array = array.as_array();
                let data = contiguous(&array)?;
                py.detach(|| self.run(Samples::U8(data), array.shape(), layout))
            }
            ArrayArg::Floats(array) => {
                let array = array.as_array();
                let data = contiguous(&array)?;
                py.detach(|| self.run(Samples::F32(data), array.shape(), layout))
            }
        };
        Ok(pixels.map_err(exception)?.into_pyarray(py))
    }

    /// Decodes and processes a picture file, by its path or its bytes; gives [3, H, W].
    fn process_file<'py>(&self, py: Python<'py>, file: FileArg) -> PyResult<Bound<'py, PyArray3<f32>>> {
        let pixels = py.detach(|| match &file {
            FileArg::Path(path) => self.inner.open(path),
            FileArg::Bytes(_) => self.inner.process(&file.decode()?),
        });
        Ok(pixels.map_err(exception)?.into_pyarray(py))
    }

    /// Writes `preprocessor_config.json` to a folder.
    fn save_pretrained(&self, py: Python<'_>, dir: PathBuf) -> PyResult<()> {
        py.detach(|| self.inner.save_pretrained(&dir)).map_err(exception)
    }
}

impl Processor {
    fn run(
        &self,
        samples: Samples<'_>,
        shape: &[usize],
        layout: Option<Layout>,
    ) -> Result<Array3<f32>, Error> {
        self.inner.process_array(&PixelArray::new(samples, shape, layout)?)
    }
}

/// The elements of an array in row-major order.
fn contiguous<'a, T>(array: &ArrayViewD<'a, T>) -> PyResult<&'a [T]> {
    array.to_slice().ok_or_else(|| PyValueError::new_err("the array is not in row-major order"))
}

/// The object of a checkpoint's processor file as JSON, as it is but for `image_processor_type`, which names the class; and warnings.
#[pyfunction]
pub(crate) fn open_processor(
    py: Python<'_>,
    source: PathBuf,
    options: OpenOptions,
) -> PyResult<(String, Vec<String>)> {
    options.open(py, |options| {
        Ok(serde_json::Value::Object(ImageProcessor::read_object(&source, options)?).to_string())
    })
}

/// Bytes [H, W, 3], and the color that stands for transparent.
type Decoded<'py> = (Bound<'py, PyArray3<u8>>, Option<(u8, u8, u8)>);

/// Decodes a picture file, by its path or its bytes, as Transformers' `load_image` does: upright, alpha dropped; gives bytes [H, W, 3]
/// and the color that stands for transparent, if the file names one.
#[pyfunction]
pub(crate) fn load_image<'py>(py: Python<'py>, file: FileArg) -> PyResult<Decoded<'py>> {
    let (pixels, key) = py.detach(|| {
        let picture = file.decode().map_err(exception)?;
        let key = picture.transparent_color.map(|[red, green, blue]| (red, green, blue));
        let Rgb8 { height, width, data } = picture.pixels;
        let bad_shape = ImageError::BadShape { height, width, channels: 3, len: data.len() };
        let pixels = Array3::from_shape_vec((height, width, 3), data);
        Ok::<_, PyErr>((pixels.map_err(|_| exception(Error::from(bad_shape)))?, key))
    })?;
    Ok((pixels.into_pyarray(py), key))
}
