//! Feeds the model: from pictures or tensors to the outputs of each, in order.

use super::{PixelValues, collect};
use crate::{args::InputArgs, error::CliError, printer::Printer, text};
use dinoxide::{FileOptions, ImageProcessor, Inputs, Model, Outputs};
use std::{borrow::Cow, ops::ControlFlow, path::PathBuf};

/// Pictures of one forward over tensors, when the user leaves the choice.
const CHOSEN_BATCH: usize = 8;

/// What the model is fed with.
#[derive(Debug)]
pub(crate) enum Source {
    /// Picture files.
    Pictures(Vec<PathBuf>),
    /// Tensors.
    Tensors(PixelValues),
}

/// What becomes of each picture's outputs (a batch of one), or of its error.
pub(crate) type Sink<'a> = dyn FnMut(usize, Result<Outputs, CliError>) -> ControlFlow<()> + 'a;

impl Source {
    /// Finds what the command line names; also, how many places could not be looked into (each has been reported).
    ///
    /// # Errors
    /// As [`collect()`] and [`PixelValues::open`].
    pub(crate) fn open(args: &InputArgs, printer: &Printer) -> Result<(Self, usize), CliError> {
        if let Some(path) = &args.pixel_values {
            return Ok((Self::Tensors(PixelValues::open(path)?), 0));
        }
        let collected = collect(&args.pictures, printer)?;
        Ok((Self::Pictures(collected.pictures), collected.failed))
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

    /// Bytes of all labels together, at least.
    pub(crate) fn label_bytes(&self) -> usize {
        (0..self.len()).map(|index| self.label(index).len()).sum()
    }

    /// Runs the model on every picture. `processor` makes the processor; it is called for pictures only, since tensors
    /// need none.
    ///
    /// # Errors
    /// No processor; tensors that the model cannot take, as their file is one input. What befalls single pictures goes to
    /// the sink.
    pub(crate) fn run(
        &self,
        model: &Model,
        processor: impl FnOnce() -> Result<ImageProcessor, CliError>,
        options: FileOptions,
        sink: &mut Sink<'_>,
    ) -> Result<(), CliError> {
        match self {
            Self::Pictures(paths) => {
                let processor = processor()?;
                dinoxide::for_each_file(model, &processor, options, paths, &mut |index, outputs| {
                    sink(index, outputs.map_err(|error| self.named(index, error)))
                });
                Ok(())
            }
            Self::Tensors(tensors) => self.run_tensors(tensors, model, options, sink),
        }
    }

    fn run_tensors(
        &self,
        tensors: &PixelValues,
        model: &Model,
        options: FileOptions,
        sink: &mut Sink<'_>,
    ) -> Result<(), CliError> {
        let most = if options.batch == 0 { CHOSEN_BATCH } else { options.batch };
        let mut start = 0;
        while start < tensors.len() {
            let batch = tensors.batch_at(start, most);
            let pixel_values = tensors.read(batch.clone())?;
            let inputs = Inputs {
                output_hidden_states: options.output_hidden_states,
                output_attentions: options.output_attentions,
                ..Inputs::new(pixel_values.view())
            };
            let outputs = model.forward(&inputs).map_err(|error| self.named(start, error))?;
            start = batch.end;
            for (item, index) in batch.enumerate() {
                if sink(index, Ok(outputs.item(item))).is_break() {
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// An error with the picture's name, which decoding gives by itself and the model does not know.
    fn named(&self, index: usize, error: dinoxide::Error) -> CliError {
        match error {
            error @ dinoxide::Error::Image(_) => error.into(),
            error => CliError::Picture { label: self.label(index).into_owned(), source: Box::new(error) },
        }
    }
}
