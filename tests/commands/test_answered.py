"""What is on stdout and the exit code agree, whatever comes once an answer is given: signals, readers, full disks.

Signals after so many calls since the first byte of any command: `python -m tests.fuzz --ends 99 --kind answered`.
"""

from __future__ import annotations

import array
import fcntl
import json
import os
import signal
import subprocess
import sys
import termios
from dataclasses import replace
from pathlib import Path

import pytest

from checker import ending
from checker.output_files import write_file
from checker.report.formats.registry import formats_of
from tests.commands.running import BROKEN, TINY, run
from tests.patience import HANG, until
from tests.zookeeper.written import history, server

PAGE = 4096  # bytes: the least that a pipe holds
LEAST = (*TINY[2:], "--nodes", "1", "--property", "one-primary-an-epoch")

# As the installed script, with something that happens to it.
SCRIPT = """import sys
{before}
from checker.cli import main
if __name__ == "__main__":
    sys.exit(main())
"""
SENT = "import os; os.kill(os.getpid(), {number})"
# What runs after the command has ended, and before the process has.
LATE = {
    "atexit": f"import atexit; atexit.register(lambda: exec({SENT!r}))",
    "joined": f"import threading; threading._register_atexit(lambda: exec({SENT!r}))",
    "thread": f"import threading as t; t.Thread(target=lambda: [t.main_thread().join(), exec({SENT!r})]).start()",
}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def script(folder: Path, before: str) -> list[str]:
    path = folder / "zabcheck"
    path.write_text(SCRIPT.format(before=before))
    return [sys.executable, str(path)]


@pytest.mark.slow(seconds=1)
@pytest.mark.parametrize("when", LATE)
def test_a_signal_as_the_process_ends_changes_nothing(when: str, folder: Path) -> None:
    words = script(folder, LATE[when].format(number=int(signal.SIGINT if when == "joined" else signal.SIGTERM)))
    done = subprocess.run(
        [*words, *LEAST, "--engine", "interpret", "--json", "--no-trace"], capture_output=True, text=True,
        timeout=HANG, check=False,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, ""), done
    assert json.loads(done.stdout)["exit_code"] == 0


def test_a_signal_amid_an_answer_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """It comes as each of two files is written."""

    def sending(*given: object) -> str:
        signal.raise_signal(signal.SIGTERM)
        return write_file(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(ending, "write_file", sending)
    result = run(*BROKEN, "--no-trace", "--json", "--junit", "j.xml", "--html", "p.html")
    assert (result.exit_code, json.loads(result.stdout)["exit_code"], result.stderr) == (1, 1, "")
    assert Path("j.xml").read_text().startswith("<?xml")
    assert Path("p.html").read_text().startswith("<!doctype html>")


def test_a_signal_before_an_answer_leaves_nothing_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """It comes when everything is known, and no byte is written."""
    formats = formats_of("explore")
    sending = replace(formats["junit"], render=lambda _: signal.raise_signal(signal.SIGTERM))  # type: ignore[arg-type, return-value]
    monkeypatch.setitem(formats, "junit", sending)
    result = run(*BROKEN, "--no-trace", "--json", "--html", "p.html", "--junit", "j.xml")
    assert (result.exit_code, json.loads(result.stdout)["exit_code"]) == (3, 3)
    assert result.stderr == "zabcheck: interrupted; there is no verdict\n"
    assert not list(Path().iterdir())


@pytest.mark.slow(seconds=1)
@pytest.mark.parametrize(
    "words",
    [
        (*TINY, "--json", "--junit"), (*TINY, "--json", "--html"), ("audit", "data", "--json", "--junit"),
        ("simulate", "--rounds", "60", "--check", "--json", "--dump"),
    ],
    ids=lambda words: words[-1],
)  # fmt: skip
def test_json_says_that_a_file_could_not_be_written(words: tuple[str, ...], folder: Path) -> None:
    """It said 0, with an exit code of 3."""
    server(history((1, 3))).write(folder / "data")
    result = run(*words, "/dev/full")
    assert (result.exit_code, json.loads(result.stdout)["exit_code"]) == (3, 3)
    assert "cannot write /dev/full" in result.stderr
    assert json.loads(result.stdout)["error"] in result.stderr


def test_a_report_that_was_not_written_whole_contradicts_nothing() -> None:
    Path("run.json").write_text(run(*TINY, "--json", "--junit", "/dev/full").stdout)
    assert run("report", "run.json", "--html").exit_code == 3


@pytest.mark.slow(seconds=1)
@pytest.mark.parametrize("taken", [0, 5000])
def test_a_reader_who_takes_nothing_is_not_waited_for(taken: int, folder: Path) -> None:
    """Once a signal comes: what he has is no whole answer, and the exit code says so."""
    process = subprocess.Popen([*script(folder, ""), "variants"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None
    reading = process.stdout.fileno()
    try:
        fcntl.fcntl(reading, fcntl.F_SETPIPE_SZ, PAGE)
        got = 0
        while got < taken:
            got += len(os.read(reading, min(PAGE, taken - got)))
        assert until(lambda: process.poll() is not None or held_by(reading) == PAGE - taken % PAGE)
        process.send_signal(signal.SIGTERM)
        assert process.wait(HANG) == 3
        rest, err = process.communicate()
        assert err == b"zabcheck: interrupted; there is no verdict\n"
        assert len(rest) == PAGE - taken % PAGE
    finally:
        process.kill()


def held_by(pipe: int) -> int:
    """How many bytes of a pipe nobody has read."""
    count = array.array("i", [0])
    fcntl.ioctl(pipe, termios.FIONREAD, count)
    return count[0]
