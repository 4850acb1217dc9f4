"""Pictures for docs/deciding.md: which lines of a page are its own, and which of them another has.

    python tools/own_text_pictures.py     draws them anew, into docs/images

Drawn from the bundled pages: a line of the picture is a line of the page, as the view `own` sees
it. A line counts as shared if the other page's own text has most of its runs of eight characters.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence
from html import escape
from pathlib import Path

import numpy as np
import pyarrow as pa

from neardup.cli.warm_up import DEMO_PAGES
from neardup.pages.readers import read
from neardup.text.parse import parse
from neardup.text.sites import BlockCounts, Survey, add_counts
from neardup.text.views import main_lines, page_lines

PICTURES = {
    "images/own-text-en.svg": (
        "valleyherald.example/news/240212.htm",
        "harbourtimes.example/2024/corn-exchange-clock.html",
    ),
    "images/own-text-zh.svg": (
        "chaoxikepu.example/p/firefly.html",
        "yuntingzaixian.example/news/20240625/81407.html",
    ),
}
LEGEND = {  # the class of a line: what it is, the colour of its text, of the band behind it
    "shared": ("own text that both pages have", "#10361a", "#cdebd2"),
    "own": ("own text of one page only", "#5c3d00", "#fde3b0"),
    "repeated": ("repeated by the site", "#6f6f6f", "#ececec"),
    "menu": ("menus, links, labels", "#8c8c8c", "#ffffff"),
}
RUN = 8  # characters
COLUMN, LINE, LETTERS = 530, 19, 70  # pixels, pixels, Latin letters in a line

Line = tuple[str, str]  # text and class


def draw_pictures() -> dict[str, str]:
    """The pictures as SVG, by their path in the docs."""
    [batch] = read([str(DEMO_PAGES)])
    pages = parse(batch.pages)
    classes, texts = _classes(pages), page_lines(pages).to_pylist()
    row_of = {name: row for row, name in enumerate(pages["id"].to_pylist())}
    drawn = {}
    for path, names in PICTURES.items():
        columns = [
            list(zip(texts[row_of[each]], classes[row_of[each]], strict=True)) for each in names
        ]
        left, right = columns
        drawn[path] = _svg(names, [_with_shared(left, right), _with_shared(right, left)])
    return drawn


def _classes(pages: pa.RecordBatch) -> list[list[str]]:
    """The class of each line of each page: menu, repeated or own."""
    survey = Survey.from_counts(pages.num_rows, [add_counts([BlockCounts().count(pages)])])
    main = main_lines(pages)
    own = survey.own_lines(main, pages)
    classes = np.full(len(main.every), "menu", object)
    classes[main.numbers] = "repeated"
    classes[own.numbers] = "own"
    ends = [*main.offsets[1:].tolist(), len(main.every)]
    starts = main.offsets.tolist()
    return [classes[a:b].tolist() for a, b in zip(starts, ends, strict=False)]


def _with_shared(lines: Sequence[Line], others: Sequence[Line]) -> list[Line]:
    """The lines, with the class `shared` for own lines that the other page has, too."""
    theirs = set().union(*(_runs(text) for text, class_ in others if class_ == "own"))
    marked = []
    for text, class_ in lines:
        runs = _runs(text)
        is_shared = class_ == "own" and len(runs & theirs) > len(runs) / 2
        marked.append((text, "shared" if is_shared else class_))
    return marked


def _runs(text: str) -> set[str]:
    folded = "".join(character for character in text.lower() if character.isalnum())
    return {folded[start : start + RUN] for start in range(max(len(folded) - RUN + 1, 1))}


def _svg(names: Sequence[str], columns: Sequence[Sequence[Line]]) -> str:
    rows = max(map(len, columns))
    width, height = COLUMN * len(columns) + 10, LINE * rows + 90
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        f'role="img" aria-label="{escape(" and ".join(names))}: which lines are their own">',
        "<style>text{font:12px system-ui,sans-serif}.name{font-weight:bold}</style>",
        f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
    ]
    for number, (name, lines) in enumerate(zip(names, columns, strict=True)):
        left = 10 + number * COLUMN
        parts.append(f'<text class="name" x="{left}" y="22" fill="#222">{escape(name)}</text>')
        parts += _column(lines, left)
    for number, (meaning, colour, band) in enumerate(LEGEND.values()):
        left, top = 10 + number * (width - 10) // len(LEGEND), height - 28
        parts.append(
            f'<rect x="{left}" y="{top}" width="16" height="16" fill="{band}" stroke="#bbb"/>'
        )
        parts.append(f'<text x="{left + 24}" y="{top + 13}" fill="{colour}">{meaning}</text>')
    return "\n".join([*parts, "</svg>", ""])


def _column(lines: Sequence[Line], left: int) -> Iterator[str]:
    for number, (text, class_) in enumerate(lines):
        _, colour, band = LEGEND[class_]
        top, width = 34 + number * LINE, COLUMN - 14
        yield f'<rect x="{left}" y="{top}" width="{width}" height="{LINE - 2}" fill="{band}"/>'
        yield f'<text x="{left + 6}" y="{top + 13}" fill="{colour}">{escape(_cut(text))}</text>'


def _cut(text: str) -> str:
    """As much of a text as a line of the picture holds; wide characters count double."""
    room = LETTERS
    for place, character in enumerate(text):
        room -= 2 if unicodedata.east_asian_width(character) in "WF" else 1
        if room < 0:
            return text[:place] + "…"
    return text


if __name__ == "__main__":
    for name, picture in draw_pictures().items():
        (Path(__file__).parents[1] / "docs" / name).write_text(picture, encoding="utf-8")
