//! Files written beside their place and renamed into it: whoever reads there, or has the old file mapped, sees the old one or
//! the new one whole.
//!
//! A safetensors file is its header and then the tensors in the header's order, each converted and written by itself, so that
//! memory holds one tensor at a time.

use std::collections::HashMap;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use safetensors::tensor::{Metadata, TensorInfo};
use tempfile::{Builder, NamedTempFile};

use super::content::Content;
use super::items::{Item, Piece};
use crate::error::CheckpointError;

/// Bytes that a header's length is a multiple of, so that numbers after it are aligned.
const ALIGNMENT: usize = 8;

/// The error of a failed system call while writing `path`.
pub(super) fn error(path: &Path, source: io::Error) -> CheckpointError {
    CheckpointError::Write { path: path.into(), source: source.into() }
}

/// Writes a text file.
pub(super) fn text(path: &Path, text: &str) -> Result<(), CheckpointError> {
    replace(path, |file| file.write_all(text.as_bytes()).map_err(|source| error(path, source)))
}

/// Writes a safetensors file as torch's does: by name, with the metadata that Transformers expects.
pub(super) fn tensors(
    path: &Path,
    content: &mut Content<'_>,
    items: &[Item],
    metadata: &HashMap<String, String>,
) -> Result<(), CheckpointError> {
    let mut pieces: Vec<(&Item, &Piece)> =
        items.iter().flat_map(|item| item.pieces.iter().map(move |piece| (item, piece))).collect();
    pieces.sort_by_key(|(_, piece)| &piece.name);
    let header = header(path, &pieces, metadata)?;
    replace(path, |file| {
        file.write_all(&header).map_err(|source| error(path, source))?;
        for (item, piece) in &pieces {
            let bytes = content.bytes(item, piece)?;
            file.write_all(&bytes).map_err(|source| error(path, source))?;
            content.release(item);
        }
        Ok(())
    })
}

/// Length and JSON of the header, padded with spaces.
fn header(
    path: &Path,
    pieces: &[(&Item, &Piece)],
    metadata: &HashMap<String, String>,
) -> Result<Vec<u8>, CheckpointError> {
    let invalid = |reason: String| CheckpointError::InvalidHeader { path: path.into(), reason };
    let mut end = 0;
    let info = |(_, piece): &(&Item, &Piece)| {
        let start = end;
        // At most what is in memory or mapped, or twice that.
        end += piece.bytes() as usize;
        let info = TensorInfo { dtype: piece.dtype, shape: piece.shape.clone(), data_offsets: (start, end) };
        (piece.name.clone(), info)
    };
    let metadata = Metadata::new(Some(metadata.clone()), pieces.iter().map(info).collect())
        .map_err(|error| invalid(error.to_string()))?;
    let mut json = serde_json::to_vec(&metadata).map_err(|error| invalid(error.to_string()))?;
    json.resize(json.len().next_multiple_of(ALIGNMENT), b' ');
    let mut header = (json.len() as u64).to_le_bytes().to_vec();
    header.append(&mut json);
    Ok(header)
}

/// Writes a new file with `content` and puts it in the place of `path`.
fn replace(
    path: &Path,
    content: impl FnOnce(&mut BufWriter<&mut NamedTempFile>) -> Result<(), CheckpointError>,
) -> Result<(), CheckpointError> {
    let failed = |source| error(path, source);
    let folder = path.parent().unwrap_or(Path::new("."));
    let mut file = beside(folder).map_err(failed)?;
    let mut writer = BufWriter::new(&mut file);
    content(&mut writer)?;
    writer.flush().map_err(failed)?;
    drop(writer);
    file.as_file().sync_all().map_err(failed)?;
    file.persist(path).map_err(|persist| failed(persist.error))?;
    Ok(())
}

/// A new file that is removed again unless it is put in its place; readable by whoever the umask allows.
fn beside(folder: &Path) -> io::Result<NamedTempFile> {
    let mut builder = Builder::new();
    builder.prefix(".tmp-");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        builder.permissions(std::fs::Permissions::from_mode(0o666));
    }
    builder.tempfile_in(folder)
}
