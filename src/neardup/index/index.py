"""`Index`: whether a page is new or a duplicate, and of which page, answered at crawl time.

    index = Index.open("sqlite:///crawl.db")
    answer = index.add(html_page(html, url=url))
    if answer.duplicate: ...                          # of answer.of, in answer.cluster

Answers are those of a batch run over the pages so far: text, features, candidates, verdicts and
clusters are computed in the same way. Threads and processes may share an index.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from functools import partial
from itertools import chain, islice
from pathlib import Path
from types import TracebackType
from typing import NamedTuple

from neardup.errors import RefusedError, unknown
from neardup.index import contents, export, feedback, recheck, removal
from neardup.index.answers import (
    Answer,
    Changes,
    ClusterSummary,
    Event,
    Feedback,
    Rechecked,
    StoredPage,
    micros,
    now,
    planned_answers,
    stored_answers,
)
from neardup.index.candidates import BOUNDS, Bounds
from neardup.index.features import FeatureMemory
from neardup.index.intake import Arrived, take_in
from neardup.index.names import name_groups
from neardup.index.plan import Memory, Plan, apply_plan, forget_pages, make_plan
from neardup.index.settings import Request, settle
from neardup.index.sites import PageCounts
from neardup.local.run import Progress, default_workers, ordered_map
from neardup.methods.base import Method
from neardup.methods.registry import MethodLike
from neardup.model import Cluster, Page, RawPage, Verdict
from neardup.pages import batches
from neardup.rules.keeping import policy_order
from neardup.stores.records import FeedbackRow, PageRow
from neardup.stores.session import Session
from neardup.stores.store import Store, open_store
from neardup.text.tokens import search_words

PAGES_AT_ONCE = 256
BYTES_AT_ONCE = 16 * 1024**2
NO_NUMBER = -1
MAIN_CHANGES = ("created", "merged", "split")
CHANGES = (*MAIN_CHANGES, "joined", "left", "removed", "kept")

Input = RawPage | Page


class Index:
    """The pages seen so far. Open one with `Index.open`; it is also a context manager."""

    def __init__(
        self,
        store: Store,
        method: Method,
        *,
        keep_text: bool,
        search_text: bool = False,
        clock: Callable[[], int] = now,
        bounds: Bounds = BOUNDS,
    ) -> None:
        """`clock` returns the time in microseconds since 1970, UTC."""
        self.store = store
        self.method = method
        self.keep_text = keep_text
        self.search_text = search_text
        self.clock = clock
        self.bounds = bounds
        self._memory = Memory(PageCounts(), FeatureMemory(), keep_text)

    @classmethod
    def open(
        cls,
        url: str,
        method: MethodLike | None = None,
        options: Mapping[str, object] | None = None,
        *,
        preset: str | None = None,
        view: str | None = None,
        keep_text: bool | None = None,
        search_text: bool | None = None,
        keep: str | None = None,
        window: timedelta | None = None,
        create: bool = True,
        upgrade: bool = False,
    ) -> Index:
        """The index in the store at `url`: sqlite:///file.db, postgresql://... or memory://.

        A new store records the method (default own-text), its options and its view. Later they may
        be omitted; different ones are an error. `keep_text` (default yes) keeps the text of pages,
        which `recheck` and the review pages need; `search_text` (default no) also finds clusters
        by words of their texts, which takes some 10 KB a page. `keep` is the policy of `dedup` by
        which a page stands for its cluster (default: the page that arrived first). With `window`,
        pages match only if they were last added within that time of each other. `upgrade` opens a
        store of an earlier version, so that `recheck` can compute everything again.
        """
        store = open_store(url, create=create)
        try:
            span = None if window is None else window // timedelta(microseconds=1)
            requested = Request(
                method, options, preset, view, keep_text, search_text, keep, span, upgrade
            )
            settled = settle(store, requested)
            made = settled.make_method()
        except BaseException:
            store.close()
            raise
        return cls(
            store,
            made,
            keep_text=settled.keep_text,
            search_text=settled.search_text,
            bounds=dataclasses.replace(BOUNDS, keep=settled.keep, window=settled.window),
        )

    def close(self) -> None:
        """Close files and connections."""
        self.store.close()

    def __enter__(self) -> Index:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    # Adding and querying

    def add(self, page: Input) -> Answer:
        """Add a page and report whether it is new. Once this returns, the page is stored.

        A page with a known id is the same page: with the same content nothing changes, with other
        content it replaces the earlier version. A page that the store cannot hold is not added:
        `refused` says why.
        """
        arrived = self._take_in([page])
        return self._store(lambda: arrived)[arrived.ids[0]]

    def add_many(self, pages: Iterable[Input]) -> list[Answer]:
        """`add` for many pages, in batches; the answers are in the order of the pages."""
        return list(self.stream(pages))

    def stream(self, pages: Iterable[Input], *, workers: int | None = None) -> Iterator[Answer]:
        """`add_many` for any number of pages: answers come as soon as pages are stored."""
        some = iter(batches(pages, PAGES_AT_ONCE, BYTES_AT_ONCE))
        first = list(islice(some, 2))
        if len(first) < 2:  # nothing to parse meanwhile: no threads
            parsed: Iterator[Arrived] = map(self._take_in, first)
        else:
            workers = workers or default_workers()
            parsed = ordered_map(self._take_in, chain(first, some), workers)
        for arrived in parsed:
            answers = self._store(lambda arrived=arrived: arrived)  # type: ignore[misc]
            yield from (answers[each] for each in arrived.ids)

    def query(self, page: Input) -> Answer:
        """What `add` would answer, without storing the page."""
        return self.query_many([page])[0]

    def query_many(self, pages: Sequence[Input]) -> list[Answer]:
        """What `add` would answer for each page if it arrived alone."""
        answered = []
        columns = self.method.columns
        for page in pages:
            arrived = take_in([page], columns=columns)
            answers = self.store.read(partial(self._query, arrived=arrived))
            answered.append(answers[arrived.ids[0]])
        return answered

    def explain(self, a: str, b: str) -> Verdict:
        """The method's verdict on two stored pages: the relation of `a` to `b`."""
        return self.store.read(lambda session: contents.explain(self.method, session, a, b))

    # Removing

    def remove(self, id: str) -> bool:  # noqa: A002 - the word for it
        """Remove a page and recluster what it leaves; False if it was not in the index."""
        return self.remove_many([id]) == 1

    def remove_many(self, ids: Sequence[str]) -> int:
        """Remove pages; returns how many of them were in the index."""

        def work(session: Session) -> int:
            rows = list(session.known(list(ids)).values())
            removal.remove(self.method, session, rows, self.clock(), self.bounds)
            return len(rows)

        count = self.store.write(work)
        if count:
            self.store.compact(thorough=False)
        return count

    def expire(self, older_than: datetime | timedelta) -> int:
        """Remove pages not added since that time, or for that long; returns how many."""
        if isinstance(older_than, timedelta):
            moment = self.clock() - round(older_than.total_seconds() * 1e6)
        else:
            moment = micros(older_than)
        count = removal.expire(self.method, self.store, moment, self.clock, self.bounds)
        if count:
            self.store.compact()
        return count

    # Reading

    def __len__(self) -> int:
        return self.store.read(lambda session: session.count_pages())

    def page(self, id: str) -> StoredPage | None:  # noqa: A002
        """A stored page."""
        return self.store.read(lambda session: contents.page(session, id))

    def text(self, id: str) -> Page | None:  # noqa: A002
        """A stored page with its text, if texts are kept."""
        return self.store.read(lambda session: contents.text(session, id))

    def clusters(self, *, smallest: int = 1) -> Iterator[Cluster]:
        """Every cluster of at least `smallest` pages; `kept` is the page that stands for it."""
        return contents.clusters(self.store, smallest)

    def cluster(self, name: str) -> Cluster | None:
        """The cluster with that name, or the one it was merged into."""
        return self.store.read(lambda session: contents.cluster(session, name))

    def list_clusters(
        self,
        *,
        smallest: int = 2,
        host: str = "",
        search: str = "",
        since: datetime | None = None,
        sort: contents.Sort = "size",
        skip: int = 0,
        most: int = 50,
    ) -> list[ClusterSummary]:
        """The clusters that match, by size, or by time of creation or last change.

        `search` are words of an id or a title, or of a text if the store has `search_text`.
        """
        return self.store.read(
            lambda session: contents.list_clusters(
                session,
                smallest,
                host,
                search,
                since,
                sort,
                skip,
                most,
                search_text=self.search_text,
            )
        )

    def members(self, name: str) -> list[StoredPage]:
        """The pages of a cluster in order of arrival."""
        return self.store.read(lambda session: contents.members(session, name))

    def history(self, cluster: str) -> list[Event]:
        """The events of a cluster, in order, even of one that no longer exists."""
        return self.store.read(lambda session: contents.history(session, cluster))

    def changes(
        self, since: int = 0, *, kinds: Sequence[str] = MAIN_CHANGES, most: int = 1_000
    ) -> Changes:
        """What happened to clusters after change number `since`, over the whole index.

        kinds: created, merged, split; joined, left, removed and kept are about single pages.
        """
        for kind in kinds:
            if kind not in CHANGES:
                raise unknown("kind of change", kind, CHANGES)
        return self.store.read(lambda session: contents.changes(session, since, kinds, most))

    def stats(self) -> contents.Stats:
        """Counts over the whole index."""
        return self.store.read(contents.stats)

    def sizes(self) -> dict[str, int]:
        """Bytes in the store by purpose: bookkeeping, keys, verification, text, ..."""
        return self.store.read(lambda session: session.sizes())

    def export(self, out: str | Path, format: str = "jsonl") -> dict[str, int]:  # noqa: A002
        """Write clusters, pairs and kept pages to files in a new directory, as they are now.

        `format` is jsonl, parquet or csv. Returns the number of rows of each file.
        """
        return self.store.read(
            lambda session: export.write_export(self.method, session, Path(out), format)
        )

    # Judging again

    def give_feedback(self, a: str, b: str, *, duplicate: bool, note: str = "") -> None:
        """Store a person's decision on a pair, which overrides the method, also in a recheck."""
        row = FeedbackRow(a, b, duplicate, self.clock(), note)
        self.store.write(lambda session: feedback.give(self.method, session, row, self.bounds))

    def take_back_feedback(self, a: str, b: str) -> bool:
        """Withdraw feedback, so that the method decides again; False if there was none."""
        at = self.clock()
        return self.store.write(
            lambda session: feedback.take_back(self.method, session, a, b, at, self.bounds)
        )

    def feedback(self) -> list[Feedback]:
        """All feedback, oldest first."""
        return self.store.read(feedback.everything)

    def recheck(
        self,
        *,
        keep: str | None = None,
        work: str | Path | None = None,
        progress: Progress | None = None,
    ) -> Rechecked:
        """Judge all stored pages again, as a batch run over them would.

        Clusters keep their names where most of their pages stay. `keep` changes the policy of the
        store; `work` is a temporary directory.
        """
        if keep is not None:
            policy_order(keep)  # reject a bad name before any work
            self.bounds = dataclasses.replace(self.bounds, keep=keep)
        return recheck.recheck(
            self.method,
            self.store,
            self.bounds,
            keep_text=self.keep_text,
            work=work,
            progress=progress,
        )

    def _store(self, arrivals: Callable[[], Arrived]) -> dict[str, Answer]:
        """Add pages in one transaction. If the store refuses, each half is tried separately, so
        that only the pages it cannot hold are left out.

        `arrivals` is called once no other process writes, so it can add what came while waiting.
        """
        try:
            added = self.store.write(lambda session: self._add(session, arrivals()))
            if added.plan is not None:
                self._memory.keep(added.plan)
            return added.answers
        except RefusedError as error:
            arrived = arrivals()
            count = arrived.pages.num_rows
            if count == 1:
                page = arrived.pages["id"][0].as_py()
                return {page: Answer(page, duplicate=False, cluster=None, refused=str(error))}
            first = arrived.only(list(range(count // 2)))
            second = arrived.only(list(range(count // 2, count)))
            return self._store(lambda: first) | self._store(lambda: second)

    # Inside a transaction

    def _take_in(self, pages: Sequence[Input]) -> Arrived:
        return take_in(pages, packed=self.keep_text)

    def _add(self, session: Session, arrived: Arrived) -> _Added:
        at = self.clock()
        known = _sorted_out(session, arrived)
        answers = stored_answers(self.method, session, known.same)
        if known.same:
            session.saw([row.number for row in known.same], at)
        new = arrived.only(known.new)
        if new.pages.num_rows:
            first = session.take_numbers("page", new.pages.num_rows)
            plan = self._plan(session, new, first, at, known)
            self._forget_replaced(session, plan, known)
            naming = apply_plan(self.method, session, plan, at, new.texts, self.bounds)
            if self.search_text:
                words = (" ".join(search_words(text)) for text in new.pages["text"].to_pylist())
                session.put_words(zip(plan.fresh, words, strict=True))
            planned = planned_answers(self.method, session, plan, naming.clusters)
            answers |= _marked(planned, known)
            return _Added(answers, plan)
        return _Added(answers, None)

    def _forget_replaced(self, session: Session, plan: Plan, known: _Known) -> None:
        """Delete earlier versions of new pages; what they stood for the new ones stand for."""
        replaced = known.replaced
        forget_pages(self.method, session, [row.number for row in replaced.values()])
        if replaced and self.bounds.keep is not None:
            new = {plan.rows[number].id: number for number in plan.fresh}
            session.renumber_kept(
                (new[name], row.cluster, row.number) for name, row in replaced.items()
            )

    def _plan(self, session: Session, new: Arrived, first: int, at: int, known: _Known) -> Plan:
        method, replaced = self.method, known.replaced
        times = new.observed, first, at
        return make_plan(method, session, new.pages, *times, replaced, self.bounds, self._memory)

    def _query(self, session: Session, arrived: Arrived) -> dict[str, Answer]:
        known = _sorted_out(session, arrived)
        answers = stored_answers(self.method, session, known.same)
        new = arrived.only(known.new)
        if new.pages.num_rows:
            at = self.clock()
            first = session.take_numbers("page", 0)
            plan = self._plan(session, new, first, at, known)
            naming = name_groups(plan.groups, plan.rows, at, lambda _: NO_NUMBER)
            clusters = {page: max(name, 0) for page, name in naming.clusters.items()}
            answers |= _marked(planned_answers(self.method, session, plan, clusters), known)
        return answers


class _Added(NamedTuple):
    """The answers to added pages, and the plan by which new ones were stored."""

    answers: dict[str, Answer]
    plan: Plan | None


class _Known(NamedTuple):
    """How arriving pages relate to stored pages with the same ids."""

    same: list[PageRow]  # stored with the same content
    replaced: dict[str, PageRow]  # earlier versions, by id
    new: list[int]  # rows of the batch to be stored


def _marked(answers: dict[str, Answer], known: _Known) -> dict[str, Answer]:
    """The answers on new pages, with those that replace an earlier version marked."""
    for page in known.replaced.keys() & answers.keys():
        answers[page] = dataclasses.replace(answers[page], replaced=True)
    return answers


def _sorted_out(session: Session, arrived: Arrived) -> _Known:
    batch = arrived.pages
    known = session.known(batch["id"].to_pylist())
    if not known:
        return _Known([], {}, list(range(batch.num_rows)))
    digests = batch["digest"].to_numpy().view("int64").tolist()
    same, rows = [], []
    for place, (page, digest) in enumerate(zip(batch["id"].to_pylist(), digests, strict=True)):
        stored = known.get(page)
        if stored is not None and stored.digest == digest:
            same.append(known.pop(page))
        else:
            rows.append(place)
    return _Known(same, known, rows)
