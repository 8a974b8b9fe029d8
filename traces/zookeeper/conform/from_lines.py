"""Decide whether a run of a release's protocol explains servers' own logs at INFO and their disks in the end.

EXPLAINED is said of a run that was taken again by the protocol's `enabled` and `apply`: what its steps would log is, by
thread and process, what the logs have. `lines_of_step` derives a step's lines from the states around it, and asks the
construction of the run (`guided.py`) nothing.
"""

from __future__ import annotations

import time
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import lru_cache
from statistics import median

from invariants import properties_of
from invariants.registry import STEP, keeps
from traces.zookeeper.conform.excluded import OF_SYNCS, excluded_line
from traces.zookeeper.conform.guided import Guided, NoRun, OutOfTime
from traces.zookeeper.conform.server_lines import MAIN_LINES, ServerLines
from traces.zookeeper.conform.unbounded import ReleaseProtocol, Unbounded
from traces.zookeeper.reenact.stores import Disk
from traces.zookeeper.server_logs.log_lines import ServerLine, written_by
from zabspec.limits import Deadline
from zabspec.worlds.steps import ACTION, CRASH, RECOVER, TO_FOLLOWER
from zabspec.zookeeper.state import FOLLOWING, LEADING, LOOKING, SERVING

# --- align the times of servers whose clocks or time zones differ ----------------------------------
#
# A transfer that is sent once and received once, by its learner, kind and zxid, happens within moments on two
# servers. The times decide only where a run is sought first: no verdict follows from them.

CLOSE = 2.0  # seconds between clocks that are taken as they are


def align(lines: ServerLines) -> dict[int, float]:
    """Shift the times of servers to those of the first of them; return by how many seconds, where any."""
    apart = clocks_apart(lines)
    ahead: dict[int, float] = {}
    for first in lines.servers:
        if first in ahead:
            continue
        ahead[first], reached = 0.0, [first]
        for a in reached:
            for b in lines.servers:
                if b not in ahead and (a, b) in apart:
                    ahead[b] = ahead[a] + apart[a, b]
                    reached.append(b)
    shifted = {server: by for server, by in ahead.items() if abs(by) > CLOSE}
    for line in lines.all_of():
        if line.server in shifted and (time := moment(line)) is not None:
            line.time = (time - timedelta(seconds=shifted[line.server])).isoformat(" ", "microseconds")
    return shifted


def clocks_apart(lines: ServerLines) -> dict[tuple[int, int], float]:
    """Return by how many seconds the second server's clock is ahead of the first's, for pairs that show it."""
    sent = [(line.learner, line.sends, line) for line in lines.all_of() if line.sends is not None]
    times_sent = Counter((learner, sends) for learner, sends, _ in sent)
    got: dict[tuple[int, tuple[str, int] | None], list[ServerLine]] = defaultdict(list)
    for line in lines.all_of():
        if line.kind in ("got DIFF", "got TRUNC", "got SNAP"):
            got[line.server, (line.kind.removeprefix("got "), line.zxid)].append(line)
    found: dict[tuple[int, int], list[float]] = defaultdict(list)
    for learner, sends, line in sent:
        received = got[learner, sends]
        if times_sent[learner, sends] == 1 == len(received):
            a, b = moment(line), moment(received[0])
            if a is not None and b is not None:
                found[line.server, learner].append((b - a).total_seconds())
                found[learner, line.server].append((a - b).total_seconds())
    return {pair: median(times) for pair, times in found.items()}


def moment(line: ServerLine) -> datetime | None:
    """Return the time of a line, or None."""
    try:
        return datetime.fromisoformat(line.time)
    except ValueError:
        return None


EXPLAINED, NOT_EXPLAINED, UNKNOWN = "EXPLAINED", "NOT EXPLAINED", "UNKNOWN"
MOST_EPOCHS, MOST_COUNTER = 200, 100_000
COMMITTED_KEPT = 500  # transactions that a server keeps in its committed log, by default; the model keeps all
OLDEST = "3.5.0"  # what it does not log need not be in a log
AT_DEBUG = "TRUNC"  # that one is sent to a learner that is ahead of the committed log is logged at DEBUG
CUT_OFF = ("loaded", "looks")  # lines of a start that a kill may leave out
MOMENTS = ("looks", "starts", "got UPTODATE", "serves")  # lines behind which properties are checked


