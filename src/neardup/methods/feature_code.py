"""`feature-code`: Chen & Niu, web page deduplication by feature code (基于特征码的网页去重).

    section 2     everything but the main text is masked       text/views.py
    section 3.1   main and auxiliary code                      FeatureCode.features
    section 3.2   the judge, rules 1 to 3                      judge_codes
    section 3.3   n - m > 5: when a main code is enough        the option `certain_length`
    section 4     the forest of extended binary sort trees     Forest

The main code (主码) is the first character of each paragraph. The auxiliary code (辅码) has, for
each paragraph, the character before each of its first n punctuation marks. In scripts with spaces
words take the place of characters. Text is folded first (case, width, traditional characters).

Two indexes find the pages to compare (the option `index`):

* `forest`, the paper's: a search visits only the nodes on its path in the tree of its interval. It
  misses equal pages in another interval, and equal pages in the other subtree of a node. What it
  finds depends on the order of the pages.
* `exact`: a key for each thing that rule 3 counts and one for the whole main code. It misses
  nothing: a pair that is equal by rule 3 has at least one of them in common, and a pair that is
  equal by rule 1 has the same main code.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from neardup.arrays import FeatureRows, Numbers, booleans, list_array, offsets_of, string_buffers
from neardup.config import option
from neardup.kernels.feature_codes import common_symbols, equal_lists, paragraph_codes
from neardup.kernels.shingles import document_hashes
from neardup.methods.base import (
    CandidateSource,
    InOrder,
    Method,
    SharedKeys,
    State,
    SurveyResults,
    assigned_batch,
    key_batch,
    verdict_batch,
)
from neardup.model import Relation
from neardup.text.tokens import fold_batch
from neardup.text.views import View, page_lines

EQUAL = frozenset({Relation.SAME, Relation.NEAR, Relation.CONTAINS, Relation.CONTAINED})  # 相等


@dataclass(frozen=True, slots=True)
class FeatureCodeOptions:
    index: Literal["exact", "forest"] = option(
        "exact", "how candidates are found: exactly, or by the paper's sort-tree forest"
    )
    n: int = option(3, "punctuation marks per paragraph for the auxiliary code", minimum=1)
    large: float = option(
        0.8,
        "main codes are near if more than this share of either is in common",
        minimum=0,
        maximum=1,
    )
    small: float = option(
        0.2, "main codes are different if less of both is in common", minimum=0, maximum=1
    )
    undetermined: Literal["different", "compare"] = option(
        "different", "between small and large: different, or compare auxiliary codes (rule 3)"
    )
    auxiliary: float = option(
        0.8,
        "share of equal auxiliary codes required by rule 3",
        minimum=0.01,  # at 0 a pair without an equal paragraph, so without a key, would pass
        maximum=1,
    )
    counting: Literal["codes", "characters"] = option(
        "codes", "what rule 3 counts: whole auxiliary codes, or their single characters"
    )
    width: float = option(50, "width of an interval of the gathering factor (forest)", minimum=1)
    minimum_paragraphs: int = option(
        2, "guard: pages with fewer paragraphs are undecided", minimum=1
    )
    certain_length: int = option(
        5,
        "guard: equal main codes also need rule 3 unless more than this many paragraphs have an "
        "opening of their own; -1 is off",
        minimum=-1,
    )


class Code(NamedTuple):
    """A feature code. Symbols are numbers that sort like their text."""

    main: list[int]  # one symbol per paragraph
    auxiliary: list[int]  # n symbols per paragraph
    own: int  # paragraphs without a stock opening


class Ruling(NamedTuple):
    """The judge's verdict: the relation of the first code to the second."""

    relation: Relation
    similarity: float | None
    evidence: dict[str, object]


