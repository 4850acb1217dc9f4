"""What the index knows of the sites its pages come from.

A method that surveys wants to know what a site repeats. Counting every line of every page would
take more room than the pages. So a site is told by a sample: the newest `SAMPLE` of its pages
stand for it. A line that all pages repeat is known from the second page on, and what a page
brought is forgotten with the page.

What a page's own text is can be told better when more pages of its site have come. When the
sample of a site has doubled, its pages get new features and are judged again; from `SAMPLE` pages
on the site is known.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa

from neardup.arrays import decompress
from neardup.methods.base import Method, Surveys
from neardup.schemas import COUNTS, PAGES
from neardup.stores.session import Session
from neardup.text.sites import SiteCounts, Survey, add_counts

SAMPLE = 32
LEXICON = 4096  # pages from which a survey of all pages stays as it is, until a recheck
ALL = 0  # the number under which that survey is kept
SURVEYED = "surveyed pages"


@dataclass(frozen=True)
class Sites:
    """The sites of a batch of new pages."""

    pages: int  # how many there are
    rows: list[tuple[int, int]]  # site and row of the batch
    samples: dict[int, list[int]]  # the stored pages that stand for each site, newest first

    @cached_property
    def arriving(self) -> Counter[int]:
        """How many pages of the batch each site gets."""
        return Counter(site for site, _ in self.rows)

    def rows_with_company(self, count: int) -> list[int]:
        """The rows that share a site with another page; those from the new pages on always."""
        crowded = {
            site for site, sample in self.samples.items() if sample or self.arriving[site] > 1
        }
        new = {row for site, row in self.rows if site in crowded}
        return sorted(new.union(range(self.pages, count)))

    def stale(self) -> list[int]:
        """Stored pages of sites whose sample doubles with this batch, or passes a doubling."""
        found = set()
        for site, sample in self.samples.items():
            before, after = len(sample), min(len(sample) + self.arriving[site], SAMPLE)
            if before.bit_length() != after.bit_length():
                found.update(sample)
        return sorted(found)

    def siblings(self) -> list[int]:
        """All stored pages that tell something about these sites."""
        return sorted({number for sample in self.samples.values() for number in sample})

    def retired(self) -> list[tuple[int, int]]:
        """Site and number of the pages that stand for their site no longer."""
        return [
            (site, number)
            for site, sample in self.samples.items()
            for number in sample[max(SAMPLE - self.arriving[site], 0) :]
        ]

    def taken_up(self, numbers: list[int]) -> list[tuple[int, int]]:
        """Site and number of the new pages that stand for their sites: the newest ones."""
        by_site: dict[int, list[int]] = defaultdict(list)
        for site, row in self.rows:
            by_site[site].append(numbers[row])
        return sorted(
            (site, number) for site, pages in by_site.items() for number in sorted(pages)[-SAMPLE:]
        )


def sites_of(method: Method, session: Session, pages: pa.RecordBatch) -> Sites:
    """The sites of new pages, and who stands for them so far."""
    if method.site_counts is None:
        return Sites(pages.num_rows, [], {})
    keys = method.site_counts.sites(pages)
    numbers = keys["key"].to_numpy().view(np.int64).tolist()
    rows = sorted({*zip(numbers, keys["row"].to_pylist(), strict=True)})
    samples: dict[int, list[int]] = {site: [] for site, _ in rows}
    for site, number in session.on_sites(list(samples)):
        samples[site].append(number)
    return Sites(pages.num_rows, rows, samples)


def survey_of_sites(
    counts: SiteCounts, session: Session, sites: Sites, batch: pa.RecordBatch, siblings: list[int]
) -> Survey:
    """What is counted over the batch and the pages that stand for its sites.

    A page that is alone on its sites counts for nobody, and is left out.
    """
    shared = pa.array(sites.rows_with_company(batch.num_rows), pa.int64())
    ours = [counts.count(batch.take(shared))] if len(shared) else []
    counted = add_counts([*ours, *stored_surveys(counts, session, siblings)])
    return Survey.from_counts(batch.num_rows + len(siblings), [counted])


def survey_of_all(method: Surveys, session: Session, batch: pa.RecordBatch) -> Survey:
    """What the method counts over all pages, as it was when their number last doubled.

    Features that go by it can only be compared if they went by the same survey.
    """
    kept = session.content("surveys", [ALL])
    if not kept:
        return Survey.from_counts(batch.num_rows, [add_counts([method.survey(batch)])])
    pages = int(session.settings()[SURVEYED])
    return Survey.from_counts(pages, [decompress(COUNTS, list(kept.values()))])


def doubles(before: int, after: int) -> bool:
    """Whether all pages are to be surveyed anew when there are more of them."""
    return before < LEXICON and before.bit_length() != after.bit_length()


def stored_surveys(
    counts: SiteCounts, session: Session, numbers: list[int]
) -> list[pa.RecordBatch]:
    """What is counted over stored pages, from their text or as it was kept without it."""
    if not numbers:
        return []
    texts = session.content("texts", numbers)
    kept = session.content("surveys", [number for number in numbers if number not in texts])
    found = []
    if texts:
        found.append(counts.count(decompress(PAGES, list(texts.values()))))
    if kept:
        found.append(decompress(COUNTS, list(kept.values())))
    return found
