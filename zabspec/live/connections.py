"""Define the stable phase over connections: what may happen after the stabilization time.

There is no fault, since no budget is left; the leader oracle names one process that is up; and a process that follows
another one, or over a dead connection, gives up. All else is the world's own (`worlds/connections.py`).
"""

from __future__ import annotations

from zabspec.language.python.lang import NOBODY, Node, State
from zabspec.worlds.actor import ELECTION, is_down, may_time_out, on_timeout
from zabspec.worlds.connections import OPEN
from zabspec.worlds.step_annotations import begin_step, peer_in, process_in
from zabspec.worlds.steps import ORACLE


def stable_begins(s: State, named: Node) -> bool:
    """Return whether the stable phase may begin here: the named process is up."""
    return not is_down(s, named)


def stable_lasts(s: State, named: Node) -> bool:
    """Return whether the assumptions still hold: always, since an oracle does not change its mind."""
    return True


def stable_takes(s: State, word: int, named: Node) -> bool:
    """Return whether a possible step may be taken: an oracle names the one process and no other."""
    if (word >> 24) & 255 == ORACLE:
        return peer_in(word) == named
    return True


def stable_gives_up(s: State, p: Node, named: Node) -> bool:
    """Return whether p gives up its iteration: its leader is not the one named, or its connection is dead.

    A leader need not have a connection with itself.
    """
    if is_down(s, p) or s.role[p] == ELECTION or not may_time_out(s, p):
        return False
    return s.leader[p] != named or (p != named and s.link[p][named] != OPEN)


def stable_give_up(s: State, word: int) -> None:
    """Make a process give up, at no cost; the step is a timeout otherwise."""
    begin_step(s, word, process_in(word), NOBODY)
    on_timeout(s, process_in(word))


def stable_waits(s: State, p: Node, named: Node) -> bool:
    """Return whether giving up is due: only where it is possible."""
    return stable_gives_up(s, p, named)


def stable_beat_due(s: State, p: Node) -> bool:
    """Return False: there is no timer of a leader."""
    return False


def stable_beats(s: State, p: Node) -> bool:
    """Return False: no timer of a leader is modelled."""
    return False


def stable_beat(s: State, word: int) -> None:
    """Do nothing."""
