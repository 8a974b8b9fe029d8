"""Forecast what can happen next: every run of the release's protocol from these disks, when a quorum is started.

The disks are a state of the `zookeeper` protocol (`folding.py`), and what follows are its own steps: the election, the
packets, what is cut and written. Nothing fails and nothing is proposed. For each smallest quorum all orders of steps
are explored, then, from each end, the fate of each server that is started later. A larger set of servers that is
started at once leads to one of these: the smallest quorum of it that hears of each other elects, the others join.
"""

from __future__ import annotations

import contextlib
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from traces.record.trace import StepWord
from traces.record.values import carried
from traces.zookeeper.audit.agree import locate, read_txn
from traces.zookeeper.audit.folding import Block, CannotFold, Folded, fold, is_dead, is_open
from traces.zookeeper.audit.starting import REFUSES, STARTS, UNKNOWN, start_of
from traces.zookeeper.disk.logs import Reader
from traces.zookeeper.disk.rules import Rules
from traces.zookeeper.disk.server import Server
from zabspec.ensemble import Ensemble
from zabspec.language.python.reference import ERRORS, StateView
from zabspec.zookeeper.state import LEADING, LOOKING, SERVING
from zabspec.zookeeper.stores import on_disk

MOST_PATHS = 8  # that are looked up
MOST_STATES = 12_000  # that are looked at, of all smallest quorums together: some ten seconds
MOST_AT_ONCE = 4_000  # the same where all servers are started together, which ends in the same outcomes
AT_ONCE = 3  # servers of which every order of steps is looked at when all are started

Ranges = list[tuple[int, int]]


@dataclass
class Change:
    """What happens to a server in an outcome.

    Attributes:
        serves: whether it serves in the end. cuts: what was on its disk, and is not in the history that is served.
        gets: what it gets from the leader. keeps: what it applies and the leader does not, so that trees differ.
        sent_whole: whether its leader sends it a whole tree (SNAP) in the model, in which no leader reads its log for
            that. vanish: nodes that others have, and its tree may lack.
        why: the reason why it does not serve.
    """

    server: str
    serves: bool = True
    cuts: Ranges = field(default_factory=list)
    gets: Ranges = field(default_factory=list)
    keeps: Ranges = field(default_factory=list)
    why: str = ""
    sent_whole: bool = False
    vanish: list[str] = field(default_factory=list)


@dataclass
class ForecastOutcome:
    """A possible outcome of starting a quorum.

    Attributes:
        started: the servers; `leader`, `epoch`, `last`: who leads, in which epoch, and the end of its history. `leader`
            is empty if nobody is elected for good.
        changes: for each of these servers. later: for each other server, when it is started afterwards.
        loses: what a quorum of the disks has and the history that is served has not. may_lose: the same of what may
            have been on a quorum once. drops: the same of all else. revives: what is served and is on no quorum.
        again: the servers with transactions of the epoch that begins: what is written in it has the same zxids.
        run: the steps that lead there, in words. steps: the same, as the model has them.
    """

    started: list[str]
    leader: str = ""
    epoch: int = 0
    last: int = 0
    changes: list[Change] = field(default_factory=list)
    later: list[Change] = field(default_factory=list)
    loses: Ranges = field(default_factory=list)
    may_lose: Ranges = field(default_factory=list)
    drops: Ranges = field(default_factory=list)
    revives: Ranges = field(default_factory=list)
    again: list[str] = field(default_factory=list)
    run: list[str] = field(default_factory=list)
    steps: list[int] = field(default_factory=list)

    @property
    def vanish(self) -> list[str]:
        """Return the nodes that other servers have, and the tree of a server lacks that serves then."""
        return sorted({path for c in (*self.changes, *self.later) for path in c.vanish})

    @property
    def led_without(self) -> bool:
        """Return whether the tree of its leader is one of these."""
        return any(c.vanish for c in self.changes if c.server == self.leader)

    @property
    def key(self) -> str:
        """Return a key of the outcome that leaves out the run that leads to it."""
        return repr((self.started, self.leader, self.epoch, self.last, self.changes, self.later))


@dataclass
class LastCopy:
    """Transactions that may have been acknowledged, and are on less than a quorum of disks."""

    lo: int
    hi: int
    servers: list[str]


