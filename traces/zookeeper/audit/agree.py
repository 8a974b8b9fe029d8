"""Compare several servers: transactions under one zxid, boundaries of epochs, quorums, and the ends of histories."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

from traces.zookeeper.audit.findings import DANGER, NOTE, VIOLATION, AuditFinding
from traces.zookeeper.audit.order import unread
from traces.zookeeper.audit.replay import Replayed
from traces.zookeeper.disk.decode import BrokenPayload, Txn, decoded, zxid_text
from traces.zookeeper.disk.logs import Reader, payload_at, read_blocks
from traces.zookeeper.disk.memory import Scan
from traces.zookeeper.disk.numbers import BAD_CHECKSUM, BLOCK
from traces.zookeeper.disk.server import LOW, Server, TransactionRun

BATCH = 64  # blocks that are compared at once
MOST = 1_000  # transactions that are compared one by one
WAVE = 8  # batches between two checks whether that is enough
Quorum = Callable[[Iterable[str], int], bool]
Each = Callable[[Callable[..., Any], Sequence[tuple[Any, ...]]], list[Any]]
Apart = tuple[int, list[tuple[str, "Held"]], list[list[str]]]


@dataclass(frozen=True)
class Held:
    """A copy of a transaction: its place, and the hash of its contents."""

    hash: int
    file: int
    place: int


def copies_of(server: Server, blocks: set[int], reader: Reader) -> dict[int, list[Held]]:
    """Return every copy that a server has of the transactions in some blocks, by zxid."""
    found: dict[int, list[Held]] = defaultdict(list)
    for n, f in enumerate(server.logs):
        if not f.blocks.keys() & blocks:
            continue

        def visit(s: Scan, n: int = n) -> None:
            zxids = s.views["zxid"].memory
            for k in range(s.count):
                if zxids[k] >> BLOCK in blocks and not s.odd[k] & BAD_CHECKSUM:
                    found[zxids[k]].append(Held(s.hash[k], n, s.place[k]))

        read_blocks(f, blocks, reader, visit)
    return found


def locate(server: Server, zxid: int, reader: Reader) -> Held | None:
    """Return the first copy of a transaction on a server, or None."""
    copies = copies_of(server, {zxid >> BLOCK}, reader).get(zxid)
    return copies[0] if copies else None


def evidence_of(server: Server, held: Held | None, show_data: bool) -> tuple[str, int, Any]:
    """Return file, place and, for JSON, the transaction of a copy; an empty name if there is no copy."""
    if held is None:
        return "", -1, None
    txn = read_txn(server, held)
    return server.logs[held.file].name, held.place, None if txn is None else txn.as_json(show_data)


def read_txn(server: Server, held: Held) -> Txn | None:
    try:
        return decoded(payload_at(server.logs[held.file].path, held.place))
    except BrokenPayload:
        return None


def alike(one: Txn | None, two: Txn | None) -> bool:
    return one is not None and two is not None and one.same_as(two)


def apart_in(servers: Sequence[Server], blocks: set[int]) -> tuple[list[Apart], int]:
    """Return the transactions of some blocks that differ between servers, and how many differ only in encoding."""
    reader, apart, written = Reader(sums=False), [], 0
    copies = {s.name: copies_of(s, blocks, reader) for s in servers}
    for zxid in sorted({z for c in copies.values() for z in c}):
        held = [(name, h) for name, c in copies.items() for h in c.get(zxid, ())]
        groups, other = grouped(servers, held)
        written += other
        if len(groups) > 1:
            apart.append((zxid, held, groups))
    return apart, written


def grouped(servers: Sequence[Server], held: list[tuple[str, Held]]) -> tuple[list[list[str]], int]:
    """Group servers by their version of a transaction; a server can be in several groups."""
    by_hash: dict[int, list[tuple[str, Held]]] = defaultdict(list)
    for name, h in held:
        by_hash[h.hash].append((name, h))
    if len(by_hash) == 1:
        return [[name for name, _ in held]], 0
    named, written = {s.name: s for s in servers}, 0
    out: list[tuple[Txn | None, list[str]]] = []
    for same in by_hash.values():
        txn = read_txn(named[same[0][0]], same[0][1])
        found = next((names for other, names in out if alike(txn, other)), None)
        if found is None:
            out.append((txn, [name for name, _ in same]))
        else:
            written += 1
            found += [name for name, _ in same]
    return [names for _, names in out], written


@dataclass
class Agreement:
    """A comparison of servers.

    Args:
        replays: the results of replaying their logs, for servers with such a result.
        quorum: whether servers are a quorum at a zxid.
        each: runs a function over many arguments.
    """

    servers: list[Server]
    replays: Mapping[str, Replayed]
    quorum: Quorum
    each: Each
    show_data: bool = False
    reader: Reader = field(default_factory=lambda: Reader(sums=False))
    findings: list[AuditFinding] = field(default_factory=list)
    written: int = 0
    wrong: set[tuple[str, int]] = field(default_factory=set)

    def named(self, name: str) -> Server:
        return next(s for s in self.servers if s.name == name)

    # --- same zxid, same transaction -------------------------------------------------------------

    def differing_blocks(self) -> list[int]:
        """Return the blocks that differ between servers that have any of them."""
        sums: dict[int, set[tuple[int, int]]] = defaultdict(set)
        for server in self.servers:
            for block, value in blocks_of(server).items():
                sums[block].add(value)
        return sorted(block for block, values in sums.items() if len(values) > 1)

    def compare(self) -> None:
        """Check that transactions under one zxid are one transaction."""
        blocks = self.differing_blocks()
        batches = [(self.servers, set(blocks[k : k + BATCH])) for k in range(0, len(blocks), BATCH)]
        apart: list[Apart] = []
        for start in range(0, len(batches), WAVE):
            if len(apart) > MOST:
                break
            for found, written in self.each(apart_in, batches[start : start + WAVE]):
                apart += found
                self.written += written
        self.tell_apart(apart)

    def tell_apart(self, apart: list[Apart]) -> None:
        """Report transactions that differ; consecutive ones on the same servers make one finding."""

        def key(item: tuple[int, Apart]) -> tuple[int, str]:
            n, (zxid, _, groups) = item
            return zxid - n, repr(groups)

        for _, same in groupby(enumerate(apart), key):
            items = [item for _, item in same]
            zxid, held, groups = items[0]
            within = [n for n in {name for name, _ in held} if sum(n in g for g in groups) > 1]
            code = "DUP_DIFFERS" if within else "DIVERGENT_TXN"
            wrong, why = ([within[0]], "it has both") if within else self.who(groups, zxid)
            shown = wrong or [n for g in groups for n in g]
            place = next(h for n, h in held if n == shown[0])
            if within:
                place = [h for n, h in held if n == shown[0]][-1]
            many = "" if len(items) == 1 else f", and so have the {len(items) - 1:,} that follow"
            sides = " | ".join(", ".join(dict.fromkeys(g)) for g in groups)
            what = f"under {zxid_text(zxid)} there are {len(groups)} transactions ({sides}){many}; {why}"
            file = self.named(shown[0]).logs[place.file].name
            one, all_of = shown[0] if wrong else "", wrong or sorted(set(shown))
            finding = AuditFinding(code, VIOLATION, what, one, file, place.place, zxid, items[-1][0], all_of)
            for group in groups:
                name, h = next(
                    (n, h) for n, h in held if n in group and (not within or h not in finding.evidence.values())
                )
                if within:
                    h = [x for n, x in held if n == name][groups.index(group) % 2]
                _, _, said = evidence_of(self.named(name), h, self.show_data)
                finding.evidence[f"on {', '.join(dict.fromkeys(group))}" + (f" at {h.place}" if within else "")] = said
            self.findings.append(finding)

    def who(self, groups: list[list[str]], zxid: int) -> tuple[list[str], str]:
        """Return the servers whose version of a transaction is wrong, and the evidence."""
        names = [n for g in groups for n in g]
        right = {n: self.replays[n].right_at(zxid) for n in names if n in self.replays}
        bad = [n for n in names if right.get(n) is False]
        if bad and len(bad) < len(names) and all(right.get(n) for n in names if n not in bad):
            return bad, f"replaying its digests shows that {' and '.join(bad)} {'is' if len(bad) == 1 else 'are'} wrong"
        groups = sorted(groups, key=len, reverse=True)
        if len(groups[0]) > sum(len(g) for g in groups[1:]):
            bad = [n for g in groups[1:] for n in g]
            return bad, f"{' and '.join(groups[0])} agree against {' and '.join(bad)}"
        return [], "no file shows which is right"

    # --- epochs --------------------------------------------------------------------------------------

    def claims(self) -> dict[int, dict[str, TransactionRun]]:
        """Return, for the first transaction of each epoch, the runs by server whose live history it belongs to."""
        out: dict[int, dict[str, TransactionRun]] = defaultdict(dict)
        for server in self.servers:
            for run in server.runs:
                if run.link == "epoch" and not run.before and run.lo >> 32 > 1 and server.begins_late(run):
                    continue  # its log can have been deleted before
                if run.link == "epoch" or (run.link == "start" and run.lo & LOW == 1):
                    out[run.lo][server.name] = run
        return out

    def boundaries(self) -> None:
        """Check that an epoch follows the same transaction in every live history."""
        for first, claims in sorted(self.claims().items()):
            preds = {name: run.before for name, run in claims.items()}
            if len(set(preds.values())) > 1:
                self.disagree(first, claims, preds)

    def right_before(self, first: int, preds: dict[str, int]) -> tuple[int | None, str]:
        """Return the transaction that an epoch really follows, and the evidence; None if there is no evidence."""
        right = {name: self.replays[name].right_at(first) for name in preds if name in self.replays}
        good = {preds[n] for n, r in right.items() if r}
        bad = {preds[n] for n, r in right.items() if r is False}
        if len(good) == 1 and bad and not good & bad:
            return good.pop(), "as replaying the digests shows"
        count = sorted(((list(preds.values()).count(p), p) for p in set(preds.values())), reverse=True)
        if count[0][0] > sum(c for c, _ in count[1:]):
            return count[0][1], f"as {count[0][0]} of {len(preds)} histories show"
        top = max(preds.values())
        low = min(preds.values())
        if self.on_quorum(self.next_logged(low), first):
            return top, "the transactions in between are in the logs of a quorum"
        return None, ""

    def next_logged(self, zxid: int) -> int:
        """Return the next transaction that any server has logged; 0 if there is none."""
        nexts = [max(zxid + 1, lo) for s in self.servers for lo, hi in s.seen if hi > zxid]
        return min(nexts, default=0)

    def on_quorum(self, zxid: int, at: int) -> bool:
        return zxid > 0 and self.quorum([s.name for s in self.servers if s.has(zxid)], at)

    def disagree(self, first: int, claims: dict[str, TransactionRun], preds: dict[str, int]) -> None:
        """Report histories in which an epoch follows different transactions."""
        right, why = self.right_before(first, preds)
        said = "; ".join(f"{name}: {zxid_text(p) if p else 'nothing'}" for name, p in preds.items())
        if right is None:
            low = min(preds.values())
            name = max(preds, key=lambda n: preds[n])
            zxid = self.next_logged(low)
            held = locate(self.named(name), zxid, self.reader)
            what = f"what {zxid_text(first)} follows: {said}; no file shows which is right"
            file, at, _ = evidence_of(self.named(name), held, self.show_data)
            finding = AuditFinding("EPOCH_BOUNDARY", VIOLATION, what, "", file, at, zxid, preds[name], list(preds))
            self.findings.append(finding)
            return
        for name, pred in preds.items():
            if pred != right:
                self.wrong.add((name, first))
            if pred < right:
                self.lost(name, claims[name], right, f"what {zxid_text(first)} follows: {said}; {why}")
            elif pred > right:
                self.kept(name, right, pred, first, f"what {zxid_text(first)} follows: {said}; {why}")

    def lost(self, name: str, run: TransactionRun, right: int, why: str) -> None:
        server = self.named(name)
        zxid = self.next_logged(run.before)
        what = f"it goes from {zxid_text(run.before)} to {zxid_text(run.lo)} without {zxid_text(zxid)}.."
        what += f"{zxid_text(right)} ({why}){unread(server, run)}"
        file = server.file_of(run).name
        finding = AuditFinding("MISSING", VIOLATION, what, name, file, run.place, zxid, right)
        finding.evidence["on a quorum"] = self.on_quorum(zxid, run.lo)
        self.findings.append(finding)

    def kept(self, name: str, right: int, pred: int, first: int, why: str) -> None:
        server = self.named(name)
        zxid = min((max(right + 1, lo) for lo, hi in server.seen if hi > right), default=right + 1)
        held = locate(server, zxid, self.reader)
        holders = [s.name for s in self.servers if s.has(zxid)]
        lacking = [s.name for s in self.servers if not s.has(zxid) and s.top >= first]
        also = f"; now in the logs of {', '.join(holders)}" + (" (a quorum)" if self.on_quorum(zxid, first) else "")
        also += f", and not in the history of {', '.join(lacking)}" if lacking else ""
        what = f"{zxid_text(zxid)}..{zxid_text(pred)} are directly followed by {zxid_text(first)}"
        what += ", with no snapshot in between"
        what = f"{what} ({why}){also}"
        file, place, txn = evidence_of(server, held, self.show_data)
        finding = AuditFinding("ABANDONED_APPLIED", VIOLATION, what, name, file, place, zxid, pred)
        finding.evidence["transaction"] = txn
        self.findings.append(finding)

    # --- what is missing ---------------------------------------------------------------------------

    def missing(self) -> None:
        """Report gaps of one server that others have filled."""
        for server in self.servers:
            for run in server.runs:
                if run.link != "gap" or server.begins_late(run):
                    continue
                lo, hi = server.missing(run)
                if run.before >> 32 != run.lo >> 32:  # with the end of the epoch before, as far as others have it
                    lo = min(lo, max(self.next_logged(run.before), run.before + 1))
                having = [s.name for s in self.servers if s is not server and (s.has(lo) or s.has(hi))]
                if having and not server.has(lo):
                    what = f"{', '.join(having)} {'have' if len(having) > 1 else 'has'} {zxid_text(lo)}"
                    what += "" if lo == hi else f"..{zxid_text(hi)}"
                    what += f", and this server's log continues without{unread(server, run)}"
                    file = server.file_of(run).name
                    finding = AuditFinding("MISSING", VIOLATION, what, server.name, file, run.place, lo, hi)
                    other = self.named(having[0])
                    _, _, txn = evidence_of(other, locate(other, lo, self.reader), self.show_data)
                    finding.evidence[f"on {other.name}"] = txn
                    self.findings.append(finding)

    # --- quorums and tails --------------------------------------------------------------------------

    def ends(self) -> dict[int, int]:
        """Return the last transaction of each epoch after which some live history continues."""
        out: dict[int, int] = {}
        for first, claims in self.claims().items():
            for name, run in claims.items():
                if run.before and (name, first) not in self.wrong:
                    out[run.before >> 32] = max(out.get(run.before >> 32, 0), run.before)
        return out

    def committed_lost(self) -> None:
        """Check that what a quorum has logged is in every history that continues past it."""
        for epoch, end in sorted(self.ends().items()):
            zxid = self.next_logged(end)
            if zxid >> 32 != epoch or not self.on_quorum(zxid, zxid):
                continue
            if any(f.code == "ABANDONED_APPLIED" and f.zxid <= zxid <= f.last for f in self.findings):
                continue  # reported with the server that kept them, whose logs contain them
            holders = [s for s in self.servers if s.has(zxid)]
            last = min(max(hi for lo, hi in s.seen if lo <= zxid <= hi) for s in holders)
            past = [s.name for s in self.servers if s.top >> 32 > epoch]
            file, place, _ = evidence_of(holders[0], locate(holders[0], zxid, self.reader), self.show_data)
            what = f"{', '.join(s.name for s in holders)} have logged {zxid_text(zxid)}..{zxid_text(last)}, "
            what += f"a quorum, and the histories of {', '.join(past)} continue past epoch {epoch} without"
            severity, alike = VIOLATION, self.alike(holders, zxid)
            if alike:
                what += f"; unless one of {', '.join(alike)} was copied from another: their files of that time "
                what += "have the same names and lengths, and copies count once"
                severity = DANGER
            self.findings.append(AuditFinding("COMMITTED_LOST", severity, what, "", file, place, zxid, last, past))

    def alike(self, holders: list[Server], zxid: int) -> list[str]:
        """Return the servers whose files look like copies of one, if these servers are a quorum only with all of them.

        Each server chooses by chance when it takes a snapshot inside an epoch, so that the first one behind a
        transaction tells servers apart; a copy has it, and later goes on by itself.
        """
        by_files: dict[object, list[str]] = defaultdict(list)
        for s in holders:
            first = next((x for x in s.snapshots if x.usable and x.zxid > zxid and x.zxid & LOW), None)
            logs = [(f.name, f.size) for f in s.logs if first is not None and f.named <= first.zxid][:-1]
            by_files[(first.name, first.size, *logs) if first is not None else s.name].append(s.name)
        if self.quorum([names[0] for names in by_files.values()], zxid):
            return []
        return [name for names in by_files.values() if len(names) > 1 for name in names]

    def abandoned(self) -> None:
        """Report proposals below a later snapshot that no live history has."""
        told = {(f.server, f.zxid) for f in self.findings if f.code == "ABANDONED_APPLIED"}
        ends = self.ends()
        for server in self.servers:
            for lo, hi in server.seen:
                end = ends.get(hi >> 32)
                if end is None or hi <= end or hi >> 32 == server.top >> 32:
                    continue
                zxid = max(end + 1, lo)
                if (server.name, zxid) not in told and zxid >> 32 == hi >> 32:
                    what = f"{zxid_text(zxid)}..{zxid_text(hi)} are below a later snapshot, and in no live history"
                    self.findings.append(AuditFinding("ABANDONED", NOTE, what, server.name, "", -1, zxid, hi))

    def beyond(self, server: Server) -> bool:
        """Return whether a server's history ends with transactions that no later history has."""
        return server.top == server.logged > self.ends().get(server.top >> 32, server.top)

    def holds(self, server: Server, zxid: int, ends: Mapping[int, int]) -> bool:
        """Return whether a server's history has a transaction: one that goes on to a later epoch need not."""
        return zxid <= server.last and (zxid >> 32 == server.last >> 32 or zxid <= ends.get(zxid >> 32, zxid))

    def agreed(self, servers: Sequence[Server]) -> int:
        """Return the last transaction that the histories of a quorum of these servers have; 0 if there is none."""
        ends, lasts = self.ends(), {s.last for s in servers if s.last}
        return max((z for z in lasts if self.quorum([s.name for s in servers if self.holds(s, z, ends)], z)), default=0)

    def tails(self) -> None:
        """Report where histories end."""
        lasts = {s.name: s.last for s in self.servers if s.last}
        if len(lasts) < 2:
            return
        most, agreed, ends = max(lasts.values()), self.agreed(self.servers), self.ends()
        for server in self.servers:
            last = server.last
            having = [s.name for s in self.servers if self.holds(s, last, ends)]
            if last and not self.quorum(having, last):
                zxid = min((max(agreed + 1, lo) for lo, hi in server.seen if hi > agreed), default=last)
                what = f"{zxid_text(zxid)}..{zxid_text(last)} are not on a quorum of the servers given"
                self.findings.append(AuditFinding("UNCOMMITTED_TAIL", NOTE, what, server.name, "", -1, zxid, last))
            elif last and server.top < most and last < agreed and not self.beyond(server):
                what = f"its history ends with {zxid_text(last)}, the others' with {zxid_text(most)}"
                self.findings.append(AuditFinding("BEHIND", NOTE, what, server.name, "", -1, last))

    def run(self) -> list[AuditFinding]:
        self.compare()
        self.missing()
        self.boundaries()
        self.committed_lost()
        self.abandoned()
        self.tails()
        return self.findings


def blocks_of(server: Server) -> dict[int, tuple[int, int]]:
    """Return, for each block, the number of a server's records and the sum of their hashes."""
    out: dict[int, tuple[int, int]] = {}
    for f in server.logs:
        for block, (count, total) in f.blocks.items():
            before = out.get(block, (0, 0))
            out[block] = (before[0] + count, (before[1] + total) & (1 << 64) - 1)
    return out
