"""A command in a process of its own, which this one forks: what it would do as the installed script."""

from __future__ import annotations

import contextlib
import importlib
import io
import math
import os
import re
import resource
import signal
import sys
import time
import traceback
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import click

from checker.cli import main
from tests.patience import cpu_of
from zabspec import signals

MEMORY = 8 << 30  # bytes of address space: what asks for more is told that there is none
GRACE = 60.0  # CPU seconds to end after SIGTERM: no signal is seen while LLVM compiles
IDLE = 300.0  # seconds without a hundredth of a CPU second: what waits so long, waits for something that never comes
EVERY = 0.25  # seconds between two looks at CPU seconds
CRASHED = 99


SCRIPT = """import sys
from checker.cli import main
if __name__ == "__main__":
    sys.exit(main())
"""


@dataclass(frozen=True)
class Setting:
    """What is odd about how a command is run.

    Attributes:
        memory: bytes of address space that it may take beyond what it has; None: `MEMORY` in all.
        gone: its working directory has been deleted.
        streams: by number, those that are `closed`, `full`, or `unread`.
        signal: what it is sent; 0: nothing.
        calls: the signal is sent after so many calls of functions.
        answered: the signal is sent after so many calls of functions, counted from when there is something on stdout.
        after: the signal is sent after so many seconds instead.
    """

    memory: int | None = None
    gone: bool = False
    streams: Mapping[int, str] = field(default_factory=dict)
    signal: int = 0
    calls: int = 0
    answered: int = 0
    after: float | None = None


USUAL = Setting()


@dataclass(frozen=True)
class Outcome:
    """What a command came to.

    Attributes:
        code: its exit code; below 0: the signal that killed it.
        late: whether it was asked to end, as it took too long; after: the CPU seconds that it took from then on.
    """

    words: tuple[str, ...]
    code: int
    out: str
    err: str
    seconds: float
    late: bool = False
    after: float = 0.0


def load() -> None:
    """Import what commands import, so that no process forked from here has to."""
    with click.Context(main) as ctx:
        for name in main.list_commands(ctx):
            main.get_command(ctx, name)
    for module in (
        "checker.explore.compiled", "checker.explore.breadth_first", "checker.explore.interpret",
        "checker.report.report", "checker.report.simulated", "checker.proofs.symbolic.bmc",
        "checker.proofs.symbolic.pool", "checker.proofs.prove.prove", "checker.proofs.prove.lemmas",
        "traces.replay.replay", "traces.shorten.minimise", "traces.shorten.realise", "traces.judging.judge",
        "traces.events.table", "traces.events.recorded", "traces.tables.sweep.local",
    ):  # fmt: skip
        importlib.import_module(module)


def run(words: Sequence[str], folder: Path, limit: float, setting: Setting = USUAL) -> Outcome:
    """Run `zabcheck` with these words in a folder.

    Args:
        limit: CPU seconds until it gets SIGTERM.
        setting: what is odd about it.
    """
    out, err = folder / ".out", folder / ".err"
    started = time.perf_counter()
    pid = os.fork()
    if pid == 0:
        code = CRASHED
        try:
            code = child(words, folder, out, err, setting)
        finally:
            os._exit(code)
    code, late, after = wait(pid, limit, setting)
    texts = [path.read_bytes().decode(errors="replace") for path in (out, err)]
    out.unlink()
    err.unlink()
    return Outcome(tuple(words), code, texts[0], texts[1], time.perf_counter() - started, late, after)


def wait(pid: int, limit: float, setting: Setting) -> tuple[int, bool, float]:
    """A child's exit code, whether it was told to end, and its CPU seconds after that. What it leaves is killed."""
    pause, began, sent = 0.001, time.perf_counter(), setting.after is None
    spent, told, moved, looked = 0.0, math.inf, began, began
    while True:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            break
        now = time.perf_counter()
        if not sent and now > began + (setting.after or 0.0) and hears(pid):
            os.kill(pid, setting.signal)
            sent = True
        if now > looked + EVERY:
            before, spent, looked = spent, cpu_of(pid), now
            moved = now if spent > before else moved
            if spent > told + GRACE or (told < math.inf and now > moved + IDLE):
                os.kill(pid, signal.SIGKILL)
            elif told == math.inf and (spent > limit or now > moved + IDLE):
                os.kill(pid, signal.SIGTERM)
                told, moved = spent, now
        time.sleep(pause)
        pause = min(0.05, pause * 1.5)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(pid, signal.SIGKILL)
    return os.waitstatus_to_exitcode(status), told < math.inf, max(0.0, spent - told)


