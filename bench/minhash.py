"""MinHash signatures against rensa and datasketch: 128 samples of 5-word shingles, one thread.

    python -m bench.minhash [--data DIR]

Every side starts from the same texts in memory and ends with a signature each, tokenising
included; the clock is that of the processor. The peers are given lower-cased words split at white
space, joined to shingles in Python, as their documentation does it, by whichever of their ways is
the faster. Ours folds Unicode, tells scripts apart and takes words out of punctuation.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import pyarrow as pa
from datasketch import MinHash
from rensa import RMinHash

from bench.documents import best_seconds, make_documents
from neardup.arrays import Ragged
from neardup.kernels.shingles import common_counts, shingle_hashes, sort_distinct
from neardup.methods.minhash import Minhash
from neardup.methods.token_method import page_tokens

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
SAMPLES, WORDS = 128, 5
DOCUMENTS, AT_ONCE, ROUNDS = 20_000, 128, 3


def main(data: Path = DATA) -> dict[str, object]:
    """Rates, ratios and how well the estimates agree with exact resemblance."""
    documents = make_documents(data / "reprints-en" / "pages.jsonl.zst", DOCUMENTS)
    ours(documents[:10])  # compiled before the clock starts
    seconds = best_seconds(
        {
            "neardup": lambda: ours(documents),
            "rensa update": lambda: rensa_one_by_one(documents),
            "rensa batch": lambda: rensa_batch(documents),
        },
        ROUNDS,
    ) | best_seconds({"datasketch update_batch": lambda: datasketch(documents)}, 1)
    rates = {name: round(len(documents) / each) for name, each in seconds.items()}
    rensa = min(seconds["rensa update"], seconds["rensa batch"])
    return {
        "documents": len(documents),
        "megabytes": round(sum(len(text.encode()) for text in documents) / 1e6, 1),
        "documents_per_second": rates,
        "ratio_to_rensa": round(rensa / seconds["neardup"], 1),
        "ratio_to_datasketch": round(seconds["datasketch update_batch"] / seconds["neardup"], 1),
        **agreement(documents),
    }


def ours(documents: list[str]) -> pa.Array:
    """The method's own signatures, batch by batch as the engine gives them."""
    method = Minhash()
    batches = []
    for start in range(0, len(documents), AT_ONCE):
        tokens = page_tokens(pa.array(documents[start : start + AT_ONCE], pa.string()))
        batches += method.sketch(tokens, None, None)
    return pa.chunked_array(batches)


def shingles(text: str) -> list[str]:
    """Runs of five words, as the peers' examples make them."""
    words = text.lower().split()
    return [" ".join(words[i : i + WORDS]) for i in range(max(len(words) - WORDS + 1, 1))]


def rensa_one_by_one(documents: list[str]) -> list[object]:
    """A sketch object a document."""
    sketches = []
    for text in documents:
        sketch = RMinHash(num_perm=SAMPLES, seed=42)
        sketch.update(shingles(text))
        sketches.append(sketch)
    return sketches


def rensa_batch(documents: list[str]) -> object:
    """Many documents a call."""
    return [
        RMinHash.digests_from_token_sets(
            [shingles(text) for text in documents[start : start + AT_ONCE]],
            num_perm=SAMPLES,
            seed=42,
        )
        for start in range(0, len(documents), AT_ONCE)
    ]


def datasketch(documents: list[str]) -> list[object]:
    """All shingles of a document in one `update_batch`."""
    sketches = []
    for text in documents:
        sketch = MinHash(num_perm=SAMPLES)
        sketch.update_batch([each.encode() for each in shingles(text)])
        sketches.append(sketch)
    return sketches


def agreement(documents: list[str]) -> dict[str, object]:
    """The error of the estimate over pairs that overlap by construction."""
    pairs = documents[:1_000]
    left = [text[: len(text) * 3 // 4] for text in pairs]
    right = [text[len(text) * row // len(pairs) // 2 :] for row, text in enumerate(pairs)]
    samples = [np.stack(ours(side).to_numpy(zero_copy_only=False)) for side in (left, right)]
    estimates = (samples[0] == samples[1]).mean(axis=1)
    sets = [
        Ragged(*sort_distinct(*shingle_hashes(*page_tokens(pa.array(side)), WORDS)))
        for side in (left, right)
    ]
    common = common_counts(*sets[0], *sets[1])
    exact = common / (sets[0].sizes + sets[1].sizes - common)
    errors = estimates - exact
    return {
        "exact_resemblance_from_to": [round(float(exact.min()), 3), round(float(exact.max()), 3)],
        "mean_error": round(float(errors.mean()), 5),
        "standard_error_of_the_mean": round(float(errors.std() / np.sqrt(errors.size)), 5),
        "root_mean_square_error": round(float(np.sqrt((errors**2).mean())), 4),
        "expected_root_mean_square_error": round(
            float(np.sqrt((exact * (1 - exact) / SAMPLES).mean())), 4
        ),
    }


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=DATA)
    for name, value in main(parser.parse_args().data).items():
        print(f"{name}: {value}")
