"""What the report says of pages beside their numbers: hosts, titles, texts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from neardup.engines.features import Rows
from neardup.engines.parsing import Spilled
from neardup.engines.work import read_part
from neardup.pages.url import host

_AUTHORITY = r"^\s*(?:[A-Za-z]+:)?//(?P<authority>[^/?#\\]*)"


@dataclass(frozen=True)
class Hosts:
    """The hosts of all pages; the name is empty for pages without a URL."""

    names: list[str]
    of_page: NDArray[np.int64]


def hosts_of(urls: pa.ChunkedArray) -> Hosts:
    """The host of each URL. Few authorities stand in many URLs: each is looked at once."""
    found = pc.struct_field(pc.extract_regex(urls, _AUTHORITY), "authority")
    coded = pa.array(pc.fill_null(found.combine_chunks(), "")).dictionary_encode()
    by_authority = [host(f"//{authority}") for authority in coded.dictionary.to_pylist()]
    names = sorted(set(by_authority))
    number = {name: place for place, name in enumerate(names)}
    codes = np.array([number[name] for name in by_authority], np.int64)
    return Hosts(names, codes[coded.indices.to_numpy()] if len(coded) else codes)


def read_column(spilled: Spilled, column: str, pages: Rows, longest: int) -> dict[int, str]:
    """A text column of some pages, cut; the pages of an earlier run are not there."""
    found: dict[int, str] = {}
    for path, numbers in spilled.each_part():
        rows = np.flatnonzero(np.isin(numbers, pages))
        if rows.size:
            values = read_part(path, [column])[column].take(pa.array(rows))
            starts = pc.utf8_slice_codeunits(values, 0, longest).to_pylist()
            found.update(zip(numbers[rows].tolist(), starts, strict=True))
    return found
