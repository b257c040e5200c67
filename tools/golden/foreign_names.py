"""The same weights under other projects' names: Facebook's original ones and timm's.

Each folder, `<fixture>-fb-names` or `<fixture>-timm-names`, holds a checkpoint only: its outputs are the goldens of
`<fixture>`. What those files hold besides is there too: frequencies of RoPE, the mask of the key's bias, a second norm,
an alias of the last one; and numbers that must not be used are large, so that using them is found out.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import safetensors.torch
import torch

from common import FIXTURES, Tensors

UNUSED = 1e6
"""In places that the original code masks or drops."""


def _fused(t: Tensors, names: list[str], leaf: str) -> torch.Tensor:
    return torch.cat([t[f"{name}.{leaf}"] for name in names])


def _layers(t: Tensors, prefix: str) -> Iterator[tuple[int, str]]:
    index = 0
    while f"{prefix}.{index}.norm1.weight" in t:
        yield index, f"{prefix}.{index}"
        index += 1


def _copy(out: Tensors, t: Tensors, target: str, source: str) -> None:
    """Weight and, where there is one, bias."""
    for leaf in ("weight", "bias"):
        if f"{source}.{leaf}" in t:
            out[f"{target}.{leaf}"] = t[f"{source}.{leaf}"]


def _dinov2_layers(t: Tensors, out: Tensors, block: Callable[[int], str], swiglu: tuple[str, str]) -> None:
    for index, layer in _layers(t, "encoder.layer"):
        to = block(index)
        projections = [f"{layer}.attention.attention.{name}" for name in ("query", "key", "value")]
        for leaf in ("weight", "bias"):
            out[f"{to}.attn.qkv.{leaf}"] = _fused(t, projections, leaf)
        _copy(out, t, f"{to}.attn.proj", f"{layer}.attention.output.dense")
        for norm in ("norm1", "norm2"):
            _copy(out, t, f"{to}.{norm}", f"{layer}.{norm}")
        for name, source in (("fc1", "fc1"), ("fc2", "fc2"), (swiglu[0], "weights_in"), (swiglu[1], "weights_out")):
            _copy(out, t, f"{to}.mlp.{name}", f"{layer}.mlp.{source}")
        for number in (1, 2):
            out[f"{to}.ls{number}.gamma"] = t[f"{layer}.layer_scale{number}.lambda1"]


def dinov2_fb(t: Tensors, prefix: str = "", chunk: int | None = None) -> Tensors:
    """`chunk` layers a chunk, as training code saves them; the index goes on over the chunks."""
    names = {
        "cls_token": "cls_token", "pos_embed": "position_embeddings", "mask_token": "mask_token", "register_tokens": "register_tokens",
    }
    out = {name: t[f"embeddings.{source}"] for name, source in names.items() if f"embeddings.{source}" in t}
    _copy(out, t, "patch_embed.proj", "embeddings.patch_embeddings.projection")
    _copy(out, t, "norm", "layernorm")
    _dinov2_layers(t, out, lambda i: f"blocks.{i}" if chunk is None else f"blocks.{i // chunk}.{i}", ("w12", "w3"))
    return {prefix + name: tensor for name, tensor in out.items()}


def dinov2_timm(t: Tensors) -> Tensors:
    """With registers the position of CLS is already added to its token, and the table begins with the patches."""
    out = {"cls_token": t["embeddings.cls_token"], "pos_embed": t["embeddings.position_embeddings"]}
    if "embeddings.register_tokens" in t:
        out["reg_token"] = t["embeddings.register_tokens"]
        out["cls_token"] = out["cls_token"] + out["pos_embed"][:, :1]
        out["pos_embed"] = out["pos_embed"][:, 1:]
    _copy(out, t, "patch_embed.proj", "embeddings.patch_embeddings.projection")
    _copy(out, t, "norm", "layernorm")
    _dinov2_layers(t, out, lambda i: f"blocks.{i}", ("fc1", "fc2"))
    return out


def dinov3_fb(t: Tensors) -> Tensors:
    """Separate query, key and value become one; the key's third of the bias is masked there."""
    width = t["norm.weight"].numel()
    out = {
        "cls_token": t["embeddings.cls_token"],
        "mask_token": t["embeddings.mask_token"][0],
        "storage_tokens": t["embeddings.register_tokens"],
        "rope_embed.periods": torch.full((width // 8,), UNUSED),
        "local_cls_norm.weight": torch.full((width,), UNUSED),
        "local_cls_norm.bias": torch.full((width,), UNUSED),
    }
    _copy(out, t, "patch_embed.proj", "embeddings.patch_embeddings")
    _copy(out, t, "norm", "norm")
    for index, layer in _layers(t, "layer"):
        block = f"blocks.{index}"
        projections = [f"{layer}.attention.{name}_proj" for name in "qkv"]
        out[f"{block}.attn.qkv.weight"] = _fused(t, projections, "weight")
        query, value = t[f"{projections[0]}.bias"], t[f"{projections[2]}.bias"]
        out[f"{block}.attn.qkv.bias"] = torch.cat([query, torch.full_like(query, UNUSED), value])
        out[f"{block}.attn.qkv.bias_mask"] = torch.full((3 * width,), torch.nan)
        _copy(out, t, f"{block}.attn.proj", f"{layer}.attention.o_proj")
        gated = f"{layer}.mlp.gate_proj.weight" in t
        names = (("w1", "gate_proj"), ("w2", "up_proj"), ("w3", "down_proj")) if gated else (("fc1", "up_proj"), ("fc2", "down_proj"))
        for name, source in names:
            _copy(out, t, f"{block}.mlp.{name}", f"{layer}.mlp.{source}")
        for number in (1, 2):
            _copy(out, t, f"{block}.norm{number}", f"{layer}.norm{number}")
            out[f"{block}.ls{number}.gamma"] = t[f"{layer}.layer_scale{number}.lambda1"]
    return out


def dinov3_timm(t: Tensors) -> Tensors:
    """The names of the `qkvb` variants, which have biases of query and value."""
    out = {"cls_token": t["embeddings.cls_token"], "reg_token": t["embeddings.register_tokens"]}
    _copy(out, t, "patch_embed.proj", "embeddings.patch_embeddings")
    _copy(out, t, "norm", "norm")
    for index, layer in _layers(t, "layer"):
        block = f"blocks.{index}"
        out[f"{block}.attn.qkv.weight"] = _fused(t, [f"{layer}.attention.{name}_proj" for name in "qkv"], "weight")
        for name in "qv":
            out[f"{block}.attn.{name}_bias"] = t[f"{layer}.attention.{name}_proj.bias"]
        _copy(out, t, f"{block}.attn.proj", f"{layer}.attention.o_proj")
        gated = f"{layer}.mlp.gate_proj.weight" in t
        first = (("fc1_g", "gate_proj"), ("fc1_x", "up_proj")) if gated else (("fc1", "up_proj"),)
        for name, source in (*first, ("fc2", "down_proj")):
            _copy(out, t, f"{block}.mlp.{name}", f"{layer}.mlp.{source}")
        for number in (1, 2):
            _copy(out, t, f"{block}.norm{number}", f"{layer}.norm{number}")
            out[f"{block}.gamma_{number}"] = t[f"{layer}.layer_scale{number}.lambda1"]
    return out


def convnext(t: Tensors, timm: bool) -> Tensors:
    """Both spellings: `downsample_layers.2.1` and `stages.2.downsample.1`, `stages.2.0.dwconv` and `stages.2.blocks.0.conv_dw`."""
    modules = {
        "depthwise_conv": ("dwconv", "conv_dw"), "layer_norm": ("norm", "norm"), "gamma": ("gamma", "gamma"),
        "pointwise_conv1": ("pwconv1", "mlp.fc1"), "pointwise_conv2": ("pwconv2", "mlp.fc2"),
    }
    out: Tensors = {}
    for name, tensor in t.items():
        parts = name.split(".")
        if parts[0] == "layer_norm":
            out[f"{'head.norm' if timm else 'norm'}.{parts[1]}"] = tensor
            if not timm:
                out[f"norms.3.{parts[1]}"] = tensor.clone()
        elif parts[2] == "downsample_layers":
            stage, rest = parts[1], ".".join(parts[3:])
            to = f"downsample_layers.{stage}" if not timm else "stem" if stage == "0" else f"stages.{stage}.downsample"
            out[f"{to}.{rest}"] = tensor
        else:
            rest = ".".join([modules[parts[4]][timm], *parts[5:]])
            out[f"stages.{parts[1]}.{'blocks.' if timm else ''}{parts[3]}.{rest}"] = tensor
    return out


CASES: dict[str, tuple[str, Callable[[Tensors], Tensors]]] = {
    "dinov2-fb-names": ("dinov2", dinov2_fb),
    "dinov2-with-registers-fb-names": ("dinov2-with-registers", lambda t: dinov2_fb(t, prefix="teacher.backbone.", chunk=1)),
    "dinov2-swiglu-fb-names": ("dinov2-swiglu", lambda t: dinov2_fb(t, prefix="module.")),
    "dinov3-vit-fb-names": ("dinov3-vit", dinov3_fb),
    "dinov3-vit-gated-fb-names": ("dinov3-vit-gated", dinov3_fb),
    "dinov3-convnext-backbone-fb-names": ("dinov3-convnext-backbone", lambda t: convnext(t, timm=False)),
    "dinov2-nomask-timm-names": ("dinov2-nomask", dinov2_timm),
    "dinov2-with-registers-swiglu-timm-names": ("dinov2-with-registers-swiglu", dinov2_timm),
    "dinov3-vit-timm-names": ("dinov3-vit", dinov3_timm),
    "dinov3-vit-gated-timm-names": ("dinov3-vit-gated", dinov3_timm),
    "dinov3-convnext-backbone-timm-names": ("dinov3-convnext-backbone", lambda t: convnext(t, timm=True)),
}


def make_all() -> Iterator[Path]:
    """Makes every folder of this kind."""
    for name, (source, rename) in CASES.items():
        folder = FIXTURES / name
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        for file in ("config.json", "preprocessor_config.json"):
            shutil.copyfile(FIXTURES / source / file, folder / file)
        tensors = safetensors.torch.load_file(FIXTURES / source / "model.safetensors")
        tensors = {key: tensor.contiguous() for key, tensor in rename(tensors).items()}
        safetensors.torch.save_file(tensors, folder / "model.safetensors")
        (folder / "model.safetensors").chmod(0o644)
        classes = json.loads((folder / "config.json").read_text())["architectures"]
        if not classes[0].endswith("Model"):
            raise ValueError(f"{name}: {classes}")
        yield folder
