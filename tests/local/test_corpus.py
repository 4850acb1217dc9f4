"""A corpus is the same whether its pages were read, are in memory, or come from a result."""

from __future__ import annotations

from pathlib import Path

import pytest

from neardup import dedup
from neardup.local.corpus import Corpus
from neardup.local.outcome import cluster_rows
from neardup.local.pipeline import judge, settle
from neardup.local.run import DEFAULT_MEMORY, Silent, Stages
from neardup.local.work import Run
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


def test_a_corpus_from_a_result_has_its_pages_without_text(tmp_path: Path) -> None:
    path = write_jsonl(tmp_path / "pages.jsonl", sample_records())
    result = dedup(str(path), tmp_path / "result", method="exact", report=False)
    corpus = Corpus.from_result(result.folder)
    assert corpus.ids.to_pylist() == [page["id"] for page in result.pages()]
    assert corpus.parts == []
    assert len(corpus.skips) == len(list(result.skipped()))
