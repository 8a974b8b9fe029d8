"""Describe the world of connections as an object: FIFO or other channels, and a leader oracle."""

from __future__ import annotations

from collections.abc import Mapping
from types import ModuleType
from typing import TYPE_CHECKING, ClassVar

from zabspec import history
from zabspec.configuration import Parameters
from zabspec.language import Field, Int, MessageUnion
from zabspec.simulator import connections as simulated
from zabspec.worlds import actor, connections, priority, step_annotations
from zabspec.worlds.actor import FOLLOWING, LEADING
from zabspec.worlds.steps import ACTION, CONNECTIONS, FOLLOWER_LEARNS, NUMBERED, PLACES, RECOVER, TO_FOLLOWER, TO_LEADER
from zabspec.worlds.world import Capacity, World

if TYPE_CHECKING:
    from zabspec.language.layout.conventions import Conventions

PAIRS = (*connections.COMMUTE, *connections.COMMUTE_APART)


class OverConnections(World):
    name = CONNECTIONS
    text: ClassVar[ModuleType] = connections
    simulated: ClassVar[ModuleType] = simulated
    networks: ClassVar[Mapping[str, int]] = {
        "fifo": connections.FIFO,
        "lossy": connections.LOSSY,
        "unordered": connections.UNORDERED,
        "duplicating": connections.DUPLICATING,
        "stale": connections.STALE,
    }
    most_nodes = (7, "its elections and cuts go through every set of processes, in 8 bits of a step's word")
    trusted = frozenset(  # `actor` only declares them: where nothing overrides a function, it does nothing
        m.__name__ for m in (connections, priority, history, step_annotations, actor)
    )

    def envelope(self, nodes: int, capacity: Capacity) -> Mapping[str, Int]:
        return {}

    def fields(self, c: Parameters, message: MessageUnion, capacity: Capacity) -> tuple[Field, ...]:
        return connections.connection_fields(message, *capacity, self.networks[c.network])

    def epochs(self, c: Parameters) -> int:
        """Return the largest epoch within the budgets.

        Every new epoch takes a CEPOCH each from a quorum, a process sends one an iteration, and begins a new iteration
        after a fault. On an unordered channel it does so also when NEWLEADER overtakes NEWEPOCH, on a stale one when an
        old one arrives: one more for each, then --max-epoch.
        """
        iterations = 1 + c.faults + (c.network in ("unordered", "stale"))
        return max(1, c.nodes * iterations // c.smallest_quorum)

    def capacity(self, c: Parameters) -> Capacity:
        """Return the channel capacities, in messages: to a leader, to a follower.

        On the paper's channels CEPOCH, NEWEPOCH and NEWLEADER are received before more is sent; a variant, or another
        network, may have every message of a connection in flight at once, or send one again. A stale network has those
        of several connections.
        """
        if c.network == "fifo" and not c.variant and not c.quorums:  # of another system some of Q may be behind
            return 2 + c.txns, max(2 + c.txns, 1 + 2 * c.txns)
        over = 1 + c.faults if c.network == "stale" else 1
        return over * (3 + c.txns + 2 * c.duplicates), over * (3 + 3 * c.txns + 2 * c.duplicates)

    def most_steps(self, c: Parameters, capacity: Capacity) -> int:
        n, (up, down) = c.nodes, capacity
        bound = n * (3 * n + 8) + n * 4
        if not self.in_order(c) or c.duplicates:
            bound += 3 * n * n * up + 3 * n * down
        if c.partitions:
            bound += 1 << (n - 1)
        return bound

    def why_not_inside(self, c: Parameters, capacity: Capacity) -> str:
        if c.network != "unordered" or max(capacity) <= PLACES:
            return ""
        return (
            f"on unordered channels a step that breaks off supports {PLACES} places in a channel: "
            f"--channel {PLACES}, and not {max(capacity)}"
        )

    def in_order(self, c: Parameters) -> bool:
        return c.network in ("fifo", "duplicating", "stale") and not c.drops

    def conventions(self, c: Parameters, message: MessageUnion) -> Conventions | None:
        """Return the world's conventions on the paper's channels, without cuts of the whole network."""
        if c.network != "fifo" or c.partitions:
            return None
        from zabspec.language.layout.conventions import Conventions

        tags = {
            to: tuple(k for k, m in enumerate(message.messages, 1) if m.to in ("", to)) for to in ("leader", "follower")
        }
        return Conventions(
            kinds={number: kind.name for number, kind in NUMBERED.items()},
            received={TO_LEADER: tags["leader"], TO_FOLLOWER: tags["follower"]},
            paired=frozenset(number for number, kind in NUMBERED.items() if kind.has_peer),
            labels=frozenset(name for pair in PAIRS for name in pair) | {"lose", "connect"},
            decoders={"process_in": "a", "peer_in": "b", "emit": "list", "no_steps": "begin"},
            follows="leader",
            message="event_message",
            kind_field="event",
            process_field="event_process",
            peer_field="event_peer",
            role="role",
            leading=LEADING,
            closing=("disconnect", "close_accepted"),
            channels={TO_LEADER: ("to_leader", ("b", "a")), TO_FOLLOWER: ("to_follower", ("a",))},
            where="connected_as_followed",
            commute=connections.COMMUTE,
            commute_apart=connections.COMMUTE_APART,
            own="on_its_own",
            own_roles={RECOVER: None, TO_FOLLOWER: FOLLOWING, FOLLOWER_LEARNS: FOLLOWING},
            own_unread=(("disconnect", "role"),),
            own_waits=(ACTION,),
        )

    def log(self, c: Parameters) -> int:
        """Return the maximum length of a history; a copy of a proposal is accepted again."""
        return c.txns + c.duplicates

    def simulated_envelope(self, nodes: int) -> Mapping[str, Int]:
        return simulated.envelope(nodes)

    def simulated_fields(self) -> tuple[Field, ...]:
        return simulated.connection_fields()


WORLD = OverConnections()
