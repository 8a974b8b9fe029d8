"""The protocols there are: what each is made of, for any world."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import FunctionType, ModuleType
from typing import Any

from zabspec import zab
from zabspec.configuration import Parameters
from zabspec.language import Field, MessageUnion, Record, Seq
from zabspec.language.kinds import Kind
from zabspec.own.authoring import Claim, ConfigError
from zabspec.own.authoring import Size as Sizes
from zabspec.own.open import OpenText, open_text
from zabspec.own.sources import is_elsewhere
from zabspec.protocols import (
    db19,
    db19_variants,
    electing,
    election,
    ladis,
    ladis_oracle,
    ladis_variants,
    zab_variants,
)
from zabspec.worlds import over_connections, over_datagrams
from zabspec.worlds.ordered import ORDERING
from zabspec.worlds.steps import BUDGETS, CONNECTIONS
from zabspec.worlds.world import Capacity, World

MOST_OF_BUDGET = 255
WORLDS: Mapping[str, World] = {w.name: w for w in (over_connections.WORLD, over_datagrams.WORLD)}

__all__ = ["ELECTING", "NAMES", "PROTOCOLS", "Parts", "Protocol", "Sizes"]


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
        revises: it may replace what it has delivered.
        parts: its kinds and fields at some sizes.
        variants: the protocol with one rule changed.
        actions, changes: what its internal steps, and those of its environment, are called, by their numbers.
        text: where it is somebody's own: its text, read; None: it is of this project.
        transactions: it abcasts and abdelivers.
        budgets: how much there is of each budget that it declares unless a question says otherwise.
        nodes: how many processes unless a question says otherwise.
        network: which network unless a question says otherwise; empty: its world's first.
        oracle: text that stands in its world's place: whom a leader oracle may name.
        epochs: the largest epoch there can be within a configuration's budgets; None: as its world says.
        capacity: the most messages that a channel can hold; None: as its world says.
        lab_oracle: the db-19 lab's election can play its leader oracle in the simulator.
    """

    name: str
    title: str
    modules: tuple[ModuleType, ...]
    world: World
    revises: bool
    parts: Callable[[Sizes], Parts]
    variants: Mapping[str, Any]
    actions: tuple[str, ...] = ()
    changes: tuple[str, ...] = ()
    text: OpenText | None = None
    transactions: bool = True
    budgets: Mapping[str, int] = field(default_factory=dict)
    nodes: int = 3
    network: str = ""
    oracle: tuple[ModuleType, ...] = ()
    epochs: Callable[[Parameters], int] | None = None
    capacity: Callable[[Parameters], Capacity] | None = None
    lab_oracle: bool = False

    @property
    def claims(self) -> tuple[Claim, ...]:
        """What its own text says must hold."""
        return self.text.claims if self.text else ()

    @property
    def unforced(self) -> int:
        """How many writes to its disk a process may have made since it forced them."""
        return self.text.declared.unforced if self.text else 0

    @cached_property
    def disks(self) -> bool:
        """Whether it has fields on disks, so that power loss is more than a crash."""
        if self.text is None:
            return False
        fields = self.parts(Sizes(self.nodes, 1, 1, 2, budgets=dict.fromkeys(BUDGETS, 0) | dict(self.budgets))).fields
        return any(f.disk for f in fields)

    @property
    def starts(self) -> tuple[str, ...]:
        """The states that a run may begin in besides the one that its fields begin with."""
        return tuple(s.name for s in self.text.declared.starts) if self.text else ()

    @property
    def elects(self) -> bool:
        """Whether its elections are one step."""
        return self.text is not None and bool(self.text.declared.elects)

    def started(self, start: str) -> str:
        """
        Raises:
            ConfigError: there is no such state.
        """
        if start and start not in self.starts:
            there = f"; there are {', '.join(self.starts)}" if self.starts else ""
            raise ConfigError(f"{self.name} declares no start {start!r}{there}")
        return start

    @property
    def crashes(self) -> bool:
        """Whether its processes crash: always, unless it says what budgets it has, and crashes are none of them."""
        return self.text is None or "crashes" in self.budgets

    def combined(self, variant: str, repair: str = "") -> str:
        """The name of several variants together, given as `a,b` or `a+b`: in the order of their table.

        Args:
            repair: more of them, all of which have to repair a rule.

        Raises:
            ConfigError: there is no such variant, one is named twice, or two change one function.
        """
        given, repairs = ([n.strip() for n in text.replace("+", ",").split(",") if n] for text in (variant, repair))
        for name in (*given, *repairs):
            if name not in self.variants:
                listed = "" if self.text is None else f" --protocol {self.name}"
                raise ConfigError(
                    f"there is no variant {name!r} of {self.name}; `zabcheck variants{listed}` lists them"
                )
        for name in repairs:
            if not self.variants[name].repairs:
                raise ConfigError(f"{name} of {self.name} repairs no rule: it is a --variant")
        names = [name for name in self.variants if name in (*given, *repairs)]
        for name in names:
            if (*given, *repairs).count(name) > 1:
                raise ConfigError(f"variant {name} is named twice")
        self.stacked(names)
        return ",".join(names)

    def own_budgets(self, given: str) -> str:
        """The budgets that are its own, as `name=n` between commas.

        Args:
            given: how much there is of some of them, in the same words.

        Raises:
            ConfigError: it declares no such budget, or one has no such amount.
        """
        own = {name: n for name, n in self.budgets.items() if name not in BUDGETS}
        for part in filter(None, given.split(",")):
            name, _, number = part.partition("=")
            if name not in own:
                there = f"; there are {', '.join(own)}" if own else ""
                raise ConfigError(f"{self.name} declares no budget {name!r}{there}")
            if not (number.isascii() and number.isdigit() and len(number) < 6 and int(number) <= MOST_OF_BUDGET):
                raise ConfigError(f"budget {name} must be 0 to {MOST_OF_BUDGET}, not {number or 'nothing'}")
            own[name] = int(number)
        return ",".join(f"{name}={n}" for name, n in own.items())

    def promises(self, variant: str) -> Mapping[str, str]:
        """The hooks by which it merges or reorders steps on its author's word (`worlds/ordered.py`), each with the
        variant that has it, or with its file."""
        if self.text is None or self.world.name != CONNECTIONS:
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
        """The functions of a variant, or of several, as `combined` takes them; none for the protocol itself ("").

        Raises:
            ConfigError: as `combined`.
        """
        if variant in self.variants:
            own: Mapping[str, FunctionType] = self.variants[variant].overrides
            return own
        return self.stacked(filter(None, self.combined(variant).split(",")))

    def stacked(self, names: Iterable[str]) -> dict[str, FunctionType]:
        """The functions of several variants.

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
                    raise ConfigError(f"variants {other} and {name} both change {stood}, and neither is over the other")
                if not above:
                    out[stood], whose[stood] = function, name
        return out


def _zab_parts(z: Sizes) -> Parts:
    txn = z.txn
    log = Seq(txn, z.log, "--txns")
    union = MessageUnion(zab.messages(z.epoch, txn, log), z.envelope)
    fields = zab.node_fields(z.nodes, z.txns, z.epoch, log)
    return Parts(txn, union, fields, {"Txn": txn, "History": log, "AnyMessage": union})


def _ladis_parts(z: Sizes) -> Parts:
    txn = z.txn
    log = Seq(txn, z.log, "--txns")
    union = MessageUnion(ladis.messages(z.epoch, txn), z.envelope)
    return Parts(
        txn, union, ladis.node_fields(z.nodes, z.epoch, txn, log), {"Txn": txn, "History": log, "AnyMessage": union}
    )


def _ladis_epochs(c: Parameters) -> int:
    """A later epoch takes a leader whose log has a proposal of the one before, which a quorum recognised: an iteration
    each, and one of the new leader. Without a rule of DSN'11 every epoch but the last has a proposal of its own."""
    iterations = c.nodes * (1 + c.faults)
    recognized = (iterations - 1) // (c.nodes // 2 + 1) + 1
    return recognized if c.variant else min(c.txns + 1, recognized)


