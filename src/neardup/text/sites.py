"""What a site repeats: counts over its pages, and what they say about a line of text.

Most text of a web page belongs to its site. Two counts say which:

* `LineCounts`: on how many pages of a host, or of pages with the same furniture (menus, footers,
  links), each line stands, and each title. `own-text` weighs every line by it.
* `BlockCounts`: which blocks of the main text a host shows under several titles. The view `own`
  (`text.views`) leaves these out.

Both count by 64-bit keys, so counts of parts of a crawl are added up (`add_counts`), on one
machine, on many, or at crawl time over a sample of each site. A `Survey` holds the sums.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import xxhash
from numpy.typing import NDArray

from neardup.arrays import booleans, distinct, list_array, ragged, read_only, string_buffers
from neardup.kernels import key_order, lines, site
from neardup.kernels.shingles import mix_all
from neardup.kernels.text_bits import TextBits, text_bits
from neardup.kernels.titles import title_hashes
from neardup.model import BlockKind, Region
from neardup.schemas import COUNTS
from neardup.text.views import Lines, main_lines

Keys = NDArray[np.uint64]
Numbers = NDArray[np.int64]

NO_KEYS: Keys = np.empty(0, np.uint64)
NO_COUNTS: Numbers = np.empty(0, np.int64)
_BUILDING = threading.Lock()


@dataclass(frozen=True)
class Survey:
    """Counts over many pages, by key.

    Only keys counted more than once are here: whoever looks a key up has it, so it counts once.
    """

    pages: int
    keys: Keys  # ascending, each once
    counts: Numbers
    known_table: site.CountTable | None = None

    @classmethod
    def from_counts(cls, pages: int, counts: Iterable[pa.RecordBatch]) -> Survey:
        """A survey of so many pages, from counts (`schemas.COUNTS`) in the order of their keys."""
        keys, numbers = [NO_KEYS], [NO_COUNTS]
        for batch in counts:
            columns = batch["key"].to_numpy(), batch["count"].to_numpy()
            several, more = key_order.more_than_once(*columns)
            keys.append(several)
            numbers.append(more + 1)
        every = np.concatenate(keys)
        keys.clear()  # there may be as many as pages have lines: none is held twice for long
        return cls(pages, every, np.concatenate(numbers))

    @property
    def table(self) -> site.CountTable:
        """The counts as the table that kernels look up (`kernels.site.count_table`)."""
        if self.known_table is not None:
            return self.known_table
        with _BUILDING:  # one thread builds it, the others wait
            return self._table

    @cached_property
    def _table(self) -> site.CountTable:
        return site.count_table(self.keys, self.counts)

    @classmethod
    def from_keys(cls, pages: Sequence[Keys], wanted: Keys) -> Survey:
        """A survey of pages, from the keys that each counts one for: of `wanted` keys only."""
        if not pages:
            return cls(0, NO_KEYS, NO_COUNTS)
        return cls(len(pages), *site.counts_among(wanted, np.concatenate(pages)))

    def count(self, keys: Keys) -> Numbers:
        """The count of each key, at least 1."""
        if self.keys.size == 0:
            return np.ones(keys.size, np.int64)
        place = np.minimum(np.searchsorted(self.keys, keys), self.keys.size - 1)
        return np.where(self.keys[place] == keys, self.counts[place], 1)

    def own_lines(self, chosen: Lines, pages: pa.RecordBatch) -> Lines:
        """Those of some lines that `BlockCounts` says are their page's own."""
        block, with_title = _block_keys(chosen, pages)
        own = self.count(block) - self.count(with_title) < OTHER_PAGES
        hostless = booleans(pc.equal(pages["host"], ""))
        return chosen.only(own | hostless[chosen.page])


