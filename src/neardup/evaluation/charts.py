"""Charts of an evaluation, each as PNG and SVG. Needs matplotlib (the extra `evaluate`)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

Results = Mapping[str, Mapping[str, Mapping[str, Any]]]  # set, method, scores
SIZE = (7.2, 4.4)  # inches
DASHES = ("-", "--", "-.", ":")  # colours repeat after ten lines, dashes then differ


@dataclass(frozen=True)
class Chart:
    """A chart in two files, `name`.png and `name`.svg. The picture does not show the name of its
    set, which may be in any script: a picture has one font."""

    name: str
    title: str
    set: str  # "" for all sets


def charts_possible() -> bool:
    """Whether matplotlib is installed."""
    return find_spec("matplotlib") is not None


def draw_charts(out: Path, results: Results) -> list[Chart]:
    """Draw a comparison of all methods and their curves for each set."""
    drawn = []
    for number, (name, methods) in enumerate(results.items(), 1):
        good = {method: scores for method, scores in methods.items() if "error" not in scores}
        curves = {method: scores for method, scores in good.items() if scores["curve"]}
        for kind, title, draw, data in (
            ("comparison", "Methods compared", _draw_comparison, good),
            ("precision-recall", "Precision and recall", _draw_precision_recall, curves),
            ("thresholds", "F1 by similarity threshold", _draw_thresholds, curves),
        ):
            if data:
                drawn.append(Chart(f"{kind}-{number}", title, name))
                with _figure(out / drawn[-1].name) as axes:
                    draw(axes, data)
    return drawn


@contextmanager
def _figure(path: Path) -> Iterator[Any]:
    """Axes to draw on, saved as PNG and SVG: the same bytes for the same data."""
    import matplotlib as mpl  # noqa: PLC0415 - heavy and optional
    from matplotlib.figure import Figure  # noqa: PLC0415

    settings: Any = {"svg.hashsalt": "neardup", "font.family": ["DejaVu Sans", "sans-serif"]}
    settings |= {"font.size": 9, "svg.fonttype": "none"}  # letters, not outlines: a tenth the size
    with mpl.rc_context(settings):
        figure = Figure(figsize=SIZE, layout="constrained")
        yield figure.add_subplot()
        figure.savefig(path.with_name(path.name + ".png"), dpi=150, metadata={"Software": None})
        figure.savefig(path.with_name(path.name + ".svg"), metadata={"Date": None})


def _draw_comparison(axes: Any, methods: Mapping[str, Mapping[str, Any]]) -> None:
    """One row per method: F1 with its interval, precision and recall."""
    order = sorted(methods, key=lambda name: (methods[name]["f1"], name))
    for row, name in enumerate(order):
        scores = methods[name]
        low, high = scores["intervals"].get("f1", (scores["f1"],) * 2)
        axes.barh(row, scores["f1"], height=0.62, color="#4c78a8", label="_")
        axes.plot([low, high], [row, row], color="black", linewidth=1.2)
        axes.plot(scores["precision"], row, "D", color="#f58518", markersize=5)
        axes.plot(scores["recall"], row, "o", color="#54a24b", markersize=5)
        axes.text(1.03, row, f"{scores['f1']:.3f}", va="center", fontsize=8)
    axes.set_yticks(range(len(order)), order)
    axes.set_xlim(0, 1.02)
    axes.set_xlabel("F1 (bar, line: 95 % interval), precision (diamond), recall (circle)")


def _draw_precision_recall(axes: Any, curves: Mapping[str, Mapping[str, Any]]) -> None:
    """One line per method over all thresholds, with a dot at its own threshold."""
    _draw_lines(axes, curves, "recall", "precision")
    for line, scores in zip(axes.get_lines(), curves.values(), strict=True):
        axes.plot(scores["recall"], scores["precision"], "o", color=line.get_color())


def _draw_thresholds(axes: Any, curves: Mapping[str, Mapping[str, Any]]) -> None:
    _draw_lines(axes, curves, "thresholds", "f1")
    axes.set(xlabel="similarity threshold", ylabel="F1")


def _draw_lines(axes: Any, curves: Mapping[str, Mapping[str, Any]], x: str, y: str) -> None:
    for number, (name, scores) in enumerate(curves.items()):
        points = scores["curve"]
        axes.plot(points[x], points[y], DASHES[number // 10 % 4], label=name)
    axes.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02), xlabel=x, ylabel=y)
    axes.grid(alpha=0.3)
    axes.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), frameon=False)
