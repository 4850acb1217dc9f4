"""`own-text` on small pages: the relations, the evidence, the keys, the clusters."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import neardup
from neardup.local.features import Features, candidates_in_memory, survey_batch
from neardup.methods.registry import make_method
from neardup.model import Relation
from neardup.text.sites import LineCounts
from own_text_pages import (
    METHOD,
    WORDS,
    WRITINGS,
    article,
    form,
    judged,
    on_site,
)
from page_batches import judge_one, judge_rows, page_batch
from sample_pages import write_jsonl

# ---- relations


@pytest.mark.parametrize("writing", WRITINGS)
def test_the_same_text_is_the_same(writing: str) -> None:
    verdict = judged(article(1, writing=writing), article(1, writing=writing))
    assert (verdict.relation, verdict.similarity) == (Relation.SAME, 1.0)
    assert verdict.evidence["why"] == "the own text is the same, token for token"


def test_plain_texts_need_no_markup() -> None:
    pages = page_batch(["\n".join(article(1)), "\n".join(article(2))], host=["", ""])
    assert METHOD.features(pages.select(["host", "text"])) == METHOD.features(pages)
    assert LineCounts(8).count(pages.select(["host", "text"])).num_rows == 0


def test_case_width_and_punctuation_do_not_matter() -> None:
    plain = article(1)
    loud = [line.upper().replace(".", "!").replace("B", "Ｂ") for line in plain]
    assert judged(plain, loud).relation is Relation.SAME


@pytest.mark.parametrize(
    "part",
    [
        '<div id="comments" class="comments-area">',
        '<section class="CommentList">',
        '<ol class="wpd-comment-text x">',
        '<div itemprop="comment">',
        '<ul id="kommentare">',
        '<div class="cookie-notice">',
        '<div role="dialog">',
    ],
)
def test_comments_and_dialogs_count_little(part: str) -> None:
    """A reprint without the comments is near, though they are longer than the article."""
    text, comments = ("".join(f"<p>{line}</p>" for line in article(seed)) for seed in (1, 2))
    with_comments = neardup.html_page(f"<title>T</title>{text}{part}{comments * 2}", id="a")
    reprint = neardup.html_page(f"<title>T</title>{text}", id="b")
    assert neardup.compare(with_comments, reprint).relation is Relation.NEAR
    article_only = neardup.html_page(f"<title>T</title>{text}<div>{comments * 2}", id="c")
    assert neardup.compare(article_only, reprint).relation is Relation.CONTAINS


def test_comments_alone_are_the_text() -> None:
    comments = "".join(f"<p>{line}</p>" for line in article(1))
    pages = [
        neardup.html_page(f"<title>T</title>{intro}<div class=comments>{comments}", id=intro)
        for intro in ("", "<p>Thread</p>")
    ]
    assert neardup.compare(*pages).relation is Relation.NEAR


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
    found = METHOD.describe(page_batch([text], host=["a"]))
    assert METHOD.decidable(found).to_pylist() == [False]
    assert METHOD.keys(found).num_rows == 0


def test_a_page_without_text_is_never_decided() -> None:
    method = make_method("own-text", {"min_units": 0})
    found = method.describe(page_batch(["", "\n\n", "..."], host=["a", "b", "c"]))
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
    assert (
        short.evidence["required_similarity"]
        > judged(long, changed).evidence["required_similarity"]
    )


# ---- evidence


def test_the_evidence_shows_what_is_shared_and_what_is_not() -> None:
    one, other = article(1), article(2)
    left, right = [*one[:4], "Left " + other[0]], [*one[:4], "Right " + other[1]]
    verdict = judged(left, right)
    told = verdict.evidence
    assert set(told) == {
        "why", "left_share", "right_share", "required_similarity", "same_host",
        "shared", "only_left", "only_right",
    }  # fmt: skip
    assert told["shared"] == one[0][: len(told["shared"])]
    assert told["only_left"].startswith("Left ")
    assert told["only_right"].startswith("Right ")
    assert f"{told['left_share']:.0%}" in told["why"]
    assert f"{told['required_similarity']:.0%} is required" in told["why"]


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
    found = pa.Table.from_batches([method.describe(pages, survey_batch(method, pages))])
    left, right = candidates_in_memory(method, found)
    pairs = set(zip(left.tolist(), right.tolist(), strict=True))
    assert {(row, row + 20) for row in range(20)} <= pairs
    assert len(pairs) == 20  # and nothing else: no two articles share anything


def test_one_sentence_in_common_makes_a_candidate() -> None:
    """A long page and a short excerpt of it meet through their heaviest sentence."""
    long = article(1, 60)
    heaviest = " ".join(WORDS[:32]) + "."
    pages = page_batch(["\n".join([heaviest, *long]), heaviest], host=["a", "b"])
    left, right = candidates_in_memory(METHOD, pa.Table.from_batches([METHOD.describe(pages)]))
    assert (left.tolist(), right.tolist()) == ([0], [1])


def test_the_order_of_pages_changes_nothing() -> None:
    template = article(9, 3)
    texts = on_site([article(seed % 5, 4) for seed in range(12)], template)
    hosts = [f"host{row % 3}" for row in range(12)]
    order = random.Random(1).sample(range(12), 12)
    pages = page_batch(texts, host=hosts)
    turned = page_batch([texts[i] for i in order], host=[hosts[i] for i in order])
    found = METHOD.describe(pages, survey_batch(METHOD, pages)).to_pylist()
    again = METHOD.describe(turned, survey_batch(METHOD, turned)).to_pylist()
    assert again == [found[i] for i in order]


def test_judging_many_pairs_is_judging_each() -> None:
    texts = ["\n".join(article(seed % 3, 2 + seed)) for seed in range(6)]
    found = METHOD.describe(page_batch([*texts, "short", ""], host=[*"aabbcd", "a", ""]))
    left, right = (side.ravel() for side in np.meshgrid(np.arange(8), np.arange(8)))
    stored = Features.in_memory(found)
    together = judge_rows(METHOD, stored.take(left), stored.take(right)).to_pylist()
    for row, (a, b) in enumerate(zip(left.tolist(), right.tolist(), strict=True)):
        assert judge_rows(METHOD, found.slice(a, 1), found.slice(b, 1)).to_pylist() == [
            together[row]
        ]
    related = METHOD.judge(stored, left, right, evidence=False)
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
    assert relations["a1", "b1"] == "same"
    assert relations["a2", "b1"] == "near"
    assert relations["a1", "a2"] == "overlap"


@pytest.mark.parametrize("view", ["whole", "main", "own"])
def test_what_stores_leave_out_is_made_again_from_the_text(view: str) -> None:
    method = make_method("own-text", view=view)
    own = [article(1), article(2, writing="characters"), article(3, 1), []]
    pages = page_batch(on_site(own, article(9, 2)), host=["h", "h", "h", "h"])
    features = method.describe(pages, survey_batch(method, pages))
    stored = features.select(method.stored_schema.names)
    assert method.with_rebuilt(stored, pages).equals(features)
    some = pa.array([2, 0])
    assert method.with_rebuilt(stored.take(some), pages.take(some)).equals(features.take(some))
