"""Whole runs of the Spark engine: every form of input, earlier results, and skew."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from archive_bytes import http, record
from neardup import api
from neardup.errors import InputError, OutputError, UsageError
from neardup.evaluation.synth import synth
from neardup.local import result
from neardup.model import RawPage, Source
from neardup.pages.writers import writer_for
from neardup.schemas import FORMAT
from neardup.spark.pipeline import dedup
from sample_pages import long_html, sample_records, write_jsonl
from spark_runs import GROUP, answer, spark

__all__ = ["spark"]
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


def test_every_form_of_input(spark: SparkSession, tmp_path: Path) -> None:
    write_every_form(tmp_path / "in")
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
    rows = [row for batch in synth(240, 9, length="short") for row in batch.to_pylist()]
    records = [{"id": row["id"], "url": row["url"], "html": row["content"]} for row in rows]
    records += [{"id": f"x{n}", "html": long_html(TOPICS[n % 3], edited=n > 6)} for n in range(12)]
    parts = records[::2], [*records[1::2], records[0]]
    return [write_jsonl(folder / f"{n}.jsonl", part) for n, part in enumerate(parts)]


def test_new_pages_among_those_of_an_earlier_run(spark: SparkSession, tmp_path: Path) -> None:
    first, second = map(str, halves(tmp_path))
    answers = []
    for engine, run in (("local", api.dedup), ("spark", dedup)):
        earlier = tmp_path / f"{engine}-1"
        run(first, earlier)
        answers.append(answer(run(second, tmp_path / engine, against=earlier)))
        names = {row["id"]: row["cluster"] for row in answer(earlier)["pages"]}
        now = {row["id"]: row["cluster"] for row in answers[-1]["pages"]}
        assert all(now[id_] == name for id_, name in names.items())
    assert answers[0] == answers[1]


def test_an_earlier_result_of_another_kind_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    pages = str(write_jsonl(tmp_path / "pages.jsonl", sample_records()))
    with pytest.raises(InputError, match="holds no result of an earlier run"):
        dedup(pages, tmp_path / "out", against=tmp_path)
    api.dedup(pages, tmp_path / "local")
    with pytest.raises(InputError, match="no result of the Spark engine"):
        dedup(pages, tmp_path / "out", against=tmp_path / "local")
    dedup(pages, tmp_path / "spark", method="exact")
    with pytest.raises(UsageError, match="was made with method exact"):
        dedup(pages, tmp_path / "out", against=tmp_path / "spark")
    summary = tmp_path / "spark" / "summary.json"
    summary.write_text(json.dumps({**json.loads(summary.read_bytes()), "format": FORMAT + 1}))
    summary.with_name(".summary.json.crc").unlink()  # Hadoop's checksum of what was there before
    with pytest.raises(InputError, match=f"was written in format {FORMAT + 1} "):
        dedup(pages, tmp_path / "out", against=tmp_path / "spark", method="exact")


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


def test_too_many_pages_for_all_pairs(spark: SparkSession, tmp_path: Path) -> None:
    records = [{"id": str(n), "html": long_html(TOPICS[n])} for n in range(4)]
    pages = str(write_jsonl(tmp_path / "pages.jsonl", records))
    with pytest.raises(UsageError, match="maximum_pages of 2"):
        dedup(pages, tmp_path / "out", method="two-phase", options={"maximum_pages": 2})
