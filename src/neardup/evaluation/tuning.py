"""`tune`: choose a method's thresholds on labels, and report how certain the choice is.

Each setting has its pair counts by unit (see `metrics`). Cross-validation measures the choice on
units it has not seen; bootstrap samples show how much it depends on these labels.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from neardup.api import dedup
from neardup.arrays import Floats, Numbers
from neardup.config import OptionInfo, describe_options
from neardup.errors import UsageError
from neardup.evaluation.metrics import RATES, Counts, count, intervals, pairwise, rates, redraw
from neardup.evaluation.runs import clusters_of
from neardup.evaluation.sets import LabelledSet, PairTruth, check_labels, read_set
from neardup.local.result import writing
from neardup.local.run import Progress, Silent
from neardup.methods.registry import method_class

# The options that make a method stricter or more lenient, the strongest first. For a method not
# listed here: its numeric options with "threshold" in their name.
THRESHOLDS: Mapping[str, tuple[str, ...]] = {
    "own-text": ("threshold", "same_host"),
    "edit-distance": ("beta", "alpha"),
    "two-phase": ("bits", "score"),
    "news-clusters": ("k", "x"),
    "word-table": ("close", "minimum_share"),
    "feature-code": ("large", "auxiliary"),
    "simhash": ("k",),
    "minhash": ("threshold",),
    "supershingle": ("common",),
    "spotsigs": ("tau",),
    "chunk-hash": ("threshold",),
    "i-match": (),  # hashes are equal or not
    "exact": (),
}
_SHARES = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95, 1.0)
_FACTORS = (0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 4.0)
_STEPS = range(-3, 6)


def threshold_options(method: str) -> list[OptionInfo]:
    """The options to tune; an error if there are none."""
    infos = {info.name: info for info in describe_options(method_class(method).Options)}
    if method in THRESHOLDS:
        options = [infos[name] for name in THRESHOLDS[method]]
    else:
        numbers = [info for info in infos.values() if info.type in ("int", "float")]
        options = [info for info in numbers if "threshold" in info.name]
    if not options:
        raise UsageError(f"{method} has no threshold to tune: its verdict is yes or no")
    return options


def values_to_try(info: OptionInfo) -> list[float]:
    """Values around the default within the option's range, in order, including the default."""
    default = float(info.default)  # type: ignore[arg-type] # numbers only
    if info.type == "int":
        values = [default + step for step in _STEPS]
    elif info.maximum is not None and info.maximum <= 1:
        values = [*_SHARES, default]
    else:
        values = [default * factor for factor in _FACTORS]
    low = -float("inf") if info.minimum is None else info.minimum
    high = float("inf") if info.maximum is None else info.maximum
    return sorted({value for value in values if low <= value <= high})


FOLDS = 5
HANDFUL = 50  # with fewer labelled pairs of a kind a choice is a guess

Table = Floats  # settings x units x (correct, joined, true)


@dataclass(frozen=True)
class Choice:
    """The setting chosen, and how certain the choice is."""

    setting: int
    scores: dict[str, object]  # on all labels
    held_out: dict[str, object]  # chosen on four fifths, measured on the rest
    held_out_intervals: dict[str, list[float]]
    chosen_again: Numbers  # the settings chosen on bootstrap samples
    true_pairs: int
    meets_precision: bool

    @property
    def agreement(self) -> float:
        """Share of bootstrap samples with the same choice."""
        return float(np.mean(self.chosen_again == self.setting))


def choose(settings: Sequence[Counts], precision: float | None) -> Choice:
    """The setting with the best F1; with `precision`, the best recall at that precision.

    Ties go to the first, so list settings in order of preference.
    """
    table = np.stack(settings)
    best = int(_best(table.sum(axis=1), precision))
    held_out = _held_out(table, precision)
    samples = redraw(table.transpose(1, 0, 2).reshape(table.shape[1], -1))
    sums = settings[best].sum(axis=0)
    return Choice(
        best,
        pairwise(settings[best]),
        pairwise(held_out),
        intervals(held_out),
        _best(samples.reshape(-1, len(settings), 3), precision),
        round(sums[2]),
        precision is None or bool(rates(*sums)[0] >= precision),
    )


def _best(sums: Table, precision: float | None) -> Numbers:
    """The best setting, of one table of sums (settings x counts) or of several.

    If no setting reaches the precision: the most precise one that finds anything.
    """
    reached, recall, f1 = rates(sums[..., 0], sums[..., 1], sums[..., 2])
    if precision is None:
        value = f1
    else:
        fallback = np.where(sums[..., 0] > 0, reached, 0)
        value = np.where(reached >= precision, 1 + recall, fallback)
    tie = reached * 1e-9  # ties go to the more precise setting, then to the first
    best: Numbers = np.argmax(value + tie, axis=-1)
    return best


def _held_out(table: Table, precision: float | None) -> Counts:
    """The counts of each unit under the setting chosen on the other folds."""
    units = table.shape[1]
    fold = np.random.default_rng(0).permutation(units) % min(FOLDS, units)
    counts = np.empty((units, 3))
    for number in range(int(fold.max(initial=0)) + 1):
        out = fold == number
        counts[out] = table[int(_best(table[:, ~out].sum(axis=1), precision)), out]
    return counts


