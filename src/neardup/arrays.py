"""Arrow columns and flat arrays: every conversion between the two, once.

* Strings: `string_buffers` gives the bytes and offsets that kernels read, `string_array` the way
  back. Nothing is copied. `string_columns` makes columns of Python's texts.
* Numbers (`number_array`) and lists: `ragged` gives values and offsets, `list_array` and `lists_of`
  make columns of them.
* Rows of many batches (`FeatureRows`): taken by number, each list copied once, to its place. Arrow
  would take lists number by number, copy what it took to join it, and once more to order it.
* Rows as compressed bytes (`compress`, `decompress`), for stores.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from functools import cache, cached_property
from itertools import accumulate, pairwise
from typing import Any, NamedTuple, TypeVar

import numpy as np
import pyarrow as pa
import zstandard
from numpy.typing import NDArray

from neardup.kernels.memory import Addresses, copy_lists

Numbers = NDArray[np.int64]
Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]
Hashes = NDArray[np.uint64]
Number = TypeVar("Number", np.int64, np.uint64)

STRING = pa.string()
LARGE = pa.LargeStringArray, pa.LargeBinaryArray  # with offsets of 64 bits
FIRST_BYTE = -64  # signed bytes below it continue a character
LARGEST_OFFSET = 2**31 - 1  # of text and lists with offsets of 32 bits

# Strings


def string_buffers(
    column: pa.StringArray | pa.LargeStringArray | pa.LargeBinaryArray,
) -> tuple[NDArray[np.uint8], Numbers]:
    """The bytes of a column, not copied, and the offsets of its rows in them."""
    _, offsets, data = column.buffers()
    width = np.int64 if isinstance(column, LARGE) else np.int32
    if not len(column):
        return np.empty(0, np.uint8), np.zeros(1, np.int64)
    rows = np.frombuffer(offsets, width, len(column) + 1, column.offset * np.dtype(width).itemsize)
    content = np.frombuffer(data, np.uint8) if data is not None else np.empty(0, np.uint8)
    return content, rows.astype(np.int64)


def string_array(
    data: NDArray[np.uint8], offsets: Numbers, *, like: pa.StringArray | None = None
) -> pa.StringArray:
    """A column of the bytes, not copied, with the type and the nulls of `like`."""
    kind = STRING if like is None else like.type
    large = pa.types.is_large_string(kind)
    if not large and offsets[-1] > LARGEST_OFFSET:
        raise ValueError("text above 2 GB in one column: pass fewer rows at a time")
    rows = offsets if large else offsets.astype(np.int32)
    nulls = like.null_count if like is not None else 0
    valid = like.is_valid().buffers()[1] if like is not None and nulls else None
    buffers = [valid, pa.py_buffer(rows), pa.py_buffer(data)]
    return pa.Array.from_buffers(kind, offsets.size - 1, buffers, nulls)


def text_lengths(column: pa.StringArray) -> list[int]:
    """The characters of each text, in half the time that Arrow takes for a single one."""
    data, offsets = string_buffers(column)
    continues = data.view(np.int8) < FIRST_BYTE
    return [
        end - start - int(np.count_nonzero(continues[start:end]))
        for start, end in pairwise(offsets.tolist())
    ]


def string_columns(*columns: Sequence[str]) -> list[pa.StringArray]:
    """Columns of as many texts each, all in one buffer. Lone surrogates become "?".

    A page that comes alone has a dozen texts, and for each column Arrow takes longer than Python
    does for all of them.
    """
    every = [text for column in columns for text in column]
    joined = "".join(every)
    if joined.isascii():
        content, sizes = joined.encode(), [len(text) for text in every]
    else:
        encoded = [text.encode("utf-8", "replace") for text in every]
        content, sizes = b"".join(encoded), [len(text) for text in encoded]
    if len(content) > LARGEST_OFFSET:
        raise ValueError("text above 2 GB in one batch: pass fewer rows at a time")
    offsets = np.array([0, *accumulate(sizes)], np.int32)
    buffers, rows = [None, pa.py_buffer(offsets), pa.py_buffer(content)], len(columns[0])
    starts = range(0, len(columns) * rows, rows) if rows else [0] * len(columns)
    return [pa.Array.from_buffers(STRING, rows, buffers, 0, start) for start in starts]


def sound(text: str) -> str:
    """A text as a column has it: with "?" for lone surrogates, which JSON can hold."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


# Numbers and lists


def number_array(values: NDArray[Any]) -> pa.Array:
    """A column of numbers that lie one after another, not copied: `pa.array` in half the time."""
    buffers = [None, pa.py_buffer(values)]
    return pa.Array.from_buffers(_number_type(values.dtype), values.size, buffers, 0)


@cache
def _number_type(kind: np.dtype[Any]) -> pa.DataType:
    return pa.from_numpy_dtype(kind)


