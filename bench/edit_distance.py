"""`edit-distance` against plain dynamic programming over all pairs, and how it grows.

The feature strings are generated: lengths from 5 to 120, characters as skewed as sentence ends
are, one string in five an edited copy of an earlier one. The plain side is what the paper ran, a
table of n by m in Python; it is timed on a sample of the pairs and scaled to all of them.

Run alone: python -m bench.edit_distance
"""

from __future__ import annotations

import json
import random
import time
from pathlib import Path

import pyarrow as pa

from neardup.arrays import FeatureRows
from neardup.methods.edit_distance import EditDistance
from neardup.schemas import PAIRS

PAPER_PAGES = 998
SMALL, LARGE = 2_000, 20_000
SAMPLED_PAIRS = 1_500
RUNS = 3
CHARACTERS = [chr(0x4E00 + number) for number in range(3_000)]
WEIGHTS = [1 / (rank + 1) ** 0.8 for rank in range(len(CHARACTERS))]


def main(data: Path) -> dict[str, object]:
    """Ratios, measured in one run; `data` is not used."""
    method = EditDistance()
    find_duplicates(method, feature_table(50, seed=0))  # compiles the kernels
    paper = feature_table(PAPER_PAGES, seed=1)
    ours, pairs = best_time(method, paper)
    plain = plain_time(paper["symbols"].to_pylist())
    small, _ = best_time(method, feature_table(SMALL, seed=2))
    large, found = best_time(method, feature_table(LARGE, seed=3))
    return {
        "pages": PAPER_PAGES,
        "duplicate pairs": pairs,
        "seconds": ours,
        "plain seconds": plain,
        "plain is": f"timed on {SAMPLED_PAIRS} random pairs and scaled to all",
        "times faster than plain": plain / ours,
        "target, times faster": 200,
        f"seconds for {SMALL}": small,
        f"seconds for {LARGE}": large,
        f"duplicate pairs among {LARGE}": found,
        f"time of {LARGE} over {SMALL}": large / small,
        "target, at most": 60,
    }


def feature_table(count: int, *, seed: int) -> pa.Table:
    """Features as the method would give them, from generated strings."""
    strings = generated_strings(count, random.Random(seed))
    lengths = [len(string) for string in strings]
    hosts = [f"host{number % 97}.example" for number in range(count)]
    return pa.table([strings, lengths, hosts], schema=EditDistance().feature_schema)


def generated_strings(count: int, chance: random.Random) -> list[str]:
    strings: list[str] = []
    while len(strings) < count:
        if strings and chance.random() < 0.2:
            strings.append(edited(chance.choice(strings), chance))
        else:
            length = chance.randint(5, 120)
            strings.append("".join(chance.choices(CHARACTERS, WEIGHTS, k=length)))
    return strings


def edited(string: str, chance: random.Random) -> str:
    """About a tenth of the characters changed, inserted or deleted."""
    characters = list(string)
    for _ in range(max(1, len(characters) // 10)):
        place = chance.randrange(len(characters))
        fewest = 0 if len(characters) > 5 else 1
        new = chance.choices(CHARACTERS, WEIGHTS, k=chance.randint(fewest, 2))
        characters[place : place + 1] = new
    return "".join(characters)


def find_duplicates(method: EditDistance, features: pa.Table) -> int:
    """All pairs of duplicates, judged, with their evidence; how many they are."""
    pairs = method.search(features)
    rows = FeatureRows.of(*features.to_batches())
    judged: int = method.judge(rows, *(pairs[side].to_numpy() for side in PAIRS.names)).num_rows
    assert judged == pairs.num_rows
    return judged


def best_time(method: EditDistance, features: pa.Table) -> tuple[float, int]:
    """The shortest of a few runs, and the pairs found."""
    times = []
    for _ in range(RUNS):
        start = time.perf_counter()
        found = find_duplicates(method, features)
        times.append(time.perf_counter() - start)
    return min(times), found


def plain_time(strings: list[str]) -> float:
    """Seconds of plain dynamic programming over all pairs, from a sample of them."""
    chance = random.Random(7)
    sample = [chance.sample(strings, 2) for _ in range(SAMPLED_PAIRS)]
    start = time.perf_counter()
    for one, two in sample:
        plain_distance(one, two)
    per_pair = (time.perf_counter() - start) / len(sample)
    return per_pair * len(strings) * (len(strings) - 1) / 2


def plain_distance(one: str, two: str) -> int:
    """The edit distance by its recurrence, row by row."""
    above = list(range(len(two) + 1))
    for row, character in enumerate(one, 1):
        current = [row]
        for column, other in enumerate(two, 1):
            changed = above[column - 1] + (character != other)
            current.append(min(above[column] + 1, current[-1] + 1, changed))
        above = current
    return above[-1]


if __name__ == "__main__":
    print(json.dumps(main(Path("../shared/data")), indent=2))
