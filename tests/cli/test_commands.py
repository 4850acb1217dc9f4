"""The commands as a user types them."""

from __future__ import annotations

import json
import re
import resource
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from interrupting import IN_FILES, INTERRUPTED
from neardup.cli.main import app
from sample_pages import html, sample_records, write_jsonl

Command = Callable[..., tuple[int, str, str]]

EXACT = ["--method", "exact"]  # its answers are plain to see
COMMANDS = [
    *("dedup", "recluster", "check", "status", "expire", "recheck", "export"),
    *("compare", "methods", "demo"),
    *("serve", "evaluate", "tune", "synth", "warm-up"),
]


@pytest.fixture
def pages(tmp_path: Path) -> Path:
    return write_jsonl(tmp_path / "pages.jsonl", sample_records())


def test_help_shows_the_defaults(neardup: Command) -> None:
    """Unescaped, [default: ...] would be markup to rich, and vanish."""
    _, out, _ = neardup("dedup", "--help")
    for default in ("own-text", "original", "all cores"):
        assert f"[default: {default}]" in out


@pytest.mark.parametrize("command", COMMANDS)
def test_help_shows_an_example(command: str, neardup: Command) -> None:
    code, out, _ = neardup(command, "--help")
    assert code == 0
    assert f"neardup {command}" in out
    assert "Example" in out


def test_dedup_writes_the_files_and_says_where(
    pages: Path, tmp_path: Path, neardup: Command
) -> None:
    out = tmp_path / "out"
    code, output, progress = neardup("dedup", pages, "--out", out, *EXACT)
    assert code == 0
    assert "3 duplicates" in " ".join(output.split())
    assert str(out) in output
    assert "reading and parsing" in progress
    names = sorted(path.name for path in out.iterdir())
    assert names == [
        "clusters.jsonl",
        "features",
        "pairs.jsonl",
        "rejected.jsonl",
        "remembered.parquet",
        "report.html",
        "skipped.jsonl",
        "summary.json",
    ]


def test_a_run_without_report(pages: Path, tmp_path: Path, neardup: Command) -> None:
    arguments = ("dedup", str(pages), "--out", str(tmp_path / "out"), "--no-report")
    code, out, _ = neardup(*arguments)
    assert code == 0
    assert "report:" not in out
    assert (tmp_path / "out" / "clusters.jsonl").is_file()
    assert not (tmp_path / "out" / "report.html").exists()


def test_dedup_takes_options_from_a_file_and_the_command_line_wins(
    pages: Path, tmp_path: Path, neardup: Command
) -> None:
    config = tmp_path / "c.toml"
    config.write_text('keep = "oldest"\nformat = "parquet"\n[options]\nminimum_text = 5\n')
    out = tmp_path / "out"
    arguments = ["dedup", pages, "--out", out, "--config", config, "--format", "jsonl", *EXACT]
    code, _, _ = neardup(*arguments)
    assert code == 0
    summary = json.loads((out / "summary.json").read_text())
    assert summary["keep"] == "oldest"
    assert summary["options"] == {"minimum_text": 5}
    assert summary["counts"]["undecided"] == 0
    code, _, _ = neardup(*arguments, "--force", "--set", "minimum_text=9999")
    assert code == 0
    assert (
        json.loads((out / "summary.json").read_text())["counts"]["undecided"] == 3
    )  # the others are identical


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--method", "magic"], "unknown method 'magic'"),
        (["--set", "nothing"], "--set takes NAME=VALUE"),
        (["--set", "minimum_text=x"], "is not a value of type int"),
        (["--keep", "best"], "unknown keep policy 'best'"),
        (["--format", "xml"], "unknown format 'xml'"),
        (["--max-page-size", "huge"], "'huge' is not a size"),
        (["--config", "nowhere.toml"], "cannot read the config file nowhere.toml"),
        (["--workers", "0"], "--workers"),
        (["--no-such-option"], "--no-such-option"),
    ],
)
def test_bad_usage_is_exit_code_2(
    arguments: list[str], message: str, pages: Path, tmp_path: Path, neardup: Command
) -> None:
    out = tmp_path / "out"
    code, _, output = neardup("dedup", pages, "--out", out, *EXACT, *arguments)
    assert code == 2
    assert message in output
    assert not out.exists()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('method = "exact"\nkeeps = "longest"\n', "has no setting 'keeps'"),
        ("workers = 'two'\n", "'workers' must be of type int"),
        ("contained = 1\n", "'contained' must be of type bool"),
        ("options = 3\n", "'options' must be a table"),
    ],
)
def test_a_bad_config_file_is_told(
    text: str, message: str, pages: Path, tmp_path: Path, neardup: Command
) -> None:
    config = tmp_path / "c.toml"
    config.write_text(text)
    arguments = ["dedup", pages, "--out", tmp_path / "out", "--config", config]
    code, _, output = neardup(*arguments)
    assert code == 2
    assert message in output


