"""`own-text` on pages of sites: sister pages, what a site repeats, titles, furniture."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from neardup.local.features import survey_batch
from neardup.methods.base import SurveyResults
from neardup.model import Region, Relation, Verdict
from neardup.text.sites import LineCounts, Survey
from own_text_pages import METHOD, WORDS, article, form, judged, on_site, pair_in
from page_batches import page_batch


def test_two_pages_from_one_form_are_near_only_on_different_hosts() -> None:
    elsewhere = judged(form(1), form(2), ("a", "b"))
    sisters = judged(form(1), form(2), ("a", "a"))
    assert elsewhere.relation is Relation.NEAR
    assert sisters.relation is Relation.OVERLAP
    assert sisters.similarity == elsewhere.similarity
    assert sisters.evidence["required_similarity"] > elsewhere.evidence["required_similarity"]
    assert "of pages on one host" in sisters.evidence["why"]


def test_sisters_that_have_most_of_each_other_are_no_excerpts() -> None:
    """Whichever comes first: what is contained on one side contains on the other."""
    lines = article(1, 5)
    one, other = lines + article(2, 1), lines + article(3, 1)
    there, back = judged(one, other, ("a", "a")), judged(other, one, ("a", "a"))
    assert there.evidence["left_share"] > METHOD.options.contained
    assert there.evidence["right_share"] > METHOD.options.contained
    assert there.relation is back.relation is Relation.OVERLAP


def test_pages_without_a_host_are_no_sisters() -> None:
    verdict = judged(form(1), form(2), ("", ""))
    assert verdict.relation is Relation.NEAR
    assert verdict.evidence["same_host"] is False


# ---- what the site repeats


def test_notes_of_counting_change_nothing_about_features() -> None:
    """Here of a slice of pages, one of them without text."""
    texts = [*on_site([article(seed, 3) for seed in range(6)], article(9, 6)), "", "short\n\nlines"]
    pages = page_batch(texts, host=["a"] * 4 + ["b"] * 3 + [""], title=["Ferry 1"] * 8).slice(1)
    survey = survey_batch(METHOD, pages)
    assert METHOD.site_counts is not None
    notes = METHOD.site_counts.notes(pages)
    assert notes is not None
    schema = pa.schema([*pages.schema, *notes.schema])
    noted = pa.record_batch([*pages.columns, *notes.columns], schema=schema)
    assert METHOD.describe(noted, survey) == METHOD.describe(pages, survey)


def test_there_are_no_notes_of_plain_texts() -> None:
    pages = page_batch(["\n".join(article(1))], host=[""])
    assert LineCounts(8).notes(pages) is None


def test_what_a_host_repeats_does_not_count() -> None:
    template = article(9, 6)
    texts = [*on_site([article(seed, 3) for seed in range(10)], template), "\n".join(article(3, 3))]
    pages = page_batch(texts, host=["a"] * 10 + ["b"])
    survey = survey_batch(METHOD, pages)
    assert pair_in(pages, 0, 1).evidence["left_share"] > 0.5
    assert pair_in(pages, 0, 1, survey).relation is Relation.DIFFERENT
    assert pair_in(pages, 3, 10).relation is Relation.CONTAINS
    assert pair_in(pages, 3, 10, survey).relation is Relation.SAME


def test_copies_on_one_host_are_no_template() -> None:
    template = article(9, 6)
    copies, others = [article(1)] * 10, [article(seed) for seed in range(20, 30)]
    pages = page_batch(on_site([*copies, *others], template), host=["a"] * 20)
    survey = survey_batch(METHOD, pages)
    assert pair_in(pages, 0, 9, survey).relation is Relation.SAME
    copied, alone = METHOD.describe(pages, survey)["amount"].to_numpy()[[0, -1]]
    own = 8 * 3 * 14 * 2  # paragraphs, sentences, words, units
    assert alone == pytest.approx(own, rel=0.01)
    assert copied == pytest.approx(own * (1 + 12 / 8 / 8), rel=0.01)  # 12 lines at (10 / 20) ** 3
    assert pair_in(pages, 0, 10, survey).relation is Relation.DIFFERENT


@pytest.mark.parametrize("changed", [0, 1])
def test_versions_on_one_host_are_no_template_to_each_other(changed: int) -> None:
    """Of eight paragraphs one is written anew: an eighth of each version no other page has."""
    template = article(9, 6)
    versions = [article(1), article(1)[: 8 - changed] + article(2)[:changed]]
    others = [article(seed) for seed in range(20, 90)]
    pages = page_batch(on_site([*versions, *others], template), host=["a"] * 72)
    verdict = pair_in(pages, 0, 1, survey_batch(METHOD, pages))
    assert verdict.relation in (Relation.SAME, Relation.NEAR)
    assert verdict.similarity == pytest.approx(1 - changed / 8, abs=0.02)


@given(st.lists(st.integers(1, 10**6), min_size=8, max_size=8), st.data())
def test_no_page_loses_all_its_text(counts: list[int], data: st.DataObject) -> None:
    """Whatever a site is said to repeat."""
    pages = page_batch(["\n".join(article(1))], host=["a"])
    keys = np.sort(LineCounts(8).count(pages)["key"].to_numpy())
    chosen = [data.draw(st.sampled_from(counts)) for _ in keys]
    survey = Survey(10**6, keys, np.array(chosen, np.int64))
    found = METHOD.describe(pages, SurveyResults(sites=survey))
    assert found["mass"].to_pylist()[0] > 0
    assert METHOD.decidable(found).to_pylist() == [True]


def test_a_page_of_nothing_but_template_keeps_it() -> None:
    template = article(9, 6)
    texts = on_site([[], *(article(seed) for seed in range(9))], template)
    pages = page_batch(texts, host=["a"] * 10)
    found = METHOD.describe(pages, survey_batch(METHOD, pages))
    assert METHOD.decidable(found).to_pylist() == [True] * 10
    assert found["samples"].to_pylist()[0]


# ---- titles


def titled(one: str, other: str, hosts: Sequence[str] = ("a", "a")) -> Verdict:
    """Two pages of nine tenths the same text, with nothing known of their site."""
    texts = ["\n".join(article(1, 9) + article(seed, 1)) for seed in (2, 3)]
    return pair_in(page_batch(texts, host=list(hosts), title=[one, other]), 0, 1)


def test_two_titles_on_one_host_are_two_pages_unless_hardly_anything_differs() -> None:
    apart = titled("How to insert a row", "How to update a row")
    assert apart.relation is Relation.OVERLAP
    assert apart.evidence["same_title"] is False
    assert apart.evidence["why"].endswith("of pages with different titles on one host")
    elsewhere = titled("How to insert a row", "How to update a row", ("a", "b"))
    assert elsewhere.relation is Relation.NEAR
    assert "same_title" not in elsewhere.evidence


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("F.14. The tables, release 9", "f.15 the tables — release 10"),
        ("第 4 章　認證", "第４章 认证"),
        ("", "How to update a row"),  # no title says nothing
        ("12", "How to update a row"),
    ],
)
def test_numbers_case_and_signs_make_no_other_title(one: str, other: str) -> None:
    verdict = titled(one, other)
    assert verdict.relation is Relation.NEAR
    assert verdict.evidence["why"].endswith("of pages on one host")


@pytest.mark.parametrize(("with_title", "relation"), [(9, "near"), (10, "overlap")])
def test_a_title_that_few_pages_of_a_host_have_is_the_pages(with_title: int, relation: str) -> None:
    """On 72 pages nine are few. A quarter of each version was written anew."""
    versions = [article(1), article(1)[:6] + article(2)[:2]]
    texts = on_site([*versions, *(article(seed) for seed in range(20, 90))], article(9, 6))
    titles = ["How to insert a row"] * with_title + [f"About {word}" for word in WORDS * 3]
    pages = page_batch(texts, host=["a"] * 72, title=titles[:72])
    verdict = pair_in(pages, 0, 1, survey_batch(METHOD, pages))
    assert verdict.similarity == pytest.approx(0.75, abs=0.02)
    assert verdict.relation == relation
    assert verdict.evidence.get("same_title") is (True if relation == "near" else None)


# ---- furniture


def themed(number: int, own: Sequence[str], menu: Sequence[str]) -> dict[str, object]:
    """A page of a theme that many hosts use: its links, a notice of the theme, its own text."""
    notice = article(99, 2)
    lines = [*menu, *own, *notice]
    return {
        "text": "\n".join(lines),
        "host": f"host{number}",
        "link_shares": [1.0] * len(menu) + [0.0] * (len(own) + len(notice)),
    }


def batch_of(rows: Sequence[Mapping[str, object]]) -> pa.RecordBatch:
    columns = {name: [row[name] for row in rows] for name in rows[0]}
    return page_batch([str(text) for text in columns.pop("text")], **columns)


def test_a_host_with_one_page_learns_from_pages_with_the_same_furniture() -> None:
    menu = [f"Section {word}" for word in WORDS[:12]]
    rows = [themed(number, article(number, 2), menu) for number in range(10)]
    pages = batch_of([*rows, themed(20, article(3, 2), [])])
    survey = survey_batch(METHOD, pages)
    assert pair_in(pages, 0, 1).relation is Relation.OVERLAP  # the notice
    assert pair_in(pages, 0, 1, survey).relation is Relation.DIFFERENT
    assert pair_in(pages, 3, 10, survey).relation is not Relation.DIFFERENT


def test_a_few_links_in_common_make_no_site() -> None:
    menu = [f"Section {word}" for word in WORDS[: METHOD.options.furniture - 1]]
    pages = batch_of([themed(number, article(number, 2), menu) for number in range(10)])
    assert pair_in(pages, 0, 1, survey_batch(METHOD, pages)).relation is Relation.OVERLAP


def test_menus_footers_and_links_hardly_count() -> None:
    """One article in two sites whose menus are longer than it, and nothing known of the sites."""
    menus = [[" ".join(line.split()[:6]) for line in article(seed, 30)] for seed in (5, 6)]
    rows = [
        {
            "text": "\n".join([*menu, *article(1, 4)]),
            "host": f"host{number}",
            "regions": [Region.NAV] * len(menu) + [Region.BODY] * 4,
        }
        for number, menu in enumerate(menus)
    ]
    assert pair_in(batch_of(rows), 0, 1).relation is Relation.NEAR


def test_edited_copies_on_one_host_are_near() -> None:
    """Eight copies of a page beside eight other pages of its host, a word in thirty edited:
    what the copies share is no template, and what they share with the others is."""
    source = random.Random(1)

    def edited(lines: list[str]) -> list[str]:
        words = (line.split(" ") for line in lines)
        return [
            " ".join(source.choice(WORDS) if source.random() < 1 / 30 else word for word in line)
            for line in words
        ]

    template = article(9, 6)
    pages = [edited([*article(1), *template]) for _ in range(8)]
    pages += [edited([*article(seed), *template]) for seed in range(20, 28)]
    titles = ["One page"] * 8 + [f"About {word}" for word in WORDS[:8]]
    batch = page_batch(["\n".join(page) for page in pages], host=["a"] * 16, title=titles)
    surveyed = survey_batch(METHOD, batch)
    for other in range(1, 8):
        assert pair_in(batch, 0, other, surveyed).relation == "near"
        assert pair_in(batch, 0, 7 + other, surveyed).relation == "different"