@dataclass
class FromLines:
    """The verdict on servers' logs.

    Attributes:
        verdict: EXPLAINED, NOT EXPLAINED, or UNKNOWN.
        lines: read; `explained`: up to the first that no run was built for.
        at: that line. why: what is not known, or what excludes the line.
        barren: terms without a packet, which the run leaves out.
        steps: of the run. broken: properties that it violates, with the line before which it does.
        shifted: by server, by how many seconds its clock is ahead of the first server's, where that was set right.
        votes: that were compared with the run. transactions: lines at DEBUG that were.
        named: releases that the logs name, where the model is that of another one.
    """

    verdict: str = UNKNOWN
    lines: int = 0
    explained: int = 0
    at: ServerLine | None = None
    why: str = ""
    barren: int = 0
    named: tuple[str, ...] = ()
    shifted: dict[int, float] = field(default_factory=dict)
    votes: int = 0
    transactions: int = 0
    steps: int = 0
    judged: int = 0
    epochs: int = 0
    syncs: dict[str, int] = field(default_factory=dict)
    broken: dict[str, ServerLine | None] = field(default_factory=dict)
    seconds: float = 0.0


def explained_by_lines(
    lines: ServerLines, disks: Mapping[int, Disk], variant: str, limit: float = 0.0
) -> FromLines:  # fmt: skip
    """Search for a run of a release's protocol that writes these lines and ends with these disks.

    Args:
        variant: the release, as the protocol calls it, and other variants with commas.
        limit: seconds that it may take; 0: no limit.
    """
    began, end = time.process_time(), Deadline(limit) if limit else None
    out = FromLines(lines=len(lines.all_of()))
    received = [line.kind.removeprefix("got ") for line in lines.all_of()]
    out.syncs = {kind: received.count(kind) for kind in OF_SYNCS if kind in received}
    out.epochs = len({line.zxid for line in lines.all_of() if line.kind == "serves"})
    if (why := unreadable(lines, disks)) is not None:
        out.why = why
    else:
        text = text_for(lines, disks, variant)
        out.shifted = align(lines)
        if (excluded := excluded_line(lines, disks, text)) is not None:
            out.at, out.why = excluded
            out.verdict = NOT_EXPLAINED
            if (mixed := two_ensembles(lines)) is not None:
                out.verdict, out.why = UNKNOWN, f"{out.why}; but {mixed}: these may be logs of two ensembles"
        else:
            built(lines, disks, text, end, out)
    out.seconds = time.process_time() - began
    return out


def unreadable(lines: ServerLines, disks: Mapping[int, Disk]) -> str | None:
    """Return why nothing can be said of these logs, or None."""
    if lines.problems:
        return lines.problems[0]
    kinds = {line.kind for line in lines.all_of()}
    if "syncs" not in kinds and any(f"got {kind}" in kinds for kind in OF_SYNCS):
        return "these logs do not have how leaders synchronize learners (3.4 does not log what it decides by)"
    if set(lines.servers) != set(disks):
        return "there is not one log and one disk of each server"
    if len(lines.servers) not in (3, 5):
        return f"there are {len(lines.servers)} servers; 3 or 5 are searched"
    stranger = next(((n, place) for n, place in named_servers(lines) if n not in lines.main), None)
    if stranger is not None:
        return f"{stranger[1]}: there is no log of server {stranger[0]}"
    for server, of_server in lines.main.items():
        if of_server[0].kind != "starts":
            return f"the log of server {server} does not begin with a start"
        first = next((line for line in of_server if line.kind in ("loaded", "looks")), None)
        if first is not None and first.zxid:
            return f"{first.place}: server {server} begins with transactions; the logs of what was before are missing"
    zxids = list(zxids_of(lines, disks))
    if max((z >> 32 for z in zxids), default=0) > MOST_EPOCHS:
        return f"there are epochs above {MOST_EPOCHS}"
    if max((z & 0xFFFFFFFF for z in zxids), default=0) > MOST_COUNTER:
        return f"an epoch has more than {MOST_COUNTER:,} transactions"
    return None


