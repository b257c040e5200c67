//! Features with the classifier's `logits`, and the `loss` where the inputs have labels.
//!
//! The loss is that of all pictures together. Losses of batches could not be put together: labels that are ignored do not count. So
//! the logits are kept until the end. Labels that do not fit are told before the work.

use super::{FeatureFile, Work, bare};
use crate::{
    commands::forward::{Picture, Take, all_finite},
    error::CliError,
    exit::Exit,
    printer::Printer,
    session::Session,
};
use dinoxide::{ImageClassifier, ImageClassifierOutputs, Labels};
use ndarray::{Array2, ArrayView2};

pub(super) fn run(work: Work<'_>, session: &mut Session) -> Result<Exit, CliError> {
    let Work { args, forward, checkpoint, asks, file } = work;
    let classifier = ImageClassifier::from_checkpoint(&checkpoint, forward.run_options(session))
        .map_err(|error| CliError::of_option("--logits", error))?;
    let labels = forward.labels();
    let losses = labels.map(|labels| Losses { classifier: &classifier, labels, logits: Vec::new() });
    losses.as_ref().map(Losses::check).transpose()?;
    let output = Some(args.output.as_path());
    forward.run((&checkpoint, &classifier), asks, output, Classified { file, losses }, session)
}

/// Writes the tensors.
struct Classified<'a> {
    file: FeatureFile,
    losses: Option<Losses<'a>>,
}

impl Take for Classified<'_> {
    type Outputs = ImageClassifierOutputs;

    fn are_finite(outputs: &ImageClassifierOutputs) -> bool {
        all_finite(&outputs.base.last_hidden_state) && all_finite(&outputs.logits)
    }

    fn take(
        &mut self,
        picture: Picture<'_>,
        outputs: ImageClassifierOutputs,
        _: &mut Printer,
    ) -> Result<(), CliError> {
        bare::push(&mut self.file, picture, &outputs.base)?;
        self.file.push("logits", &outputs.logits)?;
        if let Some(losses) = &mut self.losses {
            losses.logits.extend(&outputs.logits);
        }
        Ok(())
    }

    fn finish(mut self) -> Result<(), CliError> {
        if let Some(losses) = &self.losses {
            self.file.push_loss(losses.loss()?)?;
        }
        self.file.finish()
    }
}

/// Labels, and the logits that they are compared with, as they come.
struct Losses<'a> {
    classifier: &'a ImageClassifier,
    labels: Labels<'a>,
    /// [B, labels], row-major.
    logits: Vec<f32>,
}

impl Losses<'_> {
    /// Numbers that each picture has.
    fn width(&self) -> usize {
        let config = self.classifier.config();
        match config.common().num_labels() {
            // Without labels the logits are the features.
            0 => 2 * config.hidden_size(),
            labels => labels,
        }
    }

    /// Pictures that have a label.
    fn pictures(&self) -> usize {
        let shape = match &self.labels {
            Labels::Classes(classes) => classes.shape(),
            Labels::Values(values) => values.shape(),
        };
        shape.first().copied().unwrap_or(0)
    }

    /// Refuses labels that do not fit, whatever the logits are.
    fn check(&self) -> Result<(), CliError> {
        let logits = Array2::zeros((self.pictures(), self.width()));
        self.classifier.loss(&logits.view(), self.labels.clone())?;
        Ok(())
    }

    /// The loss of all pictures.
    fn loss(&self) -> Result<f32, CliError> {
        let shape = (self.logits.len() / self.width(), self.width());
        #[allow(clippy::expect_used)] // each picture has given `width` logits
        let logits = ArrayView2::from_shape(shape, &self.logits).expect("as many as the shape has");
        Ok(self.classifier.loss(&logits, self.labels.clone())?)
    }
}
