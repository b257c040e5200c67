"""Lower precisions: who is compared in each, what file a runtime takes, and how close to f32 its vector must be.

`half` is bf16 and f16, `int8` and `int4` name the weights. A runtime takes part with each setting that may be its fastest: what OpenVINO
does not quantise it computes in f32 or in bf16, and which is faster depends on the processor.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from .settings import DEFAULT_CELLS, OURS, PEERS, Cell, cells, onnx_batch

FULL = "f32"


@dataclass(frozen=True)
class Precision:
    """Who is measured in turns, besides our f32."""

    ours: tuple[str, ...]
    """Our dtypes."""
    peers: tuple[str, ...]
    beside: tuple[str, ...]
    """Of another precision, to be compared with in the same run."""
    cosine: float
    """The least of a CLS vector with that of Transformers in f32."""


PRECISIONS = {
    "half": Precision(
        ("bf16", "f16"),
        ("torch-bf16", "torch-bf16-compile", "openvino-bf16", "openvino-bf16-2s", "openvino-f16"),
        ("openvino", "openvino-2s"),
        0.999,
    ),
    "int8": Precision(
        ("int8",),
        (
            "onnxruntime-int8",
            "openvino-int8",
            "openvino-int8-2s",
            "openvino-int8-bf16",
            "openvino-int8-bf16-2s",
            "openvino-int8-weights",
        ),
        (),
        0.99,
    ),
    "int4": Precision(("int4", "int4-a8"), ("openvino-int4", "openvino-int4-bf16"), (f"{OURS}-int8",), 0.9),
}
DTYPES = (FULL, *PRECISIONS)


class OpenVinoSetting(NamedTuple):
    """A file's form (none: f32), the precision of what is not quantised, and properties besides."""

    form: str | None
    hint: str
    more: tuple[tuple[str, str], ...] = ()


LARGER_GROUPS = (("DYNAMIC_QUANTIZATION_GROUP_SIZE", "128"),)
"""Where weights alone are quantised, activations become int8 in groups on the way; by default of 32, which is slower and no closer."""
OPENVINO = {
    "openvino": OpenVinoSetting(None, "f32"),
    "openvino-2s": OpenVinoSetting(None, "f32"),
    "openvino-bf16": OpenVinoSetting(None, "bf16"),
    "openvino-bf16-2s": OpenVinoSetting(None, "bf16"),
    "openvino-f16": OpenVinoSetting(None, "f16"),
    "openvino-int8": OpenVinoSetting("int8-static", "f32"),
    "openvino-int8-2s": OpenVinoSetting("int8-static", "f32"),
    "openvino-int8-bf16": OpenVinoSetting("int8-static", "bf16"),
    "openvino-int8-bf16-2s": OpenVinoSetting("int8-static", "bf16"),
    "openvino-int8-weights": OpenVinoSetting("int8-weights", "bf16", LARGER_GROUPS),
    "openvino-int4": OpenVinoSetting("int4-weights", "f32", LARGER_GROUPS),
    "openvino-int4-bf16": OpenVinoSetting("int4-weights", "bf16", LARGER_GROUPS),
}
LOWER_CELLS = DEFAULT_CELLS | {"dinov2-small": cells("1:224", "8:224", "1:518")}
LOWER_CELLS.pop("dinov2-with-registers-small")


def default_cells(dtype: str) -> dict[str, tuple[Cell, ...]]:
    return DEFAULT_CELLS if dtype == FULL else LOWER_CELLS


def all_peers() -> tuple[str, ...]:
    return (*PEERS, *(peer for precision in PRECISIONS.values() for peer in precision.peers))


def peers_of(dtype: str, wanted: list[str] | None) -> tuple[str, ...]:
    """A dtype's peers, and those beside them, as far as they are wanted; none wanted are all."""
    precision = PRECISIONS.get(dtype)
    peers = (*precision.peers, *(peer for peer in precision.beside if peer in PEERS)) if precision else PEERS
    return tuple(peer for peer in peers if wanted is None or peer in wanted)


def form_of(peer: str) -> str | None:
    if peer == "onnxruntime-int8":
        return "int8-dynamic"
    return OPENVINO[peer].form if peer in OPENVINO else None


def graph_of(peer: str, model: str, cell: Cell) -> Path:
    """The file that ONNX Runtime or OpenVINO runs."""
    cell = Cell(onnx_batch(peer, cell.batch), cell.side)
    form = form_of(peer)
    return cell.quantised(model, form) if form else cell.onnx(model)
