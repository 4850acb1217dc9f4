"""A datatrove block that drops near-duplicates.

    pipeline = [
        JsonlReader("documents/"),
        NeardupFilter(exclusion_writer=JsonlWriter("dropped/")),
        JsonlWriter("kept/"),
    ]
    LocalPipelineExecutor(pipeline, tasks=1).run()

Without a store, the documents are compared in memory, and the pipeline has one task. With a store,
tasks share it, as do later runs: the first document of each cluster passes.
"""

from __future__ import annotations

import contextlib
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from neardup.api import find_duplicates, html_page, text_page
from neardup.errors import MissingExtraError, UsageError
from neardup.index import Index
from neardup.methods.registry import DEFAULT_METHOD, MethodLike
from neardup.model import RawPage

try:
    from datatrove.data import Document
    from datatrove.pipeline.base import PipelineStep
    from datatrove.pipeline.writers.disk_base import DiskWriter
except ImportError as error:
    raise MissingExtraError("the datatrove block", "datatrove") from error

Judged = Iterator[tuple[Document, Mapping[str, Any] | None]]  # None: kept


class NeardupFilter(PipelineStep):  # type: ignore[misc] # datatrove has no types
    """Keep one document of each cluster; the others go to `exclusion_writer`, if there is one.

    A dropped document has `duplicate_of`, `relation` and `similarity` in its metadata. `html` says
    that `Document.text` holds pages. `method`, `options`, `keep` and `threshold` are those of
    `neardup.find_duplicates`; a store has its own method, and keeps what came first.
    """

    type = "🫂 - DEDUPS"
    name = "👯 neardup"

    def __init__(
        self,
        *,
        store: str | None = None,
        html: bool = False,
        method: MethodLike = DEFAULT_METHOD,
        options: Mapping[str, object] | None = None,
        keep: str | None = None,
        threshold: float | None = None,
        url_field: str = "url",
        exclusion_writer: DiskWriter | None = None,
    ) -> None:
        super().__init__()
        if store is not None and (keep is not None or threshold is not None):
            raise UsageError("a store keeps the first page: omit keep and threshold")
        self.store, self.html, self.url_field = store, html, url_field
        self.method, self.options = method, options
        self.keep, self.threshold = keep, threshold
        self.exclusion_writer = exclusion_writer

    def run(
        self, data: Iterable[Document], rank: int = 0, world_size: int = 1
    ) -> Iterator[Document]:
        """Pass the documents that are kept on, in their order."""
        if self.store is None and world_size > 1:
            raise UsageError(f"{world_size} tasks see different documents: use tasks=1, or a store")
        judged = self._in_memory(list(data)) if self.store is None else self._with_store(data)
        with self.exclusion_writer or contextlib.nullcontext() as writer:
            for document, reason in judged:
                self.stat_update("total")
                if reason is None:
                    self.stat_update("forwarded")
                    self.update_doc_stats(document)
                    yield document
                    continue
                self.stat_update("dropped", f"dropped_{reason['relation']}")
                document.metadata.update(reason)
                if writer is not None:
                    writer.write(document, rank)

    def _in_memory(self, documents: list[Document]) -> Judged:
        if not documents:
            return
        result = find_duplicates(
            [document.text for document in documents],
            html=self.html,
            urls=[self._url(document) for document in documents],
            method=self.method,
            options=self.options,
            keep=self.keep,
            threshold=self.threshold,
        )
        for document, row in zip(documents, result.to_arrow().to_pylist(), strict=True):
            if row["keep"]:
                yield document, None
            else:
                original = documents[row["duplicate_of"]].id
                yield document, _reason(original, row["relation"], row["similarity"])

    def _with_store(self, data: Iterable[Document]) -> Judged:
        make = html_page if self.html else text_page
        method = None if self.method == DEFAULT_METHOD else self.method
        waiting: deque[Document] = deque()  # for their answers

        def pages() -> Iterator[RawPage]:
            for document in data:
                waiting.append(document)
                yield make(document.text, id=document.id, url=self._url(document))

        with Index.open(str(self.store), method, self.options) as index:
            for answer in index.stream(pages()):
                reason = _reason(answer.of, str(answer.relation), answer.similarity)
                yield waiting.popleft(), reason if answer.duplicate else None

    def _url(self, document: Document) -> str:
        return str(document.metadata.get(self.url_field) or "")


def _reason(original: str | None, relation: str, similarity: float | None) -> dict[str, Any]:
    return {"duplicate_of": original, "relation": relation, "similarity": similarity}
