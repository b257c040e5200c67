"""Makes stand-ins of public checkpoints: the files of a hub and a table of expected values, to try the test of the real ones.

    python make_standins.py [OUT]      without OUT: fixtures/standins

`OUT/hub/<org>/<name>/` holds a tiny random checkpoint of each family under a public id, with the processor config of that
family's public checkpoints. `OUT/expected.json` has the form of `crates/dinoxide/tests/real/expected.json`; its values are
those of Transformers on a photograph of the repository.
"""

from __future__ import annotations

import argparse
import copy
import json
import shutil
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
import transformers
from transformers import AutoImageProcessor, PreTrainedConfig, PreTrainedModel
from transformers.image_utils import load_image

from common import FIXTURES, MAX_FIXTURE_BYTES, ROOT, quiet, seed_of
from forward import MAX_ROUNDING
from processors import IMAGENET_MEAN, IMAGENET_STD
from weights import Scales, fill

PICTURE = "pictures/chelsea.png"
KEPT = 5
"""Values of a token that are compared."""
MARGIN = 0.05
"""Values of both tokens differ by more than this somewhere, so that one taken for the other would be found out."""
ATOL = RTOL = 1e-3
"""As for the real checkpoints."""

COMMON = {"do_normalize": True, "do_rescale": True, "do_resize": True, "rescale_factor": 0.00392156862745098}
DINOV2_PROCESSOR = COMMON | {
    "crop_size": {"height": 224, "width": 224}, "do_center_crop": True, "do_convert_rgb": True,
    "image_mean": IMAGENET_MEAN, "image_processor_type": "BitImageProcessor", "image_std": IMAGENET_STD, "resample": 3,
    "size": {"shortest_edge": 256},
}
DINOV3_PROCESSOR = COMMON | {
    "crop_size": None, "data_format": "channels_first", "default_to_square": True, "device": None,
    "disable_grouping": None, "do_center_crop": None, "do_convert_rgb": None, "image_mean": IMAGENET_MEAN,
    "image_processor_type": "DINOv3ViTImageProcessorFast", "image_std": IMAGENET_STD, "input_data_format": None,
    "resample": 2, "return_tensors": None, "size": {"height": 224, "width": 224},
}
SATELLITE = {"image_mean": [0.430, 0.411, 0.296], "image_std": [0.213, 0.156, 0.143]}
IMAGENET = {"image_mean": IMAGENET_MEAN, "image_std": IMAGENET_STD}

# A width of 8 keeps the files small; the patches' weights are small beside their bias, which keeps rounding small.
STEADY = Scales(
    token=0.3,
    layer_scale=1.5,
    overrides={
        "patch_embeddings.projection.weight": 0.5, "patch_embeddings.weight": 0.5,
        "patch_embeddings.projection.bias": 8.0, "patch_embeddings.bias": 8.0, "layer_scale1.lambda1": 0.5,
    },
)
NARROW = dict(hidden_size=8, num_hidden_layers=2, num_attention_heads=2)


@dataclass(frozen=True)
class StandIn:
    """A public id and the tiny model that stands for it; `override` are processor keys that the expected values need."""

    id: str
    model: type[PreTrainedModel]
    config: PreTrainedConfig
    processor: dict[str, Any]
    override: dict[str, Any] = field(default_factory=dict)
    scales: Scales = STEADY


def _dinov3() -> PreTrainedConfig:
    return transformers.DINOv3ViTConfig(**NARROW, intermediate_size=32, patch_size=16, num_register_tokens=4)