def test_a_missing_input_is_exit_code_1_and_one_line(tmp_path: Path, neardup: Command) -> None:
    missing = tmp_path / "nowhere.warc.gz"
    code, _, output = neardup("dedup", missing, "--out", tmp_path / "out")
    assert code == 1
    assert "nowhere.warc.gz" in output.splitlines()[-1]
    assert "Traceback" not in output


def test_bad_pages_do_not_end_a_run(pages: Path, tmp_path: Path, neardup: Command) -> None:
    with pages.open("a") as file:
        file.write('{"id": "x"}\n[]\nnot json\n')
    code, output, _ = neardup("dedup", pages, "--out", tmp_path / "out")
    assert code == 0
    assert "2 bad-json, 1 no-content" in output


def test_compare_tells_the_relation_and_why(tmp_path: Path, neardup: Command) -> None:
    a, b = tmp_path / "a.html", tmp_path / "b.html"
    a.write_text(html("ferry"))
    b.write_text(html("ferry", wrap="div"))
    code, output, _ = neardup("compare", a, b, "--method", "exact")
    assert code == 0
    assert "same" in output
    assert "the titles and the texts are the same" in output
    code, output, _ = neardup("compare", a, b, "--method", "exact", "--json")
    (verdict,) = json.loads(output)
    assert verdict["method"] == "exact"
    assert verdict["relation"] == "same"
    assert verdict["similarity"] == 1.0


def test_compare_wants_one_page_a_file(pages: Path, neardup: Command) -> None:
    code, _, output = neardup("compare", pages, pages)
    assert code == 1
    assert "holds more than one page" in output


def test_methods_lists_every_method_with_its_options(neardup: Command) -> None:
    from neardup.methods.registry import BUILT_IN

    _, output, _ = neardup("methods", "--json")
    listed = {each["name"]: each for each in json.loads(output)}
    assert list(listed) == list(BUILT_IN)
    assert listed["exact"]["options"][0]["name"] == "minimum_text"
    assert all(each["paper"] for each in listed.values())
    _, table, _ = neardup("methods")
    assert all(name in table for name in BUILT_IN)


def test_demo_shows_clusters_and_where_they_are(tmp_path: Path, neardup: Command) -> None:
    out = tmp_path / "demo"
    code, output, _ = neardup("demo", "--out", out)
    assert code == 0
    assert "kept" in output
    assert str(out) in output
    assert (out / "clusters.jsonl").exists()


def test_methods_that_survey_all_pages_show_their_progress(
    tmp_path: Path, neardup: Command
) -> None:
    """i-match counts twice: what sites repeat, and the words of all pages."""
    pages = tmp_path / "pages.jsonl"
    pages.write_text(json.dumps({"id": "1", "url": "http://a.example/", "html": "<p>a b c"}))
    out = tmp_path / "out"
    code, _, errors = neardup("dedup", pages, "--method", "i-match", "--out", out)
    assert code == 0
    assert "counting words of all pages" in errors


def test_every_command_is_in_the_app() -> None:
    assert [command.name for command in app.registered_commands] == COMMANDS


def test_version(neardup: Command) -> None:
    code, output, _ = neardup("--version")
    assert code == 0
    assert output.startswith("neardup ")


@pytest.mark.slow
def test_standard_input_and_markup_in_ids(tmp_path: Path) -> None:
    records = [{"id": f"[red]{n}[/red]", "html": html("ferry")} for n in range(2)]
    lines = "\n".join(map(json.dumps, records))
    command = [sys.executable, "-m", "neardup", "dedup", "-", "--out", str(tmp_path / "out")]
    done = subprocess.run(command, input=lines, text=True, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    first = json.loads((tmp_path / "out" / "clusters.jsonl").read_text().splitlines()[0])
    assert first["id"] == "[red]0[/red]"


@pytest.mark.slow
def test_ctrl_c_ends_cleanly_and_leaves_nothing(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "neardup", "dedup", "-", "--out", str(tmp_path / "out")]
    process = subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdin is not None
    assert process.stderr is not None
    process.stdin.write(json.dumps({"id": "a", "html": html("ferry")}) + "\n")
    process.stdin.flush()
    while "reading and parsing" not in process.stderr.readline():
        assert process.poll() is None
    process.send_signal(signal.SIGINT)
    _, output = process.communicate(timeout=60)
    assert process.returncode in INTERRUPTED
    assert output.splitlines()[-1].startswith("neardup: interrupted")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_a_full_disk_is_one_clear_line_and_leaves_nothing(pages: Path, tmp_path: Path) -> None:
    """A limit on the size of files stands in for the disk: the system refuses the write."""

    def small_files_only() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (2_000, 2_000))

    out = tmp_path / "there" / "out"
    command = [sys.executable, "-m", "neardup", "dedup", str(pages), "--out", str(out)]
    done = subprocess.run(
        command,
        text=True,
        capture_output=True,
        check=False,
        preexec_fn=small_files_only,
    )
    assert done.returncode == 1
    assert f"cannot write {out}" in done.stderr.splitlines()[-1]
    assert "Traceback" not in done.stderr
    assert list(out.parent.iterdir()) == []


