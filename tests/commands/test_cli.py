"""The command: exit codes, bad questions, limits, reports and files."""

from __future__ import annotations

import json
import os
import pty
import re
import shlex
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import click
import pytest
from click.testing import Result

from checker.cli import main
from checker.explore import breadth_first
from checker.report.documents import ExplorationReport
from checker.report.formats.junit import clean
from invariants import PROPERTIES
from tests.commands.running import BROKEN, HEARING, TINY, assert_refused, interrupted, run
from tests.patience import HANG, ticking
from zabspec.protocols.registry import PROTOCOLS
from zabspec.typed import read, schema

COMMAND = [sys.executable, "-c", "from checker.cli import main; main()"]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Counterexamples are saved in the current folder: one of the test's own."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def first_sentence(text: str) -> str:
    """The first paragraph, in one line."""
    return " ".join(text.partition("\n\n")[0].split())


def report_of(result: Result) -> dict[str, Any]:
    """The JSON report, which keeps its schema."""
    from jsonschema import Draft202012Validator  # type: ignore[import-untyped]

    report: dict[str, Any] = json.loads(result.stdout)
    derived = schema(ExplorationReport)
    Draft202012Validator.check_schema(derived)
    Draft202012Validator(derived).validate(report)
    read(report, ExplorationReport)
    assert report["exit_code"] == result.exit_code
    return report


# --- the question was wrong --------------------------------------------------------------------

# all others are in tests/transcripts/commands/wrong-requests.txt
WRONG = [
    ("--trace fifo", "this is not a regular file"),
    ("--depth 2 --html mine.py", "this is a program, and is not overwritten"),
    ("x" * 300, "there is no command"),
]


@pytest.mark.parametrize(("words", "sentence"), WRONG)
def test_a_wrong_question_is_exit_2_and_one_sentence(folder: Path, words: str, sentence: str) -> None:
    os.mkfifo(folder / "fifo")
    (folder / "mine.py").write_text("mine")
    assert_refused(run(*shlex.split(words)), sentence)
    assert (folder / "mine.py").read_text() == "mine"


def test_nothing_is_explored_or_written_when_a_file_cannot_be(folder: Path) -> None:
    (folder / "file").write_text("kept")
    result = run(*BROKEN, "--junit", "file/below.xml")
    assert result.exit_code == 2
    assert "file/below.xml" in result.stderr
    assert [p.name for p in folder.iterdir()] == ["file"]


def test_no_format_is_written_over_a_trace_of_the_run(folder: Path) -> None:
    """Which names the second trace and those behind it have is known when something is violated."""
    words = shlex.split("--variant small-quorum --nodes 2 --txns 1 --timeouts 0 --crashes 0 --losses 0")
    assert "t-durability.json" in run(*words, "--trace", "t.json").output
    saved = (folder / "t-durability.json").read_bytes()
    result = run(*words, "--trace", "t.json", "--junit", "t-durability.json", "--html", "page.html", "--json")
    assert result.exit_code == json.loads(result.stdout)["exit_code"] == 3
    assert "cannot write t-durability.json (--junit): a counterexample was saved there" in result.stderr
    assert (folder / "t-durability.json").read_bytes() == saved
    assert (folder / "page.html").exists()


def test_export_refuses_a_file_that_is_no_trace(folder: Path) -> None:
    (folder / "t.json").write_text('{"format": 1')
    result = run("export", "t.json", "--to", "text")
    assert result.exit_code == 2
    assert "t.json" in result.stderr
    assert result.stdout == ""


# --- all held ----------------------------------------------------------------------------------


def test_an_exhausted_space_holds_and_says_what_was_not_put_to_the_test(folder: Path) -> None:
    result = run(*TINY)
    assert result.exit_code == 0
    assert result.stderr == ""
    first = first_sentence(result.stdout)
    assert first.startswith("holds: ")
    assert "premises not reached" in first
    assert "explored to exhaustion (depth 21)" in first
    assert "2 nodes, 1 transaction, 0 timeouts" in first
    assert re.search(r"^integrity +holds, witnessed at depth \d+", result.stdout, re.MULTILINE)
    assert re.search(r"^premise not reached, 16 properties: total-order, ", result.stdout, re.MULTILINE)
    assert "never taken within these bounds: l.3.3, l.3.4" in result.stdout
    assert "\x1b" not in result.stdout
    assert "─" not in result.stdout
    assert list(folder.iterdir()) == []


