"""Find what disks forgot: acknowledged transactions that can be lost although no promise is broken yet.

Each rule is an invariant over disks of the `zookeeper` protocol (zabspec/zookeeper/properties.py):
`epoch-has-its-history`, `epoch-is-on-a-quorum` and `served-is-on-a-quorum`. Disks that violate one were set back,
replaced, hit by a known bug, or copied at different times while the servers ran; files cannot tell which.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from traces.zookeeper.audit.agree import Agreement, blocks_of, copies_of, locate, read_txn
from traces.zookeeper.audit.findings import DANGER, NOTE, WARN, AuditFinding
from traces.zookeeper.audit.voters import Quorums
from traces.zookeeper.disk.decode import zxid_text
from traces.zookeeper.disk.logs import Reader
from traces.zookeeper.disk.server import LOW, Server

# Of damages those behind which a server's history may go on unseen.
HIDING = ("CRC", "BAD_EOR", "BAD_LEN", "BAD_MAGIC", "BAD_BODY", "BAD_VERSION", "DATA_AFTER_END", "SNAP_LOST",
          "NO_SNAPSHOT")  # fmt: skip
FORGOT = ("EPOCH_AHEAD", "PARTED", "SET_BACK", "LAST_COPY")  # what a running server can look like for a moment
COMPARED = 64  # transactions that are compared before servers are taken for two ensembles
APART, BETWEEN = 10_000, 200  # milliseconds between the ends of logs that were copied one after another: of all, of two


def joined_epoch(server: Server) -> int:
    """Return the epoch that a server joined last: its currentEpoch, or its history's epoch if that is later."""
    return max(server.epoch(), server.top >> 32)


