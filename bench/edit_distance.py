"""`edit-distance` compared with plain dynamic programming over all pairs, and its growth.

The feature strings are generated: 5 to 120 characters, as unevenly distributed as those before a
full stop, one string in five an edited copy of an earlier one. The plain side is the paper's
algorithm, a table of n by m in Python, timed on a sample of the pairs and scaled to all of them.
"""

from __future__ import annotations

import random
import time
from functools import partial

import pyarrow as pa

from bench.timing import best_seconds
from neardup.arrays import FeatureRows
from neardup.methods.edit_distance import EditDistance
from neardup.schemas import PAIRS

PAPER_PAGES = 998
SMALL, LARGE = 2_000, 20_000
SAMPLED_PAIRS = 1_500
RUNS = 3
CHARACTERS = [chr(0x4E00 + number) for number in range(3_000)]
WEIGHTS = [1 / (rank + 1) ** 0.8 for rank in range(len(CHARACTERS))]


def main() -> dict[str, object]:
    """Seconds and ratios."""
    method = EditDistance()
    find_duplicates(method, feature_table(50, seed=0))  # compiles the kernels
    tables = [feature_table(n, seed=i) for i, n in enumerate((PAPER_PAGES, SMALL, LARGE), 1)]
    pairs = [find_duplicates(method, table) for table in tables]
    jobs = {
        str(number): partial(find_duplicates, method, table) for number, table in enumerate(tables)
    }
    ours, small, large = best_seconds(jobs, RUNS, time.perf_counter).values()
    plain = plain_time(tables[0]["symbols"].to_pylist())
    return {
        "pages": PAPER_PAGES,
        "duplicate pairs": pairs[0],
        "seconds": ours,
        "plain seconds": plain,
        "plain is": f"timed on {SAMPLED_PAIRS} random pairs and scaled to all",
        "times faster than plain": plain / ours,
        "target, times faster": 200,
        f"seconds for {SMALL}": small,
        f"seconds for {LARGE}": large,
        f"duplicate pairs among {LARGE}": pairs[2],
        f"time of {LARGE} over {SMALL}": large / small,
        "target, at most": 60,
    }


def feature_table(count: int, *, seed: int) -> pa.Table:
    """A feature table of the method, from generated strings."""
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
    """Find and judge all duplicate pairs, with evidence; returns their number."""
    pairs = method.search(features)
    rows = FeatureRows.of(*features.to_batches())
    judged: int = method.judge(rows, *(pairs[side].to_numpy() for side in PAIRS.names)).num_rows
    assert judged == pairs.num_rows
    return judged


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
