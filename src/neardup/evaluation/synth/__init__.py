"""Labelled sets of any size, generated from a seed.

A page is a pure function of the seed and its row in the plan, so pages can be generated in any
order by any number of processes, with the same bytes. The journey of a page:

    plan.py (what the set is to hold; its article and kind)
    -> articles.py, lookalikes.py (the text, and what the kind does to it)
    -> layouts.py (its site and HTML) -> pages.py (pages, in batches) -> files.py
"""

from __future__ import annotations

from neardup.evaluation.synth.files import write_set
from neardup.evaluation.synth.pages import synth

__all__ = ["synth", "write_set"]
