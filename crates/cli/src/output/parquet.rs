//! Apache Parquet: `path` (string) and `embedding` (list of float), both never null.
//!
//! Written a row group at a time, so memory does not grow with the number of pictures. Without compression and
//! dictionaries: the mantissas of embeddings are as good as random.

use super::{OutputFile, VectorWriter};
use crate::error::CliError;
use parquet::{
    basic::{Compression, ConvertedType, LogicalType, Repetition, Type as Physical},
    data_type::{ByteArray, ByteArrayType, FloatType},
    errors::ParquetError,
    file::{
        properties::{EnabledStatistics, WriterProperties},
        writer::SerializedFileWriter,
    },
    schema::types::{Type, TypePtr},
};
use std::{path::PathBuf, sync::Arc};

/// Floats of a row group: 16 MiB.
const ROW_GROUP_FLOATS: usize = 1 << 22;

/// Writes one row a picture.
pub(super) struct Parquet {
    file: SerializedFileWriter<OutputFile>,
    target: PathBuf,
    paths: Vec<ByteArray>,
    floats: Vec<f32>,
    /// 0 where a list starts, 1 where it goes on.
    repetition: Vec<i16>,
}

impl Parquet {
    pub(super) fn new(file: OutputFile) -> Result<Self, CliError> {
        let target = file.target().to_owned();
        let properties = WriterProperties::builder()
            .set_created_by(concat!("dinoxide ", env!("CARGO_PKG_VERSION")).to_owned())
            .set_compression(Compression::UNCOMPRESSED)
            .set_dictionary_enabled(false)
            .set_statistics_enabled(EnabledStatistics::None)
            .build();
        let writer =
            schema().and_then(|schema| SerializedFileWriter::new(file, schema, Arc::new(properties)));
        let file = writer.map_err(|source| CliError::Parquet { path: target.clone(), source })?;
        Ok(Self { file, target, paths: Vec::new(), floats: Vec::new(), repetition: Vec::new() })
    }

    /// Writes what has been gathered as a row group.
    fn flush(&mut self) -> Result<(), ParquetError> {
        if self.paths.is_empty() {
            return Ok(());
        }
        let mut group = self.file.next_row_group()?;
        if let Some(mut column) = group.next_column()? {
            column.typed::<ByteArrayType>().write_batch(&self.paths, None, None)?;
            column.close()?;
        }
        if let Some(mut column) = group.next_column()? {
            // Every value is there: none of the lists is empty.
            let definition = vec![1; self.floats.len()];
            column.typed::<FloatType>().write_batch(
                &self.floats,
                Some(&definition),
                Some(&self.repetition),
            )?;
            column.close()?;
        }
        group.close()?;
        self.paths.clear();
        self.floats.clear();
        self.repetition.clear();
        Ok(())
    }

    fn complete(mut self) -> Result<OutputFile, ParquetError> {
        self.flush()?;
        self.file.into_inner()
    }
}

impl VectorWriter for Parquet {
    fn write(&mut self, path: &str, vector: &[f32]) -> Result<(), CliError> {
        self.paths.push(path.into());
        self.floats.extend(vector);
        self.repetition.extend((0..vector.len()).map(|i| i16::from(i > 0)));
        if self.floats.len() >= ROW_GROUP_FLOATS {
            self.flush().map_err(|source| CliError::Parquet { path: self.target.clone(), source })?;
        }
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<(), CliError> {
        let path = self.target.clone();
        self.complete().map_err(|source| CliError::Parquet { path, source })?.commit()
    }
}

/// `path`: string; `embedding`: list of float, in the three levels that the format's specification asks for.
fn schema() -> Result<TypePtr, ParquetError> {
    let path = Type::primitive_type_builder("path", Physical::BYTE_ARRAY)
        .with_repetition(Repetition::REQUIRED)
        .with_logical_type(Some(LogicalType::String))
        .build()?;
    let element = Type::primitive_type_builder("element", Physical::FLOAT)
        .with_repetition(Repetition::REQUIRED)
        .build()?;
    let list = Type::group_type_builder("list")
        .with_repetition(Repetition::REPEATED)
        .with_fields(vec![Arc::new(element)])
        .build()?;
    let embedding = Type::group_type_builder("embedding")
        .with_repetition(Repetition::REQUIRED)
        .with_logical_type(Some(LogicalType::List))
        .with_converted_type(ConvertedType::LIST)
        .with_fields(vec![Arc::new(list)])
        .build()?;
    let fields = vec![Arc::new(path), Arc::new(embedding)];
    Ok(Arc::new(Type::group_type_builder("schema").with_fields(fields).build()?))
}
