"""What the simulator runs: a protocol in the world of `mail`, a network and `loop`."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from zabspec import history
from zabspec.language import Schema
from zabspec.language.program import Program
from zabspec.protocols import PROTOCOLS, Parts, Protocol, Sizes
from zabspec.simulator import connections, datagrams, loop, mail, network, unobserved
from zabspec.worlds import actor
from zabspec.worlds.scratch import step_fields

__all__ = ["Cluster"]

EPOCHS = 2**20 - 1  # a new one takes an election, of 150 ticks at least


@dataclass(frozen=True)
class Cluster:
    """A protocol and how much there is room for. Everything else about a run is in its state, so
    that one compiled program serves them all.

    Attributes:
        protocol, variant: what runs.
        nodes: processes.
        proposals: room for so many.
        observed: the observed history is kept, for properties to be judged.
    """

    protocol: str
    variant: str
    nodes: int
    proposals: int
    observed: bool

    @property
    def parts_of(self) -> Protocol:
        return PROTOCOLS[self.protocol]

    @cached_property
    def slots(self) -> int:
        """Room for messages in flight: between any two processes every proposal at once, its
        acknowledgement and its commit, and what elections send in a few ticks."""
        n = self.nodes
        return min(mail.MOST_SLOTS, max(1, n * (n - 1)) * (3 * self.proposals + 24))

    @cached_property
    def parts(self) -> Parts:
        envelope = connections.envelope(self.nodes) if self.parts_of.connections else datagrams.envelope(self.nodes)
        return self.parts_of.parts(Sizes(self.nodes, max(1, self.proposals), EPOCHS, 2 * self.proposals + 2, envelope))

    @cached_property
    def program(self) -> Program:
        parts = self.parts
        n, k = self.nodes, max(1, self.proposals)
        seen = (
            history.history_fields(n, k, parts.txn.fields["epoch"], parts.txn, False, self.parts_of.revises)
            if self.observed
            else unobserved.unobserved_fields(k)
        )
        fields = (
            *seen,
            *parts.fields,
            *mail.mail_fields(parts.union, self.slots),
            *(connections.connection_fields() if self.parts_of.connections else datagrams.datagram_fields()),
            *loop.loop_fields(n, k),
            *step_fields(parts.union, n),
        )
        constants = {"NODES": n, "TXNS": k, "EPOCHS": EPOCHS, "MAJORITY": n // 2 + 1, "LITERAL": 0}
        links = connections if self.parts_of.connections else datagrams
        return Program(
            Schema(n, fields, constants),
            parts.types,
            world=(actor, history if self.observed else unobserved, network, mail, links, loop),
            protocol=self.parts_of.modules,
            overrides=self.parts_of.overrides(self.variant),
        )
