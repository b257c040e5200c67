//! Tensors of many pictures, taken apart: `NAME` [B, …] has one a row, `NAME.0`, `NAME.1`, … are one each.
//!
//! Both forms are rows: a place in the file, with the shape of one picture. A tensor that would be left out, because both forms
//! are there or a number is missing, is an error.

use crate::error::CliError;
use dinoxide::{Archive, Dtype};
use std::{collections::HashMap, ops::Range};

/// Most pictures of a tensor, each of which takes some hundred bytes here: at 224×224 so many are a file of 630 GB.
const MAX_ROWS: usize = 1 << 20;

/// One picture's part of an input.
#[derive(Debug)]
pub(super) struct Row {
    /// Place of the tensor in the file.
    tensor: usize,
    /// Its bytes among those of the tensor.
    range: Range<usize>,
    /// Without the axis of the batch.
    pub(super) shape: Vec<usize>,
    /// Whether it is a tensor of its own.
    pub(super) one_of_many: bool,
}

impl Row {
    /// Its bytes.
    pub(super) fn bytes<'a>(&self, archive: &'a Archive) -> &'a [u8] {
        archive
            .tensor(self.tensor)
            .and_then(|tensor| tensor.bytes.get(self.range.clone()))
            .unwrap_or_default()
    }

    /// Its number format.
    pub(super) fn dtype(&self, archive: &Archive) -> Option<Dtype> {
        archive.tensor(self.tensor).map(|tensor| tensor.dtype)
    }

    /// Its tensor's shape, for messages.
    pub(super) fn of_shape(&self, archive: &Archive) -> String {
        archive.tensor(self.tensor).map_or_else(String::new, |tensor| format!("of shape {:?}", tensor.shape))
    }

    /// The error that its tensor is `got`.
    pub(super) fn wrong(&self, archive: &Archive, got: impl Into<String>, expected: &str) -> CliError {
        let name = archive.tensor(self.tensor).map_or("", |tensor| tensor.name_in_file);
        CliError::InputTensor {
            path: archive.path().to_owned(),
            tensor: name.to_owned(),
            got: got.into(),
            expected: expected.to_owned(),
        }
    }
}

/// The rows of an input, if the file has it; at least one.
///
/// # Errors
/// A tensor of both forms, a gap in the numbers, a batch of none.
pub(super) fn rows(archive: &Archive, name: &str) -> Result<Option<Vec<Row>>, CliError> {
    let wrong = |reason: String| CliError::InputFile { path: archive.path().to_owned(), reason };
    let whole = archive.tensors().position(|tensor| tensor.name_in_file == name);
    let mut numbered = HashMap::new();
    for (index, tensor) in archive.tensors().enumerate() {
        if let Some(number) = number(tensor.name_in_file, name) {
            numbered.insert(number, index);
        }
    }
    match (whole, numbered.is_empty()) {
        (None, true) => Ok(None),
        (Some(_), false) => {
            Err(wrong(format!("has both `{name}` and tensors of single pictures, such as `{name}.0`")))
        }
        (Some(index), true) => split(archive, index).map(Some),
        (None, false) => {
            let row = |number: usize| {
                let tensor = numbered.get(&number).copied();
                let tensor = tensor.ok_or_else(|| {
                    wrong(format!("has no tensor `{name}.{number}`, but others that would follow it"))
                })?;
                let view = archive.tensor(tensor);
                let (len, shape) =
                    view.map_or((0, Vec::new()), |view| (view.bytes.len(), view.shape.to_vec()));
                Ok(Row { tensor, range: 0..len, shape, one_of_many: true })
            };
            (0..numbered.len()).map(row).collect::<Result<_, _>>().map(Some)
        }
    }
}

/// The number of a tensor of a single picture, written without zeros before it.
fn number(tensor: &str, name: &str) -> Option<usize> {
    let text = tensor.strip_prefix(name)?.strip_prefix('.')?;
    text.parse().ok().filter(|number: &usize| number.to_string() == text)
}

/// The rows of a tensor [B, …]; a header of a few bytes can claim any number of empty ones.
fn split(archive: &Archive, tensor: usize) -> Result<Vec<Row>, CliError> {
    let view = archive.tensor(tensor);
    let (bytes, shape) = view.map_or((0, &[][..]), |view| (view.bytes.len(), view.shape));
    let whole = Row { tensor, range: 0..bytes, shape: shape.to_vec(), one_of_many: false };
    let Some((&count, shape)) = shape.split_first().filter(|(count, _)| **count > 0) else {
        return Err(whole.wrong(archive, whole.of_shape(archive), "a first axis of at least one picture"));
    };
    if bytes == 0 {
        return Err(whole.wrong(archive, whole.of_shape(archive), "no axis of length 0"));
    }
    if count > MAX_ROWS {
        return Err(whole.wrong(archive, whole.of_shape(archive), &format!("at most {MAX_ROWS} pictures")));
    }
    let len = bytes / count;
    let row =
        |i: usize| Row { tensor, range: i * len..(i + 1) * len, shape: shape.to_vec(), one_of_many: false };
    Ok((0..count).map(row).collect())
}