def named_servers(lines: ServerLines) -> Iterator[tuple[int, str]]:
    """Yield the servers that lines name, with the place of the line."""
    for line in lines.all_of():
        yield from ((n, line.place) for n in sorted(line.members | ({line.learner} if line.learner else set())))
    for vote in lines.votes:
        yield vote.sender, vote.place


def two_ensembles(lines: ServerLines) -> str | None:
    """Return what suggests that the logs are of two ensembles, or None."""
    for server, of_server in sorted(lines.addresses.items()):
        if len(of_server) > 1:
            (a, at_a), (b, at_b) = sorted(of_server.items())[:2]
            return f"server {server} has the addresses {a} ({at_a}) and {b} ({at_b})"
    return None


def text_for(lines: ServerLines, disks: Mapping[int, Disk], variant: str) -> ReleaseProtocol:
    """Return the protocol of a release, with room for the epochs and transactions of logs and disks."""
    zxids = list(zxids_of(lines, disks))
    epochs, width = max(z >> 32 for z in zxids) + 2, max(z & 0xFFFFFFFF for z in zxids) + 4
    return text_with(variant, len(lines.servers), epochs, width)


@lru_cache(maxsize=2)
def text_with(variant: str, n: int, epochs: int, width: int) -> ReleaseProtocol:
    """Return the protocol of a release with the given room."""
    return ReleaseProtocol(variant, n, epochs, width, {})


def zxids_of(lines: ServerLines, disks: Mapping[int, Disk]) -> Iterator[int]:
    """Yield the zxids that lines and disks have."""
    for line in lines.all_of():
        if line.kind == "epoch":
            yield line.zxid << 32
        else:
            yield from line.values
            yield from ([line.sends[1]] if line.sends is not None else [])
    yield from (line.zxid for line in lines.transactions)
    for disk in disks.values():
        yield from disk.log
        yield from disk.snapshots


def built(
    lines: ServerLines, disks: Mapping[int, Disk], text: ReleaseProtocol, end: Deadline | None, out: FromLines
) -> None:  # fmt: skip
    """Build a run, take it again, and store the verdict."""
    run = Guided(text, lines, disks, end)
    out.barren = len(run.barren)
    try:
        run.run()
    except NoRun as problem:
        out.at, out.why = run.at, f"no run was built, which does not show that there is none: {problem}"
    except OutOfTime as problem:
        out.at, out.why = run.at, str(problem)
    out.explained, out.steps = len(run.done), len(run.words)
    if out.why:
        return
    again = Replay(text, lines, {id(line) for term in run.barren for line in term.lines})
    if (wrong := again.run(run.words, out) or again.differs(disks)) is not None:
        out.why, out.broken = f"the run that was built does not explain the logs: {wrong}", {}
        return
    out.verdict = EXPLAINED


def differs(model: object, real: object) -> str:
    """Return how a part of a disk differs, in words."""
    if isinstance(model, list) and isinstance(real, list):
        k = next((k for k, (a, b) in enumerate(zip(model, real, strict=False)) if a != b), min(len(model), len(real)))
        ends = [f"{of[k]:#x}" if k < len(of) else "nothing" for of in (model, real)]
        return f"has {ends[1]} where the run has {ends[0]}, behind {k:,} others"
    return f"is {real}, and the run has {model}"


# --- the run, taken again -------------------------------------------------------------------------------


@dataclass(frozen=True)
class Written:
    """A line that a step writes.

    Attributes:
        thread: 0: the main thread; else the number of the learner whose LearnerHandler writes it.
        values: None: not compared.
    """

    server: int
    thread: int
    kind: str
    values: tuple[int | None, ...] = ()
    sends: tuple[str, int] | None = None
    members: frozenset[int] = frozenset()

    def is_like(self, line: ServerLine) -> bool:
        """Return whether a line of a log is this one."""
        if self.kind != line.kind or len(self.values) != len(line.values):
            return False
        if any(own is not None and own != real for own, real in zip(self.values, line.values, strict=True)):
            return False
        if line.sends != self.sends and (line.sends is not None or self.sends is None or self.sends[0] != AT_DEBUG):
            return False
        return self.members == line.members

    def told(self) -> str:
        """Return the line in words."""
        numbers = "".join(f" {v:#x}" for v in self.values if v is not None)
        return f"server {self.server}: {self.kind}{numbers}" + (f", {self.sends[0]}" if self.sends else "")


