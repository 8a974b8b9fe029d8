"""The variants of db19: the lab's protocol with one rule repaired, and with several.

A variant is the set of functions that stand in for functions of `zabspec.db19` of the same name.
None is safe by itself: each takes away the class of counterexample it is named for, and `breaks` says
what it leaves within its budget (`docs/db19.md`).
"""

from __future__ import annotations

from zabspec.db19 import (
    FOLLOWING,
    LEADING,
    Ack,
    AckEpoch,
    NewEpoch,
    NewLeader,
    Propose,
    enter_looking,
    last_zxid,
)
from zabspec.election import zxid_less
from zabspec.language.lang import Node, State, Zxid
from zabspec.variants import Variant

__all__ = ["VARIANTS"]


def in_discovery(s: State, p: Node, m: AckEpoch) -> bool:
    """AckEpoch counts until discovery is done, and not again."""
    return s.role[p] == LEADING and s.current_epoch[p] != s.pending_new_epoch[p]


def from_own_leader(s: State, p: Node, source: int, m: NewEpoch) -> bool:
    """The promised epoch is acknowledged again to the leader it was promised to."""
    return m.new_epoch == s.accepted_epoch[p] and s.role[p] == FOLLOWING and s.leader_id[p] == source


def follows_sender(s: State, p: Node, source: int, m: NewLeader) -> bool:
    """NewLeader is taken from the leader that the process follows, for the epoch it promised."""
    return m.new_epoch == s.accepted_epoch[p] and s.role[p] == FOLLOWING and s.leader_id[p] == source


def next_in_turn(s: State, p: Node, m: Propose) -> bool:
    """Propose is appended where it leaves no hole: the next of its epoch, or its first."""
    if m.txn.epoch != s.current_epoch[p]:
        return False
    if last_zxid(s, p).epoch == m.txn.epoch:
        return m.txn.counter == last_zxid(s, p).counter + 1
    return m.txn.counter == 1


def of_own_epoch(s: State, p: Node, m: Ack) -> bool:
    """Ack counts for what this leader proposed in this epoch."""
    return m.zxid.epoch == s.current_epoch[p] and m.zxid.counter <= s.next_counter[p]


def from_leader(s: State, p: Node, source: int) -> bool:
    """Commit counts from the leader that the process follows."""
    return s.role[p] == FOLLOWING and s.leader_id[p] == source


def not_outranked(s: State, p: Node, m: AckEpoch) -> bool:
    """AckEpoch counts from whoever has no later history than the leader: by current epoch, then by
    the last zxid."""
    if s.role[p] != LEADING or m.current_epoch > s.current_epoch[p]:
        return False
    return m.current_epoch < s.current_epoch[p] or not zxid_less(last_zxid(s, p), m.last_zxid)


def in_discovery_not_outranked(s: State, p: Node, m: AckEpoch) -> bool:
    """Both rules for AckEpoch."""
    return in_discovery(s, p, m) and not_outranked(s, p, m)


WITHIN = {"nodes": 3, "txns": 2, "timeouts": 1, "crashes": 0}

TABLE: tuple[Variant, ...] = (
    Variant(
        name="discovery-once",
        rule="AckEpoch",
        summary="an AckEpoch that comes when discovery is done does not repeat it",
        safe=False,
        overrides={"counts_ack_epoch": in_discovery},
        budget=WITHIN,
        why="it takes away the second NewLeader of an epoch, and with it the counter that begins again",
    ),
    Variant(
        name="promise-once",
        rule="NewEpoch",
        summary="an epoch equal to the promise is acknowledged again to the leader it was promised to, and to no other",
        safe=False,
        overrides={"acknowledges_again": from_own_leader, "takes_new_leader": follows_sender},
        budget=WITHIN,
        why="one quorum cannot promise an epoch to two leaders",
    ),
    Variant(
        name="no-holes",
        rule="Propose",
        summary="a proposal is appended only where it leaves no hole",
        safe=False,
        overrides={"appends": next_in_turn},
        budget=WITHIN,
        why="an acknowledgement of a zxid then speaks for all before it, and a commit passes over nothing",
    ),
    Variant(
        name="best-history",
        rule="AckEpoch",
        summary="an AckEpoch from a process with a later history than the leader's does not count",
        safe=False,
        overrides={"counts_ack_epoch": not_outranked},
        budget=WITHIN,
        why="what a quorum has accepted is in the history of one that counts",
    ),
    Variant(
        name="own-acks",
        rule="Ack",
        summary="an Ack counts for what the leader has proposed in this epoch",
        safe=False,
        overrides={"counts_ack": of_own_epoch},
        budget=WITHIN,
        why="a late one for a zxid of an earlier epoch commits nothing",
    ),
    Variant(
        name="commit-of-leader",
        rule="Commit",
        summary="a Commit counts from the leader that the process follows",
        safe=False,
        overrides={"takes_commit": from_leader},
        budget=WITHIN,
        why="a deposed leader commits nothing at those that have left it",
    ),
    Variant(
        name="repaired",
        rule="AckEpoch, NewEpoch, NewLeader, Propose, Ack, Commit",
        summary="all of these together",
        safe=False,
        overrides={
            "counts_ack_epoch": in_discovery_not_outranked,
            "acknowledges_again": from_own_leader,
            "takes_new_leader": follows_sender,
            "appends": next_in_turn,
            "counts_ack": of_own_epoch,
            "takes_commit": from_leader,
        },
        budget=WITHIN,
        why="see docs/db19.md for what remains",
    ),
)
VARIANTS: dict[str, Variant] = {v.name: v for v in TABLE}
