"""An evaluation as files: results.json, results.csv and a page to look at."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

from neardup.evaluate.charts import Chart, Results

COLUMNS = ["set", "method", "precision", "recall", "f1", "f1_low", "f1_high", "b_cubed_f1"]
COLUMNS += ["adjusted_rand", "true_pairs", "said_pairs", "largest_cluster", "pages", "seconds"]
COLUMNS += ["peak_memory_mb", "error"]
POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src 'self' data:"
STYLE = """
:root{color-scheme:light dark}
body{font:15px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:70rem;padding:0 1rem}
table{border-collapse:collapse;display:block;overflow-x:auto}
th,td{padding:.25rem .7rem;border-bottom:1px solid #8884;text-align:right;white-space:nowrap}
th:first-child,td:first-child{text-align:left}
figure{margin:1.5rem 0}img{max-width:100%;background:#fff}figcaption a{margin-right:1rem}
"""


def write_tables(out: Path, results: Results) -> None:
    """results.json with everything, results.csv with one line a set and method."""
    text = json.dumps(results, ensure_ascii=False, indent=2)
    (out / "results.json").write_text(text + "\n", encoding="utf-8")
    with (out / "results.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(_rows(results))


def _rows(results: Results) -> Iterator[dict[str, Any]]:
    for name, methods in results.items():
        for method, scores in methods.items():
            low, high = scores.get("intervals", {}).get("f1", ("", ""))
            row = {column: scores.get(column, "") for column in COLUMNS}
            b_cubed = scores.get("b_cubed", {}).get("f1", "")
            yield {
                **row,
                "set": name,
                "method": method,
                "f1_low": low,
                "f1_high": high,
                "b_cubed_f1": b_cubed,
            }


def write_page(out: Path, results: Results, charts: Sequence[Chart]) -> None:
    """index.html: a table and the charts of each set. Names are data: escaped."""
    sections = "".join(
        _section(name, methods, [chart for chart in charts if chart.set == name])
        for name, methods in results.items()
    )
    note = "" if charts else "<p>No charts: pip install 'neardup[evaluate]' to have them.</p>"
    page = (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>neardup evaluate</title><style>{STYLE}</style></head>\n"
        f"<body><h1>Methods measured</h1>{note}{sections}"
        '<p>All figures: <a href="results.json">results.json</a>, '
        '<a href="results.csv">results.csv</a></p></body></html>\n'
    )
    (out / "index.html").write_text(page, encoding="utf-8")


def _section(name: str, methods: Mapping[str, Mapping[str, Any]], charts: list[Chart]) -> str:
    heads = ["method", "precision", "recall", "F1", "95 %", "B-cubed F1", "adjusted Rand"]
    heads += ["largest cluster", "seconds", "MB"]
    order = sorted(methods, key=lambda method: -methods[method].get("f1", -1))
    rows = "".join(_row(method, methods[method], len(heads)) for method in order)
    head = "".join(f"<th>{text}</th>" for text in heads)
    return (
        f"<h2>{escape(name)}</h2><table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody>"
        f"</table>{_kinds(methods)}{''.join(map(_figure, charts))}"
    )


def _row(method: str, scores: Mapping[str, Any], width: int) -> str:
    if "error" in scores:
        message = escape(scores["error"])
        return f"<tr><td>{escape(method)}</td><td colspan={width - 1}>{message}</td></tr>"
    low, high = scores["intervals"].get("f1", ("", ""))
    b_cubed = scores.get("b_cubed", {}).get("f1", "")
    cells = [scores["precision"], scores["recall"], scores["f1"], f"{low} to {high}", b_cubed]
    cells += [scores.get("adjusted_rand", ""), scores.get("largest_cluster", "")]
    cells += [scores["seconds"], scores["peak_memory_mb"]]
    listed = "".join(f"<td>{cell}</td>" for cell in cells)
    return f"<tr><td>{escape(method)}</td>{listed}</tr>"


def _kinds(methods: Mapping[str, Mapping[str, Any]]) -> str:
    """Recall by kind of copy, a column a kind."""
    found = {name: scores.get("recall_by_kind", {}) for name, scores in methods.items()}
    kinds = sorted({kind for recalls in found.values() for kind in recalls})
    if not kinds:
        return ""
    head = "".join(f"<th>{escape(kind)}</th>" for kind in kinds)
    rows = "".join(
        f"<tr><td>{escape(name)}</td>"
        + "".join(f"<td>{recalls.get(kind, '')}</td>" for kind in kinds)
        + "</tr>"
        for name, recalls in found.items()
        if recalls
    )
    return (
        "<h3>Recall by kind</h3>"
        f"<table><thead><tr><th>method</th>{head}</tr></thead><tbody>{rows}</tbody></table>"
    )


def _figure(chart: Chart) -> str:
    title = escape(chart.title)
    return (
        f'<figure><img src="{chart.name}.svg" alt="{title}"><figcaption>{title} '
        f'<a href="{chart.name}.png">PNG</a><a href="{chart.name}.svg">SVG</a>'
        "</figcaption></figure>"
    )
