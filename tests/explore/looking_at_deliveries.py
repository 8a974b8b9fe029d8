"""World text of tests/explore/test_deliveries.py."""

from __future__ import annotations

from zabspec.language.python.lang import State, Txn


def note_delivery(s: State, t: Txn) -> None:
    """A delivery that looks at what the step delivered before."""
    if t.value - 1 not in s.delivered_now:
        s.delivered_now.add(t.value - 1)
