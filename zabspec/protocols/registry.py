"""Register the protocols: what each is made of, for any world."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from importlib import import_module
from itertools import chain
from types import FunctionType, ModuleType

from zabspec.authoring.declaration import ConfigError, Declaration, ProtocolError, Variant
from zabspec.authoring.declaration import Size as Sizes
from zabspec.authoring.quorums import check_quorums
from zabspec.authoring.reading import ProtocolSource, read_source
from zabspec.authoring.sources import is_elsewhere
from zabspec.joining import joined, missing, source_of
from zabspec.language import Field, MessageUnion, Record
from zabspec.language.layout.kinds import Kind
from zabspec.starts import named_start
from zabspec.properties import Property
from zabspec.quorums import system_of
from zabspec.roles import MOST_PROCESSES, Roles, roles_of
from zabspec.worlds import over_connections, over_datagrams
from zabspec.worlds.priority import ORDERING
from zabspec.worlds.steps import BUDGETS, CONNECTIONS
from zabspec.worlds.world import World

MOST_OF_BUDGET = 255
WORLDS: Mapping[str, World] = {w.name: w for w in (over_connections.WORLD, over_datagrams.WORLD)}

__all__ = ["NAMES", "PROTOCOLS", "Parts", "Protocol", "Sizes"]


@dataclass(frozen=True)
class Parts:
    """A protocol's kinds and fields at some sizes.

    Attributes:
        txn: <v, z>: zxid z = <epoch, counter> (III), and an identity standing for v.
        union: its messages.
        fields: the fields of a process.
        types: the kinds its text names.
    """

    txn: Record
    union: MessageUnion
    fields: tuple[Field, ...]
    types: Mapping[str, Kind]


@dataclass(frozen=True)
class Protocol:
    """A protocol.

    Attributes:
        name: as on the command line.
        title: what it is, in a phrase.
        modules: its text.
        world: what it speaks over.
        parts: its kinds and fields at some sizes.
        variants: the protocol with one rule changed.
        actions, changes: what its internal steps, and those of its environment, are called, by their numbers.
        text: its source, read.
        budgets: how much there is of each budget that it declares unless a configuration says otherwise.
        oracle: modules that stand in its world's place: whom a leader oracle may name.
    """

    name: str
    title: str
    modules: tuple[ModuleType, ...]
    world: World
    parts: Callable[[Sizes], Parts]
    variants: Mapping[str, Variant]
    actions: tuple[str, ...]
    changes: tuple[str, ...]
    text: ProtocolSource
    budgets: Mapping[str, int]
    oracle: tuple[ModuleType, ...]

    @property
    def declared(self) -> Declaration:
        """Return its declaration."""
        return self.text.declared

    @property
    def transactions(self) -> bool:
        """Return whether it abcasts and abdelivers."""
        return self.declared.transactions

    @property
    def nodes(self) -> int:
        """Return the default number of processes."""
        return sum(self.declared.roles.values()) or self.declared.nodes

    @property
    def network(self) -> str:
        """Return the default network; empty for its world's first."""
        return self.declared.network

    @property
    def claims(self) -> tuple[Property, ...]:
        """Return the properties that its own source states."""
        return self.text.claims

    @property
    def unforced(self) -> int:
        """Return how many writes to its disk a process may have made since it forced them."""
        return self.declared.unforced

    @cached_property
    def electing(self) -> Protocol | None:
        """The protocol with the db-19 lab's election as its leader oracle, or None."""
        found = self.declared.lab_oracle
        return opened(read_source(found)) if found else None

    def with_settings(self, variant: str, release: str = "") -> str:
        """Return a variant with what its release does differently with the settings that it names.

        Args:
            variant: as `--variant` takes it: names with `,` or `+`, that of a release perhaps among them.
            release: its number, if the variant does not name it.

        Raises:
            ConfigError: the protocol has no releases, or not this one.
        """
        if not self.declared.releases and release:
            raise ConfigError(f"--release is for zookeeper, not {self.name}")
        if not self.declared.settings:
            return variant
        found: str = import_module(self.declared.settings).with_settings(self, variant, release)
        return found

    def usual(self, budget: str) -> int:
        """Return the default amount of a world's budget."""
        of_world = BUDGETS[budget].usual.get(self.world.name, 0) if self.declared.bounded_by_world else 0
        return self.budgets.get(budget, of_world)

    @property
    def takes_amounts(self) -> bool:
        """Return whether a simulated run receives the amount of each budget, which a user protocol may read."""
        return bool(self.amounts) or not self.declared.bounded_by_world or not self.text.released

    @cached_property
    def disks(self) -> bool:
        """Return whether it has fields on disks, so that power loss is more than a crash."""
        amounts = dict.fromkeys(BUDGETS, 0) | dict(self.amounts) | {"power_losses": 1}
        fields = self.parts(Sizes(self.nodes, 1, 1, 2, budgets=amounts)).fields
        return any(f.disk for f in fields)

    def observing(self, variant: str) -> bool:
        """Return whether a variant has observers."""
        return bool(self.declared.observers) and self.declared.observers in variant.split(",")

    def check_observers(self, quorums: str, variant: str) -> None:
        """Check that a quorum system has observers: processes without weight, behind two or more that have a vote each.

        Raises:
            ConfigError: it has none, or is another system.
        """
        system = system_of(quorums) if quorums else None
        weights = system.weights if system else ()
        count = weights.count(0)
        # One voter alone is a quorum before it has heard of anybody; ZooKeeper refuses observers of it.
        voters = len(weights) - count
        if not system or not count or voters < 2 or weights != (1,) * voters + (0,) * count or "groups" in quorums:
            like = "`weights 1,1,1,0` has one observer behind three servers that vote"
            raise ConfigError(f"variant {self.declared.observers} needs --quorums with observers: {like}")

    def check_quorums(self, quorums: str, variant: str) -> None:
        """Check that the protocol with a variant takes a quorum system.

        Raises:
            ProtocolError: it counts majorities by hand, or asks for no quorums.
            ConfigError: a process has no weight, and it does not say that such a one does not lead; or the variant is
                that of observers, and the system has none.
        """
        if self.observing(variant):
            self.check_observers(quorums, variant)
        if not quorums:
            return
        system = system_of(quorums)
        if self.declared.leaders_weigh and 0 in system.weights and not self.observing(variant):
            said = f"no server without weight leads in {self.name} ({self.declared.leaders_weigh})"
            server = system.weights.index(0) + 1
            hint = f": with --variant {self.declared.observers} it is an observer" if self.declared.observers else ""
            raise ConfigError(
                f"--quorums: {said}, which its source does not declare, and server {server} has none{hint}"
            )
        if self.declared.leaders_weigh and system.smallest == 1:
            said = "one server alone is a quorum"
            raise ConfigError(f"--quorums: {said}, and a leader of {self.name} waits for another one to speak")
        amounts = dict.fromkeys(BUDGETS, 0) | dict(self.amounts)
        parts = self.parts(Sizes(system.nodes, 1, 1, 2, budgets=amounts, variant=variant, least=system.smallest))
        overrides = self.overrides(variant).values()
        others = [f for v in self.variants.values() for f in v.overrides.values()]
        check_quorums(self.name, self.modules, overrides, others, parts.fields, parts.union, self.elects)

    @property
    def starts(self) -> tuple[str, ...]:
        """Return the start states of runs beside the initial one."""
        return tuple(s.name for s in self.declared.starts)

    @property
    def elects(self) -> bool:
        """Return whether its elections are one step."""
        return bool(self.declared.elects)

    def check_start(self, start: str, quorums: str, nodes: int, amounts: Mapping[str, int]) -> None:
        """Check that a start state exists, and that a run of this size and these budgets reaches it.

        Args:
            quorums: the quorum system; empty for majorities.
            nodes: how many processes there are.
            amounts: those of budgets, by their names.

        Raises:
            ConfigError: there is no such state, or it is of other sizes or larger budgets.
        """
        start, _ = named_start(start)
        if not start:
            return
        found = next((s for s in self.declared.starts if s.name == start), None)
        if found is None:
            there = f"; there are {', '.join(self.starts)}" if self.starts else ""
            raise ConfigError(f"{self.name} declares no start {start!r}{there}")
        weights = system_of(quorums).weights if quorums else (1,) * nodes
        if found.nodes and ("groups" in quorums or not {*weights} <= {0, 1}):
            raise ConfigError(f"--start {start} is of majorities: in --quorums each process has weight 1, or 0")
        voters = sum(weights)
        if found.nodes and voters not in found.nodes:
            of = f"{found.nodes[0]}{f' to {found.nodes[-1]}' if len(found.nodes) > 1 else ''}"
            raise ConfigError(f"--start {start} is of {of} processes that vote, not of {voters}")
        for name, n in found.spends.items():
            if amounts.get(name, 0) < n:
                raise ConfigError(f"--start {start} has spent {n} {name}, and --{name} is {amounts.get(name, 0)}")

    @property
    def crashes(self) -> bool:
        """Return whether its processes crash: its budgets are its world's, or it declares crashes."""
        return self.declared.bounded_by_world or "crashes" in self.budgets

    def combined(self, variant: str, repair: str = "") -> str:
        """Return the combined name of several variants, given as `a,b` or `a+b`: in the order of their table.

        Args:
            variant: the variants.
            repair: further variants, all of which have to repair a rule.

        Raises:
            ConfigError: there is no such variant, one is named twice or is without what it needs, or two change one
                function.
        """
        given, repairs = ([n.strip() for n in text.replace("+", ",").split(",") if n] for text in (variant, repair))
        for name in (*given, *repairs):
            if name not in self.variants:
                listed = "" if self.text.released else f" --protocol {self.name}"
                raise ConfigError(
                    f"there is no variant {name!r} of {self.name}; `zabcheck variants{listed}` lists them"
                )
        for name in repairs:
            if not self.variants[name].repairs:
                raise ConfigError(f"{name} of {self.name} repairs no rule: use it as a --variant")
        names = [name for name in self.variants if name in (*given, *repairs)]
        for name in names:
            if (*given, *repairs).count(name) > 1:
                raise ConfigError(f"variant {name} is named twice")
            needs = self.variants[name].needs
            if needs and not {*needs} & {*names}:
                raise ConfigError(f"variant {name} of {self.name} needs {' or '.join(needs)}: name that, too")
        self.stacked(names)
        return ",".join(names)

    @property
    def amounts(self) -> Mapping[str, int]:
        """Return what a configuration may give amounts of: its roles, parameters and budgets."""
        return {**self.parameters, **self.budgets}

    @property
    def parameters(self) -> Mapping[str, int]:
        """Return what a configuration may give that no step spends: the sizes of its roles, and its parameters."""
        return {**self.declared.roles, **self.declared.parameters}

    @property
    def most_nodes(self) -> tuple[int, str]:
        """Return the maximum number of processes, and why there cannot be more."""
        return self.world.most_nodes

    @property
    def usual_roles(self) -> Roles | None:
        """Return its roles, with as many processes as it declares; None if it declares none."""
        return Roles.of(self.declared.roles) if self.declared.roles else None

    def roles(self, amounts: str) -> str:
        """Return the sizes of roles among the amounts that `own_parameters` gives; empty if it declares no roles.

        Raises:
            ConfigError: there are more processes than a model has.
        """
        roles = self.declared.roles
        out = ",".join(part for part in amounts.split(",") if part.partition("=")[0] in roles)
        if (found := roles_of(out)) and found.nodes > MOST_PROCESSES:
            said = " and ".join(f"--{r.name.replace('_', '-')} {r.count}" for r in found)
            raise ConfigError(f"{said} are {found.nodes} processes: a model has at most {MOST_PROCESSES}")
        return out

    def own_budgets(self, given: str) -> str:
        """Return its own budgets, as `name=n` separated by commas.

        Args:
            given: the amounts of some of them, in the same form.

        Raises:
            ConfigError: it declares no such budget, or one has no such amount.
        """
        return self._settled("budget", {name: n for name, n in self.budgets.items() if name not in BUDGETS}, given)

    def own_parameters(self, given: str) -> str:
        """Return the sizes of its roles and its parameters, as `own_budgets`.

        Raises:
            ConfigError: it declares no such role or parameter, or one has no such amount.
        """
        return self._settled("parameter", dict(self.parameters), given)

    def _settled(self, kind: str, own: dict[str, int], given: str) -> str:
        """Return amounts with those that are given."""
        for part in filter(None, given.split(",")):
            name, _, number = part.partition("=")
            if name not in own:
                there = f"; there are {', '.join(own)}" if own else ""
                raise ConfigError(f"{self.name} declares no {kind} {name!r}{there}")
            what, least, most = f"{kind} {name}", 0, MOST_OF_BUDGET
            if name in self.declared.roles:
                what, least, most = f"--{name.replace('_', '-')}", 1, MOST_PROCESSES
            if not (number.isascii() and number.isdigit() and len(number) < 6 and least <= int(number) <= most):
                raise ConfigError(f"{what} must be {least} to {most}, not {number or 'nothing'}")
            own[name] = int(number)
        return ",".join(f"{name}={n}" for name, n in own.items())

    def promises(self, variant: str) -> Mapping[str, str]:
        """Return the hooks by which it merges or reorders steps on its author's word, with their variant or file.

        `worlds/priority.py` describes these hooks.
        """
        if self.world.name != CONNECTIONS:
            return {}
        found = {
            name: self.text.source
            for name in sorted(ORDERING)
            if isinstance(getattr(self.text.module, name, None), FunctionType)
        }
        for name in filter(None, variant.split(",")):
            found |= dict.fromkeys(sorted(ORDERING & self.variants[name].overrides.keys()), f"variant {name}")
        return found

    def overrides(self, variant: str) -> Mapping[str, FunctionType]:
        """Return the functions of a variant, or of several, as for `combined`; none for the protocol itself ("")."""
        if variant in self.variants:
            return self.variants[variant].overrides
        return self.stacked(filter(None, self.combined(variant).split(",")))

    def gives_up(self, variant: str, txns: int) -> int:
        """Return how often the rules of a variant, or of several, end an iteration that no fault ends."""
        parts = [self.variants[name] for name in variant.split(",") if name in self.variants]
        return sum(v.gives_up(txns) for v in parts if v.gives_up)

    def stacked(self, names: Iterable[str]) -> dict[str, FunctionType]:
        """Return the functions of several variants.

        Raises:
            ConfigError: two change one function, and neither stands over the other.
        """
        out: dict[str, FunctionType] = {}
        whose: dict[str, str] = {}  # by function the variant that changes it
        for name in names:
            for stood, function in self.variants[name].overrides.items():
                other = whose.get(stood, name)
                below, above = other in self.variants[name].over, name in self.variants[other].over
                if out.get(stood, function) is not function and not below and not above:
                    raise ConfigError(f"variants {other} and {name} both change {stood}, and neither extends the other")
                if not above:
                    out[stood], whose[stood] = function, name
        return out


