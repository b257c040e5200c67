//! `embed`: one vector a picture, to a file or as JSON lines on stdout.
//!
//! The vector is the CLS token after the final norm, the mean of the patch tokens, or both; `--normalize` divides it by its
//! length. On stdout each line is handed on at once, so that a reader sees it as it comes.

use super::forward::{Forward, Picture, Take, all_finite, bare_model};
use crate::{
    args::EmbedArgs,
    cleanup::Cleanup,
    error::CliError,
    exit::Exit,
    options::DEFAULT_MODEL,
    output::{Row, VectorFormat, VectorWriter, json_line},
    printer::Printer,
    session::Session,
};
use dinoxide::{FileOptions, Outputs, Pooling, normalize};

pub(super) fn run(args: &EmbedArgs, session: &mut Session) -> Result<Exit, CliError> {
    let output = args.output.as_deref();
    let format = output.map(|path| VectorFormat::of(path).map(|format| (path, format))).transpose()?;
    let forward = Forward::new(&args.run, output, DEFAULT_MODEL, session)?;
    let writer = format
        .map(|(path, format)| format.create(path, forward.about().clone(), &Cleanup::on_interrupt()))
        .transpose()?;
    let vectors = Vectors { pool: args.pool.into(), normalize: args.normalize, writer };
    forward.leave_labels(session);
    let checkpoint = forward.open(session)?;
    let model = bare_model(&checkpoint, forward.run_options(session))?;
    forward.run((&checkpoint, &model), FileOptions::plain(), output, vectors, session)
}

/// Makes vectors, and writes them to a file or to stdout.
struct Vectors {
    pool: Pooling,
    normalize: bool,
    writer: Option<Box<dyn VectorWriter>>,
}

impl Take for Vectors {
    type Outputs = Outputs;

    fn are_finite(outputs: &Outputs) -> bool {
        all_finite(&outputs.last_hidden_state)
    }

    fn take(
        &mut self,
        picture: Picture<'_>,
        outputs: Outputs,
        printer: &mut Printer,
    ) -> Result<(), CliError> {
        let mut vector = self.pool.pool(&outputs, 0);
        if self.normalize {
            normalize(&mut vector);
        }
        let row = Row { path: picture.label, embedding: &vector.to_vec() };
        match &mut self.writer {
            Some(writer) => writer.write(row.path, row.embedding),
            None => printer.data(&json_line(&row).map_err(CliError::Stdout)?),
        }
    }

    fn finish(self) -> Result<(), CliError> {
        self.writer.map_or(Ok(()), VectorWriter::finish)
    }
}
