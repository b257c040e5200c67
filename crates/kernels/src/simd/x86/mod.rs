//! The x86-64 levels: one file a level, each with its token and the operations of [`super::Simd`] as intrinsics.
//!
//! An intrinsic may be called only where its features are; that is what a token proves, as it is made by `new` alone, which
//! asks the processor.

mod avx2;
mod avx512;

pub(crate) use avx2::Avx2;
pub(crate) use avx512::{Avx512, BF16, FP16, VNNI};

/// Whether AMD made the processor.
pub(crate) fn is_amd() -> bool {
    static VENDOR: std::sync::OnceLock<bool> = std::sync::OnceLock::new();
    *VENDOR.get_or_init(|| {
        let id = std::arch::x86_64::__cpuid(0);
        [id.ebx, id.edx, id.ecx].map(u32::to_le_bytes).concat() == b"AuthenticAMD"
    })
}

/// Lists the operations that are one intrinsic each.
macro_rules! instructions {
    ($($name:ident($($arg:ident),+) = $intrinsic:ident;)+) => {
        $(
            #[inline(always)]
            #[allow(unsafe_code)]
            fn $name(self, $($arg: Self::Vec),+) -> Self::Vec {
                // SAFETY: the token exists only where the level's features do.
                unsafe { $intrinsic($($arg),+) }
            }
        )+
    };
}
use instructions;
