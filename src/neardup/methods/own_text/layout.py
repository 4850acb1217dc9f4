"""The lines of a batch of pages, as arrays."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import xxhash
from numpy.typing import NDArray

from neardup.kernels import lines
from neardup.methods.own_text.ragged import ragged
from neardup.model import BlockKind, Region
from neardup.text.normalise import string_buffers

FURNITURE_REGIONS = (Region.NAV, Region.FOOTER)


@dataclass(frozen=True)
class Layout:
    """The lines of a batch of pages."""

    data: NDArray[np.uint8]
    starts: NDArray[np.int64]  # of each line in the data
    documents: NDArray[np.int64]  # the first line of each page
    hashes: NDArray[np.uint64]
    link_shares: NDArray[np.float32]
    menus: NDArray[np.bool_]  # menus, footers and buttons, as the markup says
    furniture: NDArray[np.bool_]  # those, and lines that are mostly links
    hosts: NDArray[np.uint64]  # 0 for a page without a host


def layout(pages: pa.RecordBatch) -> Layout:
    data, offsets = string_buffers(pages["text"])
    starts, documents = lines.line_offsets(data, offsets)
    link_shares = ragged(pages["link_shares"])[0]
    regions, kinds = ragged(pages["regions"])[0], ragged(pages["kinds"])[0]
    menus = np.isin(regions, FURNITURE_REGIONS) | (kinds == BlockKind.CONTROL)
    hosts = [
        xxhash.xxh3_64_intdigest(host.encode()) | 1 if host else 0
        for host in pages["host"].to_pylist()
    ]
    return Layout(
        data,
        starts,
        documents,
        lines.line_hashes(data, starts),
        link_shares,
        menus,
        menus | (link_shares >= 0.5),
        np.array(hosts, np.uint64),
    )