# The protocols of the core: by the names that commands know them by, the modules that declare them.
OF_THE_CORE: Mapping[str, str] = {
    "zab": "zabspec.zab",
    "db19": "zabspec.protocols.db19",
    "ladis": "zabspec.protocols.ladis",
}


class Names(Mapping[str, str]):
    """The modules of protocols that have a name: those of the core, and of entry points `zabcheck.protocols`."""

    def __getitem__(self, name: str) -> str:
        """Return the module of a protocol.

        Raises:
            KeyError: no protocol has this name.
            ProtocolError: it is part of what is not installed.
        """
        if name in OF_THE_CORE:
            return OF_THE_CORE[name]
        point = joined("protocols")[name]
        if source_of(point) is None:
            raise ProtocolError(missing(point))
        return point.module

    def __iter__(self) -> Iterator[str]:
        others = (name for name, point in joined("protocols").items() if name not in OF_THE_CORE and source_of(point))
        return chain(OF_THE_CORE, others)

    def __len__(self) -> int:
        return sum(1 for _ in self)


NAMES = Names()


class Protocols(Mapping[str, Protocol]):
    """Every protocol by its name: those of this project, and any other by where its source is.

    Iterating goes through those of the papers.
    """

    def __init__(self) -> None:
        self.released: dict[str, Protocol] = {}  # those that are read once

    def __getitem__(self, name: str) -> Protocol:
        """Return the protocol with a name.

        Raises:
            KeyError: there is none of this name.
            ProtocolError: there is no such source, or it is invalid.
        """
        if name in self.released:
            return self.released[name]
        if name in OF_THE_CORE or name in joined("protocols"):
            found = replace(opened(read_source(NAMES[name])), name=name)
            if found.text.released:
                self.released[name] = found
            return found
        if not is_elsewhere(name):
            raise KeyError(name)
        return opened(read_source(name))

    def __iter__(self) -> Iterator[str]:
        return (name for name in NAMES if self[name].text.released)

    def __len__(self) -> int:
        return sum(1 for _ in self)


def opened(text: ProtocolSource) -> Protocol:
    """Return the protocol that a source declares."""
    declared = text.declared

    def parts(z: Sizes) -> Parts:
        fields, messages, types = text.parts(z)
        union = MessageUnion(messages, z.envelope)
        known: dict[str, Kind] = {"AnyMessage": union}
        if declared.transactions:
            known |= {"Txn": z.txn, "History": z.history}
        return Parts(z.txn, union, fields, {**known, **types})

    return Protocol(
        text.name,
        text.title,
        (*text.beside, text.module),
        world=WORLDS[declared.world],
        parts=parts,
        variants=text.variants,
        actions=tuple(a.name for a in text.actions),
        changes=tuple(a.name for a in text.changes),
        text=text,
        budgets=text.budgets,
        oracle=text.oracle,
    )


PROTOCOLS = Protocols()
