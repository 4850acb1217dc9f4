"""Every method on the six labelled sets, into docs/methods/results.md and the README.

    make results                              everything anew
    make results ONLY=own-text                what one method has changed
    python -m bench.results --resume          what an interrupted run has not measured

The figures are kept in bench/results.json, written after each run; the pages are made from them.

The duplicates of the first four sets are on different hosts, the copies on their own. So the
versions sets are measured once more with the releases of a manual on one host, told apart by their
queries, as a site keeps them.
"""

from __future__ import annotations

import argparse
import io
import json
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any
from urllib.parse import urlsplit

import pyarrow as pa

from neardup.api import dedup
from neardup.evaluation.metrics import score, score_rule
from neardup.evaluation.runs import Contender, clusters_of
from neardup.evaluation.sets import read_set
from neardup.methods.registry import BUILT_IN, make_method, method_class

TOP = Path(__file__).parents[1]
DATA = TOP.parent / "shared" / "data"
FIGURES = Path(__file__).with_suffix(".json")
PAGE = TOP / "docs" / "methods" / "results.md"
README = TOP / "README.md"
MARKS = "<!-- results: written by make results -->\n", "<!-- end of results -->\n"

FOUR = ["reprints-en", "reprints-zh", "versions-en", "versions-zh"]
SIX = [*FOUR, "copies-en", "copies-zh"]
ON_ONE_HOST = {"versions-en": "versions-en, one host", "versions-zh": "versions-zh, one host"}
EIGHT = [*SIX, *ON_ONE_HOST.values()]

PAPERS = ["edit-distance", "two-phase", "news-clusters", "word-table", "feature-code"]
CLASSICS = ["exact", "simhash", "minhash", "supershingle", "i-match", "spotsigs", "chunk-hash"]
VIEWS = ["whole", "main", "own"]
LEAST = 0.01  # difference of F1 that is worth telling

# One change at a time, back to what was before the papers were read a second time, or forth to
# what a paper names as an alternative.
EFFECTS = {
    "edit-distance": "the default",
    "edit-distance:beta=0.8": "beta as printed",
    "edit-distance:beta=0.6": "a smaller beta",
    "edit-distance:scope=site": "epsilon within a site, not a host",
    "edit-distance:view=whole": "whole pages",
    "edit-distance:paper": "as printed",
    "edit-distance:paper:beta=0.7": "as printed, with beta 0.7",
    "edit-distance:paper:joining=components": "as printed, chained",
    "two-phase": "the default",
    "two-phase:fingerprint=ascii-sum": "the paper's fingerprint",
    "two-phase:view=whole": "whole pages",
    "two-phase:paper": "as printed",
    "two-phase:paper:joining=components": "as printed, chained",
    "news-clusters": "the default",
    "news-clusters:view=main": "not cleaned of what sites repeat",
    "news-clusters:paper": "as printed",
    "news-clusters:paper:view=main": "as printed, not cleaned of what sites repeat",
    "word-table": "the default",
    "word-table:view=whole": "whole pages",
    "word-table:minimum_share=0": "without the guard",
    "word-table:bound=average": "below the average SM",
    "word-table:paper": "as printed",
    "word-table:paper:joining=components": "as printed, chained",
    "word-table:paper:bound=average": "as printed, below the average SM",
    "feature-code": "the default",
    "feature-code:counting=characters": "rule 3 counts characters",
    "feature-code:view=main": "not cleaned of what sites repeat",
    "feature-code:paper": "as printed",
    "feature-code:paper:index=exact": "as printed, with the exact index",
    "feature-code:paper:counting=characters": "as printed, rule 3 counts characters",
    "feature-code:paper:view=main": "as printed, not cleaned of what sites repeat",
}

HEAD = """# Results

Precision, recall and F1 over pairs of pages, as `neardup evaluate` counts them, on six labelled
sets, English and Chinese: reprints (articles re-published inside other real page templates),
versions (documentation pages in several releases) and copies (the reprints, each with changed
copies on its own host). Reprints and versions are on different hosts; the versions once more with
all releases of a manual on one host. Written by `make results`, from `bench/results.json`.

Each cell: F1 (precision / recall) after clustering; where they differ by 0.01 or more, the same of
the pairs that the method's own rule joins, before clustering. *As printed* is `--preset paper`.

"""
ROWS_TEXT = """## Every method

At its default, as its paper prints it, and, for a classic, with the setting and the view that are
best on average over the first four sets, if neither of the two is. The seconds are of all stages of
a run in one process, kernels compiled, over the six sets together.

"""
VIEWS_TEXT = """## Which text of a page counts

F1 of each method on whole pages, on their main text, and on what is their own (without what the
site repeats); the best of a method's settings is bold. Others were not measured.

"""
EFFECTS_TEXT = """## One change at a time

What each reading of a paper and each guard does alone, F1 (precision / recall). Empty cells:
word-table without its guard or below the average SM, where it would join millions of pairs.

"""


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure every method on the labelled sets.")
    parser.add_argument("--only", default="", help="methods to measure, comma-separated [all]")
    parser.add_argument("--resume", action="store_true", help="measure only what is missing")
    parser.add_argument("--data", type=Path, default=DATA, help="the labelled sets")
    arguments = parser.parse_args()
    figures = json.loads(FIGURES.read_text("utf-8")) if FIGURES.exists() else {}
    only = [name for name in arguments.only.split(",") if name]
    runs = [(name, each) for name, each in all_runs() if not only or _method(name) in only]
    if arguments.resume:
        runs = [(name, each) for name, each in runs if each not in figures.get(name, {})]
    measure_all(runs, arguments.data, figures)
    write_pages(figures)


