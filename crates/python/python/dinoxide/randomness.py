"""Random numbers of fresh weights and of train mode."""

from __future__ import annotations

import random

__all__ = ["set_seed"]

# The largest seed.
MAX_SEED = (1 << 64) - 1
_generator = random.Random()


def set_seed(seed: int) -> None:
    """Makes the fresh weights and the draws of train mode that follow the same each time.
    They are not torch's numbers."""
    _generator.seed(seed)


def draw_seed() -> int:
    """The seed of the next thing that is random, 0..2⁶⁴."""
    return _generator.getrandbits(64)
