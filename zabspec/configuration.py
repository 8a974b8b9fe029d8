"""Hold the parameters of a model as data, from which worlds and protocols compute sizes."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import cast

from zabspec.quorums import QuorumSystem, system_of
from zabspec.roles import Roles, roles_of
from zabspec.worlds.steps import BUDGETS

UNSET = cast(int, None)  # a number that was not given: a `Configuration` has a value for it


def amounts_in(budgets: str) -> dict[str, int]:
    """Return the amounts in `name=n,name=n`."""
    return {name: int(n) for name, _, n in (part.partition("=") for part in budgets.split(",")) if name}


@dataclass(frozen=True)
class Parameters:
    """The parameters of a model, by name: a protocol, its variant and network, and budgets.

    They are data: `zabspec/model.py` checks them, and fills in those that nobody gave (`Configuration`).
    """

    protocol: str = "zab"
    variant: str = ""
    nodes: int = UNSET
    txns: int = UNSET
    timeouts: int = UNSET
    crashes: int = UNSET
    losses: int = UNSET
    partitions: int = UNSET
    network: str = ""  # the protocol's own: fifo, or datagrams
    drops: int = UNSET
    duplicates: int = UNSET
    heartbeats: int = UNSET
    power_losses: int = UNSET
    literal: bool = False  # also keep what only the literal invariant 5 asks for
    passes: bool = False  # also keep the passes that processes gave up (`zabspec/passes.py`)
    max_epoch: int = 0  # 0: derived from the budgets
    channel: int = 0  # 0: derived from the protocol
    # the sizes of the roles that the protocol declares, then its own budgets: "client=2,begins=1", in its order
    budgets: str = ""
    roles: str = ""  # of these the roles, "client=2"; empty: all processes are alike. It follows from `budgets`
    start: str = ""  # the state that runs begin in, of those that the protocol declares
    quorums: str = ""  # the quorum system by its text (`zabspec/quorums.py`); empty for majorities
    promises: bool = True  # False: order hooks of the protocol merge no steps (`worlds/priority.py`)

    @cached_property
    def budget(self) -> Mapping[str, int]:
        """Return the amount of every budget, including the protocol's own."""
        out = {name: int(getattr(self, name)) for name in BUDGETS}
        return out | amounts_in(self.budgets)

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
        usual = {"promises": True, "passes": False, "quorums": "", "roles": ""}  # written only where they differ
        return {name: value for name, value in asdict(self).items() if name not in usual or value != usual[name]}
