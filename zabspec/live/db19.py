"""Define the stable phase of db19, and its progress properties.

It has no oracle: it elects by votes. So the stabilization time is one at which a process leads and a quorum follows it,
and a run counts for as long as that is so. Messages in flight arrive, and in time: no timer runs out while one is in
transit. Then the timer of a process that does not follow that leader runs out, and leaders send heartbeats.
"""

from __future__ import annotations

from zabspec.language.python.lang import NOBODY, Node, State, is_quorum
from zabspec.properties import ProgressProperty
from zabspec.protocols.db19 import DOWN, LEADING, LOOKING
from zabspec.worlds.actor import ELECTION_TIMER, HEARTBEAT_TIMER, is_down, on_timer, timer_armed
from zabspec.worlds.step_annotations import begin_step, process_in
from zabspec.worlds.steps import RECEIVE


def stable_begins(s: State, named: Node) -> bool:
    """Return whether the stable phase may begin here: the named process leads, with a quorum following it."""
    followed = is_quorum(s, {p for p in range(s.NODES) if s.role[p] != DOWN and s.leader_id[p] == named})
    return s.role[named] == LEADING and followed


def stable_lasts(s: State, named: Node) -> bool:
    """Return whether the assumptions still hold: the named process leads, with a quorum following it."""
    return stable_begins(s, named)


def stable_takes(s: State, word: int, named: Node) -> bool:
    """Return whether a possible step may be taken: no receipt overtakes messages ahead, which would be lost."""
    if (word >> 24) & 255 == RECEIVE:
        return s.in_flight[word & 255].ahead == 0
    return True


def something_arrives(s: State) -> bool:
    """Return whether a message is in transit to a process that is up."""
    for k in range(len(s.in_flight)):
        if not is_down(s, s.in_flight[k].target):
            return True
    return False


def stable_waits(s: State, p: Node, named: Node) -> bool:
    """Return whether the timer of p is running, since p does not hear from the leader named.

    As long as it runs it is due, also while a message is in transit: a timer that is never stopped runs out.
    """
    return not is_down(s, p) and s.leader_id[p] != named and timer_armed(s, p, ELECTION_TIMER)


def stable_gives_up(s: State, p: Node, named: Node) -> bool:
    """Return whether the timer of p runs out now: no message is in transit."""
    return stable_waits(s, p, named) and not something_arrives(s)


def stable_give_up(s: State, word: int) -> None:
    """Let a process's election timer fire, at no cost."""
    begin_step(s, word, process_in(word), NOBODY)
    on_timer(s, process_in(word), ELECTION_TIMER)


def stable_beat_due(s: State, p: Node) -> bool:
    """Return whether p leads, and its timer for heartbeats runs."""
    return not is_down(s, p) and timer_armed(s, p, HEARTBEAT_TIMER)


def stable_beats(s: State, p: Node) -> bool:
    """Return whether p sends its heartbeat now: no message is in transit."""
    return stable_beat_due(s, p) and not something_arrives(s)


def stable_beat(s: State, word: int) -> None:
    """Let a leader's heartbeat timer fire, at no cost."""
    begin_step(s, word, process_in(word), NOBODY)
    on_timer(s, process_in(word), HEARTBEAT_TIMER)


# --- what must come of it ------------------------------------------------------------------------


def waits_to_look_no_more(s: State, p: Node, named: Node) -> bool:
    """A process that looks for a leader finds it."""
    return s.role[p] == LOOKING


def waits_to_be_told(s: State, p: Node, named: Node) -> bool:
    """A process that leads, and has been deposed, hears of it."""
    return s.role[p] == LEADING and p != named


def waits_to_synchronize(s: State, p: Node, named: Node) -> bool:
    """A process that is up comes to follow the leader and to have synchronized with it, which is synced."""
    if s.role[p] == DOWN:
        return False
    return s.leader_id[p] != named or not s.synced[named] or s.current_epoch[p] != s.current_epoch[named]


def waits_to_deliver(s: State, p: Node, named: Node) -> bool:
    """Every transaction in the history of the leader, once it is synced, is delivered by every process that is up."""
    if s.role[p] == DOWN or not s.synced[named]:
        return False
    return s.delivered_length[p] < len(s.history[named])


GOALS = (
    ProgressProperty("follows", "db-19, FastLeaderElection", waits_to_look_no_more),
    ProgressProperty("steps-down", "db-19, Discovery", waits_to_be_told),
    ProgressProperty("joins", "db-19, Synchronization", waits_to_synchronize),
    ProgressProperty("delivers", "db-19, Broadcast", waits_to_deliver),
)
