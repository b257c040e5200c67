"""A folder or a Parquet of pictures to a Parquet of embeddings, on all machines of a Ray cluster.

    python embed_ray.py pictures/ embeddings/ --model facebook/dinov2-small --workers 4 --cpus 2

Ray Data streams: pictures are read, embedded and written side by side, in bounded memory. When a worker is
lost, Ray starts another and does its unfinished batches again; each picture is in the output once.
`ray.init(address="auto")` beforehand, or the variable RAY_ADDRESS, joins a cluster that runs; else Ray
starts on this machine. One processor stays free for reading and writing.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import ray
import ray.data
from embedder import Embedder

# Other files of a folder are passed over.
PICTURES = ["jpg", "jpeg", "png", "webp", "gif", "bmp", "tif", "tiff"]


def embed(
    source: str, output: str, model: str, workers: int, cpus: int, batch: int = 32, column: str = "bytes"
) -> None:
    """Embeds the pictures of a folder, or of Parquet files that have them in `column`.

    Writes Parquet files to `output`, a folder that is not there or is empty.
    """
    check(workers, cpus)
    if Path(output).is_dir() and any(Path(output).iterdir()):
        raise FileExistsError(f"{output} is not empty: its pictures would be there twice")
    if source.endswith(".parquet"):
        pictures = ray.data.read_parquet(source)
    else:  # columns: bytes, path
        pictures = ray.data.read_binary_files(source, include_paths=True, file_extensions=PICTURES)
    embeddings = pictures.map_batches(
        Embedder,
        fn_constructor_kwargs={"model": model, "num_threads": cpus, "column": column},
        num_cpus=cpus,  # what Ray keeps free for a worker is what the worker uses
        compute=ray.data.ActorPoolStrategy(size=workers),
        batch_size=batch,
        batch_format="pyarrow",
    )
    embeddings.write_parquet(output)


def check(workers: int, cpus: int) -> None:
    """Refuses workers that book every processor: what reads and writes would wait for one for ever."""
    ray.init(ignore_reinit_error=True)
    there = int(ray.cluster_resources().get("CPU", 0))
    if workers * cpus >= there:
        raise ValueError(
            f"{workers} workers of {cpus} leave none of {there} processors to reading and writing"
        )


def main() -> None:
    """Reads the command line."""
    parser = argparse.ArgumentParser(description="Embeds a folder or a Parquet of pictures with Ray.")
    parser.add_argument("source", help="a folder of pictures, or a .parquet file of them")
    parser.add_argument("output", help="a folder for the Parquet files of embeddings")
    parser.add_argument("--model", default="facebook/dinov2-small")
    parser.add_argument("--column", default="bytes", help="where a Parquet file has the pictures")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--cpus", type=int, default=1, help="for each worker")
    parser.add_argument("--batch", type=int, default=32, help="pictures that a worker takes at a time")
    args = parser.parse_args()
    embed(args.source, args.output, args.model, args.workers, args.cpus, args.batch, args.column)


if __name__ == "__main__":
    main()
