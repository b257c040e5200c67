//! `--pixel-values`: a safetensors file whose tensors go straight to the model.
//!
//! Taken: `pixel_values` [B, C, H, W], or `pixel_values.0`, `pixel_values.1`, … [C, H, W] each; f32. Read a batch at a time, so
//! memory does not grow with the file. Format: 8 bytes little-endian header length, JSON header, data.

use crate::error::CliError;
use ndarray::Array4;
use safetensors::{
    Dtype,
    tensor::{Metadata, TensorInfo},
};
use std::{
    fs::{self, File},
    io::{self, Read, Seek, SeekFrom},
    ops::Range,
    path::{Path, PathBuf},
};

/// Bytes before the header, which tell its length.
const LENGTH_BYTES: u64 = 8;

/// Longest header that is read: the format's own limit.
const MAX_HEADER_BYTES: u64 = 100_000_000;

/// Inputs that a forward may have beside the pixels, and that are not fed yet: to leave them out would give other numbers.
const NOT_FED: [&str; 3] = ["bool_masked_pos", "attention_mask", "labels"];

/// The one tensor of a whole batch; with `.0`, `.1`, … the tensors of single pictures.
const NAME: &str = "pixel_values";

/// An opened file.
#[derive(Debug)]
pub(crate) struct PixelValues {
    path: PathBuf,
    file: File,
    items: Vec<Item>,
}

/// One picture: [C, H, W] at a byte offset of the file.
#[derive(Debug, Clone, Copy)]
struct Item {
    shape: [usize; 3],
    offset: u64,
}

impl PixelValues {
    /// Opens a file and finds its pictures; no pixels are read yet.
    ///
    /// # Errors
    /// A file that cannot be read, is no safetensors file, is cut, has no pixels, or has inputs that are not fed yet.
    pub(crate) fn open(path: &Path) -> Result<Self, CliError> {
        let wrong = |reason: String| CliError::PixelValues { path: path.to_owned(), reason };
        let unreadable = |source| CliError::Read { path: path.to_owned(), source };
        // To open a pipe would be to wait, and what is read twice cannot come through one.
        let metadata = fs::metadata(path).map_err(unreadable)?;
        if !metadata.is_file() && !metadata.is_dir() {
            return Err(wrong("is a pipe or a device, expected a file".to_owned()));
        }
        let mut file = File::open(path).map_err(unreadable)?;
        let size = file.metadata().map_err(unreadable)?.len();
        let header = read_header(&mut file, size).map_err(unreadable)?;
        let header = header.ok_or_else(|| wrong("is not a safetensors file, or is cut".to_owned()))?;
        let metadata: Metadata = serde_json::from_slice(&header)
            .map_err(|error| wrong(format!("is not a valid safetensors file: {error}")))?;
        let data_start = LENGTH_BYTES + header.len() as u64;
        let expected = data_start.saturating_add(metadata.data_len() as u64);
        if expected != size {
            return Err(wrong(format!("is cut or has too much: {expected} bytes expected, {size} found")));
        }
        let items = items(&metadata, data_start).map_err(wrong)?;
        Ok(Self { path: path.to_owned(), file, items })
    }

    /// The file.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Number of pictures; at least 1.
    pub(crate) fn len(&self) -> usize {
        self.items.len()
    }

    /// What stands for the path of a picture: `FILE#index`.
    pub(crate) fn label(&self, index: usize) -> String {
        format!("{}#{index}", self.path.to_string_lossy())
    }

    /// The pictures from `start` on that can go through the model together: of one size, at most `most`.
    pub(crate) fn batch_at(&self, start: usize, most: usize) -> Range<usize> {
        let items = &self.items[start..];
        let same = items.iter().take(most.max(1)).take_while(|item| item.shape == items[0].shape).count();
        start..start + same
    }