def add_counts(batches: Iterable[pa.RecordBatch]) -> pa.RecordBatch:
    """The keys of all batches (`schemas.COUNTS`), in order, each with the sum of its counts.

    Most keys are counted once in each batch, and keys alone are sorted in a third of the time. What
    others count more is added to the number of batches that have them.
    """
    parts = [(batch["key"].to_numpy(), batch["count"].to_numpy()) for batch in batches]
    keys = np.concatenate([NO_KEYS, *(key for key, _ in parts)])
    keys.sort()
    keys, counts = key_order.counts_of_keys(keys)
    repeated = [key_order.more_than_once(*part) for part in parts]
    of_keys = np.concatenate([NO_KEYS, *(key for key, _ in repeated)])
    more = np.concatenate([NO_COUNTS, *(count for _, count in repeated)])
    key_order.add_by_key(keys, counts, *key_order.in_order_of_keys(of_keys, more))
    return pa.record_batch([keys, counts], schema=COUNTS)


class SiteCounts(Protocol):
    """A way to count what sites repeat."""

    def count(self, pages: pa.RecordBatch) -> pa.RecordBatch:
        """What these pages count for (`schemas.COUNTS`); equal keys are added up."""

    def notes(self, pages: pa.RecordBatch) -> pa.RecordBatch | None:
        """Columns (`NOTES`, one row per page) that counting has made and features need again; as
        columns of the pages they spare that work. None if there is nothing to keep."""

    def page_keys(self, pages: pa.RecordBatch) -> list[Keys]:
        """The keys that each page counts one for: `count` page by page."""

    def lookups(self, pages: pa.RecordBatch) -> Keys:
        """Every key that these pages will look up, each once, for an engine that hands a batch only
        the counts it needs."""

    def survey(self, pages: pa.RecordBatch, others: Sequence[Keys]) -> tuple[Survey, list[Keys]]:
        """The counts that these pages will look up, over them and other pages, of which
        `page_keys` are given; and their own `page_keys`."""

    def sites(self, pages: pa.RecordBatch) -> tuple[Numbers, Keys]:
        """The sites that pages belong to, the pages they are counted with: rows and keys."""


# Lines by host and furniture

FEW_HOSTS = 8  # are not worth a dictionary
FURNITURE_REGIONS = int(Region.NAV), int(Region.FOOTER)
FURNITURE_LINKS = 0.5  # share of links from which a line is furniture


# What a layout is made of besides the pages themselves: see `Layout`.
NOTES = pa.schema(
    [
        ("host_key", pa.uint64()),
        ("title_key", pa.uint64()),
        ("line_starts", pa.list_(pa.int32())),  # counted from the text of the first page
        ("line_hashes", pa.list_(pa.uint64())),
        ("long_lines", pa.list_(pa.int32())),  # counted from the first line of the first page
        ("line_traces", pa.list_(pa.uint64())),
    ]
)

_last_of_thread = threading.local()


def _forget_layout(batch: weakref.ref[pa.RecordBatch]) -> None:
    """A batch is gone; its layout holds most of its memory."""
    if getattr(_last_of_thread, "layout", (None,))[0] is batch:
        del _last_of_thread.layout


class Traces(NamedTuple):
    """Numbers by which long lines are known when they were edited, their digits apart."""

    lines: Numbers  # those that are long
    values: Keys  # a row of `lines.TRACES` for each

    def rows(self, documents: Numbers) -> Numbers:
        """The first row of each page."""
        return np.searchsorted(self.lines, documents)


