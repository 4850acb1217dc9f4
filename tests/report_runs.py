"""Finished runs for the tests of the report, made by hand: no method decides anything here."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pyarrow as pa

from neardup.local.corpus import PAGE_COLUMNS, Corpus, PageRows, TextPart
from neardup.local.features import PAIRS_AT_ONCE, CountedSurveys, Features
from neardup.local.pipeline import Judged, Outcome
from neardup.local.run import Silent, Stage
from neardup.local.work import FileParts, MemoryParts
from neardup.methods.base import SurveyResults, verdicts
from neardup.methods.exact import Exact
from neardup.model import Relation
from neardup.report import Language
from neardup.report.document import write_report
from neardup.report.findings import ROOM, Room
from neardup.schemas import RELATED, VERDICTS
from page_batches import page_batch

STAGE = Stage("test", Silent())


@dataclass(frozen=True)
class Given:
    """A page of a run."""

    id: str
    text: str = "Some text."
    title: str = ""
    url: str = ""
    size: int = 100


@dataclass(frozen=True)
class Judgement:
    """A judged pair of a run, by places in the list of pages."""

    left: int
    right: int
    relation: str = "near"
    similarity: float | None = 0.9
    evidence: dict[str, object] = field(default_factory=lambda: {"why": "made by hand"})


@dataclass(frozen=True)
class HandmadeRun:
    """What `write_report` takes, and the folder to write into."""

    folder: Path
    outcome: Outcome

    def report(self, room: Room = ROOM, language: Language = "en") -> str:
        """The report, written and read back."""
        write_report(self.folder, self.outcome, language, room)
        return (self.folder / "report.html").read_text("utf-8")


def handmade_run(
    folder: Path,
    pages: Sequence[Given],
    pairs: Sequence[Judgement] = (),
    clusters: Sequence[Sequence[int]] = (),
) -> HandmadeRun:
    """A run over `pages` (in the order of their ids); each cluster keeps its first page."""
    ordered = sorted(pairs, key=lambda pair: (pair.left, pair.right))
    judged = _judged(folder / "verdicts", _corpus(pages), ordered)
    run = HandmadeRun(folder, _outcome(judged, len(pages), clusters))
    summary = _summary(run)
    (folder / "summary.json").write_text(json.dumps(summary, ensure_ascii=False), "utf-8")
    return run


def _corpus(pages: Sequence[Given]) -> Corpus:
    columns = {
        name: [getattr(page, name) for page in pages] for name in ("id", "title", "url", "size")
    }
    batch = page_batch([page.text for page in pages], **columns)
    table = pa.Table.from_batches([batch.select(["id", *PAGE_COLUMNS])])
    lengths = pa.array([len(page.text) for page in pages], pa.int64())
    table = table.append_column("length", lengths)
    return Corpus(PageRows.of(table), [TextPart(MemoryParts.of([batch]), 0, np.arange(len(pages)))])


def _judged(folder: Path, corpus: Corpus, pairs: Sequence[Judgement]) -> Judged:
    parts = FileParts(folder, VERDICTS, compressed=True)
    batch = verdicts(
        [Relation(pair.relation) for pair in pairs],
        [pair.similarity for pair in pairs],
        [pair.evidence for pair in pairs],
    )
    starts = range(0, len(pairs), PAIRS_AT_ONCE)
    parts.fill(starts, lambda start: (batch.slice(start, PAIRS_AT_ONCE), 0), 1, STAGE)
    method = Exact()
    return Judged(
        corpus,
        method,
        Features.in_memory(pa.RecordBatch.from_pylist([], method.row_schema)),
        CountedSurveys(SurveyResults(), {}),
        np.array([pair.left for pair in pairs], np.int64),
        np.array([pair.right for pair in pairs], np.int64),
        np.array([pair.relation for pair in pairs], object),
        np.array([pair.similarity for pair in pairs], np.float64),
        parts,
    )


def _outcome(judged: Judged, pages: int, clusters: Sequence[Sequence[int]]) -> Outcome:
    labels, kept = np.arange(pages), np.arange(pages)
    for members in clusters:
        labels[list(members)] = min(members)
        kept[list(members)] = members[0]
    dropped = int((kept != np.arange(pages)).sum())
    columns = [pa.array(["near"] * dropped, pa.string()), pa.array([0.9] * dropped, pa.float64())]
    return Outcome(judged, labels, kept, pa.table(columns, schema=RELATED))


def _summary(run: HandmadeRun) -> dict[str, object]:
    sizes = np.bincount(run.outcome.labels)
    dropped = ~run.outcome.is_kept
    bytes_ = run.outcome.corpus.pages.numbers("size")
    relations = Counter(run.outcome.judged.relations.tolist())
    rejected = relations["different"] + relations["undecided"]
    return {
        "inputs": ["pages.jsonl"],
        "method": "by-hand",
        "preset": "default",
        "keep": "longest",
        "contained": False,
        "options": {"threshold": 0.8},
        "counts": {
            "records": bytes_.size,
            "pages": bytes_.size,
            "skipped": 0,
            "undecided": 0,
            "clusters": int((sizes > 0).sum()),
            "clusters_with_duplicates": int((sizes > 1).sum()),
            "largest_cluster": int(sizes.max()),
            "kept": int((~dropped).sum()),
            "duplicates": int(dropped.sum()),
            "bytes": int(bytes_.sum()),
            "duplicate_bytes": int(bytes_[dropped].sum()),
            "pairs": run.outcome.judged.left.size - rejected,
            "rejected": rejected,
        },
        "skipped_by_reason": {},
        "versions": {"neardup": "0"},
    }
