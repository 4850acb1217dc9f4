"""A corpus is the same whether its pages were read, are in memory, or come from a result."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import neardup.local.corpus
import neardup.local.features
import neardup.local.pipeline
import neardup.local.work
from neardup import dedup
from neardup.local.corpus import Corpus, PageRows
from neardup.local.outcome import cluster_rows
from neardup.local.pipeline import judge, settle
from neardup.local.run import DEFAULT_MEMORY, Silent, Stage, Stages
from neardup.local.work import FileParts, Run
from neardup.methods.registry import make_method
from neardup.pages.readers import read
from neardup.text.parse import parse
from sample_pages import sample_records, write_jsonl


def a_run(folder: Path) -> Run:
    folder.mkdir(parents=True)
    return Run(folder, DEFAULT_MEMORY, 2, Stages(Silent()))


@pytest.mark.parametrize("method", ["own-text", "exact", "i-match", "news-clusters", "simhash"])
def test_pages_in_memory_are_decided_as_those_of_a_file(tmp_path: Path, method: str) -> None:
    path = write_jsonl(tmp_path / "pages.jsonl", sample_records())
    result = dedup(str(path), tmp_path / "result", method=method, keep="longest", report=False)
    [batch] = read([str(path)])
    corpus = Corpus.from_pages(parse(batch.pages))
    run = a_run(tmp_path / "work")
    outcome = settle(judge(corpus, make_method(method), run), run, keep="longest")
    decided = [row for rows in cluster_rows(outcome) for row in rows.to_pylist()]
    assert decided == list(result.pages())


def test_rows_in_files_are_those_in_memory(tmp_path: Path) -> None:
    columns = {"id": [f"p{number:02}" for number in range(23)], "size": list(range(23))}
    whole = pa.record_batch(columns)
    parts = FileParts(tmp_path / "rows", whole.schema, compressed=False)
    pieces = [whole[:9], whole[9:10], whole[10:]]
    parts.fill(pieces, lambda each: (each, 0), 1, Stage("identify", Silent()))
    rows = PageRows(*parts.mapped())
    assert len(rows) == 23
    assert [name for some in rows.each("id") for name in some.to_pylist()] == columns["id"]
    assert rows.column("id").to_pylist() == columns["id"]
    assert rows.numbers("size").tolist() == columns["size"]
    for pages in ([], [4], [22, 0, 9, 9, 10, 8, 22], [*range(23)]):
        numbers = np.array(pages, np.int64)
        taken = rows.take(numbers, ["size", "id"])
        assert taken.equals(PageRows([whole]).take(numbers, ["size", "id"]))
        assert taken["size"].to_pylist() == pages


@pytest.mark.parametrize("keep", ["original", "canonical"])
def test_a_run_whose_pages_are_in_files_decides_the_same(
    tmp_path: Path, keep: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_jsonl(tmp_path / "pages.jsonl", sample_records())
    expected = dedup(str(path), tmp_path / "one", keep=keep)
    monkeypatch.setattr(neardup.local.work, "ROOM_SHARE", 0.0)
    monkeypatch.setattr(neardup.local.corpus, "HELD_SHARE", 1000 / DEFAULT_MEMORY)
    monkeypatch.setattr(neardup.local.pipeline, "PAGES_AT_ONCE", 3)
    monkeypatch.setattr(neardup.local.features, "NEARBY_SHARE", 0.0)  # surveys are released
    result = dedup(str(path), tmp_path / "other", keep=keep)
    for file in filter(Path.is_file, expected.folder.rglob("*")):
        if file.name != "summary.json":
            assert (
                result.folder / file.relative_to(expected.folder)
            ).read_bytes() == file.read_bytes(), file.name


def test_a_corpus_from_a_result_has_its_pages_without_text(tmp_path: Path) -> None:
    path = write_jsonl(tmp_path / "pages.jsonl", sample_records())
    result = dedup(str(path), tmp_path / "result", method="exact", report=False)
    corpus = Corpus.from_result(result.folder)
    assert corpus.ids.to_pylist() == [page["id"] for page in result.pages()]
    assert corpus.parts == []
    assert len(corpus.skips) == len(list(result.skipped()))
