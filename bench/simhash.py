"""SimHash signatures compared with the `simhash` package, and all near pairs of a million values.

Both sides start from the same texts in memory, on one thread; processor time. The package takes
either a text (and uses runs of four letters) or counted words; the ratio is to the faster of the
two. The values searched are random, with neighbours planted at a distance of 0 to 6 bits; the pairs
within 3 bits are checked against the planted ones and, on a part, against comparing all pairs.
"""

from __future__ import annotations

import re
import resource
import time
from collections import Counter
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from bench.documents import make_documents
from bench.timing import best_seconds
from neardup.kernels.simhash import distances, pairs_within
from neardup.methods.simhash import Simhash
from neardup.methods.token_method import page_tokens
from simhash import Simhash as Peer

DOCUMENTS, AT_ONCE, ROUNDS = 2_000, 128, 3
VALUES, PLANTED, K = 1_000_000, 70_000, 3


def main(data: Path) -> dict[str, object]:
    """Rates of signatures, and the time, memory and exactness of the search."""
    documents = make_documents(data / "reprints-en" / "pages.jsonl.zst", DOCUMENTS)
    ours(documents[:10])  # compiles the kernels
    seconds = best_seconds(
        {
            "neardup": lambda: ours(documents),
            "simhash of a text": lambda: [Peer(text).value for text in documents],
            "simhash of words": lambda: [
                Peer(Counter(re.findall(r"\w+", text.lower()))).value for text in documents
            ],
        },
        ROUNDS,
    )
    peer = min(seconds["simhash of a text"], seconds["simhash of words"])
    return {
        "documents": len(documents),
        "documents_per_second": {
            name: round(len(documents) / each) for name, each in seconds.items()
        },
        "ratio_to_simhash": round(peer / seconds["neardup"], 1),
        **search(),
    }


def ours(documents: list[str]) -> list[pa.Array]:
    """The method's fingerprints, in batches as in a run."""
    method = Simhash()
    return [
        method.sketch(
            page_tokens(pa.array(documents[start : start + AT_ONCE], pa.string())), None, None
        )
        for start in range(0, len(documents), AT_ONCE)
    ]


def search() -> dict[str, object]:
    """All pairs within K bits among random values with planted neighbours."""
    values, planted = values_with_neighbours()
    pairs_within(values[:100], K)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    started = time.perf_counter()
    left, right = pairs_within(values, K)
    seconds = time.perf_counter() - started
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    pairs = set(zip(left.tolist(), right.tolist(), strict=True))
    return {
        "values": values.size,
        "pairs_within_3_bits": len(pairs),
        "search_seconds": round(seconds, 2),
        "search_peak_megabytes_more": round(memory / 1024),
        "planted_within_3_bits": len(planted),
        "planted_and_missed": len(planted - pairs),
        "found_and_farther": int((distances(values[left], values[right]) > K).sum()),
        "same_as_all_pairs_on_a_part": _all_pairs_agree(values[: 2 * 10_000]),
    }


def values_with_neighbours() -> tuple[NDArray[np.uint64], set[tuple[int, int]]]:
    """Random values; rows 2i and 2i + 1 of the first ones differ in i mod 7 bits."""
    random = np.random.default_rng(1)
    values = random.integers(0, 2**64, VALUES, np.uint64)
    for i in range(PLANTED):
        bits = random.choice(64, i % 7, replace=False)
        flipped = sum(1 << int(bit) for bit in bits)
        values[2 * i + 1] = values[2 * i] ^ np.uint64(flipped)
    near = {(2 * i, 2 * i + 1) for i in range(PLANTED) if i % 7 <= K}
    return values, near


def _all_pairs_agree(values: NDArray[np.uint64]) -> bool:
    pairs = set(zip(*(side.tolist() for side in pairs_within(values, K)), strict=True))
    expected = set()
    for row in range(values.size - 1):
        near = np.bitwise_count(values[row + 1 :] ^ values[row]) <= K
        expected |= {(row, row + 1 + int(other)) for other in np.flatnonzero(near)}
    return pairs == expected
