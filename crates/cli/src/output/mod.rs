//! Files that are written: each beside its place first, and renamed when it is whole.

mod file;
mod jsonl;
mod npy;
mod parquet;
mod table;
mod tensors;
mod vectors;

pub(crate) use file::OutputFile;
pub(crate) use jsonl::{Row, json_line};
pub(crate) use table::Table;
pub(crate) use tensors::TensorWriter;
pub(crate) use vectors::{About, VectorFormat, VectorWriter};
