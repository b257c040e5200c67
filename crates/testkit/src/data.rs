//! Seeded data: the same numbers on every machine, in Rust and in `tools/golden` (Python).
//!
//! A hash of the index, not a generator with a state: any part of the data can be made by itself, and the twins in
//! `dinoxide::hash32` and `tools/golden/common.py` are one line each.

/// Values in [-2, 2) made by hashing the index: `h = (i + 1)·2654435761 + seed·40503 mod 2^32`, mixed by
/// `h ^= h >> 16; h *= 2246822519; h ^= h >> 13`, then `(h >> 8) / 2^22 - 2`, exact in f32.
#[must_use]
pub fn hash32(seed: u32, len: usize) -> Vec<f32> {
    (0..len as u32)
        .map(|i| {
            let mut h = i.wrapping_add(1).wrapping_mul(2_654_435_761).wrapping_add(seed.wrapping_mul(40_503));
            h ^= h >> 16;
            h = h.wrapping_mul(2_246_822_519);
            h ^= h >> 13;
            (h >> 8) as f32 / 4_194_304.0 - 2.0
        })
        .collect()
}

#[cfg(test)]
mod tests {
    #[test]
    fn hash32_is_spread_over_its_range() {
        let values = super::hash32(1, 10_000);
        let mean = values.iter().sum::<f32>() / 10_000.0;
        assert!(mean.abs() < 0.05, "{mean}");
        assert!(values.iter().all(|v| (-2.0..2.0).contains(v)));
    }
}
