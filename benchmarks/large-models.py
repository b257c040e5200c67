"""Checkpoints of the largest models with random weights, and what they cost here; see large-models.md.

    python benchmarks/large-models.py make {7b,giant,wide} DIR [--dtype bf16|f32]
    python benchmarks/large-models.py golden DIR

`make` needs transformers 5.24.0 and numpy. It writes what `save_pretrained` writes for facebook/dinov3-vit7b16-pretrain-lvd1689m,
facebook/dinov2-giant, or two layers of the former (`wide`): config, processor config, index, and shards that are drawn piece by piece, so
that memory holds some megabytes of them. Weights and tokens are normal with the config's deviation (0.02), biases 0, norms and layer scale
as a fresh model has them: activations stay of order 10.
`golden` runs Transformers in f32 over noise and writes `golden.safetensors` into DIR, for `dinoxide verify`; `DIR` has to fit in memory.
"""

import argparse
import json
from multiprocessing import Pool
from pathlib import Path

import numpy as np

MAX_SHARD = 5_000_000_000
PIECE = 1 << 22
DTYPES = {"bf16": ("BF16", 2, "bfloat16"), "f32": ("F32", 4, "float32")}


def config_of(model):
    from transformers import Dinov2Config, DINOv3ViTConfig

    if model == "giant":
        sizes = dict(hidden_size=1536, num_hidden_layers=40, num_attention_heads=24, image_size=518, patch_size=14, use_swiglu_ffn=True)
        return Dinov2Config(architectures=["Dinov2Model"], **sizes)
    sizes = dict(hidden_size=4096, intermediate_size=8192, num_attention_heads=32, num_hidden_layers=2 if model == "wide" else 40)
    variant = dict(query_bias=False, value_bias=False, use_gated_mlp=True, hidden_act="silu", num_register_tokens=4)
    return DINOv3ViTConfig(architectures=["DINOv3ViTModel"], **sizes, **variant)


def processor_of(model):
    from transformers import BitImageProcessor
    from transformers.models.dinov3_vit.image_processing_dinov3_vit import DINOv3ViTImageProcessor

    if model != "giant":
        return DINOv3ViTImageProcessor()
    colours = dict(image_mean=[0.485, 0.456, 0.406], image_std=[0.229, 0.224, 0.225])
    return BitImageProcessor(size={"shortest_edge": 256}, crop_size=224, **colours)


def tensors(model, config):
    """Names in files and shapes, in their order, as the hub's files have them."""
    hidden, patch = config.hidden_size, config.patch_size
    if model == "giant":
        patches = (config.image_size // patch) ** 2
        width = (int(4 * hidden * 2 / 3) + 7) // 8 * 8
        yield from {
            "embeddings.cls_token": (1, 1, hidden),
            "embeddings.mask_token": (1, hidden),
            "embeddings.position_embeddings": (1, 1 + patches, hidden),
            "embeddings.patch_embeddings.projection.weight": (hidden, 3, patch, patch),
            "embeddings.patch_embeddings.projection.bias": (hidden,),
        }.items()
        linears = {f"attention.attention.{name}": (hidden, hidden) for name in ("query", "key", "value")}
        linears |= {"attention.output.dense": (hidden, hidden)}
        linears |= {"mlp.weights_in": (2 * width, hidden), "mlp.weights_out": (hidden, width)}
        layer, biased, norm = "encoder.layer.{}", linears, "layernorm"
    else:
        width = config.intermediate_size
        yield from {
            "embeddings.cls_token": (1, 1, hidden),
            "embeddings.mask_token": (1, 1, hidden),
            "embeddings.register_tokens": (1, config.num_register_tokens, hidden),
            "embeddings.patch_embeddings.weight": (hidden, 3, patch, patch),
            "embeddings.patch_embeddings.bias": (hidden,),
        }.items()
        linears = {f"attention.{name}_proj": (hidden, hidden) for name in "qkvo"}
        linears |= {"mlp.gate_proj": (width, hidden), "mlp.up_proj": (width, hidden), "mlp.down_proj": (hidden, width)}
        layer, norm = "layer.{}", "norm"
        biased = [name for name in linears if name not in ("attention.q_proj", "attention.k_proj", "attention.v_proj")]
    for index in range(config.num_hidden_layers):
        prefix = layer.format(index)
        for name in ("norm1", "norm2"):
            yield f"{prefix}.{name}.weight", (hidden,)
            yield f"{prefix}.{name}.bias", (hidden,)
        for name in ("layer_scale1", "layer_scale2"):
            yield f"{prefix}.{name}.lambda1", (hidden,)
        for name, shape in linears.items():
            yield f"{prefix}.{name}.weight", shape
            if name in biased:
                yield f"{prefix}.{name}.bias", shape[:1]
    yield f"{norm}.weight", (hidden,)
    yield f"{norm}.bias", (hidden,)


def values(name, count, draws, deviation):
    """The numbers of a tensor, piece by piece, as f32."""
    is_norm = "norm" in name and name.endswith("weight")
    for start in range(0, count, PIECE):
        length = min(PIECE, count - start)
        if is_norm or name.endswith("lambda1"):
            yield np.ones(length, np.float32)
        elif name.endswith("bias"):
            yield np.zeros(length, np.float32)
        else:
            yield draws.standard_normal(length, np.float32) * np.float32(deviation)


def encoded(piece, dtype):
    if dtype == "f32":
        return piece.tobytes()
    bits = piece.view(np.uint32)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16).tobytes()


