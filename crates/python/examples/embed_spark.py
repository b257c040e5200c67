"""The embedder for Spark's `mapInArrow`, which gives a function the batches of a partition one by one."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
from embedder import embedder


def embed_batches(
    batches: Iterator[pa.RecordBatch], model: str, num_threads: int, column: str = "bytes"
) -> Iterator[pa.RecordBatch]:
    """A partition's embeddings."""
    embed = embedder(model, num_threads, column)
    for batch in batches:
        yield from embed(pa.Table.from_batches([batch])).to_batches()
