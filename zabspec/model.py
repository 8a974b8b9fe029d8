"""Combine a protocol, variant, network and budgets to a model that can be explored or run."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from types import ModuleType

from zabspec import history, passes
from zabspec.authoring.alternatives import MOST
from zabspec.authoring.checks import check_fields
from zabspec.authoring.closing import leaves_open
from zabspec.authoring.declaration import ConfigError
from zabspec.authoring.glue import ELECTIONS
from zabspec.authoring.quorums import system_for
from zabspec.configuration import UNSET, Parameters
from zabspec.language import NODE, Bool, Field, Int, MessageUnion, Record, Role, Schema
from zabspec.language.program import Program
from zabspec.properties import ProgressProperty
from zabspec.protocols.registry import NAMES, PROTOCOLS, Parts, Protocol, Sizes
from zabspec.roles import MOST_PROCESSES, roles_of
from zabspec.starts import Schedule, chosen_start
from zabspec.worlds import actor, crash_within, left_open, priority, step_annotations
from zabspec.worlds.disks import OF_DISKS, Disks, disks_of, storage_fields
from zabspec.worlds.step_annotations import step_fields
from zabspec.worlds.steps import BUDGETS, CONNECTIONS, KINDS, StepKind
from zabspec.worlds.world import Capacity, World

__all__ = ["ConfigError", "Configuration", "Model"]

LIMITS = {"nodes": (1, MOST_PROCESSES), "txns": (1, 7)}
USUAL_TXNS = 2
OF_TIMERS = ("timeouts", "heartbeats")  # spent by the timers of this project's own protocols


@dataclass(frozen=True)
class Configuration(Parameters):
    """What to explore: a protocol under budgets. Every field is part of the question.

    Making one checks the parameters and fills in those that nobody gave.

    Raises:
        ConfigError: a parameter asks for something that there is not.
    """

    def __post_init__(self) -> None:
        found = PROTOCOLS.get(self.protocol)
        if found is None:
            raise ConfigError(f"there is no protocol {self.protocol!r}; there are {', '.join(NAMES)}")
        object.__setattr__(self, "variant", found.combined(self.variant))
        self._check_network(found)
        self._check_quorums(found)
        self._settle_roles(found)
        for name, (low, high) in LIMITS.items():
            value = getattr(self, name)
            if name == "txns" and not found.transactions:
                if value is not UNSET and value:
                    raise ConfigError(f"--txns is not for {self.protocol}, which has no transactions")
                value = low = 0
            elif value is UNSET:
                value = found.nodes if name == "nodes" else USUAL_TXNS
            object.__setattr__(self, name, value)
            why = ""
            if name == "nodes":
                high, why = found.most_nodes
            if not low <= value <= high:
                raise ConfigError(f"--{name} must be {low} to {high}, not {value}{why and f': {why}'}")
        self._check_budgets(found)
        self._check_declared(found)
        if not found.promises(self.variant):
            object.__setattr__(self, "promises", True)  # it has no promises: one configuration, however it is written
        if not 0 <= self.max_epoch <= 200:
            raise ConfigError(f"--max-epoch must be 1 to 200, not {self.max_epoch}")
        if not 0 <= self.channel <= 200:
            raise ConfigError(f"--channel must be 1 to 200, not {self.channel}")

    def _settle_roles(self, found: Protocol) -> None:
        """Derive the sizes of roles, and what follows from them, so that they agree."""
        object.__setattr__(self, "budgets", found.own_budgets(self.budgets))
        object.__setattr__(self, "parameters", found.own_parameters(self.parameters or self.roles))
        roles = found.roles(self.parameters)
        if self.roles not in ("", roles):
            raise ConfigError(f"by the parameters the roles are {roles or 'none'}, but {self.roles} are given")
        object.__setattr__(self, "roles", roles)
        if not roles:
            return
        nodes = sum(r.count for r in roles_of(roles) or ())
        if self.quorums:
            raise ConfigError(f"--quorums is not for {self.protocol}, whose processes have roles")
        if self.nodes is not UNSET and self.nodes != nodes:
            said = " ".join(f"--{name.replace('_', '-')} {n}" for name, n in found.declared.roles.items())
            raise ConfigError(f"--nodes is not for {self.protocol}, whose processes have roles: {said}")
        object.__setattr__(self, "nodes", nodes)

    def _check_quorums(self, found: Protocol) -> None:
        quorums, nodes = system_for(self.quorums, self.nodes)
        object.__setattr__(self, "quorums", quorums)
        object.__setattr__(self, "nodes", nodes)
        found.check_quorums(quorums, self.variant)

    def _check_network(self, found: Protocol) -> None:
        networks = list(found.world.networks)
        if not self.network:
            object.__setattr__(self, "network", found.network or networks[0])
        if self.network not in networks:
            whose = "" if self.protocol == Parameters.protocol else f" for {self.protocol}"
            raise ConfigError(f"there is no network {self.network!r}{whose}; there are {', '.join(networks)}")
        if self.network == "stale" and found.elects:
            raise ConfigError(
                f"--network stale is not for {self.protocol}: its elections open several connections at once"
            )

    def _check_budgets(self, found: Protocol) -> None:
        world = found.world
        own = not found.declared.bounded_by_world
        for name, budget in BUDGETS.items():
            value, flag = getattr(self, name), f"--{name.replace('_', '-')}"
            if value is UNSET:
                object.__setattr__(self, name, found.usual(name))
            elif not 0 <= value <= 15:
                raise ConfigError(f"{flag} must be 0 to 15, not {value}")
            elif value and own and name in OF_TIMERS and name not in found.budgets:
                raise ConfigError(f"{flag} is not for {self.protocol}, which declares no such budget")
            elif value and name in OF_DISKS and not found.disks:
                raise ConfigError(f"{flag} is not for {self.protocol}, which has nothing on a disk")
            elif value and name == "outages" and found.elects:
                raise ConfigError(
                    f"{flag} is not for {self.protocol}: within its elections, a step each, none is explored"
                )
            elif name in found.budgets:
                continue
            elif value and name not in world.budgets:
                raise ConfigError(f"{flag} is not for {self.protocol}, which uses {world.name}")
            elif value and self.network != budget.network.get(world.name, self.network):
                raise ConfigError(f"{flag} needs --network {budget.network[world.name]}{budget.why}")

    def _check_declared(self, found: Protocol) -> None:
        found.check_start(self.start, self.quorums, self.nodes, self.budget)

    @cached_property
    def merged_by_promise(self) -> Mapping[str, str]:
        """Return the hooks of `worlds/priority.py` that merge or reorder steps, each with its variant or file.

        What such a hook promises (no property sees a step that is left out) is not derived from the protocol: it is its
        author's word.
        """
        found = PROTOCOLS[self.protocol]
        hooks = found.promises(self.variant) if self.promises else {}
        return {name: whose for name, whose in hooks.items() if self.network == "fifo" or name in priority.ANY_NETWORK}


class Model:
    """A configuration with its schema and program.

    Raises:
        ConfigError: the configuration asks for something there is not.
    """

    def __init__(self, configuration: Configuration) -> None:
        self.configuration = configuration
        self.protocol: Protocol = PROTOCOLS[configuration.protocol]

    def begun_as(self, run: Sequence[int]) -> Model:
        """Return the model of runs from the state that a run begins in."""
        if not isinstance(run, Schedule) or run.start is None:
            return self
        name, _ = self.configuration.named_start
        return type(self)(replace(self.configuration, start=f"{name}:{run.start}"))

    @property
    def extension(self) -> str:
        """Return what a subclass adds to the program, as a digest under which compiled code is kept too."""
        return ""

    @property
    def generated_files(self) -> Collection[str]:
        """Return the files under which the program's generated source is registered."""
        return ()

    @property
    def judged_after(self) -> Mapping[str, Collection[str]]:
        """Return, for some steps, the properties of states that they may change; empty if any step may change any."""
        return {}

    @property
    def world(self) -> World:
        return self.protocol.world

    def may_wait(self, goal: ProgressProperty) -> range:
        """Return the processes that a progress property is about: all, or those of its role."""
        roles = roles_of(self.configuration.roles)
        return roles.by_type[goal.role].members if roles and goal.role else range(self.configuration.nodes)

    def spends(self, kind: StepKind, which: int) -> str:
        """Return the budget that a step costs; empty if it costs none.

        Args:
            kind: the kind of step.
            which: the number among the protocol's own steps of that kind.
        """
        text = self.protocol.text
        own = {"action": text.actions, "environment": text.changes}.get(kind.name, ())
        if kind is KINDS["elect"] and ELECTIONS in self.protocol.budgets:
            return ELECTIONS
        return own[which].budget if which < len(own) else kind.spends

    @cached_property
    def epochs(self) -> int:
        """Return the largest possible epoch."""
        c = self.configuration
        if not self.protocol.transactions:
            return 0
        if c.max_epoch:
            return c.max_epoch
        declared = self.protocol.declared
        if declared.bounded_by_world and declared.epochs is None:
            return self.world.epochs(replace(c, timeouts=c.timeouts + self.protocol.gives_up(c.variant, c.txns)))
        return self.protocol.text.epochs(self.size(0))

    @cached_property
    def channels(self) -> Capacity:
        """Return the channel capacities in messages: to a leader, to a follower.

        Over datagrams each is twice the maximum number in flight.
        """
        c = self.configuration
        if c.channel:
            return c.channel, c.channel
        declared = self.protocol.declared
        if declared.bounded_by_world and declared.flight is None:
            return self.world.capacity(c)
        return self.protocol.text.flight(self.size(self.epochs))

    @cached_property
    def most_steps(self) -> int:
        """Return an upper bound of the number of steps, counted with their choices, of any state."""
        c = self.configuration
        own = c.nodes * len(self.protocol.actions) + len(self.protocol.changes)
        most = self.world.most_steps(c, self.channels) + own
        if self.fails:  # in two ways inside each step, and with each prefix between them
            most = 3 * most + c.nodes * (self.protocol.unforced + 1)
        if self.protocol.elects:
            smallest = c.nodes if c.quorums else c.smallest_quorum  # or rather all of those that elect
            who = 2 * smallest if self.fails else 0  # fail inside an election
            most += c.nodes * ((1 + who) * (1 << c.nodes) + 3 * c.nodes)
        ways = self.protocol.text.alternatives(self.protocol.overrides(c.variant))
        many = self.fails or (self.protocol.elects and ways > 1) or c.network == "stale"
        return most * (MOST if many else ways)

    @property
    def txn(self) -> Record:
        """Return the kind of a transaction <v, z>: zxid z = <epoch, counter> (III), and an identity standing for v."""
        return self.parts.txn

    @property
    def union(self) -> MessageUnion:
        """Return the union of the messages."""
        return self.parts.union

    @cached_property
    def parts(self) -> Parts:
        return self.protocol.parts(self.whole_size)

    @property
    def whole_size(self) -> Sizes:
        """The sizes of the model, with those that follow from its world."""
        c = self.configuration
        envelope = self.world.envelope(c.nodes, self.channels)
        return replace(self.size(self.epochs), log=self.world.log(c), envelope=envelope)

    def size(self, epochs: int) -> Sizes:
        """Return the sizes of the model."""
        c = self.configuration
        least = c.smallest_quorum if c.quorums else 0
        return Sizes(c.nodes, c.txns, epochs, budgets=c.budget, variant=c.variant, least=least)

    @cached_property
    def own_world(self) -> tuple[ModuleType, ...]:
        """Return the functions between the world and the protocol, which follow from the protocol's declarations."""
        text = self.protocol.text
        world = text.world(
            self.union,
            self.crashes,
            start=self.configuration.named_start[0],
            fails=self.fails,
            fields=self.parts.fields,
        )
        text.check_apart(
            (actor, *self.observing, self.world.text, crash_within, step_annotations, world, *self.disks.modules)
        )
        return (world, text.quantified)

    @property
    def crashes(self) -> bool:
        """Return whether the world tracks crashes; for user protocols, only with a crash budget."""
        c = self.configuration
        return not self.protocol.text.keeps_down and c.crashes + c.power_losses + c.outages > 0

    @property
    def fails(self) -> bool:
        """Return whether disks matter: a process that has fields on a disk may fail."""
        c = self.configuration
        return c.crashes + c.power_losses + c.outages > 0 and any(f.disk for f in self.parts.fields)

    @cached_property
    def disks(self) -> Disks:
        """Return the code that overrides the world for fields on disks."""
        text = self.protocol.text
        if not self.fails:
            return Disks()
        if why := self.world.why_not_inside(self.configuration, self.channels):
            raise ConfigError(why)
        own = self.protocol.overrides(self.configuration.variant)
        world = (self.world.text, *self.leaving, *self.observing)
        return disks_of(self.parts.fields, world, text.shows, own, self.configuration.outages > 0)

    @property
    def leaving(self) -> tuple[ModuleType, ...]:
        """Return the modules for connections that the protocol may leave open.

        They are empty if the protocol leaves none open and its world bounds it, since reductions know the plain
        functions.
        """
        if self.world.name != CONNECTIONS:
            return ()
        return (left_open,) if self.leaves_open or not self.protocol.declared.bounded_by_world else ()

    @cached_property
    def leaves_open(self) -> str:
        """Return where the protocol may leave an end of a connection open; empty if it closes each first.

        That is proved for protocols that their world bounds, and tested for those of this project.
        """
        text, c = self.protocol.text, self.configuration
        if any(f.disk for f in self.parts.fields):
            return "processes fail inside what they do"
        if text.released or not self.protocol.declared.bounded_by_world:
            return ""
        starts = [f.__name__ for f in text.marked.beginning(c.named_start[0])]
        volatile = {f.name for f in self.parts.fields if f.role is Role.VOLATILE}
        shown = sorted(volatile & {"role", "leader"})
        return leaves_open(vars(text.module), self.protocol.overrides(c.variant), starts, shown)

    @property
    def world_text(self) -> tuple[ModuleType, ...]:
        """Return the world's modules, with the protocol's overrides."""
        order = (
            (priority,) if self.configuration.promises and self.protocol.promises(self.configuration.variant) else ()
        )
        return (crash_within, self.world.text, *self.leaving, *order, *self.protocol.oracle)

    @property
    def observing(self) -> tuple[ModuleType, ...]:
        """Return the modules of the observed history, if the protocol has one."""
        if not self.protocol.transactions:
            return ()
        return (history, passes) if self.configuration.passes else (history,)

    @property
    def also_said(self) -> tuple[Field, ...]:
        """Return the additional step annotations."""
        return ()

    @cached_property
    def program(self) -> Program:
        c = self.configuration
        up, down = self.channels
        union = self.union
        epoch = Int(0, self.epochs, "--max-epoch")
        seen = history.history_fields(c.nodes, c.txns, epoch, self.txn, c.literal, self.protocol.declared.revises)
        if c.given_up:
            seen = (*seen, *passes.pass_fields(c.txns, c.given_up))
        spent = [
            name
            for name in dict.fromkeys((*self.world.budgets, *self.protocol.budgets))
            if name not in OF_DISKS or self.fails
        ]
        fields = (
            *(seen if self.observing else ()),
            *self.parts.fields,
            *([Field("crashed", Bool(), Role.GHOST, (NODE,), "it is down")] if self.crashes else []),
            *self.world.fields(c, union, self.channels),
            *(storage_fields(self.parts.fields, c.nodes, self.protocol.unforced) if self.fails else ()),
            *(
                Field(f"{name}_left", Int(0, c.budget[name]), Role.BUDGET, (), f"how many {name} are left")
                for name in spent
            ),
            *step_fields(union, c.nodes),
            *self.also_said,
        )
        in_order = self.world.in_order(c)
        constants = {
            "NODES": c.nodes,
            "TXNS": c.txns,
            "EPOCHS": self.epochs,
            **({} if c.quorums or c.roles else {"MAJORITY": c.smallest_quorum}),  # what reads it counts majorities
            "NETWORK": self.world.networks[c.network],
            "UP": up,
            "DOWN": down,
            "FLIGHT": up,
            "REACH_UP": 1 if in_order else up,
            "REACH_DOWN": 1 if in_order else down,
            "LITERAL": int(c.literal),
            "ACTIONS": len(self.protocol.actions),
            "CHANGES": len(self.protocol.changes),
            "IMAGES": self.protocol.unforced + 1,
            "ELECTS": int(self.protocol.elects),
            **{name.upper(): n for name, n in c.budget.items()},
        }
        text = self.protocol.text
        mine = {id(f) for f in self.parts.fields}
        check_fields(text.name, self.parts.fields, (*constants, *(f.name for f in fields if id(f) not in mine)), ())
        return Program(
            Schema(c.nodes, fields, constants, c.system, c.played),
            self.parts.types,
            world=(actor, *self.observing, *self.world_text, *self.own_world, *self.disks.modules),
            protocol=self.protocol.modules,
            overrides=self.protocol.overrides(c.variant),
            actions=self.protocol.actions,
            changes=self.protocol.changes,
            acting=text.handlers,
            apart=text.apart,
            extra={**self.disks.over, **chosen_start(c.start)},
        )  # fmt: skip
