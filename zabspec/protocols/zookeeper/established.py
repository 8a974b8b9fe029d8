"""The state that a run may begin in: a leader of epoch 1, two followers in sync, <1,1> everywhere, <1,2> proposed."""

from __future__ import annotations

from zabspec.language.lang import State
from zabspec.protocols.zookeeper.state import FOLLOWING, LEADING, PROPOSAL, SERVING, first_of
from zabspec.protocols.zookeeper.storage import apply_txn
from zabspec.worlds.actor import connect, send_to_follower


def established(s: State) -> None:
    """p0 leads epoch 1."""
    first = first_of(1)
    for p in range(s.NODES):
        s.current_epoch[p] = 1
        s.accepted_epoch[p] = 1
        s.log[p].append(first + 1)
        apply_txn(s, p, first + 1)
        s.phase[p] = SERVING
        s.term[p] = 1
        if p != 0:
            s.role[p] = FOLLOWING
            s.leader[p] = 0
            connect(s, p, 0)
            s.linked[0].add(p)
            s.forwarding[0].add(p)
            s.looping[0].add(p)
    s.role[0] = LEADING
    for f in range(s.NODES):
        if f != 0:
            send_to_follower(s, 0, f, PROPOSAL(zxid=first + 2))
    s.outstanding[0].append(first + 2)
    s.sync_queue[0].append(first + 2)
    s.last_proposed[0] = first + 2
    s.last_committed[0] = first + 1
    s.founded[1] = 1
    s.exposed[1] = s.tree[0]
