//! safetensors files with tensors of many pictures, written with memory that does not grow with them.
//!
//! A tensor whose shape is the same for all pictures becomes one, stacked along a new first axis; otherwise it becomes one
//! a picture, `NAME.0`, `NAME.1`, …. Which of the two is known at the end only, and the format wants the header first and
//! each tensor in one piece: so values wait in a nameless temporary file beside the target, and are copied
//! in order of tensors, then pictures.

use super::{
    OutputFile,
    file::{system_error, write_floats},
};
use crate::{cleanup::Cleanup, error::CliError};
use serde_json::{Map, Value, json};
use std::{
    fs::File,
    io::{self, BufWriter, Read, Seek, SeekFrom, Write},
    path::Path,
};

/// Longest header that readers of the format accept.
const MAX_HEADER_BYTES: usize = 100_000_000;

/// The data begins at a multiple of this.
const ALIGNMENT: usize = 8;

/// What a file is to hold, if no picture fails.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Planned {
    /// Number of pictures.
    pub(crate) pictures: usize,
    /// Bytes that their paths take in a header, at least.
    pub(crate) path_bytes: usize,
}

impl Planned {
    /// For pictures of these paths.
    pub(crate) fn of<P: AsRef<str>>(paths: impl Iterator<Item = P>) -> Self {
        // A path stands between two quotes, each with a backslash, and a comma; JSON may make it longer.
        paths.fold(Self::default(), |Self { pictures, path_bytes }, path| Self {
            pictures: pictures + 1,
            path_bytes: path_bytes + path.as_ref().len() + 5,
        })
    }
}

/// A file in the making.
#[derive(Debug)]
pub(crate) struct TensorWriter {
    file: OutputFile,
    values: BufWriter<File>,
    /// Bytes in `values`.
    written: u64,
    tensors: Vec<Tensor>,
    /// The paths of the pictures, as the inside of a JSON list.
    paths: String,
    planned: Planned,
}

/// One tensor of every picture so far.
#[derive(Debug)]
struct Tensor {
    name: String,
    parts: Vec<Part>,
    /// The shapes met, mostly one.
    shapes: Vec<Vec<usize>>,
    /// Whether it is one of the whole file, and not one of every picture.
    whole: bool,
}

/// One picture's tensor: its place among the values, and its shape's index.
#[derive(Debug, Clone, Copy)]
struct Part {
    offset: u64,
    shape: usize,
}

impl TensorWriter {
    /// Starts the file `target`; as [`Self::new`].
    ///
    /// # Errors
    /// As [`OutputFile::create`] and [`Self::new`].
    pub(crate) fn create(target: &Path, planned: Planned, cleanup: &Cleanup) -> Result<Self, CliError> {
        Self::new(OutputFile::create(target, cleanup)?, planned)
    }

    /// Starts a file that will hold what is planned.
    ///
    /// # Errors
    /// More paths than the format holds; a place that cannot be written to.
    pub(crate) fn new(file: OutputFile, planned: Planned) -> Result<Self, CliError> {
        if planned.path_bytes > MAX_HEADER_BYTES {
            return Err(too_long(file.target()));
        }
        let folder = file.target().parent().filter(|folder| !folder.as_os_str().is_empty());
        let values = tempfile::tempfile_in(folder.unwrap_or(Path::new(".")));
        let values = values.map_err(|source| CliError::Write {
            path: file.target().to_owned(),
            source: system_error(&source),
        })?;
        Ok(Self {
            file,
            values: BufWriter::new(values),
            written: 0,
            tensors: Vec::new(),
            paths: String::new(),
            planned,
        })
    }

    /// Begins the next picture.
    pub(crate) fn picture(&mut self, path: &str) {
        if !self.paths.is_empty() {
            self.paths.push_str(", ");
        }
        self.paths.push_str(&Value::from(path).to_string());
    }

    /// Adds a tensor of the picture that was begun last. Each picture has the same tensors.
    ///
    /// # Errors
    /// The disk is full; as soon as that is certain, more names than the format holds.
    pub(crate) fn push(&mut self, name: &str, shape: &[usize], values: &[f32]) -> Result<(), CliError> {
        let index = self.tensors.iter().position(|tensor| tensor.name == name);
        let index = index.unwrap_or_else(|| self.begin(name, false));
        self.append(index, shape, values)?;
        let tensor = &self.tensors[index];
        let now_one_a_picture = tensor.shapes.len() == 2;
        if now_one_a_picture && self.planned_header_bytes() > MAX_HEADER_BYTES {
            return Err(too_long(self.file.target()));
        }
        Ok(())
    }

    /// Adds a tensor of the whole file, under a name of its own.
    ///
    /// # Errors
    /// The disk is full.
    pub(crate) fn push_whole(&mut self, name: &str, shape: &[usize], values: &[f32]) -> Result<(), CliError> {
        let index = self.begin(name, true);
        self.append(index, shape, values)
    }

    /// Adds a tensor without values; its index.
    fn begin(&mut self, name: &str, whole: bool) -> usize {
        self.tensors.push(Tensor { name: name.to_owned(), parts: Vec::new(), shapes: Vec::new(), whole });
        self.tensors.len() - 1
    }

