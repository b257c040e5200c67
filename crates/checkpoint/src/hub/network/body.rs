//! Fetching a file's content, with what is there already kept.
//!
//! The bytes go to a partial file; a new try asks for the rest (`Range`), and starts over where the server does not know that.
//! What the server announces is compared with what the hub said of the file before a byte is taken, and each byte is
//! counted: nothing grows beyond its size.

use std::fs::{self, File, OpenOptions};
use std::io::{Read, Write};
use std::path::Path;

use ureq::Body;
use ureq::http::header::{CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_RANGE};
use ureq::http::{Response, StatusCode, Uri};

use super::client::{Client, header};
use super::failure::Attempt;
use super::retry::{Failure, Retries};
use crate::hub::error::HubError;
use crate::hub::progress::Progress;

/// Bytes that are taken at once.
const CHUNK: usize = 256 << 10;

/// A file to fetch.
#[derive(Debug, Clone, Copy)]
pub(in crate::hub) struct Download<'a> {
    /// The commit.
    pub(in crate::hub) commit: &'a str,
    /// Its name in the repo.
    pub(in crate::hub) file: &'a str,
    /// Its size in bytes, when the hub says so.
    pub(in crate::hub) size: Option<u64>,
    /// Most bytes that a file of its kind may have.
    pub(in crate::hub) limit: u64,
    /// Where its bytes go.
    pub(in crate::hub) partial: &'a Path,
}

/// What came of one answer.
#[derive(Debug)]
pub(in crate::hub) enum Answer {
    /// The file is complete.
    Complete,
    /// The server counts other bytes than the hub announced.
    Sizes {
        /// Bytes that the server has or sent.
        got: u64,
    },
}

impl Client {
    /// Brings the whole of a file to its partial file, over as many connections as it takes.
    pub(in crate::hub) fn download(&self, download: &Download<'_>) -> Result<Answer, HubError> {
        if download.size.is_some_and(|size| size > download.limit) {
            return Err(self.too_large(download));
        }
        let uri = self.file(download.commit, download.file)?;
        let mut retries = Retries::new(self.options);
        let mut most = present(download)?;
        loop {
            let from = present(download)?;
            if from > 0 && download.size == Some(from) {
                return Ok(Answer::Complete);
            }
            let result = self.stream(&uri, download, from);
            // Only what was never reached before: a server that starts over each time, and is cut each time, brings nothing new.
            let reached = length(download.partial);
            if reached > most {
                most = reached;
                retries.reset();
            }
            match result {
                Ok(answer) => return Ok(answer),
                Err(attempt) => self.wait_or_fail(&mut retries, attempt, download.file)?,
            }
        }
    }

    /// One connection's worth.
    fn stream(&self, uri: &Uri, download: &Download<'_>, from: u64) -> Result<Answer, Attempt> {
        let response = self.get(uri, download.file, from)?;
        if response.status() == StatusCode::RANGE_NOT_SATISFIABLE {
            // The partial file is no beginning of this file.
            remove(download.partial).map_err(fatal)?;
            return Err(self.unreachable(
                uri,
                Failure::Interrupted,
                "it does not have the rest of the file".into(),
            ));
        }
        if let Some(encoding) = response.headers().get(CONTENT_ENCODING).filter(|value| *value != "identity")
        {
            return Err(self.not_a_hub(uri, format!("it compresses though not asked to ({encoding:?})")));
        }
        let (start, announced) = match span(&response) {
            Some((start, total)) if start == from => (start, total),
            Some(_) => {
                remove(download.partial).map_err(fatal)?;
                let reason = "it sent another part of the file than it was asked for";
                return Err(self.unreachable(uri, Failure::Interrupted, reason.into()));
            }
            None => (0, content_length(&response)),
        };
        if let (Some(size), Some(got)) = (download.size, announced)
            && size != got
        {
            return Ok(Answer::Sizes { got });
        }
        let total = download.size.or(announced);
        if total.is_some_and(|total| total > download.limit) {
            return Err(fatal(self.too_large(download)));
        }
        let file = open(download.partial, start).map_err(fatal)?;
        self.progress.start(download.file, total, start);
        let sink = Sink { file, done: start, total, progress: &*self.progress };
        let result = self.copy(uri, download, response, sink);
        self.progress.finish();
        result
    }

