"""The world of connections (section 8), and elections in one step (section 9)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from itertools import combinations
from typing import Any

from zabspec.second.kinds import Int, Letter, Seq
from zabspec.second.state import NODE, Field, Role, part
from zabspec.second.world import Step, World

NETWORKS = ("fifo", "lossy", "unordered", "duplicating", "stale")
UNORDERED, STALE = 2, 4
NONE, OPEN, LOST, LEADER_OPEN, FOLLOWER_OPEN = range(5)
ELECTION, FOLLOWING, LEADING = range(3)


class Election:
    """The effect of an `elect` (J4).

    Args:
        world: the model.
        leader: who is elected.
        quorum: who follows, in ascending order.
    """

    def __init__(self, world: Connections, leader: int, quorum: tuple[int, ...]) -> None:
        self.world, self.leader, self.quorum = world, leader, quorum

    def __call__(self, run: Callable[[int, Callable], None] | None = None) -> None:
        """Hold the election; `run(p, part)` runs the part of each process (S15)."""
        run = run or (lambda _, part: part())
        world, leader = self.world, self.leader
        world.spend_election()
        run(leader, lambda: world.handle("on_elected", leader))
        for f in self.quorum:
            run(f, lambda f=f: world.handle("on_follow", f, leader))


class Connections(World):
    """A model over connections."""

    BUDGETS = ("timeouts", "crashes", "losses", "partitions", "drops", "duplicates")

    def network_fields(self) -> list[Field]:
        up = Seq(self.model.messages, self.model.up).derive()
        down = Seq(self.model.messages, self.model.down).derive()
        fields = [
            part("link", Int(0, 4), Role.NETWORK, "network", NODE, NODE),
            part("to_leader", up, Role.NETWORK, "network", NODE, NODE),
            part("to_follower", down, Role.NETWORK, "network", NODE),
        ]
        if self.model.network == STALE:
            fields.append(part("stale", down, Role.NETWORK, "network", NODE, NODE))
        return fields

    def in_flight(self, s: Any) -> Iterator[Letter]:
        for f in range(self.n):
            yield from s.to_follower[f]
            for l in range(self.n):
                yield from s.to_leader[f][l]
                yield from s.stale[f][l] if self.model.network == STALE else ()

    # --- what handlers call ---

    def do_connect(self, f: int, l: int) -> None:
        """Open the connection of f to l (C3)."""
        self.process(l)
        self.leave(self.process(f))
        if self.model.network == STALE and f != l:
            self.cut(self.s.to_leader[f][l])
            for m in self.s.stale[f][l]:
                self.s.to_follower[f].append(m)
            self.s.stale[f][l].clear()
            self.cut(self.s.to_follower[f])
        else:
            self.s.to_leader[f][l].clear()
        self.s.link[f][l] = OPEN
        self.point()

    def cut(self, channel: Any) -> None:
        """Choose how many of the first messages of a channel are kept (C13)."""
        kept = self.do_choose(len(channel) + 1)
        while len(channel) > kept:
            channel.pop()

    def close_up(self, f: int, l: int) -> None:
        """Close the channel of f to l, at l's end (C13)."""
        if self.model.network != STALE or f == l:
            self.s.to_leader[f][l].clear()

    def close_down(self, f: int, l: int) -> None:
        """Close the channel to f from l, at f's end, if f has that end open (C13)."""
        if self.model.network == STALE and f != l and self.s.link[f][l] in (OPEN, LOST, FOLLOWER_OPEN):
            for m in self.s.to_follower[f]:
                self.s.stale[f][l].append(m)

    def do_send_to_leader(self, f: int, m: Letter) -> None:
        """Send m to the leader that f follows (C4)."""
        l = self.process(self.s.leader[f])
        if self.s.link[f][l] == OPEN:
            self.s.to_leader[f][l].append(m)
        self.point()

    def do_send_to_follower(self, l: int, f: int, m: Letter) -> None:
        """Send m from leader l to f (C5)."""
        if self.s.link[self.process(f)][self.process(l)] == OPEN:
            self.s.to_follower[f].append(m)
        self.point()

    def do_disconnect(self, p: int) -> None:
        """Close p's ends of all connections (C6)."""
        s, l = self.s, self.s.leader[self.process(p)]
        if l >= 0:
            self.close_down(p, l)
            s.to_follower[p].clear()
            if s.link[p][l] == FOLLOWER_OPEN or l == p or s.role[l] != LEADING:
                s.link[p][l] = NONE
                self.close_up(p, l)
            elif s.link[p][l] != NONE:
                s.link[p][l] = LEADER_OPEN
        if s.role[p] == LEADING:
            self.close_accepted(p)
        self.point()

    def leave(self, f: int) -> None:
        """Close f's end of every connection that it opened (C3)."""
        s = self.s
        for l in range(self.n):
            self.close_down(f, l)
        s.to_follower[f].clear()
        for l in range(self.n):
            if s.link[f][l] in (OPEN, LOST) and l != f and s.role[l] == LEADING:
                s.link[f][l] = LEADER_OPEN
            elif s.link[f][l] in (OPEN, LOST, FOLLOWER_OPEN):
                s.link[f][l] = NONE
                self.close_up(f, l)

    def close_accepted(self, l: int) -> None:
        """Close the leader's end of the connections of others to l (C6)."""
        for f in range(self.n):
            if f != l:
                self.close_up(f, l)
                if self.s.link[f][l] in (OPEN, LOST):
                    self.s.link[f][l] = FOLLOWER_OPEN
                elif self.s.link[f][l] == LEADER_OPEN:
                    self.s.link[f][l] = NONE

    def cut_off(self, p: int) -> None:
        self.call("disconnect", p)
        self.leave(p)
        self.close_accepted(p)

    def lose(self, f: int, l: int) -> None:
        """Lose the open connection of f to l (C7)."""
        if self.s.role[l] == LEADING:
            self.s.link[f][l] = LOST
        else:
            self.s.link[f][l] = FOLLOWER_OPEN
            self.close_up(f, l)

    # --- steps ---

    def network_steps(self) -> Iterator[Step]:
        s = self.s
        self.alive = [self.up(p) for p in range(self.n)]
        for p in range(self.n):
            if self.alive[p]:
                if s.role[p] == ELECTION:
                    yield from self.oracle_steps(p)
                else:
                    yield from self.follower_steps(p)
                    if self.has_left("timeouts") and self.ask("may_time_out", True, p):
                        effect = lambda p=p: (self.spend("timeouts"), self.handle("on_timeout", p))  # noqa: E731
                        yield Step("timeout", 7, effect, p, fails=True)
                if s.role[p] == LEADING:
                    yield from self.leader_steps(p)
        if self.has_left("partitions"):
            yield from self.partitions()
        if self.model.elects:
            yield from self.elections()

    def oracle_steps(self, p: int) -> Iterator[Step]:
        """Yield the steps in which p's oracle names a leader (1)."""
        if not self.model.elects:
            for l in range(self.n):
                if self.s.link[p][l] == NONE and self.ask("oracle_may_name", True, p, l):
                    yield Step("oracle", 1, lambda p=p, l=l: self.handle("on_oracle", p, l), p, l, fails=True)

    def reach(self, channel: Any) -> range:
        """Return the places of a channel that a receipt may take."""
        return range(len(channel) if self.model.network == UNORDERED else min(1, len(channel)))

    def follower_steps(self, f: int) -> Iterator[Step]:
        """Yield the steps at f's end."""
        s, l = self.s, self.s.leader[f]
        if l < 0:
            return
        link, channel = s.link[f][l], s.to_follower[f]
        if link in (NONE, LEADER_OPEN):
            return
        learns = link in (LOST, FOLLOWER_OPEN)
        reads = (len(channel) > 0 or learns) and self.ask("may_receive", True, f)
        if reads:
            for place in self.reach(channel):
                m = self.fixed(channel, place)
                receive = lambda k=place, m=m: self.hear(f, l, k, m)  # noqa: E731
                yield Step("to_follower", 3, receive, f, l, m, fails=True)
                if self.has_left("duplicates"):
                    again = lambda k=place, m=m: (self.spend("duplicates"), self.hear(f, l, None, m))  # noqa: E731
                    yield Step("repeat_to_follower", 15, again, f, l, m, fails=True)
            if len(channel) > 0 and self.has_left("crashes"):
                m = self.fixed(channel, 0)
                for point in range(1, self.ask("durable_points", 0, m) + 1):
                    fails = lambda k=point, m=m: self.crash_in_receipt(f, l, k, m)  # noqa: E731
                    yield Step("crash_in_receipt", 16, fails, f, l, m)
            if learns:
                yield Step("follower_learns", 5, lambda: self.handle("on_leader_lost", f), f, l, fails=True)
        if self.has_left("drops"):
            for place in range(len(channel)):
                effect = lambda k=place: (self.spend("drops"), self.s.to_follower[f].pop(k))  # noqa: E731
                yield Step("drop_to_follower", 13, effect, f, l)
        if link == OPEN and f != l and self.has_left("losses"):
            yield Step("lose_connection", 10, lambda: (self.spend("losses"), self.lose(f, l)), f, l)

    def leader_steps(self, l: int) -> Iterator[Step]:
        """Yield the steps at l's end with each follower."""
        for f in range(self.n):
            link, channel = self.s.link[f][l], self.s.to_leader[f][l]
            if link not in (OPEN, LOST, LEADER_OPEN):
                continue
            for place in self.reach(channel):
                m = self.fixed(channel, place)
                if self.ask("receivable", True, l, f, m):
                    receive = lambda f=f, k=place, m=m: self.lead(l, f, k, m)  # noqa: E731
                    yield Step("to_leader", 2, receive, l, f, m, fails=True)
                    if self.has_left("duplicates"):
                        again = lambda f=f, m=m: (self.spend("duplicates"), self.lead(l, f, None, m))  # noqa: E731
                        yield Step("repeat_to_leader", 14, again, l, f, m, fails=True)
            if self.has_left("drops"):
                for place in range(len(channel)):
                    drop = lambda f=f, k=place: (self.spend("drops"), self.s.to_leader[f][l].pop(k))  # noqa: E731
                    yield Step("drop_to_leader", 12, drop, l, f)
            if link in (LOST, LEADER_OPEN):
                yield Step("leader_learns", 4, lambda f=f: self.leader_learns(l, f), l, f, fails=True)

    def fixed(self, channel: Any, place: int) -> Letter:
        """Return a message of a channel that stays what it is (E8)."""
        m = channel[place]
        return Letter(m.__declared__, m.raw)

    def hear(self, f: int, l: int, place: int | None, m: Letter) -> None:
        """Receive m at the follower's end; without a place, it stays."""
        if place is not None:
            self.s.to_follower[f].pop(place)
        self.deliver("receive_as_follower", (f, m), m)

    def lead(self, l: int, f: int, place: int | None, m: Letter) -> None:
        """Receive m at the leader's end; without a place, it stays."""
        if place is not None:
            self.s.to_leader[f][l].pop(place)
        self.deliver("receive_as_leader", (l, f, m), m)

    def deliver(self, name: str, args: tuple, m: Letter) -> None:
        """Run the handler of a message."""
        if self.has(name):
            self.handle(name, *args)
            return
        self.point()
        receiver = self.receivers.get((len(args) + 1, m.kind))
        if receiver:
            receiver(self.s, *args)

    def crash_in_receipt(self, f: int, l: int, point: int, m: Letter) -> None:
        """Crash f at a point of its handler of the first message (F7)."""
        self.spend("crashes")
        self.point_of_receipt = point
        try:
            self.hear(f, l, 0, m)
        finally:
            self.point_of_receipt = 0
        self.crash(f)

    def leader_learns(self, l: int, f: int) -> None:
        """Let l learn that its connection with f is lost (4)."""
        self.close_up(f, l)
        self.s.link[f][l] = FOLLOWER_OPEN if self.s.link[f][l] == LOST else NONE
        self.handle("on_follower_lost", l, f)

    def may_lead(self, p: int) -> bool:
        return self.s.role[p] == LEADING

    def partitions(self) -> Iterator[Step]:
        """Yield the cuts of the network (C10)."""
        for size in range(1, self.n):
            for side in combinations(range(1, self.n), size):
                cut = [
                    (f, l)
                    for f in range(self.n)
                    for l in range(self.n)
                    if self.s.link[f][l] == OPEN and (f in side) != (l in side)
                ]
                if cut:
                    effect = lambda cut=cut: (self.spend("partitions"), [self.lose(f, l) for f, l in cut])  # noqa: E731
                    yield Step("partition", 11, effect)

    # --- elections in one step ---

    def looks(self, p: int) -> bool:
        """Whether p looks for a leader (J1)."""
        return self.alive[p] and self.s.role[p] == ELECTION and bool(self.ask("may_vote", True, p))

    def rank(self, p: int) -> tuple:
        """Return what p is ranked by."""
        return tuple(getattr(self.s, name)[p] for name in self.model.elects)

    def spend_election(self) -> None:
        """Spend one of the elections, if the protocol counts them (J3)."""
        if "elections" in self.left:
            self.spend("elections")

    def elects_alone(self, l: int, others: Collection[int]) -> bool:
        """Whether these and l are a quorum, and none without any one of the others (J2)."""
        is_quorum = self.model.size.is_quorum
        return is_quorum({l, *others}) and not any(is_quorum({l, *others} - {f}) for f in others)

    def elections(self) -> Iterator[Step]:
        """Yield the elections (J2), and those who join one (J5)."""
        s, looking = self.s, [p for p in range(self.n) if self.looks(p)]
        if "elections" not in self.left or self.has_left("elections"):
            for l in (p for p in looking if self.ask("may_lead", True, p)):
                voters = [f for f in looking if f != l and s.link[f][l] == NONE and self.rank(l) >= self.rank(f)]
                for quorum in (c for k in range(self.n) for c in combinations(voters, k)):
                    if self.elects_alone(l, quorum):
                        yield Step("elect", 27, Election(self, l, quorum), l)
        for p in looking:
            for l in range(self.n):
                if s.link[p][l] == NONE and self.alive[l] and s.role[l] == LEADING:
                    follow = [q for q in range(self.n) if self.alive[q] and s.role[q] == FOLLOWING and s.leader[q] == l]
                    if self.model.size.is_quorum({l, *follow}):
                        yield Step("join", 28, lambda p=p, l=l: self.handle("on_follow", p, l), p, l, fails=True)
