"""Small pages for tests: articles, and templates to put them in."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path

ARTICLES = {
    "ferry": (
        "The harbour ferry will run every twenty minutes from next Monday, the port said today.",
        "Until now passengers on the northern line had waited for up to an hour at low tide.",
        "A second boat, the Marigold, was bought from a closed line in the western islands.",
    ),
    "bridge": (
        "Engineers closed the old railway bridge on Friday after a crack was found in a pier.",
        "Trains between the two valleys are replaced by buses until the end of the month.",
        "The bridge, built of local granite, had been inspected only twelve weeks before.",
    ),
    "茶": (
        "春茶上市以来，山里的气温一直偏低，采茶的日子比往年晚了将近十天。",
        "茶农老周说，今年的芽头虽然少，但是香气比去年更足，价格也高了一些。",
        "镇里的合作社计划在下个月举办品茶会，邀请周边几个县的茶商前来参加。",
    ),
}


def html(article: str, *, host: str = "site.example", wrap: str = "p", extra: str = "") -> str:
    """An article inside a host's template."""
    paragraphs = "".join(f"<{wrap}>{text}</{wrap}>" for text in ARTICLES[article])
    return (
        f"<html><head><title>{article}</title></head><body><nav><a href='/'>{host} home</a>"
        f"</nav><main>{paragraphs}{extra}</main><footer>© {host}</footer></body></html>"
    )


def write_jsonl(path: Path, records: Iterable[Mapping[str, object]]) -> Path:
    """A JSONL file of records."""
    lines = [json.dumps(record, ensure_ascii=False) for record in records]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def sample_records() -> list[dict[str, object]]:
    """Seven pages: three copies of one article, two of another, one alone, one too short."""
    return [
        {"id": "a1", "url": "http://a.example/1", "html": html("ferry")},
        {"id": "a2", "url": "http://b.example/2", "html": html("ferry", wrap="div")},
        {"id": "a3", "url": "http://c.example/3", "html": html("ferry").upper()},
        {"id": "b1", "url": "http://a.example/4", "html": html("茶"), "time": "2024-05-02"},
        {"id": "b2", "url": "http://b.example/5", "html": html("茶"), "time": "2024-05-01"},
        {"id": "c1", "url": "http://a.example/6", "html": html("bridge")},
        {"id": "d1", "url": "http://a.example/7", "html": "<p>Not found</p>"},
    ]


_SPACED = {
    "harbour": ("ferry", "tide", "pier", "captain", "lantern", "harbour", "signal", "cargo"),
    "railway": ("bridge", "engine", "valley", "granite", "platform", "guard", "tunnel", "track"),
    "orchard": ("apple", "blossom", "ladder", "cider", "frost", "grafting", "meadow", "harvest"),
}
_HAN = {"茶山": "茶芽雨露山坡采摘清香炉火竹篮早市", "渡口": "船桨潮水渡口灯塔码头乘客缆绳风浪"}


def long_html(topic: str, *, edited: bool = False) -> str:
    """A page of eight paragraphs on a topic, with words of its own; edited in one place."""
    write = _spaced_paragraph if topic in _SPACED else _han_paragraph
    paragraphs = [write(topic, number) for number in range(8)]
    if edited:
        paragraphs[3] += " One more line." if topic in _SPACED else "又添了一句话。"
    body = "".join(f"<p>{text}</p>" for text in paragraphs)
    title = (
        f"{topic} {topic} report" if topic in _SPACED else f"{topic}见闻：今年{topic}的变化与记录"
    )
    return f"<html><head><title>{title}</title></head><body><article>{body}</article></body></html>"


def _spaced_paragraph(topic: str, number: int) -> str:
    words = _SPACED[topic]
    picks = [words[(number * step + step) % len(words)] for step in (1, 3, 5, 7)]
    return (
        f"{OPENINGS[number]} the {picks[0]} near {topic} {number} was seen by the {picks[1]}. "
        f"People of the {picks[2]} spoke about a {picks[3]} for {number + 3} days, and then left. "
        f"Nobody had thought that the {picks[1]} would return to the {picks[0]} so soon."
    )


def _han_paragraph(topic: str, number: int) -> str:
    characters = _HAN[topic]
    turned = characters[number:] + characters[:number]
    return (
        f"{HAN_OPENINGS[number]}{turned[:6]}一带来了{number + 3}位客人，他们说{turned[6:10]}很好。"
        f"{turned[2:5]}旁边的老人回答，{turned[8:14]}已经有许多年没有这样热闹了。"
        f"到了傍晚，{turned[1:4]}和{turned[10:13]}都安静下来，只剩下{turned[5:8]}的声音。"
    )


OPENINGS = ["Yesterday", "Before", "Although", "Nearly", "Long", "Under", "Without", "Quietly"]
HAN_OPENINGS = ["昨天", "清晨", "起初", "后来", "每逢", "原来", "不久", "如今"]


def short_html() -> str:
    """Too little text to tell anything."""
    return "<html><head><title></title></head><body><p>Hi</p></body></html>"
