"""What an index keeps of stored pages between calls is never out of date, and bounded."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa

from index_checks import stored_keys
from neardup import Index, text_page
from neardup.index.candidates import read_features
from neardup.index.features import BATCH_BYTES, Described, FeatureMemory
from neardup.index.plan import Memory
from neardup.index.sites import PageCounts
from neardup.model import RawPage
from neardup.stores.session import Session


def page(number: int, words: str) -> RawPage:
    lines = [f"{words}{line}" for line in "abcd"] + ["footer"]  # the last is on every page
    text = "\n".join(" ".join(f"{line}{place}" for place in range(20)) for line in lines)
    return text_page(text, id=f"p{number}", url=f"http://one.example/{number}")


def rows_of(index: Index, memory: FeatureMemory, numbers: list[int]) -> list[pa.RecordBatch]:
    def work(session: Session) -> list[pa.RecordBatch]:
        places = memory.read(index.method, session, numbers)
        return [places[number].slice() for number in numbers]

    return index.store.read(work)


def stored_rows(index: Index, numbers: list[int]) -> list[pa.RecordBatch]:
    def work(session: Session) -> list[pa.RecordBatch]:
        _, features = read_features(index.method, session, numbers)
        return [features.slice(row, 1) for row in range(len(numbers))]

    return index.store.read(work)


def test_another_process_changes_features(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'one.db'}"
    with Index.open(url) as here, Index.open(url) as there:
        here.add_many([page(number, f"w{number}-") for number in range(2)])
        before = rows_of(here, here._memory.features, [1, 2])
        # The first pages of a site weigh less when it is known better.
        there.add_many([page(number, f"w{number}-") for number in range(2, 12)])
        after = rows_of(here, here._memory.features, [1, 2])
        assert after == stored_rows(there, [1, 2])
        assert after != before


def test_what_is_kept_is_what_is_stored(tmp_path: Path) -> None:
    with Index.open(f"sqlite:///{tmp_path / 'one.db'}") as index:
        for number in range(9):
            index.add(page(number, f"w{number % 3}-"))
        numbers = list(range(1, 10))
        kept = rows_of(index, index._memory.features, numbers)
        assert kept == rows_of(index, FeatureMemory(), numbers) == stored_rows(index, numbers)


def test_no_more_is_kept_than_allowed() -> None:
    with Index.open("memory://") as index:
        memory = FeatureMemory(3 * (BATCH_BYTES + 5_000), 2 * (BATCH_BYTES + 5_000))
        index._memory = Memory(PageCounts(), memory, texts=True)
        for number in range(20):
            index.add(page(number, f"w{number}-"))
        assert 0 < len(memory._places) < 20
        assert memory._size <= 3 * (BATCH_BYTES + 5_000)
        assert memory._size == sum(each.size for each in memory._used.values())
        with_pages = [each for each in memory._used.values() if each.pages is not None]
        assert 0 < len(with_pages) < len(memory._used)
        assert memory._size_of_pages == sum(each.size_of_pages for each in with_pages)
        numbers = list(range(1, 21))
        assert rows_of(index, memory, numbers) == stored_rows(index, numbers)


def test_keys_of_a_row() -> None:
    with Index.open("memory://") as index:
        index.add_many([page(number, f"w{number}-") for number in range(3)])
        features = index.store.read(lambda s: read_features(index.method, s, [1, 2, 3])[1])
        described = Described(index.method, [1, 2, 3], features)
        stored = index.store.read(stored_keys)
        for row in range(3):
            own = sorted(described.keys(row + 1).entries())
            assert own == sorted(each for each in stored if each[1] == row + 1)
