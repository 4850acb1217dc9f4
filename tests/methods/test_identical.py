"""Identical pages are the same, with every method, however short they are."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from neardup import Index, RawPage, Relation, compare, dedup, html_page, text_page
from neardup.arrays import FeatureRows
from neardup.kernels.identity import NEITHER
from neardup.methods import identical
from neardup.methods.base import SharedKeys
from neardup.methods.registry import BUILT_IN, make_method
from neardup.pages.raw import raw_batch
from neardup.text.parse import parse
from sample_pages import long_html

METHODS = list(BUILT_IN)
SHORT = ["closed", "see you", "明天见", "no"]
LONG = [long_html("harbour"), long_html("orchard")]


def pages_twice() -> list[RawPage]:
    """Short texts with and without a URL, and pages on two hosts."""
    pages = []
    for number, text in enumerate(SHORT):
        pages.append(text_page(text, id=f"t{number}-a"))
        pages.append(text_page(text, id=f"t{number}-b", url=f"http://host.example/{number}"))
    pages += [
        html_page(html, id=f"h{number}-{host}", url=f"http://{host}.example/{number}")
        for number, html in enumerate(LONG)
        for host in "ab"
    ]
    return pages


def write(path: Path, pages: list[RawPage]) -> str:
    lines = [
        json.dumps(
            {
                "id": page.id,
                "url": page.url,
                "html" if page.is_html else "text": page.body.decode(),
            }
        )
        for page in pages
    ]
    path.write_text("\n".join(lines))
    return str(path)


def with_copies(clusters: list[list[str]]) -> set[str]:
    """The pages that are with their copies."""
    return {
        page for members in clusters for page in members if f"{page[:-1]}{flip(page)}" in members
    }


def flip(page: str) -> str:
    return "b" if page.endswith("a") else "a"


@pytest.mark.parametrize("name", METHODS)
def test_a_run_puts_each_page_with_its_copy(name: str, tmp_path: Path) -> None:
    pages = pages_twice()
    result = dedup(write(tmp_path / "p.jsonl", pages), tmp_path / "out", method=name, report=False)
    clusters = [list(cluster.members) for cluster in result.clusters()]
    assert with_copies(clusters) == {page.id for page in pages}
    assert result.summary["counts"]["undecided"] == 0


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("at_once", [1, 100])
def test_the_index_puts_each_page_with_its_copy(name: str, at_once: int) -> None:
    pages = pages_twice()
    with Index.open("memory://", name) as index:
        for start in range(0, len(pages), at_once):
            index.add_many(pages[start : start + at_once])
        clusters = [list(cluster.members) for cluster in index.clusters()]
        assert with_copies(clusters) == {page.id for page in pages}
        index.recheck()
        clusters = [list(cluster.members) for cluster in index.clusters()]
        assert with_copies(clusters) == {page.id for page in pages}


@pytest.mark.parametrize("name", METHODS)
def test_copies_of_the_pages_of_an_earlier_run(name: str, tmp_path: Path) -> None:
    pages = pages_twice()
    if not hasattr(make_method(name), "assign"):
        first = write(tmp_path / "a.jsonl", pages[::2])
        second = write(tmp_path / "b.jsonl", pages[1::2])
        dedup(first, tmp_path / "first", method=name, report=False)
        result = dedup(
            second, tmp_path / "both", method=name, against=tmp_path / "first", report=False
        )
        clusters = [list(cluster.members) for cluster in result.clusters()]
        assert with_copies(clusters) == {page.id for page in pages}


@pytest.mark.parametrize("name", METHODS)
def test_compare_says_in_what(name: str) -> None:
    verdict = compare(text_page("no", id="1"), text_page("no", id="2"), method=name)
    assert (verdict.relation, verdict.similarity) == (Relation.SAME, 1.0)
    assert verdict.evidence["identical"] == "bytes"
    one = html_page(LONG[0], url="http://a.example/")
    other = html_page(LONG[0].replace("<body", "<body class=print"), url="http://b.example/")
    verdict = compare(one, other, method=name)
    assert verdict.relation is Relation.SAME
    assert verdict.evidence["identical"] == "text"


def test_what_is_not_identical() -> None:
    empty = html_page("<p></p>", id="1")
    assert compare(empty, html_page("<p></p>", id="2")).relation is Relation.UNDECIDED
    short = html_page("<title>A</title><p>come in</p>", id="1")
    likewise = html_page("<title>A</title><p class=x>come in</p>", id="2")
    assert compare(short, likewise).relation is Relation.UNDECIDED
    titled = html_page("<title>A</title><p>" + "word " * 40, id="1")
    retitled = html_page("<title>B</title><p>" + "word " * 40, id="2")
    assert "identical" not in compare(titled, retitled).evidence


WALL = "<p>" + " ".join(f"We store {word} on your device." for word in "abcdefghijkl") + "</p>"
TITLES = ["Ferries at night", "Bridges by day", "Harbours in winter", "Orchards in May"]


def shell(title: str, number: int, body: str = WALL, host: str = "wall") -> RawPage:
    html = f"<title>{title} | Wall</title>{body}"
    return html_page(html, id=f"{host}{number}", url=f"http://{host}.example/{number}")


@pytest.mark.parametrize("name", METHODS)
def test_shells_are_undecided(name: str, tmp_path: Path) -> None:
    """Pages of a host that show one text under several titles, or next to no text."""
    pages = [shell(title, number) for number, title in enumerate(TITLES)]
    pages += [shell("App", number, "<div>Loading ...</div>", "app") for number in range(3)]
    out = tmp_path / "out"
    result = dedup(write(tmp_path / "p.jsonl", pages), out, method=name, report=False)
    assert all(len(cluster.members) == 1 for cluster in result.clusters())
    if not hasattr(make_method(name), "assign"):
        assert result.summary["shells"] == {
            "pages": 7,
            "hosts": {"wall.example": 4, "app.example": 3},
        }
    if isinstance(make_method(name).candidate_source, SharedKeys):
        rejected = map(json.loads, (out / "rejected.jsonl").read_text().splitlines())
        reasons = {each["evidence"]["why"] for each in rejected}
        assert identical.SHELL_REASON in reasons
    verdict = compare(pages[0], pages[1], method=name)
    assert (verdict.relation, verdict.similarity) == (Relation.UNDECIDED, None)
    assert verdict.evidence["shell"] is True


@pytest.mark.parametrize("at_once", [1, 100])
def test_shells_at_crawl_time(at_once: int) -> None:
    pages = [shell(title, number) for number, title in enumerate(TITLES)]
    with Index.open("memory://") as index:
        for start in range(0, len(pages), at_once):
            index.add_many(pages[start : start + at_once])
        assert all(len(cluster.members) == 1 for cluster in index.clusters())


def test_shells_that_differ_in_the_date(tmp_path: Path) -> None:
    pages = [
        shell(title, number, f"<p>It is the {number + 3}th of May, and {number} degrees.</p>{WALL}")
        for number, title in enumerate(TITLES)
    ]
    result = dedup(write(tmp_path / "p.jsonl", pages), tmp_path / "out")
    assert all(len(cluster.members) == 1 for cluster in result.clusters())
    assert result.summary["shells"]["pages"] == 4
    report = (tmp_path / "out" / "report.html").read_text("utf-8")
    assert "4 pages of these hosts show the same text" in report
    assert '<bdi>wall.example</bdi><td class="number">4' in report


def test_a_title_that_the_text_shows_is_no_shell() -> None:
    article = "".join(f"<p>{'word ' * 8}{number} ferries.</p>" for number in range(9))
    one, other = (
        html_page(f"<title>{title}</title><h1>Ferries at night</h1>{article}", url=url)
        for title, url in [
            ("Ferries at night", "http://a.example/1"),
            ("Ferries at night - print view", "http://a.example/2"),
        ]
    )
    assert compare(one, other).relation is Relation.SAME


TEXTS = st.sampled_from(["", "a", "b", "long " * 30, "lang " * 30])


@given(st.lists(st.tuples(TEXTS, st.sampled_from("tu"), st.sampled_from(["", " "])), max_size=8))
def test_groups_pairs_and_keys_agree(drawn: list[tuple[str, str, str]]) -> None:
    """Against a plain statement of the rule."""
    pages = [
        html_page(f"<title>{title}</title>{space}<p>{text}</p>", id=str(number))
        for number, (text, title, space) in enumerate(drawn)
    ]
    parsed = parse(raw_batch(pages))
    rows = pa.record_batch(identical.identity_columns(parsed), schema=pa.schema(identical.COLUMNS))

    def same(one: int, other: int) -> bool:
        (text, title, space), (its_text, its_title, its_space) = drawn[one], drawn[other]
        in_content = len(text) >= identical.ENOUGH or space == its_space
        return bool(text) and (text, title) == (its_text, its_title) and in_content

    groups = identical.identity_groups(rows).tolist()
    numbers = range(len(drawn))
    expected = [min([other for other in range(n) if same(n, other)], default=n) for n in numbers]
    assert groups == expected
    key_rows, keys = identical.identity_keys(rows)
    of_page = [set(keys[key_rows == n].tolist()) for n in numbers]
    pairs = [(one, other) for other in numbers for one in range(other)]
    left, right = (np.array([pair[side] for pair in pairs], np.int64) for side in (0, 1))
    kinds = identical.identical_in(FeatureRows.of(rows), left, right).tolist()
    for (one, other), kind in zip(pairs, kinds, strict=True):
        assert (kind != NEITHER) == same(one, other)
        assert kind == NEITHER or len(of_page[one] & of_page[other]) == 2
