"""The data behind the lists of the report, within a number of bytes.

Clusters come column by column, each id, title and URL written as its difference from a similar one.
The sampled pairs come with their evidence and their two texts side by side.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from neardup.arrays import Numbers, distinct, offsets_of, string_buffers
from neardup.kernels.json_text import shared_ends
from neardup.local.corpus import Corpus
from neardup.local.pipeline import Judged, Outcome
from neardup.local.result import json_strings, json_values
from neardup.methods.base import SurveyResults
from neardup.model import Relation
from neardup.report import Language
from neardup.report.actions import Canonical, canonical_states
from neardup.report.findings import Decision, Hosts, Pair, Room, listed_members
from neardup.report.side_by_side import Kind, Marked, MarkedRow, PageText, Part, mark_texts
from neardup.report.templates import (
    LONGEST_NAME,
    LONGEST_TITLE,
    evidence_entries,
    script_safe_json,
    short_lines,
    shortened,
    translator,
    visible,
)

LONGEST_PAGE = 200_000  # characters of a page that are looked at for the text that counts
PAGE_BYTES_AT_ONCE = 64_000_000
LONGEST_EVIDENCE = 1_500  # characters
RELATIONS = [str(relation) for relation in Relation]
CANONICAL = [str(state) for state in Canonical]


@dataclass
class Listing:
    """The listed clusters. `pages` run along `count`, and the first of each cluster is kept.

    They are JSON. Ids and titles are written against those of the kept page, URLs against the
    page's id (see `differences`); `relation` is a place in `RELATIONS`, `canonical` one in
    `CANONICAL`.
    """

    labels: list[int]
    count: list[int]  # of the pages listed
    size: list[int]  # of all pages
    hosts: list[int]
    saved: list[int]  # bytes
    pages: dict[str, pa.StringArray]


def list_clusters(corpus: Corpus, outcome: Outcome, hosts: Hosts, room: Room) -> Listing:
    """The largest clusters that fit."""
    pages, counts = listed_members(outcome, room)
    ends = offsets_of(counts)
    columns = _page_columns(corpus, outcome, pages, np.repeat(ends[:-1], counts))
    sizes = sum(
        (_size_in_file(column) for column in columns.values()), np.zeros(pages.size, np.int64)
    )
    clusters = int(np.searchsorted(offsets_of(sizes)[ends[1:]], room.listing_bytes, "right"))
    labels = outcome.labels[pages[ends[:clusters]]]
    totals = _totals(corpus, outcome, hosts)
    return Listing(
        labels.tolist(),
        counts[:clusters].tolist(),
        pages={name: column[: ends[clusters]] for name, column in columns.items()},
        **{name: total[labels].tolist() for name, total in totals.items()},
    )


def _size_in_file(column: pa.StringArray) -> Numbers:
    """The bytes of each value with its comma, once `<` is escaped."""
    escapes = pc.multiply(pc.count_substring(column, "<"), 5)
    size: Numbers = pc.add(pc.add(pc.binary_length(column), escapes), 1).to_numpy()
    return size


def _page_columns(
    corpus: Corpus, outcome: Outcome, pages: Numbers, kept: Numbers
) -> dict[str, pa.StringArray]:
    """What is listed of some pages; `kept` is the place of each one's kept page among them."""
    titles = short_lines(corpus.read_column("title", pages, 4 * LONGEST_TITLE), LONGEST_TITLE)
    ids = short_lines(_column(corpus, "id", pages), LONGEST_NAME)
    urls = short_lines(_column(corpus, "url", pages), LONGEST_NAME)
    is_kept = pa.array(outcome.is_kept[pages])
    member = np.cumsum(~outcome.is_kept) - 1  # its row in `to_kept`
    to_kept = outcome.to_kept.take(pa.array(member[pages], mask=outcome.is_kept[pages]))
    similarities = to_kept["similarity"].combine_chunks().dictionary_encode()
    few = pa.array(map(rounded, similarities.dictionary.to_pylist()), pa.float64())
    relations = pc.index_in(to_kept["relation"].combine_chunks(), pa.array(RELATIONS))
    first_id, first_title = ids.take(pa.array(kept)), titles.take(pa.array(kept))
    return {
        "id": pc.if_else(is_kept, json_values(ids), differences(ids, first_id)),
        "url": differences(urls, ids),
        "title": pc.if_else(is_kept, json_values(titles), differences(titles, first_title)),
        "bytes": json_values(_column(corpus, "size", pages)),
        "relation": json_values(relations),
        "similarity": json_values(few.take(similarities.indices)),
        "canonical": json_values(_canonical_states(corpus, outcome, pages)),
    }


