"""Makes fixtures/processor: cases.json and what Transformers' processors give for each case.

    python make_processor.py

A case: {name, picture, config, expect: {shape, kind, file, tensor}} or {…, error: true, transformers: the message}.
`kind` is "u8" (levels of 0..255, nothing rescaled) or "f32"; an output too big to keep has only shape and kind.
Reference: AutoImageProcessor on the config alone (torchvision backend), then processor(load_image(picture)).
"""

from __future__ import annotations

import json
import re
import shutil
import tempfile
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import torch
from PIL import Image
from transformers import AutoImageProcessor
from transformers.image_utils import load_image

from common import FIXTURES, MAX_FILE_BYTES, ROOT, Tensors, quiet, save_tensors
from processor_cases import GREY16, Case, all_cases
from synthetic import from_name

OUT = FIXTURES / "processor"
FILE_BUDGET = MAX_FILE_BYTES - 20_000
"""Tensor bytes gathered in one file; the rest is for the header."""


def picture_of(case: Case) -> Image.Image:
    """The picture as Transformers loads it; 16-bit grey by its high byte (see the case's note)."""
    if ":" in case.picture:
        return from_name(case.picture)
    path = ROOT / case.picture
    if path.name == GREY16:
        return Image.fromarray((np.asarray(Image.open(path)) >> 8).astype(np.uint8)).convert("RGB")
    return load_image(str(path))


def processed(case: Case) -> torch.Tensor:
    """pixel_values [C, H, W] of a case."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "preprocessor_config.json").write_text(json.dumps(case.config))
        processor = AutoImageProcessor.from_pretrained(folder)
    return processor(picture_of(case), return_tensors="pt")["pixel_values"][0]


class Files:
    """Gathers tensors into files below the limit, apart by the group that a case's name starts with."""

    def __init__(self) -> None:
        self.groups: dict[str, list[Tensors]] = {}

    def add(self, name: str, tensor: torch.Tensor) -> str:
        """Keeps a tensor and tells the name of its file."""
        group = name.split("/")[0]
        held = self.groups.setdefault(group, [{}])
        if _bytes(held[-1]) + _bytes({name: tensor}) > FILE_BUDGET:
            held.append({})
        held[-1][name] = tensor
        return self._file(group, len(held) - 1)

    @staticmethod
    def _file(group: str, number: int) -> str:
        return f"{group}-{number}.safetensors"

    def write(self) -> int:
        """Writes all files and tells how many."""
        for group, held in self.groups.items():
            for number, tensors in enumerate(held):
                save_tensors(OUT / self._file(group, number), tensors, {"what": "outputs of the cases of cases.json"})
        return sum(map(len, self.groups.values()))


def _bytes(tensors: Tensors) -> int:
    return sum(t.numel() * t.element_size() for t in tensors.values())


def _refusal(error: Exception) -> str:
    """The kind of a refusal and the part of its message that is the same on every machine and run."""
    message = (str(error).strip().splitlines() or [""])[0]
    return f"{type(error).__name__}: {re.split(r' in /|[:({]', message)[0].replace(f'{ROOT}/', '').strip()}"


def record(case: Case, files: Files) -> dict[str, Any]:
    """Runs a case and describes it for cases.json."""
    entry: dict[str, Any] = {"name": case.name, "picture": case.picture}
    if case.note:
        entry["note"] = case.note
    entry["config"] = case.config
    try:
        tensor = processed(case)
    except Exception as error:  # any refusal is the answer
        return entry | {"error": True, "transformers": _refusal(error)}
    kinds = {torch.uint8: "u8", torch.float32: "f32"}
    expect: dict[str, Any] = {"shape": list(tensor.shape), "kind": kinds[tensor.dtype]}
    if case.keep and _bytes({case.name: tensor}) <= FILE_BUDGET:
        expect |= {"file": files.add(case.name, tensor), "tensor": case.name}
    return entry | {"expect": expect}


def main() -> None:
    quiet()
    warnings.simplefilter("ignore")
    shutil.rmtree(OUT, ignore_errors=True)
    OUT.mkdir(parents=True)
    files = Files()
    cases = [record(case, files) for case in all_cases()]
    written = files.write()
    names = [case["name"] for case in cases]
    if len(set(names)) != len(names):
        raise ValueError("two cases of one name")
    lines = ",\n".join(json.dumps(case) for case in cases)
    (OUT / "cases.json").write_text(f"[\n{lines}\n]\n")
    total = sum(path.stat().st_size for path in OUT.iterdir())
    refused = sum("error" in case for case in cases)
    print(f"{len(cases)} cases, {refused} refused, {written} files, {total / 1e3:.1f} kB")


if __name__ == "__main__":
    main()
