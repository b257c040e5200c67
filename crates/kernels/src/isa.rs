//! Instruction set levels, in ascending order: their names, and which of them the processor has.
//!
//! A level stands for all the features its kernels use, so that one check at start suffices. `Avx2` is Intel's Haswell
//! (2013) and AMD's Zen and later; `Avx512` is Skylake-SP, Zen 4 and later. Levels of other architectures are never available.

use crate::KernelError;
use crate::simd::Level;
use std::{fmt, str::FromStr};

/// An instruction set level.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Isa {
    /// Plain Rust, on any processor.
    Portable,
    /// AVX2 and FMA (x86-64-v3).
    Avx2,
    /// AVX-512 F, BW, DQ, VL (x86-64-v4).
    Avx512,
}

impl Isa {
    /// All levels, lowest first.
    pub const ALL: [Self; 3] = [Self::Portable, Self::Avx2, Self::Avx512];

    /// Its name, as options and reports spell it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Portable => "portable",
            Self::Avx2 => "avx2",
            Self::Avx512 => "avx512",
        }
    }

    /// Whether this processor (and operating system) has the level.
    #[must_use]
    pub fn is_available(self) -> bool {
        Level::new(self).is_some()
    }

    /// The levels of this processor, lowest first; never empty.
    #[must_use]
    pub fn available() -> Vec<Self> {
        Self::ALL.into_iter().filter(|isa| isa.is_available()).collect()
    }

    /// The highest level of this processor.
    #[must_use]
    pub fn best() -> Self {
        Self::available().last().copied().unwrap_or(Self::Portable)
    }
}

impl fmt::Display for Isa {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Isa {
    type Err = KernelError;

    fn from_str(name: &str) -> Result<Self, KernelError> {
        Self::ALL.into_iter().find(|isa| isa.name() == name).ok_or_else(|| KernelError::UnknownIsa {
            got: name.to_owned(),
            expected: Self::ALL.map(Self::name).join(", "),
        })
    }
}
