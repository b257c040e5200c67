//! The instruction set level that the resize loops are compiled for: asked for by [`Isa`], or the best one found.
//!
//! The loops are plain Rust without fused multiply-adds or reordered sums, so every level gives the same bits; `pulp` holds a
//! copy of each compiled for AVX2 (x86-64-v3) and AVX-512 (x86-64-v4). Off x86 there is the portable copy, and for the
//! best level what `pulp` knows of the processor (NEON).

use dinoxide_kernels::Isa;
use pulp::Arch;

use crate::ImageError;

/// The copy of the loops to run; `None` takes the best.
pub(crate) fn arch(isa: Option<Isa>) -> Result<Arch, ImageError> {
    let Some(isa) = isa else { return Ok(Arch::new()) };
    let arch = match isa {
        Isa::Portable => Some(Arch::Scalar),
        #[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
        Isa::Avx2 => pulp::x86::V3::try_new().map(Arch::V3),
        #[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
        Isa::Avx512 => pulp::x86::V4::try_new().map(Arch::V4),
        #[cfg(not(any(target_arch = "x86", target_arch = "x86_64")))]
        Isa::Avx2 | Isa::Avx512 => None,
    };
    arch.ok_or(ImageError::IsaNotAvailable { isa })
}

/// Every level of this processor, for tests: the portable one first.
#[cfg(test)]
pub(crate) fn every_arch() -> Vec<(Isa, Arch)> {
    Isa::available().into_iter().filter_map(|isa| Some((isa, arch(Some(isa)).ok()?))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_level_is_given_exactly_when_the_processor_has_it() {
        for isa in Isa::ALL {
            match arch(Some(isa)) {
                Ok(_) => assert!(isa.is_available(), "{isa}"),
                Err(ImageError::IsaNotAvailable { isa: named }) => {
                    assert_eq!(named, isa);
                    assert!(!isa.is_available(), "{isa}");
                }
                Err(error) => panic!("{error}"),
            }
        }
        assert!(matches!(arch(Some(Isa::Portable)), Ok(Arch::Scalar)));
        assert_eq!(every_arch().len(), Isa::available().len());
    }
}
