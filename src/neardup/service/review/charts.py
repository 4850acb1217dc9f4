"""Pages and duplicates over time: columns, a day each."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from markupsafe import Markup, escape

from neardup.index.overview import Day

HEIGHT, WIDTH = 40.0, 100.0


def day_chart(days: Sequence[Day], translate: Callable[..., str]) -> Markup:
    """A column a day, its lower part the duplicates; what it says is in its label, too."""
    most = max((day.pages for day in days), default=0) or 1
    step = WIDTH / max(len(days), 12)
    columns = Markup("").join(
        _column(day, place * step, step, most) for place, day in enumerate(days)
    )
    told = "; ".join(
        translate(
            "{day}: {pages} pages, {duplicates} of them duplicates",
            day=day.day,
            pages=f"{day.pages:,}",
            duplicates=f"{day.duplicates:,}",
        )
        for day in days[-14:]
    )
    return Markup(
        '<svg class="days" viewBox="0 0 {:g} {:g}" preserveAspectRatio="none" role="img" '
        'aria-label="{}"><path class="grid" d="M0 0H100M0 20H100"/>{}'
        '<path class="axis" d="M0 40H100"/></svg>'
    ).format(WIDTH, HEIGHT, told, columns)


def _column(day: Day, left: float, step: float, most: int) -> Markup:
    title = escape(f"{day.day}: {day.pages:,} / {day.duplicates:,}")
    return Markup("<g><title>{}</title>{}{}</g>").format(
        title,
        _rect("kept", left, step, 0, day.pages, most),
        _rect("joined", left, step, 0, day.duplicates, most),
    )


def _rect(kind: str, left: float, step: float, base: int, value: int, most: int) -> Markup:
    if not value:
        return Markup("")
    height = max(HEIGHT * value / most, 0.4)
    return Markup('<rect class="{}" x="{:.3f}" y="{:.3f}" width="{:.3f}" height="{:.3f}"/>').format(
        kind, left + step * 0.12, HEIGHT - height - base, step * 0.76, height
    )
