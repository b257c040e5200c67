"""Writes configs.json and processors.json: what Transformers holds after reading each of a list of JSON files.

Run with transformers 5.24.0, torch and torchvision: `python make.py` in this folder. Each case has the file's content
(`json`), and either the values that Transformers holds after loading it (`held`) or the type of its refusal (`error`).
The first cases of each file are exactly what `save_pretrained` writes.
"""

import json
import pathlib
import tempfile

import transformers
from transformers import (
    AutoConfig,
    AutoImageProcessor,
    BitImageProcessor,
    Dinov2Config,
    Dinov2WithRegistersConfig,
    DINOv3ConvNextConfig,
    DINOv3ViTConfig,
    DINOv3ViTImageProcessor,
)

HERE = pathlib.Path(__file__).parent
CONFIG_FILE, PROCESSOR_FILE = "config.json", "preprocessor_config.json"


def saved(thing, name):
    with tempfile.TemporaryDirectory() as folder:
        thing.save_pretrained(folder)
        return json.loads((pathlib.Path(folder) / name).read_text())


def plain(value):
    """A value as JSON has it: sizes as pairs, dtypes by name."""
    if hasattr(value, "is_floating_point"):
        return str(value).removeprefix("torch.")
    return list(value) if isinstance(value, tuple) else value


SKIPPED = {"transformers_version", "_name_or_path", "chunk_size_feed_forward", "is_encoder_decoder", "label2id",
           "_attn_implementation", "model_type", "_output_attentions", "output_attentions"}


def held_config(config):
    held = {key: plain(value) for key, value in config.to_dict().items() if key not in SKIPPED}
    held["id2label"] = [[key, value] for key, value in sorted(config.id2label.items())]
    held["dtype"] = plain(config.dtype)
    held["output_attentions"] = bool(config.output_attentions)
    held["architectures"] = config.architectures or []
    for key in ("hidden_sizes", "depths"):
        if hasattr(config, key):
            held[key] = getattr(config, key)
    return {"model_type": config.model_type, **held}


def held_processor(processor):
    flags = ("do_convert_rgb", "do_resize", "do_center_crop", "do_rescale", "do_normalize", "do_pad")
    held = {flag: bool(getattr(processor, flag, None)) for flag in flags}
    for key in ("size", "crop_size", "pad_size"):
        size = getattr(processor, key, None)
        held[key] = None if size is None else dict(size)
    for key in ("image_mean", "image_std", "resample", "rescale_factor"):
        held[key] = plain(getattr(processor, key, None))
    return {"image_processor_type": type(processor).__name__, **held}


def case(name, content, load, held):
    try:
        return {"name": name, "json": content, "held": held(load())}
    except Exception as error:  # any refusal: its type is recorded
        return {"name": name, "json": content, "error": type(error).__name__}


def config_case(name, content):
    with tempfile.TemporaryDirectory() as folder:
        (pathlib.Path(folder) / CONFIG_FILE).write_text(json.dumps(content))
        return case(name, content, lambda: AutoConfig.from_pretrained(folder), held_config)


def processor_case(name, content, model_type="dinov2"):
    with tempfile.TemporaryDirectory() as folder:
        (pathlib.Path(folder) / CONFIG_FILE).write_text(json.dumps({"model_type": model_type}))
        (pathlib.Path(folder) / PROCESSOR_FILE).write_text(json.dumps(content))
        made = case(name, content, lambda: AutoImageProcessor.from_pretrained(folder), held_processor)
        return {"model_type": model_type, **made}


