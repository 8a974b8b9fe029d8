"""Describe the world of datagrams as an object: any order, or in order, with overtaken messages lost or not."""

from __future__ import annotations

from collections.abc import Mapping
from types import ModuleType
from typing import ClassVar

from zabspec.configuration import Parameters
from zabspec.language import Field, Int, MessageUnion
from zabspec.simulator import datagrams as simulated
from zabspec.worlds import datagrams
from zabspec.worlds.steps import DATAGRAMS
from zabspec.worlds.world import Capacity, World

IN_FLIGHT = 32  # messages, unless a question says


class OverDatagrams(World):
    name = DATAGRAMS
    text: ClassVar[ModuleType] = datagrams
    simulated: ClassVar[ModuleType] = simulated
    networks: ClassVar[Mapping[str, int]] = {
        "datagrams": datagrams.ANY_ORDER,
        "ordered": datagrams.ORDERED,
        "fifo": datagrams.IN_ORDER,
    }
    lacks = frozenset({"lose"})

    def envelope(self, nodes: int, capacity: Capacity) -> Mapping[str, Int]:
        return datagrams.envelope(nodes, capacity[0])

    def fields(self, c: Parameters, message: MessageUnion, capacity: Capacity) -> tuple[Field, ...]:
        return datagrams.datagram_fields(message, capacity[0], self.networks[c.network])

    def epochs(self, c: Parameters) -> int:
        """Return the largest epoch within the budgets.

        A process begins an epoch when it is elected, and looks for a leader when it starts and after each timeout.
        """
        return c.nodes + c.timeouts + c.crashes

    def capacity(self, c: Parameters) -> Capacity:
        """Return the channel capacities, twice the maximum number of messages in flight."""
        return IN_FLIGHT, IN_FLIGHT

    def most_steps(self, c: Parameters, capacity: Capacity) -> int:
        return 5 * c.nodes + (3 if c.drops or c.duplicates else 1) * capacity[0]

    def log(self, c: Parameters) -> int:
        """Return the maximum length of a history; a late proposal is accepted again."""
        return 2 * c.txns

    def simulated_envelope(self, nodes: int) -> Mapping[str, Int]:
        return simulated.envelope(nodes)

    def simulated_fields(self) -> tuple[Field, ...]:
        return simulated.datagram_fields()


WORLD = OverDatagrams()
