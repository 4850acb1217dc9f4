"""Duplicates in memory: the answers of `dedup`, from every kind of column and table."""

from __future__ import annotations

import importlib
import json
import tempfile
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import neardup
from neardup import UsageError
from neardup.methods.registry import BUILT_IN
from real_parts import missing
from sample_pages import ARTICLES, html, write_jsonl

FERRY, BRIDGE, TEA = ("\n\n".join(ARTICLES[name]) for name in ("ferry", "bridge", "茶"))
TEXTS = [FERRY, BRIDGE, FERRY + " ", None, TEA, "", TEA, "too short"]
CLUSTERS = [0, 1, 0, 3, 4, 5, 4, 7]
KEEP = [True, True, False, True, True, True, False, True]


def library(name: str) -> Any:
    """A library that is no dependency of neardup, but of its tests."""
    try:
        return importlib.import_module(name)
    except ImportError:
        missing(f"needs {name}")


# The same answers as `dedup`

LINES = st.sampled_from([line for name in ARTICLES for line in ARTICLES[name]])
SEPARATORS = st.sampled_from(["\n", "\n\n", "  \r\n", "\u3000\u3000", " \t ", "\xa0\n"])
PARTS = st.lists(st.one_of(LINES, LINES, SEPARATORS), max_size=8)
PAGES = st.lists(
    st.tuples(PARTS.map("\n".join), st.sampled_from(["", "http://a.example/1", "b.example"])),
    min_size=1,
    max_size=12,
)


def from_folder(records: list[dict[str, Any]], **asked: Any) -> dict[str, Any]:
    """What `dedup` says of records, by their positions."""
    with tempfile.TemporaryDirectory() as folder:
        path = write_jsonl(Path(folder, "pages.jsonl"), records)
        result = neardup.dedup(str(path), Path(folder, "result"), report=False, **asked)
        pages = {int(page["id"]): page for page in result.pages()}
        members: dict[str, int] = {}
        for row in sorted(pages):
            members.setdefault(pages[row]["cluster"], row)
        return {
            "clusters": {row: members[page["cluster"]] for row, page in pages.items()},
            "kept": {row: int(page["duplicate_of"] or row) for row, page in pages.items()},
            "relations": {row: page["relation"] for row, page in pages.items()},
            "similarities": {row: page["similarity"] for row, page in pages.items()},
            "pairs": sorted(
                (int(pair["a"]), int(pair["b"]), pair["relation"], pair["similarity"])
                for pair in result.pairs()
            ),
            "evidence": {(int(p["a"]), int(p["b"])): p["evidence"] for p in result.pairs()},
        }


def from_memory(records: list[dict[str, Any]], rows: list[int], **asked: Any) -> dict[str, Any]:
    texts = [record.get("text", record.get("html")) for record in records]
    urls = [record["url"] for record in records]
    result = neardup.find_duplicates(texts, urls=urls, html="html" in records[0], **asked)
    table = result.to_arrow().to_pylist()
    pairs = result.pairs_with_evidence().to_pylist()
    return {
        "clusters": {row: table[row]["cluster"] for row in rows},
        "kept": {row: int(result.kept[row]) for row in rows},
        "relations": {row: table[row]["relation"] for row in rows},
        "similarities": {row: table[row]["similarity"] for row in rows},
        "pairs": sorted((p["a"], p["b"], p["relation"], p["similarity"]) for p in pairs),
        "evidence": {(p["a"], p["b"]): json.loads(p["evidence"]) for p in pairs},
    }


@pytest.mark.parametrize("method", ["own-text", "minhash", "exact"])
@settings(max_examples=12)
@given(pages=PAGES)
def test_texts_get_the_answers_of_dedup(pages: list[tuple[str, str]], method: str) -> None:
    pages = [*pages, (FERRY, ""), (FERRY, "http://a.example/2")]
    records = [
        {"id": f"{row:04}", "text": text, "url": url} for row, (text, url) in enumerate(pages)
    ]
    expected = from_folder(records, method=method)
    rows = [row for row, (text, _) in enumerate(pages) if text]
    assert from_memory(records, rows, method=method) == expected


@pytest.mark.parametrize("method", BUILT_IN)
def test_every_method_gives_the_answers_of_dedup(method: str) -> None:
    texts = [FERRY, BRIDGE, f"{FERRY}\nOne more line of text here.", TEA, TEA, FERRY.upper()]
    records = [
        {"id": f"{row}", "text": text, "url": f"http://{row % 2}.example/{row}"}
        for row, text in enumerate(texts)
    ]  # one method names pages in its evidence: by their positions
    expected = from_folder(records, method=method)
    assert from_memory(records, list(range(len(texts))), method=method) == expected


def test_pages_of_html_get_the_answers_of_dedup() -> None:
    records = [
        {"id": f"{row:04}", "html": page, "url": f"http://{row}.example/"}
        for row, page in enumerate([html("ferry"), html("bridge"), html("ferry", wrap="div")])
    ]
    expected = from_folder(records, keep="longest")
    assert from_memory(records, [0, 1, 2], keep="longest") == expected


