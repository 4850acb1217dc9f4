"""Rows as lines of JSON, by columns, are what `json` writes of each row."""

from __future__ import annotations

import json

import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from neardup.local import result
from neardup.local.result import CLUSTERS, PAIRS, SKIPPED

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=8) | st.sampled_from(
    ['"', "\\", "\n\t\x00", "茶", "𠮷", "https://example.org/?a=1&b=2"]
)
values = {
    pa.string(): texts,
    pa.bool_(): st.booleans(),
    pa.int64(): st.integers(-(2**63), 2**63 - 1),
    pa.float64(): st.floats(allow_nan=False, allow_infinity=False),
}


def rows_of(schema: pa.Schema) -> st.SearchStrategy[list[dict[str, object]]]:
    columns = {
        field.name: st.none() | values[field.type] if field.nullable else values[field.type]
        for field in schema
    }
    return st.lists(st.fixed_dictionaries(columns), max_size=6)


@pytest.mark.parametrize("schema", [CLUSTERS, SKIPPED, PAIRS])
@given(st.data())
def test_lines(schema: pa.Schema, data: st.DataObject) -> None:
    rows = data.draw(rows_of(schema))
    batch = pa.RecordBatch.from_pylist(rows, schema)
    begin = data.draw(st.integers(0, len(rows)))
    chosen = batch.slice(begin)
    wanted = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in chosen.to_pylist())
    assert written(chosen) == wanted


def test_what_is_json_already_goes_in_as_it_is() -> None:
    batch = pa.record_batch({"a": ["x"], "evidence": ['{"why":"so"}']})
    assert written(batch, ("evidence",)) == '{"a": "x", "evidence": {"why":"so"}}\n'


def test_large_batches_are_written_in_pieces() -> None:
    batch = pa.record_batch({"a": [str(number) for number in range(1000)]})
    pieces = list(result.json_lines(batch, largest=64))
    assert len(pieces) > 10
    assert b"".join(pieces).decode() == written(batch)


def written(batch: pa.RecordBatch, ready: tuple[str, ...] = ()) -> str:
    return b"".join(result.json_lines(batch, ready)).decode()


@given(
    st.lists(
        st.one_of(st.floats(0, 1), st.floats(allow_nan=False, allow_infinity=False)) | st.none()
    )
)
@example([0.0, 1.0, 1e-4, 9.9e-5, 0.1, 1 / 3, 5e-324, -0.5, 1e16, None])
def test_numbers_are_written_as_python_writes_them(numbers: list[float | None]) -> None:
    column = pa.array(numbers, pa.float64())
    assert result.json_values(column).to_pylist() == [json.dumps(number) for number in numbers]
