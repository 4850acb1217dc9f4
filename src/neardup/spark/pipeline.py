"""The Spark engine: a cluster of machines. `dedup` reads as the algorithm.

It takes the same steps as the local engine, each over tables that Spark distributes. What grows
with the number of pages never comes to the driver. Each step leaves its result for the next in a
work directory next to the output, so that a machine can be lost at any moment.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import DataFrame

from neardup.errors import InputError, UsageError
from neardup.local.outcome import describe_run, settings_of
from neardup.local.pipeline import joining_relations
from neardup.local.result import Result, check_kept
from neardup.local.run import Progress, Silent, Stages
from neardup.methods.base import Joining, Method, assigner, searcher
from neardup.methods.registry import DEFAULT_METHOD, MethodLike, make_method
from neardup.model import Relation
from neardup.pages import Limits
from neardup.report import Language
from neardup.report.document import FILE as REPORT
from neardup.report.document import report_document
from neardup.rules.keeping import keep_policy
from neardup.spark.candidates import pairs_by_keys, searched_pairs
from neardup.spark.clusters import cluster_pages
from neardup.spark.features import describe
from neardup.spark.identity import Identified, identify
from neardup.spark.judging import PairJudge
from neardup.spark.prior import Earlier, check_earlier, with_known
from neardup.spark.reading import bytes_here, is_hadoop, parse_inputs
from neardup.spark.reading import write_kept as write_kept_pages
from neardup.spark.sample import sampled_outcome
from neardup.spark.session import spark_session
from neardup.spark.tables import kept_places, summarise, write_tables
from neardup.spark.work import Storage, Work, check_destination, put_in_place, work_folder

MOST_PAGES = 1 << 31  # `rules.candidates` puts the numbers of two pages into one of 64 bits


def dedup(
    inputs: str | Sequence[str],
    out: str | Path,
    *,
    method: MethodLike = DEFAULT_METHOD,
    options: Mapping[str, object] | None = None,
    preset: str = "default",
    view: str | None = None,
    keep: str | None = None,
    contained: bool = False,
    against: str | Path | None = None,
    write_kept: str | Path | None = None,
    threshold: float | None = None,
    language: Language = "en",
    report: bool = True,
    resume: bool = False,
    force: bool = False,
    limits: Limits | None = None,
    progress: Progress | None = None,
    master: str | None = None,
    memory: int | None = None,
    partitions: int | None = None,
    broadcast_counts: int | None = None,
) -> Result:
    """Find the duplicates among the pages of `inputs` and write the result folder `out`.

    `inputs` and `out` are paths that all machines of the cluster reach, `write_kept` is one of the
    driver's machine. The session that is active is used; without one it is made, at `master` (by
    default what spark-submit says, or all cores of this machine), with `memory` bytes for Java
    [what fits this machine]. `partitions` is the number of tasks of a shuffle. A survey of up to
    `broadcast_counts` counts [by the memory of Java] is sent to every task whole; of a larger one
    each task gets what its pages need. The rest is as in the local engine, and so is the answer.
    """
    inputs = [inputs] if isinstance(inputs, str) else list(inputs)
    out, limits = str(out), limits or Limits()
    rules = Rules.of(
        make_method(method, options, preset=preset, view=view, threshold=threshold),
        keep,
        contained,
        broadcast_counts,
    )
    stages = Stages(progress or Silent())
    kept_file = None if write_kept is None else Path(write_kept)
    if kept_file is not None:
        if any(map(is_hadoop, inputs)):
            raise UsageError("--write-kept reads the inputs again: name paths that Python opens")
        check_kept(kept_file, inputs, force=force)
    against = "" if against is None else str(against)

    input_bytes = bytes_here(inputs)
    with spark_session(master, partitions, memory, against, input_bytes=input_bytes) as spark:
        storage = Storage(spark, out)
        check_destination(storage, out, force=force)
        if against:
            check_earlier(Storage(spark, against), against, rules.method)
        run = describe_run(inputs, limits, rules.method, None)
        run = json.dumps([run, against, rules.keep, rules.contained])
        with work_folder(spark, out, stages, run, resume=resume, against=against) as work:
            earlier = Earlier.of(against, rules.method, work)
            with stages("parse"):
                records = parse_inputs(inputs, limits, work)
            decided = decide(records, rules, work, earlier)
            with stages("write"):
                counts = write_tables(decided, work)
                settings = settings_of(rules.method, preset, rules.keep, contained)
                summary = summarise(inputs, settings, decided, counts, work)
            if report:
                with stages("report"):
                    outcome = sampled_outcome(decided, records, work)
                    document = report_document(summary, outcome, language)
                    storage.write_text(f"{work.result}/{REPORT}", document)
                summary["run"]["seconds"]["report"] = round(stages.done[-1].seconds, 3)
            if kept_file is not None:
                write_kept_pages(kept_file, inputs, limits, kept_places(decided), work)
            text = json.dumps(summary, ensure_ascii=False, indent=2) + "\n"
            storage.write_text(f"{work.result}/summary.json", text)
            put_in_place(work, out)
    result = Result(out)
    result.summary = summary  # also where the folder is out of Python's reach
    return result


@dataclass(frozen=True)
class Rules:
    """How a run decides."""

    method: Method
    keep: str
    contained: bool
    broadcast_counts: int | None = None

    @classmethod
    def of(
        cls, method: Method, keep: str | None, contained: bool, broadcast_counts: int | None = None
    ) -> Rules:
        """The rules, unless they take what a cluster does not have."""
        if assigner(method) is not None:
            raise UsageError(
                f"{method.name} decides page by page against what it has seen, which no cluster "
                "can share; use the local engine"
            )
        if method.joining is Joining.REPOSITORY:
            raise UsageError(
                "joining=repository decides page by page, each against what was kept before it, "
                "which a cluster cannot share out: use --engine local, or --set joining=components"
            )
        return cls(method, keep_policy(keep, by_rule=False), contained, broadcast_counts)


@dataclass(frozen=True)
class Decided:
    """The decisions about all pages, as tables."""

    method: Method
    identified: Identified
    features: DataFrame
    verdicts: DataFrame
    members: DataFrame  # of clusters of several pages


def decide(records: DataFrame, rules: Rules, work: Work, earlier: Earlier | None = None) -> Decided:
    """The decisions about the pages among parsed records, and those of an earlier run."""
    method, stages = rules.method, work.stages
    with stages("identify"):
        identified = identify(records, earlier.pages if earlier else None, work)
        if not identified.count:
            raise InputError(_nothing_read(identified.skipped))
        if identified.count > MOST_PAGES:
            raise InputError(f"{identified.count:,} pages; a run takes at most {MOST_PAGES:,}")
    work.prepare_for(identified.count)
    old = earlier.clusters(identified.pages) if earlier else None
    features = describe(
        method, records, identified, work, earlier, broadcast_counts=rules.broadcast_counts
    )
    with stages("candidates"):
        pairs = work.keep(_candidates(method, features, identified.count, work), "pairs")
    judge = PairJudge(method, features, joining_relations(method, contained=rules.contained))
    with stages("judge"):
        verdicts = _judge(judge, pairs, identified.pages, earlier, old, work)
    with stages("cluster"):
        members = cluster_pages(judge, identified.pages, verdicts, rules.keep, work, old)
    return Decided(method, identified, features, verdicts, members)


def _nothing_read(skipped: DataFrame) -> str:
    first = skipped.orderBy("source", "record").first()
    if first is None:
        return "no page in the input"
    place = f"{first['source']} record {first['record']}"
    why = f"{first['reason']}{': ' + first['detail'] if first['detail'] else ''}"
    return f"no page could be read; {skipped.count()} skipped, the first at {place}: {why}"


def _candidates(method: Method, features: DataFrame, count: int, work: Work) -> DataFrame:
    if (searches := searcher(method)) is not None:
        return searched_pairs(method, searches, features)
    return pairs_by_keys(method, features, count, work)


def _judge(
    judge: PairJudge,
    pairs: DataFrame,
    pages: DataFrame,
    earlier: Earlier | None,
    old: DataFrame | None,
    work: Work,
) -> DataFrame:
    """The verdict on every pair; what is known is not judged again."""
    known = None
    if earlier is not None and old is not None:
        known = work.keep(earlier.verdicts(pages), "known-verdicts")
        pairs = with_known(pairs, old, known)
    verdicts = judge.judge(pairs)
    if searcher(judge.method) is not None:
        # A filter may let pairs through that fail; which ones depends on what it sees at once.
        verdicts = verdicts.where(f"relation != '{Relation.DIFFERENT}'")
    return work.keep(verdicts if known is None else verdicts.unionByName(known), "verdicts")
