"""Labelled pages of any size, generated from a seed.

A page is a pure function of the seed and of its row in the plan, so pages can be made in any
order, by any number of processes, and the bytes are the same. The journey of a page:

    plan.py (which article, which kind) -> articles.py (its text) -> reprints.py (what the kind
    does to the text) -> sites.py (where it appears) -> layouts.py (its HTML) -> generate.py
    (batches) -> write.py (files)
"""

from __future__ import annotations

from neardup.evaluation.synth.generate import synth
from neardup.evaluation.synth.write import write_set

__all__ = ["synth", "write_set"]
