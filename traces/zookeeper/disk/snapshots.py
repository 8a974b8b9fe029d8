"""Read a snapshot as a stream: its tree, seals and digest.

Memory holds one piece of it, and the tree without its data.
"""

from __future__ import annotations

import contextlib
import os
import re
import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from traces.zookeeper.disk import numbers as k
from traces.zookeeper.disk import tree_kernel as tk
from traces.zookeeper.disk.files import has_gone, stamp
from traces.zookeeper.disk.memory import ByteBuffer
from traces.zookeeper.disk.rules import DIGESTS, LAST_ZXID, Rules, packing
from traces.zookeeper.disk.snappy_kernel import NO_ROOM, unsnap
from traces.zookeeper.disk.trees import DataTree
from zabspec.files import Unreadable, opened, reason
from zabspec.language.native.kernels import machine

PIECE = 1 << 18
LAST = b"\0\0\0\1/"
ZXID_ALONE = 21  # bytes of a last zxid and its seal, behind the seal of the tree where no digest is between
XERIAL = b"\x82SNAPPY\0"
BLOCK_ROOM = 1 << 22  # bytes of a snappy block
RATIO = 400  # times that a file may grow when it is decompressed, beyond what is small
GROWS = 1 << 28
MOST_SESSIONS = 10_000_000
LARGEST = 1 << 26


class Torn(Exception):
    """The stream ends before the snapshot does."""


class Malformed(Exception):
    """The file is no snapshot; the message says why."""


class Fatal(Malformed):
    """A server that reads this may end, by an Error or by its memory, or go on with it, and take no older snapshot."""


@dataclass
class Snapshot:
    """A snapshot file.

    Attributes:
        zxid: of its name; `digest_zxid` is what its digest is of (0 if it does not say).
        state: `whole`, `torn` (it ends too early: a server takes the next older one), `broken`, `unreadable`, `refused`
            (a piece of it is longer than a start reads).
        why: what is broken.
        place: where, in the decompressed stream.
        digest: of the tree, as the file says; `total` is the sum over its nodes, `content` that of paths, data and
            owners.
        newest: the largest zxid in its nodes. widest: the length of its longest path or data.
        config: the data of /zookeeper/config; empty if there is none.
        sections: what is behind the tree, each by the option with which servers write it.
        sealed: the number of right seals before anything that is wrong: that of the tree, then those of the sections.
        ended: whether the file was complete when reading began; not determined for a compressed one.
        fatal: a server that reads the damage may end, or may read past it.
    """

    path: Path
    zxid: int
    size: int = 0
    stamp: tuple[int, ...] = ()
    state: str = ""
    why: str = ""
    place: int = 0
    digest_zxid: int = 0
    digest: int = 0
    has_digest: bool = False
    total: int = 0
    content: int = 0
    newest: int = 0
    last_processed: int = -1
    widest: int = 0
    config: bytes = b""
    sections: list[str] = field(default_factory=list)
    sealed: int = 0
    ended: bool = False
    fatal: bool = False

    @property
    def name(self) -> str:
        return self.path.name

    @property
    def usable(self) -> bool:
        """Return whether a starting server can load it."""
        return self.state == "whole"

    def read_by(self, rules: Rules) -> Snapshot:
        """Return it as a start reads it: what it does not read need not be right; what it refuses may be right."""
        most, needed = rules.longest, rules.sections[: len(self.sections)]
        other = next((b for a, b in zip(needed, self.sections, strict=False) if a != b), "")
        why = ""
        if self.widest > most:
            why = f"a path or a node's data has {self.widest:,} bytes, and a start reads {most:,}"
        elif other and self.sealed:
            have, lack = (DIGESTS, "false") if other == LAST_ZXID else (other, "true")
            why = f"it was written with {have}={lack}, and a start without that cannot read it"
        if why:
            return replace(self, state="refused", why=f"{why}: it takes an older one")
        if self.state in ("torn", "broken") and self.ended and self.sealed > len(needed):
            return replace(self, state="whole", has_digest=self.has_digest and self.sealed > 1)
        return self

    @property
    def exact(self) -> bool:
        """Return whether it is known to be the tree at the zxid of its name."""
        return self.has_digest and self.digest_zxid == self.zxid