def hears(pid: int) -> bool:
    """Whether a process has a handler of SIGTERM: before, it is the interpreter that is ended."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return True
    caught = re.search(r"SigCgt:\s*(\w+)", status)
    return caught is not None and bool(int(caught[1], 16) >> (signal.SIGTERM - 1) & 1)


def as_script(folder: Path) -> None:
    """Be the installed script, as far as anybody can see: also to processes that this one begins."""
    path = folder / ".bin" / "zabcheck"
    path.parent.mkdir(exist_ok=True)
    path.write_text(SCRIPT)
    sys.modules["__main__"].__dict__.update(__file__=str(path), __spec__=None)


def after_calls(number: int, calls: int, answered: bool) -> None:
    """Send this process a signal after so many calls.

    Args:
        answered: count from when there is something on stdout, which is a file.
    """
    left, counts = calls, not answered

    def count(_: object, event: str, called: Any) -> None:
        nonlocal left, counts
        if not counts and event == "c_return" and called.__name__ == "write":
            counts = os.fstat(1).st_size > 0
        left -= counts
        if left == 0:
            sys.setprofile(None)
            os.kill(os.getpid(), number)

    sys.setprofile(count)


def child(words: Sequence[str], folder: Path, out: Path, err: Path, setting: Setting) -> int:
    os.setsid()
    os.chdir(folder)
    if setting.gone:
        os.mkdir("gone")
        os.chdir("gone")
        os.rmdir("../gone")
    most = MEMORY if setting.memory is None else int(Path("/proc/self/statm").read_text().split()[0]) * 4096
    most += setting.memory or 0
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    as_script(folder)
    for number in signals.ENDING:
        signal.signal(number, signals.at_once if setting.signal else signal.SIG_DFL)
    if not setting.signal:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if "unread" in setting.streams.values():
        signal.signal(signal.SIGPIPE, signal.SIG_IGN)  # as Python begins
    for number, path, flags in ((0, "/dev/null", os.O_RDONLY), (1, out, os.O_WRONLY), (2, err, os.O_WRONLY)):
        opened = os.open(path, flags | (os.O_CREAT | os.O_TRUNC if number else 0), 0o644)
        os.dup2(opened, number)
        os.close(opened)
    spoil(setting.streams)
    sys.stdin = sys.__stdin__ = stream(0, "r")
    sys.stdout = sys.__stdout__ = stream(1, "w")
    sys.stderr = sys.__stderr__ = stream(2, "w", "backslashreplace")
    sys.argv = ["zabcheck", *words]
    if setting.calls or setting.answered:
        after_calls(setting.signal, setting.calls or setting.answered, bool(setting.answered))
    try:
        main.main(list(words))
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else 0
    except BaseException:
        traceback.print_exc()
    return CRASHED


def stream(number: int, mode: str, errors: str = "strict") -> Any:
    """A standard stream as the interpreter makes it; None: it is closed."""
    try:
        return io.TextIOWrapper(io.FileIO(number, mode, closefd=False), "utf-8", errors, write_through=mode == "w")
    except OSError:
        return None


def spoil(streams: Mapping[int, str]) -> None:
    """Close streams, or put what is full, or what nobody reads, in their place."""
    for number, what in streams.items():
        if what == "closed":
            os.close(number)
            continue
        if what == "full":
            writing = os.open("/dev/full", os.O_WRONLY)
        else:
            reading, writing = os.pipe()
            os.close(reading)
        os.dup2(writing, number)
        os.close(writing)
