"""What other libraries take from texts to clusters. Runs by itself, in any Python that has a peer:

    python bench/peers.py NAME TEXTS.parquet [--characters]

One thread, 128 samples. Each peer is used as its documentation does it; those that leave shingles
to the caller get runs of five words (of eight characters for Chinese) made in Python. Prints the
processor and wall-clock seconds and the number of clusters as JSON; reading and imports are not
counted.
"""

from __future__ import annotations

import argparse
import json
import re
import time
from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import Any

SAMPLES, BANDS, THRESHOLD = 128, 32, 0.7
WORDS, CHARACTERS = 5, 8
RUNS, QUICK = 3, 10.0  # at most so many runs, while they took no more than so many seconds
Pairs = Iterable[tuple[int, int]]


def shingles(text: str, characters: bool) -> list[str]:
    """Runs of lower-cased words, or of characters."""
    if characters:
        return [text[i : i + CHARACTERS] for i in range(max(len(text) - CHARACTERS + 1, 1))]
    words = text.lower().split()
    return [" ".join(words[i : i + WORDS]) for i in range(max(len(words) - WORDS + 1, 1))]


def gaoya(texts: list[str], characters: bool) -> Pairs:
    """Its own analyser, its bulk calls."""
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
    for row, found in enumerate(index.par_bulk_query(texts)):
        for other in found:
            yield row, other


def rensa(texts: list[str], characters: bool) -> Pairs:
    """RMinHash and its LSH, candidates checked by their sketches."""
    from rensa import RMinHash, RMinHashLSH  # noqa: PLC0415

    index = RMinHashLSH(threshold=THRESHOLD, num_perm=SAMPLES, num_bands=BANDS)
    sketches = []
    for row, text in enumerate(texts):
        sketch = RMinHash(num_perm=SAMPLES, seed=42)
        sketch.update(shingles(text, characters))
        index.insert(row, sketch)
        sketches.append(sketch)
    for row, sketch in enumerate(sketches):
        for other in index.query(sketch):
            if other < row and sketch.jaccard(sketches[other]) >= THRESHOLD:
                yield row, other


def datasketch(texts: list[str], characters: bool) -> Pairs:
    """MinHash with `update_batch`, and MinHashLSH."""
    from datasketch import MinHash, MinHashLSH  # noqa: PLC0415

    index = MinHashLSH(threshold=THRESHOLD, num_perm=SAMPLES)
    sketches = []
    for row, text in enumerate(texts):
        sketch = MinHash(num_perm=SAMPLES)
        sketch.update_batch([each.encode() for each in shingles(text, characters)])
        index.insert(row, sketch)
        sketches.append(sketch)
    for row, sketch in enumerate(sketches):
        for other in index.query(sketch):
            yield row, other


def text_dedup(texts: list[str], characters: bool) -> Pairs:
    """Its `embed_func` and its way through the tables; without the `datasets` around them."""
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
    tables: list[dict[bytes, list[int]]] = [defaultdict(list) for _ in range(bands)]
    for row, text in enumerate(texts):
        spaced = " ".join(text) if characters else text  # it knows words only
        for table, value in zip(
            tables, embed_func(spaced, row, **settings)["__signatures__"], strict=True
        ):
            table[value].append(row)
    for table in tables:
        for rows_of_value in table.values():
            yield from ((row, rows_of_value[0]) for row in rows_of_value[1:])


def datatrove(texts: list[str], characters: bool) -> Pairs:
    """The signatures of its first step only: the other three cost it more, and are left out."""
    from datatrove.pipeline.dedup.minhash import (  # noqa: PLC0415
        MinhashConfig,
        MinhashDedupSignature,
    )

    size = CHARACTERS if characters else WORDS
    config = MinhashConfig(n_grams=size, num_buckets=BANDS, hashes_per_bucket=SAMPLES // BANDS)
    step = MinhashDedupSignature("/tmp", config)
    step.word_tokenizer = _Splitter(characters)  # its own needs models to download
    tables: list[dict[tuple[int, ...], list[int]]] = [defaultdict(list) for _ in range(BANDS)]
    for row, text in enumerate(texts):
        signature = step.get_signature(step.get_shingles(text))
        for table, values in zip(tables, signature, strict=True):
            table[tuple(values)].append(row)
    for table in tables:
        for rows_of_value in table.values():
            yield from ((row, rows_of_value[0]) for row in rows_of_value[1:])


class _Splitter:
    """Words at white space, or characters."""

    def __init__(self, characters: bool) -> None:
        self._split = re.compile(r"\S" if characters else r"\S+").findall

    def word_tokenize(self, text: str) -> list[str]:
        return self._split(text)


PEERS: dict[str, Callable[[list[str], bool], Pairs]] = {
    each.__name__: each for each in (gaoya, rensa, datasketch, text_dedup, datatrove)
}


def clusters(count: int, pairs: Pairs) -> int:
    """How many groups the pairs leave of so many documents."""
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
    """The seconds of one peer, and what it found."""
    clusters(2, PEERS[name](texts[:2], characters))  # imports, tables of permutations
    return timed(lambda: clusters(len(texts), PEERS[name](texts, characters)))


def timed(job: Callable[[], int]) -> dict[str, Any]:
    """The least seconds of a job that counts clusters, of up to three runs while that is quick."""
    runs: list[tuple[float, float]] = []
    while len(runs) < RUNS and sum(wall for _, wall in runs) < QUICK:
        wall, processor = time.perf_counter(), time.process_time()
        found = job()
        runs.append((time.process_time() - processor, time.perf_counter() - wall))
    processor, wall = min(runs)
    return {
        "processor_seconds": round(processor, 3),
        "wall_seconds": round(wall, 3),
        "clusters": found,
    }


if __name__ == "__main__":
    import pyarrow.parquet as pq

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("name", choices=list(PEERS))
    parser.add_argument("texts")
    parser.add_argument("--characters", action="store_true")
    parser.add_argument("--rows", type=int)
    chosen = parser.parse_args()
    column = pq.read_table(chosen.texts, columns=["text"])["text"][: chosen.rows]
    print(json.dumps(measure(chosen.name, column.to_pylist(), chosen.characters)))
