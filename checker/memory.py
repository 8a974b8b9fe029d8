"""Memory the kernel can address: anonymous maps, with their addresses."""

from __future__ import annotations

import ctypes
import mmap
import os
import resource
import sys

__all__ = ["Block", "Pool", "peak_bytes", "resident_bytes"]

HUGE = 2 << 20


class Block:
    """A zeroed run of bytes with an address. Freed when the object is.

    Raises:
        MemoryError: there is no more memory.
    """

    __slots__ = ("_view", "address", "map", "size")

    def __init__(self, size: int, huge: bool = False) -> None:
        self.size = max(size, 64)
        try:
            # private maps: shared ones are files in memory, which get no huge pages
            self.map = mmap.mmap(-1, self.size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        except OSError as error:
            raise MemoryError(f"{self.size} bytes are not to be had") from error
        if huge and self.size >= HUGE and hasattr(mmap, "MADV_HUGEPAGE"):
            self.map.madvise(mmap.MADV_HUGEPAGE)
        self._view = ctypes.c_char.from_buffer(self.map)
        self.address = ctypes.addressof(self._view)

    def words(self, start: int, count: int) -> list[int]:
        """`count` 64-bit words from word `start`, signed."""
        return list((ctypes.c_int64 * count).from_address(self.address + 8 * start))

    def put(self, index: int, value: int) -> None:
        ctypes.c_int64.from_address(self.address + 8 * index).value = value

    def get(self, index: int) -> int:
        return ctypes.c_int64.from_address(self.address + 8 * index).value

    def bytes(self, start: int, count: int) -> bytes:
        return ctypes.string_at(self.address + start, count)


class Pool:
    """Blocks of one size, used again once given back."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.free: list[Block] = []

    def take(self) -> Block:
        return self.free.pop() if self.free else Block(self.size)

    def give(self, block: Block) -> None:
        self.free.append(block)


def resident_bytes() -> int:
    """Memory the process has in use now."""
    try:
        with open("/proc/self/statm", encoding="ascii") as handle:
            return int(handle.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return peak_bytes()


def peak_bytes() -> int:
    """The most memory the process has had in use."""
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else most * 1024
