//! Comparisons: largest absolute difference with its place, cosine, distance in units in the last place.
//!
//! Differences are taken in f32, means and cosines in f64. Where one side is not finite and the other differs, the
//! difference is infinite, so that no comparison passes by a NaN.

/// The largest absolute difference between two slices, and where it is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Worst {
    /// Largest `|got - want|`; infinite when one side is not finite and the other differs.
    pub max_abs: f32,
    /// Flat index of it.
    pub index: usize,
    /// Mean of `|got - want|`.
    pub mean_abs: f64,
}

/// Compares two slices of the same length.
///
/// # Panics
/// When the lengths differ.
#[must_use]
pub fn worst(got: &[f32], want: &[f32]) -> Worst {
    assert_eq!(got.len(), want.len(), "lengths differ");
    let mut worst = Worst { max_abs: 0.0, index: 0, mean_abs: 0.0 };
    let mut sum = 0.0_f64;
    for (index, (&g, &w)) in got.iter().zip(want).enumerate() {
        let difference = if g == w || (g.is_nan() && w.is_nan()) { 0.0 } else { (g - w).abs() };
        let difference = if difference.is_nan() { f32::INFINITY } else { difference };
        if difference > worst.max_abs {
            (worst.max_abs, worst.index) = (difference, index);
        }
        sum += f64::from(difference);
    }
    worst.mean_abs = if got.is_empty() { 0.0 } else { sum / got.len() as f64 };
    worst
}

/// Cosine of two vectors, in f64; 1 when both are zero.
#[must_use]
pub fn cosine(a: &[f32], b: &[f32]) -> f64 {
    let dot = |x: &[f32], y: &[f32]| x.iter().zip(y).map(|(&p, &q)| f64::from(p) * f64::from(q)).sum::<f64>();
    let norm = (dot(a, a) * dot(b, b)).sqrt();
    if norm == 0.0 { f64::from(u8::from(dot(a, a) == dot(b, b))) } else { dot(a, b) / norm }
}

/// Distance of two finite floats in units in the last place.
#[must_use]
pub fn ulps(a: f32, b: f32) -> u64 {
    // Maps floats to integers in the same order, so that neighbours differ by one, also across zero.
    let ordered = |x: f32| {
        let bits = i64::from(x.to_bits() & 0x7fff_ffff);
        if x.is_sign_negative() { -bits } else { bits }
    };
    ordered(a).abs_diff(ordered(b))
}

/// Panics with the place and both values unless every element is within `max_abs`.
///
/// # Panics
/// When the slices differ by more, or in length.
pub fn assert_close(what: &str, got: &[f32], want: &[f32], max_abs: f32) {
    let w = worst(got, want);
    assert!(
        w.max_abs <= max_abs,
        "{what}: max abs {:e} > {max_abs:e} at {} (got {}, want {})",
        w.max_abs,
        w.index,
        got[w.index],
        want[w.index]
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_nan_is_the_worst_difference() {
        assert_eq!(worst(&[1.0, f32::NAN], &[1.0, 2.0]).max_abs, f32::INFINITY);
        assert_eq!(worst(&[f32::NAN], &[f32::NAN]).max_abs, 0.0);
    }

    #[test]
    fn ulps_count_across_zero() {
        assert_eq!(ulps(0.0, -0.0), 0);
        assert_eq!(ulps(f32::from_bits(1), -f32::from_bits(1)), 2);
        assert_eq!(ulps(1.0, 1.0 + f32::EPSILON), 1);
    }

    #[test]
    fn cosine_of_opposites_is_minus_one() {
        assert_eq!(cosine(&[1.0, 2.0], &[-1.0, -2.0]), -1.0);
    }
}