def test_a_bounded_run_reports_its_bound_and_claims_nothing_untested() -> None:
    result = run(*TINY, "--depth", "3")
    assert result.exit_code == 3
    first = first_sentence(result.stdout)
    assert first.startswith("premise not reached: ")
    assert "to depth 3 and no further" in first
    result = run(*TINY, "--depth", "0", "--property", "integrity")
    assert result.exit_code == 3
    assert "explored to depth 0" in first_sentence(result.stdout)


def test_the_literal_invariant_is_judged_only_if_named() -> None:
    report = report_of(run(*TINY, "--json", "--property", "invariant-5-literal"))
    assert report["configuration"]["literal"] is True
    assert [p["name"] for p in report["properties"]] == ["invariant-5-literal"]
    assert report_of(run(*TINY, "--json", "--depth", "1"))["configuration"]["literal"] is False


# --- a violation -------------------------------------------------------------------------------


@pytest.mark.slow(seconds=1)
def test_a_violation_is_exit_1_and_its_trace_is_printed_and_saved(folder: Path) -> None:
    result = run(*BROKEN)
    assert result.exit_code == 1
    assert result.stderr == ""
    assert result.stdout.startswith("VIOLATED: ")
    name = re.match(r"VIOLATED: ([\w-]+) at depth (\d+)", result.stdout)
    assert name
    saved = folder / f"zabcheck-small-quorum-{name[1]}.trace.json"
    assert saved.name in result.stdout
    assert f"{name[1]} is violated after {name[2]} steps" in result.stdout
    for form in ("text", "json", "itf"):
        exported = run("export", saved.name, "--to", form)
        assert exported.exit_code == 0, form
        assert exported.stdout
        to_file = run("export", saved.name, "--to", form, "--output", "out")
        assert to_file.exit_code == 0
        assert to_file.stdout == ""
        assert (folder / "out").read_text().rstrip("\n") == exported.stdout.rstrip("\n")
    assert not [p for p in folder.iterdir() if p.name.startswith(".")]


def test_with_keep_going_every_violation_has_a_file(folder: Path) -> None:
    report = report_of(run(*BROKEN, "--keep-going", "--json", "--trace", "run.trace.json"))
    broken = [p for p in report["properties"] if p["verdict"] == "violated"]
    assert len(broken) > 1
    assert report["verdict"] == "violated"
    assert {p["violation"]["trace_file"] for p in broken} == {f"run-{p['name']}.trace.json" for p in broken}
    assert {p.name for p in folder.iterdir()} == {p["violation"]["trace_file"] for p in broken}
    for p in broken:
        assert p["violation"]["depth"] == len(p["violation"]["schedule"])
        assert p["violation"]["text"]


def test_without_keep_going_the_others_have_no_verdict(folder: Path) -> None:
    report = report_of(run(*BROKEN, "--json", "--trace", "here.json"))
    verdicts = {p["verdict"] for p in report["properties"]}
    assert verdicts == {"violated", "no verdict"}
    assert not report["coverage"]["request_covered"]
    assert (folder / "here.json").exists()
    result = run(*BROKEN, "--no-trace")
    assert result.exit_code == 1
    assert "--keep-going continues" in result.stdout
    assert {p.name for p in folder.iterdir()} == {"here.json", "here-durability.json"}


