"""`neardup compare` (judge two pages) and `neardup methods` (list the methods)."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from neardup.cli.options import AsJson, Assignments, View, argument, option

if TYPE_CHECKING:
    from neardup.methods.base import Method
    from neardup.model import Verdict


def compare(
    a: Annotated[str, argument("compare.a")],
    b: Annotated[str, argument("compare.b")],
    method: Annotated[str, option("compare.method")] = "own-text",
    preset: Annotated[str, option("shared.preset")] = "default",
    view: View = None,
    set_: Assignments = None,
    as_json: AsJson = False,
) -> None:
    """Print the relation of page A to page B, and the evidence for it."""
    from neardup.api import judge_pair, one_page  # noqa: PLC0415
    from neardup.cli.dedup import read_assignments  # noqa: PLC0415 - keeps --help quick
    from neardup.errors import UsageError  # noqa: PLC0415
    from neardup.methods.registry import BUILT_IN, make_method, method_class  # noqa: PLC0415

    options = read_assignments(set_ or [])
    if method == "all" and options:
        raise UsageError("--set needs one method: --method NAME")
    pages = one_page(a), one_page(b)
    verdicts: dict[str, Verdict] = {}
    for name in BUILT_IN if method == "all" else [method]:
        has_preset = method != "all" or bool(method_class(name).paper_preset)
        chosen = make_method(name, options, preset=preset if has_preset else "default", view=view)
        verdicts[name] = judge_pair(chosen, *pages)
    if as_json:
        data = [{"method": name, **asdict(verdict)} for name, verdict in verdicts.items()]
        typer.echo(json.dumps(data, ensure_ascii=False))
    else:
        _show_verdicts(verdicts)


def _show_verdicts(verdicts: dict[str, Verdict]) -> None:
    from rich.console import Console  # noqa: PLC0415 - keeps --help quick
    from rich.table import Table  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    table = Table()
    for heading in ("method", "A is to B", "similarity", "why"):
        table.add_column(heading, justify="right" if heading == "similarity" else "left")
    for name, verdict in verdicts.items():
        number = "" if verdict.similarity is None else f"{verdict.similarity:.3f}"
        table.add_row(name, verdict.relation, number, Text(verdict.evidence["why"]))
    Console().print(table)


def methods(
    as_json: AsJson = False,
) -> None:
    """List the methods: name, paper, languages, cost, and options with their defaults."""
    from neardup.methods.registry import BUILT_IN, method_class  # noqa: PLC0415 - keeps --help quick

    classes = [method_class(name) for name in BUILT_IN]
    if as_json:
        typer.echo(json.dumps([_method_data(cls) for cls in classes], ensure_ascii=False, indent=2))
    else:
        _show_methods(classes)


def _method_data(cls: type[Method]) -> dict[str, Any]:
    from neardup.config import describe_options  # noqa: PLC0415 - keeps --help quick

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
        "options": options,
        "paper_preset": dict(cls.paper_preset),
    }


def _show_methods(classes: list[type[Method]]) -> None:
    from rich.console import Console  # noqa: PLC0415 - keeps --help quick
    from rich.table import Table  # noqa: PLC0415

    from neardup.config import describe_options  # noqa: PLC0415

    table = Table(show_lines=True)
    for heading in ("method", "paper", "languages", "cost", "options (default)"):
        table.add_column(heading)
    for cls in classes:
        options = "\n".join(
            f"{info.name} ({info.default}): {info.help}" for info in describe_options(cls.Options)
        )
        table.add_row(f"[bold]{cls.name}[/bold]", cls.paper, cls.languages, cls.cost, options)
    Console().print(table)
