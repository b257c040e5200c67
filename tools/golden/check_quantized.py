"""Has Transformers and torchao read folders that `dinoxide quantize` wrote, and compares them with the fixtures they were made of.

    for f in dinov2-classifier dinov2-swiglu dinov2-with-registers dinov3-vit-gated; do
      dinoxide quantize fixtures/$f --to int8 --no-compare -o OUT/$f; done
    python check_quantized.py OUT        the same with --to int4 --group-size 8

Every weight in codes must be one to torchao and be close to the original, all else equal; int8 is also run (torchao's int4 needs CUDA).
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import torch
import transformers

from common import FIXTURES, hash32, quiet
from make_quantized import dequantized

MAX_ERROR, MIN_COSINE = {"Int8Tensor": 0.005, "Int4Tensor": 0.2}, 0.999


def check(folder: Path) -> str:
    """What was found; an error where a weight is not what it should be."""
    kind = getattr(transformers, json.loads((folder / "config.json").read_text())["architectures"][0])
    model, original = (kind.from_pretrained(place).eval() for place in (folder, FIXTURES / folder.name))
    exact, codes, largest, name_of_class = dict(original.named_parameters()), 0, 0.0, ""
    for name, parameter in model.named_parameters():
        if not hasattr(parameter.data, "qdata"):
            if not torch.equal(parameter.data, exact[name].data):
                raise ValueError(f"{folder}: {name} differs")
            continue
        codes, name_of_class = codes + 1, type(parameter.data).__name__
        error = (dequantized(parameter.data) - exact[name].data).abs().max().item()
        largest = max(largest, error)
        if error > MAX_ERROR[name_of_class]:
            raise ValueError(f"{folder}: {name} differs by {error}")
    if codes == 0:
        raise ValueError(f"{folder}: nothing is in codes")
    found = f"{folder.name}: {codes} weights of {name_of_class}, largest difference {largest:.2e}"
    if name_of_class == "Int8Tensor":
        pixels = hash32(5, (1, 3, 28, 28))
        got, want = (one(pixels)[0].flatten() for one in (model, original))
        cosine = torch.nn.functional.cosine_similarity(got, want, 0).item()
        if cosine < MIN_COSINE:
            raise ValueError(f"{folder}: cosine {cosine}")
        found += f", cosine {cosine:.6f}"
    return found


def main() -> None:
    quiet()
    for folder in sorted(Path(sys.argv[1]).iterdir()):
        print(check(folder), flush=True)


if __name__ == "__main__":
    main()