def test_what_was_computed_until_the_disk_was_full_is_kept(pages: Path, tmp_path: Path) -> None:
    def small_files_only() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))  # the report is larger

    def dedup(out: Path, *more: str, full: bool = False) -> subprocess.CompletedProcess[str]:
        arguments = ["dedup", str(pages), "--out", str(out), *more]
        command = [sys.executable, "-c", IN_FILES, *arguments]
        limit = small_files_only if full else None
        return subprocess.run(
            command, text=True, capture_output=True, check=False, preexec_fn=limit
        )

    out = tmp_path / "there" / "out"
    failed = dedup(out, full=True)
    assert failed.returncode == 1
    assert failed.stderr.splitlines()[-2:] == [
        f"neardup: cannot write {out}: File too large",
        "neardup: what was computed is kept: the same run with --resume continues it",
    ]
    features = out.parent / ".out.work" / "features" / "manifest.jsonl"
    assert features.stat().st_size > 0
    assert dedup(out, "--resume").returncode == 0
    assert [path.name for path in out.parent.iterdir()] == ["out"]
    assert dedup(tmp_path / "whole").returncode == 0
    for name in ("clusters.jsonl", "pairs.jsonl", "report.html"):
        assert (out / name).exists()
    for name in ("clusters.jsonl", "pairs.jsonl"):
        assert (out / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()


def test_recluster_writes_another_result(pages: Path, tmp_path: Path, neardup: Command) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    neardup("dedup", pages, "--out", first, *EXACT)
    arguments = ["recluster", first, "--threshold", "1", "--out", second]
    code, output, _ = neardup(*arguments)
    assert code == 0
    assert str(second) in output
    assert (second / "clusters.jsonl").read_bytes() == (first / "clusters.jsonl").read_bytes()
    code, _, output = neardup(*arguments[:3], "2", "--out", second)
    assert code == 2
    assert "--threshold" in output


def test_dedup_against_an_earlier_result(pages: Path, tmp_path: Path, neardup: Command) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    neardup("dedup", pages, "--out", first, *EXACT)
    new = write_jsonl(tmp_path / "new.jsonl", [{"id": "x", "html": html("bridge")}])
    code, output, _ = neardup(
        "dedup",
        new,
        "--out",
        second,
        "--against",
        first,
        "--memory",
        "1GB",
        "--workers",
        "1",
        *EXACT,
    )
    assert code == 0
    assert "4 duplicates" in " ".join(output.split())


def test_a_dry_run_tells_what_is_needed_and_writes_nothing(
    pages: Path, tmp_path: Path, neardup: Command
) -> None:
    out = tmp_path / "out"
    code, _, output = neardup("dedup", pages, "--out", out, "--dry-run")
    assert code == 0
    assert "about 7 pages" in output
    assert "of memory" in output
    assert not out.exists()


@pytest.mark.parametrize("dry_run", [["--dry-run"], []])
def test_too_little_memory_is_refused_with_the_least_that_would_do(
    dry_run: list[str], pages: Path, tmp_path: Path, neardup: Command
) -> None:
    arguments = ["dedup", pages, "--out", tmp_path / "out", "--workers", "2", *dry_run, *EXACT]
    code, _, output = neardup(*arguments, "--memory", "10MB")
    assert code == 2
    assert "2 workers and pages of up to 20 MB" in output
    least = re.search(r"at least (\d+)MB", output)
    assert least is not None
    assert 10 < int(least[1]) < 1_500
    code, _, output = neardup(*arguments, "--memory", f"{least[1]}MB")
    assert code == 0
    # Larger pages need more, and so do more workers.
    for more in (["--max-page-size", "50MB"], ["--workers", "3"]):
        code, _, _ = neardup(*arguments, *more, "--memory", f"{least[1]}MB")
        assert code == 2
