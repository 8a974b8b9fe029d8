"""State when a new leader takes over (LADIS'08 3), and what one that stays has everybody deliver, over the fields of
`zab` and `ladis`."""

from __future__ import annotations

from invariants.ladis import delivers_all
from invariants.registry import STATE, STEP, TERMINAL, Property
from zabspec.language.python.lang import NOBODY, Members, Node, State, broken, is_quorum
from zabspec.worlds.steps import LEADER_LEARNS
from zabspec.zab import ESTABLISHED, SYNCHRONIZATION, may_abcast  # which is `ladis`'s own where that is judged


def led_before(s: State, l: Node, m: Node, leading: Members) -> bool:
    """Return whether l leads an earlier epoch than m, of those that lead."""
    return l in leading and m in leading and s.new_epoch[l] < s.new_epoch[m]


def still_follows(s: State, f: Node, l: Node, following: Members) -> bool:
    """Return whether f has not abandoned leader l; l follows itself."""
    return f == l or (f in following and s.leader[f] == l)


def leaders_abandoned(s: State, leading: Members, following: Members) -> bool:
    """Return whether a quorum has abandoned each of these leaders that leads an earlier epoch than another of them.

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
    """Return whether some of these lead different epochs."""
    return any(led_before(s, l, m, leading) for m in range(s.NODES) for l in range(s.NODES))


# --- zab ----------------------------------------------------------------------------------------


def in_iteration(s: State, f: Node) -> bool:
    """Return whether f has acknowledged the epoch of its leader, and promised no later one."""
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


def in_phase_3(s: State, l: Node) -> Members:
    """Return who is in Phase 3 under leader l, itself included, if it is established."""
    return {
        f for f in range(s.NODES) if s.stage[l] == ESTABLISHED and s.leader[f] == l and s.phase[f] > SYNCHRONIZATION
    }


def zab_reliable_delivery(s: State) -> bool:
    """Reliable delivery (LADIS'08 2), of zab: "[i]f a message, m, is delivered by one server, then it will be
    eventually delivered by all correct servers": where nothing more can happen and a quorum is in Phase 3 under an
    established leader, they have delivered all that any process ever did."""
    return all(not is_quorum(s, in_phase_3(s, l)) or delivers_all(s, l, in_phase_3(s, l)) for l in range(s.NODES))


def delivered_in_broadcast(s: State) -> bool:
    """A quorum is in Phase 3 under an established leader, and a transaction is delivered."""
    return any(
        len(s.delivered[p]) > 0 and is_quorum(s, in_phase_3(s, l)) for l in range(s.NODES) for p in range(s.NODES)
    )


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


def one_active_primary(s: State) -> bool:
    """One active primary (III): "at any time there is at most one active primary process that is allowed to broadcast".
    ZAB does not keep it, nor could it without clocks: a primary that has lost its quorum does not know it yet. What
    ZAB promises is that nothing which the earlier primary broadcasts then is delivered out of its place."""
    for p in range(s.NODES):
        for q in range(s.NODES):
            if p != q and may_abcast(s, p) and may_abcast(s, q):
                return broken(f"p{p} may broadcast in epoch {s.new_epoch[p]}, and p{q} in epoch {s.new_epoch[q]}")
    return True


def a_primary_is_active(s: State) -> bool:
    """A primary may broadcast."""
    return any(may_abcast(s, p) for p in range(s.NODES))


def loses_follower(before: State, event: State) -> bool:
    """Return whether an established leader learns of a lost follower in Q, and the others are a quorum (II.1)."""
    if event.event != LEADER_LEARNS or before.stage[event.event_process] != ESTABLISHED:
        return False
    f = event.event_peer
    if f not in before.Q[event.event_process]:
        return False
    return is_quorum(before, {g for g in range(before.NODES) if g in before.Q[event.event_process] and g != f})


def service_goes_on(before: State, event: State, after: State) -> bool:
    """Smooth failure handling (LADIS'08 2): "[i]f a server fails that is not the leader and there is still a quorum of
    correct servers, there should be no service interruption": an established leader that learns of a lost follower and
    has a quorum without it goes on leading, and its primary may broadcast as before."""
    if loses_follower(before, event):
        l = event.event_process
        if after.stage[l] != ESTABLISHED or after.ready[l] != before.ready[l]:
            return broken(f"p{l} lost p{event.event_peer}, has a quorum without it, and no longer leads")
    return True


def a_follower_is_lost(before: State, event: State, after: State) -> bool:
    """An established leader learns of a lost follower, and has a quorum without it."""
    return loses_follower(before, event)


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
    Property(
        "one-active-primary", STATE, "DSN'11 III", "a primary may broadcast",
        one_active_primary, a_primary_is_active, default=False, protocols=("zab",),
    ),
    Property(
        "service-goes-on", STEP, "LADIS'08 2", "an established leader loses a follower, and has a quorum without it",
        service_goes_on, a_follower_is_lost, default=False, protocols=("zab",),
    ),
    Property(
        "zab-reliable-delivery", TERMINAL, "LADIS'08 2",
        "nothing more can happen, a quorum is in Phase 3 under a leader, and a transaction is delivered",
        zab_reliable_delivery, delivered_in_broadcast, default=False, protocols=("zab",),
    ),
)  # fmt: skip
