"""Every tolerance of these tests, with what was measured. The largest difference seen is in each comment."""

from __future__ import annotations

# f32 outputs beside Transformers', absolute and relative: the house's bound. Measured: 1.5e-6 of a true-size
# tensor's largest value, 1.6e-6 of the examples' single numbers.
OUTPUT = 1e-5
# Of crates/testkit/src/tolerance.rs: scores and features of pipelines (4.8e-7, 3.0e-6), and recorded
# processor cases, in levels of 255 (largest, mean) and in floats.
SCORE_MAX_ABS = 1e-6
FEATURE_MAX_ABS = 4e-6
PROCESSOR_MAX_LEVELS = 1.0
PROCESSOR_MEAN_LEVELS = 0.05
PROCESSOR_FLOAT_MAX_ABS = 3e-5
# Pixels of `BitImageProcessor`, whose resize is one of bytes: one rounding of a number. Measured: equal.
BYTES_MAX_ABS = 5e-7
# Pixels of which floats are resized or blended, normalised. Measured: 2.7e-6.
FLOATS_MAX_ABS = 5e-6
# The same of integers and floats far from 0..255, relative beside it. Measured: 5e-7 + 2.4e-7 of the value.
FLOATS_RELATIVE = 1e-6
# Pixels of arrays of half floats, which are computed in f32 here and in halves there. Measured: 1.7e-3.
HALVES_MAX_ABS = 2.5e-3
# A level of 255 over the smallest standard deviation: a tie of the resize of integers may be rounded either
# way. Measured: equal.
LEVEL_MAX_ABS = 1 / 255 / 0.22
