"""Classes of counterexamples of db19, distinguished by the step that violates the property.

Each is a step property which says that no step of the class violates it. None is a property of a protocol;
`benchmarks/db19.py` judges them, and `benchmarks/results/db19.md` has their shortest runs.
"""

from __future__ import annotations

from invariants.durability import durability
from invariants.ladis import prefix_property
from invariants.registry import STEP, Property
from zabspec.language.python.lang import Node, State
from zabspec.protocols.db19 import FOLLOWING, LEADING, NewLeader
from zabspec.protocols.election import LookForLeader
from zabspec.worlds.steps import RECEIVE

PAGE = "benchmarks/results/db19.md"


def nothing(before: State, event: State, after: State) -> bool:
    """Return a premise that is never met: none is searched."""
    return False


# --- a stale NewLeader, taken while another leader is followed -----------------------------------


def no_stale_new_leader(before: State, event: State, after: State) -> bool:
    """No process that follows one leader replaces its history by that of another's NewLeader.

    It would remove what was delivered from the last quorum that had it.
    """
    p = event.event_process
    if event.event != RECEIVE or event.event_message.kind != NewLeader:
        return True
    if before.role[p] != FOLLOWING or before.leader_id[p] == event.event_peer:
        return True
    return durability(after) or not durability(before)


# --- holes ---------------------------------------------------------------------------------------


def has_hole(s: State, p: Node) -> bool:
    """Return whether p's history lacks a transaction that was abcast before its last entry."""
    n = len(s.history[p])
    for k in range(s.TXNS):
        if k < s.abcasts and n > 0:
            t = s.abcast_txn[k]
            u = s.history[p][n - 1]
            if t.epoch < u.epoch or (t.epoch == u.epoch and t.counter < u.counter):
                found = False
                for j in range(n):
                    if s.history[p][j] == t:
                        found = True
                if not found:
                    return True
    return False


def looked_again(s: State, p: Node) -> bool:
    """Return whether p has looked for a leader again in its epoch, and what it sent then is still in flight."""
    for k in range(len(s.in_flight)):
        if s.in_flight[k].kind == LookForLeader and s.in_flight[k].source == p:
            if of_epoch(s, p, s.in_flight[k]):
                return True
    return False


def of_epoch(s: State, p: Node, m: LookForLeader) -> bool:
    """Return whether a message was sent in the epoch that p is in."""
    return m.peer_epoch > 0 and m.peer_epoch == s.current_epoch[p]


def skips(before: State, after: State) -> bool:
    """Return whether the step violates the prefix property."""
    return prefix_property(before) and not prefix_property(after)


def no_return_behind(before: State, event: State, after: State) -> bool:
    """No process that returned to its old leader by votes delivers what it appended after what it missed.

    It was cut off, looked for a leader, and was not synchronized.
    """
    p = event.event_process
    follows = after.role[p] == FOLLOWING
    return not (follows and skips(before, after) and has_hole(after, p) and looked_again(after, p))


def no_winner_with_a_hole(before: State, event: State, after: State) -> bool:
    """No process whose history has a hole is elected, and makes that the history its epoch starts from."""
    p = event.event_process
    wins = after.role[p] == LEADING and after.synced[p] and not before.synced[p]
    return not (wins and skips(before, after) and has_hole(after, p))


def class_of(name: str, holds: object) -> Property:
    return Property(name, STEP, PAGE, "none", holds, nothing, default=False, protocols=("db19",))  # type: ignore[arg-type]


CLASSES = (
    class_of("stale-new-leader", no_stale_new_leader),
    class_of("return-behind", no_return_behind),
    class_of("winner-with-a-hole", no_winner_with_a_hole),
)
