"""Combine the stable phase of a model: its rules, progress properties, and classes of fair steps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from types import FunctionType, ModuleType

from zabspec.authoring.declaration import Action
from zabspec.language.layout.kinds import MessageUnion
from zabspec.language.layout.notation import process_name
from zabspec.language.program import own_names
from zabspec.live.worlds import IN_WORLDS, Fair
from zabspec.model import ConfigError, Model
from zabspec.properties import ProgressProperty
from zabspec.roles import roles_of
from zabspec.worlds.steps import ACTION, ENVIRONMENT

LIVE = f"{__package__}."  # the modules here; all other functions that its functions call are the program's
OWN_STEPS = {ACTION: "action", ENVIRONMENT: "environment"}  # the kinds of the classes of internal steps


@dataclass(frozen=True)
class FairClass:
    """Steps of which one is taken eventually if from some moment on one is always possible.

    Attributes:
        kind: their name in the world's table (`zabspec/live/worlds.py`), or one of `OWN_STEPS`.
        process: the process that takes them; -1 for any.
        peer: the process at the other end.
        which: for actions and steps of the environment, their number.
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

    def said(self, model: Model) -> str:
        """Return what is never done where the class is treated unfairly, in words."""
        if self.kind in OWN_STEPS.values():
            name = (model.protocol.actions if self.kind == "action" else model.protocol.changes)[self.which]
            some = "some process" if self.kind == "action" else "the environment"
            return f"{some if self.process < 0 else process_name(self.process)} does {name}"
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
    for f in fair_kinds(model):
        out += [FairClass(f.name, p, q) for p, q in pairs] if f.pairs else [FairClass(f.name, p) for p in nodes]
    for kind, which, action in fair_steps(model):
        out += [FairClass(OWN_STEPS[kind], p, -1, which) for p in takers(model, action)]
    return out


def fair_kinds(model: Model) -> list[Fair]:
    """Return the kinds of fair steps of a model's world: without receipts if nothing can be sent."""
    union = model.program.types.get("AnyMessage")
    silent = isinstance(union, MessageUnion) and not union.messages
    return [f for f in IN_WORLDS[model.world.name].fair if not (silent and f.receives)]


def takers(model: Model, action: Action) -> range:
    """Return the processes that have a class of their own for an internal step; -1 alone if it is of all."""
    roles = roles_of(model.configuration.roles)
    if action.together:
        return range(-1, 0)
    return roles.by_type[action.role].members if roles and action.role else range(model.configuration.nodes)


def is_strong(model: Model, fair: FairClass) -> bool:
    """Return whether a class must be taken even if it is only infinitely often possible."""
    found = (OWN_STEPS[kind] == fair.kind and which == fair.which for kind, which, a in fair_steps(model) if a.strong)
    return any(found)


def fair_steps(model: Model) -> list[tuple[int, int, Action]]:
    """Return the internal steps that must eventually be taken, with their kinds and numbers.

    They are those without a budget, unless declared unfair.
    """
    text = model.protocol.text
    both = [(ACTION, *one) for one in enumerate(text.actions)] + [
        (ENVIRONMENT, *one) for one in enumerate(text.changes)
    ]
    return [(kind, which, a) for kind, which, a in both if a.fair and not a.budget]


def class_of(model: Model, word: int) -> FairClass | None:
    """Return the class of a step in the stable phase, or None if it need not be taken."""
    kind, process, b, c = word >> 24 & 255, word >> 16 & 255, word >> 8 & 255, word & 255
    if kind in OWN_STEPS:
        own = (action for k, which, action in fair_steps(model) if (k, which) == (kind, c))
        return next((FairClass(OWN_STEPS[kind], -1 if action.together else process, -1, c) for action in own), None)
    for f in IN_WORLDS[model.world.name].fair:
        if kind in f.kinds:
            return FairClass(f.name, process, b) if f.pairs else FairClass(f.name, process)
    return None
