"""Results and stores of earlier versions work as they are: old option names, no view."""

from __future__ import annotations

import json
import sqlite3
import warnings
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from neardup import Index, StoreError, dedup, html_page, recluster
from neardup.schemas import FORMAT
from sample_pages import long_html, sample_records, write_jsonl

OLD_NAMES = {"threshold": "near", "min_units": "few", "prose_share": "told"}


def as_before(options: dict[str, Any]) -> dict[str, Any]:
    """The options of own-text as version 0.1 wrote them."""
    return {OLD_NAMES.get(name, name): value for name, value in options.items()}


def test_a_result_of_an_earlier_version_is_used_again(tmp_path: Path) -> None:
    pages = write_jsonl(tmp_path / "pages.jsonl", sample_records())
    dedup(str(pages), tmp_path / "first", report=False)
    path = tmp_path / "first" / "summary.json"
    summary = json.loads(path.read_text("utf-8"))
    options = summary["options"]
    del summary["view"]
    summary["options"] = as_before(options)
    path.write_text(json.dumps(summary), "utf-8")
    new = write_jsonl(tmp_path / "new.jsonl", [{"id": "new", "html": long_html("harbour")}])
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # nobody has to be told of names they did not write
        more = dedup(str(new), tmp_path / "more", against=tmp_path / "first", report=False)
        same = recluster(tmp_path / "first", tmp_path / "same", threshold=0.7, report=False)
    assert more.summary["counts"]["pages"] == summary["counts"]["pages"] + 1
    assert same.summary["options"] == options


def test_a_store_of_an_earlier_version_is_used_again(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'store.db'}"
    with Index.open(url) as index:
        index.add(html_page(long_html("harbour"), id="a"))
    with closing(sqlite3.connect(tmp_path / "store.db")) as db, db:
        db.execute("DELETE FROM settings WHERE name = 'view'")
        [(options,)] = db.execute("SELECT value FROM settings WHERE name = 'options'").fetchall()
        old = json.dumps(as_before(json.loads(options)))
        db.execute("UPDATE settings SET value = ? WHERE name = 'options'", (old,))
    with Index.open(url) as index:
        assert index.add(html_page(long_html("harbour"), id="b")).of == "a"
    with Index.open(url, "own-text", {"threshold": 0.7}) as index:
        assert index.method.options.threshold == 0.7


def test_a_store_of_an_earlier_format_is_upgraded_from_its_text(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'store.db'}"
    with Index.open(url) as index:
        index.add_many([html_page(long_html("harbour"), id=name) for name in ("a", "b")])
    with closing(sqlite3.connect(tmp_path / "store.db")) as db, db:
        db.execute("UPDATE settings SET value = ? WHERE name = 'format'", (str(FORMAT - 1),))
        db.execute("DELETE FROM features")  # as if nothing in them could be read
        db.execute("DELETE FROM sorted_keys")
        db.execute("DELETE FROM recent_keys")
    with pytest.raises(StoreError, match=f"neardup recheck --store {url}"):
        Index.open(url)
    with Index.open(url, create=False, upgrade=True) as index:
        assert index.recheck().pages == 2
    with Index.open(url) as index:
        assert index.add(html_page(long_html("harbour"), id="c")).duplicate


def test_a_store_of_an_earlier_format_without_text_is_refused(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'store.db'}"
    Index.open(url, keep_text=False).close()
    with closing(sqlite3.connect(tmp_path / "store.db")) as db, db:
        db.execute("UPDATE settings SET value = ? WHERE name = 'format'", (str(FORMAT - 1),))
    with pytest.raises(StoreError, match="add the pages to a new store"):
        Index.open(url, upgrade=True)


def test_an_empty_store_of_an_earlier_format_is_upgraded(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'store.db'}"
    Index.open(url).close()
    with closing(sqlite3.connect(tmp_path / "store.db")) as db, db:
        db.execute("UPDATE settings SET value = ? WHERE name = 'format'", (str(FORMAT - 1),))
    with Index.open(url, upgrade=True) as index:
        assert index.recheck().pages == 0
    Index.open(url).close()
