"""Keep no observed history: transactions get their identities, and there are no ghosts."""

from __future__ import annotations

from zabspec.language import Field, Int, Role
from zabspec.language.python.lang import History, Node, State, Txn


def unobserved_fields(proposals: int) -> tuple[Field, ...]:
    """Return the one field that counts transactions."""
    return (Field("abcasts", Int(0, proposals, "--proposals"), Role.BUDGET, (), "transactions abcast so far"),)


def abcast(s: State, p: Node, epoch: int, counter: int) -> Txn:
    s.abcasts = s.abcasts + 1
    return Txn(epoch=epoch, counter=counter, value=s.abcasts)


def abdeliver(s: State, p: Node, t: Txn) -> None:
    """Record nothing."""


def accept(s: State, p: Node, epoch: int, t: Txn) -> None:
    """Record nothing."""


def establish(s: State, epoch: int, initial: History) -> None:
    """Record nothing."""


def revise(s: State, p: Node, history: History) -> None:
    """Record nothing."""


def end_pass(s: State, p: Node) -> None:
    """Record nothing."""


def end_leadership(s: State, p: Node) -> None:
    """Record nothing."""


def end_synchronization(s: State, p: Node) -> None:
    """Record nothing."""
