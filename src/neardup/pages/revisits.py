"""Revisit records: which pages they repeat, remembered by short keys until those are found."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import blake2b

from neardup.model import Skip, SkipReason, Source


@dataclass(frozen=True, slots=True)
class Revisit:
    """A record that repeats another."""

    source: Source
    url: str
    date: str
    head: bytes


class Revisits:
    """The revisits seen so far, by the keys of what they repeat."""

    def __init__(self) -> None:
        self._waiting: dict[bytes, list[Revisit]] = {}
        self._open: dict[Source, str] = {}  # with their URLs

    def add(self, revisit: Revisit, keys: list[bytes]) -> None:
        self._open[revisit.source] = revisit.url
        for key in keys:
            self._waiting.setdefault(key, []).append(revisit)

    def __bool__(self) -> bool:
        return bool(self._open)

    def take(self, keys: list[bytes]) -> Iterator[Revisit]:
        """Those that wait for a record with one of these keys, each once."""
        for key in keys:
            for revisit in self._waiting.pop(key, []):
                if revisit.source in self._open:
                    del self._open[revisit.source]
                    yield revisit

    def unresolved(self) -> Iterator[Skip]:
        """What is still open, in the order of files and records."""
        for source in sorted(self._open, key=lambda each: (each.path, each.record)):
            detail = "what it repeats is not in the input"
            yield Skip(source, SkipReason.UNRESOLVED_REVISIT, detail, self._open[source])


def target_of(headers: dict[str, str]) -> str:
    """The URL a record is about; some archives write it in angle brackets."""
    return headers.get("warc-target-uri", "").strip("<>")


def _key(*parts: str) -> bytes:
    return blake2b("\n".join(parts).encode("utf-8", "replace"), digest_size=8).digest()


def _keys(record_id: str, uri: str, date: str, digest: str) -> list[bytes]:
    keys = []
    if record_id:
        keys.append(_key("id", record_id))
    if uri and date:
        keys.append(_key("at", uri.strip("<>"), date))
    if digest:
        keys.append(_key("digest", digest.lower()))
    return keys


def own_keys(headers: dict[str, str]) -> list[bytes]:
    """The keys under which a record can be referred to."""
    digest = headers.get("warc-payload-digest", "")
    return _keys(
        headers.get("warc-record-id", ""), target_of(headers), headers.get("warc-date", ""), digest
    )


def wanted_keys(headers: dict[str, str]) -> list[bytes]:
    """The keys of what a revisit repeats: by id, by URL and date, by digest."""
    return _keys(
        headers.get("warc-refers-to", ""),
        headers.get("warc-refers-to-target-uri", ""),
        headers.get("warc-refers-to-date", ""),
        headers.get("warc-payload-digest", ""),
    )
