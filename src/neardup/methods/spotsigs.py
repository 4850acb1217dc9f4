"""`spotsigs`: the words after stop words, which running text has and navigation lacks.

Theobald, Siddharth & Paepcke 2008, SpotSigs: robust and efficient near duplicate detection in large
web collections.

* Section 3, spot signatures: `sketch`. An antecedent (a stop word) and a chain of c content words,
  every d-th of those that follow, without stop words (`kernels.shingles`). A page is the multiset
  of its signatures.
* Section 4, matching: `search`. The multiset Jaccard similarity must reach tau = 0.44. Pages of
  very different length cannot, nor can pages without a common rare signature, so partitioning by
  length and the pruned inverted index lose no pair (`kernels.set_join`). Numbering the copies of a
  signature turns the multiset into a set with the same similarity.

For scripts without spaces, tokens are characters: the antecedents of Chinese are the function
characters (的, 了, 是 ...), and chains are twice as long, as a word is about two characters.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from neardup.arrays import Hashes, Ragged, large_list_array, ragged
from neardup.config import option
from neardup.kernels.shingles import ANTECEDENT, CONTENT, SKIPPED, number_repeats, spot_signatures
from neardup.methods.token_method import SetMethod, count_of, page_tokens
from neardup.text.keywords import keyword_languages, stop_words
from neardup.text.sites import Survey

# The stop words that begin a spot. For other languages, all their stop words do.
ANTECEDENTS = {
    "en": "a an the is are was were be been do does did have has had can could will would that",
    "zh": "的 了 是 在 和 与 也 就 都 而 被 把 将 为 从 对",
}
CHARACTER_LANGUAGES = frozenset({"zh", "ja", "th"})  # their tokens are characters
CHARACTERS_OF_A_WORD = 2


@dataclass(frozen=True, slots=True)
class SpotSigsOptions:
    tau: float = option(0.44, "least similarity of near pages", minimum=0.05, maximum=1)
    d: int = option(1, "spot distance: every d-th content word is taken", minimum=1, maximum=20)
    c: int = option(2, "chain length in words", minimum=1, maximum=20)
    antecedents: str = option(
        "", "words that begin a spot, separated by spaces; empty: those of the page's language"
    )
    minimum_spots: int = option(5, "pages with fewer spot signatures are undecided", minimum=1)


class SpotSigs(SetMethod):
    """Multisets of chains that follow stop words."""

    name = "spotsigs"
    paper = "Theobald, Siddharth & Paepcke 2008"
    languages = "those with stop words; Chinese by its function characters"
    cost = "linear features; exact candidates from an index of the rarer signatures"
    Options = SpotSigsOptions
    options: SpotSigsOptions
    threshold_option = "tau"
    paper_preset = {
        "antecedents": "a an the is",
        "minimum_spots": 1,
    }
    column = "spots"
    member_words = "spot signatures"

    @property
    def threshold(self) -> float:
        return self.options.tau

    def sketch(
        self, tokens: Ragged, pages: pa.RecordBatch, survey: Survey | None
    ) -> list[pa.Array]:
        languages = keyword_languages(pages)
        spots = Ragged(
            *spot_signatures(
                *tokens,
                self._roles(tokens, languages),
                np.array([self._chain(language) for language in languages], np.int64),
                self.options.d,
            )
        )
        return [large_list_array(number_repeats(*spots), spots.offsets)]

    def decidable(self, features: pa.RecordBatch) -> pa.BooleanArray:
        return pc.greater_equal(
            pc.list_value_length(features.column("spots")), self.options.minimum_spots
        )

    def amounts(self, features: pa.RecordBatch) -> list[str]:
        sizes = ragged(features["spots"]).sizes.tolist()
        return [count_of(size, "spot signature") for size in sizes]

    def _chain(self, language: str) -> int:
        return self.options.c * (CHARACTERS_OF_A_WORD if language in CHARACTER_LANGUAGES else 1)

    def _roles(self, tokens: Ragged, languages: list[str]) -> NDArray[np.uint8]:
        """The role of each token in the language of its page."""
        roles = np.full(tokens.values.size, CONTENT, np.uint8)
        names, numbers = np.unique(np.array(languages, object), return_inverse=True)
        of_token = np.repeat(numbers, tokens.sizes)
        for number, language in enumerate(names):
            antecedents, stops = _special_tokens(language, self.options.antecedents)
            places = np.flatnonzero(of_token == number)
            here = tokens.values[places]
            roles[places[np.isin(here, stops)]] = SKIPPED
            roles[places[np.isin(here, antecedents)]] = ANTECEDENT
        return roles


@lru_cache(maxsize=64)
def _special_tokens(language: str, antecedents: str) -> tuple[Hashes, Hashes]:
    """The antecedents and the stop words of a language, as tokens."""
    stops = sorted(stop_words(language)) if language != "zh" else ANTECEDENTS["zh"].split()
    named = antecedents or ANTECEDENTS.get(language, "")
    return _single_tokens(named.split() or stops), _single_tokens(stops)


def _single_tokens(words: list[str]) -> Hashes:
    """The words that are one token; a Chinese stop word of two characters is not."""
    tokens = page_tokens(pa.array(words, pa.string()))
    single: Hashes = tokens.values[tokens.offsets[:-1][tokens.sizes == 1]]
    return single
