"""`tests/own/texts/ledger.py` by hand, in plain Python that shares nothing with the worlds.

Handlers are generators that stop where something lasts has been done, and a process that fails inside a step is one
whose generator is not gone on with. Connections are two ends and two queues, a disk is a forced value and the writes
since.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from itertools import combinations

LOOKING, FOLLOWING, LEADING = range(3)
Doing = Iterator[None]  # a handler under way: it goes on from one thing that lasts to the next
Part = Callable[["Ledger"], Doing]


@dataclass
class Process:
    up: bool = True
    role: int = LOOKING
    leader: int = -1
    length: int = 0
    forced: int = 0
    unforced: list[int] = field(default_factory=list)
    terms: int = 0
    copied: dict[int, int] = field(default_factory=dict)
    promised: int = 0


@dataclass
class Connection:
    """Whether the follower's end, and the leader's, are open; whether it is cut; what is on its way."""

    follower: bool = False
    leader: bool = False
    cut: bool = False
    up: list[tuple[str, int]] = field(default_factory=list)
    down: list[tuple[str, int]] = field(default_factory=list)

    @property
    def whole(self) -> bool:
        return self.follower and self.leader and not self.cut

    @property
    def over(self) -> bool:
        return not self.follower and not self.leader


class Ledger:
    """One state."""

    def __init__(self, nodes: int, variant: str, **left: int) -> None:
        self.nodes, self.variant, self.left, self.most = range(nodes), variant, left, left["writes"]
        self.at = [Process() for _ in self.nodes]
        self.link = {(f, l): Connection() for f in self.nodes for l in self.nodes}
        self.majority = nodes // 2 + 1

    def key(self) -> object:
        """All that tells states apart."""
        return (
            tuple(
                (p.up, p.role, p.leader, p.length, p.terms, tuple(sorted(p.copied.items())), p.promised)
                + ((p.forced, tuple(p.unforced)) if self.left["power_losses"] else ())
                for p in self.at
            ),
            tuple((c.follower, c.leader, c.cut, tuple(c.up), tuple(c.down)) for c in self.link.values()),
            tuple(sorted(self.left.items())),
        )

    # --- disks, connections ------------------------------------------------------------------------

    def write(self, p: int, length: int) -> None:
        mine = self.at[p]
        if length != mine.length:
            mine.unforced.append(length)
        mine.length = length

    def force(self, p: int) -> None:
        self.at[p].forced, self.at[p].unforced = self.at[p].length, []

    def send(self, f: int, l: int, way: str, message: tuple[str, int]) -> None:
        if self.link[f, l].whole:
            getattr(self.link[f, l], way).append(message)

    def close_follower(self, f: int) -> None:
        """The follower's end of what it opened closes; a leader has to learn of it."""
        l = self.at[f].leader
        if l < 0:
            return
        c = self.link[f, l]
        c.follower, c.down = False, []
        if self.at[l].role != LEADING:
            c.leader, c.up = False, []
        if c.over:
            c.cut = False

    def close_leader(self, l: int) -> None:
        """The leader's end of all that it accepted closes."""
        for f in self.nodes:
            c = self.link[f, l]
            c.leader, c.up, c.cut = False, [], False

    def disconnect(self, p: int) -> None:
        self.close_follower(p)
        if self.at[p].role == LEADING:
            self.close_leader(p)

    def forget(self, p: int) -> None:
        self.at[p].role, self.at[p].leader, self.at[p].copied = LOOKING, -1, {}

    # --- handlers ------------------------------------------------------------------------------------

    def elected(self, l: int) -> Doing:
        self.at[l].role = LEADING
        self.at[l].terms += 1
        yield
        self.force(l)
        yield
        self.at[l].promised = self.at[l].length
        yield

    def follow(self, f: int, l: int) -> Doing:
        self.at[f].role, self.at[f].leader = FOLLOWING, l
        self.at[f].terms += 1
        yield
        self.link[f, l] = Connection(True, True)
        yield
        self.send(f, l, "up", ("HELLO", 0))
        yield

    def act(self, p: int) -> Doing:
        self.write(p, self.at[p].length + 1)
        yield
        for f in self.nodes:
            if f != p:
                self.send(f, p, "down", ("WRITE", self.at[p].length))
                yield
        self.force(p)
        yield
        self.at[p].promised = self.at[p].length
        yield

    def at_leader(self, l: int, f: int, message: tuple[str, int]) -> Doing:
        if message[0] == "HELLO":
            self.send(f, l, "down", ("WRITE", self.at[l].length))
            yield
        elif message[1]:
            self.at[l].copied[f] = message[1]
        else:
            self.at[l].copied.pop(f, None)

    def at_follower(self, f: int, length: int) -> Doing:
        self.write(f, length)
        yield
        if not self.variant:
            self.force(f)
            yield
        if self.variant != "idle":
            self.at[f].promised = length
            yield
        self.send(f, self.at[f].leader, "up", ("ACK", length))
        yield
        if self.variant == "hasty":
            self.force(f)
            yield

    def gives_up(self, p: int) -> Doing:
        self.disconnect(p)
        yield
        self.forget(p)

    def nothing(self) -> Doing:
        yield from ()

    # --- failing -------------------------------------------------------------------------------------

    def crash(self, p: int) -> None:
        self.disconnect(p)
        self.close_leader(p)
        self.forget(p)
        self.at[p].up = False

    def lose_power(self, p: int, kept: int) -> None:
        mine = self.at[p]
        mine.length = mine.forced = [mine.forced, *mine.unforced][kept]
        mine.unforced = []

    def failures(self, p: int) -> Iterator[Ledger]:
        """Process p fails here, in any way there is."""
        if self.left["crashes"]:
            after = copy.deepcopy(self)
            after.left["crashes"] -= 1
            after.crash(p)
            yield after
        for kept in range(len(self.at[p].unforced) + 1 if self.left["power_losses"] else 0):
            after = copy.deepcopy(self)
            after.left["power_losses"] -= 1
            after.lose_power(p, kept)
            after.crash(p)
            yield after

    def steps(self, begin: Callable[[Ledger], None], parts: dict[int, Part]) -> Iterator[Ledger]:
        """A step in which each of some processes does its part: whole, or broken off at some point in one of them."""
        for fails in (None, *parts):
            count = 0
            while True:
                after = copy.deepcopy(self)
                begin(after)
                left = -1
                for p, part in parts.items():
                    doing = part(after)
                    if p != fails:
                        list(doing)
                        continue
                    for left in range(count, -1, -1):
                        if left and next(doing, doing) is doing:
                            break
                if fails is None:
                    yield after
                    break
                if left > 0:  # it has not so many points
                    break
                yield from after.failures(fails)
                count += 1

    # --- the steps there are ---------------------------------------------------------------------------

    def successors(self) -> Iterator[Ledger]:
        for p in self.nodes:
            mine = self.at[p]
            if not mine.up:

                def rises(s: Ledger, p: int = p) -> None:
                    s.at[p].up = True

                yield from self.steps(rises, {p: Ledger.nothing})
                continue
            yield from self.failures(p)
            if mine.role == LOOKING:
                yield from self.elections(p)
            elif mine.role == FOLLOWING:
                yield from self.as_follower(p, mine.leader)
            else:
                yield from self.as_leader(p)

    def elections(self, p: int) -> Iterator[Ledger]:
        def free(f: int, l: int) -> bool:
            return f != l and self.at[f].up and self.at[f].role == LOOKING and self.link[f, l].over

        def voted(s: Ledger) -> None:
            s.left["elections"] -= 1

        for voters in combinations(self.nodes, self.majority - 1) if self.left["elections"] else ():
            if all(free(f, p) and self.at[f].length <= self.at[p].length for f in voters):
                parts = {p: partial(Ledger.elected, l=p)} | {f: partial(Ledger.follow, f=f, l=p) for f in voters}
                yield from self.steps(voted, parts)
        for l in self.nodes:
            behind = [f for f in self.nodes if self.at[f].up and self.at[f].leader == l]
            leads = self.at[l].up and self.at[l].role == LEADING and len(behind) + 1 >= self.majority
            if leads and free(p, l):
                yield from self.steps(lambda _: None, {p: partial(Ledger.follow, f=p, l=l)})

    def as_follower(self, f: int, l: int) -> Iterator[Ledger]:
        c = self.link[f, l]
        if c.down:
            yield from self.steps(
                lambda s: s.link[f, l].down.pop(0) and None, {f: partial(Ledger.at_follower, f=f, length=c.down[0][1])}
            )
        if c.cut or not c.leader:
            yield from self.steps(lambda _: None, {f: partial(Ledger.gives_up, p=f)})
        elif self.left["losses"]:
            after = copy.deepcopy(self)
            after.left["losses"] -= 1
            if self.at[l].role == LEADING:
                after.link[f, l].cut = True
            else:
                after.link[f, l].leader, after.link[f, l].up = False, []
            yield after

    def as_leader(self, l: int) -> Iterator[Ledger]:
        for f in self.nodes:
            c = self.link[f, l]
            if not c.leader:
                continue
            if c.up:
                part = partial(Ledger.at_leader, l=l, f=f, message=c.up[0])
                yield from self.steps(lambda s, f=f: s.link[f, l].up.pop(0) and None, {l: part})
            if c.cut or not c.follower:

                def learns(s: Ledger, f: int = f) -> None:
                    c = s.link[f, l]
                    c.leader, c.up, c.cut = False, [], False

                yield from self.steps(learns, {l: partial(Ledger.gives_up, p=l)})
        if self.at[l].length < self.most and self.left["writes"]:

            def spends(s: Ledger) -> None:
                s.left["writes"] -= 1

            yield from self.steps(spends, {l: partial(Ledger.act, p=l)})

    # --- all of them -----------------------------------------------------------------------------------

    @property
    def broken(self) -> bool:
        return any(p.length < p.promised for p in self.at)


def explored(first: Ledger) -> tuple[list[int], int | None]:
    """The states of each level, and the first level with one that breaks a promise."""
    seen, level, counts = {first.key()}, [first], [1]
    broken = None
    while level:
        new: list[Ledger] = []
        for s in level:
            for after in s.successors():
                if after.key() not in seen:
                    seen.add(after.key())
                    new.append(after)
                    if after.broken and broken is None:
                        broken = len(counts)
        level = new
        if new:
            counts.append(len(new))
    return counts, broken
