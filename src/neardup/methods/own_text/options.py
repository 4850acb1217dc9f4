"""The constants of `own-text`, each with its reason in docs/methods/own-text.md."""

from __future__ import annotations

from dataclasses import dataclass

from neardup.config import option


@dataclass(frozen=True, slots=True)
class OwnTextOptions:
    threshold: float = option(
        0.7,
        "shared share from which two pages are one; 2/3 is a page and its half",
        minimum=0.5,
        maximum=1,
        was="near",
    )
    contained: float = option(
        0.8, "share of a page found in another from which it is an excerpt", minimum=0.5, maximum=1
    )
    min_units: float = option(
        30.0,
        "units of own text (a word is 2, a Han character 1) below which a page is undecided; with "
        "so much the required similarity is half-way from `threshold` to 1",
        minimum=0,
        was="few",
    )
    same_host: float = option(
        0.5,
        "how far towards 1 the required similarity goes for two pages on one host, and again if "
        "they have two titles",
        minimum=0,
        maximum=1,
    )
    short: float = option(20.0, "units at which a line counts half", minimum=0)
    link: float = option(
        0.1, "what text in links, menus, footers and buttons counts", minimum=0, maximum=1
    )
    prose_share: float = option(
        0.5,
        "mean weight that a stretch of lines needs to belong to the main segment",
        minimum=0,
        maximum=1,
        was="told",
    )
    outside: float = option(0.25, "what lines outside the main segment count", minimum=0, maximum=1)
    power: float = option(
        3.0, "how fast a line loses weight with the pages of its site that have it", minimum=0
    )
    own_share: float = option(
        0.05, "least share of a page that is its own and no template", minimum=0, maximum=1
    )
    faint: float = option(
        0.01, "lines lighter than this share of the heaviest are left out", minimum=0, maximum=1
    )
    few_pages: int = option(
        8, "hosts with fewer pages also learn from pages with the same furniture", minimum=1
    )
    furniture: int = option(8, "least number of furniture lines that tell a site", minimum=1)
    shingle: int = option(8, "units of a shingle: 4 words or 8 Han characters", minimum=2)
    sentences: int = option(8, "heaviest own sentences that become keys", minimum=0)

    @property
    def enough(self) -> float:
        """Units of own text that a verdict needs: `min_units`, and a shingle at least."""
        return max(self.min_units, float(self.shingle))
