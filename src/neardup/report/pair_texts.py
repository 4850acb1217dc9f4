"""The sampled pairs as the report shows them: evidence, and the two texts side by side."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from neardup.engines.features import Rows
from neardup.engines.parsing import Spilled
from neardup.report.decisions import Decision, Pair
from neardup.report.difference import Part, Row, difference
from neardup.report.document import script_safe_json
from neardup.report.listing import LONGEST_NAME, LONGEST_TITLE, rounded
from neardup.report.page_notes import read_column
from neardup.report.visible import shortened, visible

LONGEST_TEXT = 12_000  # characters of each side that are compared
LONGEST_SHARED = 3_000  # characters of a stretch that both sides share
LONGEST_EVIDENCE = 1_500  # characters
TEXT_BYTES = {Decision.JOINED: 2_000_000, Decision.RELATED: 800_000, Decision.REJECTED: 1_200_000}


def show_pairs(spilled: Spilled, pairs: Iterable[Pair], places: Rows) -> list[dict[str, Any]]:
    """The pairs for the report's data; `places` tells where each page's cluster is listed, or -1.

    Texts go to the pairs nearest to the other decision first, as long as there is room.
    """
    pairs = sorted(pairs, key=_doubtful_first)
    pages = np.unique(np.array([(pair.left, pair.right) for pair in pairs], np.int64))
    titles = read_column(spilled, "title", pages, 4 * LONGEST_TITLE)
    texts = read_column(spilled, "text", pages, LONGEST_TEXT)
    notes = _page_notes(spilled, pages, titles, places)
    room = dict(TEXT_BYTES)
    shown = []
    for pair in pairs:
        rows = None
        if room[pair.decision] > 0:
            rows = _rows(texts.get(pair.left), texts.get(pair.right))
            room[pair.decision] -= len(script_safe_json(rows).encode())
        fits = room[pair.decision] >= 0
        shown.append({**_told(pair, notes), "rows": rows if fits else None})
    return shown


def _doubtful_first(pair: Pair) -> tuple[int, bool, float, int, int]:
    similarity = pair.similarity if pair.similarity is not None else 0.0
    nearness = similarity if pair.decision is Decision.JOINED else -similarity
    return pair.decision, pair.similarity is None, nearness, pair.left, pair.right


def _page_notes(
    spilled: Spilled, pages: Rows, titles: Mapping[int, str], places: Rows
) -> dict[int, dict[str, Any]]:
    ids = spilled.ids.take(pa.array(pages)).to_pylist()
    columns = spilled.pages.select(["url", "size", "length"]).take(pa.array(pages)).to_pylist()
    return {
        page: {
            "id": shortened(id_, LONGEST_NAME),
            "url": shortened(columns["url"], LONGEST_NAME),
            "title": shortened(titles.get(page, ""), LONGEST_TITLE),
            "bytes": columns["size"],
            "characters": columns["length"],
            "cluster": int(places[page]),
        }
        for page, id_, columns in zip(pages.tolist(), ids, columns, strict=True)
    }


def _told(pair: Pair, notes: Mapping[int, Mapping[str, Any]]) -> dict[str, Any]:
    return {
        "a": notes[pair.left],
        "b": notes[pair.right],
        "decision": pair.decision.name.lower(),
        "relation": pair.relation,
        "similarity": rounded(pair.similarity),
        "evidence": _evidence(pair.evidence),
    }


def _evidence(evidence: str) -> Any:
    """What the method said, made visible; of very much, only why."""
    said = json.loads(evidence)
    if len(evidence) > LONGEST_EVIDENCE:
        said = {
            "why": str(said.get("why", ""))[:LONGEST_EVIDENCE],
            "more": "in the tables beside this report",
        }
    return _visible_data(said)


def _visible_data(data: Any) -> Any:
    if isinstance(data, str):
        return visible(data)
    if isinstance(data, dict):
        return {visible(key): _visible_data(value) for key, value in data.items()}
    return [_visible_data(value) for value in data] if isinstance(data, list) else data


def _rows(left: str | None, right: str | None) -> list[Any] | None:
    """The difference as plain data, or nothing where a text is not at hand."""
    if left is None or right is None:
        return None
    rows = difference(visible(left), visible(right))
    return [part for row in rows for part in _row_data(row)]


def _row_data(row: Row) -> list[Any]:
    """A text that both sides share; how many characters of it are left out; or a list of runs."""
    if len(row) > 1 or row[0].part is not Part.SHARED or row[0].left != row[0].right:
        return [[_run_data(run.part, run.left, run.right) for run in row]]
    text = row[0].left
    if len(text) <= LONGEST_SHARED:
        return [text]
    half = LONGEST_SHARED // 2
    return [text[:half], len(text) - 2 * half, text[-half:]]


def _run_data(part: Part, left: str, right: str) -> list[Any]:
    if part is Part.LEFT:
        return [int(part), left]
    if part is Part.RIGHT:
        return [int(part), right]
    return [int(part), left] if left == right else [int(part), left, right]
