//! Feeds the model: from pictures or tensors to the outputs of each, in order.
//!
//! Pictures go through the library, which decodes ahead of the model and batches by size. Tensors of one size that follow each
//! other are a batch. A picture is an outputs of its own in the end, a batch of one.

use super::{Opened, Opener, PixelValues, collect};
use crate::{args::InputArgs, error::CliError, output::Planned, printer::Printer, text};
use dinoxide::{Error, FileOptions, Labels, Runner};
use ndarray::Axis;
use std::{
    borrow::Cow,
    fs,
    ops::ControlFlow,
    path::{Path, PathBuf},
};

/// Pictures of one forward over tensors, when the user leaves the choice.
const CHOSEN_BATCH: usize = 8;

/// What the model is fed with.
#[derive(Debug)]
pub(crate) enum Source {
    /// Picture files.
    Pictures(Vec<PathBuf>),
    /// Tensors.
    Tensors(Box<PixelValues>),
}

/// A picture that went through the model.
#[derive(Debug)]
pub(crate) struct Fed<T> {
    /// A batch of one.
    pub(crate) outputs: T,
    /// What the user should know of the picture.
    pub(crate) warning: Option<String>,
}

/// What becomes of each picture, or of its error.
pub(crate) type Sink<'a, T> = dyn FnMut(usize, Result<Fed<T>, CliError>) -> ControlFlow<()> + 'a;

impl Source {
    /// Finds what the command line names; also, how many places could not be looked into (each has been reported).
    ///
    /// # Errors
    /// As [`collect()`] and [`PixelValues::open`].
    pub(crate) fn open(args: &InputArgs, printer: &Printer) -> Result<(Self, usize), CliError> {
        if let Some(path) = &args.pixel_values {
            return Ok((Self::Tensors(Box::new(PixelValues::open(path)?)), 0));
        }
        let collected = collect(&args.pictures, printer)?;
        Ok((Self::Pictures(collected.pictures), collected.failed))
    }

    /// Makes sure that no input is lost to an output of the same name.
    ///
    /// # Errors
    /// `output` is one of the inputs.
    pub(crate) fn spare_from(&self, output: &Path) -> Result<(), CliError> {
        match self {
            Self::Pictures(paths) => spare(paths.iter().map(PathBuf::as_path), output),
            Self::Tensors(tensors) => spare([tensors.path()], output),
        }
    }

    /// Number of pictures.
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Pictures(paths) => paths.len(),
            Self::Tensors(tensors) => tensors.len(),
        }
    }

    /// What results say where a picture came from: its path as given; `FILE#index` for a tensor.
    pub(crate) fn label(&self, index: usize) -> Cow<'_, str> {
        match self {
            Self::Pictures(paths) => text::path_text(&paths[index]),
            Self::Tensors(tensors) => Cow::Owned(tensors.label(index)),
        }
    }

    /// What an output file is to hold, if no picture fails.
    pub(crate) fn planned(&self) -> Planned {
        Planned::of((0..self.len()).map(|index| self.label(index)))
    }

    /// The labels of all pictures: a file of tensors may have some.
    pub(crate) fn labels(&self) -> Option<Labels<'_>> {
        match self {
            Self::Pictures(_) => None,
            Self::Tensors(tensors) => tensors.labels(),
        }
    }

    /// Runs the model on every picture. `opener` makes the opener; it is called for pictures only, since tensors need no
    /// processor.
    ///
    /// # Errors
    /// What `opener` says; tensors that the model cannot take, as their file is one input. What befalls single pictures
    /// goes to the sink.
    pub(crate) fn run<R: Runner>(
        &self,
        runner: &R,
        opener: impl FnOnce() -> Result<Opener, CliError>,
        options: &FileOptions,
        sink: &mut Sink<'_, R::Outputs>,
    ) -> Result<(), CliError> {
        match self {
            Self::Pictures(paths) => {
                let opener = opener()?;
                let results = dinoxide::run_files(runner, &opener.strict, options.clone(), paths);
                for (index, (path, outputs)) in results.enumerate() {
                    let fed = match outputs {
                        Ok(outputs) => Ok(Fed { outputs, warning: None }),
                        Err(error) => opener
                            .open_again(path, error)
                            .and_then(|opened| forward_one(runner, options, opened)),
                    };
                    if sink(index, fed.map_err(|error| self.named(index, error))).is_break() {
                        break;
                    }
                }
                Ok(())
            }
            Self::Tensors(tensors) => self.run_tensors(tensors, runner, options, sink),
        }
    }

    fn run_tensors<R: Runner>(
        &self,
        tensors: &PixelValues,
        runner: &R,
        options: &FileOptions,
        sink: &mut Sink<'_, R::Outputs>,
    ) -> Result<(), CliError> {
        let most = if options.batch == 0 { CHOSEN_BATCH } else { options.batch };
        let mut start = 0;
        while start < tensors.len() {
            let range = tensors.batch_at(start, most);
            let batch = tensors.read(range.clone())?;
            let outputs = runner.run(&batch.inputs(options));
            let outputs = outputs.map_err(|error| self.named(start, error))?;
            start = range.end;
            for (index, outputs) in range.zip(R::into_items(outputs)) {
                if sink(index, Ok(Fed { outputs, warning: None })).is_break() {
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// An error with the picture's name, which decoding gives by itself and the model does not know.
    fn named(&self, index: usize, error: Error) -> CliError {
        match error {
            error @ Error::Image(_) => error.into(),
            error => CliError::Picture { label: self.label(index).into_owned(), source: Box::new(error) },
        }
    }
}

/// Refuses an output that is one of the inputs, by whatever name.
///
/// # Errors
/// It is.
pub(crate) fn spare<'a>(inputs: impl IntoIterator<Item = &'a Path>, output: &Path) -> Result<(), CliError> {
    let Ok(real) = fs::canonicalize(output) else { return Ok(()) };
    let is_output = |input: &Path| fs::canonicalize(input).is_ok_and(|input| input == real);
    match inputs.into_iter().any(is_output) {
        true => Err(CliError::OutputIsInput { path: output.to_owned() }),
        false => Ok(()),
    }
}

fn forward_one<R: Runner>(
    runner: &R,
    options: &FileOptions,
    opened: Opened,
) -> Result<Fed<R::Outputs>, Error> {
    let batch = opened.pixels.insert_axis(Axis(0));
    let outputs = runner.run(&options.inputs(batch.view()))?;
    // A batch of one has one item.
    Ok(Fed { outputs: R::into_items(outputs).remove(0), warning: opened.warning })
}
