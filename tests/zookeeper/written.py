"""Data directories written for tests: logs, snapshots, epoch files, with an independent tree that computes digests."""

from __future__ import annotations

import struct
import tarfile
import zlib
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path

DATA = Path(__file__).parents[1] / "data"
WORLD = struct.pack(">ii5si6s", 31, 5, b"world", 6, b"anyone")
SESSION = 0x1000019E1660000


def ustring(text: str | bytes | None) -> bytes:
    if text is None:
        return struct.pack(">i", -1)
    data = text.encode() if isinstance(text, str) else text
    return struct.pack(">i", len(data)) + data


def acls() -> bytes:
    return struct.pack(">i", 1) + WORLD


def create(
    path: str, data: bytes = b"x", ephemeral: bool = False, version: int = -1, kind: int = 1
) -> tuple[int, bytes]:
    body = ustring(path) + ustring(data) + acls() + bytes([ephemeral]) + struct.pack(">i", version)
    return kind, body


def set_data(path: str, data: bytes, version: int = 1) -> tuple[int, bytes]:
    return 5, ustring(path) + ustring(data) + struct.pack(">i", version)


def set_acl(path: str) -> tuple[int, bytes]:
    return 7, ustring(path) + acls() + struct.pack(">i", 1)


def delete(path: str) -> tuple[int, bytes]:
    return 2, ustring(path)


def multi(*parts: tuple[int, bytes]) -> tuple[int, bytes]:
    return 14, struct.pack(">i", len(parts)) + b"".join(struct.pack(">i", k) + ustring(b) for k, b in parts)


def failed_multi(written_over: bool) -> tuple[int, bytes]:
    """As a server logs it before it applies it, or after."""
    code = struct.pack(">i", -101)
    return multi((-1, code), (-1 if written_over else 5, code))


@dataclass
class Node:
    """A node of the tree that the digests are computed from, by the rules of FORMAT.md."""

    data: bytes | None
    czxid: int
    mzxid: int
    pzxid: int
    ctime: int
    mtime: int
    version: int = 0
    cversion: int = 0
    aversion: int = 0
    owner: int = 0

    def stats(self) -> bytes:
        return struct.pack(
            ">qqqqqiiiq", self.czxid, self.mzxid, self.pzxid, self.ctime, self.mtime, self.version, self.cversion,
            self.aversion, self.owner,
        )  # fmt: skip

    def stored(self) -> bytes:
        """As a snapshot has it."""
        return struct.pack(
            ">qqqqiiiqq", self.czxid, self.mzxid, self.ctime, self.mtime, self.version, self.cversion, self.aversion,
            self.owner, self.pzxid,
        )  # fmt: skip


def empty_node() -> Node:
    return Node(b"", 0, 0, 0, 0, 0)


@dataclass
class Tree:
    nodes: dict[str, Node] = field(
        default_factory=lambda: {p: empty_node() for p in ("", "/zookeeper", "/zookeeper/quota", "/zookeeper/config")}
    )

    def digest(self) -> int:
        counted = (
            zlib.crc32(p.encode() + (n.data or b"") + n.stats())
            for p, n in self.nodes.items()
            if not p.startswith("/zookeeper/")
        )
        return sum(counted) & (1 << 64) - 1

    def copy(self) -> Tree:
        return Tree({p: replace(n) for p, n in self.nodes.items()})

    def apply(self, zxid: int, time: int, kind: int, body: bytes, session: int) -> None:
        def text(at: int) -> tuple[str, int]:
            n = struct.unpack_from(">i", body, at)[0]
            return body[at + 4 : at + 4 + max(0, n)].decode(), at + 4 + max(0, n)

        if kind == 14:
            count, at = struct.unpack_from(">i", body)[0], 4
            parts = []
            for _ in range(count):
                sub, n = struct.unpack_from(">ii", body, at)
                parts.append((sub, body[at + 8 : at + 8 + n]))
                at += 8 + n
            if not any(sub == -1 for sub, _ in parts):
                for sub, part in parts:
                    self.apply(zxid, time, sub, part, session)
            return
        if kind in (1, 15):
            path, at = text(0)
            n = struct.unpack_from(">i", body, at)[0]
            data = body[at + 4 : at + 4 + n]
            ephemeral, version = struct.unpack(">?i", body[-5:])
            parent = self.nodes[path.rsplit("/", 1)[0]]
            self.nodes[path] = Node(data, zxid, zxid, zxid, time, time, owner=session if ephemeral else 0)
            version = parent.cversion + 1 if version == -1 else version
            if version > parent.cversion:
                parent.cversion, parent.pzxid = version, zxid
        elif kind == 5:
            path, at = text(0)
            n = struct.unpack_from(">i", body, at)[0]
            node = self.nodes[path]
            node.data, node.version = body[at + 4 : at + 4 + n], struct.unpack(">i", body[-4:])[0]
            node.mzxid, node.mtime = zxid, time
        elif kind == 7:
            self.nodes[text(0)[0]].aversion = struct.unpack(">i", body[-4:])[0]
        elif kind == 2:
            self.remove(text(0)[0], zxid)
        elif kind == -11:
            for path in [p for p, n in self.nodes.items() if n.owner == session]:
                self.remove(path, zxid)

    def remove(self, path: str, zxid: int) -> None:
        del self.nodes[path]
        parent = self.nodes[path.rsplit("/", 1)[0]]
        parent.pzxid = max(parent.pzxid, zxid)


