"""Define a run of the simulator: all that determines what happens in it."""

from __future__ import annotations

from dataclasses import dataclass, replace

from zabspec.authoring.quorums import system_for
from zabspec.configuration import Parameters, amounts_in
from zabspec.model import ConfigError
from zabspec.protocols.registry import NAMES, PROTOCOLS
from zabspec.roles import roles_of
from zabspec.simulator.loop import FAULTS, MOST_FAULTS
from zabspec.simulator.mail import LARGEST_TICK
from zabspec.simulator.model import ORACLES
from zabspec.starts import named_start
from zabspec.worlds.steps import BUDGETS
from zabspec.worlds.world import World

LEAST_DELAY, DELAYS = 1, 3  # the lab's
MOST_PROPOSALS = 1000
LONGEST_DELAY = 10_000

# Faults of one process.
OF_ONE = ("crash", "recover", "timeout")


@dataclass(frozen=True)
class Fault:
    """A fault on the schedule.

    Attributes:
        tick: when it happens, before anything else in that tick.
        kind: `cut` (nothing that a sends arrives at b), `heal`, `crash` and `recover` (of a), `lose`
            (the connection of follower a to leader b), `timeout` (a has waited too long).
        a, b: the processes; b is -1 where there is none.
    """

    tick: int
    kind: str
    a: int
    b: int = -1


