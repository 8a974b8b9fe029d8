"""Find a line of servers' own logs that no run of the protocol writes, by what holds in every run.

Each rule compares lines that exist, or a line with what is on a disk in the end. Nothing follows from a line that is
missing, from the clocks of two servers, or from the order of lines of different threads and servers. A file may have a
hole, as between rotated logs, and one hole must not refute. So a rule that pairs lines of two servers needs them to be
the only ones of their kind, and a rule on lines of one thread needs them to be next to each other in time: no term of
a server fits between them (`is_next`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from itertools import combinations, pairwise

from traces.zookeeper.conform.server_lines import ServerLines
from traces.zookeeper.conform.unbounded import ERRORS, ReleaseProtocol
from traces.zookeeper.reenact.stores import Disk
from traces.zookeeper.server_logs.log_lines import ServerLine
from zabspec.worlds.connections import OPEN
from zabspec.zookeeper.state import LEADING, SERVING

OF_SYNCS = ("DIFF", "TRUNC", "SNAP")
TOGETHER = 0.2  # seconds between lines of one thread in which no election and no synchronization has room
Found = tuple[ServerLine, str]


def excluded_line(lines: ServerLines, disks: Mapping[int, Disk], text: ReleaseProtocol) -> Found | None:
    """Return the first line that contradicts another one or a disk, with the reason, or None."""
    found = [
        *wrong_syncs(lines, text), *unlike_received(lines), *unlike_votes(lines), *wrong_epochs(lines),
        *wrong_leaders(lines, disks), *wrong_handshakes(lines), *above_the_disks(lines, disks),
        *wrong_transactions(lines),
    ]  # fmt: skip
    return min(found, key=lambda pair: (pair[0].time, pair[0].server, pair[0].number)) if found else None


# --- lines that belong together ---------------------------------------------------------------------------


def seconds(line: ServerLine) -> float:
    """Return the time of a line, as its server's clock has it; not a number if it has none, or only seconds."""
    try:
        return datetime.fromisoformat(line.time).timestamp() if line.is_timed else float("nan")
    except ValueError:
        return float("nan")


def is_next(before: ServerLine, line: ServerLine) -> bool:
    """Return whether nothing of the protocol has room between two lines of one thread.

    An election says how long it took: so its vote is the one that stands at its beginning.
    """
    apart = seconds(line) - seconds(before)
    if before.kind == "looks" and line.kind in ("leads", "follows"):
        return line.took >= 0 and abs(apart - line.took / 1000) < TOGETHER
    return 0 <= apart < TOGETHER


def are_next(lines: list[ServerLine]) -> bool:
    """Return whether each line is next to the one before it."""
    return all(is_next(a, b) for a, b in pairwise(lines))


# --- what a leader sends ----------------------------------------------------------------------------------


def wrong_syncs(lines: ServerLines, text: ReleaseProtocol) -> Iterator[Found]:
    """Yield lines of leaders with numbers that no leader has, or that send what the protocol does not by them.

    What else is in the committed log, the line does not say: what is sent is compared with what the protocol sends for
    any of the logs between its first and last transaction. Where the learner is behind that log, servers read their
    logs on disk too, and nothing is compared.
    """
    for line in lines.all_of():
        if line.kind != "syncs":
            continue
        high, low, last, peer = line.values
        if low > high:
            yield line, f"no committed log begins with {low:#x} and ends with {high:#x}"
            continue
        if high > last:
            yield line, f"no leader has committed {high:#x} and applied {last:#x} as its last"
            continue
        if line.sends is None or (peer < (low or last) and peer != last):
            continue
        kind, zxid = line.sends
        sent = set(sent_for(text, line.values, zxid))
        if not sent or (kind, zxid) in sent or (kind == "SNAP" and any(k == kind and zxid >= z for k, z in sent)):
            continue  # of a SNAP the zxid is read last: the leader may have applied more by then
        instead = " or ".join(f"{k} {z:#x}" for k, z in sorted(sent))
        yield line, f"with these numbers, the model sends {instead}"


def sent_for(text: ReleaseProtocol, values: tuple[int, ...], zxid: int) -> Iterator[tuple[str, int]]:
    """Yield what the protocol sends by a line's numbers, with any committed log between its first and last.

    Args:
        zxid: of what was sent, which is or is not in that log.
    """
    high, low, last, peer = values
    ends = sorted({low, high} - {0})
    between = {zxid, peer, peer + 1, (peer >> 32) + 1 << 32 | 1}
    inner = sorted(z for z in between if ends and ends[0] < z < ends[-1] and z & 0xFFFFFFFF)
    for count in range(len(inner) + 1):
        for some in combinations(inner, count):
            yield from sent_by(text, sorted({*ends, *some}), last, peer)


