"""Search for runs of a release's protocol that explain a record: the possible states after each observation.

Steps that are not observed are taken as late as possible, and only by the server observed next: a server's steps read
and write its own fields, receive what was seen to be sent to it, and send. So whatever it does before its next packet
may as well be done just before that. A packet may be received once it has been seen, and is sent at the latest when it
is seen.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from traces.zookeeper.conform.record import Observation, Record
from traces.zookeeper.conform.unbounded import ERRORS, Msg, ReleaseProtocol, Unbounded
from zabspec.language.layout.bytecode import global_names, instructions_in
from zabspec.worlds.connections import FOLLOWER_OPEN, LEADER_OPEN, LOST, NONE, OPEN
from zabspec.worlds.steps import (
    ACTION,
    CRASH,
    ELECT,
    FOLLOWER_LEARNS,
    JOIN,
    LEADER_LEARNS,
    LOSE_CONNECTION,
    RECOVER,
    TIMEOUT,
    TO_FOLLOWER,
    TO_LEADER,
)
from zabspec.zookeeper.state import FOLLOWING, LEADING, LOOKING, SERVING, WAITING

LOOKAHEAD = 12  # observations by which a leader's proposal is ahead of its first packet, at most
LAG = 16  # transactions by which a commit thread is behind, at most
STALLED = 1000  # the same of a sync thread, whose disk may stall
SOON = 25  # observations within which a leader whose term ends has closed all its connections
MOST_STATES = 100_000  # looked at for one observation
MOST_ENDS = 2_000  # states that explain a record up to some place
NEVER = "log write fails"
UNSEEN = "WRITTEN"  # what the text puts into a channel, and no connection carries
SYNCHRONIZES = ("DIFF", "TRUNC", "SNAP")
PROPOSE, COMMITS, SYNCS, STALE = "propose", "commit thread", "sync thread", "sync thread of an earlier term"
SNAPS = "send SNAP"


class TooMany(Exception):
    """The search would have to look at more states than allowed."""


@dataclass(frozen=True, eq=False)
class Node:
    """A state, and the steps that lead to it from the parent node."""

    state: Unbounded
    parent: Node | None = None
    words: tuple[int, ...] = ()
    at: int = -1

    def run(self) -> list[int]:
        """Return all steps from the initial state."""
        return [w for _, words in self.run_by_observation() for w in words]

    def run_by_observation(self) -> list[tuple[int, tuple[int, ...]]]:
        """Return all steps from the initial state, by the position of the observation that they lead up to."""
        pieces: list[tuple[int, tuple[int, ...]]] = []
        node = self
        while node.parent is not None:
            pieces.append((node.at, node.words))
            node = node.parent
        return pieces[::-1]


@dataclass
class Failure:
    """The failure to explain an observation.

    Attributes:
        instead: what the model could have sent in its place. states: those that explain all before it.
        beforehand: why nothing explains it, whatever the protocol does; empty if only the protocol does not.
    """

    observation: Observation
    instead: set[str] = field(default_factory=set)
    states: list[Unbounded] = field(default_factory=list)
    beforehand: str = ""


Skip = Callable[[Unbounded, int], bool]  # whether a step need not be looked at
Goal = Callable[[Unbounded], bool | None]  # it is reached; it cannot be any more; neither


class Asides:
    """Packets that the protocol leaves out: one ACK(<e,0>) behind UPTODATE per connection, with the leader's epoch."""

    def __init__(self) -> None:
        self.epochs: dict[int, int] = {}
        self.awaited: set[int] = set()

    def has(self, o: Observation) -> bool:
        """Return whether a packet is one of them."""
        of_epoch = o.connection in self.awaited and o.zxid == self.epochs.get(o.connection, -1) << 32
        return of_epoch and o.kind == "ACK" and bool(o.up)

    def passes(self, o: Observation) -> None:
        """Update the state with a packet of the record."""
        if self.has(o):
            self.awaited.discard(o.connection)
        elif o.kind == "LEADERINFO":
            self.epochs[o.connection] = o.zxid >> 32
        elif o.kind == "UPTODATE":
            self.awaited.add(o.connection)


