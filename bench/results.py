"""Measure every method on the six labelled sets, for docs/methods/results.md and the README.

    make results                              measure everything again
    make results ONLY=own-text                measure one method again
    python -m bench.results --resume          measure what an interrupted run has not

bench/results.json holds the figures and is written after each run; the pages are made from it.

In the first four sets, duplicates are on different hosts. So the versions sets are measured once
more with all releases of a manual on one host, distinguished by a query, as on a real site.
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

from bench.documents import DATA
from neardup.api import dedup
from neardup.evaluation.metrics import score, score_rule
from neardup.evaluation.runs import Contender, clusters_of
from neardup.evaluation.sets import read_set
from neardup.methods.registry import BUILT_IN, make_method, method_class

TOP = Path(__file__).parents[1]
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
LEAST = 0.01  # the smallest difference in F1 that is shown

# One change at a time: back to an earlier reading of the paper, or to an alternative it names.
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
    "news-clusters:view=main": "with the text that sites repeat",
    "news-clusters:paper": "as printed",
    "news-clusters:paper:view=main": "as printed, with the text that sites repeat",
    "word-table": "the default",
    "word-table:view=whole": "whole pages",
    "word-table:minimum_share=0": "without the guard",
    "word-table:bound=average": "below the average SM",
    "word-table:paper": "as printed",
    "word-table:paper:joining=components": "as printed, chained",
    "word-table:paper:bound=average": "as printed, below the average SM",
    "feature-code": "the default",
    "feature-code:counting=characters": "rule 3 counts characters",
    "feature-code:view=main": "with the text that sites repeat",
    "feature-code:paper": "as printed",
    "feature-code:paper:index=exact": "as printed, with the exact index",
    "feature-code:paper:counting=characters": "as printed, rule 3 counts characters",
    "feature-code:paper:view=main": "as printed, with the text that sites repeat",
}

HEAD = """# Results

Precision, recall and F1 over pairs of pages, as `neardup evaluate` computes them, on six labelled
sets in English and Chinese: reprints (articles republished inside other real page templates),
versions (documentation pages in several releases) and copies (the reprints, each with changed
copies on its own host). Reprints and versions are on different hosts; the versions are measured
again with all releases of a manual on one host. Written by `make results` from
`bench/results.json`.

Each cell shows F1 (precision / recall) after clustering. Where F1 differs by 0.01 or more, it also
shows the figures of the pairs that the method's own rule joins, before clustering. *As printed*
means `--preset paper`.

"""
ROWS_TEXT = """## Every method

Each method at its defaults and as its paper prints it; for a classic method also with the setting
and view that are best on average over the first four sets, if they are neither of the two. Seconds
are those of all stages in one process, with kernels compiled, summed over the six sets.

"""
VIEWS_TEXT = """## Which text of a page counts

F1 of each method on whole pages, on their main text, and on their own text (without the text that
the site repeats). The best setting of a method is bold. Other settings were not measured.

"""
EFFECTS_TEXT = """## One change at a time

The effect of each reading of a paper and of each guard alone: F1 (precision / recall). Cells are
empty where word-table without its guard or below the average SM would join millions of pairs.

"""


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure every method on the labelled sets.")
    parser.add_argument("--only", default="", help="methods to measure, comma-separated [all]")
    parser.add_argument("--resume", action="store_true", help="measure only what is missing")
    parser.add_argument("--data", type=Path, default=DATA, help="the labelled sets")
    arguments = parser.parse_args()
    figures = json.loads(FIGURES.read_text("utf-8"))
    only = [name for name in arguments.only.split(",") if name]
    runs = [(name, each) for name, each in all_runs() if not only or _method(name) in only]
    if arguments.resume:
        runs = [(name, each) for name, each in runs if each not in figures.get(name, {})]
    measure_all(runs, arguments.data, figures)
    write_pages(figures)


def all_runs() -> list[tuple[str, str]]:
    """The contender and the set of every run; those of the main table come first."""
    runs = [(name, each) for each in EIGHT for name in rows_of_methods()]
    runs += [(name, each) for each in SIX for name in EFFECTS if each in FOUR or affordable(name)]
    runs += [(name, each) for each in SIX for base in BUILT_IN for name in settings_of(base)]
    return list(dict.fromkeys(runs))


def affordable(name: str) -> bool:
    """Whether a setting is measured on the larger sets, where word-table without its guard joins
    half of all pairs, some millions."""
    loose = ("word-table:paper:", "word-table:minimum_share=0", "word-table:bound=average")
    return not name.startswith(loose)


def rows_of_methods() -> list[str]:
    """Every method at its default, and as printed."""
    printed = [f"{name}:paper" for name in BUILT_IN if method_class(name).paper_preset]
    return [*BUILT_IN, *printed]


def settings_of(base: str) -> list[str]:
    """A method on every view, at its default and as printed. The five papers' methods only at their
    default, because their presets define the text. own-text has one view."""
    if base == "own-text":
        return [base]
    presets = [base]
    if base in CLASSICS and method_class(base).paper_preset:
        presets.append(f"{base}:paper")
    return [_short(f"{preset}:view={view}") for preset in presets for view in VIEWS]


def _short(name: str) -> str:
    """The name without a view that is the setting's default."""
    preset, _, view = name.rpartition(":view=")
    contender = Contender.named(preset)
    return preset if make_method(contender.method, preset=contender.preset).view == view else name


def _method(name: str) -> str:
    return name.partition(":")[0]


