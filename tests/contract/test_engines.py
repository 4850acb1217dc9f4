"""Every method on both engines: the same clusters, keeps and relations, however many partitions.

Methods that decide page by page against what they have seen run on the local engine only.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from neardup.errors import UsageError
from neardup.evaluation.synth import synth
from neardup.methods.base import InOrder, OwnSearch
from neardup.methods.registry import BUILT_IN, make_method
from sample_pages import long_html, short_html, write_jsonl
from spark_runs import GROUP, answer, need_spark, spark

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["spark"]
pytestmark = GROUP

IN_ORDER = [name for name in BUILT_IN if isinstance(make_method(name).candidate_source, InOrder)]
METHODS = [name for name in BUILT_IN if name not in IN_ORDER]
PARTITIONS = [1, 3, 7]
RUNS = [
    *(("own-text", number) for number in PARTITIONS),
    *((name, PARTITIONS[at % 3]) for at, name in enumerate(METHODS) if name != "own-text"),
]
KINDS = ["reprints", "versions", "copies"]
SETS = [
    *(("own-text", f"{kind}-{language}") for kind in KINDS for language in ("en", "zh")),
    *((name, "versions-zh") for name in METHODS if name != "own-text"),
    *((name, "copies-zh") for name in ("exact", "minhash", "simhash")),
]


def same_answer(method: str, inputs: str, folder: Path, **settings: Any) -> None:
    from neardup import dedup as dedup_here
    from neardup.spark.pipeline import dedup

    partitions = settings.pop("partitions", None)
    here = answer(dedup_here(inputs, folder / "local", method=method, **settings))
    there = answer(
        dedup(inputs, folder / "spark", method=method, partitions=partitions, **settings)
    )
    if isinstance(make_method(method).candidate_source, OwnSearch):
        # Which pairs pass a method's own filter and then fail depends on what it sees at once.
        for each in (here, there):
            del each["rejected"], each["counts"]["rejected"]
            each["pairs_by_relation"].pop("different", None)
    assert there["pages"]
    assert there == here


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Generated pages, copies, repeated ids, bad records, in several files."""
    folder = tmp_path_factory.mktemp("pages")
    records: list[dict[str, object]] = [
        {"id": row["id"], "url": row["url"], "html": row["content"], "time": str(row["time"])}
        for batch in synth(420, 5, length="short")
        for row in batch.to_pylist()
    ]
    records += [{"id": f"short-{n}", "html": short_html()} for n in range(3)]
    records += [{"id": f"copy-{n}", "html": long_html("harbour", edited=n > 2)} for n in range(6)]
    records += [{"id": "copy-1", "html": long_html("茶山")}, {"id": "empty"}, {"html": ""}]
    for part in range(3):
        write_jsonl(folder / f"part-{part}.jsonl", records[part::3])
    return folder


@pytest.mark.parametrize(("method", "partitions"), RUNS)
def test_same_answer(
    spark: SparkSession, pages: Path, tmp_path: Path, method: str, partitions: int
) -> None:
    same_answer(method, str(pages), tmp_path, partitions=partitions)


def test_same_excerpts_joined(spark: SparkSession, pages: Path, tmp_path: Path) -> None:
    same_answer("own-text", str(pages), tmp_path, contained=True, partitions=2)


@pytest.mark.parametrize(("method", "name"), SETS)
def test_same_answer_on_the_labelled_sets(
    spark: SparkSession, shared_data: Path, tmp_path: Path, method: str, name: str
) -> None:
    same_answer(method, str(shared_data / name / "pages.jsonl.zst"), tmp_path, partitions=3)


@pytest.mark.parametrize("method", IN_ORDER)
def test_methods_that_decide_in_order_say_so(tmp_path: Path, method: str) -> None:
    need_spark()
    from neardup.spark.pipeline import dedup

    with pytest.raises(UsageError, match=r"use the local engine"):
        dedup("nowhere", tmp_path / "out", method=method)
