"""Other libraries, from texts to clusters. A script of its own, for any Python that has the peer:

    python bench/peers.py NAME TEXTS.parquet [--characters]
    python bench/peers.py datatrove_command TEXTS_FOLDER WORK_FOLDER

One thread, 128 samples. Each peer is used as in its documentation; those that leave shingles to the
caller get runs of five words (eight characters in Chinese), made in Python. Prints processor and
wall-clock seconds and the number of clusters as JSON, without the time for reading and imports.

`datatrove_command` runs the four steps of datatrove, which has no command of its own, with two
workers: from a folder with a Parquet file for each worker to files with the kept documents.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable
from typing import Any

SAMPLES, BANDS, THRESHOLD = 128, 32, 0.7
WORDS, CHARACTERS = 5, 8
WORKERS = 2  # of whole commands
RUNS, QUICK = 3, 10.0  # most runs; no further run after this many seconds
Pairs = Iterable[tuple[int, int]]


def shingles(text: str, characters: bool) -> list[str]:
    """Runs of lower-cased words, or of characters."""
    if characters:
        return [text[i : i + CHARACTERS] for i in range(max(len(text) - CHARACTERS + 1, 1))]
    words = text.lower().split()
    return [" ".join(words[i : i + WORDS]) for i in range(max(len(words) - WORDS + 1, 1))]


def gaoya(texts: list[str], characters: bool) -> Pairs:
    """With its own analyser and its bulk calls."""
    from gaoya.minhash import MinHashStringIndex  # noqa: PLC0415

    size = CHARACTERS if characters else WORDS
    index = MinHashStringIndex(
        hash_size=32,
        jaccard_threshold=THRESHOLD,
        num_bands=BANDS,
        band_size=SAMPLES // BANDS,
        analyzer="char" if characters else "word",
        lowercase=True,
        ngram_range=(size, size),
        id_container="smallvec",
    )
    index.par_bulk_insert_docs(list(range(len(texts))), texts)
    for row, others in enumerate(index.par_bulk_query(texts)):
        for other in others:
            yield row, other


def rensa(texts: list[str], characters: bool) -> Pairs:
    """RMinHash and its LSH; candidates are verified by their sketches."""
    from rensa import RMinHashLSH  # noqa: PLC0415

    index = RMinHashLSH(threshold=THRESHOLD, num_perm=SAMPLES, num_bands=BANDS)
    sketches = rensa_sketches(texts, characters)
    for row, sketch in enumerate(sketches):
        index.insert(row, sketch)
    for row, sketch in enumerate(sketches):
        for other in index.query(sketch):
            if other < row and sketch.jaccard(sketches[other]) >= THRESHOLD:
                yield row, other


def rensa_sketches(texts: list[str], characters: bool = False) -> list[Any]:
    from rensa import RMinHash  # noqa: PLC0415

    sketches = []
    for text in texts:
        sketch = RMinHash(num_perm=SAMPLES, seed=42)
        sketch.update(shingles(text, characters))
        sketches.append(sketch)
    return sketches


def datasketch(texts: list[str], characters: bool) -> Pairs:
    """MinHash with `update_batch`, and MinHashLSH."""
    from datasketch import MinHashLSH  # noqa: PLC0415

    index = MinHashLSH(threshold=THRESHOLD, num_perm=SAMPLES)
    sketches = datasketch_sketches(texts, characters)
    for row, sketch in enumerate(sketches):
        index.insert(row, sketch)
    for row, sketch in enumerate(sketches):
        for other in index.query(sketch):
            yield row, other


def datasketch_sketches(texts: list[str], characters: bool = False) -> list[Any]:
    from datasketch import MinHash  # noqa: PLC0415

    sketches = []
    for text in texts:
        sketch = MinHash(num_perm=SAMPLES)
        sketch.update_batch([each.encode() for each in shingles(text, characters)])
        sketches.append(sketch)
    return sketches


def text_dedup(texts: list[str], characters: bool) -> Pairs:
    """Its `embed_func` and its search through the tables, without `datasets` around them."""
    import numpy as np  # noqa: PLC0415
    from text_dedup.minhash import RNG, embed_func  # noqa: PLC0415
    from text_dedup.utils import optimal_param, xxh3_32hash  # noqa: PLC0415

    bands, rows = optimal_param(THRESHOLD, SAMPLES, 0.5, 0.5)
    largest, prime = np.uint32((1 << 32) - 1), np.uint64((1 << 61) - 1)
    settings = {
        "num_perm": SAMPLES,
        "ngram_size": CHARACTERS if characters else WORDS,
        "min_length": 1,
        "hashranges": [(i * rows, (i + 1) * rows) for i in range(bands)],
        "permutations": tuple(RNG.randint(1, prime, SAMPLES, np.uint64) for _ in range(2)),
        "hash_func": xxh3_32hash,
        "dtype": np.uint64,
        "max_hash": largest,
        "modulo_prime": prime,
    }
    spaced = (" ".join(text) if characters else text for text in texts)  # it knows words only
    return pairs_by_band(
        (embed_func(text, row, **settings)["__signatures__"] for row, text in enumerate(spaced)),
        bands,
    )


def datatrove(texts: list[str], characters: bool) -> Pairs:
    """Only the signatures of its first step; the other three, left out, would add to its time."""
    from datatrove.pipeline.dedup.minhash import (  # noqa: PLC0415
        MinhashConfig,
        MinhashDedupSignature,
    )

    size = CHARACTERS if characters else WORDS
    config = MinhashConfig(n_grams=size, num_buckets=BANDS, hashes_per_bucket=SAMPLES // BANDS)
    step = MinhashDedupSignature("/tmp", config)
    step.word_tokenizer = _Splitter(characters)  # its own needs models to download
    signatures = (step.get_signature(step.get_shingles(text)) for text in texts)
    return pairs_by_band((map(tuple, each) for each in signatures), BANDS)


def pairs_by_band(signatures: Iterable[Iterable[Hashable]], bands: int) -> Pairs:
    """Pairs of each row with the first row that has the same value in a band."""
    tables: list[dict[Hashable, list[int]]] = [defaultdict(list) for _ in range(bands)]
    for row, signature in enumerate(signatures):
        for table, value in zip(tables, signature, strict=True):
            table[value].append(row)
    for table in tables:
        for rows in table.values():
            yield from ((row, rows[0]) for row in rows[1:])


def datatrove_command(texts: str, work: str) -> None:
    """Signatures, buckets, clusters and filter as in datatrove's example, words split at spaces."""
    from datatrove.executor import LocalPipelineExecutor  # noqa: PLC0415
    from datatrove.pipeline.dedup import minhash  # noqa: PLC0415
    from datatrove.pipeline.readers import ParquetReader  # noqa: PLC0415
    from datatrove.pipeline.writers import ParquetWriter  # noqa: PLC0415
    from datatrove.utils.word_tokenizers import WhitespaceTokenizer  # noqa: PLC0415

    config = minhash.MinhashConfig()
    signatures, buckets, removed = (f"{work}/{name}" for name in ("signatures", "buckets", "ids"))
    steps: list[tuple[int, list[Any]]] = [
        (
            WORKERS,
            [
                ParquetReader(texts),
                minhash.MinhashDedupSignature(signatures, config, WhitespaceTokenizer()),
            ],
        ),
        (config.num_buckets, [minhash.MinhashDedupBuckets(signatures, buckets, config=config)]),
        (1, [minhash.MinhashDedupCluster(buckets, removed, config)]),
        (
            WORKERS,
            [
                ParquetReader(texts),
                minhash.MinhashDedupFilter(removed),
                ParquetWriter(f"{work}/kept"),
            ],
        ),
    ]
    for number, (tasks, pipeline) in enumerate(steps):
        logs = f"{work}/logs/{number}"
        LocalPipelineExecutor(pipeline, tasks, workers=WORKERS, logging_dir=logs).run()


