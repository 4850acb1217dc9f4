"""The datatrove block in real pipelines."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
from datatrove.executor import LocalPipelineExecutor
from datatrove.pipeline.readers import JsonlReader
from datatrove.pipeline.writers.jsonl import JsonlWriter

from neardup.errors import UsageError
from neardup.integrations.datatrove import NeardupFilter
from sample_pages import sample_records, write_jsonl

# What datatrove and its dependencies warn about is not ours.
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]


def written(folder: Path) -> list[dict[str, object]]:
    """The documents of all files in a folder."""
    lines: list[dict[str, object]] = []
    for file in sorted(folder.glob("*.jsonl.gz")):
        with gzip.open(file, "rt", encoding="utf-8") as text:
            lines += map(json.loads, text)
    return lines


def run(folder: Path, block: NeardupFilter, tasks: int = 1) -> list[dict[str, object]]:
    """The kept documents of a pipeline over two files of documents."""
    (folder / "documents").mkdir(exist_ok=True)
    records = sample_records()
    for number, some in enumerate((records[:4], records[4:])):
        write_jsonl(folder / "documents" / f"{number}.jsonl", some)
    pipeline = [
        JsonlReader(str(folder / "documents"), text_key="html"),
        block,
        JsonlWriter(str(folder / "kept")),
    ]
    LocalPipelineExecutor(pipeline, tasks=tasks, workers=1, logging_dir=str(folder / "logs")).run()
    return written(folder / "kept")


def test_one_task_compares_its_documents_in_memory(tmp_path: Path) -> None:
    dropped = JsonlWriter(str(tmp_path / "dropped"))
    kept = run(tmp_path, NeardupFilter(html=True, keep="first", exclusion_writer=dropped))
    assert [each["id"] for each in kept] == ["a1", "b1", "c1", "d1"]
    reasons = {each["id"]: each["metadata"] for each in written(tmp_path / "dropped")}
    assert set(reasons) == {"a2", "a3", "b2"}
    assert reasons["a2"]["duplicate_of"] == "a1"  # type: ignore[index]
    assert reasons["a2"]["relation"] == "same"  # type: ignore[index]


def test_tasks_share_a_store(tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path / 'seen.db'}"
    kept = run(tmp_path, NeardupFilter(html=True, store=store), tasks=2)
    assert {each["id"] for each in kept} == {"a1", "b1", "c1", "d1"}
    again = tmp_path / "again"
    again.mkdir()
    assert [each["id"] for each in run(again, NeardupFilter(html=True, store=store))] == [
        each["id"] for each in kept
    ]


def test_several_tasks_need_a_store() -> None:
    with pytest.raises(UsageError, match="use tasks=1, or a store"):
        list(NeardupFilter().run([], rank=0, world_size=2))
    with pytest.raises(UsageError, match="keeps the first page"):
        NeardupFilter(store="memory://", keep="newest")