class Stream:
    """The decompressed bytes of a snapshot, read piece by piece into a text, with their checksum."""

    def __init__(self, pieces: Iterator[bytes], tree: DataTree) -> None:
        self.pieces, self.text, self.scan = pieces, tree.text, tree.scan
        self.tree = tree
        self.at = self.filled = 0
        self.sum = 1
        self.before = 0  # bytes that are no longer in the buffer
        self.held = b""
        self.ended = False

    @property
    def room(self) -> memoryview:
        """Return the text's bytes."""
        memory: memoryview = self.text.views["data"].memory
        return memory

    def more(self) -> bool:
        """Read one more piece, after making room for it; return whether there was one."""
        memory = self.room
        if self.at:
            rest = bytes(memory[self.at : self.filled])
            memory[: len(rest)] = rest
            self.before += self.at
            self.at, self.filled = 0, len(rest)
        if not self.held:
            self.held = next(self.pieces, b"")
        if not self.held:
            self.ended = True
            return False
        if self.filled == self.text.room:
            if self.text.room >= LARGEST:
                raise Malformed("a node larger than 64 MiB")
            kept = bytes(memory[: self.filled])
            self.text = self.tree.larger_text()
            self.room[: len(kept)] = kept
        piece = self.held[: self.text.room - self.filled]
        self.held = self.held[len(piece) :]
        self.room[self.filled : self.filled + len(piece)] = piece
        self.filled += len(piece)
        return True

    def pass_to(self, at: int) -> None:
        """Advance to a place, including what is before it in the checksum."""
        self.sum = zlib.adler32(self.room[self.at : at], self.sum)
        self.at = at

    def take(self, count: int) -> bytes:
        """Return the next `count` bytes.

        Raises:
            Torn: there are fewer.
        """
        while self.filled - self.at < count:
            if not self.more():
                raise Torn
        found = bytes(self.room[self.at : self.at + count])
        self.pass_to(self.at + count)
        return found

    def number(self, code: str) -> int:
        value: int = struct.unpack(f">{code}", self.take(struct.calcsize(code)))[0]
        return value

    def counted(self, most: int, what: str) -> bytes:
        length = self.number("i")
        if length > most or length < -1:
            raise Malformed(f"{what} of {length:,} bytes")
        return self.take(max(0, length))


def plain_pieces(fd: int) -> Iterator[bytes]:
    at = 0
    while piece := os.pread(fd, PIECE, at):
        at += len(piece)
        yield piece


def limited(pieces: Iterator[bytes], size: int) -> Iterator[bytes]:
    """Yield pieces, up to the size that a file of some bytes may grow to."""
    total = 0
    for piece in pieces:
        total += len(piece)
        if total > GROWS + RATIO * size:
            raise Malformed(f"it grows to more than {total:,} bytes from {size:,}: decompression stopped")
        yield piece


def gzip_pieces(fd: int) -> Iterator[bytes]:
    """Yield pieces decompressed by gzip, member after member, as Java does.

    All before an error is read, a wrong checksum among them, and bytes behind a member that begin none are its end.
    """
    unzip, members = zlib.decompressobj(31), 0
    for piece in plain_pieces(fd):
        rest = piece
        while rest:
            before = unzip.copy()
            try:
                out = unzip.decompress(rest, PIECE)
            except zlib.error as problem:
                if members and re.search("header|method", str(problem)):
                    return
                with contextlib.suppress(zlib.error):
                    for k in range(len(rest)):
                        if out := before.decompress(rest[k : k + 1]):
                            yield out
                raise Malformed(f"gzip: {problem}") from None
            if out:
                yield out
            if unzip.eof:
                rest, unzip, members = unzip.unused_data, zlib.decompressobj(31), members + 1
            else:
                rest = unzip.unconsumed_tail
                if not out and not rest:
                    break


