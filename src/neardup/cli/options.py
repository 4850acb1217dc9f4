"""Arguments and options of the commands; `help.toml` has their help, names and limits."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from neardup.config import read_toml

TEXTS = read_toml(Path(__file__).with_name("help.toml"))


def example_of(command: str) -> str:
    """The examples at the end of a command's help."""
    return str(TEXTS[command]["example"])


def option(name: str) -> Any:
    """The option that the file has under `command.name`."""
    names, details = _read(name)
    return typer.Option(*names, **details)


def argument(name: str) -> Any:
    """The argument that the file has under `command.name`."""
    return typer.Argument(**_read(name)[1])


def _read(name: str) -> tuple[list[str], dict[str, Any]]:
    command, _, own = name.partition(".")
    entry = TEXTS[command][own]
    details: dict[str, Any] = {"help": entry} if isinstance(entry, str) else dict(entry)
    return details.pop("names", []), details


# Those of several commands.
Inputs = Annotated[list[str], argument("shared.inputs")]
Preset = Annotated[str | None, option("shared.preset")]
View = Annotated[str | None, option("shared.view")]
Assignments = Annotated[list[str] | None, option("shared.assignments")]
DuplicateFrom = Annotated[float | None, option("shared.duplicate_from")]
AsJson = Annotated[bool, option("shared.as_json")]
