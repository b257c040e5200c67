"""A runtime as a worker: `python -m peers.worker PEER MODEL`, asked and answering as crates/dinoxide/examples/bench_worker.rs.

Each peer is a class with `forward(cell)` → last_hidden_state, as its users would run it: model loaded once, in the precision that its
name says (f32 where it says none), inputs in it too, no copies that its interface does not ask for. Only torch answers `GEMM`; only `processor` (no model) answers `PICTURE` and `PIXELS`.
"""

from __future__ import annotations

import io
import json
import os
import sys
import time
import traceback
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np

from .precision import OPENVINO, all_peers, graph_of
from .settings import CHECKPOINTS, Cell, streams
from .setup import pixels

THREADS = int(os.environ.get("PEERS_THREADS", "2"))


class Torch:
    """Transformers: eager, or compiled with weights frozen into prepacked form. Attention is sdpa."""

    def __init__(self, peer: str, model: str) -> None:
        import torch
        from transformers import AutoModel

        torch.set_num_threads(THREADS)
        torch.set_num_interop_threads(1)
        torch.set_grad_enabled(False)
        self.torch, self.inputs = torch, {}
        self.compiled = peer.endswith("-compile")
        self.dtype = torch.bfloat16 if "bf16" in peer else torch.float32
        self.model = AutoModel.from_pretrained(CHECKPOINTS / model, dtype=self.dtype).eval()
        if self.compiled:
            import torch._inductor.config

            torch._inductor.config.freezing = True
            self.model = torch.compile(self.model, dynamic=False)

    def forward(self, cell: Cell) -> np.ndarray:
        if cell not in self.inputs:
            self.inputs[cell] = self.torch.from_numpy(pixels(cell)).to(self.dtype)
        # Frozen graphs cannot be made of inference tensors.
        with self.torch.no_grad() if self.compiled else self.torch.inference_mode():
            output = self.model(pixel_values=self.inputs[cell]).last_hidden_state
        return output.float().numpy()

    def gemm(self, m: int, n: int, k: int, seconds: float) -> dict[str, list[float]]:
        """MKL's or OpenBLAS's sgemm, and oneDNN with packed weights, where this build of torch has it."""
        torch = self.torch
        a, weight, bias = torch.randn(m, k), torch.randn(n, k), torch.randn(n)
        turned = weight.t().contiguous()
        ways = {"torch.mm": lambda: torch.mm(a, turned), "torch linear": lambda: torch.nn.functional.linear(a, weight, bias)}
        try:
            packed = torch.ops.mkldnn._reorder_linear_weight(weight, m)
            ways["oneDNN packed"] = lambda: torch.ops.mkldnn._linear_pointwise(a, packed, bias, "none", [], "")
            ways["oneDNN packed"]()
        except (AttributeError, RuntimeError):
            ways.pop("oneDNN packed", None)
        return {name: repeat(run, seconds / len(ways), 3) for name, run in ways.items()}


class OnnxRuntime:
    def __init__(self, peer: str, model: str) -> None:
        self.peer, self.model, self.sessions = peer, model, {}

    def session(self, cell: Cell):
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads, options.inter_op_num_threads = THREADS, 1
        path = str(graph_of(self.peer, self.model, cell))
        return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"]), pixels(cell)

    def forward(self, cell: Cell) -> np.ndarray:
        if cell not in self.sessions:
            self.sessions[cell] = self.session(cell)
        session, input = self.sessions[cell]
        return session.run(None, {"pixel_values": input})[0]


class OpenVino:
    """One stream of all threads for latency. The precision is told, as its default may be the slower one; where the processor does not
    have it, OpenVINO would silently take another."""

    conf = {"PERFORMANCE_HINT": "LATENCY", "NUM_STREAMS": 1}

    def __init__(self, peer: str, model: str) -> None:
        import openvino

        self.openvino, self.core = openvino, openvino.Core()
        self.peer, self.model, self.ready = peer, model, {}

    def compiled(self, cell: Cell):
        setting = OPENVINO[self.peer]
        fixed = {"INFERENCE_NUM_THREADS": THREADS, "ENABLE_CPU_PINNING": False, "INFERENCE_PRECISION_HINT": setting.hint}
        path = str(graph_of(self.peer, self.model, cell))
        made = self.core.compile_model(path, "CPU", fixed | self.conf | dict(setting.more))
        took = made.get_property("INFERENCE_PRECISION_HINT").to_string()
        if took != setting.hint:
            raise ValueError(f"computes in {took} where {setting.hint} is wanted")
        return made

    def forward(self, cell: Cell) -> np.ndarray:
        if cell not in self.ready:
            self.ready[cell] = self.compiled(cell).create_infer_request(), pixels(cell)
        request, input = self.ready[cell]
        request.infer({0: input}, share_inputs=True)
        return request.get_output_tensor(0).data


