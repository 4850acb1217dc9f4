"""What is remembered of pages by their own text, from their lines to columns of features.

Two kernels call those of `kernels.site`, `kernels.own_text` and `kernels.own_shingles` in turn: a
page that comes alone pays as much for every call as for the work in it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from neardup.kernels.jit import Bytes, kernel
from neardup.kernels.lines import line_starts
from neardup.kernels.minhash import group_hashes, one_permutation
from neardup.kernels.own_shingles import heaviest_sentences, own_shingles
from neardup.kernels.own_text import (
    Weights,
    heaviest_lines,
    line_weights,
    own_masses,
    prose_shares,
    weights_on_site,
)
from neardup.kernels.shingles import Hashes, Offsets
from neardup.kernels.site import (
    CountTable,
    counts_of,
    host_keys,
    line_counts,
    title_keys,
    trace_counts,
)

Flags = NDArray[np.bool_]

NEARLY_ALL = 0.75  # of the pages of a host
SEVERAL = 4  # pages of a host with the same text, or nearly
PAIR, FEW_IN = 2.0, 8  # pages: two of sixteen are few, two of eight may be two of many
SAMPLES = 3  # lines remembered as examples for the evidence
SAMPLE_BYTES = 160


class Cut(NamedTuple):
    """Text cut to tokens."""

    tokens: Hashes
    piece_tokens: Offsets  # the first token of each sentence
    line_pieces: Offsets  # the first sentence of each line
    dense: Flags  # lines of scripts without spaces


class OnSites(NamedTuple):
    """What pages have in common with others of their sites: see `text.sites.Layout`."""

    hosts: Hashes
    titles: Hashes
    furniture: Hashes
    hashes: Hashes  # of each line
    long_lines: Offsets
    traces: Hashes  # of each long line
    traced: Offsets  # the first long line of each page


class Constants(NamedTuple):
    """Those of `OwnTextOptions` that weights depend on."""

    few_pages: int
    link: float
    outside: float
    short: float
    prose_share: float
    power: float
    own_share: float
    new_share: float
    faint: float


class Weighed(NamedTuple):
    """The lines of some pages, weighed."""

    units: Offsets
    kept: Weights  # the weight of each line; 0 if it is left out
    on_host: Weights  # its weight next to a page of the same host
    own_titles: Hashes  # the title of a page, if few pages of the host have it; 0 otherwise
    may_be_shells: Flags  # pages whose text did not arrive, unless they show their title


@kernel
def weigh(
    cut: Cut,
    documents: Offsets,
    menus: Flags,
    regions: NDArray[np.uint8],
    link_shares: NDArray[np.float32],
    sites: OnSites,
    table: CountTable,
    constants: Constants,
) -> Weighed:
    """The weight of each line of some pages; `table` has the counts of a survey.

    One page in `FEW_IN` of a host is few: a title that so many have is the page's and not the
    host's, and what no more pages of a title have is no template between two of them, who are both
    among these pages themselves. A page without a title may have any.
    """
    c = constants
    bits, starts, keys, key_counts = table
    host_pages = counts_of(host_keys(sites.hosts), bits, starts, keys, key_counts)
    counts = line_counts(
        sites.hashes,
        documents,
        sites.hosts,
        host_pages,
        sites.furniture,
        c.few_pages,
        bits,
        starts,
        keys,
        key_counts,
    )
    edited = counts.copy()
    of_traces = trace_counts(
        sites.traces, sites.traced, sites.hosts, host_pages, bits, starts, keys, key_counts
    )
    for number in range(len(sites.long_lines)):
        line = sites.long_lines[number]
        edited[line] = max(edited[line], of_traces[number])
    with_title = counts_of(title_keys(sites.hosts, sites.titles), bits, starts, keys, key_counts)
    few = host_pages / FEW_IN
    may_be_pair = (with_title > 1) | (sites.titles == 0)
    pair_levels = np.where(may_be_pair, np.minimum(np.maximum(few, 1.0), PAIR), 1.0)
    units = np.empty(len(menus), np.int64)
    for line in range(len(units)):
        first, last = cut.line_pieces[line], cut.line_pieces[line + 1]
        tokens = cut.piece_tokens[last] - cut.piece_tokens[first]
        units[line] = tokens if cut.dense[line] else 2 * tokens
    prose = prose_shares(menus, regions, link_shares, c.link, c.outside)
    kept, on_host, levels = weights_on_site(
        line_weights(prose, units, documents, c.short, c.prose_share, c.outside),
        prose,
        units,
        counts,
        edited,
        with_title,
        np.maximum(few, PAIR),
        pair_levels,
        documents,
        c.power,
        c.own_share,
        c.new_share,
        c.faint,
    )
    own_titles = np.where(with_title <= few, sites.titles, np.uint64(0))
    on_most = (levels >= NEARLY_ALL * host_pages) & (levels <= host_pages)
    of_others = levels >= np.maximum(2 * with_title, SEVERAL)
    return Weighed(units, kept, on_host, own_titles, of_others & on_most & (sites.titles != 0))


@kernel
def keys(
    shingles: NDArray[np.uint32],
    shingle_places: Offsets,
    sentences: Hashes,
    sentence_places: Offsets,
    amounts: Weights,
    enough: float,
    bands: int,
    rows: int,
) -> tuple[Offsets, Hashes]:
    """Blocking keys and their pages: `bands` hashes of `rows` samples of the shingles each, and the
    sentences; none of pages with less than `enough` own text."""
    of_bands = group_hashes(one_permutation(shingles, shingle_places, bands * rows), rows)
    room = of_bands.size + len(sentences)
    pages, numbers, filled = np.empty(room, np.int64), np.empty(room, np.uint64), 0
    for page in range(len(amounts)):
        if amounts[page] >= enough:
            here = sentences[sentence_places[page] : sentence_places[page + 1]]
            for some in (of_bands[page], here):
                pages[filled : filled + len(some)] = page
                numbers[filled : filled + len(some)] = some
                filled += len(some)
    return pages[:filled], numbers[:filled]


class Features(NamedTuple):
    """The columns of `methods.own_text`: values, and where those of each page start."""

    texts: Hashes
    masses: Weights
    host_masses: Weights
    amounts: Weights
    shingles: NDArray[np.uint32]
    shingle_places: Offsets
    run_lines: NDArray[np.uint32]
    run_tokens: NDArray[np.uint32]
    run_units: NDArray[np.uint8]
    run_weights: NDArray[np.float32]
    host_weights: NDArray[np.float32]
    run_places: Offsets
    sentences: Hashes
    sentence_places: Offsets
    samples: NDArray[np.uint32]
    sample_places: Offsets
    sample_bytes: Bytes
    sample_offsets: Offsets


@kernel
def features(
    data: Bytes,
    starts: Offsets,
    documents: Offsets,
    cut: Cut,
    weighed: Weighed,
    shingle: int,
    most_sentences: int,
) -> Features:
    """What is remembered of pages whose lines are weighed.

    A run is a line that is kept. Samples are the heaviest lines of each page, by their numbers
    among its runs.
    """
    kept, units = weighed.kept, weighed.units
    line_tokens = cut.piece_tokens[cut.line_pieces]
    shingles, shingle_places, texts = own_shingles(
        cut.tokens, line_tokens, documents, kept, cut.dense, shingle
    )
    sentences, sentence_places = heaviest_sentences(
        cut.tokens,
        cut.piece_tokens,
        cut.line_pieces,
        documents,
        kept,
        cut.dense,
        most_sentences,
        shingle,
    )
    masses, amounts = own_masses(kept, units, documents)
    host_masses, _ = own_masses(weighed.on_host, units, documents)
    count = (kept > 0.0).sum()
    run_lines, run_tokens = np.empty(count, np.uint32), np.empty(count, np.uint32)
    run_units = np.empty(count, np.uint8)
    run_weights, host_weights = np.empty(count, np.float32), np.empty(count, np.float32)
    run_places, runs_before = np.zeros(len(documents), np.int64), np.empty(len(kept), np.int64)
    run = 0
    for document in range(len(documents) - 1):
        for line in range(documents[document], documents[document + 1]):
            runs_before[line] = run - run_places[document]
            if kept[line] > 0.0:
                unit = 1 if cut.dense[line] else 2
                run_lines[run] = line - documents[document]
                run_tokens[run] = line_tokens[line + 1] - line_tokens[line]
                run_units[run] = unit
                run_weights[run] = kept[line] * unit
                host_weights[run] = weighed.on_host[line] * unit
                run += 1
        run_places[document + 1] = run
    chosen, sample_places = heaviest_lines(kept * units, documents, SAMPLES)
    sample_bytes, sample_offsets = line_starts(data, starts, chosen, SAMPLE_BYTES)
    return Features(
        texts,
        masses,
        host_masses,
        amounts,
        shingles,
        shingle_places,
        run_lines,
        run_tokens,
        run_units,
        run_weights,
        host_weights,
        run_places,
        sentences,
        sentence_places,
        runs_before[chosen].astype(np.uint32),
        sample_places,
        sample_bytes,
        sample_offsets,
    )
