"""Read a transaction log file in pieces: its records, where it ends and why, and what is damaged."""

from __future__ import annotations

import contextlib
import hashlib
import os
import struct
import zlib
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field, replace
from itertools import groupby
from pathlib import Path

from traces.zookeeper.disk import kernel
from traces.zookeeper.disk import numbers as k
from traces.zookeeper.disk.files import data_from, has_gone, stamp
from traces.zookeeper.disk.memory import ByteBuffer, Scan
from zabspec.files import Unreadable, opened, reason
from zabspec.language.native.kernels import machine

ROOM = 1 << 20  # bytes read at once
ENTRIES = 1 << 15
MAGIC = struct.pack(">i", k.LOG_MAGIC)
LONGEST = 1 << 26  # bytes of a payload that is believed: far more than jute.maxbuffer allows
MOST_EVENTS = 10_000  # of a file: there is no telling more of one that is nothing but events
SEALED = 1 << 16  # bytes before the end of what was read that are looked at again before a file is read on
PACKED_LOG = (".gz", ".bz2", ".xz", ".zst", ".lz4", ".zip", ".snappy", ".Z")  # what a person compresses a log with
# what a scan sums up over the pieces of a file, and what of it is kept of the file
TOTALS = ("records", "first", "last", "failed_multis", "digests", "widest", "recent")
SUMMED = (*TOTALS, "begun", "now", "now_count", "now_sum")
AGAIN = 1_000  # how often the end of a file is read again while someone writes to it


@dataclass(frozen=True)
class Damage:
    """Damage to a record, or where a record should be.

    Attributes:
        code: see `codes.py`.
        place: bytes from the beginning of the file.
        zxid: of the record, as far as it is known; 0 if it is not.
        detail: a description.
        hides: whether ZooKeeper reads nothing behind it in this file.
        told: whether its zxid, and so its existence, can be believed.
    """

    code: str
    place: int
    zxid: int
    detail: str
    hides: bool = False
    told: bool = False


@dataclass(frozen=True)
class Jump:
    """A jump from one transaction to another than the next: its place, and both zxids."""

    place: int
    before: int
    zxid: int


@dataclass
class LogFile:
    """A log file, summed up.

    Attributes:
        path: its path; `named` is the zxid of its name.
        end: where the reading ended; `ending` says why: `padding` (zeros), `exact` (nothing behind the last record),
            `torn` (an unfinished record), `damage`, `unreadable`, `empty`, `packed` (compressed), `folder`.
        torn: where an unfinished record stands, and its zxid (0 if it does not say).
        sealed: a digest of the header and of the last bytes that were read, before `end`.
        blocks: for each block of zxids the number of records, and the sum of their hashes.
        configs: places of transactions about /zookeeper/config.
        widest: the length of its longest record. recent: where its first record stands of a kind that is new in 3.5.
        pieces: for each piece that was read where it begins, and the least and the greatest block in it.
    """

    path: Path
    named: int
    size: int = 0
    stamp: tuple[int, ...] = ()
    records: int = 0
    first: int = 0
    last: int = 0
    end: int = 0
    ending: str = ""
    torn: tuple[int, int] | None = None
    damages: list[Damage] = field(default_factory=list)
    jumps: list[Jump] = field(default_factory=list)
    configs: list[tuple[int, int]] = field(default_factory=list)
    blocks: dict[int, tuple[int, int]] = field(default_factory=dict)
    pieces: list[tuple[int, int, int]] = field(default_factory=list)
    failed_multis: int = 0
    digests: int = 0
    lost_events: int = 0
    first_place: int = 0
    widest: int = 0
    recent: int = 0
    trouble: str = ""
    sealed: bytes = b""

    @property
    def name(self) -> str:
        return self.path.name

    def add_block(self, block: int, count: int, total: int) -> None:
        before = self.blocks.get(block, (0, 0))
        self.blocks[block] = (before[0] + count, (before[1] + total) & (1 << 64) - 1)


