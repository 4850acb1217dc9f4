"""The papers' experiments as tables in a terminal: ours below theirs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

Row = Mapping[str, Any]
SECONDS = ("extraction_seconds", "comparison_seconds", "total_seconds")
HEADINGS = ("dropped pages", "pairs", "extract", "compare", "seconds", "MB")


def show_papers(rows: Sequence[Row]) -> None:
    """A table an experiment, and where ours falls short."""
    console = Console()
    for _, some in groupby(rows, key=lambda row: row["experiment"]):
        console.print(_table(list(some)))
    for why in dict.fromkeys(f"{row['experiment']}: {row['why']}" for row in rows if row["why"]):
        console.print(f"short of the paper, {why}", highlight=False, markup=False)


def _table(rows: Sequence[Row]) -> Table:
    title = escape(rows[0]["paper"])
    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    table.add_column("precision / recall", overflow="fold")
    for heading in HEADINGS:
        table.add_column(heading, justify="right", no_wrap=True)
    for (pages, texts), some in groupby(rows, key=lambda row: (row["pages"], row["texts"])):
        trial = list(some)
        claims: Row = next((row["claimed"] for row in trial if row["claimed"]), {})
        table.add_section()
        table.add_row(f"{pages:,} {'texts' if texts else 'pages'}: paper", *_figures(claims))
        for row in trial:
            table.add_row(_label(row), *_measured(row["measured"]))
    return table


def _label(row: Row) -> str:
    """The method without the experiment's own name."""
    method: str = row["method"]
    base, _, rest = method.partition(":")
    return escape(method if base != row["experiment"] else f"ours {rest or 'default'}")


def _measured(measured: Mapping[str, Any]) -> Iterator[str]:
    yield from [escape(measured["error"])] if "error" in measured else _figures(measured)


def _figures(figures: Mapping[str, Any]) -> Iterator[str]:
    for start in ("page_", ""):
        both = [figures.get(f"{start}{name}") for name in ("precision", "recall")]
        shown = ["-" if each is None else f"{each:.3f}" for each in both]
        yield "" if shown == ["-", "-"] else " / ".join(shown)
    for name in SECONDS:
        yield f"{figures[name]:.2f}" if name in figures else ""
    yield f"{figures['peak_memory_mb']:,.0f}" if "peak_memory_mb" in figures else ""
