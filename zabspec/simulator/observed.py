"""The observed history when a simulated run is to be judged: what `zabspec/history.py` keeps, and a
count of what was observed, so that a run is judged anew only when there is something new in it."""

from __future__ import annotations

from zabspec.history import abcast as keep_abcast
from zabspec.history import abdeliver as keep_abdeliver
from zabspec.history import accept as keep_accept
from zabspec.history import establish as keep_establish
from zabspec.history import revise as keep_revise
from zabspec.language import Field, Int, Role
from zabspec.language.lang import History, Node, State, Txn, new_identity

__all__ = ["observed_fields"]


def observed_fields() -> tuple[Field, ...]:
    return (Field("observations", Int(0, 2**32 - 1), Role.SCRATCH, (), "events observed so far"),)


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