class Reader:
    """The buffer and the compiled kernels with which files are read; one at a time.

    Args:
        sums: whether to sum up what is read; if not, only entries are made.
    """

    def __init__(self, room: int = ROOM, sums: bool = True) -> None:
        self.run = machine(kernel.scan_on if sums else kernel.scan)
        self.make(room)

    def make(self, room: int) -> None:
        self.text = ByteBuffer(room=room)
        self.scan = Scan(text=self.text, most=ENTRIES, double=2 * ENTRIES)
        self.scan.longest = LONGEST
        self.bytes = self.text.views["data"].memory

    def begin(self) -> None:
        """Start with another file."""
        for name in SUMMED:
            setattr(self.scan, name, 0)

    def fill(self, fd: int, base: int) -> int:
        """Read from a place in a file; return the number of bytes."""
        s = self.scan
        s.base, s.at, s.filled = base, 0, 0
        while s.filled < self.text.room:
            got = os.preadv(fd, [self.bytes[s.filled :]], base + s.filled)
            if got <= 0:
                break
            s.filled += got
        return s.filled

    def grow(self) -> bool:
        """Enlarge the buffer for a record that does not fit; return whether that was possible.

        The counts so far are kept.
        """
        if self.text.room >= 2 * LONGEST:
            return False
        old = self.scan
        self.make(self.text.room * 8)
        for name in SUMMED:
            setattr(self.scan, name, getattr(old, name))
        return True


Visit = Callable[[Scan], None]


def read_log(path: Path, named: int, reader: Reader, visit: Visit | None = None, until: int = 0) -> LogFile:
    """Read a file through.

    Args:
        visit: called with the entries of each piece, in order.
        until: where an earlier reading ended: what was appended since is left alone; 0 to read to the end.
    """
    out = LogFile(path, named)
    if path.is_dir():
        out.ending, out.stamp = "folder", stamp(path.stat())
        return out
    with troubled(out), opened(path) as fd:
        out.size, out.stamp = os.fstat(fd).st_size, stamp(os.fstat(fd))
        if check_head(fd, out):
            reader.begin()
            read_records(fd, out, reader, visit, until, k.HEAD)
            note_totals(out, reader)
            out.sealed = seal(fd, out.end)
    return out


def read_on(earlier: LogFile, reader: Reader, visit: Visit | None = None, until: int = 0) -> LogFile | None:
    """Read what was added to a file since it was read, and return all of it; None if it is not a continuation.

    If the last record read before has changed, nothing is read. The arguments are those of `read_log`.
    """
    out = resumed(earlier, reader)
    with troubled(out), opened(earlier.path) as fd:
        if not goes_on(fd, earlier):
            return None
        out.size, out.stamp = os.fstat(fd).st_size, stamp(os.fstat(fd))
        read_records(fd, out, reader, visit, until, earlier.end)
        note_totals(out, reader)
        out.sealed = seal(fd, out.end)
    return out


def read_blocks(f: LogFile, blocks: Collection[int], reader: Reader, visit: Visit) -> None:
    """Read again those parts of a file that may have transactions of some blocks; unreadable parts are skipped."""
    ends = [*(place for place, _, _ in f.pieces[1:]), f.end]
    wanted = [any(lo <= b <= hi for b in blocks) for _, lo, hi in f.pieces]
    for asked, pieces in groupby(range(len(ends)), lambda n: wanted[n]):
        if asked:
            first, *rest = pieces
            out = LogFile(f.path, f.named)
            with troubled(out), opened(f.path) as fd:
                out.size = os.fstat(fd).st_size
                reader.begin()
                read_records(fd, out, reader, visit, ends[rest[-1] if rest else first], f.pieces[first][0])


@contextlib.contextmanager
def troubled(out: LogFile) -> Iterator[None]:
    """Record why a file cannot be read."""
    try:
        yield
    except Unreadable as problem:
        out.trouble, out.ending = str(problem), "gone" if has_gone(out.path, problem) else "unreadable"
    except OSError as problem:
        out.trouble, out.ending = reason(problem), "unreadable"


def seal(fd: int, end: int) -> bytes:
    """Return a digest of a file's header and of the bytes before a place."""
    start = max(0, end - SEALED)
    return hashlib.sha256(os.pread(fd, k.HEAD, 0) + os.pread(fd, end - start, start)).digest()


def goes_on(fd: int, earlier: LogFile) -> bool:
    """Return whether a file continues the one that was read, and was not cut and rewritten."""
    now = stamp(os.fstat(fd))
    return (
        earlier.ending in ("padding", "exact", "torn")
        and earlier.first_place > 0
        and now[:2] == earlier.stamp[:2]
        and now[2] >= earlier.end
        and seal(fd, earlier.end) == earlier.sealed
    )


