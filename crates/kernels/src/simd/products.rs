//! What an inner loop multiplies: words, the 32 bits of a lane, that hold one float, two bf16, two f16 or four bytes. The loops are
//! the same for all; a word of more numbers makes as many times the products in the same time, where the processor can.

use super::{Level, Operation, Simd};

/// How words are multiplied and summed.
pub(crate) trait Products: Copy + Send + Sync + 'static {
    /// Runs an operation, compiled with the instructions for these products where the processor has them.
    fn dispatch<O: Operation>(level: Level, operation: O) -> O::Output {
        level.dispatch(operation)
    }

    /// `sum` + the products of the numbers in each word.
    fn add<S: Simd>(simd: S, a: S::Vec, b: S::Vec, sum: S::Vec) -> S::Vec;

    /// One sum and another; floats unless said otherwise.
    #[inline(always)]
    fn join<S: Simd>(simd: S, sum: S::Vec, other: S::Vec) -> S::Vec {
        simd.add(sum, other)
    }
}

/// Products of words that floats are made into on the way.
pub(crate) trait FloatProducts: Products {
    /// Numbers of a word, 1 or 2.
    const NUMBERS: usize;

    /// The words of numbers; `second` is not used when they hold but one.
    fn words<S: Simd>(simd: S, first: S::Vec, second: S::Vec) -> S::Vec;
}

impl FloatProducts for Floats {
    const NUMBERS: usize = 1;

    #[inline(always)]
    fn words<S: Simd>(_: S, first: S::Vec, _: S::Vec) -> S::Vec {
        first
    }
}

impl FloatProducts for Bf16Pairs {
    const NUMBERS: usize = 2;

    #[inline(always)]
    fn words<S: Simd>(simd: S, first: S::Vec, second: S::Vec) -> S::Vec {
        simd.bf16_pair(first, second)
    }
}

/// A float; sums are floats.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Floats;

/// Two bf16; sums are floats.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bf16Pairs;

/// Two f16; sums are two f16, one of each half, and are joined into a float.
#[derive(Debug, Clone, Copy)]
pub(crate) struct F16Pairs;

/// Four bytes, unsigned in `a` and signed in `b`; sums are 32-bit integers.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bytes;

impl Products for Floats {
    #[inline(always)]
    fn add<S: Simd>(simd: S, a: S::Vec, b: S::Vec, sum: S::Vec) -> S::Vec {
        simd.mul_add(a, b, sum)
    }
}

impl Products for Bf16Pairs {
    fn dispatch<O: Operation>(level: Level, operation: O) -> O::Output {
        level.dispatch_bf16(operation)
    }

    #[inline(always)]
    fn add<S: Simd>(simd: S, a: S::Vec, b: S::Vec, sum: S::Vec) -> S::Vec {
        simd.dot_bf16(a, b, sum)
    }
}

impl Products for F16Pairs {
    fn dispatch<O: Operation>(level: Level, operation: O) -> O::Output {
        level.dispatch_f16(operation)
    }

    #[inline(always)]
    fn add<S: Simd>(simd: S, a: S::Vec, b: S::Vec, sum: S::Vec) -> S::Vec {
        simd.mul_add_f16(a, b, sum)
    }

    /// A float and the two halves of the other.
    #[inline(always)]
    fn join<S: Simd>(simd: S, sum: S::Vec, other: S::Vec) -> S::Vec {
        simd.add(sum, simd.f16_sum(other))
    }
}

impl Products for Bytes {
    fn dispatch<O: Operation>(level: Level, operation: O) -> O::Output {
        level.dispatch_bytes(operation)
    }

    #[inline(always)]
    fn add<S: Simd>(simd: S, a: S::Vec, b: S::Vec, sum: S::Vec) -> S::Vec {
        simd.dot_bytes(a, b, sum)
    }

    #[inline(always)]
    fn join<S: Simd>(simd: S, sum: S::Vec, other: S::Vec) -> S::Vec {
        simd.integer_sum(sum, other)
    }
}
