//! The losses of a classifier, by `problem_type`: mean squared error, cross entropy, binary cross entropy with logits.
//!
//! Where the config does not say it, one label means regression, integer labels mean a single label, floats several. Sums in f64.
//! Source: `loss/loss_utils.py: ForSequenceClassificationLoss` of Transformers 5.24.

use crate::ModelError;
use dinoxide_checkpoint::config::ProblemType;
use ndarray::{ArrayView, ArrayView2, ArrayViewD, Dimension};

/// The label that does not count.
pub const IGNORED_LABEL: i64 = -100;

/// What the logits are compared with.
#[derive(Debug, Clone)]
pub enum Labels<'a> {
    /// A class for each item, `[B]` or `[B, 1]`; [`IGNORED_LABEL`] does not count. In a regression, values.
    Classes(ArrayViewD<'a, i64>),
    /// Values: `[B]` or `[B, 1]` for one label, else `[B, labels]`.
    Values(ArrayViewD<'a, f32>),
}

impl<'a, D: Dimension> From<ArrayView<'a, i64, D>> for Labels<'a> {
    fn from(classes: ArrayView<'a, i64, D>) -> Self {
        Self::Classes(classes.into_dyn())
    }
}

impl<'a, D: Dimension> From<ArrayView<'a, f32, D>> for Labels<'a> {
    fn from(values: ArrayView<'a, f32, D>) -> Self {
        Self::Values(values.into_dyn())
    }
}

impl Labels<'_> {
    /// The problem type of a classifier of `num_labels` with these labels, where the config does not say it.
    #[must_use]
    pub fn problem_type(&self, num_labels: usize) -> ProblemType {
        match self {
            _ if num_labels == 1 => ProblemType::Regression,
            Self::Classes(_) if num_labels > 1 => ProblemType::SingleLabelClassification,
            Self::Classes(_) | Self::Values(_) => ProblemType::MultiLabelClassification,
        }
    }

    /// Whether there is one for each of `batch` items.
    fn is_one_each(shape: &[usize], batch: usize) -> bool {
        matches!(shape, [n] | [n, 1] if *n == batch)
    }
}

/// The loss of logits [B, labels].
///
/// # Errors
/// Labels of another shape or kind than the problem type asks for; a label that is no class.
pub fn loss(
    problem_type: ProblemType,
    logits: &ArrayView2<'_, f32>,
    labels: &Labels<'_>,
) -> Result<f32, ModelError> {
    loss_over(problem_type, logits, labels, None)
}

/// The same, a cross entropy divided by `num_items_in_batch` rather than by the labels that count: what a step that gathers the gradients
/// of several batches asks for. The other losses are means all the same, as in Transformers.
///
/// # Errors
/// As [`loss`].
pub fn loss_over(
    problem_type: ProblemType,
    logits: &ArrayView2<'_, f32>,
    labels: &Labels<'_>,
    num_items_in_batch: Option<usize>,
) -> Result<f32, ModelError> {
    match (problem_type, labels) {
        (ProblemType::SingleLabelClassification, Labels::Classes(classes))
            if Labels::is_one_each(classes.shape(), logits.nrows()) =>
        {
            let (sum, counted) = cross_entropy(logits, classes)?;
            Ok((sum / num_items_in_batch.unwrap_or(counted) as f64) as f32)
        }
        (ProblemType::Regression, Labels::Classes(classes)) => {
            let values = classes.mapv(|class| class as f32);
            loss(problem_type, logits, &Labels::Values(values.view()))
        }
        (ProblemType::Regression, Labels::Values(values))
            if values.shape() == logits.shape()
                || logits.ncols() == 1 && Labels::is_one_each(values.shape(), logits.nrows()) =>
        {
            Ok(mean(logits, values, |x, y| (x - y).powi(2)))
        }
        (ProblemType::MultiLabelClassification, Labels::Values(values))
            if values.shape() == logits.shape() =>
        {
            // −(y·log σ(x) + (1 − y)·log(1 − σ(x))), in the form that does not overflow.
            Ok(mean(logits, values, |x, y| x.max(0.0) - x * y + (-x.abs()).exp().ln_1p()))
        }
        _ => Err(do_not_fit(problem_type, logits, labels)),
    }
}

/// The mean of `term(logit, value)` over all elements.
fn mean(logits: &ArrayView2<'_, f32>, values: &ArrayViewD<'_, f32>, term: impl Fn(f64, f64) -> f64) -> f32 {
    let terms = logits.iter().zip(values).map(|(&x, &y)| term(f64::from(x), f64::from(y)));
    (terms.sum::<f64>() / logits.len() as f64) as f32
}