def _ladis_capacity(c: Parameters) -> Capacity:
    """To a leader what begins an iteration, and an acknowledgement of each entry of its log and of NEWLEADER; to a
    follower what begins one, every entry once, and a COMMIT each, of NEWLEADER and of what was committed before."""
    return 3 + c.txns + 2 * c.duplicates, 5 + 2 * c.txns + 2 * c.duplicates


def _electing_parts(z: Sizes) -> Parts:
    parts = _zab_parts(z)
    zxid = Record("Zxid", {"epoch": z.epoch, "counter": z.count})
    votes = election.election_messages(z.nodes, zxid, {"peer_epoch": z.epoch})
    union = MessageUnion((*parts.union.messages, *votes), z.envelope)
    fields = (*parts.fields, *election.election_fields(z.nodes, zxid), *electing.electing_fields(z.nodes))
    return Parts(parts.txn, union, fields, {**parts.types, "Zxid": zxid, "AnyMessage": union})


def _db19_parts(z: Sizes) -> Parts:
    txn = z.txn
    zxid = Record("Zxid", {"epoch": z.epoch, "counter": z.count})
    log = Seq(txn, z.log, "--history")
    union = MessageUnion(
        (
            *election.election_messages(z.nodes, zxid, {"peer_epoch": z.epoch}),
            *db19.messages(z.nodes, z.epoch, zxid, txn, log),
        ),
        z.envelope,
    )
    fields = (
        *db19.node_fields(z.nodes, z.epoch, z.count, zxid, log, max(1, z.txns)),
        *election.election_fields(z.nodes, zxid),
    )
    return Parts(txn, union, fields, {"Txn": txn, "Zxid": zxid, "History": log, "AnyMessage": union})


