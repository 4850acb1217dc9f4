"""Another threshold over an earlier result, without reading its pages again."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from neardup.clusters.keeping import policy_order
from neardup.engines import output
from neardup.engines.budget import DEFAULT_MEMORY
from neardup.engines.clustering import cluster_pages, join_rule
from neardup.engines.deciding import Judged, names
from neardup.engines.earlier import Earlier, Known, earlier_summary, remembered_features
from neardup.engines.judging import PAIRS_AT_ONCE, PairJudge
from neardup.engines.local import Finish
from neardup.engines.parsing import KEPT_COLUMNS, Spilled
from neardup.engines.progress import Progress, Silent
from neardup.engines.remembered import PAGES_FILE, SURVEY_FILE
from neardup.engines.result import Result
from neardup.engines.run import Run
from neardup.engines.stages import Stages
from neardup.engines.summary import measured, summarise
from neardup.engines.tables import write_result
from neardup.engines.threads import default_workers
from neardup.engines.work import Parts, work_folder
from neardup.errors import UsageError
from neardup.methods.base import make_method
from neardup.model import Relation, Skip, SkipReason, Source
from neardup.schemas import PAGES, VERDICTS

# The verdicts that similarity alone decides. The others stay: text that is the same, that holds
# another, or that is too little to tell is so at any threshold.
BY_SIMILARITY = [str(each) for each in (Relation.NEAR, Relation.OVERLAP, Relation.DIFFERENT)]


def recluster(
    folder: str | Path,
    out: str | Path,
    *,
    threshold: float,
    keep: str | None = None,
    contained: bool | None = None,
    format: output.Format = "jsonl",  # noqa: A002 - the name of the command-line option
    progress: Progress | None = None,
    finish: Finish | None = None,
) -> Result:
    """The result in `folder` as it would be if pairs were near from `threshold` on.

    Only pairs that the earlier run has judged can join. What is not said is as it was there.
    `finish` is as in `engines.local.dedup`.
    """
    folder, out = Path(folder), Path(out)
    if not 0.0 <= threshold <= 1.0:
        raise UsageError(f"the threshold is a similarity, from 0 to 1, not {threshold}")
    earlier = earlier_summary(folder)
    keep = keep or earlier["keep"]
    contained = earlier["contained"] if contained is None else contained
    policy_order(keep)
    output.check_destination(out)
    method = make_method(earlier["method"], earlier["options"])

    def judge(left: pa.RecordBatch, right: pa.RecordBatch) -> pa.RecordBatch:
        return rethreshold(method.judge(left, right), threshold)

    with output.writing(out), work_folder(out, "", resume=False, resumable=False) as work:
        run = Run(work, DEFAULT_MEMORY, default_workers(), Stages(progress or Silent()))
        spilled = _remembered_pages(folder, run)
        numbers = np.arange(len(spilled.ids))
        features = remembered_features(folder, method, numbers, run)
        known = Earlier(folder, numbers, numbers, numbers).known_pairs(spilled.ids)
        judged = _rejudged(known, threshold, run)
        rule = replace(join_rule(method, contained=contained), judge=PairJudge(judge, None))
        clustering = cluster_pages(rule, spilled, features, judged, keep, run)
        result = work / "result"
        write_result(result, format, method, spilled, features, judged, clustering, run)
        settings = {
            "method": earlier["method"],
            "preset": earlier["preset"],
            "keep": keep,
            "contained": contained,
            "threshold": threshold,
        }
        inputs: Sequence[str] = earlier["inputs"]
        summary = summarise(inputs, method, settings, spilled, features, judged, clustering, run)
        output.write_summary(result, summary)
        if (folder / SURVEY_FILE).is_file():
            shutil.copyfile(folder / SURVEY_FILE, result / SURVEY_FILE)
        if finish is not None:
            with run.stages("report"):
                finish(result, spilled, judged, clustering)
            output.write_summary(result, {**summary, "run": measured(run)})
        output.put_in_place(result, out)
    return Result(out)


def rethreshold(verdicts: pa.RecordBatch, threshold: float) -> pa.RecordBatch:
    """The verdicts with those that go by similarity made near or different at `threshold`."""
    relation = verdicts["relation"]
    by_similarity = pc.is_in(relation, pa.array(BY_SIMILARITY))
    enough = pc.fill_null(pc.greater_equal(verdicts["similarity"], threshold), False)
    made = pc.if_else(enough, str(Relation.NEAR), str(Relation.DIFFERENT))
    columns = [
        pc.if_else(by_similarity, made, relation),
        verdicts["similarity"],
        verdicts["evidence"],
    ]
    return pa.record_batch(columns, schema=VERDICTS)


def _remembered_pages(folder: Path, run: Run) -> Spilled:
    table = pq.read_table(folder / PAGES_FILE, columns=["id", *KEPT_COLUMNS, "length"])
    skips = [
        Skip(
            Source(row["source"], row["record"]),
            SkipReason(row["reason"]),
            row["detail"],
            row["id"],
        )
        for row in Result(folder).skipped()
    ]
    parts: Parts = run.parts("pages", PAGES)
    return Spilled(parts, [], table["id"].combine_chunks(), table.drop_columns(["id"]), skips)


def _rejudged(known: Known, threshold: float, run: Run) -> Judged:
    batches = known.verdicts.combine_chunks().to_batches(PAIRS_AT_ONCE)
    made = [rethreshold(batch, threshold) for batch in batches]
    parts = run.parts("verdicts", VERDICTS)
    with run.stages("judge", total=known.left.size) as stage:
        parts.fill(made, lambda batch: (batch, 0), 1, stage)
    table = pa.Table.from_batches(made, VERDICTS)
    relations = np.concatenate([np.empty(0, object), *(names(each["relation"]) for each in made)])
    return Judged(known.left, known.right, relations, table["similarity"].to_numpy(), parts)
