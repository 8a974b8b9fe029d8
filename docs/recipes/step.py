"""A property of steps, with `STEP`: the functions take the states before and after, and the event.

`event.event_process` is NOBODY where the network or the environment takes the step: test that before it is an index. A
line that reads another process than that one keeps ample sets from leaving out states. A property that compares
processes is best given `default=False`. `tests/invariants/test_premises.py` then needs a row of `STEP_PREMISES` and one
of `STEP_BREAKS`.
"""

from __future__ import annotations

from recipe import new, run

new(
    "invariants/writers.py",
    '''
"""Who writes a history."""

from __future__ import annotations

from invariants.registry import STEP, Property
from zabspec.language.python.lang import NOBODY, State, broken


def one_writer(before: State, event: State, after: State) -> bool:
    """One writer: a step that changes the stable history of the process that takes it changes no other's."""
    p = event.event_process
    if p == NOBODY or after.history[p] == before.history[p]:
        return True
    for q in range(after.NODES):
        if q != p and after.history[q] != before.history[q]:
            return broken(f"one step of p{p} changed the histories of p{p} and p{q}")
    return True


def writes(before: State, event: State, after: State) -> bool:
    """A process changes its history."""
    p = event.event_process
    return p != NOBODY and after.history[p] != before.history[p]


PROPERTIES = (
    Property("one-writer", STEP, "here", "a history changes", one_writer, writes, default=False, protocols=("zab",)),
)
''',
)
run(
    "zabcheck --nodes 2 --txns 1 --timeouts 0 --crashes 0 --losses 0 --property one-writer",
    "holds: 1 property, each put to the test",
)
run(
    "zabcheck --nodes 2 --txns 1 --timeouts 0 --crashes 0 --losses 0 --partitions 1 --property one-writer",
    "holds: 1 property, each put to the test",
)