def all_runs() -> list[tuple[str, str]]:
    """Contender and set of every run, those of the main table first."""
    runs = [(name, each) for each in EIGHT for name in rows_of_methods()]
    runs += [(name, each) for each in SIX for name in EFFECTS if each in FOUR or affordable(name)]
    runs += [(name, each) for each in SIX for base in BUILT_IN for name in settings_of(base)]
    return list(dict.fromkeys(runs))


def affordable(name: str) -> bool:
    """Whether a setting is measured on the larger sets: word-table without its guard joins half of
    all pairs there, some millions."""
    loose = ("word-table:paper:", "word-table:minimum_share=0", "word-table:bound=average")
    return not name.startswith(loose)


def rows_of_methods() -> list[str]:
    """Every method at its default, and as printed."""
    printed = [f"{name}:paper" for name in BUILT_IN if method_class(name).paper_preset]
    return [*BUILT_IN, *printed]


def settings_of(base: str) -> list[str]:
    """A method on every view, at its default and as printed; for papers' methods the default only,
    because their presets say which text counts. own-text has one view."""
    if base == "own-text":
        return [base]
    presets = [base]
    if base in CLASSICS and method_class(base).paper_preset:
        presets.append(f"{base}:paper")
    return [_short(f"{preset}:view={view}") for preset in presets for view in VIEWS]


def _short(name: str) -> str:
    """Without a view that the setting has anyway."""
    preset, _, view = name.rpartition(":view=")
    contender = Contender.named(preset)
    return preset if make_method(contender.method, preset=contender.preset).view == view else name


def _method(name: str) -> str:
    return name.partition(":")[0]


def measure_all(runs: Sequence[tuple[str, str]], data: Path, figures: dict[str, Any]) -> None:
    """Measure, and write the figures down after each run."""
    with tempfile.TemporaryDirectory() as folder:
        for number, (name, each) in enumerate(runs):
            place = set_folder(each, data, Path(folder))
            figures.setdefault(name, {})[each] = measure(name, place, Path(folder) / "result")
            text = json.dumps(figures, indent=1, sort_keys=True)
            FIGURES.write_text(text + "\n", encoding="utf-8")
            print(f"{number + 1} of {len(runs)}: {name} on {each}", flush=True)


def set_folder(name: str, data: Path, scratch: Path) -> Path:
    """Where a set is; those with all releases on one host are made first."""
    source = {moved: each for each, moved in ON_ONE_HOST.items()}.get(name)
    if source is None:
        return data / name
    if not (scratch / name).exists():
        on_one_host(data / source, scratch / name)
    return scratch / name


def on_one_host(source: Path, folder: Path) -> None:
    """A copy of a versions set in which the first part of each host, the release, is a query."""
    folder.mkdir()
    shutil.copy(source / "truth.csv", folder)
    pages = pa.input_stream(str(source / "pages.jsonl.zst"), compression="zstd")
    with (folder / "pages.jsonl").open("w", encoding="utf-8") as moved:
        for line in io.TextIOWrapper(pages, "utf-8"):
            page = json.loads(line)
            address = urlsplit(page["url"])
            release, _, host = address.netloc.partition(".")
            page["url"] = address._replace(netloc=host, query=f"release={release}").geturl()
            moved.write(json.dumps(page, ensure_ascii=False) + "\n")


def measure(name: str, folder: Path, out: Path) -> dict[str, Any]:
    """The scores of one contender on one set, and the seconds of its stages."""
    contender, labelled = Contender.named(name), read_set(folder)
    result = dedup(
        str(labelled.pages),
        out,
        method=contender.method,
        preset=contender.preset,
        options=contender.options,
        view=contender.view,
        force=True,
        report=False,
    )
    scores = score(labelled.truth, clusters_of(result))
    kept = ("f1", "precision", "recall", "recall_by_kind", "by_page")
    seconds = sum(result.summary["run"]["seconds"].values())
    return {
        **{figure: scores[figure] for figure in kept},
        "rule_pairs": score_rule(result, labelled.truth),
        "seconds": round(seconds, 2),
    }


