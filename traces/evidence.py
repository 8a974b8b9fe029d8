"""What the sentence about a broken property is found in."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from traces.trace import JsonState, JsonTxn, Step

__all__ = ["Evidence", "Reason", "same_instance", "was_abcast"]


@dataclass(frozen=True)
class Evidence:
    """What a sentence is found in: the states, and the steps between them where they are known."""

    states: Sequence[JsonState]
    steps: Sequence[Step]

    @property
    def last(self) -> JsonState:
        return self.states[-1]

    @property
    def before(self) -> JsonState:
        return self.states[-2]

    @property
    def step(self) -> Step:
        return self.steps[-1]

    @property
    def nodes(self) -> range:
        return range(len(self.last["delivered"]))

    def first(self, field: str, k: int, value: Any) -> Step | None:
        """The first step after which an entry of a field has a value."""
        for step in self.steps:
            if step.state[field][k] == value:
                return step
        return None


Reason = Callable[[Evidence], str]  # the sentence; empty: the events break nothing


def was_abcast(h: JsonState, t: JsonTxn) -> bool:
    return 1 <= t["value"] <= h["abcasts"] and bool(h["abcast_txn"][t["value"] - 1] == t)


def same_instance(h: JsonState, j: int, k: int) -> bool:
    return all(a[j] == a[k] for a in ([t["epoch"] for t in h["abcast_txn"]], h["abcast_by"], h["abcast_attempt"]))
