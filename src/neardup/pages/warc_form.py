"""WARC records as bytes, for writing pages back."""

from __future__ import annotations

from uuid import NAMESPACE_URL, uuid5

from neardup.pages.archive import Record, parse_headers
from neardup.pages.http import parse_response
from neardup.pages.revisits import target_of

NO_DATE = "1970-01-01T00:00:00Z"  # WARC demands a date; an unknown one must not be the clock's
_OF_REVISITS = ("warc-refers-to", "warc-profile", "warc-block-digest", "warc-truncated")


def compose(fields: dict[str, str], block: bytes) -> bytes:
    """A WARC record with these fields; its id is a function of them, so a rerun gives the same."""
    seed = "\n".join(f"{name}: {value}" for name, value in fields.items())
    fields = {
        **fields,
        "WARC-Record-ID": f"<urn:uuid:{uuid5(NAMESPACE_URL, seed)}>",
        "Content-Length": str(len(block)),
    }
    lines = "".join(f"{name}: {_one_line(value)}\r\n" for name, value in fields.items() if value)
    return f"WARC/1.0\r\n{lines}\r\n".encode("utf-8", "replace") + block + b"\r\n\r\n"


def _one_line(value: str) -> str:
    return " ".join(value.split())


def as_warc(record: Record) -> bytes:
    """The record as it stands in its file; an ARC record as the WARC record it would be."""
    if record.head:
        return record.head + record.block + b"\r\n\r\n"
    is_response = parse_response(record.block) is not None
    kind = "application/http; msgtype=response" if is_response else record.headers["content-type"]
    fields = {
        "WARC-Type": "response" if is_response else "resource",
        "WARC-Date": record.headers["warc-date"] or NO_DATE,
        "WARC-Target-URI": target_of(record.headers),
        "WARC-IP-Address": record.headers["warc-ip-address"],
        "Content-Type": kind,
    }
    return compose(fields, record.block)


def repeated(revisit_head: bytes, record: Record) -> bytes:
    """A revisit as the record it stands for: its own head, the block of what it repeats."""
    own = parse_headers(revisit_head)
    fields = {"WARC-Type": record.type}
    for name, value in own.items():
        if name not in ("warc-type", "warc-record-id", "content-length", "content-type") and (
            not name.startswith(_OF_REVISITS)
        ):
            fields[_header_case(name)] = value
    fields["Content-Type"] = record.headers.get("content-type", "")
    return compose(fields, record.block)


def _header_case(name: str) -> str:
    words = [word.capitalize() for word in name.split("-")]
    shown = {"Warc": "WARC", "Uri": "URI", "Ip": "IP", "Id": "ID"}
    return "-".join(shown.get(word, word) for word in words)
