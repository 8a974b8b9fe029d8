"""What tests measure instead of wall time, which says how busy a machine is: CPU seconds and steps.

No test passes or fails by a clock. `HANG` is no measure: nothing that works takes so long, whatever the load.
"""

from __future__ import annotations

import contextlib
import math
import os
import resource
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from zabspec.limits import Deadline

HANG = 1800.0  # seconds
TICKS = os.sysconf("SC_CLK_TCK")


def until(there: Callable[[], object]) -> bool:
    """Wait for something; return whether it came before `HANG`."""
    end = time.monotonic() + HANG
    while time.monotonic() < end:
        if there():
            return True
        time.sleep(0.02)
    return False


def cpu_of(pid: int) -> float:
    """Return the CPU seconds of a process so far: its threads' and its descendants', those that have ended included."""
    seconds: dict[int, float] = {}
    parents: dict[int, int] = {}
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/stat", encoding="utf-8", errors="replace") as stat:
                fields = stat.read().rpartition(")")[2].split()
        except OSError:  # it has ended meanwhile
            continue
        parents[int(name)] = int(fields[1])
        seconds[int(name)] = sum(map(int, fields[11:15])) / TICKS
    family = {pid}
    while more := {child for child, parent in parents.items() if parent in family} - family:
        family |= more
    return sum(seconds.get(member, 0.0) for member in family)


def until_cpu(process: subprocess.Popen[Any], seconds: float) -> None:
    """Wait until a process has worked for so many CPU seconds, or has ended."""
    assert until(lambda: process.poll() is not None or cpu_of(process.pid) >= seconds)


def ended(process: subprocess.Popen[str], number: int) -> tuple[str, str, float]:
    """Send a process a signal; return what it wrote, and the CPU seconds that it took from then on."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    before = cpu_of(process.pid)
    process.send_signal(number)
    out, err = process.communicate(timeout=HANG)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = after.ru_utime + after.ru_stime - children.ru_utime - children.ru_stime
    return out, err, spent - before


def ticking(monkeypatch: pytest.MonkeyPatch, module: ModuleType, seconds: float) -> None:
    """Give the deadlines of a module a clock that goes on by so many seconds each time it is looked at."""
    now = 0.0

    class Ticking(Deadline):
        def __init__(self, limit: float | None = None, spent: float = 0.0) -> None:
            self.at = math.inf if limit is None else now + limit - spent

        def left(self) -> float:
            nonlocal now
            now += seconds
            return max(0.0, self.at - now)

        def over(self) -> bool:
            return not self.left()

    monkeypatch.setattr(module, "Deadline", Ticking)


def members(session: int) -> list[str]:
    """The processes of a session, those that have ended and wait for nobody left out."""
    out = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            fields = stat.read_text().rpartition(")")[2].split()
            if int(fields[3]) == session and fields[0] != "Z":
                out.append(stat.parent.name)
    return out
