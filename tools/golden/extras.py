"""Goldens with more inputs than pixels: masked patches, attention masks, labels; and those of the backbones.

The extra inputs are stored in the golden: bool_masked_pos [B, N] (bool), attention_mask [B, S] (i64),
labels (i64 [B], or f32); pixel_values is named by its formula.
"""

from __future__ import annotations

from pathlib import Path

import torch
import transformers
from transformers import AutoConfig, PreTrainedModel

import backbones
from common import Tensors, hash32, save_tensors, seed_of
from forward import Run, about, checked_outputs, pixels

RUN = Run("", 12, 20, batch=2)
PATCHES = 3 * 5


def _load(folder: Path, attn: str = "eager", **options: object) -> PreTrainedModel:
    config = AutoConfig.from_pretrained(folder, **options)
    kind = getattr(transformers, config.architectures[0])
    return kind.from_pretrained(folder, config=config, dtype=torch.float32, attn_implementation=attn).eval()


def _save(model: PreTrainedModel, folder: Path, name: str, inputs: Tensors, what: str, attentions: bool = False) -> None:
    run = Run(name, RUN.height, RUN.width, RUN.batch)
    pixel_values, recipe = pixels(folder.name, run)
    problem_type = getattr(model.config, "problem_type", None)
    kept, measured = checked_outputs(model, {"pixel_values": pixel_values} | inputs, attentions=attentions)
    metadata = about(model) | recipe | measured | {"what": what, "fixture": folder.name}
    if problem_type:
        metadata["problem_type"] = problem_type
    save_tensors(folder / f"golden-{name}.safetensors", kept | inputs, metadata)


def masked(folder: Path) -> None:
    """Half of the patches replaced by the mask token, others in each picture; and all of them."""
    model = _load(folder)
    half = hash32(seed_of(folder.name, "mask"), (2, PATCHES)) > 0
    _save(model, folder, "masked-half", {"bool_masked_pos": half}, "about half of the patches, different ones in each picture")
    _save(model, folder, "masked-all", {"bool_masked_pos": torch.ones_like(half)}, "all patches")


def attention_masks(folder: Path) -> None:
    """Keys hidden from attention: some, the CLS token, and all of one picture (eager: uniform weights)."""
    prefix = 1 + getattr(AutoConfig.from_pretrained(folder), "num_register_tokens", 0)
    tokens = prefix + PATCHES
    partial = (hash32(seed_of(folder.name, "attention"), (2, tokens)) > -1).long()
    partial[:, 0] = 1
    no_cls, empty = partial.clone(), partial.clone()
    no_cls[:, 0] = 0
    empty[1] = 0
    model = _load(folder)
    whats = {
        "partial": (partial, "some patches hidden"),
        "no-cls": (no_cls, "also the CLS token"),
        "empty": (empty, "nothing left in one picture"),
    }
    for name, (mask, what) in whats.items():
        _save(model, folder, f"attention-mask-{name}", {"attention_mask": mask}, what, attentions=name != "no-cls")
    _save(_load(folder, "sdpa"), folder, "attention-mask-sdpa", {"attention_mask": partial}, "some patches hidden, sdpa")


def labels(folder: Path) -> None:
    """Losses of a classifier with 12 labels; the problem type is inferred unless it stands in the metadata."""
    scores = hash32(seed_of(folder.name, "labels"), (2, 12))
    cases: dict[str, tuple[torch.Tensor, str | None, str]] = {
        "single": (torch.tensor([3, 10]), None, "cross entropy, mean"),
        "ignored": (torch.tensor([-100, 10]), None, "one label of -100 does not count"),
        "multi": ((scores > 0).float(), None, "binary cross entropy with logits, inferred from float labels"),
        "soft": ((scores + 2) / 4, "multi_label_classification", "labels between 0 and 1"),
        "regression": (scores, "regression", "mean squared error over all twelve"),
    }
    for name, (values, problem, what) in cases.items():
        _save(_load(folder, problem_type=problem), folder, f"labels-{name}", {"labels": values}, what)


def regression(folder: Path) -> None:
    """The loss of a model with one label."""
    _save(_load(folder), folder, "labels-one", {"labels": torch.tensor([0.5, -1.25])}, "mean squared error of squeezed logits")


MAKERS = {
    "dinov2-backbone": (masked, attention_masks, backbones.make),
    "dinov2-with-registers-backbone": (masked, attention_masks, backbones.make),
    "dinov3-vit-backbone": (masked, backbones.make),
    "dinov3-convnext-backbone": (backbones.make,),
    "dinov2-classifier": (labels,),
    "dinov2-with-registers-classifier": (labels,),
    "dinov2-regression": (regression,),
}


def make(name: str, folder: Path) -> None:
    """The extra goldens of a fixture, if it has any."""
    for maker in MAKERS.get(name, ()):
        maker(folder)
