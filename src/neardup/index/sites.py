"""What the index knows about the sites of its pages.

The view `own` needs to know what a site repeats. Counting every line of every page would take more
space than the pages. So a site is represented by a sample: its newest `SAMPLE` pages. A line that
all pages repeat is recognised from the second page on, and the counts of a page go with the page.

The more pages of a site have arrived, the better its repeated text is known. Whenever the sample of
a site has doubled, its pages get new features and are judged again; with `SAMPLE` pages the site
counts as known.
"""

from __future__ import annotations

import threading
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from neardup.arrays import decompress
from neardup.methods.base import Method, Surveys
from neardup.schemas import COUNTS, PAGES
from neardup.stores.session import Session
from neardup.text.sites import NO_KEYS, SiteCounts, Survey, add_counts

SAMPLE = 32
LEXICON = 4096  # with more pages, a survey of all pages is only renewed by a recheck
ALL = 0  # the page number under which that survey is stored
SURVEYED = "surveyed pages"
COUNTS_KEPT = 64 * 1024**2  # bytes of counts that an index keeps in memory


@dataclass(frozen=True)
class Sites:
    """The sites of a batch of new pages."""

    pages: int  # pages in the batch
    rows: list[tuple[int, int]]  # site and row of the batch
    samples: dict[int, list[int]]  # the stored pages that represent each site, newest first

    @cached_property
    def arriving(self) -> Counter[int]:
        """The number of new pages of each site."""
        return Counter(site for site, _ in self.rows)

    def have_company(self, count: int) -> bool:
        """Whether any of `count` pages, the new ones and some stored, shares a site."""
        return count > self.pages or any(
            sample or self.arriving[site] > 1 for site, sample in self.samples.items()
        )

    def stale(self) -> list[int]:
        """The stored pages of sites whose sample doubles with this batch."""
        pages = set()
        for site, sample in self.samples.items():
            before, after = len(sample), min(len(sample) + self.arriving[site], SAMPLE)
            if before.bit_length() != after.bit_length():
                pages.update(sample)
        return sorted(pages)

    def siblings(self) -> list[int]:
        """All stored pages that represent these sites."""
        return sorted({number for sample in self.samples.values() for number in sample})

    def retired(self) -> list[tuple[int, int]]:
        """Site and number of the pages that no longer represent their site."""
        return [
            (site, number)
            for site, sample in self.samples.items()
            for number in sample[max(SAMPLE - self.arriving[site], 0) :]
        ]

    def taken_up(self, numbers: list[int]) -> list[tuple[int, int]]:
        """Site and number of the new pages that represent their sites: the newest ones."""
        by_site: dict[int, list[int]] = defaultdict(list)
        for site, row in self.rows:
            by_site[site].append(numbers[row])
        return sorted(
            (site, number) for site, pages in by_site.items() for number in sorted(pages)[-SAMPLE:]
        )


def sites_of(method: Method, session: Session, pages: pa.RecordBatch) -> Sites:
    """The sites of new pages, and the stored pages that represent them."""
    if method.site_counts is None:
        return Sites(pages.num_rows, [], {})
    batch_rows, keys = method.site_counts.sites(pages)
    rows = sorted({*zip(keys.view(np.int64).tolist(), batch_rows.tolist(), strict=True)})
    samples: dict[int, list[int]] = {site: [] for site, _ in rows}
    for site, number in session.on_sites(list(samples)):
        samples[site].append(number)
    return Sites(pages.num_rows, rows, samples)


SiteKeys = NDArray[np.uint64]


class PageCounts:
    """What stored pages count one for on their sites, by page number: the newest, in memory.

    A page never changes under its number, and numbers are never used again, so what is kept here
    stays right whatever other processes write. Threads may share it.
    """

    def __init__(self, most_bytes: int = COUNTS_KEPT) -> None:
        self._most_bytes = most_bytes
        self._kept: dict[int, SiteKeys] = {}  # in order of arrival: newest pages stand for a site
        self._size = 0
        self._turn = threading.Lock()

    def of(self, counts: SiteCounts, session: Session, numbers: list[int]) -> list[SiteKeys]:
        """The keys of stored pages: from memory, or from their text, or as stored in its place.

        They must have been stored before this transaction: what it has written may be undone.
        """
        with self._turn:
            kept = {number: self._kept.get(number) for number in numbers}
        keys_of = {number: keys for number, keys in kept.items() if keys is not None}
        missing = [number for number in numbers if number not in keys_of]
        texts = session.content("texts", missing)
        if texts:
            keys = counts.page_keys(decompress(PAGES, list(texts.values())))
            keys_of |= zip(texts, keys, strict=True)
        stored = session.content("surveys", [number for number in missing if number not in texts])
        for number, packed in stored.items():
            keys_of[number] = decompress(COUNTS, [packed])["key"].to_numpy()
        self.keep((number, keys_of[number]) for number in missing if number in keys_of)
        return list(keys_of.values())

    def keep(self, pages: Iterable[tuple[int, SiteKeys]]) -> None:
        """Keep the keys of pages that are stored, in place of those kept for longest."""
        with self._turn:
            for number, keys in pages:
                if number not in self._kept:
                    self._kept[number] = keys
                    self._size += keys.nbytes
            while self._size > self._most_bytes:
                self._size -= self._kept.pop(next(iter(self._kept))).nbytes


def survey_of_sites(
    counts: SiteCounts,
    sites: Sites,
    batch: pa.RecordBatch,
    siblings: list[SiteKeys],
) -> tuple[Survey, list[SiteKeys]]:
    """The counts over the batch and the pages that represent its sites, and the keys of each row of
    the batch."""
    if not siblings and not sites.have_company(batch.num_rows):
        return Survey.from_keys([], NO_KEYS), counts.page_keys(batch)
    return counts.survey(batch, siblings)


def survey_of_all(method: Surveys, session: Session, batch: pa.RecordBatch) -> Survey:
    """The method's counts over all pages, as of when their number last doubled.

    Features that depend on it are comparable only if they were computed from the same survey.
    """
    kept = session.content("surveys", [ALL])
    if not kept:
        return Survey.from_counts(batch.num_rows, [add_counts([method.survey(batch)])])
    pages = int(session.settings()[SURVEYED])
    return Survey.from_counts(pages, [decompress(COUNTS, list(kept.values()))])


def doubles(before: int, after: int) -> bool:
    """Whether the survey of all pages must be renewed when their number grows."""
    return before < LEXICON and before.bit_length() != after.bit_length()
