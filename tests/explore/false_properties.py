"""Properties that do not hold, of tests/explore/test_deliveries.py."""

from __future__ import annotations

from zabspec.language.python.lang import State


def nothing_chosen(s: State) -> bool:
    """Nothing is chosen, which is false."""
    for k in range(s.TXNS):
        if s.chosen_epoch[k] > 0:
            return False
    return True


def nothing_delivered(before: State, event: State, after: State) -> bool:
    """Nothing is delivered, which is false."""
    for k in range(after.TXNS):
        if k in event.delivered_now:
            return False
    return True
