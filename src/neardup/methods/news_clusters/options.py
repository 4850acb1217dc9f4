"""The options of `news-clusters`, named as in the paper where it names them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from neardup.config import option


@dataclass(frozen=True, slots=True)
class NewsClustersOptions:
    features: Literal["longest-sentences", "paragraphs", "full-text", "full-stops", "slices"] = (
        option("longest-sentences", "Extractor: what is fingerprinted besides the title")
    )
    n: int = option(5, "Extractor: features per page, including the title", minimum=2)
    minimum_length: int = option(
        10, "Extractor: features with fewer characters are dropped", minimum=1
    )
    reach: int = option(
        10, "Extractor: characters on each side of a full stop (full-stops)", minimum=1
    )
    x: int = option(2, "Selector: fingerprints that must point to the same cluster", minimum=1)
    candidates: Literal["inverted", "all", "search"] = option(
        "inverted",
        "Comparer: compare with recent pages that share title words, with all recent pages, or "
        "with the results of a small text search",
    )
    documents: int = option(50, "Comparer: most candidates (inverted, search)", minimum=1)
    t: float = option(5, "Comparer: days a page stays recent (the paper: 3 to 5)", minimum=0)
    comparison: Literal["cosine", "lcs"] = option(
        "cosine", "Comparer: cosine of word counts or longest common subsequence"
    )
    k: float = option(
        0.7, "Comparer: join the best candidate if its value is above this", minimum=0, maximum=1
    )
    a0: int = option(1, "Updater: weight of a new binding; it changes in steps of 1", minimum=1)
    expiry: float = option(0, "Updater: days after which a binding expires; 0 is never", minimum=0)
    title_part: bool = option(
        True, "guard: use only the longest part of a title that names its site (Story | Paper)"
    )
    stand_in: bool = option(
        True, "guard: use the longest sentence in place of a missing title (Comparer)"
    )
    minimum_sentences: int = option(
        2, "guard: pages with fewer sentences are undecided; 0 is off", minimum=0
    )
    common: int = option(
        3, "guard: a fingerprint seen in more clusters than this has no vote; 0 is off", minimum=0
    )
    frequent: int = option(
        2000,
        "guard: words on more recent pages than this propose no candidates; 0 is off",
        minimum=0,
    )
