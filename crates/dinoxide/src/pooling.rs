//! From tokens to one vector a picture.

use crate::Outputs;
use ndarray::{Array1, Axis, concatenate, s};

/// How the tokens of a picture become its embedding.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Pooling {
    /// `pooler_output`: the CLS token (ConvNeXt: the pooled vector) after the final norm, `[D]`.
    #[default]
    Cls,
    /// The mean of the patch tokens (registers excluded) after the final norm, `[D]`.
    Mean,
    /// Both, `pooler_output` first, `[2D]`: what the linear classifiers of DINOv2 read.
    ClsMean,
}

impl Pooling {
    /// The embedding of item `item` of a batch.
    ///
    /// # Panics
    /// When `item` is not in the batch.
    #[must_use]
    pub fn pool(self, outputs: &Outputs, item: usize) -> Array1<f32> {
        let cls = || outputs.pooler_output.row(item).to_owned();
        let mean = || {
            let patches = outputs.last_hidden_state.slice(s![item, outputs.prefix.., ..]);
            let count = patches.nrows() as f64;
            // Summed in f64: the order of the patches must not matter to the last bits.
            Array1::from_iter(
                patches
                    .axis_iter(Axis(1))
                    .map(|column| (column.iter().map(|&v| f64::from(v)).sum::<f64>() / count) as f32),
            )
        };
        match self {
            Self::Cls => cls(),
            Self::Mean => mean(),
            Self::ClsMean => concatenate![Axis(0), cls(), mean()],
        }
    }
}

/// Scales a vector to length 1 (L2, summed in f64); a zero vector stays zero.
pub fn normalize(vector: &mut Array1<f32>) {
    let norm = vector.iter().map(|&v| f64::from(v).powi(2)).sum::<f64>().sqrt();
    if norm > 0.0 {
        vector.mapv_inplace(|v| (f64::from(v) / norm) as f32);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Grid;
    use ndarray::{arr1, arr2, arr3};

    fn outputs() -> Outputs {
        Outputs {
            last_hidden_state: arr3(&[[[1.0, 2.0], [100.0, 100.0], [3.0, 5.0], [5.0, 9.0]]]),
            pooler_output: arr2(&[[1.0, 2.0]]),
            hidden_states: None,
            attentions: None,
            grid: Grid { rows: 1, cols: 2 },
            prefix: 2,
        }
    }

    #[test]
    fn the_mean_leaves_registers_out() {
        assert_eq!(Pooling::Mean.pool(&outputs(), 0), arr1(&[4.0, 7.0]));
        assert_eq!(Pooling::ClsMean.pool(&outputs(), 0), arr1(&[1.0, 2.0, 4.0, 7.0]));
    }

    #[test]
    fn normalizing_a_zero_vector_gives_no_nan() {
        let mut zero = arr1(&[0.0, 0.0]);
        normalize(&mut zero);
        assert_eq!(zero, arr1(&[0.0, 0.0]));
        let mut vector = arr1(&[3.0, 4.0]);
        normalize(&mut vector);
        assert_eq!(vector, arr1(&[0.6, 0.8]));
    }
}
