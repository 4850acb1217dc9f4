"""What the owner of a site gets: actions, redirects, and tables for spreadsheets."""

from __future__ import annotations

import csv
from pathlib import Path

import pyarrow as pa
import pytest
from openpyxl import load_workbook

import neardup
from neardup.errors import UsageError
from neardup.pages import Limits
from neardup.pages.urls import host
from neardup.report.actions import (
    Action,
    Canonical,
    action_on,
    canonical_states,
    shared_words,
    write_redirects,
    write_workbook,
)
from neardup.report.findings import hosts_of
from report_runs import Given, handmade_run
from sample_pages import html, write_jsonl

KEPT, COPY = "https://a.example/1", "https://a.example/2"
FORMULA = '=HYPERLINK("http://evil.example";"x")'


@pytest.fixture
def pages(tmp_path: Path) -> Path:
    """Copies on one host and on another; one has the name of a formula."""
    records = [
        {"id": "a", "url": KEPT, "html": html("ferry")},
        {"id": FORMULA, "url": f"https://a.example/?q={FORMULA}", "html": html("ferry")},
        {"id": "'quoted", "url": "https://b.example/ferry", "html": html("ferry")},
        {"id": 'tea, "green"\nand 茶', "url": "", "html": html("茶")},
    ]
    return write_jsonl(tmp_path / "pages.jsonl", records)


def test_csv_is_harmless_and_reads_back(pages: Path, tmp_path: Path) -> None:
    plain = neardup.dedup(str(pages), tmp_path / "plain")
    tables = neardup.dedup(str(pages), tmp_path / "csv", format="csv")
    for name in ("pages", "pairs", "rejected", "skipped"):
        assert [*getattr(tables, name)()] == [*getattr(plain, name)()]
    for name in ("clusters", "pairs", "actions"):
        with (tables.folder / f"{name}.csv").open(encoding="utf-8-sig", newline="") as file:
            cells = [cell for row in csv.reader(file) for cell in row]
        assert not [cell for cell in cells if cell.startswith(("=", "+", "-", "@", "\t", "\r"))]
        assert f"'{FORMULA}" in cells or name == "actions"
    again = neardup.recluster(tables.folder, tmp_path / "again", threshold=0.9, format="csv")
    assert again.kept() == plain.kept()


def test_a_workbook_has_the_tables_as_text(pages: Path, tmp_path: Path) -> None:
    result = neardup.dedup(str(pages), tmp_path / "out", format="xlsx")
    book = load_workbook(result.folder / "result.xlsx")
    assert book.sheetnames == ["actions", "clusters", "pairs", "rejected", "skipped"]
    rows = [[cell.value for cell in row] for row in book["clusters"]]
    assert rows[0] == ["id", "url", "cluster", "kept", "duplicate_of", "similarity", "relation"]
    listed = [[*page.values()] for page in result.pages()]
    assert [[cell or None for cell in row] for row in rows[1:]] == [
        [cell or None for cell in row] for row in listed
    ]
    assert all(cell.data_type != "f" for sheet in book for row in sheet for cell in row)
    assert book["pairs"]["E1"].value == "why"


def test_long_tables_go_on_in_the_next_sheet(tmp_path: Path) -> None:
    import pyarrow as pa

    batch = pa.record_batch(
        {"n": pa.array(range(5)), "t": pa.array(["\x00<&>", "x" * 40_000, "", None, "茶"])}
    )
    tables = [("t", batch.schema, [batch]), ("none", batch.schema, [])]
    write_workbook(tmp_path / "b.xlsx", tables, rows_of_a_sheet=3)
    book = load_workbook(tmp_path / "b.xlsx")
    assert book.sheetnames == ["t", "t 2", "t 3", "none"]
    assert [cell.value for sheet in book for cell in sheet["A"]] == [
        "n",
        0,
        1,
        "n",
        2,
        3,
        "n",
        4,
        "n",
    ]
    assert book["t"]["B2"].value == "\ufffd<&>"
    assert len(book["t"]["B3"].value) == 32_767


def state_of(*addresses: str) -> str:
    [state] = canonical_states(*(pa.array([address]) for address in addresses)).to_pylist()
    return str(state)


