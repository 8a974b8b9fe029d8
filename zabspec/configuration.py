"""Hold the parameters of a model as data, from which worlds and protocols compute sizes."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from zabspec.quorums import QuorumSystem, system_of
from zabspec.roles import Roles, roles_of
from zabspec.starts import named_start
from zabspec.typed import hints_of, object_type
from zabspec.worlds.steps import BUDGETS

# Written only where they differ:
USUAL = {"promises": True, "passes": False, "quorums": "", "parameters": "", "roles": ""}
UNSET = cast(int, None)  # a number that was not given: a `Configuration` has a value for it


def amounts_in(budgets: str) -> dict[str, int]:
    """Return the amounts in `name=n,name=n`."""
    return {name: int(n) for name, _, n in (part.partition("=") for part in budgets.split(",")) if name}


@dataclass(frozen=True)
class Parameters:
    """The parameters of a model, by name: a protocol, its variant and network, and budgets.

    They are data: `zabspec/model.py` checks them, and fills in those that nobody gave (`Configuration`).

    Attributes:
        protocol: the protocol.
        variant: the rules changed; empty for none.
        nodes: the number of processes.
        txns: transactions that may be abcast; 0 if the protocol has none.
        timeouts: spurious timeouts; over datagrams every firing of an election timer.
        crashes: crashes; recovery is free.
        losses: lost connections.
        partitions: cuts that lose every connection across them.
        network: what channels may do; empty for the protocol's own, which is fifo or datagrams.
        drops: single messages lost; over connections on lossy channels.
        duplicates: messages received twice; over connections on duplicating channels.
        heartbeats: firings of a heartbeat timer (over datagrams only).
        power_losses: losses of power, in which unforced writes may be lost.
        outages: losses of the power of all processes in one step.
        literal: whether the state also keeps what only the literal invariant 5 reads.
        passes: whether it also keeps the passes that processes gave up (`zabspec/passes.py`); written only if it does.
        max_epoch: the largest epoch; 0: derived from the budgets.
        channel: the capacity of channels; 0: derived from the protocol.
        budgets: the budgets that the protocol declares beside the world's, in its order, as NAME=N between commas.
        parameters: the sizes of its roles, then its parameters, likewise; empty, and not written, if there are none.
        roles: of these the roles; empty, and not written, if all processes are alike. It follows from `parameters`.
        start: the state that runs begin in, of those that the protocol declares; empty for the first. `NAME:N` is the
            N-th way to begin in it, of a start that chooses.
        quorums: the quorum system (`zabspec/quorums.py`), in one line: server k of it is process k - 1; empty, and not
            written, for majorities.
        promises: false: steps that the protocol merges by promise are steps of their own (`worlds/priority.py`);
            written only then.
    """

    protocol: str = "zab"
    variant: str = ""
    nodes: int = UNSET
    txns: int = UNSET
    timeouts: int = UNSET
    crashes: int = UNSET
    losses: int = UNSET
    partitions: int = UNSET
    network: str = ""
    drops: int = UNSET
    duplicates: int = UNSET
    heartbeats: int = UNSET
    power_losses: int = UNSET
    outages: int = UNSET
    literal: bool = False
    passes: bool = False
    max_epoch: int = 0
    channel: int = 0
    budgets: str = ""
    parameters: str = ""
    roles: str = ""
    start: str = ""
    quorums: str = ""
    promises: bool = True

    @property
    def named_start(self) -> tuple[str, int | None]:
        """Return the start, and which of the ways to begin in it; None for all."""
        return named_start(self.start)

    @cached_property
    def budget(self) -> Mapping[str, int]:
        """Return the amount of every budget, including the protocol's own, and of its roles and parameters."""
        out = {name: int(getattr(self, name)) for name in BUDGETS}
        return out | amounts_in(self.parameters) | amounts_in(self.budgets)

    @property
    def faults(self) -> int:
        """Return the number of faults that can make a process begin another iteration."""
        return sum(getattr(self, name) for name in BUDGETS)

    @property
    def system(self) -> QuorumSystem | None:
        """Return the quorum system; None for majorities."""
        return system_of(self.quorums) if self.quorums else None

    @property
    def played(self) -> Roles | None:
        """Return the roles of the processes; None if all are alike."""
        return roles_of(self.roles)

    @property
    def smallest_quorum(self) -> int:
        """Return the size of a smallest quorum."""
        return self.system.smallest if self.system else self.nodes // 2 + 1

    @property
    def renamings(self) -> int:
        """Return how many renamings of the processes keep its quorums and roles, including the identity."""
        if self.played:
            return math.prod(math.factorial(r.count) for r in self.played)
        return len(self.system.renamings) if self.system else math.factorial(self.nodes)

    @property
    def given_up(self) -> int:
        """Return how many given-up passes of a process are kept: one for each fault, if any are kept."""
        return max(1, self.faults) if self.passes else 0

    def as_dict(self) -> dict[str, str | int]:
        return {name: value for name, value in asdict(self).items() if name not in USUAL or value != USUAL[name]}


# The JSON of a configuration as a type; to type checkers it stays a dictionary.
if TYPE_CHECKING:
    ConfigurationJson: TypeAlias = dict[str, Any]
else:
    ConfigurationJson = object_type("ConfigurationJson", hints_of(Parameters), USUAL)
    ConfigurationJson.__doc__ = Parameters.__doc__
