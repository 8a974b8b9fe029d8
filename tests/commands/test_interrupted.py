"""Ctrl-C at any moment of an exploration that is begun again: one ending, and nobody dies of a signal.

A campaign of minutes, with ZABCHECK_EVERY. Whoever sends a signal looks in /proc whether the command listens yet:
before that the interpreter itself ends, as it does for any program.
"""

from __future__ import annotations

import os
import random
import re
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

every = pytest.mark.skipif("ZABCHECK_EVERY" not in os.environ, reason="minutes: 165 explorations are interrupted")
EXPLORES = ["--timeouts", "2", "--crashes", "0", "--losses", "0", "--no-trace", "--reduction", "auto"]
# As the installed script does it, with a stack where it dies; what begins late in the life of a large exploration
# begins early, so that its whole life is short.
SCRIPT = """
import faulthandler, sys
faulthandler.enable()
from checker.cli import main
if __name__ == '__main__':
    if "{early}":
        from checker.explore import narrowing
        from zabspec.language import tiered
        narrowing.SMALL, tiered.SETTLE = 30_000, 0.3
    sys.exit(main())
"""


@dataclass(frozen=True)
class Way:
    """How explorations are run, and how many of them are interrupted."""

    words: list[str]
    early: bool  # what begins late begins early
    cold: bool  # nothing is compiled yet
    times: int


WAYS = {
    "as it is": Way([*EXPLORES, "--txns", "2"], False, False, 30),
    "as it is, compiling": Way([*EXPLORES, "--txns", "2"], False, True, 15),
    "all early": Way([*EXPLORES, "--txns", "1"], True, False, 60),
    "all early, compiling": Way([*EXPLORES, "--txns", "1"], True, True, 60),
}


def listens(pid: int) -> bool:
    """Whether a process has a handler of SIGTERM, which is the command's: Python itself has one of SIGINT alone."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return True  # it has ended
    caught = re.search(r"SigCgt:\s*(\w+)", status)
    return caught is not None and bool(int(caught[1], 16) >> (signal.SIGTERM - 1) & 1)


def wait_for(process: subprocess.Popen[str], seconds: float) -> None:
    """Until so long after it listens, or it has ended."""
    while process.poll() is None and not listens(process.pid):
        time.sleep(0.001)
    until = time.monotonic() + seconds
    while process.poll() is None and time.monotonic() < until:
        time.sleep(min(0.01, max(0.0, until - time.monotonic())))


def begun(way: Way, script: Path, cache: Path, *more: str) -> subprocess.Popen[str]:
    """The command in a process group of its own."""
    return subprocess.Popen(
        [sys.executable, str(script), *way.words, *more],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True, process_group=0,
        cwd=script.parent, env={**os.environ, "ZABCHECK_CACHE": str(cache)},
    )  # fmt: skip


def sent(process: subprocess.Popen[str]) -> None:
    """Ctrl-C, as a terminal sends it: to the whole group."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGINT)


def ends_well(code: int, out: str, err: str, whole: str) -> str:
    """Where a command was when it was interrupted; fails where it did not end as it should.

    Args:
        whole: the verdict of one that nobody interrupts.
    """
    said = [line for line in err.splitlines() if not line.startswith("zabcheck: level ")]
    if code == 0:
        assert said == []
        assert out.splitlines()[0] == whole
        return "after its answer"
    assert code == 3
    if not out:
        assert said == ["zabcheck: interrupted; there is no verdict"]
        return "before it explored"
    assert said == []
    assert out.startswith("no verdict: interrupted; no violation found; ")
    return "as it explored again" if "(reduced" in out else "as it explored"


@every
@pytest.mark.parametrize("name", WAYS)
def test_ctrl_c_at_any_moment_is_one_ending(name: str, tmp_path: Path) -> None:
    way, draw = WAYS[name], random.Random(f"{name} {time.time_ns()}")
    script, cache = tmp_path / "zabcheck", tmp_path / "cache"
    script.write_text(SCRIPT.replace("{early}", "yes" if way.early else ""))
    cache.mkdir(mode=0o700)

    for _ in range(1 if way.cold else 2):  # the first compiles
        process = begun(way, script, cache)
        wait_for(process, 0)
        started = time.monotonic()
        out, err = process.communicate(timeout=600)
        life, whole = time.monotonic() - started, out.splitlines()[0]
        assert (process.returncode, err) == (0, "")
    assert whole.startswith("holds: ")

    seen: dict[str, int] = {}
    for k in range(way.times):
        if way.cold:
            for file in cache.iterdir():
                file.unlink()
        process = begun(way, script, cache)
        after, again = draw.uniform(0, 1.1 * life), draw.choice((0.0, 0.0, 0.01, 0.3, 1.2))
        try:
            wait_for(process, after)
            sent(process)
            if again:
                time.sleep(again)
                sent(process)
            out, err = process.communicate(timeout=60)
        finally:
            process.kill()
        moment = f"{name}, {k}: after {after:.3f} s of {life:.1f}, again {again}: {process.returncode}"
        moment += f"\n{out[:300]}\n{err}"
        try:
            where = ends_well(process.returncode, out, err, whole)
        except AssertionError as problem:
            raise AssertionError(moment) from problem
        seen[where] = seen.get(where, 0) + 1
    assert len(list(tmp_path.iterdir())) == 2, "no report of an error, no trace"
    print(f"\n{name}: {way.times} interrupted in {life:.1f} s of life each: {seen}")
    assert seen.keys() >= {"as it explored", "as it explored again"}