@dataclass
class Forecast:
    """What can happen when the servers are started.

    Attributes:
        unknown: why nothing can be said; empty if something can.
        outcomes: all possible outcomes.
        last_copies: what may have been acknowledged, and is on less than a quorum of disks.
        states: the number of states of the model. at_once: whether every order of all servers' steps was explored.
        cut_off: whether some runs have more failed elections than were explored.
        paths: for the first transactions of ranges what they do, where a log has them.
        folded: the state of the model in which the runs begin; None if a server alone is a quorum.
    """

    release: str
    unknown: str = ""
    outcomes: list[ForecastOutcome] = field(default_factory=list)
    last_copies: list[LastCopy] = field(default_factory=list)
    states: int = 0
    at_once: bool = True
    cut_off: bool = False
    paths: dict[int, str] = field(default_factory=dict)
    folded: Folded | None = field(default=None, repr=False)

    @property
    def losing(self) -> list[ForecastOutcome]:
        """Return the outcomes that lose something that may have been acknowledged, or may lose it by later writes.

        What a follower's tree alone lacks is on the others.
        """
        return [o for o in self.outcomes if o.loses or o.may_lose or o.again or o.led_without]


def forecast_of(
    servers: Sequence[Server], numbers: dict[str, int], ensemble: Ensemble | None, ends: dict[int, int], rules: Rules,
    doubted: Sequence[str] = (), applied: int = 0, certain: bool = True,
) -> Forecast:  # fmt: skip
    """Forecast what starting these servers can come to.

    Args:
        numbers: the id of each server by its name. ensemble: who votes; None for majorities of these servers.
        ends: of an epoch the last transaction that histories go on from.
        doubted: servers that may have lost what they had. applied: the last transaction that is known to be
            applied. certain: whether the ids are known; of equal votes anybody's may win otherwise.
    """
    lone = [s for s in servers if ensemble is not None and ensemble.is_quorum(frozenset({numbers[s.name]}))]
    if lone:
        return forecast_of_lone(servers, lone, ends, rules)
    try:
        folded = fold(servers, numbers, ensemble, ends, rules, applied)
        out = ForecastSearch(folded, frozenset(doubted), applied, certain, ends).forecast()
        out.paths = paths_of(out, servers)
        return out
    except CannotFold as problem:
        return Forecast(rules.release, str(problem))


def forecast_of_lone(servers: Sequence[Server], lone: Sequence[Server], ends: dict[int, int], rules: Rules) -> Forecast:
    """Forecast starts where one server alone is a quorum: it leads with what it has, and waits for nobody.

    The model's leader waits for a second server, so that these outcomes are not its runs.
    """
    out = Forecast(rules.release)
    by = {s.name: start_of(s, rules.release, dict(rules.options)) for s in servers}
    for s in lone:
        mine = by[s.name]
        if mine.outcome == UNKNOWN:
            return Forecast(rules.release, f"{s.name}: {mine.why}")
        if mine.outcome == REFUSES:
            continue
        one = ForecastOutcome(
            [s.name], s.name, max(mine.epoch, s.epoch("acceptedEpoch", 0)) + 1, mine.zxid, [Change(s.name)]
        )
        for t in servers:
            if t is s or by[t.name].outcome != STARTS:
                continue
            apart = [(max(lo, ends.get(hi >> 32, mine.zxid) + 1), hi) for lo, hi in t.seen
                     if hi > min(mine.zxid, ends.get(hi >> 32, mine.zxid))]  # fmt: skip
            one.later.append(Change(t.name, cuts=apart))
            (one.may_lose if t in lone else one.drops).extend(r for r in apart if r not in one.may_lose + one.drops)
        out.outcomes.append(one)
    return out


def paths_of(ahead: Forecast, servers: Sequence[Server]) -> dict[int, str]:
    """Return, for a few lost or revived ranges, a description of their first transaction, by zxid."""
    found = {lo for o in ahead.outcomes for part in (o.loses, o.may_lose, o.drops, o.revives) for lo, _ in part}
    found |= {c.lo for c in ahead.last_copies}
    out: dict[int, str] = {}
    for zxid in sorted(found)[:MOST_PATHS]:
        s = next((s for s in servers if s.has(zxid)), None)
        held = locate(s, zxid, Reader(sums=False)) if s is not None else None
        txn = read_txn(s, held) if s is not None and held is not None else None
        if txn is not None:
            path = txn.fields.get("path")
            out[zxid] = f"{txn.name} {path}" if isinstance(path, str) else txn.name
    return out


class TooMany(CannotFold):
    """There are more states than are explored."""


