"""MinHash signatures compared with rensa and datasketch: 128 samples of 5-word shingles.

Every side starts from the same texts in memory and ends with one signature per text; tokenising
counts. Processor time, one thread. The peers get lower-cased words split at white space and joined
to shingles in Python, as in their documentation; of rensa's two ways the faster counts. Our
tokeniser also folds Unicode, distinguishes scripts and strips punctuation.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
from rensa import RMinHash

from bench.documents import make_documents
from bench.peers import SAMPLES, WORDS, datasketch_sketches, rensa_sketches, shingles
from bench.timing import best_seconds
from neardup.arrays import Ragged
from neardup.kernels.shingles import common_counts, shingle_hashes, sort_distinct
from neardup.methods.minhash import Minhash
from neardup.methods.token_method import page_tokens

DOCUMENTS, AT_ONCE, ROUNDS = 20_000, 128, 3


def main(data: Path) -> dict[str, object]:
    """Rates, ratios, and how well the estimates agree with the exact resemblance."""
    documents = make_documents(data / "reprints-en" / "pages.jsonl.zst", DOCUMENTS)
    ours(documents[:10])  # compiles the kernels
    seconds = best_seconds(
        {
            "neardup": lambda: ours(documents),
            "rensa update": lambda: rensa_sketches(documents),
            "rensa batch": lambda: rensa_batch(documents),
        },
        ROUNDS,
    ) | best_seconds({"datasketch update_batch": lambda: datasketch_sketches(documents)}, 1)
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
    """The method's signatures, in batches as in a run."""
    method = Minhash()
    batches = []
    for start in range(0, len(documents), AT_ONCE):
        tokens = page_tokens(pa.array(documents[start : start + AT_ONCE], pa.string()))
        batches += method.sketch(tokens, None, None)
    return pa.chunked_array(batches)


def rensa_batch(documents: list[str]) -> object:
    """Many documents per call."""
    return [
        RMinHash.digests_from_token_sets(
            [shingles(text, characters=False) for text in documents[start : start + AT_ONCE]],
            num_perm=SAMPLES,
            seed=42,
        )
        for start in range(0, len(documents), AT_ONCE)
    ]


def agreement(documents: list[str]) -> dict[str, object]:
    """The error of the estimate on pairs made to overlap."""
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