def sent_by(text: ReleaseProtocol, log: list[int], last: int, peer: int) -> Iterator[tuple[str, int]]:
    """Yield what the protocol sends first, with a committed log."""
    own = {z: (z >> 32) * text.width + (z & 0xFFFFFFFF) for z in {*log, last, peer}}
    s = text.begin()
    for z in log:
        s.committed_log[0].append(own[z])
    s.role[0], s.phase[0], s.link[1][0] = LEADING, SERVING, OPEN
    s.last_processed[0], s.peer_last[0][1] = own[last], own[peer]
    try:
        text["sync_follower"](s, 0, 1)
    except ERRORS:
        return
    m = next((m for m in s.to_follower[1] if m.kind.name in OF_SYNCS), None)
    if m is not None:
        yield m.kind.name, m.zxid // text.width << 32 | m.zxid % text.width


# --- what a learner receives ------------------------------------------------------------------------------


@dataclass
class LearnerTerm:
    """A learner's term with one transfer.

    Attributes:
        vote: the line of the vote that stands directly before it, if one does.
        got: the line with the transfer. epoch: that it acknowledges; 0: it does not.
    """

    vote: ServerLine | None
    got: ServerLine
    epoch: int = 0

    @property
    def transfer(self) -> tuple[str, int]:
        """Return the kind and the zxid of the transfer."""
        return self.got.kind.removeprefix("got "), self.got.zxid


def learner_terms(of_server: list[ServerLine]) -> tuple[list[LearnerTerm], set[int]]:
    """Return a server's terms with a transfer, and the epochs of which one may be that acknowledges none.

    Such a term may be of any epoch between those of the terms around it that acknowledge one.
    """
    out: list[LearnerTerm] = []
    unknown: set[int] = set()
    before: list[ServerLine] = []
    at_hand: LearnerTerm | None = None
    epoch, open_ended = 0, False
    for line in of_server:
        if line.kind in ("looks", "starts"):
            open_ended, at_hand = open_ended or at_hand is not None, None
        elif line.kind.removeprefix("got ") in OF_SYNCS:
            joined = [x.kind for x in before[-2:]] == ["looks", "follows"] and are_next([*before[-2:], line])
            at_hand = LearnerTerm(before[-2] if joined else None, line)
            out.append(at_hand)
        elif line.kind == "acknowledged" and at_hand is not None:
            if not are_next([*before[before.index(at_hand.got) :], line]):
                open_ended = True
            else:
                at_hand.epoch = line.zxid >> 32
            if open_ended:
                unknown |= {epoch, line.zxid >> 32}
            epoch, open_ended, at_hand = line.zxid >> 32, False, None
        before.append(line)
    if open_ended or at_hand is not None:
        unknown.add(epoch)
    return out, unknown


def of_one_term(lines: ServerLines, serves: ServerLine) -> list[ServerLine]:
    """Return the transfers of a leader's term: those between its elections before and behind the line `serves`."""
    bounds = [x.number for x in lines.main[serves.server] if x.kind in ("looks", "starts")]
    low = max((k for k in bounds if k < serves.number), default=0)
    high = min((k for k in bounds if k > serves.number), default=1 << 62)
    return [x for x in lines.handled[serves.server] if low < x.number < high]


def leaders_of(lines: ServerLines) -> dict[int, ServerLine]:
    """Return the line of the leader of each epoch."""
    return {line.zxid >> 32: line for server in lines.servers for line in lines.main[server] if line.kind == "serves"}


def unlike_received(lines: ServerLines) -> Iterator[Found]:
    """Yield lines of learners that receive another DIFF, TRUNC or SNAP than the leader of their epoch has sent.

    Only where the learner has one term of that epoch, and the leader one transfer to it, which is that of no other
    term: else a line that is missing, as of a rotated log, could be the one.
    """
    leads = leaders_of(lines)
    for server in lines.servers:
        terms, unknown = learner_terms(lines.main[server])
        times, transfers = Counter(term.epoch for term in terms), {term.transfer for term in terms}
        for term in terms:
            leader = leads.get(term.epoch)
            if leader is None or times[term.epoch] != 1 or term.epoch in unknown:
                continue
            sent = [x for x in of_one_term(lines, leader) if x.learner == server]
            if len(sent) == 1 and sent[0].sends is not None and sent[0].sends not in transfers:
                what = f"{sent[0].sends[0]} {sent[0].sends[1]:#x}"
                yield term.got, f"the leader of epoch {term.epoch} has sent it {what} ({sent[0].place})"


