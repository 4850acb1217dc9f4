"""What a result remembers of its pages comes back as it was."""

from __future__ import annotations

from errno import EXDEV
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from neardup.errors import InputError
from neardup.local import prior
from neardup.local.corpus import AT_HAND, Corpus, PageRows, with_derived
from neardup.local.features import Features
from neardup.local.prior import FEATURES, read_features, write_features, write_pages
from neardup.local.run import Silent, Stage
from neardup.local.work import FileParts, write_batch
from page_batches import page_batch

SCHEMA = pa.schema(
    [
        ("page", pa.int64()),
        ("words", pa.list_(pa.uint32())),
        ("shares", pa.list_(pa.float64())),
        ("gaps", pa.list_(pa.uint8())),
        ("texts", pa.list_(pa.string())),
    ]
)
COUNT = 9


def row(page: int) -> dict[str, object]:
    numbers = list(range(page % 4))
    texts = [f"t{number}" for number in numbers]
    gaps = None if page == 5 else numbers
    return {"page": page, "words": numbers, "shares": numbers, "gaps": gaps, "texts": texts}


def corpus() -> Corpus:
    pages = with_derived(page_batch(["text"] * COUNT, id=[f"p{n}" for n in range(COUNT)]))
    return Corpus(PageRows([pages.select(AT_HAND.names)]), [])


def features() -> Features:
    numbers = [np.array([8, 0, 5]), np.array([], np.int64), np.array([1, 7, 2, 3, 6, 4])]
    batches = [pa.RecordBatch.from_pylist([row(n) for n in each], SCHEMA) for each in numbers]
    return Features(SCHEMA, batches, numbers)


def remember(folder: Path, features: Features) -> None:
    folder.mkdir()
    write_pages(folder, corpus(), features)
    write_features(folder, features)


def remembered(folder: Path) -> dict[int, object]:
    found: dict[int, object] = {}
    for numbers, batch in read_features(folder, SCHEMA):
        assert batch.schema == SCHEMA
        found |= dict(zip(numbers.tolist(), batch.to_pylist(), strict=True))
    return found


@pytest.mark.parametrize("pages_of_a_group", [4, 4096])
def test_features_come_back_with_the_numbers_of_their_pages(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pages_of_a_group: int
) -> None:
    monkeypatch.setattr(prior, "PAGES_OF_A_GROUP", pages_of_a_group)
    remember(tmp_path / "out", features())
    assert remembered(tmp_path / "out") == {page: row(page) for page in range(COUNT)}


@pytest.mark.parametrize("one_disk", [True, False])
def test_features_that_are_in_files_are_not_written_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, one_disk: bool
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(EXDEV, "another disk")

    if not one_disk:
        monkeypatch.setattr(Path, "hardlink_to", refuse)
    given = features()
    parts = FileParts(tmp_path / "work", SCHEMA, compressed=False)
    parts.fill(given.batches, lambda batch: (batch, 0), 1, Stage("test", Silent()))
    remember(tmp_path / "out", Features.mapped(parts, given.numbers))
    for number in range(3):
        kept = tmp_path / "out" / FEATURES / f"{number:09d}.arrow"
        assert kept.samefile(parts.path(number)) is one_disk
    parts.drop()
    assert remembered(tmp_path / "out") == {page: row(page) for page in range(COUNT)}


@pytest.mark.parametrize("damage", ["other", "offsets"])
def test_damaged_features_are_an_error(tmp_path: Path, damage: str) -> None:
    remember(tmp_path / "out", features())
    path = tmp_path / "out" / FEATURES / "000000000.arrow"
    lists = pa.Array.from_buffers(
        SCHEMA[1].type,
        3,
        [None, pa.py_buffer(np.array([0, 9, 1, 2], np.int32))],
        children=[pa.array([1, 2], pa.uint32())],
    )
    given = features().batches[0]
    other = (
        given.drop_columns(["page"]) if damage == "other" else given.set_column(1, "words", lists)
    )
    path.unlink()
    write_batch(path, other)
    with pytest.raises((InputError, pa.ArrowInvalid)):
        remembered(tmp_path / "out")
