"""What a page states about itself: title, language, address, time of publication.

The scanner notes where these are stated (`kernels.scan_meta`); this module reads them. Statements
are checked: one that cannot be read counts as absent, and a language that the script of the text
contradicts is replaced by the language of the script.

`Statements` reads those of a batch a column at a time, by kernels (`kernels.page_bytes`), and page
by page only what kernels leave: statements with references in them, addresses with several
parameters, canonical links that lead elsewhere.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta, timezone
from email.utils import parsedate_to_datetime
from functools import cache, cached_property, lru_cache

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from neardup.arrays import Mask, Numbers, booleans, read_only, string_array, string_buffers
from neardup.kernels import page_bytes, scan_meta
from neardup.kernels.characters import SCRIPTS
from neardup.kernels.page_bytes import UNKNOWN, plain_statements, plain_times
from neardup.kernels.scan_bytes import hash_table
from neardup.pages import urls
from neardup.pages.urls import believable_canonical, canonicalise
from neardup.schemas import TIME

# ISO 15924, in the order of `SCRIPTS`; letters of other scripts count but name none.
CODES = ("Latn", "Hani", "Jpan", "Kore", "Cyrl", "Grek", "Arab", "Hebr", "Thai", "Deva", "Zyyy")
assert len(CODES) == len(SCRIPTS)

# Japanese runs at more kana than Han; Chinese pages name Japanese brands and songs. A quarter is
# far from both.
KANA_SHARE = 0.25

# A character of Han, Kana or Hangul says what takes two to three Latin letters, and Chinese pages
# are full of Latin names and numbers: half as many of them make the page theirs.
WEIGHTS = [2 if code in ("Hani", "Jpan", "Kore") else 1 for code in CODES]
HAN, KANA = CODES.index("Hani"), CODES.index("Jpan")

LANGUAGES = {"Hani": "zh", "Jpan": "ja", "Kore": "ko", "Grek": "el", "Hebr": "he", "Thai": "th"}


def main_script(row: Sequence[int]) -> str:
    """The script most of a text is in, by a row of `count_scripts`; empty without letters."""
    weighed = [count * weight for count, weight in zip(row, WEIGHTS, strict=True)]
    han, kana = row[HAN], row[KANA]
    both = WEIGHTS[HAN] * (han + kana)
    is_japanese = kana >= KANA_SHARE * (han + kana)
    weighed[HAN], weighed[KANA] = (0, both) if is_japanese else (both, 0)
    most = max(weighed)
    return CODES[weighed.index(most)] if most else ""  # ties go to the first of CODES


def language_of_script(script: str) -> str:
    """The language that a script is (nearly) alone in writing, or empty."""
    return LANGUAGES.get(script, "")


# A page's UTF-8. A view of many pages will do: only the few bytes of a statement are copied.
PageBytes = bytes | memoryview
Places = Sequence[Sequence[int]]  # start and end for each kind of `scan_meta`; empty: not stated

YEARS = range(1990, 2101)  # a date outside this range is wrong, or not that of publication
LONGEST = 4096  # bytes read of a statement; an unclosed title is the whole page

# Where a publication time may be stated, most reliable first.
TIME_KINDS = (
    scan_meta.PUBLISHED,
    scan_meta.LD_PUBLISHED,
    scan_meta.DATE,
    scan_meta.TIME,
)
LANGUAGE_KINDS = (scan_meta.LANG, scan_meta.CONTENT_LANGUAGE, scan_meta.LOCALE)

# Other languages written in a script than its default.
ALSO_WRITTEN_IN = {"Hani": {"yue", "wuu", "nan", "hak", "gan", "lzh", "cmn", "ja"}}
ALSO_WRITTEN_IN |= {"Hebr": {"yi", "iw"}, "Grek": {"grc"}}

_TAG = re.compile(r"([A-Za-z]{2,3})((?:[-_][A-Za-z0-9]{2,8})*)(?![A-Za-z0-9])")
_CONTROLS = re.compile(r"[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f]")


def stated(data: PageBytes, places: Places, kind: int) -> str:
    """The statement of this kind in a page's UTF-8, as one line; empty without one."""
    start, end = places[kind]
    if start == end:
        return ""
    raw = bytes(data[start : min(end, start + LONGEST)]).decode("utf-8", "ignore")
    if "&" in raw:
        raw = html.unescape(raw)
    if not raw.isprintable():
        raw = _CONTROLS.sub("", raw).encode("utf-8", "replace").decode()
    return " ".join(raw.split())