class _Splitter:
    """A tokeniser that splits at white space, or into characters."""

    def __init__(self, characters: bool) -> None:
        self._split = re.compile(r"\S" if characters else r"\S+").findall

    def word_tokenize(self, text: str) -> list[str]:
        return self._split(text)


PEERS: dict[str, Callable[[list[str], bool], Pairs]] = {
    each.__name__: each for each in (gaoya, rensa, datasketch, text_dedup, datatrove)
}


def clusters(count: int, pairs: Pairs) -> int:
    """The number of connected components of `count` documents."""
    parent = list(range(count))
    groups = count
    for one, other in pairs:
        a, b = one, other
        while parent[a] != a:
            parent[a] = a = parent[parent[a]]
        while parent[b] != b:
            parent[b] = b = parent[parent[b]]
        if a != b:
            parent[max(a, b)] = min(a, b)
            groups -= 1
    return groups


def measure(name: str, texts: list[str], characters: bool) -> dict[str, Any]:
    """The seconds and the number of clusters of one peer."""
    clusters(2, PEERS[name](texts[:2], characters))  # imports, tables of permutations
    return timed(lambda: clusters(len(texts), PEERS[name](texts, characters)))


def timed(job: Callable[[], int]) -> dict[str, Any]:
    """The fastest of up to three runs of a job that counts clusters."""
    runs: list[tuple[float, float]] = []
    while len(runs) < RUNS and sum(wall for _, wall in runs) < QUICK:
        wall, processor = time.perf_counter(), time.process_time()
        count = job()
        runs.append((time.process_time() - processor, time.perf_counter() - wall))
    processor, wall = min(runs)
    return {
        "processor_seconds": round(processor, 3),
        "wall_seconds": round(wall, 3),
        "clusters": count,
    }


if __name__ == "__main__":
    if sys.argv[1] == datatrove_command.__name__:
        datatrove_command(*sys.argv[2:])
        sys.exit()
    import pyarrow.parquet as pq

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("name", choices=list(PEERS))
    parser.add_argument("texts")
    parser.add_argument("--characters", action="store_true")
    arguments = parser.parse_args()
    texts = pq.read_table(arguments.texts, columns=["text"])["text"].to_pylist()
    print(json.dumps(measure(arguments.name, texts, arguments.characters)))
