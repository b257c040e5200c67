"""Goldens with more inputs than pixels: masked patches, attention masks, labels; chosen hidden states; and the calls of
the makers of backbones' and training mode's goldens.

The extra inputs are stored in the golden: bool_masked_pos [B, N] (bool), attention_mask [B, S] (i64),
labels (i64 [B] or [B, 1], or f32); pixel_values is named by its formula.
"""

from __future__ import annotations

import json
from pathlib import Path

import torch
import transformers
from transformers import AutoConfig, PreTrainedModel

import backbones
import training
from common import Tensors, hash32, save_tensors, seed_of
from forward import Hidden, Run, about, checked_outputs, pixels

RUN = Run("", 12, 20, batch=2)
PATCHES = 3 * 5
RAGGED = Run("", 22, 15, batch=2)
WIDE, TINY = Run("", 32, 36), Run("", 4, 8)


def _load(folder: Path, attn: str = "eager", **options: object) -> PreTrainedModel:
    config = AutoConfig.from_pretrained(folder, **options)
    kind = getattr(transformers, config.architectures[0])
    return kind.from_pretrained(folder, config=config, dtype=torch.float32, attn_implementation=attn).eval()


def _save(
    model: PreTrainedModel,
    folder: Path,
    name: str,
    inputs: Tensors,
    what: str,
    attentions: bool = False,
    hidden: Hidden = "none",
    size: Run = RUN,
    options: dict[str, object] | None = None,
) -> None:
    run = Run(name, size.height, size.width, size.batch)
    pixel_values, recipe = pixels(folder.name, run)
    problem_type = getattr(model.config, "problem_type", None)
    kept, measured = checked_outputs(model, {"pixel_values": pixel_values} | inputs, hidden, attentions)
    metadata = about(model) | recipe | measured | {"what": what, "fixture": folder.name}
    if problem_type:
        metadata["problem_type"] = problem_type
    if options:
        metadata["options"] = json.dumps(options)
    if not isinstance(hidden, str):
        metadata["output_hidden_states"] = json.dumps(hidden)
    save_tensors(folder / f"golden-{name}.safetensors", kept | inputs, metadata)


def masked(folder: Path) -> None:
    """Half of the patches replaced by the mask token, others in each picture; and all of them."""
    model = _load(folder)
    half = hash32(seed_of(folder.name, "mask"), (2, PATCHES)) > 0
    _save(model, folder, "masked-half", {"bool_masked_pos": half}, "about half of the patches, different ones in each picture")
    _save(model, folder, "masked-all", {"bool_masked_pos": torch.ones_like(half)}, "all patches")
    ragged = hash32(seed_of(folder.name, "mask ragged"), (2, PATCHES)) > -1
    _save(model, folder, "masked-ragged", {"bool_masked_pos": ragged}, "22 x 15 pixels: 5 x 3 patches, the rest cut", size=RAGGED)


def _prefix(folder: Path) -> int:
    return 1 + getattr(AutoConfig.from_pretrained(folder), "num_register_tokens", 0)


def _partial(folder: Path, name: str) -> torch.Tensor:
    """[2, S]: about a quarter of the tokens hidden, never CLS."""
    mask = (hash32(seed_of(folder.name, name), (2, _prefix(folder) + PATCHES)) > -1).long()
    mask[:, 0] = 1
    return mask



def attention_masks(folder: Path) -> None:
    """Keys hidden from attention: some, the CLS token, and all of one picture (eager: uniform weights)."""
    partial = _partial(folder, "attention")
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
    sdpa = _load(folder, "sdpa")
    _save(sdpa, folder, "attention-mask-sdpa", {"attention_mask": partial}, "some patches hidden, sdpa")
    what = "nothing left in one picture, sdpa: its attention gives zeros"
    _save(sdpa, folder, "attention-mask-empty-sdpa", {"attention_mask": empty}, what)
    other = _partial(folder, "attention ragged")
    what = "22 x 15 pixels: 5 x 3 patches, the rest cut"
    _save(model, folder, "attention-mask-ragged", {"attention_mask": other}, what, size=RAGGED)
    both = {"attention_mask": other, "bool_masked_pos": hash32(seed_of(folder.name, "mask both"), (2, PATCHES)) > 0}
    _save(model, folder, "masked-attention-mask", both, "patches replaced, others hidden")


