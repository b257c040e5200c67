"""Writes fixtures/README.md: every fixture, what it covers and which goldens it has.

    python make_catalogue.py
"""

from __future__ import annotations

from pathlib import Path

from common import FIXTURES, ROOT
from variants import ALL

HEAD = """# Fixtures

Made by `tools/golden/make_all.py` with Transformers 5.24.0; never edited by hand. What a golden holds is told in
`tools/golden/README.md`. Tiny models: hidden 32, 2 layers, 2 heads, patch 4, image_size 28, MLP ratio 2, four registers
where there are any, unless the row says otherwise; `-518` have patch 14, and they, `dinov3-vit-16`, the options, the
activations and `-shortcut-` have hidden 16 and one layer; `-backbone` have hidden 16 and three layers. Goldens of `-int8` and `-int4` are
what the float model gives that the codes stand for.

No file and no checkpoint's folder is larger than 200 kB; the maker refuses it. `processor`, which is one set of cases in
several files, is larger as a whole.

Goldens named `masked-`, `attention-mask-` and `labels-` have those inputs besides pixels; `backbone-` are feature maps, with
`selections.json` beside them; `hidden-` are chosen hidden states; `train-` have their random draws as inputs.

| fixture | covers | goldens | kB |
| --- | --- | --- | --- |
"""
SUFFIXES = {
    "-v5-names": "Transformers 5's tensor names",
    "-fb-names": "the original files' tensor names",
    "-timm-names": "timm's tensor names",
    "-sharded-bin": "two shards of torch.save and an index",
    "-bin": "a file of torch.save",
    "-pth": "a nested file of torch.save with the original names",
    "-sharded": "three shards and an index",
    "-bf16": "bf16",
    "-f16": "f16",
}
QUANTIZED = {"-int8": "8-bit codes", "-int4": "4-bit codes"}
OTHERS = {
    "builtin": "outputs of the model inside the command (`crates/dinoxide/builtin`)",
    "end_to_end": "`<fixture>/<picture>`: pooler_output of the photographs in `pictures/`",
    "pictures": "awkward pictures: every kind of file, orientation, transparency, size, and broken files",
    "pipelines": "`cases.json`: answers of both pipelines about the photographs; `postprocess.json`: from logits to labels and scores",
    "processor": "`cases.json` and the outputs of both image processors",
    "standins": "`hub/<id>`: tiny checkpoints under public ids; `expected.json`: their values, to try the test of the real ones",
}


def _size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def _goldens(folder: Path) -> str:
    names = sorted(path.stem.removeprefix("golden-") for path in folder.glob("golden-*.safetensors"))
    return " ".join(names) or "–"


def _covers(folder: Path) -> str:
    described = {variant.name: variant.covers for variant in ALL} | OTHERS
    if folder.name in described:
        return described[folder.name]
    for suffix, codes in QUANTIZED.items():
        if folder.name.endswith(suffix):
            return f"`{folder.name.removesuffix(suffix)}` in {codes} by torchao"
    suffix = next(s for s in SUFFIXES if folder.name.endswith(s))
    return f"the weights of `{folder.name.removesuffix(suffix)}` as {SUFFIXES[suffix]}; its goldens apply"


def main() -> None:
    order = {variant.name: number for number, variant in enumerate(ALL)}
    folders = sorted((f for f in FIXTURES.iterdir() if f.is_dir()), key=lambda f: (order.get(f.name, len(order)), f.name))
    rows = [f"| {f.name} | {_covers(f)} | {_goldens(f)} | {_size(f) / 1e3:.0f} |" for f in folders]
    (FIXTURES / "README.md").write_text(HEAD + "\n".join(rows) + "\n")
    total = sum(_size(f) for f in folders)
    print(f"{len(folders)} folders, {total / 1e6:.2f} MB in {FIXTURES.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
