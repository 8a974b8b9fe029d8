"""Search for one run that explains a record, and lose others on the way: it can explain, and never refutes.

What a server logs in a term is bounded by the zxid with which it next votes or starts, and by its disk in the end. So a
thread that is far behind needs no limit, and need not be tried with each possible lag. Where this search finds no run,
the searches of `explained.py` follow.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from typing import Any

from traces.conform.record import Observation, Record
from traces.conform.search import COMMITS, STALLED, SYNCS, Failure, Node, Search, Skip, zxid_in
from traces.conform.unbounded import Text, Unbounded
from zabspec.protocols.zookeeper.state import FOLLOWING, LEADING, SERVING
from zabspec.worlds.steps import ACTION, TO_FOLLOWER, TO_LEADER

MOST_KEPT = 48  # states that explain a record up to some place


class Quick(Search):
    """A search that keeps few states.

    Attributes:
        bounds: by server, the positions of its next votes and kills, in order: from where on each counts, where it is,
            the last zxid of the log there, and whether it is a kill.
    """

    def __init__(self, record: Record, text: Text) -> None:
        super().__init__(record, text, narrow=True, lag=STALLED)
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
        own = {self.up + f * self.n + p for f in range(self.n)} | {
            self.unseen_up + f * self.n + p for f in range(self.n)
        }
        for name in (
            "log",
            "sync_queue",
            "to_apply",
            "to_be_applied",
            "tree",
            "last_processed",
            "committed_log",
            "acks",
        ):
            own.add(self.text.places[name].base + p)
        return own

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
        logs = ACTION << 24 | p << 16 | self.syncs
        for w in super().own_steps(s, p, ends):
            if w != logs or not self.is_beyond(s, p):
                yield w

    def may_stay_unlogged(self, s: Unbounded, p: int) -> bool:
        return self.is_beyond(s, p) or super().may_stay_unlogged(s, p)

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
        zxid = self.dies_with(p)
        if zxid is None or s.phase[p] != SERVING or s.role[p] != FOLLOWING:
            return super().drained(s, p)
        return self.towards(p, zxid)

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
