"""Plain texts as page records, a column at a time: no Python object and no call per text.

What `text.parse` makes of a text, for texts that are Unicode already. Columns that cost something
are made only for methods that read them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from functools import cached_property
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import xxhash
from numpy.typing import NDArray

from neardup.arrays import list_array, number_array, string_array, string_buffers
from neardup.kernels.characters import count_scripts
from neardup.kernels.look_alikes import unmix
from neardup.kernels.plain_text import normal_texts
from neardup.kernels.sentences import count_sentences
from neardup.pages.urls import canonicalise, host
from neardup.schemas import PAGES
from neardup.text.metadata import language_of_script, main_script


def parse_texts(
    texts: pa.LargeStringArray, about: Mapping[str, pa.Array], columns: Collection[str]
) -> pa.RecordBatch:
    """The columns of `schemas.PAGES` that are named, and `length`, in characters.

    `about` has the columns `id`, `record`, `url`, `title` and `time` of the texts. The texts must
    stay below 2 GiB in all.
    """
    records = _Records(texts, about)
    names = [name for name in PAGES.names if name in columns]
    about = {**about, "title": unmixed(about["title"])}
    arrays = [about[name] if name in about else records.column(name) for name in names]
    batch = pa.record_batch(arrays, schema=pa.schema([PAGES.field(name) for name in names]))
    return batch.append_column("length", pa.array(records.lengths))


def unmixed(column: pa.StringArray) -> pa.StringArray:
    """A column of texts with words that mix scripts in one (`kernels.look_alikes`)."""
    return string_array(*unmix(*string_buffers(column)), like=column)


class _Records:
    """Texts that are scanned, and what follows from it."""

    def __init__(self, texts: pa.LargeStringArray, about: Mapping[str, pa.Array]) -> None:
        self._texts = texts
        self._about = about
        normal = normal_texts(*string_buffers(texts))
        text, ends = unmix(normal.text, normal.ends)
        self._normal = normal._replace(text=text, ends=ends)

    @property
    def lengths(self) -> NDArray[np.int64]:
        return self._normal.lengths

    def column(self, name: str) -> pa.Array:
        constants = {"again": "", "source": "memory", "charset": "UTF-8"}
        if name in constants:
            return pa.repeat(constants[name], len(self._texts))
        return self._makers[name]()

    @cached_property
    def _makers(self) -> dict[str, Callable[[], pa.Array]]:
        return {
            "text": lambda: string_array(self._normal.text, self._normal.ends),
            "kinds": lambda: self._zero_by_line(np.uint8),
            "regions": lambda: self._zero_by_line(np.uint8),
            "link_shares": lambda: self._zero_by_line(np.float32),
            "tables": self._none,
            "images": self._none,
            "anchors": self._none,
            "sentences": lambda: pa.array(count_sentences(self._normal.text, self._normal.ends)),
            "script": lambda: pa.array(self._scripts, pa.string()),
            "language": lambda: pa.array(map(language_of_script, self._scripts), pa.string()),
            "size": lambda: pc.binary_length(self._texts),
            "digest": self._digests,
            "host": lambda: self._of_urls(host),
            "canonical_url": lambda: self._of_urls(canonicalise),
        }

    def _zero_by_line(self, kind: type[np.generic]) -> pa.ListArray:
        """Lines of text in no region, of no kind and without links (`BlockKind.TEXT` is 0)."""
        return list_array(np.zeros(self._normal.lines[-1], kind), self._normal.lines)

    def _none(self) -> pa.Array:
        return pa.array(np.zeros(len(self._texts), np.int32))

    @cached_property
    def _scripts(self) -> list[str]:
        counts = count_scripts(self._normal.text, self._normal.ends)
        return [main_script(row) for row in counts.tolist()]

    def _digests(self) -> pa.Array:
        data, offsets = string_buffers(self._texts)
        content, digest = memoryview(data), xxhash.xxh3_64_intdigest  # type: ignore[arg-type]
        digests = [digest(content[start:end]) for start, end in pairwise(offsets.tolist())]
        return number_array(np.array(digests, np.uint64))

    def _of_urls(self, step: Callable[[str], str]) -> pa.Array:
        """A step over each different URL; most texts have none."""
        offsets = string_buffers(self._about["url"])[1]
        if offsets[0] == offsets[-1]:
            return pa.repeat(step(""), len(self._texts))
        encoded = self._about["url"].dictionary_encode()
        made = pa.array([step(url) for url in encoded.dictionary.to_pylist()], pa.string())
        return made.take(encoded.indices)
