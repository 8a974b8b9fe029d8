"""The stable phase of a model: its rules, progress properties, and classes of steps that are taken sooner or later."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from types import FunctionType, ModuleType

from zabspec.language.notation import process_name
from zabspec.language.program import own_names
from zabspec.live.worlds import IN_WORLDS
from zabspec.model import ConfigError, Model
from zabspec.properties import ProgressProperty
from zabspec.worlds.steps import ACTION

__all__ = ["ACTED", "FairClass", "StablePhase", "class_of", "fair_actions", "fair_classes", "is_strong", "stable_phase"]

LIVE = f"{__package__}."  # what stands here; all else that its functions call is the program's
ACTED = "action"  # the kind of the classes of internal steps


@dataclass(frozen=True)
class FairClass:
    """Steps of which one is taken sooner or later, where from some moment on there always is one.

    Attributes:
        kind: what they are, as the world's table calls them (`zabspec/live/worlds.py`), or `action`.
        process: who takes them; -1: whoever does.
        peer: who is at the other end.
        which: of actions, which.
        message: the bytes of the message that is received, where each message is a class of its own; empty: they are
            not told apart.
    """

    kind: str
    process: int
    peer: int = -1
    which: int = 0
    message: bytes = b""

    def renamed(self, p: Sequence[int]) -> FairClass:
        """The class when process i is called p[i]."""
        peer = p[self.peer] if self.peer >= 0 else -1
        return FairClass(self.kind, p[self.process] if self.process >= 0 else -1, peer, self.which)

    def said(self, actions: Sequence[str]) -> str:
        """In words, what is not done for ever where it is unfair."""
        if self.kind == ACTED and self.process < 0:
            return f"some process does {actions[self.which]}"
        if self.kind == ACTED:
            return f"{process_name(self.process)} does {actions[self.which]}"
        said = {f.name: f.said for world in IN_WORLDS.values() for f in world.fair}
        words = said[self.kind].format(p=process_name(self.process), q=process_name(self.peer))
        return f"{words} one message, which others overtake" if self.message else words


@dataclass(frozen=True)
class StablePhase:
    """What is said of a protocol's stable phase.

    Attributes:
        rules: the functions that say what may happen in it.
        others: modules with functions that goals call.
        goals: what must come of it.
        names_one: whether a process is named.
    """

    rules: ModuleType
    others: tuple[ModuleType, ...]
    goals: tuple[ProgressProperty, ...]
    names_one: bool

    @property
    def modules(self) -> tuple[ModuleType, ...]:
        """Where its functions are defined."""
        return (self.rules, *self.others)

    @property
    def functions(self) -> dict[str, FunctionType]:
        """Its functions."""
        return {
            name: value
            for module in self.modules
            for name, value in own_names(module).items()
            if isinstance(value, FunctionType) and value.__module__.startswith(LIVE)
        }

    @property
    def constants(self) -> dict[str, int]:
        """The numbers that its functions name."""
        return {k: v for module in self.modules for k, v in own_names(module).items() if isinstance(v, int)}


def stable_phase(model: Model) -> StablePhase:
    """
    Raises:
        ConfigError: nothing is said of the stable phase of this protocol, or it cannot be asked.
    """
    protocol, network = model.protocol, model.configuration.network
    if network in IN_WORLDS[model.world.name].unfair:
        raise ConfigError(
            f"--live: --network {network}: one message may be overtaken forever there, and no fairness is defined "
            f"for that"
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
    """The classes of fair steps of a model, by their numbers."""
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
    """Whether a class of steps is taken sooner or later even where it can be again and again only."""
    return fair.kind == ACTED and model.protocol.text.actions[fair.which].strong


def fair_actions(model: Model) -> list[int]:
    """The internal steps of a process that it takes sooner or later: those that cost no budget, unless the text says
    otherwise."""
    return [k for k, a in enumerate(model.protocol.text.actions) if a.fair and not a.budget]


def class_of(model: Model, word: int) -> FairClass | None:
    """The class of a step in the stable phase; None: it need not be taken."""
    kind, a, b, c = word >> 24 & 255, word >> 16 & 255, word >> 8 & 255, word & 255
    if kind == ACTION:
        if c not in fair_actions(model):
            return None
        return FairClass(ACTED, -1 if model.protocol.text.actions[c].together else a, -1, c)
    for f in IN_WORLDS[model.world.name].fair:
        if kind in f.kinds:
            return FairClass(f.name, a, b) if f.pairs else FairClass(f.name, a)
    return None