@pytest.mark.parametrize(
    ("name", "problem", "verdict"),
    [
        ("write_trace", "cannot write t.json: No space left on device", "VIOLATED"),
        ("verify", "step 3: role differs", "no verdict"),
    ],
)
def test_an_unsaved_trace_is_printed_and_one_that_differs_is_a_bug(
    name: str, problem: str, verdict: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import traces

    def fails(*_: object) -> None:
        raise traces.TraceError(problem)

    monkeypatch.setattr(traces, name, fails)
    result = run(*BROKEN)
    assert result.exit_code == 3
    assert result.stdout.startswith(f"{verdict}: ")
    assert ("is violated after" in result.stdout) == (name == "write_trace")
    assert problem in result.stderr
    assert ("this is a bug of zabcheck, please report it" in result.stderr) == (name == "verify")
    assert report_of(run(*BROKEN, "--json"))["verdict"] == verdict.lower()


# --- JUnit -------------------------------------------------------------------------------------


def test_junit_has_a_case_for_each_property(folder: Path) -> None:
    assert run(*BROKEN, "--keep-going", "--no-trace", "--junit", "j.xml").exit_code == 1
    suite = ElementTree.parse(folder / "j.xml").getroot()[0]
    cases = suite.findall("testcase")
    assert [c.get("name") for c in cases] == [p.name for p in PROPERTIES if p.default and p.judges("zab")]
    for outcome, total in (("failure", "failures"), ("error", "errors"), ("skipped", "skipped")):
        assert suite.get(total) == str(len(suite.findall(f"testcase/{outcome}")))
    failure = suite.find("testcase/failure")
    assert failure is not None
    assert failure.text
    assert "is violated after" in failure.text
    assert suite.findall("testcase/skipped")

    assert run(*TINY, "--max-states", "5", "--junit", "j.xml").exit_code == 3
    suite = ElementTree.parse(folder / "j.xml").getroot()[0]
    assert len(suite.findall("testcase/error")) == len(cases), "a run cut short must not look like a success"
    assert clean("a\x00b\x1b[0m") == "a?b?[0m"


@pytest.mark.slow(seconds=1)
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_is_exit_3_and_the_verdict_is_still_printed() -> None:
    result = run(*TINY, "--junit", "/dev/full")
    assert result.exit_code == 3
    assert result.stdout.startswith("holds: ")
    assert result.stderr == "zabcheck: cannot write /dev/full: No space left on device\n"
    with open("/dev/full", "w") as full:
        process = subprocess.run([*COMMAND, *TINY], stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert process.returncode == 3
    assert "No space left" in process.stderr
    assert "holds: " in process.stderr
    assert process.stderr.count("\n") == 1


# --- no verdict --------------------------------------------------------------------------------


@pytest.mark.slow(seconds=1)
@pytest.mark.parametrize(
    ("limit", "reason"),
    [
        (("--max-states", "500"), "--max-states 500 reached"),
        (("--time-limit", str(HANG)), f"--time-limit {HANG:g} s reached"),
        (("--memory-limit", "1M"), "--memory-limit 1 MiB reached"),
        (("--max-epoch", "1"), "widen it with --max-epoch"),
    ],
)
def test_a_run_cut_short_is_exit_3_and_says_how_far_it_got(
    limit: tuple[str, str], reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    ticking(monkeypatch, breadth_first, HANG / 100)
    report = report_of(run("--json", "--property", "agreement", "--property", "durability", *limit))
    assert report["verdict"] == "no verdict"
    assert reason in report["sentence"]
    assert report["sentence"].startswith("no verdict: ")
    assert "explored all states to depth" in report["sentence"]
    assert not report["coverage"]["request_covered"]
    assert not report["coverage"]["exhausted"]
    assert (report["coverage"]["error"] or report["coverage"]["stopped"]) in report["sentence"]
    assert {p["verdict"] for p in report["properties"]} == {"no verdict"}
    assert 0 <= report["coverage"]["complete_depth"] <= report["states"]["depth"]


def test_a_depth_asked_for_is_no_limit_but_a_limit_met_below_it_is() -> None:
    assert run(*TINY, "--depth", "16", "--max-states", "100000").exit_code == 0
    assert run(*TINY, "--depth", "20", "--max-states", "5").exit_code == 3


@pytest.mark.slow(seconds=2)
def test_ctrl_c_ends_soon_with_what_was_covered() -> None:
    """Of what is compiled; `test_endings.py` interrupts what is interpreted."""
    run("--depth", "1", "--json")  # so that the compiled code is in the cache
    for after in (1.25, 2.5, 10.0, 25.0):  # a slow machine takes a while to begin
        code, out, err, spent = interrupted("--json", after=after)
        assert code == 3, err
        assert spent < 5, "CPU seconds, of all threads"
        assert "Traceback" not in err
        report = json.loads(out)
        if report.get("states", {}).get("distinct", 0) > 10:
            break
    assert report["verdict"] == "no verdict"
    assert report["coverage"]["stopped"] == "interrupted"
    assert report["states"]["distinct"] > 10


@pytest.mark.slow(seconds=1)
def test_ctrl_c_before_the_exploration_is_exit_3_without_a_traceback(tmp_path: Path) -> None:
    fresh = os.environ | {"ZABCHECK_CACHE": str(tmp_path / "cache")}
    code, out, err, _ = interrupted("--txns", "3", after=0.6, environment=fresh)
    assert code == 3, err
    assert "Traceback" not in err
    assert out.startswith("no verdict: interrupted") or err == "zabcheck: interrupted; there is no verdict\n"


# --- the terminal, tables, words ---------------------------------------------------------------


def on_terminal(*arguments: str, until: str = "") -> str:
    """What the command writes with both streams on a terminal; it gets Ctrl-C once it has written `until`, if given."""
    ours, theirs = pty.openpty()
    environment = os.environ | {"TERM": "xterm-256color", "COLUMNS": "150"}
    environment.pop("NO_COLOR", None)
    process = subprocess.Popen([*HEARING, *arguments], stdout=theirs, stderr=theirs, env=environment)
    os.close(theirs)
    out = b""
    try:
        while data := os.read(ours, 65536):
            out += data
            if until and until.encode() in out:
                process.send_signal(signal.SIGINT)
                until = ""
    except OSError:  # Linux says so when the other end is closed
        pass
    os.close(ours)
    process.wait(HANG)
    return out.decode()


@pytest.mark.slow(seconds=4)
def test_a_terminal_gets_colours_the_progress_of_a_long_run_and_the_names_of_files(tmp_path: Path) -> None:
    out = on_terminal(*BROKEN, "--html", str(tmp_path / "run.html"))
    assert f"written: {tmp_path / 'run.html'}" in out
    assert "\x1b[" in out
    assert "VIOLATED: " in out
    assert "is violated after" in out
    assert "distinct states" in out
    assert "in the queue" not in out
    out = on_terminal("--memory-limit", "8G", until="in the queue")
    assert "in the queue" in out
    assert "no verdict: interrupted" in out


def test_the_tables_list_everything() -> None:
    names = [tuple(row.split()[:2]) for row in rows_of(run("variants").stdout)]
    assert names == [(p.name, variant) for p in PROTOCOLS.values() for variant in p.variants]
    names = [row.split()[0] for row in rows_of(run("properties").stdout)]
    assert names == [p.name for p in PROPERTIES]
    assert re.fullmatch(r"zabcheck, version \d+\.\d+\.\d+\S*\n", run("--version").stdout)
    text = run("--help").stdout
    assert "zabcheck --nodes 3 --depth 20" in text
    for option in (p for p in main.params if p.name != "help"):
        assert option.opts[0] in text


def test_help_begins_with_the_commands_and_cuts_no_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a new reader looks for stands before the options, and each command in its group with all that it says."""
    monkeypatch.setenv("COLUMNS", "80")
    text = run("--help").stdout
    before = " ".join(text.partition("\nOptions:\n")[0].split())
    with click.Context(main) as ctx:
        for name in main.list_commands(ctx):
            command = main.get_command(ctx, name)
            assert command is not None
            assert f" {name} {command.get_short_help_str(1000)}" in before, name
    assert [line for line in text.partition("Examples:")[0].splitlines() if len(line) > 80] == []
    for line in text.partition("To begin with:")[2].partition("Exit codes")[0].splitlines():
        if line.strip().startswith("zabcheck"):
            assert line.split()[1] in {*main.list_commands(ctx), "--nodes"}, line


def test_a_list_is_searched_by_words() -> None:
    found = rows_of(run("variants", "JOINER", "proposals").stdout)
    assert found[0].split()[1] == "propose-to-synced-only"
    assert len(found) < len(rows_of(run("variants", "joiner").stdout)) < len(rows_of(run("variants").stdout))
    assert_refused(
        run("variants", "joiner", "no-such-word"), "no variant is described with 'joiner' and 'no-such-word'"
    )


def rows_of(table: str) -> list[str]:
    """The rows of a table, without its head and what stands below each."""
    return [line for line in table.splitlines()[1:] if not line.startswith(" ")]
