"""Graphs of int8 and int4, made of a cell's f32 graph as the tools of ONNX Runtime and OpenVINO make them. What is there is left alone.

Forms: `int8-dynamic`, weights per channel, activations per forward, no calibration; `int8-static`, weights and activations, whose ranges
are those of calibration inputs; `int8-weights` and `int4-weights`, weights alone, which the runtime widens or multiplies as it likes. Made
from random weights and calibrated with random inputs, as the speed does not depend on them and the cosine only has to be of the order of
a real model's.
"""

from __future__ import annotations

import logging
import tempfile
from pathlib import Path

import numpy as np

from .settings import CONVNEXT, QUANTISED, Cell

CALIBRATION_PICTURES = 8
CALIBRATION_SEED = 1
INT4_GROUP = 128


def quantised(graph: Path, model: str, cell: Cell, form: str) -> Path:
    """The file of a form, made of the f32 graph."""
    path = cell.quantised(model, form)
    if not path.exists():
        QUANTISED.mkdir(parents=True, exist_ok=True)
        if form == "int8-dynamic":
            dynamic(graph, path)
        else:
            openvino(graph, path, model, cell, form)
        print(f"made {path}", flush=True)
    return path


def dynamic(graph: Path, path: Path) -> None:
    """Products only: ONNX Runtime's integer convolution is slower than its f32 one."""
    from onnxruntime.quantization import QuantType, quantize_dynamic
    from onnxruntime.quantization.shape_inference import quant_pre_process

    unfinished = path.with_suffix(".unfinished")
    with tempfile.TemporaryDirectory(dir=path.parent) as folder:
        prepared = Path(folder) / "prepared.onnx"
        quant_pre_process(graph, prepared, skip_symbolic_shape=True)
        quantize_dynamic(prepared, unfinished, op_types_to_quantize=["MatMul", "Gemm"], per_channel=True, weight_type=QuantType.QInt8)
    unfinished.rename(path)


def openvino(graph: Path, path: Path, model: str, cell: Cell, form: str) -> None:
    """The weights' file (.bin) is whole before the graph's (.xml) is there."""
    import nncf
    import openvino as runtime

    nncf.set_log_level(logging.ERROR)
    read = runtime.Core().read_model(str(graph))
    if form == "int8-static":
        random = np.random.default_rng(CALIBRATION_SEED)
        batches = max(2, CALIBRATION_PICTURES // cell.batch)
        inputs = [random.standard_normal((cell.batch, 3, cell.side, cell.side), dtype=np.float32) for _ in range(batches)]
        kind = None if model == CONVNEXT else nncf.ModelType.TRANSFORMER
        made = nncf.quantize(read, nncf.Dataset(inputs), subset_size=batches, model_type=kind)
    elif form == "int8-weights":
        made = nncf.compress_weights(read, mode=nncf.CompressWeightsMode.INT8_ASYM)
    else:
        made = nncf.compress_weights(
            read,
            mode=nncf.CompressWeightsMode.INT4_SYM,
            group_size=INT4_GROUP,
            all_layers=True,
            advanced_parameters=nncf.AdvancedCompressionParameters(group_size_fallback_mode=nncf.GroupSizeFallbackMode.ADJUST),
        )
    with tempfile.TemporaryDirectory(dir=path.parent) as folder:
        unfinished = Path(folder) / path.name
        runtime.save_model(made, unfinished, compress_to_fp16=False)
        for end in (".bin", ".xml"):
            unfinished.with_suffix(end).rename(path.with_suffix(end))