@dataclass(frozen=True)
class Codes:
    """The feature codes of many pages: page r has paragraphs `offsets[r]:offsets[r + 1]`."""

    main: NDArray[np.uint64]
    auxiliary: NDArray[np.uint64]  # one row per paragraph
    offsets: Numbers
    own: Numbers

    @classmethod
    def of(cls, features: pa.RecordBatch, n: int) -> Codes:
        main, auxiliary = features["main"], features["auxiliary"]
        offsets = main.offsets.to_numpy().astype(np.int64)
        return cls(
            main.flatten().to_numpy(),
            auxiliary.flatten().to_numpy().reshape(-1, n),
            offsets - offsets[0],
            features["own"].to_numpy().astype(np.int64),
        )

    def auxiliary_units(self, counting: str) -> tuple[NDArray[np.uint64], Numbers]:
        """What rule 3 counts, as hashes, and where each page's begin: one per paragraph (opening
        and auxiliary code), or n (opening, place and character; a missing mark is a character)."""
        count, n = self.auxiliary.shape
        if counting == "codes":
            parts, size = np.column_stack([self.main, self.auxiliary]), 1
        else:
            places = np.broadcast_to(np.arange(n, dtype=np.uint64), (count, n))
            openings = np.broadcast_to(self.main[:, None], (count, n))
            parts, size = np.stack([openings, places, self.auxiliary], axis=2), n
        ends = np.arange(count * size + 1) * (parts.size // max(count * size, 1))
        return document_hashes(parts.ravel(), ends), self.offsets * size

    @classmethod
    def of_one(cls, code: Code, n: int) -> Codes:
        return cls(
            np.array(code.main, np.uint64),
            np.array(code.auxiliary, np.uint64).reshape(-1, n),
            np.array([0, len(code.main)], np.int64),
            np.array([code.own], np.int64),
        )


def judge_codes(left: Codes, right: Codes, options: FeatureCodeOptions) -> list[Ruling]:
    """Rules 1 to 3 of section 3.2 on each pair of codes.

    Main codes are multisets of n and m symbols, in page order. `share` is their intersection as a
    share of the shorter one: "of either" in the paper means that one of the two is enough. Rule 3
    is about the whole intersection, whatever the order of its paragraphs; of several paragraphs
    with one opening those with equal auxiliary codes count as each other's.
    """
    n, m = np.diff(left.offsets), np.diff(right.offsets)
    shorter, longer = np.minimum(n, m), np.maximum(n, m)
    common = common_symbols(left.main, left.offsets, right.main, right.offsets)
    share = common / np.maximum(shorter, 1)
    decidable = shorter >= options.minimum_paragraphs
    equal = decidable & equal_lists(left.main, left.offsets, right.main, right.offsets)
    certain = equal & (np.minimum(left.own, right.own) > options.certain_length)  # rule 1
    subset = decidable & (common == shorter) & (n != m)
    large = decidable & (share > options.large)
    unclear = decidable & ~large & ~subset & (share >= options.small) & (common > 0)
    compared = equal | subset | large | (unclear & (options.undetermined == "compare"))  # rule 2
    units = [side.auxiliary_units(options.counting) for side in (left, right)]
    same = common_symbols(*units[0], *units[1])
    shared = common * (options.n if options.counting == "characters" else 1)
    passed = certain | (compared & (same / np.maximum(shared, 1) >= options.auxiliary))  # rule 3
    relations = np.select(
        [~decidable, passed & equal, passed & subset & (n < m), passed & subset, passed],
        ["undecided", "same", "contained", "contains", "near"],
        "different",
    )
    columns = (relations, common, n, m, longer, compared & ~certain, shared, same, unclear)
    return [_ruling(*row) for row in zip(*(each.tolist() for each in columns), strict=True)]


def _ruling(
    name: str,
    common: int,
    n: int,
    m: int,
    longer: int,
    compared: bool,
    shared: int,
    same: int,
    unclear: bool,
) -> Ruling:
    relation = Relation(name)
    evidence: dict[str, object] = {"common": common, "main_codes": [n, m]}
    if relation is Relation.UNDECIDED:
        why = f"too little text to tell: {min(n, m)} paragraphs"
        return Ruling(relation, None, {"why": why, **evidence})
    reasons = {
        Relation.SAME: f"equal main codes of {n} paragraphs",
        Relation.CONTAINED: f"all {n} main codes among the other page's {m}",
        Relation.CONTAINS: f"all {m} main codes of the other page among these {n}",
    }
    why = reasons.get(relation, f"{common} main codes in common, of {n} and {m}")
    if compared:
        evidence |= {"auxiliary_shared": shared, "auxiliary_equal": same}
        what = "codes" if shared == common else "characters"
        why += f"; {same} of {shared} auxiliary {what} equal"
    elif unclear:
        why += ": neither few nor most"
    return Ruling(relation, common / longer, {"why": why, **evidence})


def may_be_equal(ours: list[int], theirs: list[int], options: FeatureCodeOptions) -> bool:
    """A cheap test, False only if rule 2 would say different: ignores how often symbols occur."""
    shorter, longer = sorted((ours, theirs), key=len)
    least = options.large if options.undetermined == "different" else options.small
    at_most = sum(map(set(longer).__contains__, shorter))
    return at_most > 0 and at_most >= least * len(shorter)


class Node(NamedTuple):
    """A node as stored in the `nodes` map. An empty name means no child."""

    page: str
    key: list[int]  # the main code it was created with; kept if a longer page takes the node
    left: str
    right: str
    near: list[str]  # the auxiliary list


class Forest:
    """Places pages one by one.

    There is one tree for each interval of the gathering factor. A node holds a page, which the
    paper keeps, and its auxiliary list (辅指针) of near pages. The forest is stored in three maps
    of a `State`:

        trees   interval -> the root node
        nodes   node (named after the page that created it) -> page, key, left, right, list
        codes   page -> its feature code

    Search and insertion are loops, not recursions: pages sorted by main code make one long branch,
    which costs time (one comparison per node) but no stack. As in the paper, trees are not
    balanced; rotations would change which nodes a search visits.
    """

    def __init__(self, state: State, judge: Callable[[Code, Code], Ruling], width: float) -> None:
        self._trees = state.map("feature-code/trees")
        self._nodes = state.map("feature-code/nodes")
        self._codes = state.map("feature-code/codes")
        self._judge = judge
        self._width = width

    def place(self, page: str, code: Code, size: int) -> tuple[str, Ruling] | None:
        """The page this one merges with, and the verdict; None if it becomes a new node.

        `size` is the length of the page's text in bytes.
        """
        self._codes[page] = list(code)
        tree = str(interval(size, len(code.main), self._width))
        name = self._trees.get(tree, "")
        if not name:
            self._trees[tree] = self._grow(page, code)
            return None
        while True:
            node = Node(*self._nodes[name])
            ruling = self._judge(code, self.code(node.page))
            if ruling.relation in EQUAL:
                self._merge(name, node, page, ruling.relation)
                return node.page, ruling
            goes_left = code.main < node.key
            child = node.left if goes_left else node.right
            if not child:
                child = self._grow(page, code)
                node = node._replace(left=child) if goes_left else node._replace(right=child)
                self._nodes[name] = list(node)
                return None
            name = child

    def code(self, page: str) -> Code:
        """The feature code of a placed page."""
        return Code(*self._codes[page])

    def nodes(self) -> list[Node]:
        """All nodes, in the order of creation."""
        return [Node(*values) for values in self._nodes.values()]

    def _grow(self, page: str, code: Code) -> str:
        self._nodes[page] = list(Node(page, code.main, "", "", []))
        return page

    def _merge(self, name: str, node: Node, page: str, relation: Relation) -> None:
        """The merge rules of section 4.2, by the relation of the new page to the node's."""
        if relation is Relation.SAME:  # 1) equal main codes: the tree does not change
            return
        # 2) a proper subset of the node's page, or 4) a large intersection
        kept, listed = node.page, page
        if relation is Relation.CONTAINS:  # 3) the node's page is a proper subset: swap them
            kept, listed = page, node.page
        near = self._listed(node.near, listed)
        self._nodes[name] = list(node._replace(page=kept, near=near))

    def _listed(self, near: list[str], page: str) -> list[str]:
        """The auxiliary list with the page added, unless it already holds an equal one."""
        code = self.code(page)
        is_listed = any(self._judge(code, self.code(other)).relation in EQUAL for other in near)
        return near if is_listed else [*near, page]


def interval(size: int, length: int, width: float) -> int:
    """The interval of the gathering factor `size / length`: 0 for (0, width], 1 for the next."""
    return max(math.ceil(size / length / width) - 1, 0)


OPENING = 32  # characters: enough for a stock opening and the marks before it
# Openings that many reports share (据报道 and 新华社 are the paper's), in folded text.
STOCK_OPENINGS = (
    r"^\W*(据|新华社|新华网|中新社|中新网|人民网|央视|本报讯|本报记者|本网讯|记者|责任编辑|编辑|来源"
    r"|by |reuters|the associated press|associated press|afp|advertisement|read more|source|photo"
    r"|image|updated|published|copyright)"
)


class FeatureCode(Method):
    """First characters of paragraphs, and the characters before punctuation marks."""

    name = "feature-code"
    paper = "Chen & Niu 2005, feature code and sort-tree forest"
    languages = "Chinese; others by words in place of characters"
    cost = "linear, plus the pairs that share a paragraph; forest: one tree search per page"
    Options = FeatureCodeOptions
    options: FeatureCodeOptions
    paper_preset = {
        "index": "forest",
        "minimum_paragraphs": 1,
        "certain_length": -1,
    }
    joins = EQUAL
    default_view = View.OWN
    view_option = "site_blocks"

    @property
    def candidate_source(self) -> CandidateSource:
        return InOrder() if self.options.index == "forest" else SharedKeys()

    feature_schema = pa.schema(
        [
            ("main", pa.list_(pa.uint64())),
            ("auxiliary", pa.list_(pa.uint64())),  # n symbols per paragraph
            ("own", pa.int32()),  # paragraphs without a stock opening: the paper's n - m
            ("bytes", pa.int64()),  # of the main text in GB18030, the paper's tl
        ]
    )

    def features(self, pages: pa.RecordBatch, surveyed: SurveyResults) -> pa.RecordBatch:
        blocks = page_lines(pages)
        folded = fold_batch(blocks.flatten())
        main, auxiliary = paragraph_codes(*string_buffers(folded), self.options.n)
        openings = pc.utf8_slice_codeunits(folded, 0, OPENING)
        is_stock = booleans(pc.match_substring_regex(openings, STOCK_OPENINGS))
        has_symbol = main > 0  # a paragraph of signs alone has no code
        places = offsets_of(has_symbol)[blocks.offsets.to_numpy()]
        own = np.diff(offsets_of(has_symbol & ~is_stock)[blocks.offsets.to_numpy()])
        texts = pc.binary_join(blocks, "").to_pylist()
        sizes = [len(text.encode("gb18030", "replace")) for text in texts]
        columns = [
            list_array(main[has_symbol], places),
            list_array(auxiliary[has_symbol].ravel(), places * self.options.n),
            pa.array(own, pa.int32()),
            pa.array(sizes, pa.int64()),
        ]
        return pa.record_batch(columns, schema=self.feature_schema)

    def decidable(self, features: pa.RecordBatch) -> pa.BooleanArray:
        return pc.greater_equal(
            pc.list_value_length(features["main"]), self.options.minimum_paragraphs
        )

    def keys(self, features: pa.RecordBatch) -> pa.RecordBatch:
        codes = Codes.of(features, self.options.n)
        enough = booleans(self.decidable(features))
        units, offsets = codes.auxiliary_units(self.options.counting)
        lengths = np.diff(offsets)
        rows = np.concatenate(
            [np.flatnonzero(enough), np.repeat(np.arange(lengths.size), lengths * enough)]
        )
        keys = np.concatenate(
            [document_hashes(codes.main, codes.offsets)[enough], units[np.repeat(enough, lengths)]]
        )
        return key_batch(rows, keys)

    def judge(
        self, rows: FeatureRows, left: Numbers, right: Numbers, *, evidence: bool = True
    ) -> pa.RecordBatch:
        ours, theirs = rows.sides(left, right)
        options = self.options
        rulings = judge_codes(Codes.of(ours, options.n), Codes.of(theirs, options.n), options)
        return verdict_batch(rulings)

    def assign(self, ids: pa.Array, features: pa.RecordBatch, state: State) -> pa.RecordBatch:
        """Place each page in the paper's forest (`schemas.ASSIGNED`), one after another."""
        forest = Forest(state, self._judge_two, self.options.width)
        columns = (features[name].to_pylist() for name in self.feature_schema.names)
        decidable = self.decidable(features).to_pylist()
        assigned = []
        for page, enough, main, auxiliary, own, size in zip(
            ids.to_pylist(), decidable, *columns, strict=True
        ):
            merged = forest.place(page, Code(main, auxiliary, own), size) if enough else None
            match, ruling = merged or (None, _founder(enough, len(main)))
            assigned.append((match, *ruling))
        return assigned_batch(assigned)

    def _judge_two(self, ours: Code, theirs: Code) -> Ruling:
        if not may_be_equal(ours.main, theirs.main, self.options):
            return DIFFERENT
        n = self.options.n
        return judge_codes(Codes.of_one(ours, n), Codes.of_one(theirs, n), self.options)[0]


DIFFERENT = Ruling(Relation.DIFFERENT, None, {"why": "too few openings in common"})


def _founder(enough: bool, paragraphs: int) -> Ruling:
    """The ruling on a page that does not merge with another."""
    if enough:
        return Ruling(Relation.DIFFERENT, None, {"why": "no equal page on its way in the forest"})
    why = f"too little text to tell: {paragraphs} paragraphs"
    return Ruling(Relation.UNDECIDED, None, {"why": why})
