"""Nothing is lost, and what can be known is checked before the first page is read."""

from __future__ import annotations

import json
import shutil
import socket
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import typer

import neardup as library
from neardup.cli.main import app
from neardup.cli.options import METHODS, TEXTS
from neardup.local import corpus
from neardup.methods.registry import BUILT_IN
from neardup.rules.keeping import POLICIES
from neardup.text.views import View
from sample_pages import ARTICLES, html, sample_records, write_jsonl

Command = Callable[..., tuple[int, str, str]]


@pytest.fixture
def pages(tmp_path: Path) -> Path:
    return write_jsonl(tmp_path / "pages.jsonl", sample_records())


@pytest.fixture
def unread(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reading a page fails the test."""

    def no(*_: object, **__: object) -> None:
        raise AssertionError("a page was read")

    monkeypatch.setattr(corpus, "find_files", no)
    monkeypatch.setattr("neardup.cli.outcome.estimate", no)


# Nothing lost


@pytest.mark.parametrize("force", [[], ["--force"]])
@pytest.mark.parametrize("target", ["pages.jsonl", "./x/../pages.jsonl", "link.jsonl"])
def test_an_input_is_never_written(
    force: list[str], target: str, pages: Path, neardup: Command, unread: None
) -> None:
    (pages.parent / "x").mkdir()
    (pages.parent / "link.jsonl").symlink_to(pages)
    before = pages.read_bytes()
    code, _, output = neardup("dedup", "pages.jsonl", "--out", "r", "--write-kept", target, *force)
    assert code == 1
    assert "would overwrite the input" in output
    assert pages.read_bytes() == before


def test_a_file_of_an_input_folder_is_an_input(neardup: Command, tmp_path: Path) -> None:
    (tmp_path / "pages").mkdir()
    write_jsonl(tmp_path / "pages" / "a.jsonl", sample_records())
    code, _, output = neardup(
        *("dedup", "pages", "--out", "r", "--write-kept", "pages/a.jsonl", "--force")
    )
    assert code == 1
    assert "would overwrite the input pages/a.jsonl" in output
    code, _, output = neardup("dedup", "pages/a.jsonl", "--out", "pages")
    assert code == 1


def test_an_existing_output_needs_force(pages: Path, neardup: Command) -> None:
    call = ("dedup", pages, "--out", "r", "--method", "exact", "--write-kept", "kept.jsonl")
    assert neardup(*call)[0] == 0
    code, _, output = neardup(*call)
    assert code == 1
    assert "r holds an earlier result; use --force to replace it, or another --out" in output
    shutil.rmtree("r")
    code, _, output = neardup(*call)
    assert code == 1
    assert "kept.jsonl exists; use --force to replace it" in output
    assert neardup(*call, "--force")[0] == 0


def test_reclustering_does_not_replace_without_force(pages: Path, neardup: Command) -> None:
    assert neardup("dedup", pages, "--out", "r")[0] == 0
    call = ("recluster", "r", "--threshold", "0.9", "--out", "s")
    assert neardup(*call)[0] == 0
    assert neardup(*call)[0] == 1
    assert neardup(*call, "--force")[0] == 0
    code, _, output = neardup("recluster", "r", "--threshold", "0.9", "--out", "r", "--force")
    assert code == 2
    assert "choose another --out" in output


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("kept.xml", "the file name must end in"),
        ("nowhere/kept.jsonl", "there is no folder nowhere"),
        ("folder.jsonl", "folder.jsonl is a folder"),
    ],
)
def test_kept_pages_are_checked_before_the_first_page(
    target: str, message: str, pages: Path, neardup: Command, unread: None
) -> None:
    (pages.parent / "folder.jsonl").mkdir()
    code, _, output = neardup("dedup", pages, "--out", "r", "--write-kept", target)
    assert code == 1
    assert message in output


@pytest.mark.parametrize(
    "arguments",
    [
        ["--keep", "newset"],
        ["--method", "own-txt"],
        ["--against", "nowhere"],
        ["--method", "simhash", "--threshold", "0.8"],
        ["--set", "treshold=0.8"],
    ],
)
def test_settings_are_checked_before_the_first_page(
    arguments: list[str], pages: Path, neardup: Command, unread: None
) -> None:
    code, _, output = neardup("dedup", pages, "--out", "r", *arguments)
    assert code in (1, 2)
    assert output.startswith("neardup: ")


def test_a_full_disk_is_told_before_the_run(
    pages: Path, neardup: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = shutil.disk_usage(".")._replace(free=10)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage)
    code, _, output = neardup("dedup", pages, "--out", "r")
    assert code == 1
    assert "the run needs about" in output
    assert neardup("dedup", pages, "--out", "r", "--force")[0] == 0


def test_tune_and_synth_do_not_replace_without_force(neardup: Command, tmp_path: Path) -> None:
    (tmp_path / "tuned.toml").write_text("")
    code, _, output = neardup("tune", "set", "--method", "minhash")
    assert code == 1
    assert "tuned.toml exists; use --force to replace it" in output
    call = ("synth", "--pages", "5", "--out", "set", "--workers", "1")
    assert neardup(*call)[0] == 0
    assert neardup(*call)[0] == 1
    assert neardup(*call, "--force")[0] == 0


def test_labels_that_match_no_page_are_an_error(neardup: Command, tmp_path: Path) -> None:
    folder = tmp_path / "set"
    folder.mkdir()
    write_jsonl(folder / "pages.jsonl", sample_records())
    (folder / "truth.csv").write_text("id,article\n" + "".join(f"x{n},1\n" for n in range(4)))
    code, _, output = neardup("evaluate", "set", "--methods", "exact", "--out", "measured")
    assert code == 1
    assert "labels name 'x0', 'x1', 'x2' ...; the pages are 'a1', 'a2', 'a3' ..." in output


# The command line


def test_every_option_shows_its_default() -> None:
    commands = typer.main.get_command(app).commands  # type: ignore[attr-defined]
    for name, command in commands.items():
        for option in command.params:
            if option.param_type_name != "option" or option.required:
                continue
            # Escaped, because rich would take it for markup.
            states_default = "\\[default: " in (option.help or "")
            has = option.default is not None and option.default is not False
            assert states_default or (has and option.show_default), f"{name} {option.opts}"


def test_help_groups_the_options_and_shows_the_defaults(neardup: Command) -> None:
    _, out, _ = neardup("dedup", "--help")
    for group in ("Pages", "Method", "Result", "Run", "Messages"):
        assert f"─ {group} ─" in out
    text = " ".join(out.replace("│", " ").split())
    for default in ("own-text", "original", "what suits the method", "text", "none", "no"):
        assert f"[default: {default}]" in text
    assert "[default: 4GB, or more if the workers need it" in text


def test_the_values_in_help_are_those_there_are() -> None:
    assert list(BUILT_IN) == METHODS
    assert TEXTS["dedup"]["keep"]["choices"] == list(POLICIES)
    assert TEXTS["recluster"]["keep"]["choices"] == list(POLICIES)
    assert TEXTS["shared"]["view"]["choices"] == [str(view) for view in View]


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("neardup dedup --method m", "minhash"),
        ("neardup dedup --keep n", "newest"),
        ("neardup dedup --format p", "parquet"),
        ("neardup methods own", "own-text"),
    ],
)
def test_the_shell_completes_values(
    line: str, offered: str, neardup: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("_NEARDUP_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", line)
    monkeypatch.setenv("COMP_CWORD", str(len(line.split()) - 1))
    _, out, _ = neardup()
    assert offered in out.split()


@pytest.mark.parametrize(
    ("arguments", "meant"),
    [
        (["dedub"], "dedup"),
        (["dedup", "p", "--out", "r", "--metod", "x"], "--method"),
        (["dedup", "pages.jsonl", "--out", "r", "--method", "minhsah"], "did you mean 'minhash'?"),
        (["dedup", "pages.jsonl", "--out", "r", "--keep", "newset"], "did you mean 'newest'?"),
        (["dedup", "pages.jsonl", "--out", "r", "--view", "mian"], "did you mean 'main'?"),
        (["dedup", "pages.jsonl", "--out", "r", "--format", "parqet"], "did you mean 'parquet'?"),
        (["dedup", "pages.jsonl", "--out", "r", "--engine", "sprak"], "did you mean 'spark'?"),
        (["dedup", "pages.jsonl", "--out", "r", "--preset", "papper"], "did you mean 'paper'?"),
        (
            ["dedup", "pages.jsonl", "--out", "r", "--set", "treshold=1"],
            "did you mean 'threshold'?",
        ),
        (["synth", "--pages", "1", "--out", "s", "--language", "bth"], "did you mean 'both'?"),
        (["serve", "--store", "memory://", "--log-level", "inof"], "did you mean 'info'?"),
    ],
)
def test_a_wrong_name_gets_the_right_one(
    arguments: list[str], meant: str, pages: Path, neardup: Command
) -> None:
    code, _, output = neardup(*arguments)
    assert code == 2
    assert meant in output


@pytest.mark.parametrize("method", ["own-text", "minhash", "chunk-hash", "spotsigs"])
def test_one_threshold_for_every_method_that_has_one(
    method: str, pages: Path, neardup: Command
) -> None:
    call = ("dedup", pages, "--out", "r", "--method", method, "--threshold", "0.95")
    assert neardup(*call)[0] == 0
    options = json.loads(Path("r/summary.json").read_text())["options"]
    assert 0.95 in options.values()


@pytest.mark.parametrize("method", ["exact", "simhash", "word-table", "two-phase"])
def test_other_methods_say_what_they_have_instead(
    method: str, pages: Path, neardup: Command
) -> None:
    code, _, output = neardup(
        *("compare", pages, pages, "--method", method, "--threshold", "0.9"),
    )
    assert code in (1, 2)
    code, _, output = neardup(
        "dedup", pages, "--out", "r", "--method", method, "--threshold", "0.9"
    )
    assert code == 2
    assert f"{method} has no similarity threshold; its options are: " in output


def test_the_methods_fit_a_screen_and_one_is_told_in_full(
    neardup: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, out, _ = neardup("methods")
    lines = out.splitlines()
    assert len(lines) <= 24
    for name in BUILT_IN:
        assert any(line.startswith(f"{name} ") for line in lines)
    _, out, _ = neardup("methods", "minhash")
    assert "permutations" in out
    assert "samples per page" in out
    _, out, _ = neardup("methods", "minhash", "--json")
    assert json.loads(out)["threshold"] == "threshold"
    code, _, output = neardup("methods", "minhsah")
    assert code == 2
    assert "did you mean 'minhash'?" in output


def test_evaluate_takes_all_methods(
    neardup: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    call: list[object] = []

    def evaluate(*_: object, methods: object, **__: object) -> SimpleNamespace:
        call.append(methods)
        return SimpleNamespace(results={})

    monkeypatch.setattr("neardup.evaluation.runs.evaluate", evaluate)
    neardup("evaluate", "set", "--methods", "all", "--out", "measured")
    assert call == [None]


def test_quiet_verbose_and_a_log_file(pages: Path, neardup: Command) -> None:
    call = ("dedup", pages, "--method", "exact")
    _, _, output = neardup(*call, "--out", "a", "-q")
    assert output == ""
    _, _, output = neardup(*call, "--out", "b", "-q", "-v")
    assert "neardup: parse: 7 in" in output
    _, _, output = neardup(*call, "--out", "c", "-q", "--log-file", "run.log")
    log = Path("run.log").read_text("utf-8")
    assert "INFO neardup.run: cluster" in log
    code, _, output = neardup(*call, "--out", "d", "--log-file", "nowhere/run.log")
    assert code == 2
    assert "cannot write the log file nowhere/run.log" in output


def test_the_library_logs_without_being_asked_to_print(
    pages: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level("INFO", logger="neardup"):
        library.dedup(str(pages), tmp_path / "r", method="exact", report=False)
    assert any(record.message.startswith("parse: 7 in ") for record in caplog.records)


def test_the_last_lines_name_the_report_and_the_next_command(pages: Path, neardup: Command) -> None:
    _, out, _ = neardup("dedup", pages, "--out", "my result", "--write-kept", "kept.jsonl")
    *_, where, kept, report, following = out.splitlines()
    assert where == "written to my result"
    assert kept == "kept pages: kept.jsonl"
    assert report == "report: my result/report.html (open it in a browser)"
    assert following == (
        "to try another threshold: neardup recluster 'my result' --threshold 0.9 "
        "--out 'my result-0.9'"
    )
    _, out, _ = neardup("dedup", pages, "--out", "r", "--method", "exact")
    assert out.splitlines()[-1].startswith("to add more pages: neardup dedup INPUT --against r ")


@pytest.mark.parametrize("computed", [True, False])
def test_ctrl_c_promises_to_resume_only_what_can_be(
    computed: bool, pages: Path, neardup: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object, **__: object) -> None:
        if computed:
            Path(".r.work").mkdir()
        raise KeyboardInterrupt

    monkeypatch.setattr("neardup.api.dedup", interrupted)
    code, _, output = neardup("dedup", pages, "--out", "r")
    assert code == 130
    assert ("--resume" in output) is computed
    assert ("no result was written" in output) is not computed


def test_a_used_port_is_exit_code_1(neardup: Command) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        code, _, output = neardup("serve", "--store", "memory://", "--port", port)
    assert code == 1
    assert (
        f"cannot listen on 127.0.0.1:{port}: Address already in use; use another --port" in output
    )


def test_columns_by_name_on_the_command_line_and_in_a_file(neardup: Command) -> None:
    ferry = "\n".join(ARTICLES["ferry"])
    table = pa.table({"key": [1, 2], "body": [ferry, ferry], "meta": [{"link": "u"}] * 2})
    pq.write_table(table, "texts.parquet")
    code, _, output = neardup("dedup", "texts.parquet", "--out", "r")
    assert code == 1
    assert "the columns are: key, body, meta.link; " in output
    assert "--text-column body" in output
    call = ("--text-column", "body", "--id-column", "key", "--url-column", "meta.link")
    assert neardup("dedup", "texts.parquet", "--out", "r", *call)[0] == 0
    assert [page["id"] for page in library.Result("r").pages()] == ["1", "2"]
    assert [page["url"] for page in library.Result("r").pages()] == ["u", "u"]
    Path("c.toml").write_text('text_column = "body"\nid_column = "key"\nthreshold = 0.9\n')
    assert neardup("dedup", "texts.parquet", "--out", "s", "--config", "c.toml")[0] == 0
    assert library.Result("s").summary["options"]["threshold"] == 0.9
    code, out, _ = neardup("check", "texts.parquet", "--store", "memory://", *call[:4])
    assert code == 0
    assert "1 duplicates" in out


def test_the_pages_of_a_folder_get_their_urls(neardup: Command) -> None:
    Path("site/a b").mkdir(parents=True)
    Path("site/index.html").write_text(html("ferry"))
    Path("site/a b/page.html").write_text(html("bridge"))
    Path("site/a b/index.html").write_text(html("茶"))
    call = ("dedup", "site", "--base-url", "https://site.example/", "--out", "r")
    assert neardup(*call)[0] == 0
    urls = {page["id"]: page["url"] for page in library.Result("r").pages()}
    assert urls == {
        "a b/index.html": "https://site.example/a%20b/",
        "a b/page.html": "https://site.example/a%20b/page.html",
        "index.html": "https://site.example/",
    }


@pytest.mark.parametrize("page", ["text", b"bytes", None, {"text": "x"}])
def test_the_index_says_what_it_takes(page: object) -> None:
    with library.Index.open("memory://") as index:
        for step in (index.add, index.query, lambda each: index.add_many([each])):
            with pytest.raises(library.UsageError, match=r"neardup\.text_page\(text, id=\.\.\.\)"):
                step(page)  # type: ignore[arg-type]
