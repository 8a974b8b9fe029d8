"""Combine what the simulator runs: a protocol in the world of `mail`, a network and `loop`."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from types import ModuleType

from zabspec import history, passes
from zabspec.authoring.glue import FAILING
from zabspec.language import NODE, Bool, Field, Int, Role, Schema
from zabspec.language.program import Program
from zabspec.protocols.registry import PROTOCOLS, Parts, Protocol, Sizes
from zabspec.quorums import system_of
from zabspec.roles import Roles
from zabspec.simulator import appointed, elections, loop, mail, network, observed, round_robin, unobserved
from zabspec.starts import chosen_start, named_start
from zabspec.worlds import actor
from zabspec.worlds.disks import OF_DISKS, Disks, disks_of, storage_fields
from zabspec.worlds.step_annotations import step_fields

EPOCHS = 2**20 - 1  # a new one takes an election, of 150 ticks at least
OWN_SLOTS = 4096  # messages in flight, of a user protocol
LAB, ROUND_ROBIN = "lab", "round-robin"
ORACLES = {LAB: elections, ROUND_ROBIN: round_robin}  # beside the seed: what overrides the network
OBSERVED_EPOCHS = 255  # what is observed has an entry for every epoch


@dataclass(frozen=True)
class Cluster:
    """A protocol with the sizes of its memory.

    Everything else about a run is in its state, so that one compiled program serves all runs.

    Attributes:
        protocol, variant: the protocol that runs.
        nodes: the number of processes.
        proposals: the number of proposals that there is room for.
        observed: whether the observed history is kept, so that properties can be checked.
        epochs: the largest epoch; 0 for as large as is of use.
        oracle: the leader oracle of a protocol that needs one: the seed, `lab`, its election, or `round-robin`.
        budgets: the amounts of the budgets, roles and parameters that a user protocol declares.
        text: the digest of a user protocol's source.
        start: the start state of the run, among those that the protocol declares.
        quorums: the quorum system by its text; empty for majorities.
    """

    protocol: str
    variant: str
    nodes: int
    proposals: int
    observed: bool
    epochs: int = 0
    oracle: str = ""
    budgets: tuple[tuple[str, int], ...] = ()
    text: str = ""
    start: str = ""
    quorums: str = ""

    @property
    def largest_epoch(self) -> int:
        return self.epochs or (OBSERVED_EPOCHS if self.observed else EPOCHS)

    @property
    def log(self) -> int:
        """Return the maximum length of a history."""
        return 2 * self.proposals + 2

    @property
    def due(self) -> int:
        """Return the maximum number of scheduled proposals, not all of which need be abcast."""
        return self.proposals

    @property
    def literal(self) -> bool:
        """Return whether what only the literal invariant 5 needs is observed too."""
        return False

    @property
    def given_up(self) -> int:
        """Return how many given-up passes of a process are observed."""
        return 0

    @property
    def parts_of(self) -> Protocol:
        found = PROTOCOLS[self.protocol]
        return (found.electing or found) if self.oracle == LAB else found

    @cached_property
    def slots(self) -> int:
        """Return the maximum number of messages in flight.

        That is every proposal at once in transit to every process, its acknowledgement and its commit, and what
        elections send between any two processes.
        """
        n = self.nodes
        most: int = mail.MOST_SLOTS
        if not self.parts_of.declared.bounded_by_world:
            return min(most, OWN_SLOTS)
        return min(most, n * (3 * self.proposals + 24 * n))

    @cached_property
    def parts(self) -> Parts:
        envelope = self.parts_of.world.simulated_envelope(self.nodes)
        if not self.parts_of.transactions:
            return self.parts_of.parts(
                Sizes(self.nodes, 0, 0, 0, envelope, dict(self.budgets), self.variant, least=self.least)
            )
        k = max(1, self.proposals)
        return self.parts_of.parts(
            Sizes(
                self.nodes, k, self.largest_epoch, self.log, envelope, dict(self.budgets), self.variant, self.least
            )
        )  # fmt: skip

    @property
    def least(self) -> int:
        """Return the size of a smallest quorum; 0 if majorities are counted."""
        return system_of(self.quorums).smallest if self.quorums else 0

    @property
    def roles(self) -> Roles | None:
        """Return the roles of the processes; None if all are alike."""
        declared = self.parts_of.declared.roles
        return Roles.of({name: n for name, n in self.budgets if name in declared}) if declared else None

    @property
    def seen(self) -> tuple[tuple[ModuleType, ...], tuple[Field, ...]]:
        """Return the modules and fields of the observed history; empty for a protocol without one."""
        parts, k = self.parts, max(1, self.proposals)
        if not self.parts_of.transactions:
            return (), ()
        if not self.observed:
            return (unobserved,), unobserved.unobserved_fields(k)
        epoch, revises = parts.txn.fields["epoch"], self.parts_of.declared.revises
        assert isinstance(epoch, Int)
        kept = history.history_fields(self.nodes, k, epoch, parts.txn, self.literal, revises)
        noted = passes.pass_fields(k, self.given_up) if self.given_up else ()
        modules = (history, passes, observed) if self.given_up else (history, observed)
        return modules, (*kept, *noted, *observed.observed_fields(self.nodes, parts.types["History"]))

    @property
    def own(self) -> tuple[tuple[ModuleType, ...], tuple[Field, ...]]:
        """Return the functions between the simulator and the protocol, and their fields."""
        text = self.parts_of.text
        left = (
            Field(f"{name}_left", Int(0, n), Role.BUDGET, (), f"how many {name} are left")
            for name, n in self.budgets
            if name in text.budgets
        )
        seen = Int(0, 2**63 - 1)
        judged = (
            Field("broken_within", seen, Role.SCRATCH, (), "properties that an event of the tick broke, a bit each"),
            Field("met_within", seen, Role.SCRATCH, (), "properties whose premise an event of the tick met"),
        )
        down = Field("crashed", Bool(), Role.GHOST, (NODE,), "it is down")
        parts, budgets = self.parts, tuple(text.budgets)
        world = text.world(
            parts.union, not text.keeps_down, budgets, named_start(self.start)[0], self.fails, parts.fields
        )
        text.check_apart((actor, network, mail, self.parts_of.world.simulated, loop, world))
        kept = (*(() if text.keeps_down else (down,)), *left)
        return (world,), (*kept, *(judged if self.observed and text.judged_by_event else ()))

    @property
    def fails(self) -> bool:
        """Return whether processes with fields on disks fail."""
        budgets = dict(self.budgets)
        fails = any(budgets.get(name) for name in FAILING)
        return fails and any(f.disk for f in self.parts.fields)

    @cached_property
    def disks(self) -> tuple[Disks, tuple[Field, ...]]:
        """Return the code and fields that override the simulator for disks; empty if no process fails."""
        text, budgets = self.parts_of.text, dict(self.budgets)
        if not self.fails:
            return Disks(), ()
        fields, unforced = self.parts.fields, self.parts_of.unforced
        left = (
            Field(f"{name}_left", Int(0, budgets[name]), Role.BUDGET, (), "how many are left")
            for name in OF_DISKS
            if name not in text.budgets
        )
        world = (self.parts_of.world.simulated, *self.seen[0])
        own = self.parts_of.overrides(self.variant)
        kept = (*storage_fields(fields, self.nodes, unforced), *left)
        return disks_of(fields, world, text.shows, own, budgets["outages"] > 0), kept

    @cached_property
    def program(self) -> Program:
        parts = self.parts
        n, k = self.nodes, max(1, self.proposals)
        (seen, kept), (own, owned) = self.seen, self.own
        fields = (
            *kept,
            *parts.fields,
            *owned,
            *self.disks[1],
            *mail.mail_fields(parts.union, self.slots),
            *self.parts_of.world.simulated_fields(),
            *(appointed.appointed_fields() if self.parts_of.elects else ()),
            *(round_robin.view_fields() if self.oracle == ROUND_ROBIN else ()),
            *loop.loop_fields(n, max(1, self.due)),
            *step_fields(parts.union, n),
        )
        constants = {
            "NODES": n,
            "TXNS": k if kept else 0,
            "EPOCHS": self.largest_epoch if kept else 0,
            **({} if self.quorums or self.roles else {"MAJORITY": n // 2 + 1}),
            "LITERAL": int(self.literal),
            "ACTIONS": len(self.parts_of.actions),
            "CHANGES": len(self.parts_of.changes),
            "IMAGES": self.parts_of.unforced + 1,
            **{name.upper(): number for name, number in self.budgets},
        }
        text = self.parts_of.text
        elects = (*((ORACLES[self.oracle],) if self.oracle else ()), *((appointed,) if self.parts_of.elects else ()))
        links = (self.parts_of.world.simulated, *elects)
        return Program(
            Schema(n, fields, constants, system_of(self.quorums) if self.quorums else None, self.roles),
            parts.types,
            world=(actor, *seen, network, mail, *links, loop, *self.parts_of.oracle, *own, *self.disks[0].modules),
            protocol=self.parts_of.modules,
            overrides=self.parts_of.overrides(self.variant),
            actions=self.parts_of.actions,
            changes=self.parts_of.changes,
            acting=text.handlers,
            apart=text.apart,
            extra={**self.disks[0].over, **chosen_start(self.start)},
        )
