"""What the user names: folders, files, globs, several at once, and nothing at all."""

from __future__ import annotations

import gzip
import os
import subprocess
import sys
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from neardup.errors import InputError
from neardup.model import RawPage, Skip, SkipReason, Source
from neardup.pages import Limits, batches
from neardup.pages.raw import gather, raw_batch
from neardup.pages.readers import read_records
from neardup.schemas import RAW


def write(folder: Path, **files: str | bytes) -> None:
    for name, content in files.items():
        path = folder / name.replace("__", "/").replace("_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())


def ids(inputs: list[str], limits: Limits | None = None) -> list[str]:
    items = read_records(inputs, limits)
    return [item.id if isinstance(item, RawPage) else str(item.reason) for item in items]


def test_folder(tmp_path: Path) -> None:
    write(
        tmp_path,
        b_html="<p>b",
        a__x_htm="<p>ax",
        a_xhtml="<html/>",
        c_txt="text",
        d_html_gz=gzip.compress(b"<p>d"),
        a__deep__e_txt_gz=gzip.compress(b"e"),
    )
    pages = [page for page in read_records([str(tmp_path)]) if isinstance(page, RawPage)]
    assert [page.id for page in pages] == [
        "a.xhtml",
        "a/deep/e.txt.gz",
        "a/x.htm",
        "b.html",
        "c.txt",
        "d.html.gz",
    ]
    assert [page.is_html for page in pages] == [True, False, True, True, False, True]
    assert pages[5].body == b"<p>d"
    assert all(page.url == "" and page.time is None for page in pages)
    assert pages[2].source == Source(str(tmp_path / "a/x.htm"))
    assert pages[2].again == str(tmp_path / "a/x.htm")


def test_single_file(tmp_path: Path) -> None:
    write(tmp_path, a__x_html="<p>x")
    assert ids([str(tmp_path / "a" / "x.html")]) == ["x.html"]


def test_order_and_repetition_of_inputs_do_not_matter(tmp_path: Path) -> None:
    write(tmp_path, a__x_html="<p>x", b__y_html="<p>y", c_jsonl='{"id": "j", "text": "t"}')
    folder, file, lines = (str(tmp_path / name) for name in ("a", "b/y.html", "c.jsonl"))
    expected = list(read_records([folder, file, lines]))
    assert len(expected) == 3
    glob = str(tmp_path / "b" / "*.html")
    for inputs in (
        [lines, file, folder],
        [folder, folder + "/", lines, file, file],
        [file, lines, folder, folder + "/x.html", glob],
    ):
        assert list(read_records(inputs)) == expected


def test_a_folder_holds_what_is_in_it(tmp_path: Path) -> None:
    write(tmp_path, a__x_html="<p>x", a__b__y_html="<p>y", other="<p>found by its content")
    inputs = [str(tmp_path / "a/b"), str(tmp_path / "a/b/y.html"), str(tmp_path / "a")]
    assert ids(inputs) == ["b/y.html", "x.html"]
    assert ids([str(tmp_path / "other"), str(tmp_path / "a")]) == ["b/y.html", "x.html", "other"]


def test_globs(tmp_path: Path) -> None:
    write(tmp_path, a__x_html="<p>x", b__y_html="<p>y", b__z_txt="z", empty__note_md="-")
    assert ids([str(tmp_path / "**" / "*.html")]) == ["x.html", "y.html"]
    assert ids([str(tmp_path / "*")]) == ["x.html", "y.html", "z.txt"]
    (tmp_path / "odd[1].html").write_text("<p>odd")
    assert ids([str(tmp_path / "odd[1].html")]) == ["odd[1].html"]


@pytest.mark.parametrize("name", ["no.html", "no/*.html", "folder", "folder/*"])
def test_nothing_there(tmp_path: Path, name: str) -> None:
    (tmp_path / "folder" / "sub").mkdir(parents=True)
    (tmp_path / "folder" / ".hidden.html").write_text("<p>hidden")
    write(tmp_path, good_html="<p>x")
    with pytest.raises(InputError) as caught:
        read_records([str(tmp_path / "good.html"), str(tmp_path / name)])
    assert str(tmp_path / name) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_other_files_in_a_folder_are_counted(tmp_path: Path) -> None:
    write(tmp_path, a_html="<p>a", b_png=b"\x89PNG", style_css="p {}")
    assert ids([str(tmp_path)]) == ["a.html", "not-html", "not-html"]


def test_kinds_by_content(tmp_path: Path) -> None:
    write(
        tmp_path,
        page="\n<!doctype html><p>x",
        lines='{"id": "j", "text": "t"}',
        packed=gzip.compress(b"<p>packed"),
        nonsense=b"\x00\x01\x02",
        empty="",
    )
    names = ("empty", "lines", "nonsense", "packed", "page")
    assert ids([str(tmp_path / name) for name in names]) == [
        "empty",
        "j",
        "unreadable",
        "packed",
        "page",
    ]


class TestBadFiles:
    """A bad file is a skip while others can be read."""

    def test_unreadable(self, tmp_path: Path) -> None:
        write(tmp_path, good_html="<p>x")
        (tmp_path / "gone.html").symlink_to(tmp_path / "nowhere")
        (tmp_path / "dir.html").mkdir()
        (tmp_path / "link.html").symlink_to(tmp_path / "dir.html")
        os.mkfifo(tmp_path / "pipe.html")
        items = list(read_records([str(tmp_path)]))
        assert [item.id for item in items] == ["gone.html", "good.html", "link.html", "pipe.html"]
        skips = [item for item in items if isinstance(item, Skip)]
        assert [skip.reason for skip in skips] == [SkipReason.UNREADABLE] * 3
        assert skips[0].detail == "No such file or directory"
        assert skips[2].detail == "not a regular file"

    @pytest.mark.parametrize("name", ["gone.html", "nonsense", "not.parquet"])
    def test_unreadable_and_alone(self, tmp_path: Path, name: str) -> None:
        (tmp_path / "gone.html").symlink_to(tmp_path / "nowhere")
        write(tmp_path, nonsense=b"\0\1\2", not_parquet=b"PAR1 but no more")
        pages = read_records([str(tmp_path / name)])
        with pytest.raises(InputError, match=name):
            next(pages)

    def test_truncated_and_broken_gzip(self, tmp_path: Path) -> None:
        packed = gzip.compress(os.urandom(1000).hex().encode())
        write(tmp_path, a_html_gz=packed[:-20], b_html_gz=packed[:30] + b"\xff" * 9 + packed[39:])
        assert ids([str(tmp_path)]) == ["truncated", "bad-record"]

    def test_empty(self, tmp_path: Path) -> None:
        write(tmp_path, a_html="", b_html_gz=gzip.compress(b""), c_txt="", d_warc="", e_parquet="")
        assert ids([str(tmp_path)]) == ["empty"] * 5

    def test_any_bytes_are_a_page(self, tmp_path: Path) -> None:
        write(tmp_path, a_html=b"\0\xff\xfe<p>\xc3\x28", b_txt=b"\xed\xa0\x80\0")
        assert ids([str(tmp_path)]) == ["a.html", "b.txt"]

    def test_large(self, tmp_path: Path) -> None:
        write(tmp_path, a_html=b" " * 1001, b_html=b" " * 1000)
        assert ids([str(tmp_path)], Limits(page_bytes=1000)) == ["too-large", "b.html"]

    def test_gzip_bomb_is_not_inflated(self, tmp_path: Path) -> None:
        import tracemalloc

        bomb = gzip.compress(bytes(300_000_000), 1)
        write(tmp_path, a_html_gz=bomb, b_jsonl_gz=bomb, c_warc_gz=bomb)
        del bomb
        tracemalloc.start()
        assert ids([str(tmp_path)], Limits(page_bytes=1_000_000)) == [
            "too-large",
            "too-large",
            "bad-record",
        ]
        assert tracemalloc.get_traced_memory()[1] < 20_000_000
        tracemalloc.stop()


def test_default_limit() -> None:
    assert Limits().page_bytes == 20_000_000


def page(size: int) -> RawPage:
    return RawPage("x", b"x" * size, True, Source("x"))


def test_batches() -> None:
    pages = [page(size) for size in [5, 5, 1, 20, 1, 1, 1, 1]]
    found = list(batches(pages, max_pages=3, max_bytes=10))
    assert [len(each) for each in found] == [2, 1, 1, 3, 1]
    assert [item for each in found for item in each] == pages
    assert list(batches([], 3, 10)) == []


def test_arrow_batches_are_bounded_in_records_and_bytes() -> None:
    skip = Skip(Source("x"), SkipReason.EMPTY)
    titled = replace(page(1), title="x" * 60)
    records: list[RawPage | Skip] = [page(5), skip, page(5), page(50), page(1), titled, skip]
    found = list(gather(records, max_pages=3, max_bytes=40))
    assert [(batch.num_rows, len(skips)) for batch, skips in found] == [
        (2, 1),
        (1, 0),
        (2, 0),
        (0, 1),
    ]
    assert all(batch.schema.equals(RAW) for batch, _ in found)
    assert list(gather([])) == []


def test_a_raw_batch_holds_every_field_of_its_pages() -> None:
    when = datetime(2024, 3, 4, 5, 6, 7, 8, tzinfo=UTC)
    source = Source("a.warc", 7)
    raw = RawPage("i\ud800", b"\xff", True, source, "http://u", "again", "title", when, "gbk")
    assert raw_batch([raw]).to_pylist() == [
        {
            "id": "i?",
            "again": "again",
            "url": "http://u",
            "title": "title",
            "time": when,
            "body": b"\xff",
            "is_html": True,
            "charset": "gbk",
            "source": "a.warc",
            "record": 7,
        }
    ]


def test_importing_and_reading_stay_light(tmp_path: Path) -> None:
    write(tmp_path, a_html="<p>x", b_jsonl='{"text": "x"}')
    heavy = "numba numpy pyarrow fastwarc fsspec zstandard brotli isal"
    code = (
        "import sys; from neardup.pages.readers import read_records; import neardup.pages.urls\n"
        f"assert len(list(read_records([{str(tmp_path)!r}]))) == 2\n"
        f"print([name for name in {heavy.split()!r} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
