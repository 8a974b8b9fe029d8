"""Build a run of a release's protocol that writes the lines of servers' own logs, and ends with their disks.

INFO has no proposals and no commits. What a server had logged when its term ended or when it was killed is in its next
line (its vote, or what it loads), or on its disk in the end. So a run is built line by line, by time: the steps between
are taken only as far as the next lines need them. A line of another server is brought forward where a line needs it.
What is built is a run of the protocol. That it explains the logs is checked by `from_lines.py`, independently of this.
Where no run is built, there may still be one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from traces.zookeeper.conform.server_lines import ServerLines
from traces.zookeeper.conform.unbounded import ERRORS, ReleaseProtocol, Unbounded
from traces.zookeeper.reenact.stores import Disk
from traces.zookeeper.server_logs.log_lines import ServerLine
from zabspec.limits import Deadline
from zabspec.worlds.connections import FOLLOWER_OPEN, LEADER_OPEN, LOST, OPEN
from zabspec.worlds.steps import (
    ACTION,
    CRASH,
    ELECT,
    FOLLOWER_LEARNS,
    JOIN,
    LEADER_LEARNS,
    RECOVER,
    TIMEOUT,
    TO_FOLLOWER,
    TO_LEADER,
)
from zabspec.zookeeper.state import (
    AWAITING_ACKS,
    AWAITING_EPOCH_ACKS,
    EPOCH_ACKED,
    FOLLOWING,
    LEADING,
    LOOKING,
    PHASES,
    REGISTERED,
    SERVING,
    SYNCING,
    TO_ACK,
    TO_SNAPSHOT,
    TO_WRITE_OWN_EPOCH,
    WAITING,
)

MOST_STEPS = 400_000
PROPOSES, SYNCS, COMMITS = "propose", "sync thread", "commit thread"
AT_NEWLEADER = ("snapshot at NEWLEADER", "persist at NEWLEADER", "write currentEpoch", "acknowledge NEWLEADER")


class NoRun(Exception):
    """No run was built up to a line. The message says what the protocol has instead."""


class OutOfTime(Exception):
    """The time or the number of steps is used up."""


@dataclass
class Term:
    """A term of a server: from the line that says whether it follows or leads, to its next vote or start.

    Attributes:
        lines: its lines. ends: the time of the line that ends it; empty: the log ends before.
        vote: the zxid of the vote that stands before it; None: another line does. runs_on: no line ends it, and another
            term's lines follow.
        sync: of a learner: the line of the leader that synchronizes it. syncs: of a leader: its lines that do so.
    """

    server: int
    leads: bool
    lines: list[ServerLine]
    vote: int | None = None
    ends: str = ""
    runs_on: bool = False
    sync: ServerLine | None = None
    syncs: list[ServerLine] = field(default_factory=list)

    @property
    def is_barren(self) -> bool:
        """Return whether no packet of a synchronization was sent or received in it.

        Its lines are compared with no run. So they must be those of such a term: a vote before, at most a leader's
        snapshot of what it has voted for, and an end.
        """
        if self.vote is None or self.runs_on or self.sync is not None or self.syncs:
            return False
        rest = [(line.kind, line.values) for line in self.lines[1:]]
        return not rest or (self.leads and rest == [("snapshot", (self.vote,))])


def terms_of(lines: list[ServerLine]) -> list[Term]:
    """Return the terms of a server, in order."""
    out: list[Term] = []
    at_hand: Term | None = None
    before: ServerLine | None = None
    for line in lines:
        if line.kind in ("follows", "leads"):
            if at_hand is not None:
                at_hand.runs_on = True
            vote = before.zxid if before is not None and before.kind == "looks" else None
            at_hand = Term(line.server, line.kind == "leads", [], vote)
            out.append(at_hand)
        elif line.kind in ("looks", "starts") and at_hand is not None:
            at_hand.ends = line.time
            at_hand = None
        if at_hand is not None:
            at_hand.lines.append(line)
        before = line
    return out


class Guided:
    """Builds a run.

    Args:
        text: the release's protocol, with room for what the lines name.
        lines: of all servers. disks: by server, what is on them in the end.

    Attributes:
        words: the steps of the run. at: the line that is looked at. barren: terms without a packet, left out.
    """

    def __init__(
        self, text: ReleaseProtocol, lines: ServerLines, disks: Mapping[int, Disk], end: Deadline | None = None
    ) -> None:  # fmt: skip
        self.text, self.disks, self.end = text, disks, end
        self.servers = lines.servers
        self.index = {server: p for p, server in enumerate(self.servers)}
        self.n = len(self.servers)
        self.actions = {name: k for k, name in enumerate(text.actions)}
        self.s: Unbounded = text.begin()
        self.words: list[int] = []
        self.at: ServerLine | None = None
        self.room = [0] * (4 * text.most_steps + 1)
        self.barren: list[Term] = []
        self.terms = {server: terms_of(lines.main[server]) for server in self.servers}
        self.pair_syncs(lines)
        left_out = {id(line) for term in self.barren for line in term.lines}
        self.main = {n: [line for line in lines.main[n] if id(line) not in left_out] for n in self.servers}
        self.term_of = {id(t.lines[0]): t for terms in self.terms.values() for t in terms}
        self.order = [line for line in lines.all_of() if id(line) not in left_out]
        self.finals = [[self.own(z) for z in disks[n].log] for n in self.servers]
        self.debug: dict[tuple[str, int], int] = {}  # by kind and epoch: the last zxid
        for line in lines.transactions:
            key = line.kind, line.zxid >> 32
            self.debug[key] = max(self.debug.get(key, 0), self.own(line.zxid))
        self.next = dict.fromkeys(self.servers, 0)
        self.done: set[int] = set()
        self.started: set[int] = set()
        self.doing: set[int] = set()

    # --- what belongs together ----------------------------------------------------------------------

    def pair_syncs(self, lines: ServerLines) -> None:
        """Assign each line that synchronizes a learner to the learner's term, and to its leader's, by time."""
        taken: set[int] = set()
        for line in [line for line in lines.all_of() if line.kind == "syncs"]:
            of_learner = self.terms.get(line.learner, [])
            term = next(
                (t for t in of_learner if not t.leads and id(t) not in taken and (not t.ends or t.ends >= line.time)),
                None,
            )
            if term is not None:
                taken.add(id(term))
                term.sync = line
            own = [t for t in self.terms[line.server] if t.leads and t.lines[0].time <= line.time]
            if own:
                own[-1].syncs.append(line)
        self.barren = [t for terms in self.terms.values() for t in terms if t.is_barren]

    def leader_of(self, sync: ServerLine) -> int:
        return self.index[sync.server]

    # --- steps ---------------------------------------------------------------------------------------

    def take(self, word: int) -> None:
        """Take a step that is possible.

        Raises:
            NoRun: it is not.
            OutOfTime: too many steps were taken, or the time is over.
        """
        if len(self.words) > MOST_STEPS:
            raise OutOfTime(f"more than {MOST_STEPS:,} steps")
        if self.end is not None and not len(self.words) & 63 and self.end.over():
            raise OutOfTime("the time is over")
        after = self.after(self.s, word)
        if after is None:
            raise NoRun(f"step {word:#x} is not possible")
        self.s = after
        self.words.append(word)

    def after(self, s: Unbounded, word: int) -> Unbounded | None:
        """Return the state after a step, or None if the step fails."""
        out = s.copy()
        try:
            self.text["apply"](out, word)
        except ERRORS:
            return None
        return out

    def is_possible(self, word: int) -> bool:
        self.text["enabled"](self.s, self.room)
        return word in self.room[1 : self.room[0] + 1]

    def act(self, p: int, name: str) -> None:
        k = self.actions[name]
        if not self.text["may_act"](self.s, p, k):
            raise NoRun(f"server {self.servers[p]} cannot take the step '{name}': {self.where(p)}")
        self.take(ACTION << 24 | p << 16 | k)

    def receive(self, f: int) -> None:
        """Let a learner read its next packet."""
        s = self.s
        if s.role[f] != FOLLOWING or not len(s.to_follower[f]) or not self.text["may_receive"](s, f):
            raise NoRun(f"server {self.servers[f]} has no packet to read: {self.where(f)}")
        self.take(TO_FOLLOWER << 24 | f << 16 | s.leader[f] << 8)

    def hear(self, l: int, f: int) -> None:
        """Let a leader read the next packet of a learner."""
        s = self.s
        if s.role[l] != LEADING or s.link[f][l] not in (OPEN, LOST, LEADER_OPEN) or not len(s.to_leader[f][l]):
            raise NoRun(f"server {self.servers[l]} has no packet of server {self.servers[f]} to read")
        if not self.text["receivable"](s, l, f, s.to_leader[f][l][0]):
            raise NoRun(f"server {self.servers[l]} does not read from server {self.servers[f]} yet")
        self.take(TO_LEADER << 24 | l << 16 | f << 8)

    def where(self, p: int) -> str:
        """Return where a server is, in words."""
        s = self.s
        if self.text["is_down"](s, p):
            return f"server {self.servers[p]} is down"
        role = ("looks for a leader", "follows", "leads")[s.role[p]]
        whom = f" server {self.servers[s.leader[p]]}" if s.role[p] == FOLLOWING else ""
        log = f"logged up to {self.real(self.last_logged(p)):#x}, applied up to {self.real(s.last_processed[p]):#x}"
        return f"server {self.servers[p]} {role}{whom} in epoch {s.term[p]} ({PHASES[s.phase[p]]}), {log}"

    def real(self, zxid: int) -> int:
        return zxid // self.text.width << 32 | zxid % self.text.width

    def own(self, zxid: int) -> int:
        """Return a servers' zxid as the protocol writes it; -1: it has no room for it."""
        epoch, counter = zxid >> 32, zxid & 0xFFFFFFFF
        return epoch * self.text.width + counter if epoch <= self.text.epochs and counter < self.text.width else -1

    def last_logged(self, p: int) -> int:
        count = len(self.s.log[p])
        return int(self.s.log[p][count - 1]) if count else 0

    def target(self, p: int) -> int:
        """Return the zxid that the server's next vote, start, or its disk in the end has."""
        server = self.servers[p]
        for line in self.main[server][self.next[server] :]:
            if line.kind in ("looks", "loaded"):
                return self.own(line.zxid)
        log = self.disks[server].log
        return self.own(log[-1]) if log else 0

    # --- going on ------------------------------------------------------------------------------------

    def run(self) -> None:
        """Build the run.

        Raises:
            NoRun: no run was built; `at` is the line.
            OutOfTime: too many steps, or the time is over.
        """
        for line in self.order:
            self.reach(line)
        self.at = None
        for p in range(self.n):
            if self.s.role[p] == LEADING and self.s.phase[p] == SERVING:
                self.at_debug(p)
        for p in range(self.n):
            self.bring_to_disk(p)

    def reach(self, line: ServerLine) -> None:
        """Take all steps up to a line, and those of earlier lines of its server."""
        if id(line) in self.done:
            return
        if line.kind == "syncs":
            self.once(line)
            return
        while id(line) not in self.done:
            self.advance(line.server)

    def advance(self, server: int) -> None:
        """Take the steps of a server's next line.

        Raises:
            NoRun: its log ends before.
        """
        lines, k = self.main[server], self.next[server]
        if k >= len(lines):
            raise NoRun(f"the log of server {server} has no more lines")
        self.once(lines[k])

    def once(self, line: ServerLine) -> None:
        if id(line) in self.doing:
            raise NoRun(f"{line.told()}: it would have to come before itself")
        self.doing.add(id(line))
        before, self.at = self.at, line
        name = "see_" + line.kind.replace(" ", "_").lower()
        getattr(self, name)(line, self.index[line.server])
        self.doing.discard(id(line))
        self.done.add(id(line))
        self.at = before
        if line.kind != "syncs":
            self.next[line.server] += 1

    def advance_to(self, server: int, line: ServerLine) -> None:
        """Bring a server up to a line, without it."""
        while self.main[server][self.next[server] : self.next[server] + 1] != [line]:
            self.advance(server)

    # --- lines ---------------------------------------------------------------------------------------

    def see_starts(self, line: ServerLine, p: int) -> None:
        if line.server in self.started:
            loaded = next((x for x in self.main[line.server][self.next[line.server] :] if x.kind == "loaded"), None)
            self.crash(p, self.own(loaded.zxid) if loaded is not None else None)
            self.take(RECOVER << 24 | p << 16)
        self.started.add(line.server)

    def see_loaded(self, line: ServerLine, p: int) -> None:
        if self.s.last_processed[p] != self.own(line.zxid):
            raise NoRun(f"in the model, {self.where(p)}")

    def see_looks(self, line: ServerLine, p: int) -> None:
        z = self.own(line.zxid)
        if self.s.role[p] != LOOKING:
            self.end_term(p, z)
        if not self.text["may_vote"](self.s, p):
            raise NoRun(f"server {line.server} refuses to start, with what is on its disk")
        if self.s.last_processed[p] != z:
            raise NoRun(f"in the model, {self.where(p)}")

    def see_leads(self, line: ServerLine, l: int) -> None:
        term, electors = self.term_of[id(line)], 0
        for sync in term.syncs:
            f = self.index[sync.learner]
            follower = next((t for t in self.terms[sync.learner] if t.sync is sync), None)
            if follower is None or id(follower.lines[0]) in self.done:
                continue
            self.advance_to(sync.learner, follower.lines[0])
            self.free(f, l)
            electors |= 1 << f
            word = ELECT << 24 | l << 16 | electors
            if self.is_possible(word):
                self.take(word)
                return
        raise NoRun(f"no server elects server {line.server}: {'; '.join(self.where(p) for p in range(self.n))}")

    def see_follows(self, line: ServerLine, f: int) -> None:
        sync = self.term_of[id(line)].sync
        if sync is None:
            raise NoRun(f"no leader synchronizes server {line.server} in this term")
        l = self.leader_of(sync)
        if self.s.role[f] == FOLLOWING and self.s.leader[f] == l:
            return
        own = next((t for t in self.terms[sync.server] if sync in t.syncs), None)
        if own is None:
            raise NoRun(f"server {sync.server} does not lead when it synchronizes server {line.server}")
        if id(own.lines[0]) not in self.done and id(own.lines[0]) not in self.doing:
            self.reach(own.lines[0])
        if self.s.role[f] == FOLLOWING and self.s.leader[f] == l:
            return
        self.free(f, l)
        word = JOIN << 24 | f << 16 | l << 8
        if self.s.role[f] != LOOKING or not self.is_possible(word):
            raise NoRun(f"server {line.server} cannot join server {sync.server}: {self.where(f)}; {self.where(l)}")
        self.take(word)

    def free(self, f: int, l: int) -> None:
        """Let a leader learn that an old connection is lost."""
        link = self.s.link[f][l]
        if link == LEADER_OPEN or link == LOST:
            if self.s.role[l] == LEADING:
                self.take(LEADER_LEARNS << 24 | l << 16 | f << 8)

    def see_syncs(self, line: ServerLine, l: int) -> None:
        f = self.index.get(line.learner, -1)
        term = next((t for t in self.terms.get(line.learner, []) if t.sync is line), None)
        if f < 0 or term is None:
            raise NoRun(f"server {line.learner} has no term for it")
        first = term.lines[0]
        if id(first) not in self.doing:
            self.reach(first)
        if not (self.s.role[f] == FOLLOWING and self.s.leader[f] == l):
            raise NoRun(f"server {line.learner} does not follow: {self.where(f)}")
        if self.s.phase[f] == EPOCH_ACKED and not len(self.s.to_leader[f][l]) and len(self.s.to_follower[f]):
            return  # it was synchronized with the learner whose ACKEPOCH completed the quorum
        if self.s.phase[f] == REGISTERED:
            self.hear_others(l, f, REGISTERED)
            self.receive(f)
        if self.s.phase[f] != EPOCH_ACKED:
            raise NoRun(f"server {line.learner} does not acknowledge the epoch: {self.where(f)}")
        last = self.own(line.values[2])
        own = next((t for t in self.terms[line.server] if line in t.syncs), None)
        serves = next((x for x in own.lines if x.kind == "serves"), None) if own else None
        if self.s.phase[l] != SERVING and self.s.last_processed[l] != last and serves is not None:
            self.reach(serves)
        if self.s.phase[l] == SERVING:
            snapshot = next((x for x in term.lines if x.kind == "snapshot"), None)
            if snapshot is not None and snapshot.zxid > line.values[2]:  # the learner applies more before NEWLEADER
                self.commit(l, self.own(snapshot.zxid))
            self.commit_to(l, last)
            outstanding = self.visible_end(f)
            while self.s.last_proposed[l] < outstanding and outstanding // self.text.width == self.s.term[l]:
                self.propose(l)
        self.hear(l, f)
        while self.s.phase[l] == AWAITING_EPOCH_ACKS:
            g = next((g for g in self.learners(l) if self.s.phase[g] in (REGISTERED, EPOCH_ACKED)), None)
            if g is None:
                raise NoRun(f"no quorum acknowledges the epoch of server {line.server}: {self.where(l)}")
            if self.s.phase[g] == REGISTERED:
                self.hear_others(l, g, REGISTERED)
                self.receive(g)
            self.hear(l, g)

    def learners(self, l: int) -> list[int]:
        """Return the learners of a leader, those whose packets it has not read first."""
        s = self.s
        mine = [f for f in range(self.n) if s.role[f] == FOLLOWING and s.leader[f] == l]
        return [f for f in mine if s.phase[f] == REGISTERED or len(s.to_leader[f][l])]

    def hear_others(self, l: int, f: int, phase: int) -> None:
        """Let a leader read what learners in a phase have sent, until one of them (`f`) has a packet to read."""
        for g in (f, *self.learners(l)):
            if not len(self.s.to_follower[f]) and self.s.phase[g] == phase and len(self.s.to_leader[g][l]):
                self.hear(l, g)

    def term_with(self, line: ServerLine) -> Term:
        """Return the term that has a line.

        Raises:
            NoRun: none has it, as no line before it says that the server leads or follows.
        """
        for term in self.terms[line.server]:
            if line in term.lines:
                return term
        raise NoRun(f"{line.told()}: it is in no term")

    def see_got_sync(self, line: ServerLine, f: int) -> None:
        term = self.term_with(line)
        if term.sync is None:
            raise NoRun(f"no leader synchronizes server {line.server} in this term")
        self.reach(term.sync)
        if not len(self.s.to_follower[f]):
            raise NoRun(f"server {line.server} is sent nothing: {self.where(f)}")
        m = self.s.to_follower[f][0]
        want = line.kind.removeprefix("got ")
        zxid = m.get("zxid")
        if m.kind.name != want or zxid is None or self.real(zxid) != line.zxid:
            number = "" if zxid is None else f" {self.real(zxid):#x}"
            raise NoRun(f"instead, server {term.sync.server} sends {m.kind.name}{number}")
        self.receive(f)

    see_got_diff = see_got_snap = see_got_trunc = see_got_sync

    def see_got_newleader(self, line: ServerLine, f: int) -> None:
        while self.s.phase[f] == SYNCING:
            self.receive(f)

    def see_snapshot(self, line: ServerLine, p: int) -> None:
        if self.s.role[p] == FOLLOWING:
            self.see_got_newleader(line, p)
            self.act(p, AT_NEWLEADER[0])

    def see_epoch(self, line: ServerLine, f: int) -> None:
        self.see_got_newleader(line, f)
        while self.s.current_epoch[f] != line.zxid:
            self.work(f, AT_NEWLEADER[:3])

    def see_acknowledged(self, line: ServerLine, f: int) -> None:
        self.see_got_newleader(line, f)
        while self.s.phase[f] != WAITING:
            self.work(f, AT_NEWLEADER)

    def work(self, f: int, names: tuple[str, ...] = AT_NEWLEADER) -> None:
        """Take the next step of a learner's work on NEWLEADER."""
        for name in names:
            if self.text["may_act"](self.s, f, self.actions[name]):
                self.act(f, name)
                return
        raise NoRun(f"server {self.servers[f]} has nothing to do for NEWLEADER: {self.where(f)}")

    def see_got_uptodate(self, line: ServerLine, f: int) -> None:
        if self.s.phase[f] != WAITING:
            self.see_acknowledged(line, f)
        l = self.s.leader[f]
        own = next((t for t in reversed(self.terms[self.servers[l]]) if t.leads and id(t.lines[0]) in self.done), None)
        serves = next((x for x in own.lines if x.kind == "serves"), None) if own else None
        if self.s.phase[l] != SERVING and serves is not None:
            self.reach(serves)
        while f in self.s.unsettled[l]:
            self.hear(l, f)
        while self.s.phase[f] == WAITING:
            self.receive(f)

    def see_serves(self, line: ServerLine, l: int) -> None:
        term = self.term_with(line)
        for sync in term.syncs:
            if sync.learner in line.members and sync.number < line.number:
                self.acknowledged_by(sync)
                f = self.index[sync.learner]
                if f in self.s.unsettled[l]:
                    self.hear(l, f)
        for sync in term.syncs:
            if id(sync) not in self.done and sync.values[2] < line.zxid:  # what it then had was not <e,0> yet
                self.reach(sync)
        if self.s.phase[l] == TO_WRITE_OWN_EPOCH:
            self.act(l, "write own currentEpoch")
        if self.s.phase[l] != AWAITING_ACKS:
            raise NoRun(f"server {line.server} does not wait for NEWLEADER's acknowledgements: {self.where(l)}")
        if not line.members <= {self.servers[p] for p in self.s.new_leader_acks[l]}:
            who = sorted(self.servers[p] for p in self.s.new_leader_acks[l])
            raise NoRun(f"in the model, NEWLEADER is acknowledged by {who}")
        self.act(l, "startZkServer")
        if self.real(self.s.last_processed[l]) != line.zxid:
            raise NoRun(f"in the model, it serves with {self.real(self.s.last_processed[l]):#x}")

    def acknowledged_by(self, sync: ServerLine) -> None:
        """Bring a learner up to its acknowledgement of NEWLEADER."""
        term = next((t for t in self.terms[sync.learner] if t.sync is sync), None)
        if term is None:
            return
        for line in term.lines:
            if line.kind == "got UPTODATE":
                break
            self.reach(line)
        f = self.index[sync.learner]
        while self.s.role[f] == FOLLOWING and self.s.phase[f] == SYNCING:
            self.receive(f)
        while self.s.role[f] == FOLLOWING and TO_SNAPSHOT <= self.s.phase[f] <= TO_ACK:
            self.work(f)

    # --- transactions --------------------------------------------------------------------------------

    def propose(self, l: int) -> None:
        self.act(l, PROPOSES)

    def may_get(self, f: int, z: int) -> bool:
        """Return whether a learner's leader can send it the next proposal, up to a zxid."""
        s, l = self.s, self.s.leader[f]
        if s.role[l] != LEADING or s.phase[l] != SERVING or f not in s.forwarding[l] or s.link[f][l] != OPEN:
            return False
        return bool(s.last_proposed[l] < z and z // self.text.width == s.term[l])

    def progress(self, p: int, z: int) -> bool:
        """Take one step towards having logged up to a zxid; return whether there was one."""
        s = self.s
        if s.role[p] == FOLLOWING:
            if len(s.to_follower[p]) and self.text["may_receive"](s, p):
                m = s.to_follower[p][0]
                if m.kind.name == "CLOSED" or (m.kind.name == "PROPOSAL" and m.zxid > z):
                    return self.write_queued(p)
                self.receive(p)
                return True
            if self.write_queued(p):
                return True
            if self.may_get(p, z):
                self.propose(s.leader[p])
                return True
            return False
        if s.role[p] == LEADING and s.phase[p] == SERVING:
            if self.write_queued(p):
                return True
            if s.last_proposed[p] < z and z // self.text.width == s.term[p]:
                self.propose(p)
                return True
        return False

    def write_queued(self, p: int) -> bool:
        if len(self.s.sync_queue[p]):
            self.act(p, SYNCS)
            return True
        return False

    def forward_all(self, l: int) -> None:
        """Let a leader propose what its learners will be seen to have."""
        s = self.s
        if s.role[l] != LEADING or s.phase[l] != SERVING:
            return
        self.at_debug(l)
        s = self.s
        for f in range(self.n):
            if f != l and f in s.forwarding[l] and s.link[f][l] == OPEN:
                z = self.target(f)
                while self.may_get(f, z):
                    self.propose(l)

    def at_debug(self, l: int) -> None:
        """Let a leader propose and commit what logs at DEBUG have of its epoch."""
        self.commit_at_debug(l)
        z = self.debug.get(("proposes", self.s.term[l]), 0)
        while self.s.last_proposed[l] < z:
            self.propose(l)

    def commit_at_debug(self, l: int, most: int | None = None) -> None:
        """Let a leader commit what logs at DEBUG have of its epoch, up to a zxid: later there may be no quorum."""
        z = self.debug.get(("commits", self.s.term[l]), 0)
        if most is not None:
            z = min(z, most)
        if self.s.role[l] == LEADING and self.s.phase[l] == SERVING and z // self.text.width == self.s.term[l]:
            self.hear_all(l, z)
            self.commit(l, z)

    def hear_all(self, l: int, z: int) -> None:
        """Let a leader read acknowledgements up to a commit, also of learners that have left."""
        while len(self.s.sync_queue[l]) and self.s.sync_queue[l][0] <= z:
            self.act(l, SYNCS)
        for f in range(self.n):
            while self.s.last_committed[l] < z and f in self.s.looping[l] and self.may_hear(l, f):
                self.hear(l, f)

    def may_hear(self, l: int, f: int) -> bool:
        """Return whether a leader can read a packet of a learner."""
        s = self.s
        if s.link[f][l] not in (OPEN, LOST, LEADER_OPEN) or not len(s.to_leader[f][l]):
            return False
        return bool(self.text["receivable"](s, l, f, s.to_leader[f][l][0]))

    def has_received(self, p: int, z: int) -> bool:
        """Return whether a server has logged, or queued for its log, all up to a zxid."""
        queue = self.s.sync_queue[p]
        return self.last_logged(p) >= z or bool(len(queue) and queue[len(queue) - 1] >= z)

    def end_term(self, p: int, z: int) -> None:
        """End a server's term so that it then votes with a zxid."""
        if self.s.role[p] == LEADING:
            self.forward_all(p)
        elif self.s.role[p] == FOLLOWING:
            self.commit_at_debug(self.s.leader[p], z)
        if (
            self.s.role[p] == FOLLOWING
            and self.s.phase[p] == SERVING
            and (logged := self.hole_behind(p))
            and self.last_logged(p) <= logged < z
        ):
            self.apply_unlogged(p, z, logged)
        while True:
            s = self.s
            l = s.leader[p]
            lost = s.role[p] == FOLLOWING and s.link[p][l] in (LOST, FOLLOWER_OPEN)
            word = (FOLLOWER_LEARNS << 24 | p << 16 | l << 8) if lost else TIMEOUT << 24 | p << 16
            after = self.after(s, word)
            if after is not None and after.last_processed[p] == z:
                self.take(word)
                return
            if not self.progress(p, z):
                ends = "fails" if after is None else f"leaves it with {self.real(after.last_processed[p]):#x}"
                raise NoRun(f"the end of its term {ends}: {self.where(p)}")
            while not self.has_received(p, z) and self.progress(p, z):
                pass  # what comes before that ends in no term with that zxid

    def crash(self, p: int, z: int | None) -> None:
        """Kill a server so that it then loads a zxid."""
        if self.s.role[p] == LEADING:
            self.forward_all(p)
        elif self.s.role[p] == FOLLOWING and z is not None:
            self.commit_at_debug(self.s.leader[p], z)
        while True:
            after = self.after(self.s, CRASH << 24 | p << 16)
            again = None if after is None else self.after(after, RECOVER << 24 | p << 16)
            if again is not None and (z is None or again.last_processed[p] == z):
                self.take(CRASH << 24 | p << 16)
                return
            if z is None or not self.progress(p, z):
                starts = "fails" if again is None else f"loads {self.real(again.last_processed[p]):#x}"
                raise NoRun(f"a start of server {self.servers[p]} {starts}: {self.where(p)}")
            while self.last_logged(p) < z and self.progress(p, z):
                pass

    def visible_end(self, f: int) -> int:
        """Return the zxid up to which a learner logs in this term, if its disk shows that and its next vote does not.

        In some releases a learner logs what it receives before NEWLEADER without applying it. If it votes with less
        then, the next term logs the same transactions again: the log in the end goes back there. Else 0.
        """
        final = self.finals[f]
        own = list(self.s.log[f])
        k = len(own)
        if final[:k] != own or k >= len(final):
            return 0
        last = final[k]
        for z in final[k + 1 :]:
            if z <= last:
                return last if last > self.target(f) else 0
            last = z
        return 0

    def hole_behind(self, f: int) -> int:
        """Return the zxid behind which a server's log in the end leaves some of the epoch out, or 0.

        In some releases a term's end drops what waits for the log, also what is applied.
        """
        final = self.finals[f]
        k = len(self.s.log[f])
        if final[:k] != list(self.s.log[f]):
            return 0
        k = max(k, 1)
        for a, b in zip(final[k - 1 :], final[k:], strict=False):
            later = b > a and b % self.text.width == 1 and b // self.text.width > a // self.text.width
            if b != a + 1 and not later:
                return a if b > a + 1 and b // self.text.width == a // self.text.width else 0
        return 0

    def apply_unlogged(self, f: int, z: int, logged: int) -> None:
        """Let a learner apply up to a zxid, and log less."""
        l = self.s.leader[f]
        if self.s.role[l] == LEADING and self.s.phase[l] == SERVING and self.s.link[f][l] == OPEN:
            self.commit(l, z, without=f)
        while self.s.last_processed[f] < z:
            if len(self.s.sync_queue[f]) and self.s.sync_queue[f][0] <= logged:
                self.act(f, SYNCS)
            elif len(self.s.to_apply[f]):
                self.act(f, COMMITS)
            else:
                self.receive(f)

    def bring_to_disk(self, p: int) -> None:
        """Log what is on a server's disk in the end."""
        z = self.target(p)
        while self.last_logged(p) < z and self.progress(p, z):
            pass

    def commit_to(self, l: int, z: int) -> None:
        """Let a leader have applied up to a zxid, and no more."""
        self.commit(l, z)
        while self.s.last_processed[l] < z and len(self.s.to_apply[l]):
            self.act(l, COMMITS)
        if self.s.last_processed[l] != z:
            raise NoRun(f"in the model, {self.where(l)}")

    def commit(self, l: int, z: int, without: int = -1) -> None:
        """Let a leader commit up to a zxid, by acknowledgements of learners that will be seen to have it.

        Args:
            without: a learner that does not log for it.
        """
        if self.s.last_committed[l] >= z:
            return
        while self.s.last_proposed[l] < z:
            self.propose(l)
        while len(self.s.sync_queue[l]) and self.s.sync_queue[l][0] <= z:
            self.act(l, SYNCS)
        for f in range(self.n):
            if f in (l, without) or self.s.last_committed[l] >= z or not self.can_log(f, l, z):
                continue
            while self.last_logged(f) < z and self.progress(f, z):
                pass
            while self.s.last_committed[l] < z and len(self.s.to_leader[f][l]) and f in self.s.looping[l]:
                self.hear(l, f)
        if self.s.last_committed[l] < z:
            raise NoRun(f"no quorum acknowledges {self.real(z):#x}: {self.where(l)}")

    def can_log(self, f: int, l: int, z: int) -> bool:
        """Return whether a learner may log up to a zxid, by what its next lines have."""
        s = self.s
        if f not in s.forwarding[l] or s.role[f] != FOLLOWING or s.link[f][l] != OPEN or self.target(f) < z:
            return False
        if 0 < self.hole_behind(f) < z:
            return False  # its log in the end does not have it
        if s.phase[f] != SERVING:
            server = self.servers[f]
            ahead = self.main[server][self.next[server] :]
            for line in ahead:
                if line.kind in ("looks", "starts"):
                    return False
                if line.kind == "got UPTODATE":
                    self.reach(line)
                    break
        return bool(self.s.phase[f] == SERVING)