@dataclass
class Txn:
    """A transaction with the digest behind it; `digest` None: none is written."""

    zxid: int
    kind: int
    body: bytes
    digest: int | None = None
    time: int = 1_795_245_706_562
    session: int = SESSION
    cxid: int = 1

    def record(self) -> bytes:
        payload = struct.pack(">qiqqi", self.session, self.cxid, self.zxid, self.time, self.kind) + self.body
        if self.digest is not None and self.kind != -1:
            payload += struct.pack(">iQ", 2, self.digest)
        return framed(payload)


def framed(payload: bytes) -> bytes:
    return struct.pack(">qi", zlib.adler32(payload), len(payload)) + payload + b"B"


HEAD = struct.pack(">iiq", 0x5A4B4C47, 2, 0)


def zxid(epoch: int, counter: int) -> int:
    return epoch << 32 | counter


def history(
    *epochs: tuple[int, int], digests: bool = True, tree: Tree | None = None, session: int = SESSION
) -> list[Txn]:
    """Transactions of epochs, each with how many: a session, creates, changes."""
    tree, out = tree or Tree(), []
    for epoch, count in epochs:
        for n in range(1, count + 1):
            z, time = zxid(epoch, n), 1_795_245_706_562 + 1000 * epoch + n
            if n == 1:
                kind, body = -10, struct.pack(">i", 10_000)
            elif n % 5 == 0 and f"/n{epoch}_{n - 1}" in tree.nodes:
                kind, body = set_data(f"/n{epoch}_{n - 1}", b"changed %d" % n)
            else:
                kind, body = create(f"/n{epoch}_{n}", b"data %d" % n, version=tree.nodes[""].cversion + 1)
            tree.apply(z, time, kind, body, session)
            out.append(Txn(z, kind, body, tree.digest() if digests else None, time, session))
    return out


def digested(txns: list[Txn]) -> list[Txn]:
    """The same transactions with the digests of a tree that applies them."""
    tree, out = Tree(), []
    for t in txns:
        tree.apply(t.zxid, t.time, t.kind, t.body, t.session)
        out.append(replace(t, digest=tree.digest()))
    return out


def tree_of(txns: list[Txn]) -> Tree:
    tree = Tree()
    for t in txns:
        tree.apply(t.zxid, t.time, t.kind, t.body, t.session)
    return tree


def snapshot_bytes(tree: Tree, digest_zxid: int | None, session: int = SESSION, digest: int | None = None) -> bytes:
    """A snapshot; `digest_zxid` None: as before 3.6, without a digest; `digest`: of another tree."""
    out = struct.pack(">iiq", 0x5A4B534E, 2, -1) + struct.pack(">iqi", 1, session, 10_000)
    out += struct.pack(">iq", 1, 1) + acls()
    for path, n in tree.nodes.items():
        out += ustring(path) + ustring(n.data) + struct.pack(">q", 1) + n.stored()
    out += ustring("/")
    out += struct.pack(">q", zlib.adler32(out)) + ustring("/")
    if digest_zxid is not None:
        out += struct.pack(">qiQ", digest_zxid, 2, (tree.digest() if digest is None else digest) if digest_zxid else 0)
        out += struct.pack(">q", zlib.adler32(out)) + ustring("/")
    return out


@dataclass
class Written:
    """A server's directory on the way to a disk.

    Attributes:
        files: logs, each a list of transactions, by the zxid of their names.
        raw: files written as they are, instead of or beside those.
    """

    files: dict[int, list[Txn]] = field(default_factory=dict)
    snapshots: dict[int, bytes] = field(default_factory=dict)
    current: int | None = 1
    accepted: int | None = None
    raw: dict[str, bytes] = field(default_factory=dict)
    padding: int = 4096

    def write(self, folder: Path) -> Path:
        target = folder / "version-2"
        target.mkdir(parents=True)
        for name, txns in self.files.items():
            data = HEAD + b"".join(t.record() for t in txns)
            (target / f"log.{name:x}").write_bytes(data + bytes(-len(data) % self.padding if self.padding else 0))
        for name, data in self.snapshots.items():
            (target / f"snapshot.{name:x}").write_bytes(data)
        if self.current is not None:
            (target / "currentEpoch").write_text(str(self.current))
            (target / "acceptedEpoch").write_text(str(self.current if self.accepted is None else self.accepted))
        for name, data in self.raw.items():
            (target / name).write_bytes(data)
        return folder


def server(txns: list[Txn], *cuts: int, first: bool = True, **given: object) -> Written:
    """A server with these transactions, a file beginning at each cut, and snapshot.0."""
    files: dict[int, list[Txn]] = {}
    for t in txns:
        if not files or t.zxid in cuts:
            files[t.zxid] = []
        list(files.values())[-1].append(t)
    out = Written(files, current=max((t.zxid >> 32 for t in txns), default=1), **given)  # type: ignore[arg-type]
    if first:
        out.snapshots[0] = snapshot_bytes(Tree(), 0)
    return out


def ensemble(folder: Path, *servers: Written) -> list[Path]:
    return [s.write(folder / f"server{n}") for n, s in enumerate(servers, 1)]


@cache
def data_sets() -> Path:
    """Directories and logs that real ensembles left, unpacked once (tests/data/ensembles.tsv says what is in them)."""
    import atexit
    import shutil
    import tempfile

    folder = Path(tempfile.mkdtemp(prefix="zabcheck-ensembles-"))
    atexit.register(shutil.rmtree, folder, True)
    with tarfile.open(DATA / "ensembles.tar.xz") as archive:
        archive.extractall(folder, filter="data")
    return folder