@dataclass
class Disks:
    """The disks of one ensemble, and the dangers of starting from them.

    Attributes:
        agreement: the known ends of epochs. found: findings so far.
    """

    servers: list[Server]
    quorum: Quorums
    agreement: Agreement
    found: list[AuditFinding]
    findings: list[AuditFinding] = field(default_factory=list)

    def add(self, code: str, severity: str, what: str, server: str = "", file: str = "", zxid: int = -1,
            last: int = -1, servers: Iterable[str] = ()) -> None:  # fmt: skip
        self.findings.append(AuditFinding(code, severity, what, server, file, -1, zxid, last, list(servers)))

    @property
    def voters(self) -> list[Server]:
        newest = max((s.top for s in self.servers), default=0)
        return [s for s in self.servers if self.quorum.votes(s.name, newest)]

    def those_with(self, *codes: str) -> set[str]:
        """Return the servers with a finding of certain codes that is more than a note."""
        return {f.server for f in self.found if f.code in codes and f.severity != NOTE and f.server}

    @property
    def unread(self) -> set[str]:
        """Return the servers with unreadable files, whose histories may be longer."""
        return self.those_with("UNREADABLE", "EPOCH_FILE")

    @property
    def agreed(self) -> int:
        """Return the last transaction that the histories of a quorum of the voters have; 0 if there is none."""
        return self.agreement.agreed(self.voters)

    def having(self, zxid: int, servers: Sequence[Server] | None = None) -> list[Server]:
        """Return the servers whose histories have a transaction, or may have it unseen."""
        ends = self.agreement.ends()
        return [s for s in servers or self.servers if self.agreement.holds(s, zxid, ends) or s.name in self.unread]

    # --- epoch-has-its-history -------------------------------------------------------------------

    def epochs_without_history(self) -> None:
        """Check that a server that joined an epoch has what the epoch began with."""
        ends, unseen = self.agreement.ends(), self.unread | self.those_with(*HIDING)
        for s in self.voters:
            epoch = s.epoch()
            if epoch <= 0 or s.top >> 32 >= epoch or s.name in unseen:
                continue
            electing = [t.name for t in self.voters if (joined_epoch(t), t.top) <= (epoch, s.top)]
            needed, why = self.began_with(s, epoch, ends, electing)
            if needed <= s.top:
                continue
            leads = self.quorum.with_absent(electing, needed)
            first = max(s.top + 1, self.agreement.next_logged(s.top) or needed)
            has = zxid_text(s.top) if s.top else "nothing"
            what = f"currentEpoch is {epoch}, and its history ends with {has}: {why}; so it lost, or never "
            what += f"stored, what came before epoch {epoch}"
            what += "" if leads else "; no quorum elects it, and a leader sends it what it lacks"
            self.add("EPOCH_AHEAD", DANGER if leads else WARN, what, s.name, "currentEpoch", min(first, needed), needed)

    def began_with(self, s: Server, epoch: int, ends: dict[int, int], electing: list[str]) -> tuple[int, str]:
        """Return the last transaction that an epoch is known to have begun with, and the evidence.

        Args:
            electing: the servers that would vote for this one.
        """
        end = max((z for e, z in ends.items() if e < epoch), default=0)
        if end > s.top:
            return end, f"the histories of others continued from {zxid_text(end)}"
        saved = [
            (x.zxid, f"{t.name}'s {x.name} was there before it")
            for t in self.voters
            for x in t.snapshots
            if x.usable and x.zxid & LOW and s.top < x.zxid < epoch << 32 <= t.top
        ]
        if saved:
            return max(saved)
        alike = [t for t in self.voters if t.epoch() == epoch and s.top < t.top < epoch << 32]
        if alike:
            longest = max(alike, key=lambda t: t.top)
            return longest.top, f"{longest.name} joined that epoch too, with {zxid_text(longest.top)}"
        agreed = self.agreed
        if agreed > s.top and self.quorum(electing, agreed):
            having = [t.name for t in self.having(agreed) if t is not s]
            return agreed, (
                f"{', '.join(having)}, a quorum, have {zxid_text(agreed)}, and {', '.join(electing)} would elect "
                f"{s.name}, which lacks them"
            )
        return 0, ""

    def parted(self) -> None:
        """Check that a server that joined a later epoch has cut what that epoch does not follow."""
        ends = self.agreement.ends()
        for s in self.voters:
            epoch = s.top >> 32
            end = ends.get(epoch, 0)
            if not end or s.top <= end:
                continue
            if s.top != s.logged:
                others = ", ".join(t.name for t in self.servers if t.top >> 32 > epoch)
                what = f"its newest snapshot has {zxid_text(s.top)}, and the histories of {others} continue from "
                what += f"{zxid_text(end)}: no leader's TRUNC undoes a snapshot, so it may not join them"
                self.add("TAIL_APART", WARN, what, s.name, "", s.top)
                continue
            first = min((max(end + 1, lo) for lo, hi in s.seen if hi > end), default=s.top)
            others = ", ".join(t.name for t in self.servers if t.top >> 32 > epoch)
            tail = f"{zxid_text(first)}..{zxid_text(s.top)}"
            what = f"the histories of {others} continue from {zxid_text(end)} without {tail}"
            if s.epoch() > epoch:
                what += f", with which this server's history ends though it has joined epoch {s.epoch()}"
                self.add("PARTED", DANGER, what, s.name, "", first, s.top)
            else:
                what += f", with which this server's ends: it has joined no epoch after {epoch}"
                self.add("TAIL_APART", NOTE, what, s.name, "", first, s.top)

    # --- epoch-is-on-a-quorum ----------------------------------------------------------------------

    def epochs_on_a_quorum(self) -> None:
        """Check that an epoch in which anything was proposed was joined by a quorum."""
        newest = max((s.top for s in self.voters), default=0)
        epoch = newest >> 32
        inside = [s.name for s in self.voters if joined_epoch(s) >= epoch or s.name in self.unread]
        if not newest or self.quorum(inside, newest) or not self.quorum([s.name for s in self.voters], newest):
            return
        behind = [s for s in self.voters if s.name not in inside]
        said = ", ".join(f"{s.name} {joined_epoch(s)}" for s in behind)
        what = f"{', '.join(inside)} {'have' if len(inside) > 1 else 'has'} transactions of epoch {epoch}, up to "
        what += f"{zxid_text(newest)}, which a quorum must have joined first, and the others have not ({said}): "
        what += "some of these disks were set back or replaced"
        self.add("SET_BACK", DANGER, what, "", "", newest, -1, [s.name for s in behind])

    # --- served-is-on-a-quorum ------------------------------------------------------------------------

    def last_copies(self) -> None:
        """Report what may have been acknowledged and is on less than a quorum of disks."""
        voters = self.voters
        newest = max((s.top for s in voters), default=0)
        if not newest or not self.quorum([s.name for s in voters], newest):
            return  # too few were given to say anything
        for applied, why in (applied_by_snapshot(voters), told_to_observer(self.servers, self.quorum)):
            holders = self.having(applied)
            if applied and not self.quorum([s.name for s in holders if s in voters], applied):
                self.last_copy(applied, holders, why, WARN if self.copied_running(holders) else DANGER)
                return
        doubted = set(doubted_servers(voters, [*self.found, *self.findings]))
        for last in sorted({s.last for s in voters if s.last > self.agreed}, reverse=True):
            holders = self.having(last, voters)
            names = {s.name for s in holders}
            if self.quorum(names, last) or not names - doubted:
                continue
            if self.quorum.with_absent(names | doubted, last):
                others = sorted(doubted - names)
                why = f"{', '.join(others)} may have had it, but that is unknown: replaced, set back or damaged"
                self.last_copy(last, holders, why if others else "not every server was given")
                return

    def copied_running(self, holders: list[Server]) -> bool:
        """Return whether directories look copied one after another while their servers ran.

        All servers are in one epoch, each log ends in the space reserved for more, and they end within a short time,
        no two at once: a copy takes its time.
        """
        voters = self.voters
        epochs = {(s.epoch(), s.logged >> 32, s.directory.epochs.get("acceptedEpoch")) for s in voters}
        ends = [s.logs[-1].ending if s.logs else "" for s in voters]
        lasts = {s.last for s in voters}
        if len(epochs) > 1 or set(ends) != {"padding"} or lasts != {s.logged for s in voters}:
            return False
        if len(lasts) < len(voters):  # of two that ended together, neither was ahead of the other
            return False
        reader = Reader(sums=False)
        held = [(s, locate(s, s.logged, reader)) for s in voters]
        times = [txn.time for s, h in held if h is not None and (txn := read_txn(s, h)) is not None]
        between = [b - a for a, b in pairwise(sorted(times))]
        return len(times) == len(voters) and max(times) - min(times) < APART and min(between, default=0) > BETWEEN

    def last_copy(self, zxid: int, holders: list[Server], why: str, severity: str = DANGER) -> None:
        others = max((s.last for s in self.voters if s not in holders), default=0)
        holders = [s for s in holders if s in self.voters] or holders
        first = min(zxid, max(others + 1, self.agreement.next_logged(others) or zxid))
        zxid = max(zxid, min(s.last for s in holders))
        names = [s.name for s in holders]
        what = f"{zxid_text(first)}..{zxid_text(zxid)} may have been acknowledged, and {', '.join(names)} "
        what += "has the last copy" if len(names) == 1 else "have the last copies"
        what += f", less than a quorum ({why})"
        if severity == WARN:
            what += "; as it looks, the directories were copied one after another while the servers ran: then nothing "
            what += "is lost where they ran; do not start servers from these copies"
        self.add("LAST_COPY", severity, what, names[0] if len(names) == 1 else "", "", first, zxid, names)


