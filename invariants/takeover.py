"""When a new leader takes over (LADIS'08 3): over what processes of `zab` keep."""

from __future__ import annotations

from invariants.registry import STATE, Property
from zabspec.language.lang import Node, State, broken, is_quorum
from zabspec.zab import ESTABLISHED, SYNCHRONIZATION


def still_follows(s: State, f: Node, l: Node) -> bool:
    """Whether f has acknowledged the epoch of leader l and has not abandoned it: it is in l's iteration, as a follower;
    l follows itself."""
    if s.leader[f] != l or s.phase[f] < SYNCHRONIZATION:
        return False
    promised: int = s.promised_epoch[f]
    epoch: int = s.new_epoch[l]
    return promised == epoch


def led_before(s: State, l: Node, m: Node) -> bool:
    """Whether l is an established leader of an earlier epoch than established leader m, and does not know better."""
    epoch: int = s.new_epoch[l]
    later: int = s.new_epoch[m]
    return s.stage[l] == ESTABLISHED and s.stage[m] == ESTABLISHED and epoch < later


def previous_leader_abandoned(s: State) -> bool:
    """Taking over (LADIS'08 3): "a new leader cannot take over leadership until a quorum of servers abandon the
    previous leader": while a leader of a later epoch is established, a quorum follows no established leader of an
    earlier one."""
    for m in range(s.NODES):
        for l in range(s.NODES):
            if led_before(s, l, m):
                enough = is_quorum(s, {f for f in range(s.NODES) if not still_follows(s, f, l)})
                if not enough:
                    return broken(
                        f"p{m} is the established leader of epoch {s.new_epoch[m]}, and only "
                        f"{ {f for f in range(s.NODES) if not still_follows(s, f, l)} } have abandoned p{l}, the "
                        f"established leader of epoch {s.new_epoch[l]}"
                    )
    return True


def a_previous_leader_goes_on(s: State) -> bool:
    """Leaders of two epochs are established, each by what it knows."""
    for m in range(s.NODES):
        for l in range(s.NODES):
            if led_before(s, l, m):
                return True
    return False


PROPERTIES = (
    Property(
        "previous-leader-abandoned", STATE, "LADIS'08 3",
        "a leader is established, and an earlier one does not know it yet",
        previous_leader_abandoned, a_previous_leader_goes_on, default=False, protocols=("zab",),
    ),
)  # fmt: skip
