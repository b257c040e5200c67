"""Processors in threads, forked and spawned processes, and a torch DataLoader."""

from __future__ import annotations

import multiprocessing
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import dinoxide
import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[3]
PATHS = [
    str(ROOT / "fixtures/pictures" / name)
    for name in ("rgb.png", "grey.png", "size-333x500.png", "palette.png")
]


def processor() -> Any:
    return dinoxide.BitImageProcessor(size=30, crop_size=24)


def values(made: Any, path: str) -> np.ndarray:
    out = made(path, return_tensors="np")["pixel_values"]
    assert isinstance(out, np.ndarray)
    return out


class Pictures:
    """A dataset that holds a processor."""

    def __init__(self) -> None:
        self.processor = processor()

    def __len__(self) -> int:
        return len(PATHS)

    def __getitem__(self, place: int) -> Any:
        return self.processor(PATHS[place], return_tensors="pt")["pixel_values"][0]


def test_threads_may_share_a_processor() -> None:
    made = processor()
    want = [values(made, path) for path in PATHS]
    with ThreadPoolExecutor(4) as pool:
        got = list(pool.map(lambda path: values(made, path), PATHS * 8))
    assert all(np.array_equal(g, w) for g, w in zip(got, want * 8, strict=True))


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_processes_may_be_sent_a_processor(method: str) -> None:
    made = processor()
    want = [values(made, path) for path in PATHS]
    with multiprocessing.get_context(method).Pool(2) as pool:
        got = pool.starmap(values, [(made, path) for path in PATHS])
    assert all(np.array_equal(g, w) for g, w in zip(got, want, strict=True))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_a_forked_process_may_use_its_parents_processor() -> None:
    made = processor()
    want = values(made, PATHS[0])
    child = os.fork()
    if child == 0:
        try:
            os._exit(0 if np.array_equal(values(made, PATHS[0]), want) else 3)
        finally:
            os._exit(4)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_a_torch_data_loader_has_workers_with_a_processor(method: str) -> None:
    data = pytest.importorskip("torch.utils.data")
    loader = data.DataLoader(Pictures(), batch_size=2, num_workers=2, multiprocessing_context=method)
    got = np.concatenate([batch.numpy() for batch in loader])
    want = np.concatenate([values(processor(), path) for path in PATHS])
    assert np.array_equal(got, want)
