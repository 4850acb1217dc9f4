"""A method's thresholds chosen on labels: `tune` reads as the procedure."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from neardup.engines.local import dedup
from neardup.engines.output import writing
from neardup.engines.progress import Progress, Silent
from neardup.errors import UsageError
from neardup.evaluate.choosing import HANDFUL, Choice, choose
from neardup.evaluate.counts import Counts, count
from neardup.evaluate.evaluation import clusters_of
from neardup.evaluate.metrics import pairwise
from neardup.evaluate.thresholds import threshold_options, values_to_try
from neardup.evaluate.truth import LabelledSet, PairTruth, read_set

Setting = Mapping[str, float]


@dataclass(frozen=True)
class Tuned:
    """The options chosen for a method, and all that was tried."""

    method: str
    options: Setting
    choice: Choice
    tried: tuple[tuple[Setting, dict[str, object]], ...]  # each with its scores
    ranges: Mapping[str, tuple[float, float]]  # where 95 % of the redraws choose each option
    defaults: Setting
    default_scores: dict[str, object]
    labelled_different: int | None  # pairs; None when the truth is clusters


def tune(
    folder: str | Path,
    method: str,
    *,
    precision: float | None = None,
    duplicate_from: float | None = None,
    workers: int | None = None,
    progress: Progress | None = None,
) -> Tuned:
    """Choose the thresholds of a method on a labelled set.

    One option after another, every value is tried by a run of the method as it would be used, and
    the best kept; the final choice is among all settings tried. Of settings that score the same,
    the one nearest to the defaults: labels that do not tell them apart are no reason to move.
    """
    if precision is not None and not 0 < precision <= 1:
        raise UsageError(f"--precision is above 0 and at most 1, not {precision}")
    infos = threshold_options(method)
    labelled = read_set(folder, duplicate_from)
    _check_labels(labelled)
    grids = {info.name: values_to_try(info) for info in infos}
    told = progress or Silent()
    told.stage("tune", total=sum(len(values) for values in grids.values()) - len(grids) + 1)
    defaults = {info.name: float(info.default) for info in infos}  # type: ignore[arg-type]
    tried = _Tried(labelled, method, workers, told, lambda each: _steps(each, defaults, grids))
    best = dict(defaults)
    for name, values in grids.items():
        for value in values:
            tried.run({**best, name: value})
        settings, counts = tried.listed()
        best = dict(settings[choose(counts, precision).setting])
    settings, counts = tried.listed()
    choice = choose(counts, precision)
    return Tuned(
        method,
        settings[choice.setting],
        choice,
        tuple((setting, pairwise(each)) for setting, each in zip(settings, counts, strict=True)),
        _ranges(settings, choice),
        defaults,
        pairwise(tried.run(defaults)),
        truth.labels.count(False) if isinstance(truth := labelled.truth, PairTruth) else None,
    )


def _steps(setting: Setting, defaults: Setting, grids: Mapping[str, list[float]]) -> int:
    """How far a setting is from the defaults, in values tried."""
    return sum(
        abs(values.index(setting[name]) - values.index(defaults[name]))
        for name, values in grids.items()
    )


def _check_labels(labelled: LabelledSet) -> None:
    true = count(labelled.truth, {}).true.sum()
    if not true:
        raise UsageError(f"{labelled.name} has no duplicates among its labels: nothing to tune on")


class _Tried:
    """Settings already run, with their counts."""

    def __init__(
        self,
        labelled: LabelledSet,
        method: str,
        workers: int | None,
        progress: Progress,
        distance: Callable[[Setting], int],
    ) -> None:
        self._labelled, self._method = labelled, method
        self._workers, self._progress, self._distance = workers, progress, distance
        self._counts: dict[tuple[tuple[str, float], ...], Counts] = {}

    def run(self, setting: Setting) -> Counts:
        """The counts of a setting; run once."""
        key = tuple(sorted(setting.items()))
        if key not in self._counts:
            with tempfile.TemporaryDirectory(prefix="neardup-tune-") as place:
                result = dedup(
                    str(self._labelled.pages),
                    Path(place) / "result",
                    method=self._method,
                    options=setting,
                    workers=self._workers,
                )
                self._counts[key] = count(self._labelled.truth, clusters_of(result))
            self._progress.advance(1)
        return self._counts[key]

    def listed(self) -> tuple[list[Setting], list[Counts]]:
        """Settings and counts, those nearest to the defaults first."""
        listed = [(dict(key), counts) for key, counts in self._counts.items()]
        listed.sort(key=lambda each: self._distance(each[0]))
        return [setting for setting, _ in listed], [counts for _, counts in listed]


def _ranges(settings: list[Setting], choice: Choice) -> dict[str, tuple[float, float]]:
    ranges = {}
    for name in settings[0]:
        values = np.array([setting[name] for setting in settings])[choice.chosen_again]
        low, high = np.percentile(values, [2.5, 97.5], method="nearest")
        ranges[name] = (float(low), float(high))
    return ranges


def describe(tuned: Tuned) -> list[str]:
    """What was chosen and how sure it is, in lines for people."""
    choice = tuned.choice
    lines = [
        f"{name} = {_number(value)}, from {_number(tuned.ranges[name][0])} to "
        f"{_number(tuned.ranges[name][1])} when the labels are drawn again"
        for name, value in tuned.options.items()
    ]
    lines.append(
        f"{choice.agreement:.0%} of {choice.chosen_again.size:,} redraws choose exactly this"
    )
    lines.append(f"on these labels: {_scores(choice.scores)}; default: {_default(tuned)}")
    held = choice.held_out_intervals
    lines.append(
        f"on labels held out: {_scores(choice.held_out)}; 95 % intervals: "
        + ", ".join(f"{name} {low:.3f} to {high:.3f}" for name, (low, high) in held.items())
    )
    for number, what in ((choice.true_pairs, "duplicates"), (tuned.labelled_different, "others")):
        if number is not None and number < HANDFUL:
            lines.append(
                f"only {number} {'pair' if number == 1 else 'pairs'} of {what} labelled: that is a "
                "handful, so take this choice as a guess"
            )
    if not choice.meets_precision:
        lines.append("no setting tried reaches the precision asked for: this comes nearest")
    return lines


def _default(tuned: Tuned) -> str:
    options = ", ".join(f"{name} = {_number(value)}" for name, value in tuned.defaults.items())
    return f"{_scores(tuned.default_scores)} ({options})"


def _scores(scores: Mapping[str, object]) -> str:
    return ", ".join(f"{name} {scores[name]:.3f}" for name in ("precision", "recall", "f1"))


def write_config(tuned: Tuned, path: Path) -> None:
    """A TOML file for `neardup dedup --config`; how sure it is stands in its comments."""
    comments = "".join(f"# {line}\n" for line in describe(tuned))
    options = "".join(f"{name} = {_number(value)}\n" for name, value in tuned.options.items())
    text = f'{comments}method = "{tuned.method}"\n\n[options]\n{options}'
    with writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def _number(value: float) -> str:
    """Without a needless .0: an option of type int takes no other."""
    return str(int(value)) if value == int(value) else f"{value:g}"
