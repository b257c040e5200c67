"""Has Transformers read what dinoxide saved, and compares outputs with those of the fixtures, to the bit.

    cargo run -p dinoxide-checkpoint --example save_all -- fixtures OUT
    python check_saved.py OUT

Each folder `<what>@<fixture>` is loaded by the Auto class of its architecture (backbones by their own class) with nothing missing or left over. Its
outputs must equal those that the fixture gives in the same class and dtype; a fresh model has none to compare
with, so its tensors must have the names and shapes of a model of that class, and its outputs must be finite.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import torch
import transformers
from transformers import AutoImageProcessor, AutoModel, AutoModelForImageClassification, PreTrainedModel

from common import FIXTURES, hash32, quiet

NO_MASK_TOKEN = {"embeddings.mask_token"}
"""What timm's files lack."""


def _auto(kind: str) -> type:
    """The Auto class that has `kind`; AutoBackbone asks the hub even for a folder, so backbones are loaded by their own class."""
    if kind.endswith("ForImageClassification"):
        return AutoModelForImageClassification
    return getattr(transformers, kind) if kind.endswith("Backbone") else AutoModel


def _load(folder: Path, kind: str, dtype: torch.dtype | str) -> tuple[PreTrainedModel, dict[str, set[str]]]:
    model, info = getattr(transformers, kind).from_pretrained(folder, dtype=dtype, output_loading_info=True)
    return model.eval(), info


def _outputs(model: PreTrainedModel) -> dict[str, torch.Tensor]:
    pixels = hash32(7, (2, model.config.num_channels, 40, 36)).to(model.dtype)
    outputs = model(pixel_values=pixels, output_hidden_states=True)
    flat: dict[str, torch.Tensor] = {}
    for name, value in outputs.items():
        values = [value] if isinstance(value, torch.Tensor) else value
        flat |= {f"{name}.{index}": tensor for index, tensor in enumerate(values)}
    return flat


def check(folder: Path) -> str:
    """What was compared; raises where anything differs."""
    what, fixture = folder.name.split("@")
    text = (folder / "config.json").read_text()
    config = json.loads(text)
    (kind,) = config["architectures"]
    auto = type(_auto(kind).from_pretrained(str(folder))).__name__
    if auto != kind:
        raise ValueError(f"{folder.name}: {auto}, not {kind}")
    model, info = _load(folder, kind, "auto")
    missing = set(info["missing_keys"]) - (NO_MASK_TOKEN if what == "timm" else set())
    if missing or any(info[key] for key in ("unexpected_keys", "mismatched_keys")):
        raise ValueError(f"{folder.name}: {info}")
    if model.config.to_json_string() != text:
        raise ValueError(f"{folder.name}: Transformers would write another config.json")
    if not what.startswith("fresh"):
        AutoImageProcessor.from_pretrained(folder)
    dtype = torch.bfloat16 if what == "bf16" else torch.float32
    if model.dtype != dtype or config["dtype"] != str(dtype).removeprefix("torch."):
        raise ValueError(f"{folder.name}: {model.dtype}")
    got = _outputs(model)
    if what.startswith("fresh"):
        if not all(bool(tensor.isfinite().all()) for tensor in got.values()):
            raise ValueError(f"{folder.name}: not finite")
        return f"{kind}: {len(model.state_dict())} tensors, outputs finite"
    reference, _ = _load(FIXTURES / fixture, kind, dtype)
    want = _outputs(reference)
    if got.keys() != want.keys():
        raise ValueError(f"{folder.name}: {got.keys()} instead of {want.keys()}")
    for name, tensor in want.items():
        if not torch.equal(tensor, got[name]):
            raise ValueError(f"{folder.name}: {name} differs by {(tensor - got[name]).abs().max()}")
    return f"{kind}: {len(want)} outputs equal in {str(dtype).removeprefix('torch.')}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    arguments = parser.parse_args()
    quiet()
    folders = sorted(folder for folder in arguments.out.iterdir() if folder.is_dir())
    for folder in folders:
        print(f"{folder.name:48} {check(folder)}")
    print(f"{len(folders)} folders read")


if __name__ == "__main__":
    main()