def applied_by_snapshot(servers: Sequence[Server]) -> tuple[int, str]:
    """Return the last transaction that a snapshot shows as applied, and the evidence.

    Such a snapshot was written between two transactions of an epoch that had begun. What a server loads when it starts
    may never have been committed.
    """
    out = (0, "")
    for s in servers:
        for x in s.snapshots:
            if x.usable and x.zxid & LOW and any(r.lo <= x.zxid < r.hi for r in s.runs):
                why = f"{s.name}'s {x.name} was written during its epoch: its content was applied"
                out = max(out, (x.zxid, why))
    return out


def told_to_observer(servers: Sequence[Server], quorum: Quorums) -> tuple[int, str]:
    """Return the last transaction that an observer has of the epoch that it joined last, and why it is applied.

    A leader informs an observer only of what is committed (INFORM). Transactions of an earlier epoch came from a
    leader's log at its election.
    """
    out = (0, "")
    for s in servers:
        if s.top and quorum.observes(s.name, s.top) and s.epoch() == s.top >> 32:
            out = max(out, (s.top, f"{s.name}, an observer, has it, and an observer only receives what is committed"))
    return out


def doubted_servers(servers: Sequence[Server], found: Sequence[AuditFinding]) -> list[str]:
    """Return the servers that may have lost what they acknowledged, by the findings about them.

    No server leaves a history without an epoch behind.
    """
    codes = ("EPOCH_AHEAD", "PARTED", "SET_BACK", *HIDING)
    named = {n for f in found if f.code in codes and f.severity != NOTE for n in (f.server, *f.servers)}
    return [s.name for s in servers if s.name in named or not s.top or "currentEpoch" not in s.directory.epochs]