def differences(texts: pa.StringArray, others: pa.StringArray) -> pa.StringArray:
    """Each text as its difference from the other one, in JSON: null if they are equal, the text
    itself, or the characters shared at the start and at the end, and the text between them."""
    data, offsets = string_buffers(texts)
    starts, ends, firsts, sizes = shared_ends(data, offsets, *string_buffers(others))
    between = json_strings(data, offsets[:-1] + firsts, sizes)
    numbers = (pa.array(each).cast(pa.string()) for each in (starts, ends))
    written = pc.binary_join_element_wise(
        "[", next(numbers), ",", next(numbers), ",", between, "]", ""
    )
    written = pc.if_else(pa.array(starts + ends > 0), written, between)
    return pc.if_else(pa.array(sizes < 0), "null", written)


def _canonical_states(corpus: Corpus, outcome: Outcome, pages: Numbers) -> pa.Array:
    """What the canonical link of each page says, given the page that is kept; null for that."""
    is_kept = outcome.is_kept[pages]
    both, names = (pages[~is_kept], outcome.kept[pages[~is_kept]]), ("url", "canonical_url")
    states = canonical_states(*(_column(corpus, name, at) for at in both for name in names))
    places = pc.index_in(states, pa.array(CANONICAL))
    return places.take(pa.array(np.cumsum(~is_kept) - 1, mask=is_kept))


def _column(corpus: Corpus, name: str, pages: Numbers) -> pa.Array:
    return corpus.pages.take(pages, [name])[name]


def rounded(similarity: float | None) -> float | None:
    return None if similarity is None else round(similarity, 4)


def _totals(corpus: Corpus, outcome: Outcome, hosts: Hosts) -> dict[str, Numbers]:
    """By cluster: pages, bytes that the duplicates take, hosts."""
    labels, count = outcome.labels, outcome.labels.size
    bytes_ = np.where(outcome.is_kept, 0, corpus.pages.numbers("size"))
    named = np.array([bool(name) for name in hosts.names])[hosts.of_page]
    on_host = distinct((labels * len(hosts.names) + hosts.of_page)[named]) // len(hosts.names)
    return {
        "size": np.bincount(labels, minlength=count),
        "saved": np.bincount(labels, weights=bytes_, minlength=count).astype(np.int64),
        "hosts": np.bincount(on_host, minlength=count),
    }


def show_pairs(
    judged: Judged,
    pairs: Iterable[Pair],
    hosts: Hosts,
    places: Numbers,
    room: Room,
    language: Language,
) -> list[dict[str, Any]]:
    """The pairs as data of the report; `places` holds where each page's cluster is listed, or -1.

    Texts go to the pairs closest to the opposite decision first, as long as there is room.
    """
    pairs = sorted(pairs, key=_doubtful_first)
    sides = [(pair.left, pair.right, hosts.same(pair.left, pair.right)) for pair in pairs]
    pages = np.unique(np.array([side[:2] for side in sides], np.int64))
    texts = _page_texts(judged, sides)
    notes = _page_notes(judged.corpus, pages, places)
    left = {
        Decision.JOINED: room.joined_text_bytes,
        Decision.RELATED: room.related_text_bytes,
        Decision.REJECTED: room.rejected_text_bytes,
    }
    shown = []
    for pair, (one, other, same_host) in zip(pairs, sides, strict=True):
        marked = None
        both = texts.get((one, same_host)), texts.get((other, same_host))
        if left[pair.decision] > 0 and both[0] is not None and both[1] is not None:
            marked = _marked_data(mark_texts(both[0], both[1]))
            left[pair.decision] -= len(script_safe_json(marked).encode())
        fits = left[pair.decision] >= 0
        shown.append({**_pair_data(pair, notes, language), "texts": marked if fits else None})
    return shown


def _page_texts(
    judged: Judged, sides: Sequence[tuple[int, int, bool]]
) -> dict[tuple[int, bool], PageText]:
    """The texts of the pages of some pairs, as the method weighs them; by page and by whether the
    other page is of the same host."""
    texts: dict[tuple[int, bool], PageText] = {}
    wanted = {(page, same_host) for *both, same_host in sides for page in both}
    pages = np.array(sorted({page for page, _ in wanted}), np.int64)
    read = judged.corpus.read_pages(judged.method.columns, pages)
    for numbers, batch, surveys in _with_surveys(judged, read):
        for same_host in (False, True):
            rows = [row for row, page in enumerate(numbers.tolist()) if (page, same_host) in wanted]
            if not rows:
                continue
            some = batch.take(pa.array(rows))
            weights = judged.method.line_weights(some, surveys, same_host=same_host)
            starts = pc.utf8_slice_codeunits(some["text"], 0, LONGEST_PAGE).to_pylist()
            for number, text, weighed in zip(numbers[rows].tolist(), starts, weights, strict=True):
                lines = weighed.values[: text.count("\n") + 1].to_pylist()
                texts[number, same_host] = PageText.of(text, lines)
    return texts


