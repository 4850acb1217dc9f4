"""Keywords: the content words of a page, in page order, with repeats.

A word is a run of letters and digits, with hyphens and apostrophes inside it, that has at least
one letter. Chinese is segmented by rjieba; Japanese kana and Thai are not segmented, so their words
are the runs between punctuation marks. Stop words of the page's language are dropped before
stemming.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import rjieba
import Stemmer
import stopwordsiso
import xxhash
from numpy.typing import NDArray

from neardup.arrays import Mask, Numbers, lists_of
from neardup.config import read_toml
from neardup.text.tokens import fold_batch

_TABLES = read_toml(Path(__file__).with_name("keywords.toml"))
ENGLISH = frozenset(_TABLES["english_stop_words"].split())
BY_SCRIPT: dict[str, str] = _TABLES["language_by_script"]
STEMMERS: dict[str, str] = _TABLES["stemmers"]
NOT_OF_A_WORD = r"[^\pL\pN\pM'-]+"
WITHOUT_ALPHABET = frozenset({"zh", "ja", "ko", "th"})


def keywords(texts: pa.Array, languages: Sequence[str], *, stem: bool = False) -> pa.ListArray:
    """The keywords of each text; `languages` as `keyword_language` gives them."""
    parts = [_of_language(texts, languages, each, stem) for each in sorted(set(languages))]
    rows = np.concatenate([np.empty(0, np.int64), *(rows for rows, _ in parts)])
    words = pa.chunked_array([words for _, words in parts], pa.string()).combine_chunks()
    order = np.argsort(rows, kind="stable")
    return lists_of(rows, words.take(pa.array(order)), len(texts))


def keyword_languages(pages: pa.RecordBatch) -> list[str]:
    """`keyword_language` of each page."""
    stated = zip(pages["language"].to_pylist(), pages["script"].to_pylist(), strict=True)
    return [keyword_language(*each) for each in stated]


def keyword_language(stated: str, script: str) -> str:
    """The language whose stop words to drop: the script is more reliable than the declaration."""
    if script in BY_SCRIPT and script not in ("Cyrl", "Arab", "Deva"):
        return BY_SCRIPT[script]
    code = stated.lower().replace("_", "-").partition("-")[0]
    if code in stopwordsiso.langs() and code not in WITHOUT_ALPHABET:
        return code
    return BY_SCRIPT.get(script, "en")


@cache
def stop_words(language: str) -> frozenset[str]:
    """The stop words of a language; none without a list."""
    if language == "en":
        return ENGLISH
    return (
        frozenset(stopwordsiso.stopwords(language))
        if language in stopwordsiso.langs()
        else frozenset()
    )


def _of_language(
    texts: pa.Array, languages: Sequence[str], language: str, stem: bool
) -> tuple[Numbers, pa.Array]:
    """Rows and words, in order, of the texts in one language."""
    rows = np.array([row for row, each in enumerate(languages) if each == language], np.int64)
    folded = fold_batch(texts.take(pa.array(rows)))
    if language == "zh":
        cut = [" ".join(rjieba.cut(text)) for text in folded.to_pylist()]
        folded = pa.array(cut, pa.string())
    lists = pc.split_pattern_regex(pc.replace_substring(folded, "’", "'"), NOT_OF_A_WORD)
    words = pc.utf8_trim(lists.flatten(), "'-")
    parents = rows[pc.list_parent_indices(lists).to_numpy()]
    encoded = words.dictionary_encode()
    kept, forms = _vocabulary(encoded.dictionary, language, stem)
    wanted = kept[encoded.indices.to_numpy()]
    return parents[wanted], forms.take(encoded.indices.filter(pa.array(wanted)))


def _vocabulary(words: pa.Array, language: str, stem: bool) -> tuple[Mask, pa.Array]:
    """Which distinct words are keywords, and the form each is counted under."""
    stops = pa.array(sorted(stop_words(language)), pa.string())
    kept = pc.and_(
        pc.match_substring_regex(words, r"\pL"), pc.invert(pc.is_in(words, value_set=stops))
    )
    if stem and language in STEMMERS:
        words = pa.array(_stemmer(language).stemWords(words.to_pylist()), pa.string())
    return kept.to_numpy(zero_copy_only=False), words


def _stemmer(language: str) -> Stemmer.Stemmer:
    # One per call: threads must not share the cache of a stemmer.
    return Stemmer.Stemmer(STEMMERS[language])


def counted_hashes(lists: pa.ListArray) -> tuple[pa.ListArray, pa.ListArray]:
    """The distinct words of each list as 64-bit hashes, ascending, and how often each occurs."""
    rows = pc.list_parent_indices(lists).to_numpy()
    hashes = word_hashes(lists.flatten())
    order = np.lexsort((hashes, rows))
    rows, hashes = rows[order], hashes[order]
    fresh = np.ones(rows.size, np.bool_)
    fresh[1:] = (rows[1:] != rows[:-1]) | (hashes[1:] != hashes[:-1])
    first = np.flatnonzero(fresh)
    counts = np.diff(first, append=rows.size)
    words = lists_of(rows[first], pa.array(hashes[first]), len(lists))
    return words, lists_of(rows[first], pa.array(counts), len(lists))


def word_hashes(words: pa.Array) -> NDArray[np.uint64]:
    """A stable 64-bit hash of each word."""
    encoded = words.dictionary_encode()
    texts = encoded.dictionary.to_pylist()
    hashes = np.array([xxhash.xxh3_64_intdigest(text.encode()) for text in texts], np.uint64)
    along: NDArray[np.uint64] = hashes[encoded.indices.to_numpy()]
    return along
