"""The lines of a batch of pages, as arrays."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import xxhash
from numpy.typing import NDArray

from neardup.arrays import ragged
from neardup.kernels import lines
from neardup.kernels.fold import fold
from neardup.kernels.shingles import document_hashes
from neardup.kernels.text_bits import TextBits, text_bits
from neardup.kernels.tokens import token_hashes
from neardup.model import BlockKind, Region
from neardup.text.tokens import string_buffers

IS_FURNITURE = np.isin(np.arange(256), (Region.NAV, Region.FOOTER))  # by number of the region
IS_DIGIT = np.isin(np.arange(256), list(b"0123456789"))
WITHOUT_DIGITS = np.where(IS_DIGIT, ord(" "), np.arange(256)).astype(np.uint8)


@dataclass(frozen=True)
class Layout:
    """The lines of a batch of pages."""

    data: NDArray[np.uint8]
    starts: NDArray[np.int64]  # of each line in the data
    documents: NDArray[np.int64]  # the first line of each page
    link_shares: NDArray[np.float32]
    menus: NDArray[np.bool_]  # menus, footers and buttons, as the markup says
    furniture: NDArray[np.bool_]  # those, and lines that are mostly links
    hosts: NDArray[np.uint64]  # 0 for a page without a host
    titles: NDArray[np.uint64]  # what the words of a title are, numbers apart; 0 for none

    @property
    def has_sites(self) -> bool:
        """Whether anything tells a site; texts without host and markup have none."""
        return bool(self.hosts.any() or self.furniture.any())

    @cached_property
    def bits(self) -> TextBits:
        """The bytes of the text told apart; a survey does without."""
        return text_bits(self.data)

    @cached_property
    def hashes(self) -> NDArray[np.uint64]:
        """A number for each line."""
        return lines.line_hashes(self.data, self.starts)


def layout(pages: pa.RecordBatch) -> Layout:
    """The lines of pages; those of plain texts, which have no columns of markup, are all told."""
    data, offsets = string_buffers(pages["text"])
    data, offsets = data[offsets[0] : offsets[-1]], offsets - offsets[0]
    starts, documents = lines.line_offsets(lines.newline_bits(data), offsets)
    link_shares, menus, furniture = _of_markup(pages, starts.size - 1)
    hosts, titles = _host_numbers(pages["host"]), _title_numbers(pages)
    return Layout(data, starts, documents, link_shares, menus, furniture, hosts, titles)


def have_sites(pages: pa.RecordBatch) -> bool:
    """As `Layout.has_sites`, without a look at the text."""
    return pc.any(pc.not_equal(pages["host"], "")).as_py() or bool(_of_markup(pages, 0)[2].any())


def _of_markup(
    pages: pa.RecordBatch, of_text: int
) -> tuple[NDArray[np.float32], NDArray[np.bool_], NDArray[np.bool_]]:
    """Link shares, menus and furniture: see `Layout`. Plain texts have `of_text` lines."""
    if "kinds" not in pages.schema.names:
        return np.zeros(of_text, np.float32), np.zeros(of_text, bool), np.zeros(of_text, bool)
    link_shares = ragged(pages["link_shares"])[0]
    regions, kinds = ragged(pages["regions"])[0], ragged(pages["kinds"])[0]
    menus = IS_FURNITURE[regions] | (kinds == BlockKind.CONTROL)
    return link_shares, menus, menus | (link_shares >= 0.5)


def _title_numbers(pages: pa.RecordBatch) -> NDArray[np.uint64]:
    """A number for the words of each title. The number of a chapter or release is none of them."""
    if "title" not in pages.schema.names:
        return np.zeros(pages.num_rows, np.uint64)
    folded, places = fold(*string_buffers(pages["title"]))
    return document_hashes(*token_hashes(WITHOUT_DIGITS[folded], places))


def _host_numbers(hosts: pa.StringArray) -> NDArray[np.uint64]:
    """A number for each host, 0 for none; a host has many pages in a batch."""
    encoded = hosts.dictionary_encode()
    numbers = [
        xxhash.xxh3_64_intdigest(host.encode()) | 1 if host else 0
        for host in encoded.dictionary.to_pylist()
    ]
    found: NDArray[np.uint64] = np.array(numbers, np.uint64)[encoded.indices.to_numpy()]
    return found