def test_ties_go_to_the_earlier_row_beyond_row_nine() -> None:
    result = neardup.find_duplicates([BRIDGE, *[FERRY] * 11], keep="first")
    assert result.kept.tolist() == [0, *[1] * 11]


# Columns

COLUMNS: dict[str, Callable[[], Any]] = {
    "list": lambda: TEXTS,
    "tuple": lambda: tuple(TEXTS),
    "generator": lambda: (text for text in TEXTS),
    "numpy": lambda: np.array(TEXTS, object),
    "arrow": lambda: pa.array(TEXTS),
    "arrow view": lambda: pa.array(TEXTS, pa.string_view()),
    "arrow dictionary": lambda: pa.array(TEXTS).dictionary_encode(),
    "arrow chunks": lambda: pa.chunked_array([TEXTS[:3], [], TEXTS[3:]]),
    "arrow slice": lambda: pa.array(["before", *TEXTS, "after"])[1:-1],
    "bytes": lambda: [text if text is None else text.encode("gb18030") for text in TEXTS],
    "capsule": lambda: Capsule(pa.array(TEXTS)),
    "pandas": lambda: library("pandas").Series(TEXTS),
    "pandas string": lambda: library("pandas").Series(TEXTS, dtype="string"),
    "pandas category": lambda: library("pandas").Series(TEXTS, dtype="category"),
    "polars": lambda: library("polars").Series(TEXTS),
    "polars category": lambda: library("polars").Series(TEXTS, dtype=library("polars").Categorical),
}


class Capsule:
    """Something that has nothing but the Arrow PyCapsule interface."""

    def __init__(self, array: pa.Array) -> None:
        self._array = array

    def __arrow_c_array__(self, requested_schema: object = None) -> Any:
        return self._array.__arrow_c_array__(requested_schema)


@pytest.mark.parametrize("kind", COLUMNS)
def test_every_kind_of_column_is_taken(kind: str) -> None:
    result = neardup.find_duplicates(COLUMNS[kind]())
    assert result.clusters.tolist() == CLUSTERS
    assert result.keep.tolist() == KEEP
    assert result.kept.tolist() == CLUSTERS


def test_the_result_as_tables() -> None:
    result = neardup.find_duplicates(TEXTS)
    rows = result.to_arrow().to_pylist()
    assert rows[2] == {
        "cluster": 0,
        "keep": False,
        "duplicate_of": 0,
        "relation": "same",
        "similarity": 1.0,
    }
    undecided = [row for row, each in enumerate(rows) if each["relation"] == "undecided"]
    assert undecided == [3, 5, 7]  # null, empty, too short
    assert [(pair["a"], pair["b"]) for pair in result.pairs.to_pylist()] == [(0, 2), (4, 6)]
    assert repr(result) == "<Duplicates: 8 rows, 2 duplicates>"
    library("pandas")
    assert result.to_pandas()["keep"].tolist() == KEEP


def test_any_two_rows_can_be_explained() -> None:
    result = neardup.find_duplicates(TEXTS)
    assert result.explain(2, 0).relation == "same"
    assert "why" in result.explain(0, 1).evidence
    assert result.explain(0, 3).evidence["why"] == "row 3 has no text"
    with pytest.raises(UsageError, match="no row 8: rows go from 0 to 7"):
        result.explain(0, 8)


@pytest.mark.parametrize("texts", [[], [None, ""], pa.array([], pa.string())])
def test_no_text_at_all_is_no_error(texts: Any) -> None:
    result = neardup.find_duplicates(texts)
    assert result.keep.tolist() == [True] * len(texts)
    assert result.pairs.num_rows == result.pairs_with_evidence().num_rows == 0
    assert result.to_arrow().num_rows == len(texts)


def test_a_threshold_is_a_similarity() -> None:
    longer = FERRY + "\n" + BRIDGE[:150]
    [pair] = neardup.find_duplicates([FERRY, longer], threshold=0.5).pairs.to_pylist()
    assert pair["relation"] == "near"
    strict = neardup.find_duplicates([FERRY, longer], threshold=pair["similarity"] + 0.01)
    assert strict.keep.all()
    with pytest.raises(UsageError, match="simhash has no similarity threshold"):
        neardup.find_duplicates(TEXTS, method="simhash", threshold=0.8)


