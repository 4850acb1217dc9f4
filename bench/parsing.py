"""How fast pages become records, against resiliparse's bare tree, and how far the texts agree.

    python bench/parsing.py [--data DIR]

Both sides start from the same decompressed bytes in memory. Rates are the best of several rounds,
taken in turns, so that a busy machine does not favour either side.
"""

from __future__ import annotations

import argparse
import re
import statistics
import time
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from resiliparse.extract.html2text import extract_plain_text
from resiliparse.parse.encoding import detect_encoding
from resiliparse.parse.html import HTMLTree

from neardup.model import RawPage
from neardup.pages import read_records
from neardup.pages.raw import raw_batch
from neardup.text.charset import to_utf8
from neardup.text.parse import parse

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
FILE = "real-pages.warc.gz"
BATCH = 32
ROUNDS = 5

# Words of letters and digits; scripts written without spaces, character by character.
TOKEN = re.compile(r"[぀-ヿ㐀-䶿一-鿿豈-﫿]|[^\W_぀-ヿ㐀-䶿一-鿿豈-﫿]+")


def main(data: Path = DATA) -> dict[str, object]:
    """All figures of one run."""
    pages = read_pages(data / FILE)
    scores = sorted(agreement(pages))
    rates = pages_per_second(
        {
            "resiliparse": lambda: parse_bare(pages),
            "one": lambda: parse_batches(pages, workers=1),
            "two": lambda: parse_batches(pages, workers=2),
        },
        len(pages),
    )
    return {
        "pages": len(pages),
        "megabytes": round(sum(len(page.body) for page in pages) / 1e6, 1),
        "resiliparse_pages_per_second": round(rates["resiliparse"]),
        "pages_per_second": round(rates["one"]),
        "pages_per_second_two_threads": round(rates["two"]),
        "ratio_to_resiliparse": round(rates["one"] / rates["resiliparse"], 2),
        "ratio_two_threads_to_one": round(rates["two"] / rates["one"], 2),
        "f1_median": round(statistics.median(scores), 4),
        "f1_share_above_0.98": round(sum(score > 0.98 for score in scores) / len(scores), 3),
        "f1_pages_below_0.9": sum(score < 0.9 for score in scores),
    }


def read_pages(path: Path) -> list[RawPage]:
    """The pages of a file, decompressed."""
    return [page for page in read_records([str(path)]) if isinstance(page, RawPage)]


def parse_bare(pages: Sequence[RawPage]) -> None:
    """What resiliparse needs to do before anything is asked of the tree."""
    for page in pages:
        HTMLTree.parse_from_bytes(page.body, detect_encoding(page.body))


def parse_batches(pages: Sequence[RawPage], workers: int) -> None:
    """Full records, in batches, by so many threads; batches are made one by one, as readers do."""

    def parse_from(start: int) -> None:
        parse(raw_batch(pages[start : start + BATCH]))

    starts = range(0, len(pages), BATCH)
    if workers == 1:
        for start in starts:
            parse_from(start)
        return
    with ThreadPoolExecutor(workers) as pool:
        list(pool.map(parse_from, starts))


def pages_per_second(jobs: dict[str, Callable[[], None]], pages: int) -> dict[str, float]:
    """The best of several rounds of each job, taken in turns."""
    best = dict.fromkeys(jobs, float("inf"))
    for _ in range(ROUNDS):
        for name, job in jobs.items():
            started = time.perf_counter()
            job()
            best[name] = min(best[name], time.perf_counter() - started)
    return {name: pages / seconds for name, seconds in best.items()}


def agreement(pages: Sequence[RawPage]) -> list[float]:
    """For each page, F1 of our words against those of resiliparse's plain text."""
    scores = []
    for start in range(0, len(pages), BATCH):
        batch = pages[start : start + BATCH]
        for page, text in zip(
            batch, parse(raw_batch(batch)).column("text").to_pylist(), strict=True
        ):
            scores.append(f1(tokens(text), tokens(plain_text(page))))
    return scores


def plain_text(page: RawPage) -> str:
    """All the text that resiliparse finds on a page."""
    tree = HTMLTree.parse(to_utf8(page.body, page.charset)[0].decode())
    text: str = extract_plain_text(
        tree, main_content=False, list_bullets=False, alt_texts=False, noscript=False
    )
    return text


def tokens(text: str) -> Counter[str]:
    """How often each word is in a text."""
    return Counter(TOKEN.findall(text))


def f1(ours: Counter[str], theirs: Counter[str]) -> float:
    """Twice what is common by all there is; 1 when both are empty."""
    total = ours.total() + theirs.total()
    return 2 * (ours & theirs).total() / total if total else 1.0


if __name__ == "__main__":
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    arguments.add_argument("--data", type=Path, default=DATA, help="the folder with " + FILE)
    for figure, value in main(arguments.parse_args().data).items():
        print(f"{figure:32} {value}")