    /// Reads pictures of one size: [B, C, H, W].
    ///
    /// # Errors
    /// A file that can no longer be read.
    pub(crate) fn read(&self, batch: Range<usize>) -> Result<Array4<f32>, CliError> {
        let items = &self.items[batch];
        let shape = items.first().map_or([0; 3], |item| item.shape);
        let len: usize = shape.iter().product();
        let mut values = Vec::with_capacity(len * items.len());
        let mut bytes = vec![0; len * size_of::<f32>()];
        for item in items {
            let mut file = &self.file;
            file.seek(SeekFrom::Start(item.offset))
                .and_then(|_| file.read_exact(&mut bytes))
                .map_err(|source| CliError::Read { path: self.path.clone(), source })?;
            values.extend(bytes.chunks_exact(4).map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]])));
        }
        let [channels, height, width] = shape;
        Array4::from_shape_vec((items.len(), channels, height, width), values)
            .map_err(|error| CliError::PixelValues { path: self.path.clone(), reason: error.to_string() })
    }
}

/// The JSON header; nothing when the file is too short for what it says.
fn read_header(file: &mut File, size: u64) -> io::Result<Option<Vec<u8>>> {
    let mut length = Vec::new();
    file.take(LENGTH_BYTES).read_to_end(&mut length)?;
    let Ok(length) = <[u8; 8]>::try_from(length).map(u64::from_le_bytes) else { return Ok(None) };
    if length > MAX_HEADER_BYTES || LENGTH_BYTES + length > size {
        return Ok(None);
    }
    let mut header = Vec::new();
    file.take(length).read_to_end(&mut header)?;
    Ok(Some(header))
}

/// The pictures that a header speaks of.
fn items(metadata: &Metadata, data_start: u64) -> Result<Vec<Item>, String> {
    if let Some(name) = NOT_FED.into_iter().find(|name| metadata.info(name).is_some()) {
        return Err(format!(
            "input `{name}` cannot be fed to the model yet, and without it the numbers would be others"
        ));
    }
    if let Some(info) = metadata.info(NAME) {
        if singles(metadata) > 0 {
            return Err(format!("has both `{NAME}` and tensors of single pictures, such as `{NAME}.0`"));
        }
        let [count, channels, height, width] = shape(NAME, info)?;
        let shape = [channels, height, width];
        let bytes = (channels * height * width * size_of::<f32>()) as u64;
        let start = data_start + info.data_offsets.0 as u64;
        return Ok((0..count as u64).map(|i| Item { shape, offset: start + i * bytes }).collect());
    }
    let mut items = Vec::new();
    while let Some(info) = metadata.info(&format!("{NAME}.{}", items.len())) {
        let name = format!("{NAME}.{}", items.len());
        items.push(Item { shape: shape(&name, info)?, offset: data_start + info.data_offsets.0 as u64 });
    }
    match singles(metadata) {
        0 => Err(format!("has no tensor `{NAME}` (nor `{NAME}.0`)")),
        named if named == items.len() => Ok(items),
        _ => Err(format!("has no tensor `{NAME}.{}`, but others that would follow it", items.len())),
    }
}

/// How many tensors are named as those of single pictures.
fn singles(metadata: &Metadata) -> usize {
    let tensors = metadata.tensors();
    let number = |name: &String| name.strip_prefix(NAME)?.strip_prefix('.')?.parse::<usize>().ok();
    tensors.keys().filter(|name| number(name).is_some()).count()
}

/// The shape of an f32 tensor of `N` axes, none of them empty. That it has the bytes for it, parsing has made sure.
fn shape<const N: usize>(name: &str, info: &TensorInfo) -> Result<[usize; N], String> {
    let TensorInfo { dtype, shape, .. } = info;
    if *dtype != Dtype::F32 {
        return Err(format!("tensor `{name}` is {dtype:?}, expected F32"));
    }
    if shape.contains(&0) {
        return Err(format!("tensor `{name}` has shape {shape:?}: no pixels"));
    }
    <[usize; N]>::try_from(shape.as_slice())
        .map_err(|_| format!("tensor `{name}` has shape {shape:?}, expected {N} axes"))
}

#[cfg(test)]
mod tests;
