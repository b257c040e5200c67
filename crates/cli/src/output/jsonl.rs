//! JSON lines: one object a line, `{"path": …, "embedding": […]}`.
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

/// Writes `{"path": …, "embedding": […]}` a line.
#[derive(Debug)]
pub(super) struct JsonLines(BufWriter<OutputFile>);

impl JsonLines {
    pub(super) fn new(file: OutputFile) -> Self {
        Self(BufWriter::new(file))
    }
}

impl VectorWriter for JsonLines {
    fn write(&mut self, path: &str, embedding: &[f32]) -> Result<(), CliError> {
        let file = &mut self.0;
        let written = json_line(&Row { path, embedding }).and_then(|line| file.write_all(&line));
        written.map_err(|source| CliError::Write { path: self.0.get_ref().target().to_owned(), source })
    }

    fn finish(self: Box<Self>) -> Result<(), CliError> {
        let target = self.0.get_ref().target().to_owned();
        let file = self
            .0
            .into_inner()
            .map_err(|error| CliError::Write { path: target, source: error.into_error() })?;
        file.commit()
    }
}
