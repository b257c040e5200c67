//! What a processor will do with a picture of a known size, checked before any memory is taken.
//!
//! For an axis of n_in → n_out samples of which the crop keeps k, a resize of radius r takes t = min(2·⌈r·max(n_in / n_out, 1)⌉ +
//! 1, n_in) inputs for each output. Counted are the bytes of the weights, k·(12·t + 32) (in f64 and as 16-bit integers, with their
//! places), and the multiply-adds of one channel: first pass over the lines that the second one needs, then the second, plus the
//! n_out·t weights of a reduced axis that fixed point looks at. Sources of the rules: [`Size`](crate::Size), [`Crop`].

use pulp::Arch;

use crate::crop::Crop;
use crate::filters::{Axis, Filter, LANES};
use crate::limits::within;
use crate::resize_u8::Target;
use crate::{ImageError, ProcessorSpec, Resample, simd};

/// Resize and crop of one picture.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) target: Target,
    pub(crate) crop: Crop,
    pub(crate) resample: Resample,
    pub(crate) arch: Arch,
}

impl Plan {
    /// The plan for a picture of `height × width`, refused when it breaks a limit of the spec.
    pub(crate) fn new(height: usize, width: usize, spec: &ProcessorSpec) -> Result<Self, ImageError> {
        let size = match spec.resize {
            Some(resize) => resize.size.output(height, width)?,
            None => (height, width),
        };
        if spec.resize.is_some() {
            within("max_resized_side", spec.max_resized_side, size.0.max(size.1) as u64)?;
        }
        let crop = Crop::of(size, spec.center_crop, spec.max_output_pixels)?;
        let (rows, columns) = (crop.rows.keep.clone(), crop.columns.keep.clone());
        let target = Target { height: size.0, width: size.1, rows, columns };
        let resample = spec.resize.map_or(Resample::Nearest, |resize| resize.resample);
        let filter = Filter::of(resample);
        let vertical = Cost::of(filter, height, target.height, target.rows.len());
        let horizontal = Cost::of(filter, width, target.width, target.columns.len());
        let bytes = vertical.weight_bytes.saturating_add(horizontal.weight_bytes);
        within("max_resize_bytes", spec.max_resize_bytes, bytes)?;
        within("max_resize_work", spec.max_resize_work, work(vertical, horizontal))?;
        Ok(Self { target, crop, resample, arch: simd::arch(spec.isa)? })
    }
}

/// What one axis takes.
#[derive(Debug, Clone, Copy)]
struct Cost {
    /// Input samples that the window needs.
    inputs: u64,
    /// Outputs in the window.
    outputs: u64,
    /// Inputs for each output.
    taps: u64,
    /// Bytes of the weights.
    weight_bytes: u64,
    /// Weights looked at to choose the fixed point.
    looked_at: u64,
}

impl Cost {
    fn of(filter: Option<Filter>, input: usize, output: usize, window: usize) -> Self {
        let outputs = window as u64;
        let Some(filter) = filter.filter(|_| input != output) else {
            // Nearest keeps one index for each output.
            return Self {
                inputs: outputs,
                outputs,
                taps: 1,
                weight_bytes: outputs.saturating_mul(8),
                looked_at: 0,
            };
        };
        let axis = Axis { filter, input, output };
        let taps = axis.most::<f64>().min(input) as u64;
        let stride = taps.next_multiple_of(LANES as u64);
        let between = (window as f64 * (input as f64 / output as f64)) as u64;
        Self {
            inputs: between.saturating_add(taps).min(input as u64),
            outputs,
            taps,
            weight_bytes: outputs.saturating_mul(stride.saturating_mul(12).saturating_add(32)),
            looked_at: if input > output { taps.saturating_mul(output as u64) } else { 0 },
        }
    }
}

/// Multiply-adds of one channel, the horizontal pass first. Where floats take the other order it costs at most a few times more.
fn work(vertical: Cost, horizontal: Cost) -> u64 {
    let pass = |lines: u64, across: Cost| lines.saturating_mul(across.outputs).saturating_mul(across.taps);
    let horizontal_first =
        pass(vertical.inputs, horizontal).saturating_add(pass(horizontal.outputs, vertical));
    horizontal_first.saturating_add(vertical.looked_at).saturating_add(horizontal.looked_at)
}

#[cfg(test)]
mod tests;
