"""Runs a model of Transformers and names its outputs as the goldens do.

Outputs: last_hidden_state, pooler_output, hidden_states.0… (embedding output first, the last one before the
final norm), attentions.0… (eager), logits and loss, feature_maps.0… and cls_tokens.0… for backbones.
Every golden is also computed in float64: a golden whose float32 rounding error is large would test torch's
rounding, not the reader's arithmetic, and is refused.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Literal

import torch
from transformers import PreTrainedModel

from common import Tensors, hash32, hash32_name, seed_of

MAX_ROUNDING = 4e-6
"""Largest difference between float32 and float64 outputs of a tiny model that a golden may have."""

Hidden = Literal["none", "embedding", "stages", "all"] | int | list[int]
"""Which hidden states are kept; "stages" is all but the first (for ConvNeXt that is the input itself). A number or numbers
are given to the model as `output_hidden_states`, and what it selects is kept under its own index."""


@dataclass(frozen=True)
class Run:
    """One golden: the input size and which outputs are kept."""

    name: str
    height: int
    width: int
    batch: int = 1
    hidden: Hidden = "none"
    attentions: bool = False
    store_pixels: bool = False
    channels: int = 3
    what: str = ""

    @property
    def shape(self) -> tuple[int, int, int, int]:
        """Shape of pixel_values."""
        return (self.batch, self.channels, self.height, self.width)


def _scalars_and_tuples(output: dict, hidden: Hidden, attentions: bool) -> Tensors:
    kept: Tensors = {}
    for name, value in output.items():
        if name == "hidden_states" and not isinstance(hidden, str):
            kept |= {f"hidden_states.{i}": tensor for i, tensor in enumerate(value) if tensor is not None}
        elif name == "hidden_states":
            first, last = {"none": (0, 0), "embedding": (0, 1), "stages": (1, len(value)), "all": (0, len(value))}[hidden]
            kept |= {f"hidden_states.{i}": value[i] for i in range(first, last)}
        elif name == "attentions":
            kept |= {f"attentions.{i}": tensor for i, tensor in enumerate(value) if attentions}
        elif isinstance(value, (tuple, list)):
            kept |= {f"{name}.{i}": tensor for i, tensor in enumerate(value)}
        else:
            kept[name] = value
    return kept


def outputs(model: PreTrainedModel, inputs: Tensors, hidden: Hidden = "none", attentions: bool = False) -> Tensors:
    """The outputs of one forward, flat, under the goldens' names."""
    flags: dict[str, object] = {"output_hidden_states": hidden != "none" if isinstance(hidden, str) else hidden}
    if attentions:
        flags["output_attentions"] = True
    return _scalars_and_tuples(dict(model(**inputs, **flags)), hidden, attentions)


def _as_double(inputs: Tensors) -> Tensors:
    return {name: tensor.double() if tensor.is_floating_point() else tensor for name, tensor in inputs.items()}


def rounding(model: PreTrainedModel, inputs: Tensors, kept: Tensors, hidden: Hidden, attentions: bool) -> float:
    """Largest difference of the float32 outputs from float64 ones."""
    exact = outputs(copy.deepcopy(model).double(), _as_double(inputs), hidden, attentions)
    return largest_difference(kept, exact)


def largest_difference(kept: Tensors, exact: Tensors) -> float:
    """Largest difference of two sets of outputs, in float64; NaN equals NaN."""
    differences = [(kept[name].double() - exact[name].double()).abs() for name in kept if kept[name].numel()]
    if any((kept[name].isnan() != exact[name].isnan()).any() for name in kept):
        raise ValueError("NaN in float32 or float64 only")
    return max((float(difference.nan_to_num().max()) for difference in differences), default=0.0)


def checked_outputs(
    model: PreTrainedModel,
    inputs: Tensors,
    hidden: Hidden = "none",
    attentions: bool = False,
    limit: float = MAX_ROUNDING,
) -> tuple[Tensors, dict[str, str]]:
    """Outputs, with their measured rounding error as metadata; refuses ill-conditioned ones."""
    kept = outputs(model, inputs, hidden, attentions)
    error = rounding(model, inputs, kept, hidden, attentions)
    if error > limit:
        raise ValueError(f"float32 is {error:g} away from float64: weights too wild for a golden")
    return kept, {"float64_max_abs": f"{error:.2e}"}


def about(model: PreTrainedModel) -> dict[str, str]:
    """Metadata that says which class made a golden, and how."""
    return {
        "model_type": model.config.model_type,
        "class": type(model).__name__,
        "attn_implementation": str(model.config._attn_implementation),
    }


def pixels(fixture: str, run: Run) -> tuple[torch.Tensor, dict[str, str]]:
    """The input of a run, and the metadata that lets others make it."""
    seed = seed_of(fixture, run.name)
    return hash32(seed, run.shape), {"pixel_values": hash32_name(seed, run.shape)}


def golden(model: PreTrainedModel, fixture: str, run: Run, limit: float = MAX_ROUNDING) -> tuple[Tensors, dict[str, str]]:
    """Tensors and metadata of a plain forward."""
    pixel_values, recipe = pixels(fixture, run)
    kept, measured = checked_outputs(model, {"pixel_values": pixel_values}, run.hidden, run.attentions, limit)
    if run.store_pixels:
        kept["pixel_values"] = pixel_values
    return kept, about(model) | recipe | measured | {"what": run.what or run.name}
