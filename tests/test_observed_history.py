"""The observed history's own functions, in the CPython world: what mutants of `zabspec/history.py` showed to be held by
nothing smaller than a whole exploration, or by nothing (docs/mutants.md)."""

from __future__ import annotations

from collections.abc import Callable

from conftest import python_names

from zabspec.language import StateView
from zabspec.model import Configuration, Model

LITERAL = Configuration(nodes=1, txns=2, timeouts=1, crashes=0, losses=0, literal=True)


def begun(configuration: Configuration) -> tuple[StateView, dict[str, Callable[..., object]], list[object]]:
    """A state in which process 0 has abcast two transactions of epoch 1, the program, and the two."""
    names = python_names(configuration)
    s = Model(configuration).program.initial()
    for counter in (1, 2):
        names["abcast"](s, 0, 1, counter)
    return s, names, [s.abcast_txn[k] for k in range(2)]


def test_what_a_diverging_pass_delivers_first_is_delivered_too() -> None:
    """Delta_p is the union of all passes: another transaction at the place of one that was delivered is in it."""
    s, names, (a, b) = begun(LITERAL)
    names["abdeliver"](s, 0, a)
    names["end_pass"](s, 0)
    names["abdeliver"](s, 0, b)
    assert s.diverged[0]
    assert [s.delivered[0][k] for k in range(len(s.delivered[0]))] == [a, b]


def test_what_was_delivered_in_phase_2_is_of_one_pass() -> None:
    s, names, (a, _) = begun(LITERAL)
    names["abdeliver"](s, 0, a)
    names["end_synchronization"](s, 0)
    assert s.synced_length[0] == 1
    names["end_pass"](s, 0)
    assert s.synced_length[0] == 0
