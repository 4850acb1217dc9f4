"""Columns by name: Parquet, Arrow, CSV and JSON lines, nested ones too, and kept rows whole."""

from __future__ import annotations

import csv
import gzip
import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

import neardup
from neardup import InputError, OutputError, RawPage, UsageError
from neardup.model import Skip, SkipReason
from neardup.pages import Limits
from neardup.pages.limits import Columns
from neardup.pages.readers import read_records
from sample_pages import ARTICLES

FERRY, BRIDGE, TEA = ("\n".join(ARTICLES[name]) for name in ("ferry", "bridge", "茶"))
ROWS = pa.table(
    {
        "key": pa.array([7, 8, 9], pa.int16()),
        "body": [FERRY, BRIDGE, FERRY],
        "link": ["http://a.example/", "http://b.example/", "http://c.example/"],
        "score": pa.array([0.5, None, 2.5], pa.float32()),
        "day": pa.array([1, 2, 3], pa.date32()),
        "tags": [["x"], [], None],
        "kind": pa.array(["news", "news", "blog"]).dictionary_encode(),
    }
)
FLAT = ROWS.select(["key", "body", "link"])
NAMED = {"text": "body", "id": "key", "url": "link"}


def write_lines(table: pa.Table, path: Path) -> None:
    path.write_text("\n".join(json.dumps(row) for row in table.to_pylist()), encoding="utf-8")


def write_csv(table: pa.Table, path: Path) -> None:
    with path.open("w", newline="", encoding="utf-8-sig") as file:
        writer = csv.writer(file)
        writer.writerow(table.column_names)
        writer.writerows([row.values() for row in table.to_pylist()])


def write_stream(table: pa.Table, path: Path) -> None:
    with pa.ipc.new_stream(str(path), table.schema) as writer:
        writer.write_table(table)


FILES: dict[str, Callable[[pa.Table, Path], object]] = {
    "pages.parquet": pq.write_table,
    "pages.arrow": lambda table, path: pa.feather.write_feather(table, str(path)),
    "pages.ipc": write_stream,
    "pages.jsonl": write_lines,
    "pages.csv": write_csv,
}


def pages_of(path: Path, columns: dict[str, str]) -> list[RawPage | Skip]:
    return list(read_records([str(path)], Limits(columns=Columns.named(columns))))


@pytest.mark.parametrize("name", FILES)
def test_columns_are_read_by_the_names_they_are_given(name: str, tmp_path: Path) -> None:
    FILES[name](FLAT, tmp_path / name)
    pages = pages_of(tmp_path / name, NAMED)
    assert [(page.id, page.url) for page in pages if isinstance(page, RawPage)] == [
        ("7", "http://a.example/"),
        ("8", "http://b.example/"),
        ("9", "http://c.example/"),
    ]
    assert [page.body.decode() for page in pages if isinstance(page, RawPage)] == [
        *(FERRY, BRIDGE, FERRY)
    ]
    assert not any(page.is_html for page in pages if isinstance(page, RawPage))


@pytest.mark.parametrize("name", FILES)
def test_a_file_without_pages_lists_its_columns_and_guesses(name: str, tmp_path: Path) -> None:
    FILES[name](FLAT, tmp_path / name)
    first = pages_of(tmp_path / name, {})[0]
    assert isinstance(first, Skip)
    assert first.reason is SkipReason.NO_CONTENT
    assert first.detail == (
        "no column html or text; the columns are: key, body, link; "
        "name the one that holds the pages: --text-column body"
    )
    with pytest.raises(InputError, match="--text-column body"):
        neardup.dedup(str(tmp_path / name), tmp_path / "result")


def test_a_wrong_name_is_told_with_the_columns(tmp_path: Path) -> None:
    pq.write_table(ROWS.select(["key", "link"]), tmp_path / "pages.parquet")
    [skip] = pages_of(tmp_path / "pages.parquet", {"text": "lnik"})
    assert isinstance(skip, Skip)
    assert skip.detail.startswith("no column lnik; the columns are: key, link")


@pytest.mark.parametrize("name", ["pages.parquet", "pages.arrow", "pages.jsonl"])
def test_a_dot_leads_into_nested_columns(name: str, tmp_path: Path) -> None:
    nested = pa.table(
        {
            "page": [{"text": {"plain": FERRY}, "url": "http://a.example/"}, None],
            "a.b": ["one", "two"],
        }
    )
    FILES[name](nested, tmp_path / name)
    columns = {"text": "page.text.plain", "url": "page.url", "id": "a.b"}
    first, second = pages_of(tmp_path / name, columns)
    assert isinstance(first, RawPage)
    assert (first.id, first.url, first.body.decode()) == ("one", "http://a.example/", FERRY)
    assert isinstance(second, Skip)
    [unnamed, _] = pages_of(tmp_path / name, {}) if name == "pages.jsonl" else [None, None]
    if isinstance(unnamed, Skip):
        assert "page.text.plain, page.url, a.b" in unnamed.detail


def test_who_names_the_text_does_not_mean_the_html(tmp_path: Path) -> None:
    table = pa.table({"html": ["<p>markup</p>"], "plain": [FERRY]})
    pq.write_table(table, tmp_path / "pages.parquet")
    [page] = pages_of(tmp_path / "pages.parquet", {"text": "plain"})
    assert isinstance(page, RawPage)
    assert not page.is_html
    [page] = pages_of(tmp_path / "pages.parquet", {"text": "plain", "html": "html"})
    assert isinstance(page, RawPage)
    assert page.is_html


