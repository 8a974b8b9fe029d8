"""The protocols there are: what each is made of, for any world."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import FunctionType, ModuleType

from zabspec import db19, db19_variants, electing, election, variants, zab
from zabspec.language import Field, Int, MessageUnion, Record, Seq
from zabspec.language.kinds import Kind
from zabspec.variants import Variant
from zabspec.worlds.steps import CONNECTIONS, DATAGRAMS

__all__ = ["ELECTING", "PROTOCOLS", "Parts", "Protocol", "Sizes"]


@dataclass(frozen=True)
class Sizes:
    """How large a protocol's state can become.

    Attributes:
        nodes: processes.
        txns: transactions.
        epochs: the largest epoch.
        log: entries of a history.
        envelope: what the world writes on every message.
    """

    nodes: int
    txns: int
    epochs: int
    log: int
    envelope: Mapping[str, Int]

    @property
    def epoch(self) -> Int:
        return Int(0, self.epochs, "--max-epoch")

    @property
    def count(self) -> Int:
        return Int(0, self.txns, "--txns")


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
        connections: it speaks over connections; else over datagrams.
        revises: it may replace what it has delivered.
        parts: its kinds and fields at some sizes.
        variants: the protocol with one rule changed.
        actions, changes: what its internal steps, and those of its environment, are called, by their numbers.
    """

    name: str
    title: str
    modules: tuple[ModuleType, ...]
    connections: bool
    revises: bool
    parts: Callable[[Sizes], Parts]
    variants: Mapping[str, Variant]
    actions: tuple[str, ...] = ()
    changes: tuple[str, ...] = ()

    @property
    def world(self) -> str:
        """The world it speaks over, as rows of `worlds/steps.py` name it."""
        return CONNECTIONS if self.connections else DATAGRAMS

    def overrides(self, variant: str) -> Mapping[str, FunctionType]:
        """The functions of a variant; none for the protocol itself ("")."""
        return self.variants[variant].overrides if variant else {}


def _txn(z: Sizes) -> Record:
    return Record("Txn", {"epoch": z.epoch, "counter": z.count, "value": z.count})


def _zab_parts(z: Sizes) -> Parts:
    txn = _txn(z)
    log = Seq(txn, z.log, "--txns")
    union = MessageUnion(zab.messages(z.epoch, txn, log), z.envelope)
    fields = zab.node_fields(z.nodes, z.txns, z.epoch, log)
    return Parts(txn, union, fields, {"Txn": txn, "History": log, "AnyMessage": union})


def _electing_parts(z: Sizes) -> Parts:
    parts = _zab_parts(z)
    zxid = Record("Zxid", {"epoch": z.epoch, "counter": z.count})
    votes = election.election_messages(z.nodes, zxid, {"peer_epoch": z.epoch})
    union = MessageUnion((*parts.union.messages, *votes), z.envelope)
    fields = (*parts.fields, *election.election_fields(z.nodes, zxid), *electing.electing_fields(z.nodes))
    return Parts(parts.txn, union, fields, {**parts.types, "Zxid": zxid, "AnyMessage": union})


def _db19_parts(z: Sizes) -> Parts:
    txn = _txn(z)
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


PROTOCOLS = {
    p.name: p
    for p in (
        Protocol("zab", "ZAB as DSN'11 states it", (zab,), True, False, _zab_parts, variants.VARIANTS),
        Protocol(
            "db19",
            "the db-19 lab's variant of ZAB",
            (election, db19),
            False,
            True,
            _db19_parts,
            db19_variants.VARIANTS,
        ),
    )
}

# ZAB whose leader oracle is played by the lab's election: for the simulator.
ELECTING = replace(PROTOCOLS["zab"], modules=(election, zab, electing), parts=_electing_parts)
