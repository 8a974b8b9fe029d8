"""Play a trace on real servers, from the first process started to the last ended."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from traces.zookeeper.reenact.aftermath import Aftermath, aftermath
from traces.zookeeper.reenact.compare import ROOT
from traces.zookeeper.reenact.disks import keep_forced, written_back
from traces.zookeeper.reenact.distributions import Cannot, Release
from traces.zookeeper.reenact.ensemble import Ensemble
from traces.zookeeper.reenact.periodic import is_saved, settings_of_each
from traces.zookeeper.reenact.plan import ESTABLISHED, NEW, VOTERS, ReenactmentPlan
from traces.zookeeper.reenact.player import NOT_CUT, OF_NEWLEADER, Played, Player
from traces.zookeeper.reenact.servers import CannotRun
from traces.zookeeper.reenact.starts import STARTS, check_start
from traces.zookeeper.reenact.wire.gates import EVERY
from traces.zookeeper.reenact.zxids import Zxids
from zabspec.zookeeper.state import LEADING, SERVING

# --- find what is broken at the last step, and does not show once the servers have gone on ---------
#
# These are a server that leaves for a packet, an answer that is not counted, a server without its leader's history,
# and a disk with the epoch of a leader and not with what that one began with.

THREW = re.compile(
    r"^.*(?:Exception when following the leader|Unexpected exception).*\n((?:[\w.]+(?:Exception|Error)).*)$", re.M
)
OTHER_ANSWER = re.compile(r"^.*NEWLEADER ACK from sid.*$", re.M)


def at_the_end(player: Player, plan: ReenactmentPlan) -> list[str]:
    """Return, as sentences, what is broken at the last step and can only be seen then."""
    out: list[str] = []
    step = plan.steps[-1]
    if step.process is None:
        return out
    n = plan.ids[step.process]
    said = player.said(step.process)
    if "no-stop" in plan.broken and (left := [x for x in player.played.exits if x.step == step.number]):
        reason = NOT_CUT.search(said)
        assert reason is not None
        out.append(
            f"server {n} exits with code {left[0].code} because of a packet from its leader: {reason[0].strip()}"
        )
    elif "no-stop" in plan.broken and (found := THREW.search(said)) is not None:
        out.append(f"server {n} ends its synchronization because of a packet from its leader: {found[1].strip()}")
    if "answers-count" in plan.broken and (line := OTHER_ANSWER.search(said)) is not None:
        out.append(f"server {n} mistakes another acknowledgement for that of NEWLEADER: {line[0].split(' - ')[-1]}")
    if "answers-count" in plan.broken:
        out += uncounted(player, plan)
    if "initial-history" in plan.broken:
        out += behind(player, plan)
    if "epoch-has-its-history" in plan.broken:
        out += ahead(player, plan)
    return out


def uncounted(player: Player, plan: ReenactmentPlan) -> list[str]:
    """Return the transactions that a quorum has forced and acknowledged but that are not committed, as sentences.

    All acknowledgements have been read at that point.
    """
    s, z = plan.steps[-1].state, player.compare.zxids
    out = []
    for l, n in enumerate(plan.ids):
        for zxid in s["outstanding"][l] if s["phase"][l] == SERVING else ():
            holders = [m for m in plan.ids[:VOTERS] if z.real(zxid) in player.ensemble.servers[m].on_disk().log]
            on_the_way = any(m["kind"] == "ACK" and m["zxid"] == zxid for links in s["to_leader"] for m in links[l])
            mine = [w for w in player.played.writes if w.zxid == zxid]
            if len(holders) > 1 and not on_the_way and not any(w.result.ready() for w in mine):
                said = ", ".join(map(str, sorted(holders)))
                out.append(
                    f"{z.said(zxid)} is forced on servers {said} and acknowledged, and server {n}, which leads, does "
                    "not commit it: it mistook an acknowledgement for that of NEWLEADER"
                )
    return out


def behind(player: Player, plan: ReenactmentPlan) -> list[str]:
    s, z = plan.steps[-1].state, player.compare.zxids
    out = []
    for p, n in enumerate(plan.ids):
        if s["phase"][p] == SERVING and (s["founded"][s["term"][p]] | s["tree"][p] | 1) != s["tree"][p] | 1:
            mode, zxid = player.ensemble.servers[n].status()
            what = f"server {n} serves clients as {mode or 'nothing'} at {z.told(zxid)}"
            out.append(f"{what}, without all that its leader began with")
    return out


def ahead(player: Player, plan: ReenactmentPlan) -> list[str]:
    """Return the servers that vote whose disk has an epoch, and not what its leader began with, as sentences."""
    s, z = plan.steps[-1].state, player.compare.zxids
    out = []
    for p, n in enumerate(plan.ids[:VOTERS]):
        disk, epoch = player.ensemble.servers[n].on_disk(), s["current_epoch"][p]
        last = max(disk.snapshots, default=0)
        began = [zxid for zxid in range(1, s["founded"][epoch].bit_length()) if s["founded"][epoch] >> zxid & 1]
        lost = [z.said(zxid) for zxid in began if z.real(zxid) not in disk.log and last < z.real(zxid)]
        if lost and disk.current == z.epoch(epoch):
            serves = [m for l, m in enumerate(plan.ids) if s["role"][l] == LEADING and s["phase"][l] == SERVING]
            leaders = [m for m in serves if s["term"][plan.ids.index(m)] == epoch]
            out.append(
                f"server {n} has currentEpoch {epoch} on its disk, and not {', '.join(lost)}, with which the leader of "
                f"that epoch began{f' (server {leaders[0]})' if leaders else ''}"
            )
    return out


# --- bring real servers to the state in which a run begins: an established leader, or new servers --
#
# **New servers** are the model's initial state: all are up, look for a leader, and have no transaction. So that the
# first election, discovery and synchronization are steps of the run, links, gates and votes are held before a server
# starts. What a new server is, and how it is compared:
#
# - *Its disk.* A server that starts in an empty directory saves snapshot.0 (`FileTxnSnapLog.restore`; from 3.5.4 on
#   only with `zookeeper.db.autocreate`, the default), and writes currentEpoch and acceptedEpoch, both 0
#   (`QuorumPeer.loadDataBase`). The model has the epochs, and no snapshot of the empty tree at <0,0>: a start without
#   one begins with just that. Every snapshot is compared, snapshot.0 too: it is always there, and empty, unless the
#   model has saved another tree by that name. There is no log: its first file, log.<zxid>, comes with the first
#   record, and each record is compared. Such a file may be written over, so the model has `log-files` (`of_servers`).
# - *Its vote.* Each server says in its log that it votes with zxid 0. Votes reach nobody before the first election.
# - *Trees.* A server may have its data from a snapshot alone, so the nodes in every snapshot are compared, too.
# - *Zxids and epochs* are those of the model, without a shift.
# - *Clients.* A session is a transaction of its own, which the model does not have. The servers have
#   `localSessionsEnabled`: the session of a client that creates no ephemeral node is known to its server alone, and
#   is no transaction. (Another session would not begin: the sync thread is held before it.) A client connects to a
#   leader in the step in which that begins to serve. Nothing is committed then that is not applied; for that a new
#   session would wait as long as the commit thread is held. Each transaction creates a node directly below the root.
# - *Power* is not lost in such runs (`starts.py`). The first leader writes snapshot.0 over, and does not force it:
#   with the power it is gone, and a server that keeps a log without it does not start ("No snapshot found, but there
#   are log entries"). In the model it starts, since there is no snapshot to be lost.
#
# **The established start** is one that no server is in for long: <1,2> is proposed, and logged nowhere. Clients have
# their sessions before it, and what was there before is <1,1>.


def hold(player: Player) -> None:
    """Hold the packets of all links, and all threads where the model lets them take their steps."""
    player.ensemble.hold(True)
    for gates in player.ensemble.gates.values():
        gates.close(*(set(EVERY) - OF_NEWLEADER))


def begin_new(player: Player) -> None:
    """Start new servers, of which none hears another, and compare them with the model's initial state.

    Raises:
        Cannot: a server is in another state.
    """
    e, compare = player.ensemble, player.compare
    compare.zxids = Zxids(1 << 32 | 1, new=True)
    player.played.base = compare.zxids.base
    e.regroup(())
    hold(player)
    player.since = dict.fromkeys(player.ids, 0)
    e.start_all()
    for p, n in enumerate(player.ids):
        player.votes(p, 60)
        first = e.servers[n].snapshot(0)
        player.wait(lambda first=first: is_saved(first, 0), f"server {n} saves {first.name}")  # type: ignore[misc]
        player.settle(player.plan.initial, p)
    e.recording.note("run", "all servers are new, as the model's are")


def establish(player: Player) -> None:
    """Bring the servers to the established start: p0 leads, and <1,1> is everywhere.

    <1,2> is proposed and nowhere logged.

    Raises:
        Cannot: the servers do not reach it.
    """
    e, ids, (a, b, c) = player.ensemble, player.ids, player.ids[:VOTERS]
    first = b if b < a else c
    if player.loses_power:
        for server in e.servers.values():
            keep_forced(server)
    e.regroup((a, first))
    e.start_all()
    player.wait(lambda: e.servers[a].status()[0] == "leader", f"server {a} leads", 60)
    e.regroup(e.numbers)
    learners = [(n, player.compare.learner(p)) for p, n in enumerate(ids) if n != a]
    for n, what in learners:
        player.wait(lambda n=n, what=what: e.servers[n].status()[0] == what, f"server {n} is {what}", 60)  # type: ignore[misc]
    player.writers = {n: e.client(n, lasting=True) for n in ids}
    client = player.writers[a]
    client.create(ROOT, ROOT.encode() * player.size)
    base = client.exists(ROOT).czxid
    for n in ids:
        player.wait(lambda n=n: e.servers[n].status()[1] == base, f"server {n} has applied {base:#x}")  # type: ignore[misc]
        player.wait(lambda n=n: base in e.servers[n].on_disk().log, f"server {n} has logged {base:#x}")  # type: ignore[misc]
    player.compare.zxids = Zxids(base)
    player.played.base = base
    time.sleep(0.05)  # for acknowledgements in transit to arrive before links are held
    hold(player)
    e.recording.note("run", f"held; <1,1> is {base:#x}")
    player.write(client, 8)
    player.settle(player.plan.initial, 0)
    if player.loses_power:
        for server in e.servers.values():
            written_back(server)
    e.recording.note("run", "established, as the model is")


BEGIN: dict[str, Callable[[Player], None]] = {ESTABLISHED: establish, NEW: begin_new}


@dataclass
class ReenactedRun:
    """The result of re-enacting a trace once.

    Attributes:
        trouble: why the servers did not come to where the trace begins, so that it was not tried; empty if they did.
        harm: what is broken on the real servers.
    """

    played: Played
    after: Aftermath | None
    harm: list[str] = field(default_factory=list)
    trouble: str = ""
    seconds: float = 0.0

    @property
    def agreed(self) -> bool:
        """Return whether every step was forced, seen, and as the model has it."""
        return not self.trouble and not self.played.differs


def play(folder: Path, release: Release, plan: ReenactmentPlan, patience: float = 20.0) -> ReenactedRun:
    """Play a plan once.

    Args:
        folder: it leaves there what happened, the servers' logs and their data.

    Raises:
        CannotRun: the servers end at their start, or their logs cannot be read.
    """
    began = time.monotonic()
    start = STARTS[plan.configuration.start]
    check_start(plan.configuration.start, release, plan.configuration.variant)
    ensemble = Ensemble(folder, release, plan.ids, (plan.ids[p] for p in plan.observers), start.lines)
    each = settings_of_each(plan.configuration.variant, release.settings, plan.steps, len(plan.ids))
    for n, settings in zip(plan.ids, each, strict=True):
        ensemble.servers[n].release = replace(release, settings=settings)
    player = Player(ensemble, plan, patience)
    after, harm, trouble = None, [], ""
    try:
        try:
            BEGIN[plan.configuration.start](player)
        except CannotRun:
            raise
        except Cannot as problem:
            trouble = str(problem)
        else:
            player.play()
            if not player.played.differs:
                harm = at_the_end(player, plan) if plan.steps else []
                after = aftermath(ensemble, player.played)
                harm += after.harm
    finally:
        ensemble.end()
    run = ReenactedRun(player.played, after, harm, trouble, time.monotonic() - began)
    (folder / "result.json").write_text(json.dumps(as_dict(plan, run), indent=1) + "\n")
    return run


def as_dict(plan: ReenactmentPlan, run: ReenactedRun) -> dict[str, object]:
    return {
        "ids": plan.ids, "steps": len(plan.steps), "agreed": run.played.steps, "differs": run.played.differs,
        "problem": run.trouble, "harm": run.harm, "model_breaks": plan.broken, "skipped": plan.skipped,
        "inserted": plan.inserted, "seconds": round(run.seconds, 2),
        "step_seconds": [round(s, 3) for s in run.played.seconds],
        "writes": [{"path": w.path, "acknowledged_at": w.answered} for w in run.played.writes],
        "exits": [asdict(x) for x in run.played.exits],
        "trees": {} if run.after is None else {str(n): t for n, t in run.after.trees.items()},
    }  # fmt: skip


def tried(
    folder: Path, release: Release, plan: ReenactmentPlan, retries: int, patience: float, say: Callable[[str], None]
) -> tuple[ReenactedRun, int]:
    """Play a plan until every step agrees, or the retries are used up; return the last run and the number of runs."""
    for again in range(retries + 1):
        run = play(folder / f"try{again + 1}", release, plan, patience)
        if run.agreed or again == retries:
            break
        say(f"try {again + 1}: {run.trouble or run.played.differs[0]}")
    return run, again + 1
