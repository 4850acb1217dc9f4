"""No input takes more than linear time: all kernels that read page bytes, all regular expressions.

Each reads hostile text (`hostile`), a little first and then more, and must stay below a time per
byte that is far above what it needs and far below what quadratic time would take. Time is that of
the processor, so that a busy machine does not matter. `NEARDUP_TORTURE=1` makes it 2 MB of each
text, and 20 MB of those that were slowest.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import os
import pkgutil
import re
import time
from collections.abc import Callable, Iterable, Iterator
from heapq import nlargest
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import neardup
from kernels.hostile import MARKUP, TEXTS, attacks
from kernels.test_scan import scan
from neardup import html_page, kernels, text_page
from neardup.kernels import json_lines
from neardup.kernels.characters import character_classes, count_scripts, unmix
from neardup.kernels.feature_codes import paragraph_codes
from neardup.kernels.fold import fold, fold_documents, folding_table
from neardup.kernels.folded_tokens import folded_token_hashes
from neardup.kernels.json_lines import count_lines, read_lines
from neardup.kernels.json_text import count_values, quoted_texts, shared_ends
from neardup.kernels.lines import (
    dense_lines,
    line_hashes,
    line_offsets,
    line_starts,
    newline_bits,
    sentence_offsets,
    without_digits,
)
from neardup.kernels.page_bytes import (
    odd_charsets,
    plain_addresses,
    plain_statements,
    plain_times,
)
from neardup.kernels.plain_text import normal_texts
from neardup.kernels.scan import Scanner
from neardup.kernels.sentence_ends import han_before_stops, last_words
from neardup.kernels.sentences import count_sentences, sentence_spans
from neardup.kernels.text_bits import text_bits
from neardup.kernels.titles import title_hashes
from neardup.kernels.tokens import (
    hash_words,
    room_for_words,
    token_hashes,
    token_spans,
    tokens_of,
)
from neardup.kernels.utf8 import character_counts, is_utf8, utf8_damage
from neardup.pages.raw import raw_batch
from neardup.text.metadata import _tables as address_tables
from neardup.text.parse import parse

Bytes = NDArray[np.uint8]
Offsets = NDArray[np.int64]

TORTURE = bool(os.environ.get("NEARDUP_TORTURE"))
SIZES = (1 << 15, 1 << 18, 1 << 21) if TORTURE else (1 << 15, 1 << 18)
LARGEST = 20_000_000
SLOWEST = 3  # of all texts for one reader: these are read in the largest size, under torture
SECONDS_A_BYTE = 1e-6
START = 0.1  # seconds that anything may take
SOURCE = Path(neardup.__file__).parent


def check(run: Callable[[str], object], attacks: Iterable[tuple[str, ...]]) -> None:
    """Fail when `run` takes too long for some text, given as what comes before, what is repeated,
    and what comes after."""
    seconds = {attack: max(_checked(run, size, *attack) for size in SIZES) for attack in attacks}
    if TORTURE:
        for attack in nlargest(SLOWEST, seconds, seconds.__getitem__):
            _checked(run, LARGEST, *attack)


def _checked(
    run: Callable[[str], object], size: int, before: str, repeated: str, after: str = ""
) -> float:
    """The seconds of one text; if they are too many, once more, in case something came between."""
    text = before + repeated * (size // len(repeated)) + after
    limit = START + len(text) * SECONDS_A_BYTE
    taken = _seconds(run, text)
    if limit < taken < 20 * limit:
        taken = _seconds(run, text)
    assert taken <= limit, f"{size} bytes of {before[:40]!r} {repeated!r} take {taken:.2f} s"
    return taken


def _seconds(run: Callable[[str], object], text: str) -> float:
    start = time.process_time()
    run(text)
    return time.process_time() - start


# Kernels


def of_documents(kernel: Callable[..., object], *more: Any) -> Callable[[Bytes], object]:
    """All the text as one document, and as documents of a few bytes."""

    def run(data: Bytes) -> None:
        kernel(data, np.array([0, len(data)], np.int64), *more)
        kernel(data, _cuts(data), *more)

    return run


def _cuts(data: Bytes) -> Offsets:
    """Offsets of documents of about three bytes, each of whole characters."""
    starts = np.flatnonzero(data & 0xC0 != 0x80)[::3]
    return np.append(starts, len(data)).astype(np.int64)


def _lines(data: Bytes) -> None:
    bits = text_bits(data)
    offsets = np.array([0, len(data)], np.int64)
    starts, _ = line_offsets(bits.newlines, offsets)
    sentence_offsets(bits.ends, starts)
    dense_lines(bits.unspaced, starts, np.ones(len(starts) - 1, np.int64))


def _line_starts(data: Bytes) -> None:
    starts, _ = line_offsets(newline_bits(data), np.array([0, len(data)], np.int64))
    line_starts(data, starts, np.arange(len(starts) - 1), 40)


def _quoted(data: Bytes) -> None:
    sizes = np.array([len(data)], np.int64)
    quoted_texts(np.array([data.ctypes.data], np.uint64), sizes, np.empty(0, np.uint8))


def _hash_words(data: Bytes) -> None:
    hashes = np.empty(len(data) // 2 + 1, np.uint64)
    hash_words(data, text_bits(data).runs, 0, len(data), *room_for_words(), hashes)


def _statements(data: Bytes) -> None:
    places = np.array([[[0, len(data)]]], np.int64)
    plain_statements(data, np.array([0, len(data)], np.int64), places, 0, len(data))


def _json_lines(data: Bytes) -> None:
    padded = np.concatenate([data, np.zeros(json_lines.PADDING, np.uint8)])
    names = (b"html", b"text", b"id", b"url", b"title", b"time")
    read_lines(padded, len(data), int((data == ord("\n")).sum()) + 1, names)


READERS: dict[Any, Callable[[Bytes], object]] = {
    character_counts: of_documents(character_counts),
    count_lines: lambda data: count_lines(data, len(data)),
    count_values: count_values,
    count_scripts: of_documents(count_scripts),
    count_sentences: of_documents(count_sentences),
    fold: of_documents(fold),
    fold_documents: of_documents(fold_documents, folding_table()),
    folded_token_hashes: of_documents(folded_token_hashes),
    han_before_stops: of_documents(han_before_stops),
    hash_words: _hash_words,
    is_utf8: is_utf8,
    last_words: of_documents(last_words),
    line_hashes: of_documents(line_hashes),
    line_starts: _line_starts,
    newline_bits: newline_bits,
    normal_texts: of_documents(normal_texts),
    odd_charsets: of_documents(odd_charsets, 64),
    paragraph_codes: of_documents(paragraph_codes, 8),
    plain_addresses: of_documents(plain_addresses, address_tables()),
    plain_statements: _statements,
    plain_times: of_documents(plain_times),
    quoted_texts: _quoted,
    read_lines: _json_lines,
    sentence_offsets: _lines,
    sentence_spans: of_documents(sentence_spans),
    shared_ends: lambda data: shared_ends(*(data, np.array([0, len(data)], np.int64)) * 2),
    text_bits: text_bits,
    title_hashes: of_documents(title_hashes),
    token_hashes: of_documents(token_hashes),
    token_spans: of_documents(token_spans),
    tokens_of: of_documents(tokens_of, *character_classes(), False),
    unmix: of_documents(unmix),
    utf8_damage: utf8_damage,
    without_digits: without_digits,
}
# Steps of a kernel above (or of the scanner) go on from a place of the data.
STEPS = {"page_ends", "i", "at", "begin", "start", "html", "starts", "pieces"}


def test_no_kernel_is_forgotten() -> None:
    """Whatever takes `data` is tried below, or is a step of what is."""
    forgotten = set()
    for found in pkgutil.iter_modules(kernels.__path__, "neardup.kernels."):
        module = importlib.import_module(found.name)
        for name, value in vars(module).items():
            if name.startswith("_") or not callable(value):
                continue
            function = getattr(value, "py_func", value)
            if getattr(function, "__module__", "") != found.name or inspect.isclass(function):
                continue
            first, second, *_ = [*inspect.signature(function).parameters, "", ""]
            if first == "data" and second not in STEPS and value not in READERS:
                forgotten.add(name)
    assert not forgotten


@pytest.mark.parametrize("kernel", READERS, ids=lambda kernel: kernel.__name__)
def test_text_kernels(kernel: Any) -> None:
    def run(text: str) -> None:
        READERS[kernel](np.frombuffer(text.encode(), np.uint8))

    run(TEXTS[0])  # compiles
    check(run, (("", piece) for piece in TEXTS))


def test_broken_utf8() -> None:
    pieces = (b"\x80", b"\xc3", b"\xe4\xb8", b"\xf0\x9f\x98", b"a\xff", b"\xed\xa0\x80")
    for reader in READERS.values():

        def run(text: str, reader: Callable[[Bytes], object] = reader) -> None:
            reader(np.frombuffer(text.encode("latin-1"), np.uint8))

        run("a")  # compiles
        check(run, (("", piece.decode("latin-1")) for piece in pieces))


@pytest.mark.parametrize("alt_texts", [False, True])
def test_scanner(alt_texts: bool) -> None:
    scan("<x-y><template shadowrootmode=open><slot></slot></template>a</x-y>")  # compiles the rest

    def run(text: str) -> None:
        data = np.frombuffer(text.encode(), np.uint8)
        scanner = Scanner(2, 2 * len(data))
        scanner.scan(data, html=True, alt_texts=alt_texts)
        scanner.scan(data, html=False)

    check(run, [*MARKUP, *(("", text) for text in TEXTS)])


def test_parsing() -> None:
    parse(raw_batch([html_page("<p>a"), text_page("a")]))  # compiles
    check(lambda text: parse(raw_batch([html_page(text), text_page(text)])), MARKUP)


# Regular expressions

# Patterns that are quadratic for what they would read at length, and the most they ever read.
BOUNDED: dict[str, int] = {
    "neardup.text.charset.COMMENT": 4096,  # HEAD
    "neardup.text.charset.META": 4096,
    "neardup.text.charset.XML": 4096,
}
# Patterns that are made of others when they are needed.
MADE_AT_RUN_TIME = {"neardup.evaluation.synth.language: the slots of a sentence, of our own text"}
METHODS = {"match", "fullmatch", "search", "sub", "subn", "split", "findall", "finditer"}


def _uses() -> dict[str, tuple[re.Pattern[Any], str]]:
    """Every use of a regular expression in the source, by the name of the pattern or its line."""
    uses = {}
    for module, tree in _modules():
        for node in ast.walk(tree):
            if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
                continue
            owner, method = ast.unparse(node.func.value), node.func.attr
            if owner == "re" and method in METHODS and isinstance(node.args[0], ast.Constant):
                uses[f"{module}:{node.lineno}.{method}"] = (
                    re.compile(ast.literal_eval(node.args[0])),
                    method,
                )
            elif method in METHODS and owner.isidentifier():
                pattern = getattr(importlib.import_module(module), owner, None)
                if isinstance(pattern, re.Pattern):
                    uses[f"{module}.{owner}.{method}"] = pattern, method
        # A pattern that is handed to others: each of these tries it from a place on.
        for name in _compiled(tree):
            if not any(use.startswith(f"{module}.{name}.") for use in uses):
                uses[f"{module}.{name}.match"] = (
                    getattr(importlib.import_module(module), name),
                    "match",
                )
    return uses


def _modules() -> Iterator[tuple[str, ast.Module]]:
    for path in sorted(SOURCE.rglob("*.py")):
        tree = ast.parse(path.read_text())
        if any(isinstance(node, ast.Import) and node.names[0].name == "re" for node in tree.body):
            yield ".".join(["neardup", *path.relative_to(SOURCE).with_suffix("").parts]), tree


def _compiled(tree: ast.Module) -> list[str]:
    """The names of a module that are patterns."""
    return [
        node.targets[0].id
        for node in tree.body
        if isinstance(node, ast.Assign)
        and isinstance(node.targets[0], ast.Name)
        and ast.unparse(node.value).startswith("re.compile(")
    ]


USES = _uses()


def test_all_patterns_are_tried() -> None:
    """There are as many patterns as the source compiles; those made at run time are named here."""
    compiled = sum(path.read_text().count("re.compile(") for path in SOURCE.rglob("*.py"))
    named = {use.rpartition(".")[0] for use in USES if ":" not in use}
    assert len(named) >= compiled - len(MADE_AT_RUN_TIME)


@pytest.mark.parametrize("use", USES)
def test_regular_expressions(use: str) -> None:
    pattern, method = USES[use]
    most = BOUNDED.get(use.rpartition(".")[0], 0)

    def run(text: str) -> None:
        subject = text if isinstance(pattern.pattern, str) else text.encode("latin-1", "replace")
        subject = subject[:most] if most else subject
        if method in ("sub", "subn"):
            getattr(pattern, method)(subject[:0], subject)
        elif method == "finditer":
            list(pattern.finditer(subject))
        else:
            getattr(pattern, method)(subject)

    check(run, attacks(pattern))
