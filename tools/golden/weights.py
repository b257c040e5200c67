"""Random weights that let no mistake cancel: every tensor non-zero and spread, activations of order 1.

Matrices have standard deviation gain/sqrt(fan_in), so that a normed input gives outputs of order 1; norms and
layer scales are spread around their centre; tokens, positions and biases are far from zero. Values come from
numpy's PCG64, one stream per tensor name, and do not depend on torch's own generator.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
import torch

from common import seed_of


@dataclass(frozen=True)
class Scales:
    """Centres and spreads of the random tensors."""

    matrix_gain: float = 1.0
    bias: float = 0.2
    token: float = 0.7
    norm_spread: float = 0.2
    layer_scale: float = 1.0
    layer_scale_spread: float = 0.3
    overrides: dict[str, float] = field(default_factory=dict)
    """Factors for tensors whose name ends with the key (to make one tensor huge, for example)."""


def _normal(name: str, seed: int, shape: torch.Size) -> np.ndarray:
    generator = np.random.Generator(np.random.PCG64([seed, seed_of(name)]))
    return generator.standard_normal(tuple(shape))


def _fan_in(shape: torch.Size) -> int:
    return math.prod(shape[1:])


def _values(name: str, parameter: torch.Tensor, seed: int, scales: Scales) -> np.ndarray:
    noise = _normal(name, seed, parameter.shape)
    leaf = name.rsplit(".", 1)[-1]
    if leaf in ("lambda1", "gamma"):
        return scales.layer_scale * (1 + scales.layer_scale_spread * noise)
    if leaf in ("cls_token", "mask_token", "register_tokens", "position_embeddings"):
        return scales.token * noise
    if leaf == "bias":
        return scales.bias * noise
    if parameter.ndim == 1:
        return 1 + scales.norm_spread * noise
    return scales.matrix_gain / math.sqrt(_fan_in(parameter.shape)) * noise


def fill(model: torch.nn.Module, seed: int, scales: Scales = Scales()) -> None:
    """Overwrites every parameter of `model`; the same seed and names give the same values."""
    for name, parameter in model.named_parameters():
        values = _values(name, parameter, seed, scales)
        for suffix, factor in scales.overrides.items():
            if name.endswith(suffix):
                values = values * factor
        if not np.all(values):
            raise ValueError(f"{name}: a zero among the random values")
        parameter.copy_(torch.from_numpy(values.astype(np.float32)))
