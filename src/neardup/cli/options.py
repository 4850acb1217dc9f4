"""Arguments and options of the commands; `help.toml` has their help, names and limits."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Annotated, Any, TypedDict, get_args, get_origin

import typer
from typer.core import TyperCommand, TyperGroup
from typer.models import OptionInfo

from neardup.config import parse_size, read_toml
from neardup.pages import Limits
from neardup.pages.limits import Columns

# How help shows the value of an option.
VALUES: Mapping[object, str] = {int: "N", float: "NUMBER", Path: "PATH", str: "TEXT"}
_TEXT = re.compile(r".*", re.S)
_WHOLE = re.compile(r"[0-9]{1,15}")
_DECIMAL = re.compile(r"[0-9]{1,15}(\.[0-9]{1,15})?")
# Texts that are values of these types beyond doubt; typer decides about the others.
PLAIN: Mapping[object, re.Pattern[str]] = {str: _TEXT, int: _WHOLE, float: _DECIMAL}
# A run of backslashes is tried from its first one only, or it would take quadratic time.
_MARKUP = re.compile(r"(?<!\\)(\\*)(\[[a-z#/@][^[]*?])")
TEXTS = read_toml(Path(__file__).with_name("help.toml"))
# The methods of this package; `methods.registry` has them too, and would load Arrow for --help.
DEFAULT_METHOD = "own-text"
METHODS = [
    *(DEFAULT_METHOD, "edit-distance", "two-phase", "news-clusters", "word-table", "feature-code"),
    *("exact", "simhash", "minhash", "supershingle", "i-match", "spotsigs", "chunk-hash"),
]


def examples_of(command: str) -> str:
    """The examples at the end of a command's help, one per line."""
    lines = [f"[bold]{escaped(line)}[/bold]" for line in TEXTS[command]["examples"]]
    return "\n".join([f"Example{'s' if len(lines) > 1 else ''}:", *(f"  {line}" for line in lines)])


def escaped(text: str) -> str:
    """Text that rich must not read as markup. As `rich.markup.escape`, which is slow to import."""
    return _MARKUP.sub(r"\1\1\\\2", text)


class _Plain:
    """Help that shows no type of Python for switches and arguments, and values without pydantic.

    Typer converts all values with pydantic, which takes a tenth of a second to load.
    """

    def get_params(self, context: Any) -> list[Any]:
        parameters: list[Any] = super().get_params(context)  # type: ignore[misc]
        for each in parameters:
            if each.param_type_name == "argument":
                each.display_type_rich = lambda ctx: None
            elif each.is_flag:
                each.metavar = ""
            if "process_value" not in vars(each):
                each.process_value = partial(_processed, each, each.process_value)
        return parameters


def _processed(parameter: Any, by_typer: Callable[..., Any], context: Any, value: Any) -> Any:
    """The value of a parameter; typer's own way where it takes more than to convert a text."""
    info = getattr(parameter, "type_descriptor", None)
    if info is None or (value is None and parameter.required):
        return by_typer(context, value)
    several = parameter.multiple or parameter.nargs == -1
    try:
        if value is None:
            made = () if several else None
        else:
            made = _converted(info.annotation, info.parameter_info, value)
    except ValueError:
        return by_typer(context, value)
    return made if parameter.callback is None else parameter.callback(context, parameter, made)


def _converted(kind: Any, info: Any, value: Any) -> Any:
    """The value as an option of this kind, or ValueError: what is wrong with it is for typer."""
    if kind == list[str] and value and all(isinstance(each, str) for each in value):
        return list(value)
    if type(value) is not str or kind not in PLAIN or not PLAIN[kind].fullmatch(value):
        raise ValueError
    least, most = getattr(info, "min", None), getattr(info, "max", None)
    made = kind(value)
    if (least is not None and made < least) or (most is not None and made > most):
        raise ValueError
    return made


class Command(_Plain, TyperCommand):
    """A command with plain help, where --help is the last of the options."""

    def get_help_option(self, ctx: Any) -> Any:
        option = super().get_help_option(ctx)
        if option is not None:
            option.rich_help_panel = "Messages"
        return option


class Group(_Plain, TyperGroup):
    """`neardup` itself, with plain help."""


def name_values(parameters: Iterable[inspect.Parameter]) -> None:
    """Let help show `N`, `PATH` and the like for the values of options, by their types."""
    for each in parameters:
        if get_origin(each.annotation) is Annotated:
            kind, info = get_args(each.annotation)
            inner = next(iter({kind, *get_args(kind)} & VALUES.keys()), None)
            if inner and info.metavar is None and isinstance(info, OptionInfo):
                info.metavar = VALUES[inner]


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
    if "panel" in details:
        details["rich_help_panel"] = details.pop("panel")
    if "choices" in details:
        choices = details.pop("choices")
        details.setdefault("metavar", "NAME")
        details["autocompletion"] = lambda: METHODS if choices == "methods" else choices
    details["help"] = details["help"].replace("{methods}", ", ".join(METHODS))
    return details.pop("names", []), details


# Those of several commands.
Inputs = Annotated[list[str], argument("shared.inputs")]
Preset = Annotated[str | None, option("shared.preset")]
View = Annotated[str | None, option("shared.view")]
Assignments = Annotated[list[str] | None, option("shared.assignments")]
DuplicateFrom = Annotated[float | None, option("shared.duplicate_from")]
AsJson = Annotated[bool, option("shared.as_json")]
Threshold = Annotated[float | None, option("shared.threshold")]
Force = Annotated[bool, option("shared.force")]
ReportLanguage = Annotated[str, option("shared.language")]
StoreKeep = Annotated[str | None, option("shared.store_keep")]
Window = Annotated[str | None, option("shared.window")]
SearchText = Annotated[bool, option("shared.search_text")]

COLUMNS = ("text", "html", "id", "url", "title", "time")


class PageOptions(TypedDict):
    """What commands that read any number of pages take as `**pages` (`messages.with_messages`)."""

    text_column: Annotated[str | None, option("shared.text_column")]
    html_column: Annotated[str | None, option("shared.html_column")]
    id_column: Annotated[str | None, option("shared.id_column")]
    url_column: Annotated[str | None, option("shared.url_column")]
    title_column: Annotated[str | None, option("shared.title_column")]
    time_column: Annotated[str | None, option("shared.time_column")]
    base_url: Annotated[str | None, option("shared.base_url")]
    max_page_size: Annotated[str | None, option("shared.max_page_size")]


def limits_of(settings: Mapping[str, Any]) -> Limits:
    """The limits of readers: `max_page_size`, `base_url` and the names of columns."""
    named = {what: settings.get(f"{what}_column") for what in COLUMNS}
    return Limits(
        page_bytes=parse_size(settings["max_page_size"] or "20MB"),
        columns=Columns.named({what: name for what, name in named.items() if name}),
        base_url=settings.get("base_url") or "",
    )
