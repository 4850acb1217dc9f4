"""Which options of a method are thresholds, and which values are worth trying."""

from __future__ import annotations

from collections.abc import Mapping

from neardup.config import OptionInfo, describe_options
from neardup.errors import UsageError
from neardup.methods.base import method_class

# The options that move a method's verdict between strict and lenient, the most telling first. A
# method that is not here is asked for numbers whose name speaks of a threshold.
THRESHOLDS: Mapping[str, tuple[str, ...]] = {
    "own-text": ("near", "same_host"),
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
    "i-match": (),  # words are in the lexicon or not; equal is equal
    "exact": (),
}
_SHARES = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95, 1.0)
_FACTORS = (0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 4.0)
_STEPS = range(-3, 6)


def threshold_options(method: str) -> list[OptionInfo]:
    """The options to tune, or an error that says there is none."""
    infos = {info.name: info for info in describe_options(method_class(method).Options)}
    if method in THRESHOLDS:
        found = [infos[name] for name in THRESHOLDS[method]]
    else:
        numbers = [info for info in infos.values() if info.type in ("int", "float")]
        found = [info for info in numbers if "threshold" in info.name]
    if not found:
        raise UsageError(f"{method} has no threshold to tune: its verdict is yes or no")
    return found


def values_to_try(info: OptionInfo) -> list[float]:
    """Values around the default within the option's range, in order, the default among them."""
    default = float(info.default)  # type: ignore[arg-type] # numbers only
    if info.type == "int":
        tried = [default + step for step in _STEPS]
    elif info.maximum is not None and info.maximum <= 1:
        tried = [*_SHARES, default]
    else:
        tried = [default * factor for factor in _FACTORS]
    low = -float("inf") if info.minimum is None else info.minimum
    high = float("inf") if info.maximum is None else info.maximum
    return sorted({value for value in tried if low <= value <= high})