    fn append(&mut self, index: usize, shape: &[usize], values: &[f32]) -> Result<(), CliError> {
        write_floats(&mut self.values, values).map_err(|source| self.failed(source))?;
        self.tensors[index].add(self.written, shape);
        self.written += size_of_val(values) as u64;
        Ok(())
    }

    /// Bytes of the header, at least, when all planned pictures are there: a tensor of several shapes has an entry for each.
    fn planned_header_bytes(&self) -> usize {
        let entries = self.tensors.iter().map(|tensor| {
            let entry = tensor.name.len() + entry(&tensor.shapes[0], [0, 0]).to_string().len();
            match tensor.shapes.len() {
                1 => entry + r#""":,"#.len(),
                _ => (entry + r#"".0":,"#.len()).saturating_mul(self.planned.pictures),
            }
        });
        entries.fold(self.planned.path_bytes, usize::saturating_add)
    }

    /// Writes the file and puts it in its place. Its metadata are `paths` and what is given here.
    ///
    /// # Errors
    /// The disk is full; more names than the format holds.
    pub(crate) fn finish(mut self, metadata: &[(&str, String)]) -> Result<(), CliError> {
        let header = self.header(metadata);
        if header.len() > MAX_HEADER_BYTES {
            return Err(too_long(self.file.target()));
        }
        self.copy(&header).map_err(|source| self.failed(source))?;
        self.file.commit()
    }

    fn failed(&self, source: io::Error) -> CliError {
        CliError::Write { path: self.file.target().to_owned(), source }
    }

    fn header(&self, metadata: &[(&str, String)]) -> Vec<u8> {
        let mut texts = Map::new();
        texts.insert("paths".to_owned(), format!("[{}]", self.paths).into());
        texts.extend(metadata.iter().map(|(key, text)| ((*key).to_owned(), text.as_str().into())));
        let mut entries = Map::new();
        entries.insert("__metadata__".to_owned(), texts.into());
        let mut start = 0_u64;
        for (name, shape) in self.tensors.iter().flat_map(Tensor::entries) {
            let end = start + (shape.iter().product::<usize>() * size_of::<f32>()) as u64;
            entries.insert(name, entry(&shape, [start, end]));
            start = end;
        }
        let mut header = Value::from(entries).to_string().into_bytes();
        header.resize(header.len().next_multiple_of(ALIGNMENT), b' ');
        header
    }

    /// Writes the header, then the values in order.
    fn copy(&mut self, header: &[u8]) -> io::Result<()> {
        self.values.flush()?;
        let values = self.values.get_mut();
        let mut file = BufWriter::new(&mut self.file);
        file.write_all(&(header.len() as u64).to_le_bytes())?;
        file.write_all(header)?;
        for tensor in &self.tensors {
            for part in &tensor.parts {
                values.seek(SeekFrom::Start(part.offset))?;
                let bytes = (tensor.shapes[part.shape].iter().product::<usize>() * size_of::<f32>()) as u64;
                io::copy(&mut Read::by_ref(values).take(bytes), &mut file)?;
            }
        }
        file.flush()
    }
}

impl Tensor {
    fn add(&mut self, offset: u64, shape: &[usize]) {
        let known = self.shapes.iter().position(|known| known == shape);
        let shape = known.unwrap_or_else(|| {
            self.shapes.push(shape.to_vec());
            self.shapes.len() - 1
        });
        self.parts.push(Part { offset, shape });
    }

