"""A second reading of the input that writes the kept pages, in the form they came in.

The local engine: one machine, all cores. `dedup` reads as the algorithm.

The text of pages is spilled to a work folder; what stays in memory is one small row a page and
the method's features. Pages are numbered in the order of their ids as soon as the ids are
settled, and every later choice goes by that number: the answer does not depend on the order of
input, on threads or on the size of batches.

Another threshold over an earlier result, without reading its pages again.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from neardup.errors import UsageError
from neardup.local import result as output
from neardup.local.corpus import KEPT_COLUMNS, Spilled, parse_inputs
from neardup.local.features import PAIRS_AT_ONCE, PairJudge
from neardup.local.outcome import describe_run, measured, summarise, write_result
from neardup.local.pipeline import Clustering, Judged, cluster_pages, decide, join_rule, names
from neardup.local.prior import (
    PAGES_FILE,
    SURVEY_FILE,
    Earlier,
    Known,
    among_earlier,
    check_earlier,
    earlier_summary,
    remembered_features,
    with_earlier_features,
    write_survey,
)
from neardup.local.result import Result
from neardup.local.run import DEFAULT_MEMORY, Progress, Silent, Stages, default_workers
from neardup.local.survey import SURVEYED, compute_features
from neardup.local.work import Parts, Run, work_folder
from neardup.methods.base import Surveys, make_method
from neardup.model import RawPage, Relation, Skip, SkipReason, Source
from neardup.pages import Limits, read_records
from neardup.pages.writers import writer_for
from neardup.rules.keeping import policy_order
from neardup.schemas import COUNTS, PAGES, VERDICTS
from neardup.text.charset import to_utf8


def write_kept_pages(
    path: Path,
    inputs: Sequence[str],
    limits: Limits,
    spilled: Spilled,
    clustering: Clustering,
    run: Run,
) -> None:
    """Write every kept page of `inputs` to `path`, in the order they are read."""
    rows = pa.array(np.unique(clustering.kept))
    sources = spilled.pages["source"].take(rows).to_pylist()
    places = zip(sources, spilled.pages["record"].take(rows).to_pylist(), strict=True)
    ids = dict(zip(places, spilled.ids.take(rows).to_pylist(), strict=True))
    with run.stages("keep", total=len(ids)) as stage, writer_for(path) as writer:
        for raw in read_records(inputs, limits, keep_original=True):
            id_ = ids.get((raw.source.path, raw.source.record))
            if isinstance(raw, RawPage) and id_ is not None:
                text = to_utf8(raw.body, raw.charset)[0].decode()
                writer.write(replace(raw, id=id_), text)
                stage.advance(1, len(raw.body))


# What adds to a result, in the folder that is not in its place yet.
Finish = Callable[[Path, Spilled, Judged, Clustering], None]


def dedup(
    inputs: str | Sequence[str],
    out: str | Path,
    *,
    method: str = "own-text",
    options: Mapping[str, object] | None = None,
    preset: str = "default",
    keep: str = "longest",
    contained: bool = False,
    format: output.Format = "jsonl",  # noqa: A002 - the name of the command-line option
    write_kept: str | Path | None = None,
    against: str | Path | None = None,
    memory: int = DEFAULT_MEMORY,
    workers: int | None = None,
    resume: bool = False,
    limits: Limits | None = None,
    progress: Progress | None = None,
    finish: Finish | None = None,
) -> Result:
    """Find the duplicates among the pages of `inputs` and write the result folder `out`.

    `inputs` are paths, globs or remote paths; the files of `out` are described in the README.
    `against` names the result of an earlier run: the new pages are clustered with its pages,
    which are not read again, and its clusters keep their names. `memory` is in bytes. `finish`
    may add to the result before it is put in place; `neardup.dedup` writes the report so. When
    this raises, nothing is left behind; when it is killed or interrupted, the same call with
    `resume` goes on where it was.
    """
    inputs = [inputs] if isinstance(inputs, str) else list(inputs)
    limits, out = limits or Limits(), Path(out)
    settings = {"method": method, "preset": preset, "keep": keep, "contained": contained}
    chosen = make_method(method, options, preset=preset)
    policy_order(keep)  # a bad name is told before any work
    output.check_destination(out)
    readable_again = "-" not in inputs
    if not readable_again and (resume or write_kept is not None):
        raise UsageError("standard input comes once: --resume and --write-kept need files")
    if against is not None:
        check_earlier(Path(against), chosen)
    what = describe_run(inputs, limits, chosen, against)
    place = work_folder(out, what, resume=resume, resumable=readable_again)

    with output.writing(out), place as work:
        run = Run(work, memory, workers or default_workers(), Stages(progress or Silent()))
        spilled = parse_inputs(inputs, limits, run)
        earlier = None
        if against is not None:
            spilled, earlier = among_earlier(spilled, Path(against))
        counts = earlier.survey_batches() if earlier else ()
        features = compute_features(chosen, spilled, run, counts)
        if earlier is not None:
            features = with_earlier_features(chosen, features, earlier, run)
        judged = decide(chosen, spilled, features, run, earlier)
        rule = join_rule(chosen, contained=contained)
        clustering = cluster_pages(rule, spilled, features, judged, keep, run, earlier)
        result = work / "result"
        write_result(result, format, chosen, spilled, features, judged, clustering, run)
        if isinstance(chosen, Surveys):
            write_survey(result, run.parts(SURVEYED, COUNTS).each())
        if write_kept is not None:
            write_kept_pages(Path(write_kept), inputs, limits, spilled, clustering, run)
        summary = summarise(inputs, chosen, settings, spilled, features, judged, clustering, run)
        output.write_summary(result, summary)
        if finish is not None:
            with run.stages("report"):
                finish(result, spilled, judged, clustering)
            output.write_summary(result, {**summary, "run": measured(run)})
        output.put_in_place(result, out)
    return Result(out)


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
