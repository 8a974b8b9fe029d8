"""Play a plan on real servers step by step: each step is forced, observed, and compared with the model."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from traces.record.trace import JsonState, Step
from traces.zookeeper.reenact.compare import LEADER_OPEN, LOST, OPEN, Comparison
from traces.zookeeper.reenact.disks import lose_power, loses_power, written_back
from traces.zookeeper.reenact.distributions import Cannot
from traces.zookeeper.reenact.ensemble import Ensemble
from traces.zookeeper.reenact.mapping import forced_by
from traces.zookeeper.reenact.periodic import LARGE, WRITTEN, is_saved, takes_snapshots, waits_for_snapshots
from traces.zookeeper.reenact.plan import ReenactmentPlan
from traces.zookeeper.reenact.servers import INIT_LIMIT, TICK
from traces.zookeeper.reenact.starts import STARTS
from traces.zookeeper.reenact.wire.gates import ACKNOWLEDGE, BEGINS, COMMIT, EPOCH, LOG, SNAPSHOT, STALE, SYNC, WRITES
from traces.zookeeper.reenact.wire.links import Connection, Stream
from traces.zookeeper.reenact.zxids import Zxids
from zabspec.zookeeper.state import LEADING, LOOKING, NO_THREAD, SAVING, SERVING

ELECTION = re.compile(r"New election\. My id = +\d+, proposed zxid=0x([0-9a-f]+)")
OF_OBSERVER = 1 << 63  # Long.MIN_VALUE (FastLeaderElection.getInitLastLoggedZxid)
NOT_CUT = re.compile(r"Not able to truncate the log.*")
EXIT_OF_TRUNC = 13  # ExitCode.QUORUM_PACKET_ERROR
DRAINS = re.compile(r"SyncRequestProcessor\S* - Shutting down")
# Held only between NEWLEADER and its acknowledgement: TRUNC opens the log, and a leader saves a snapshot, as well.
OF_NEWLEADER = {ACKNOWLEDGE, LOG, SNAPSHOT}
WAITS = 2.0  # seconds for which a server whose term has ended is seen not to vote


@dataclass
class Write:
    """A write that a client made for a transaction of the model.

    Attributes:
        result: kazoo's; ready when the client has an answer.
        answered: after which step it had one; 0 if it had none, or not before the end.
        served: after which step a client read it from a leader that had begun to serve; 0 if none did, or none was
            asked.
    """

    zxid: int
    path: str
    result: Any
    answered: int = 0
    served: int = 0


@dataclass(frozen=True)
class Exit:
    """A process that ended by itself in a step, and was started again in it.

    Attributes:
        step: the number of the step.
        server: its id.
        code: its exit code.
    """

    step: int
    server: int
    code: int


@dataclass
class Played:
    """The result of playing a run on servers.

    Attributes:
        steps: the number of steps that were forced and seen, and agreed.
        differs: where server and model differ, at the step after those; empty if nowhere.
        seconds: how long each step took.
        writes: the writes of the clients.
        exits: the processes that ended by themselves, and were started again.
        base: the servers' zxid for <1,1>.
        root: the node below which each write creates one; empty for the root of the tree.
    """

    steps: int = 0
    differs: list[str] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    writes: list[Write] = field(default_factory=list)
    exits: list[Exit] = field(default_factory=list)
    base: int = 0
    root: str = ""


class Player:
    """Plays a plan.

    Args:
        patience: seconds that an effect may take.
    """

    def __init__(self, ensemble: Ensemble, plan: ReenactmentPlan, patience: float = 20.0) -> None:
        self.ensemble, self.plan, self.ids, self.patience = ensemble, plan, plan.ids, patience
        self.played = Played()
        self.snapshots = takes_snapshots(plan.configuration.variant)
        self.waits = waits_for_snapshots(plan.configuration.variant)
        self.start = STARTS[plan.configuration.start]
        self.played.root = self.start.root
        self.compare = Comparison(
            ensemble, Zxids(0), plan.ids, ensemble.release.batches, self.snapshots or self.start.trees, plan.observers,
            self.start.root,
        )  # fmt: skip
        self.since: dict[int, int] = {}
        self.writers: dict[int, Any] = {}
        fails = any(s.label == "log write fails" for s in plan.steps)
        self.size = 12000 if fails else LARGE if self.snapshots else 1
        self.loses_power = loses_power(plan.configuration.variant)
        self.step: Step
        self.before = self.after = plan.initial

    def wait(self, seen: Callable[[], bool], what: str, seconds: float = 0) -> None:
        """Wait for a condition.

        Raises:
            Cannot: it is not met in time; the message names `what`.
        """
        if not self.ensemble.recording.wait(seen, seconds or self.patience):
            raise Cannot(f"not seen within {seconds or self.patience:g} s: {what}")

    def write(self, client: Any, model: int) -> None:
        """Write as a client, without waiting for the answer.

        Where a write of the log must fail, the data is so large that the log needs more room.
        """
        path = f"{self.start.root}/{Zxids.said(model).strip('<>').replace(',', '-')}"
        self.played.writes.append(Write(model, path, client.create_async(path, path.encode() * self.size)))

    # --- the steps ---------------------------------------------------------------------------------

    def play(self) -> Played:
        """Play all steps, or those up to the first that differs."""
        before = self.plan.initial
        for step in self.plan.steps:
            began = time.monotonic()
            self.before, self.after, self.step = before, step.state, step
            self.ensemble.recording.note("step", f"{step.number}: {step.label} {dict(step.word.operands)}")
            self.since = {n: len(s.said().encode()) for n, s in self.ensemble.servers.items()}
            method = forced_by(step)
            assert method is not None
            try:
                self.write_before(step)
                getattr(self, method)(*[step.word.operands[k] for k in operands(step)])
                self.settle(step.state, step.process)
            except Cannot as problem:
                differs = self.compare.differences(step.state, step.process)
                self.played.differs = [*([] if str(problem) in differs else [str(problem)]), *differs]
                self.ensemble.recording.note("run", "differs: " + "; ".join(self.played.differs))
                return self.played
            self.cut_lost(step.state)
            for w in self.played.writes:
                if not w.answered and w.result.ready() and w.result.successful():
                    w.answered = step.number
            self.played.steps += 1
            self.played.seconds.append(time.monotonic() - began)
            before = step.state
        return self.played

    def settle(self, s: JsonState, process: int | None) -> None:
        """Wait until servers and model agree.

        Raises:
            Cannot: they do not agree in time.
        """
        found: list[str] = []

        def same() -> bool:
            found[:] = self.compare.differences(s, process)
            return not found

        if not self.ensemble.recording.wait(same, self.patience):
            raise Cannot(found[0])

    def cut_lost(self, s: JsonState) -> None:
        """Cut lost connections, so that only the packets that the model has in flight still arrive."""
        for f in range(len(self.ids)):
            for l in range(len(self.ids)):
                c = self.compare.connection(f, l) if f != l else None
                if c is None or s["link"][f][l] == OPEN:
                    continue
                up = len(s["to_leader"][f][l]) if s["link"][f][l] in (LOST, LEADER_OPEN) else 0
                down = len(s["to_follower"][f]) if s["link"][f][l] and s["leader"][f] == l else 0
                for stream, kept in ((c.up, up), (c.down, down)):
                    if not stream.dead:
                        self.keep(stream, kept)

    def keep(self, stream: Stream, count: int) -> None:
        proxy = stream.connection.proxy
        kept = proxy.model_packets(stream)[:count]  # type: ignore[attr-defined]
        with self.ensemble.recording.changed:
            stream.waiting[:] = kept
            stream.cut(count)

    def server(self, p: int) -> Any:
        return self.ensemble.servers[self.ids[p]]

    def gates(self, p: int) -> Any:
        return self.ensemble.gates[self.ids[p]]

    def said(self, p: int) -> str:
        """Return what a server's log contains since the step began."""
        return str(self.server(p).said(self.since[self.ids[p]]))

    # --- faults, elections -------------------------------------------------------------------------

    def crash(self, p: int) -> None:
        self.leave(p)
        self.ensemble.kill(self.ids[p])
        if self.loses_power:
            lost = lose_power(self.server(p))
            self.ensemble.recording.note(f"server {self.ids[p]}", f"power is lost, and with it: {', '.join(lost)}")
        self.gates(p).open(*OF_NEWLEADER)

    def leave(self, p: int) -> None:
        self.ensemble.regroup(self.ensemble.group - {self.ids[p]})

    def recover(self, p: int) -> None:
        self.ensemble.start(self.ids[p])
        if self.after["refused"][p]:
            self.wait(lambda: not self.server(p).runs, f"server {self.ids[p]} exits by itself", 3 * self.patience)
        else:
            self.votes(p, 3 * self.patience)

    def votes(self, p: int, seconds: float = 0) -> None:
        """Check that a server looks for a leader, and votes with the model's zxid; an observer votes for no server.

        Raises:
            Cannot: it does not, or votes with another zxid.
        """
        self.wait(
            lambda: bool(ELECTION.search(self.said(p))), f"server {self.ids[p]} (p{p}) votes in a new election", seconds
        )
        found = ELECTION.search(self.said(p))
        assert found is not None
        z, model, voted = self.compare.zxids, self.after["last_processed"][p], int(found[1], 16)
        if p in self.plan.observers:
            if voted != OF_OBSERVER:
                raise Cannot(self.compare.sentence(p, "its vote", "that of an observer", z.told(voted)))
        elif voted != z.real(model):
            raise Cannot(self.compare.sentence(p, "lastProcessedZxid, as it votes", z.said(model), z.told(voted)))

    def elect(self, l: int, quorum: int) -> None:
        members = [p for p in range(len(self.ids)) if p == l or quorum >> p & 1]
        self.forget_votes()
        saved = self.server(l).snapshot(self.compare.zxids.real(self.after["last_processed"][l]))
        since = time.time_ns() if not saved.exists() else saved.stat().st_mtime_ns + 1
        for f in members:
            self.gates(f).begin_none()
        self.ensemble.regroup(self.ids[p] for p in members)
        for f in members:
            if f != l:
                self.registers(f, l)
        if not self.ensemble.release.is_34:
            self.wait(lambda: is_saved(saved, since), f"server {self.ids[l]} (p{l}) saves {saved.name}")
        self.settle(self.after, l)

    def forget_votes(self) -> None:
        """Drop the held votes of servers that no longer look, since they would elect one."""
        for p, n in enumerate(self.ids):
            if self.before["role"][p] != LOOKING:
                self.ensemble.drop_votes(n)

    def registers(self, f: int, l: int) -> None:
        a, b = self.ids[f], self.ids[l]
        self.wait(lambda: self.ensemble.registers(a, b), f"server {a} (p{f}) registers with {b} (p{l})")

    def join(self, p: int, l: int) -> None:
        self.forget_votes()
        self.gates(p).begin_none()
        behind = {self.ids[q] for q in range(len(self.ids)) if self.before["leader"][q] == l} | {self.ids[l]}
        self.ensemble.regroup(self.ensemble.group | behind | {self.ids[p]})
        self.registers(p, l)

    def lose(self, *_: int) -> None:
        """Do nothing: `cut_lost` drops what arrives from now on."""

    def follower_learns(self, f: int, l: int) -> None:
        c = self.compare.connection(f, l)
        assert c is not None
        self.ends(f, c.close_near)

    def leader_learns(self, l: int, f: int) -> None:
        c = self.compare.connection(f, l)
        assert c is not None
        if self.after["role"][l] == LOOKING:
            self.ends(l, partial(self.gives_up, l, c))
        else:
            # It has sent the learner away before, or its LearnerHandler reads nothing now.
            gone = c.down.ended or handler_waits(self.before, l, f)
            c.close_far()
            self.wait(lambda: gone or "GOODBYE" in self.said(l), f"server {self.ids[l]} (p{l}) gives up the connection")

    def gives_up(self, l: int, c: Connection) -> None:
        """Make a leader give up a connection; if it does not serve yet, its clock is moved past initLimit."""
        c.close_far()
        if self.before["phase"][l] != SERVING:
            self.server(l).put_ahead((INIT_LIMIT + 1) * TICK)

    def ends(self, p: int, cause: Callable[[], object], drains: bool = True) -> None:
        """End a server's term: let the sync thread do what the model drains, and wait for the vote.

        Args:
            p: the process.
            cause: makes the term end.
            drains: release the sync thread when the server waits for it, before or after it has brought its tree up to
                its log; otherwise at once.
        """
        self.leave(p)
        gates = self.gates(p)
        outlives = self.after["stale_queue"][p] or self.before["phase"][p] != SERVING
        if outlives:
            gates.outlive()  # nothing joins the thread of a server that does not run yet: it stays where it is
        elif not drains:
            gates.open(SYNC)
        if self.ensemble.release.is_34:
            gates.retire()
        gates.open(ACKNOWLEDGE, SNAPSHOT, LOG, EPOCH)
        cause()
        try:
            if drains and not outlives and self.before["sync_queue"][p]:
                where = f"server {self.ids[p]} (p{p}) waits for its sync thread"
                self.wait(lambda: bool(DRAINS.search(self.said(p))), where)
                gates.open(SYNC)
            if self.waits and self.writes_in_step(p):
                self.is_waited_for(p)
            self.votes(p)
        finally:
            self.server(p).put_ahead(0)
        gates.open(COMMIT)
        time.sleep(0.02)  # for threads whose term has ended to leave
        gates.close(COMMIT, SYNC, EPOCH)

    # --- packets -----------------------------------------------------------------------------------

    def receive(self, p: int, q: int, place: int = 0) -> None:
        """Let p receive the first packet of q."""
        leads = self.before["role"][p] == LEADING
        f, l = (q, p) if leads else (p, q)
        proxy = self.ensemble.quorum[self.ids[f], self.ids[l]]
        c = proxy.newest
        assert c is not None
        assert self.step.message is not None
        stream = c.up if leads else c.down
        kind = self.step.message.kind
        if kind == "NEWLEADER":
            self.gates(p).close(*OF_NEWLEADER)
        if kind == "CLOSED":
            self.ends(p, c.close_near)
        elif self.before["full"][p] and kind in ("LEADERINFO", "TRUNC"):
            self.without_room(p, kind, partial(proxy.let_one, stream))
        elif kind == "TRUNC" and self.after["role"][p] == LOOKING:
            self.ends(p, partial(self.cannot_cut, p, partial(proxy.let_one, stream)))
        elif self.after["role"][p] == LOOKING and self.before["role"][p] != LOOKING:
            self.ends(p, partial(proxy.let_one, stream))
        else:
            sent = proxy.let_one(stream)
            self.wait(lambda: stream.read(sent), f"server {self.ids[p]} (p{p}) reads the {kind}")

    def without_room(self, p: int, kind: str, cause: Callable[[], object]) -> None:
        """Let a server receive what it cannot write down, in a release that goes on or in one that exits.

        One that exits is started again, as in the model's step.
        """
        gates, n = self.gates(p), self.ids[p]
        gates.full = True
        try:
            if self.after["role"][p] != LOOKING:  # it need not write the epoch
                cause()
            elif kind == "LEADERINFO" or self.after["closed"][p]:
                self.ends(p, cause)
            else:
                self.leave(p)
                cause()
                self.wait(lambda: not self.server(p).runs, f"server {n} (p{p}) exits")
                self.ensemble.kill(n)
                self.recover(p)
        finally:
            gates.full = False

    def cannot_cut(self, p: int, cause: Callable[[], object]) -> None:
        """Let a server receive a TRUNC at which it stops: its term ends, or it exits, and is started again.

        The model has both as one step, in which it votes again.

        Raises:
            Cannot: it exits otherwise than a server does that cannot cut its log.
        """
        server, n = self.server(p), self.ids[p]
        cause()
        stopped = f"server {n} (p{p}) exits, or votes in a new election"
        self.wait(lambda: not server.runs or bool(ELECTION.search(self.said(p))), stopped)
        if server.runs:
            return
        code = server.process.returncode
        if code != EXIT_OF_TRUNC or not NOT_CUT.search(self.said(p)):
            raise Cannot(f"server {n} (p{p}) exits with code {code}, not because it cannot cut its log")
        self.played.exits.append(Exit(self.step.number, n, code))
        self.ensemble.recording.note(f"server {n}", f"exited with code {code}")
        self.ensemble.kill(n)
        self.recover(p)

    # --- threads -----------------------------------------------------------------------------------

    def through(self, p: int, gate: str) -> None:
        """Let a thread continue until servers and model agree, and hold it where it next asks."""
        self.gates(p).open(gate)
        try:
            self.settle(self.after, p)
        finally:
            self.gates(p).close(gate)

    def held(self, p: int, gate: str) -> None:
        """Wait until a thread of a process waits at a gate.

        Raises:
            Cannot: none does in time.
        """
        where = f"server {self.ids[p]} (p{p}): its thread comes to {gate}"
        self.wait(lambda: bool(self.gates(p).waiting(gate)), where)

    def sync_thread(self, p: int, which: int) -> None:
        self.log_one(p, SYNC, self.before["sync_queue"][p][0])

    def stale_thread(self, p: int, which: int) -> None:
        self.log_one(p, STALE, self.before["stale_queue"][p][0])

    def log_one(self, p: int, gate: str, model: int) -> None:
        if not self.compare.batches:
            self.one(p, gate, model)
            return
        there = self.server(p).on_disk().log.count(self.compare.zxids.real(model))
        if there <= list(self.before["log"][p]).count(model):  # else forced with another
            self.held(p, gate)
            self.through(p, gate)

    def commit_thread(self, p: int, which: int) -> None:
        """Let the commit thread take a step; in 3.4 a second step, which nothing holds, removes it from toBeApplied."""
        if len(self.before["to_apply"][p]) > len(self.after["to_apply"][p]):
            self.one(p, COMMIT, self.before["to_apply"][p][0])

    def one(self, p: int, gate: str, model: int) -> None:
        """Let one transaction pass, and wait until servers and model agree."""
        self.gates(p).admit(gate, self.compare.zxids.real(model))
        try:
            self.settle(self.after, p)
        finally:
            self.gates(p).admit_none()

    def log_fails(self, p: int, which: int) -> None:
        self.held(p, SYNC)
        gates = self.gates(p)
        gates.fails = True
        self.ends(p, lambda: None, drains=False)
        gates.fails = False

    def snapshot(self, p: int, which: int) -> None:
        if not self.before["closed"][p]:  # else it opens no file: `before-3701`
            self.held(p, SNAPSHOT)
            self.through(p, SNAPSHOT)

    def persist(self, p: int, which: int) -> None:
        """Let the main thread log what it has received.

        Where it writes over a file that has the same, the disk shows nothing of that: it is done when the thread comes
        to currentEpoch, which the releases that log here write next.
        """
        if all(self.before[name][p] == self.after[name][p] for name in ("log", "files")):
            return
        self.held(p, LOG)
        if len(self.after["log"][p]) <= len(self.before["log"][p]):
            self.gates(p).open(LOG)
            self.held(p, EPOCH)
        self.through(p, LOG)

    def write_epoch(self, p: int, which: int) -> None:
        self.held(p, EPOCH)
        self.through(p, EPOCH)

    def acknowledge(self, p: int, which: int) -> None:
        self.held(p, ACKNOWLEDGE)
        self.gates(p).open(*OF_NEWLEADER)

    # --- periodic snapshots ------------------------------------------------------------------------

    def snapshot_due(self, p: int, which: int) -> None:
        self.held(p, BEGINS)

    def snapshot_begins(self, p: int, which: int) -> None:
        """Let the thread read the name of its snapshot, and compare it."""
        self.held(p, BEGINS)
        self.gates(p).begin_one()
        self.held(p, WRITES)
        name, z = self.gates(p).waiting(WRITES)[0].name, self.compare.zxids
        wanted = self.server(p).snapshot(z.real(self.after["saving_as"][p])).name
        if name != wanted:
            raise Cannot(self.compare.sentence(p, "name of its periodic snapshot", wanted, name))

    def snapshot_written(self, p: int, which: int) -> None:
        path = self.server(p).snapshot(self.compare.zxids.real(self.before["saving_as"][p]))
        since = path.stat().st_mtime_ns + 1 if path.exists() else 0  # the clock of files is behind that of `time`
        gates = self.gates(p)
        self.held(p, WRITES)
        gates.open(WRITES)
        try:
            self.wait(lambda: is_saved(path, since), f"server {self.ids[p]} (p{p}) writes {path.name}")
        finally:
            gates.close(WRITES)

    def write_before(self, step: Step) -> None:
        """Let a periodic snapshot be written where the server's main thread waits for it, or has another tree then."""
        for p in range(len(self.ids)):
            by_itself = step.word.kind == "crash" or (step.word.kind == "action" and step.label == WRITTEN)
            seen = self.waits and self.before["role"][p] != LOOKING and self.after["role"][p] == LOOKING
            if self.writes_in_step(p) and not seen and not (by_itself and step.process == p):
                self.snapshot_written(p, 0)

    def writes_in_step(self, p: int) -> bool:
        """Return whether a periodic snapshot that has begun comes to its end in this step."""
        return (self.before["snapshot_thread"][p], self.after["snapshot_thread"][p]) == (SAVING, NO_THREAD)

    def is_waited_for(self, p: int) -> None:
        """Check that a server whose term ends does not vote while its snapshot is held; then let it be written.

        Raises:
            Cannot: it votes.
        """
        time.sleep(WAITS)
        if ELECTION.search(self.said(p)):
            raise Cannot(f"server {self.ids[p]} (p{p}) votes in a new election before its snapshot is written")
        self.snapshot_written(p, 0)

    def nothing(self, p: int, which: int) -> None:
        """Do nothing: the step happens by itself."""

    def serves(self, l: int, which: int) -> None:
        """Connect a client to a leader that begins to serve, if the start says so.

        Where power can be lost, read what it serves: with the disks nothing else tells of it.
        """
        if self.start.connects:
            self.settle(self.after, l)
            self.writers[self.ids[l]] = self.ensemble.client(self.ids[l])
        if self.loses_power:
            self.settle(self.after, l)
            client = self.writers[self.ids[l]]
            self.wait(lambda: client.connected, f"the client of server {self.ids[l]} has its session again")
            there = client.get_children(self.start.root or "/")
            for w in self.played.writes:
                if w.path.rsplit("/", 1)[1] in there:
                    w.served = w.served or self.step.number

    def write_back(self, p: int, which: int) -> None:
        written_back(self.server(p))

    def propose(self, l: int, which: int) -> None:
        n = self.ids[l]
        client = self.writers[n]
        self.wait(lambda: client.connected, f"the client of server {n} has its session again")
        self.write(client, self.after["last_proposed"][l])


def handler_waits(s: JsonState, l: int, f: int) -> bool:
    """Return whether a leader's LearnerHandler waits for others: for a quorum, or for the server to run.

    It reads nothing then (Leader.getEpochToPropose, waitForEpochAck, waitForNewLeaderAck), and finds that its learner
    is lost when it goes on. That of an observer waits long, since what it has sent completes no quorum.
    """
    return any(f in s[name][l] for name in ("heard", "answered", "settled"))


def operands(step: Step) -> list[str]:
    return [k for k in step.word.operands if k != "choice"]