def address(data: PageBytes, places: Places, page_url: str) -> tuple[str, str]:
    """The page's URL and its canonical form; a page without URL may state its own."""
    declared = stated(data, places, scan_meta.CANONICAL)
    if not page_url:
        page_url = _absolute(declared) or _absolute(stated(data, places, scan_meta.OG_URL))
    elif declared and declared != page_url:
        base = stated(data, places, scan_meta.BASE)
        believed = believable_canonical(page_url, declared, base)
        return page_url, believed or canonicalise(page_url)
    return page_url, canonicalise(page_url)


def _absolute(url: str) -> str:
    return url if url.lower().startswith(("http://", "https://")) else ""


def language(data: PageBytes, places: Places, script: str) -> str:
    """The language that the page states, unless its script contradicts it; else the script's."""
    return language_by(script, [stated(data, places, kind) for kind in LANGUAGE_KINDS])


def language_by(script: str, statements: Sequence[str]) -> str:
    """The first of the languages stated that the script does not contradict; else the script's."""
    by_script = language_of_script(script)
    for statement in statements:
        tag = _language_tag(statement)
        if tag and _may_be_written(tag, script, by_script):
            return tag
    return by_script


@lru_cache(maxsize=1024)
def _language_tag(statement: str) -> str:
    """A language tag in the form of BCP 47 (zh-CN, zh-Hant-TW); empty if it is none."""
    match = _TAG.match(statement)
    if not match:
        return ""
    first, *rest = re.split("[-_]", match[0])
    sized = {2: str.upper, 4: str.title}
    return "-".join([first.lower(), *(sized.get(len(part), str.lower)(part) for part in rest)])


def _may_be_written(tag: str, script: str, by_script: str) -> bool:
    """Whether a language may use this script: Chinese pages often keep a template's lang="en"."""
    primary = tag.partition("-")[0]
    return not by_script or primary == by_script or primary in ALSO_WRITTEN_IN.get(script, ())


MIN_ARTICLE = 200  # bytes of an article; less is a teaser
PROBES = 5  # places of an article at which it is looked for in the text of the page
PROBE = 24  # bytes


def article_body(data: PageBytes, places: NDArray[np.int64]) -> bytes:
    """The `articleBody` that a page states as JSON-LD; empty without one, or where it has several:
    then they are those of other pages."""
    start, end = places[scan_meta.LD_BODY].tolist()
    other, other_end = places[scan_meta.LD_OTHER_BODY].tolist()
    if end - start < MIN_ARTICLE or (
        other < other_end and data[other:other_end] != data[start:end]
    ):
        return b""
    try:
        body: str = json.loads(b'"' + bytes(data[start:end]) + b'"', strict=False)
    except ValueError:
        return b""
    article = body.encode("utf-8", "replace")
    return article if len(article) >= MIN_ARTICLE else b""


