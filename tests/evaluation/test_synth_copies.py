"""Generated pages of the default profile: copies on a page's own host, look-alikes, what happens
to reprints, and what unrelated pages share."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from typing import Any
from urllib.parse import urlsplit

import pytest

from neardup.evaluation.synth import synth
from neardup.evaluation.synth.articles import Article, reprint, stock_sentence, write_article
from neardup.evaluation.synth.language import Draws
from neardup.evaluation.synth.pages import LATE
from neardup.evaluation.synth.plan import COPIES, LOOKALIKES

Row = dict[str, Any]
LANGUAGES = ("en", "zh")


def made(code: str, **changes: Any) -> list[Row]:
    settings = {"pages": 3000, "seed": 1, "length": "short", "language": code, **changes}
    return [row for batch in synth(**settings) for row in batch.to_pylist()]


@pytest.fixture(scope="module", params=LANGUAGES)
def rows(request: pytest.FixtureRequest) -> list[Row]:
    return made(request.param)


def kinds(row: Row) -> set[str]:
    return set(row["kind"].split("+"))


def host(row: Row) -> str:
    return str(urlsplit(row["url"]).hostname)


def lines(row: Row) -> list[str]:
    """The text of the page, its lines sorted."""
    return sorted(filter(str.strip, re.sub(r"<[^>]*>", "\n", row["content"]).split("\n")))


def pairs(rows: list[Row], change: str) -> list[tuple[Row, Row]]:
    """Copies with this change on their own host, with their page."""
    firsts = {
        (host(row), row["article"], number_in(row["url"])): row
        for row in rows
        if not kinds(row) & {*COPIES}
    }
    found = []
    for row in rows:
        key = (host(row), row["article"], number_in(row["url"]))
        if change in kinds(row) and key in firsts:
            found.append((firsts[key], row))
    return found


def number_in(url: str) -> str:
    return re.split(r"[-.]", urlsplit(url).path.rpartition("/")[2])[0]


def test_every_copy_has_its_page_on_its_host(rows: list[Row]) -> None:
    copies = [row for row in rows if kinds(row) & {*COPIES}]
    assert len(copies) / len(rows) == pytest.approx(0.25, abs=0.03)
    assert len({row["url"] for row in rows}) == len(rows)
    with_page = sum(len(pairs(rows, change)) for change in COPIES)
    assert with_page == len(copies)
    sizes = Counter((host(row), row["article"]) for row in copies)
    assert min(sizes.values()) == 1
    assert max(sizes.values()) >= 8
    assert not any(kinds(row) & {"excerpt", "partial", "shell"} for row in copies)


def test_copies_are_weighted_and_most_keep_the_text(rows: list[Row]) -> None:
    counts = Counter(change for row in rows for change in kinds(row) & {*COPIES})
    assert set(counts) == set(COPIES)
    assert counts["recrawled"] > counts["session"] > counts["alias"] > counts["grown"]
    changed = counts["corrected"] + counts["updated"] + counts["grown"]
    assert changed / counts.total() == pytest.approx(0.22, abs=0.04)


def test_a_session_changes_links_only(rows: list[Row]) -> None:
    for page, copy in pairs(rows, "session"):
        assert lines(page) == lines(copy)
        assert page["content"] != copy["content"]
        session = re.split(r"[;?]", copy["url"])[1]
        assert copy["content"].count(session) == copy["content"].count('href="/l/')


def test_another_order_keeps_the_rows_of_tables(rows: list[Row]) -> None:
    def table(row: Row) -> list[str]:
        return re.findall(r"<tr><td>[^<]*</td><td>[^<]*</td></tr>", row["content"])

    found = pairs(rows, "sorted")
    assert found
    assert {kind for page, _ in found for kind in kinds(page)} <= {"form", "listing"}
    for page, copy in found:
        assert table(page) != table(copy)
        assert sorted(table(page)) == sorted(table(copy))


def test_a_print_view_has_the_text_and_no_links(rows: list[Row]) -> None:
    for page, copy in pairs(rows, "print"):
        assert "<a href" not in copy["content"].replace('<a href="?p=', "")
        page_lines = {line.removeprefix("\u3000\u3000") for line in lines(page)}
        page_lines = {line.removeprefix("&nbsp;&nbsp;") for line in page_lines}
        bodies = [line for line in lines(copy) if line.endswith((".", "。"))]
        assert bodies or "form" in kinds(page)
        assert page_lines.issuperset(bodies)


def test_comments_are_added_to_those_before(rows: list[Row]) -> None:
    for page, copy in pairs(rows, "commented"):
        added = [line for line in lines(copy) if line not in lines(page)]
        assert sum(line.endswith((".", "。")) for line in added) >= 1
        assert page["title"] == copy["title"]


def test_recrawls_keep_the_text_and_change_what_surrounds_it() -> None:
    texts = made("en", texts=True, pages=1000)
    for change in ("recrawled", "session", "alias", "print", "commented"):
        assert all(page["content"] == copy["content"] for page, copy in pairs(texts, change))
    differing = [lines(page) != lines(copy) for page, copy in pairs(made("en"), "recrawled")]
    assert sum(differing) / len(differing) > 0.95


@pytest.mark.parametrize("code", LANGUAGES)
def test_changes_of_the_text_are_small(code: str) -> None:
    def sentences(article: Article) -> set[str]:
        return set(article.sentences)

    for number in range(30):
        page = write_article(code, (1, number), "normal")
        updated = reprint("updated", page, Draws(number))
        lost = sentences(page) - sentences(updated)
        assert 1 <= len(lost) <= max(1, len(page.sentences) // 6)
        grown = reprint("grown", page, Draws(number))
        assert grown.sentences[-len(page.sentences) :] == page.sentences
        assert 1.0 < len(grown.sentences) / len(page.sentences) <= 1.25
        assert len(sentences(page) & sentences(reprint("corrected", page, Draws(number)))) > 0


def test_lookalikes_share_their_host_and_are_articles_of_their_own(rows: list[Row]) -> None:
    groups: dict[tuple[str, str], list[Row]] = defaultdict(list)
    for row in rows:
        if row["kind"] in LOOKALIKES:
            groups[row["kind"], row["article"].split("-")[0]].append(row)
    assert {kind for kind, _ in groups} == set(LOOKALIKES)
    for (kind, _), group in groups.items():
        assert len({host(row) for row in group}) == 1
        assert len({row["article"] for row in group}) == len(group)
        assert len({row["content"] for row in group}) == len(group)
        if kind in ("product", "bulletin") and len(group) > 1:
            shared = set.intersection(*({*lines(row)} for row in group))
            digits = {re.sub(r"\d+", "0", line) for line in lines(group[0])}
            other = {re.sub(r"\d+", "0", line) for line in lines(group[1])}
            assert len(shared) >= 5
            assert len(digits & other) >= 0.5 * len(digits)


def test_reprints_change_their_title_and_come_late_in_the_shares_of_the_profile() -> None:
    rows = made("en", copies=0.0, texts=True)
    titles = {row["article"]: row for row in rows if row["kind"] == "original"}
    reprints = [row for row in rows if not kinds(row) & {"original", "excerpt", "partial"}]
    reprints = [row for row in reprints if row["kind"] not in LOOKALIKES]
    changes = Counter(change for row in reprints for change in kinds(row))
    hosts = {row["article"]: urlsplit(row["url"]).hostname for row in titles.values()}
    elsewhere = [row for row in reprints if urlsplit(row["url"]).hostname != hosts[row["article"]]]
    assert changes["retitled"] / len(elsewhere) == pytest.approx(0.3, abs=0.05)
    assert changes["title-edited"] / len(elsewhere) == pytest.approx(0.3, abs=0.05)
    places = Counter((row["article"], urlsplit(row["url"]).hostname) for row in elsewhere)
    assert set(places.values()) == {1}  # a host takes an article over once
    assert changes["late"] / len(reprints) == pytest.approx(0.15, abs=0.03)
    for row in reprints:
        original = titles.get(row["article"])
        if original is None:
            continue
        delay = (row["time"] - original["time"]).total_seconds() / 60
        assert (delay > LATE) == ("late" in kinds(row))
        retitled = bool(kinds(row) & {"retitled", "title-edited"})
        assert (row["title"] != original["title"]) == retitled
        if "title-edited" in kinds(row):
            words, before = row["title"].split(), original["title"].split()
            assert len({*before} - {*words}) <= 2


@pytest.mark.parametrize("code", LANGUAGES)
def test_unrelated_articles_share_stock_sentences(code: str) -> None:
    rows = made(code, texts=True, reprints=0.0, copies=0.0, lookalikes=False, pages=1000)
    stock = {stock_sentence(1, code, number) for number in range(40)}
    texts = [[line.strip() for line in row["content"].split("\n\n")] for row in rows]
    used = Counter(line for text in texts for line in text if line in stock)
    assert len(stock) == 40
    assert max(used.values()) > 40
    having = sum(any(line in stock for line in text) for text in texts)
    assert having / len(rows) == pytest.approx(0.36, abs=0.04)  # 1 - 0.8 * 0.8


def test_a_consent_text_is_on_all_pages_of_its_host_and_on_several_hosts(rows: list[Row]) -> None:
    hosts: dict[str, set[bool]] = defaultdict(set)
    for row in rows:
        if "print" not in kinds(row) and row["kind"] != "shell":
            asks = "legitimate business interest" in row["content"] or (
                "正当的商业利益" in row["content"]
            )
            hosts[host(row)].add(asks)
    assert all(len(asks) == 1 for asks in hosts.values())
    share = sum(True in asks for asks in hosts.values()) / len(hosts)
    assert 0.03 < share < 0.25  # the sentence is one of 12, of which a vendor has 9
