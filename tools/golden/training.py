"""Goldens of the training-mode forward: torch's random functions are replaced by known draws, stored beside the outputs.

`golden-train-*.safetensors` hold what was drawn as inputs `draws.*` (see README.md) and the outputs of a model in
train mode that drew them, so that a reader needs no copy of torch's generator. Uniform numbers come from numpy's PCG64,
one stream for each draw in the order in which the model asks; the metadata key `draws` lists that order.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import torch
import transformers
from transformers import AutoConfig, PreTrainedModel

from common import Tensors, save_tensors, seed_of
from forward import MAX_ROUNDING, Hidden, Run, about, largest_difference, outputs, pixels

ROPE = ("rope_shift", "rope_jitter", "rope_rescale")
BATCH = 3


@dataclass
class Draws:
    """Stands in for torch's generator: gives uniforms that follow from a seed, and keeps what was drawn."""

    seed: int
    record: Tensors = field(default_factory=dict)
    rope: list[str] = field(default_factory=list)
    """Names of the RoPE draws that the config switches on, in the order of the source."""
    branch: int = 0
    """Which residual branch is being computed, over all layers or blocks."""
    rate: float = 0.0
    """Drop path rate of that branch."""
    layer: int = 0

    def uniforms(self, shape: tuple[int, ...]) -> torch.Tensor:
        """Uniform in [0, 1), float32."""
        generator = np.random.Generator(np.random.PCG64([self.seed, len(self.record)]))
        return torch.from_numpy(generator.random(shape, dtype=np.float32))

    def dropout(self, input: torch.Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> torch.Tensor:
        """In the place of torch.nn.functional.dropout: [B, S, D] is the embedding, [B, A, S, S] are probabilities."""
        attention = input.ndim == 4
        if attention:
            self.layer += 1
        if not training or p == 0.0:
            return input
        keep = self.uniforms(tuple(input.shape)) >= p
        self.record[f"attention_dropout.{self.layer - 1}" if attention else "embedding_dropout"] = keep
        return input * (keep.to(input.dtype) / (1 - p))

    def rand(self, shape: tuple[int, ...], dtype: torch.dtype | None = None, device: object = None) -> torch.Tensor:
        """In the place of torch.rand, which drop path calls with [B, 1, …]."""
        uniforms = self.uniforms(tuple(shape))
        self.record[f"drop_path.{self.branch}"] = torch.floor(uniforms.flatten() + (1 - self.rate)) > 0
        return uniforms.to(dtype)

    def uniform_(self, tensor: torch.Tensor, low: float, high: float) -> torch.Tensor:
        """In the place of Tensor.uniform_, which the RoPE augmentation calls."""
        values = low + (high - low) * self.uniforms((tensor.numel(),)).double()
        name = self.rope.pop(0)
        self.record[name] = values.float()
        return tensor.copy_(values.float().reshape(tensor.shape))

    def watch(self, model: PreTrainedModel) -> None:
        """Lets every residual branch tell its number and its rate before it draws."""
        for module, rate in _branches(model):
            module.register_forward_pre_hook(lambda _module, _inputs, rate=rate: self._enter(rate))

    def _enter(self, rate: float) -> None:
        self.rate = rate
        self.branch += 1


def _branches(model: PreTrainedModel) -> Iterator[tuple[torch.nn.Module, float]]:
    for name, module in model.named_modules():
        if name.endswith("drop_path"):
            yield module, getattr(module, "drop_prob", 0.0)


@contextmanager
def known(draws: Draws) -> Iterator[None]:
    """Replaces torch's random functions while a model runs."""

    def uniform_(tensor: torch.Tensor, low: float = 0.0, high: float = 1.0) -> torch.Tensor:
        return draws.uniform_(tensor, low, high)

    with (
        mock.patch("torch.nn.functional.dropout", draws.dropout),
        mock.patch("torch.rand", draws.rand),
        mock.patch("torch.Tensor.uniform_", uniform_),
    ):
        yield


def _forward(model: PreTrainedModel, inputs: Tensors, seed: int, everything: bool) -> tuple[Tensors, Tensors]:
    """Outputs, with hidden states and attentions where `everything` is wanted, and draws of one forward in train mode."""
    twin = copy.deepcopy(model).train()
    keys = ("pos_embed_shift", "pos_embed_jitter", "pos_embed_rescale")
    rope = [name for name, key in zip(ROPE, keys) if getattr(model.config, key, None) is not None]
    draws = Draws(seed, rope=rope, branch=-1)
    draws.watch(twin)
    convnext = model.config.model_type == "dinov3_convnext"
    with known(draws):
        hidden: Hidden = "stages" if convnext else "all"
        kept = outputs(twin, inputs, hidden if everything else "none", everything and not convnext)
    return kept, draws.record


def _golden(folder: Path, name: str, options: dict[str, Any], run: Run, extra: Tensors | None = None) -> None:
    config = AutoConfig.from_pretrained(folder)
    for key, value in options.items():
        setattr(config, key, value)
    attention = {} if config.model_type == "dinov3_convnext" else {"attn_implementation": "eager"}
    kind = getattr(transformers, config.architectures[0])
    model = kind.from_pretrained(folder, config=config, dtype=torch.float32, **attention)
    run = Run(f"train-{name}", run.height, run.width, run.batch)
    pixel_values, recipe = pixels(folder.name, run)
    inputs, seed = {"pixel_values": pixel_values} | (extra or {}), seed_of(folder.name, run.name, "draws")
    everything = run.name == "train-all"
    kept, drawn = _forward(model, inputs, seed, everything)
    double = {key: tensor.double() if tensor.is_floating_point() else tensor for key, tensor in inputs.items()}
    exact, _ = _forward(copy.deepcopy(model).double(), double, seed, everything)
    error = largest_difference(kept, exact)
    if error > MAX_ROUNDING:
        raise ValueError(f"{folder.name} train-{name}: float32 is {error:g} away from float64")
    paths = [tensor for key, tensor in drawn.items() if key.startswith("drop_path")]
    if paths and torch.cat(paths).float().mean() in (0.0, 1.0):
        raise ValueError(f"{folder.name} train-{name}: no branch was dropped, or all")
    metadata = about(model) | recipe | {"fixture": folder.name, "float64_max_abs": f"{error:.2e}", "mode": "train"}
    metadata |= {"options": json.dumps(options), "draws": json.dumps(list(drawn))}
    tensors = kept | (extra or {}) | {f"draws.{key}": tensor for key, tensor in drawn.items()}
    save_tensors(folder / f"golden-{run.name}.safetensors", tensors, metadata)


DROP_PATH = {"drop_path_rate": 0.3}
DROPOUT = {
    "dinov2": {"hidden_dropout_prob": 0.2, "attention_probs_dropout_prob": 0.25},
    "dinov2_with_registers": {"hidden_dropout_prob": 0.2, "attention_probs_dropout_prob": 0.25},
    "dinov3_vit": {"attention_dropout": 0.25},
}
STILL = {"pos_embed_rescale": None}
"""Switches off the only augmentation that DINOv3 has by default."""
AUGMENTED = {"pos_embed_shift": 0.25, "pos_embed_jitter": 1.5, "pos_embed_rescale": 2.0}


def make(folder: Path) -> None:
    """All train-mode goldens of a fixture."""
    config = AutoConfig.from_pretrained(folder)
    kind = config.model_type
    small = Run("", 4, 12, batch=BATCH)
    if kind == "dinov3_convnext":
        _golden(folder, "all", DROP_PATH, Run("", 40, 36, batch=BATCH))
        return
    if "ForImageClassification" in config.architectures[0]:
        labels = {"labels": torch.tensor([3, 10, 0])}
        _golden(folder, "labels", DROP_PATH | DROPOUT[kind], small, labels)
        return
    still = STILL if kind == "dinov3_vit" else {}
    _golden(folder, "drop-path", DROP_PATH | still, small)
    _golden(folder, "dropout", DROPOUT[kind] | still, small)
    _golden(folder, "all", DROP_PATH | DROPOUT[kind] | (AUGMENTED if still else {}), small)
    if still:
        _golden(folder, "rope", AUGMENTED, small)
        _golden(folder, "rope-default", {}, small)
