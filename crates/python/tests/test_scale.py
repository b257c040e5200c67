"""The examples of `docs/scale.md`: a cluster that loses a worker gives the vectors of one process."""

from __future__ import annotations

import io
import os
import secrets
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")
Image = pytest.importorskip("PIL.Image")

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
sys.path.insert(0, str(EXAMPLES))

from embedder import Embedder  # noqa: E402

# Vectors by the name of their picture; none for the one that cannot be read.
Alone = dict[str, "np.ndarray | None"]

MODEL = "builtin:tiny"
PICTURES = 60
BROKEN = "picture-41.png"  # the one that cannot be read


def picture(number: int) -> bytes:
    """A PNG of seeded noise, of a size of its own."""
    draws = np.random.default_rng(number)
    pixels = draws.integers(0, 256, (20 + number, 40, 3), dtype=np.uint8)
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, "PNG")
    return file.getvalue()


def table() -> Any:
    """Pictures with their names."""
    names = [f"picture-{number}.png" for number in range(PICTURES)]
    files = [b"no picture" if name == BROKEN else picture(at) for at, name in enumerate(names)]
    return pa.table({"path": names, "bytes": files})


@pytest.fixture(scope="module")
def alone() -> Alone:
    """The vectors of a single process, one picture at a time."""
    embedder = Embedder(MODEL, num_threads=1)
    rows = {}
    for row in table().to_pylist():
        [vector], _ = embedder.embed([row["bytes"]])
        rows[row["path"]] = vector
    assert sum(vector is None for vector in rows.values()) == 1
    return rows


@pytest.fixture
def parquet(tmp_path: Path) -> Path:
    """The pictures in a Parquet file of several row groups."""
    path = tmp_path / "pictures.parquet"
    pq.write_table(table(), path, row_group_size=15)
    return path


def check(output: Path, alone: Alone) -> None:
    """Every picture is there once, with the vector of a single process, to the bit."""
    rows = pq.read_table(output).to_pylist()
    names = [row["path"].rsplit("/")[-1] for row in rows]
    assert sorted(names) == sorted(alone)
    for name, row in zip(names, rows, strict=True):
        expected = alone[name]
        if expected is None:
            assert row["embedding"] is None and row["error"]
        else:
            assert np.asarray(row["embedding"], np.float32).tobytes() == expected.tobytes(), name
            assert row["error"] is None


def mortal(obituary: str) -> type[Embedder]:
    """An embedder of which one process is killed, its second batch computed and not yet handed on.

    Made here, so that Ray sends its code to the workers, which cannot import this file.
    """

    class Mortal(Embedder):
        batches = 0

        def __call__(self, table: Any) -> Any:
            embeddings = super().__call__(table)
            self.batches += 1
            if self.batches == 2 and not os.path.exists(obituary):
                with open(obituary, "x") as file:  # fails for all but the first to die
                    file.write(str(os.getpid()))
                os.kill(os.getpid(), signal.SIGKILL)
            return embeddings

    return Mortal


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """A cluster on this machine: two workers, and one processor for Ray to read and write."""
    # A secret of this cluster's own, so that none is written to the tester's home; nothing is reported to
    # Ray's makers.
    os.environ |= {"RAY_AUTH_TOKEN": secrets.token_hex(32), "RAY_USAGE_STATS_ENABLED": "0"}
    ray = pytest.importorskip("ray")
    pytest.importorskip("ray.data")
    paths = os.pathsep.join([str(EXAMPLES), *sys.path])
    ray.init(
        address="local",
        num_cpus=3,
        include_dashboard=False,
        log_to_driver=False,
        runtime_env={"env_vars": {"PYTHONPATH": paths}},
    )
    yield ray
    ray.shutdown()


def test_of_a_cluster_that_loses_a_worker_nothing_is_lost_or_doubled(
    cluster: Any, parquet: Path, tmp_path: Path, alone: Alone, monkeypatch: Any
) -> None:
    import embed_ray

    obituary = tmp_path / "obituary"
    monkeypatch.setattr(embed_ray, "Embedder", mortal(str(obituary)))
    embed_ray.embed(str(parquet), str(tmp_path / "out"), MODEL, workers=2, cpus=1, batch=5)
    assert obituary.exists(), "no worker was killed"
    check(tmp_path / "out", alone)


def test_a_folder_of_pictures_becomes_a_parquet_of_embeddings(
    cluster: Any, tmp_path: Path, alone: Alone
) -> None:
    import embed_ray

    folder = tmp_path / "pictures"
    folder.mkdir()
    for row in table().to_pylist():
        (folder / row["path"]).write_bytes(row["bytes"])
    (folder / "README.md").write_text("no picture, and passed over")
    embed_ray.embed(str(folder), str(tmp_path / "out"), MODEL, workers=2, cpus=1, batch=8)
    check(tmp_path / "out", alone)
    with pytest.raises(FileExistsError, match="twice"):
        embed_ray.embed(str(folder), str(tmp_path / "out"), MODEL, workers=2, cpus=1, batch=8)


def test_workers_that_book_every_processor_are_refused(cluster: Any, tmp_path: Path) -> None:
    import embed_ray

    with pytest.raises(ValueError, match="3 workers of 1 leave none of 3 processors"):
        embed_ray.embed(str(tmp_path), str(tmp_path / "out"), MODEL, workers=3, cpus=1)


def test_dask_gives_the_same_embeddings(parquet: Path, tmp_path: Path, alone: Alone) -> None:
    dask = pytest.importorskip("dask")
    pytest.importorskip("dask.dataframe")
    import embed_dask

    with dask.config.set(scheduler="processes", num_workers=2):
        embed_dask.embed(str(parquet), str(tmp_path / "out"), MODEL, num_threads=1)
    check(tmp_path / "out", alone)


def test_batches_as_spark_hands_them_give_the_same_embeddings(tmp_path: Path, alone: Alone) -> None:
    from embed_spark import embed_batches

    batches = list(embed_batches(iter(table().to_batches(max_chunksize=7)), MODEL, num_threads=1))
    pq.write_table(pa.Table.from_batches(batches), tmp_path / "out.parquet")
    check(tmp_path / "out.parquet", alone)


def test_pictures_of_the_hubs_data_sets_are_found_in_their_structs(alone: Alone) -> None:
    pictures = [{"bytes": picture(number), "path": None} for number in range(3)]
    labelled = pa.table({"image": pictures, "label": [3, 1, 2]})
    embedded = Embedder(MODEL, num_threads=1, column="image")(labelled)
    assert embedded.column_names == ["label", "embedding", "error"]
    for number, vector in enumerate(embedded["embedding"].to_pylist()):
        expected = alone[f"picture-{number}.png"]
        assert expected is not None and np.asarray(vector, np.float32).tobytes() == expected.tobytes()


def test_a_batch_of_nothing_readable_has_errors_alone() -> None:
    embedded = Embedder(MODEL, num_threads=1)(pa.table({"bytes": [b"", None]}))
    assert embedded["embedding"].null_count == 2
    assert embedded["error"].null_count == 0