def snappy_pieces(fd: int) -> Iterator[bytes]:
    """Yield pieces decompressed by Snappy, in the framing of snappy-java (Xerial)."""
    source, out, run = ByteBuffer(room=BLOCK_ROOM), ByteBuffer(room=BLOCK_ROOM), machine(unsnap)
    head = os.pread(fd, 16, 0)
    if not head.startswith(XERIAL):
        if len(head) < 16 and XERIAL.startswith(head[:8]):
            return
        raise Malformed("it does not begin as Snappy's streams do")
    at = 16
    while head := os.pread(fd, 4, at):
        length = int.from_bytes(head, "big")
        if len(head) < 4:
            return
        if head == XERIAL[:4] and os.pread(fd, 8, at) == XERIAL:
            at += 16
            continue
        if length > BLOCK_ROOM:
            raise Fatal(f"a Snappy block of {length:,} bytes")
        data = os.pread(fd, length, at + 4)
        if len(data) < length:
            return
        source.views["data"].memory[:length] = data
        count = run(source, length, out)
        if count == NO_ROOM:
            raise Fatal(f"a Snappy block of more than {BLOCK_ROOM:,} bytes")
        if count < 0:
            raise Malformed("a Snappy block that cannot be decompressed")
        at += 4 + length
        yield bytes(out.views["data"].memory[:count])


def pieces_of(path: Path, fd: int, size: int) -> Iterator[bytes]:
    if packing(path.name) == "gz":
        return limited(gzip_pieces(fd), size)
    if packing(path.name) == "snappy":
        return limited(snappy_pieces(fd), size)
    return plain_pieces(fd)


def read_snapshot(path: Path, zxid: int, tree: DataTree) -> Snapshot:
    """Read a snapshot into an empty tree."""
    out = Snapshot(path, zxid)
    stream: Stream | None = None
    try:
        with opened(path) as fd:
            out.size, out.stamp = os.fstat(fd).st_size, stamp(os.fstat(fd))
            out.ended = bool(packing(path.name)) or (
                out.size >= 10 and os.pread(fd, len(LAST), out.size - len(LAST)) == LAST
            )
            stream = Stream(pieces_of(path, fd, out.size), tree)
            read_parts(stream, out, tree)
            out.state = "broken" if out.why else "whole" if out.ended else "torn"
            if out.state == "torn":
                out.why = "bytes follow its end, by which a start tells whether it is finished"
    except Torn:
        out.state, out.why = "torn", "it ends before the tree does"
    except Malformed as problem:
        out.state, out.why, out.fatal = "broken", str(problem), isinstance(problem, Fatal)
    except Unreadable as problem:
        out.state, out.why = "gone" if has_gone(path, problem) else "unreadable", str(problem)
    except OSError as problem:
        out.state, out.why = "unreadable", reason(problem)
    if stream is not None:
        out.place = stream.before + stream.at
    out.widest, out.total, out.content, out.newest = tree.tree.widest, tree.tree.total, tree.tree.content, tree.newest()
    return out


def read_parts(s: Stream, out: Snapshot, tree: DataTree) -> None:
    """Read header, sessions, permissions, nodes, and the seals of a snapshot.

    Raises:
        Torn: it ends in between.
        Malformed: it is no snapshot.
    """
    magic, version = s.number("i"), s.number("i")
    if magic != k.SNAP_MAGIC:
        raise Malformed(f"it begins with {magic & 0xFFFFFFFF:08x}, not with 5a4b534e (ZKSN)")
    if version != k.LOG_VERSION:
        raise Malformed(f"version {version} of the format, where 2 is known")
    s.take(8)
    left = s.number("i")
    if left > MOST_SESSIONS:
        raise Malformed(f"{left:,} sessions")
    while left > 0:
        count = min(left, 4096)
        s.take(12 * count)
        left -= count
    tree.begin(read_permissions(s, tree))
    read_nodes(s, out, tree)
    if s.take(5) != LAST:
        raise Malformed("the list of nodes does not end with /")
    check_seal(s, out, "the checksum")
    out.sections = [DIGESTS, LAST_ZXID]  # as far as is known: reading on may fail
    while s.filled - s.at <= ZXID_ALONE and s.more():
        pass
    if s.filled - s.at in (0, ZXID_ALONE):
        out.sections.remove(DIGESTS)
    else:
        out.digest_zxid, version = s.number("q"), s.number("i")
        if version < k.DIGEST_VERSION:
            raise Fatal(f"a digest of version {version}, which is read as text")
        out.digest = s.number("q")
        check_seal(s, out, "the checksum behind the digest")
        out.has_digest = out.digest_zxid != 0 and version == k.DIGEST_VERSION
    if s.filled - s.at > 0 or s.more():
        out.last_processed = s.number("q")
        check_seal(s, out, "the third checksum")
    else:
        out.sections.remove(LAST_ZXID)


