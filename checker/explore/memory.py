"""Memory that the kernel can address: anonymous maps, with their addresses, and its limit."""

from __future__ import annotations

import contextlib
import ctypes
import mmap
import os
import resource
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

SCARCE = 0.6  # part of the limit from which on the frontier and the predecessors are written to disk
SPARE = 64  # blocks of a pool that are kept even so
MARGIN = 0.05  # part of the machine's memory: left to the system and to what is not counted

PAGE = 4 << 10
HUGE = 2 << 20


class LimitReached(MemoryError):
    """More memory is requested than the limit allows."""


class Stoppable(Protocol):
    """An object that records why its work was stopped."""

    stopped: str


@contextlib.contextmanager
def noting_stop(result: Stoppable) -> Iterator[None]:
    """Record in a result what ends the work within: an interrupt, a limit of memory, or its end."""
    try:
        yield
    except KeyboardInterrupt:
        result.stopped = "interrupted"
    except LimitReached as problem:
        result.stopped = str(problem)
    except MemoryError:
        result.stopped = "out of memory"


class Budget:
    """The limit of memory in use, counted at allocation.

    It counts what the process had in use at the start, and every block since, whether or not its pages were touched.

    Args:
        limit: in bytes; None for what the machine has, less a margin.
    """

    def __init__(self, limit: int | None) -> None:
        self.given = limit is not None
        self.limit = machine_bytes() if limit is None else limit
        self.spent = resident_bytes()
        self._lock = threading.Lock()
        self._looked = time.monotonic()

    @property
    def reason(self) -> str:
        """The message for an exploration that the limit ends."""
        if self.given:
            return f"--memory-limit {self.limit // (1 << 20)} MiB reached"
        return f"--memory-limit {self.limit / (1 << 30):.1f} GiB (what this machine has, less a margin) reached"

    def take(self, size: int) -> None:
        """Count an allocation before it is made.

        Raises:
            LimitReached: the limit would be exceeded.
        """
        with self._lock:
            if self.spent + size > self.limit:
                raise LimitReached(self.reason)
            self.spent += size

    def add(self, size: int) -> None:
        """Count memory that is already in use."""
        with self._lock:
            self.spent += size

    def give(self, size: int) -> None:
        with self._lock:
            self.spent -= size

    def scarce(self) -> bool:
        """Return whether most of the limit is in use: what can be on disk should be there."""
        return self.spent > SCARCE * self.limit

    def exceeded(self, soon: int = 0) -> bool:
        """Return whether more is in use than the limit, or will be with `soon` more bytes.

        Without a given limit, also return whether other processes have left the machine without memory.
        """
        in_use = resident_bytes() + soon
        if not self.given and time.monotonic() - self._looked > 1:
            self._looked = time.monotonic()
            return in_use > min(self.limit, machine_bytes(in_use=in_use))
        return in_use > self.limit


