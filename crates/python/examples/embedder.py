"""Tables of pictures to tables of embeddings: the class that the workers of any kind of cluster hold.

A table comes in with a column of pictures (the bytes of files, as `ray.data.read_binary_files` or a Parquet
file has them) and goes out with every other column as it was, and in place of the pictures `embedding`
(f32, one vector a picture) and `error`. A picture that cannot be read has no embedding, and its error says
why: one bad file among millions does not end the work.
"""

from __future__ import annotations

import functools
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from dinoxide import AutoImageProcessor, AutoModel


class Embedder:
    """A model and its processor, opened once a worker; called with a table, it gives the table of embeddings.

    `num_threads` is what the scheduler gave this worker: two workers that each take the whole machine stand
    in each other's way. An embedding does not depend on threads, workers or batches, to the bit.
    """

    def __init__(self, model: str, num_threads: int, column: str = "bytes") -> None:
        self.column = column
        self.processor = AutoImageProcessor.from_pretrained(model)
        self.model = AutoModel.from_pretrained(model, num_threads=num_threads)
        self.decoders = ThreadPoolExecutor(num_threads)

    def __call__(self, table: pa.Table) -> pa.Table:
        pictures = table.column(self.column)
        if pa.types.is_struct(pictures.type):  # data sets of the hub: {"bytes": …, "path": …}
            pictures = pc.struct_field(pictures, "bytes")
        vectors, errors = self.embed(pictures.to_pylist())
        table = table.drop_columns([self.column])
        table = table.append_column("embedding", pa.array(vectors, pa.list_(pa.float32())))
        return table.append_column("error", pa.array(errors, pa.string()))

    def embed(self, pictures: list[bytes | None]) -> tuple[list[np.ndarray | None], list[str | None]]:
        """For each picture its embedding or None, and None or its error."""
        read = list(self.decoders.map(self.pixel_values, pictures))  # decoding is outside of Python's lock
        good = [values for values in read if not isinstance(values, str)]
        rows = iter(self.model(np.stack(good)).pooler_output if good else [])
        vectors = [None if isinstance(values, str) else np.asarray(next(rows)) for values in read]
        return vectors, [values if isinstance(values, str) else None for values in read]

    def pixel_values(self, picture: bytes | None) -> np.ndarray | str:
        """A picture as the model takes it, f32 [3, H, W]; or why it cannot be read."""
        if picture is None:
            return "no picture"
        try:
            values: np.ndarray = self.processor(images=picture, return_tensors="np")["pixel_values"][0]
            return values
        except (OSError, ValueError) as error:
            return str(error)


@functools.cache
def embedder(model: str, num_threads: int, column: str = "bytes") -> Embedder:
    """This process's embedder, opened when first asked for: for clusters whose workers run functions."""
    return Embedder(model, num_threads, column)