STAND_INS = (
    StandIn(
        "facebook/dinov2-base", transformers.Dinov2Model,
        transformers.Dinov2Config(**NARROW, patch_size=14, image_size=252), DINOV2_PROCESSOR,
    ),
    StandIn(
        "facebook/dinov2-with-registers-base", transformers.Dinov2WithRegistersModel,
        transformers.Dinov2WithRegistersConfig(**NARROW, patch_size=14, image_size=266, num_register_tokens=4), DINOV2_PROCESSOR,
    ),
    StandIn("facebook/dinov3-vits16-pretrain-lvd1689m", transformers.DINOv3ViTModel, _dinov3(), DINOV3_PROCESSOR),
    StandIn(
        "facebook/dinov3-vitl16-pretrain-sat493m", transformers.DINOv3ViTModel, _dinov3(), DINOV3_PROCESSOR | SATELLITE, IMAGENET,
    ),
    StandIn(
        "facebook/dinov3-convnext-tiny-pretrain-lvd1689m", transformers.DINOv3ConvNextModel,
        transformers.DINOv3ConvNextConfig(hidden_sizes=[4, 6, 8, 12], depths=[1, 1, 2, 1], layer_scale_init_value=0.5),
        DINOV3_PROCESSOR, scales=Scales(layer_scale=0.5),
    ),
)


def _json(value: object) -> str:
    return json.dumps(value, indent=2, sort_keys=True) + "\n"


def _tokens(model: PreTrainedModel, pixel_values: torch.Tensor) -> list[dict[str, Any]]:
    """CLS, or the pooled vector, and the first patch; refused where rounding counts or they are too much alike."""
    convnext = model.config.model_type == "dinov3_convnext"
    patch = 1 + getattr(model.config, "num_register_tokens", 0)
    names = {0: "pooled", 1: "position 0"} if convnext else {0: "CLS", patch: "patch 0"}
    got = model(pixel_values).last_hidden_state[0]
    exact = copy.deepcopy(model).double()(pixel_values.double()).last_hidden_state[0]
    error = float((got.double() - exact).abs().max())
    if error > MAX_ROUNDING:
        raise ValueError(f"float32 is {error:g} away from float64")
    first, second = (got[token, :KEPT] for token in names)
    if float((first - second).abs().max()) < MARGIN:
        raise ValueError("the two tokens are alike")
    return [{"what": what, "token": token, "values": [round(v, 6) for v in got[token, :KEPT].tolist()]} for token, what in names.items()]


def make(stand_in: StandIn, hub: Path) -> dict[str, Any]:
    """Writes one checkpoint and gives its row of expected values, computed from the files."""
    folder = hub / stand_in.id
    model = stand_in.model(stand_in.config).eval()
    fill(model, seed_of(stand_in.id), stand_in.scales)
    model.save_pretrained(folder)
    (folder / "model.safetensors").chmod(0o644)
    (folder / "preprocessor_config.json").write_text(_json(stand_in.processor))
    processor = AutoImageProcessor.from_pretrained(folder, **stand_in.override)
    model = stand_in.model.from_pretrained(folder, dtype=torch.float32).eval()
    pixel_values = processor(load_image(str(ROOT / PICTURE)), return_tensors="pt")["pixel_values"]
    row: dict[str, Any] = {"id": stand_in.id, "gigabytes": 0, "gated": "dinov3" in stand_in.id, "picture": PICTURE}
    row |= {"processor": stand_in.override, "atol": ATOL, "rtol": RTOL, "tokens": _tokens(model, pixel_values)}
    return row | {"source": f"Transformers {transformers.__version__}, a tiny random checkpoint"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", nargs="?", type=Path, default=FIXTURES / "standins")
    out: Path = parser.parse_args().out
    quiet()
    shutil.rmtree(out / "hub", ignore_errors=True)
    rows = [make(stand_in, out / "hub") for stand_in in STAND_INS]
    text = ",\n".join(json.dumps(row) for row in rows)
    (out / "expected.json").write_text(f"[\n{text}\n]\n")
    size = sum(path.stat().st_size for path in out.rglob("*") if path.is_file())
    print(f"{len(rows)} stand-ins, {size / 1e3:.1f} kB in {out}")
    if size > MAX_FIXTURE_BYTES:
        raise ValueError(f"{out}: {size} bytes, more than {MAX_FIXTURE_BYTES}")


if __name__ == "__main__":
    main()
