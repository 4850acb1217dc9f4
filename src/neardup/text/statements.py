"""What the pages of a batch state about themselves, a column at a time.

The usual case is read by kernels (`kernels.page_bytes`); `metadata` and `pages.urls` read what is
left, page by page: statements with references in them, addresses with several parameters,
canonical links that lead elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, cached_property, lru_cache

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from neardup.arrays import Mask, Numbers, booleans, read_only, string_array, string_buffers
from neardup.kernels import page_bytes, scan_meta
from neardup.kernels.page_bytes import UNKNOWN, plain_statements, plain_times
from neardup.kernels.scan_bytes import hash_table
from neardup.pages import urls
from neardup.text import metadata

TIME = pa.timestamp("us", tz="UTC")
_YEARS = [
    np.datetime64(f"{year}-01-01", "us").astype(np.int64)
    for year in (metadata.YEARS.start, metadata.YEARS.stop)
]


class Statements:
    """The statements of pages: page p is data[ends[p]:ends[p + 1]], and `places` are within it."""

    def __init__(self, data: NDArray[np.uint8], ends: Numbers, places: NDArray[np.int64]) -> None:
        self._data = data
        self._view = memoryview(data)  # type: ignore[arg-type]
        self._ends = ends
        self._places = places

    def __len__(self) -> int:
        return len(self._ends) - 1

    @cached_property
    def _is_stated(self) -> Mask:
        """Which pages state something, by page and kind."""
        stated: Mask = self._places[:, :, 0] < self._places[:, :, 1]
        return stated

    def any_of(self, kind: int) -> bool:
        """Whether any page states something of this kind."""
        return bool(self._is_stated[:, kind].any())

    def column(self, kind: int) -> pa.StringArray:
        """The statements of one kind, each in one line; empty where there is none."""
        if not self.any_of(kind):
            return pa.repeat("", len(self))
        plain = plain_statements(self._data, self._ends, self._places, kind, metadata.LONGEST)
        return replaced(
            string_array(plain.text, plain.ends), plain.odd, lambda row: self._stated(row, kind)
        )

    def _stated(self, row: int, kind: int) -> str:
        return metadata.stated(self.page(row), self._places[row].tolist(), kind)

    def page(self, row: int) -> memoryview:
        """The bytes of a page, not copied."""
        return self._view[self._ends[row] : self._ends[row + 1]]

    def titles(self, known: pa.StringArray) -> pa.StringArray:
        """The titles; those that are known come first."""
        lacking = is_empty(known)
        if not lacking.true_count or not self.any_of(scan_meta.TITLE):
            return known
        stated = self.column(scan_meta.TITLE)
        return stated if lacking.true_count == len(known) else pc.if_else(lacking, stated, known)

    def times(self, is_undated: Mask) -> pa.Array:
        """When the pages say they were published; null for those that have a date already."""
        times = np.full(len(self), UNKNOWN)
        open_ = is_undated & self._is_stated[:, list(metadata.TIME_KINDS)].any(axis=1)
        for kind in metadata.TIME_KINDS:
            here = open_ & self._is_stated[:, kind]
            if not here.any():
                continue
            said = self.column(kind)
            read = plain_times(*_buffers(said))
            for row in np.flatnonzero(here & (read == UNKNOWN)).tolist():
                read[row] = _microseconds(said[row].as_py())
            read[(read < _YEARS[0]) | (read >= _YEARS[1])] = UNKNOWN
            times = np.where(here, read, times)
            open_ &= times == UNKNOWN
        return pa.array(times, mask=times == UNKNOWN).cast(TIME)

    def languages(self, scripts: pa.StringArray) -> pa.StringArray:
        """The languages that pages state, unless their script contradicts it; else the script's.

        There are few different answers, so each is found once.
        """
        columns = [scripts, *(self.column(kind) for kind in metadata.LANGUAGE_KINDS)]
        encoded = [column.dictionary_encode() for column in columns]
        key = np.zeros(len(self), np.int64)
        for each in encoded:
            key = key * max(len(each.dictionary), 1) + each.indices.to_numpy()
        _, first, which = np.unique(key, return_index=True, return_inverse=True)
        rows = pa.array(first)
        answers = [
            metadata.language_by(script, said)
            for script, *said in zip(
                *(each.take(rows).to_pylist() for each in columns), strict=True
            )
        ]
        return pa.array(answers, pa.string()).take(pa.array(which))

    def addresses(self, known: pa.StringArray) -> tuple[pa.Array, pa.Array, pa.Array]:
        """URLs, their canonical forms and their hosts, from URLs that are known.

        A page without URL may state its own.
        """
        url = known
        if self.any_of(scan_meta.CANONICAL) or self.any_of(scan_meta.OG_URL):
            lacking = booleans(is_empty(known))
            stated = self._is_stated[:, [scan_meta.CANONICAL, scan_meta.OG_URL]].any(axis=1)
            url = replaced(known, lacking & stated, lambda row: self._address(row, "")[0])
        canonical, hosts = canonical_urls(url)
        declares = self._is_stated[:, scan_meta.CANONICAL] & ~booleans(is_empty(known))
        if declares.any():
            # Most pages declare the URL they have, as it stands or in its canonical form
            declared = self.column(scan_meta.CANONICAL)
            declares &= ~booleans(pc.equal(declared, known))
        if declares.any():
            plain, _ = canonical_urls(declared, leave_odd=True)
            elsewhere = declares & ~booleans(pc.equal(plain, canonical))

            def believed(row: int) -> str:
                if address := plain[row].as_py():
                    own: str = canonical[row].as_py()
                    return urls.believed(own, address) or own
                return self._address(row, known[row].as_py())[1]

            canonical = replaced(canonical, elsewhere, believed)
        return url, canonical, hosts

    def _address(self, row: int, url: str) -> tuple[str, str]:
        return metadata.address(self.page(row), self._places[row].tolist(), url)


def main_scripts(counts: NDArray[np.int64]) -> pa.StringArray:
    """`metadata.main_script` of each row of `count_scripts`."""
    weighed = counts.astype(np.int64)
    han, kana = (metadata.CODES.index(code) for code in ("Hani", "Jpan"))
    both = weighed[:, han] + weighed[:, kana]
    is_japanese = weighed[:, kana] >= metadata.KANA_SHARE * both
    weighed[:, kana] = np.where(is_japanese, both, 0)
    weighed[:, han] = np.where(is_japanese, 0, both)
    weighed *= np.array([metadata.DENSE.get(code, 1) for code in metadata.CODES])
    best = weighed.argmax(axis=1) if len(weighed) else np.empty(0, np.int64)
    best = np.where(weighed.any(axis=1), best, len(metadata.CODES))
    return pa.array([*metadata.CODES, ""]).take(pa.array(best))


def canonical_urls(
    column: pa.StringArray, *, leave_odd: bool = False
) -> tuple[pa.StringArray, pa.StringArray]:
    """`urls.canonicalise` and `urls.host` of a column; those that are not plain may be left."""
    plain = page_bytes.plain_addresses(*_buffers(column), _tables())
    canonical = string_array(plain.urls, plain.url_ends)
    hosts = string_array(plain.hosts, plain.host_ends)
    if leave_odd or not plain.odd.any():
        return canonical, hosts
    odd = column.filter(pa.array(plain.odd)).to_pylist()
    return (
        _filled(canonical, plain.odd, [urls.canonicalise(url) for url in odd]),
        _filled(hosts, plain.odd, [urls.host(url) for url in odd]),
    )


@cache
def _tables() -> page_bytes.AddressTables:
    """File names and parameters that make an address odd, as the kernel takes them."""
    noise = urls.TRACKING_PARAMETERS | urls.SESSION_PARAMETERS | urls.SHARE_VALUES.keys()
    return page_bytes.AddressTables(
        hash_table(dict.fromkeys(sorted(urls.INDEX_FILES), 1), 64),
        hash_table(dict.fromkeys(sorted(noise), 1), 512),
        page_bytes.prefix_keys(urls.TRACKING_PREFIXES),
    )


@lru_cache(maxsize=65_536)
def _microseconds(said: str) -> int:
    time = metadata.read_time(said)
    return UNKNOWN if time is None else int(pa.scalar(time, TIME).value)


def is_empty(column: pa.StringArray) -> pa.BooleanArray:
    """Which texts are empty."""
    return pc.equal(pc.binary_length(column), 0)


def replaced(column: pa.StringArray, where: Mask, make: Callable[[int], str]) -> pa.StringArray:
    """The column with what `make` gives for the rows that are marked."""
    rows = np.flatnonzero(where).tolist()
    return _filled(column, where, [make(row) for row in rows]) if rows else column


def _filled(column: pa.StringArray, where: Mask, values: Sequence[str]) -> pa.StringArray:
    return pc.replace_with_mask(column, pa.array(where), pa.array(values, pa.string()))


def _buffers(column: pa.StringArray) -> tuple[NDArray[np.uint8], Numbers]:
    data, ends = string_buffers(column)
    return read_only(data), ends