@dataclass
class End:
    """The end of a run, and the steps to it, in words and as they are; `stays` is False for an endless loop."""

    state: StateView
    run: list[str]
    steps: list[int]
    stays: bool = True


class ForecastSearch:
    """Explores the runs from a state of the protocol."""

    def __init__(
        self, folded: Folded, doubted: frozenset[str], applied: int, certain: bool, ends: dict[int, int]
    ) -> None:
        self.folded, self.state, self.names, self.ended = folded, folded.state, folded.names, ends
        self.applied, self.certain = applied, certain
        self.nodes = len(folded.numbers)
        self.trees = {p: int(on_disk(cast(Any, self.state), p)) for p in folded.disks}
        given = {p for p in folded.disks if folded.name(p) in doubted}
        self.doubted = given | {p for p in range(self.nodes) if p not in folded.disks}
        self.states, self.most = 0, MOST_STATES
        self.cut_off = False

    def forecast(self) -> Forecast:
        """Return the forecast.

        Raises:
            CannotFold: a run leaves the bounds of the model.
        """
        out = Forecast(self.folded.release, folded=self.folded)
        known: set[str] = set()
        smallest, together = self.sets()
        for members in smallest:
            self.add_outcomes(members, out, known)
        self.most = self.states + MOST_AT_ONCE
        out.at_once = together in smallest or not out.outcomes
        if together is not None and not out.at_once:
            with contextlib.suppress(TooMany):
                self.add_outcomes(together, out, known)
                out.at_once = True
        for b in self.folded.blocks:
            have = self.holders(b.model)
            if not self.is_quorum(have) and self.may_have_been(b, have):
                names = [self.folded.name(p) for p in sorted(have)]
                last = out.last_copies[-1] if out.last_copies else None
                if last is not None and last.hi + 1 == b.lo and last.servers == names:
                    last.hi = b.hi
                else:
                    out.last_copies.append(LastCopy(b.lo, b.hi, names))
        out.states, out.cut_off = self.states, self.cut_off
        return out

    def add_outcomes(self, members: frozenset[int], out: Forecast, known: set[str]) -> None:
        """Add the outcomes of starting some servers that are not known yet.

        Raises:
            CannotFold: a run leaves the bounds of the model.
        """
        for end in self.lasting(self.ends(self.state, members), members):
            one = self.outcome(members, end)
            if one.key not in known:
                known.add(one.key)
                out.outcomes.append(one)

    def is_quorum(self, members: set[int] | frozenset[int]) -> bool:
        return bool(self.state.is_quorum(members))

    def sets(self) -> tuple[list[frozenset[int]], frozenset[int] | None]:
        """Return every smallest quorum of the servers that start; and, of up to three, all of them together."""
        able = frozenset(p for p in self.folded.disks if not self.state.refused[p])
        smallest = []
        for mask in range(1 << self.nodes):
            members = frozenset(p for p in range(self.nodes) if mask >> p & 1)
            if members <= able and self.is_quorum(members):
                if not any(self.is_quorum(members - {p}) for p in members):
                    smallest.append(members)
        return smallest, able if smallest and len(able) <= AT_ONCE else None

    def may_have_been(self, b: Block, have: set[int]) -> bool:
        """Return whether a block that less than a quorum has may once have been on a quorum.

        It may have been with the servers that may have lost it, or because it belongs to a history that is known to be
        applied. What a later epoch has left out belongs to no such history.
        """
        if not have - self.doubted:
            return False
        applied = not is_dead(b.hi, self.ended) or b.hi >> 32 == self.applied >> 32
        return self.is_quorum(have | self.doubted) or (applied and b.hi <= self.applied)

    def holders(self, zxid: int) -> set[int]:
        """Return the processes whose disks have a transaction."""
        return {p for p, tree in self.trees.items() if tree >> zxid & 1}

    # --- runs -----------------------------------------------------------------------------------------------

    def possible(self, s: StateView, members: frozenset[int]) -> list[int]:
        """Return the possible steps of these servers.

        Of equal votes the larger id wins (FastLeaderElection.totalOrderPredicate); no election includes a server while
        another is in a term. Time passes (initLimit) only where nothing else can be done and nobody serves.
        """
        out = [0] * (self.folded.model.most_steps + 1)
        self.names["enabled"](s, out)
        ended = all(s.role[p] == LOOKING for p in members)
        found, waits = [], []
        for word in out[1 : out[0] + 1]:
            step = StepWord.of(word)
            if step.process not in members:
                continue
            if step.kind == "timeout":
                waits.append(word)
                continue
            if step.kind == "elect":
                quorum = {p for p in range(self.nodes) if step.operands["quorum"] >> p & 1}
                if not ended or not quorum <= members or not all(self.wins(s, step.process, p) for p in quorum):
                    continue
            found.append(word)
        if not found and not any(s.role[p] == LEADING and s.phase[p] == SERVING for p in members):
            return waits
        return found

    def wins(self, s: StateView, l: int, f: int) -> bool:
        """Return whether l wins the comparison of two votes; where they are equal, only if ids are known."""
        if not self.certain:
            return bool(self.names["outranks"](s, l, f))
        votes = [(s.current_epoch[p], s.last_processed[p], p) for p in (l, f)]  # in totalOrderPredicate's order
        return bool(votes[0] > votes[1])

    def ends(self, start: StateView, members: frozenset[int]) -> list[End]:
        """Return where the runs of these servers end, with a shortest run to each, and one state of each endless loop.

        Raises:
            CannotFold: a run leaves the bounds of the model, or there are too many states.
        """
        first = start.key()
        found: dict[bytes, tuple[bytes, str, int]] = {first: (b"", "", 0)}
        before: dict[bytes, list[bytes]] = {}
        ahead, stopped = deque([start]), []
        while ahead:
            s = ahead.popleft()
            key, words = s.key(), self.possible(s, members)
            if not words:
                stopped.append(key)
            for word in words:
                after = s.copy()
                said = self.said(s, word)
                try:
                    self.names["apply"](after, word)
                except ERRORS as error:
                    raise CannotFold(f"a run exceeds the bounds of the model: {said} ({error})") from None
                reached = after.key()
                before.setdefault(reached, []).append(key)
                if reached not in found:
                    found[reached] = (key, said, word)
                    ahead.append(after)
                    self.states += 1
                    if self.states > self.most:
                        raise TooMany(f"there are more than {MOST_STATES:,} states to explore")
        out = [self.end_in(found, key) for key in stopped]
        ending, back = set(stopped), list(stopped)
        while back:
            for key in before.get(back.pop(), ()):
                if key not in ending:
                    ending.add(key)
                    back.append(key)
        if len(ending) < len(found):  # the first of those from which no run ends
            key = next(k for k in found if k not in ending)
            out.append(self.end_in(found, key, False))
        return out

    def lasting(self, ends: list[End], members: frozenset[int]) -> list[End]:
        """Drop failed elections that are repeated until another end is reached.

        An election failed if everything is as it was, or the run has no election left to continue with; the latter is
        reported as `cut_off`.
        """
        out, cut = [], False
        for e in ends:
            failed = e.stays and self.leader_of(e, members) is None
            if not failed or (e.state.elections_left and not self.is_as_before(e.state, members)):
                out.append(e)
            else:
                cut = cut or not self.is_as_before(e.state, members)
        self.cut_off = self.cut_off or bool(cut and out)
        return out or ends

    def leader_of(self, end: End, members: frozenset[int]) -> int | None:
        """Return the process that leads and serves in the end, or None."""
        s = end.state
        found = (p for p in members if s.role[p] == LEADING and s.phase[p] == SERVING)
        return next(found, None) if end.stays else None

    def is_as_before(self, s: StateView, members: frozenset[int]) -> bool:
        """Return whether an election here is like one at the start: votes, logs and trees are the same."""
        names = ("log", "tree", "last_processed", "current_epoch", "committed_log")
        return all(getattr(s, n)[p] == getattr(self.state, n)[p] for n in names for p in members)

    def end_in(self, found: dict[bytes, tuple[bytes, str, int]], key: bytes, stays: bool = True) -> End:
        out = End(StateView(self.folded.model.program.layout, key), [], [], stays)
        while found[key][0]:
            key, said, word = found[key]
            out.run.insert(0, said)
            out.steps.insert(0, word)
        return out

    def said(self, s: StateView, word: int) -> str:
        """Return a step in words, with real zxids."""
        step, name = StepWord.of(word), self.folded.name
        p = step.process
        assert p is not None
        o = step.operands
        if step.kind == "elect":
            others = [name(q) for q in range(self.nodes) if o["quorum"] >> q & 1]
            return f"{', '.join([*others, name(p)])} elect {name(p)}"
        if step.kind == "join":
            return f"{name(p)} joins {name(o['leader'])}"
        if step.kind == "to_leader":
            return f"{name(p)} receives {self.packet(s.to_leader[o['follower']][p][0])} of {name(o['follower'])}"
        if step.kind == "to_follower":
            return f"{name(p)} receives {self.packet(s.to_follower[p][0])} of {name(o['leader'])}"
        if step.kind in ("follower_learns", "leader_learns"):
            other = o["leader"] if step.kind == "follower_learns" else o["follower"]
            return f"{name(p)} learns that its connection to {name(other)} is closed"
        if step.kind == "timeout":
            return f"{name(p)} has waited for initLimit"
        return f"{name(p)}: {self.folded.model.program.actions[o['which']]}"

    def packet(self, message: Any) -> str:
        """Return a packet in words."""
        fields = carried(message)
        said = [str(message.kind)]
        said += [f"0x{self.folded.zxid(fields['zxid']):x}"] if "zxid" in fields else []
        said += [str(self.folded.epoch(fields[n])) for n in ("epoch", "accepted", "current") if fields.get(n, -1) >= 0]
        return " ".join(said)

    # --- the outcome of a run -------------------------------------------------------------------------------------

    def outcome(self, quorum: frozenset[int], end: End) -> ForecastOutcome:
        """Return the outcome of a run's end.

        Raises:
            CannotFold: a run leaves the bounds of the model.
        """
        s, name = end.state, self.folded.name
        out = ForecastOutcome([name(p) for p in sorted(quorum)], run=end.run, steps=end.steps)
        leader = self.leader_of(end, quorum)
        if leader is None:
            out.changes = [self.change(end, p, None) for p in sorted(quorum)]
            return out
        tree = int(s.tree[leader])
        out.leader, out.epoch = name(leader), self.folded.epoch(int(s.term[leader]))
        named = (b.hi for b in self.folded.blocks if tree >> b.model & 1 and not is_open(b.hi))
        own = self.folded.disks[leader].start.zxid if tree == self.trees[leader] else 0
        out.last = max(own, *named, 0)
        out.changes = [self.change(end, p, tree) for p in sorted(quorum)]
        for p in sorted(set(self.folded.disks) - quorum):
            if s.refused[p]:
                continue
            for after in self.ends(s, quorum | {p}):
                one = self.change(after, p, tree)
                if one not in out.later:
                    out.later.append(one)
        self.classify(out, tree)
        return out

    def change(self, end: End, p: int, tree: int | None) -> Change:
        """Return what has become of a server.

        Args:
            end: of a run.
            p: the process.
            tree: the transactions that are served; None if nobody serves.
        """
        s, ranges, name = end.state, self.folded.ranges, self.folded.name(p)
        if tree is None or s.phase[p] != SERVING:
            why = "it reaches no lasting term"
            leader = next((q for q in range(self.nodes) if s.role[q] == LEADING), None)
            if leader is not None and s.accepted_epoch[p] > s.term[leader]:
                accepted, term = (self.folded.epoch(int(e)) for e in (s.accepted_epoch[p], s.term[leader]))
                why = f"its acceptedEpoch, {accepted}, is later than the epoch of its leader, {term}"
            elif s.threw:
                why = "it stops because of a packet from its leader"
            cuts = 0 if tree is None else self.trees[p] & ~tree
            return Change(name, False, cuts=ranges(cuts & ~int(on_disk(cast(Any, s), p))), why=why)
        own = int(s.tree[p])
        out = Change(name, True, ranges(self.trees[p] & ~tree), ranges(tree & ~self.trees[p]), ranges(own & ~tree))
        out.sent_whole = any(said.startswith(f"{name} receives SNAP") for said in end.run)
        return out

    def classify(self, out: ForecastOutcome, tree: int) -> None:
        """Classify the transactions that the served history lacks, and those it has from less than a quorum."""
        loses = may_lose = drops = revives = 0
        for b in self.folded.blocks:
            have, bit = self.holders(b.model), 1 << b.model
            if tree & bit:
                revives |= 0 if self.is_quorum(have) else bit
            elif self.is_quorum(have):
                loses |= bit
            elif self.may_have_been(b, have):
                may_lose |= bit
            elif have:
                drops |= bit
        same = sum(1 << b.model for b in self.folded.blocks if b.lo >> 32 <= out.epoch <= b.hi >> 32)
        out.again = [self.folded.name(p) for p, own in self.trees.items() if own & same]
        ranges = self.folded.ranges
        out.loses, out.may_lose, out.drops, out.revives = map(ranges, (loses, may_lose, drops, revives))
