"""A page as the devices hand it on: what the Extractor gave, and its time."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class NewsPage:
    id: str
    time: int  # microseconds
    fingerprints: tuple[int, ...]  # the title's first, if it has one
    title_words: tuple[str, ...]
    content: str  # see `content`
    text_words: tuple[str, ...]  # for the text search; empty otherwise
    digest: str


@dataclass(frozen=True, slots=True)
class Found:
    """The cluster a device found, the page that stands for it, and why."""

    cluster: str
    match: str
    similarity: float
    evidence: dict[str, object]
