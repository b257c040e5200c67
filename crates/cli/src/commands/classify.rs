//! `classify`: the labels of each picture, as JSON lines, in a file of them, or as tables on a terminal.
//!
//! Scores are what the function makes of the classifier's logits; equal ones stay in the order of their classes. Which function
//! and which labels: see [`ClassifyOptions`].

use super::forward::{Forward, Picture, Take, all_finite};
use crate::{
    args::{ClassifyArgs, Function},
    cleanup::Cleanup,
    error::CliError,
    exit::Exit,
    options::DEFAULT_CLASSIFIER,
    output::{LineWriter, OutputFile, Table, check_extension, json_line},
    printer::Printer,
    session::Session,
    text,
};
use dinoxide::{
    CheckpointError, ClassifyOptions, FileOptions, FunctionToApply, ImageClassifier, ImageClassifierOutputs,
    Prediction, config::CommonConfig,
};
use serde::Serialize;
use std::path::Path;

pub(super) fn run(args: &ClassifyArgs, session: &mut Session) -> Result<Exit, CliError> {
    let output = args.output.as_deref();
    output.map(|path| check_extension(path, ".jsonl")).transpose()?;
    let forward = Forward::new(&args.run, output, DEFAULT_CLASSIFIER, session)?;
    let to = destination(output, session)?;
    forward.leave_labels(session);
    let checkpoint = forward.open(session)?;
    if checkpoint.config().common().num_labels() == 0 {
        // Transformers then gives features for logits, which are no labels.
        let path = checkpoint.tensors().path().to_owned();
        return Err(dinoxide::Error::from(CheckpointError::NoClassifier { path }).into());
    }
    let classifier = ImageClassifier::from_checkpoint(&checkpoint, forward.run_options(session))?;
    let labels = Labels {
        config: classifier.config().common().clone(),
        options: ClassifyOptions { top_k: args.top_k, function_to_apply: function(args.function) },
        to,
    };
    forward.run((&checkpoint, &classifier), FileOptions::plain(), output, labels, session)
}

fn function(function: Function) -> Option<FunctionToApply> {
    match function {
        Function::Auto => None,
        Function::Softmax => Some(FunctionToApply::Softmax),
        Function::Sigmoid => Some(FunctionToApply::Sigmoid),
        Function::None => Some(FunctionToApply::None),
    }
}

fn destination(output: Option<&Path>, session: &Session) -> Result<To, CliError> {
    Ok(match output {
        Some(path) => To::File(LineWriter::new(OutputFile::create(path, &Cleanup::on_interrupt())?)),
        None if session.printer.stdout_is_terminal() => To::Person { first: true },
        None => To::Program,
    })
}

/// Makes labels of logits, and hands them on.
struct Labels {
    config: CommonConfig,
    options: ClassifyOptions,
    to: To,
}

/// Where labels go.
enum To {
    /// JSON lines in a file.
    File(LineWriter),
    /// JSON lines on stdout.
    Program,
    /// A table a picture on stdout.
    Person {
        /// None was printed yet.
        first: bool,
    },
}

/// A line.
#[derive(Serialize)]
struct Row<'a> {
    path: &'a str,
    labels: Vec<Label<'a>>,
}

#[derive(Serialize)]
struct Label<'a> {
    label: &'a str,
    score: f32,
}

impl Take for Labels {
    type Outputs = ImageClassifierOutputs;

    fn are_finite(outputs: &ImageClassifierOutputs) -> bool {
        all_finite(&outputs.logits)
    }

    fn take(
        &mut self,
        picture: Picture<'_>,
        outputs: ImageClassifierOutputs,
        printer: &mut Printer,
    ) -> Result<(), CliError> {
        let label = picture.label;
        let logits: Vec<f32> = outputs.logits.iter().copied().collect();
        let predictions = self.options.predictions(&self.config, &logits);
        match &mut self.to {
            To::File(file) => file.write(&row(label, &predictions)),
            To::Program => printer.data(&json_line(&row(label, &predictions)).map_err(CliError::Stdout)?),
            To::Person { first } => {
                let before = if std::mem::take(first) { "" } else { "\n" };
                printer.data(format!("{before}{}", table(label, &predictions)).as_bytes())
            }
        }
    }

    fn finish(self) -> Result<(), CliError> {
        match self.to {
            To::File(file) => file.finish(),
            To::Program | To::Person { .. } => Ok(()),
        }
    }
}

fn row<'a>(path: &'a str, predictions: &'a [Prediction]) -> Row<'a> {
    let label = |Prediction { label, score }: &'a Prediction| Label { label, score: *score };
    Row { path, labels: predictions.iter().map(label).collect() }
}

/// A picture's labels for people, under its name.
fn table(path: &str, predictions: &[Prediction]) -> Table {
    let mut table = Table::new(&[&text::shown(path), "score"]);
    for Prediction { label, score } in predictions {
        table.row(vec![text::shown(label).into_owned(), format!("{score:.4}")]);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_persons_table_has_the_picture_above_its_labels_and_no_controls() {
        let predictions = [("a cat", 0.987_66), ("\u{1b}[31mdog", 0.01)];
        let predictions = predictions.map(|(label, score)| Prediction { label: label.to_owned(), score });
        let expected = "photo.jpg      score\na cat          0.9877\n\\u{1b}[31mdog  0.0100\n";
        assert_eq!(table("photo.jpg", &predictions).to_string(), expected);
    }
}