class OpenVinoStreams(OpenVino):
    """A stream for each thread, pictures one by one: the throughput mode."""

    conf = {"PERFORMANCE_HINT": "THROUGHPUT", "NUM_STREAMS": THREADS}

    def forward(self, cell: Cell) -> np.ndarray:
        if cell not in self.ready:
            queue = self.openvino.AsyncInferQueue(self.compiled(cell), THREADS)
            outputs: dict[int, np.ndarray] = {}
            queue.set_callback(lambda request, i: outputs.__setitem__(i, request.get_output_tensor(0).data.copy()))
            self.ready[cell] = queue, pixels(cell), outputs
        queue, input, outputs = self.ready[cell]
        for i in range(cell.batch):
            queue.start_async({0: input[i : i + 1]}, i)
        queue.wait_all()
        return outputs[0]


class Processor:
    """Transformers' torchvision processor, on what Pillow decodes."""

    def __init__(self, _peer: str, model: str) -> None:
        import torch
        from PIL import Image
        from transformers import AutoImageProcessor

        torch.set_num_threads(THREADS)
        self.decode = lambda path: Image.open(io.BytesIO(Path(path).read_bytes())).convert("RGB")
        self.processor = AutoImageProcessor.from_pretrained(CHECKPOINTS / model)

    def picture(self, path: str) -> np.ndarray:
        return self.processor(images=self.decode(path), return_tensors="pt").pixel_values[0].numpy()


def class_of(peer: str) -> type:
    if peer == "processor":
        return Processor
    if peer not in all_peers():
        raise ValueError(f"unknown peer {peer}")
    if peer in OPENVINO:
        return OpenVinoStreams if streams(peer) else OpenVino
    return OnnxRuntime if peer.startswith("onnxruntime") else Torch


def repeat(run: Callable[[], object], seconds: float, least: int) -> list[float]:
    begin, times = time.perf_counter(), []
    while len(times) < least or time.perf_counter() - begin < seconds:
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return times


def memory() -> dict[str, float]:
    fields = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return {key: int(fields[field].split()[0]) / 1024 for key, field in (("rss_mb", "VmRSS"), ("peak_mb", "VmHWM"))}


def answer(peer, words: list[str]) -> tuple[str, object]:
    match words:
        case ["RUN", batch, side, seconds, least]:
            cell = Cell(int(batch), int(side))
            return "RES", {"times": repeat(lambda: peer.forward(cell), float(seconds), int(least))}
        case ["CHK", batch, side]:
            return "CHK", {"v": peer.forward(Cell(int(batch), int(side)))[0, 0].tolist()}
        case ["PICTURE", seconds, least, path]:
            return "RES", {"times": repeat(lambda: peer.picture(path), float(seconds), int(least))}
        case ["PIXELS", path]:
            values = peer.picture(path)
            return "CHK", {"v": values[:, values.shape[1] // 2].ravel().tolist()}
        case ["GEMM", m, n, k, seconds]:
            return "OPS", peer.gemm(int(m), int(n), int(k), float(seconds))
        case ["MEM"]:
            return "MEM", memory()
    raise ValueError(f"unknown request: {' '.join(words)}")


def main() -> None:
    warnings.filterwarnings("ignore")
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what libraries print is no answer

    def say(name: str, value: object) -> None:
        print(name, json.dumps(value), file=out, flush=True)

    peer = class_of(sys.argv[1])(*sys.argv[1:3])
    say("READY", {})
    for line in sys.stdin:
        if line.split() == ["QUIT"]:
            break
        try:
            say(*answer(peer, line.split()))
        except Exception as error:  # noqa: BLE001 - of any runtime: told, and the next request is served
            traceback.print_exc()
            say("ERR", repr(error)[:300])


if __name__ == "__main__":
    main()