def resumed(earlier: LogFile, reader: Reader) -> LogFile:
    """Return what was read of a file, to resume from; the reader is restored."""
    reader.begin()
    s = reader.scan
    for name in TOTALS:
        setattr(s, name, getattr(earlier, name))
    s.begun = 1
    return replace(
        earlier, torn=None, ending="", damages=list(earlier.damages), jumps=list(earlier.jumps),
        configs=list(earlier.configs), blocks=dict(earlier.blocks), pieces=list(earlier.pieces),
    )  # fmt: skip


def check_head(fd: int, out: LogFile) -> bool:
    """Check that a file begins as a log does."""
    head = os.pread(fd, k.HEAD, 0)
    if head and out.path.name.endswith(PACKED_LOG) and not head.startswith(MAGIC[: len(head)]):
        out.ending = "packed"
        return False
    if not head.rstrip(b"\0"):
        out.ending = "empty"  # no byte was written, or none reached the disk
        nonzero = data_from(fd, len(head), out.size)
        if nonzero >= 0:
            out.damages.append(Damage("BAD_MAGIC", 0, 0, f"the header is zeros, and data begins at {nonzero}", True))
            out.ending = "damage"
        return False
    if len(head) < k.HEAD:
        if struct.pack(">iiq", k.LOG_MAGIC, k.LOG_VERSION, 0).startswith(head.rstrip(b"\0")):
            out.ending = "empty"
            return False
        out.damages.append(Damage("BAD_MAGIC", 0, 0, f"{len(head)} bytes that are not a header", True))
        out.ending = "damage"
        return False
    magic, version, dbid = struct.unpack(">iiq", head)
    if magic != k.LOG_MAGIC:
        out.damages.append(
            Damage("BAD_MAGIC", 0, 0, f"it begins with {head[:4].hex()}, not with 5a4b4c47 (ZKLG)", True)
        )
        out.ending = "damage"
        return False
    if version != k.LOG_VERSION:
        out.damages.append(Damage("BAD_VERSION", 4, 0, f"version {version} of the format, where 2 is known", False))
    if dbid:
        out.damages.append(
            Damage("BAD_DBID", 8, 0, f"the database's number is {dbid}, where ZooKeeper writes 0", False)
        )
    return True


def read_records(fd: int, out: LogFile, reader: Reader, visit: Visit | None, until: int, start: int) -> None:
    """Read records to the end of the file, skipping damaged ones.

    Where the file is being written, a damaged place is read again before it is reported.
    """
    at, again = start, 0
    while True:
        got = reader.fill(fd, at)
        s = reader.scan
        if not got:
            out.end, out.ending = at, "exact" if not out.ending else out.ending
            return
        stop = k.FULL
        while stop == k.FULL:
            stop = reader.run(s)
            past = bool(until) and s.count > 0 and s.place[s.count - 1] >= until
            if past:
                s.count = next(n for n in range(s.count) if s.place[n] >= until)
            take(out, s)
            if visit is not None:
                visit(s)
            if past or (until and at + s.at >= until):
                out.end, out.ending = until, "exact"
                return
        place = at + s.at
        if stop == k.MORE:
            if got == reader.text.room and s.at == 0:
                if not reader.grow():
                    stop = k.BAD_LENGTH
                else:
                    continue
            elif got == reader.text.room:
                at = place
                continue
        known = len(out.damages)
        ended = got < reader.text.room
        further = place if changed(fd, s, place, ended) else at_end(fd, out, s, place, stop)
        if changed(fd, s, place, ended):
            del out.damages[known:]
            out.torn, out.ending, further, again = None, "", place, again + 1
            if again > AGAIN:  # whoever writes is faster than this reads
                out.end, out.ending = place, "padding"
                return
        if further < 0:
            return
        at = further


def changed(fd: int, s: Scan, place: int, ended: bool) -> bool:
    """Return whether the place where a scan stopped has changed since, or the file has grown behind its end."""
    if ended and os.fstat(fd).st_size > s.base + s.filled:
        return True
    memory = s.text.views["data"].memory
    held = bytes(memory[s.at : s.filled])
    return os.pread(fd, max(64, len(held)), place)[: len(held)] != held


