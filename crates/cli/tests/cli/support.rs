//! Runs the command, and reads what it wrote.
//!
//! Each run is in the repository's folder, without network, without the tester's variables, with an empty stdin. Files are read by
//! the formats' own crates.

use dinoxide_testkit::{hub::HUB_VARIABLES, server};
use std::{
    collections::HashMap,
    fs,
    io::Write,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};
use tempfile::TempDir;

/// The repository.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// What a run gave.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Run {
    /// What stdout has when all went well.
    pub(crate) fn ok(self) -> String {
        assert_eq!((self.code, self.stderr.as_str()), (Some(0), ""), "{}", self.stdout);
        self.stdout
    }

    /// stderr with a folder's name replaced by `DIR`.
    pub(crate) fn stderr_in(&self, dir: &Path) -> String {
        self.stderr.replace(&dir.display().to_string(), "DIR")
    }
}

impl From<Output> for Run {
    fn from(output: Output) -> Self {
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("output is UTF-8");
        Self { code: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) }
    }
}

/// The command in the repository's folder, with nothing of the tester's environment that it reads.
pub(crate) fn command() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_dinoxide"));
    let own = ["DINOXIDE_MODEL", "DINOXIDE_THREADS", "DINOXIDE_ISA", "NO_COLOR"];
    for name in own.into_iter().chain(HUB_VARIABLES) {
        command.env_remove(name);
    }
    command.env("HF_HOME", "/no/such/cache").env("HF_ENDPOINT", server::NOBODY);
    command.current_dir(root()).stdin(Stdio::null());
    command
}

/// Runs the command with these words, separated by spaces; `extra` follow as they are.
pub(crate) fn run(words: &str, extra: &[&Path]) -> Run {
    command().args(words.split_whitespace()).args(extra).output().unwrap().into()
}

/// Runs the command with the built-in model, quietly.
pub(crate) fn tiny(words: &str, extra: &[&Path]) -> Run {
    let mut words = words.split_whitespace();
    let mut command = command();
    command.args(words.next()).args(["-m", "builtin:tiny", "-q"]).args(words).args(extra);
    command.output().unwrap().into()
}

/// Runs the command with bytes on stdin.
pub(crate) fn with_stdin(words: &str, stdin: &[u8]) -> Run {
    let mut child = command()
        .args(words.split_whitespace())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(stdin).unwrap();
    child.wait_with_output().unwrap().into()
}

/// A JSON line of `embed`.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Line {
    pub(crate) path: String,
    pub(crate) embedding: Vec<f32>,
}

/// The JSON lines of `embed`.
pub(crate) fn lines(stdout: &str) -> Vec<Line> {
    let line = |text: &str| {
        let json: serde_json::Value = serde_json::from_str(text).unwrap();
        assert_eq!(json.as_object().unwrap().len(), 2, "{text}");
        let numbers = json["embedding"].as_array().unwrap();
        let embedding = numbers.iter().map(|x| x.to_string().parse().unwrap()).collect();
        Line { path: json["path"].as_str().unwrap().to_owned(), embedding }
    };
    stdout.lines().map(line).collect()
}

/// A tensor of a file.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Tensor {
    pub(crate) shape: Vec<usize>,
    pub(crate) values: Vec<f32>,
}

/// Metadata and tensors of a safetensors file, through the format's own reader.
pub(crate) fn safetensors(path: &Path) -> (HashMap<String, String>, HashMap<String, Tensor>) {
    let bytes = fs::read(path).unwrap();
    let (_, header) = safetensors::SafeTensors::read_metadata(&bytes).unwrap();
    let file = safetensors::SafeTensors::deserialize(&bytes).unwrap();
    let tensor = |view: &safetensors::tensor::TensorView<'_>| Tensor {
        shape: view.shape().to_vec(),
        values: view.data().chunks_exact(4).map(|b| f32::from_le_bytes(b.try_into().unwrap())).collect(),
    };
    let tensors = file.tensors().iter().map(|(name, view)| (name.clone(), tensor(view))).collect();
    (header.metadata().clone().unwrap_or_default(), tensors)
}

/// Writes a safetensors file of f32 tensors.
pub(crate) fn write_safetensors(path: &Path, tensors: &[(&str, &[usize], &[f32])]) {
    let bytes = tensors.iter().map(|(.., values)| values.iter().flat_map(|v| v.to_le_bytes()).collect());
    let bytes: Vec<Vec<u8>> = bytes.collect();
    let views = tensors.iter().zip(&bytes).map(|((name, shape, _), bytes)| {
        (
            name.to_string(),
            safetensors::tensor::TensorView::new(safetensors::Dtype::F32, shape.to_vec(), bytes).unwrap(),
        )
    });
    fs::write(path, safetensors::serialize(views, None).unwrap()).unwrap();
}

/// Names in a folder, sorted.
pub(crate) fn listing(dir: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

/// A folder of three good pictures, an empty file, a text that is called a picture, a cut picture, and a file that
/// is none.
pub(crate) fn mixed_folder() -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    let pictures = root().join("pictures");
    let put = |name: &str, bytes: &[u8]| fs::write(dir.path().join(name), bytes).unwrap();
    let photograph = |name: &str| fs::read(pictures.join(name)).unwrap();
    put("a-good.png", &photograph("chelsea.png"));
    put("b-empty.jpg", b"");
    put("c-good.jpg", &photograph("rocket.jpg"));
    put("d-text.jpg", b"This is no picture.\n");
    put("e-cut.png", &photograph("camera.png")[..5000]);
    put("f-good.jpg", &photograph("coffee.jpg"));
    put("README.md", b"# Pictures\n");
    dir
}
