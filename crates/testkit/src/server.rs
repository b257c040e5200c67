//! An HTTP server on the loopback: one request a connection, a thread each, answered by a function.
//!
//! It can do what servers should not: cut a body, stand still, dawdle. It takes a free port, and ends when it is dropped.

// What goes wrong in a test's own server fails the test.
#![allow(clippy::unwrap_used)]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

/// An address where nobody listens: nobody can, on port 0.
pub const NOBODY: &str = "http://127.0.0.1:0";

/// A request as it came.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Request {
    /// `GET` or `HEAD`.
    pub method: String,
    /// The path, with its query.
    pub path: String,
    /// The header `Authorization`.
    pub authorization: Option<String>,
    /// The header `Range`.
    pub range: Option<String>,
}

impl Request {
    /// `METHOD path`.
    #[must_use]
    pub fn line(&self) -> String {
        format!("{} {}", self.method, self.path)
    }

    /// Whether the content of a file is asked for.
    #[must_use]
    pub fn is_get_of(&self, file: &str) -> bool {
        self.method == "GET" && self.path.ends_with(&format!("/{file}"))
    }
}

/// How a body is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pace {
    /// At once.
    Whole,
    /// So many bytes, then the connection is closed.
    CutAfter(usize),
    /// So many bytes, then nothing until the client leaves.
    StallAfter(usize),
    /// In pieces of so many bytes, with a pause before each.
    Slow(usize, Duration),
}

/// An answer.
#[derive(Debug, Clone)]
pub struct Reply {
    /// The HTTP status.
    pub status: u16,
    /// The headers.
    pub headers: Vec<(&'static str, String)>,
    /// The content.
    pub body: Vec<u8>,
    /// How the content is sent.
    pub pace: Pace,
}

impl Reply {
    /// An answer without headers and content.
    #[must_use]
    pub fn new(status: u16) -> Self {
        Self { status, headers: Vec::new(), body: Vec::new(), pace: Pace::Whole }
    }

    /// A header more, in place of one of the same name.
    #[must_use]
    pub fn with(mut self, name: &'static str, value: impl std::fmt::Display) -> Self {
        self.headers.retain(|(known, _)| !known.eq_ignore_ascii_case(name));
        self.headers.push((name, format!("{value}")));
        self
    }

    /// Without a header.
    #[must_use]
    pub fn without(mut self, name: &str) -> Self {
        self.headers.retain(|(known, _)| !known.eq_ignore_ascii_case(name));
        self
    }

    /// With a content, and its length.
    #[must_use]
    pub fn body(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.body = body.into();
        let length = self.body.len();
        self.with("Content-Length", length)
    }

    /// Sent in this way.
    #[must_use]
    pub fn pace(mut self, pace: Pace) -> Self {
        self.pace = pace;
        self
    }
}

type Handler = dyn Fn(&Request) -> Reply + Send + Sync;

/// A server that runs until it is dropped.
#[derive(Debug)]
pub struct Server {
    port: u16,
    requests: Arc<Mutex<Vec<Request>>>,
    stop: Arc<AtomicBool>,
    thread: Option<thread::JoinHandle<()>>,
}

impl Server {
    /// Starts a server.
    ///
    /// # Panics
    /// The loopback has no free port.
    pub fn start(handler: impl Fn(&Request) -> Reply + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let (requests, stop) = (Arc::new(Mutex::new(Vec::new())), Arc::new(AtomicBool::new(false)));
        let (seen, stopped) = (Arc::clone(&requests), Arc::clone(&stop));
        let handler: Arc<Handler> = Arc::new(handler);
        let thread = thread::spawn(move || {
            for stream in listener.incoming() {
                if stopped.load(Ordering::SeqCst) {
                    break;
                }
                let (seen, handler) = (Arc::clone(&seen), Arc::clone(&handler));
                // A client that leaves early is no concern of the server's.
                thread::spawn(move || stream.and_then(|stream| serve(&stream, &seen, &*handler)));
            }
        });
        Self { port, requests, stop, thread: Some(thread) }
    }

    /// Its address.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// What came so far.
    #[must_use]
    pub fn requests(&self) -> Vec<Request> {
        self.requests.lock().unwrap().clone()
    }

    /// What came so far, a line each.
    #[must_use]
    pub fn lines(&self) -> Vec<String> {
        self.requests().iter().map(Request::line).collect()
    }

    /// What came so far, to be forgotten.
    pub fn take(&self) -> Vec<String> {
        let requests = std::mem::take(&mut *self.requests.lock().unwrap());
        requests.iter().map(Request::line).collect()
    }

    /// The questions for a file's content.
    #[must_use]
    pub fn gets(&self, file: &str) -> Vec<Request> {
        self.requests().into_iter().filter(|request| request.is_get_of(file)).collect()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::SeqCst);
        // Wakes the listener.
        let _ = TcpStream::connect(("127.0.0.1", self.port));
        let _ = self.thread.take().map(thread::JoinHandle::join);
    }
}

fn serve(mut stream: &TcpStream, seen: &Mutex<Vec<Request>>, handler: &Handler) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line)?;
    let mut words = line.split_whitespace().map(str::to_owned);
    let (Some(method), Some(path)) = (words.next(), words.next()) else { return Ok(()) };
    let mut request = Request { method, path, ..Request::default() };
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let Some((name, value)) = line.trim().split_once(": ") else { break };
        match name.to_ascii_lowercase().as_str() {
            "authorization" => request.authorization = Some(value.into()),
            "range" => request.range = Some(value.into()),
            _ => {}
        }
    }
    seen.lock().unwrap().push(request.clone());
    let reply = handler(&request);
    let mut head = format!("HTTP/1.1 {} x\r\nConnection: close\r\n", reply.status);
    for (name, value) in &reply.headers {
        head += &format!("{name}: {value}\r\n");
    }
    stream.write_all(format!("{head}\r\n").as_bytes())?;
    if request.method == "HEAD" {
        return Ok(());
    }
    let body = &reply.body;
    match reply.pace {
        Pace::Whole => stream.write_all(body),
        Pace::CutAfter(bytes) => stream.write_all(&body[..bytes.min(body.len())]),
        Pace::StallAfter(bytes) => {
            stream.write_all(&body[..bytes.min(body.len())])?;
            // Until the client leaves.
            stream.read_exact(&mut [0]).or(Ok(()))
        }
        Pace::Slow(bytes, pause) => {
            for piece in body.chunks(bytes) {
                thread::sleep(pause);
                stream.write_all(piece)?;
            }
            Ok(())
        }
    }
}