def measure_all(runs: Sequence[tuple[str, str]], data: Path, figures: dict[str, Any]) -> None:
    """Measure, and write the figures after each run."""
    with tempfile.TemporaryDirectory() as folder:
        for number, (name, each) in enumerate(runs):
            labelled = set_folder(each, data, Path(folder))
            figures.setdefault(name, {})[each] = measure(name, labelled, Path(folder) / "result")
            text = json.dumps(figures, indent=1, sort_keys=True)
            FIGURES.write_text(text + "\n", encoding="utf-8")
            print(f"{number + 1} of {len(runs)}: {name} on {each}", flush=True)


def set_folder(name: str, data: Path, scratch: Path) -> Path:
    """The directory of a set; those with all releases on one host are made first."""
    source = {moved: each for each, moved in ON_ONE_HOST.items()}.get(name)
    if source is None:
        return data / name
    if not (scratch / name).exists():
        on_one_host(data / source, scratch / name)
    return scratch / name


def on_one_host(source: Path, folder: Path) -> None:
    """Copy a versions set, turning the first part of each host, the release, into a query."""
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
    figures = ("f1", "precision", "recall", "recall_by_kind", "by_page")
    return {
        **{figure: scores[figure] for figure in figures},
        "rule_pairs": score_rule(result, labelled.truth),
        "seconds": round(sum(result.summary["run"]["seconds"].values()), 2),
    }


def write_pages(figures: dict[str, Any]) -> None:
    """Write docs/methods/results.md and the table in the README."""
    parts = [HEAD, ROWS_TEXT, *_main_table(figures), VIEWS_TEXT, *_views_table(figures)]
    parts += [EFFECTS_TEXT, *_effects_table(figures)]
    PAGE.write_text("".join(parts).rstrip("\n") + "\n", encoding="utf-8")
    before, rest = README.read_text("utf-8").split(MARKS[0])
    after = rest.split(MARKS[1])[1]
    table = "".join(_readme_table(figures))
    README.write_text(f"{before}{MARKS[0]}{table}{MARKS[1]}{after}", encoding="utf-8")


def _row(*cells: str) -> str:
    return "| " + " | ".join(cells) + " |\n"


def _header(*columns: str) -> str:
    return _row(*columns) + "|---" * len(columns) + "|\n"


def _f1_cells(scores: dict[str, Any]) -> list[str]:
    return [f"{scores[each]['f1']:.3f}" if each in scores else "" for each in SIX]


def _main_table(figures: dict[str, Any]) -> Iterator[str]:
    yield _header("method", *EIGHT, "seconds")
    for name in shown_settings(figures):
        scores = figures.get(name, {})
        seconds = sum(scores[each]["seconds"] for each in SIX if each in scores)
        cells = [cell(scores.get(each)) for each in EIGHT]
        yield _row(in_words(name), *cells, f"{seconds:.1f}")
    yield "\n"


def shown_settings(figures: dict[str, Any]) -> list[str]:
    """Every method at its default and as printed, and a classic's best setting if it is neither."""
    names = rows_of_methods()
    return names + [best for base in CLASSICS if (best := best_of(base, figures)) not in names]


def best_of(base: str, figures: dict[str, Any]) -> str:
    """The setting of a method with the best F1 on average over the first four sets."""
    settings = dict.fromkeys([base, *settings_of(base), f"{base}:paper"])
    return max(settings, key=lambda name: _mean(figures.get(name, {})))


def _mean(scores: dict[str, Any]) -> float:
    return fmean(scores[each]["f1"] if each in scores else 0.0 for each in FOUR)


def _views_table(figures: dict[str, Any]) -> Iterator[str]:
    yield _header("method", *SIX)
    for base in BUILT_IN:
        best = best_of(base, figures)
        for name in settings_of(base):
            if name in figures:
                label = in_words(name, view=True)
                yield _row(f"**{label}**" if name == best else label, *_f1_cells(figures[name]))
    yield "\n"


def _effects_table(figures: dict[str, Any]) -> Iterator[str]:
    yield _header("setting", "meaning", *SIX)
    for name, meaning in EFFECTS.items():
        cells = [cell(figures.get(name, {}).get(each), rule=False) for each in SIX]
        yield _row(f"`{name}`", meaning, *cells)
    yield "\n"


def _readme_table(figures: dict[str, Any]) -> Iterator[str]:
    """own-text, then the papers' methods at their defaults and the classics at their best."""
    yield _header("method", *SIX)
    own = [f"**{value}**" for value in _f1_cells(figures["own-text"])]
    yield _row("**own-text** (default)", *own)
    others = [*PAPERS, *(best_of(base, figures) for base in CLASSICS)]
    for name in sorted(others, key=lambda name: -_mean(figures.get(name, {}))):
        yield _row(in_words(name), *_f1_cells(figures.get(name, {})))


def in_words(name: str, *, view: bool = False) -> str:
    """A contender in words: `minhash, as printed, view own`."""
    contender = Contender.named(name)
    parts = [contender.method]
    if contender.preset == "paper":
        parts.append("as printed")
    made = make_method(contender.method, preset=contender.preset, view=contender.view)
    if view or contender.view:
        parts.append(f"view {made.view}")
    return ", ".join(parts)


def cell(scores: dict[str, Any] | None, *, rule: bool = True) -> str:
    """F1, precision and recall after clustering; and before it, where F1 differs."""
    if scores is None:
        return ""
    text = "**{f1:.3f}** ({precision:.3f} / {recall:.3f})".format(**scores)
    pairs = scores["rule_pairs"]
    if rule and pairs and abs(pairs["f1"] - scores["f1"]) >= LEAST:
        text += "; pairs {f1:.3f} ({precision:.3f} / {recall:.3f})".format(**pairs)
    return text


if __name__ == "__main__":
    main()
