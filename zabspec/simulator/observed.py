"""Keep the observed history for a simulated run that is checked.

Beside what `zabspec/history.py` keeps, there is a count of observations and the stable histories at the last check, so
that a run is checked only when there is something new in it.
"""

from __future__ import annotations

from zabspec.history import abcast as keep_abcast
from zabspec.history import abdeliver as keep_abdeliver
from zabspec.history import accept as keep_accept
from zabspec.history import establish as keep_establish
from zabspec.history import revise as keep_revise
from zabspec.language import Field, Int, Kind, Role
from zabspec.language.python.lang import History, Node, State, Txn, new_identity


def observed_fields(nodes: int, history: Kind) -> tuple[Field, ...]:
    """Return the fields that are kept besides the ghosts.

    Args:
        nodes: the number of processes.
        history: the kind of a process's history.
    """
    return (
        Field("observations", Int(0, 2**32 - 1), Role.SCRATCH, (), "events observed so far"),
        Field("seen_history", history, Role.SCRATCH, (nodes,), "h_f when the run was last judged"),
    )


def histories_changed(s: State) -> bool:
    """Return whether a stable history has changed since this was last called."""
    changed = False
    for p in range(s.NODES):
        if s.seen_history[p] != s.history[p]:
            s.seen_history[p] = s.history[p]
            changed = True
    return changed


@new_identity
def abcast(s: State, p: Node, epoch: int, counter: int) -> Txn:
    s.observations = s.observations + 1
    return keep_abcast(s, p, epoch, counter)


def abdeliver(s: State, p: Node, t: Txn) -> None:
    s.observations = s.observations + 1
    keep_abdeliver(s, p, t)


def accept(s: State, p: Node, epoch: int, t: Txn) -> None:
    s.observations = s.observations + 1
    keep_accept(s, p, epoch, t)


def establish(s: State, epoch: int, initial: History) -> None:
    s.observations = s.observations + 1
    keep_establish(s, epoch, initial)


def revise(s: State, p: Node, history: History) -> None:
    s.observations = s.observations + 1
    keep_revise(s, p, history)
