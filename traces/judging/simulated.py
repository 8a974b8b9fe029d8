"""Check simulated runs against the same properties as explored ones.

A run is checked after every tick in which something was observed or a stable history changed. So a property that is
violated for a while and then repaired by later events counts as violated, and the reported tick is the first.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from types import FunctionType
from typing import Any

from invariants import PROPERTIES, properties_of
from invariants.binding import full_namespace, vacuous
from invariants.registry import HISTORY, STATE, STEP, TERMINAL, Property
from zabspec.configuration import amounts_in
from zabspec.language.front import frontend
from zabspec.language.layout.schema import Role
from zabspec.language.python.reference import load
from zabspec.language.python.sentences import sentence_of
from zabspec.model import ConfigError, Configuration, Model
from zabspec.protocols.registry import PROTOCOLS
from zabspec.simulator.model import Cluster
from zabspec.simulator.run import I64, PTR, TICKS_AT_ONCE, Run, Simulator, in_a_room

GENERATED = "<judging>"
NEVER = -1

# What is done before a tick, and when there is something new to check after it. For the observations of zabcheck's own
# protocols there is a count; the changes of a user protocol are looked at after every event of a tick, since a state
# that violates a property may be repaired before the tick ends.
NEWS = ("before = s.observations", "(histories_changed(s) or s.observations != before)")
NEWS_OF_OWN = ("pass", "True")
AFTER_EVENT = """
def after_event(s: State) -> None:
    s.broken_within = s.broken_within | newly_broken(s, ALL)
    s.met_within = s.met_within | newly_met(s, ALL)
"""
FRESH = ("newly_broken(s, ALL - broken)", "newly_met(s, ALL - met)")
FRESH_OF_OWN = ("(newly_broken(s, ALL) | s.broken_within) & (ALL - broken)", "newly_met(s, ALL) | s.met_within")

LOOP = """
def run_judged(s: State, until: int, broken: int, report: Words) -> int:
    met = report[0]
    while s.sim_moment < until and s.error == 0:
        {before}
        tick(s)
        if s.error == 0 and {news}:
            fresh = {broken}
            for k in range(PROPERTIES):
                if ((fresh >> k) & 1) == 1:
                    report[k + 1] = s.sim_moment - 1
            broken = broken | fresh
            met = met | {met}
    report[0] = met
    return broken