def take(out: LogFile, s: Scan) -> None:
    """Add the result of a scan: its blocks, and what is not the next transaction."""
    if not out.first_place and s.begun:
        out.first_place = next(s.place[n] for n in range(s.count) if not s.odd[n] & k.BAD_CHECKSUM)
    for b in range(s.blocks):
        out.add_block(s.block[b], s.block_count[b], s.block_sum[b])
    if s.count:
        inside = [s.now, *(s.block[b] for b in range(s.blocks))]
        out.pieces.append((s.place[0], min(inside), max(inside)))
    for e in range(s.events):
        n = s.event_entry[e]
        place, zxid, odd = s.place[n], s.zxid[n], s.odd[n]
        if len(out.jumps) + len(out.damages) + len(out.configs) > MOST_EVENTS:
            out.lost_events += 1
            continue
        if s.event[e] != k.ODD:
            out.jumps.append(Jump(place, s.event_before[e], zxid))
            continue
        if odd & k.BAD_CHECKSUM:
            data = bytes(s.text.views["data"].memory[s.body[n] : s.finish[n]])
            said = struct.unpack(">q", s.text.views["data"].memory[s.body[n] - 12 : s.body[n] - 4])[0]
            detail = f"the record has checksum {said & (1 << 64) - 1:#x}, its bytes have {zlib.adler32(data):#x}"
            near = zxid == s.event_before[e] + 1
            out.damages.append(Damage("CRC", place, zxid if near else s.event_before[e] + 1, detail, False, near))
        elif odd & k.BAD_BODY:
            detail = f"the body is not that of a transaction of kind {s.kind[n]}, though its checksum is correct"
            out.damages.append(Damage("BAD_BODY", place, zxid, detail, False, True))
        elif odd & k.UNKNOWN_KIND:
            detail = f"kind {s.kind[n]} is of no kind known up to ZooKeeper 3.9"
            out.damages.append(Damage("UNKNOWN_TYPE", place, zxid, detail, False, True))
        elif odd & k.LEFT_OVER:
            out.damages.append(Damage("LEFT_OVER", place, zxid, "bytes after the body are not a digest", False, True))
        if odd & k.ON_CONFIG and not odd & k.BAD_CHECKSUM:
            out.configs.append((place, zxid))


def note_totals(out: LogFile, reader: Reader) -> None:
    s = reader.scan
    if s.now_count:
        out.add_block(s.now, s.now_count, s.now_sum)
    for name in TOTALS:
        setattr(out, name, getattr(s, name))


# --- ends ------------------------------------------------------------------------------------------


def at_end(fd: int, out: LogFile, s: Scan, place: int, stop: int) -> int:
    """Record why a scan stopped at a place; return where records continue behind it, or -1."""
    head = os.pread(fd, 12 + k.TXN_HEAD, place)
    if stop == k.END or not head.rstrip(b"\0"):
        return at_padding(fd, out, s, place)
    length = struct.unpack(">i", head[8:12])[0] if len(head) >= 12 else 0
    zxid = struct.unpack(">q", head[24:32])[0] if len(head) >= 32 else 0
    zxid = zxid if zxid == s.last + 1 or zxid & 0xFFFFFFFF == 1 or not s.begun else s.last + 1
    finish = place + 12 + length + 1
    whole = stop != k.BAD_LENGTH
    behind = data_from(fd, min(finish, out.size), out.size) if whole else place
    further = records_behind(fd, place + 1, out.size)
    if whole and behind < 0 and further < 0 and (finish > out.size or lost_tail(fd, finish)):
        if not true_length(fd, place, out.size):  # else it was whole, and its length is not its own
            out.end, out.ending, out.torn = place, "torn", (place, zxid)
            return -1
    if stop == k.MORE:  # its end is past the end of the file, although other records come before that
        stop = k.BAD_LENGTH
    describe(fd, out, place, length, zxid, stop, further)
    if further < 0:
        out.end, out.ending = place, "damage"
    return further


def lost_tail(fd: int, finish: int) -> bool:
    """Return whether a record's end was never written: it is zeros where the mark should be."""
    return os.pread(fd, 1, finish - 1) in (b"", b"\0")


def at_padding(fd: int, out: LogFile, s: Scan, place: int) -> int:
    """Record that the log ends at a place, unless there is data behind it; return where records continue, or -1."""
    data = data_from(fd, place, out.size)
    out.end, out.ending = place, out.ending or "padding"
    if data < 0:
        return -1
    further = records_behind(fd, place + 1, out.size)
    what = f"a record at {further}" if further >= 0 else f"bytes at {data} that are not a record"
    if data < place + 12 and further < 0:  # a checksum was written, and nothing after it
        out.ending, out.torn = "torn", (place, 0)
        return -1
    detail = f"a length of 0, which ends the log, and after it {what}"
    out.damages.append(Damage("DATA_AFTER_END", place, s.last + 1 if s.begun else 0, detail, True, further >= 0))
    if further < 0:
        out.ending = "damage"
    return further