@dataclass(frozen=True)
class Layout:
    """The lines of a batch of pages."""

    data: NDArray[np.uint8]
    starts: Numbers  # of each line in the data
    documents: Numbers  # the first line of each page
    link_shares: NDArray[np.float32]
    regions: NDArray[np.uint8]
    menus: NDArray[np.bool_]  # menus, footers and buttons, as the markup says
    furniture: NDArray[np.bool_]  # those, and lines that are mostly links
    hosts: Keys  # 0 for a page without a host
    titles: Keys  # of the words of a title, numbers apart; 0 for none
    known_hashes: Keys | None = None  # what `hashes`, `traces` and `bits` are, where it is known
    known_traces: Traces | None = None
    known_bits: TextBits | None = None

    @classmethod
    def of(cls, pages: pa.RecordBatch, *, with_bits: bool = False) -> Layout:
        """The lines of pages. Plain texts may come without the columns of markup.

        `with_bits`: the `bits` will be needed, and lines are found with them. Counting, sites and
        features ask for the lines of one batch in turn: the last layout of each thread is kept as
        long as its batch is.
        """
        batch, layout = getattr(_last_of_thread, "layout", (None, None))
        if batch is None or batch() is not pages:
            layout = cls._of(pages, with_bits=with_bits)
            _last_of_thread.layout = weakref.ref(pages, _forget_layout), layout
        assert isinstance(layout, cls)
        return layout

    @classmethod
    def _of(cls, pages: pa.RecordBatch, *, with_bits: bool) -> Layout:
        if "line_hashes" in pages.schema.names:
            return cls._of_notes(pages)
        data, offsets = text_bytes(pages["text"])
        bits = text_bits(data) if with_bits else None
        newlines = lines.newline_bits(data) if bits is None else bits.newlines
        starts, documents = lines.line_offsets(newlines, offsets)
        markup = _of_markup(pages, starts.size - 1)
        hosts, titles = host_keys_of(pages["host"]), title_keys(pages)
        return cls(data, starts, documents, *markup, hosts, titles, known_bits=bits)

    @classmethod
    def _of_notes(cls, pages: pa.RecordBatch) -> Layout:
        """The layout that these notes (`NOTES`) were taken of."""
        data, _ = text_bytes(pages["text"])
        hashes, documents = ragged(pages["line_hashes"])
        starts = np.append(ragged(pages["line_starts"]).values, data.size).astype(np.int64)
        markup = _of_markup(pages, hashes.size)
        hosts, titles = (pages[name].to_numpy().copy() for name in ("host_key", "title_key"))
        long_lines = ragged(pages["long_lines"]).values.astype(np.int64)
        traces = Traces(long_lines, ragged(pages["line_traces"]).values.reshape(-1, lines.TRACES))
        return cls(data, starts, documents, *markup, hosts, titles, hashes, traces)

    def notes(self) -> pa.RecordBatch:
        """What another layout of the same pages can be made of (`NOTES`)."""
        traces = self.traces
        rows = traces.rows(self.documents)
        columns = [
            self.hosts,
            self.titles,
            list_array(self.starts[:-1].astype(np.int32), self.documents),
            list_array(self.hashes, self.documents),
            list_array(traces.lines.astype(np.int32), rows),
            list_array(traces.values.ravel(), rows * lines.TRACES),
        ]
        return pa.record_batch(columns, schema=NOTES)

    @property
    def has_sites(self) -> bool:
        """Whether anything identifies a site; nothing does for texts without host and markup."""
        return bool(self.hosts.any() or self.furniture.any())

    @cached_property
    def bits(self) -> TextBits:
        """The bytes of the text, classified; counting does without."""
        return text_bits(self.data) if self.known_bits is None else self.known_bits

    @property
    def hashes(self) -> Keys:
        """A number for each line, its digits apart."""
        return self._numbers[0] if self.known_hashes is None else self.known_hashes

    @property
    def traces(self) -> Traces:
        """The traces of long lines."""
        return self._numbers[1] if self.known_traces is None else self.known_traces

    @cached_property
    def _numbers(self) -> tuple[Keys, Traces]:
        hashes, long_lines, traces = lines.line_numbers(self.data, self.starts)
        return read_only(hashes), Traces(long_lines, read_only(traces))

    def furniture_keys(self, least: int) -> Keys:
        """The sites that the furniture of each page tells, from `least` lines of it."""
        if self._of_furniture.get(least) is None:
            self._of_furniture[least] = site.furniture_keys(
                self.hashes, self.documents, self.furniture, least
            )
        return self._of_furniture[least]

    @cached_property
    def _of_furniture(self) -> dict[int, Keys]:
        return {}


def text_bytes(texts: pa.StringArray) -> tuple[NDArray[np.uint8], Numbers]:
    """The bytes of texts, from the first on, and where each starts in them."""
    data, offsets = string_buffers(texts)
    return data[offsets[0] : offsets[-1]], offsets - offsets[0]


