//! How much a file of `torch.save` makes its reader hold, told before anything is parsed.
//!
//! A parsed value takes some hundred bytes where the pickle spends one, and a compressed pickle even less. So the pickles are
//! measured first: an archive's by its directory, which may not compress (torch never does), and those of the older format,
//! which follow each other (magic number, protocol, system, object, keys of the storages), by skipping from opcode to opcode.
//! Opcodes and the lengths of their arguments: Python's `pickletools`. What is malformed is left to the reader, which stops
//! at the same place. A view that torch negates when it is read is refused too: the reader does not know of it.

use std::io::{Cursor, Read};

use zip::{CompressionMethod, ZipArchive};

use crate::limits::MAX_PICKLE_BYTES;

/// How an archive begins.
const ZIP_MAGIC: &[u8] = b"PK";
/// Where a tar archive has its magic.
const TAR_MAGIC: (usize, &[u8]) = (257, b"ustar");
/// An archive's pickle; a folder's name stands before it.
const PICKLE_ENTRY: &str = "data.pkl";
/// The text `neg`, by which a pickle says that a tensor is a negated view, as protocols 2 and 4 write it.
const NEGATED: [&[u8]; 2] = [b"X\x03\0\0\0neg", b"\x8c\x03neg"];
/// Pickles of the older format.
const PICKLES: usize = 5;

/// Checks that the pickles of a file are within the limit.
///
/// # Errors
/// The reason why they are not.
pub(super) fn check(file: &[u8]) -> Result<(), String> {
    let (tar_start, tar_magic) = TAR_MAGIC;
    if file.starts_with(ZIP_MAGIC) {
        check_archive(file)
    } else if file.get(tar_start..).is_some_and(|rest| rest.starts_with(tar_magic)) {
        Err("a tar archive, as torch wrote them before 2017".to_owned())
    } else {
        match pickles_bytes(file) {
            Some(bytes) if bytes > MAX_PICKLE_BYTES => Err(too_large(bytes)),
            bytes => check_views(&file[..bytes.unwrap_or(file.len()).min(MAX_PICKLE_BYTES)]),
        }
    }
}

fn too_large(bytes: usize) -> String {
    format!("a pickle of {bytes} bytes or more, above the limit of {MAX_PICKLE_BYTES}")
}

fn check_archive(file: &[u8]) -> Result<(), String> {
    let mut archive = ZipArchive::new(Cursor::new(file)).map_err(|error| error.to_string())?;
    for index in 0..archive.len() {
        let entry = archive.by_index_raw(index).map_err(|error| error.to_string())?;
        if entry.compression() != CompressionMethod::Stored || entry.size() != entry.compressed_size() {
            return Err("its parts are compressed, as torch.save never writes them".to_owned());
        }
        let size = usize::try_from(entry.size()).unwrap_or(usize::MAX);
        let is_pickle = entry.name().is_ok_and(|name| name.ends_with(PICKLE_ENTRY));
        if is_pickle && size > MAX_PICKLE_BYTES {
            return Err(too_large(size));
        }
        if is_pickle {
            let mut pickle = Vec::with_capacity(size);
            let mut entry = entry.take(MAX_PICKLE_BYTES as u64);
            entry.read_to_end(&mut pickle).map_err(|error| error.to_string())?;
            check_views(&pickle)?;
        }
    }
    Ok(())
}

fn check_views(pickle: &[u8]) -> Result<(), String> {
    let says = |text: &[u8]| pickle.windows(text.len()).any(|window| window == text);
    match NEGATED.into_iter().any(says) {
        true => Err("it holds negated views; save their values instead, with `resolve_neg()`".to_owned()),
        false => Ok(()),
    }
}

/// Bytes of the pickles at the start of a file, or, once they are above the limit, of those so far; nothing when they are malformed.
fn pickles_bytes(file: &[u8]) -> Option<usize> {
    let mut rest = file;
    let mut stops = 0;
    while stops < PICKLES && file.len() - rest.len() <= MAX_PICKLE_BYTES {
        let (&opcode, after) = rest.split_first()?;
        rest = after.get(argument_bytes(opcode, after)?..)?;
        stops += usize::from(opcode == b'.');
    }
    Some(file.len() - rest.len())
}

