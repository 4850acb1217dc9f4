"""`feature-code`: Chen & Niu, web page deduplication by feature code (基于特征码的网页去重).

    section 2     everything but the main text is masked       text/views.py
    section 3.1   main and auxiliary code                      FeatureCode.features
    section 3.2   the judge, rules 1 to 3                      feature_judge.py
    section 3.3   n - m > 5: when a main code is enough        the option `certain_length`
    section 4     the forest of extended binary sort trees     feature_judge.py

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

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from neardup.arrays import FeatureRows, booleans, list_array, offsets_of, string_buffers
from neardup.kernels.feature_codes import paragraph_codes
from neardup.kernels.shingles import document_hashes
from neardup.methods.base import (
    NOTHING_SURVEYED,
    CandidateSource,
    InOrder,
    Method,
    Numbers,
    SharedKeys,
    State,
    SurveyResults,
    key_batch,
    verdicts,
)
from neardup.methods.feature_judge import (
    Code,
    Codes,
    FeatureCodeOptions,
    Forest,
    Ruling,
    judge_codes,
    may_be_equal,
)
from neardup.model import Relation
from neardup.schemas import ASSIGNED
from neardup.text.main_text import page_lines
from neardup.text.tokens import fold_batch
from neardup.text.views import View

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
    paper_preset = {  # noqa: RUF012
        "index": "forest",
        "minimum_paragraphs": 1,
        "certain_length": -1,
    }
    joins = frozenset({Relation.SAME, Relation.NEAR, Relation.CONTAINS, Relation.CONTAINED})
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

    def features(
        self, pages: pa.RecordBatch, surveyed: SurveyResults = NOTHING_SURVEYED
    ) -> pa.RecordBatch:
        blocks = page_lines(pages)
        folded = fold_batch(blocks.flatten())
        main, auxiliary = paragraph_codes(*string_buffers(folded), self.options.n)
        openings = pc.utf8_slice_codeunits(folded, 0, OPENING)
        is_stock = booleans(pc.match_substring_regex(openings, STOCK_OPENINGS))
        has_symbol = main > 0  # a paragraph of nothing but signs has no code
        places = offsets_of(has_symbol)[blocks.offsets.to_numpy()]
        own = np.diff(offsets_of(has_symbol & ~is_stock)[blocks.offsets.to_numpy()])
        columns = [
            list_array(main[has_symbol], places),
            list_array(auxiliary[has_symbol].ravel(), places * self.options.n),
            pa.array(own, pa.int32()),
            pa.array([_gb18030_bytes(texts) for texts in blocks.to_pylist()], pa.int64()),
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
            [
                document_hashes(codes.main, codes.offsets)[enough],
                units[np.repeat(enough, lengths)],
            ]
        )
        return key_batch(rows, keys)

    def judge(
        self, rows: FeatureRows, left: Numbers, right: Numbers, *, evidence: bool = True
    ) -> pa.RecordBatch:
        ours, theirs = rows.sides(left, right)
        options = self.options
        rulings = judge_codes(Codes.of(ours, options.n), Codes.of(theirs, options.n), options)
        return _verdicts(rulings)

    def assign(self, ids: pa.Array, features: pa.RecordBatch, state: State) -> pa.RecordBatch:
        """Place each page in the paper's forest (`schemas.ASSIGNED`), one after another."""
        forest = Forest(state, self._judge_two, self.options.width)
        columns = (features[name].to_pylist() for name in self.feature_schema.names)
        decidable = self.decidable(features).to_pylist()
        matches, rulings = [], []
        for page, enough, main, auxiliary, own, size in zip(
            ids.to_pylist(), decidable, *columns, strict=True
        ):
            merged = forest.place(page, Code(main, auxiliary, own), size) if enough else None
            match, ruling = merged or (None, _founder(enough, len(main)))
            matches.append(match)
            rulings.append(ruling)
        rest = _verdicts(rulings)
        return pa.record_batch([pa.array(matches, pa.string()), *rest.columns], schema=ASSIGNED)

    def _judge_two(self, ours: Code, theirs: Code) -> Ruling:
        if not may_be_equal(ours.main, theirs.main, self.options):
            return DIFFERENT
        n = self.options.n
        return judge_codes(Codes.of_one(ours, n), Codes.of_one(theirs, n), self.options)[0]


DIFFERENT = Ruling(Relation.DIFFERENT, None, {"why": "too few openings in common"})


def _verdicts(rulings: list[Ruling]) -> pa.RecordBatch:
    return verdicts(
        [each.relation for each in rulings],
        [each.similarity for each in rulings],
        [each.evidence for each in rulings],
    )


def _founder(enough: bool, paragraphs: int) -> Ruling:
    """The ruling on a page that merges with none."""
    if enough:
        return Ruling(Relation.DIFFERENT, None, {"why": "no equal page on its way in the forest"})
    why = f"too little text to tell: {paragraphs} paragraphs"
    return Ruling(Relation.UNDECIDED, None, {"why": why})


def _gb18030_bytes(texts: list[str]) -> int:
    return sum(len(text.encode("gb18030", "replace")) for text in texts)