@cache
def _list_type(kind: np.dtype[Any]) -> pa.ListType:
    return pa.list_(_number_type(kind))


class Ragged(NamedTuple):
    """Values of many rows: those of row r are `values[offsets[r]:offsets[r + 1]]`."""

    values: NDArray[Any]
    offsets: Numbers

    @property
    def sizes(self) -> Numbers:
        """How many values each row has."""
        return sizes_of(self.offsets)


def ragged(column: pa.Array | pa.ChunkedArray) -> Ragged:
    """The values of the lists of a column, from the first on, and the offsets of its rows."""
    lists = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    offsets = lists.offsets.to_numpy().astype(np.int64)
    first = int(offsets[0])
    values = lists.values.to_numpy()[first : int(offsets[-1])]
    return Ragged(values, offsets - first if first else offsets)


def list_array(values: NDArray[Any] | pa.Array, offsets: Numbers) -> pa.ListArray:
    """A column of lists: the way back from `ragged`."""
    if offsets[-1] > LARGEST_OFFSET:
        raise ValueError("more than 2 ** 31 values in one column of lists: pass fewer rows")
    if isinstance(values, pa.Array):
        items, kind = values, pa.list_(values.type)
    else:
        items, kind = number_array(values), _list_type(values.dtype)
    # Numpy casts at a fifth of the cost of Arrow, which counts for a page that comes alone.
    buffers = [None, pa.py_buffer(offsets.astype(np.int32))]
    return pa.Array.from_buffers(kind, offsets.size - 1, buffers, 0, children=[items])


def large_list_array(values: NDArray[Any], offsets: Numbers) -> pa.LargeListArray:
    """The same where all lists together may hold more than 2 ** 31 values."""
    return pa.LargeListArray.from_arrays(pa.array(offsets), pa.array(values))


def lists_of(rows: NDArray[np.integer], values: pa.Array, count: int) -> pa.ListArray:
    """Values that lie row by row, as `count` lists; `rows` ascends."""
    return list_array(values, offsets_of(np.bincount(rows, minlength=count)))


def distinct(numbers: NDArray[Number]) -> NDArray[Number]:
    """The distinct numbers, sorted. `np.unique` builds a hash table, which takes a hundred times as
    long for a million hashes."""
    ordered = np.sort(numbers, axis=None)
    is_first = np.ones(ordered.size, bool)
    np.not_equal(ordered[1:], ordered[:-1], out=is_first[1:])
    return ordered[is_first]


def found_in(ordered: NDArray[Number], wanted: NDArray[Number]) -> tuple[Mask, Numbers]:
    """Which of the wanted numbers are among those in order, and where these are."""
    place = np.searchsorted(ordered, wanted)
    found = place < ordered.size
    found[found] = ordered[place[found]] == wanted[found]
    return found, place[found]


def offsets_of(sizes: NDArray[Any]) -> Numbers:
    """Where each of some stretches of these sizes starts, with the end of all as the last."""
    offsets = np.zeros(sizes.size + 1, np.int64)
    np.cumsum(sizes, out=offsets[1:])
    return offsets


def sizes_of(offsets: Numbers) -> Numbers:
    """The way back from `offsets_of`: `np.diff` at a fifth of the cost, where there are few."""
    sizes: Numbers = offsets[1:] - offsets[:-1]
    return sizes


def places_in_runs(values: NDArray[Any]) -> Numbers:
    """0, 1, 2 ... along each run of equal values."""
    places = np.arange(values.size)
    is_first = np.ones(values.size, np.bool_)
    is_first[1:] = values[1:] != values[:-1]
    return places - np.maximum.accumulate(np.where(is_first, places, 0))


def fixed_lists(column: pa.FixedSizeListArray) -> NDArray[Any]:
    """Lists of one length as rows of a matrix."""
    flat: NDArray[Any] = column.flatten().to_numpy()
    return flat.reshape(len(column), column.type.list_size)


def one_batch(table: pa.Table) -> pa.RecordBatch:
    """All rows of a table as one batch."""
    [batch] = table.combine_chunks().to_batches() or [pa.RecordBatch.from_pylist([], table.schema)]
    return batch


def booleans(column: pa.BooleanArray | pa.ChunkedArray) -> Mask:
    """A column of truth values."""
    values: Mask = column.to_numpy(zero_copy_only=False)
    return values


# Rows of many batches


class Places(NamedTuple):
    """Rows of some batches: the number of the batch, and of the row in it."""

    batches: NDArray[np.int32]
    rows: NDArray[np.int32]


