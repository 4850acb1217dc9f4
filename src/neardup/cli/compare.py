"""`neardup compare` (judge two pages) and `neardup methods` (list the methods)."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from neardup.cli.options import AsJson, Assignments, Preset, Threshold, View, argument, option
from neardup.cli.warm_up import prepare_run

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyarrow import RecordBatch
    from rich.text import Text

    from neardup.config import OptionInfo
    from neardup.methods.base import Method
    from neardup.model import Verdict
    from neardup.report.side_by_side import Cell

FOLDED_WIDTH = 60  # characters of a text that does not count
LONGEST_SHARED = 400  # characters of shared text in a row


def compare(
    a: Annotated[str, argument("compare.a")],
    b: Annotated[str, argument("compare.b")],
    method: Annotated[str, option("compare.method")] = "own-text",
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
    from neardup.cli.dedup import read_assignments  # noqa: PLC0415 - keeps --help quick
    from neardup.errors import UsageError  # noqa: PLC0415
    from neardup.methods.registry import BUILT_IN, make_method, method_class  # noqa: PLC0415
    from neardup.pages.raw import raw_batch  # noqa: PLC0415
    from neardup.text.parse import parse  # noqa: PLC0415

    options = read_assignments(set_ or [])
    if method == "all" and (options or threshold is not None):
        raise UsageError("--set and --threshold need one method: --method NAME")
    pages = parse(raw_batch([one_page(a), one_page(b)]))
    verdicts: dict[str, Verdict] = {}
    for name in BUILT_IN if method == "all" else [method]:
        has_preset = method != "all" or bool(method_class(name).paper_preset)
        chosen = make_method(
            name,
            options,
            preset=(preset if has_preset else None) or "default",
            view=view,
            threshold=threshold,
        )
        verdicts[name] = judge_parsed(chosen, pages)
    if as_json:
        data = [{"method": name, **asdict(verdict)} for name, verdict in verdicts.items()]
        typer.echo(json.dumps(data, ensure_ascii=False))
        return
    _show_verdicts(verdicts)
    if method != "all" and texts:
        _show_texts(chosen, pages, verdicts[method].evidence)


def _show_verdicts(verdicts: dict[str, Verdict]) -> None:
    from rich.console import Console  # noqa: PLC0415 - keeps --help quick
    from rich.table import Table  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    table = Table()
    for heading in ("method", "relation of A to B", "similarity", "why"):
        table.add_column(heading, justify="right" if heading == "similarity" else "left")
    for name, verdict in verdicts.items():
        number = "" if verdict.similarity is None else f"{verdict.similarity:.3f}"
        table.add_row(name, verdict.relation, number, Text(verdict.evidence["why"]))
    Console().print(table)


def _show_texts(method: Method, pages: RecordBatch, evidence: Mapping[str, Any]) -> None:
    """Print the two texts side by side: what counts stands out, the rest is dimmed and folded."""
    from rich.console import Console  # noqa: PLC0415 - keeps --help quick
    from rich.table import Table  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    from neardup.index.contents import texts_with_weights  # noqa: PLC0415
    from neardup.local.features import survey_batch  # noqa: PLC0415
    from neardup.report.side_by_side import Kind, PageText, mark_texts  # noqa: PLC0415

    weighed = texts_with_weights(method, pages, survey_batch(method, pages))
    marked = mark_texts(PageText.of(*weighed[0]), PageText.of(*weighed[1]))
    console = Console(highlight=False)
    plain = not console.is_terminal
    table = Table(show_lines=True, expand=True, header_style="")
    for side, share in enumerate((evidence.get("left_share"), evidence.get("right_share"))):
        counting, characters = marked.counting[side], marked.characters[side]
        shared = "" if share is None else f"{share:.0%} shared, "
        heading = f"{'AB'[side]}: {shared}{counting:,} of {characters:,} characters count"
        table.add_column(Text(heading), ratio=1)
    for row in marked.rows:
        if row.kind is Kind.GAP:
            words = Text(f"… {row.omitted[0]:,} shared characters …", "green")
            table.add_row(words, words)
        elif row.kind is Kind.FOLDED:
            table.add_row(
                *(_folded(cell, more) for cell, more in zip(row.sides, row.omitted, strict=True))
            )
        else:
            table.add_row(*(_marked(cell, plain=plain) for cell in row.sides))
    console.print(table)
    if not plain:
        legend = Text("shared", "green").append("  only in A", "black on yellow")
        legend.append("  only in B", "white on blue").append("  does not count", "dim")
        console.print(legend)


def _folded(cell: Cell, more: int) -> Text:
    """The beginning of a text that does not count, on one line."""
    from rich.text import Text  # noqa: PLC0415 - keeps --help quick

    text = " · ".join("".join(text for _, text in cell).split("\n"))
    length = sum(len(text) for _, text in cell) + more
    if not length:
        return Text("")
    start = text[:FOLDED_WIDTH] + ("…" if len(text) > FOLDED_WIDTH or more else "")
    return Text(f"({length:,} characters do not count: {start})", "dim")


def _marked(cell: Cell, *, plain: bool) -> Text:
    """Text that counts; without colours, [-...-] is only in A and {+...+} only in B."""
    from rich.text import Text  # noqa: PLC0415 - keeps --help quick

    from neardup.report.side_by_side import Part  # noqa: PLC0415

    marks = {Part.LEFT: ("[-", "-]"), Part.RIGHT: ("{+", "+}")}
    styles = {Part.LEFT: "black on yellow", Part.RIGHT: "white on blue", Part.WRITTEN: "underline"}
    shown = Text()
    for part, text in cell:
        words = text.rstrip("\n")
        if len(words) > LONGEST_SHARED and part is Part.SHARED:
            half = LONGEST_SHARED // 2
            words = f"{words[:half]}\n… {len(words) - 2 * half:,} characters …\n{words[-half:]}"
        before, after = marks.get(part, ("", "")) if plain else ("", "")
        shown.append(f"{before}{words}{after}", styles.get(part, "green"))
        shown.append(text[len(text.rstrip("\n")) :])
    shown.rstrip()
    return shown


def methods(
    name: Annotated[str | None, argument("methods.name")] = None, as_json: AsJson = False
) -> None:
    """List the methods in a table, or describe one: its paper, cost and options."""
    from neardup.methods.registry import method_class, method_names  # noqa: PLC0415 - quick --help

    classes = [method_class(each) for each in ([name] if name else method_names())]
    if as_json:
        data = [_method_data(cls) for cls in classes]
        typer.echo(json.dumps(data[0] if name else data, ensure_ascii=False, indent=2))
    elif name:
        _show_method(classes[0])
    else:
        _show_methods(classes)


def _method_data(cls: type[Method]) -> dict[str, Any]:
    from neardup.config import describe_options  # noqa: PLC0415 - keeps --help quick
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


def _show_methods(classes: list[type[Method]]) -> None:
    """One line per method."""
    from rich.console import Console  # noqa: PLC0415 - keeps --help quick
    from rich.table import Table  # noqa: PLC0415

    from neardup.text.views import View  # noqa: PLC0415

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column("method", min_width=max(len(cls.name) for cls in classes))
    table.add_column("view", min_width=max(len(view) for view in View))
    table.add_column("threshold", min_width=len("threshold"))
    table.add_column("from", no_wrap=True, overflow="ellipsis", ratio=1)
    for cls in classes:
        option = _threshold_info(cls)
        threshold = "" if option is None else f"{option.default:g}"
        table.add_row(f"[bold]{cls.name}[/bold]", str(cls.default_view), threshold, cls.paper)
    console = Console()
    console.print(table)
    console.print("\nAll about one: neardup methods NAME", highlight=False)


def _threshold_info(cls: type[Method]) -> Any:
    from neardup.config import describe_options  # noqa: PLC0415 - keeps --help quick
    from neardup.methods.registry import threshold_option  # noqa: PLC0415

    name = threshold_option(cls)
    return next((info for info in describe_options(cls.Options) if info.name == name), None)


def _show_method(cls: type[Method]) -> None:
    """Everything about one method."""
    from rich.console import Console  # noqa: PLC0415 - keeps --help quick
    from rich.table import Table  # noqa: PLC0415

    from neardup.config import describe_options  # noqa: PLC0415

    console = Console(highlight=False)
    console.print(f"[bold]{cls.name}[/bold]: {(cls.__doc__ or '').strip().splitlines()[0]}")
    threshold = _threshold_info(cls)
    about = {
        "from": cls.paper,
        "for": cls.languages,
        "cost": cls.cost,
        "view": f"{cls.default_view}; --view changes it",
        "threshold": "none: it goes by its options"
        if threshold is None
        else f"{threshold.default:g}; --threshold changes it",
        "preset": "paper: " + ", ".join(f"{k}={v}" for k, v in cls.paper_preset.items())
        if cls.paper_preset
        else "none",
    }
    facts = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    for what, fact in about.items():
        facts.add_row(what, fact)
    console.print(facts)
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for heading in ("option (--set)", "default", "values", "what it does"):
        table.add_column(heading)
    for info in describe_options(cls.Options):
        table.add_row(info.name, str(info.default), _values(info), info.help)
    if table.row_count:
        console.print()
        console.print(table)


def _values(info: OptionInfo) -> str:
    """The values that an option takes, in few words."""
    if info.choices:
        return ", ".join(info.choices)
    if info.minimum is not None and info.maximum is not None:
        return f"{info.minimum:g} to {info.maximum:g}"
    if info.minimum is not None:
        return f"from {info.minimum:g}"
    return {"bool": "true, false", "str": "text"}.get(info.type, info.type)