def shows(text: bytes, article: bytes) -> bool:
    """Whether the text of a page has some of an article: any of a few places, without spaces."""
    text = text.translate(None, b" \n")
    article = b"".join(_MARKUP.sub(b" ", article).split())
    step = max(len(article) // PROBES, 1)
    starts = range(0, len(article) - PROBE + 1, step)
    return any(article[start : start + PROBE] in text for start in starts)


_MARKUP = re.compile(rb"<[^<>]*>|&#?\w+;")


def published(data: PageBytes, places: Places) -> datetime | None:
    """When the page says it was published."""
    for kind in TIME_KINDS:
        statement = stated(data, places, kind)
        time = read_time(statement) if statement else None
        if time:
            return time
    return None


_DATE = re.compile(
    r"(\d{4})\s*[-/.年]\s*(\d{1,2})\s*[-/.月]\s*(\d{1,2})(?!\d)日?"
    r"(?:[T\s]*(\d{1,2})\s*[:：时時点]\s*(\d{1,2})(?:\s*[:：分]\s*(\d{1,2}))?(?:[.,]\d+)?秒?)?"
    r"\s*(Z|UTC|GMT|[+-]\d{2}:?\d{2})?",
    re.IGNORECASE,
)
_DIGITS = re.compile(r"(\d{4})(\d\d)(\d\d)(?:T?(\d\d)(\d\d)(\d\d)?)?(Z|[+-]\d{2}:?\d{2})?$")
_EPOCH = re.compile(r"(\d{9,10})(\d{3})?$")
_MONTH_NAMES = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
_DAY_MONTH = re.compile(
    r"(?:\w+,\s*)?(\d{1,2})(?:st|nd|rd|th)?\s+([A-Za-z]{3})[a-z]*\.?,?\s+(\d{4})"
)
_MONTH_DAY = re.compile(
    r"(?:\w+,\s*)?([A-Za-z]{3})[a-z]*\.?\s+(\d{1,2})(?:st|nd|rd|th)?,?\s+(\d{4})"
)


def read_time(statement: str) -> datetime | None:
    """A date, with or without a time, in UTC; without a zone it is taken to be UTC already."""
    for reader in (_by_numbers, _by_epoch, _by_mail_rules, _by_month_name):
        try:
            time = reader(statement)
        except (ValueError, OverflowError, TypeError, IndexError):
            continue
        if time:
            return time if time.year in YEARS else None
    return None


def _by_numbers(statement: str) -> datetime | None:
    match = _DATE.match(statement) or _DIGITS.match(statement)
    if not match:
        return None
    *numbers, zone = match.groups()
    year, month, day, hour, minute, second = (int(number or 0) for number in numbers)
    time = datetime(year, month, day, hour, minute, min(second, 59), tzinfo=_zone(zone))
    return time.astimezone(UTC)


def _zone(zone: str | None) -> timezone:
    if not zone or zone[0] not in "+-":
        return UTC
    hours, minutes = int(zone[1:3]), int(zone[-2:])
    offset = timedelta(hours=hours, minutes=minutes)
    return timezone(-offset if zone[0] == "-" else offset)


def _by_epoch(statement: str) -> datetime | None:
    match = _EPOCH.match(statement)
    return datetime.fromtimestamp(int(match[1]), UTC) if match else None


def _by_mail_rules(statement: str) -> datetime | None:
    time = parsedate_to_datetime(statement)
    return time.astimezone(UTC) if time.tzinfo else time.replace(tzinfo=UTC)


def _by_month_name(statement: str) -> datetime | None:
    day_first, month_first = _DAY_MONTH.match(statement), _MONTH_DAY.match(statement)
    if day_first:
        day, name, year = day_first.groups()
    elif month_first:
        name, day, year = month_first.groups()
    else:
        return None
    return datetime(int(year), _MONTH_NAMES.index(name.lower()) + 1, int(day), tzinfo=UTC)


_YEARS = [
    np.datetime64(f"{year}-01-01", "us").astype(np.int64) for year in (YEARS.start, YEARS.stop)
]


class Statements:
    """The statements of pages: page p is data[ends[p]:ends[p + 1]], and `places` are within it."""

    def __init__(self, data: NDArray[np.uint8], ends: Numbers, places: NDArray[np.int64]) -> None:
        self._data = data
        self._view = memoryview(data)  # type: ignore[arg-type]
        self._ends = ends
        self._places = places

    def __len__(self) -> int:
        return len(self._ends) - 1

    @cached_property
    def _is_stated(self) -> Mask:
        """Which pages state something, by page and kind."""
        stated: Mask = self._places[:, :, 0] < self._places[:, :, 1]
        return stated

    def any_of(self, kind: int) -> bool:
        """Whether any page states something of this kind."""
        return bool(self._is_stated[:, kind].any())

    def column(self, kind: int) -> pa.StringArray:
        """The statements of one kind, each in one line; empty where there is none."""
        if not self.any_of(kind):
            return pa.repeat("", len(self))
        plain = plain_statements(self._data, self._ends, self._places, kind, LONGEST)
        return replaced(
            string_array(plain.text, plain.ends), plain.odd, lambda row: self._stated(row, kind)
        )

    def _stated(self, row: int, kind: int) -> str:
        return stated(self.page(row), self._places[row].tolist(), kind)

    def page(self, row: int) -> memoryview:
        """The bytes of a page, not copied."""
        return self._view[self._ends[row] : self._ends[row + 1]]

    def titles(self, known: pa.StringArray) -> pa.StringArray:
        """The titles; those that are known come first."""
        lacking = is_empty(known)
        if not lacking.true_count or not self.any_of(scan_meta.TITLE):
            return known
        stated = self.column(scan_meta.TITLE)
        return stated if lacking.true_count == len(known) else pc.if_else(lacking, stated, known)

    def times(self, is_undated: Mask) -> pa.Array:
        """When the pages say they were published; null for those that have a date already."""
        times = np.full(len(self), UNKNOWN)
        open_ = is_undated & self._is_stated[:, list(TIME_KINDS)].any(axis=1)
        for kind in TIME_KINDS:
            here = open_ & self._is_stated[:, kind]
            if not here.any():
                continue
            said = self.column(kind)
            read = plain_times(*_buffers(said))
            for row in np.flatnonzero(here & (read == UNKNOWN)).tolist():
                read[row] = _microseconds(said[row].as_py())
            read[(read < _YEARS[0]) | (read >= _YEARS[1])] = UNKNOWN
            times = np.where(here, read, times)
            open_ &= times == UNKNOWN
        return pa.array(times, mask=times == UNKNOWN).cast(TIME)

    def languages(self, scripts: pa.StringArray) -> pa.StringArray:
        """The languages that pages state, unless their script contradicts it; else the script's.

        There are few different answers, so each is found once.
        """
        columns = [scripts, *(self.column(kind) for kind in LANGUAGE_KINDS)]
        encoded = [column.dictionary_encode() for column in columns]
        key = np.zeros(len(self), np.int64)
        for each in encoded:
            key = key * max(len(each.dictionary), 1) + each.indices.to_numpy()
        _, first, which = np.unique(key, return_index=True, return_inverse=True)
        rows = pa.array(first)
        answers = [
            language_by(script, said)
            for script, *said in zip(
                *(each.take(rows).to_pylist() for each in columns), strict=True
            )
        ]
        return pa.array(answers, pa.string()).take(pa.array(which))

    def addresses(self, known: pa.StringArray) -> tuple[pa.Array, pa.Array, pa.Array]:
        """URLs, their canonical forms and their hosts, from URLs that are known.

        A page without URL may state its own.
        """
        url = known
        if self.any_of(scan_meta.CANONICAL) or self.any_of(scan_meta.OG_URL):
            lacking = booleans(is_empty(known))
            stated = self._is_stated[:, [scan_meta.CANONICAL, scan_meta.OG_URL]].any(axis=1)
            url = replaced(known, lacking & stated, lambda row: self._address(row, "")[0])
        canonical, hosts = canonical_urls(url)
        declares = self._is_stated[:, scan_meta.CANONICAL] & ~booleans(is_empty(known))
        if declares.any():
            # Most pages declare the URL they have, as it stands or in its canonical form
            declared = self.column(scan_meta.CANONICAL)
            declares &= ~booleans(pc.equal(declared, known))
        if declares.any():
            plain, _ = canonical_urls(declared, leave_odd=True)
            elsewhere = declares & ~booleans(pc.equal(plain, canonical))

            rows = np.flatnonzero(elsewhere)
            both = (each.take(pa.array(rows)).to_pylist() for each in (canonical, plain))
            believed = [
                urls.believed(own, address) or own
                if address
                else self._address(row, known[row].as_py())[1]
                for row, own, address in zip(rows.tolist(), *both, strict=True)
            ]
            canonical = _filled(canonical, elsewhere, believed)
        return url, canonical, hosts

    def _address(self, row: int, url: str) -> tuple[str, str]:
        return address(self.page(row), self._places[row].tolist(), url)


def main_scripts(counts: NDArray[np.int64]) -> pa.StringArray:
    """`main_script` of each row of `count_scripts`."""
    weighed = counts.astype(np.int64)
    both = weighed[:, HAN] + weighed[:, KANA]
    is_japanese = weighed[:, KANA] >= KANA_SHARE * both
    weighed[:, KANA] = np.where(is_japanese, both, 0)
    weighed[:, HAN] = np.where(is_japanese, 0, both)
    weighed *= np.array(WEIGHTS)
    best = weighed.argmax(axis=1) if len(weighed) else np.empty(0, np.int64)
    best = np.where(weighed.any(axis=1), best, len(CODES))
    return pa.array([*CODES, ""]).take(pa.array(best))


def canonical_urls(
    column: pa.StringArray, *, leave_odd: bool = False
) -> tuple[pa.StringArray, pa.StringArray]:
    """`urls.canonicalise` and `urls.host` of a column; those that are not plain may be left."""
    plain = page_bytes.plain_addresses(*_buffers(column), _tables())
    canonical = string_array(plain.urls, plain.url_ends)
    hosts = string_array(plain.hosts, plain.host_ends)
    if leave_odd or not plain.odd.any():
        return canonical, hosts
    odd = column.filter(pa.array(plain.odd)).to_pylist()
    return (
        _filled(canonical, plain.odd, [urls.canonicalise(url) for url in odd]),
        _filled(hosts, plain.odd, [urls.host(url) for url in odd]),
    )


@cache
def _tables() -> page_bytes.AddressTables:
    """File names and parameters that make an address odd, as the kernel takes them."""
    noise = urls.TRACKING_PARAMETERS | urls.SESSION_PARAMETERS | urls.SHARE_VALUES.keys()
    return page_bytes.AddressTables(
        hash_table(dict.fromkeys(sorted(urls.INDEX_FILES), 1), 64),
        hash_table(dict.fromkeys(sorted(noise), 1), 512),
        page_bytes.prefix_keys(urls.TRACKING_PREFIXES),
    )


@lru_cache(maxsize=65_536)
def _microseconds(said: str) -> int:
    time = read_time(said)
    return UNKNOWN if time is None else int(pa.scalar(time, TIME).value)


def is_empty(column: pa.StringArray) -> pa.BooleanArray:
    return pc.equal(pc.binary_length(column), 0)


def replaced(column: pa.StringArray, where: Mask, make: Callable[[int], str]) -> pa.StringArray:
    """The column with what `make` gives for the rows that are marked."""
    rows = np.flatnonzero(where).tolist()
    return _filled(column, where, [make(row) for row in rows]) if rows else column


def _filled(column: pa.StringArray, where: Mask, values: Sequence[str]) -> pa.StringArray:
    return pc.replace_with_mask(column, pa.array(where), pa.array(values, pa.string()))


def _buffers(column: pa.StringArray) -> tuple[NDArray[np.uint8], Numbers]:
    data, ends = string_buffers(column)
    return read_only(data), ends