    /// The names and shapes under which it is written.
    fn entries(&self) -> Vec<(String, Vec<usize>)> {
        match self.shapes.as_slice() {
            [shape] if self.whole => vec![(self.name.clone(), shape.clone())],
            [shape] => vec![(self.name.clone(), [&[self.parts.len()], shape.as_slice()].concat())],
            shapes => {
                let entry =
                    |(i, part): (usize, &Part)| (format!("{}.{i}", self.name), shapes[part.shape].clone());
                self.parts.iter().enumerate().map(entry).collect()
            }
        }
    }
}

/// What a header says of a tensor.
fn entry(shape: &[usize], data_offsets: [u64; 2]) -> Value {
    json!({ "dtype": "F32", "shape": shape, "data_offsets": data_offsets })
}

fn too_long(target: &Path) -> CliError {
    CliError::OutputLimit {
        path: target.to_owned(),
        reason: format!(
            "the names of so many pictures exceed the format's header limit of {MAX_HEADER_BYTES} bytes"
        ),
        hint: "write fewer pictures to a file; `embed` has .parquet, .npy and .jsonl without such a limit",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use safetensors::SafeTensors;
    use std::fs;

    /// Writes pictures of tensors and reads the file back.
    fn round_trip(pictures: &[&[(&str, &[usize])]]) -> Vec<u8> {
        let dir = tempfile::tempdir().unwrap();
        let target = dir.path().join("x.safetensors");
        let mut writer = TensorWriter::create(&target, Planned::default(), &Cleanup::default()).unwrap();
        let mut next = 0_u16;
        for (i, tensors) in pictures.iter().enumerate() {
            writer.picture(&format!("p \"{i}\""));
            for (name, shape) in *tensors {
                let values: Vec<f32> =
                    (0..shape.iter().product()).map(|_| (f32::from(next), next += 1).0).collect();
                writer.push(name, shape, &values).unwrap();
            }
        }
        writer.finish(&[("model", "m".to_owned())]).unwrap();
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1, "nothing else is left");
        fs::read(target).unwrap()
    }

    fn floats(file: &SafeTensors<'_>, name: &str) -> Vec<f32> {
        let bytes = file.tensor(name).unwrap().data();
        bytes.chunks_exact(4).map(|b| f32::from_le_bytes(b.try_into().unwrap())).collect()
    }

    #[test]
    fn one_shape_is_stacked_picture_by_picture() {
        let bytes = round_trip(&[&[("a", &[2]), ("b", &[1, 1])], &[("a", &[2]), ("b", &[1, 1])]]);
        let file = SafeTensors::deserialize(&bytes).unwrap();
        assert_eq!(file.tensor("a").unwrap().shape(), [2, 2]);
        assert_eq!((floats(&file, "a"), floats(&file, "b")), (vec![0.0, 1.0, 3.0, 4.0], vec![2.0, 5.0]));
        let (_, header) = SafeTensors::read_metadata(&bytes).unwrap();
        let metadata = header.metadata().clone().unwrap();
        assert_eq!(metadata["paths"], r#"["p \"0\"", "p \"1\""]"#);
        assert_eq!(metadata["model"], "m");
    }

    #[test]
    fn several_shapes_are_one_tensor_a_picture() {
        let bytes = round_trip(&[
            &[("a", &[2]), ("b", &[1])],
            &[("a", &[3]), ("b", &[1])],
            &[("a", &[2]), ("b", &[1])],
        ]);
        let file = SafeTensors::deserialize(&bytes).unwrap();
        let mut names = file.names();
        names.sort_unstable();
        assert_eq!(names, ["a.0", "a.1", "a.2", "b"]);
        assert_eq!((floats(&file, "a.1"), floats(&file, "b")), (vec![3.0, 4.0, 5.0], vec![2.0, 6.0, 9.0]));
    }

    #[test]
    fn a_tensor_of_the_whole_file_has_its_own_shape() {
        let dir = tempfile::tempdir().unwrap();
        let target = dir.path().join("x.safetensors");
        let mut writer = TensorWriter::create(&target, Planned::default(), &Cleanup::default()).unwrap();
        for i in 0..2_u8 {
            writer.push("a", &[1], &[i.into()]).unwrap();
        }
        writer.push_whole("loss", &[], &[7.0]).unwrap();
        writer.finish(&[]).unwrap();
        let bytes = fs::read(target).unwrap();
        let file = SafeTensors::deserialize(&bytes).unwrap();
        assert_eq!((file.tensor("loss").unwrap().shape(), floats(&file, "loss")), (&[][..], vec![7.0]));
        assert_eq!(file.tensor("a").unwrap().shape(), [2, 1]);
    }

    #[test]
    fn more_names_than_the_header_holds_are_refused_before_the_work() {
        let dir = tempfile::tempdir().unwrap();
        let start =
            |planned| TensorWriter::create(&dir.path().join("x.safetensors"), planned, &Cleanup::default());
        let planned = Planned { pictures: 1, path_bytes: MAX_HEADER_BYTES };
        assert!(start(planned).is_ok());
        let error = start(Planned { path_bytes: MAX_HEADER_BYTES + 1, ..planned }).unwrap_err();
        assert!(error.hint().unwrap().contains(".parquet"));
    }

    #[test]
    fn more_tensors_than_the_header_holds_are_refused_at_the_second_shape() {
        let dir = tempfile::tempdir().unwrap();
        let planned = Planned { pictures: 2_000_000, path_bytes: 0 };
        let target = dir.path().join("x.safetensors");
        let mut writer = TensorWriter::create(&target, planned, &Cleanup::default()).unwrap();
        for shape in [1, 1, 1] {
            writer.push("a", &[shape], &vec![0.0; shape]).unwrap();
        }
        let error = writer.push("a", &[2], &[0.0; 2]).unwrap_err();
        assert!(matches!(error, CliError::OutputLimit { .. }), "{error}");
    }

    #[test]
    fn what_is_planned_is_never_more_than_what_is_written() {
        let paths = ["", "a", "\"\\\n", "кот.jpg"];
        let planned = Planned::of(paths.iter());
        let dir = tempfile::tempdir().unwrap();
        let target = dir.path().join("x.safetensors");
        let mut writer = TensorWriter::create(&target, planned, &Cleanup::default()).unwrap();
        for (side, path) in (1..).zip(paths) {
            writer.picture(path);
            writer.push("a", &[side], &vec![0.0; side]).unwrap();
        }
        let (bound, header) = (writer.planned_header_bytes(), writer.header(&[]).len());
        assert!(bound <= header && 2 * bound > header, "{bound} {header}");
    }
}
