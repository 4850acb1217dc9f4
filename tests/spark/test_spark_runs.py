"""Whole runs of the Spark engine: every form of input, earlier results, and skew."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

import neardup
from archive_bytes import http, record
from neardup import api
from neardup.errors import InputError, OutputError, UsageError
from neardup.evaluation.synth import synth
from neardup.local import result
from neardup.local.exchange import unpacked_counts
from neardup.model import RawPage, Source
from neardup.pages.ranges import Range
from neardup.pages.writers import writer_for
from neardup.schemas import COUNTS, FORMAT
from neardup.spark import drop_duplicates, find_duplicates, pipeline, reading, session
from neardup.spark.columns import ROW_COUNTS, bounded, packed_counts, whole_groups
from neardup.spark.pipeline import dedup
from neardup.spark.sample import sampled_outcome
from neardup.spark.work import BOUNDED_FILES, Work
from sample_pages import long_html, sample_records, write_jsonl
from spark_runs import GROUP, answer, spark, work

__all__ = ["spark", "work"]
pytestmark = GROUP
DIGEST = "sha1:THESAME"
TOPICS = ["harbour", "railway", "orchard", "茶山", "渡口"]


def write_every_form(folder: Path) -> None:
    """Pages in HTML files, JSON lines, a Parquet file of many row groups and a WARC archive."""
    site = folder / "site.example"
    site.mkdir(parents=True)
    (site / "a.html").write_text(long_html("harbour"), encoding="utf-8")
    (site / "b.html").write_text(long_html("railway"), encoding="utf-8")
    (site / "logo.png").write_bytes(b"\x89PNG")
    write_jsonl(folder / "lines.jsonl", [*sample_records(), {"id": "empty"}])
    with (folder / "lines.jsonl").open("ab") as file:
        file.write(b"{not JSON\n\xff\xfe\n")
    rows = [
        {"id": f"row-{n}", "html": f"{long_html(TOPICS[n % 5], edited=n % 7 == 0)}<p>{n % 50}"}
        for n in range(5000)
    ]
    pq.write_table(pa.Table.from_pylist(rows), folder / "rows.parquet", row_group_size=300)
    (folder / "again.warc").write_bytes(
        record(
            "http://railway.example/late",
            http(b""),
            kind="revisit",
            headers=f"WARC-Payload-Digest: {DIGEST}\r\n",
        )
        + record("http://gone.example/", http(b""), kind="revisit")
    )
    digest = f"WARC-Payload-Digest: {DIGEST}\r\n"
    body = http(long_html("railway").encode())
    (folder / "early.warc").write_bytes(record("http://railway.example/", body, headers=digest))
    with writer_for(folder / "crawl.warc.gz") as writer:
        for number, topic in enumerate([*TOPICS, *TOPICS]):
            page = long_html(topic, edited=number > 4)
            url = f"http://{topic if topic.isascii() else 'zh'}.example/"
            raw = RawPage(url, page.encode(), True, Source("made", number), url)
            writer.write(raw, page)


def test_every_form_of_input(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_every_form(tmp_path / "in")
    monkeypatch.setattr(reading, "TASKS_A_CORE", 100)  # so that the archive is cut
    monkeypatch.setattr(reading, "ARCHIVE_BYTES", 1000)
    here = answer(api.dedup(str(tmp_path / "in"), tmp_path / "local", method="exact"))
    there = answer(dedup(str(tmp_path / "in"), tmp_path / "spark", method="exact"))
    assert there == here
    assert here["skipped_by_reason"]["unresolved-revisit"] == 1
    assert "http://railway.example/late" in {row["id"] for row in here["pages"]}


def test_paths_that_spark_opens(spark: SparkSession, tmp_path: Path) -> None:
    write_every_form(tmp_path / "in")
    for name in ("rows.parquet", "again.warc"):
        (tmp_path / "in" / name).unlink()
    here = answer(api.dedup(str(tmp_path / "in"), tmp_path / "local", method="exact"))
    there = answer(dedup(f"file:{tmp_path}/in", tmp_path / "spark", method="exact"))
    assert [row["id"] for row in there["pages"]] == [row["id"] for row in here["pages"]]
    assert there["pairs"] == here["pairs"]
    assert there["skipped_by_reason"] == here["skipped_by_reason"]


def test_the_tables_have_the_schema_of_the_local_engine(
    spark: SparkSession, tmp_path: Path
) -> None:
    pages = write_jsonl(tmp_path / "pages.jsonl", [*sample_records(), {"id": "none"}])
    out = tmp_path / "out"
    dedup(str(pages), out)
    for name, schema in (
        ("clusters", result.CLUSTERS),
        ("pairs", result.PAIRS),
        ("rejected", result.PAIRS),
        ("skipped", result.SKIPPED),
    ):
        assert pq.read_schema(next((out / f"{name}.parquet").glob("*.parquet"))).equals(schema)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out", "pages.jsonl"]


def halves(folder: Path) -> list[Path]:
    """Generated pages, cut in two; the second half has a page of the first again."""
    rows = [row for batch in synth(120, 9, length="short") for row in batch.to_pylist()]
    records = [{"id": row["id"], "url": row["url"], "html": row["content"]} for row in rows]
    records += [{"id": f"x{n}", "html": long_html(TOPICS[n % 3], edited=n > 6)} for n in range(12)]
    parts = records[::2], [*records[1::2], records[0]]
    return [write_jsonl(folder / f"{n}.jsonl", part) for n, part in enumerate(parts)]


def test_new_pages_among_those_of_an_earlier_run(spark: SparkSession, tmp_path: Path) -> None:
    """Each engine against a result of each; and what it says of one that is damaged."""
    first, second = map(str, halves(tmp_path))
    api.dedup(first, tmp_path / "local-1")
    dedup(first, tmp_path / "spark-1")
    answers = []
    for earlier in (tmp_path / "local-1", tmp_path / "spark-1"):
        names = {row["id"]: row["cluster"] for row in answer(earlier)["pages"]}
        for run in (api.dedup, dedup):
            answers.append(answer(run(second, tmp_path / "out", against=earlier, force=True)))
            now = {row["id"]: row["cluster"] for row in answers[-1]["pages"]}
            assert all(now[id_] == name for id_, name in names.items())
    assert all(each == answers[0] for each in answers)
    [some, *_] = (tmp_path / "spark-1" / "remembered" / "features").glob("*.parquet")
    some.write_bytes(some.read_bytes()[:-50])
    (some.parent / f".{some.name}.crc").unlink()
    (tmp_path / "local-1" / "clusters.jsonl").write_bytes(b"{not JSON\n")
    for name in ("local-1", "spark-1"):
        broken = os.path.relpath(tmp_path / name)
        with pytest.raises(InputError, match="-1 is damaged or incomplete: make it again") as told:
            dedup(second, tmp_path / "broken", against=broken)
        assert "\n" not in str(told.value)
    assert not list(tmp_path.glob("*broken*"))


def test_an_earlier_result_of_another_kind_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    pages = str(write_jsonl(tmp_path / "pages.jsonl", sample_records()))
    with pytest.raises(InputError, match="holds no result of an earlier run"):
        dedup(pages, tmp_path / "out", against=tmp_path)
    dedup(pages, tmp_path / "spark", method="exact")
    with pytest.raises(UsageError, match="was made with method exact"):
        dedup(pages, tmp_path / "out", against=tmp_path / "spark")
    summary = tmp_path / "spark" / "summary.json"
    summary.write_text(json.dumps({**json.loads(summary.read_bytes()), "format": FORMAT + 1}))
    summary.with_name(".summary.json.crc").unlink()  # Hadoop's checksum of what was there before
    with pytest.raises(InputError, match=f"was written in format {FORMAT + 1} "):
        dedup(pages, tmp_path / "out", against=tmp_path / "spark", method="exact")


def test_kept_pages_and_a_run_that_is_resumed(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pages = str(halves(tmp_path)[1])
    here = api.dedup(pages, tmp_path / "local", write_kept=tmp_path / "local.jsonl")

    def fail(*_: object) -> None:
        raise OSError("the power is gone")

    monkeypatch.setattr(pipeline, "summarise", fail)
    with pytest.raises(OSError, match="power") as caught:
        dedup(pages, tmp_path / "out")
    assert "the same run with --resume continues" in caught.value.__notes__[0]
    monkeypatch.undo()
    written: list[str] = []
    write = Work.write

    def spy(work: Work, rows: DataFrame, path: str, *settings: Any, **named: Any) -> None:
        written.append(path.partition(".out.work/")[2])
        write(work, rows, path, *settings, **named)

    monkeypatch.setattr(Work, "write", spy)
    there = dedup(pages, tmp_path / "out", resume=True, write_kept=tmp_path / "spark.jsonl")
    assert "result/clusters.parquet" in written
    assert all(path.startswith(("result/", "kept-pages")) for path in written)
    assert not any("features" in path for path in written)
    assert answer(there) == answer(here)
    assert (tmp_path / "spark.jsonl").read_bytes() == (tmp_path / "local.jsonl").read_bytes()


def test_pages_of_any_size_in_small_batches(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A large page, a line on every page: the answer is the same with batches of few rows."""
    records = [
        {"id": str(n), "html": f"<p>The same line.<p>{long_html(TOPICS[n % 3])}<p>{n // 2}"}
        for n in range(60)
    ]
    records.append(
        {"id": "large", "html": "<p>".join(f"Sentence {n} of it." for n in range(30_000))}
    )
    pages = str(write_jsonl(tmp_path / "pages.jsonl", records))
    here = answer(api.dedup(pages, tmp_path / "local"))
    monkeypatch.setitem(session.DURING_A_RUN, "spark.sql.execution.arrow.maxBytesPerBatch", "20000")
    monkeypatch.setitem(BOUNDED_FILES, "parquet.block.size", "20000")
    assert answer(dedup(pages, tmp_path / "spark", broadcast_counts=0)) == here


