"""The review pages speak two languages, all of them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from neardup import html_page
from neardup.api import judge_parsed
from neardup.cli.warm_up import DEMO_PAGES
from neardup.methods.identical import SHELL_REASON
from neardup.methods.registry import BUILT_IN, make_method, method_class
from neardup.pages.raw import raw_batch
from neardup.report import document
from neardup.report.templates import CHINESE, WORDS, evidence_entries, reason, translator
from neardup.service import review
from neardup.service.review.visits import language_of
from neardup.text.parse import parse
from sample_pages import long_html, short_html

HERE = Path(review.__file__).parent
REPORT = Path(document.__file__).parent
SAID = re.compile(r"""\bt(?:ranslate)?\(\s*(?:"([^"]+)"|'([^']+)')""")
COUNTED = re.compile(r"""(?:plural|counted)\((?:[^()"]|\([^()]*\))*"([a-z ]+)"\)""")


def spoken() -> set[str]:
    """All words in templates, scripts and code that are to be translated."""
    folders = [HERE, REPORT]
    files = [
        each
        for folder in folders
        for kind in ("html", "py", "js")
        for each in folder.rglob(f"*.{kind}")
    ]
    texts = [file.read_text("utf-8") for file in files]
    found = {a or b for text in texts for a, b in SAID.findall(text)}
    found |= {f"{{count}} {word}s" for text in texts for word in COUNTED.findall(text)}
    return found | {words for table in WORDS.values() for words in table.values()}


def test_every_word_has_a_chinese_one() -> None:
    words = spoken() | set(document.DECISION_NAMES.values())
    assert len(words) > 250
    assert sorted(words - CHINESE.keys()) == []


@pytest.mark.parametrize("name", BUILT_IN)
def test_every_reason_and_its_evidence_has_a_chinese_one(name: str) -> None:
    files = [
        *DEMO_PAGES.glob("harbourtimes.example/2024/*.html"),
        *DEMO_PAGES.glob("lanch*/**/*.htm"),
    ]
    htmls = [file.read_bytes() for file in files]
    htmls += [
        page.encode()
        for page in (long_html("harbour"), long_html("harbour", edited=True), short_html())
    ]
    pages = [html_page(body, url=f"http://h{at % 3}.example/{at}") for at, body in enumerate(htmls)]
    presets = ["default", *(["paper"] if method_class(name).paper_preset else [])]
    for preset in presets:
        method = make_method(name, preset=preset)
        for a, b in zip(pages, [*pages[1:], pages[0]], strict=True):
            evidence = judge_parsed(method, parse(raw_batch([a, b]))).evidence
            assert not re.search(r"[a-z]{4,}", reason(evidence["why"], "zh")), evidence["why"]
            for entry in evidence_entries(evidence, "zh").keys() - {"why"}:
                assert re.search("[\u4e00-\u9fff]", entry), entry


@pytest.mark.parametrize(
    "why",
    [
        SHELL_REASON,
        "3 of 8 fingerprints in common; lcs 0.40",
        "lcs 0.81 with 17, above 0.7, the best of 3 candidates",
        "all 30 tokens are the same; 9 of 9 shingles are on both pages",
        *(
            f"3 of 5 distinct {chunk} are on both pages"
            for chunk in ("words", "sentences", "paragraphs", "texts")
        ),
    ],
)
def test_reasons_of_shells_and_of_options_have_a_chinese_one(why: str) -> None:
    assert not re.search(r"[a-z]{2,}", reason(why, "zh"))


@pytest.mark.parametrize("words", sorted(CHINESE))
def test_places_for_values_are_the_same(words: str) -> None:
    places = re.compile(r"\{(\w+)\}")
    assert sorted(places.findall(words)) == sorted(places.findall(CHINESE[words]))
    if re.search("[a-z]", places.sub("", words)):
        assert re.search("[\u4e00-\u9fff]", CHINESE[words]) or words == "the {clusters}"


@pytest.mark.parametrize(
    ("chosen", "accepted", "expected"),
    [
        (None, "", "en"),
        (None, "zh-CN,zh;q=0.9,en;q=0.8", "zh"),
        (None, "fr-FR,en;q=0.5,zh;q=0.4", "en"),
        (None, "fr;q=1.0,zh-Hant;q=0.7,en;q=0.3", "zh"),
        (None, "zh;q=x,,;q=,*", "en"),
        ("zh", "en", "zh"),
        ("en", "zh", "en"),
        ("xx", "zh", "zh"),
    ],
)
def test_the_language_is_chosen(chosen: str | None, accepted: str, expected: str) -> None:
    assert language_of(chosen, accepted) == expected


def test_values_find_their_places() -> None:
    assert translator("zh")("on {hosts} hosts", hosts=3) == "来自 3 个主机"
    assert translator("en")("Showing {first} to {last}", first=1, last=2) == "Showing 1 to 2"


def test_evidence_is_in_the_order_people_read_it_and_cut_examples_say_so() -> None:
    evidence = {"why": "w", "only_left": "词" * 53, "required_similarity": 0.7, "right_share": 0.9}
    evidence |= {"left_share": 0.5, "shared": "short"}
    entries = evidence_entries(evidence, "en")
    assert list(entries) == [
        "why",
        "share of A that is shared",
        "share of B that is shared",
        "required similarity",
        "example of shared text",
        "example of text only in A",
    ]
    assert entries["example of shared text"] == "short"
    assert entries["example of text only in A"] == "词" * 53 + "…"
