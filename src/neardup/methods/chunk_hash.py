"""`chunk-hash`: the share of chunks that two pages have in common.

Shivakumar & Garcia-Molina 1998, Finding near-replicas of documents on the web; kinds of chunk from
the same authors' SCAM (1995).

* Chunking: a page is split into words, sentences, paragraphs (blocks) or not at all. The larger the
  chunks, the fewer there are and the more one edit breaks.
* Fingerprints: each chunk is a 64-bit hash of its tokens. A page is their set.
* The rule: near if the share of common chunks among all chunks of both pages reaches the threshold.
  (The paper requires a number of common chunks, 15 or 25; a share does not depend on the length of
  pages.)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from neardup.arrays import Ragged, large_list_array, offsets_of, ragged, string_buffers
from neardup.config import option
from neardup.kernels.sentences import sentence_spans
from neardup.kernels.shingles import document_hashes, sort_distinct
from neardup.methods.base import Numbers
from neardup.methods.token_method import SetMethod, count_of, page_tokens
from neardup.text.sites import Survey


@dataclass(frozen=True, slots=True)
class ChunkHashOptions:
    chunk: Literal["word", "sentence", "paragraph", "text"] = option(
        "sentence", "what a page is split into"
    )
    threshold: float = option(
        0.5, "least share of common chunks of near pages", minimum=0.05, maximum=1
    )
    minimum_chunk: int = option(
        5, "sentences and paragraphs with fewer tokens are ignored", minimum=1
    )
    minimum_tokens: int = option(20, "pages with fewer tokens are undecided", minimum=1)


class ChunkHash(SetMethod):
    """Sets of chunk fingerprints."""

    name = "chunk-hash"
    paper = "Shivakumar & Garcia-Molina 1998"
    cost = "linear features; exact candidates from an index of the rarer chunks"
    Options = ChunkHashOptions
    options: ChunkHashOptions
    paper_preset = {
        "chunk": "paragraph",
        "minimum_chunk": 1,
        "minimum_tokens": 1,
    }
    column = "chunks"

    @property
    def threshold(self) -> float:
        return float(self.options.threshold)

    @property
    def member_words(self) -> str:
        return (
            "distinct texts" if self.options.chunk == "text" else f"distinct {self.options.chunk}s"
        )

    def sketch(
        self, tokens: Ragged, pages: pa.RecordBatch, survey: Survey | None
    ) -> list[pa.Array]:
        return [large_list_array(*sort_distinct(*self._chunks(tokens, pages.column("text"))))]

    def decidable(self, features: pa.RecordBatch) -> pa.BooleanArray:
        has_chunks = pc.greater(pc.list_value_length(features.column("chunks")), 0)
        return pc.and_(super().decidable(features), has_chunks)

    def amounts(self, features: pa.RecordBatch) -> list[str]:
        sizes = ragged(features["chunks"]).sizes.tolist()
        tokens = super().amounts(features)
        return [f"{a}, {count_of(b, 'chunk')}" for a, b in zip(tokens, sizes, strict=True)]

    def _chunks(self, tokens: Ragged, texts: pa.Array) -> Ragged:
        """The fingerprints of each page's chunks, with repeats."""
        match self.options.chunk:
            case "word":
                return tokens
            case "text":
                some = np.minimum(tokens.sizes, 1)
                return Ragged(document_hashes(*tokens)[some > 0], offsets_of(some))
            case "sentence":
                return self._fingerprints(*sentence_pieces(texts))
            case _:
                lines = pc.split_pattern(texts, "\n")
                return self._fingerprints(lines.flatten(), pc.list_value_length(lines).to_numpy())

    def _fingerprints(self, pieces: pa.Array, counts: Numbers) -> Ragged:
        """Hashes of the pieces that are long enough; page p has `counts[p]` pieces."""
        tokens = page_tokens(pieces)
        kept = tokens.sizes >= self.options.minimum_chunk
        pages = np.repeat(np.arange(counts.size), counts)[kept]
        return Ragged(
            document_hashes(*tokens)[kept], offsets_of(np.bincount(pages, minlength=counts.size))
        )


def sentence_pieces(texts: pa.StringArray) -> tuple[pa.StringArray, Numbers]:
    """The sentences of all texts, and how many each text has.

    Text is split before folding, because the end of a sentence depends on letter case.
    """
    data, offsets = string_buffers(texts)
    starts, ends, places = sentence_spans(data, offsets)
    edges = np.stack([starts, ends], axis=1).ravel().astype(np.int32)
    # Offsets of sentence, gap, sentence, gap ...: every other string is a sentence.
    spans = pa.StringArray.from_buffers(
        max(edges.size - 1, 0), pa.py_buffer(edges), pa.py_buffer(data)
    )
    return spans.take(pa.array(np.arange(0, max(edges.size - 1, 0), 2))), np.diff(places)