@dataclass(frozen=True)
class LineCounts:
    """Lines and titles by host, and lines by furniture.

    Pages with the same furniture are one site whatever their hosts: `min_furniture` lines of it, at
    least, tell a site.
    """

    min_furniture: int

    def count(self, pages: pa.RecordBatch) -> pa.RecordBatch:
        if not _may_have_sites(pages):
            return pa.RecordBatch.from_pylist([], COUNTS)
        page = Layout.of(pages)
        keys = self._keys(page)
        keys.sort()
        return pa.record_batch(list(key_order.counts_of_keys(keys)), schema=COUNTS)

    def notes(self, pages: pa.RecordBatch) -> pa.RecordBatch | None:
        return Layout.of(pages).notes() if _may_have_sites(pages) else None

    def page_keys(self, pages: pa.RecordBatch) -> list[Keys]:
        page = Layout.of(pages)
        if not page.has_sites:
            return [NO_KEYS] * pages.num_rows
        return _cut(*self._keys_by_page(page, page.furniture))

    def lookups(self, pages: pa.RecordBatch) -> Keys:
        """A line that is furniture here may be none on other pages, so it is looked up, too."""
        page = Layout.of(pages)
        keys, _ = self._keys_by_page(page, np.zeros(page.furniture.size, np.bool_))
        return distinct(keys)

    def survey(self, pages: pa.RecordBatch, others: Sequence[Keys]) -> tuple[Survey, list[Keys]]:
        page = Layout.of(pages)
        counted = np.concatenate([NO_KEYS, *others])
        keys, starts, table = site.count_on_sites(*self._about(page, page.furniture), counted)
        own = _cut(keys, starts)
        return Survey(len(own) + len(others), table[2], table[3], table), own

    def sites(self, pages: pa.RecordBatch) -> tuple[Numbers, Keys]:
        """The host of each page, and its furniture keys."""
        page = Layout.of(pages)
        hosts, of_furniture = page.hosts[:, None], page.furniture_keys(self.min_furniture)
        every = np.concatenate([hosts, of_furniture], axis=1)
        rows, columns = every.nonzero()
        return rows, every[rows, columns]

    def _keys_by_page(self, page: Layout, furniture: NDArray[np.bool_]) -> tuple[Keys, Numbers]:
        """What each page counts one for, and where that of each starts."""
        return site.page_keys(*self._about(page, furniture))

    def _about(
        self, page: Layout, furniture: NDArray[np.bool_]
    ) -> tuple[Keys, Numbers, NDArray[np.bool_], Keys, Numbers, Keys, Keys, Keys]:
        """What the keys of pages depend on."""
        traces = page.traces
        return (
            page.hashes,
            page.documents,
            furniture,
            traces.values,
            traces.rows(page.documents),
            page.hosts,
            page.titles,
            page.furniture_keys(self.min_furniture),
        )

    def _keys(self, page: Layout) -> Keys:
        """What pages count one for: their host, their title on it, and their lines, as they are
        and by their traces."""
        by_site = page.furniture_keys(self.min_furniture)
        of_lines = site.survey_keys(
            page.hashes, page.documents, page.furniture, page.hosts, by_site
        )
        hosts, titles = site.host_keys(page.hosts), site.title_keys(page.hosts, page.titles)
        traces = page.traces
        of_traces = site.trace_keys(traces.values, traces.rows(page.documents), page.hosts)
        return np.concatenate([hosts[hosts != 0], titles[titles != 0], of_lines, of_traces])


def _cut(keys: Keys, starts: Numbers) -> list[Keys]:
    """The keys of each page, in arrays of their own."""
    return [keys[first:end].copy() for first, end in pairwise(starts.tolist())]


def _may_have_sites(pages: pa.RecordBatch) -> bool:
    """As `Layout.has_sites`, without a look at the text."""
    return pc.any(pc.not_equal(pages["host"], "")).as_py() or bool(_of_markup(pages, 0)[3].any())


