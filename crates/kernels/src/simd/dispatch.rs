//! From a level found at run time to code compiled for it: the only place with `#[target_feature]`.
//!
//! [`Level`] holds a token, and a token exists only where its features do; so calling the function compiled with them is
//! sound. Everything inlined into that function is compiled with the features too.

#[cfg(target_arch = "x86_64")]
use super::x86::{Avx2, Avx512, BF16, FP16, VNNI};
use super::{Simd, portable::Portable};
use crate::Isa;

/// A computation written over any level: a struct with its arguments.
pub(crate) trait Operation {
    /// What it gives back.
    type Output;

    /// Does it. Must be `#[inline(always)]`, with everything that it calls per vector.
    fn eval<S: Simd>(self, simd: S) -> Self::Output;
}

/// An instruction set level that this processor has: it holds the token that proves it.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Level {
    /// See [`Isa::Portable`].
    Portable(Portable),
    /// See [`Isa::Avx2`].
    #[cfg(target_arch = "x86_64")]
    Avx2(Avx2),
    /// See [`Isa::Avx512`].
    #[cfg(target_arch = "x86_64")]
    Avx512(Avx512),
}

impl Level {
    /// The level, when the processor has it.
    pub(crate) fn new(isa: Isa) -> Option<Self> {
        match isa {
            Isa::Portable => Some(Self::Portable(Portable::new())),
            #[cfg(target_arch = "x86_64")]
            Isa::Avx2 => Avx2::new().map(Self::Avx2),
            #[cfg(target_arch = "x86_64")]
            Isa::Avx512 => Avx512::new().map(Self::Avx512),
            #[cfg(not(target_arch = "x86_64"))]
            Isa::Avx2 | Isa::Avx512 => None,
        }
    }

    /// Its name.
    pub(crate) fn isa(self) -> Isa {
        match self {
            Self::Portable(_) => Isa::Portable,
            #[cfg(target_arch = "x86_64")]
            Self::Avx2(_) => Isa::Avx2,
            #[cfg(target_arch = "x86_64")]
            Self::Avx512(_) => Isa::Avx512,
        }
    }

    /// Whether products of bf16 take less time than those of floats: on AMD's processors (Zen 4 and later) twice as many are done at
    /// a time; on Intel's without AMX half as many.
    pub(crate) fn multiplies_bf16(self) -> bool {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Avx512(token) => token.with_bf16().is_some() && super::x86::is_amd(),
            _ => false,
        }
    }

    /// Whether the processor has products of f16, which take half the time of those of floats.
    pub(crate) fn multiplies_f16(self) -> bool {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Avx512(token) => token.with_fp16().is_some(),
            _ => false,
        }
    }

    /// Runs an operation, compiled for this level, on the calling thread.
    #[inline]
    #[allow(unsafe_code)]
    pub(crate) fn dispatch<O: Operation>(self, operation: O) -> O::Output {
        match self {
            Self::Portable(token) => operation.eval(token),
            // SAFETY: the token exists only where AVX2, FMA and F16C do.
            #[cfg(target_arch = "x86_64")]
            Self::Avx2(token) => unsafe { eval_avx2(operation, token) },
            // SAFETY: the token exists only where these AVX-512 features, AVX2, FMA and F16C do.
            #[cfg(target_arch = "x86_64")]
            Self::Avx512(token) => unsafe { eval_avx512(operation, token) },
        }
    }

    /// As [`Self::dispatch`], compiled with products of bytes where the processor has them.
    #[inline]
    #[allow(unsafe_code)]
    pub(crate) fn dispatch_bytes<O: Operation>(self, operation: O) -> O::Output {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Avx512(token) => match token.with_vnni() {
                // SAFETY: the token exists only where VNNI and the level's features do.
                Some(token) => unsafe { eval_avx512_vnni(operation, token) },
                None => self.dispatch(operation),
            },
            _ => self.dispatch(operation),
        }
    }

    /// As [`Self::dispatch`], compiled with products of bf16 where the processor has them.
    #[inline]
    #[allow(unsafe_code)]
    pub(crate) fn dispatch_bf16<O: Operation>(self, operation: O) -> O::Output {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Avx512(token) => match token.with_bf16() {
                // SAFETY: the token exists only where BF16 and the level's features do.
                Some(token) => unsafe { eval_avx512_bf16(operation, token) },
                None => self.dispatch(operation),
            },
            _ => self.dispatch(operation),
        }
    }

    /// As [`Self::dispatch`], compiled with products of f16 where the processor has them.
    #[inline]
    #[allow(unsafe_code)]
    pub(crate) fn dispatch_f16<O: Operation>(self, operation: O) -> O::Output {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Avx512(token) => match token.with_fp16() {
                // SAFETY: the token exists only where FP16 and the level's features do.
                Some(token) => unsafe { eval_avx512_fp16(operation, token) },
                None => self.dispatch(operation),
            },
            _ => self.dispatch(operation),
        }
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,f16c")]
#[inline(never)]
pub(super) fn eval_avx2<O: Operation>(operation: O, token: Avx2) -> O::Output {
    operation.eval(token)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,f16c")]
#[inline(never)]
pub(super) fn eval_avx512<O: Operation>(operation: O, token: Avx512) -> O::Output {
    operation.eval(token)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx2,fma,f16c")]
#[inline(never)]
pub(super) fn eval_avx512_vnni<O: Operation>(operation: O, token: Avx512<VNNI>) -> O::Output {
    operation.eval(token)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512bf16,avx2,fma,f16c")]
#[inline(never)]
pub(super) fn eval_avx512_bf16<O: Operation>(operation: O, token: Avx512<BF16>) -> O::Output {
    operation.eval(token)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512fp16,avx2,fma,f16c")]
#[inline(never)]
pub(super) fn eval_avx512_fp16<O: Operation>(operation: O, token: Avx512<FP16>) -> O::Output {
    operation.eval(token)
}
