"""Pages parsed per second, compared with resiliparse's bare tree, and how well the texts agree.

Both sides start from the same decompressed bytes in memory, in a process that reuses freed memory,
as `dedup` does. Rates are the best of several rounds, which alternate, so that a busy machine does
not favour either side.
"""

from __future__ import annotations

import re
import statistics
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from resiliparse.extract.html2text import extract_plain_text
from resiliparse.parse.encoding import detect_encoding
from resiliparse.parse.html import HTMLTree

from bench.documents import read_pages
from bench.timing import best_seconds
from neardup.local.run import reuse_freed_memory
from neardup.model import RawPage
from neardup.pages import batches
from neardup.pages.raw import MAX_BYTES, MAX_PAGES, raw_batch
from neardup.text.charset import to_utf8
from neardup.text.parse import parse

BATCH = 32  # pages whose texts are compared at once
ROUNDS = 5

# Words of letters and digits; scripts written without spaces, character by character.
TOKEN = re.compile(r"[぀-ヿ㐀-䶿一-鿿豈-﫿]|[^\W_぀-ヿ㐀-䶿一-鿿豈-﫿]+")


def main(data: Path) -> dict[str, object]:
    """Rates, ratios and agreement."""
    reuse_freed_memory()
    pages = read_pages(data / "real-pages.warc.gz")
    scores = agreement(pages)
    seconds = best_seconds(
        {
            "resiliparse": lambda: parse_bare(pages),
            "one": lambda: parse_batches(pages, workers=1),
            "two": lambda: parse_batches(pages, workers=2),
        },
        ROUNDS,
        time.perf_counter,
    )
    rates = {name: len(pages) / each for name, each in seconds.items()}
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


def parse_bare(pages: Sequence[RawPage]) -> None:
    """What resiliparse has to do before the tree can be queried."""
    for page in pages:
        HTMLTree.parse_from_bytes(page.body, detect_encoding(page.body))


def parse_batches(pages: Sequence[RawPage], workers: int) -> None:
    """Parse full records with this many threads, in batches of the size that readers make."""

    def parse_batch(some: Sequence[RawPage]) -> None:
        parse(raw_batch(some))

    some = batches(pages, MAX_PAGES, MAX_BYTES)
    if workers == 1:
        for each in some:
            parse_batch(each)
        return
    with ThreadPoolExecutor(workers) as pool:
        list(pool.map(parse_batch, some))


def agreement(pages: Sequence[RawPage]) -> list[float]:
    """For each page, F1 of our words against the words of resiliparse's plain text."""
    scores = []
    for start in range(0, len(pages), BATCH):
        batch = pages[start : start + BATCH]
        for page, text in zip(
            batch, parse(raw_batch(batch)).column("text").to_pylist(), strict=True
        ):
            scores.append(f1(tokens(text), tokens(plain_text(page))))
    return scores


def plain_text(page: RawPage) -> str:
    """All text of a page, as resiliparse extracts it."""
    tree = HTMLTree.parse(to_utf8(page.body, page.charset)[0].decode())
    text: str = extract_plain_text(
        tree, main_content=False, list_bullets=False, alt_texts=False, noscript=False
    )
    return text


def tokens(text: str) -> Counter[str]:
    """The words of a text with their counts."""
    return Counter(TOKEN.findall(text))


def f1(ours: Counter[str], theirs: Counter[str]) -> float:
    """Twice the common words over all words of both; 1 if both are empty."""
    total = ours.total() + theirs.total()
    return 2 * (ours & theirs).total() / total if total else 1.0
