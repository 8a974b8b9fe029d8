"""When a new leader takes over (LADIS'08 3): the same over what processes of `zab` and of `ladis` keep."""

from __future__ import annotations

from invariants.registry import STATE, Property
from zabspec.language.lang import NOBODY, Members, Node, State, broken, is_quorum
from zabspec.protocols.ladis import may_abcast
from zabspec.zab import ESTABLISHED, SYNCHRONIZATION


def led_before(s: State, l: Node, m: Node, leading: Members) -> bool:
    """Whether l leads an earlier epoch than m, of those that lead."""
    return l in leading and m in leading and s.new_epoch[l] < s.new_epoch[m]


def still_follows(s: State, f: Node, l: Node, following: Members) -> bool:
    """Whether f has not abandoned leader l; l follows itself."""
    return f == l or (f in following and s.leader[f] == l)


def leaders_abandoned(s: State, leading: Members, following: Members) -> bool:
    """Whether a quorum has abandoned each of these leaders that leads an earlier epoch than another of them.

    Args:
        leading: who leads, by what it knows.
        following: who is in the iteration of the leader that it has.
    """
    for m in range(s.NODES):
        for l in range(s.NODES):
            if led_before(s, l, m, leading):
                enough = is_quorum(s, {f for f in range(s.NODES) if not still_follows(s, f, l, following)})
                if not enough:
                    return broken(
                        f"p{m} is the established leader of epoch {s.new_epoch[m]}, and only "
                        f"{ {f for f in range(s.NODES) if not still_follows(s, f, l, following)} } have abandoned "
                        f"p{l}, the established leader of epoch {s.new_epoch[l]}"
                    )
    return True


def two_lead(s: State, leading: Members) -> bool:
    """Whether some of these lead different epochs."""
    for m in range(s.NODES):
        for l in range(s.NODES):
            if led_before(s, l, m, leading):
                return True
    return False


# --- zab ----------------------------------------------------------------------------------------


def in_iteration(s: State, f: Node) -> bool:
    """Whether f has acknowledged the epoch of its leader, and promised no later one."""
    if s.leader[f] == NOBODY or s.phase[f] < SYNCHRONIZATION:
        return False
    promised: int = s.promised_epoch[f]
    epoch: int = s.new_epoch[s.leader[f]]
    return promised == epoch


def previous_leader_abandoned(s: State) -> bool:
    """Taking over (LADIS'08 3): "a new leader cannot take over leadership until a quorum of servers abandon the
    previous leader": while a leader of a later epoch is established, a quorum follows no established leader of an
    earlier one."""
    return leaders_abandoned(
        s,
        {p for p in range(s.NODES) if s.stage[p] == ESTABLISHED},
        {f for f in range(s.NODES) if in_iteration(s, f)},
    )


def a_previous_leader_goes_on(s: State) -> bool:
    """Leaders of two epochs are established, each by what it knows."""
    return two_lead(s, {p for p in range(s.NODES) if s.stage[p] == ESTABLISHED})


# --- ladis --------------------------------------------------------------------------------------


def ladis_previous_leader_abandoned(s: State) -> bool:
    """Taking over (LADIS'08 3): "a new leader cannot take over leadership until a quorum of servers abandon the
    previous leader": while a leader of a later epoch is in broadcast mode, a quorum follows no leader of an earlier
    one, which follows itself."""
    return leaders_abandoned(
        s,
        {p for p in range(s.NODES) if may_abcast(s, p)},
        {f for f in range(s.NODES) if s.synced[f]},
    )


def a_previous_leader_broadcasts(s: State) -> bool:
    """Leaders of two epochs are in broadcast mode, each by what it knows."""
    return two_lead(s, {p for p in range(s.NODES) if may_abcast(s, p)})


PROPERTIES = (
    Property(
        "ladis-previous-leader-abandoned", STATE, "LADIS'08 3",
        "a leader is in broadcast mode, and an earlier one does not know it yet",
        ladis_previous_leader_abandoned, a_previous_leader_broadcasts, default=False, protocols=("ladis",),
    ),
    Property(
        "previous-leader-abandoned", STATE, "LADIS'08 3",
        "a leader is established, and an earlier one does not know it yet",
        previous_leader_abandoned, a_previous_leader_goes_on, default=False, protocols=("zab",),
    ),
)  # fmt: skip
