"""When a new leader takes over (LADIS'08 3): over what processes of `ladis` keep."""

from __future__ import annotations

from invariants.registry import STATE, Property
from zabspec.language.lang import Node, State, broken, is_quorum
from zabspec.protocols.ladis import may_abcast


def broadcasts_after(s: State, l: Node, m: Node) -> bool:
    """Whether l is a leader in broadcast mode, does not know better, and m is one of a later epoch."""
    return may_abcast(s, l) and may_abcast(s, m) and s.new_epoch[l] < s.new_epoch[m]


def ladis_previous_leader_abandoned(s: State) -> bool:
    """Taking over (LADIS'08 3): "a new leader cannot take over leadership until a quorum of servers abandon the
    previous leader": while a leader of a later epoch is in broadcast mode, a quorum follows no leader of an earlier
    one, which follows itself."""
    for m in range(s.NODES):
        for l in range(s.NODES):
            if broadcasts_after(s, l, m):
                enough = is_quorum(s, {f for f in range(s.NODES) if f != l and not (s.leader[f] == l and s.synced[f])})
                if not enough:
                    return broken(
                        f"p{m} leads epoch {s.new_epoch[m]} in broadcast mode, and only "
                        f"{ {f for f in range(s.NODES) if f != l and not (s.leader[f] == l and s.synced[f])} } have "
                        f"abandoned p{l}, the leader of epoch {s.new_epoch[l]}"
                    )
    return True


def a_previous_leader_broadcasts(s: State) -> bool:
    """Leaders of two epochs are in broadcast mode, each by what it knows."""
    for m in range(s.NODES):
        for l in range(s.NODES):
            if broadcasts_after(s, l, m):
                return True
    return False


PROPERTIES = (
    Property(
        "ladis-previous-leader-abandoned", STATE, "LADIS'08 3",
        "a leader is in broadcast mode, and an earlier one does not know it yet",
        ladis_previous_leader_abandoned, a_previous_leader_broadcasts, default=False, protocols=("ladis",),
    ),
)  # fmt: skip
