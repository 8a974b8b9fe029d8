"""Data directories of servers as words, which texts of `tests/zookeeper/audits/` have.

Words of one server, in their order; E:N is the transaction N of epoch E, of a history that ends with 1:14, 2:10, 3:6:

    all              1:1..3:6
    E:N  E:N..E:N    records of the history
    -E:N  -E:N..E:N  without these
    +E:N..E:N        records of the server's own, each of which creates a node; `!` behind it: with their digests;
                     `!7`: with this digest
    E:N#50           the first 50 bytes of a record
    |                a new log begins here
    other=E:N        with other data; session=E:N, of another session; body=E:N:HEX, with this body; acl=E:N:PATH, it
                     sets permissions
    old, digested    all records without digests; with the digests of a tree that applies them
    current=N  accepted=N  epochs=none
    nozero           without snapshot.0
    snapshot=E:N     with the digest of its tree; received=E:N, as of a SNAP; plain=E:N, as before 3.6. `<WORDS` behind
                     it, with commas: of the tree of these records; `>E:N`: with the digest of that transaction;
                     `~torn`: its first 200 bytes, `~flipped`: with a bit flipped
    flip=PLACE^BITS  of a byte of a log, E:N+K or E:N-K from the begin of a record, or K of the first log
    put=PLACE:HEX    bytes there
    unpadded, cut=K  logs without padding; of the last one the last K bytes are gone
    file=NAME:HEX+K  a file, which ends with K zeros; file=NAME:'TEXT'
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from tests.zookeeper.healthy import TXNS
from tests.zookeeper.written import (
    HEAD,
    Tree,
    Txn,
    Written,
    create,
    digested,
    server,
    set_acl,
    snapshot_bytes,
    tree_of,
    zxid,
)  # fmt: skip

HEALTHY = ("all", "1:1..1:8 | 1:9..2:10 | 3:1..3:6", "1:1..2:3 | 2:4..3:6")
ZXID = r"\d+:\d+"
RECORDS = re.compile(rf"([-+]?)({ZXID})(?:\.\.({ZXID}))?(!\d*)?(?:#(\d+))?")
SNAPSHOT = re.compile(rf"(snapshot|received|plain)=({ZXID})(?:<([^>~]*))?(?:>({ZXID}))?(?:~(\w+))?")
PLACE = re.compile(rf"(?:({ZXID})([-+]))?(-?\d+)([\^:])(\w+)")


def zxid_of(text: str) -> int:
    epoch, _, counter = text.partition(":")
    return zxid(int(epoch), int(counter))


class Directory:
    """A server's directory, built a word at a time from a history."""

    def __init__(self, words: str, txns: Sequence[Txn] = TXNS) -> None:
        self.txns = txns
        self.logs: list[list[Txn]] = [[]]
        self.torn = b""
        self.made = server([])
        self.changes: list[str] = []
        for word in words.split():
            self.add(word)

    @property
    def records(self) -> list[Txn]:
        return [t for log in self.logs for t in log]

    def each(self, change: object) -> None:
        self.logs = [[change(t) for t in log] for log in self.logs]  # type: ignore[operator]

    def add(self, word: str) -> None:
        name, _, value = word.partition("=")
        if found := RECORDS.fullmatch("1:1..3:6" if word == "all" else word):
            self.add_records(*found.groups())
        elif found := SNAPSHOT.fullmatch(word):
            self.add_snapshot(*found.groups())
        elif word == "|":
            self.logs.append([])
        elif name in ("flip", "put", "cut"):
            self.changes.append(word)
        elif name == "file":
            name, _, value = value.partition(":")
            text, _, zeros = value.partition("+")
            self.made.raw[name] = (
                value.strip("'").encode() if value[:1] == "'" else bytes.fromhex(text) + bytes(int(zeros or 0))
            )
        elif name in ("current", "accepted"):
            setattr(self.made, name, int(value))
        else:
            self.add_rest(name, value)

    def add_rest(self, name: str, value: str) -> None:
        at = zxid_of(value.rpartition(":")[0] if name in ("body", "acl") else value) if ":" in value else -1
        if name == "other":
            self.each(lambda t: replace(t, body=t.body.replace(b"data ", b"date ")) if t.zxid == at else t)
        elif name == "session":
            self.each(lambda t: replace(t, session=t.session + (t.zxid == at)))
        elif name == "body":
            self.each(lambda t: replace(t, body=bytes.fromhex(value.rpartition(":")[2])) if t.zxid == at else t)
        elif name == "acl":
            kind, body = set_acl(value.rpartition(":")[2])
            self.each(lambda t: replace(t, kind=kind, body=body) if t.zxid == at else t)
        elif name == "old":
            self.each(lambda t: replace(t, digest=None))
        elif name == "digested":
            told = iter(digested(self.records))
            self.each(lambda _: next(told))
        elif name == "unpadded":
            self.made.padding = 0
        elif name == "epochs":
            self.made.current = None
        elif name == "nozero":
            del self.made.snapshots[0]
        else:
            raise ValueError(f"{name} is no word of a directory")

    def add_records(self, sign: str, first: str, last: str | None, digest: str | None, length: str | None) -> None:
        begin, end = zxid_of(first), zxid_of(last or first)
        if sign == "-":
            self.logs = [[t for t in log if not begin <= t.zxid <= end] for log in self.logs]
        elif sign == "+":
            for z in range(begin, end + 1):
                made = Txn(z, *create(f"/own{z >> 32}_{z & 0xFFFF}"))
                if digest == "!":
                    tree = tree_of(self.records)
                    tree.apply(z, made.time, made.kind, made.body, made.session)
                    made = replace(made, digest=tree.digest())
                self.logs[-1].append(made if not digest or digest == "!" else replace(made, digest=int(digest[1:])))
        else:
            found = [t for t in self.txns if begin <= t.zxid <= end]
            if length:
                self.torn = found[0].record()[: int(length)]
                self.changes.append(f"torn={len(self.logs) - 1}")
            else:
                self.logs[-1] += found

    def add_snapshot(self, kind: str, name: str, words: str | None, digest: str | None, how: str | None) -> None:
        z = zxid_of(name)
        until = Directory(f"1:1..{name}" if words is None else words.replace(",", " "), self.txns)
        tree = tree_of(until.records) if until.records else Tree()
        given = {"snapshot": z, "received": 0, "plain": None}[kind]
        if digest:
            seen = tree_of([t for t in self.txns if t.zxid <= zxid_of(digest)])
            data = snapshot_bytes(tree, zxid_of(digest), digest=seen.digest())
        else:
            data = snapshot_bytes(tree, given)
        if how == "flipped":
            data = data[:300] + bytes([data[300] ^ 4]) + data[301:]
        self.made.snapshots[z] = data[:200] if how == "torn" else data

    def written(self) -> Written:
        """Return the directory; a log is bytes if any is damaged."""
        logs = [log for log in self.logs if log]
        out = self.made
        if out.current == 1 and logs:
            out.current = max(t.zxid for t in self.records) >> 32
        if not self.changes:
            out.files = {log[0].zxid: log for log in logs}
            return out
        data = [bytearray(HEAD + b"".join(t.record() for t in log)) for log in logs]
        for word in self.changes:
            name, _, value = word.partition("=")
            if name == "torn":
                data[int(value)] += self.torn
        for text in data:
            text += bytes(-len(text) % out.padding if out.padding else 0)
        for word in self.changes:
            name, _, value = word.partition("=")
            if name == "cut":
                del data[-1][-int(value) :]
            elif name != "torn":
                change(data, logs, value)
        out.raw |= {f"log.{log[0].zxid:x}": bytes(text) for log, text in zip(logs, data, strict=True)}
        return out


def change(data: list[bytearray], logs: list[list[Txn]], value: str) -> None:
    """Change a byte or more of one log."""
    z, sign, number, kind, what = PLACE.fullmatch(value).groups()  # type: ignore[union-attr]
    at, which = int(number), 0
    if z is not None:
        which = next(k for k, log in enumerate(logs) if any(t.zxid == zxid_of(z) for t in log))
        at = -at if sign == "-" else at
        at += 16 + sum(len(t.record()) for t in logs[which] if t.zxid < zxid_of(z))
    if kind == "^":
        data[which][at] ^= int(what)
    else:
        new = bytes.fromhex(what)
        at %= len(data[which])
        data[which][at : at + len(new)] = new


def directory(words: str, txns: Sequence[Txn] = TXNS) -> Written:
    """Return the directory that words describe, of the records of a history."""
    return Directory(words, txns).written()


def words_of(lines: Sequence[str]) -> list[str]:
    """Return the words of each server of a case; those of three that have no line are healthy, unless it is alone."""
    given = dict(line.split(": ", 1) for line in lines if line[0].isdigit())
    most = 0 if "alone" in lines else len(HEALTHY)
    return [given.get(str(n)) or HEALTHY[n - 1] for n in range(1, 10) if n <= most or str(n) in given]
