"""Writes crates/checkpoint/tests/data/loading.json: what Transformers finds when it loads fixtures as other classes.

    python make_loading.py

Each case: the fixture, the class, the keyword arguments, and `missing_keys`, `unexpected_keys`, `mismatched_keys` of
`output_loading_info=True` with the config that the model then has, or `error: true`.
"""

from __future__ import annotations

import json
import logging

import transformers

from common import FIXTURES, ROOT, quiet

OUT = ROOT / "crates/checkpoint/tests/data/loading.json"
IGNORE = dict(ignore_mismatched_sizes=True)
LABELS = dict(id2label={"0": "ant", "1": "bee", "2": "cat"}, label2id={"ant": 0, "bee": 1, "cat": 2})

CASES: list[tuple[str, str, dict[str, object]]] = [
    ("dinov2", "Dinov2Model", {}),
    ("dinov2", "Dinov2ForImageClassification", {}),
    ("dinov2", "Dinov2ForImageClassification", dict(num_labels=5)),
    ("dinov2", "Dinov2ForImageClassification", LABELS),
    ("dinov2", "Dinov2ForImageClassification", dict(num_labels=0)),
    ("dinov2", "Dinov2Backbone", dict(out_features=["stem", "stage2"])),
    ("dinov2", "Dinov2Backbone", dict(out_indices=[-2, -1])),
    ("dinov2", "Dinov2Model", dict(qkv_bias=False)),
    ("dinov2", "Dinov2Model", dict(use_mask_token=False)),
    ("dinov2", "Dinov2Model", dict(image_size=56) | IGNORE),
    ("dinov2", "Dinov2Model", dict(image_size=56)),
    ("dinov2", "Dinov2Model", dict(mlp_ratio=4) | IGNORE),
    ("dinov2", "Dinov2Model", dict(hidden_dropout_prob=0.5, drop_path_rate=0.1, output_hidden_states=True)),
    ("dinov2", "Dinov2Model", dict(dropout=0.5)),
    ("dinov2", "Dinov2Model", dict(dtype="bfloat16")),
    ("dinov2-f16", "Dinov2Model", dict(dtype="auto")),
    ("dinov2-swiglu", "Dinov2Model", dict(mlp_ratio=2) | IGNORE),
    ("dinov2-swiglu-v5-names", "Dinov2Model", dict(mlp_ratio=2) | IGNORE),
    ("dinov2-classifier", "Dinov2ForImageClassification", {}),
    ("dinov2-classifier", "Dinov2ForImageClassification", dict(problem_type="multi_label_classification")),
    ("dinov2-classifier", "Dinov2ForImageClassification", dict(num_labels=5)),
    ("dinov2-classifier", "Dinov2ForImageClassification", dict(num_labels=5) | IGNORE),
    ("dinov2-classifier", "Dinov2ForImageClassification", dict(num_labels=0)),
    ("dinov2-classifier", "Dinov2ForImageClassification", dict(image_size=56) | IGNORE),
    ("dinov2-classifier", "Dinov2Model", {}),
    ("dinov2-classifier", "Dinov2Model", dict(qkv_bias=False)),
    ("dinov2-classifier-v5-names", "Dinov2Backbone", {}),
    ("dinov2-with-registers-classifier", "Dinov2WithRegistersModel", {}),
    ("dinov2-with-registers", "Dinov2WithRegistersForImageClassification", dict(num_register_tokens=3) | IGNORE),
    ("dinov3-vit", "DINOv3ViTModel", dict(query_bias=False)),
    ("dinov3-vit", "DINOv3ViTBackbone", dict(num_register_tokens=2) | IGNORE),
    ("dinov3-vit-gated", "DINOv3ViTModel", dict(intermediate_size=32) | IGNORE),
    ("dinov3-vit-gated", "DINOv3ViTModel", dict(use_gated_mlp=False)),
    ("dinov3-convnext", "DINOv3ConvNextBackbone", {}),
    ("dinov3-convnext", "DINOv3ConvNextModel", dict(depths=[1, 1, 1, 1])),
]


def case(fixture: str, kind: str, options: dict[str, object]) -> dict[str, object]:
    """Loads the fixture; the config is the text that the model would be saved with."""
    entry: dict[str, object] = {"fixture": fixture, "class": kind, "options": options}
    model_class = getattr(transformers, kind)
    try:
        model, info = model_class.from_pretrained(FIXTURES / fixture, output_loading_info=True, **dict(options))
    except (RuntimeError, TypeError, ValueError) as error:
        return entry | {"error": type(error).__name__}
    model.config.architectures = [kind]
    return entry | {
        "missing_keys": sorted(info["missing_keys"]),
        "unexpected_keys": sorted(info["unexpected_keys"]),
        "mismatched_keys": sorted([name, list(theirs), list(ours)] for name, theirs, ours in info["mismatched_keys"]),
        "config": model.config.to_json_string(),
    }


def main() -> None:
    quiet()
    logging.disable(logging.CRITICAL)
    entries = [case(*arguments) for arguments in CASES]
    lines = ",\n".join(json.dumps(entry) for entry in entries)
    OUT.write_text(f'{{"transformers": "{transformers.__version__}", "cases": [\n{lines}\n]}}\n')
    errors = sum("error" in entry for entry in entries)
    print(f"{len(entries)} cases, {errors} of them errors, {OUT.stat().st_size / 1e3:.0f} kB in {OUT.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