    fn copy(
        &self,
        uri: &Uri,
        download: &Download<'_>,
        response: Response<Body>,
        mut sink: Sink<'_>,
    ) -> Result<Answer, Attempt> {
        let mut body = response.into_body().into_reader();
        let mut chunk = vec![0; CHUNK];
        loop {
            if sink.progress.is_stopped() {
                return Err(fatal(HubError::Stopped { file: download.file.into() }));
            }
            let read = match body.read(&mut chunk) {
                Ok(0) => break,
                Ok(read) => read,
                // A signal, which may be why to stop.
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(self.failed(uri, &ureq::Error::from(error))),
            };
            let done = sink.done.saturating_add(read as u64);
            if sink.total.is_some_and(|total| done > total) {
                return Ok(Answer::Sizes { got: done });
            }
            if done > download.limit {
                return Err(fatal(self.too_large(download)));
            }
            sink.take(&chunk[..read]).map_err(|error| fatal(HubError::write(download.partial, error)))?;
        }
        if sink.total.is_some_and(|total| sink.done < total) {
            return Err(self.unreachable(uri, Failure::Interrupted, "the connection ended early".into()));
        }
        // On disk before its name says that it is whole.
        sink.file.sync_data().map_err(|error| fatal(HubError::write(download.partial, error)))?;
        Ok(Answer::Complete)
    }

    fn too_large(&self, download: &Download<'_>) -> HubError {
        HubError::TooLarge { repo: self.repo.clone(), file: download.file.into(), limit: download.limit }
    }
}

/// Where bytes go, and how many there are.
struct Sink<'a> {
    file: File,
    done: u64,
    total: Option<u64>,
    progress: &'a dyn Progress,
}

impl Sink<'_> {
    fn take(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        self.file.write_all(bytes)?;
        self.done += bytes.len() as u64;
        self.progress.advance(bytes.len() as u64);
        Ok(())
    }
}

fn fatal(error: HubError) -> Attempt {
    Attempt { failure: Failure::Final, error: Box::new(error) }
}

/// Bytes of a file; none when it is not there.
fn length(path: &Path) -> u64 {
    fs::metadata(path).map_or(0, |metadata| metadata.len())
}

/// Bytes of the partial file; one that is larger than the whole is none.
fn present(download: &Download<'_>) -> Result<u64, HubError> {
    let length = length(download.partial);
    if download.size.is_some_and(|size| length > size) || length > download.limit {
        remove(download.partial)?;
        return Ok(0);
    }
    Ok(length)
}

/// Removes a file, if it is there.
pub(in crate::hub) fn remove(path: &Path) -> Result<(), HubError> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(HubError::write(path, error)),
        _ => Ok(()),
    }
}

/// The partial file, to be written from `start` on.
fn open(path: &Path, start: u64) -> Result<File, HubError> {
    let write = |error| HubError::write(path, error);
    let file = OpenOptions::new().append(true).create(true).open(path).map_err(write)?;
    file.set_len(start).map_err(write)?;
    Ok(file)
}

/// Of a partial answer: where it starts, and how large the whole is. A full answer has neither.
fn span(response: &Response<Body>) -> Option<(u64, Option<u64>)> {
    if response.status() != StatusCode::PARTIAL_CONTENT {
        return None;
    }
    // `bytes 10-99/100`; what is no such text starts nowhere.
    let parsed = || {
        let (range, total) =
            header(response, CONTENT_RANGE.as_str())?.strip_prefix("bytes ")?.split_once('/')?;
        Some((range.split_once('-')?.0.trim().parse().ok()?, total.trim().parse().ok()))
    };
    Some(parsed().unwrap_or((u64::MAX, None)))
}

fn content_length(response: &Response<Body>) -> Option<u64> {
    header(response, CONTENT_LENGTH.as_str())?.parse().ok()
}
