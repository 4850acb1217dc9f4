"""Write a labelled set: one file of pages, and `truth.csv`."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any, BinaryIO, Unpack

import pyarrow as pa
import pyarrow.parquet as pq

from neardup.errors import OutputError, unknown
from neardup.evaluation.synth.pages import SCHEMA, SynthPage, as_batch, batches
from neardup.evaluation.synth.plan import Options, Settings
from neardup.local.result import writing
from neardup.local.run import Progress, Silent, default_workers
from neardup.model import RawPage, Source
from neardup.pages.fields import WarcBytes, format_time
from neardup.pages.warc import compose
from neardup.pages.writers import PACKERS, JsonWriter, PageWriter, WarcWriter, whole_file

NAMES = {"jsonl": "pages.jsonl.zst", "parquet": "pages.parquet", "warc": "pages.warc.gz"}
TRUTH = "truth.csv"
ABOUT = "synth.json"  # the settings; its presence marks a set as generated
COLUMNS = ["id", "article", "kind"]


def write_set(
    out: str | Path,
    pages: int,
    seed: int = 0,
    *,
    format: str = "jsonl",  # noqa: A002 - the name of the command-line option
    workers: int | None = None,
    progress: Progress | None = None,
    **options: Unpack[Options],
) -> Path:
    """Write a labelled set to the directory `out`; returns the path of its pages.

    The options are those of `synth`. A page in a WARC is identified by its URL, so the URL is then
    its id in `truth.csv`.
    """
    if format not in NAMES:
        raise unknown("format", format, NAMES)
    settings = Settings(pages, seed, **options).checked()
    texts = settings.texts
    out, progress = Path(out), progress or Silent()
    progress.stage("synth", total=pages)
    pack = partial(_pack, format, texts)
    with writing(out):
        _make_room(out, settings)
        with whole_file(out / NAMES[format]) as stream, whole_file(out / TRUTH) as truth:
            truth.write((",".join(COLUMNS) + "\n").encode())
            with _writing(format, stream, texts) as write:
                for packed, labels, count in batches(settings, pack, workers or default_workers()):
                    write(packed)
                    truth.write(labels)
                    progress.advance(count)
    return out / NAMES[format]


def _make_room(out: Path, settings: Settings) -> None:
    """Remove an earlier generated set, and leftovers of a killed run, from the directory."""
    names = [*NAMES.values(), TRUTH]
    if not (out / ABOUT).exists() and any((out / name).exists() for name in names):
        raise OutputError(
            f"{out} holds a labelled set that was not generated; choose another directory"
        )
    out.mkdir(parents=True, exist_ok=True)
    for name in names:
        for path in (out / name, *out.glob(f".{name}.*.tmp")):
            path.unlink(missing_ok=True)
    about = {"neardup": version("neardup"), **asdict(settings)}
    (out / ABOUT).write_text(json.dumps(about, indent=2) + "\n", encoding="utf-8")


def _pack(form: str, texts: bool, pages: list[SynthPage]) -> tuple[Any, bytes, int]:
    """A batch as the file holds it, its lines of truth.csv, and its number of pages."""
    labels = _labels(pages, by_url=form == "warc")
    if form == "parquet":
        return as_batch(pages), labels, len(pages)
    stream = io.BytesIO()
    writer: PageWriter
    if form == "jsonl":
        writer, raw = JsonWriter(stream, PACKERS[".zst"]), _unicode_page
    else:
        writer, raw = WarcWriter(stream, PACKERS[".gz"]), _encoded_page
    for page in pages:
        writer.write(raw(page, texts))
    writer.finish()
    return stream.getvalue(), labels, len(pages)


def _labels(pages: list[SynthPage], *, by_url: bool) -> bytes:
    lines = io.StringIO()
    rows = ((page.url if by_url else page.id, page.article, page.kind) for page in pages)
    csv.writer(lines, lineterminator="\n").writerows(rows)
    return lines.getvalue().encode()


def _unicode_page(page: SynthPage, texts: bool) -> RawPage:
    title = page.title if texts else ""  # HTML contains it
    body = page.content.encode()
    return RawPage(page.id, body, not texts, Source(""), page.url, title=title, time=page.time)


def _encoded_page(page: SynthPage, texts: bool) -> RawPage:
    """The page in its own charset, as a server sends it."""
    body = page.content.encode(page.charset, "xmlcharrefreplace")
    kind = f"text/{'plain' if texts else 'html'}; charset={page.charset}"
    head = f"HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n\r\n"
    fields = {
        "WARC-Type": "response",
        "WARC-Target-URI": page.url,
        "WARC-Date": format_time(page.time),
        "Content-Type": "application/http; msgtype=response",
    }
    record = WarcBytes(compose(fields, head.encode() + body))
    return RawPage(page.url, body, not texts, Source(""), page.url, original=record)


@contextmanager
def _writing(form: str, stream: BinaryIO, texts: bool) -> Iterator[Callable[[Any], object]]:
    """A function that writes a batch to the stream."""
    if form != "parquet":
        yield stream.write  # zstd frames and gzip members may be concatenated
        return
    names = ["id", "url", "time", *(["title"] if texts else []), "content"]
    columns = {name: pa.field(name, SCHEMA.field(name).type) for name in names}
    columns["content"] = columns["content"].with_name("text" if texts else "html")
    schema = pa.schema(columns.values())
    with pq.ParquetWriter(stream, schema, compression="zstd") as file:
        yield lambda batch: file.write_batch(
            pa.record_batch([batch[name] for name in names], schema=schema)
        )