Setting = Mapping[str, float]


@dataclass(frozen=True)
class Tuned:
    """The options chosen for a method, and how they compare with the defaults."""

    method: str
    options: Setting
    choice: Choice
    ranges: Mapping[str, tuple[float, float]]  # 95 % of the bootstrap choices
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

    Options are tuned one after another, each value with a full run. The final choice is among all
    settings tried; ties go to the setting nearest to the defaults, since labels that cannot
    distinguish settings are no reason to change them.
    """
    if precision is not None and not 0 < precision <= 1:
        raise UsageError(f"--precision must be above 0 and at most 1, not {precision}")
    infos = threshold_options(method)
    labelled = read_set(folder, duplicate_from)
    if not count(labelled.truth, {})[:, 2].any():  # true pairs
        raise UsageError(f"{labelled.name} has no duplicates among its labels")
    grids = {info.name: values_to_try(info) for info in infos}
    progress = progress or Silent()
    progress.stage("tune", total=sum(len(values) for values in grids.values()) - len(grids) + 1)
    defaults = {info.name: float(info.default) for info in infos}  # type: ignore[arg-type]
    tried: list[tuple[Setting, Counts]] = []
    best = defaults
    for name, values in grids.items():
        for value in values:
            setting = {**best, name: value}
            if all(setting != other for other, _ in tried):
                tried.append((setting, _run(labelled, method, setting, workers)))
                progress.advance(1)
        tried.sort(key=lambda each: _steps_from(defaults, each[0], grids))
        choice = choose([counts for _, counts in tried], precision)
        best = dict(tried[choice.setting][0])
    return Tuned(
        method,
        best,
        choice,
        _ranges([setting for setting, _ in tried], choice),
        defaults,
        next(pairwise(counts) for setting, counts in tried if setting == defaults),
        truth.labels.count(False) if isinstance(truth := labelled.truth, PairTruth) else None,
    )


def _run(labelled: LabelledSet, method: str, setting: Setting, workers: int | None) -> Counts:
    with tempfile.TemporaryDirectory(prefix="neardup-tune-") as folder:
        result = dedup(
            str(labelled.pages),
            Path(folder) / "result",
            method=method,
            options=setting,
            workers=workers,
            report=False,
        )
        clusters = clusters_of(result)
    check_labels(labelled, clusters)
    return count(labelled.truth, clusters)


def _steps_from(defaults: Setting, setting: Setting, grids: Mapping[str, list[float]]) -> int:
    """The distance of a setting from the defaults, in grid steps."""
    return sum(
        abs(values.index(setting[name]) - values.index(defaults[name]))
        for name, values in grids.items()
    )


def _ranges(settings: list[Setting], choice: Choice) -> dict[str, tuple[float, float]]:
    ranges = {}
    for name in settings[0]:
        values = np.array([setting[name] for setting in settings])[choice.chosen_again]
        low, high = np.percentile(values, [2.5, 97.5], method="nearest")
        ranges[name] = (float(low), float(high))
    return ranges


def describe(tuned: Tuned) -> list[str]:
    """The choice and its certainty, as lines of text."""
    choice = tuned.choice
    defaults = ", ".join(f"{name} = {_number(value)}" for name, value in tuned.defaults.items())
    bounds = ", ".join(
        f"{name} {low:.3f} to {high:.3f}" for name, (low, high) in choice.held_out_intervals.items()
    )
    lines = [
        f"{name} = {_number(value)}, from {_number(tuned.ranges[name][0])} to "
        f"{_number(tuned.ranges[name][1])} on bootstrap samples of the labels"
        for name, value in tuned.options.items()
    ] + [
        f"{choice.agreement:.0%} of {choice.chosen_again.size:,} samples choose exactly this",
        f"on these labels: {_scores(choice.scores)}; "
        f"default: {_scores(tuned.default_scores)} ({defaults})",
        f"on held-out labels: {_scores(choice.held_out)}; 95 % intervals: {bounds}",
    ]
    for number, what in ((choice.true_pairs, "duplicate"), (tuned.labelled_different, "different")):
        if number is not None and number < HANDFUL:
            lines.append(
                f"only {number} labelled {what} {'pair' if number == 1 else 'pairs'}: "
                "too few, so take this choice as a guess"
            )
    if not choice.meets_precision:
        lines.append("no setting reaches the required precision; this comes closest")
    return lines


def _scores(scores: Mapping[str, object]) -> str:
    return ", ".join(f"{name} {scores[name]:.3f}" for name in RATES)


def write_config(tuned: Tuned, path: Path) -> None:
    """Write a TOML file for `neardup dedup --config`, with the certainty in its comments."""
    comments = "".join(f"# {line}\n" for line in describe(tuned))
    options = "".join(f"{name} = {_number(value)}\n" for name, value in tuned.options.items())
    text = f'{comments}method = "{tuned.method}"\n\n[options]\n{options}'
    with writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def _number(value: float) -> str:
    """Without a trailing .0, which an option of type int would refuse."""
    return str(int(value)) if value == int(value) else f"{value:g}"