"""


def judged_properties(protocol: str, names: Sequence[str] = ()) -> tuple[Property, ...]:
    """Return the properties that simulated runs of a protocol are checked against.

    They are those of the observed history, and of each process's stable history if it declares replicas; and the
    protocol's own properties of histories and states, except those about messages in flight.

    Args:
        protocol: the protocol.
        names: only these; they may include properties of the observed history that are checked only by name.

    Raises:
        ConfigError: a simulated run cannot be checked against one of them.
    """
    if names:
        known = {p.name: p for p in (*judged_properties(protocol), *if_named(protocol))}
        for name in names:
            if name not in known:
                raise ConfigError(f"no simulated run is checked against {name}: {why_not_judged(protocol, name)}")
        return tuple(known[name] for name in dict.fromkeys(names))
    found = PROTOCOLS[protocol]
    papers = tuple(
        p
        for p in PROPERTIES
        if p.default and p.judges(protocol) and (p.of == HISTORY or (p.of == STATE and not p.protocols))
    )
    if not found.text.judged_by_event:
        return papers
    asks, given = asks_of_network(protocol), found.claims if found.declared.replicas else properties_of(protocol)
    own = tuple(p for p in given if p.default and p.of not in (STEP, TERMINAL) and not asks(p))
    return (*papers, *own) if found.declared.replicas else own


def if_named(protocol: str) -> tuple[Property, ...]:
    """Return the properties that runs of a protocol are checked against only by name: of the papers, and its own."""
    theirs = [p for p in properties_of(protocol) if not p.default]
    own = [p for p in theirs if p not in PROPERTIES and p.of in (HISTORY, STATE)]
    asks = asks_of_network(protocol) if own else None
    papers = [p for p in PROPERTIES if p.of == HISTORY and p.judges(protocol) and p in theirs]
    return (*papers, *(p for p in own if asks is not None and not asks(p)))


def why_not_judged(protocol: str, name: str) -> str:
    """Return why simulated runs of a protocol are not checked against a property; empty if they are.

    The sentence names what the property would need.
    """
    if name in {p.name for p in judged_properties(protocol)}:
        return ""
    of_papers, found = {p.name: p for p in PROPERTIES}, {p.name: p for p in properties_of(protocol)}
    p = found.get(name) or of_papers.get(name)
    if p is None:
        return "it is built in, or not a property of this protocol: a run is checked against properties of a source"
    if name not in found:
        return f"{protocol} does not declare replicas, whose states it is about"
    if p.of in (STEP, TERMINAL):
        return f"it is over {'steps' if p.of == STEP else 'terminal states'}, and not over states or histories"
    if p.passes:
        return "it reads the lengths of passes that a process gave up, which a simulated run does not keep"
    if p in if_named(protocol) and not (p.tables and p in PROPERTIES):
        return f"it is checked only if named: `zabcheck simulate --check --property {name}`"
    if name in of_papers and p.of == HISTORY and not p.protocols:
        return f"it is checked only if named: write the run as a table, and `zabcheck judge --property {name}`"
    if name in of_papers:
        return f"it is about the fields of {' and '.join(p.protocols)} beside those that replicas have"
    return "it reads messages in flight, which a simulated run has in its mail and not in the state"


def asks_of_network(protocol: str) -> Callable[[Property], bool]:
    """Return whether a property reads messages in flight, which the simulator stores differently."""
    model = Model(Configuration(protocol))
    front = model.program.front_end(full_namespace(model))

    def asks(p: Property) -> bool:
        functions = [f.__name__ for f in (p.holds, p.witness)]
        for name in functions:
            front.function(name)
        fields = {f for name in functions for f in front.program.reads[name]}
        return any(model.program.layout.fields[f].role is Role.NETWORK for f in fields)

    return asks


def judging_text(properties: Sequence[Property], own: bool) -> str:
    """Return the source of the checking kernel; bit k of every mask is the k-th property.

    Args:
        properties: the properties.
        own: they are those of a user protocol.
    """
    (before, news), (broken, met) = (NEWS_OF_OWN, FRESH_OF_OWN) if own else (NEWS, FRESH)
    loop = LOOP.format(before=before, news=news, broken=broken, met=met)
    parts = ["from __future__ import annotations", loop, *([AFTER_EVENT] if own else [])]
    for name, sign, function in (("newly_broken", "not ", "holds"), ("newly_met", "", "witness")):
        lines = [f"def {name}(s: State, want: int) -> int:", "    found = 0"]
        for k, p in enumerate(properties):
            lines.append(f"    if (want & {1 << k}) != 0 and {sign}{getattr(p, function).__name__}(s):")
            lines.append(f"        found = found | {1 << k}")
        parts.append("\n".join([*lines, "    return found"]))
    return "\n\n".join(parts) + "\n"


class Judged(Simulator):
    """A simulator that checks its runs.

    Args:
        cluster: one that keeps the observed history.
        engine: `compiled` or `interpret`.
        names: of the properties; if empty, all that runs are checked against.

    Attributes:
        properties: in the order of the bits of every mask.
    """

    exports: Mapping[str, tuple[Any, ...]] = {**Simulator.exports, "run_judged": (I64, PTR, I64, I64, PTR)}
    ticks_at_once = TICKS_AT_ONCE | {"compiled": 128}  # with many proposals it takes milliseconds to check a tick

    def __init__(self, cluster: Cluster, engine: str = "compiled", names: tuple[str, ...] = ()) -> None:
        if not cluster.observed:
            raise ValueError("only an observed cluster can be checked")
        self.properties = judged_properties(cluster.protocol, names)
        super().__init__(cluster, engine)
        self._report = (ctypes.c_int64 * (1 + len(self.properties)))()
        self._report_at = ctypes.addressof(self._report)

    def namespace(self) -> dict[str, Any]:
        """Return the program, the properties, and the checking functions, by name."""
        text = judging_text(self.properties, self.cluster.parts_of.text.judged_by_event)
        made: dict[str, Any] = {}
        exec(frontend.register_source(GENERATED, text).code, made)
        names = full_namespace(self.cluster)
        names |= {k: v for k, v in made.items() if isinstance(v, FunctionType)}
        return names | {"ALL": (1 << len(self.properties)) - 1, "PROPERTIES": len(self.properties)}

    def verdicts(self, run: Run) -> int:
        """Play a run to its end: the mask of the properties it breaks.

        Raises:
            SimulationError: a value would leave its range.
        """
        self.begin(run)
        self._report[0] = 0
        return self.judge_until(run.rounds, 0)

    def breaks(self, run: Run, k: int) -> int:
        """Play a run and check property k alone, which is much quicker; return the tick of its first violation, or -1.

        Raises:
            SimulationError: a value would leave its range.
        """
        every = (1 << len(self.properties)) - 1
        self.begin(run)
        self._report[0] = every
        broken = self.judge_until(run.rounds, every ^ (1 << k))
        return self.first_broken(k) if broken >> k & 1 else NEVER

    def judge_until(self, until: int, broken: int) -> int:
        """Go on with the run under way; the mask of what it breaks, with what it had broken before.

        Raises:
            SimulationError: a value would leave its range.
        """
        report = self._report if self.engine == "interpret" else self._report_at
        for stop in self.stops(until):
            broken = self.call("run_judged", stop, broken, report)
        return broken

    def why(self, k: int) -> str:
        """Return the sentence of property k about the current state; empty if it holds."""
        p = self.properties[k]
        found = self._in_python[p.holds.__name__](self.state)
        return sentence_of(found) or ("" if found else f"{p.name} is False.")

    @cached_property
    def _in_python(self) -> dict[str, Any]:
        """Return the properties as CPython functions, which alone give sentences."""
        program = self.cluster.program
        return self.names or load(self.layout, full_namespace(self.cluster), program.types, program.steps)

    @property
    def met(self) -> int:
        """Return the mask of the properties put to the test in the last run: it met the premise, and they can fail."""
        return self._report[0] & ~self.vain

    @cached_property
    def vain(self) -> int:
        """Return the mask of the properties that can never be False."""
        usual, own = Configuration(self.cluster.protocol, variant=self.cluster.variant), dict(self.cluster.budgets)

        def sizes(declared: str) -> str:
            return ",".join(f"{name}={own.get(name, n)}" for name, n in amounts_in(declared).items())

        nodes = usual.nodes if usual.roles else self.cluster.nodes
        budgets, parameters = sizes(usual.budgets), sizes(usual.parameters)
        never = vacuous(Model(replace(usual, nodes=nodes, budgets=budgets, parameters=parameters)), self.properties)
        return sum(1 << k for k, p in enumerate(self.properties) if p.name in never)

    def first_broken(self, k: int) -> int:
        """Return the tick in which the last run first violated property k, which it violates."""
        return self._report[1 + k]


@dataclass(frozen=True)
class Verdict:
    """The verdict on a property in a run.

    Attributes:
        of: the property.
        met: whether it was put to the test.
        broken_at: the tick in which it first broke; -1 if it did not.
        judged: whether the recorded part of the run decides it.
        can_fail: whether it is not one that can never be False.
    """

    of: Property
    met: bool
    broken_at: int
    judged: bool = True
    can_fail: bool = True

    @property
    def held(self) -> bool:
        """Return whether nothing violates the property, as far as it was checked."""
        return self.broken_at == NEVER


@cache
def judged_for(cluster: Cluster, engine: str, names: tuple[str, ...] = ()) -> Judged:
    """Return the checking simulator of a cluster, cached in this process, for one run at a time."""
    return Judged(cluster, engine, names)


def judge(
    run: Run,
    engine: str = "compiled",
    watch: Callable[[Simulator], object] = lambda _: None,
    names: tuple[str, ...] = (),
) -> tuple[Judged, list[Verdict]]:
    """Play a run and check it.

    Args:
        run: the run.
        engine: `compiled` or `interpret`.
        watch: called with the simulator before the run begins.
        names: of the properties; if empty, all that runs are checked against.

    Returns:
        The simulator, whose state is the run's last, and a verdict for every property.

    Raises:
        ConfigError: the run has too many proposals, or runs are not checked against such a property.
        SimulationError: a value would leave its range in the largest room there is.
    """

    def attempt(cluster: Cluster) -> tuple[Judged, list[Verdict]]:
        judged = judged_for(cluster, engine, names)
        watch(judged)
        broken = judged.verdicts(run)
        return judged, [
            Verdict(
                p,
                bool(judged.met >> k & 1),
                judged.first_broken(k) if broken >> k & 1 else NEVER,
                can_fail=not judged.vain >> k & 1,
            )
            for k, p in enumerate(judged.properties)
        ]

    return in_a_room(run, True, attempt)


def verdicts(run: Run) -> int:
    """Return the mask of the properties (`judged_properties`, in order) that a run violates, in machine code.

    This is for sweeps over many seeds.

    Raises:
        ConfigError, SimulationError: as for `judge`.
    """
    return in_a_room(run, True, lambda cluster: judged_for(cluster, "compiled").verdicts(run))


def breaks(run: Run, k: int) -> int:
    """Return the tick in which a run first violates property k of `judged_properties`; -1 if it holds.

    This is for searches over many seeds.

    Raises:
        ConfigError, SimulationError: as for `judge`.
    """
    return in_a_room(run, True, lambda cluster: judged_for(cluster, "compiled").breaks(run, k))