def test_bounds_of_batches() -> None:
    batch = pa.record_batch([pa.array([b"x" * 100] * 90 + [b"x" * 5000])], ["page"])
    parts = list(bounded(batch, 1000))
    assert pa.concat_batches(parts).equals(batch)
    assert max(part.nbytes for part in parts[:-1]) <= 1000 + 100
    columns = [np.arange(10_000, dtype=np.uint64), np.ones(10_000, np.int64)]
    counts = pa.record_batch(columns, COUNTS)
    packed = packed_counts(counts, 12)
    assert pc.max(pc.binary_length(packed["keys"])).as_py() == 8 * ROW_COUNTS
    assert unpacked_counts(packed).equals(counts)
    groups = pa.table({"group": np.repeat(np.arange(50), 4), "text": ["x" * 50] * 200})
    tables = list(whole_groups(groups.to_batches(7), ["group"], 10**6, 1000))
    assert len(tables) > 5
    assert all(table.num_rows % 4 == 0 for table in tables)
    assert pa.concat_tables(tables).equals(groups)


@pytest.mark.parametrize("named", [True, False])
def test_data_frames(spark: SparkSession, tmp_path: Path, named: bool) -> None:
    rows = [(f"{n:02}", long_html(TOPICS[n % 3], edited=n > 5), n) for n in range(9)]
    frame = spark.createDataFrame([*rows, ("20", "", 20)], "name string, page string, n int")
    settings: dict[str, Any] = {"html": "page", "work": str(tmp_path / "work")}
    settings |= {"id": "name"} if named else {}
    before = spark.conf.get("spark.sql.session.timeZone")
    found = find_duplicates(frame, **settings).collect()
    expected = neardup.find_duplicates([row[1] for row in rows], html=True)
    if named:
        kept = {row["name"] for row in found if row["neardup_keep"]}
        assert kept == {rows[row][0] for row in np.flatnonzero(expected.keep)} | {"20"}
        assert {row["name"] for row in found if row["neardup_relation"] == "undecided"} == {"20"}
        return
    assert len({row["neardup_cluster"] for row in found}) == expected.keep.sum() + 1
    assert spark.conf.get("spark.sql.session.timeZone") == before
    unique = drop_duplicates(frame, html="page")
    assert unique.columns == frame.columns
    assert unique.count() == expected.keep.sum() + 1
    with pytest.raises(UsageError, match=r"the table has no column 'body'; it has: name, page"):
        drop_duplicates(frame, text="body")
    with pytest.raises(UsageError, match=r"no column html or text; the columns are: name$"):
        drop_duplicates(frame.select("name"))


