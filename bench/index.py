"""The online index: pages per second, query time as the index grows, bytes per page.

Adding: the real pages go into a new SQLite file in batches, with one worker; compared with parsing
alone. Processor time, the best of three alternating rounds. Few at a time: mean processor time of
`add` one by one and in hundreds, and of `query`, on generated pages of 8 KB (`neardup synth`) with
20,000 stored. Asking: the median time of one `query` with 10,000 and 50,000 stored short pages
(with --full 1,000,000), over new pages and copies. Short pages are generated: 80 words, 20 per
host, one in five a copy of another. Bytes are those of the tables with their indexes.

`python -m bench.index postgresql://host/database` runs only "asking", on another, empty store.
"""

from __future__ import annotations

import json
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from bench.documents import read_pages
from bench.timing import best_seconds
from neardup import Index, RawPage, text_page
from neardup.evaluation.synth import write_set
from neardup.index.intake import take_in

BATCH = 256
SIZES, FULL_SIZE = [10_000, 50_000], 1_000_000
STORED, FEW, HUNDREDS = 20_000, 300, 10  # generated pages stored; measured singly, in hundreds
QUESTIONS = 300
VOCABULARY = 30_000


def main(data: Path, *, full: bool) -> dict[str, object]:
    """All figures."""
    with tempfile.TemporaryDirectory() as folder:
        url = f"sqlite:///{Path(folder) / 'asking.db'}"
        return {
            "adding": adding(data / "real-pages.warc.gz", Path(folder)),
            "few at a time": few_at_a_time(Path(folder)),
            "asking": asking(url, [*SIZES, FULL_SIZE] if full else SIZES),
        }


def few_at_a_time(folder: Path) -> dict[str, object]:
    """Pages as a crawler handles them: one by one, or some together."""
    pages = read_pages(write_set(folder / "set", STORED + 2 * FEW + 100 * HUNDREDS))
    random.Random(7).shuffle(pages)
    with Index.open(f"sqlite:///{folder / 'few.db'}") as index:
        for start in range(0, STORED, 100):
            index.add_many(pages[start : start + 100])
        rest = iter(pages[STORED:])
        some = list(islice(rest, FEW))
        index.query_many(some[:20])  # loads the kernels for single pages
        query = microseconds(index.query, some)
        parsing = microseconds(lambda page: take_in([page], packed=True), some)
        batches = [list(islice(rest, 100)) for _ in range(HUNDREDS)]
        return {
            "stored": STORED,
            "bytes per raw page": sum(len(page.body) for page in some) // len(some),
            "processor microseconds per page": {
                "query (at most 1500)": query,
                "add one by one (at most 2500)": microseconds(index.add, list(islice(rest, FEW))),
                "add in hundreds (at most 700)": microseconds(index.add_many, batches, 100),
                "parsing, within each of these": parsing,
            },
        }


def microseconds(call: Callable[[Any], object], items: list[Any], pages: int = 1) -> int:
    """Mean processor time per page of a call on each item; an item is `pages` pages."""
    started = time.process_time()
    for item in items:
        call(item)
    return round(1e6 * (time.process_time() - started) / (len(items) * pages))


def adding(path: Path, folder: Path) -> dict[str, object]:
    """Time to add the real pages to SQLite, and their size there."""
    pages = read_pages(path)
    batches = [pages[start : start + BATCH] for start in range(0, len(pages), BATCH)]
    files = iter(range(1_000))

    def parse_all() -> None:
        for batch in batches:
            take_in(batch)

    def add_all() -> None:
        with Index.open(f"sqlite:///{folder / f'adding{next(files)}.db'}") as index:
            for _ in index.stream(pages, workers=1):
                pass

    add_all()  # loads the kernels
    seconds = best_seconds({"parsing": parse_all, "adding": add_all}, rounds=3)
    with Index.open(f"sqlite:///{folder / 'adding0.db'}") as index:
        return {
            "pages": len(pages),
            "processor microseconds per page": {
                name: round(1e6 * each / len(pages)) for name, each in seconds.items()
            },
            "beyond parsing (at most 200)": round(
                1e6 * (seconds["adding"] - seconds["parsing"]) / len(pages)
            ),
            "bytes per page": bytes_per_page(index),
            "in all (at most 10000)": sum(index.sizes().values()) // len(index),
        }


def asking(url: str, sizes: list[int]) -> dict[str, object]:
    """Query time at each size, and the ratio of the last to the first."""
    figures: dict[str, object] = {}
    medians = []
    with Index.open(url) as index:
        stored = 0
        for size in sizes:
            started = time.process_time()
            for _ in index.stream(short_pages(stored, size), workers=1):
                pass
            spent = time.process_time() - started
            medians.append(question_seconds(index, size))
            figures[f"{size:,} pages"] = {
                "milliseconds per query": round(1e3 * medians[-1], 2),
                "processor microseconds per page added": round(1e6 * spent / (size - stored)),
                "bytes per page": bytes_per_page(index),
            }
            stored = size
    figures["last / first (at most 2)"] = round(medians[-1] / medians[0], 2)
    return figures


def question_seconds(index: Index, stored: int) -> float:
    """The median processor time of one `query`."""
    new = list(short_pages(10 * FULL_SIZE, 10 * FULL_SIZE + QUESTIONS // 2))
    chance = random.Random(5)
    copies = [
        text_page(short_text(chance.randrange(stored)), id=f"copy{n}", url=f"http://c{n}.example/")
        for n in range(QUESTIONS // 2)
    ]
    seconds = []
    for page in [*new, *copies]:
        started = time.process_time()
        index.query(page)
        seconds.append(time.process_time() - started)
    return statistics.median(seconds)


def bytes_per_page(index: Index) -> dict[str, int]:
    """By table; keys and bookkeeping share a target of 2,000."""
    sizes = {part: size // len(index) for part, size in index.sizes().items()}
    both = sizes.pop("keys") + sizes.pop("bookkeeping")
    return {"keys and bookkeeping (under 2000)": both, **sizes}


def short_pages(first: int, last: int) -> Iterator[RawPage]:
    """Pages number `first` to `last` - 1."""
    for number in range(first, last):
        yield text_page(
            short_text(number), id=f"p{number}", url=f"http://h{number // 20}.example/{number}"
        )


def short_text(number: int) -> str:
    """Eighty words; one page in five has the words of an earlier one."""
    chance = random.Random(number)
    if number % 5 == 4:
        chance = random.Random(chance.randrange(number))
    words = (int(VOCABULARY * chance.random() ** 3) for _ in range(80))
    return " ".join(f"w{word}" for word in words)


if __name__ == "__main__":
    print(json.dumps(asking(sys.argv[1], SIZES), indent=2))
