"""What commands print as tables; they import this when they have something to print."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from neardup.cli.options import escaped
from neardup.config import OptionInfo, describe_options
from neardup.local.result import Result
from neardup.methods.base import Method
from neardup.methods.registry import threshold_option
from neardup.model import Verdict
from neardup.text.views import View


def show_verdicts(verdicts: dict[str, Verdict]) -> None:
    table = Table()
    for heading in ("method", "relation of A to B", "similarity", "why"):
        table.add_column(heading, justify="right" if heading == "similarity" else "left")
    for name, verdict in verdicts.items():
        number = "" if verdict.similarity is None else f"{verdict.similarity:.3f}"
        table.add_row(name, verdict.relation, number, Text(verdict.evidence["why"]))
    Console().print(table)


def show_scores(name: str, methods: Mapping[str, Mapping[str, Any]]) -> None:
    table = Table(title=escaped(name), title_justify="left")
    table.add_column("method")
    for heading in ("precision", "recall", "F1", "95 %", "seconds", "MB"):
        table.add_column(heading, justify="right")
    for method, scores in methods.items():
        if "error" in scores:
            table.add_row(method, escaped(scores["error"]))
            continue
        low, high = scores["intervals"].get("f1", (scores["f1"],) * 2)
        table.add_row(
            method,
            f"{scores['precision']:.3f}",
            f"{scores['recall']:.3f}",
            f"{scores['f1']:.3f}",
            f"{low:.3f} - {high:.3f}",
            f"{scores['seconds']:.2f}",
            f"{scores['peak_memory_mb']:,.0f}",
        )
    Console().print(table)


def show_clusters(result: Result) -> None:
    """Print every cluster of two or more pages, with each page's relation to the kept one."""
    rows = {row["id"]: row for row in result.pages()}
    table = Table(title="Pages a reader would consider the same", title_justify="left")
    for heading in ("page", "is", "similarity"):
        table.add_column(heading, justify="right" if heading == "similarity" else "left")
    for cluster in result.clusters():
        if len(cluster.members) == 1:
            continue
        table.add_row(f"[bold]{escaped(cluster.kept)}[/bold]", "[green]kept[/green]", "")
        for member in cluster.members:
            if member != cluster.kept:
                row = rows[member]
                table.add_row(f"  {escaped(member)}", row["relation"], f"{row['similarity']:.2f}")
        table.add_section()
    Console().print(table)


Row = Mapping[str, Any]
SECONDS = ("extraction_seconds", "comparison_seconds", "total_seconds")
HEADINGS = ("dropped pages", "pairs", "extract", "compare", "seconds", "MB")


def show_papers(rows: Sequence[Row]) -> None:
    """Print one table per experiment, then the reasons where our figures fall short."""
    console = Console()
    for _, group in groupby(rows, key=lambda row: row["experiment"]):
        console.print(_table(list(group)))
    for why in dict.fromkeys(f"{row['experiment']}: {row['why']}" for row in rows if row["why"]):
        console.print(f"short of the paper, {why}", highlight=False, markup=False)


def _table(rows: Sequence[Row]) -> Table:
    title = escaped(rows[0]["paper"])
    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    table.add_column("precision / recall", overflow="fold")
    for heading in HEADINGS:
        table.add_column(heading, justify="right", no_wrap=True)
    for (pages, kind), group in groupby(rows, key=lambda row: (row["pages"], row["input"])):
        trial = list(group)
        claims: Row = next((row["claimed"] for row in trial if row["claimed"]), {})
        table.add_section()
        table.add_row(f"{pages:,} {kind}: paper", *_figures(claims))
        for row in trial:
            figures = row["measured"]
            error = [escaped(figures["error"])] if "error" in figures else None
            table.add_row(_label(row), *(error or _figures(figures)))
    return table


def _label(row: Row) -> str:
    """The method without the experiment's own name."""
    method: str = row["method"]
    base, _, rest = method.partition(":")
    return escaped(method if base != row["experiment"] else f"ours {rest or 'default'}")


def _figures(figures: Mapping[str, Any]) -> Iterator[str]:
    for start in ("page_", ""):
        both = [figures.get(f"{start}{name}") for name in ("precision", "recall")]
        shown = ["-" if each is None else f"{each:.3f}" for each in both]
        yield "" if shown == ["-", "-"] else " / ".join(shown)
    for name in SECONDS:
        yield f"{figures[name]:.2f}" if name in figures else ""
    yield f"{figures['peak_memory_mb']:,.0f}" if "peak_memory_mb" in figures else ""


def show_methods(classes: list[type[Method]]) -> None:
    """One line per method."""
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
    name = threshold_option(cls)
    return next((info for info in describe_options(cls.Options) if info.name == name), None)


def show_method(cls: type[Method]) -> None:
    """Everything about one method."""
    console = Console(highlight=False)
    console.print(f"[bold]{cls.name}[/bold]: {(cls.__doc__ or '').strip().splitlines()[0]}")
    threshold = _threshold_info(cls)
    about = {
        "from": cls.paper,
        "for": cls.languages,
        "cost": cls.cost,
        "view": f"{cls.default_view}; --view changes it",
        "threshold": "none; its options decide"
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
