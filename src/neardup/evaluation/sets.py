"""Labelled sets: a directory with pages and labels, as clusters or as pairs.

Clusters: `truth.csv` with the columns id, article and, if known, kind. Pairs: `truth.csv` or
`pairs.csv` with the columns a, b, label (duplicate or not) or grade (a number) and, if known, kind.
"""

from __future__ import annotations

import csv
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from neardup.errors import InputError
from neardup.pages.readers import read
from neardup.text.parse import parse

LEFT_OUT = frozenset({"excerpt", "partial"})  # their relation is containment or overlap
PAGES = (
    "pages.jsonl.zst",
    "pages.jsonl.gz",
    "pages.jsonl",
    "pages.parquet",
    "pages.warc.gz",
    "pages.warc",
    "pages",  # a directory
)
_YES = frozenset({"1", "true", "yes", "duplicate", "same", "near"})
_NO = frozenset({"0", "false", "no", "different", "distinct", "-1"})


@dataclass(frozen=True)
class ClusterTruth:
    """The article of each page, and its kind of copy."""

    articles: Mapping[str, str]
    kinds: Mapping[str, str]  # "" if unknown

    @property
    def judged(self) -> list[str]:
        """The pages that count: full copies of an article."""
        return [page for page, kind in self.kinds.items() if kind not in LEFT_OUT]


@dataclass(frozen=True)
class PairTruth:
    """Pairs of pages, and whether each is a duplicate."""

    pairs: Sequence[tuple[str, str]]
    labels: Sequence[bool]
    duplicate_from: float | None = None  # the least grade of a duplicate, if graded
    kinds: Sequence[str] = ()  # the kind of change of each pair; empty if unknown


Truth = ClusterTruth | PairTruth


@dataclass(frozen=True)
class LabelledSet:
    name: str
    pages: Path
    truth: Truth


def read_set(folder: str | Path, duplicate_from: float | None = None) -> LabelledSet:
    """Read a labelled set; `duplicate_from` is the least grade of a duplicate."""
    folder = Path(folder)
    if not folder.is_dir():
        raise InputError(f"{folder} is not a directory with pages and labels")
    pages = [folder / name for name in PAGES if (folder / name).exists()]
    if not pages:
        raise InputError(f"{folder} has no pages: none of {', '.join(PAGES)}")
    labels = [folder / name for name in ("truth.csv", "pairs.csv") if (folder / name).is_file()]
    if not labels:
        raise InputError(f"{folder} has no labels: neither truth.csv nor pairs.csv")
    return LabelledSet(folder.resolve().name, pages[0], read_truth(labels[0], duplicate_from))


def read_truth(path: Path, duplicate_from: float | None = None) -> Truth:
    """Read labels in either form."""
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            reader = csv.DictReader(file)
            columns = set(reader.fieldnames or ())
            rows = list(reader)
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"cannot read the labels {path}: {error}") from None
    if not rows:
        raise InputError(f"{path} has no labels")
    if {"id", "article"} <= columns:
        return _clusters(path, rows)
    if {"a", "b"} <= columns and columns & {"label", "grade"}:
        return _pairs(path, rows, duplicate_from)
    raise InputError(f"{path}: the columns must be id, article, kind; or a, b, and label or grade")


def check_labels(labelled: LabelledSet, pages: Collection[str]) -> None:
    """Refuse labels that match no page of the set: they would score as if nothing were found."""
    truth = labelled.truth
    ids = list(
        truth.articles
        if isinstance(truth, ClusterTruth)
        else dict.fromkeys(chain.from_iterable(truth.pairs))
    )
    if not any(each in pages for each in ids):
        raise InputError(
            f"no label of {labelled.name} matches one of its pages: the labels name {_some(ids)}; "
            f"the pages are {_some(sorted(pages))}"
        )


def languages_of(labelled: LabelledSet) -> dict[str, str]:
    """The language of each page without its region (`en`, `zh`), or "unknown"."""
    languages: dict[str, str] = {}
    for batch in read([str(labelled.pages)]):
        pages = parse(batch.pages)
        tags = (tag.partition("-")[0] or "unknown" for tag in pages["language"].to_pylist())
        languages.update(zip(pages["id"].to_pylist(), tags, strict=True))
    return languages


def _some(ids: Sequence[str]) -> str:
    """The first three ids."""
    return ", ".join(map(repr, ids[:3])) + (" ..." if len(ids) > 3 else "")


def _clusters(path: Path, rows: list[dict[str, str]]) -> ClusterTruth:
    articles: dict[str, str] = {}
    kinds: dict[str, str] = {}
    for number, row in enumerate(rows, 2):
        page = row["id"]
        if page in articles or not row["article"]:
            problem = "appears twice" if page in articles else "has no article"
            raise InputError(f"{path}, line {number}: {page!r} {problem}")
        articles[page], kinds[page] = row["article"], row.get("kind") or ""
    return ClusterTruth(articles, kinds)


def _pairs(path: Path, rows: list[dict[str, str]], duplicate_from: float | None) -> PairTruth:
    pairs = [(row["a"], row["b"]) for row in rows]
    for number, pair in enumerate(pairs, 2):
        if not all(pair) or pair[0] == pair[1]:
            raise InputError(f"{path}, line {number}: {pair} is not a pair of two pages")
    kinds = [row["kind"] or "" for row in rows] if "kind" in rows[0] else ()
    if "label" in rows[0]:
        labels = [_label(path, number, row["label"]) for number, row in enumerate(rows, 2)]
        return PairTruth(pairs, labels, kinds=kinds)
    grades = [_grade(path, number, row["grade"]) for number, row in enumerate(rows, 2)]
    least = max(grades) / 2 if duplicate_from is None else duplicate_from
    return PairTruth(pairs, [grade >= least for grade in grades], least, kinds)


def _label(path: Path, number: int, text: str | None) -> bool:
    word = (text or "").strip().lower()
    if word not in _YES | _NO:
        known = "1 or 0, yes or no, duplicate or different"
        raise InputError(f"{path}, line {number}: the label {text!r} is not one of {known}")
    return word in _YES


def _grade(path: Path, number: int, text: str | None) -> float:
    try:
        return float(text or "")
    except ValueError:
        raise InputError(f"{path}, line {number}: the grade {text!r} is not a number") from None
