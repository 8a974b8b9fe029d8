"""Compare a server with the model, and describe where they differ."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from traces.record.trace import JsonState
from traces.zookeeper.reenact.ensemble import Ensemble
from traces.zookeeper.reenact.periodic import model_nodes, saved_nodes
from traces.zookeeper.reenact.wire.links import Connection, Stream
from traces.zookeeper.reenact.wire.packets import ACKEPOCH, INFOS, NAMES, NEWLEADER, UPTODATE, Packet
from traces.zookeeper.reenact.zxids import Zxids
from zabspec.zookeeper.state import AWAITING_ACKS, LEADING, LOOKING, SERVING

ROOT = "/zabcheck"  # the node of the run: <1,1>; below it each transaction creates one

NO_LINK, OPEN, LOST, LEADER_OPEN, FOLLOWER_OPEN = range(5)
NUMBERS = {name: kind for kind, name in NAMES.items()}


class Comparison:
    """Compares an ensemble with states of the model.

    Args:
        ids: the server of each process.
        batches: whether the release's sync thread forces all that is queued at once: its log may be ahead by that.
        trees: whether what snapshots hold is compared, too.
        observers: the processes that observe.
        root: the node below which each transaction creates one; empty for the root of the tree.
    """

    def __init__(
        self, ensemble: Ensemble, zxids: Zxids, ids: Sequence[int], batches: bool = False, trees: bool = False,
        observers: Collection[int] = (), root: str = ROOT,
    ) -> None:  # fmt: skip
        self.ensemble, self.zxids, self.ids, self.batches, self.trees = ensemble, zxids, ids, batches, trees
        self.observers, self.root = observers, root

    def connection(self, f: int, l: int) -> Connection | None:
        """Return the newest connection of a follower to a leader, or None."""
        return self.ensemble.quorum[self.ids[f], self.ids[l]].newest

    def differences(self, s: JsonState, process: int | None) -> list[str]:
        """Return how the servers differ from a state of the model.

        Args:
            s: the state.
            process: the process that took the last step; its role and last processed zxid are compared too.
        """
        out: list[str] = []
        for p in range(len(self.ids)):
            out += self.of_disk(s, p)
        for f in range(len(self.ids)):
            for l in range(len(self.ids)):
                if f != l:
                    out += self.of_link(s, f, l)
        if process is not None:
            out += self.of_process(s, process)
        return out

    def of_disk(self, s: JsonState, p: int) -> list[str]:
        """Return how a server's log, snapshots and epochs differ from the model's.

        Before 3.6.0 SyncRequestProcessor takes all that is queued before it forces it: its log may have some of what
        the model will log next.
        """
        disk, z = self.ensemble.servers[self.ids[p]].on_disk(), self.zxids
        log = [z.said(n) for n in s["log"][p]]
        old, new = ([z.said(n) for n in s[name][p] if n] for name in ("stale_queue", "sync_queue"))
        queued = (len(old), len(new)) if self.batches else (0, 0)
        ahead = [log + old[:k] + new[:n] for k in range(queued[0] + 1) for n in range(queued[1] + 1)]
        found = z.logged(disk.log)
        saved = self.snapshots(s, p)
        pairs: list[tuple[str, Any, Any]] = [
            ("log", log, log if found in ahead else found),
            ("snapshots", sorted(map(z.said, saved)), z.saved(disk.snapshots)),
            ("currentEpoch", z.epoch(s["current_epoch"][p]), disk.current),
            ("acceptedEpoch", z.epoch(s["accepted_epoch"][p]), disk.accepted),
        ]
        if self.trees:
            for name, tree in saved.items():
                path = self.ensemble.servers[self.ids[p]].snapshot(z.real(name))
                nodes = saved_nodes(path, self.root)
                pairs.append((f"tree of snapshot {z.said(name)}", model_nodes(tree, z.said), nodes))
        return [self.sentence(p, what, model, real) for what, model, real in pairs if model != real]

    def snapshots(self, s: JsonState, p: int) -> dict[int, int]:
        """Return the model's snapshots of a server that are compared: what each of them holds, by its name.

        New servers have snapshot.0 from their start on. The model has it only where its tree is not empty.
        """
        made = dict(zip(s["snapshot_names"][p], s["snapshot_trees"][p], strict=True))
        if self.zxids.new:
            return {0: 0, **made}
        return {name: tree for name, tree in made.items() if name}

    def sentence(self, p: int, what: str, model: object, real: object) -> str:
        return f"server {self.ids[p]} (p{p}), {what}: the model has {told(model)}, the server {told(real)}"

    def of_link(self, s: JsonState, f: int, l: int) -> list[str]:
        """Return how the unreceived packets of a link differ from the model's.

        The model's packets must be the first that wait; what a server sends earlier than the model waits behind them.
        On an observer's link there must be no others: what servers must not send there, such as its ACK of a
        transaction, or a PROPOSAL of what is outstanding, would else be seen by nothing. A leader that commits a batch
        (`batches`), or serves as soon as it may, is ahead there, too.
        """
        link, c = s["link"][f][l], self.connection(f, l)
        if link == NO_LINK:
            return []
        out = []
        where = f"link of server {self.ids[f]} (p{f}) to {self.ids[l]} (p{l})"
        if c is None:
            return [f"{where}: the model has a connection, the servers none"]
        if link in (OPEN, LOST, LEADER_OPEN):
            out += self.of_stream(s["to_leader"][f][l], f, l, c.up, where, f in self.observers)
        if link in (OPEN, LOST, FOLLOWER_OPEN) and s["leader"][f] == l:
            alone = f in self.observers and not self.batches and not self.may_serve(s, l)
            out += self.of_stream(s["to_follower"][f], f, l, c.down, where.replace(" to ", " from "), alone)
        return out

    def may_serve(self, s: JsonState, l: int) -> bool:
        """Return whether a quorum has acknowledged NEWLEADER, so that a leader serves before the model's may do so."""
        voters = [p for p in range(len(self.ids)) if p not in self.observers]
        return s["phase"][l] == AWAITING_ACKS and 2 * len({*voters} & {*s["new_leader_acks"][l]}) > len(voters)

    def of_stream(
        self, messages: list[dict[str, Any]], f: int, l: int, stream: Stream, where: str, alone: bool
    ) -> list[str]:
        """Return how the waiting packets of a direction of a link differ; `alone`: no others may wait."""
        real = self.ensemble.quorum[self.ids[f], self.ids[l]].model_packets(stream)
        if messages and messages[-1]["kind"] == "CLOSED":
            messages = messages[:-1]
            if not stream.ended:
                return [f"{where}: the model's leader has closed it, the server's leader has not"]
        expected = [self.message(m, f) for m in messages]
        found = [self.packet(u) for u in real[: len(expected)]]
        more = [self.packet(u) for u in real[len(expected) :]]
        if expected == found and not (alone and more):
            return []
        return [f"{where}: the model has {told(expected)}, the servers {told(found + more)}"]

    def message(self, m: dict[str, Any], f: int) -> str:
        """Return a message of the model, on the connection of learner f, in words."""
        z, kind = self.zxids, m["kind"]
        if kind in ("NEWLEADER", "UPTODATE"):
            return str(kind)
        if kind == "FOLLOWERINFO":
            return f"{'OBSERVERINFO' if f in self.observers else kind} epoch {z.epoch(m['accepted'])}"
        if kind == "LEADERINFO":
            return f"LEADERINFO epoch {z.epoch(m['epoch'])}"
        if kind == "ACKEPOCH":
            return f"ACKEPOCH {z.told(z.real(m['zxid']))} epoch {z.epoch(m['current'])}"
        return f"{kind} {z.told(z.real(m['zxid']))}"

    def packet(self, u: Packet) -> str:
        if u.kind in (NEWLEADER, UPTODATE):
            return u.name
        if u.kind in INFOS:
            return f"{u.name} epoch {u.zxid >> 32}"
        if u.kind == ACKEPOCH:
            return f"{u.name} {self.zxids.told(u.zxid)} epoch {u.number}"
        return f"{u.name} {self.zxids.told(u.zxid)}"

    def learner(self, p: int) -> str:
        """Return what a server calls itself that follows a leader, or observes it."""
        return "observer" if p in self.observers else "follower"

    def of_process(self, s: JsonState, p: int) -> list[str]:
        """Return how role and last processed zxid of a serving server differ; one that crashed must have ended."""
        server = self.ensemble.servers[self.ids[p]]
        if is_down(s, p) or s["refused"][p]:
            return [self.sentence(p, "process", "ended", "running")] if server.runs else []
        if not server.runs:
            return [self.sentence(p, "process", "running", "ended")]
        mode, zxid = server.status()
        if s["phase"][p] != SERVING or s["role"][p] == LOOKING:
            early = mode == "leader" and not self.may_serve(s, p)
            return [self.sentence(p, "role", "none that serves", mode)] if early else []
        wanted = "leader" if s["role"][p] == LEADING else self.learner(p)
        out = [] if mode == wanted else [self.sentence(p, "role", wanted, mode or "none")]
        z, last = self.zxids, s["last_processed"][p]
        if zxid == z.real(last):
            return out
        return [*out, self.sentence(p, "lastProcessedZxid", z.said(last), z.told(zxid))]


def is_down(s: JsonState, p: int) -> bool:
    """Return whether a process has crashed; a model without crashes has no field for it."""
    return "crashed" in s and bool(s["crashed"][p])


def told(value: object) -> str:
    return "[" + ", ".join(map(str, value)) + "]" if isinstance(value, list) else str(value)
