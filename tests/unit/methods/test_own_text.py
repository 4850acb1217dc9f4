"""`own-text` on small pages: the relations, the site, the evidence, the keys, the clusters."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import neardup
from neardup.engines.deciding import find_candidates
from neardup.engines.features import features_in_memory
from neardup.engines.featuring import survey_of
from neardup.methods.base import Survey, make_method
from neardup.methods.own_text.method import OwnText
from neardup.model import Region, Relation, Verdict
from page_batches import judge_one, page_batch
from sample_pages import write_jsonl

METHOD = OwnText()
WRITINGS = ["words", "characters"]
WORDS = [
    first + second
    for first in ["balo", "meni", "tiru", "sava"]
    for second in ["dko", "nst", "rgi", "pel"]
]
WORDS += [word[::-1] for word in WORDS]
CHARACTERS = [chr(code) for code in range(0x5317, 0x5317 + 900)]


def article(seed: int, paragraphs: int = 8, writing: str = "words") -> list[str]:
    """Paragraphs that no other seed has a run of words in common with."""
    source = random.Random(f"{writing} {seed}")
    return [" ".join(sentence(source, writing) for _ in range(3)) for _ in range(paragraphs)]


def sentence(source: random.Random, writing: str = "words") -> str:
    if writing == "words":
        return " ".join(source.choices(WORDS, k=14)).capitalize() + "."
    return "".join(source.choices(CHARACTERS, k=28)) + "。"


def judged(left: Sequence[str], right: Sequence[str], hosts: Sequence[str] = ("a", "b")) -> Verdict:
    """The verdict on two pages of such lines, with nothing known of their sites."""
    pages = page_batch(["\n".join(left), "\n".join(right)], host=list(hosts))
    found = METHOD.features(pages)
    return judge_one(METHOD, found.slice(0, 1), found.slice(1, 1))


def pair_in(pages: pa.RecordBatch, left: int, right: int, survey: Survey | None) -> Verdict:
    found = METHOD.features(pages, survey)
    return judge_one(METHOD, found.slice(left, 1), found.slice(right, 1))


# ---- relations


@pytest.mark.parametrize("writing", WRITINGS)
def test_the_same_text_is_the_same(writing: str) -> None:
    verdict = judged(article(1, writing=writing), article(1, writing=writing))
    assert (verdict.relation, verdict.similarity) == (Relation.SAME, 1.0)
    assert verdict.evidence["why"] == "the own text is the same, token for token"


def test_plain_texts_need_no_markup() -> None:
    pages = page_batch(["\n".join(article(1)), "\n".join(article(2))], host=["", ""])
    assert METHOD.features(pages.select(["host", "text"])) == METHOD.features(pages)
    assert METHOD.survey(pages.select(["host", "text"])).num_rows == 0


def test_case_width_and_punctuation_do_not_matter() -> None:
    plain = article(1)
    loud = [line.upper().replace(".", "!").replace("B", "Ｂ") for line in plain]
    assert judged(plain, loud).relation is Relation.SAME


def test_where_lines_break_does_not_matter() -> None:
    plain = article(1)
    reflowed = " ".join(plain).replace(". ", ".\n").split("\n")
    assert len(reflowed) == 3 * len(plain)
    assert judged(plain, reflowed).relation is Relation.SAME


def test_traditional_characters_are_their_simplified_ones() -> None:
    traditional = "這個鄉鎮的經濟發展與環境保護之間長期存在矛盾，專家認為應當優先改善飲水條件。"
    simplified = "这个乡镇的经济发展与环境保护之间长期存在矛盾，专家认为应当优先改善饮水条件。"
    assert traditional != simplified
    assert judged([traditional], [simplified]).relation is Relation.SAME


@pytest.mark.parametrize("writing", WRITINGS)
def test_an_edited_copy_is_near(writing: str) -> None:
    original = article(1, writing=writing)
    edited = [*original[:3], *article(2, 1, writing), *original[4:]]
    verdict = judged(original, edited)
    assert verdict.relation is Relation.NEAR
    assert verdict.similarity == pytest.approx(7 / 8, abs=0.01)


@pytest.mark.parametrize("writing", WRITINGS)
def test_paragraphs_in_another_order_are_near(writing: str) -> None:
    original = article(1, writing=writing)
    verdict = judged(original, original[::-1])
    assert verdict.relation is Relation.NEAR
    assert verdict.similarity == pytest.approx(1.0, abs=0.05)


@pytest.mark.parametrize("writing", WRITINGS)
def test_an_excerpt_is_contained_in_its_article(writing: str) -> None:
    whole = article(1, writing=writing)
    verdict = judged(whole[:3], whole)
    assert verdict.relation is Relation.CONTAINED
    assert verdict.evidence["left_share"] == pytest.approx(1.0)
    assert verdict.evidence["right_share"] == pytest.approx(3 / 8, abs=0.02)
    assert judged(whole, whole[:3]).relation is Relation.CONTAINS


@pytest.mark.parametrize("writing", WRITINGS)
def test_half_and_half_overlaps_both(writing: str) -> None:
    one, other = article(1, writing=writing), article(2, writing=writing)
    half_and_half = one[:4] + other[:4]
    assert judged(half_and_half, one).relation is Relation.OVERLAP
    assert judged(half_and_half, other).relation is Relation.OVERLAP
    assert judged(one, other).relation is Relation.DIFFERENT


def test_an_article_and_its_half_are_not_one() -> None:
    whole = article(1)
    assert judged(whole, whole[:4]).relation is Relation.CONTAINS


@pytest.mark.parametrize("text", ["", "One", "茶", "Not found here", "页面不存在"])
def test_too_little_text_is_undecided_even_against_itself(text: str) -> None:
    verdict = judged([text], [text])
    assert (verdict.relation, verdict.similarity) == (Relation.UNDECIDED, None)
    found = METHOD.features(page_batch([text], host=["a"]))
    assert METHOD.decidable(found).to_pylist() == [False]
    assert METHOD.keys(found).num_rows == 0


def test_a_page_without_text_is_never_decided() -> None:
    method = make_method("own-text", {"few": 0})
    found = method.features(page_batch(["", "\n\n", "..."], host=["a", "b", "c"]))
    assert method.decidable(found).to_pylist() == [False] * 3
    assert judge_one(method, found.slice(0, 1), found.slice(1, 1)).relation is Relation.UNDECIDED


def test_little_text_must_agree_more() -> None:
    """Four words of each twenty differ: enough for a long text, not for a short one."""
    source = random.Random(1)
    long = [" ".join(source.choices(WORDS, k=20)) for _ in range(20)]
    changed = [" ".join(["quite", "other", *line.split()[2:-2], "words", "here"]) for line in long]
    assert judged(long, changed).relation is Relation.NEAR
    short = judged(long[:1], changed[:1])
    assert short.relation is Relation.OVERLAP
    assert short.evidence["demand"] > judged(long, changed).evidence["demand"]


# ---- hosts


def form(seed: int) -> list[str]:
    """A page filled in from a form: every fourth line has numbers of its own."""
    source = random.Random(seed)
    lines = article(7, 12)
    lines[::4] = [" ".join(str(source.randrange(10**6)) for _ in range(42)) for _ in lines[::4]]
    return [" ".join(lines)]


def test_two_pages_from_one_form_are_near_only_on_different_hosts() -> None:
    elsewhere = judged(form(1), form(2), ("a", "b"))
    sisters = judged(form(1), form(2), ("a", "a"))
    assert elsewhere.relation is Relation.NEAR
    assert sisters.relation is Relation.OVERLAP
    assert sisters.similarity == elsewhere.similarity
    assert sisters.evidence["demand"] > elsewhere.evidence["demand"]
    assert "of two pages on one host" in sisters.evidence["why"]


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


def on_site(pages: Sequence[Sequence[str]], template: Sequence[str]) -> list[str]:
    """Pages with the lines of a template around their own."""
    return ["\n".join([*template, *own, *template[::-1]]) for own in pages]


def test_what_a_host_repeats_does_not_count() -> None:
    template = article(9, 6)
    texts = [*on_site([article(seed, 3) for seed in range(10)], template), "\n".join(article(3, 3))]
    pages = page_batch(texts, host=["a"] * 10 + ["b"])
    survey = survey_of(METHOD, pages)
    assert pair_in(pages, 0, 1, None).evidence["left_share"] > 0.5
    assert pair_in(pages, 0, 1, survey).relation is Relation.DIFFERENT
    assert pair_in(pages, 3, 10, None).relation is Relation.CONTAINS
    assert pair_in(pages, 3, 10, survey).relation is Relation.SAME


def test_copies_on_one_host_are_no_template() -> None:
    template = article(9, 6)
    copies, others = [article(1)] * 10, [article(seed) for seed in range(20, 30)]
    pages = page_batch(on_site([*copies, *others], template), host=["a"] * 20)
    survey = survey_of(METHOD, pages)
    assert pair_in(pages, 0, 9, survey).relation is Relation.SAME
    copied, alone = METHOD.features(pages, survey)["amount"].to_numpy()[[0, -1]]
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
    verdict = pair_in(pages, 0, 1, survey_of(METHOD, pages))
    assert verdict.relation in (Relation.SAME, Relation.NEAR)
    assert verdict.similarity == pytest.approx(1 - changed / 8, abs=0.02)


@given(st.lists(st.integers(1, 10**6), min_size=8, max_size=8), st.data())
def test_no_page_loses_all_its_text(counts: list[int], data: st.DataObject) -> None:
    """Whatever a site is said to repeat."""
    pages = page_batch(["\n".join(article(1))], host=["a"])
    keys = np.sort(METHOD.survey(pages)["key"].to_numpy())
    chosen = [data.draw(st.sampled_from(counts)) for _ in keys]
    survey = Survey(10**6, keys, np.array(chosen, np.int64))
    found = METHOD.features(pages, survey)
    assert found["mass"].to_pylist()[0] > 0
    assert METHOD.decidable(found).to_pylist() == [True]


def test_a_page_of_nothing_but_template_keeps_it() -> None:
    template = article(9, 6)
    texts = on_site([[], *(article(seed) for seed in range(9))], template)
    pages = page_batch(texts, host=["a"] * 10)
    found = METHOD.features(pages, survey_of(METHOD, pages))
    assert METHOD.decidable(found).to_pylist() == [True] * 10
    assert found["samples"].to_pylist()[0]


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
    survey = survey_of(METHOD, pages)
    assert pair_in(pages, 0, 1, None).relation is Relation.OVERLAP  # the notice
    assert pair_in(pages, 0, 1, survey).relation is Relation.DIFFERENT
    assert pair_in(pages, 3, 10, survey).relation is not Relation.DIFFERENT


def test_a_few_links_in_common_make_no_site() -> None:
    menu = [f"Section {word}" for word in WORDS[: METHOD.options.furniture - 1]]
    pages = batch_of([themed(number, article(number, 2), menu) for number in range(10)])
    assert pair_in(pages, 0, 1, survey_of(METHOD, pages)).relation is Relation.OVERLAP


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
    assert pair_in(batch_of(rows), 0, 1, None).relation is Relation.NEAR


# ---- evidence


def test_the_evidence_shows_what_is_shared_and_what_is_not() -> None:
    one, other = article(1), article(2)
    left, right = [*one[:4], "Left " + other[0]], [*one[:4], "Right " + other[1]]
    verdict = judged(left, right)
    told = verdict.evidence
    assert set(told) == {
        "why", "left_share", "right_share", "demand", "same_host",
        "shared", "only_left", "only_right",
    }  # fmt: skip
    assert told["shared"] == one[0][: len(told["shared"])]
    assert told["only_left"].startswith("Left ")
    assert told["only_right"].startswith("Right ")
    assert f"{told['left_share']:.0%}" in told["why"]
    assert f"{told['demand']:.0%} asked" in told["why"]


def test_examples_are_whole_characters() -> None:
    verdict = judged(
        ["茶" + line for line in article(1, 2, "characters")], article(1, 2, "characters")
    )
    assert 0 < len(verdict.evidence["shared"].encode()) <= 160


# ---- keys


@pytest.mark.parametrize("sentences", [0, 8])
@pytest.mark.parametrize("writing", WRITINGS)
def test_keys_find_edited_copies(writing: str, sentences: int) -> None:
    method = make_method("own-text", {"sentences": sentences})
    originals = [article(seed, 6, writing) for seed in range(20)]
    edited = [
        [*article(100 + seed, 1, writing), *lines[1:]] for seed, lines in enumerate(originals)
    ]
    texts = ["\n".join(lines) for lines in originals + edited]
    pages = page_batch(texts, host=[f"host{row}" for row in range(40)])
    found = pa.Table.from_batches([method.features(pages, survey_of(method, pages))])
    left, right = find_candidates(method, found)
    pairs = set(zip(left.tolist(), right.tolist(), strict=True))
    assert {(row, row + 20) for row in range(20)} <= pairs
    assert len(pairs) == 20  # and nothing else: no two articles share anything


def test_one_sentence_in_common_makes_a_candidate() -> None:
    """A long page and a short excerpt of it meet through their heaviest sentence."""
    long = article(1, 60)
    heaviest = " ".join(WORDS[:32]) + "."
    pages = page_batch(["\n".join([heaviest, *long]), heaviest], host=["a", "b"])
    left, right = find_candidates(METHOD, pa.Table.from_batches([METHOD.features(pages)]))
    assert (left.tolist(), right.tolist()) == ([0], [1])


def test_the_order_of_pages_changes_nothing() -> None:
    template = article(9, 3)
    texts = on_site([article(seed % 5, 4) for seed in range(12)], template)
    hosts = [f"host{row % 3}" for row in range(12)]
    order = random.Random(1).sample(range(12), 12)
    pages = page_batch(texts, host=hosts)
    turned = page_batch([texts[i] for i in order], host=[hosts[i] for i in order])
    found = METHOD.features(pages, survey_of(METHOD, pages)).to_pylist()
    again = METHOD.features(turned, survey_of(METHOD, turned)).to_pylist()
    assert again == [found[i] for i in order]


def test_judging_many_pairs_is_judging_each() -> None:
    texts = ["\n".join(article(seed % 3, 2 + seed)) for seed in range(6)]
    found = METHOD.features(page_batch([*texts, "short", ""], host=[*"aabbcd", "a", ""]))
    left, right = (side.ravel() for side in np.meshgrid(np.arange(8), np.arange(8)))
    stored = features_in_memory(found)
    together = METHOD.judge(stored.take(left), stored.take(right)).to_pylist()
    for row, (a, b) in enumerate(zip(left.tolist(), right.tolist(), strict=True)):
        assert METHOD.judge(found.slice(a, 1), found.slice(b, 1)).to_pylist() == [together[row]]
    related = METHOD.relate_in_place([found], stored.places(left), stored.places(right))
    assert related.to_pylist() == [
        {"relation": verdict["relation"], "similarity": verdict["similarity"]}
        for verdict in together
    ]


# ---- clusters, end to end


def html(own: Sequence[str], number: int) -> str:
    paragraphs = "".join(f"<p>{line}</p>" for line in own)
    links = "".join(f"<a href='/{word}'>{word} {number}</a>" for word in WORDS[:6])
    return f"<html><body><nav>{links}</nav>{paragraphs}<footer>Host {number}</footer></body></html>"


def clusters_of(
    folder: Path, pages: Mapping[str, Sequence[str]], *, contained: bool
) -> dict[str, str]:
    records = [
        {"id": name, "url": f"http://host{number}.example/", "html": html(own, number)}
        for number, (name, own) in enumerate(pages.items())
    ]
    result = neardup.dedup(
        str(write_jsonl(folder / "pages.jsonl", records)),
        folder / "result",
        method="own-text",
        contained=contained,
    )
    return {row["id"]: row["cluster"] for row in result.pages()}


@pytest.mark.parametrize("writing", WRITINGS)
@pytest.mark.parametrize("share", [0.3, 0.5, 0.6, 0.7])
def test_no_page_in_between_joins_two_articles(tmp_path: Path, writing: str, share: float) -> None:
    one, other = article(1, 20, writing), article(2, 20, writing)
    pages: dict[str, Sequence[str]] = {f"one{copy}": one[copy:] for copy in range(3)}
    pages |= {f"other{copy}": other[copy:] for copy in range(3)}
    cut = round(20 * share)
    pages |= {"half1": one[:cut] + other[cut:], "half2": other[:cut] + one[cut:]}
    clusters = clusters_of(tmp_path, pages, contained=False)
    assert len({clusters[f"one{copy}"] for copy in range(3)}) == 1
    assert len({clusters[f"other{copy}"] for copy in range(3)}) == 1
    assert clusters["one0"] != clusters["other0"]


def test_excerpts_join_only_when_asked(tmp_path: Path) -> None:
    whole = article(1, 12)
    pages = {"excerpt": whole[:3], "whole": whole}
    for contained in (False, True):
        folder = tmp_path / str(contained)
        folder.mkdir()
        clusters = clusters_of(folder, pages, contained=contained)
        assert (clusters["excerpt"] == clusters["whole"]) is contained


def test_sisters_are_not_joined_by_a_third_page(tmp_path: Path) -> None:
    """Two pages of one form on one host, and a copy of each elsewhere."""
    records = [
        {"id": name, "url": f"http://{host}.example/{name}", "html": html(form(seed), 0)}
        for name, host, seed in [("a1", "a", 1), ("a2", "a", 2), ("b1", "b", 1), ("b2", "c", 2)]
    ]
    source = write_jsonl(tmp_path / "pages.jsonl", records)
    result = neardup.dedup(str(source), tmp_path / "result", method="own-text")
    clusters = {row["id"]: row["cluster"] for row in result.pages()}
    assert clusters["a1"] != clusters["a2"]
    relations = {(pair["a"], pair["b"]): pair["relation"] for pair in result.pairs()}
    assert relations["a1", "b1"] == relations["a2", "b1"] == "near"
    assert relations["a1", "a2"] == "overlap"
