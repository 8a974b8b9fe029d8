"""Completion of commands, flags and names, as shells ask for it, and in the shells themselves."""

from __future__ import annotations

import os
import pty
import shutil
import subprocess
import sys
import time
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result

from checker.cli import main
from checker.commands.completing import ASKED, SHELLS
from tests.commands.running import assert_refused, run
from tests.patience import HANG
from zabspec.protocols.registry import PROTOCOLS

EXAMPLE = Path(__file__).parents[2] / "examples" / "fenced_lock.py"
NAMED = ("--protocol", "--variant", "--repair", "--release", "--start", "--network", "--property", "--engine")
# A sweep takes lists of values.
NOT_COMPLETED = ["sweep --protocol", "sweep --variant", "sweep --network"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def asked(asks: str, line: str, at: str) -> Result:
    environment = {ASKED: asks, "COMP_WORDS": line, "COMP_CWORD": at}
    return CliRunner().invoke(main, [], env=environment)


def candidates(line: str, folder: Path) -> list[tuple[str, str]]:
    """What a shell is given for a line whose last word is not finished: of each its kind and itself."""
    found = asked("bash_complete", line, str(len(line.split(" ")) - 1))
    assert (found.exit_code, found.stderr) == (0, "")
    assert list(folder.glob("zabcheck-error*")) == []
    rows = [row.partition(",") for row in found.stdout.splitlines()]
    return [(kind, name) for kind, _, name in rows]


def names(line: str, folder: Path) -> list[str]:
    found = candidates(line, folder)
    assert {kind for kind, _ in found} <= {"plain"}
    return [name for _, name in found]


def test_names_are_those_of_the_protocol_on_the_line(folder: Path) -> None:
    ladis = PROTOCOLS["ladis"].variants
    assert names("zabcheck --protocol ladis --variant ", folder) == list(ladis)
    assert names("zabcheck --protocol ladis --repair ", folder) == [n for n, v in ladis.items() if v.repairs]
    assert names("zabcheck --variant no-sync,no-p", folder) == ["no-sync,no-promise"]
    assert names("zabcheck --variant no-promise,no-p", folder) == []
    assert names("zabcheck --protocol db19 --network f", folder) == ["fifo"]
    assert names("zabcheck --live --progress-property j", folder) == ["joins"]
    assert names("zabcheck --protocol zookeeper --release 3.9.5", folder) == ["3.9.5"]
    assert names("zabcheck zookeeper ZK-464", folder) == ["ZK-4643", "ZK-4646"]
    assert names("zabcheck export --to sv", folder) == ["svg"]
    assert names("zabcheck plan --disk h", folder) == ["hdd"]
    assert names("zabcheck gallery equal-e", folder) == ["equal-epoch", "equal-epoch-and-on"]
    assert "delivered-stands" in names("zabcheck --protocol db19 --property delivered", folder)
    assert names("zabcheck --property delivered-st", folder) == []


def test_a_file_of_ones_own_is_read_for_its_names(folder: Path) -> None:
    shutil.copy(EXAMPLE, folder / "tpc.py")
    text = (folder / "tpc.py").read_text()
    (folder / "tpc.py").write_text(text + '\nprint("imported")\n')
    own = [c.name for c in PROTOCOLS[str(folder / "tpc.py")].claims]
    assert own == ["fencing"]
    assert names("zabcheck --protocol tpc.py --property ", folder) == own
    assert ("file", "tp") in candidates("zabcheck --protocol tp", folder)


@pytest.mark.parametrize(
    "line",
    [
        "zabcheck --protocol none.py --variant ",
        "zabcheck --protocol raft --variant ",
        "zabcheck --nodes 3 --nodes 3 --variant no-s",
        "zabcheck --protocol broken.py --property ",
    ],
)
def test_a_line_that_is_wrong_has_no_candidates_and_no_error(line: str, folder: Path) -> None:
    (folder / "broken.py").write_text("raise SystemExit(7)\n")
    assert candidates(line, folder) in ([], [("plain", "no-sync")])


@pytest.mark.parametrize(("asks", "at"), [("bash_complete", "x"), ("tcsh_complete", "1"), ("bash", "1"), ("_", "")])
def test_what_no_shell_asks_is_no_error(asks: str, at: str, folder: Path) -> None:
    found = asked(asks, "zabcheck", at)
    assert (found.exit_code, found.stdout, found.stderr) == (0, "", "")
    assert list(folder.iterdir()) == []


def test_every_name_that_a_flag_takes_is_completed() -> None:
    """A flag, or an argument, that takes a name of ours says which there are."""
    with click.Context(main) as ctx:
        commands = [main, *(main.get_command(ctx, name) for name in main.list_commands(ctx))]
    left = [
        f"{command.name} {p.opts[0]}"
        for command in commands
        if command is not None
        for p in command.params
        if p.opts[0] in NAMED and p._custom_shell_complete is None and not isinstance(p.type, click.Choice)
    ]
    assert left == NOT_COMPLETED


def test_there_is_a_script_for_three_shells() -> None:
    for shell in SHELLS:
        assert ASKED in run("completion", shell).stdout
    assert_refused(run("completion", "csh"), "'csh' is not one of 'bash', 'zsh', 'fish'")
    assert_refused(run("completion"), "is missing")


# --- in the shells ---------------------------------------------------------------------------------


@pytest.fixture
def zabcheck_on_path(folder: Path) -> dict[str, str]:
    """An environment in which `zabcheck` is this one, and nobody's settings are read."""
    (folder / "bin").mkdir()
    program = folder / "bin" / "zabcheck"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m zabcheck "$@"\n')
    program.chmod(0o755)
    path = f"{program.parent}{os.pathsep}{os.environ['PATH']}"
    return os.environ | {"PATH": path, "HOME": str(folder), "TERM": "dumb", "PS1": "> ", "ZDOTDIR": str(folder)}


def pressed(shell: list[str], lines: list[str], word: str, environment: dict[str, str], folder: Path) -> bool:
    """Whether a shell on a terminal writes a word once Tab is pressed behind the last of some lines."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(shell, stdin=theirs, stdout=theirs, stderr=theirs, env=environment, cwd=folder)
    os.close(theirs)
    os.set_blocking(ours, False)
    out, sent, end = b"", 0, time.monotonic() + HANG
    try:
        while time.monotonic() < end and process.poll() is None:
            if sent < len(lines):
                line = lines[sent]
                os.write(ours, f"{line}\n".encode() if sent < len(lines) - 1 else f"{line}\t".encode())
                sent += 1
                out = b""
            try:
                out += os.read(ours, 65536)
            except BlockingIOError:
                time.sleep(0.05)
            if sent == len(lines) and word.encode() in out:
                return True
    finally:
        process.kill()
        process.wait()
        os.close(ours)
    return False


@pytest.mark.slow(seconds=4)
@pytest.mark.parametrize("shell", ["bash", "zsh"])
def test_tab_completes_in_a_shell(shell: str, zabcheck_on_path: dict[str, str], folder: Path) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"needs {shell}")
    start = {"bash": ["bash", "--norc", "--noprofile", "-i"], "zsh": ["zsh", "-f", "-i"]}[shell]
    begin = {"bash": [], "zsh": ["autoload -Uz compinit && compinit -D -u"]}[shell]
    lines = [*begin, f'eval "$(zabcheck completion {shell})"', "zabcheck --protocol ladis --variant truncate-own-e"]
    assert pressed(start, lines, "truncate-own-epoch", zabcheck_on_path, folder)


@pytest.mark.slow(seconds=2)
@pytest.mark.skipif(shutil.which("fish") is None, reason="needs fish")
def test_fish_completes(zabcheck_on_path: dict[str, str], folder: Path) -> None:
    ask = 'zabcheck completion fish | source; complete -C "zabcheck --protocol ladis --variant truncate-own-e"'
    found = subprocess.run(
        ["fish", "--no-config", "-c", ask], env=zabcheck_on_path, cwd=folder, capture_output=True, text=True, check=True
    )
    assert found.stdout.split() == ["truncate-own-epoch"]