def config_cases():
    families = [Dinov2Config, Dinov2WithRegistersConfig, DINOv3ViTConfig, DINOv3ConvNextConfig]
    for family in families:
        yield family.__name__ + " saved", saved(family(), CONFIG_FILE)
    for family in families:
        yield family.__name__ + " bare", {"model_type": family.model_type}
    labels = {str(i): f"c{i}" for i in range(12)}
    classifier = Dinov2Config(id2label={int(k): v for k, v in labels.items()}, architectures=["Dinov2ForImageClassification"])
    yield "twelve labels saved", saved(classifier, CONFIG_FILE)
    yield "hub with registers", {
        "architectures": ["Dinov2WithRegistersModel"], "attention_probs_dropout_prob": 0.0, "drop_path_rate": 0.0,
        "hidden_size": 384, "image_size": 518, "interpolate_antialias": True, "interpolate_offset": 0.0,
        "layerscale_value": 1.0, "mlp_ratio": 4, "model_type": "dinov2_with_registers", "num_attention_heads": 6,
        "num_hidden_layers": 2, "num_register_tokens": 4, "out_features": ["stage2"], "out_indices": [2],
        "patch_size": 14, "stage_names": ["stem", "stage1", "stage2"], "torch_dtype": "float32",
        "transformers_version": "4.48.0.dev0"}
    v2, v3, cn = ({"model_type": t} for t in ("dinov2", "dinov3_vit", "dinov3_convnext"))
    small = {**v2, "num_hidden_layers": 3}
    yield "pairs", {**v2, "image_size": [56, 28], "patch_size": [8, 4]}
    yield "both dtypes", {**v2, "dtype": "bfloat16", "torch_dtype": "float32"}
    yield "null dtype beside torch_dtype", {**v2, "dtype": None, "torch_dtype": "float16"}
    yield "num_labels alone", {**v2, "num_labels": 5}
    yield "num_labels agrees", {**v2, "num_labels": 2, "id2label": {"0": "a", "1": "b"}}
    yield "num_labels disagrees", {**v2, "num_labels": 3, "id2label": {"0": "a", "1": "b"}}
    yield "no labels", {**v2, "id2label": {}}
    yield "null labels", {**v2, "id2label": None}
    yield "one label, no problem type", {**v2, "id2label": {"0": "a"}}
    yield "multi label", {**v2, "problem_type": "multi_label_classification"}
    yield "head_dim and SwiGLU", {**v2, "hidden_size": 40, "num_attention_heads": 2, "head_dim": 12, "use_swiglu_ffn": True}
    yield "no layers", {**v2, "num_hidden_layers": 0}
    yield "gated", {**v3, "use_gated_mlp": True, "hidden_act": "silu", "num_register_tokens": 4, "return_class_token": True,
                    "pos_embed_rescale": None, "pos_embed_shift": 0.5, "query_bias": False}
    yield "null stages", {**cn, "hidden_sizes": None, "depths": None}
    yield "two stages", {**cn, "hidden_sizes": [8, 16], "depths": [1, 2], "out_indices": [-1]}
    yield "negative indices", {**small, "out_indices": [-2, -1]}
    yield "stem by name", {**small, "out_features": ["stem", "stage3"]}
    yield "both agree", {**small, "out_features": ["stage1", "stage3"], "out_indices": [1, 3]}
    yield "no stages wanted", {**small, "out_indices": []}
    yield "output flags", {**v2, "output_hidden_states": True, "return_dict": False, "tie_last_hidden_states": True}
    refused = {
        "unknown stage": {**small, "out_features": ["stage9"]}, "index out of range": {**small, "out_indices": [9]},
        "stage twice": {**small, "out_indices": [3, -1]}, "stages out of order": {**small, "out_indices": [2, 1]},
        "stages disagree": {**small, "out_features": ["stage1"], "out_indices": [2]},
        "out_features no list": {**small, "out_features": "stage1"},
        "single label problem with one label": {**v2, "id2label": {"0": "a"}, "problem_type": "single_label_classification"},
        "text for a number": {**v2, "mlp_ratio": "4"},
        "true for a number": {**v2, "hidden_size": True}, "null for a number": {**v2, "hidden_size": None},
        "number for a flag": {**v2, "qkv_bias": 1}, "half for an integer": {**v2, "mlp_ratio": 2.5},
        "label index that is no number": {**v2, "id2label": {"a": "a"}},
        "unknown dtype": {**v2, "dtype": "float31"}, "unknown model_type": {"model_type": "dinov9"}, "no model_type": {},
    }
    yield from refused.items()


def processor_cases():
    yield "Bit saved", saved(BitImageProcessor(), PROCESSOR_FILE), "dinov2"
    yield "DINOv3ViT saved", saved(DINOv3ViTImageProcessor(), PROCESSOR_FILE), "dinov3_vit"
    hub = BitImageProcessor(size={"shortest_edge": 256}, image_mean=[0.485, 0.456, 0.406], image_std=[0.229, 0.224, 0.225])
    yield "DINOv2 hub saved", saved(hub, PROCESSOR_FILE), "dinov2_with_registers"
    bit, v3 = {"image_processor_type": "BitImageProcessor"}, {"image_processor_type": "DINOv3ViTImageProcessorFast"}
    yield "Bit by family", {}, "dinov2"
    yield "DINOv3ViT by family", {}, "dinov3_vit"
    yield "Bit by old key", {"feature_extractor_type": "BitFeatureExtractor"}, "dinov2_with_registers"
    yield "Fast", v3, "dinov3_convnext"
    flags = ("do_convert_rgb", "do_resize", "do_center_crop", "do_rescale", "do_normalize", "do_pad")
    yield "null flags", {**bit, **dict.fromkeys(flags)}, "dinov2"
    yield "null values", {**bit, **dict.fromkeys(("size", "crop_size", "resample", "rescale_factor", "image_mean", "image_std"))}, "dinov2"
    sizes = {"number": 200, "list": [200, 100], "square": {"height": 200, "width": 100}, "shortest": {"shortest_edge": 200},
             "both edges": {"shortest_edge": 200, "longest_edge": 400}, "null longest": {"shortest_edge": 200, "longest_edge": None},
             "longest": {"longest_edge": 400}, "most": {"max_height": 200, "max_width": 100},
             "pixels": {"min_pixels": 100, "max_pixels": 4000}, "half": {"height": 200}, "three keys": {"height": 2, "width": 2, "shortest_edge": 2},
             "text": "200", "one item": [200], "unknown key": {"side": 3}, "empty": {}}
    for name, size in sizes.items():
        yield f"Bit size {name}", {**bit, "size": size}, "dinov2"
    yield "DINOv3 size number", {**v3, "size": 200}, "dinov3_vit"
    yield "crop number", {**bit, "crop_size": 100}, "dinov2"
    yield "square number", {**bit, "size": 200, "default_to_square": True}, "dinov2"
    yield "one mean", {**v3, "image_mean": [0.5], "image_std": [0.25]}, "dinov3_vit"
    yield "padding", {**bit, "do_pad": True, "pad_size": {"height": 300, "width": 310}}, "dinov2"
    yield "inert keys", {**bit, "_valid_processor_keys": ["a"], "processor_class": None, "data_format": "channels_first"}, "dinov2"
    yield "no type, with registers", {}, "dinov2_with_registers"
    yield "no type, ConvNeXt", {}, "dinov3_convnext"
    yield "unknown type", {"image_processor_type": "NoSuchImageProcessor"}, "dinov2"


def write(name, cases):
    lines = ",\n".join(json.dumps(case) for case in cases)
    (HERE / name).write_text(f'{{"transformers": "{transformers.__version__}", "cases": [\n{lines}\n]}}\n')


if __name__ == "__main__":
    write("configs.json", [config_case(*item) for item in config_cases()])
    write("processors.json", [processor_case(*item) for item in processor_cases()])