def skewed() -> Iterator[dict[str, Any]]:
    """A third of the pages on one host, a tenth with one banner, an article with 300 copies."""
    number = 0
    banner = "<p>This site keeps cookies on your device to remember what you have read.</p>" * 2
    for batch in synth(600, 4, length="short", reprints=0.3):
        for row in batch.to_pylist():
            url = f"http://large.example/{number}" if number % 3 == 0 else row["url"]
            html = row["content"] + banner if number % 10 == 0 else row["content"]
            yield {"id": row["id"], "url": url, "html": html}
            number += 1
    for copy in range(300):
        url = f"http://mirror{copy}.example/"
        yield {"id": f"copy-{copy}", "url": url, "html": long_html("harbour")}


@pytest.mark.parametrize("method", ["own-text", "i-match"])
def test_skewed_pages_and_counts_that_no_task_can_hold(
    spark: SparkSession, tmp_path: Path, method: str
) -> None:
    pages = str(write_jsonl(tmp_path / "pages.jsonl", skewed()))
    here = answer(api.dedup(pages, tmp_path / "local", method=method))
    there = dedup(pages, tmp_path / "spark", method=method, partitions=3, broadcast_counts=0)
    assert answer(there) == here


def test_files_on_spark_connect(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPARK_REMOTE", "sc://host")
    with pytest.raises(UsageError, match="Spark Connect has no Spark context"):
        dedup("nowhere", tmp_path / "out")


def test_bad_requests(spark: SparkSession, tmp_path: Path) -> None:
    pages = str(write_jsonl(tmp_path / "pages.jsonl", [{"id": "empty"}]))
    with pytest.raises(InputError, match=r"1 skipped, the first at .*no-content"):
        dedup(pages, tmp_path / "out")
    with pytest.raises(InputError, match="no such file"):
        dedup(str(tmp_path / "nowhere"), tmp_path / "out")
    with pytest.raises(InputError, match="standard input"):
        dedup("-", tmp_path / "out")
    with pytest.raises(OutputError, match="holds no earlier result"):
        dedup(pages, tmp_path)
    with pytest.raises(UsageError, match="keep policy"):
        dedup(pages, tmp_path / "out", keep="tallest")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["pages.jsonl"]


def test_the_report_and_one_over_a_sample(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pages = str(halves(tmp_path)[1])
    api.dedup(pages, tmp_path / "local")
    dedup(pages, tmp_path / "out", report=False)
    assert not (tmp_path / "out" / "report.html").exists()
    dedup(pages, tmp_path / "out", force=True)
    here, there = ((tmp_path / name / "report.html").read_text() for name in ("local", "out"))
    there = re.sub(" \u00b7 pyspark [0-9.]+", "", there)
    assert there == here
    monkeypatch.setattr(pipeline, "sampled_outcome", partial(sampled_outcome, most=20))
    dedup(pages, tmp_path / "out", force=True)
    sampled = (tmp_path / "out" / "report.html").read_text()
    count = re.search(r"a sample of whole clusters: (\d+) of (\d+) pages", sampled)
    assert count is not None
    assert 0 < int(count[1]) < int(count[2])


def test_too_many_pages_for_all_pairs(spark: SparkSession, tmp_path: Path) -> None:
    records = [{"id": str(n), "html": long_html(TOPICS[n])} for n in range(4)]
    pages = str(write_jsonl(tmp_path / "pages.jsonl", records))
    with pytest.raises(UsageError, match="maximum_pages of 2"):
        dedup(pages, tmp_path / "out", method="two-phase", options={"maximum_pages": 2})


def test_each_task_reads_one_range(spark: SparkSession, work: Work) -> None:
    tasks = [[Range(f"file-{number}", "", "jsonl")] for number in range(23)]
    rows = reading.a_task_each(tasks, work).withColumn("part", f.spark_partition_id())
    assert {row.part: json.loads(row.ranges)[0]["path"] for row in rows.collect()} == {
        number: each[0].path for number, each in enumerate(tasks)
    }
