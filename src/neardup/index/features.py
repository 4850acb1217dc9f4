"""The features of pages that are judged: of the pages at hand, and of stored ones.

At crawl time most of the work on a stored page is to unpack its features, and the same pages are
asked for again and again: the index keeps those that were used last (`FeatureMemory`), and what
they were made of, as the pages of a site are described again when it is known better.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import xxhash
from numpy.typing import NDArray

from neardup.arrays import FeatureRows, Places
from neardup.index.candidates import NO_KEYS, Keys, Rows, keys_of, unpack_features
from neardup.methods.base import Method
from neardup.methods.identical import identical_in
from neardup.stores.session import Session

FEATURES_KEPT = 256 * 1024**2  # bytes of features that an index keeps in memory
PAGES_KEPT = 128 * 1024**2  # and of the pages that they were made of
BATCH_BYTES = 8_000  # that an Arrow batch takes beside its content
FEW_OTHERS = 8  # rows of pages that did not change: kept, as copying the batch costs more
NOBODY = -1  # the number of these pages


class Described:
    """The features of some pages."""

    def __init__(
        self,
        method: Method,
        numbers: Sequence[int],
        batch: pa.RecordBatch,
        places: Sequence[int] | None = None,
        pages: pa.RecordBatch | None = None,
    ) -> None:
        """`places` are the rows of the pages, if the batch has others as well; `pages` what they
        were described by, if it is at hand, row by row."""
        self.numbers = numbers
        self.batch = batch
        self.pages = pages
        self.places = range(batch.num_rows) if places is None else places
        self.rows = FeatureRows.of(batch)
        self._method = method

    @cached_property
    def size(self) -> int:
        """The bytes of the features in memory."""
        return int(self.batch.get_total_buffer_size()) + BATCH_BYTES

    @cached_property
    def size_of_pages(self) -> int:
        """The bytes of the pages in memory, while they are there."""
        return 0 if self.pages is None else int(self.pages.get_total_buffer_size()) + BATCH_BYTES

    @cached_property
    def every_key(self) -> Keys:
        """The keys of all pages."""
        if len(self.numbers) == self.batch.num_rows:
            return keys_of(self._method, self.batch, np.array(self.numbers, np.int64))
        numbers = np.full(self.batch.num_rows, NOBODY)
        numbers[self.places] = self.numbers
        keys = keys_of(self._method, self.batch, numbers)
        return keys.only(keys.numbers != NOBODY)

    @cached_property
    def _by_page(self) -> Keys:
        keys = self.every_key
        order = np.argsort(keys.numbers, kind="stable")
        return Keys(keys.keys[order], keys.numbers[order])

    def keys(self, number: int) -> Keys:
        """The keys of a page."""
        keys = self._by_page
        first, end = np.searchsorted(keys.numbers, [number, number + 1]).tolist()
        return Keys(keys.keys[first:end], keys.numbers[first:end])

    def to_keep(self) -> Described:
        """The same, copied to a batch of its own if there are more than a few rows of others."""
        if self.batch.num_rows - len(self.numbers) <= FEW_OTHERS:
            return self
        places = np.array(self.places, np.int64)
        pages = None if self.pages is None else FeatureRows.of(self.pages).take(places)
        return Described(self._method, self.numbers, self.rows.take(places), pages=pages)


class Place(NamedTuple):
    """Where the features of a page are."""

    described: Described
    row: int

    def slice(self) -> pa.RecordBatch:
        """The features."""
        return self.described.batch.slice(self.row, 1)

    def page(self, names: Sequence[str]) -> pa.RecordBatch | None:
        """What the features were made of, if it is at hand."""
        pages = self.described.pages  # once: another thread may forget them
        return None if pages is None else pages.select(names).slice(self.row, 1)


def stored_keys(places: Mapping[int, Place]) -> Keys:
    """The keys of some pages, by number."""
    each = [NO_KEYS, *(place.described.keys(number) for number, place in places.items())]
    keys, numbers = np.concatenate([(some.keys, some.numbers) for some in each], axis=1)
    return Keys(keys, numbers)


class FeatureMemory:
    """The features of stored pages, unpacked, those used last. Threads may share it.

    They count only while the store has the same bytes for the page, so they are right whatever
    other processes write. (Those bytes have digests of the text, so they tell the text, too.)
    """

    def __init__(self, most_bytes: int = FEATURES_KEPT, most_of_pages: int = PAGES_KEPT) -> None:
        self._most_bytes, self._most_of_pages = most_bytes, most_of_pages
        self._size, self._size_of_pages = 0, 0
        self._places: dict[int, tuple[bytes, Place]] = {}  # with the digest of what is stored
        self._used: OrderedDict[int, Described] = OrderedDict()  # by id, those used last at the end
        self._with_pages: OrderedDict[int, Described] = OrderedDict()  # by id, as they came
        self._turn = threading.Lock()

    def read(self, method: Method, session: Session, numbers: Sequence[int]) -> dict[int, Place]:
        """The features of those of the pages that have some in the store."""
        packed = session.content("features", numbers)
        found = self._find(packed)
        if missing := {n: content for n, content in packed.items() if n not in found}:
            batch, pages = unpack_features(method, session, missing)
            features = Described(method, list(missing), batch, pages=pages)
            self.keep(features, list(missing.values()))
            found |= {number: Place(features, row) for row, number in enumerate(missing)}
        return found

    def keep(self, features: Described, packed: Sequence[bytes]) -> None:
        """Keep features that the store has as these bytes, in place of those not used for
        longest."""
        digests = map(xxhash.xxh3_128_digest, packed)
        features = features.to_keep()
        with self._turn:
            for number, row, digest in zip(features.numbers, features.places, digests, strict=True):
                self._places[number] = digest, Place(features, row)
            self._used[id(features)] = features
            self._size += features.size
            if features.pages is not None:
                self._with_pages[id(features)] = features
                self._size_of_pages += features.size_of_pages
            while self._size > self._most_bytes:
                self._forget(self._used.popitem(last=False)[1])
            while self._size_of_pages > self._most_of_pages:
                self._forget_pages(next(iter(self._with_pages.values())))

    def _find(self, packed: dict[int, bytes]) -> dict[int, Place]:
        found = {}
        with self._turn:
            for number, content in packed.items():
                digest, place = self._places.get(number, NOWHERE)
                if place is not None and digest == xxhash.xxh3_128_digest(content):
                    found[number] = place
                    self._used.move_to_end(id(place.described))
        return found

    def _forget_pages(self, features: Described) -> None:
        """Pages are described again while little is known of their site: soon, or never."""
        if self._with_pages.pop(id(features), None) is not None:
            self._size_of_pages -= features.size_of_pages
            features.pages = None

    def _forget(self, features: Described) -> None:
        self._size -= features.size
        self._forget_pages(features)
        for number in features.numbers:
            place = self._places[number][1] if number in self._places else None
            if place is not None and place.described is features:
                del self._places[number]


NOWHERE: tuple[bytes, None] = b"", None


class PageFeatures:
    """The features of some pages; those of other pages are read from the store on demand, once."""

    def __init__(
        self, method: Method, session: Session, own: Described, memory: FeatureMemory
    ) -> None:
        self.own = own
        self._method = method
        self._session = session
        self._memory = memory
        self._parts = [own.rows]
        self._part_of = {id(own.rows): 0}
        self._places = [(0, row) for row in range(len(own.rows))]  # part and row in it of each row
        self._row_of = dict(zip(own.numbers, own.places, strict=True))
        self._all = own.rows

    def judge(
        self, left: Sequence[int], right: Sequence[int], *, evidence: bool = True
    ) -> pa.RecordBatch:
        """The verdicts on pairs of pages."""
        return self._method.relate(*self._rows(left, right), evidence=evidence)

    def identical(self, left: Sequence[int], right: Sequence[int]) -> NDArray[np.int8]:
        """In what the two pages of each pair are identical (`methods.identical`)."""
        return identical_in(*self._rows(left, right))

    def _rows(self, left: Sequence[int], right: Sequence[int]) -> tuple[FeatureRows, Rows, Rows]:
        """The features of pairs of pages, and where those of each page are."""
        row_of = self._row_of
        if missing := sorted({*left, *right} - row_of.keys()):
            self._add(self._memory.read(self._method, self._session, missing))
        ours = np.array([row_of[each] for each in left], np.int64)
        theirs = np.array([row_of[each] for each in right], np.int64)
        return self._all, ours, theirs

    def _add(self, places: dict[int, Place]) -> None:
        for number, (described, row) in places.items():
            part = self._part_of.setdefault(id(described.rows), len(self._parts))
            if part == len(self._parts):
                self._parts.append(described.rows)
            self._row_of[number] = len(self._places)
            self._places.append((part, row))
        parts, rows = np.array(self._places, np.int32).reshape(-1, 2).T.copy()
        self._all = FeatureRows.at(self._parts, Places(parts, rows))

    def relations(
        self, left: Sequence[int], right: Sequence[int]
    ) -> list[tuple[str, float | None]]:
        """Relation and similarity of pairs of pages."""
        return relations_in(self.judge(left, right, evidence=False))


def relations_in(verdicts: pa.RecordBatch) -> list[tuple[str, float | None]]:
    """Relation and similarity of judged pairs."""
    columns = verdicts["relation"].to_pylist(), verdicts["similarity"].to_pylist()
    return list(zip(*columns, strict=True))


def stored_features(method: Method, session: Session) -> PageFeatures:
    """Features that all come from the store."""
    none = Described(method, [], pa.RecordBatch.from_pylist([], method.row_schema))
    return PageFeatures(method, session, none, FeatureMemory())
