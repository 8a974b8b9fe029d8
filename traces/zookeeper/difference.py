"""Find the first transaction in which two servers differ, with both versions decoded."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from traces.zookeeper.agree import Held, alike, copies_of, read_txn
from traces.zookeeper.audit import read_server
from traces.zookeeper.decode import zxid_text
from traces.zookeeper.logs import Reader
from traces.zookeeper.numbers import BLOCK
from traces.zookeeper.server import Directory, Server, inside


@dataclass
class Difference:
    """The first difference between the histories of two servers.

    Attributes:
        state: `same` as far as both go, `parted`, or `unread` if something could not be read.
        versions: for each server its place and its transaction, None where it has none.
    """

    state: str
    sentence: str
    zxid: int = 0
    versions: dict[str, dict[str, Any] | None] = field(default_factory=dict)
    texts: dict[str, str] = field(default_factory=dict)

    def told(self) -> str:
        lines = [self.sentence]
        for name, text in self.texts.items():
            lines.append(f"  {name}: {text}")
        return "\n".join(lines)

    def as_json(self) -> dict[str, Any]:
        zxid = zxid_text(self.zxid) if self.zxid else None
        return {"state": self.state, "sentence": self.sentence, "zxid": zxid, "versions": self.versions}


def covered(server: Server) -> list[tuple[int, int]]:
    return sorted(server.seen)


def first_difference(directories: list[Directory], show_data: bool = False) -> Difference:
    """Compare two servers over what the logs of both span."""
    one, two = (read_server(d) for d in directories)
    for server in (one, two):
        for f in server.logs:
            if f.trouble:
                return Difference("unread", f"{server.name}: {f.name} cannot be read: {f.trouble}")
    if not one.seen or not two.seen:
        return Difference("same", "one of the servers has no transaction: there is nothing to compare")
    low = max(covered(one)[0][0], covered(two)[0][0])
    high = min(one.logged, two.logged)
    zxid = lacking(one, two, low, high)
    blocks = sorted(b for b in differing(one, two) if b <= (zxid or high) >> BLOCK)
    reader = Reader(sums=False)
    for start in range(0, len(blocks), 64):
        part = set(blocks[start : start + 64])
        mine, theirs = copies_of(one, part, reader), copies_of(two, part, reader)
        for z in sorted(mine.keys() & theirs.keys()):
            if zxid and z > zxid:
                break
            a, b = mine[z][0], theirs[z][0]
            if a.hash != b.hash and not alike(read_txn(one, a), read_txn(two, b)):
                return parted(z, {one.name: (one, a), two.name: (two, b)}, show_data)
    if zxid:
        copies = {
            s.name: (s, next(iter(copies_of(s, {zxid >> BLOCK}, reader).get(zxid, [])), None)) for s in (one, two)
        }
        return parted(zxid, copies, show_data)
    ends = f"{one.name} ends with {zxid_text(one.logged)}, {two.name} with {zxid_text(two.logged)}"
    told = f"no transaction in both logs differs, from {zxid_text(low)} to {zxid_text(high)}; {ends}"
    over = [
        f"{s.name} over {zxid_text(r.before)} to {zxid_text(r.lo)}"
        for s in (one, two)
        for r in s.runs
        if r.link in ("bridged", "unknown", "damaged") and r is not s.runs[0]
    ]
    told += f"; not compared: what came in a snapshot, or cannot be read ({', '.join(over)})" if over else ""
    return Difference("same", told)


def lacking(one: Server, two: Server, low: int, high: int) -> int:
    """Return the first transaction in a range that one server has and the other's live history skips; 0 if none."""
    edges = [
        z
        for s, o in ((one, two), (two, one))
        for lo, hi in s.seen
        for z in (max(lo, low), *(h + 1 for _, h in o.seen))
        if lo <= z <= hi
    ]
    found = [
        z for z in edges if low <= z <= high and inside(one.seen, z) != inside(two.seen, z) and not excused(one, two, z)
    ]
    return min(found, default=0)


def excused(one: Server, two: Server, zxid: int) -> bool:
    """Return whether a snapshot excuses a server for not having logged a transaction."""
    return any(
        r.link in ("bridged", "unknown", "damaged") and r.before < zxid < r.lo for s in (one, two) for r in s.runs
    ) or any(
        r.link == "bridged" and r.before >> 32 == zxid >> 32 and zxid <= r.before for s in (one, two) for r in s.runs
    )


def differing(one: Server, two: Server) -> set[int]:
    from traces.zookeeper.agree import blocks_of

    mine, theirs = blocks_of(one), blocks_of(two)
    return {b for b in mine.keys() & theirs.keys() if mine[b] != theirs[b]}


def parted(zxid: int, copies: dict[str, tuple[Server, Held | None]], show_data: bool) -> Difference:
    out = Difference("parted", f"the servers first differ at {zxid_text(zxid)}", zxid)
    for name, (server, held) in copies.items():
        if held is None:
            out.versions[name], out.texts[name] = None, "it is not in the log"
            continue
        txn, file = read_txn(server, held), server.logs[held.file].name
        said = None if txn is None else txn.as_json(show_data)
        out.versions[name] = {"file": file, "offset": held.place, "transaction": said}
        out.texts[name] = f"{file} at {held.place}: {'it cannot be decoded' if txn is None else txn.told(show_data)}"
    return out
