"""`neardup check` as a user or a crawler runs it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from interrupting import INTERRUPTED
from neardup import Index
from sample_pages import html, long_html, sample_records, write_jsonl

Command = Callable[..., tuple[int, str, str]]

FIELDS = ["id", "duplicate", "of", "cluster", "relation", "similarity", "replaced"]


@pytest.fixture
def store(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path / 'crawl.db'}"


@pytest.fixture
def pages(tmp_path: Path) -> Path:
    return write_jsonl(tmp_path / "pages.jsonl", sample_records())


def lines(out: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in out.splitlines()]


def test_a_json_line_a_page_says_what_the_index_says(
    pages: Path, store: str, neardup: Command
) -> None:
    code, out, err = neardup("check", pages, "--store", store, "--json")
    assert code == 0
    output = lines(out)
    assert [list(line) for line in output] == [FIELDS] * 7
    with Index.open("memory://") as index:
        from neardup.pages.readers import read_records

        for line, page in zip(output, read_records([str(pages)]), strict=True):
            answer = index.add(page)  # type: ignore[arg-type]
            assert (line["id"], line["duplicate"], line["of"]) == (
                answer.id,
                answer.duplicate,
                answer.of,
            )
    assert [line["id"] for line in output if line["duplicate"]] == ["a2", "a3", "b2"]
    assert "7 pages: 3 new, 3 duplicates, 1 with too little text to decide" in err


def test_lines_for_people_with_a_count_at_the_end(
    pages: Path, store: str, neardup: Command
) -> None:
    code, out, _ = neardup("check", pages, "--store", store)
    assert code == 0
    output = [" ".join(line.split()) for line in out.splitlines()]
    assert output[0] == "new c1 a1"
    assert output[2] == "same 1.00 c1 a3 of a1"
    assert output[6].startswith("undecided")
    assert output[-1] == "7 pages: 3 new, 3 duplicates, 1 with too little text to decide"


def test_a_second_run_knows_the_pages(pages: Path, store: str, neardup: Command) -> None:
    _, first, _ = neardup("check", pages, "--store", store, "--json")
    code, second, err = neardup("check", pages, "--store", store, "--json")
    assert code == 0
    assert [line["cluster"] for line in lines(second)] == [line["cluster"] for line in lines(first)]
    assert "7 of them were already in the store" in err
    with Index.open(store) as index:
        assert len(index) == 7


def test_a_dry_run_asks_and_changes_nothing(
    pages: Path, tmp_path: Path, store: str, neardup: Command
) -> None:
    neardup("check", pages, "--store", store)
    other = write_jsonl(
        tmp_path / "other.jsonl",
        [
            {"id": "copy", "url": "http://d.example/9", "html": html("bridge", wrap="div")},
            {"id": "fresh", "url": "http://d.example/8", "html": long_html("orchard")},
        ],
    )
    code, out, _ = neardup("check", other, "--store", store, "--json", "--dry-run")
    assert code == 0
    copy, fresh = lines(out)
    assert (copy["duplicate"], copy["of"]) == (True, "c1")
    assert (fresh["duplicate"], fresh["of"], fresh["cluster"]) == (False, None, None)
    with Index.open(store) as index:
        assert len(index) == 7


def test_a_dry_run_makes_no_store(
    pages: Path, tmp_path: Path, store: str, neardup: Command
) -> None:
    code, out, err = neardup("check", pages, "--store", store, "--dry-run")
    assert (code, out) == (1, "")
    assert "there is no store here" in err
    assert not (tmp_path / "crawl.db").exists()


def test_method_and_options_are_those_of_the_store(
    pages: Path, store: str, neardup: Command
) -> None:
    options = ("--method", "minhash", "--set", "threshold=0.7")
    assert neardup("check", pages, "--store", store, *options)[0] == 0
    assert neardup("check", pages, "--store", store)[0] == 0
    code, _, err = neardup("check", pages, "--store", store, "--method", "exact")
    assert code == 1
    assert "was made with the method minhash" in err
    code, _, err = neardup("check", pages, "--store", store, "--set", "threshold=0.9")
    assert code == 1
    assert "threshold = 0.7" in err


def test_no_text_is_kept_when_asked(pages: Path, store: str, neardup: Command) -> None:
    assert neardup("check", pages, "--store", store, "--no-text")[0] == 0
    with Index.open(store) as index:
        assert index.text("a1") is None
        assert index.page("a1") is not None
    assert neardup("recheck", "--store", store)[0] == 0


@pytest.mark.parametrize(
    ("arguments", "code", "output"),
    [
        (["nowhere", "--store", "memory://"], 1, "nowhere: no such file or folder"),
        (["PAGES", "--store", "nothing"], 2, "is not a store"),
        (["PAGES", "--store", "memory://", "--method", "magic"], 2, "magic"),
        (["PAGES", "--store", "memory://", "--set", "threshold"], 2, "--set takes NAME=VALUE"),
        (["PAGES", "--store", "memory://", "--max-page-size", "big"], 2, "is not a size"),
        (["PAGES"], 2, "--store"),
    ],
)
def test_errors_are_one_line_with_the_exit_code(
    arguments: list[str], code: int, output: str, pages: Path, neardup: Command
) -> None:
    given = [str(pages) if each == "PAGES" else each for each in arguments]
    found, out, err = neardup("check", *given)
    assert (found, out) == (code, "")
    assert output in err
    assert "Traceback" not in err


def test_bad_records_are_counted_and_the_others_answered(tmp_path: Path, neardup: Command) -> None:
    bad = tmp_path / "bad.jsonl"
    good = json.dumps({"id": "good", "html": long_html("harbour")})
    bad.write_text(f'{{not json\n{good}\n[1]\n{{"id": "empty", "html": ""}}\n')
    code, out, err = neardup("check", bad, "--store", "memory://", "--json")
    assert code == 0
    assert [line["id"] for line in lines(out)] == ["good"]
    assert f"skipped {bad}, record 0: bad-json" in err
    assert "3 records skipped: 2 bad-json, 1 empty" in err


def test_input_without_a_page_is_an_error(tmp_path: Path, neardup: Command) -> None:
    bad = tmp_path / "bad.jsonl"
    bad.write_text("{not json\n[1]\n")
    code, out, err = neardup("check", bad, "--store", "memory://", "--json")
    assert (code, out) == (1, "")
    assert "no page could be read" in err


def test_pages_of_one_name_in_two_folders_are_two_pages(
    tmp_path: Path, store: str, neardup: Command
) -> None:
    for folder, topic in (("a", "harbour"), ("b", "railway")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "index.html").write_text(long_html(topic))
    code, out, _ = neardup("check", tmp_path / "a", tmp_path / "b", "--store", store, "--json")
    assert code == 0
    assert [line["id"] for line in lines(out)] == ["index.html", f"{tmp_path}/b/index.html"]
    with Index.open(store) as index:
        assert len(index) == 2


def test_control_signs_of_an_id_do_not_reach_the_terminal(tmp_path: Path, neardup: Command) -> None:
    hostile = {"id": "\x1b[2J\x9bevil[red]\r\n", "html": long_html("harbour")}
    file = write_jsonl(tmp_path / "hostile.jsonl", [hostile])
    _, out, _ = neardup("check", file, "--store", "memory://")
    assert "evil[red]" in out
    assert all(sign.isprintable() or sign == "\n" for sign in out)
    assert len(out.splitlines()) == 2


class Piped:
    """The command in a process of its own, written to and read from line by line."""

    def __init__(self, store: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "neardup", "check", "-", "--store", store, "--json"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            bufsize=1,
        )

    def ask(self, **record: str) -> dict[str, Any]:
        """Write one page and wait for its answer before anything else is written."""
        assert self.process.stdin
        assert self.process.stdout
        self.process.stdin.write(json.dumps(record) + "\n")
        answer: dict[str, Any] = json.loads(self.process.stdout.readline())
        return answer


@pytest.fixture
def piped(store: str) -> Iterator[Piped]:
    made = Piped(store)
    yield made
    made.process.kill()
    made.process.communicate()


@pytest.mark.slow
def test_a_crawler_that_waits_for_each_answer_gets_it(piped: Piped) -> None:
    first = piped.ask(url="http://a.example/1", html=long_html("harbour"))
    second = piped.ask(url="http://b.example/1", html=long_html("harbour", edited=True))
    third = piped.ask(url="http://b.example/2", html=long_html("railway"))
    out, err = piped.process.communicate()
    assert (piped.process.returncode, out) == (0, "")
    assert [each["duplicate"] for each in (first, second, third)] == [False, True, False]
    assert second["of"] == "http://a.example/1"
    assert second["cluster"] == first["cluster"] != third["cluster"]
    assert "3 pages: 2 new, 1 duplicates" in err


@pytest.mark.slow
def test_every_line_is_answered_even_if_it_is_no_page(piped: Piped) -> None:
    """A program that waits for its line must not wait for ever."""
    url = "http://a.example/1"
    empty = piped.ask(url=url, html="")
    nothing = piped.ask(id="n")
    assert piped.process.stdin
    assert piped.process.stdout
    piped.process.stdin.write("{no json\n\n")
    broken, blank = (json.loads(piped.process.stdout.readline()) for _ in range(2))
    good = piped.ask(url=url, html=long_html("harbour"))
    output = empty, nothing, broken, blank
    assert [each["skipped"] for each in output] == ["empty", "no-content", "bad-json", "empty"]
    assert [each["line"] for each in output] == [1, 2, 3, 4]
    assert [each["id"] for each in output] == [url, "n", "", ""]
    assert all(each["detail"] for each in output)
    assert list(good) == FIELDS
    out, err = piped.process.communicate()
    assert (piped.process.returncode, out) == (0, "")
    assert "1 pages: 1 new, 0 duplicates" in err
    assert "4 records skipped: 2 empty, 1 no-content, 1 bad-json" in err


@pytest.mark.slow
@pytest.mark.parametrize("options", [("--json",), (), ("--dry-run", "--json")])
def test_skipped_lines_have_their_place(store: str, options: tuple[str, ...]) -> None:
    records = [{"id": "a", "text": ""}, {"id": "b", "text": "words " * 40}, {"id": "c"}]
    Index.open(store).close()
    done = subprocess.run(
        [sys.executable, "-m", "neardup", "check", "-", "--store", store, *options],
        input="\n".join(map(json.dumps, records)),
        capture_output=True,
        text=True,
        check=True,
    )
    if "--json" in options:
        output = lines(done.stdout)
        assert [(each["id"], "skipped" in each) for each in output] == [
            ("a", True),
            ("b", False),
            ("c", True),
        ]
    else:
        words = [line.split()[0] for line in done.stdout.splitlines()]
        assert words == ["skipped", "new", "skipped", "1"]


@pytest.mark.slow
def test_ctrl_c_leaves_what_is_in(piped: Piped, store: str) -> None:
    piped.ask(url="http://a.example/1", html=long_html("harbour"))
    os.kill(piped.process.pid, signal.SIGINT)
    out, err = piped.process.communicate()
    assert piped.process.returncode in INTERRUPTED
    assert out == ""
    assert "every page answered so far is in the store" in err
    assert "Traceback" not in err
    with Index.open(store) as index:
        assert index.page("http://a.example/1") is not None


@pytest.mark.slow
def test_a_reader_that_leaves_early_is_no_disaster(pages: Path, store: str) -> None:
    command = f"{sys.executable} -m neardup check {pages} --store {store} --json | head -n 1"
    done = subprocess.run(command, shell=True, capture_output=True, text=True, check=False)
    assert json.loads(done.stdout)["id"] == "a1"
    assert "Traceback" not in done.stderr


@pytest.mark.slow
def test_standard_input_and_files_together(pages: Path, store: str) -> None:
    record = json.dumps({"id": "late", "url": "http://z.example/", "html": html("bridge")})
    done = subprocess.run(
        [sys.executable, "-m", "neardup", "check", "-", str(pages), "--store", store, "--json"],
        input=record,
        capture_output=True,
        text=True,
        check=True,
    )
    output = lines(done.stdout)
    assert [line["id"] for line in output] == ["a1", "a2", "a3", "b1", "b2", "c1", "d1", "late"]
    assert output[-1]["of"] == "c1"


@pytest.mark.slow
def test_on_a_terminal_there_are_headings_and_colours_and_no_bar(pages: Path, store: str) -> None:
    import pty

    parent, child = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-m", "neardup", "check", str(pages), "--store", store],
        stdout=child,
        stderr=child,
        env=os.environ | {"TERM": "xterm-256color", "COLUMNS": "100"},
    ) as process:
        os.close(child)
        shown = _everything(parent)
    assert process.returncode == 0
    assert shown.startswith("is")
    assert "\x1b[32mnew" in shown
    assert "\x1b[?25l" not in shown  # no bar has hidden the cursor
    assert "7 pages: 3 new, 3 duplicates" in shown


def _everything(terminal: int) -> str:
    pieces = []
    try:
        while piece := os.read(terminal, 65_536):
            pieces.append(piece)
    except OSError:  # how Linux tells the end
        pass
    os.close(terminal)
    return b"".join(pieces).decode()