def _of_markup(
    pages: pa.RecordBatch, text_lines: int
) -> tuple[NDArray[np.float32], NDArray[np.uint8], NDArray[np.bool_], NDArray[np.bool_]]:
    """Link shares, regions, menus and furniture: see `Layout`. Plain texts have `text_lines`
    lines."""
    if "kinds" not in pages.schema.names:
        no = np.zeros(text_lines, bool)
        return np.zeros(text_lines, np.float32), no.view(np.uint8), no, no
    columns = pages["link_shares"], pages["regions"], pages["kinds"]
    link_shares, regions, kinds = (column.flatten().to_numpy() for column in columns)
    menus, furniture = site.furniture_lines(
        regions, kinds, link_shares, FURNITURE_REGIONS, int(BlockKind.CONTROL), FURNITURE_LINKS
    )
    return link_shares, regions, menus, furniture


def title_keys(pages: pa.RecordBatch) -> Keys:
    """A number for the words of each title. The number of a chapter or release is none of them."""
    none = np.zeros(pages.num_rows, np.uint64)
    if "title" not in pages.schema.names:
        return none
    data, offsets = string_buffers(pages["title"])
    if offsets[0] == offsets[-1]:
        return none
    return title_hashes(data, offsets)


def host_keys_of(hosts: pa.StringArray) -> Keys:
    """A number for each host, 0 for none."""
    if len(hosts) <= FEW_HOSTS:
        return _host_keys(hosts)
    encoded = hosts.dictionary_encode()  # a host has many pages in a batch
    keys: Keys = _host_keys(encoded.dictionary)[encoded.indices.to_numpy()]
    return keys


def _host_keys(hosts: pa.StringArray) -> Keys:
    digest = xxhash.xxh3_64_intdigest
    numbers = [digest(host.encode()) | 1 if host else 0 for host in hosts.to_pylist()]
    return np.array(numbers, np.uint64)


# Blocks by host and title

OTHER_PAGES = 2  # of another title, on which a host shows a block that is its own


class BlockCounts:
    """On how many pages of a host each block of main text stands, and on how many of one title.

    Copies of one story under one title do not make a block the site's, and pages whose host is not
    known keep all of theirs.
    """

    def count(self, pages: pa.RecordBatch) -> pa.RecordBatch:
        main = main_lines(pages)
        block, with_title = _block_keys(main, pages)
        page = main.page.astype(np.uint64)
        once = np.unique(np.stack([page, block]), axis=1, return_index=True)[1]
        both = np.concatenate([block[once], with_title[once]])
        keys, counts = np.unique(both, return_counts=True)
        return pa.record_batch([keys, counts.astype(np.int64)], schema=COUNTS)

    def notes(self, pages: pa.RecordBatch) -> pa.RecordBatch | None:
        del pages
        return None

    def page_keys(self, pages: pa.RecordBatch) -> list[Keys]:
        rows = range(pages.num_rows)
        return [self.count(pages.slice(row, 1))["key"].to_numpy() for row in rows]

    def lookups(self, pages: pa.RecordBatch) -> Keys:
        keys: Keys = self.count(pages)["key"].to_numpy()
        return keys

    def survey(self, pages: pa.RecordBatch, others: Sequence[Keys]) -> tuple[Survey, list[Keys]]:
        own = self.page_keys(pages)
        return Survey.from_keys([*own, *others], self.lookups(pages)), own

    def sites(self, pages: pa.RecordBatch) -> tuple[Numbers, Keys]:
        """The host of each page that has one."""
        rows = np.flatnonzero(booleans(pc.not_equal(pages["host"], "")))
        return rows, _text_keys(pages["host"].take(pa.array(rows)))


def _block_keys(chosen: Lines, pages: pa.RecordBatch) -> tuple[Keys, Keys]:
    """A number for the host and text of each line, and one for its page's title, too."""
    page = chosen.page
    hosts, titles = _text_keys(pages["host"])[page], _text_keys(pages["title"])[page]
    block = mix_all(mix_all(hosts) ^ _text_keys(chosen.texts()))
    return block, mix_all(block ^ titles)


def _text_keys(texts: pa.StringArray) -> Keys:
    content = texts.cast(pa.binary()).to_pylist()
    return np.array([xxhash.xxh3_64_intdigest(text) for text in content], np.uint64)
