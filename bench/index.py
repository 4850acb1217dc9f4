"""The online index: pages per second, the time of a query as the index grows, bytes per page.

    python -m bench.index [--full] [--store postgresql://host/database]

Adding: the real pages into a new SQLite file, in batches, one worker, against parsing them alone;
processor time of both, the best of three rounds in turns. Few at a time: generated pages of 8 KB
(`neardup synth`), 20,000 of them stored by the same process; mean processor time of `add` one by
one and in hundreds, and of `query`. Asking: one `query` at 10,000 and 50,000 stored short pages
(with --full at 1,000,000), the median over pages that are new and pages that are copies; `--store`
names an empty PostgreSQL store instead of SQLite. Short pages are generated: 80 words, 20 to a
host, one in five a copy of another. Bytes are those of the tables with their indexes.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from bench.documents import best_seconds
from neardup import Index, RawPage, text_page
from neardup.evaluation.synth.files import write_set
from neardup.index.intake import take_in
from neardup.pages import read_records

BATCH = 256
SIZES, FULL_SIZE = [10_000, 50_000], 1_000_000
STORED, FEW = 20_000, 300  # generated pages stored, and measured in each way
QUESTIONS = 300
VOCABULARY = 30_000


def main(
    data: Path, *, full: bool = False, store: str = "", stored: int = STORED
) -> dict[str, object]:
    """All figures."""
    with tempfile.TemporaryDirectory() as folder:
        url = store or f"sqlite:///{Path(folder) / 'asking.db'}"
        return {
            "adding": adding(data / "real-pages.warc.gz", Path(folder)),
            "few at a time": few_at_a_time(Path(folder), stored),
            "asking": asking(url, [*SIZES, FULL_SIZE] if full else SIZES),
        }


def few_at_a_time(folder: Path, stored: int) -> dict[str, object]:
    """Generated pages as a crawler has them: one by one, or some together."""
    hundreds = 10
    write_set(folder / "set", stored + 2 * FEW + 100 * hundreds)
    found = read_records([str(folder / "set" / "pages.jsonl.zst")])
    pages = [page for page in found if isinstance(page, RawPage)]
    random.Random(7).shuffle(pages)
    with Index.open(f"sqlite:///{folder / 'few.db'}") as index:
        for start in range(0, stored, 100):
            index.add_many(pages[start : start + 100])
        rest = iter(pages[stored:])

        def measured(call: Callable[[Any], object], items: list[Any], each: int = 1) -> int:
            started = time.process_time()
            for item in items:
                call(item)
            return round(1e6 * (time.process_time() - started) / (len(items) * each))

        some = list(islice(rest, FEW))
        index.query_many(some[:20])  # loads the kernels for single pages
        asked = measured(index.query, some)
        parsed = measured(lambda page: take_in([page], packed=True), some)
        together = [list(islice(rest, 100)) for _ in range(hundreds)]
        return {
            "stored": stored,
            "bytes a raw page": sum(len(page.body) for page in some) // len(some),
            "processor microseconds a page": {
                "query (at most 1500)": asked,
                "add one by one (at most 2500)": measured(index.add, list(islice(rest, FEW))),
                "add in hundreds (at most 700)": measured(index.add_many, together, 100),
                "parsing one page, of each of these": parsed,
            },
        }


def adding(path: Path, folder: Path) -> dict[str, object]:
    """The real pages into SQLite, and what they take there."""
    pages = [record for record in read_records([str(path)]) if isinstance(record, RawPage)]
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
            "processor microseconds a page": {
                name: round(1e6 * each / len(pages)) for name, each in seconds.items()
            },
            "beyond parsing (at most 200)": round(
                1e6 * (seconds["adding"] - seconds["parsing"]) / len(pages)
            ),
            "bytes per page": bytes_per_page(index),
            "in all (at most 10000)": sum(index.sizes().values()) // len(index),
        }


def asking(url: str, sizes: list[int]) -> dict[str, object]:
    """The time of a query at each size, and the ratio of the last to the first."""
    measured: dict[str, object] = {}
    medians = []
    with Index.open(url) as index:
        stored = 0
        for size in sizes:
            started = time.process_time()
            for _ in index.stream(short_pages(stored, size), workers=1):
                pass
            spent = time.process_time() - started
            medians.append(question_seconds(index, size))
            measured[f"{size:,} pages"] = {
                "milliseconds per query": round(1e3 * medians[-1], 2),
                "processor microseconds a page added": round(1e6 * spent / (size - stored)),
                "bytes per page": bytes_per_page(index),
            }
            stored = size
    measured["last / first (at most 2)"] = round(medians[-1] / medians[0], 2)
    return measured


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
    """By part; keys and bookkeeping together are to stay under 2,000."""
    sizes = {part: size // len(index) for part, size in index.sizes().items()}
    both = sizes.pop("keys") + sizes.pop("bookkeeping")
    return {"keys and bookkeeping (under 2000)": both, **sizes}


def short_pages(first: int, last: int) -> Iterator[RawPage]:
    """Pages number `first` up to `last`."""
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
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--full", action="store_true")
    parser.add_argument("--store", default="", help="an empty store for the questions")
    parser.add_argument("--stored", type=int, default=STORED, help="generated pages stored")
    chosen = parser.parse_args()
    figures = main(chosen.data, full=chosen.full, store=chosen.store, stored=chosen.stored)
    print(json.dumps(figures, indent=2))
