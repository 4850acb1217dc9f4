"""The plain truth for `kernels.site`, one page at a time, over dictionaries and sets."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass

from kernels.reference.shingles import BASE, WORD, mix

BANDS, ROWS = 4, 3
HOST_SALT, TITLE_SALT = int.from_bytes(b"host"), int.from_bytes(b"title")


@dataclass(frozen=True)
class Page:
    """The hashes of a page's lines, which of them are furniture, and its host (0: none)."""

    host: int
    lines: Sequence[tuple[int, bool]]

    @property
    def hashes(self) -> list[int]:
        return [line for line, _ in self.lines]


def is_furniture(
    region: int, kind: int, links: float, regions: Set[int], button: int, mostly: float
) -> tuple[bool, bool]:
    """Whether a line is in one of the regions or a button; and whether it is that or a link."""
    is_menu = region in regions or kind == button
    return is_menu, is_menu or links >= mostly


def furniture_keys(page: Page, least: int) -> list[int]:
    """A key a band, from the smallest of the furniture lines under each of twelve orders."""
    furniture = {line for line, is_furniture in page.lines if is_furniture}
    if len(furniture) < least:
        return [0] * BANDS
    samples = [
        min(mix(line ^ (BASE * (which + 1) % WORD)) for line in furniture)
        for which in range(BANDS * ROWS)
    ]
    return [_band_key(band + 1, samples[band * ROWS :][:ROWS]) for band in range(BANDS)]


def _band_key(value: int, samples: Sequence[int]) -> int:
    for sample in samples:
        value = mix((value * BASE + sample) % WORD)
    return value | 1


def line_key(site: int, line: int) -> int:
    """The key under which a line of a site is counted."""
    return mix((site * BASE + line) % WORD)


def host_key(host: int) -> int:
    """The key under which the pages of a host are counted."""
    return mix(host ^ HOST_SALT)


def title_key(host: int, title: int) -> int:
    """The key under which the pages of a host with one title are counted."""
    return line_key(mix(host ^ TITLE_SALT), title)


def survey_keys(page: Page, sites: Sequence[int]) -> Counter[int]:
    """What the lines of a page count for: all of them on its host, and those that are told on the
    sites that its furniture names."""
    told = {line for line, is_furniture in page.lines if not is_furniture}
    keys = [line_key(site, line) for site in sites if site for line in told]
    if page.host:
        keys += [line_key(page.host, line) for line in set(page.hashes)]
    return Counter(keys)


def line_counts(
    page: Page, sites: Sequence[int], few_pages: int, counts: Mapping[int, int]
) -> list[int]:
    """The most pages on which each line stands, of all sites that the page learns from."""
    on_host = counts.get(host_key(page.host), 1) if page.host else 1
    learns_from = [page.host] if on_host > 1 else []
    if on_host < few_pages:
        learns_from += [site for site in sites if site]
    return [
        max([1, *(counts.get(line_key(site, line), 1) for site in learns_from)])
        for line in page.hashes
    ]


def trace_keys(host: int, traces: Sequence[Sequence[int]]) -> set[int]:
    """What the traces of a page's lines count for: each once on its host."""
    return {line_key(host, trace) for line in traces for trace in line if trace and host}


def trace_counts(
    host: int, traces: Sequence[Sequence[int]], counts: Mapping[int, int]
) -> list[int]:
    """The most pages that share a trace of each line."""
    if not host or counts.get(host_key(host), 1) < 2:
        return [1] * len(traces)
    return [
        max(counts.get(line_key(host, trace), 1) if trace else 1 for trace in line)
        for line in traces
    ]
