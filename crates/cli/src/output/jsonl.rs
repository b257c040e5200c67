//! JSON lines: one object a line; of vectors `{"path": …, "embedding": […]}`.
//!
//! Floats have the fewest digits that read back as the same f32; NaN and infinities, which JSON does not have, are `null`.
//! A path is text: bytes that are not UTF-8 have become U+FFFD before.

use super::{OutputFile, VectorWriter};
use crate::error::CliError;
use serde::Serialize;
use std::io::{self, BufWriter, Write};

/// One picture's vector.
#[derive(Debug, Serialize)]
pub(crate) struct Row<'a> {
    /// The picture's path, as given.
    pub(crate) path: &'a str,
    /// Its vector.
    pub(crate) embedding: &'a [f32],
}

/// A value as one line of JSON.
///
/// # Errors
/// None for the values here, which have string keys only.
pub(crate) fn json_line(value: &impl Serialize) -> io::Result<Vec<u8>> {
    let mut line = serde_json::to_vec(value)?;
    line.push(b'\n');
    Ok(line)
}

/// A file of JSON lines.
#[derive(Debug)]
pub(crate) struct LineWriter(BufWriter<OutputFile>);

impl LineWriter {
    /// Writes lines to a file in the making.
    pub(crate) fn new(file: OutputFile) -> Self {
        Self(BufWriter::new(file))
    }

    /// Writes a value as a line.
    ///
    /// # Errors
    /// The disk is full.
    pub(crate) fn write(&mut self, value: &impl Serialize) -> Result<(), CliError> {
        let written = json_line(value).and_then(|line| self.0.write_all(&line));
        written.map_err(|source| CliError::Write { path: self.0.get_ref().target().to_owned(), source })
    }

    /// Puts the file in its place.
    ///
    /// # Errors
    /// What the system says.
    pub(crate) fn finish(self) -> Result<(), CliError> {
        let target = self.0.get_ref().target().to_owned();
        let file = self
            .0
            .into_inner()
            .map_err(|error| CliError::Write { path: target, source: error.into_error() })?;
        file.commit()
    }
}

impl VectorWriter for LineWriter {
    fn write(&mut self, path: &str, embedding: &[f32]) -> Result<(), CliError> {
        Self::write(self, &Row { path, embedding })
    }

    fn finish(self: Box<Self>) -> Result<(), CliError> {
        Self::finish(*self)
    }
}