def unlike_votes(lines: ServerLines) -> Iterator[Found]:
    """Yield lines of leaders by which a learner's last zxid is another one than that of its vote.

    Only where what is sent is received once and sent once, and by the leader of the epoch that the learner then
    acknowledges.
    """
    leads = leaders_of(lines)
    syncs = [line for line in lines.all_of() if line.kind == "syncs"]
    for server in lines.servers:
        to_server = [line for line in syncs if line.learner == server]
        if any(line.sends is None for line in to_server):
            continue  # a TRUNC at DEBUG
        sent = Counter(line.sends for line in to_server)
        terms, _ = learner_terms(lines.main[server])
        received = Counter(term.transfer for term in terms)
        for term in terms:
            leader = leads.get(term.epoch)
            if leader is None or term.vote is None or received[term.transfer] != 1 or sent[term.transfer] != 1:
                continue
            line = next((x for x in of_one_term(lines, leader) if x in to_server and x.sends == term.transfer), None)
            if line is not None and line.values[3] != term.vote.zxid:
                yield line, f"server {server} has voted with {term.vote.zxid:#x} ({term.vote.place})"


# --- epochs -----------------------------------------------------------------------------------------------


def wrong_epochs(lines: ServerLines) -> Iterator[Found]:
    """Yield lines by which a server goes back to an earlier epoch, or acknowledges another than it has set."""
    for server in lines.servers:
        before = epoch = led = 0
        last: ServerLine | None = None
        for line in lines.main[server]:
            last, previous = line, last
            if line.kind == "serves":
                epoch = line.zxid >> 32
                if line.zxid & 0xFFFFFFFF:
                    yield line, "a leader begins to serve with the zxid <epoch, 0>"
                elif epoch and epoch == before:
                    yield line, f"server {server} was in epoch {before} before, and leads only later ones"
                led = epoch
            elif line.kind == "epoch":
                epoch = line.zxid
            elif line.kind == "acknowledged":
                if line.zxid & 0xFFFFFFFF:
                    yield line, "NEWLEADER is acknowledged with the zxid <epoch, 0>"
                    continue
                if previous is not None and previous.kind == "epoch" and is_next(previous, line):
                    if line.zxid >> 32 != previous.zxid:
                        yield line, f"server {server} has set the current epoch to {previous.zxid} ({previous.place})"
                        continue
                epoch = line.zxid >> 32
            else:
                continue
            if epoch < before:
                yield line, f"server {server} was in epoch {before} before, and epochs grow"
            elif epoch == led and line.kind != "serves":
                yield line, f"server {server} has led epoch {led}, and follows no leader in it"
            before = max(before, epoch)


def wrong_leaders(lines: ServerLines, disks: Mapping[int, Disk]) -> Iterator[Found]:
    """Yield lines of leaders of an epoch that has another one, or that serve with members that are no quorum of it."""
    leads: dict[int, ServerLine] = {}
    serving = [line for line in lines.all_of() if line.kind == "serves"]
    for line in serving:
        epoch = line.zxid >> 32
        other = leads.setdefault(epoch, line)
        if other.server != line.server:
            yield line, f"server {other.server} leads epoch {epoch} ({other.place}), which has one leader"
        if 2 * len(line.members) <= len(lines.servers):
            yield line, f"{sorted(line.members)} is not a quorum of {len(lines.servers)} servers"
        for member in sorted(line.members & disks.keys()):
            accepted = disks[member].accepted
            if 0 <= accepted < epoch:
                yield (
                    line,
                    f"server {member} has accepted epoch {accepted} in the end, and has not acknowledged {epoch}",
                )


def above_the_disks(lines: ServerLines, disks: Mapping[int, Disk]) -> Iterator[Found]:
    """Yield lines and votes with a zxid or an epoch above that which the server has accepted in the end.

    An epoch is accepted before anything of it is received, and acceptedEpoch never decreases. A server without that
    file says nothing.
    """
    for line in lines.all_of():
        of_server = [(line.server, epoch) for epoch in epochs_of(line)]
        if line.kind == "syncs":
            of_server.append((line.learner, line.values[3] >> 32))
        yield from too_high(line, of_server, disks)
    for line in lines.transactions:
        yield from too_high(line, [(line.server, line.zxid >> 32)], disks)
    for vote in lines.votes:
        yield from too_high(vote.as_line(), [(vote.leader, max(vote.epoch, vote.zxid >> 32))], disks)


def epochs_of(line: ServerLine) -> Iterator[int]:
    """Yield the epochs that a line's server must have accepted."""
    if line.kind == "epoch":
        yield line.zxid
    elif line.kind == "syncs":
        yield from (z >> 32 for z in line.values[:3])
    elif line.values:
        yield line.zxid >> 32


