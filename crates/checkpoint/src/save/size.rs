//! The most bytes of one file, as Transformers takes it: a number of bytes, or a number with a decimal unit.

use std::str::FromStr;

use crate::error::CheckpointError;

/// Bytes of Transformers 5's default, "50GB".
const DEFAULT_BYTES: u64 = 50_000_000_000;
/// Decimal units.
const UNITS: [(&str, f64); 4] = [("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("KB", 1e3)];

/// A size in bytes, read from `5GB`, `1.5 MB` and the like or from a plain number of bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct ShardSize(u64);

impl ShardSize {
    /// So many bytes.
    pub const fn from_bytes(bytes: u64) -> Self {
        Self(bytes)
    }

    /// How many bytes.
    pub const fn bytes(self) -> u64 {
        self.0
    }
}

impl Default for ShardSize {
    /// 50 GB.
    fn default() -> Self {
        Self(DEFAULT_BYTES)
    }
}

impl FromStr for ShardSize {
    type Err = CheckpointError;

    fn from_str(text: &str) -> Result<Self, CheckpointError> {
        let invalid = || CheckpointError::InvalidSize { text: text.into() };
        let trimmed = text.trim();
        if let Ok(bytes) = trimmed.parse() {
            return Ok(Self(bytes));
        }
        let upper = trimmed.to_ascii_uppercase();
        let (number, unit) = UNITS
            .iter()
            .find_map(|(name, unit)| Some((upper.strip_suffix(name)?.trim(), unit)))
            .ok_or_else(invalid)?;
        let bytes = number.parse::<f64>().map_err(|_| invalid())? * unit;
        // Below 2^63, so that the conversion is exact up to the fraction, which is dropped.
        match (0.0..9.2e18).contains(&bytes) {
            true => Ok(Self(bytes as u64)),
            false => Err(invalid()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_decimal_and_may_be_written_small() {
        let cases = [
            ("5GB", 5_000_000_000),
            ("1.5 mb", 1_500_000),
            (" 36KB ", 36_000),
            ("2tb", 2_000_000_000_000),
            ("17", 17),
        ];
        for (text, bytes) in cases {
            assert_eq!(text.parse::<ShardSize>().unwrap().bytes(), bytes, "{text}");
        }
        assert_eq!(ShardSize::default(), "50GB".parse().unwrap());
    }

    #[test]
    fn what_is_no_size_is_refused() {
        for text in ["", "GB", "5GiB", "-1GB", "-1", "nanGB", "infGB", "1e30TB", "5 G", "é"] {
            let got = text.parse::<ShardSize>();
            assert!(matches!(got, Err(CheckpointError::InvalidSize { .. })), "{text}: {got:?}");
        }
    }
}
