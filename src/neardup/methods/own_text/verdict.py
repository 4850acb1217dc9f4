"""From what two pages share to a verdict. Everything is by columns: a value a pair."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from neardup.kernels.memory import gather
from neardup.kernels.shared_text import shared_weights
from neardup.methods.base import Places
from neardup.methods.own_text.addresses import list_addresses, number_addresses
from neardup.methods.own_text.options import OwnTextOptions
from neardup.model import Relation

RELATIONS = list(Relation)  # a relation is told by its place here

Numbers = NDArray[np.float64]


@dataclass(frozen=True)
class Measured:
    """What the verdicts on some pairs go by."""

    amount: Numbers  # units of own text of the shorter page
    same_text: NDArray[np.bool_]
    similarity: Numbers  # shared weight of both, of the weight of both
    demand: Numbers
    left_share: Numbers
    right_share: Numbers
    same_host: NDArray[np.bool_]
    one_title: NDArray[np.bool_]  # on one host, where few other pages have it
    two_titles: NDArray[np.bool_]  # on one host
    example: NDArray[np.int64]  # a row a pair: of each page the sample line that is mostly shared
    difference: NDArray[np.int64]  # and the one that hardly is; below 0 for none


def measure(
    batches: Sequence[pa.RecordBatch], left: Places, right: Places, options: OwnTextOptions
) -> Measured:
    """The pages of each pair against each other."""
    host, other_host = (_column(batches, "host", side) for side in (left, right))
    same_host = (host == other_host) & (host != 0)
    one_title, two_titles = _titles(batches, left, right, same_host)
    shared, example, difference = shared_weights(
        list_addresses(batches), *left, *right, same_host, options.shingle
    )
    mass, other_mass = (_mass(batches, side, same_host) for side in (left, right))
    amounts = (_column(batches, "amount", side).view(np.float64) for side in (left, right))
    same_text = _column(batches, "text", left) == _column(batches, "text", right)
    amount: Numbers = np.minimum(*amounts)
    similarity = divided(shared[:, 0] + shared[:, 1], mass + other_mass)
    return Measured(
        amount,
        same_text,
        np.where(same_text, 1.0, similarity),
        demand(amount, same_host & ~one_title, two_titles, options),
        divided(shared[:, 0], mass),
        divided(shared[:, 1], other_mass),
        same_host,
        one_title,
        two_titles,
        example,
        difference,
    )


def _column(batches: Sequence[pa.RecordBatch], name: str, rows: Places) -> NDArray[np.uint64]:
    return gather(number_addresses(batches, name), *rows)


def _titles(
    batches: Sequence[pa.RecordBatch], left: Places, right: Places, same_host: NDArray[np.bool_]
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Whether pages of one host have a title that tells them to be one page, or two titles."""
    title, other = (_column(batches, "title", side) for side in (left, right))
    own, other_own = (_column(batches, "own_title", side) for side in (left, right))
    return (
        same_host & (own == other_own) & (own != 0),
        same_host & (title != other) & (title != 0) & (other != 0),
    )


def _mass(batches: Sequence[pa.RecordBatch], rows: Places, same_host: NDArray[np.bool_]) -> Numbers:
    """The weight of all own text of some pages, beside a page of the same host or of another."""
    mass, sister_mass = (_column(batches, name, rows) for name in ("mass", "sister_mass"))
    return np.where(same_host, sister_mass, mass).view(np.float64)


def divided(parts: Numbers, wholes: Numbers) -> Numbers:
    """Shares from 0 to 1; 0 of nothing."""
    shares = np.divide(parts, wholes, out=np.zeros_like(wholes), where=wholes > 0)
    return np.clip(shares, 0.0, 1.0)


def demand(
    amount: Numbers,
    sisters: NDArray[np.bool_],
    two_titles: NDArray[np.bool_],
    options: OwnTextOptions,
) -> Numbers:
    """The share that two pages must have in common: more where there is little text, more of
    sister pages, which are made from one form (An & Cheng, definition 4), and as much more again
    if their host gives them two titles."""
    little = options.few / (options.few + amount) if options.few else np.zeros_like(amount)
    asked = options.near + (1.0 - options.near) * little
    for apart in (sisters, two_titles):
        asked = np.where(apart, asked + (1.0 - asked) * options.same_host, asked)
    return asked


def relations(pairs: Measured, options: OwnTextOptions) -> NDArray[np.int8]:
    """The verdicts. Of two pages that have most of each other, neither is an excerpt."""
    left, right = pairs.left_share, pairs.right_share
    rules = {
        Relation.UNDECIDED: pairs.amount < options.enough,
        Relation.SAME: pairs.same_text,
        Relation.NEAR: pairs.similarity >= pairs.demand,
        Relation.CONTAINED: (left >= options.contained) & (right < options.contained),
        Relation.CONTAINS: (right >= options.contained) & (left < options.contained),
        Relation.OVERLAP: np.maximum(left, right) > 1.0 - options.near,
    }
    places = [np.int8(RELATIONS.index(relation)) for relation in rules]
    return np.select(list(rules.values()), places, np.int8(RELATIONS.index(Relation.DIFFERENT)))
