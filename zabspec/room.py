"""Whether there is memory left for libraries that end the process where there is none.

LLVM and z3 abort when an allocation fails, and a thread that finds no memory for its first step never says that it has
begun. So whoever calls them looks first.
"""

from __future__ import annotations

import mmap

__all__ = ["need_room"]

ROOM = 96 << 20  # bytes of address space: more than either takes for a small question, the stacks of threads included


def need_room(size: int = ROOM) -> None:
    """Check that there is address space for work of a library.

    Raises:
        MemoryError: there is not.
    """
    try:
        mmap.mmap(-1, size, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS).close()
    except OSError as problem:
        raise MemoryError(f"{size} bytes of address space are not to be had") from problem
