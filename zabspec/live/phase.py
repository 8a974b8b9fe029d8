"""Combine the stable phase of a model: its rules, progress properties, and classes of fair steps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from types import FunctionType, ModuleType

from zabspec.language.layout.notation import process_name
from zabspec.language.program import own_names
from zabspec.live.worlds import IN_WORLDS
from zabspec.model import ConfigError, Model
from zabspec.properties import ProgressProperty
from zabspec.worlds.steps import ACTION

LIVE = f"{__package__}."  # the modules here; all other functions that its functions call are the program's
ACTED = "action"  # the kind of the classes of internal steps


@dataclass(frozen=True)
class FairClass:
    """Steps of which one is taken eventually if from some moment on one is always possible.

    Attributes:
        kind: their name in the world's table (`zabspec/live/worlds.py`), or `action`.
        process: the process that takes them; -1 for any.
        peer: the process at the other end.
        which: for actions, the number of the action.
        message: the bytes of the message that is received, where each message is a class of its own; empty if they are
            not distinguished.
    """

    kind: str
    process: int
    peer: int = -1
    which: int = 0
    message: bytes = b""

    def renamed(self, p: Sequence[int]) -> FairClass:
        """Return the class when process i is renamed to p[i]."""
        peer = p[self.peer] if self.peer >= 0 else -1
        return FairClass(self.kind, p[self.process] if self.process >= 0 else -1, peer, self.which)

    def said(self, actions: Sequence[str]) -> str:
        """Return what is never done where the class is treated unfairly, in words."""
        if self.kind == ACTED and self.process < 0:
            return f"some process does {actions[self.which]}"
        if self.kind == ACTED:
            return f"{process_name(self.process)} does {actions[self.which]}"
        said = {f.name: f.said for world in IN_WORLDS.values() for f in world.fair}
        words = said[self.kind].format(p=process_name(self.process), q=process_name(self.peer))
        return f"{words} one message, which others overtake" if self.message else words


@dataclass(frozen=True)
class StablePhase:
    """The stable phase of a protocol.

    Attributes:
        rules: the module with the functions that say what may happen in it.
        others: modules with functions that goals call.
        goals: the progress properties.
        names_one: whether the oracle names a process.
    """

    rules: ModuleType
    others: tuple[ModuleType, ...]
    goals: tuple[ProgressProperty, ...]
    names_one: bool

    @property
    def modules(self) -> tuple[ModuleType, ...]:
        """Return the modules that define its functions."""
        return (self.rules, *self.others)

    @property
    def functions(self) -> dict[str, FunctionType]:
        """Return its functions, by name."""
        return {
            name: value
            for module in self.modules
            for name, value in own_names(module).items()
            if isinstance(value, FunctionType) and value.__module__.startswith(LIVE)
        }

    @property
    def constants(self) -> dict[str, int]:
        """Return the constants that its functions use, by name."""
        return {k: v for module in self.modules for k, v in own_names(module).items() if isinstance(v, int)}


def stable_phase(model: Model) -> StablePhase:
    """Return the stable phase of a model.

    Raises:
        ConfigError: the protocol declares no stable phase, or liveness cannot be checked for this configuration.
    """
    protocol, network = model.protocol, model.configuration.network
    if network in IN_WORLDS[model.world.name].unfair:
        raise ConfigError(
            f"--live: --network {network}: a message may be overtaken forever there, or arrive long after its "
            f"connection, and no fairness is defined for that"
        )
    if protocol.declared.progress:
        stated = import_module(protocol.declared.progress)
        return StablePhase(getattr(stated, "RULES", stated), (stated,), stated.GOALS, True)
    if not protocol.text.goals:
        said = "mark a function of its source with @progress"
        raise ConfigError(f"--live: no progress property of {protocol.name} is declared: {said}")
    if protocol.elects:
        raise ConfigError(f"--live: an election of {protocol.name} is one step, for which no fairness is defined")
    world = IN_WORLDS[protocol.world.name]
    apart = protocol.text.apart
    goals = tuple(replace(g, key=apart.get(g.waits.__name__, "")) for g in protocol.text.goals)
    return StablePhase(world.rules, (), goals, world.names_one)


def fair_classes(model: Model) -> list[FairClass]:
    """Return the classes of fair steps of a model, by number."""
    nodes = range(model.configuration.nodes)
    pairs = [(p, q) for p in nodes for q in nodes]
    out: list[FairClass] = []
    for f in IN_WORLDS[model.world.name].fair:
        out += [FairClass(f.name, p, q) for p, q in pairs] if f.pairs else [FairClass(f.name, p) for p in nodes]
    for which in fair_actions(model):
        whose = [-1] if model.protocol.text.actions[which].together else nodes
        out += [FairClass(ACTED, p, -1, which) for p in whose]
    return out


def is_strong(model: Model, fair: FairClass) -> bool:
    """Return whether a class must be taken even if it is only infinitely often possible."""
    return fair.kind == ACTED and model.protocol.text.actions[fair.which].strong


def fair_actions(model: Model) -> list[int]:
    """Return the internal steps that a process must eventually take: those without a budget, unless declared unfair."""
    return [k for k, a in enumerate(model.protocol.text.actions) if a.fair and not a.budget]


def class_of(model: Model, word: int) -> FairClass | None:
    """Return the class of a step in the stable phase, or None if it need not be taken."""
    kind, a, b, c = word >> 24 & 255, word >> 16 & 255, word >> 8 & 255, word & 255
    if kind == ACTION:
        if c not in fair_actions(model):
            return None
        return FairClass(ACTED, -1 if model.protocol.text.actions[c].together else a, -1, c)
    for f in IN_WORLDS[model.world.name].fair:
        if kind in f.kinds:
            return FairClass(f.name, a, b) if f.pairs else FairClass(f.name, a)
    return None
