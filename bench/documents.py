"""Documents for the benchmarks of signatures: runs of lines from real pages."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from neardup.pages import read
from neardup.text.parse import parse


def make_documents(path: Path, count: int, *, characters: int = 5_000, seed: int = 1) -> list[str]:
    """`count` documents of about so many characters, each from a random place of a random page.

    The pages of the labelled sets are too few for a rate and too unlike in length for a fair one.
    """
    texts = [text for text in _texts(path) if len(text) >= 1_000]
    chance = random.Random(seed)
    documents = []
    for _ in range(count):
        text = chance.choice(texts)
        start = text.rfind("\n", 0, chance.randrange(max(len(text) - characters, 1)) + 1) + 1
        documents.append(text[start : start + characters])
    return documents


def _texts(path: Path) -> list[str]:
    return [text for batch in read([str(path)]) for text in parse(batch.pages)["text"].to_pylist()]


def best_seconds(jobs: Mapping[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    """The best processor time of each job, taken in turns: waiting on a busy machine is no work."""
    best = dict.fromkeys(jobs, float("inf"))
    for _ in range(rounds):
        for name, job in jobs.items():
            started = time.process_time()
            job()
            best[name] = min(best[name], time.process_time() - started)
    return best
