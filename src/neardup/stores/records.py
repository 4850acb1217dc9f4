"""The rows of a store as plain tuples."""

from __future__ import annotations

from typing import NamedTuple

from neardup.model import Relation


class PageRow(NamedTuple):
    """The bookkeeping of a page. Times are microseconds since 1970, UTC."""

    number: int  # in order of arrival, never reused
    id: str
    url: str
    host: str
    title: str
    time: int | None  # stated by the page or its capture
    added: int
    seen: int  # when it was last added
    size: int  # bytes of the raw page
    length: int  # characters of its text
    digest: int  # of the raw page
    sister: int  # see `methods.base.Method.same_host_group`
    decidable: bool
    cluster: int
    canonical_url: str = ""  # that the page names
    observed: bool | None = None  # whether the time is that of the record; None: unknown


class Edge(NamedTuple):
    """A judged pair that has something in common; `a` < `b`, the relation is of `a` to `b`."""

    a: int
    b: int
    relation: str
    similarity: float | None

    @classmethod
    def between(cls, page: int, other: int, relation: str, similarity: float | None) -> Edge:
        """The pair of two pages, where `relation` is that of `page` to `other`."""
        if page < other:
            return cls(page, other, relation, similarity)
        return cls(other, page, str(Relation(relation).reverse), similarity)

    def other(self, page: int) -> int:
        """The page that makes the pair with this one."""
        return self.b if self.a == page else self.a

    @property
    def closeness(self) -> float:
        """The similarity; 1 where the method measures none."""
        return 1.0 if self.similarity is None else self.similarity


class ClusterRow(NamedTuple):
    """A present or former cluster. `moved_to` is the cluster that took over its last member."""

    cluster: int
    size: int
    created: int
    changed: int
    moved_to: int | None
    kept: int | None = None  # the page that stands for it; None: the first one


class EventRow(NamedTuple):
    """Something that happened to a cluster."""

    at: int
    cluster: int
    kind: str  # created, joined, left, removed, merged, split, kept
    page: str  # the id of the page that caused it, or empty
    other: int | None  # the other cluster involved


class FeedbackRow(NamedTuple):
    """A person's decision on a pair; `a` < `b`."""

    a: str
    b: str
    duplicate: bool
    at: int
    note: str
