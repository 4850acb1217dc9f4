"""Charts as HTML with SVG in it: shapes stretch with the page, words stay words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from neardup.report.figures import percent, plural

BIN_WIDTH = 100.0


@dataclass(frozen=True)
class Bar:
    """One row of a bar chart; `note` says more than the number."""

    label: str
    value: int
    note: str = ""


def bar_chart(caption: str, headings: tuple[str, str, str], bars: Sequence[Bar]) -> str:
    """Bars from left to right, as a table that reads without them, too."""
    most = max((bar.value for bar in bars), default=0) or 1
    rows = "".join(_bar_row(bar, most) for bar in bars)
    heads = f"<th scope=col>{headings[0]}<th><th scope=col>{headings[1]}<th scope=col>{headings[2]}"
    return (
        f'<table class="bars"><caption>{escape(caption)}</caption>'
        f"<thead><tr>{heads}</thead><tbody>{rows}</tbody></table>"
    )


def _bar_row(bar: Bar, most: int) -> str:
    return (
        f'<tr><th scope=row>{escape(bar.label)}<td class="bar">{meter(bar.value / most)}'
        f'<td class="number">{bar.value:,}<td class="number note">{escape(bar.note)}'
    )


def meter(share: float, kind: str = "joined") -> str:
    """A bar as long as the share; decoration beside a number."""
    width = 0 if share <= 0 else max(100 * min(share, 1.0), 0.6)
    return (
        '<svg class="meter" aria-hidden="true" focusable="false">'
        f'<rect class="track" width="100%" height="100%"/>'
        f'<rect class="{kind}" width="{width:.2f}%" height="100%"/></svg>'
    )


def proportions(label: str, parts: Sequence[tuple[str, int, str]]) -> str:
    """One bar cut into named parts (name, value, kind), with a legend."""
    total = sum(value for _, value, _ in parts) or 1
    start, rects, legend = 0.0, [], []
    for name, value, kind in parts:
        width = 100 * value / total
        rects.append(f'<rect class="{kind}" x="{start:.3f}%" width="{width:.3f}%" height="100%"/>')
        legend.append(
            f'<li><span class="key {kind}"></span>{escape(name)} <b>{value:,}</b>'
            f' <span class="note">{percent(value, total)}</span>'
        )
        start += width
    return (
        f'<figure class="proportions"><svg role="img" aria-label="{escape(label)}">'
        f"{''.join(rects)}</svg><figcaption><ul>{''.join(legend)}</ul></figcaption></figure>"
    )


def histogram(label: str, counts: Sequence[int], kind: str) -> str:
    """Counts of equal steps from 0 to 1, on a scale of their own."""
    most = max(counts) or 1
    bars = "".join(
        _histogram_bar(
            number, count / most, len(counts), f"{_step(number, len(counts))}: {count:,}"
        )
        for number, count in enumerate(counts)
        if count
    )
    total = sum(counts)
    return (
        f'<div class="histogram {kind}"><h4><span class="key {kind}"></span>{escape(label)}'
        f' <span class="note">{plural(total, "pair")}</span></h4>'
        f'<svg viewBox="0 0 100 30" preserveAspectRatio="none" role="img" '
        f'aria-label="{escape(_told(label, counts))}">'
        f'<path class="grid" d="M0 0H100M0 15H100"/>{bars}<path class="axis" d="M0 30H100"/></svg>'
        f'<span class="most" aria-hidden="true">{most if total else 0:,}</span></div>'
    )


def _histogram_bar(number: int, share: float, bins: int, title: str) -> str:
    height = max(30 * share, 0.5)
    width = BIN_WIDTH / bins
    return (
        f'<rect x="{number * width + 0.3:.2f}" y="{30 - height:.2f}" '
        f'width="{width - 0.6:.2f}" height="{height:.2f}"><title>{title}</title></rect>'
    )


def _step(number: int, bins: int) -> str:
    return f"similarity {number / bins:.2f} to {(number + 1) / bins:.2f}"


def _told(label: str, counts: Sequence[int]) -> str:
    steps = [
        f"{_step(number, len(counts))}: {count:,}" for number, count in enumerate(counts) if count
    ]
    return f"{label}. {'; '.join(steps) or 'No pairs'}."