class FeatureRows:
    """Feature batches as one table whose rows are known by number.

    A method judges pairs of row numbers and does not ask where the features are: in one batch or
    many, in memory or mapped from files.
    """

    def __init__(
        self,
        schema: pa.Schema,
        batches: Sequence[pa.RecordBatch],
        numbers: Sequence[Numbers],
        places: Places | None = None,
    ) -> None:
        """`numbers` are the numbers of the rows of each batch; `places` says the same, if known."""
        self.schema = schema
        self.batches = batches
        self.numbers = numbers
        self._parts: Sequence[FeatureRows] = ()
        self._addresses: dict[object, Addresses] = {}  # by what computes them
        self._places = _places_of(numbers) if places is None else places

    @classmethod
    def of(cls, *batches: pa.RecordBatch) -> FeatureRows:
        """The rows of batches, numbered one batch after another."""
        counts = [batch.num_rows for batch in batches]
        places = Places(
            np.repeat(np.arange(len(batches), dtype=np.int32), counts),
            np.concatenate([np.arange(count, dtype=np.int32) for count in counts]),
        )
        ends = accumulate(counts)
        numbers = [np.arange(end - count, end) for count, end in zip(counts, ends, strict=True)]
        return FeatureRows(batches[0].schema, batches, numbers, places)

    @classmethod
    def at(cls, parts: Sequence[FeatureRows], places: Places) -> FeatureRows:
        """Rows of parts of one batch each; `places` has the part and the row in it of each.

        What is known of a part is not found out again, for parts that are kept.
        """
        rows = cls(parts[0].schema, [part.batches[0] for part in parts], [], places)
        rows._parts = parts
        return rows

    def __len__(self) -> int:
        return self._places.rows.size

    @cached_property
    def number_lists(self) -> list[str]:
        """The columns of lists of numbers in which nothing is null."""
        return [
            field.name
            for field in self.schema
            if pa.types.is_list(field.type)
            and pa.types.is_primitive(field.type.value_type)
            and not pa.types.is_boolean(field.type.value_type)
            and not any(_has_nulls(batch[field.name]) for batch in self.batches)
        ]

    def places(self, numbers: Numbers) -> Places:
        """In which batch each of these rows is, and where in it."""
        return Places(self._places.batches[numbers], self._places.rows[numbers])

    def known(self, work: Callable[[Sequence[pa.RecordBatch]], Addresses]) -> Addresses:
        """What `work` finds out about the batches, which do not change: computed once. It gives a
        row for each batch."""
        if work not in self._addresses:
            parts = [part.known(work) for part in self._parts]
            self._addresses[work] = np.concatenate(parts) if parts else work(self.batches)
        return self._addresses[work]

    def sides(self, left: Numbers, right: Numbers) -> tuple[pa.RecordBatch, pa.RecordBatch]:
        """The rows of pairs as two batches, one row per pair."""
        return self.take(left), self.take(right)

    def take(self, numbers: Numbers) -> pa.RecordBatch:
        """These rows, in this order, as one batch of its own.

        Batch by batch, so that little of what is mapped is in memory at a time.
        """
        if not numbers.size:
            return pa.RecordBatch.from_pylist([], self.schema)
        batch_of, row_of = self.places(numbers)
        order = np.lexsort((row_of, batch_of))
        present, starts = np.unique(batch_of[order], return_index=True)
        lists = {name: self._room_for(name, numbers) for name in self.number_lists}
        taken = []
        for batch, places in zip(present.tolist(), np.split(order, starts[1:]), strict=True):
            rows = row_of[places].astype(np.int64)
            for name, column in lists.items():
                column.put(self.batches[batch][name], rows, places)
            taken.append(self.batches[batch].drop_columns(list(lists)).take(pa.array(rows)))
            self.release(batch)
        columns = {name: column.finish() for name, column in lists.items()}
        if len(columns) < len(self.schema):
            rest = taken[0] if len(taken) == 1 else pa.concat_batches(taken)
            rest = rest.take(pa.array(np.argsort(order)))
            columns |= dict(zip(rest.schema.names, rest.columns, strict=True))
        return pa.record_batch([columns[name] for name in self.schema.names], schema=self.schema)

    def release(self, batch: int) -> None:
        """A batch is not needed for now; for rows that hold mapped memory."""

    def positions(self) -> Numbers:
        """Where each row is in all batches together, one after another."""
        firsts = offsets_of(np.array([batch.num_rows for batch in self.batches], np.int64))
        rows: Numbers = firsts[self._places.batches] + self._places.rows
        return rows

    @cached_property
    def _sizes(self) -> dict[str, NDArray[np.unsignedinteger]]:
        """The length of each list of numbers, by row number, in as few bits as it takes: most lists
        are short, and all lengths stay in memory."""
        sizes = {name: [np.empty(0, np.uint8)] for name in self.number_lists}
        for number, batch in enumerate(self.batches):
            for name, of_column in sizes.items():
                each = np.diff(batch[name].offsets.to_numpy())
                of_column.append(each.astype(np.min_scalar_type(each.max(initial=0))))
            self.release(number)
        rows = self.positions()
        return {name: np.concatenate(of_column)[rows] for name, of_column in sizes.items()}

    def _room_for(self, name: str, numbers: Numbers) -> _ListColumn:
        return _ListColumn(self.schema.field(name).type, self._sizes[name][numbers])


