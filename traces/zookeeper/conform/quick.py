"""Search for one run that explains a record, and lose others on the way: it can explain, and never refutes.

What a server logs in a term is bounded by the zxid with which it next votes or starts, and by its disk in the end. So a
thread that is far behind needs no limit, and need not be tried with each possible lag. Where this search finds no run,
the search of `explained.py` that is widest follows.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from typing import Any

from traces.zookeeper.conform.record import Observation, Record
from traces.zookeeper.conform.search import COMMITS, STALE, SYNCS, Failure, Node, RecordSearch, Skip, zxid_in
from traces.zookeeper.conform.unbounded import ReleaseProtocol, Unbounded
from zabspec.language.layout.bytecode import global_names
from zabspec.worlds.steps import ACTION, TO_FOLLOWER, TO_LEADER
from zabspec.zookeeper.state import FOLLOWING, LEADING, SERVING

MOST_KEPT = 48  # states that explain a record up to some place


class Quick(RecordSearch):
    """A search that keeps few states.

    Attributes:
        bounds: by server, the positions of its next votes and kills, in order: from where on each counts, where it is,
            the last zxid of the log there, and whether it is a kill.
    """

    def __init__(self, record: Record, text: ReleaseProtocol) -> None:
        super().__init__(record, text)
        # What is logged where the end of a term does not log all first is known from the disks in the end.
        self.final_log = {
            self.index[o.server]: tuple(zxid_in(text, z) for lo, hi in o.log for z in range(lo, hi + 1))
            for o in record.observations
            if o.what == "disk"
        }
        self.cuts = [
            (k, self.index[o.follower], o.zxid)
            for k, o in enumerate(record.observations)
            if o.what == "packet" and o.kind == "TRUNC"
        ]
        self.syncs, self.commits = (text.actions.index(name) for name in (SYNCS, COMMITS))
        self.bounds: list[list[tuple[int, int, int, bool]]] = [self.bounds_of(server) for server in record.servers]
        self.own_slots = [self.slots_of(p) for p in range(self.n)]

    def bounds_of(self, server: int) -> list[tuple[int, int, int, bool]]:
        """Return a server's entries of `bounds`. A TRUNC shortens the log, so nothing bounds what is before it."""
        out: list[tuple[int, int, int, bool]] = []
        begins = 0
        for k, o in enumerate(self.record.observations):
            if o.what == "kills" and o.server == server:
                self.position = k
                zxid = self.loads_next(self.index[server])
                if zxid is not None:
                    out.append((begins, k, zxid, True))
                begins = k
            elif o.what == "packet" and o.follower == server and o.up and o.kind == "ACKEPOCH":
                out.append((begins, k, zxid_in(self.text, o.zxid), False))
                begins = k
            elif o.what == "packet" and (o.leader if o.kind == "LEADERINFO" else o.follower) == server and not o.up:
                begins = k if o.kind in ("LEADERINFO", "TRUNC") else begins
        self.position = 0
        return out

    def loads_next(self, p: int) -> int | None:
        """Return the last zxid of the log of a server that is killed now: of its next start, or of its final disk."""
        server, ahead = self.record.servers[p], self.record.observations[self.position :]
        if any(o.what == "starts" and o.server == server for o in ahead):
            return self.next_last(p)
        final = self.final_log.get(p)
        return final[-1] if final else None

    def slots_of(self, p: int) -> set[int]:
        """Return the slots that a server's own steps change."""
        names = "log", "sync_queue", "to_apply", "to_be_applied", "tree", "last_processed", "committed_log", "acks"
        links = {start + f * self.n + p for start in (self.up, self.unseen_up) for f in range(self.n)}
        return links | {self.text.places[name].base + p for name in names}

    def bound(self, p: int) -> tuple[int, bool] | None:
        """Return the last zxid of a server's log when it next votes or starts, and whether it is killed before."""
        bounds = self.bounds[p]
        at = bisect_left(bounds, self.position, key=lambda entry: entry[1])
        if at < len(bounds) and bounds[at][0] <= self.position:
            return bounds[at][2], bounds[at][3]
        return None

    def is_beyond(self, s: Unbounded, p: int) -> bool:
        """Return whether what a server would log next is behind what it will be seen to have."""
        bound = self.bound(p)
        queue = s.slots[self.text.places["sync_queue"].base + p]
        return bound is not None and bool(queue) and queue[0] > bound[0]

    def own_steps(self, s: Unbounded, p: int, ends: bool) -> Iterator[int]:
        logs, stale = ACTION << 24 | p << 16 | self.syncs, self.text.actions.index(STALE)
        for w in super().own_steps(s, p, ends):
            if w >> 24 == ACTION and w & 255 == stale and not self.drains:
                final = self.final_log.get(p)
                if final is not None and not self.leads_to(p, (*self.log_of(s, p), s.stale_queue[p][0]), final):
                    continue
            if w != logs or not self.is_beyond(s, p):
                yield w

    def may_stay_unlogged(self, s: Unbounded, p: int) -> bool:
        if self.is_beyond(s, p):
            return True
        final = self.final_log.get(p)
        if self.drains or final is None:
            return super().may_stay_unlogged(s, p)
        return not self.leads_to(p, (*self.log_of(s, p), s.sync_queue[p][0]), final)

    def overdue(self, s: Unbounded, p: int) -> int | None:
        """As soon as nothing depends on it: a leader logs what is committed, up to what it will be seen to have."""
        queue = s.slots[self.text.places["sync_queue"].base + p]
        if s.role[p] == LEADING and queue and queue[0] <= s.last_committed[p] and not self.is_beyond(s, p):
            return ACTION << 24 | p << 16 | self.syncs
        return super().overdue(s, p)

    # --- ends of terms and kills ---------------------------------------------------------------------

    def dies_with(self, p: int) -> int | None:
        """Return the last zxid of a server's log when it is killed, if that is what comes next."""
        bound = self.bound(p)
        return bound[0] if bound is not None and bound[1] else None

    def towards(self, p: int, zxid: int) -> Skip:
        """Return a predicate for steps of a serving server that do not lead to a log with this end.

        Its memory does not matter. It receives first, up to that zxid, and then logs.
        """
        queue, log = (self.text.places[name].base + p for name in ("sync_queue", "log"))

        def leaves_out(s: Unbounded, w: int) -> bool:
            if w >> 16 & 255 != p or s.phase[p] != SERVING:
                return False
            if w >> 24 == TO_LEADER or (w >> 24 == ACTION and w & 255 == self.commits):
                return True
            waiting, logged = s.slots[queue], s.slots[log]
            has_it = bool((logged and logged[-1] >= zxid) or (waiting and waiting[-1] >= zxid))
            if w >> 24 == TO_FOLLOWER:
                return has_it and s.slots[self.down + p][0].kind.name != "CLOSED"
            if w == (ACTION << 24 | p << 16 | self.syncs) and s.role[p] == FOLLOWING:
                return not has_it and self.may_receive(s, p)
            return False

        return leaves_out

    def may_receive(self, s: Unbounded, p: int) -> bool:
        seen = len(s.slots[self.down + p]) > s.slots[self.unseen_down + p]
        return seen and bool(self.names["may_receive"](s, p))

    def drained(self, s: Unbounded, p: int) -> Skip | None:
        """As there; and a follower whose term ends has applied nothing that it has not logged."""
        if s.phase[p] != SERVING or s.role[p] != FOLLOWING:
            return super().drained(s, p)
        if (zxid := self.dies_with(p)) is not None:
            return self.towards(p, zxid)
        if self.drains or "fast_forward" not in global_names(self.text["end_running"].__code__):
            return super().drained(s, p)
        return lambda _, w: w == ACTION << 24 | p << 16 | self.commits

    def voting(self, found: list[Node], p: int) -> list[Node]:
        zxid = self.dies_with(p)
        if zxid is None or len(found) < 2:
            return super().voting(found, p)
        log, stale = (self.text.places[name].base + p for name in ("log", "stale_queue"))
        exact = [n for n in found if n.state.slots[log][-1:] == (zxid,)]
        return exact or [n for n in found if n.state.slots[stale][:1] == (zxid,)] or found

    def everything(self, node: Node, p: int, leaves_out: Skip) -> list[Node]:
        zxid = self.loads_next(p)
        if zxid is None:
            return super().everything(node, p, leaves_out)
        other, log = self.towards(p, zxid), self.text.places["log"].base + p
        found = super().everything(node, p, lambda s, w: leaves_out(s, w) or other(s, w))
        return [n for n in found if n.state.slots[log][-1:] == (zxid,)] or found

    # --- the disks in the end --------------------------------------------------------------------------

    def log_of(self, s: Unbounded, p: int) -> tuple[int, ...]:
        log: tuple[int, ...] = s.slots[self.text.places["log"].base + p]
        return log

    def leads_to(self, p: int, log: tuple[int, ...], final: tuple[int, ...]) -> bool:
        """Return whether a log, up to what a later TRUNC may remove, is a prefix of the final one."""
        cut = min((zxid for k, q, zxid in self.cuts if q == p and k >= self.position), default=None)
        if cut is not None:
            log = log[: bisect_right(log, zxid_in(self.text, cut))]
        return log == final[: len(log)]

    def kept(self, found: dict[tuple[Any, ...], Node]) -> dict[tuple[Any, ...], Node]:
        """Keep the nodes whose logs lead to the final disks; all of them, if none does."""
        for p, final in self.final_log.items() if not self.drains else ():
            logs = {self.log_of(n.state, p) for n in found.values()}
            if len(logs) > 1:
                right = {log for log in logs if self.leads_to(p, log, final)}
                found = {key: n for key, n in found.items() if self.log_of(n.state, p) in right} or found
        return found

    def cut_short(self, node: Node, f: int, zxid: int) -> list[Node]:
        """Keep the ends of a term whose log leads to the final disk, and of these the two longest logs.

        A thread outlives its term with one transaction.
        """
        found, final = super().cut_short(node, f, zxid), self.final_log.get(f)
        if self.drains or final is None:
            return found
        logs = {self.log_of(n.state, f) for n in found}
        kept = sorted((log for log in logs if self.leads_to(f, log, final)), key=len)[-2:]
        return [n for n in found if self.log_of(n.state, f) in kept] or found

    # --- fewer states ----------------------------------------------------------------------------------

    def see(self, o: Observation, position: int) -> Failure | None:
        failure = super().see(o, position)
        if failure is None and len(self.nodes) > 1:
            server = o.by if o.what == "closed" else (o.follower if o.up else o.leader) if o.what == "packet" else 0
            if server in self.index:
                self.nodes = self.undominated(self.nodes, self.index[server])
            self.nodes = self.nodes[:MOST_KEPT]
        return failure

    def undominated(self, nodes: list[Node], p: int) -> list[Node]:
        """Drop the nodes that others reach by steps of a server's threads, and by reading acknowledgements."""
        own, ghosts = self.own_slots[p], self.text.ghosts
        rest = [k for k in range(ghosts, len(nodes[0].state.slots)) if k not in own]
        groups: dict[tuple[Any, ...], list[Node]] = {}
        for n in nodes:
            groups.setdefault(tuple(n.state.slots[k] for k in rest), []).append(n)
        out: list[Node] = []
        for group in groups.values():
            kept: list[Node] = []
            for n in sorted(group, key=lambda n: -sum(self.waiting(n.state, p))):
                if not any(self.leads_on(k.state, n.state, p) for k in kept):
                    kept.append(n)
            out += kept
        return out

    def waiting(self, s: Unbounded, p: int) -> list[int]:
        """Return how much waits for a server's threads, and of acknowledgements for a leader."""
        places, slots = self.text.places, s.slots
        lengths = [len(slots[places[name].base + p]) for name in ("sync_queue", "to_apply")]
        return lengths + [len(slots[self.up + f * self.n + p]) for f in range(self.n)]

    def leads_on(self, s: Unbounded, to: Unbounded, p: int) -> bool:
        """Return whether steps of a server's threads lead from one state to another."""
        syncs, commits, *reads = (a - b for a, b in zip(self.waiting(s, p), self.waiting(to, p), strict=True))
        if min(syncs, commits, *reads) < 0:
            return False
        words = [ACTION << 24 | p << 16 | self.syncs] * syncs
        words += [TO_LEADER << 24 | p << 16 | f << 8 for f in range(self.n) for _ in range(reads[f])]
        words += [ACTION << 24 | p << 16 | self.commits] * commits
        for w in words:
            after = self.take(s, w) if w in super().own_steps(s, p, False) else None
            if after is None:
                return False
            s = after
        return s.key() == to.key()
