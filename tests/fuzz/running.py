"""A command in a process of its own, which this one forks: what it would do as the installed script."""

from __future__ import annotations

import contextlib
import importlib
import io
import os
import resource
import signal
import sys
import time
import traceback
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from checker.cli import COMMANDS, main

__all__ = ["Outcome", "load", "run"]

MEMORY = 8 << 30  # bytes of address space: what asks for more is told that there is none
GRACE = 60.0  # seconds to end after SIGTERM: no signal is seen while LLVM compiles
CRASHED = 99


@dataclass(frozen=True)
class Outcome:
    """What a command came to.

    Attributes:
        code: its exit code; below 0: the signal that killed it.
        late: whether it was asked to end, as it took too long.
    """

    words: tuple[str, ...]
    code: int
    out: str
    err: str
    seconds: float
    late: bool = False


def load() -> None:
    """Import what commands import, so that no process forked from here has to."""
    for module in sorted(set(COMMANDS.values())):
        importlib.import_module(f"checker.commands.{module}")
    for module in (
        "checker.explore.compiled", "checker.explore.breadth_first", "checker.explore.interpret",
        "checker.report.report", "checker.report.simulated", "checker.symbolic.bmc", "checker.symbolic.asking",
        "checker.proof.prove", "checker.proof.lemmas", "traces.replay.replay", "traces.shorten.minimise",
        "traces.shorten.realise",
        "traces.judging.judge", "traces.tables.table", "traces.tables.recorded", "traces.sweep.store",
    ):  # fmt: skip
        importlib.import_module(module)


def run(words: Sequence[str], folder: Path, limit: float) -> Outcome:
    """Run `zabcheck` with these words in a folder.

    Args:
        limit: seconds until it gets SIGTERM.
    """
    out, err = folder / ".out", folder / ".err"
    started = time.perf_counter()
    pid = os.fork()
    if pid == 0:
        code = CRASHED
        try:
            code = child(words, folder, out, err)
        finally:
            os._exit(code)
    code, late = wait(pid, started + limit)
    texts = [path.read_bytes().decode(errors="replace") for path in (out, err)]
    out.unlink()
    err.unlink()
    return Outcome(tuple(words), code, texts[0], texts[1], time.perf_counter() - started, late)


def wait(pid: int, until: float) -> tuple[int, bool]:
    """A child's exit code, and whether it had to be told to end. Whatever it has left behind is killed."""
    late, pause = False, 0.001
    while True:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            break
        now = time.perf_counter()
        if now > until + GRACE:
            os.kill(pid, signal.SIGKILL)
        elif now > until and not late:
            os.kill(pid, signal.SIGTERM)
            late = True
        time.sleep(pause)
        pause = min(0.05, pause * 1.5)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(pid, signal.SIGKILL)
    return os.waitstatus_to_exitcode(status), late


def child(words: Sequence[str], folder: Path, out: Path, err: Path) -> int:
    os.setsid()
    os.chdir(folder)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number, path, flags in ((0, "/dev/null", os.O_RDONLY), (1, out, os.O_WRONLY), (2, err, os.O_WRONLY)):
        opened = os.open(path, flags | (os.O_CREAT | os.O_TRUNC if number else 0), 0o644)
        os.dup2(opened, number)
        os.close(opened)
    sys.stdin = io.TextIOWrapper(io.FileIO(0, closefd=False))
    sys.stdout = sys.__stdout__ = io.TextIOWrapper(io.FileIO(1, "w", closefd=False), "utf-8", write_through=True)
    sys.stderr = sys.__stderr__ = io.TextIOWrapper(
        io.FileIO(2, "w", closefd=False), "utf-8", "backslashreplace", write_through=True
    )
    sys.argv = ["zabcheck", *words]
    try:
        main.main(list(words))
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else 0
    except BaseException:
        traceback.print_exc()
    return CRASHED