# The pages


def write_pages(figures: dict[str, Any]) -> None:
    """docs/methods/results.md, and the table of the README."""
    parts = [HEAD, ROWS_TEXT, *_main_table(figures), VIEWS_TEXT, *_views_table(figures)]
    parts += [EFFECTS_TEXT, *_effects_table(figures)]
    PAGE.write_text("".join(parts).rstrip("\n") + "\n", encoding="utf-8")
    readme = README.read_text("utf-8")
    start, end = (readme.index(mark) for mark in MARKS)
    table = "".join(_readme_table(figures))
    readme = readme[: start + len(MARKS[0])] + table + readme[end:]
    README.write_text(readme, encoding="utf-8")


def _header(first: str, columns: Sequence[str]) -> Iterator[str]:
    yield f"| {first} | " + " | ".join(columns) + " |\n"
    yield "|---" * (len(columns) + 1) + "|\n"


def _main_table(figures: dict[str, Any]) -> Iterator[str]:
    yield from _header("method", [*EIGHT, "seconds"])
    for name in shown_settings(figures):
        measured = figures.get(name, {})
        cells = [cell(measured.get(each)) for each in EIGHT]
        seconds = sum(measured[each]["seconds"] for each in SIX if each in measured)
        yield f"| {spoken(name)} | " + " | ".join(cells) + f" | {seconds:.1f} |\n"
    yield "\n"


def shown_settings(figures: dict[str, Any]) -> list[str]:
    """Every method at its default, as printed, and a classic's best where it is neither."""
    names = rows_of_methods()
    return names + [best for base in CLASSICS if (best := best_of(base, figures)) not in names]


def best_of(base: str, figures: dict[str, Any]) -> str:
    """The setting of a method with the best F1 on average over the first four sets."""
    settings = dict.fromkeys([base, *settings_of(base), f"{base}:paper"])
    return max(settings, key=lambda name: _mean(figures.get(name, {})))


def _mean(measured: dict[str, Any]) -> float:
    return fmean(measured[each]["f1"] if each in measured else 0.0 for each in FOUR)


def _views_table(figures: dict[str, Any]) -> Iterator[str]:
    yield from _header("method", SIX)
    for base in BUILT_IN:
        best = best_of(base, figures)
        for name in settings_of(base):
            if not (measured := figures.get(name, {})):
                continue
            values = [f"{measured[each]['f1']:.3f}" if each in measured else "" for each in SIX]
            label = spoken(name, view=True)
            label = f"**{label}**" if name == best else label
            yield f"| {label} | " + " | ".join(values) + " |\n"
    yield "\n"


def _effects_table(figures: dict[str, Any]) -> Iterator[str]:
    yield from _header("setting", ["what it is", *SIX])
    for name, what in EFFECTS.items():
        cells = [cell(figures.get(name, {}).get(each), rule=False) for each in SIX]
        yield f"| `{name}` | {what} | " + " | ".join(cells) + " |\n"
    yield "\n"


def _readme_table(figures: dict[str, Any]) -> Iterator[str]:
    """Papers' methods at their default and classics at their best, the best first."""
    yield from _header("method", SIX)
    others = [*PAPERS, *(best_of(base, figures) for base in CLASSICS)]
    ranked = sorted(others, key=lambda name: -_mean(figures.get(name, {})))
    for name in ["own-text", *ranked]:
        measured = figures.get(name, {})
        values = [f"{measured[each]['f1']:.3f}" if each in measured else "" for each in SIX]
        label = spoken(name)
        if name == "own-text":
            label, values = "**own-text** (default)", [f"**{value}**" for value in values]
        yield f"| {label} | " + " | ".join(values) + " |\n"


def spoken(name: str, *, view: bool = False) -> str:
    """A contender in words: `minhash, as printed, view own`."""
    contender = Contender.named(name)
    parts = [contender.method]
    if contender.preset == "paper":
        parts.append("as printed")
    made = make_method(contender.method, preset=contender.preset, view=contender.view)
    if view or contender.view:
        parts.append(f"view {made.view}")
    return ", ".join(parts)


def cell(measured: dict[str, Any] | None, *, rule: bool = True) -> str:
    """F1, precision and recall; and of the rule's own pairs, where they differ."""
    if measured is None:
        return ""
    three = measured["f1"], measured["precision"], measured["recall"]
    text = "**{:.3f}** ({:.3f} / {:.3f})".format(*three)
    pairs = measured["rule_pairs"]
    if rule and pairs and abs(pairs["f1"] - measured["f1"]) >= LEAST:
        three = pairs["f1"], pairs["precision"], pairs["recall"]
        text += "; pairs {:.3f} ({:.3f} / {:.3f})".format(*three)
    return text


if __name__ == "__main__":
    main()
