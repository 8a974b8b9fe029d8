"""Clauses that together are inductive for `zab` on the paper's channels: true at first, and kept by
every step from any state that satisfies them all, reachable or not.

They are the argument of DSN'11 (VI) with what it leaves unsaid of connections and of messages in
flight. Each is written in the language, and the explorer confirms each on every reachable state; an
induction never looks at how a state was reached, so what holds here holds at every depth.

Of a text of somebody's own the clauses are its own (`argument.py`).
"""

from __future__ import annotations

from collections.abc import Mapping

from invariants.inductive import (
    capacity,
    channels,
    choices,
    commits,
    connections,
    datagrams,
    downwards,
    followed,
    histories,
    joins,
    messages,
    primaries,
    promises,
    sources,
    stages,
    upwards,
)
from invariants.registry import Property

__all__ = ["CASES", "CLAUSES", "MODULES", "SHAPES"]

MODULES = (
    messages, connections, stages, channels, upwards, downwards, followed, joins, promises, sources, histories, choices,
    commits, primaries, capacity, datagrams,
)  # fmt: skip

# The clauses that speak of where processes and messages are, and not of what they say: enough to show
# which definitions a step leaves as they were.
SHAPES: tuple[Property, ...] = (
    *connections.CLAUSES,
    *stages.CLAUSES,
    *channels.CLAUSES,
    *upwards.CLAUSES,
    *downwards.CLAUSES,
    *followed.CLAUSES,
    *joins.CLAUSES,
    *promises.PROMISED,
)

CLAUSES: tuple[Property, ...] = (
    *SHAPES,
    *promises.SETTLED,
    *histories.CLAUSES,
    *choices.CLAUSES,
    *commits.CLAUSES,
    *primaries.CLAUSES,
    *capacity.CLAUSES,
)

# The receipts that are asked about for each value of some fields of the leader that receives.
CASES: Mapping[str, tuple[str, ...]] = {"ACK_E": ("stage", "Q", "acked")}
