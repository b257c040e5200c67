//! The four formats of `embed -o`, and files that are whole or not there.
//!
//! Each format is read back by an independent reader (NumPy's by its specification) and compared with the lines of
//! stdout. What fails or is stopped leaves no file and keeps the old one.

use crate::support::{Line, lines, listing, mixed_folder, root, safetensors, tiny};
use parquet::{
    file::reader::{FileReader, SerializedFileReader},
    record::{ListAccessor, RowAccessor},
};
use std::{
    fs::{self, File},
    path::Path,
};

fn embed_to(name: &str) -> (tempfile::TempDir, std::path::PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join(name);
    assert_eq!(tiny("embed pictures -o", &[&file]).ok(), "");
    (dir, file)
}

fn expected() -> Vec<Line> {
    lines(&tiny("embed pictures", &[]).ok())
}

fn paths(rows: &[Line]) -> Vec<String> {
    rows.iter().map(|row| row.path.clone()).collect()
}

#[test]
fn json_lines_in_a_file_are_those_of_stdout() {
    let (_dir, file) = embed_to("v.jsonl");
    assert_eq!(fs::read_to_string(file).unwrap(), tiny("embed pictures", &[]).ok());
}

#[test]
fn npy_has_a_row_a_picture_and_the_paths_beside_it() {
    let (dir, file) = embed_to("v.npy");
    let bytes = fs::read(file).unwrap();
    assert_eq!(bytes[..8], *b"\x93NUMPY\x01\x00");
    let header = usize::from(u16::from_le_bytes([bytes[8], bytes[9]])) + 10;
    assert_eq!(header % 64, 0);
    let dict = std::str::from_utf8(&bytes[10..header]).unwrap();
    assert_eq!(dict.trim_end(), "{'descr': '<f4', 'fortran_order': False, 'shape': (6, 96), }");
    assert!(dict.ends_with('\n'));
    let values: Vec<f32> =
        bytes[header..].chunks_exact(4).map(|b| f32::from_le_bytes(b.try_into().unwrap())).collect();
    let want: Vec<f32> = expected().into_iter().flat_map(|row| row.embedding).collect();
    assert_eq!(values, want);
    let beside: Vec<String> =
        serde_json::from_slice(&fs::read(dir.path().join("v.paths.json")).unwrap()).unwrap();
    assert_eq!(beside, paths(&expected()));
    assert_eq!(listing(dir.path()), ["v.npy", "v.paths.json"]);
}

#[test]
fn safetensors_has_one_tensor_and_the_paths_in_its_metadata() {
    let (_dir, file) = embed_to("v.safetensors");
    let (metadata, tensors) = safetensors(&file);
    assert_eq!(tensors.len(), 1);
    assert_eq!(tensors["embeddings"].shape, [6, 96]);
    let want: Vec<f32> = expected().into_iter().flat_map(|row| row.embedding).collect();
    assert_eq!(tensors["embeddings"].values, want);
    assert_eq!(serde_json::from_str::<Vec<String>>(&metadata["paths"]).unwrap(), paths(&expected()));
    assert_eq!(metadata["model"], "builtin:tiny");
}

#[test]
fn parquet_has_a_row_a_picture() {
    let (_dir, file) = embed_to("v.parquet");
    let reader = SerializedFileReader::new(File::open(file).unwrap()).unwrap();
    let schema = reader.metadata().file_metadata().schema_descr();
    assert_eq!(
        (0..2).map(|i| schema.column(i).path().string()).collect::<Vec<_>>(),
        ["path", "embedding.list.element"]
    );
    let row = |row: parquet::record::Row| {
        let list = row.get_list(1).unwrap();
        let embedding = (0..list.len()).map(|i| list.get_float(i).unwrap()).collect();
        Line { path: row.get_string(0).unwrap().clone(), embedding }
    };
    let rows: Vec<Line> = reader.into_iter().map(|found| row(found.unwrap())).collect();
    assert_eq!(rows, expected());
}

#[test]
fn another_extension_is_refused_before_any_work() {
    for name in ["v.csv", "npy", "v.npz"] {
        let got = tiny("embed /no/such/picture -o", &[Path::new(name)]);
        assert_eq!(got.code, Some(1));
        assert_eq!(
            got.stderr,
            format!(
                "error: {name}: its extension tells no format that is written here\n\
                 hint: use one of .jsonl, .npy, .safetensors, .parquet\n"
            )
        );
    }
}

#[test]
fn a_folder_that_is_not_there_is_told_before_any_work() {
    let got = tiny("embed pictures -o /no/such/folder/v.npy", &[]);
    assert_eq!(got.code, Some(1));
    assert_eq!(
        got.stderr,
        "error: /no/such/folder/v.npy: cannot be written: No such file or directory (os error 2)\n"
    );
}

#[test]
fn good_pictures_are_written_though_others_fail() {
    let (pictures, out) = (mixed_folder(), tempfile::tempdir().unwrap());
    for name in ["v.jsonl", "v.npy", "v.safetensors", "v.parquet"] {
        assert_eq!(tiny("embed -o", &[&out.path().join(name), pictures.path()]).code, Some(1));
    }
    assert_eq!(listing(out.path()), ["v.jsonl", "v.npy", "v.parquet", "v.paths.json", "v.safetensors"]);
    assert_eq!(safetensors(&out.path().join("v.safetensors")).1["embeddings"].shape, [3, 96]);
}

#[test]
fn what_stops_or_fails_whole_leaves_no_file_and_keeps_the_old_one() {
    let (pictures, out) = (mixed_folder(), tempfile::tempdir().unwrap());
    let bad = pictures.path().join("d-text.jpg");
    for name in ["v.jsonl", "v.npy", "v.safetensors", "v.parquet"] {
        let file = out.path().join(name);
        assert_eq!(tiny("embed --fail-fast -o", &[&file, pictures.path()]).code, Some(1));
        assert_eq!(tiny("embed -o", &[&file, &bad]).code, Some(1));
        assert!(listing(out.path()).is_empty(), "{name}: {:?}", listing(out.path()));
    }
    let file = out.path().join("v.jsonl");
    fs::write(&file, "old").unwrap();
    assert_eq!(tiny("embed -o", &[&file, &bad]).code, Some(1));
    assert_eq!(fs::read_to_string(&file).unwrap(), "old");
    let good = root().join("pictures/rocket.jpg");
    tiny("embed -o", &[&file, &good]).ok();
    assert_eq!(lines(&fs::read_to_string(&file).unwrap()).len(), 1);
}

#[test]
fn an_output_that_is_an_input_is_refused_and_the_picture_is_kept() {
    let dir = tempfile::tempdir().unwrap();
    let picture = dir.path().join("p.safetensors");
    fs::copy(root().join("pictures/rocket.jpg"), &picture).unwrap();
    let before = fs::read(&picture).unwrap();
    for command in ["features", "preprocess"] {
        let got = tiny(&format!("{command} -o"), &[&picture, &picture]);
        assert_eq!(got.code, Some(1), "{command}");
        assert!(got.stderr.contains("is one of the inputs"), "{}", got.stderr);
        assert_eq!(fs::read(&picture).unwrap(), before, "{command}");
    }
}
