"""Decode one transaction for display and for comparison with another server's: for evidence, not for speed."""

from __future__ import annotations

import hashlib
import struct
from dataclasses import dataclass, field
from typing import Any

from traces.zookeeper.disk import numbers as k

KINDS = {
    k.ERROR: "error", k.CREATE_SESSION: "createSession", k.CLOSE_SESSION: "closeSession", k.CREATE: "create",
    k.DELETE: "delete", k.SET_DATA: "setData", k.SET_ACL: "setACL", k.CHECK: "check", k.MULTI: "multi",
    k.CREATE2: "create2", k.RECONFIG: "reconfig", k.CREATE_CONTAINER: "createContainer",
    k.DELETE_CONTAINER: "deleteContainer", k.CREATE_TTL: "createTTL",
}  # fmt: skip
CREATES = (k.CREATE, k.CREATE2, k.CREATE_CONTAINER, k.CREATE_TTL)
ALIKE = {k.CREATE2: k.CREATE, k.RECONFIG: k.SET_DATA, k.DELETE_CONTAINER: k.DELETE}
MOST_PARTS = 10_000  # of a vector that is decoded


class BrokenPayload(ValueError):
    """A payload does not match its kind."""


def zxid_text(zxid: int) -> str:
    """Return a zxid as its epoch and counter: 4:7c, both in hexadecimal as in ZooKeeper's own names."""
    zxid &= (1 << 64) - 1
    return f"{zxid >> 32:x}:{zxid & 0xFFFFFFFF:x}"


