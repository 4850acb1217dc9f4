"""`neardup check`: report whether each page is new or a duplicate."""

from __future__ import annotations

import sys
from typing import Annotated

from neardup.cli.options import Assignments, Inputs, Preset, View, option


def check(
    inputs: Inputs,
    store: Annotated[str, option("check.store")],
    as_json: Annotated[bool, option("check.as_json")] = False,
    dry_run: Annotated[bool, option("check.dry_run")] = False,
    method: Annotated[str | None, option("check.method")] = None,
    preset: Preset = None,
    view: View = None,
    set_: Assignments = None,
    no_text: Annotated[bool, option("check.no_text")] = False,
    workers: Annotated[int | None, option("check.workers")] = None,
    max_page_size: Annotated[str, option("check.max_page_size")] = "20MB",
) -> None:
    """Report whether each page is new or a duplicate of a stored one, and add it to the store.

    Pages are identified by id, or by URL if there is none. Adding a page again with the same
    content changes nothing; with other content it replaces the earlier version. A page is in the
    store once its answer is printed. Pages on standard input are answered as they arrive.
    """
    from neardup.cli.answers import (  # noqa: PLC0415
        Skips,
        answers_to,
        pages_of,
        show_answers,
    )
    from neardup.cli.dedup import read_assignments  # noqa: PLC0415
    from neardup.config import parse_size  # noqa: PLC0415
    from neardup.errors import InputError  # noqa: PLC0415
    from neardup.index import Index  # noqa: PLC0415
    from neardup.pages import Limits  # noqa: PLC0415

    skips = Skips()
    pages = pages_of(inputs, Limits(page_bytes=parse_size(max_page_size)), skips)
    with Index.open(
        store,
        method,
        read_assignments(set_ or []),
        preset=preset,
        view=view,
        keep_text=False if no_text else None,
        create=not dry_run,
    ) as index:
        answers = answers_to(pages, index, add=not dry_run, piped="-" in inputs, workers=workers)
        count = show_answers(answers, skips, sys.stdout, as_json=as_json)
    if not count and "-" not in inputs:
        raise InputError(f"no page could be read in {', '.join(inputs)}")
