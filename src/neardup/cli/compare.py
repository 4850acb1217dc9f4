"""`neardup compare` (judge two pages) and `neardup methods` (list the methods)."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from neardup.cli.dedup import read_assignments
from neardup.cli.options import (
    DEFAULT_METHOD,
    AsJson,
    Assignments,
    Preset,
    Threshold,
    View,
    argument,
    option,
)
from neardup.cli.warm_up import prepare_run
from neardup.config import describe_options
from neardup.errors import UsageError

if TYPE_CHECKING:
    from neardup.methods.base import Method


def compare(
    a: Annotated[str, argument("compare.a")],
    b: Annotated[str, argument("compare.b")],
    method: Annotated[str, option("compare.method")] = DEFAULT_METHOD,
    preset: Preset = None,
    view: View = None,
    threshold: Threshold = None,
    set_: Assignments = None,
    texts: Annotated[bool, option("compare.texts")] = True,
    as_json: AsJson = False,
) -> None:
    """Print the relation of page A to page B, and the evidence for it."""
    prepare_run(method)
    from neardup.api import judge_parsed, one_page  # noqa: PLC0415
    from neardup.cli.tables import show_verdicts  # noqa: PLC0415
    from neardup.methods.registry import every_method, make_method  # noqa: PLC0415
    from neardup.pages.raw import raw_batch  # noqa: PLC0415
    from neardup.text.parse import parse  # noqa: PLC0415

    options = read_assignments(set_ or [])
    if method == "all" and (options or threshold is not None):
        raise UsageError("--set and --threshold need one method: --method NAME")
    pages = parse(raw_batch([one_page(a), one_page(b)]))
    if method == "all":
        chosen = {each.name: each for each in every_method(preset, view)}
    else:
        made = make_method(method, options, preset=preset, view=view, threshold=threshold)
        chosen = {method: made}
    verdicts = {name: judge_parsed(each, pages) for name, each in chosen.items()}
    if as_json:
        data = [{"method": name, **asdict(verdict)} for name, verdict in verdicts.items()]
        typer.echo(json.dumps(data, ensure_ascii=False))
        return
    show_verdicts(verdicts)
    if method != "all" and texts:
        from neardup.cli.texts import show_texts  # noqa: PLC0415

        show_texts(chosen[method], pages, verdicts[method].evidence)


def methods(
    name: Annotated[str | None, argument("methods.name")] = None, as_json: AsJson = False
) -> None:
    """List the methods in a table, or describe one: its paper, cost and options."""
    from neardup.cli.tables import show_method, show_methods  # noqa: PLC0415 - keeps --help quick
    from neardup.methods.registry import method_class, method_names  # noqa: PLC0415

    classes = [method_class(each) for each in ([name] if name else method_names())]
    if as_json:
        data = [_method_data(cls) for cls in classes]
        typer.echo(json.dumps(data[0] if name else data, ensure_ascii=False, indent=2))
    elif name:
        show_method(classes[0])
    else:
        show_methods(classes)


def _method_data(cls: type[Method]) -> dict[str, Any]:
    from neardup.methods.registry import threshold_option  # noqa: PLC0415

    options = [
        {
            "name": info.name,
            "type": info.type,
            "default": info.default,
            "help": info.help,
            **({"choices": list(info.choices)} if info.choices else {}),
        }
        for info in describe_options(cls.Options)
    ]
    return {
        "name": cls.name,
        "paper": cls.paper,
        "languages": cls.languages,
        "cost": cls.cost,
        "threshold": threshold_option(cls),
        "view": str(cls.default_view),
        "options": options,
        "paper_preset": dict(cls.paper_preset),
    }
