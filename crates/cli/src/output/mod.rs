//! Files that are written: each beside its place first, and renamed when it is whole.
//!
//! `file` does that; `tensors` writes safetensors of many tensors, `vectors` chooses between the formats of one vector a
//! picture (`jsonl`, `npy`, `parquet`, and a tensor). `table` is for stdout on a terminal.

mod file;
mod folder;
mod jsonl;
mod leftover;
mod npy;
mod parquet;
mod table;
mod tensors;
mod vectors;

pub(crate) use file::{OutputFile, check_extension};
pub(crate) use folder::OutputFolder;
pub(crate) use jsonl::{LineWriter, Row, json_line};
pub(crate) use table::Table;
pub(crate) use tensors::{Planned, TensorWriter};
pub(crate) use vectors::{About, VectorFormat, VectorWriter};
