"""What people have in memory, as Arrow columns, and back: lists, arrays, series, tables.

Arrow data passes through the Arrow PyCapsule interface, so none of the libraries is needed here:
a data frame is known by what it can do. `rows_where` gives back what it was given, with some rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from neardup.errors import UsageError
from neardup.pages.limits import Columns, no_content
from neardup.schemas import TIME

Mask = NDArray[np.bool_]

TABLES = (
    "an Arrow table, a pandas or polars data frame, a DuckDB relation, a Hugging Face dataset, or "
    "anything with the Arrow PyCapsule interface"
)


# Columns


def sliceable(values: Any, what: str) -> Any:
    """The values as something of known length that slices: as they are, where they do."""
    check_column(values, what)
    if isinstance(values, list | tuple | np.ndarray | pa.Array | pa.ChunkedArray):
        return values
    if _has_arrow(values) or hasattr(values, "__array__"):
        return to_column(values, what)
    return list(values)


def text_column(values: object, what: str) -> pa.ChunkedArray:
    """Texts as a column of large strings, or of large byte strings if they are bytes.

    `what` names the values in messages. Missing values (None, NaN, NA) are null.
    """
    column = to_column(values, what)
    kind = column.type
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
        column = pa.chunked_array(map(decoded, column.chunks), kind)
    if pa.types.is_null(kind):
        return column.cast(pa.large_string())
    if pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or _is_view(kind, "binary"):
        return column.cast(pa.large_binary())
    if pa.types.is_string(kind) or pa.types.is_large_string(kind) or _is_view(kind, "string"):
        return column.cast(pa.large_string())
    raise UsageError(f"{what} must be texts, not values of type {kind}")


def to_column(values: object, what: str) -> pa.ChunkedArray:
    """Values of any kind of list, array or series as a column."""
    if isinstance(values, pa.ChunkedArray):
        return values
    if isinstance(values, pa.Array):
        return pa.chunked_array([values])
    check_column(values, what)
    if hasattr(values, "__arrow_c_stream__"):
        return pa.chunked_array(values)
    if hasattr(values, "__arrow_c_array__"):
        return pa.chunked_array([pa.array(values)])
    if not isinstance(values, np.ndarray | Sequence) and not hasattr(values, "__array__"):
        values = list(cast(Iterable[object], values))
    return pa.chunked_array([_converted(values, what)])


def check_column(values: object, what: str) -> None:
    """Refuse what is not a list, array or series."""
    if _has_arrow(values) or isinstance(values, pa.Array | pa.ChunkedArray):
        return
    if isinstance(values, str | bytes | Mapping) or not isinstance(values, Iterable):
        raise UsageError(f"{what} must be a list, an array or a series, not {_kind(values)}")


def _converted(values: Any, what: str) -> pa.Array:
    try:
        return pa.array(values, from_pandas=True)
    except UnicodeEncodeError:  # a lone surrogate, which JSON can hold
        whole = [each.encode("utf-8", "replace").decode() if each else each for each in values]
        return pa.array(whole)
    except (pa.ArrowException, TypeError, ValueError) as error:
        reason = (str(error).splitlines() or [""])[0]
        raise UsageError(f"{what} cannot be read as one column: {reason}") from None


def decoded(column: pa.Array) -> pa.Array:
    """The column without a dictionary; Arrow takes none of a view."""
    if not pa.types.is_dictionary(column.type):
        return column
    kind = column.type.value_type
    plain = pa.large_string() if _is_view(kind, "string") else kind
    return column.dictionary.cast(plain).take(column.indices).cast(kind)


def time_column(values: object, what: str) -> pa.ChunkedArray:
    """Times in microseconds, UTC; those without a zone are taken to be in UTC."""
    column = to_column(values, what)
    if pa.types.is_null(column.type) or pa.types.is_timestamp(column.type):
        if pa.types.is_timestamp(column.type) and column.type.tz is None:
            column = column.cast(pa.timestamp("us"), safe=False)
        return column.cast(TIME, safe=False)
    raise UsageError(f"{what} must be times, not values of type {column.type}")


def _is_view(kind: pa.DataType, of: str) -> bool:
    return bool(getattr(pa.types, f"is_{of}_view")(kind))


def _has_arrow(values: object) -> bool:
    return hasattr(values, "__arrow_c_stream__") or hasattr(values, "__arrow_c_array__")


def _kind(value: object) -> str:
    return f"a {type(value).__name__}" if value is not None else "None"


# Tables


def chosen_columns(named: Mapping[str, str | None], names: Sequence[str]) -> dict[str, str]:
    """Which of the columns `names` hold text, html, id, url, title and time: those that are named,
    and those that have such a name; an id only if it is named."""
    said = {what: name for what, name in named.items() if name is not None}
    columns = Columns.named(said)
    if not {*said} & {"text", "html"} and not {*columns.content} & {*names}:
        advice = '{what}="{name}"'
        raise UsageError(f"the table has {no_content(columns, names, advice)}")
    if strange := [name for name in said.values() if name not in names]:
        raise UsageError(f"the table has no column {strange[0]!r}; it has: {', '.join(names)}")
    return {
        what: name
        for what, name in columns.by_content.items()
        if what in said or (what != "id" and name in names)
    }


class TableColumns:
    """The columns of a table of any kind, by name, and its rows by a mask."""

    def __init__(self, table: object) -> None:
        self.table: Any = table
        self._arrow = _arrow_of(table)

    @property
    def names(self) -> list[str]:
        if self._arrow is not None:
            return list(self._arrow.schema.names)
        names = self.table.column_names if _is_dataset(self.table) else self.table.columns
        return [str(name) for name in names]

    def chosen(self, named: Mapping[str, str | None]) -> dict[str, object]:
        """The `chosen_columns`, by what they hold."""
        return {
            what: self._column(name) for what, name in chosen_columns(named, self.names).items()
        }

    def _column(self, name: str) -> object:
        if self._arrow is not None:
            return self._arrow[name]
        if _is_dataset(self.table):
            return self.table.select_columns([name]).with_format("arrow")[:][name]
        return self.table[name]

    def rows_where(self, mask: Mask) -> Any:
        """The rows where the mask is true, as the kind of table that was given."""
        if _is_dataset(self.table):
            return self.table.select(np.flatnonzero(mask))
        if _is_relation(self.table):
            # DuckDB finds the rows by the name of the variable, so that the new relation belongs
            # to the connection of the old one.
            rows = cast(pa.Table, self._arrow).filter(pa.array(mask))  # noqa: F841
            return self.table.query("neardup_table", "SELECT * FROM rows")
        if self._arrow is not None:
            return self._arrow.filter(pa.array(mask))
        if hasattr(self.table, "filter") and not hasattr(self.table, "iloc"):  # polars
            return self.table.filter(mask)
        return self.table[mask]


def _arrow_of(table: Any) -> pa.Table | pa.RecordBatch | None:
    """The table as Arrow, or None for data frames and datasets, whose columns are taken singly."""
    if isinstance(table, pa.Table | pa.RecordBatch):
        return table
    if _is_relation(table):
        return pa.table(table)
    if type(table).__name__ == "LazyFrame":
        raise UsageError("a lazy frame has no rows yet: pass frame.collect()")
    if type(table).__name__ in ("DatasetDict", "IterableDatasetDict"):
        raise UsageError(f"pass one split of the dataset; it has: {', '.join(table)}")
    if type(table).__name__ == "IterableDataset":
        raise UsageError("a dataset that is streamed has no rows to go back to: load it first")
    if _is_dataset(table) or _is_frame(table):
        return None
    if _has_arrow(table):
        return pa.table(table)
    raise UsageError(f"the table must be {TABLES}, not {_kind(table)}")


def _is_frame(table: object) -> bool:
    return hasattr(table, "columns") and hasattr(table, "shape") and hasattr(table, "__getitem__")


def _is_dataset(table: object) -> bool:
    return hasattr(table, "select_columns") and hasattr(table, "with_format")


def _is_relation(table: object) -> bool:
    return type(table).__name__ == "DuckDBPyRelation"
