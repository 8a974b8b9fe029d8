"""Map each world to its instrumented form."""

from __future__ import annotations

from collections.abc import Mapping

from traces.record import over_connections, over_datagrams
from traces.record.instrumented import InstrumentedWorld
from zabspec.worlds.world import World

EVERY = (over_connections.WATCHED, over_datagrams.WATCHED)
BY_NAME: Mapping[str, InstrumentedWorld] = {w.world.name: w for w in EVERY}

# What a protocol does when something happens to a process, which is the second parameter of each but the last: that
# is the environment's.
HANDLERS = (
    "on_start", "on_abcast", "on_crash", "on_recovery", "on_act",
    *(name for w in EVERY for name in w.handlers), "on_change",
)  # fmt: skip


def watched_as(world: World) -> InstrumentedWorld:
    """Return the instrumented form of a world."""
    return BY_NAME[world.name]