OWN = {
    p.name: p
    for p in (
        Protocol(
            "zab",
            "ZAB as DSN'11 states it",
            (zab,),
            over_connections.WORLD,
            False,
            _zab_parts,
            zab_variants.VARIANTS,
            lab_oracle=True,
        ),
        Protocol(
            "db19",
            "the db-19 lab's variant of ZAB",
            (election, db19),
            over_datagrams.WORLD,
            True,
            _db19_parts,
            db19_variants.VARIANTS,
        ),
        Protocol(
            "ladis",
            "ZAB as LADIS'08 describes it",
            (ladis,),
            over_connections.WORLD,
            False,
            _ladis_parts,
            ladis_variants.VARIANTS,
            oracle=(ladis_oracle,),
            epochs=_ladis_epochs,
            capacity=_ladis_capacity,
        ),
    )
}


# Texts of this project that are written as anyone's are, by the names that commands know them by.
TEXTS = {"zookeeper": "zabspec.protocols.zookeeper.text"}
NAMES = (*OWN, *TEXTS)  # all that come with the package


class Protocols(Mapping[str, Protocol]):
    """Every protocol by its name: those of this project, and any other by where its text is."""

    def __getitem__(self, name: str) -> Protocol:
        """
        Raises:
            KeyError: there is none of this name.
            ProtocolError: there is no such text, or it is not what a protocol has to be.
        """
        if name in OWN:
            return OWN[name]
        if name in TEXTS:
            return replace(opened(open_text(TEXTS[name])), name=name)
        if not is_elsewhere(name):
            raise KeyError(name)
        return opened(open_text(name))

    def __iter__(self) -> Iterator[str]:
        return iter(OWN)

    def __len__(self) -> int:
        return len(OWN)


def opened(text: OpenText) -> Protocol:
    """A protocol that somebody wrote."""
    declared = text.declared

    def parts(z: Sizes) -> Parts:
        fields, messages, types = text.parts(z)
        union = MessageUnion(messages, z.envelope)
        known: dict[str, Kind] = {"AnyMessage": union}
        if declared.transactions:
            known |= {"Txn": z.txn, "History": Seq(z.txn, z.log, "--txns")}
        return Parts(z.txn, union, fields, {**known, **types})

    named = {v.name: v for v in declared.variants}
    return Protocol(
        text.name,
        text.title,
        (*text.beside, text.module),
        world=WORLDS[declared.world],
        revises=False,
        parts=parts,
        variants=named,
        actions=tuple(a.name for a in text.actions),
        changes=tuple(a.name for a in text.changes),
        text=text,
        transactions=declared.transactions,
        budgets=text.budgets,
        nodes=declared.nodes,
        network=declared.network,
    )


PROTOCOLS = Protocols()

# ZAB whose leader oracle is played by the lab's election: for the simulator.
ELECTING = replace(OWN["zab"], modules=(election, zab, electing), parts=_electing_parts)
