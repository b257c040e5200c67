//! `--pixel-values`: a safetensors file whose tensors go straight to the model.
//!
//! Taken: `pixel_values` [B, C, H, W], or `pixel_values.0`, `pixel_values.1`, … [C, H, W] each, f32; in the same form, where given,
//! `bool_masked_pos` [B, N] or [N] each, `attention_mask` [B, S] or [S] each; `labels`, one tensor for all. The file is mapped, and
//! pixels are read a batch at a time, so memory does not grow with them; masks and labels are read when it is opened.

mod rows;
mod values;

use crate::error::CliError;
use dinoxide::{Archive, CheckpointError, Dtype, FileOptions, Inputs, Labels};
use ndarray::{Array2, Array4, ArrayD};
use rows::{Row, rows};
use std::{
    fs::File,
    io::{self, Read},
    ops::Range,
    path::{Path, PathBuf},
};

/// Pixels.
const PIXEL_VALUES: &str = "pixel_values";
/// Patches that the mask token replaces.
const BOOL_MASKED_POS: &str = "bool_masked_pos";
/// Tokens that are attended to.
const ATTENTION_MASK: &str = "attention_mask";
/// What logits are compared with.
const LABELS: &str = "labels";

/// An opened file.
#[derive(Debug)]
pub(crate) struct PixelValues {
    path: PathBuf,
    archive: Archive,
    pictures: Vec<Row>,
    bool_masked_pos: Option<Vec<Vec<bool>>>,
    attention_mask: Option<Vec<Vec<bool>>>,
    labels: Option<TensorLabels>,
}

/// Labels of all pictures.
#[derive(Debug)]
enum TensorLabels {
    /// Integers.
    Classes(ArrayD<i64>),
    /// Floats.
    Values(ArrayD<f32>),
}

/// Pictures of one size, and what goes with them.
#[derive(Debug)]
pub(crate) struct Batch {
    pixel_values: Array4<f32>,
    bool_masked_pos: Option<Array2<bool>>,
    attention_mask: Option<Array2<bool>>,
}

impl Batch {
    /// The inputs that ask a forward for this.
    pub(crate) fn inputs(&self, options: &FileOptions) -> Inputs<'_> {
        Inputs {
            bool_masked_pos: self.bool_masked_pos.as_ref().map(|mask| mask.view()),
            attention_mask: self.attention_mask.as_ref().map(|mask| mask.view()),
            ..options.inputs(self.pixel_values.view())
        }
    }
}

impl PixelValues {
    /// Opens a file and finds its pictures; no pixels are read yet.
    ///
    /// # Errors
    /// A file that cannot be read, is no safetensors file, is cut, has no pixels; inputs of another form, number or type.
    pub(crate) fn open(path: &Path) -> Result<Self, CliError> {
        let archive = Archive::open(path).map_err(|error| not_opened(path, error))?;
        let pictures = rows(&archive, PIXEL_VALUES)?.ok_or_else(|| CliError::InputFile {
            path: path.to_owned(),
            reason: format!("has no tensor `{PIXEL_VALUES}` (nor `{PIXEL_VALUES}.0`)"),
        })?;
        for picture in &pictures {
            check_pixels(&archive, picture)?;
        }
        let masks = |name: &'static str| masks(&archive, name, pictures.len());
        let (bool_masked_pos, attention_mask) = (masks(BOOL_MASKED_POS)?, masks(ATTENTION_MASK)?);
        let labels = labels(&archive, pictures.len())?;
        Ok(Self { path: path.to_owned(), archive, pictures, bool_masked_pos, attention_mask, labels })
    }

    /// The file.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Number of pictures; at least 1.
    pub(crate) fn len(&self) -> usize {
        self.pictures.len()
    }

    /// What stands for the path of a picture: `FILE#index`.
    pub(crate) fn label(&self, index: usize) -> String {
        format!("{}#{index}", self.path.to_string_lossy())
    }

    /// The labels of all pictures, if the file has any.
    pub(crate) fn labels(&self) -> Option<Labels<'_>> {
        Some(match self.labels.as_ref()? {
            TensorLabels::Classes(classes) => classes.view().into(),
            TensorLabels::Values(values) => values.view().into(),
        })
    }

    /// The pictures from `start` on that can go through the model together: of one size, with masks of one length, at most `most`.
    pub(crate) fn batch_at(&self, start: usize, most: usize) -> Range<usize> {
        let mask_len = |masks: &Option<Vec<Vec<bool>>>, i: usize| masks.as_ref().map(|masks| masks[i].len());
        let sizes = |i: usize| {
            let masks = [&self.bool_masked_pos, &self.attention_mask].map(|masks| mask_len(masks, i));
            (&self.pictures[i].shape, masks)
        };
        let end = start.saturating_add(most.max(1)).min(self.len());
        let same = (start..end).take_while(|&i| sizes(i) == sizes(start)).count();
        start..start + same
    }

    /// Reads pictures of one size, as [`Self::batch_at`] gives them.
    ///
    /// # Errors
    /// None for such a range.
    pub(crate) fn read(&self, batch: Range<usize>) -> Result<Batch, CliError> {
        let pictures = &self.pictures[batch.clone()];
        let shape: &[usize] = pictures.first().map_or(&[], |picture| &picture.shape);
        let mut values = Vec::with_capacity(shape.iter().product::<usize>() * pictures.len());
        for picture in pictures {
            values.extend(values::floats(picture.bytes(&self.archive)));
        }
        let &[channels, height, width] = shape else { return Err(self.torn()) };
        let pixel_values = Array4::from_shape_vec((pictures.len(), channels, height, width), values);
        let mask = |masks: &Option<Vec<Vec<bool>>>| {
            let Some(masks) = masks else { return Ok(None) };
            let masks = &masks[batch.clone()];
            let len = masks.first().map_or(0, Vec::len);
            Array2::from_shape_vec((masks.len(), len), masks.concat()).map(Some).map_err(|_| self.torn())
        };
        Ok(Batch {
            pixel_values: pixel_values.map_err(|_| self.torn())?,
            bool_masked_pos: mask(&self.bool_masked_pos)?,
            attention_mask: mask(&self.attention_mask)?,
        })
    }

    /// Pictures of several sizes cannot be a batch.
    fn torn(&self) -> CliError {
        CliError::InputFile {
            path: self.path.clone(),
            reason: "pictures of several sizes are no batch".to_owned(),
        }
    }
}

