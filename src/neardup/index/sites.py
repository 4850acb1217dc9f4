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
import xxhash

from neardup.index.candidates import unpack
from neardup.local.survey import add_up, survey_from
from neardup.methods.base import KnowsSites, Method, Survey, Surveys
from neardup.schemas import COUNTS, PAGES
from neardup.stores.session import Session

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
    if not isinstance(method, Surveys) or method.surveys_all:
        return Sites(pages.num_rows, [], {})
    rows = _keys(method, pages)
    samples: dict[int, list[int]] = {site: [] for site, _ in rows}
    for site, number in session.on_sites(list(samples)):
        samples[site].append(number)
    return Sites(pages.num_rows, rows, samples)


def _keys(method: Method, pages: pa.RecordBatch) -> list[tuple[int, int]]:
    if isinstance(method, KnowsSites):
        keys = method.sites(pages)
        sites = keys["key"].to_numpy().view(np.int64).tolist()
        return sorted({*zip(sites, keys["row"].to_pylist(), strict=True)})
    hosts = pages["host"].to_pylist()
    return [(_hashed(host), row) for row, host in enumerate(hosts) if host]


def _hashed(host: str) -> int:
    return int(np.uint64(xxhash.xxh3_64_intdigest(host.encode())).view(np.int64))


def survey_of_sites(
    method: Surveys, session: Session, sites: Sites, batch: pa.RecordBatch, siblings: list[int]
) -> Survey:
    """What the method counts over the batch and the pages that stand for its sites.

    A page that is alone on its sites counts for nobody, and is left out.
    """
    shared = pa.array(sites.rows_with_company(batch.num_rows), pa.int64())
    ours = [method.survey(batch.take(shared))] if len(shared) else []
    counted = add_up([*ours, *stored_surveys(method, session, siblings)])
    return survey_from(batch.num_rows + len(siblings), [counted])


def survey_of_all(method: Surveys, session: Session, batch: pa.RecordBatch) -> Survey:
    """What the method counts over all pages, as it was when their number last doubled.

    Features that go by it can only be compared if they went by the same survey.
    """
    kept = session.content("surveys", [ALL])
    if not kept:
        return survey_from(batch.num_rows, [add_up([method.survey(batch)])])
    pages = int(session.settings()[SURVEYED])
    return survey_from(pages, [unpack(COUNTS, list(kept.values()))])


def doubles(before: int, after: int) -> bool:
    """Whether all pages are to be surveyed anew when there are more of them."""
    return before < LEXICON and before.bit_length() != after.bit_length()


def stored_surveys(method: Surveys, session: Session, numbers: list[int]) -> list[pa.RecordBatch]:
    """What the method counts over stored pages, from their text or as it was kept without it."""
    if not numbers:
        return []
    texts = session.content("texts", numbers)
    kept = session.content("surveys", [number for number in numbers if number not in texts])
    found = []
    if texts:
        found.append(method.survey(unpack(PAGES, list(texts.values()))))
    if kept:
        found.append(unpack(COUNTS, list(kept.values())))
    return found