class Block:
    """A zeroed run of bytes with an address. It is freed when the object is.

    Args:
        huge: whether to use large pages from half of one on: for memory that is read all over, or filled repeatedly, so
            that finding the page takes no longer than finding the byte, and the system provides few of them.
        budget: the limit that it counts towards.
        written: how many of the bytes are expected to be written to, and count; None for all of them.

    Raises:
        MemoryError: there is no more memory.
    """

    __slots__ = ("_view", "address", "budget", "counted", "map", "size")

    def __init__(self, size: int, huge: bool = False, budget: Budget | None = None, written: int | None = None) -> None:
        self.budget = None
        self.size = max(size, 64)
        huge = huge and self.size >= HUGE // 2 and hasattr(mmap, "MADV_HUGEPAGE")
        if huge:  # whole pages: only such maps begin where a large page does
            self.size = -(-self.size // HUGE) * HUGE
        self.counted = self.size if written is None else written
        if budget is not None:
            budget.take(self.counted)
            self.budget = budget
        self.map: mmap.mmap | memoryview
        if self.size <= PAGE:  # making a separate map would take longer than its use
            data = (ctypes.c_char * self.size)()
            self._view: object = data
            self.address = ctypes.addressof(data)
            self.map = memoryview(data).cast("B")
            return
        try:
            # private maps: shared ones are files in memory, which get no huge pages
            self.map = mmap.mmap(-1, self.size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        except OSError as error:
            raise MemoryError(f"{self.size} bytes are not available") from error
        if huge:
            self.map.madvise(mmap.MADV_HUGEPAGE)
        self._view = ctypes.c_char.from_buffer(self.map)
        self.address = ctypes.addressof(self._view)

    def __del__(self) -> None:
        if self.budget is not None:
            self.budget.give(self.counted)

    def words(self, start: int, count: int) -> list[int]:
        """Return `count` signed 64-bit words from word `start`."""
        return list((ctypes.c_int64 * count).from_address(self.address + 8 * start))

    def put(self, index: int, value: int) -> None:
        ctypes.c_int64.from_address(self.address + 8 * index).value = value

    def get(self, index: int) -> int:
        return ctypes.c_int64.from_address(self.address + 8 * index).value

    def bytes(self, start: int, count: int) -> bytes:
        return ctypes.string_at(self.address + start, count)


class Pool:
    """Blocks of one size, which are reused once they are returned.

    Once memory is scarce few are kept for that: what the frontier on disk has left is of use to the table.
    """

    def __init__(self, size: int, budget: Budget | None = None) -> None:
        self.size, self.budget = size, budget
        self.free: list[Block] = []

    def take(self) -> Block:
        try:  # several threads take
            return self.free.pop()
        except IndexError:
            return Block(self.size, budget=self.budget)

    def give(self, block: Block) -> None:
        if len(self.free) < SPARE or self.budget is None or not self.budget.scarce():
            self.free.append(block)


def resident_bytes() -> int:
    """Return the bytes of memory that the process uses now."""
    try:
        with open("/proc/self/statm", encoding="ascii") as handle:
            return int(handle.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return peak_bytes()


def peak_bytes() -> int:
    """Return the maximum bytes of memory that the process has used.

    The system's accounting may include the parent process, if that used more.
    """
    with contextlib.suppress(OSError), open("/proc/self/status", encoding="ascii", errors="replace") as handle:
        for line in handle:
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) << 10
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else most * 1024


def machine_bytes(system: Path = Path("/"), in_use: int | None = None) -> int:
    """Return the bytes that this process may use: what it has, and what the machine and its limits leave.

    A margin is subtracted. The limits are those of its control group and its own.

    Args:
        system: where `proc` and `sys` are.
        in_use: the bytes that the process uses; measured if not given.
    """
    mine = resident_bytes() if in_use is None else in_use
    left = [free for free in (machine_left(system), *groups_left(system)) if free is not None]
    bounds = [mine + max(0, free) for free in left]
    for name in (resource.RLIMIT_AS, resource.RLIMIT_DATA):
        soft, _ = resource.getrlimit(name)
        if soft != resource.RLIM_INFINITY:
            bounds.append(soft)
    if not bounds:
        bounds.append(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    return int(min(bounds) * (1 - MARGIN))


def machine_left(system: Path) -> int | None:
    """Return the bytes that the machine has available, or None if it does not report that."""
    found = values_in(system / "proc" / "meminfo")
    return found["MemAvailable:"] * 1024 if "MemAvailable:" in found else None


def groups_left(system: Path) -> list[int]:
    """Return the bytes that each control group of this process, of either version, has left.

    Cached files count as free.
    """
    try:
        lines = (system / "proc" / "self" / "cgroup").read_text(encoding="ascii").splitlines()
    except (OSError, ValueError):
        return []
    out = []
    for line in lines:
        number, controllers, path = (*line.split(":", 2), "", "")[:3]
        if number == "0":
            root, most, used = system / "sys/fs/cgroup", "memory.max", "memory.current"
        elif "memory" in controllers.split(","):
            root, most, used = system / "sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes"
        else:
            continue
        here = Path(path.lstrip("/"))
        for folder in (root / here, *(root / parent for parent in here.parents), root):
            limit, now = number_in(folder / most), number_in(folder / used)
            if limit is not None and now is not None:
                cached = values_in(folder / "memory.stat")
                out.append(limit - now + cached.get("inactive_file", 0) + cached.get("active_file", 0))
    return out


def number_in(path: Path) -> int | None:
    """Return the number in a file, or None if there is no such file, or no number in it (no limit)."""
    try:
        return int(path.read_text(encoding="ascii"))
    except (OSError, ValueError):
        return None


def values_in(path: Path) -> dict[str, int]:
    """Return the lines of a file that assign a number to a name."""
    try:
        rows = [line.split() for line in path.read_text(encoding="ascii").splitlines()]
    except (OSError, ValueError):
        return {}
    return {row[0]: int(row[1]) for row in rows if len(row) > 1 and row[1].isdigit()}