class RecordSearch:
    """A search for a run of the model that sends the packets of a record.

    It leaves out no state within the limits above, so that it refutes what it does not explain.

    Attributes:
        nodes: the states that explain the record so far. unjudged: lines of packets to an end that is closed, which the
            model does not send.
    """

    def __init__(self, record: Record, text: ReleaseProtocol) -> None:
        self.record, self.text = record, text
        self.n = len(record.servers)
        self.index = {server: p for p, server in enumerate(record.servers)}
        self.names = {
            name: text[name]
            for name in (
                "apply", "may_act", "may_receive", "receivable", "may_vote", "may_lead", "may_join", "may_elect",
                "is_down", "is_smallest_quorum", "may_time_out",
            )
        }  # fmt: skip
        places = text.places
        self.up, self.down = places["to_leader"].base, places["to_follower"].base
        self.unseen_up, self.unseen_down = places["unseen_up"].base, places["unseen_down"].base
        self.link, self.connection = places["link"].base, places["connection"].base
        self.acts = [(k, name) for k, name in enumerate(text.actions) if name != NEVER]
        self.snaps = text.actions.index(SNAPS)
        self.nodes = [Node(text.begin())]
        self.started: set[int] = set()
        self.gone: set[int] = set()  # those that were killed, and not started since
        self.dying: set[int] = set()
        self.opened: dict[int, tuple[int, int]] = {}
        self.over: set[tuple[int, int]] = set()
        self.asides = Asides()
        self.looked = self.position = 0
        self.unjudged: set[int] = set()
        self.widest = 1
        self.instead: set[str] = set()
        self.proposed_at, self.last_named = self.named()
        self.drains = drains_first(text["end_running"])
        self.at_hand = 0  # the connection of the packet that is looked at
        self.sent_down: dict[int, list[int]] = {}
        for k, o in enumerate(record.observations):
            if o.what == "packet" and not o.up:
                self.sent_down.setdefault(o.connection, []).append(k)
        self.closed_at: dict[tuple[int, int], int] = {}
        for k, o in enumerate(record.observations):
            if o.what in ("closed", "lost"):
                for n in [o.by] if o.what == "closed" else record.servers:
                    self.closed_at.setdefault((o.connection, n), k)

    def named(self) -> tuple[dict[int, int], dict[int, int]]:
        """Return the position where each proposal is first sent, and the last counter of each epoch.

        Positions count only packets of the leader of the proposal's epoch; counters count wherever they are named. A
        packet between a DIFF, TRUNC or SNAP and NEWLEADER was sent with the former.

        Returns:
            Position by zxid; counter by epoch.
        """
        first: dict[int, int] = {}
        last: dict[int, int] = {}
        led: dict[int, int] = {}
        began: dict[int, int] = {}
        for k, o in enumerate(self.record.observations):
            for z in zxids_of(o):
                last[z >> 32] = max(last.get(z >> 32, 0), z & 0xFFFFFFFF)
            if o.what != "packet" or o.up:
                continue
            if o.kind == "LEADERINFO":
                led[o.connection] = o.zxid >> 32
            elif o.kind in SYNCHRONIZES:
                began[o.connection] = k
            elif o.kind == "NEWLEADER":
                began.pop(o.connection, None)
            elif o.kind == "PROPOSAL" and led.get(o.connection) == o.zxid >> 32:
                first[o.zxid] = min(first.get(o.zxid, k), began.get(o.connection, k))
        return first, last

    # --- steps -------------------------------------------------------------------------------------

    def take(self, s: Unbounded, word: int) -> Unbounded | None:
        """Return the state after a step, or None if the step meets a run-time error."""
        kind, a, b = word >> 24 & 255, word >> 16 & 255, word >> 8 & 255
        is_snap = kind == ACTION and word & 255 == self.snaps
        out = s.copy()
        self.looked += 1
        try:
            self.names["apply"](out, word)
        except ERRORS:
            return None
        before, after, n = s.slots, out.slots, self.n
        for f in range(n):
            if before[self.down + f] is not after[self.down + f]:
                took = kind == TO_FOLLOWER and a == f
                self.sent(before, after, self.down + f, self.unseen_down + f, took)
                if ((kind == TO_LEADER and b == f) or is_snap) and not self.may_be_seen(s, out, f, a):
                    return None
        if kind == TO_LEADER and b in out.answered[a] and not self.may_begin(s, out, b, a):
            return None
        for k in range(n * n):
            if before[self.up + k] is not after[self.up + k]:
                took = kind == TO_LEADER and k == b * n + a
                self.sent(before, after, self.up + k, self.unseen_up + k, took)
            if after[self.link + k] == NONE:
                after[self.connection + k] = 0
        return out

    def sent(self, before: list[Any], after: list[Any], channel: int, unseen: int, took: bool) -> None:
        """Count the messages that a step put into a channel as not yet seen."""
        more = len(after[channel]) - (len(before[channel]) - took)
        after[unseen] = after[unseen] + more if more >= 0 else min(after[unseen], len(after[channel]))

    def may_be_seen(self, s: Unbounded, out: Unbounded, f: int, l: int) -> bool:
        """Return whether a serving leader's answer to a learner's ACKEPOCH can match the packets seen later.

        If the current packet is on that connection itself, the answer is True: the search then reports what the model
        has.
        """
        c, unseen = s.connection[f][l], s.slots[self.unseen_down + f]
        if s.phase[l] != SERVING or unseen or c == self.at_hand or s.slots[self.down + f]:
            return True
        if f not in s.answered[l] and s.slots[self.up + f * self.n + l][0].kind.name != "ACKEPOCH":
            return True
        ahead = self.sent_down.get(c, [])
        first = bisect_left(ahead, self.position)
        for m, k in zip(out.slots[self.down + f], ahead[first:], strict=False):
            if not is_packet(self.text, m, self.record.observations[k], s.term[l]):
                return False
        return True

    def may_begin(self, s: Unbounded, out: Unbounded, f: int, l: int) -> bool:
        """Return whether a leader that serves has chosen a SNAP, and begun to forward, as it is observed to.

        Behind that SNAP comes what is behind the zxid at which it began. As above, the connection of the current packet
        is left out.
        """
        if f in s.answered[l] or s.phase[l] != SERVING:
            return True
        kind, applied = self.transfer_ahead(s, f, l)
        return kind == "SNAP" and applied in (-1, out.peer_last[l][f]) if kind else True

    def transfer_ahead(self, s: Unbounded, f: int, l: int) -> tuple[str, int]:
        """Return the kind of a serving leader's next transfer to a learner, as it is observed later, and its last zxid.

        The zxid is what the leader has applied when it chooses; -1 if that is not known. Nothing is returned for the
        connection of the current packet.
        """
        c = s.connection[f][l]
        ahead = self.sent_down.get(c, [])
        first = None
        for k in ahead[bisect_left(ahead, self.position) :] if c != self.at_hand else ():
            o = self.record.observations[k]
            if first is None and o.kind in SYNCHRONIZES:
                first = o
                if o.kind != "SNAP":
                    return o.kind, zxid_in(self.text, o.zxid) if o.kind == "DIFF" else -1
            elif first is not None and o.kind in ("PROPOSAL", "NEWLEADER"):
                return "SNAP", zxid_in(self.text, o.zxid) - 1 if o.kind == "PROPOSAL" else zxid_in(
                    self.text, first.zxid
                )
        return "", -1

    def own_steps(self, s: Unbounded, p: int, ends: bool) -> Iterator[int]:
        """Yield the steps that a server may take by itself, or with messages that were seen to be sent to it.

        Args:
            s: the state.
            p: the server's process.
            ends: include the steps in which it learns that a connection is lost.
        """
        if self.names["is_down"](s, p):
            return
        slots, n, role = s.slots, self.n, s.role[p]
        if role == FOLLOWING:
            l = s.leader[p]
            if len(slots[self.down + p]) > slots[self.unseen_down + p] and self.names["may_receive"](s, p):
                yield TO_FOLLOWER << 24 | p << 16 | l << 8
            if ends and s.link[p][l] in (LOST, FOLLOWER_OPEN) and self.names["may_receive"](s, p):
                yield FOLLOWER_LEARNS << 24 | p << 16 | l << 8
        elif role == LEADING:
            if (only := self.must_go_on(s, p) or self.must_apply(s, p)) is not None:
                yield only
                return
            for f in range(n):
                link = s.link[f][p]
                if link in (OPEN, LOST, LEADER_OPEN):
                    if self.may_read(s, p, f):
                        yield TO_LEADER << 24 | p << 16 | f << 8
                    if ends and link != OPEN:
                        yield LEADER_LEARNS << 24 | p << 16 | f << 8
        for k, name in self.acts:
            if self.names["may_act"](s, p, k) and (name != PROPOSE or self.may_propose(s, p)):
                yield ACTION << 24 | p << 16 | k

    def may_read(self, s: Unbounded, l: int, f: int) -> bool:
        """Return whether a leader may read what was observed of a learner.

        That its handler continues is no choice (`must_go_on`).
        """
        at = f * self.n + l
        waiting = s.slots[self.up + at]
        if len(waiting) <= s.slots[self.unseen_up + at] or waiting[0].kind.name == UNSEEN:
            return False
        return bool(self.names["receivable"](s, l, f, waiting[0]))

    def must_go_on(self, s: Unbounded, l: int) -> int | None:
        """Return the step in which a leader queues NEWLEADER for a learner, if it is due; else None.

        It is due once everything has been sent that is observed before it, and before the leader sends that learner
        anything else. A NEWLEADER that the record lacks is never due.
        """
        for f in range(self.n):
            waiting = s.slots[self.up + f * self.n + l]
            if not waiting or waiting[0].kind.name != UNSEEN or f not in s.forwarding[l]:
                continue
            ahead = self.sent_down.get(s.connection[f][l], [])
            first = bisect_left(ahead, self.position)
            if s.link[f][l] == OPEN and first + s.slots[self.unseen_down + f] < len(ahead):
                o = self.record.observations[ahead[first + s.slots[self.unseen_down + f]]]
                if o.kind == "NEWLEADER":
                    return TO_LEADER << 24 | l << 16 | f << 8
        return None

    def is_left_out(self, leaves_out: Skip | None, s: Unbounded, w: int) -> bool:
        """Return whether a step may be left out; a step that a leader must take may not."""
        if leaves_out is None or not leaves_out(s, w):
            return False
        return w not in (self.must_go_on(s, w >> 16 & 255), self.must_apply(s, w >> 16 & 255))

    def must_apply(self, s: Unbounded, l: int) -> int | None:
        """Return the step in which a leader with one unread ACKEPOCH applies a transaction, if it is due; else None.

        What it has applied when it chooses the transfer may as well be applied at once: no other server sees it.
        """
        if s.phase[l] != SERVING or not s.to_apply[l]:
            return None
        waiting = self.greeted(s, l)
        if len(waiting) != 1 or waiting[0] in s.answered[l]:
            return None
        if self.transfer_ahead(s, waiting[0], l)[1] < s.to_apply[l][0]:
            return None
        return ACTION << 24 | l << 16 | self.text.actions.index(COMMITS)

    def may_propose(self, s: Unbounded, l: int) -> bool:
        """Return whether a proposal is named in the record, and soon if it is in a packet."""
        zxid = s.last_proposed[l] + 1
        epoch, counter = divmod(zxid, self.text.width)
        seen = self.proposed_at.get(epoch << 32 | counter)
        if seen is not None:
            return seen <= self.position + LOOKAHEAD
        return bool(counter <= self.last_named.get(epoch, 0))

    def closure(
        self, node: Node, servers: Iterable[int], goal: Goal, ends: bool = False,
        more: Callable[[Unbounded], Iterable[int]] | None = None, leaves_out: Skip | None = None,
    ) -> list[Node]:  # fmt: skip
        """Return the states that reach a goal by steps of some servers, with a shortest way to each.

        A state that reaches the goal is not expanded.

        Raises:
            TooMany: more states than allowed.
        """
        said = goal(node.state)
        if said is not None:
            return [node] if said else []
        servers = tuple(servers)
        seen = {node.state.key()}
        ahead: list[tuple[Unbounded, tuple[int, ...]]] = [(node.state, ())]
        out: list[Node] = []
        while ahead:
            behind: list[tuple[Unbounded, tuple[int, ...]]] = []
            for s, words in ahead:
                steps = [w for p in servers for w in self.own_steps(s, p, ends)]
                if more is not None:
                    steps += more(s)
                for w in steps:
                    if self.is_left_out(leaves_out, s, w):
                        continue
                    after = self.take(s, w)
                    if after is None:
                        continue
                    key = after.key()
                    if key in seen:
                        continue
                    seen.add(key)
                    said = goal(after)
                    if said:
                        out.append(Node(after, node, (*words, w)))
                    elif said is None:
                        behind.append((after, (*words, w)))
                if len(seen) > MOST_STATES:
                    raise TooMany(f"more than {MOST_STATES:,} states for one observation")
            ahead = behind
        return out

    # --- observations ------------------------------------------------------------------------------

    def see(self, o: Observation, position: int) -> Failure | None:
        """Advance all nodes by an observation.

        Raises:
            TooMany: more states than allowed.
        """
        self.position = position
        self.at_hand = o.fields.get("connection", 0)
        self.instead = set()
        if o.what == "kills":
            self.dying.add(o.server)
        if self.contradiction(o) is not None:
            return Failure(o, set(), [node.state for node in self.nodes])
        how = getattr(self, f"see_{o.what}", None)
        if how is None:
            return None
        found: dict[tuple[Any, ...], Node] = {}
        for node in self.nodes:
            for after in how(node, o):
                key = after.state.key()
                if key not in found:
                    found[key] = after if after is node else replace(after, at=position)
        if not found:
            return Failure(o, self.instead, [node.state for node in self.nodes])
        found = self.kept(found)
        if len(found) > MOST_ENDS:
            raise TooMany(f"more than {MOST_ENDS:,} states explain the record up to line {o.number}")
        self.nodes = list(found.values())
        self.widest = max(self.widest, len(self.nodes))
        if o.what == "starts":
            self.started.add(o.server)
            self.gone.discard(o.server)
        if o.what == "killed":
            self.dying.discard(o.server)
            self.gone.add(o.server)
        if o.what == "packet":
            self.asides.passes(o)
            self.opened.setdefault(o.connection, self.ends_of(o))
        if o.what in ("closed", "lost"):
            self.over.update((o.connection, n) for n in ([o.by] if o.what == "closed" else self.record.servers))
        return None

    def kept(self, found: dict[tuple[Any, ...], Node]) -> dict[tuple[Any, ...], Node]:
        """Return the states to go on from."""
        return found

    def contradiction(self, o: Observation) -> str | None:
        """Return how an observation contradicts earlier ones of the record, or None.

        No run explains such an observation, whatever the model does.
        """
        if o.what == "killed" and o.server not in self.dying:
            return f"server {o.server} was not killed"
        if o.what == "kills" and o.server in self.gone:
            return f"server {o.server} was not started"
        if o.what in ("closed", "lost") and self.opened.get(o.connection, self.ends_of(o)) != self.ends_of(o):
            return f"connection {o.connection} is of other servers"
        if o.what != "packet":
            return None
        server, ends = o.follower if o.up else o.leader, self.opened.get(o.connection)
        if server not in self.started:
            return f"server {server} was not started"
        if (o.connection, server) in self.over:
            return f"connection {o.connection} was closed before, by server {server} or by the network"
        if ends is None:
            return (
                None
                if o.kind == "FOLLOWERINFO" and o.up
                else f"connection {o.connection} was opened by no FOLLOWERINFO"
            )
        if ends != self.ends_of(o):
            return f"connection {o.connection} is of other servers"
        return f"connection {o.connection} has had its FOLLOWERINFO" if o.kind == "FOLLOWERINFO" else None

    def ends_of(self, o: Observation) -> tuple[int, int]:
        return self.index[o.follower], self.index[o.leader]

    def see_packet(self, node: Node, o: Observation) -> list[Node]:
        (f, l), s = self.ends_of(o), node.state
        if self.asides.has(o):
            return [node]
        if s.connection[f][l] != o.connection:
            if o.up and o.kind == "FOLLOWERINFO":
                return self.registered(node, o, f, l)
            self.unjudged.add(o.number)
            return [node]
        link = s.link[f][l]
        if link == (FOLLOWER_OPEN if o.up else LEADER_OPEN):
            self.unjudged.add(o.number)  # who it is for has closed, and the text drops what is sent
            return [node]
        sender = f if o.up else l
        channel, unseen = self.places_of(o, f, l)

        def goal(state: Unbounded) -> bool | None:
            slots = state.slots
            if slots[unseen]:
                return self.is_first(state, o, channel, unseen, l)
            return False if state.link[f][l] != link else None

        skip = self.pointless(s, o, sender)
        found = self.closure(node, (sender,), goal, leaves_out=skip)
        if not found and skip is not None and (o.kind in SYNCHRONIZES or self.greeted(s, sender)):
            skip = None
            found = self.closure(node, (sender,), goal)
        return [self.settled(self.passed(n, channel, unseen), sender) for n in self.laziest(found, sender, skip)]

    def places_of(self, o: Observation, f: int, l: int) -> tuple[int, int]:
        """Return the slot index of a packet's channel, and that of its count of unseen messages."""
        at = f * self.n + l
        return (self.up + at, self.unseen_up + at) if o.up else (self.down + f, self.unseen_down + f)

    def is_first(self, s: Unbounded, o: Observation, channel: int, unseen: int, l: int) -> bool:
        """Return whether the first message sent and not yet seen is this packet."""
        slots = s.slots
        first: Msg = slots[channel][len(slots[channel]) - slots[unseen]]
        if is_packet(self.text, first, o, s.term[l]):
            return True
        self.instead.add(self.said(first))
        return False

    def said(self, m: Msg) -> str:
        """Return a message in words."""
        zxid = m.get("zxid")
        said = [m.kind.name] + ([f"{self.real(zxid):#x}"] if zxid is not None else [])
        return " ".join(said + [f"{name}={value}" for name, value in m.fields if name not in ("zxid", "tree")])

    def real(self, zxid: int) -> int:
        """Return a zxid of the protocol as the servers write it."""
        return zxid // self.text.width << 32 | zxid % self.text.width

    def pointless(self, s: Unbounded, o: Observation, sender: int) -> Skip | None:
        """Return a predicate for steps that cannot matter to a packet of a serving server, or None.

        A follower's ACK needs what it logs, and what it receives until that is queued. Of a leader only `propose` sends
        a PROPOSAL to learners that it forwards to, only counting an acknowledgement sends a COMMIT, only reading from a
        learner sends its LEADERINFO and UPTODATE; NEWLEADER comes by itself (`must_go_on`). But while a leader has an
        ACKEPOCH to read, what matters to that transfer may matter: packets to two learners may be seen in another
        order than they were sent in.
        """
        last, queue = zxid_in(self.text, o.zxid), self.text.places["sync_queue"].base + sender
        syncs, proposes, commits = (self.text.actions.index(name) for name in (SYNCS, PROPOSE, COMMITS))
        if s.phase[sender] == WAITING and o.up and o.kind == "ACK":  # there is nothing to apply before UPTODATE
            return lambda t, w: (
                w & 255 == commits if w >> 24 == ACTION else w >> 24 == TO_FOLLOWER and last in t.slots[queue]
            )

        def of_this_learner(_: Unbounded, w: int) -> bool:
            return w >> 24 != TO_LEADER or w >> 8 & 255 != self.index[o.follower]

        if o.kind == "NEWLEADER":
            return of_this_learner
        if s.phase[sender] != SERVING:
            return None
        if o.up:
            return (
                (
                    lambda t, w: (
                        (w >> 24 == ACTION and (w & 255 != syncs or t.slots[queue][0] > last))
                        or (w >> 24 == TO_FOLLOWER and last in t.slots[queue])
                    )
                )
                if (o.kind == "ACK")
                else None
            )
        f = self.index[o.follower]
        if o.kind in SYNCHRONIZES:
            return self.pointless_to_transfer(o, sender, f)
        if o.kind in ("LEADERINFO", "UPTODATE"):
            return of_this_learner
        if f not in s.forwarding[sender] or o.kind not in ("PROPOSAL", "COMMIT"):
            return None
        ahead = [self.pointless_to_greeted(s, sender, g) for g in self.greeted(s, sender)]
        if None in ahead:
            return None
        others = [skip for skip in ahead if skip is not None]

        def leaves_out(t: Unbounded, w: int) -> bool:
            if w >> 24 == ACTION:
                return w & 255 != syncs or bool(t.slots[queue][0] > last)
            which = w >> 8 & 255
            return which in t.looping[sender] and bool(t.slots[self.up + which * self.n + sender][0].zxid > last)

        def proposes_alone(t: Unbounded, w: int) -> bool:
            """And before it UPTODATE may be sent to another learner, which is forwarded it too."""
            return w & 255 != proposes if w >> 24 == ACTION else (w >> 8 & 255) in t.looping[sender]

        own = proposes_alone if o.kind == "PROPOSAL" else leaves_out
        return (lambda t, w: own(t, w) and all(skip(t, w) for skip in others)) if others else own

    def pointless_to_greeted(self, s: Unbounded, l: int, f: int) -> Skip | None:
        """Return a predicate for steps that cannot matter to the transfer to a learner whose ACKEPOCH was seen."""
        for k in self.sent_down.get(s.connection[f][l], []):
            o = self.record.observations[k]
            if k >= self.position and o.kind in SYNCHRONIZES:
                return self.pointless_to_transfer(o, l, f)
        return None

    def pointless_to_transfer(self, o: Observation, l: int, f: int) -> Skip | None:
        """Return a predicate for steps that cannot matter to a DIFF, TRUNC or SNAP, or None.

        Before NEWLEADER a leader sends what it had proposed when it synchronised the learner, and what it had committed
        of that; anything beyond comes later. What it removes from toBeApplied before is not sent once more.
        """
        proposed = committed = zxid_in(self.text, o.zxid)
        for later in self.record.observations[self.position + 1 :]:
            if later.what in ("closed", "lost") and later.connection == o.connection:
                return None
            if later.what != "packet" or later.connection != o.connection or later.up:
                continue
            if later.kind == "NEWLEADER":
                break
            zxid = zxid_in(self.text, later.zxid)
            proposed = max(proposed, zxid)
            committed = max(committed, zxid) if later.kind == "COMMIT" else committed
        else:
            return None
        queue = self.text.places["sync_queue"].base + l
        syncs, proposes, commits = (self.text.actions.index(name) for name in (SYNCS, PROPOSE, COMMITS))

        def leaves_out(t: Unbounded, w: int) -> bool:
            if w >> 24 == TO_LEADER:
                which = w >> 8 & 255
                return which != f and which in t.looping[l] and bool(t.last_committed[l] >= committed)
            if w >> 24 != ACTION:
                return False
            return bool(
                (w & 255 == proposes and t.last_proposed[l] >= proposed)
                or (w & 255 == commits and t.last_processed[l] >= committed and not self.text["has_applied"](t, l))
                or (w & 255 == syncs and t.slots[queue][0] > committed)
            )

        return leaves_out

    def greeted(self, s: Unbounded, l: int) -> list[int]:
        """Return the learners whose ACKEPOCH was seen that a leader has not read, or has not sent the SNAP for."""
        out = []
        for f in range(self.n):
            at = f * self.n + l
            seen = s.slots[self.up + at][: len(s.slots[self.up + at]) - s.slots[self.unseen_up + at]]
            if f in s.answered[l] or any(m.kind.name == "ACKEPOCH" for m in seen):
                out.append(f)
        return out

    def passed(self, node: Node, channel: int, unseen: int) -> Node:
        """Return the node after its packet has been observed, with what follows it unobserved."""
        s = node.state.copy()
        slots = s.slots
        slots[unseen] -= 1
        while slots[unseen] and slots[channel][len(slots[channel]) - slots[unseen]].kind.name == UNSEEN:
            slots[unseen] -= 1
        return Node(s, node.parent, node.words) if node.parent is not None and node not in self.nodes else Node(s, node)

    def laziest(self, found: list[Node], p: int, leaves_out: Skip | None) -> list[Node]:
        """Drop nodes from which others differ only by more steps of the same server."""
        if len(found) < 2:
            return found
        out: list[Node] = []
        reached: set[tuple[Any, ...]] = set()
        for node in sorted(found, key=lambda n: len(n.words)):
            if node.state.key() in reached:
                continue
            out.append(node)
            ahead = [node.state]
            for _ in range(8):
                behind = []
                for s in ahead:
                    for w in self.own_steps(s, p, False):
                        after = None if self.is_left_out(leaves_out, s, w) else self.take(s, w)
                        if after is not None and (key := after.key()) not in reached and len(reached) < 2000:
                            reached.add(key)
                            behind.append(after)
                ahead = behind
        return out

    def settled(self, node: Node, p: int) -> Node:
        """Take steps that cannot matter, and those that cannot wait any longer.

        The former are ACKs that Leader.processAck ignores, the latter those of threads that are too many transactions
        behind.
        """
        s, words = node.state, list(node.words)
        while (w := self.overdue(s, p)) is not None:
            after = self.take(s, w)
            if after is None:
                break
            s = after
            words.append(w)
        return node if s is node.state else Node(s, node.parent, tuple(words))

    def overdue(self, s: Unbounded, p: int) -> int | None:
        if s.role[p] == LEADING:
            for f in s.looping[p]:
                at = f * self.n + p
                waiting = s.slots[self.up + at]
                if len(waiting) > s.slots[self.unseen_up + at] and s.link[f][p] in (OPEN, LOST, LEADER_OPEN):
                    m = waiting[0]
                    if m.kind.name == "ACK" and m.zxid <= s.last_committed[p]:
                        return int(TO_LEADER << 24 | p << 16 | f << 8)
        for name, field_name, lag in ((COMMITS, "to_apply", LAG), (SYNCS, "sync_queue", STALLED)):
            if len(getattr(s, field_name)[p]) > lag and not (name == SYNCS and self.may_stay_unlogged(s, p)):
                return int(ACTION << 24 | p << 16 | self.text.actions.index(name))
        return None

    def may_stay_unlogged(self, s: Unbounded, p: int) -> bool:
        """Return whether more transactions may wait for the log than threads may otherwise be behind.

        This holds for releases in which the end of a term does not log the queue: NEWLEADER queues all of a DIFF at
        once.
        """
        return not self.drains and bool(s.phase[p] != SERVING)

    # --- connections -------------------------------------------------------------------------------

    def registered(self, node: Node, o: Observation, f: int, l: int) -> list[Node]:
        """See a FOLLOWERINFO over a new connection: the follower has elected, or joined, that leader."""
        at = f * self.n + l
        channel, unseen = self.up + at, self.unseen_up + at

        def goal(s: Unbounded) -> bool | None:
            if s.link[f][l] == OPEN and s.connection[f][l] == 0 and s.slots[unseen]:
                return self.is_first(s, o, channel, unseen, l)
            return None

        def elections(s: Unbounded) -> Iterator[int]:
            if self.names["is_down"](s, f) or s.role[f] != LOOKING or not self.names["may_vote"](s, f):
                return
            if s.link[f][l] == NONE and self.names["may_join"](s, l):
                yield JOIN << 24 | f << 16 | l << 8
            may_lead = self.names["may_vote"](s, l) and self.names["may_lead"](s, l)
            if not self.names["is_down"](s, l) and s.role[l] == LOOKING and may_lead:
                for quorum in range(2**self.n):
                    if self.names["is_smallest_quorum"](s, l, quorum) and self.names["may_elect"](s, l, quorum):
                        yield ELECT << 24 | l << 16 | quorum  # or one that has elected it before f joins

        def time_passes(s: Unbounded) -> Iterator[int]:
            yield from elections(s)
            for p in (f, l):
                if not self.names["is_down"](s, p) and s.role[p] != LOOKING and s.connection[f][l] != 0:
                    yield TIMEOUT << 24 | p << 16

        def returns(s: Unbounded) -> Iterator[int]:
            """Yield further steps of a leader that continues to lead: reading this learner's messages, giving it up."""
            yield from elections(s)
            if s.role[l] == LEADING and s.link[f][l] in (LOST, LEADER_OPEN):
                yield LEADER_LEARNS << 24 | l << 16 | f << 8
                if self.may_read(s, l, f):
                    yield TO_LEADER << 24 | l << 16 | f << 8

        s = node.state
        ending = [p for p in (f, l) if s.role[p] != LOOKING and not self.names["is_down"](s, p)]
        ending = [p for p in ending if p == f or s.role[p] == FOLLOWING or not self.has_open(s, p)]
        skips = [skip for p in ending if (skip := self.drained(s, p)) is not None]

        def leaves_out(state: Unbounded, w: int) -> bool:
            return any(skip(state, w) for skip in skips)

        found = self.from_ends(node, f, ending, goal, returns, leaves_out)
        found = found or self.closure(node, ending, goal, True, returns, leaves_out)
        found = found or self.closure(node, (f, l), goal, ends=True, more=elections)
        found = found or self.closure(node, (f, l), goal, ends=True, more=time_passes)
        out = []
        for n in self.voting(found, f):
            seen = self.passed(n, channel, unseen)
            seen.state.slots[self.connection + at] = o.connection
            out.append(seen)
        return out

    def from_ends(
        self, node: Node, f: int, ending: list[int], goal: Goal, more: Callable[[Unbounded], Iterable[int]],
        leaves_out: Skip,
    ) -> list[Node]:  # fmt: skip
        """Return the states that reach a goal after the end of a follower's term with the vote that the record names.

        Returns:
            Empty if no such follower is among `ending`.
        """
        s = node.state
        if f not in ending or s.role[f] != FOLLOWING or not self.outlives(s, f) or (zxid := self.next_vote(f)) is None:
            return []
        rest = [p for p in ending if p != f]
        return [
            replace(n, parent=node, words=(*ended.words, *n.words))
            for ended in self.cut_short(node, f, zxid)
            for n in self.closure(ended, rest, goal, True, more, leaves_out)
        ]

    def see_closed(self, node: Node, o: Observation) -> list[Node]:
        """See that one side has closed a connection: its term has ended, or a leader has given up one learner."""
        (f, l), p = self.ends_of(o), self.index[o.by]
        if o.by in self.dying or node.state.connection[f][l] != o.connection:
            return [node]
        at = f * self.n + l
        closed = (NONE, LEADER_OPEN) if p == f else (NONE, FOLLOWER_OPEN)
        unseen = self.unseen_down + f

        def goal(s: Unbounded) -> bool | None:
            if s.link[f][l] in closed or s.connection[f][l] == 0:
                return True
            if p == l and s.slots[unseen]:
                waiting = s.slots[self.down + f]
                first = waiting[len(waiting) - s.slots[unseen]]
                if first.kind.name == "CLOSED":
                    return True
            return None

        def endings(s: Unbounded) -> Iterator[int]:
            if self.names["is_down"](s, p) or s.role[p] == LOOKING:
                return
            if s.link[f][l] == OPEN and p == l:
                yield LOSE_CONNECTION << 24 | f << 16 | l << 8
            if p == f or self.closes_all(s, l):
                yield TIMEOUT << 24 | p << 16

        def of_this_one(s: Unbounded, w: int) -> bool:
            """Return whether a leader's step may come later; reading from learner f, or losing it, may not."""
            kinds = (TO_LEADER, LEADER_LEARNS, LOSE_CONNECTION)
            return w >> 24 not in kinds or (w >> 24 != LOSE_CONNECTION and w >> 8 & 255 != f)

        def goes_on(s: Unbounded) -> bool | None:
            return False if s.role[l] != LEADING else goal(s)

        if p == f and self.outlives(node.state, f) and (zxid := self.next_vote(f)) is not None:
            found = self.cut_short(node, f, zxid)
        elif p == f:
            found = self.closure(node, (p,), goal, ends=True, more=endings, leaves_out=self.drained(node.state, p))
        else:
            found = self.laziest(self.closure(node, (p,), goes_on, True, endings, of_this_one), p, of_this_one)
            if node.state.role[l] == LEADING and self.closes_all(node.state, l):
                skip = None if self.has_open(node.state, l) else self.drained(node.state, l)
                found += self.closure(node, (p,), lambda s: True if s.role[l] != LEADING else None, True, endings, skip)
        out = []
        for n in self.voting(found, p):
            s = n.state
            if s.connection[f][l] == o.connection and s.slots[self.link + at] not in closed:  # CLOSED has come
                n = self.passed(n, self.down + f, unseen)
            out.append(n)
        return out

    def outlives(self, s: Unbounded, f: int) -> bool:
        """Return whether a serving follower's queue outlives its term.

        In releases in which the end of a term brings the tree up to the log, another thread logs the queue, or it is
        logged later.
        """
        called = global_names(self.text["end_running"].__code__)
        return bool(s.phase[f] == SERVING) and "fast_forward" in called and not self.drains

    def cut_short(self, node: Node, f: int, zxid: int) -> list[Node]:
        """Return the ends of a follower's term after which it votes with a given zxid.

        What it has received, applied and logged are independent; so each is tried in that order. Where it has logged up
        to that zxid, what it has applied does not matter; else it has applied up to there.
        """
        l = node.state.leader[f]
        receive = TO_FOLLOWER << 24 | f << 16 | l << 8
        applies, logs = (ACTION << 24 | f << 16 | self.text.actions.index(name) for name in (COMMITS, SYNCS))
        ends = (FOLLOWER_LEARNS << 24 | f << 16 | l << 8, TIMEOUT << 24 | f << 16)
        found: dict[tuple[Any, ...], Node] = {}

        def end(s: Unbounded, words: tuple[int, ...]) -> None:
            word = ends[0] if s.link[f][l] in (LOST, FOLLOWER_OPEN) else ends[1]
            after = self.take(s, word)
            if after is not None and after.last_processed[f] == zxid:
                found.setdefault(after.key(), Node(after, node, (*words, word)))

        def chain(s: Unbounded, words: tuple[int, ...], word: int) -> Iterator[tuple[Unbounded, tuple[int, ...]]]:
            after: Unbounded | None = s
            while after is not None and after.role[f] == FOLLOWING:
                s = after
                yield s, words
                after = self.take(s, word) if word in self.own_steps(s, f, False) else None
                words = (*words, word)

        for received, words in chain(node.state, (), receive):
            for s, more in chain(received, words, logs):
                if s.log[f] and s.log[f][len(s.log[f]) - 1] >= zxid:
                    end(s, more)
                    break
            for s, more in chain(received, words, applies):
                if s.last_processed[f] >= zxid:
                    if s.last_processed[f] == zxid:
                        for last, all_of in chain(s, more, logs):
                            end(last, all_of)
                    break
        return list(found.values())

    def voting(self, found: list[Node], p: int) -> list[Node]:
        """Keep the states whose last zxid is the one that the server's next ACKEPOCH names.

        These are states in which a server looks for a leader or has just found one, and nothing changes that zxid
        before the ACKEPOCH. If none matches, all are kept, and the mismatch is reported where the ACKEPOCH is seen.
        """
        zxid = self.next_vote(p) if len(found) > 1 else None
        if zxid is None:
            return found
        at = self.text.places["last_processed"].base + p
        return [n for n in found if n.state.slots[at] == zxid] or found

    def next_vote(self, p: int) -> int | None:
        """Return the zxid of a server's next ACKEPOCH, or None if it leads or is killed before."""
        server = self.record.servers[p]
        connection = None
        for o in self.record.observations[self.position :]:
            if (o.what == "kills" and o.server == server) or (o.what == "packet" and o.leader == server and not o.up):
                return None
            if o.what == "packet" and o.follower == server and o.up:
                if o.kind == "FOLLOWERINFO" and connection is None:
                    connection = o.connection
                elif connection is not None and (o.kind != "ACKEPOCH" or o.connection != connection):
                    return None
                elif o.kind == "ACKEPOCH":
                    return zxid_in(self.text, o.zxid)
        return None

    def closes_all(self, s: Unbounded, l: int) -> bool:
        """Return whether a leader is seen to close all its connections soon, as at the end of its term."""
        for f in range(self.n):
            c = s.connection[f][l]
            if c and s.link[f][l] in (OPEN, LEADER_OPEN):
                at = self.closed_at.get((c, self.record.servers[l]))
                if at is None or at > self.position + SOON:
                    return False
        return True

    def has_open(self, s: Unbounded, l: int) -> bool:
        """Return whether a leader has a connection that is not lost."""
        return any(s.link[f][l] == OPEN for f in range(self.n))

    def drained(self, s: Unbounded, p: int) -> Skip | None:
        """Return a predicate for steps that the end of a server's term makes irrelevant, or None.

        The server serves, and is a follower or can send to nobody any more. Where the end of its term logs all that is
        queued and applies all that is logged, it does not matter whether its threads have done so before, nor whose
        acknowledgements it had read.
        """
        leads = s.role[p] == LEADING
        ends = self.text["end_leader" if leads else "end_running"]
        called = global_names(ends.__code__)
        if s.phase[p] != SERVING or "fast_forward" not in called or not drains_first(ends):
            return None
        which = {k for k, name in self.acts if name in (SYNCS, COMMITS)}

        def leaves_out(_: Unbounded, w: int) -> bool:
            if w >> 16 & 255 != p:
                return False
            return w & 255 in which if w >> 24 == ACTION else leads and w >> 24 == TO_LEADER

        return leaves_out

    def see_lost(self, node: Node, o: Observation) -> list[Node]:
        """See that the network has cut a connection: its messages that were not seen are lost."""
        (f, l), s = self.ends_of(o), node.state
        if s.connection[f][l] != o.connection or s.link[f][l] != OPEN:
            return [node]
        after = self.take(s, LOSE_CONNECTION << 24 | f << 16 | l << 8)
        return [] if after is None else [Node(after, node, (LOSE_CONNECTION << 24 | f << 16 | l << 8,))]

    # --- servers -----------------------------------------------------------------------------------

    def see_killed(self, node: Node, o: Observation) -> list[Node]:
        """See that a server was killed: it may have done anything unseen before, and its memory is lost."""
        p = self.index[o.server]
        out: dict[tuple[Any, ...], Node] = {}
        if self.names["is_down"](node.state, p):
            return [node]
        forgotten = {k for k, name in self.acts if name == COMMITS}
        serves = node.state.role[p] == LEADING and node.state.phase[p] == SERVING

        def leaves_out(_: Unbounded, w: int) -> bool:
            return w >> 24 == TO_LEADER if serves and w >> 24 != ACTION else w >> 24 == ACTION and w & 255 in forgotten

        word = CRASH << 24 | p << 16
        reached = self.everything(node, p, leaves_out)
        for n in reached:
            after = self.take(n.state, word)
            if after is not None:
                out.setdefault(after.key(), Node(after, node, (*n.words, word)))
        return self.starting_with(list(out.values()), p)

    def starting_with(self, found: list[Node], p: int) -> list[Node]:
        """Keep the states in which a dead server starts with the last zxid that is then seen; all, if none does."""
        zxid = self.next_last(p)
        if zxid is None:
            return found
        word = RECOVER << 24 | p << 16
        starts = [(n, self.take(n.state, word)) for n in found]
        return [n for n, s in starts if s is not None and s.last_processed[p] == zxid] or found

    def next_last(self, p: int) -> int | None:
        """Return the zxid with which a killed server starts, or None if the record does not show it.

        Its ACKEPOCH names it, or the first DIFF, TRUNC or SNAP that it sends as a leader before any UPTODATE.
        """
        server, started = self.record.servers[p], False
        for o in self.record.observations[self.position :]:
            if o.what == "starts" and o.server == server:
                started = True
            elif o.what == "kills" and o.server == server and started:
                return None
            elif o.what == "packet" and started and o.up and o.follower == server and o.kind == "ACKEPOCH":
                return zxid_in(self.text, o.zxid)
            elif o.what == "packet" and started and not o.up and o.leader == server:
                if o.kind in SYNCHRONIZES:
                    return zxid_in(self.text, o.zxid)
                if o.kind != "LEADERINFO":
                    return None
        return None

    def everything(self, node: Node, p: int, leaves_out: Skip) -> list[Node]:
        """Return all states that a server's own steps reach."""
        out = [Node(node.state, node, ())]

        seen = {node.state.key()}
        for n in out:
            for w in self.own_steps(n.state, p, True):
                if self.is_left_out(leaves_out, n.state, w) or (after := self.take(n.state, w)) is None:
                    continue
                if (key := after.key()) in seen:
                    continue
                seen.add(key)
                out.append(Node(after, node, (*n.words, w)))
            if len(seen) > MOST_STATES:
                raise TooMany(f"more than {MOST_STATES:,} states before server {self.record.servers[p]} is dead")
        return out

    def see_starts(self, node: Node, o: Observation) -> list[Node]:
        p = self.index[o.server]
        if not self.names["is_down"](node.state, p):
            return [node] if o.server not in self.started else []
        after = self.take(node.state, RECOVER << 24 | p << 16)
        return [] if after is None else [Node(after, node, (RECOVER << 24 | p << 16,))]

    def see_disk(self, node: Node, o: Observation) -> list[Node]:
        """Compare the state with the final contents of a disk."""
        s, p = node.state, self.index[o.server]
        log = [z for lo, hi in o.log for z in range(lo, hi + 1)]
        names = sorted({self.real(z) for z in s.snapshot_names[p]} - {0})
        pairs = (
            ("log", [self.real(z) for z in s.log[p]], log),
            ("snapshots", names, sorted(set(o.snapshots) - {0})),
            ("currentEpoch", s.current_epoch[p], max(0, o.current)),
            ("acceptedEpoch", s.accepted_epoch[p], max(0, o.accepted)),
        )
        differ = [f"{what} {shown(model)}" for what, model, real in pairs if model != real]
        if differ:
            self.instead.add(f"{', '.join(differ)}")
        return [] if differ else [node]


