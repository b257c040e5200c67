"""From the start of a process to the embedding of one photograph, 640×480, with dinov2-small; files are in the system's cache.

As a module, `python -m peers.cold transformers|onnxruntime|openvino` is such a process: it prints the embedding as JSON. The
graphs have no processor, so theirs is Pillow and numpy, the least that does it. Ours is `dinoxide embed`. The clock runs until the line is read.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import time
from pathlib import Path

from .settings import CHECKPOINTS, DINOXIDE, OURS, REPOSITORY, Cell, environment

MODEL, CELL, PHOTOGRAPH = "dinov2-small", Cell(1, 224), "640x480"
RUNTIMES = ("transformers", "onnxruntime", "openvino", OURS)
COSINE = 0.999
"""Pillow's resizing rounds otherwise than torchvision's."""
MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


def transformers(path: str, threads: int) -> list[float]:
    import torch
    from PIL import Image
    from transformers import AutoImageProcessor, AutoModel

    torch.set_num_threads(threads)
    processor = AutoImageProcessor.from_pretrained(CHECKPOINTS / MODEL)
    model = AutoModel.from_pretrained(CHECKPOINTS / MODEL).eval()
    with torch.inference_mode():
        return model(**processor(images=Image.open(path), return_tensors="pt")).last_hidden_state[0, 0].tolist()


def pixel_values(path: str):
    """Short side 256, the middle 224 × 224, normalised."""
    import numpy as np
    from PIL import Image

    image = Image.open(path).convert("RGB")
    scale = 256 / min(image.size)
    image = image.resize(tuple(round(side * scale) for side in image.size), Image.Resampling.BICUBIC)
    left, top = ((side - 224) // 2 for side in image.size)
    levels = np.asarray(image.crop((left, top, left + 224, top + 224)), dtype=np.float32)
    values = (levels / 255 - np.array(MEAN, dtype=np.float32)) / np.array(STD, dtype=np.float32)
    return np.ascontiguousarray(values.transpose(2, 0, 1)[None])


def onnxruntime(path: str, threads: int) -> list[float]:
    import onnxruntime as runtime

    options = runtime.SessionOptions()
    options.intra_op_num_threads = threads
    session = runtime.InferenceSession(str(CELL.onnx(MODEL)), options, providers=["CPUExecutionProvider"])
    return session.run(None, {"pixel_values": pixel_values(path)})[0][0, 0].tolist()


def openvino(path: str, threads: int) -> list[float]:
    import openvino as runtime

    conf = {"INFERENCE_NUM_THREADS": threads, "PERFORMANCE_HINT": "LATENCY", "INFERENCE_PRECISION_HINT": "f32"}
    compiled = runtime.Core().compile_model(str(CELL.onnx(MODEL)), "CPU", conf)
    return compiled({0: pixel_values(path)})[0][0, 0].tolist()


def start_to_line(runtime: str, path: Path, threads: int) -> tuple[float, list[float]]:
    """Seconds and the embedding."""
    if runtime == OURS:
        command = [str(DINOXIDE), "embed", "-m", str(CHECKPOINTS / MODEL), "--threads", str(threads), str(path)]
    else:
        command = [sys.executable, "-m", "peers.cold", runtime, str(path), str(threads)]
    start = time.perf_counter()
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment(threads), cwd=REPOSITORY
    ) as process:
        line = process.stdout.readline()
        took = time.perf_counter() - start
    if process.returncode != 0:
        raise SystemExit(f"{' '.join(command)}: exit code {process.returncode}")
    value = json.loads(line)
    return took, value["embedding"] if isinstance(value, dict) else value


def compare(plan, results) -> None:
    import numpy as np

    from .setup import photograph

    path = photograph(PHOTOGRAPH)
    vectors = {runtime: np.array(start_to_line(runtime, path, plan.threads)[1]) for runtime in RUNTIMES}  # and caches are warm
    reference = vectors["transformers"]
    for runtime, vector in vectors.items():
        cosine = float(vector @ reference / (np.linalg.norm(vector) * np.linalg.norm(reference)))
        if cosine < COSINE:
            raise SystemExit(f"{runtime} embeds otherwise than Transformers: cosine {cosine}")
    times: dict[str, list[float]] = {runtime: [] for runtime in RUNTIMES}
    for _ in range(plan.rounds):
        for runtime, of_runtime in times.items():
            of_runtime.append(start_to_line(runtime, path, plan.threads)[0])
    for runtime, of_runtime in times.items() if plan.rounds else ():
        row = {"peer": runtime, "threads": plan.threads, "median_s": statistics.median(of_runtime), "min_s": min(of_runtime)}
        results.add("cold", row, "peer", "threads")
        print(f"{runtime}: median {row['median_s']:.2f} s, least {row['min_s']:.2f}", flush=True)


def main() -> None:
    runtime, path, threads = sys.argv[1:]
    embed = {"transformers": transformers, "onnxruntime": onnxruntime, "openvino": openvino}[runtime]
    print(json.dumps(embed(path, int(threads))), flush=True)


if __name__ == "__main__":
    main()