def too_high(line: ServerLine, of_server: list[tuple[int, int]], disks: Mapping[int, Disk]) -> Iterator[Found]:
    for server, epoch in of_server:
        disk = disks.get(server)
        if disk is not None and 0 <= disk.accepted < epoch:
            yield line, f"server {server} has accepted no epoch above {disk.accepted} in the end"
            return


def wrong_transactions(lines: ServerLines) -> Iterator[Found]:
    """Yield lines at DEBUG that propose something twice, not in order, or behind its commit on the same server.

    A leader writes a proposal before it sends it, so its log has the commit behind it, whichever thread writes that.
    """
    leads = leaders_of(lines)
    proposed: dict[int, ServerLine] = {}
    committed: dict[tuple[int, int], ServerLine] = {}
    last: dict[int, ServerLine] = {}
    for line in lines.transactions:
        if line.kind == "commits":
            committed.setdefault((line.server, line.zxid), line)
            continue
        before, leader = last.get(line.server), leads.get(line.zxid >> 32)
        other, commit = proposed.setdefault(line.zxid, line), committed.get((line.server, line.zxid))
        if other is not line:
            yield line, f"{line.zxid:#x} was proposed already ({other.place})"
        elif before is not None and before.zxid > line.zxid:
            yield line, f"server {line.server} has proposed {before.zxid:#x} before ({before.place})"
        elif commit is not None:
            yield line, f"it was committed before ({commit.place})"
        elif leader is not None and leader.server != line.server:
            yield line, f"server {leader.server} leads that epoch ({leader.place})"
        last[line.server] = line


# --- lines that follow each other -------------------------------------------------------------------------


def wrong_handshakes(lines: ServerLines) -> Iterator[Found]:
    """Yield lines that contradict one that stands before them in a start or in a synchronization."""
    for server in lines.servers:
        main = lines.main[server]
        for before, line in pairwise(main):
            if (before.kind, line.kind) == ("loaded", "looks") and before.zxid != line.zxid and is_next(before, line):
                yield line, f"it has loaded {before.zxid:#x} ({before.place})"
        for k, line in enumerate(main[2:], 2):
            vote, role = main[k - 2 : k]
            if vote.kind != "looks" or not are_next([vote, role, line]):
                continue
            if (role.kind, line.kind) == ("leads", "snapshot") and vote.zxid != line.zxid:
                yield line, f"a leader first takes a snapshot of what it has voted with ({vote.place})"
            if role.kind == "follows" and line.kind.removeprefix("got ") in OF_SYNCS:
                yield from wrong_transfer(line, vote)
        for term in learner_terms(main)[0]:
            if term.epoch and term.got.zxid >> 32 > term.epoch:
                yield term.got, f"it then acknowledges epoch {term.epoch}, and a leader has nothing of later ones"
        yield from wrong_leading(lines, server)


def wrong_transfer(line: ServerLine, vote: ServerLine) -> Iterator[Found]:
    """Yield a transfer that does not fit what the learner has voted with."""
    if line.kind == "got DIFF" and line.zxid < vote.zxid:
        yield line, f"a DIFF does not end before the learner's last, {vote.zxid:#x} ({vote.place})"
    if line.kind == "got TRUNC" and line.zxid >= vote.zxid:
        yield line, f"a TRUNC cuts something of what the learner has, {vote.zxid:#x} ({vote.place})"


def wrong_leading(lines: ServerLines, server: int) -> Iterator[Found]:
    """Yield lines of handlers of a leader that does not serve yet, with a last zxid that is not that of its vote.

    A handler of the process's term before may write late, and has no later one.
    """
    main = lines.main[server]
    for k, line in enumerate(main):
        if line.kind != "serves":
            continue
        leads = k - 2 if k > 1 and main[k - 1].kind == "snapshot" else k - 1
        if leads < 1 or (main[leads - 1].kind, main[leads].kind) != ("looks", "leads"):
            continue
        vote, role = main[leads - 1 : leads + 1]
        if not are_next([vote, role, line]):
            continue
        led_before = any(x.kind == "leads" and x.life == line.life for x in main[:leads])
        if vote.zxid >= line.zxid:
            yield line, f"it has voted with {vote.zxid:#x} ({vote.place}), and leads a later epoch than that"
        for sync in lines.handled[server]:
            if role.number < sync.number < line.number:
                last, peer = sync.values[2:]
                if last > vote.zxid or (last < vote.zxid and not led_before):
                    yield sync, f"server {server} has voted with {vote.zxid:#x} ({vote.place}), and does not serve yet"
                elif peer >= line.zxid:
                    yield sync, f"server {sync.learner} cannot join epoch {line.zxid >> 32} with that ({line.place})"