class Bytes:
    """Reads numbers and buffers from bytes, never past their end."""

    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def take(self, count: int) -> bytes:
        """Return the next `count` bytes.

        Raises:
            Broken: there are fewer.
        """
        if count < 0 or self.at + count > len(self.data):
            raise BrokenPayload(f"{count} bytes should follow, but there are {len(self.data) - self.at}")
        self.at += count
        return self.data[self.at - count : self.at]

    def number(self, code: str) -> int:
        value: int = struct.unpack(f">{code}", self.take(struct.calcsize(code)))[0]
        return value

    def buffer(self) -> bytes | None:
        length = self.number("i")
        return None if length == -1 else self.take(length)

    def text(self) -> str:
        found = self.buffer()
        return "" if found is None else found.decode("utf-8", "backslashreplace")

    def count(self) -> int:
        """Return the length of a vector; -1, which stands for null, counts as 0.

        Raises:
            Broken: longer than there are bytes for.
        """
        length = self.number("i")
        if length < -1 or length > min(MOST_PARTS, (len(self.data) - self.at) // 4):
            raise BrokenPayload(f"a list of {length} entries")
        return max(0, length)

    def acls(self) -> list[tuple[int, str, str]]:
        return [(self.number("i"), self.text(), self.text()) for _ in range(self.count())]

    @property
    def left(self) -> int:
        return len(self.data) - self.at


@dataclass
class Txn:
    """A transaction of a log.

    Attributes:
        fields: the fields of its kind, by name; `parts` of a multi, each a pair of a kind and its fields.
        digest: version and digest of the tree behind it; None if it carries none.
    """

    session: int
    cxid: int
    zxid: int
    time: int
    kind: int
    fields: dict[str, Any] = field(default_factory=dict)
    digest: tuple[int, int] | None = None

    @property
    def name(self) -> str:
        return KINDS.get(self.kind, f"kind {self.kind}")

    @property
    def failed(self) -> bool:
        """Return whether it is a multi that failed."""
        return any(kind == k.ERROR for kind, _ in self.fields.get("parts", ()))

    def meaning(self) -> tuple[Any, ...]:
        """Return what two servers must agree on.

        It leaves out what they may write differently for the same transaction: the kinds of a failed multi's parts,
        what releases add to a body, and the digest.
        """
        fields = dict(self.fields)
        kind = ALIKE.get(self.kind, self.kind)
        if self.failed:
            fields = {"failed parts": len(self.fields["parts"])}
        elif "parts" in fields:
            fields["parts"] = tuple((ALIKE.get(c, c), fixed(f)) for c, f in fields["parts"])
        return (self.session, self.cxid, self.zxid, self.time, kind, fixed(fields))

    def same_as(self, other: Txn) -> bool:
        """Return whether two are one transaction; fields that only one of them has do not count."""
        mine, theirs = self, other
        for one, two in ((mine, theirs), (theirs, mine)):
            if one.kind == k.CLOSE_SESSION and "paths" not in one.fields and "paths" in two.fields:
                return one.head() == two.head()
            if one.kind in CREATES and "parent_version" not in one.fields and "parent_version" in two.fields:
                less = {n: v for n, v in two.fields.items() if n != "parent_version"}
                return one.head() == two.head() and fixed(one.fields) == fixed(less)
        return mine.meaning() == theirs.meaning()

    def head(self) -> tuple[int, ...]:
        return (self.session, self.cxid, self.zxid, self.time, ALIKE.get(self.kind, self.kind))

    def as_json(self, show_data: bool = False) -> dict[str, Any]:
        out: dict[str, Any] = {
            "zxid": zxid_text(self.zxid), "kind": self.name, "session": f"{self.session & (1 << 64) - 1:#x}",
            "cxid": self.cxid, "time": self.time,
        }  # fmt: skip
        out |= {n: plain(n, v, show_data) for n, v in self.fields.items() if n != "parts"}
        if "parts" in self.fields:
            out["parts"] = [
                {"kind": KINDS.get(c, str(c))} | {n: plain(n, v, show_data) for n, v in f.items()}
                for c, f in self.fields["parts"]
            ]
        if self.digest is not None:
            out["digest"] = f"{self.digest[1] & (1 << 64) - 1:#x}"
        return out


def fixed(value: Any) -> Any:
    """Return a value in a form that can be compared and hashed."""
    if isinstance(value, dict):
        return tuple(sorted((n, fixed(v)) for n, v in value.items()))
    return tuple(fixed(v) for v in value) if isinstance(value, list) else value


def plain(name: str, value: Any, show_data: bool) -> Any:
    """Return a value for JSON; data is given by its length and hash, unless it may be shown."""
    if isinstance(value, bytes):
        out: dict[str, Any] = {"length": len(value), "sha256": hashlib.sha256(value).hexdigest()}
        return out | ({"text": value.decode("utf-8", "backslashreplace")} if show_data else {})
    if name == "permissions":
        return [f"{p}:{s}:{i}" if show_data or s != "digest" else f"{p}:{s}:..." for p, s, i in value]
    return value


def body(kind: int, b: Bytes, end: int) -> dict[str, Any]:
    """Read the body of a transaction.

    Args:
        kind: the kind of transaction.
        b: the bytes.
        end: how many bytes may be left behind the body for a digest.
    """
    if kind in CREATES:
        out: dict[str, Any] = {"path": b.text(), "data": b.buffer(), "permissions": b.acls()}
        if kind in (k.CREATE, k.CREATE2):
            out["ephemeral"] = b.number("b") != 0
        if b.left > 0 or kind != k.CREATE:
            out["parent_version"] = b.number("i")
        if kind == k.CREATE_TTL:
            out["ttl"] = b.number("q")
        return out
    if kind in (k.SET_DATA, k.RECONFIG):
        return {"path": b.text(), "data": b.buffer(), "version": b.number("i")}
    if kind in (k.DELETE, k.DELETE_CONTAINER):
        return {"path": b.text()}
    if kind == k.CREATE_SESSION:
        return {"timeout": b.number("i")}
    if kind == k.ERROR:
        return {"error": b.number("i")}
    if kind == k.SET_ACL:
        return {"path": b.text(), "permissions": b.acls(), "version": b.number("i")}
    if kind == k.CHECK:
        return {"path": b.text(), "version": b.number("i")}
    if kind == k.CLOSE_SESSION:
        if b.left == 0 or (b.left == end and struct.unpack_from(">i", b.data, b.at)[0] > 1):
            return {}
        return {"paths": [b.text() for _ in range(b.count())]}
    if kind == k.MULTI:
        return {"parts": [part(b) for _ in range(b.count())]}
    raise BrokenPayload(f"there is no kind of transaction {kind}")


def part(b: Bytes) -> tuple[int, dict[str, Any]]:
    """Read a part of a multi; a part that may be an error under another name stays raw."""
    kind = b.number("i")
    inside = Bytes(b.buffer() or b"")
    try:
        said = body(kind, inside, -1)
    except BrokenPayload:
        said = {"raw": inside.data}
    return kind, said


def decoded(payload: bytes) -> Txn:
    """Decode the transaction of a payload.

    Raises:
        Broken: the payload is no transaction.
    """
    b = Bytes(payload)
    txn = Txn(b.number("q"), b.number("i"), b.number("q"), b.number("q"), b.number("i"))
    txn.fields = body(txn.kind, b, k.DIGEST)
    if b.left == k.DIGEST:
        txn.digest = (b.number("i"), b.number("q"))
    return txn