def hidden_states(folder: Path) -> None:
    """What `output_hidden_states` keeps when it is a number or a list of them."""
    model = _load(folder)
    is_convnext = model.config.model_type == "dinov3_convnext"
    cases: dict[str, Hidden] = {"one": 1, "list": [0, 2], "order": [2, 0, 2], "out-of-range": [1, 9]}
    if not is_convnext:  # whose model refuses negative indices
        cases |= {"last": -1, "negative": [-3, -1], "beyond": [-9, 4, 2]}
    for name, hidden in cases.items():
        what = f"output_hidden_states={hidden}"
        _save(model, folder, f"hidden-{name}", {}, what, hidden=hidden, size=WIDE if is_convnext else TINY)


def labels(folder: Path) -> None:
    """Losses of a classifier with 12 labels; the problem type is inferred unless it stands in the metadata."""
    scores = hash32(seed_of(folder.name, "labels"), (2, 12))
    cases: dict[str, tuple[torch.Tensor, str | None, str]] = {
        "single": (torch.tensor([3, 10]), None, "cross entropy, mean"),
        "ignored": (torch.tensor([-100, 10]), None, "one label of -100 does not count"),
        "multi": ((scores > 0).float(), None, "binary cross entropy with logits, inferred from float labels"),
        "soft": ((scores + 2) / 4, "multi_label_classification", "labels between 0 and 1"),
        "regression": (scores, "regression", "mean squared error over all twelve"),
        "column": (torch.tensor([[3], [10]]), None, "cross entropy, labels [B, 1]"),
        "all-ignored": (torch.tensor([-100, -100]), None, "every label is -100: the loss is NaN"),
        "whole": (torch.tensor([[1, -2] * 6, [0, 3] * 6]), "regression", "mean squared error with whole-number labels"),
    }
    for name, (values, problem, what) in cases.items():
        _save(_load(folder, problem_type=problem), folder, f"labels-{name}", {"labels": values}, what)
    masks = {"attention_mask": _partial(folder, "attention"), "bool_masked_pos": hash32(seed_of(folder.name, "mask"), (2, PATCHES)) > 0}
    what = "cross entropy under both masks; hidden patches still count in the mean"
    huge = folder.name == "dinov2-with-registers-classifier"  # its last hidden states round too coarsely for a golden
    hidden: Hidden = [0] if huge else [-1]
    _save(_load(folder), folder, "labels-masked", {"labels": torch.tensor([3, 10])} | masks, what, attentions=True, hidden=hidden)
    zero = {"num_labels": 0}
    features = 2 * AutoConfig.from_pretrained(folder).hidden_size
    soft = (hash32(seed_of(folder.name, "zero"), (2, features)) + 2) / 4
    what = "no classifier: the logits are CLS and the mean of the patches; multi-label loss"
    _save(_load(folder, **zero), folder, "labels-zero", {"labels": soft}, what, options=zero)


def regression(folder: Path) -> None:
    """The loss of a model with one label."""
    _save(_load(folder), folder, "labels-one", {"labels": torch.tensor([0.5, -1.25])}, "mean squared error of squeezed logits")
    column = {"labels": torch.tensor([[0.5], [-1.25]])}
    _save(_load(folder), folder, "labels-column", column, "mean squared error, labels [B, 1]")
    _save(_load(folder), folder, "labels-whole", {"labels": torch.tensor([2, -1])}, "mean squared error with whole-number labels")
    soft, problem = {"labels": torch.tensor([[1.0], [0.25]])}, "multi_label_classification"
    _save(_load(folder, problem_type=problem), folder, "labels-multi", soft, "binary cross entropy of one label, [B, 1]")


MAKERS = {
    "dinov2-backbone": (masked, attention_masks, hidden_states, backbones.make, training.make),
    "dinov2-with-registers-backbone": (masked, attention_masks, hidden_states, backbones.make, training.make),
    "dinov3-vit-backbone": (masked, hidden_states, backbones.make, training.make),
    "dinov3-convnext-backbone": (hidden_states, backbones.make, training.make),
    "dinov2-classifier": (labels, training.make),
    "dinov2-with-registers-classifier": (labels,),
    "dinov2-regression": (regression,),
}


def make(name: str, folder: Path) -> None:
    """The extra goldens of a fixture, if it has any."""
    for maker in MAKERS.get(name, ()):
        maker(folder)
