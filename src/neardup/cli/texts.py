"""Two texts side by side in the terminal: what counts stands out, the rest is dimmed and folded."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pyarrow import RecordBatch
from rich.console import Console
from rich.table import Table
from rich.text import Text

from neardup.index.contents import texts_with_weights
from neardup.local.features import survey_batch
from neardup.methods.base import Method
from neardup.report.side_by_side import Cell, Kind, PageText, Part, mark_texts

FOLDED_WIDTH = 60  # characters of a text that does not count
LONGEST_SHARED = 400  # characters of shared text in a row


def show_texts(method: Method, pages: RecordBatch, evidence: Mapping[str, Any]) -> None:
    """Print the two texts side by side: what counts stands out, the rest is dimmed and folded."""
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
    text = " · ".join("".join(text for _, text in cell).split("\n"))
    length = sum(len(text) for _, text in cell) + more
    if not length:
        return Text("")
    start = text[:FOLDED_WIDTH] + ("…" if len(text) > FOLDED_WIDTH or more else "")
    return Text(f"({length:,} characters do not count: {start})", "dim")


def _marked(cell: Cell, *, plain: bool) -> Text:
    """Text that counts; without colours, [-...-] is only in A and {+...+} only in B."""
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
