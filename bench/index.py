"""The online index: pages a second, the time of a question as the index grows, bytes a page.

    python -m bench.index [--full]

Adding: the real pages into a new SQLite file, in batches, one worker, against parsing them alone;
processor time of both, the best of three rounds in turns. Asking: one `query` at 10,000 and 50,000
stored short pages (with --full at 1,000,000), the median over pages that are new and pages that
are copies. Short pages are generated: 80 words, 20 to a host, one in five a copy of another.
Bytes are those of the tables with their indexes.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from bench.documents import best_seconds
from neardup import Index, RawPage, text_page
from neardup.index.intake import take_in
from neardup.pages import read_records

BATCH = 256
SIZES, FULL_SIZE = [10_000, 50_000], 1_000_000
QUESTIONS = 300
VOCABULARY = 30_000


def main(data: Path, *, full: bool = False) -> dict[str, object]:
    """All figures."""
    with tempfile.TemporaryDirectory() as folder:
        return {
            "adding": adding(data / "real-pages.warc.gz", Path(folder)),
            "asking": asking(Path(folder), [*SIZES, FULL_SIZE] if full else SIZES),
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
            "adding / parsing rate (at least 0.5)": round(
                seconds["parsing"] / seconds["adding"], 3
            ),
            "bytes a page": bytes_a_page(index),
        }


def asking(folder: Path, sizes: list[int]) -> dict[str, object]:
    """The time of a question at each size, and the ratio of the last to the first."""
    measured: dict[str, object] = {}
    medians = []
    with Index.open(f"sqlite:///{folder / 'asking.db'}") as index:
        stored = 0
        for size in sizes:
            started = time.process_time()
            for _ in index.stream(short_pages(stored, size), workers=1):
                pass
            spent = time.process_time() - started
            medians.append(question_seconds(index, size))
            measured[f"{size:,} pages"] = {
                "milliseconds a question": round(1e3 * medians[-1], 2),
                "processor microseconds a page added": round(1e6 * spent / (size - stored)),
                "bytes a page": bytes_a_page(index),
            }
            stored = size
    measured["last / first (at most 3)"] = round(medians[-1] / medians[0], 2)
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


def bytes_a_page(index: Index) -> dict[str, int]:
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
    chosen = parser.parse_args()
    print(json.dumps(main(chosen.data, full=chosen.full), indent=2))