@dataclass(frozen=True)
class Run:
    """Everything that determines a run. The defaults are the lab's.

    Attributes:
        seed: the seed of delays and deadlines, an unsigned 64-bit word.
        nodes, rounds, proposals: the numbers of processes, of ticks, and of proposals, which are spread evenly over the
            ticks.
        blocked: pairs (a, b): from the start nothing that a sends arrives at b.
        faults: the schedule, in the order of their ticks.
        least_delay, delays: a message takes `least_delay` ticks or one of the `delays - 1` next.
        protocol, variant: the protocol that runs.
        network: over connections, the order in which an end takes what arrives; empty for the channels in turn. For
            datagrams, whether they may overtake each other; empty if they may.
        oracle: over connections, the leader oracle: one of `ORACLES`; empty for the seed.
        budgets, parameters: the amounts that the protocol declares, as in a configuration.
        start: the start state of the run, among those that the protocol declares.

    Raises:
        ConfigError: there is no such run.
    """

    seed: int
    nodes: int = 3
    rounds: int = 1000
    proposals: int = 5
    blocked: tuple[tuple[int, int], ...] = ()
    faults: tuple[Fault, ...] = ()
    least_delay: int = LEAST_DELAY
    delays: int = DELAYS
    protocol: str = "db19"
    variant: str = ""
    network: str = ""
    oracle: str = ""
    budgets: str = ""
    parameters: str = ""
    start: str = ""
    quorums: str = ""

    def __post_init__(self) -> None:
        found = PROTOCOLS.get(self.protocol)
        if found is None:
            raise ConfigError(f"there is no protocol {self.protocol!r}; there are {', '.join(NAMES)}")
        object.__setattr__(self, "variant", found.combined(self.variant))
        object.__setattr__(self, "budgets", found.own_budgets(self.budgets))
        object.__setattr__(self, "parameters", found.own_parameters(self.parameters))
        if (roles := roles_of(found.roles(self.parameters))) and roles.nodes != self.nodes:
            raise ConfigError(f"--nodes is {self.nodes}, but the roles of {self.protocol} are {roles.text}")
        if roles and self.quorums:
            raise ConfigError(f"--quorums is not for {self.protocol}, whose processes have roles")
        object.__setattr__(self, "quorums", system_for(self.quorums, self.nodes)[0])
        if self.quorums:
            found.check_quorums(self.quorums, self.variant)
        if named_start(self.start)[1] is not None:
            raise ConfigError(f"--start {self.start}: the seed of a simulated run chooses where it begins, so omit :N")
        found.check_start(self.start, self.quorums, self.nodes, amounts_in(self.budgets))
        if not found.transactions:
            object.__setattr__(self, "proposals", 0)
        if not self.network:
            object.__setattr__(self, "network", found.network)
        within("--seed", self.seed, 0, 2**64 - 1)
        within("--nodes", self.nodes, 1, found.most_nodes[0])
        within("--rounds", self.rounds, 0, LARGEST_TICK)
        within("--proposals", self.proposals, 0, MOST_PROPOSALS)
        if not 1 <= self.least_delay <= self.least_delay + self.delays - 1 <= LONGEST_DELAY:
            last = self.least_delay + self.delays - 1
            raise ConfigError(
                f"--delay must be LEAST:MOST with 1 <= LEAST <= MOST <= {LONGEST_DELAY}, not {self.least_delay}:{last}"
            )
        networks = found.world.networks
        if self.network and self.network not in networks:
            whose = "" if self.protocol == Parameters.protocol else f" for {self.protocol}"
            raise ConfigError(f"there is no network {self.network!r}{whose}; there are {', '.join(networks)}")
        if self.oracle and self.oracle not in ORACLES:
            some = " or ".join(ORACLES)
            raise ConfigError(
                f"there is no oracle {self.oracle!r}; use {some}, or omit it: then the seed chooses leaders"
            )
        if self.oracle and not found.declared.lab_oracle:
            some = ", ".join(name for name in NAMES if PROTOCOLS[name].declared.lab_oracle)
            if found.declared.oracle:
                said = f"{self.protocol} restricts its oracle itself"
                raise ConfigError(f"--oracle {self.oracle} is for {some}; {said}")
            raise ConfigError(f"--oracle is for {some}; {self.protocol} elects by itself")
        for a, b in self.blocked:
            if not (0 <= a < self.nodes and 0 <= b < self.nodes):
                raise ConfigError(f"blocked {a},{b}: processes are 0 to {self.nodes - 1}")
        if len(self.faults) > MOST_FAULTS:
            raise ConfigError(f"a schedule has at most {MOST_FAULTS} faults, not {len(self.faults)}")
        for fault in self.faults:
            self._check_fault(fault, found.world)
        object.__setattr__(self, "faults", tuple(sorted(self.faults, key=lambda f: f.tick)))

    def _check_fault(self, fault: Fault, world: World) -> None:
        if fault.kind not in FAULTS:
            raise ConfigError(f"there is no fault {fault.kind!r}; there are {', '.join(FAULTS)}")
        what = f"--{fault.kind} at tick {fault.tick}"
        if fault.kind in world.lacks:
            raise ConfigError(f"--{fault.kind} is not for {self.protocol}, which uses {world.name}")
        for p in (fault.a,) if fault.kind in OF_ONE else (fault.a, fault.b):
            if not 0 <= p < self.nodes:
                raise ConfigError(f"{what}: there is no process {p}; they are 0 to {self.nodes - 1}")
        if not 0 <= fault.tick < self.rounds:
            raise ConfigError(f"{what}: the run has ticks 0 to {self.rounds - 1}")

    @property
    def budget(self) -> tuple[tuple[str, int], ...]:
        """Return the amount of every budget, role and parameter that the protocol declares.

        For budgets of its world, scheduled faults count as spent.
        """
        found = PROTOCOLS[self.protocol]
        if not found.takes_amounts:
            return ()
        own = amounts_in(self.parameters) | amounts_in(self.budgets)
        crashes = sum(fault.kind == "crash" for fault in self.faults)
        known = {name: found.usual(name) for name in BUDGETS}
        return tuple((known | {"crashes": max(known["crashes"], crashes)} | own).items())

    @property
    def text(self) -> str:
        """Return the digest of the protocol's source; empty for one that changes only with releases of zabcheck."""
        return PROTOCOLS[self.protocol].text.digest

    @property
    def table_budget(self) -> dict[str, int]:
        """Return the nonzero budgets for which a configuration has an option."""
        return {name: n for name, n in self.budget if n and name in BUDGETS}

    def with_seed(self, seed: int) -> Run:
        return replace(self, seed=seed)


def within(option: str, value: int, low: int, high: int) -> None:
    """Check that a number is in a range.

    Raises:
        ConfigError: it is not; the message names `option`.
    """
    if not low <= value <= high:
        raise ConfigError(f"{option} must be {low} to {high}, not {value}")
