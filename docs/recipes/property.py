"""A property of histories: one file of `invariants/`, which is found by lying there.

It has a function whose docstring is the statement, with a sentence beside each `return False`; a witness, which says
whether the premise is met; and a row. It reads the observed fields of `h` alone (`zabspec/history.py`), and then judges
explored states, simulated runs and tables of up to 128 rows. The tests then name what is missing: its source, if that
is no section of the papers, and a second, naive definition (`zabspec/second/definitions.py`); a history that violates
it, and stories that meet its premise and do not (`tests/broken_histories.py`, `tests/invariants/test_premises.py`); its
golden verdicts (`pytest tests/explore/test_golden.py --rewrite`). One with `default=False` is judged only where
`--property` names it. One that is judged by default is a function of `CORE` in `zabspec/second/core_properties.py`,
too, a line of O7 in docs/reference/semantics.md, and a name in `of_their_own` of `tests/invariants/test_properties.py`.

A property over `STATE` reads the fields of processes, too: give `protocols=`, and its second definition is in
`zabspec/second/paper_invariants.py`, with a row of `declared` in `zabspec/second/properties.py` and a line of O7.
"""

from __future__ import annotations

from recipe import new, run

new(
    "invariants/counters.py",
    '''
"""Transactions of one epoch, and their counters."""

from __future__ import annotations

from invariants.registry import HISTORY, Property
from zabspec.language.python.lang import State, broken


def counter_order(h: State) -> bool:
    """Counter order: a process delivers the transactions of an epoch in the order of their counters."""
    for p in range(h.NODES):
        for j in range(len(h.delivered[p])):
            for i in range(j):
                t = h.delivered[p][i]
                u = h.delivered[p][j]
                if t.epoch == u.epoch and t.counter >= u.counter:
                    return broken(f"p{p} delivered {t} before {u}, which is of the same epoch")
    return True


def delivers_two(h: State) -> bool:
    """A process delivers two transactions of one epoch."""
    for p in range(h.NODES):
        for j in range(len(h.delivered[p])):
            if j > 0 and h.delivered[p][j].epoch == h.delivered[p][j - 1].epoch:
                return True
    return False


PROPERTIES = (
    Property(
        "counter-order", HISTORY, "here", "two transactions of an epoch are delivered", counter_order, delivers_two
    ),
)
''',
)
run(
    "zabcheck --nodes 1 --txns 2 --timeouts 0 --crashes 0 --losses 0 --property counter-order",
    "holds: 1 property, each put to the test",
)
run("zabcheck simulate --seed 14 --rounds 400 --proposals 3 --check", "counter-order              holds")
