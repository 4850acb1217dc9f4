"""From the features of two pages to a verdict and its evidence; the options that decide.

1. Addresses: where the features of pages are in memory, for kernels that read them there. A row a
   batch, so that the rows of many batches are one table to a kernel.
2. `measure`: what two pages share. Everything is by columns, one value per pair.
3. `relations`: the verdicts that follow.
4. `evidence_of`: the reasons, in words and numbers, with lines that are shared or not. A JSON
   object a pair, also built by columns, because there are as many as pairs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, floor

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from neardup.arrays import FeatureRows, Places, addresses_of, string_array, string_columns
from neardup.config import option
from neardup.kernels import own_verdict, shared_text
from neardup.kernels.json_text import quoted_texts
from neardup.kernels.memory import text_places
from neardup.methods.base import evidence_json
from neardup.methods.identical import SHELL_REASON
from neardup.model import Relation


@dataclass(frozen=True, slots=True)
class OwnTextOptions:
    """The constants of `own-text`, each with its reason in docs/methods/own-text.md."""

    threshold: float = option(
        0.7,
        "shared share from which two pages are one; 2/3 is a page and its half",
        minimum=0.5,
        maximum=1,
        was="near",
    )
    contained: float = option(
        0.8, "share of a page found in another from which it is an excerpt", minimum=0.5, maximum=1
    )
    min_units: float = option(
        30.0,
        "units of own text (a word is 2, a Han character 1) below which a page is undecided; with "
        "so much the required similarity is half-way from `threshold` to 1",
        minimum=0,
        was="few",
    )
    same_host: float = option(
        0.5,
        "how far towards 1 the required similarity goes for two pages on one host, and again if "
        "they have two titles",
        minimum=0,
        maximum=1,
    )
    short: float = option(20.0, "units at which a line counts half", minimum=0)
    link: float = option(
        0.1, "what text in links, menus, footers and buttons counts", minimum=0, maximum=1
    )
    prose_share: float = option(
        0.5,
        "mean weight that a stretch of lines needs to belong to the main segment",
        minimum=0,
        maximum=1,
        was="told",
    )
    outside: float = option(0.25, "what lines outside the main segment count", minimum=0, maximum=1)
    power: float = option(
        3.0, "how fast a line loses weight with the pages of its site that have it", minimum=0
    )
    own_share: float = option(
        0.05, "least share of a page that is its own and no template", minimum=0, maximum=1
    )
    faint: float = option(
        0.01, "lines lighter than this share of the heaviest are left out", minimum=0, maximum=1
    )
    few_pages: int = option(
        8, "hosts with fewer pages also learn from pages with the same furniture", minimum=1
    )
    furniture: int = option(8, "least number of furniture lines that identify a site", minimum=1)
    shingle: int = option(8, "units of a shingle: 4 words or 8 Han characters", minimum=2)
    sentences: int = option(8, "heaviest own sentences that become keys", minimum=0)

    @property
    def enough(self) -> float:
        """Units of own text that a verdict needs: `min_units`, and a shingle at least."""
        return max(self.min_units, float(self.shingle))


Addresses = NDArray[np.uint64]


LISTS = list(zip(shared_text.COLUMNS, (4, 4, 1, 4, 4, 4), strict=True))  # bytes of a value


def list_addresses(batches: Sequence[pa.RecordBatch]) -> Addresses:
    """Of the columns that `shared_text` reads: where their lists start, and their values."""
    return _table(
        [
            [place for name, width in LISTS for place in _of_lists(batch[name], width)]
            for batch in batches
        ]
    )


def text_addresses(batches: Sequence[pa.RecordBatch]) -> Addresses:
    """Of the sample lines: where their lists start, where the texts start, the bytes."""
    columns = [batch["sample_texts"] for batch in batches]
    return _table([[*_of_lists(column, 4), _text_bytes(column.values)] for column in columns])


def _table(rows: list[list[int]]) -> Addresses:
    return np.array(rows, np.uint64).reshape(len(rows), -1)


def _of_lists(column: pa.ListArray, width: int) -> list[int]:
    """Where the lists of a column start, and their values of so many bytes (or text offsets)."""
    _, lists, _, values, *_ = column.buffers()
    return [
        lists.address + 4 * column.offset if lists is not None else 0,
        values.address + width * column.values.offset if values is not None else 0,
    ]


def _text_bytes(texts: pa.StringArray) -> int:
    data = texts.buffers()[2]
    return data.address if data is not None else 0


def number_addresses(batches: Sequence[pa.RecordBatch]) -> Addresses:
    """Of the columns that `own_verdict` reads."""
    return addresses_of(own_verdict.COLUMNS, batches)


RELATIONS = own_verdict.RELATIONS  # a relation is written as its place here

Numbers = NDArray[np.float64]


@dataclass(frozen=True)
class Measured:
    """What the verdicts on some pairs depend on."""

    amount: Numbers  # units of own text of the shorter page
    same_text: NDArray[np.bool_]
    similarity: Numbers  # shared weight of both, of the weight of both
    required: Numbers  # similarity from which they are near
    left_share: Numbers
    right_share: Numbers
    same_host: NDArray[np.bool_]
    one_title: NDArray[np.bool_]  # on one host, where few other pages have it
    two_titles: NDArray[np.bool_]  # on one host
    example: NDArray[
        np.int64
    ]  # one row per pair: of each page the sample line that is mostly shared
    difference: NDArray[np.int64]  # and the one that hardly is; below 0 for none


def measure(rows: FeatureRows, left: Places, right: Places, options: OwnTextOptions) -> Measured:
    """The pages of each pair against each other.

    Two pages must have more in common where there is little text, more on one host, whose pages are
    made from one form (An & Cheng, definition 4), and as much more again if the host gives them two
    titles.
    """
    return Measured(
        *own_verdict.compared(
            rows.known(list_addresses),
            rows.known(number_addresses),
            *left,
            *right,
            options.shingle,
            float(options.threshold),
            float(options.min_units),
            float(options.same_host),
        )
    )


def relations(pairs: Measured, options: OwnTextOptions) -> NDArray[np.int8]:
    """The verdicts, as places in `RELATIONS`."""
    return own_verdict.relations(
        pairs.amount,
        pairs.same_text,
        pairs.similarity,
        pairs.required,
        pairs.left_share,
        pairs.right_share,
        float(options.enough),
        float(options.contained),
        1.0 - options.threshold,
    )


SHARES = pa.array([repr(number / 10_000) for number in range(10_001)])
PERCENTS = pa.array([f"{number}%" for number in range(101)])
TITLES = pa.array(["", "", ',"same_title":true', ',"same_title":false'])
# Why so much is required: pages of two hosts, of one host, with one title there, with two titles.
REQUIRED_OF = [
    "",
    " of pages on one host",
    " of pages with the same title on one host",
    " of pages with different titles on one host",
]
REQUIRED_OF_SHORT = [words.replace("pages", "short pages") for words in REQUIRED_OF]
REQUIRED_OF_SHORT[0] = " of short pages"
SHORT = 200.0  # units: a hundred words, of which a few points more are required
FEW = 8  # pairs that are cheaper one by one
ROUNDING = 1e-6  # how near to half-way between two numbers rounding is left to the interpreter


def evidence_of(
    related: NDArray[np.int8], pairs: Measured, rows: FeatureRows, left: Places, right: Places
) -> pa.StringArray:
    """One line of JSON per pair, its names in order: the same bytes for the same evidence."""
    if related.size <= FEW:
        every = range(related.size)
        [column] = string_columns(
            [evidence_json(_of_one(related, pairs, rows, left, right, n)) for n in every]
        )
        return column
    return evidence_by_columns(related, pairs, rows, left, right)


def _of_one(
    related: NDArray[np.int8],
    pairs: Measured,
    rows: FeatureRows,
    left: Places,
    right: Places,
    pair: int,
) -> dict[str, object]:
    """The evidence of one pair, for a page that comes alone: columns cost as much as ten pairs."""

    def sample(side: Places, number: int) -> str:
        batch = rows.batches[side.batches[pair]]
        lines: list[str] = batch["sample_texts"][int(side.rows[pair])].as_py()
        return lines[number]

    evidence: dict[str, object] = {
        "left_share": round(float(pairs.left_share[pair]), 4),
        "required_similarity": round(float(pairs.required[pair]), 4),
        "right_share": round(float(pairs.right_share[pair]), 4),
        "same_host": bool(pairs.same_host[pair]),
        "why": _why_of_one(related, pairs, pair),
    }
    if pairs.one_title[pair] or pairs.two_titles[pair]:
        evidence["same_title"] = bool(pairs.one_title[pair])
    example, difference = pairs.example[pair].tolist(), pairs.difference[pair].tolist()
    lines = {
        "only_left": (left, difference[0]),
        "only_right": (right, difference[1]),
        "shared": (left, example[0]) if example[0] >= 0 else (right, example[1]),
    }
    return evidence | {name: sample(*line) for name, line in lines.items() if line[1] >= 0}


def _why_of_one(related: NDArray[np.int8], pairs: Measured, pair: int) -> str:
    relation, amount = RELATIONS[related[pair]], float(pairs.amount[pair])
    if relation is Relation.UNDECIDED:
        return SHELL_REASON if amount < 0 else f"too little own text to tell: {amount:.0f} units"
    if relation is Relation.SAME:
        return "the own text is the same, token for token"
    whose = 3 if pairs.two_titles[pair] else 2 if pairs.one_title[pair] else pairs.same_host[pair]
    required_of = (REQUIRED_OF_SHORT if amount < SHORT else REQUIRED_OF)[int(whose)]
    similarity, required = float(pairs.similarity[pair]), float(pairs.required[pair])
    if relation is Relation.NEAR:
        both = f"{similarity:.0%} together; {required:.0%} is required"
    else:
        least = ceil(required * 100)
        both = f"{floor(similarity * 100)}% together: less than the {least}% required"
    ours, theirs = float(pairs.left_share[pair]), float(pairs.right_share[pair])
    shared = f"{ours:.0%} of A's own text and {theirs:.0%} of B's is shared"
    return f"{shared}, {both}{required_of}"


def evidence_by_columns(
    related: NDArray[np.int8], pairs: Measured, rows: FeatureRows, left: Places, right: Places
) -> pa.StringArray:
    """The evidence of many pairs."""
    texts = rows.known(text_addresses)
    left_shows = pairs.example[:, 0] >= 0
    showing = Places(*(np.where(left_shows, *both) for both in zip(left, right, strict=True)))
    example = np.where(left_shows, pairs.example[:, 0], pairs.example[:, 1])
    return _joined(
        '{"left_share":',
        _share(pairs.left_share),
        _lines("only_left", texts, left, pairs.difference[:, 0]),
        _lines("only_right", texts, right, pairs.difference[:, 1]),
        ',"required_similarity":',
        _share(pairs.required),
        ',"right_share":',
        _share(pairs.right_share),
        ',"same_host":',
        _either("true", "false", pairs.same_host),
        _chosen(TITLES, pairs),
        _lines("shared", texts, showing, example),
        ',"why":"',
        _why(related, pairs),
        '"}',
    )


def _why(related: NDArray[np.int8], pairs: Measured) -> pa.StringArray:
    """The reason in words, none of which JSON must escape."""
    near, same, undecided = (
        related == RELATIONS.index(relation)
        for relation in (Relation.NEAR, Relation.SAME, Relation.UNDECIDED)
    )
    short = pa.array(pairs.amount < SHORT)
    required_of = pc.if_else(
        short, _chosen(pa.array(REQUIRED_OF_SHORT), pairs), _chosen(pa.array(REQUIRED_OF), pairs)
    )
    # Rounded so that the numbers never contradict the verdict: 75% is less than the 76% required.
    similarity = np.where(near, np.rint(pairs.similarity * 100), np.floor(pairs.similarity * 100))
    required = np.where(near, np.rint(pairs.required * 100), np.ceil(pairs.required * 100))
    why = _joined(
        _percent(pairs.left_share),
        " of A's own text and ",
        _percent(pairs.right_share),
        " of B's is shared, ",
        PERCENTS.take(pa.array(similarity.astype(np.int64))),
        " together",
        _either("; ", ": less than the ", near),
        PERCENTS.take(pa.array(required.astype(np.int64))),
        _either(" is required", " required", near),
        required_of,
    )
    why = pc.if_else(pa.array(same), "the own text is the same, token for token", why)
    if not undecided.any():
        return why
    amounts = pa.array(np.rint(pairs.amount).astype(np.int64)).cast(pa.string())
    too_little = _joined("too little own text to tell: ", amounts, " units")
    too_little = pc.if_else(pa.array(pairs.amount < 0), SHELL_REASON, too_little)
    return pc.if_else(pa.array(undecided), too_little, why)


def _lines(
    name: str, texts: NDArray[np.uint64], pages: Places, numbers: NDArray[np.int64]
) -> pa.StringArray:
    """The sample lines of that number of some pages, named; nothing where there is none."""
    before = np.frombuffer(f',"{name}":'.encode(), np.uint8)
    data, offsets = quoted_texts(*text_places(texts, *pages, numbers), before)
    return string_array(data, offsets)


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
