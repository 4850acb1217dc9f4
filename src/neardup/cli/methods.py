"""`neardup methods`: what there is to choose from."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from neardup.methods.base import Method

EXAMPLE = "Example:  [bold]neardup methods --json[/bold]"


def methods(
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON for programs.")] = False,
) -> None:
    """List the methods: name, paper, languages, cost, and options with their defaults."""
    from neardup.methods.base import REGISTRY, method_class  # noqa: PLC0415 - keeps --help quick

    classes = [method_class(name) for name in REGISTRY]
    if as_json:
        typer.echo(json.dumps([_as_data(cls) for cls in classes], ensure_ascii=False, indent=2))
    else:
        _show(classes)


def _as_data(cls: type[Method]) -> dict[str, Any]:
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


def _show(classes: list[type[Method]]) -> None:
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