def danger_findings(
    servers: list[Server], quorum: Quorums, agreement: Agreement, found: list[AuditFinding]
) -> list[AuditFinding]:  # fmt: skip
    """Return findings about the dangers on the disks of an ensemble.

    Args:
        servers: the servers.
        quorum: decides which servers are a quorum.
        agreement: the comparison of the servers, already run.
        found: the findings about these servers so far.
    """
    if len(servers) < 2:
        return []
    disks = Disks(servers, quorum, agreement, found)
    disks.epochs_without_history()
    disks.parted()
    disks.epochs_on_a_quorum()
    disks.last_copies()
    return disks.findings


# --- whether it is one ensemble -----------------------------------------------------------------------


def same_number(servers: list[Server], numbers: dict[str, int]) -> list[AuditFinding]:
    """Return findings about servers whose files myid contain the same number."""
    by_number: dict[int, list[str]] = defaultdict(list)
    for s in servers:
        if s.name in numbers:
            by_number[numbers[s.name]].append(s.name)
    out = []
    for number, names in by_number.items():
        if len(names) > 1:
            what = f"{', '.join(names)} all have the number {number} (myid): copies of one server count once, "
            what += "and servers that run with one number count each other's acknowledgements as their own"
            out.append(AuditFinding("SAME_MYID", DANGER, what, servers=names))
    return out


def separate_ensembles(servers: list[Server]) -> list[list[Server]]:
    """Group servers that have any transaction in common; servers that cannot be compared join the groups too."""
    groups: list[list[Server]] = []
    reader = Reader(sums=False)
    for s in servers:
        kin = [g for g in groups if not all(strangers(s, t, reader) for t in g)]
        merged = [t for g in kin for t in g] + [s]
        groups = [g for g in groups if g not in kin] + [merged]
    order = {s.name: n for n, s in enumerate(servers)}
    return sorted((sorted(g, key=lambda t: order[t.name]) for g in groups), key=lambda g: order[g[0].name])


def strangers(one: Server, two: Server, reader: Reader) -> bool:
    """Return whether two servers have transactions under the same zxids, all of them different."""
    mine, theirs = blocks_of(one), blocks_of(two)
    common = sorted(mine.keys() & theirs.keys())
    if not common:
        return began_without(one, two) or began_without(two, one)
    if any(mine[b] == theirs[b] for b in common):
        return False
    differ = 0
    for block in [*common[:4], *common[4:][-1:]]:
        a, b = copies_of(one, {block}, reader), copies_of(two, {block}, reader)
        for zxid in sorted(a.keys() & b.keys()):
            first, second = a[zxid][0], b[zxid][0]
            txn, other = read_txn(one, first), read_txn(two, second)
            if first.hash == second.hash or txn is None or other is None or txn.same_as(other):
                return False
            differ += 1
            if differ >= COMPARED:
                return True
    return differ > 1


def began_without(one: Server, two: Server) -> bool:
    """Return whether a server's history begins, with nothing before it, after all of another's agreed history.

    The other's history is surely agreed if it spans several epochs, or is in a snapshot. One epoch's proposals can be
    those of a leader without a quorum.
    """
    first = one.runs[0] if one.runs else None
    if first is None or first.link != "epoch" or first.before or one.not_read(first) or two.top >= first.lo:
        return False
    epochs = {r.lo >> 32 for r in two.runs}
    return len(epochs) > 1 or any(x.usable and x.zxid & LOW for x in two.snapshots)


def mixed(groups: list[list[Server]]) -> AuditFinding:
    """Return a finding about servers of several ensembles."""
    said = " | ".join(", ".join(s.name for s in g) for g in groups)
    what = f"{said}: servers of different sides have not one transaction in common: these are "
    what += f"{len(groups)} ensembles, or one whose logs do not reach back to what its servers share; each side is "
    what += "audited by itself"
    return AuditFinding("NOT_ONE_ENSEMBLE", DANGER, what, servers=[s.name for g in groups for s in g])
