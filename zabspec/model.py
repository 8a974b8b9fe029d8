"""A model: one protocol, variant, network and set of budgets, ready to be explored or run."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import cached_property

from zabspec import history, variants, zab
from zabspec.language import Field, Int, MessageUnion, Record, Role, Schema, Seq
from zabspec.language.program import Program
from zabspec.worlds import actor, connections

__all__ = ["NETWORKS", "ConfigError", "Configuration", "Model"]

NETWORKS = {
    "fifo": connections.FIFO,
    "lossy": connections.LOSSY,
    "unordered": connections.UNORDERED,
    "duplicating": connections.DUPLICATING,
}

LIMITS = {"nodes": (1, 7), "txns": (1, 7)}


class ConfigError(ValueError):
    """The question was wrong: one sentence says how."""


@dataclass(frozen=True)
class Configuration:
    """What to explore: a protocol under budgets. Every field is part of the question."""

    protocol: str = "zab"
    variant: str = ""
    nodes: int = 3
    txns: int = 2
    timeouts: int = 2
    crashes: int = 1
    losses: int = 1
    partitions: int = 0
    network: str = "fifo"
    drops: int = 0
    duplicates: int = 0
    literal: bool = False  # also keep what only the literal invariant 5 asks for
    max_epoch: int = 0  # 0: derived from the budgets
    channel: int = 0  # 0: derived from the protocol

    def __post_init__(self) -> None:
        if self.protocol != "zab":
            raise ConfigError(f"there is no protocol {self.protocol!r}; there is zab")
        if self.variant and self.variant not in variants.VARIANTS:
            raise ConfigError(f"there is no variant {self.variant!r} of zab; `zabcheck variants` lists them")
        if self.network not in NETWORKS:
            raise ConfigError(f"there is no network {self.network!r}; there are {', '.join(NETWORKS)}")
        for name, (low, high) in LIMITS.items():
            value = getattr(self, name)
            if not low <= value <= high:
                raise ConfigError(f"--{name} must be {low} to {high}, not {value}")
        for name in ("timeouts", "crashes", "losses", "partitions", "drops", "duplicates"):
            value = getattr(self, name)
            if not 0 <= value <= 15:
                raise ConfigError(f"--{name} must be 0 to 15, not {value}")
        if self.drops and self.network != "lossy":
            raise ConfigError("--drops needs --network lossy: on the paper's channels only connections are lost")
        if self.duplicates and self.network != "duplicating":
            raise ConfigError("--duplicates needs --network duplicating")
        if not 0 <= self.max_epoch <= 200:
            raise ConfigError(f"--max-epoch must be 1 to 200, not {self.max_epoch}")
        if not 0 <= self.channel <= 200:
            raise ConfigError(f"--channel must be 1 to 200, not {self.channel}")

    @property
    def faults(self) -> int:
        """Faults that can make a process begin another iteration."""
        return self.timeouts + self.crashes + self.losses + self.partitions + self.drops + self.duplicates

    def as_dict(self) -> dict[str, str | int]:
        return asdict(self)


class Model:
    """A configuration with its schema and program.

    Raises:
        ConfigError: the configuration asks for something there is not.
    """

    def __init__(self, configuration: Configuration) -> None:
        self.configuration = configuration

    @cached_property
    def majority(self) -> int:
        return self.configuration.nodes // 2 + 1

    @cached_property
    def epochs(self) -> int:
        """The largest epoch there can be: every new epoch takes a CEPOCH each from a quorum, a
        process sends one an iteration, and begins a new iteration after a fault (on an unordered
        channel also when NEWLEADER overtakes NEWEPOCH: one more for each, then --max-epoch)."""
        c = self.configuration
        iterations = 1 + c.faults + (c.network == "unordered")
        return c.max_epoch or max(1, c.nodes * iterations // self.majority)

    @cached_property
    def channels(self) -> tuple[int, int]:
        """The most messages a channel can hold: to a leader, to a follower. On the paper's channels
        CEPOCH, NEWEPOCH and NEWLEADER are received before more is sent; a variant, or another
        network, may have every message of a connection in flight at once, or send one again."""
        c = self.configuration
        if c.channel:
            return c.channel, c.channel
        if c.network == "fifo" and not c.variant:
            return 2 + c.txns, max(2 + c.txns, 1 + 2 * c.txns)
        return 3 + c.txns + 2 * c.duplicates, 3 + 3 * c.txns + 2 * c.duplicates

    @cached_property
    def txn(self) -> Record:
        """A transaction <v, z>: zxid z = <epoch, counter> (III), and an identity standing for v."""
        count = Int(0, self.configuration.txns, "--txns")
        return Record("Txn", {"epoch": Int(0, self.epochs, "--max-epoch"), "counter": count, "value": count})

    @cached_property
    def program(self) -> Program:
        c = self.configuration
        up, down = self.channels
        epoch = Int(0, self.epochs, "--max-epoch")
        log = Seq(self.txn, c.txns + c.duplicates, "--txns")  # a copy of a proposal is accepted again
        union = MessageUnion(zab.messages(epoch, self.txn, log))
        budgets = tuple(
            Field(f"{name}_left", Int(0, getattr(c, name)), Role.BUDGET, (), f"how many {name} are left")
            for name in ("timeouts", "crashes", "losses", "partitions", "drops", "duplicates")
        )
        fields = (
            *history.history_fields(c.nodes, c.txns, epoch, self.txn, c.literal),
            *zab.node_fields(c.nodes, c.txns, epoch, log),
            *connections.connection_fields(union, up, down),
            *budgets,
            *connections.step_fields(union, c.nodes),
        )
        constants = {
            "NODES": c.nodes,
            "TXNS": c.txns,
            "EPOCHS": self.epochs,
            "MAJORITY": self.majority,
            "NETWORK": NETWORKS[c.network],
            "UP": up,
            "DOWN": down,
            "LITERAL": int(c.literal),
            "TIMEOUTS": c.timeouts,
            "CRASHES": c.crashes,
            "LOSSES": c.losses,
            "PARTITIONS": c.partitions,
            "DROPS": c.drops,
            "DUPLICATES": c.duplicates,
        }
        return Program(
            Schema(c.nodes, fields, constants),
            {"Txn": self.txn, "History": log, "AnyMessage": union},
            world=(actor, history, connections),
            protocol=(zab,),
            overrides=variants.overrides(c.variant),
        )
