"""Goldens of the backbone classes: which stages, with or without final norm, as maps or as sequences.

`golden-backbone-*.safetensors` hold feature_maps.0… (and cls_tokens.0…); the options stand in the metadata as JSON.
`selections.json` lists what out_features and out_indices may say: the stages they come to, or a refusal.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
import transformers
from transformers import AutoConfig, PreTrainedConfig, PreTrainedModel

from common import Tensors, hash32, save_tensors, seed_of
from forward import Hidden, Run, about, checked_outputs, pixels

CLASSES: dict[str, type[PreTrainedModel]] = {
    "dinov2": transformers.Dinov2Backbone,
    "dinov2_with_registers": transformers.Dinov2WithRegistersBackbone,
    "dinov3_vit": transformers.DINOv3ViTBackbone,
    "dinov3_convnext": transformers.DINOv3ConvNextBackbone,
}
PLAIN = Run("", 12, 20)
PORTRAIT = Run("", 56, 28)
LARGE = Run("", 64, 44)


@dataclass(frozen=True)
class Choice:
    """Options of one backbone golden; `options` are config keys, `hidden` is output_hidden_states."""

    name: str
    options: dict[str, Any] = field(default_factory=dict)
    run: Run = PLAIN
    hidden: Hidden = "none"
    attentions: bool = False
    attention_mask: bool = False


RAW, SEQUENCE = {"apply_layernorm": False}, {"reshape_hidden_states": False}
EVERY = {"out_indices": [0, 1, 2, 3]}
VIT = (
    Choice("default"),
    Choice("last", {"out_indices": [-1]}),
    Choice("last-two", {"out_indices": [-2, -1]}),
    Choice("stem", {"out_indices": [0]}),
    Choice("names", {"out_features": ["stage1", "stage2"]}),
    Choice("every-raw", EVERY | RAW),
    Choice("every-sequence", EVERY | SEQUENCE),
    Choice("every-raw-sequence", EVERY | RAW | SEQUENCE),
    Choice("portrait", {"out_indices": [0, 3]}, PORTRAIT),
    Choice("batch", {"out_indices": [1, 3]}, Run("", 12, 20, batch=2)),
    Choice("hidden", {"out_indices": [2]}, Run("", 4, 8), hidden="all", attentions=True),
    Choice("hidden-list", {"out_indices": [1, 3]}, Run("", 4, 8), hidden=[-1, 0]),
)
CLASS_TOKENS = (
    Choice("class-tokens", EVERY | {"return_class_token": True}),
    Choice("class-tokens-raw", EVERY | RAW | {"return_class_token": True}),
    Choice("class-tokens-sequence", {"out_indices": [1, 3], "return_class_token": True} | RAW | SEQUENCE),
)
MASKED = (
    Choice("attention-mask", {"out_indices": [1, 3]}, Run("", 8, 12, batch=2), [1], True, True),
)
CONVNEXT = (
    Choice("default", run=LARGE),
    Choice("every", {"out_indices": [0, 1, 2, 3, 4]}, LARGE),
    Choice("names", {"out_features": ["stage2", "stage4"]}, LARGE),
    Choice("last-two", {"out_indices": [-2, -1]}, LARGE),
    Choice("hidden-list", {"out_indices": [2]}, LARGE, [-1, 3]),
)
SELECTIONS: tuple[dict[str, Any], ...] = (
    {}, {"out_indices": [-1]}, {"out_indices": [-2, -1]}, {"out_indices": [0]}, {"out_indices": [0, -1]},
    {"out_features": ["stem"]}, {"out_features": ["stage1", "stage3"]},
    {"out_features": ["stage1"], "out_indices": [1]}, {"out_features": ["stage3"], "out_indices": [-1]},
    {"out_features": ["stage1"], "out_indices": [2]}, {"out_features": ["stage1", "stage2"], "out_indices": [1]},
    {"out_indices": [2, 1]}, {"out_indices": [-1, -2]}, {"out_indices": [1, 1]}, {"out_indices": [3, -1]}, {"out_indices": [9]},
    {"out_indices": [-5]}, {"out_indices": []}, {"out_features": ["stage2", "stage1"]}, {"out_features": ["stage1", "stage1"]},
    {"out_features": ["stage9"]}, {"out_features": []}, {"out_features": "stage1"}, {"out_indices": 1},
)


def _config(folder: Path, options: dict[str, Any]) -> PreTrainedConfig:
    config = AutoConfig.from_pretrained(folder)
    for key, value in options.items():
        setattr(config, key, value)
    return config


def _attention_mask(backbone: PreTrainedModel, run: Run) -> Tensors:
    patch = backbone.config.patch_size
    tokens = 1 + getattr(backbone.config, "num_register_tokens", 0) + (run.height // patch) * (run.width // patch)
    return {"attention_mask": (hash32(seed_of(run.name), (run.batch, tokens)) > -1).long()}


def _golden(folder: Path, choice: Choice) -> None:
    config = _config(folder, choice.options)
    attention = {} if config.model_type == "dinov3_convnext" else {"attn_implementation": "eager"}
    backbone = CLASSES[config.model_type].from_pretrained(folder, config=config, dtype=torch.float32, **attention).eval()
    name = f"backbone-{choice.name}"
    run = Run(name, choice.run.height, choice.run.width, choice.run.batch)
    pixel_values, recipe = pixels(folder.name, run)
    masks = _attention_mask(backbone, run) if choice.attention_mask else {}
    tensors, measured = checked_outputs(backbone, {"pixel_values": pixel_values} | masks, choice.hidden, choice.attentions)
    chosen = {
        "options": json.dumps(choice.options),
        "out_features": json.dumps(list(config.out_features)),
        "out_indices": json.dumps(list(config.out_indices)),
    }
    if not isinstance(choice.hidden, str):
        chosen["output_hidden_states"] = json.dumps(choice.hidden)
    metadata = about(backbone) | recipe | measured | chosen | {"fixture": folder.name}
    save_tensors(folder / f"golden-{name}.safetensors", tensors | masks, metadata)


def _selection(base: dict[str, Any], options: dict[str, Any]) -> dict[str, Any]:
    without = {key: value for key, value in base.items() if key not in ("out_features", "out_indices", "stage_names")}
    kind = type(AutoConfig.for_model(base["model_type"]))
    try:
        config = kind.from_dict(without | options)
    except Exception as error:  # any refusal is the answer
        return options | {"error": True, "transformers": type(error).__name__}
    return options | {"expect": {"out_features": list(config.out_features), "out_indices": list(config.out_indices)}}


def make(folder: Path) -> None:
    """All backbone goldens of a fixture."""
    base = json.loads((folder / "config.json").read_text())
    kind = base["model_type"]
    choices = CONVNEXT if kind == "dinov3_convnext" else VIT + (CLASS_TOKENS if kind == "dinov3_vit" else MASKED)
    for choice in choices:
        _golden(folder, choice)
    rows = ",\n".join(json.dumps(_selection(base, options)) for options in SELECTIONS)
    (folder / "selections.json").write_text(f"[\n{rows}\n]\n")