@pytest.mark.parametrize(
    ("declared", "state", "action"),
    [
        ("", Canonical.MISSING, Action.REDIRECT),
        ("http://a.example/1", Canonical.RIGHT, Action.NOTHING),
        ("http://a.example/2", Canonical.ITSELF, Action.REDIRECT),
        ("http://a.example/3", Canonical.CONFLICTING, Action.REDIRECT),
    ],
)
def test_canonical_links(declared: str, state: Canonical, action: Action) -> None:
    assert state_of(COPY, declared, KEPT, "") == state
    assert action_on(COPY, KEPT, state) is action


def test_other_hosts_and_pages_without_an_address() -> None:
    assert state_of(COPY, "http://c.example/", KEPT, "http://c.example/") == Canonical.RIGHT
    assert state_of("", "http://c.example/", "", "") == Canonical.CONFLICTING
    assert action_on("https://b.example/", KEPT, Canonical.MISSING) is Action.LINK
    assert action_on("", KEPT, Canonical.MISSING) is Action.REMOVE
    assert action_on(KEPT, KEPT, Canonical.MISSING) is Action.REMOVE


def test_no_address_can_write_a_line_of_its_own(tmp_path: Path) -> None:
    hostile = 'https://a.example/"; return 301 $x;}\n{ "y" ~z \\ 茶'
    pages = [Given("a", url=KEPT), Given("b", url=hostile), Given("c", url="https://b.example/")]
    run = handmade_run(tmp_path, pages, [], [[0, 1, 2]])
    write_redirects(tmp_path, run.outcome)
    nginx = (tmp_path / "redirects.nginx.conf").read_text("ascii").splitlines()
    written = [line for line in nginx if KEPT in line]
    assert len(written) == 1
    assert written[0].count('"') == 4
    assert "$" not in written[0]
    assert nginx[-1] == "}"
    apache = (tmp_path / "redirects.apache.txt").read_text("ascii").splitlines()
    assert [line.split(" ")[1] for line in apache if line.startswith("a.example")] == [KEPT]


def test_titles_that_pages_of_a_host_share(tmp_path: Path) -> None:
    pages = [
        Given("a", "One.", "Our News, page 1", "https://a.example/1"),
        Given("b", "Two.", "our news – Page 2", "https://a.example/2"),
        Given("c", "Three.", "Our news, page 3", "https://b.example/3"),
        Given("d", "Four.", "", "https://a.example/4"),
        Given("e", "One.", "Our news, page 1", "https://a.example/5"),
    ]
    run = handmade_run(tmp_path, pages, [], [[0, 4]])
    hosts = hosts_of(run.outcome.corpus.pages.each("url"))
    [shared] = shared_words(run.outcome, hosts, "title")
    assert (shared.host, shared.count, shared.words) == ("a.example", 2, "Our News, page 1")
    assert shared.pages == ["https://a.example/1", "https://a.example/2"]
    assert host(shared.pages[0]) == shared.host
    assert shared_words(run.outcome, hosts, "description") == []  # read without that column


def test_descriptions_that_pages_of_a_host_share(tmp_path: Path) -> None:
    page = '<meta name="Description" content="All about {}: part {}"><title>{}</title><p>{}'
    stories = ("Ferries stop for the winter. ", "A new roof for the market. ", "Clocks go back. ")
    for number, story in enumerate(stories):
        about = "the harbour &amp; us" if number < 2 else "time"
        text = page.format(about, number, f"Story {story}", story * 20)
        (tmp_path / f"{number}.html").write_text(text)
    limits = Limits(base_url="https://a.example/")
    neardup.dedup(str(tmp_path / "*.html"), tmp_path / "result", limits=limits)
    report = (tmp_path / "result" / "report.html").read_text("utf-8")
    _, _, shared = report.partition("Descriptions that several pages share</h2>")
    assert "All about the harbour &amp; us: part 0" in shared
    assert "All about time" not in shared


def test_an_unknown_format_or_language() -> None:
    from neardup.cli.dedup import check_choice

    with pytest.raises(UsageError, match="csv"):
        check_choice("format", "cvs")
    with pytest.raises(UsageError, match="zh"):
        check_choice("language", "cn")