def test_times_decide_what_is_newest() -> None:
    times = [datetime(2024, 5, day, tzinfo=UTC) for day in (2, 3, 1)]
    result = neardup.find_duplicates([FERRY] * 3, times=times, keep="newest")
    assert result.keep.tolist() == [False, True, False]


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        (FERRY, "text must be a list, an array or a series, not a str"),
        (None, "not None"),
        ({"a": FERRY}, "not a dict"),
        ([1, 2], "text must be texts, not values of type int64"),
        ([FERRY, 1], "text cannot be read as one column"),
    ],
)
def test_what_is_no_column_of_texts_is_refused(texts: Any, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        neardup.find_duplicates(texts)


def test_columns_of_two_lengths_are_refused() -> None:
    with pytest.raises(UsageError, match="one length; they have: text 8, urls 1"):
        neardup.find_duplicates(TEXTS, urls=["http://a.example/"])


# Tables

ROWS = {
    "number": list(range(8)),
    "body": TEXTS,
    "link": [f"http://{row}.example/" for row in range(8)],
}
KEPT = [row for row, keep in enumerate(KEEP) if keep]


def numbers(table: Any) -> list[int]:
    """The column `number` of any table."""
    if type(table).__name__ == "DuckDBPyRelation":
        return [row[0] for row in table.project("number").fetchall()]
    return list(pa.array(table["number"]).to_pylist())


TABLES: dict[str, Callable[[], Any]] = {
    "arrow": lambda: pa.table(ROWS),
    "arrow batch": lambda: pa.record_batch(ROWS),
    "pandas": lambda: library("pandas").DataFrame(ROWS),
    "polars": lambda: library("polars").DataFrame(ROWS),
    "datasets": lambda: library("datasets").Dataset.from_dict(ROWS),
    "duckdb": lambda: library("duckdb").connect().from_arrow(pa.table(ROWS)),
}


@pytest.mark.parametrize("kind", TABLES)
def test_a_table_comes_back_as_it_was_without_its_duplicates(kind: str) -> None:
    table = TABLES[kind]()
    kept = neardup.drop_duplicates(table, text="body", url="link")
    assert type(kept) is type(table)
    assert numbers(kept) == KEPT
    assert numbers(table) == ROWS["number"]  # what was given is as it was


def test_a_pandas_frame_keeps_its_index_and_types() -> None:
    pandas = library("pandas")
    frame = pandas.DataFrame(ROWS, index=list("abcdefgh")).astype({"number": "Int16"})
    kept = neardup.drop_duplicates(frame, text="body")
    assert kept.index.tolist() == ["a", "b", "d", "e", "f", "h"]
    assert kept.dtypes.equals(frame.dtypes)


def test_a_duckdb_relation_stays_in_its_connection() -> None:
    connection = library("duckdb").connect()
    connection.execute("CREATE TABLE labels AS SELECT range AS number FROM range(8)")
    kept = neardup.drop_duplicates(connection.from_arrow(pa.table(ROWS)), text="body")
    kept.create_view("kept")
    [(count,)] = connection.sql("SELECT count(*) FROM kept JOIN labels USING (number)").fetchall()
    assert count == len(KEPT)


def test_columns_with_the_usual_names_need_not_be_named() -> None:
    table = pa.table({"text": [FERRY, None, FERRY], "html": [None, html("bridge"), ""]})
    assert neardup.drop_duplicates(table).num_rows == 2


def test_keep_says_which_row_stays() -> None:
    table = pa.table({"text": [FERRY, FERRY + "\nA line that the other has not."], "n": [1, 2]})
    for keep, number in (("longest", 2), ("first", 1)):
        kept = neardup.drop_duplicates(table, keep=keep, threshold=0.5)
        assert kept["n"].to_pylist() == [number]


def test_with_ids_ties_go_to_the_smaller_id() -> None:
    table = pa.table({"text": [FERRY, FERRY], "key": [7, 3]})
    assert neardup.drop_duplicates(table, id="key")["key"].to_pylist() == [3]
    assert neardup.drop_duplicates(table)["key"].to_pylist() == [7]
    repeated = pa.table({"text": [FERRY, BRIDGE], "key": ["x", "x"]})
    with pytest.raises(UsageError, match="several rows have the id 'x'; omit `id`"):
        neardup.drop_duplicates(repeated, id="key")


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (
            ["key", "body"],
            'no column html or text; the columns are: key, body; .*: text="body"$',
        ),
        (["key", "raw_html"], 'html="raw_html"$'),
        (["key", "number"], "no column html or text; the columns are: key, number$"),
    ],
)
def test_a_table_without_pages_lists_its_columns(names: list[str], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        neardup.drop_duplicates(pa.table({name: ["x"] for name in names}))


def test_a_wrong_column_is_an_error_that_lists_the_columns() -> None:
    with pytest.raises(UsageError, match="no column 'bdy'; it has: number, body, link"):
        neardup.drop_duplicates(pa.table(ROWS), text="bdy")


@pytest.mark.parametrize("table", [None, [1], {"text": TEXTS}, "table"])
def test_what_is_no_table_is_refused(table: Any) -> None:
    with pytest.raises(UsageError, match="the table must be an Arrow table, a pandas"):
        neardup.drop_duplicates(table)


def test_tables_without_rows_yet_say_what_to_do() -> None:
    with pytest.raises(UsageError, match=r"pass frame\.collect\(\)"):
        neardup.drop_duplicates(library("polars").DataFrame(ROWS).lazy(), text="body")
    datasets = library("datasets")
    splits = datasets.DatasetDict({"train": datasets.Dataset.from_dict(ROWS)})
    with pytest.raises(UsageError, match="one split of the dataset; it has: train"):
        neardup.drop_duplicates(splits, text="body")
