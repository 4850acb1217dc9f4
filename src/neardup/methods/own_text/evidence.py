"""The reasons for verdicts: in words, the numbers, and lines that show what is shared or not.

A verdict's evidence is a JSON object, built by columns: there are as many of them as pairs.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from neardup.kernels.json_text import quoted_texts
from neardup.kernels.memory import text_places
from neardup.methods.base import Places
from neardup.methods.own_text.addresses import text_addresses
from neardup.methods.own_text.verdict import RELATIONS, Measured
from neardup.model import Relation

SHARES = pa.array([repr(number / 10_000) for number in range(10_001)])
PERCENTS = pa.array([f"{number}%" for number in range(101)])
TITLES = pa.array(["", "", ',"same_title":true', ',"same_title":false'])
ASKED_OF = pa.array(
    [
        "",
        " of two pages on one host",
        " of two pages with a title of their own",
        " of two pages with two titles on one host",
    ]
)
ROUNDING = 1e-6  # how near to half-way between two numbers rounding is left to the interpreter


def evidence(
    said: NDArray[np.int8],
    pairs: Measured,
    batches: Sequence[pa.RecordBatch],
    left: Places,
    right: Places,
) -> pa.StringArray:
    """One line of JSON a pair, its names in order: the same bytes for the same evidence."""
    texts = text_addresses(batches, "sample_texts")
    left_shows = pairs.example[:, 0] >= 0
    showing = Places(*(np.where(left_shows, *both) for both in zip(left, right, strict=True)))
    example = np.where(left_shows, pairs.example[:, 0], pairs.example[:, 1])
    return _joined(
        '{"demand":',
        _share(pairs.demand),
        ',"left_share":',
        _share(pairs.left_share),
        _lines("only_left", texts, left, pairs.difference[:, 0]),
        _lines("only_right", texts, right, pairs.difference[:, 1]),
        ',"right_share":',
        _share(pairs.right_share),
        ',"same_host":',
        _either("true", "false", pairs.same_host),
        _chosen(TITLES, pairs),
        _lines("shared", texts, showing, example),
        ',"why":"',
        _why(said, pairs),
        '"}',
    )


def _why(said: NDArray[np.int8], pairs: Measured) -> pa.StringArray:
    """The reason in words, none of which JSON must escape."""
    near, same, undecided = (
        said == RELATIONS.index(relation)
        for relation in (Relation.NEAR, Relation.SAME, Relation.UNDECIDED)
    )
    why = _joined(
        _percent(pairs.left_share),
        " and ",
        _percent(pairs.right_share),
        " of the own text is shared, ",
        _percent(pairs.similarity),
        " together",
        _either("; ", ": less than the ", near),
        _percent(pairs.demand),
        " asked",
        _chosen(ASKED_OF, pairs),
    )
    why = pc.if_else(pa.array(same), "the own text is the same, token for token", why)
    if not undecided.any():
        return why
    amounts = pa.array(np.rint(pairs.amount).astype(np.int64)).cast(pa.string())
    too_little = _joined("too little own text to tell: ", amounts, " units")
    return pc.if_else(pa.array(undecided), too_little, why)


def _lines(
    name: str, texts: NDArray[np.uint64], pages: Places, numbers: NDArray[np.int64]
) -> pa.StringArray:
    """The sample lines of that number of some pages, named; nothing where there is none."""
    before = np.frombuffer(f',"{name}":'.encode(), np.uint8)
    data, offsets = quoted_texts(*text_places(texts, *pages, numbers), before)
    buffers = [None, pa.py_buffer(offsets.astype(np.int32)), pa.py_buffer(data)]
    return pa.Array.from_buffers(pa.string(), numbers.size, buffers)


def _share(shares: NDArray[np.float64]) -> pa.StringArray:
    """Shares rounded to four places."""
    scaled = shares * 10_000
    nearest = np.rint(scaled).astype(np.int64)
    unsure = np.abs(scaled - np.floor(scaled) - 0.5) < ROUNDING
    nearest[unsure] = [round(round(share, 4) * 10_000) for share in shares[unsure].tolist()]
    return SHARES.take(pa.array(nearest))


def _percent(shares: NDArray[np.float64]) -> pa.StringArray:
    return PERCENTS.take(pa.array(np.rint(shares * 100).astype(np.int64)))


def _chosen(words: pa.StringArray, pairs: Measured) -> pa.StringArray:
    """Of words for pages of two hosts, of one host, with one title there, with two titles."""
    which = np.where(pairs.two_titles, 3, np.where(pairs.one_title, 2, pairs.same_host))
    return words.take(pa.array(which.astype(np.int8)))


def _either(one: str, other: str, is_one: NDArray[np.bool_]) -> pa.StringArray:
    return pa.array([other, one]).take(pa.array(is_one.astype(np.int8)))


def _joined(*parts: pa.StringArray | str) -> pa.StringArray:
    return pc.binary_join_element_wise(*parts, "")