def test_titles_and_times_have_names_too(tmp_path: Path) -> None:
    table = pa.table(
        {"text": [FERRY], "heading": ["Ferry"], "seen": [datetime(2024, 5, 1, tzinfo=UTC)]}
    )
    pq.write_table(table, tmp_path / "pages.parquet")
    [page] = pages_of(tmp_path / "pages.parquet", {"title": "heading", "time": "seen"})
    assert isinstance(page, RawPage)
    assert (page.title, page.time) == ("Ferry", datetime(2024, 5, 1, tzinfo=UTC))


def test_what_columns_hold_is_one_of_six() -> None:
    with pytest.raises(UsageError, match="columns hold html, text, id, url, title, time, not 'b'"):
        Columns.named({"b": "body"})


# CSV


@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_csv_with_quotes_line_ends_and_other_separators(separator: str, tmp_path: Path) -> None:
    rows = [["id", "text"], ["1", 'a "quoted"\r\nsecond, line;\t'], ["2", "中文"]]
    path = tmp_path / "pages.csv.gz"
    with gzip.open(path, "wt", newline="", encoding="utf-8") as file:
        csv.writer(file, delimiter=separator).writerows(rows)
    pages = pages_of(path, {})
    assert [page.body.decode() for page in pages if isinstance(page, RawPage)] == [
        rows[1][1],
        rows[2][1],
    ]


def test_bad_csv_is_skipped_with_the_reason(tmp_path: Path) -> None:
    path = tmp_path / "pages.csv"
    path.write_bytes(b"id,text\n1,one\n2,two,three\n3,four\n")
    pages = pages_of(path, {})
    assert [isinstance(page, Skip) for page in pages] == [False, True, False]
    assert isinstance(pages[1], Skip)
    assert pages[1].detail == "3 values for 2 columns"
    path.write_bytes("id,text\n1,日本\n".encode("shift_jis"))
    [skip] = pages_of(path, {})
    assert isinstance(skip, Skip)
    assert skip.detail == "not UTF-8: save the file as UTF-8"
    path.write_bytes(b"id,text\n1,one\n2,caf\xe9\n3,a\rb\n4,four\n")
    pages = pages_of(path, {})
    assert [isinstance(page, Skip) for page in pages] == [False, True, True, False]
    path.write_bytes(b'id,text\n1,"' + b"x" * 3_000 + b"\n")
    [skip] = list(read_records([str(path)], Limits(page_bytes=100)))
    assert isinstance(skip, Skip)  # the quote has no end; a value this long is no page


@pytest.mark.parametrize("content", [b"ARROW1\0\0nothing", b"\xff\xff\xff\xff\1\0\0\0", b"x"])
def test_a_damaged_arrow_file_is_skipped(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "pages.arrow").write_bytes(content)
    with pytest.raises(InputError, match="not an Arrow file"):
        pages_of(tmp_path / "pages.arrow", {})


# Kept rows


def kept(tmp_path: Path, name: str, target: str, table: pa.Table = ROWS) -> Path:
    FILES[name](table, tmp_path / name)
    path = tmp_path / target
    neardup.dedup(
        str(tmp_path / name), tmp_path / "result", columns=NAMED, write_kept=path, report=False
    )
    return path


@pytest.mark.parametrize("name", ["pages.parquet", "pages.arrow", "pages.ipc"])
@pytest.mark.parametrize("target", ["kept.parquet", "kept.arrow"])
def test_kept_rows_have_every_column_in_its_type(name: str, target: str, tmp_path: Path) -> None:
    path = kept(tmp_path, name, target)
    read: Any = pq.read_table if target.endswith("parquet") else pa.feather.read_table
    assert read(path).cast(ROWS.schema).equals(ROWS.slice(0, 2))
    if not (name == "pages.parquet" or target == "kept.parquet"):  # Parquet has its own types
        assert read(path).schema == ROWS.schema


def test_kept_csv_rows_are_as_they_were(tmp_path: Path) -> None:
    path = kept(tmp_path, "pages.csv", "kept.csv", FLAT)
    with path.open(newline="", encoding="utf-8") as file:
        rows = list(csv.reader(file))
    assert rows == [
        ["key", "body", "link"],
        ["7", FERRY, "http://a.example/"],
        ["8", BRIDGE, "http://b.example/"],
    ]


def test_kept_lines_are_as_they_were(tmp_path: Path) -> None:
    path = kept(tmp_path, "pages.jsonl", "kept.jsonl", FLAT)
    lines = (tmp_path / "pages.jsonl").read_text("utf-8").splitlines()
    assert path.read_text("utf-8").splitlines() == lines[:2]


def test_rows_of_a_table_as_lines_have_all_columns_and_no_copy_of_the_text(tmp_path: Path) -> None:
    path = kept(tmp_path, "pages.parquet", "kept.jsonl")
    first = json.loads(path.read_text("utf-8").splitlines()[0])
    assert first["key"] == 7
    assert first["body"] == FERRY
    assert first["score"] == 0.5
    assert first["kind"] == "news"
    assert "text" not in first


def test_pages_of_two_forms_do_not_go_into_one_csv(tmp_path: Path) -> None:
    write_csv(FLAT, tmp_path / "a.csv")
    write_lines(pa.table({"body": [TEA], "extra": ["x"]}), tmp_path / "b.jsonl")
    with pytest.raises(OutputError, match=r"write \.jsonl"):
        neardup.dedup(
            [str(tmp_path / "a.csv"), str(tmp_path / "b.jsonl")],
            tmp_path / "result",
            columns=NAMED,
            write_kept=tmp_path / "kept.csv",
        )
    assert not (tmp_path / "kept.csv").exists()