def read_permissions(s: Stream, tree: DataTree) -> list[tuple[int, int]]:
    """Return the lists of permissions by number, each as a hash."""
    count = s.number("i")
    if count < 0:
        raise Fatal(f"{count:,} lists of permissions")
    if count > 1_000_000:
        raise Malformed(f"{count:,} lists of permissions")
    found = {-1: tree.hash_of(OPEN)}
    for _ in range(count):
        index = s.number("q")
        entries = s.number("i")
        if entries == -1:
            raise Fatal("a list of permissions that is null")
        if not 0 <= entries <= 100_000:
            raise Malformed(f"a list of {entries:,} permissions")
        said = [struct.pack(">i", entries)]
        for _ in range(entries):
            perms = s.take(4)
            scheme, identity = s.counted(1 << 20, "a scheme"), s.counted(1 << 20, "an identity")
            said += [perms, struct.pack(">i", len(scheme)), scheme, struct.pack(">i", len(identity)), identity]
        found[index] = tree.hash_of(b"".join(said))
    return sorted(found.items())


OPEN = b"\0\0\0\1\0\0\0\x1f\0\0\0\5world\0\0\0\6anyone"


def read_nodes(s: Stream, out: Snapshot, tree: DataTree) -> None:
    """Read the nodes of the tree, up to the path / that ends them."""
    while True:
        scan = tree.scan
        scan.at, scan.filled = s.at, s.filled
        why = tree.load(tree.tree, scan)
        if at := tree.tree.config:
            length = struct.unpack_from(">i", s.room, at)[0]
            out.config, tree.tree.config = bytes(s.room[at + 4 : at + 4 + max(0, length)]), 0
        s.pass_to(scan.at)
        if why == tk.NODE_LAST:
            return
        if why == tk.NODE_FULL:
            tree.grow(s.filled - s.at)
        elif why == tk.NODE_TWICE:
            raise Fatal("it has a path twice")
        elif why == tk.NODE_ORPHAN:
            raise Malformed("the parent of a node is not before it")
        elif why == tk.NODE_LOOSE:
            raise Fatal("a node has no path with a slash, or the root's permissions are not listed")
        elif why == tk.NODE_BAD:
            if tree.text.room < LARGEST and plausible(s):
                kept = bytes(s.room[s.at : s.filled])
                s.before, s.at = s.before + s.at, 0
                s.text = tree.larger_text()
                s.room[: len(kept)] = kept
                s.filled = len(kept)
                continue
            raise Malformed("a node with an impossible length")
        elif not s.more():
            raise Torn


def plausible(s: Stream) -> bool:
    """Return whether a node that does not fit has plausible lengths, below 64 MiB."""
    data = s.room[s.at : s.filled]
    length = int.from_bytes(data[:4], "big", signed=True)
    if not 0 <= length < LARGEST // 2:
        return False
    if 4 + length + 4 > len(data):
        return True
    return -1 <= int.from_bytes(data[4 + length : 8 + length], "big", signed=True) < LARGEST // 2


def check_seal(s: Stream, out: Snapshot, name: str) -> None:
    """Check a seal: a checksum of all before it; a start reads the path / behind it, whatever that says."""
    wanted = s.sum
    if s.number("q") != wanted:
        out.why += f"{' and ' if out.why else ''}{name} is wrong"
    s.counted(LARGEST, f"the path behind {name}")
    out.sealed += not out.why
