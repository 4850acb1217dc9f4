"""Keywords: the words of a page that carry its matter, in page order, with their repeats.

A word is a run of letters and digits, with hyphens and apostrophes inside it, that has at least
one letter. Chinese is cut into words by rjieba; Japanese kana and Thai, for which there is no
cutter here, stay in the runs that punctuation leaves. Stop words are dropped by the page's
language, before stems are taken.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import rjieba
import Stemmer
import stopwordsiso
import xxhash
from numpy.typing import NDArray

from neardup.arrays import lists_of
from neardup.text.tokens import fold_batch

# stopwordsiso's English list has 1,298 words, "information", "site" and "index" among them, which
# the papers list as keywords. This is the hundred and some that say nothing, as the papers have.
_ENGLISH = """
a about above across after again against all almost along already also although always am
among an and another any anyone anything are aren't around as at be became because become been
before behind being below beside besides between beyond both but by can can't cannot could
couldn't did didn't do does doesn't doing don't done down due during each either else enough
etc even ever every everyone everything except few for from further get gets getting give go
goes had hadn't has hasn't have haven't having he her here hers herself him himself his how
however i i'd i'll i'm i've if in into is isn't it it's its itself just least less let let's
made make many may maybe me might more most much must my myself neither never no nobody
none nor not nothing now nowhere of off often on once one only onto or other others otherwise
our ours ourselves out over own per perhaps put quite rather s same seem seemed several shall
she should shouldn't since so some someone something sometimes still such t than that that's
the their theirs them themselves then there there's therefore these they they're this those
though three through thus to together too toward towards two under until up upon us very via
was wasn't we we're well were weren't what when where whereas whether which while who whole
whom whose why will with within without won't would wouldn't yet you you're your yours
yourself yourselves"""
ENGLISH = frozenset(_ENGLISH.split())

NOT_OF_A_WORD = r"[^\pL\pN\pM'-]+"
BY_SCRIPT = {
    "Hani": "zh",
    "Jpan": "ja",
    "Kore": "ko",
    "Thai": "th",
    "Grek": "el",
    "Hebr": "he",
    "Arab": "ar",
    "Deva": "hi",
    "Cyrl": "ru",
}
WITHOUT_ALPHABET = frozenset({"zh", "ja", "ko", "th"})
STEMMERS = {
    "ar": "arabic",
    "da": "danish",
    "de": "german",
    "en": "english",
    "es": "spanish",
    "fi": "finnish",
    "fr": "french",
    "hu": "hungarian",
    "it": "italian",
    "nl": "dutch",
    "no": "norwegian",
    "pt": "portuguese",
    "ro": "romanian",
    "ru": "russian",
    "sv": "swedish",
    "tr": "turkish",
}


def keywords(texts: pa.Array, languages: Sequence[str], *, stem: bool = False) -> pa.ListArray:
    """The keywords of each text; `languages` as `keyword_language` gives them."""
    parts = [_of_language(texts, languages, each, stem) for each in sorted(set(languages))]
    rows = np.concatenate([np.empty(0, np.int64), *(rows for rows, _ in parts)])
    words = pa.chunked_array([words for _, words in parts], pa.string()).combine_chunks()
    order = np.argsort(rows, kind="stable")
    return lists_of(rows, words.take(pa.array(order)), len(texts))


def keyword_language(stated: str, script: str) -> str:
    """The language whose stop words to drop: the script knows better than what a page states."""
    if script in BY_SCRIPT and script not in ("Cyrl", "Arab", "Deva"):
        return BY_SCRIPT[script]
    code = stated.lower().replace("_", "-").partition("-")[0]
    if code in stopwordsiso.langs() and code not in WITHOUT_ALPHABET:
        return code
    return BY_SCRIPT.get(script, "en")


@cache
def stop_words(language: str) -> frozenset[str]:
    """The stop words of a language, none for one that has no list."""
    if language == "en":
        return ENGLISH
    return (
        frozenset(stopwordsiso.stopwords(language))
        if language in stopwordsiso.langs()
        else frozenset()
    )


def _of_language(
    texts: pa.Array, languages: Sequence[str], language: str, stem: bool
) -> tuple[NDArray[np.int64], pa.Array]:
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


def _vocabulary(words: pa.Array, language: str, stem: bool) -> tuple[NDArray[np.bool_], pa.Array]:
    """Which distinct words are keywords, and the form each is counted under."""
    stops = pa.array(sorted(stop_words(language)), pa.string())
    kept = pc.and_(
        pc.match_substring_regex(words, r"\pL"), pc.invert(pc.is_in(words, value_set=stops))
    )
    if stem and language in STEMMERS:
        words = pa.array(_stemmer(language).stemWords(words.to_pylist()), pa.string())
    return kept.to_numpy(zero_copy_only=False), words


def _stemmer(language: str) -> Stemmer.Stemmer:
    # One a call: a stemmer keeps a cache that threads must not share.
    return Stemmer.Stemmer(STEMMERS[language])


def distinct_hashes(lists: pa.ListArray) -> pa.ListArray:
    """The distinct words of each list as 64-bit hashes, in ascending order."""
    rows = pc.list_parent_indices(lists).to_numpy()
    hashes = word_hashes(lists.flatten())
    order = np.lexsort((hashes, rows))
    rows, hashes = rows[order], hashes[order]
    fresh = np.ones(rows.size, np.bool_)
    fresh[1:] = (rows[1:] != rows[:-1]) | (hashes[1:] != hashes[:-1])
    return lists_of(rows[fresh], pa.array(hashes[fresh]), len(lists))


def word_hashes(words: pa.Array) -> NDArray[np.uint64]:
    """A stable 64-bit hash of each word."""
    encoded = words.dictionary_encode()
    texts = encoded.dictionary.to_pylist()
    hashes = np.array([xxhash.xxh3_64_intdigest(text.encode()) for text in texts], np.uint64)
    along: NDArray[np.uint64] = hashes[encoded.indices.to_numpy()]
    return along