/// The sum of −log softmax(logits)[class] over the items that count, and their number.
fn cross_entropy(
    logits: &ArrayView2<'_, f32>,
    classes: &ArrayViewD<'_, i64>,
) -> Result<(f64, usize), ModelError> {
    let (mut sum, mut counted) = (0.0_f64, 0_usize);
    for (item, (row, &label)) in logits.rows().into_iter().zip(classes).enumerate() {
        if label == IGNORED_LABEL {
            continue;
        }
        let class = usize::try_from(label).ok().filter(|&class| class < row.len());
        let class = class.ok_or(ModelError::LabelOutOfRange { item, label, classes: row.len() })?;
        let largest = row.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        let total: f64 = row.iter().map(|&x| f64::from(x - largest).exp()).sum();
        sum += total.ln() - f64::from(row[class] - largest);
        counted += 1;
    }
    Ok((sum, counted))
}

fn do_not_fit(problem_type: ProblemType, logits: &ArrayView2<'_, f32>, labels: &Labels<'_>) -> ModelError {
    let (kind, got) = match labels {
        Labels::Classes(classes) => ("integers", classes.shape().to_vec()),
        Labels::Values(values) => ("floats", values.shape().to_vec()),
    };
    ModelError::Labels { kind, got, logits: logits.shape().to_vec(), problem_type: problem_type.name() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::{Array1, arr1, arr2};

    fn single(logits: [[f32; 3]; 2], classes: [i64; 2]) -> Result<f32, ModelError> {
        let classes: Array1<i64> = arr1(&classes);
        loss(ProblemType::SingleLabelClassification, &arr2(&logits).view(), &classes.view().into())
    }

    #[test]
    fn equal_logits_cost_the_logarithm_of_the_classes_and_large_ones_do_not_overflow() {
        assert_eq!(single([[5.0; 3]; 2], [0, 2]).unwrap(), 3.0_f32.ln());
        assert_eq!(single([[1e30, 0.0, -1e30], [0.0, 1e30, 0.0]], [0, 1]).unwrap(), 0.0);
    }

    #[test]
    fn ignored_labels_do_not_count_and_nothing_left_is_not_a_number() {
        let logits = [[1.0, 2.0, 3.0], [0.0, 0.0, 9.0]];
        let alone = single([logits[1], logits[1]], [2, 2]).unwrap();
        assert_eq!(single(logits, [IGNORED_LABEL, 2]).unwrap(), alone);
        assert!(single(logits, [IGNORED_LABEL; 2]).unwrap().is_nan());
    }

    #[test]
    fn a_cross_entropy_can_be_over_more_items_than_are_there() {
        let (logits, classes) = (arr2(&[[1.0_f32, 2.0, 3.0], [0.0, 0.5, 9.0]]), arr1(&[1_i64, 2]));
        let over =
            |problem_type, n| loss_over(problem_type, &logits.view(), &classes.view().into(), n).unwrap();
        let single = ProblemType::SingleLabelClassification;
        assert_eq!(over(single, Some(8)), over(single, None) / 4.0);
        let values = arr2(&[[0.0_f32; 3]; 2]);
        let multi = |n| {
            let labels = values.view().into();
            loss_over(ProblemType::MultiLabelClassification, &logits.view(), &labels, n).unwrap()
        };
        assert_eq!(multi(Some(8)), multi(None));
    }

    #[test]
    fn labels_that_do_not_fit_are_errors() {
        let logits = arr2(&[[0.0_f32; 3]; 2]);
        for label in [3, -1, i64::MIN] {
            assert!(matches!(
                single([[0.0; 3]; 2], [0, label]),
                Err(ModelError::LabelOutOfRange { item: 1, .. })
            ));
        }
        let classes = arr1(&[0_i64; 3]);
        let values = arr2(&[[0.0_f32; 2]; 2]);
        for (problem_type, labels) in [
            (ProblemType::SingleLabelClassification, Labels::from(classes.view())),
            (ProblemType::SingleLabelClassification, Labels::from(values.view())),
            (ProblemType::MultiLabelClassification, Labels::from(classes.view())),
            (ProblemType::MultiLabelClassification, Labels::from(values.view())),
            (ProblemType::Regression, Labels::from(values.view())),
            (ProblemType::Regression, Labels::from(classes.view())),
        ] {
            let error = loss(problem_type, &logits.view(), &labels).unwrap_err();
            assert!(matches!(error, ModelError::Labels { .. }), "{error}");
        }
    }

    #[test]
    fn the_problem_type_follows_from_labels() {
        let (classes, values) = (arr1(&[0_i64]), arr1(&[0.0_f32]));
        let (classes, values) = (Labels::from(classes.view()), Labels::from(values.view()));
        assert_eq!(classes.problem_type(1), ProblemType::Regression);
        assert_eq!(classes.problem_type(2), ProblemType::SingleLabelClassification);
        assert_eq!(classes.problem_type(0), ProblemType::MultiLabelClassification);
        assert_eq!(values.problem_type(2), ProblemType::MultiLabelClassification);
    }
}
