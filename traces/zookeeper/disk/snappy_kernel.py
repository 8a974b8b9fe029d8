"""Decompress a block of Snappy, in the kernel language (google/snappy, format_description.txt)."""

from __future__ import annotations

from traces.zookeeper.disk.memory import ByteBuffer

NO_ROOM = -2


def number_at(source: ByteBuffer, p: int, count: int) -> int:
    """Return a number of `count` bytes, the lowest first."""
    number = 0
    for k in range(count):
        number = number | (source.data[p + k] << (8 * k))
    return number


def unsnap(source: ByteBuffer, filled: int, out: ByteBuffer) -> int:
    """Decompress the first `filled` bytes of a text into another.

    Returns:
        The number of bytes; -1 if it is no such block, `NO_ROOM` if there is no room.
    """
    size = 0
    shift = 0
    p = 0
    more = True
    while more:
        if p >= filled or shift > 28:
            return -1
        size = size | ((source.data[p] & 127) << shift)
        more = source.data[p] >= 128
        shift = shift + 7
        p = p + 1
    if size > out.room:
        return NO_ROOM
    n = 0
    while p < filled:
        tag = source.data[p]
        p = p + 1
        kind = tag & 3
        if kind == 0:
            length = tag >> 2
            if length >= 60:
                count = length - 59
                if p + count > filled:
                    return -1
                length = number_at(source, p, count)
                p = p + count
            length = length + 1
            if length > filled - p or length > size - n:
                return -1
            for k in range(length):
                out.data[n + k] = source.data[p + k]
            p = p + length
            n = n + length
            continue
        count = 1 if kind == 1 else 2 if kind == 2 else 4
        if p + count > filled:
            return -1
        back = number_at(source, p, count)
        p = p + count
        length = (tag >> 2) + 1
        if kind == 1:
            length = ((tag >> 2) & 7) + 4
            back = back | ((tag >> 5) << 8)
        if back == 0 or back > n or length > size - n:
            return -1
        for k in range(length):
            out.data[n + k] = out.data[n + k - back]
        n = n + length
    return n if n == size else -1
