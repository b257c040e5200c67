//! Comparing a file with the hash that names it.
//!
//! A large file's ETag is the SHA-256 of its content; another file's is Git's blob hash, SHA-1 of `blob <bytes>`, a zero
//! byte and the content. Other ETags, as mirrors make them, say nothing about the content.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use sha1::Sha1;
use sha2::{Digest, Sha256};

/// Bytes that are read at once.
const CHUNK: usize = 1 << 20;

/// A hash that differs from the announced one.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Mismatch {
    pub(super) algorithm: &'static str,
    pub(super) got: String,
}

/// Compares a file's content with its ETag; `None` when they agree, or when the ETag is no hash.
pub(super) fn compare(path: &Path, etag: &str) -> io::Result<Option<Mismatch>> {
    let is_hex = etag.bytes().all(|byte| byte.is_ascii_hexdigit());
    let (algorithm, got) = match etag.len() {
        64 if is_hex => ("SHA-256", hash(Sha256::new(), File::open(path)?)?),
        40 if is_hex => {
            let file = File::open(path)?;
            let header = format!("blob {}\0", file.metadata()?.len());
            ("SHA-1", hash(Sha1::new_with_prefix(header), file)?)
        }
        _ => return Ok(None),
    };
    Ok((!got.eq_ignore_ascii_case(etag)).then_some(Mismatch { algorithm, got }))
}

fn hash(mut hasher: impl Digest, mut file: File) -> io::Result<String> {
    let mut chunk = vec![0; CHUNK];
    loop {
        match file.read(&mut chunk) {
            Ok(0) => break,
            Ok(read) => hasher.update(&chunk[..read]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_hashes_are_recognised_and_other_content_is_not() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        std::fs::write(&path, "hello\n").unwrap();
        // `sha256sum` and `git hash-object` of the same file.
        let sha256 = "5891b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03";
        let git = "ce013625030ba8dba906f756967f9e9ca394464a";
        for etag in [sha256, git, "5d41402abc4b2a76b9719d911017c592", "any-other"] {
            assert_eq!(compare(&path, etag).unwrap(), None, "{etag}");
        }
        std::fs::write(&path, "hallo\n").unwrap();
        assert_eq!(compare(&path, sha256).unwrap().unwrap().algorithm, "SHA-256");
        assert_eq!(compare(&path, git).unwrap().unwrap().algorithm, "SHA-1");
    }
}