def write_shard(job):
    path, names, dtype, deviation, seed = job
    label, width, _ = DTYPES[dtype]
    header, offset = {"__metadata__": {"format": "pt"}}, 0
    for name, shape in names:
        end = offset + width * int(np.prod(shape))
        header[name] = {"dtype": label, "shape": shape, "data_offsets": [offset, end]}
        offset = end
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    draws = np.random.Generator(np.random.SFC64(seed))
    with open(path, "wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for name, shape in names:
            for piece in values(name, int(np.prod(shape)), draws, deviation):
                file.write(encoded(piece, dtype))


def make(model, folder, dtype):
    folder.mkdir(parents=True, exist_ok=True)
    config = config_of(model)
    config.dtype = DTYPES[dtype][2]
    config.save_pretrained(folder)
    processor_of(model).save_pretrained(folder)
    width, shards, size = DTYPES[dtype][1], [[]], 0
    for name, shape in tensors(model, config):
        length = width * int(np.prod(shape))
        if size + length > MAX_SHARD:
            shards.append([])
            size = 0
        shards[-1].append((name, shape))
        size += length
    files = [f"model-{i + 1:05}-of-{len(shards):05}.safetensors" for i in range(len(shards))]
    files = files if len(files) > 1 else ["model.safetensors"]
    with Pool(2) as pool:
        jobs = [(folder / file, names, dtype, config.initializer_range, i) for i, (file, names) in enumerate(zip(files, shards))]
        pool.map(write_shard, jobs, chunksize=1)
    parameters = sum(int(np.prod(shape)) for names in shards for _, shape in names)
    if len(files) > 1:
        weight_map = {name: file for file, names in zip(files, shards) for name, _ in names}
        metadata = {"total_parameters": parameters, "total_size": parameters * width}
        (folder / "model.safetensors.index.json").write_text(json.dumps({"metadata": metadata, "weight_map": weight_map}, indent=2, sort_keys=True) + "\n")
    print(f"{folder}: {parameters:,} parameters, {len(files)} file(s)")


def golden(folder):
    import torch
    from safetensors.torch import save_file
    from transformers import AutoModel

    model = AutoModel.from_pretrained(folder, dtype=torch.float32).eval()
    pixel_values = torch.randn((2, 3, 224, 224), generator=torch.Generator().manual_seed(0))
    with torch.inference_mode():
        outputs = model(pixel_values, output_hidden_states=True)
    kept = {"pixel_values": pixel_values, "last_hidden_state": outputs.last_hidden_state, "pooler_output": outputs.pooler_output}
    kept |= {f"hidden_states.{i}": state for i, state in enumerate(outputs.hidden_states)}
    save_file({name: tensor.contiguous() for name, tensor in kept.items()}, folder / "golden.safetensors")
    print({name: f"{tensor.abs().max().item():.1f}" for name, tensor in kept.items()})


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    maker = commands.add_parser("make")
    maker.add_argument("model", choices=["7b", "giant", "wide"])
    maker.add_argument("folder", type=Path)
    maker.add_argument("--dtype", choices=DTYPES, default="bf16")
    commands.add_parser("golden").add_argument("folder", type=Path)
    args = parser.parse_args()
    if args.command == "make":
        make(args.model, args.folder, args.dtype)
    else:
        golden(args.folder)


if __name__ == "__main__":
    main()
