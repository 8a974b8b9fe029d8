"""State clauses that together are inductive for `zab`: true initially, and kept by every step if all hold.

Start with `argument.py`, what an induction is made of, for user protocols too; then `promises.py` and `histories.py`.
The clauses are the argument of DSN'11 (VI), and what it does not say of connections and messages in flight. They do not
depend on how a state is reached, so they hold at every depth; the explorer confirms each on every reachable state.
"""

from __future__ import annotations

from collections.abc import Mapping

from invariants.proofs import (
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

# The receipts that are checked once for each value of some fields of the leader that receives.
CASES: Mapping[str, tuple[str, ...]] = {"ACK_E": ("stage", "Q", "acked")}