/// Bytes of the argument of an opcode, at the start of `rest`.
fn argument_bytes(opcode: u8, rest: &[u8]) -> Option<usize> {
    let line = |start: usize| Some(start + rest.get(start..)?.iter().position(|&byte| byte == b'\n')? + 1);
    let counted = |width: usize| {
        let mut length = [0; 8];
        length[..width].copy_from_slice(rest.get(..width)?);
        usize::try_from(u64::from_le_bytes(length)).ok()?.checked_add(width)
    };
    match opcode {
        b'(' | b'.' | b'0' | b'1' | b'2' | b'N' | b')' | b']' | b'}' | b'l' | b'd' | b't' | b'a' | b'e'
        | b's' | b'u' | b'b' | b'o' | b'R' | b'Q' => Some(0),
        0x81 | 0x85..=0x89 | 0x8f..=0x94 | 0x97 | 0x98 => Some(0),
        b'K' | b'h' | b'q' | 0x80 | 0x82 => Some(1),
        b'M' | 0x83 => Some(2),
        b'J' | b'j' | b'r' | 0x84 => Some(4),
        b'G' | 0x95 => Some(8),
        b'U' | b'C' | 0x8a | 0x8c => counted(1),
        b'T' | b'X' | b'B' | 0x8b => counted(4),
        0x8d | 0x8e | 0x96 => counted(8),
        b'I' | b'L' | b'F' | b'S' | b'V' | b'g' | b'p' | b'P' => line(0),
        b'c' | b'i' => line(line(0)?),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use zip::{ZipWriter, write::SimpleFileOptions};

    /// What follows the pickles of the older format: no opcodes.
    const STORAGES: [u8; 5000] = [0xff; 5000];

    /// Empty dictionaries that fill a pickle of so many bytes.
    fn pickle(bytes: usize) -> Vec<u8> {
        [b"\x80\x02".as_slice(), &vec![b'}'; bytes - 3], b"."].concat()
    }

    fn older_format(object: &[u8]) -> Vec<u8> {
        let [magic, protocol, system] =
            [&b"\x80\x02\x8a\x0al\xfc\x9cF\xf9 j\xa8P\x19."[..], b"\x80\x02M\xe9\x03.", b"\x80\x02}q\x00."];
        [magic, protocol, system, object, b"\x80\x02]q\x00.", &STORAGES].concat()
    }

    fn archive(object: &[u8]) -> Vec<u8> {
        let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
        let options = SimpleFileOptions::default().compression_method(CompressionMethod::Stored);
        writer.start_file("archive/data.pkl", options).unwrap();
        writer.write_all(object).unwrap();
        writer.finish().unwrap().into_inner()
    }

    #[test]
    fn a_pickle_above_the_limit_is_refused_in_either_format() {
        for format in [older_format, archive] {
            assert_eq!(check(&format(&pickle(10_000))), Ok(()));
            let error = check(&format(&pickle(MAX_PICKLE_BYTES + 1))).unwrap_err();
            assert!(error.starts_with("a pickle of 10485"), "{error}");
        }
    }

    #[test]
    fn negated_views_are_refused_in_either_format() {
        for format in [older_format, archive] {
            for text in NEGATED {
                let error = check(&format(&[b"\x80\x02}", text, b"\x88s."].concat())).unwrap_err();
                assert!(error.contains("negated"), "{error}");
            }
        }
    }

    #[test]
    fn arguments_are_skipped_whatever_bytes_they_have() {
        // A text with full stops, a number of 9 bytes, a global, a text with a length of 8 bytes, a line, arguments of 1 and 8 bytes.
        let numbers = b"\x8a\x09.........K.G........h.I12.\n";
        let texts = b"\x80\x04X\x03\0\0\0...cos\nsystem\n\x8d\x02\0\0\0\0\0\0\0..";
        let file = older_format(&[&texts[..], numbers, b"."].concat());
        assert_eq!(pickles_bytes(&file), Some(file.len() - STORAGES.len()));
    }

    #[test]
    fn compressed_parts_and_tar_archives_are_refused_and_malformed_files_left_to_the_reader() {
        let mut file = archive(&pickle(100));
        let method = file.windows(4).position(|w| w == b"PK\x01\x02").unwrap() + 10;
        file[method] = 8;
        assert_eq!(check(&file).unwrap_err(), "its parts are compressed, as torch.save never writes them");
        let mut tar = vec![0; 512];
        tar[257..262].copy_from_slice(b"ustar");
        assert!(check(&tar).unwrap_err().starts_with("a tar archive"));
        for file in [
            &b""[..],
            b"\xff",
            b"\x80",
            b"X\xff\xff\xff\xff.",
            b"\x8d\xff\xff\xff\xff\xff\xff\xff\xff",
            b"cos\n",
        ] {
            assert_eq!(check(file), Ok(()), "{file:?}");
        }
    }
}