def drains_first(ends: Any) -> bool:
    """Return whether the end of a term logs the whole queue, before bringing the tree up to the log if it does so."""
    called = [i.argval for i in instructions_in(ends.__code__)]
    return "drain" in called and ("fast_forward" not in called or called.index("drain") < called.index("fast_forward"))


def shown(value: object) -> str:
    """Return a value as a phrase; a long list by its ends."""
    if isinstance(value, list):
        if len(value) > 6:
            return f"{value[0]:#x}..{value[-1]:#x} ({len(value)})"
        return "[" + ", ".join(f"{z:#x}" for z in value) + "]"
    return str(value)


def zxid_in(text: ReleaseProtocol, zxid: int) -> int:
    """Return a servers' zxid as the protocol writes it; -1 if the protocol has no room for it."""
    epoch, counter = zxid >> 32, zxid & 0xFFFFFFFF
    return epoch * text.width + counter if 0 <= epoch <= text.epochs and counter < text.width else -1


def is_packet(text: ReleaseProtocol, m: Msg, o: Observation, term: int) -> bool:
    """Return whether a message of the protocol is this packet."""
    if m.kind.name != o.kind:
        return False
    epoch, counter = o.zxid >> 32, o.zxid & 0xFFFFFFFF
    if o.kind == "FOLLOWERINFO":
        return bool(m.accepted == epoch) and not counter
    if o.kind == "LEADERINFO":
        return bool(m.epoch == epoch) and not counter
    if o.kind == "NEWLEADER":
        return term == epoch and not counter
    if o.kind == "UPTODATE":
        return bool(o.zxid == -1)
    if o.kind == "ACKEPOCH" and m.current != o.fields.get("current"):
        return False
    return bool(m.zxid == zxid_in(text, o.zxid))


def zxids_of(o: Observation) -> Iterator[int]:
    """Yield the zxids that an observation names."""
    if o.what == "packet" and o.zxid >= 0:
        yield o.zxid
    elif o.what == "disk":
        yield from (hi for _, hi in o.log)
        yield from o.snapshots
