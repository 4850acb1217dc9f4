"""Features of large pages are written in smaller row groups, whatever batches they come in."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from neardup.local import prior
from neardup.local.corpus import AT_HAND, Corpus, PageRows
from neardup.local.features import Features
from neardup.local.result import PAGES_FILE

SIZES = [3, 0, 900, 5, 1, 700, 800, 2, 4, 1]  # numbers in the list of each page


def written(folder: Path, cuts: list[int], sizes: prior.GroupSizes) -> bytes:
    """What is written of pages whose features come in batches with these ends."""
    folder.mkdir()
    lists = pa.array([np.arange(size) for size in SIZES], pa.list_(pa.int64()))
    whole = pa.record_batch({"numbers": lists})
    ends = [0, *cuts, len(SIZES)]
    batches = [whole.slice(a, b - a) for a, b in pairwise(ends)]
    numbers = [np.arange(a, b) for a, b in pairwise(ends)]
    ids = pa.array([f"{number:03}" for number in range(len(SIZES))])
    zeros = pa.array(np.zeros(len(SIZES), np.int64))
    columns = [ids, *(zeros.cast(field.type) for field in list(AT_HAND)[1:])]
    corpus = Corpus(PageRows.of(pa.table(columns, schema=AT_HAND)), [])
    prior.write_pages(folder, corpus, Features(whole.schema, batches, numbers), sizes)
    return (folder / PAGES_FILE).read_bytes()


def test_row_groups_end_at_rows_or_bytes(tmp_path: Path) -> None:
    sizes = prior.GroupSizes(rows=4, group_bytes=4_000, taken_bytes=5_000)
    one = written(tmp_path / "one", [], sizes)
    file = pq.ParquetFile(tmp_path / "one" / PAGES_FILE)
    groups = [file.metadata.row_group(each).num_rows for each in range(file.num_row_groups)]
    assert groups == [3, 1, 2, 1, 1, 2]
    stored = prior.read_features(tmp_path / "one", pa.schema([("numbers", pa.list_(pa.int64()))]))
    assert [len(each) for batch in stored for each in batch["numbers"].to_pylist()] == SIZES
    assert written(tmp_path / "other", [1, 6], sizes) == one


def test_small_pages_fill_their_groups(tmp_path: Path) -> None:
    written(tmp_path / "one", [5], prior.GroupSizes(rows=4))
    file = pq.ParquetFile(tmp_path / "one" / PAGES_FILE)
    assert [file.metadata.row_group(each).num_rows for each in range(3)] == [4, 4, 2]
