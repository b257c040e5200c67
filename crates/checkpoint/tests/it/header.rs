//! Damaged and hostile safetensors headers: a typed error each, at once and without much memory.
//!
//! Headers are made byte by byte: lengths that lie, offsets that overlap or leave gaps, shapes whose product overflows, text
//! that is no JSON.

use dinoxide_checkpoint::limits::MAX_HEADER_BYTES;
use dinoxide_checkpoint::{Checkpoint, CheckpointError};

use crate::support::{DINOV2, Weights, raw_file};

fn open(weights: Vec<u8>) -> CheckpointError {
    Checkpoint::from_bytes(DINOV2.as_bytes(), None, weights).unwrap_err()
}

fn invalid_reason(weights: Vec<u8>) -> String {
    match open(weights) {
        CheckpointError::InvalidHeader { reason, .. } => reason,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_file_of_no_bytes_is_empty() {
    assert!(matches!(open(Vec::new()), CheckpointError::EmptyFile { .. }));
}

#[test]
fn a_file_cut_in_its_length_its_header_or_its_data_is_truncated() {
    let whole = Weights::of(DINOV2).bytes();
    for length in [1, 7, 8, 9, 100, whole.len() / 2, whole.len() - 1] {
        match open(whole[..length].to_vec()) {
            CheckpointError::Truncated { expected, got, .. } => {
                assert_eq!(got, length as u64);
                assert!(expected > got && expected <= whole.len() as u64, "{length}: {expected}");
            }
            other => panic!("{length}: {other:?}"),
        }
    }
}

#[test]
fn bytes_after_the_last_tensor_are_refused() {
    let mut bytes = Weights::of(DINOV2).bytes();
    bytes.extend_from_slice(b"more");
    assert_eq!(invalid_reason(bytes), "4 bytes follow the last tensor");
}

#[test]
fn a_header_length_beyond_the_limit_is_refused_before_it_is_read() {
    for length in [MAX_HEADER_BYTES + 1, u64::MAX, 1 << 63] {
        let mut bytes = length.to_le_bytes().to_vec();
        bytes.extend_from_slice(b"{}");
        assert!(invalid_reason(bytes).contains("more than the limit"), "{length}");
    }
}

#[test]
fn a_web_page_saved_as_weights_is_no_safetensors_file() {
    assert!(invalid_reason(b"<!DOCTYPE html><html></html>".to_vec()).contains("limit"));
}

#[test]
fn a_header_that_is_not_json_or_not_utf8_is_refused() {
    for header in [
        "{",
        "[]",
        "nul",
        "{\"a\": 1}",
        "{\"a\": {\"dtype\": \"F33\", \"shape\": [], \"data_offsets\": [0, 0]}}",
    ] {
        invalid_reason(raw_file(header, 0));
    }
    let mut bytes = raw_file("xx", 0);
    bytes[8..].copy_from_slice(&[0xff, 0xfe]);
    invalid_reason(bytes);
}

#[test]
fn deep_nesting_is_refused_and_does_not_exhaust_the_stack() {
    let deep = "[".repeat(1_000_000);
    invalid_reason(raw_file(&format!("{{\"a\": {deep}"), 0));
    invalid_reason(raw_file(&"{\"a\":".repeat(200_000), 0));
}

fn tensor(name: &str, shape: &str, begin: &str, end: &str) -> String {
    format!("\"{name}\": {{\"dtype\": \"F32\", \"shape\": {shape}, \"data_offsets\": [{begin}, {end}]}}")
}

#[test]
fn overlapping_gapped_and_reversed_offsets_are_refused() {
    let first = tensor("a", "[2]", "0", "8");
    for second in [
        tensor("b", "[2]", "4", "12"),
        tensor("b", "[2]", "0", "8"),
        tensor("b", "[2]", "16", "24"),
        tensor("b", "[2]", "16", "8"),
        tensor("b", "[2]", "-8", "0"),
    ] {
        invalid_reason(raw_file(&format!("{{{first}, {second}}}"), 16));
    }
}

#[test]
fn shapes_that_do_not_match_their_bytes_or_overflow_are_refused() {
    for shape in ["[3]", "[4294967296, 4294967296]", "[18446744073709551615, 2]", "[-1]", "[1.5]"] {
        invalid_reason(raw_file(&format!("{{{}}}", tensor("a", shape, "0", "8")), 8));
    }
}

#[test]
fn offsets_that_wrap_around_the_address_space_are_refused() {
    // Eight tensors of nearly 2^61 bytes: each is consistent, and their end plus the header wraps to a small number.
    let bytes: u64 = (1 << 61) - 4;
    let mut entries = Vec::new();
    for index in 0..8u64 {
        let (begin, end) = (index * bytes, (index + 1) * bytes);
        entries.push(tensor(
            &index.to_string(),
            &format!("[{}]", bytes / 4),
            &begin.to_string(),
            &end.to_string(),
        ));
    }
    let last = 8 * bytes;
    let rest = u64::MAX - last - 3;
    entries.push(tensor(
        "x",
        &format!("[{}]", rest / 4),
        &last.to_string(),
        &(last + rest / 4 * 4).to_string(),
    ));
    let reason = invalid_reason(raw_file(&format!("{{{}}}", entries.join(", ")), 8));
    assert_eq!(reason, "offsets beyond any file");
}

#[test]
fn a_git_lfs_pointer_is_named_as_such() {
    let pointer = b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n".to_vec();
    let error = open(pointer);
    assert!(matches!(error, CheckpointError::LfsPointer { .. }));
    assert!(error.hint().unwrap().contains("git lfs pull"));
}
