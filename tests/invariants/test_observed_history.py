"""The observed history's own functions, in the CPython world: what mutants of `zabspec/history.py` showed to be held by
nothing smaller than a whole exploration, or by nothing (benchmarks/results/mutants.md)."""

from __future__ import annotations

from collections.abc import Callable

from tests.models import python_names
from zabspec.language import StateView
from zabspec.model import Configuration, Model

DB19 = Configuration(protocol="db19", nodes=2, txns=2, timeouts=1, crashes=0, losses=0)
LITERAL = Configuration(nodes=1, txns=2, timeouts=1, crashes=0, losses=0, literal=True)


def begun(configuration: Configuration) -> tuple[StateView, dict[str, Callable[..., object]], list[object]]:
    """A state in which process 0 has abcast two transactions of epoch 1, the program, and the two."""
    names = python_names(configuration)
    s = Model(configuration).program.initial()
    for counter in (1, 2):
        names["abcast"](s, 0, 1, counter)
    return s, names, [s.abcast_txn[k] for k in range(2)]


def entries(names: dict[str, Callable[..., object]], *txns: object) -> object:
    """A history of these entries, as a handler makes one."""
    other = Model(DB19).program.initial()
    for t in txns:
        other.history[0].append(t)
    return other.history[0]


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


def test_a_replaced_history_is_compared_with_the_delivered_part_only() -> None:
    """Delivered twice, the first is in Delta_p once: there is nothing for the second entry to differ from."""
    s, names, (a, b) = begun(DB19)
    names["abdeliver"](s, 0, a)
    names["abdeliver"](s, 0, a)
    names["revise"](s, 0, entries(names, a, b))
    assert s.revised[0] == 1
    names["revise"](s, 0, entries(names, b, a))
    assert s.revised[0] == 2


def test_no_transaction_is_chosen() -> None:
    """What a leader that has no proposal says it proposes is accepted, and is nobody's transaction."""
    s, names, _ = begun(LITERAL)
    before = s.copy()
    names["accept"](s, 0, 1, names["Txn"](epoch=0, counter=0, value=0))
    assert (s.accepts, s.accept_epoch) == (1, 1)
    assert s.key() == before.key()


def test_nothing_is_chosen_in_epoch_0() -> None:
    """What is chosen stays so, whoever accepts it in an epoch in which no primary abcasts."""
    s, names, (a, _) = begun(DB19)
    s.abcasts, s.chosen_epoch[a.value - 1] = 1, 1
    for p in range(2):
        names["accept"](s, p, 0, a)
    assert s.chosen_epoch[a.value - 1] == 1


def test_an_initial_history_lacks_only_what_was_broadcast() -> None:
    s, names, _ = begun(DB19)
    s.abcasts = 1
    names["establish"](s, 1, entries(names))
    assert (s.missing_epoch[0], s.missing_epoch[1]) == (1, 0)
