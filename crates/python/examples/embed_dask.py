"""A Parquet of pictures to a Parquet of embeddings with Dask: the embedder on pandas' frames.

Dask's workers run functions, so each process opens its embedder once (`embedder.embedder`). Give a worker
process as many threads of Dask as you like: the model's own threads are `num_threads`, which calls at once
share.
"""

from __future__ import annotations

import dask.dataframe as dd
import pandas as pd
import pyarrow as pa
from embedder import embedder

LISTS = pd.ArrowDtype(pa.list_(pa.float32()))
TEXTS = pd.ArrowDtype(pa.string())


def embed_frame(frame: pd.DataFrame, model: str, num_threads: int, column: str = "bytes") -> pd.DataFrame:
    """A partition's embeddings."""
    table = pa.Table.from_pandas(frame, preserve_index=False)
    return embedder(model, num_threads, column)(table).to_pandas(types_mapper=pd.ArrowDtype)


def embed(source: str, output: str, model: str, num_threads: int, column: str = "bytes") -> None:
    """Embeds Parquet files, a partition at a time, and writes Parquet files to the folder `output`."""
    pictures = dd.read_parquet(source, split_row_groups=True)
    others = pictures._meta.drop(columns=column)
    meta = others.assign(embedding=pd.Series(dtype=LISTS), error=pd.Series(dtype=TEXTS))
    embeddings = pictures.map_partitions(embed_frame, model, num_threads, column, meta=meta)
    embeddings.to_parquet(output, write_index=False)