def _places_of(numbers: Sequence[Numbers]) -> Places:
    """Where the rows of these numbers are. There may be gaps: a Spark task has some pages."""
    count = max((int(each.max(initial=-1)) for each in numbers), default=-1) + 1
    places = Places(np.zeros(count, np.int32), np.zeros(count, np.int32))
    for number, rows in enumerate(numbers):
        places.batches[rows] = number
        places.rows[rows] = np.arange(rows.size)
    return places


class _ListColumn:
    """A column of lists in the making: their lengths are known, their numbers come by batches."""

    def __init__(self, kind: pa.ListType, sizes: NDArray[np.unsignedinteger]) -> None:
        self._kind = kind
        self._width = kind.value_type.bit_width // 8
        self._starts = offsets_of(sizes)
        self._data = np.empty(int(self._starts[-1]) * self._width, np.uint8)

    def put(self, lists: pa.ListArray, rows: Numbers, places: Numbers) -> None:
        """Copy some rows of a batch to their places in the column."""
        copy_lists(
            _bytes_of(lists.values, self._width),
            read_only(lists.offsets.to_numpy()),
            self._width,
            rows,
            self._data,
            self._starts[places],
        )

    def finish(self) -> pa.ListArray:
        """The column, when all is in its place."""
        count, data = int(self._starts[-1]), pa.py_buffer(self._data)
        numbers = pa.Array.from_buffers(self._kind.value_type, count, [None, data])
        starts = pa.array(self._starts, pa.int32())
        return pa.ListArray.from_arrays(starts, numbers, type=self._kind)


def addresses_of(names: Sequence[str], batches: Sequence[pa.RecordBatch]) -> Addresses:
    """Where 64-bit columns start, one row per batch."""
    return np.array(
        [[address_of(batch[name], 8) for name in names] for batch in batches], np.uint64
    )


def address_of(array: pa.Array, width: int) -> int:
    """Of the first number of an array that may be a slice of another; 0 for one without any."""
    buffer = array.buffers()[1]
    return buffer.address + array.offset * width if buffer is not None else 0


def _has_nulls(lists: pa.ListArray) -> bool:
    return bool(lists.null_count or lists.values.null_count)


def _bytes_of(numbers: pa.Array, width: int) -> NDArray[np.uint8]:
    data = numbers.buffers()[1]
    if data is None:
        return read_only(np.empty(0, np.uint8))
    return read_only(np.frombuffer(data, np.uint8)[numbers.offset * width :])


def read_only(numbers: NDArray[Any]) -> NDArray[Any]:
    """One kind of array for the kernels, whether the numbers are mapped or in memory."""
    numbers.setflags(write=False)
    return numbers


# Rows as compressed bytes

TEXT = 1  # levels of compression; higher ones save a few per cent and cost as much as parsing
HASHES = -1  # hashes hardly shrink
MAX_BYTES = 1 << 31

_per_thread = threading.local()  # compressors must not be shared by threads


def compress(batch: pa.RecordBatch, level: int = HASHES) -> bytes:
    """A batch as bytes, without its schema."""
    if not hasattr(_per_thread, "compressors"):
        _per_thread.compressors = {each: zstandard.ZstdCompressor(each) for each in (TEXT, HASHES)}
    packed: bytes = _per_thread.compressors[level].compress(batch.serialize())
    return packed


def compress_rows(batch: pa.RecordBatch, rows: Iterable[int], level: int = HASHES) -> list[bytes]:
    """Some rows, each by itself."""
    is_one = batch.num_rows == 1
    return [compress(batch if is_one else batch.slice(row, 1), level) for row in rows]


def decompress(
    schema: pa.Schema, packed: Sequence[bytes], names: Sequence[str] | None = None
) -> pa.RecordBatch:
    """What was compressed, as one batch; all columns, or those that are named."""
    if not packed:
        return pa.RecordBatch.from_pylist([], schema).select(names or schema.names)
    if not hasattr(_per_thread, "decompressor"):
        _per_thread.decompressor = zstandard.ZstdDecompressor()
    unpack = _per_thread.decompressor.decompress
    rows = [
        pa.ipc.read_record_batch(pa.py_buffer(unpack(each, MAX_BYTES)), schema) for each in packed
    ]
    if names is not None:
        rows = [row.select(names) for row in rows]
    return rows[0] if len(rows) == 1 else pa.concat_batches(rows)