def describe(fd: int, out: LogFile, place: int, length: int, zxid: int, stop: int, further: int) -> None:
    """Record the damage of a record whose length or mark is wrong."""
    rest = "; the rest of the file is hidden by it" if further >= 0 else ""
    right = length if stop == k.BAD_MARK and sums(fd, place, length) else true_length(fd, place, out.size)
    if right == length and stop == k.BAD_MARK:
        mark = os.pread(fd, 1, place + 12 + length).hex()
        detail = f"the record ends with {mark}, not with 42 (B); its checksum is right{rest}"
        out.damages.append(Damage("BAD_EOR", place, zxid, detail, True, True))
    elif right > 0:
        detail = f"length {length:,}, where checksum and mark are right with {right:,}{rest}"
        out.damages.append(Damage("BAD_LEN", place, zxid, detail, True, True))
    elif stop == k.BAD_LENGTH:
        detail = f"length {length:,} is not valid for a record{rest}"
        out.damages.append(Damage("BAD_LEN", place, zxid, detail, True))
    else:
        detail = f"there is no mark at the end of the record's length of {length:,}, and its checksum is wrong{rest}"
        out.damages.append(Damage("BAD_EOR", place, zxid, detail, True))


def sums(fd: int, place: int, length: int) -> bool:
    """Return whether the record at a place has a right checksum at a given length."""
    data = os.pread(fd, 12 + length, place)
    return len(data) == 12 + length and zlib.adler32(data[12:]) == int.from_bytes(data[:8], "big")


def true_length(fd: int, place: int, size: int) -> int:
    """Return the length up to 1 MiB with which the record at a place has a right checksum and mark; 0 if none."""
    data = os.pread(fd, min(size - place, (1 << 20) + 4096), place)
    if len(data) < 12 + k.TXN_HEAD:
        return 0
    wanted = struct.unpack(">q", data[:8])[0]
    end = data.find(b"B", 12 + k.TXN_HEAD)
    at, sum_ = 12, 1
    for _ in range(20_000):
        if end < 0:
            return 0
        sum_ = zlib.adler32(data[at:end], sum_)
        if sum_ == wanted:
            return end - 12
        at, end = end, data.find(b"B", end + 1)
    return 0


def records_behind(fd: int, at: int, size: int) -> int:
    """Return where the next whole record begins, with checksum and mark right; -1 if none is within 64 MiB."""
    step, first = 1 << 20, at
    while at < size and at - first < 64 << 20:
        at = data_from(fd, at, size)
        if at < 0:
            return -1
        at = max(first, at - 7)  # the checksum's upper bytes are zeros
        data = os.pread(fd, step + (1 << 18), at)
        found = whole_record(data, step)
        if found >= 0:
            return at + found
        at += step
    return -1


def whole_record(data: bytes, most: int) -> int:
    """Return where among the first `most` bytes a whole record begins; -1 if nowhere.

    The first four bytes of a record are zero, and those of its length except the low two or three.
    """
    at = data.find(b"\0\0\0\0")
    tried = 0
    while 0 <= at < most and tried < 1 << 20:
        if at + 12 + k.TXN_HEAD + 1 <= len(data):
            length = int.from_bytes(data[at + 8 : at + 12], "big")
            end = at + 12 + length
            if k.TXN_HEAD <= length < 1 << 24 and end < len(data) and data[end] == k.MARK:
                if zlib.adler32(data[at + 12 : end]) == int.from_bytes(data[at : at + 8], "big"):
                    return at
        tried += 1
        at = data.find(b"\0\0\0\0", at + 1)
    return -1


def payload_at(path: Path, place: int) -> bytes:
    """Return the payload of the record at a place; empty if there is none."""
    length = int.from_bytes(bytes_at(path, place + 8, 4), "big", signed=True)
    return bytes_at(path, place + 12, length) if k.TXN_HEAD <= length <= LONGEST else b""


def bytes_at(path: Path, place: int, count: int) -> bytes:
    """Return some bytes of a file, or fewer where it ends; none if it cannot be read any more."""
    try:
        with opened(path) as fd:
            return os.pread(fd, count, place)
    except OSError:
        return b""
