"""own-text with each of its constants moved: F1 on the labelled sets, and on the manuals with all
releases on one host.

    python -m bench.sensitivity [--data DIR] [--ablations]

With --ablations each part that an option can switch off is off instead (decision 0005). A constant
moves either way by a fifth of its distance to the nearer bound: 0 and 1 for shares (also
where the option allows less), 0 for what has no upper bound; whole numbers move by 1 at least.
Pages are read and parsed once; what follows runs in memory, with the engine's own steps.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import numpy as np
import pyarrow as pa

from bench.results import EIGHT, set_folder
from neardup.config import OptionInfo, build_options, describe_options
from neardup.evaluation.metrics import score
from neardup.evaluation.sets import ClusterTruth, read_set
from neardup.local.candidates import candidates_in_memory
from neardup.local.features import Features, survey_batch
from neardup.methods.own_text.method import OwnText
from neardup.methods.own_text.options import OwnTextOptions
from neardup.pages import read
from neardup.rules.clusters import APART, Rows, Similarities, centred_clusters
from neardup.text.parse import parse

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
REQUIRED = 0.96
STEP = 0.2
# Options at values that switch a part off, or turn it up so far that it is another rule.
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
    """The pages of a set in the order of their ids, and the truth about them."""

    truth: ClusterTruth
    pages: pa.RecordBatch

    @property
    def ids(self) -> list[str]:
        ids: list[str] = self.pages["id"].to_pylist()
        return ids


@dataclass(frozen=True)
class Outcome:
    """How good a setting is on a set."""

    f1: float
    excerpts: int  # told to be contained in their article
    all_excerpts: int


def main(data: Path = DATA, *, ablations: bool = False) -> dict[str, object]:
    """Measure, print the table, and give the lowest F1."""
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
    print(f"\nLowest F1: {lowest[worst]:.4f}, at {worst}", flush=True)
    return {"lowest_f1": lowest[worst], "at": worst, "required": REQUIRED}


def _row(name: str, value: float, outcomes: list[Outcome]) -> str:
    excerpts = sum(each.excerpts for each in outcomes)
    cells = [f"`{name}`" if name else "default", f"{value:g}" if name else ""]
    cells += [f"{each.f1:.4f}" for each in outcomes]
    cells += [f"{min(each.f1 for each in outcomes):.4f}"]
    cells += [f"{excerpts} of {sum(each.all_excerpts for each in outcomes)}"]
    return f"| {' | '.join(cells)} |"


def moved_settings() -> Iterator[tuple[str, float]]:
    """Each constant below and above its default."""
    for info in describe_options(OwnTextOptions):
        yield from ((info.name, value) for value in moved(info))


def moved(info: OptionInfo) -> list[float]:
    """The option's value a step below and above its default."""
    default = float(str(info.default))
    distance = default if info.maximum is None else min(default, info.maximum - default)
    if info.type == "int":
        step = max(round(STEP * distance), 1)
        return [int(default) - step, int(default) + step]
    return [round(default - STEP * distance, 6), round(default + STEP * distance, 6)]


def parse_set(folder: Path) -> ParsedSet:
    """A labelled set, read and parsed."""
    labelled = read_set(folder)
    assert isinstance(labelled.truth, ClusterTruth)
    parsed = [parse(batch.pages) for batch in read([str(labelled.pages)])]
    pages = pa.concat_batches(parsed).sort_by("id")
    return ParsedSet(labelled.truth, pages)


def measure(labelled: ParsedSet, method: OwnText) -> Outcome:
    """The whole method on a set, in memory."""
    pages = labelled.pages
    batch = method.describe(pages, survey_batch(method, pages))
    features = Features.in_memory(batch)
    left, right = candidates_in_memory(method, pa.Table.from_batches([batch]))

    def judge(one: Rows, other: Rows) -> tuple[np.ndarray, Similarities]:
        verdicts = method.judge(features, one, other)
        return np.array(verdicts["relation"].to_pylist()), verdicts["similarity"].to_numpy(False)

    def joins(relations: np.ndarray) -> np.ndarray:
        return np.isin(relations, [str(each) for each in method.joins])

    def closeness(one: Rows, other: Rows) -> Similarities:
        relations, similarities = judge(one, other)
        return np.where(joins(relations), similarities, APART)

    relations, similarities = judge(left, right)
    near = joins(relations)
    labels = centred_clusters(
        method.same_host_group(batch), left[near], right[near], similarities[near], closeness
    )
    clusters = {page: str(label) for page, label in zip(labelled.ids, labels, strict=True)}
    excerpts = _excerpts(labelled, left, right, relations)
    return Outcome(score(labelled.truth, clusters)["f1"], sum(excerpts), len(excerpts))


def _excerpts(labelled: ParsedSet, left: Rows, right: Rows, relations: np.ndarray) -> list[bool]:
    """For each excerpt whether it was told to be contained in the original of its article."""
    truth, ids = labelled.truth, labelled.ids
    pairs = zip(left.tolist(), right.tolist(), relations.tolist(), strict=True)
    contained = set(
        chain.from_iterable(
            [(ids[a], ids[b])] * (said == "contained") + [(ids[b], ids[a])] * (said == "contains")
            for a, b, said in pairs
        )
    )
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
    chosen = parser.parse_args()
    main(chosen.data, ablations=chosen.ablations)