/// Where the JSON of a safetensors file begins, after its length.
const JSON_AT: usize = 8;

/// A file of another kind, which a picture would be, reads as a header of absurd length: it is told as what it is not.
fn not_opened(path: &Path, error: CheckpointError) -> CliError {
    let is_malformed =
        matches!(error, CheckpointError::InvalidHeader { .. } | CheckpointError::Truncated { .. });
    if is_malformed && !begins_as_tensors(path).unwrap_or(true) {
        return CliError::NoTensors { path: path.to_owned() };
    }
    dinoxide::Error::from(error).into()
}

/// Whether the JSON of a header begins where it should.
fn begins_as_tensors(path: &Path) -> io::Result<bool> {
    let mut start = [0; JSON_AT + 1];
    File::open(path)?.read_exact(&mut start)?;
    Ok(start[JSON_AT] == b'{')
}

/// Makes sure that a picture is [C, H, W] of f32, and not empty.
fn check_pixels(archive: &Archive, picture: &Row) -> Result<(), CliError> {
    let dtype = picture.dtype(archive);
    if dtype != Some(Dtype::F32) {
        return Err(picture.wrong(archive, values::dtype_name(dtype), "F32"));
    }
    if picture.shape.len() != 3 {
        let axes = if picture.one_of_many { "3 axes: channels, height, width" } else { "4 axes" };
        return Err(picture.wrong(archive, picture.of_shape(archive), axes));
    }
    if picture.shape.contains(&0) {
        return Err(picture.wrong(archive, picture.of_shape(archive), "no axis of length 0"));
    }
    Ok(())
}

/// The masks of a name, one a picture.
fn masks(archive: &Archive, name: &'static str, pictures: usize) -> Result<Option<Vec<Vec<bool>>>, CliError> {
    let Some(rows) = rows(archive, name)? else { return Ok(None) };
    if rows.len() != pictures {
        return Err(CliError::InputTensor {
            path: archive.path().to_owned(),
            tensor: name.to_owned(),
            got: format!("for {} pictures", rows.len()),
            expected: format!("as many as there are of `{PIXEL_VALUES}`, {pictures}"),
        });
    }
    let read = |row: &Row| {
        if row.shape.len() != 1 {
            let expected = if row.one_of_many { "1 axis" } else { "2 axes: pictures, and places" };
            return Err(row.wrong(archive, row.of_shape(archive), expected));
        }
        let dtype = row.dtype(archive);
        let numbers = dtype.and_then(|dtype| values::numbers(dtype, row.bytes(archive)));
        let numbers = numbers
            .ok_or_else(|| row.wrong(archive, values::dtype_name(dtype), "BOOL, integers, F32 or F64"))?;
        // What Transformers makes of other numbers differs from family to family, and is never what was meant.
        let truth = |(place, number): (usize, f64)| match number {
            0.0 => Ok(false),
            1.0 => Ok(true),
            other => Err(row.wrong(archive, format!("{other} at place {place} of a picture"), "0 or 1")),
        };
        numbers.into_iter().enumerate().map(truth).collect()
    };
    rows.iter().map(read).collect::<Result<_, _>>().map(Some)
}

/// The labels: [B], [B, 1] or [B, labels].
fn labels(archive: &Archive, pictures: usize) -> Result<Option<TensorLabels>, CliError> {
    let Some(tensor) = archive.tensors().find(|tensor| tensor.name_in_file == LABELS) else {
        return Ok(None);
    };
    let wrong = |got: String, expected: String| CliError::InputTensor {
        path: archive.path().to_owned(),
        tensor: LABELS.to_owned(),
        got,
        expected,
    };
    let shape = tensor.shape;
    if !matches!(shape, [n] | [n, _] if *n == pictures) {
        let expected = format!("[{pictures}], [{pictures}, 1] or [{pictures}, number of labels]");
        return Err(wrong(format!("of shape {shape:?}"), expected));
    }
    let misshapen = |_| wrong(format!("of shape {shape:?}"), "as many values as that has".to_owned());
    let labels = match (tensor.dtype, values::integers(tensor.dtype, tensor.bytes)) {
        (Dtype::F32, _) => {
            let values = values::floats(tensor.bytes).collect();
            TensorLabels::Values(ArrayD::from_shape_vec(shape, values).map_err(misshapen)?)
        }
        (_, Some(classes)) => {
            TensorLabels::Classes(ArrayD::from_shape_vec(shape, classes).map_err(misshapen)?)
        }
        (other, None) => return Err(wrong(format!("{other:?}"), "I64, I32 or F32".to_owned())),
    };
    Ok(Some(labels))
}

#[cfg(test)]
mod tests;