class Replay:
    """Takes a run again with the protocol's `enabled` and `apply`, and compares what it writes with the logs.

    Args:
        left_out: by `id`, lines of terms that the run leaves out.
    """

    def __init__(self, text: ReleaseProtocol, lines: ServerLines, left_out: set[int]) -> None:
        self.text, self.servers = text, lines.servers
        self.state: Unbounded = text.begin()
        self.properties = [p for p in properties_of("zookeeper") if p.of != STEP]
        kinds = {line.kind for line in lines.all_of()}
        self.not_logged = {kind for kind in MAIN_LINES if kind not in kinds and not written_by(OLDEST, kind)}
        self.logs: dict[tuple[int, int], list[ServerLine]] = {}
        for server in self.servers:
            self.logs[(server, 0)] = self.without_repeats(
                [line for line in lines.main[server] if id(line) not in left_out]
            )
            for line in lines.handled[server]:
                self.logs.setdefault((server, line.learner), []).append(line)
        self.at = dict.fromkeys(self.logs, 0)
        self.last: ServerLine | None = None
        self.notified, self.transactions = lines.votes, lines.transactions
        self.proposed: dict[int, set[int]] = {server: set() for server in self.servers}
        self.committed: dict[int, int] = {}  # by epoch: the last that its leader has committed
        self.counted: dict[int, set[int]] = {}  # by leader: acknowledgements of NEWLEADER, up to the first quorum
        self.voted: dict[int, set[tuple[int, int]]] = {server: set() for server in self.servers}
        self.led: dict[int, set[int]] = {server: set() for server in self.servers}  # the epochs

    @staticmethod
    def without_repeats(lines: list[ServerLine]) -> list[ServerLine]:
        """Return a main thread's lines; of elections that follow one another with no term between, the first."""
        out: list[ServerLine] = []
        for line in lines:
            if out and line.kind == "looks" == out[-1].kind and line.values == out[-1].values:
                continue
            out.append(line)
        return out

    def run(self, words: Sequence[int], out: FromLines) -> str | None:
        """Replay a run; return what is wrong with it, or None."""
        text, room = self.text, [0] * (4 * self.text.most_steps + 1)
        for p, server in enumerate(self.servers):  # all are started in the state that a run begins with
            for written in self.at_start(self.state, server, p):
                if (wrong := self.write(written)) is not None:
                    return wrong
        for word in words:
            text["enabled"](self.state, room)
            if word not in room[1 : room[0] + 1]:
                return f"step {word:#x} is not possible"
            before = self.state.copy()
            text["apply"](self.state, word)
            if self.transactions:
                self.note_transactions(before, self.state)
            for written in self.lines_of_step(before, self.state, word):
                if (wrong := self.write(written)) is not None:
                    return wrong
                if written.kind in MOMENTS:
                    self.judge(out)
        self.judge(out)
        out.votes, out.transactions = len(self.notified), len(self.transactions)
        return self.not_written() or self.not_voted() or self.not_done()

    def write(self, written: Written) -> str | None:
        """Compare a line that the run writes with the next of its thread; return what is wrong, or None."""
        if written.kind == "looks":
            p = self.servers.index(written.server)
            self.voted[written.server].add((self.real(self.state.last_processed[p]), int(self.state.current_epoch[p])))
        if written.kind in self.not_logged:
            return None
        key = (written.server, written.thread)
        lines, k = self.logs.get(key, []), self.at.get(key, 0)
        if k < len(lines) and written.is_like(lines[k]):
            self.at[key] = k + 1
            self.last = lines[k]
            return None
        if written.kind in CUT_OFF and (k == len(lines) or lines[k].kind == "starts") and k and self.is_killed(key):
            return None
        has = lines[k].told() + f" ({lines[k].place})" if k < len(lines) else "no more lines"
        return f"it writes '{written.told()}', and the log has {has}"

    def is_killed(self, key: tuple[int, int]) -> bool:
        """Return whether a log ends, or its next line is a start, behind a line that the process wrote as it came up.

        The process was killed before it wrote the next one, and has done nothing since that another sees.
        """
        return self.logs[key][self.at[key] - 1].kind in ("starts", "loaded")

    def not_written(self) -> str | None:
        """Return the first line that the run does not write, or None."""
        for key, lines in self.logs.items():
            if self.at[key] < len(lines):
                line = lines[self.at[key]]
                return f"it does not write {line.told()} ({line.place})"
        return None

    def note_transactions(self, before: Unbounded, after: Unbounded) -> None:
        """Note what leaders propose and commit in a step."""
        for l, server in enumerate(self.servers):
            if before.role[l] != LEADING or after.role[l] != LEADING or after.phase[l] != SERVING:
                continue
            proposed, committed = after.last_proposed[l], self.real(after.last_committed[l])
            if proposed != before.last_proposed[l] and before.phase[l] == SERVING:
                self.proposed[server].add(self.real(proposed))
            if committed >> 32 == after.term[l]:
                self.committed[committed >> 32] = max(committed, self.committed.get(committed >> 32, 0))

    def not_done(self) -> str | None:
        """Return the first line at DEBUG that is not in the run, or a proposal of the run that no such line has.

        A server commits what its leader has committed before, and in a term in their order. A log without a proposal
        may be one at INFO.
        """
        logged: dict[int, set[int]] = {}
        committed: dict[tuple[int, int], ServerLine] = {}  # by server and its term: the last
        ends = {n: [x.number for x in self.logs[n, 0] if x.kind in ("looks", "starts")] for n in self.servers}
        for line in self.transactions:
            term = line.server, bisect_left(ends[line.server], line.number)
            if line.kind == "commits":
                before = committed.setdefault(term, line)
                if before.zxid >= line.zxid and before is not line:
                    return f"server {line.server} commits {line.zxid:#x} ({line.place}) behind {before.zxid:#x}"
                committed[term] = line
            if line.kind == "proposes":
                logged.setdefault(line.server, set()).add(line.zxid)
                if line.zxid not in self.proposed[line.server]:
                    return f"in it, server {line.server} does not propose {line.zxid:#x} ({line.place})"
            elif line.zxid > self.committed.get(line.zxid >> 32, 0):
                return f"in it, no leader commits {line.zxid:#x} ({line.place})"
        for server, zxids in logged.items():
            if more := self.proposed[server] - zxids:
                return f"server {server} proposes {min(more):#x} in it, which its log at DEBUG does not have"
        return None

    def not_voted(self) -> str | None:
        """Return the first notification with a vote that no server has cast in the run, or None.

        A server that leads or follows sets the epoch of its vote to that of its leader.
        """
        for vote in self.notified:
            cast = self.voted.get(vote.leader, set())
            if vote.state == "LOOKING" and (vote.zxid, vote.epoch) in cast:
                continue
            epochs = {epoch for zxid, epoch in cast if zxid == vote.zxid}
            if vote.state != "LOOKING" and epochs and vote.epoch in epochs | self.led[vote.leader]:
                continue
            return f"in it, server {vote.leader} has no such vote: {vote.told()} ({vote.place})"
        return None

    def real(self, zxid: int) -> int:
        return int(zxid // self.text.width << 32 | zxid % self.text.width)

    def at_start(self, s: Unbounded, server: int, p: int) -> Iterator[Written]:
        yield Written(server, 0, "starts")
        yield Written(server, 0, "loaded", (self.real(s.last_processed[p]),))
        if self.text["may_vote"](s, p):
            yield Written(server, 0, "looks", (self.real(s.last_processed[p]),))

    def lines_of_step(self, before: Unbounded, after: Unbounded, word: int) -> Iterator[Written]:
        """Yield the lines that a step writes, by the states around it."""
        kind = word >> 24 & 255
        for p, server in enumerate(self.servers):
            was, now = before.role[p], after.role[p]
            if kind == RECOVER and word >> 16 & 255 == p:
                yield from self.at_start(after, server, p)
            elif kind == CRASH and word >> 16 & 255 == p:
                continue
            elif was != LOOKING and now == LOOKING:
                yield Written(server, 0, "looks", (self.real(after.last_processed[p]),))
            elif was == LOOKING and now == LEADING:
                self.counted[p] = set()
                yield Written(server, 0, "leads")
                yield Written(server, 0, "snapshot", (self.real(after.last_processed[p]),))
            elif was == LOOKING and now == FOLLOWING:
                yield Written(server, 0, "follows")
            elif now == FOLLOWING:
                yield from self.of_learner(before, after, p, word)
            if was == LEADING and now == LEADING:
                self.led[server].add(int(after.term[p]))
                yield from self.of_leader(before, after, p, word)

    def of_learner(self, before: Unbounded, after: Unbounded, f: int, word: int) -> Iterator[Written]:
        """Yield what a learner writes in its term."""
        server, kind = self.servers[f], word >> 24 & 255
        if kind == TO_FOLLOWER and word >> 16 & 255 == f:
            m = before.to_follower[f][0]
            if m.kind.name in OF_SYNCS:
                yield Written(server, 0, f"got {m.kind.name}", (self.real(m.zxid),))
            elif m.kind.name in ("NEWLEADER", "UPTODATE"):
                yield Written(server, 0, f"got {m.kind.name}")
        elif kind == ACTION and word >> 16 & 255 == f:
            name = self.text.actions[word & 255]
            if name == "snapshot at NEWLEADER":
                yield Written(server, 0, "snapshot", (self.real(before.last_processed[f]),))
            elif name == "write currentEpoch":
                yield Written(server, 0, "epoch", (int(after.current_epoch[f]),))
            elif name == "acknowledge NEWLEADER":
                yield Written(server, 0, "acknowledged", (int(after.term[f]) << 32,))

    def of_leader(self, before: Unbounded, after: Unbounded, l: int, word: int) -> Iterator[Written]:
        """Yield what a leader and its LearnerHandlers write in its term."""
        server = self.servers[l]
        for f, learner in enumerate(self.servers):
            if f == l or word >> 24 & 255 == TO_FOLLOWER or word >> 16 & 255 != l:  # no step of this leader
                continue
            sent = list(after.to_follower[f])[len(before.to_follower[f]) :]
            m = next((m for m in sent if m.kind.name in OF_SYNCS), None)
            if m is None:
                continue
            log = before.committed_log[l]
            count = len(log)
            low: int | None = self.real(log[0]) if count else 0
            high = self.real(log[count - 1]) if count else 0
            peer = before.peer_last[l][f] if f in before.answered[l] else before.to_leader[f][l][0].zxid
            if count >= COMMITTED_KEPT:
                low = None
            values = (high, low, self.real(before.last_processed[l]), self.real(peer))
            yield Written(server, learner, "syncs", values, (m.kind.name, self.real(m.zxid)))
        if before.phase[l] != SERVING and after.phase[l] == SERVING:
            members = frozenset(self.servers[p] for p in self.counted[l])
            yield Written(server, 0, "serves", (int(after.term[l]) << 32,), None, members)
        elif not after.is_quorum(self.counted[l]):
            self.counted[l] |= {*after.new_leader_acks[l]}

    def judge(self, out: FromLines) -> None:
        """Check the properties of the state."""
        out.judged += 1
        for p in self.properties:
            if p.name not in out.broken and not keeps(p, self.text.names, self.state):
                out.broken[p.name] = self.last

    def differs(self, disks: Mapping[int, Disk]) -> str | None:
        """Return how the run's last state differs from the disks, or None."""
        s = self.state
        for server, disk in disks.items():
            p, named = self.servers.index(server), sorted({*disk.snapshots} - {0})
            pairs = (
                ("log", [self.real(z) for z in s.log[p]], list(disk.log)),
                ("snapshots", sorted({self.real(z) for z in s.snapshot_names[p]} - {0}), named),
                ("currentEpoch", int(s.current_epoch[p]), max(0, disk.current)),
                ("acceptedEpoch", int(s.accepted_epoch[p]), max(0, disk.accepted)),
            )
            for what, model, real in pairs:
                if model != real:
                    return f"in the end, the {what} of server {server} {differs(model, real)}"
        return None
