"""`neardup check`: report whether each page is new or a duplicate."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from contextlib import ExitStack, closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Unpack

from neardup.cli.dedup import read_assignments
from neardup.cli.options import (
    Assignments,
    Inputs,
    PageOptions,
    Preset,
    SearchText,
    StoreKeep,
    View,
    Window,
    limits_of,
    option,
)
from neardup.cli.store import parse_span
from neardup.cli.warm_up import prepare_run
from neardup.errors import InputError, UsageError

if TYPE_CHECKING:
    from neardup.model import RawPage, Skip


def check(
    inputs: Inputs,
    store: Annotated[str, option("check.store")],
    as_json: Annotated[bool, option("check.as_json")] = False,
    dry_run: Annotated[bool, option("check.dry_run")] = False,
    write_kept: Annotated[Path | None, option("check.write_kept")] = None,
    revisit: Annotated[bool, option("check.revisit")] = False,
    revisit_near: Annotated[bool, option("check.revisit_near")] = False,
    force: Annotated[bool, option("check.force")] = False,
    method: Annotated[str | None, option("check.method")] = None,
    preset: Preset = None,
    view: View = None,
    set_: Assignments = None,
    no_text: Annotated[bool, option("check.no_text")] = False,
    search_text: SearchText = False,
    keep: StoreKeep = None,
    window: Window = None,
    workers: Annotated[int | None, option("check.workers")] = None,
    **pages: Unpack[PageOptions],
) -> None:
    """Report whether each page is new or a duplicate of a stored one, and add it to the store.

    Pages are identified by id, or by URL if there is none. Adding a page again with the same
    content changes nothing; with other content it replaces the earlier version. A page is in the
    store once its answer is printed. Pages on standard input are answered as they arrive.
    """
    prepare_run(method)
    from neardup.cli.answers import Skips, answers_to, records_of, show_answers  # noqa: PLC0415
    from neardup.index import Index  # noqa: PLC0415

    skips = Skips()
    writes = write_kept is not None
    if (revisit or revisit_near) and not writes:
        raise UsageError("revisit records are written to a file: use --write-kept new.warc.gz")
    if writes and dry_run:
        raise UsageError("--dry-run adds no pages, so --write-kept would have nothing to write")
    limits = limits_of(pages)
    records: Iterable[RawPage | Skip] = records_of(inputs, limits, skips, keep_original=writes)
    with (
        Index.open(
            store,
            method,
            read_assignments(set_ or []),
            preset=preset,
            view=view,
            keep_text=False if no_text else None,
            search_text=True if search_text else None,
            keep=keep,
            window=parse_span(window),
            create=not dry_run,
        ) as index,
        ExitStack() as stack,
    ):
        kept = None
        if write_kept is not None:
            from neardup.cli.kept_pages import kept_pages  # noqa: PLC0415

            kept = stack.enter_context(
                kept_pages(
                    write_kept, inputs, index, revisit=revisit, near=revisit_near, force=force
                )
            )
            records = kept.note(records)
        answers = answers_to(records, index, add=not dry_run, piped="-" in inputs, workers=workers)
        if kept is not None:
            answers = kept.follow(stack.enter_context(closing(answers)))
        with closing(answers):
            count = show_answers(answers, skips, sys.stdout, as_json=as_json)
    if not count and "-" not in inputs:
        raise InputError(f"no page could be read in {', '.join(inputs)}")
