//! The header of a safetensors file, checked against the file before anything is believed.
//!
//! Layout: 8 bytes little-endian n, n bytes of JSON (name → dtype, shape, data offsets), data. The JSON is parsed and its
//! offsets are checked for gaps, overlaps and sizes by the `safetensors` crate; the bounds against the file are
//! checked here, with arithmetic that cannot wrap. n is bounded by a limit, nesting by the JSON parser.

use std::collections::HashMap;
use std::ops::Range;
use std::path::Path;

use safetensors::Dtype;
use safetensors::tensor::Metadata;

use crate::error::CheckpointError;
use crate::limits::MAX_HEADER_BYTES;

/// Bytes that hold the header's length.
const LENGTH_BYTES: usize = 8;
/// Characters of a parser's message that an error repeats.
const SHOWN_CHARS: usize = 160;

/// One tensor of a file.
#[derive(Debug)]
pub(super) struct Header {
    pub(super) name: String,
    pub(super) dtype: Dtype,
    pub(super) shape: Vec<usize>,
    /// Its bytes, counted from the start of the file; within the file.
    pub(super) range: Range<usize>,
}

/// What a file of weights says of itself, and its tensors in the order of their data.
pub(super) fn read(
    path: &Path,
    bytes: &[u8],
) -> Result<(HashMap<String, String>, Vec<Header>), CheckpointError> {
    read_all(path, bytes, MAX_HEADER_BYTES)
}

/// As [`read`], of any file; `limit` bounds the header's bytes.
pub(super) fn read_all(
    path: &Path,
    bytes: &[u8],
    limit: u64,
) -> Result<(HashMap<String, String>, Vec<Header>), CheckpointError> {
    let invalid = |reason: String| CheckpointError::InvalidHeader { path: path.into(), reason };
    let truncated = |expected: usize| CheckpointError::Truncated {
        path: path.into(),
        expected: expected as u64,
        got: bytes.len() as u64,
    };
    let (length, rest) = bytes.split_first_chunk::<LENGTH_BYTES>().ok_or_else(|| truncated(LENGTH_BYTES))?;
    let length = u64::from_le_bytes(*length);
    if length > limit {
        return Err(invalid(format!("a header of {length} bytes, more than the limit of {limit}")));
    }
    // At most `limit`, which fits everywhere.
    let length = length as usize;
    let data_start = LENGTH_BYTES + length;
    let json = rest.get(..length).ok_or_else(|| truncated(data_start))?;
    let metadata: Metadata =
        serde_json::from_slice(json).map_err(|error| invalid(shorten(&error.to_string())))?;

    let end = data_start
        .checked_add(metadata.data_len())
        .ok_or_else(|| invalid("offsets beyond any file".into()))?;
    if end > bytes.len() {
        return Err(truncated(end));
    }
    if end < bytes.len() {
        return Err(invalid(format!("{} bytes follow the last tensor", bytes.len() - end)));
    }
    let mut headers: Vec<Header> = metadata
        .tensors()
        .into_iter()
        .map(|(name, info)| Header {
            name,
            dtype: info.dtype,
            shape: info.shape.clone(),
            range: data_start + info.data_offsets.0..data_start + info.data_offsets.1,
        })
        .collect();
    headers.sort_by(|a, b| (a.range.start, &a.name).cmp(&(b.range.start, &b.name)));
    Ok((metadata.metadata().clone().unwrap_or_default(), headers))
}

fn shorten(message: &str) -> String {
    message.chars().take(SHOWN_CHARS).collect()
}
