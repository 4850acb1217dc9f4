"""What people call: `dedup`, `find_duplicates`, `recluster`, `compare`, `read_pages` and others."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar, cast

import numpy as np
import pyarrow as pa

from neardup.arrays import FeatureRows
from neardup.errors import InputError, UsageError
from neardup.local import result as output
from neardup.local.corpus import Corpus
from neardup.local.estimate import allowed_memory
from neardup.local.exchange import is_of_spark
from neardup.local.features import survey_batch
from neardup.local.memory import Duplicates, Rows, find_in_memory
from neardup.local.outcome import describe_run, measured, settings_of, summarise, write_result
from neardup.local.pipeline import NO_PRIOR, Outcome, judge, rejudge, settle
from neardup.local.prior import (
    Prior,
    check_earlier,
    method_of,
    read_summary,
    read_survey,
    survey_files,
    write_survey,
)
from neardup.local.result import Result
from neardup.local.run import (
    DEFAULT_MEMORY,
    Progress,
    Silent,
    Stages,
    default_workers,
    reuse_freed_memory,
)
from neardup.local.work import Run, work_folder
from neardup.methods.base import Joining, Method
from neardup.methods.registry import DEFAULT_METHOD, MethodLike, make_method
from neardup.model import Page, RawPage, Relation, Skip, Source, Verdict
from neardup.pages import Limits
from neardup.pages.limits import Columns
from neardup.pages.raw import raw_batch
from neardup.pages.readers import read, read_records
from neardup.pages.tables import TableColumns
from neardup.pages.writers import writer_for
from neardup.report import Language, write_actions
from neardup.rules.keeping import keep_policy
from neardup.text.charset import to_utf8
from neardup.text.parse import pages_from, parse

PAGES_AT_ONCE = 64

Table = TypeVar("Table")


def dedup(
    inputs: str | Sequence[str],
    out: str | Path,
    *,
    method: MethodLike = DEFAULT_METHOD,
    options: Mapping[str, object] | None = None,
    preset: str = "default",
    view: str | None = None,
    threshold: float | None = None,
    columns: Mapping[str, str] | None = None,
    keep: str | None = None,
    contained: bool = False,
    format: output.Format = "jsonl",  # noqa: A002 - the name of the command-line option
    language: Language = "en",
    write_kept: str | Path | None = None,
    against: str | Path | None = None,
    memory: int | None = None,
    workers: int | None = None,
    resume: bool = False,
    force: bool = False,
    report: bool = True,
    limits: Limits | None = None,
    progress: Progress | None = None,
) -> Result:
    """Find the duplicates among the pages of `inputs` and write the result folder `out`.

    `inputs` are paths, globs or remote paths; docs/reference/files.md describes the files of `out`.
    `method` is a name, a class, an instance or `module:Class`; `view` says which text of a page
    counts (whole, main or own; by default what suits the method). Pairs are near from `threshold`
    on, a similarity from 0 to 1 [the method's own]. `columns` names the columns of tables and the
    fields of JSON lines that do not have the usual names: {"text": "body", "id": "doc_id", "url":
    "meta.link"}. With the `format` csv or xlsx the result also has a list of actions for the owner
    of a site, and redirects; `language` is that of the report (en, zh). `against` names the result
    of an earlier run: the new pages are clustered with its pages, which are not read again, and its
    clusters keep their names. `memory` is in bytes [4 GB, or what the workers and the largest pages
    need if that is more]; less than they need is an error. What exists at `out` and `write_kept` is
    replaced only with `force`, an input never. When this fails (on a full disk, say), is killed or
    interrupted, the same call with `resume` continues where it stopped; only a wrong request or
    wrong inputs leave nothing behind.

        result = neardup.dedup("crawl.warc.gz", "result")
        print(result.summary["counts"]["duplicates"])
    """
    inputs = [inputs] if isinstance(inputs, str) else list(inputs)
    limits, out = limits or Limits(), Path(out)
    if columns is not None:
        limits = replace(limits, columns=Columns.named(columns))
    chosen = make_method(method, options, preset=preset, view=view, threshold=threshold)
    keep = keep_policy(keep, by_rule=chosen.joining is Joining.REPOSITORY)
    write_kept = None if write_kept is None else Path(write_kept)
    output.check_outputs(out, write_kept, inputs, force=force)
    memory = allowed_memory(memory, workers, limits)
    rereadable = "-" not in inputs
    if not rereadable and (resume or write_kept is not None):
        raise UsageError("standard input is read only once: --resume and --write-kept need files")
    if against is not None:
        check_earlier(Path(against), chosen)
    page_columns = [*chosen.columns, *(["description"] if report else [])]
    description = describe_run(inputs, limits, chosen, against, page_columns)
    folder = work_folder(out, description, resume=resume, resumable=rereadable)
    reuse_freed_memory(memory)

    with output.writing(out), folder as work:
        stages = Stages(progress or Silent(), memory)
        run = Run(work, memory, workers or default_workers(), stages)
        corpus, prior = Corpus.from_inputs(inputs, limits, run, page_columns), NO_PRIOR
        if against is not None:
            corpus, numbers = corpus.extended(Corpus.from_result(Path(against)))
            prior = Prior.from_result(Path(against), corpus, numbers, chosen, run)
        judged = judge(corpus, chosen, run, prior)
        outcome = settle(judged, run, keep=keep, contained=contained, prior=prior)
        write_result(work / "result", outcome, format, run)
        write_actions(work / "result", outcome, format)
        if write_kept is not None:
            _write_kept(write_kept, inputs, limits, outcome, run)
        settings = settings_of(chosen, preset, keep, contained)
        return _finish(
            work / "result", out, outcome, inputs, settings, run, language if report else None
        )


def recluster(
    folder: str | Path,
    out: str | Path,
    *,
    threshold: float,
    keep: str | None = None,
    contained: bool | None = None,
    format: output.Format = "jsonl",  # noqa: A002 - the name of the command-line option
    language: Language = "en",
    force: bool = False,
    report: bool = True,
    progress: Progress | None = None,
) -> Result:
    """The result in `folder` as it would be if pairs were near from `threshold` on.

    Only pairs that the earlier run has judged can join; its pages are not read again. What is not
    given is as it was there. An earlier result at `out` is replaced only with `force`.

        neardup.recluster("result", "stricter", threshold=0.9)
    """
    folder, out = Path(folder), Path(out)
    if not 0.0 <= threshold <= 1.0:
        raise UsageError(f"the threshold must be a similarity from 0 to 1, not {threshold}")
    earlier = read_summary(folder)
    contained = earlier["contained"] if contained is None else contained
    output.check_destination(out, force=force)
    if out.resolve() == folder.resolve():
        raise UsageError(f"{out} is the result to recluster; choose another --out")
    method = method_of(earlier)
    keep = keep_policy(keep or earlier["keep"], by_rule=method.joining is Joining.REPOSITORY)

    with output.writing(out), work_folder(out, "", resume=False, resumable=False) as work:
        run = Run(work, DEFAULT_MEMORY, default_workers(), Stages(progress or Silent()))
        corpus = Corpus.from_result(folder)
        prior = Prior.from_result(folder, corpus, np.arange(len(corpus)), method, run)
        judged = rejudge(corpus, method, run, prior, threshold)
        outcome = settle(judged, run, keep=keep, contained=contained)
        write_result(work / "result", outcome, format, run)
        write_actions(work / "result", outcome, format)
        for file in survey_files(method).values():
            if (folder / file).is_file():
                shutil.copyfile(folder / file, work / "result" / file)
            elif is_of_spark(folder):
                write_survey(work / "result" / file, read_survey(folder, file))
        settings = settings_of(method, earlier["preset"], keep, contained)
        settings["threshold"] = threshold
        inputs = earlier["inputs"]
        return _finish(
            work / "result", out, outcome, inputs, settings, run, language if report else None
        )


def _finish(
    made: Path,
    out: Path,
    outcome: Outcome,
    inputs: Sequence[str],
    settings: Mapping[str, object],
    run: Run,
    language: Language | None,
) -> Result:
    """Add the summary and, in a language, the report, and put the result in its place."""
    summary = summarise(outcome, inputs, settings, run)
    output.write_summary(made, summary)
    if language is not None:
        from neardup.report.document import write_report  # noqa: PLC0415 - loads Jinja

        with run.stages("report"):
            write_report(made, outcome, language)
        output.write_summary(made, {**summary, "run": measured(run)})
    output.put_in_place(made, out)
    return Result(out)


def _write_kept(
    path: Path, inputs: Sequence[str], limits: Limits, outcome: Outcome, run: Run
) -> None:
    """Write every kept page of `inputs` to `path`, in the form and order in which they are read."""
    corpus = outcome.corpus
    kept = corpus.pages.take(np.flatnonzero(outcome.is_kept), ["source", "record", "id"])
    *places, names = (column.to_pylist() for column in kept.columns)
    ids = dict(zip(zip(*places, strict=True), names, strict=True))
    with run.stages("keep", total=len(ids)) as stage, writer_for(path) as writer:
        for raw in read_records(inputs, limits, keep_original=True):
            id_ = ids.get((raw.source.path, raw.source.record))
            if isinstance(raw, RawPage) and id_ is not None:
                text = to_utf8(raw.body, raw.charset)[0].decode()
                writer.write(replace(raw, id=id_), text)
                stage.advance(1, len(raw.body))


# In memory


def find_duplicates(
    texts: Any,
    *,
    html: bool = False,
    urls: Any = None,
    titles: Any = None,
    times: Any = None,
    threshold: float | None = None,
    method: MethodLike = DEFAULT_METHOD,
    options: Mapping[str, object] | None = None,
    preset: str = "default",
    view: str | None = None,
    keep: str | None = None,
    contained: bool = False,
    workers: int | None = None,
) -> Duplicates:
    """Find the duplicates among texts in memory, or among pages with `html=True`.

    `texts` is a list of strings, a NumPy or Arrow array, a pandas or polars series, or anything
    with the Arrow PyCapsule interface; bytes are taken, too, in any charset. `urls`, `titles` and
    `times` are columns of the same length. Pairs are near from `threshold` on, a similarity from 0
    to 1 [the method's own]. The answers are those of `dedup` on the same pages; nothing is written.

    Rows are known by their position, and ties go to the earlier row. A row that is empty or null
    is undecided: it is kept, in a cluster of its own.

        result = neardup.find_duplicates(texts)
        unique = [text for text, keep in zip(texts, result.keep) if keep]
    """
    chosen = make_method(method, options, preset=preset, view=view, threshold=threshold)
    keep = keep_policy(keep, by_rule=chosen.joining is Joining.REPOSITORY)
    content = {"html": texts} if html else {"text": texts}
    rows = Rows.of(**content, urls=urls, titles=titles, times=times)
    return find_in_memory(rows, chosen, keep=keep, contained=contained, workers=workers)


def drop_duplicates(
    table: Table,
    *,
    text: str | None = None,
    html: str | None = None,
    id: str | None = None,  # noqa: A002 - what the column holds
    url: str | None = None,
    title: str | None = None,
    time: str | None = None,
    keep: str | None = None,
    threshold: float | None = None,
    method: MethodLike = DEFAULT_METHOD,
    options: Mapping[str, object] | None = None,
    preset: str = "default",
    view: str | None = None,
    contained: bool = False,
    workers: int | None = None,
) -> Table:
    """The table with one row of each cluster of duplicates; what was given is given back.

    `table` is an Arrow table, a pandas or polars data frame, a DuckDB relation, a Hugging Face
    dataset, or anything with the Arrow PyCapsule interface (which comes back as an Arrow table).
    `text`, `html`, `url`, `title` and `time` name its columns; columns with these very names are
    used without being named. Of a row that has both html and text, the html counts.

    Rows are known by their position, and ties go to the earlier row, unless `id` names a column:
    then ties go to the smaller id, as in `dedup`. `keep` says which row of a cluster stays:
    original, longest, first, newest, oldest or canonical [original].

        frame = neardup.drop_duplicates(frame, text="body", url="link")
    """
    chosen = make_method(method, options, preset=preset, view=view, threshold=threshold)
    keep = keep_policy(keep, by_rule=chosen.joining is Joining.REPOSITORY)
    columns = TableColumns(table)
    used = columns.chosen(
        {"text": text, "html": html, "id": id, "url": url, "title": title, "time": time}
    )
    rows = Rows.of(
        text=used.get("text"),
        html=used.get("html"),
        ids=used.get("id"),
        urls=used.get("url"),
        titles=used.get("title"),
        times=used.get("time"),
    )
    result = find_in_memory(rows, chosen, keep=keep, contained=contained, workers=workers)
    return cast(Table, columns.rows_where(result.keep))


# Two pages


def compare(
    a: RawPage | str | Path,
    b: RawPage | str | Path,
    *,
    method: MethodLike = DEFAULT_METHOD,
    options: Mapping[str, object] | None = None,
    preset: str = "default",
    view: str | None = None,
) -> Verdict:
    """What page `a` is to page `b`, as if there were no others.

    A path names a file that holds one page.

        verdict = neardup.compare("a.html", "b.html")
        print(verdict.relation, verdict.similarity, verdict.evidence["why"])
    """
    chosen = make_method(method, options, preset=preset, view=view)
    return judge_parsed(chosen, parse(raw_batch([one_page(a), one_page(b)])))


def judge_parsed(method: Method, pages: pa.RecordBatch) -> Verdict:
    """The method's verdict on two parsed pages (`schemas.PAGES`), as if there were no others."""
    rows = FeatureRows.of(method.describe(pages, survey_batch(method, pages)))
    [row] = method.relate(rows, np.array([0]), np.array([1])).to_pylist()
    return Verdict(Relation(row["relation"]), row["similarity"], json.loads(row["evidence"]))


def one_page(page: RawPage | str | Path) -> RawPage:
    """The page itself, or the only page of a file."""
    if isinstance(page, RawPage):
        return page
    records = read_records([str(page)])
    record = next(records, None)
    if record is None:
        raise InputError(f"no page in {page}")
    if isinstance(record, Skip):
        detail = f": {record.detail}" if record.detail else ""
        raise InputError(f"{page} cannot be compared, {record.reason}{detail}")
    if next(records, None) is not None:
        raise InputError(f"{page} holds more than one page; pass a file with one")
    return record


# Pages


def read_pages(inputs: str | Sequence[str], limits: Limits | None = None) -> Iterator[Page]:
    """Every readable page of `inputs`, parsed, in reading order.

    Bad records are passed over.

        for page in neardup.read_pages("crawl.warc.gz"):
            print(page.title, page.language, len(page.blocks))
    """
    inputs = [inputs] if isinstance(inputs, str) else list(inputs)
    for batch in read(inputs, limits, max_pages=PAGES_AT_ONCE):
        yield from pages_from(parse(batch.pages))


def html_page(html: str | bytes, *, id: str = "", url: str = "") -> RawPage:  # noqa: A002
    """A page from its HTML, for an index or `compare`.

    Bytes may be in any charset. Without `id` the page is known by its URL.

        page = neardup.html_page("<p>Some text</p>", url="https://a.example/1")
    """
    body = html if isinstance(html, bytes) else html.encode("utf-8", "replace")
    return RawPage(id or url, body, True, Source("memory"), url)


def text_page(text: str, *, id: str = "", url: str = "") -> RawPage:  # noqa: A002
    """A page that is plain text, for an index or `compare`.

    Without `id` the page is known by its URL.

        page = neardup.text_page("Some text", id="1")
    """
    return RawPage(id or url, text.encode("utf-8", "replace"), False, Source("memory"), url)
