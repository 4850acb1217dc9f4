"""What a result remembers of its pages comes back as it was."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from neardup.local.corpus import AT_HAND, Corpus, PageRows, with_derived
from neardup.local.features import Features
from neardup.local.prior import GroupSizes, read_features, write_pages
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


@pytest.mark.parametrize("rows_at_once", [4, 4096])
def test_features_come_back_in_the_order_of_pages(tmp_path: Path, rows_at_once: int) -> None:
    numbers = [np.array([8, 0, 5]), np.array([], np.int64), np.array([1, 7, 2, 3, 6, 4])]
    batches = [pa.RecordBatch.from_pylist([row(n) for n in each], SCHEMA) for each in numbers]
    features = Features(SCHEMA, batches, numbers)
    assert features.number_lists == ["words", "shares"]
    write_pages(tmp_path, corpus(), features, GroupSizes(rows=rows_at_once))
    found = list(read_features(tmp_path, SCHEMA))
    assert pa.Table.from_batches(found).to_pylist() == [row(page) for page in range(COUNT)]
    assert all(each.schema.types == SCHEMA.types for each in found)
