"""WARC and ARC records written by hand, so that a test can get them wrong on purpose."""

from __future__ import annotations

import gzip

HTML = b"<html><title>t</title><p>Hello, page.</p></html>"


def http(
    body: bytes = HTML, content_type: str = "text/html", status: int = 200, headers: str = ""
) -> bytes:
    kind = f"Content-Type: {content_type}\r\n" if content_type else ""
    return f"HTTP/1.1 {status} X\r\n{kind}{headers}\r\n".encode() + body


def record(
    url: str,
    block: bytes | None = None,
    *,
    kind: str = "response",
    length: object = None,
    date: str = "2024-05-06T07:08:09Z",
    content_type: str = "application/http; msgtype=response",
    headers: str = "",
) -> bytes:
    block = http() if block is None else block
    size = len(block) if length is None else length
    head = (
        f"WARC/1.0\r\nWARC-Type: {kind}\r\nWARC-Record-ID: <urn:x:{url}@{date}>\r\n"
        f"WARC-Date: {date}\r\nWARC-Target-URI: {url}\r\nContent-Type: {content_type}\r\n"
        f"{headers}Content-Length: {size}\r\n\r\n"
    )
    return head.encode() + block + b"\r\n\r\n"


def packed(*records: bytes) -> bytes:
    """One gzip member a record, as WARC has it."""
    return b"".join(gzip.compress(each, mtime=0) for each in records)


def arc(*records: tuple[str, bytes], version: int = 1) -> bytes:
    """An ARC file of text/html records."""
    about = (
        f"{version} 0 InternetArchive\nURL IP-address Archive-date Content-type Archive-length\n"
    )
    lines = [f"filedesc://x.arc 0.0.0.0 20050607080910 text/plain {len(about)}\n{about}\n".encode()]
    for url, block in records:
        middle = " 200 - - 120 x.arc" if version == 2 else ""
        head = f"{url} 192.0.2.1 20050607080910 text/html{middle} {len(block)}\n"
        lines.append(head.encode() + block + b"\n")
    return b"".join(lines)