def _with_surveys(
    judged: Judged, read: Iterable[tuple[Numbers, pa.RecordBatch]]
) -> Iterator[tuple[Numbers, pa.RecordBatch, SurveyResults]]:
    """The pages that were read, with the surveys that they depend on; many of them at a time,
    because the surveys may have to be looked up."""
    held: list[tuple[Numbers, pa.RecordBatch]] = []
    size = 0
    for each in chain(read, [None]):
        if held and (each is None or size >= PAGE_BYTES_AT_ONCE):
            surveys = judged.surveys.about(judged.method, [batch for _, batch in held])
            yield from ((numbers, batch, surveys) for numbers, batch in held)
            held, size = [], 0
        if each is not None:
            held.append(each)
            size += each[1].nbytes


def _doubtful_first(pair: Pair) -> tuple[int, bool, float, int, int]:
    similarity = pair.similarity if pair.similarity is not None else 0.0
    nearness = similarity if pair.decision is Decision.JOINED else -similarity
    return pair.decision, pair.similarity is None, nearness, pair.left, pair.right


def _page_notes(corpus: Corpus, pages: Numbers, places: Numbers) -> dict[int, dict[str, Any]]:
    titles = corpus.read_column("title", pages, 4 * LONGEST_TITLE).to_pylist()
    columns = corpus.pages.take(pages, ["id", "url", "size", "length"]).to_pylist()
    return {
        page: {
            "id": shortened(columns["id"], LONGEST_NAME),
            "url": shortened(columns["url"], LONGEST_NAME),
            "title": shortened(title, LONGEST_TITLE),
            "bytes": columns["size"],
            "characters": columns["length"],
            "cluster": int(places[page]),
        }
        for page, title, columns in zip(pages.tolist(), titles, columns, strict=True)
    }


def _pair_data(
    pair: Pair, notes: Mapping[int, Mapping[str, Any]], language: Language
) -> dict[str, Any]:
    return {
        "a": notes[pair.left],
        "b": notes[pair.right],
        "decision": pair.decision.name.lower(),
        "relation": pair.relation,
        "similarity": rounded(pair.similarity),
        **_evidence(pair.evidence, language),
    }


def _evidence(evidence: str, language: Language) -> dict[str, Any]:
    """The reason, the shares of both pages that are shared, and the other evidence.

    Hidden characters are made visible; of long evidence only the reason is shown.
    """
    entries = json.loads(evidence)
    shares = [entries.get("left_share"), entries.get("right_share")]
    if len(evidence) > LONGEST_EVIDENCE:
        more = translator(language)("in the tables beside this report")
        entries = {"why": str(entries.get("why", "")), "more": more}
    shown = evidence_entries(entries, language)
    why = shown.pop("why")[:LONGEST_EVIDENCE]
    return {"why": visible(why), "shares": shares, "evidence": _visible_data(shown)}


def _visible_data(data: Any) -> Any:
    if isinstance(data, str):
        return visible(data)
    if isinstance(data, dict):
        return {visible(key): _visible_data(value) for key, value in data.items()}
    return [_visible_data(value) for value in data] if isinstance(data, list) else data


def _marked_data(marked: Marked) -> dict[str, Any]:
    """Two texts as plain data."""
    return {
        "rows": [_row_data(row) for row in marked.rows],
        "counting": marked.counting,
        "characters": marked.characters,
        "cut": marked.is_cut,
    }


def _row_data(row: MarkedRow) -> Any:
    """A text that both sides share, the number of characters left out of it, a list of runs, or an
    object with what does not count on either side."""
    match row.kind:
        case Kind.SHARED:
            return row.runs[0].left
        case Kind.GAP:
            return row.omitted[0]
        case Kind.FOLDED:
            return {"a": row.runs[0].left, "b": row.runs[1].right, "more": row.omitted}
    return [_run_data(run.part, run.left, run.right) for run in row.runs]


def _run_data(part: Part, left: str, right: str) -> list[Any]:
    if part is Part.LEFT:
        return [int(part), left]
    if part is Part.RIGHT:
        return [int(part), right]
    return [int(part), left] if left == right else [int(part), left, right]
