"""Makes fixtures/<fixture>-int8 and -int4: checkpoints that torchao quantised and Transformers saved, with goldens.

    python make_quantized.py

A golden is what the float model gives that the codes stand for: every weight in codes replaced by `codes * scale + zero`.
torchao leaves two steps of int4 to `mslk`, a package for CUDA: how a row is quantised, and how two codes become a byte. Both are
written out here as that package has them; the classes, the files and their metadata are torchao's and Transformers'.
"""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import torch
import torchao
import transformers
from torchao.quantization import Int4WeightOnlyConfig, Int8DynamicActivationInt8WeightConfig, Int8WeightOnlyConfig
from transformers import PreTrainedModel, TorchAoConfig

from common import FIXTURES, hash32, hash32_name, quiet, save_tensors, seed_of

PIXELS_SEED, SIZE = 5, 28
QUANTIZED = (
    ("dinov2-classifier", "int8", Int8DynamicActivationInt8WeightConfig(), torch.float32),
    ("dinov3-vit", "int8", Int8WeightOnlyConfig(), torch.bfloat16),
    ("dinov2-classifier", "int4", Int4WeightOnlyConfig(group_size=16), torch.float32),
    ("dinov2-with-registers", "int4", Int4WeightOnlyConfig(group_size=32), torch.bfloat16),
)
"""Fixture, what it becomes, torchao's config, dtype of everything else. torchao 0.18.0."""


def int4_row_quantize_zp(weight: torch.Tensor, group_size: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Codes [N, K] in -8..7, scales and zeros [K / group, N]."""
    groups = weight.reshape(-1, group_size).to(torch.float)
    low, high = groups.amin(dim=1, keepdim=True), groups.amax(dim=1, keepdim=True)
    scales = (high - low).clamp(min=1e-6) / 15
    zeros = low + scales * 8
    codes = groups.sub(low).div(scales).round().clamp_(0, 15).sub(8).to(torch.int8).reshape(weight.shape)
    turned = [values.view(weight.shape[0], -1).t().contiguous() for values in (scales, zeros)]
    return codes, turned[0], turned[1]


def pack_int4(codes: torch.Tensor) -> torch.Tensor:
    """Two codes a byte, that of the even column in the low bits."""
    low, high = torch.bitwise_and(codes[:, ::2], 0xF), torch.bitwise_left_shift(codes[:, 1::2], 4)
    return torch.bitwise_or(low, high).contiguous()


def unpack_int4(packed: torch.Tensor) -> torch.Tensor:
    """The codes again."""
    low, high = torch.bitwise_left_shift(packed, 4) >> 4, packed >> 4
    return torch.stack([low, high], dim=-1).flatten(1)


def dequantized(weight: torch.Tensor) -> torch.Tensor:
    """The floats that a weight in codes stands for."""
    scale, zero = weight.scale.float(), weight.zero_point.float()
    if type(weight).__name__ == "Int8Tensor":
        return weight.qdata.float() * scale
    group = weight.block_size[1]
    scale, zero = (values.t().repeat_interleave(group, dim=1) for values in (scale, zero))
    return unpack_int4(weight.qdata).float() * scale + zero


def float_model(model: PreTrainedModel, fixture: str) -> PreTrainedModel:
    """The same model in float32, with what the codes stand for."""
    floats = type(model).from_pretrained(FIXTURES / fixture, dtype=torch.float32, attn_implementation="eager").eval()
    targets, count = dict(floats.named_parameters()), 0
    for name, parameter in model.named_parameters():
        if hasattr(parameter.data, "qdata"):
            targets[name].data = dequantized(parameter.data)
            count += 1
        else:
            targets[name].data = parameter.data.float()
    if count == 0:
        raise ValueError(f"{fixture}: nothing was quantised")
    return floats


def make(fixture: str, name: str, config: object, dtype: torch.dtype) -> Path:
    """Remakes a fixture folder from nothing."""
    source, folder = FIXTURES / fixture, FIXTURES / f"{fixture}-{name}"
    kind = json.loads((source / "config.json").read_text())["architectures"][0]
    quantization = TorchAoConfig(quant_type=config)
    model = getattr(transformers, kind).from_pretrained(source, dtype=dtype, quantization_config=quantization).eval()
    shutil.rmtree(folder, ignore_errors=True)
    model.save_pretrained(folder)
    shutil.copy(source / "preprocessor_config.json", folder)
    shape = (2, 3, SIZE, SIZE)
    floats = float_model(model, fixture)
    outputs = floats(hash32(PIXELS_SEED, shape), output_hidden_states=True)
    names = ("logits",) if "logits" in outputs else ("last_hidden_state", "pooler_output")
    tensors = {name: outputs[name] for name in names}
    tensors |= {f"hidden_states.{i}": state for i, state in enumerate(outputs.hidden_states)}
    metadata = {
        "class": kind,
        "model_type": floats.config.model_type,
        "attn_implementation": "eager",
        "fixture": folder.name,
        "seed": str(seed_of(fixture)),
        "what": f"the float model that {type(config).__name__} stands for, from {dtype}",
        "torchao": torchao.__version__,
        "pixel_values": hash32_name(PIXELS_SEED, shape),
    }
    save_tensors(folder / "golden-quantized.safetensors", tensors, metadata)
    for path in folder.iterdir():
        path.chmod(0o644)
    return folder


def main() -> None:
    quiet()
    int4 = sys.modules["torchao.quantization.quantize_.workflows.int4.int4_tensor"]
    int4.int4_row_quantize_zp, int4.pack_int4 = int4_row_quantize_zp, pack_int4
    for case in QUANTIZED:
        folder = make(*case)
        sizes = [path.stat().st_size for path in folder.iterdir()]
        print(f"{folder.name:36} {len(sizes):3} files {sum(sizes) / 1e3:7.1f} kB", flush=True)


if __name__ == "__main__":
    main()
