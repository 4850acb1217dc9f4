"""Write docs/methods/comparison.html, one page that compares all methods on labelled sets.

    make comparison                               the six labelled sets
    python -m bench.comparison --generated        generated sets, which anybody can reproduce
    python -m bench.comparison SET...             your own sets

It is the page that `neardup evaluate` writes: F1, curves, recall by kind of change, and scores by
language of every method on every set, with embedded charts and no links.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path

from bench.documents import DATA
from bench.results import SIX
from neardup import evaluate
from neardup.evaluation.charts import draw_charts
from neardup.evaluation.runs import write_page
from neardup.evaluation.synth import write_set

PAGE = Path(__file__).parents[1] / "docs" / "methods" / "comparison.html"
GENERATED = 1_000  # pages of each language


def main(sets: Sequence[Path]) -> None:
    """Measure every method on the sets and write the page."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder)
        results = evaluate(sets).results
        write_page(out, results, draw_charts(out, results), alone=True)
        shutil.copy(out / "index.html", PAGE)


def generated(folder: Path) -> list[Path]:
    """An English and a Chinese set, the same every time."""
    sets = [folder / f"generated-{language}" for language in ("en", "zh")]
    for each in sets:
        write_set(each, GENERATED, 1, language=each.name[-2:])
    return sets


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sets", nargs="*", type=Path, metavar="SET")
    parser.add_argument("--generated", action="store_true", help="generate the sets")
    arguments = parser.parse_args()
    if arguments.generated:
        with tempfile.TemporaryDirectory() as made:
            main(generated(Path(made)))
    else:
        main(arguments.sets or [DATA / name for name in SIX])
