"""Bring real servers to the state in which a run begins: an established leader, or new servers.

**New servers** are the model's initial state: all are up, look for a leader, and have no transaction. So that the first
election, discovery and synchronization are steps of the run, links, gates and votes are held before a server starts.
What a new server is, and how it is compared:

- *Its disk.* A server that starts in an empty directory saves snapshot.0 (`FileTxnSnapLog.restore`; from 3.5.4 on only
  with `zookeeper.db.autocreate`, the default), and writes currentEpoch and acceptedEpoch, both 0
  (`QuorumPeer.loadDataBase`). The model has the epochs, and no snapshot of the empty tree at <0,0>: a start without one
  begins with just that. Every snapshot is compared, snapshot.0 too: it is always there, and empty, unless the model has
  saved another tree by that name. There is no log: its first file, log.<zxid>, comes with the first record, and each
  record is compared. Such a file may be written over, so the model has `log-files` (`of_servers`).
- *Its vote.* Each server says in its log that it votes with zxid 0. Votes reach nobody before the first election.
- *Trees.* A server may have its data from a snapshot alone, so the nodes in every snapshot are compared, too.
- *Zxids and epochs* are those of the model, without a shift.
- *Clients.* A session is a transaction of its own, which the model does not have. The servers have
  `localSessionsEnabled`: the session of a client that creates no ephemeral node is known to its server alone, and is
  no transaction. (Another session would not begin: the sync thread is held before it.) A client connects to a leader
  in the step in which that begins to serve. Nothing is committed then that is not applied; for that a new session
  would wait as long as the commit thread is held. Each transaction creates a node directly below the root.
- *Power* is not lost in such runs (`starts.py`). The first leader writes snapshot.0 over, and does not force it: with
  the power it is gone, and a server that keeps a log without it does not start ("No snapshot found, but there are log
  entries"). In the model it starts, since there is no snapshot to be lost.

**The established start** is one that no server is in for long: <1,2> is proposed, and logged nowhere. Clients have
their sessions before it, and what was there before is <1,1>.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from traces.zookeeper.reenact.compare import ROOT
from traces.zookeeper.reenact.disks import keep_forced, written_back
from traces.zookeeper.reenact.gates import EVERY
from traces.zookeeper.reenact.periodic import is_saved
from traces.zookeeper.reenact.plan import ESTABLISHED, NEW, VOTERS
from traces.zookeeper.reenact.player import OF_NEWLEADER, Player
from traces.zookeeper.reenact.zxids import Zxids


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
