"""Choosing thresholds by counts."""

from __future__ import annotations

import numpy as np
import pytest

from neardup.config import OptionInfo
from neardup.errors import UsageError
from neardup.evaluation.metrics import Counts
from neardup.evaluation.tuning import THRESHOLDS, choose, threshold_options, values_to_try
from neardup.methods.registry import BUILT_IN


def setting(units: int, recall: float, false: float, seed: int = 0) -> Counts:
    """A setting that finds a share of the pairs and says a share of false ones."""
    random = np.random.default_rng(seed)
    found = (random.random(units) < recall).astype(float)
    return np.column_stack([found, found + (random.random(units) < false), np.ones(units)])


def test_the_best_f1_wins_or_the_best_recall_at_a_precision() -> None:
    tried = [setting(500, 0.5, 0.0), setting(500, 0.8, 0.02), setting(500, 0.99, 0.1)]
    assert choose(tried, None).setting == 2
    assert choose(tried, 0.95).setting == 1
    assert choose(tried, 0.9999).setting == 0
    assert choose(tried, 0.95).meets_precision


def test_a_precision_out_of_reach_is_told() -> None:
    choice = choose([setting(200, 0.5, 0.3), setting(200, 0.9, 0.5)], 0.99)
    assert not choice.meets_precision
    assert choice.setting == 1  # 0.9 of 1.4 said; the other 0.5 of 0.8


def test_settings_that_are_far_apart_make_a_sure_choice_and_near_ones_do_not() -> None:
    sure = choose([setting(400, 0.2, 0.0), setting(400, 0.9, 0.0)], None)
    assert sure.agreement == 1.0
    unsure = choose([setting(400, 0.80, 0.05, seed) for seed in range(6)], None)
    assert unsure.agreement < 0.9
    assert set(unsure.chosen_again.tolist()) <= set(range(6))


def test_a_choice_is_measured_on_labels_it_has_not_seen() -> None:
    # many settings of the same worth: the best of them is luck, and luck does not hold
    tried = [setting(60, 0.5, 0.0, seed) for seed in range(40)]
    choice = choose(tried, None)
    assert float(str(choice.held_out["recall"])) < float(str(choice.scores["recall"]))
    low, high = choice.held_out_intervals["recall"]
    assert low < float(str(choice.held_out["recall"])) < high


def test_of_equals_the_first_is_chosen() -> None:
    same = setting(20, 0.9, 0)
    assert choose([setting(20, 0.5, 0), same, same], None).setting == 1
    assert choose([setting(20, 0.5, 0), same, same], 0.5).setting == 1


@pytest.mark.parametrize("method", [name for name in BUILT_IN if THRESHOLDS.get(name, ("?",))])
def test_every_method_has_thresholds_that_exist(method: str) -> None:
    for info in threshold_options(method):
        values = values_to_try(info)
        assert len(values) > 3
        assert float(str(info.default)) in values


def test_a_method_without_a_threshold_is_told() -> None:
    with pytest.raises(UsageError, match="exact has no threshold to tune"):
        threshold_options("exact")


def test_values_stay_within_the_range() -> None:
    whole = OptionInfo("k", "int", 1, "", minimum=0, maximum=4)
    assert values_to_try(whole) == [0, 1, 2, 3, 4]
    share = OptionInfo("t", "float", 0.33, "", minimum=0.3, maximum=0.5)
    assert values_to_try(share) == [0.3, 0.33, 0.4, 0.5]
    free = OptionInfo("close", "float", 16.0, "", minimum=0.001)
    assert values_to_try(free) == [4, 8, 12, 16, 24, 32, 48, 64]
