"""F1 of own-text when each of its constants is moved, on the sets of `bench.results`.

    python -m bench.sensitivity [--data DIR] [--ablations]

A constant moves up and down by a fifth of its distance to the nearer bound: 0 or 1 for shares (even
if the option's range is smaller), 0 for those without an upper bound; integers move by at least 1.
With --ablations, each part that an option can switch off is switched off instead (decision 0005).
Pages are read and parsed once; the rest runs in memory, in the pipeline of a run.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from bench.documents import DATA
from bench.results import EIGHT, set_folder
from neardup.config import build_options, describe_options
from neardup.evaluation.metrics import score
from neardup.evaluation.sets import ClusterTruth, read_set
from neardup.local.corpus import Corpus, with_derived
from neardup.local.pipeline import judge, settle
from neardup.local.run import DEFAULT_MEMORY, Silent, Stages, default_workers
from neardup.local.work import Run
from neardup.methods.own_text.method import OwnText
from neardup.methods.own_text.verdict import OwnTextOptions
from neardup.pages.readers import read
from neardup.rules.keeping import DEFAULT_POLICY
from neardup.text.parse import parse

REQUIRED = 0.96
STEP = 0.2
# Values that switch a part off, or make it so strong that the rule is another one.
ABLATIONS = [
    ("furniture", 1_000_000),  # host only, no furniture sites
    ("few_pages", 1_000_000),  # furniture sites for hosts of any size
    ("power", 60),  # hard removal
    ("power", 1),
    ("own_share", 0),  # no own level
    ("outside", 1),  # no main segment, comments in full
    ("link", 1),  # links and menus in full
    ("link", 0),
    ("short", 0),  # short lines in full
    ("faint", 0),
    ("sentences", 0),
    ("same_host", 0),
    ("min_units", 0),
]


@dataclass(frozen=True)
class ParsedSet:
    """The pages of a set, and their labels."""

    truth: ClusterTruth
    corpus: Corpus


@dataclass(frozen=True)
class Outcome:
    """The quality of a setting on a set."""

    f1: float
    excerpts: int  # reported as contained in their article
    all_excerpts: int


def main(data: Path, *, ablations: bool) -> None:
    """Measure, and print the table and the lowest F1."""
    with tempfile.TemporaryDirectory() as scratch:
        sets = {name: parse_set(set_folder(name, data, Path(scratch))) for name in EIGHT}
    print("| constant | value | " + " | ".join(EIGHT) + " | lowest | excerpts |")
    print("|---" * (len(EIGHT) + 4) + "|", flush=True)
    lowest: dict[str, float] = {}
    for name, value in [("", 0.0), *(ABLATIONS if ablations else moved_settings())]:
        method = OwnText(build_options(OwnTextOptions, {name: value} if name else {}, owner=name))
        outcomes = [measure(each, method) for each in sets.values()]
        lowest[f"{name} = {value:g}" if name else "default"] = min(each.f1 for each in outcomes)
        print(_row(name, value, outcomes), flush=True)
    worst = min(lowest, key=lambda setting: lowest[setting])
    print(f"\nLowest F1: {lowest[worst]:.4f}, at {worst}; required: {REQUIRED}")


def _row(name: str, value: float, outcomes: list[Outcome]) -> str:
    excerpts = sum(each.excerpts for each in outcomes)
    cells = [f"`{name}`" if name else "default", f"{value:g}" if name else ""]
    cells += [f"{each.f1:.4f}" for each in outcomes]
    cells += [f"{min(each.f1 for each in outcomes):.4f}"]
    cells += [f"{excerpts} of {sum(each.all_excerpts for each in outcomes)}"]
    return f"| {' | '.join(cells)} |"


def moved_settings() -> Iterator[tuple[str, float]]:
    """Each constant a step below and a step above its default."""
    for info in describe_options(OwnTextOptions):
        default = float(str(info.default))
        distance = default if info.maximum is None else min(default, info.maximum - default)
        step = max(round(STEP * distance), 1) if info.type == "int" else STEP * distance
        for value in (round(default - step, 6), round(default + step, 6)):
            yield info.name, int(value) if info.type == "int" else value


def parse_set(folder: Path) -> ParsedSet:
    """A labelled set, read and parsed."""
    labelled = read_set(folder)
    assert isinstance(labelled.truth, ClusterTruth)
    parsed = [with_derived(parse(batch.pages)) for batch in read([str(labelled.pages)])]
    return ParsedSet(labelled.truth, Corpus.from_pages(*parsed))


def measure(labelled: ParsedSet, method: OwnText) -> Outcome:
    """The whole method on a set, in memory."""
    run = Run(None, DEFAULT_MEMORY, default_workers(), Stages(Silent()))
    judged = judge(labelled.corpus, method, run, evidence=False)
    labels = settle(judged, run, keep=DEFAULT_POLICY).labels
    ids = labelled.corpus.ids.to_pylist()
    clusters = dict(zip(ids, map(str, labels.tolist()), strict=True))
    verdicts = zip(judged.left, judged.right, judged.relations, strict=True)
    contained = {
        (ids[a], ids[b]) if relation == "contained" else (ids[b], ids[a])
        for a, b, relation in verdicts
        if relation in ("contained", "contains")
    }
    excerpts = _excerpts(labelled.truth, contained)
    return Outcome(score(labelled.truth, clusters)["f1"], sum(excerpts), len(excerpts))


def _excerpts(truth: ClusterTruth, contained: set[tuple[str, str]]) -> list[bool]:
    """For each excerpt, whether it is reported as contained in the original of its article."""
    originals = {
        truth.articles[page]: page for page, kind in truth.kinds.items() if kind == "original"
    }
    return [
        (page, originals[truth.articles[page]]) in contained
        for page, kind in truth.kinds.items()
        if kind == "excerpt" and truth.articles[page] in originals
    ]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--ablations", action="store_true")
    arguments = parser.parse_args()
    main(arguments.data, ablations=arguments.ablations)
