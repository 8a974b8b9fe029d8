"""Compile a model to machine code with the kernel of its stable phase."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from functools import cached_property
from types import FunctionType, ModuleType
from typing import Any

from checker.explore import compiled
from checker.explore.compiled import I64, PTR, Compiled
from checker.explore.memory import Block
from checker.explore.symmetry import DECODERS, Asymmetric
from checker.live import graph, kernel
from invariants.registry import Property
from zabspec.authoring.declaration import said_at
from zabspec.language.analysis.tree import TypedProgram
from zabspec.language.layout import derive
from zabspec.language.layout.cache_key import digest_of, program_digest
from zabspec.language.layout.schema import Field, Role
from zabspec.language.layout.source import from_here
from zabspec.language.program import own_names
from zabspec.language.symmetry import Trusted, asymmetries
from zabspec.live.phase import fair_classes, fair_kinds, fair_steps, stable_phase, takers
from zabspec.live.worlds import IN_WORLDS
from zabspec.model import ConfigError, Model
from zabspec.worlds.steps import BUDGETS, HEARTBEAT

MOST_CLASSES: int = graph.UNFAIR  # classes, and progress properties with processes, are bits of a word


class LiveCode(Compiled):
    """A model, without properties, and its stable phase.

    Args:
        symmetry: whether renamings count once in the fault phase. The stable phase has no symmetry.
    """

    also_modules = (kernel,)
    exports: Mapping[str, tuple[Any, ...]] = {
        **compiled.EXPORTS,
        "begin_stable": (I64, PTR, I64, I64, I64, I64, PTR, PTR, PTR, PTR, PTR),
        "expand_stable": (I64, PTR, I64, PTR, PTR, PTR, PTR),
        "stable_successors": (I64, PTR, I64, PTR, I64, PTR),
        "stable_from": (None, PTR, PTR, PTR),
        "stable_lasts": (I64, PTR, I64),
        "stable_begins": (I64, PTR, I64),
        "waits_in": (I64, PTR, I64),
        "unpack_node": (I64, PTR, I64, PTR),
    }

    begin_stable: Any
    expand_stable: Any
    stable_successors: Any
    stable_from: Any
    stable_lasts: Any
    stable_begins: Any
    waits_in: Any
    unpack_node: Any

    def __init__(
        self, model: Model, properties: Sequence[Property] = (), symmetry: bool = False, every_step: bool = False
    ) -> None:
        self.phase = stable_phase(model)
        self.classes = fair_classes(model)
        if (many := max(len(self.classes), len(self.phase.goals) * model.configuration.nodes)) > MOST_CLASSES:
            fewer = 'with fewer processes, or actions that are fair_to="action"'
            raise ConfigError(f"--live: at most {MOST_CLASSES} classes of fair steps, and here are {many}: {fewer}")
        super().__init__(model, (), symmetry, every_step)

    @cached_property
    def modules(self) -> tuple[ModuleType, ...]:
        return self.phase.modules

    @cached_property
    def live_names(self) -> dict[str, FunctionType]:
        """Return the functions of the stable phase."""
        return self.phase.functions

    def also_key(self) -> tuple[object, ...]:
        program = self.model.program
        names = {name: value for module in self.modules for name, value in own_names(module).items()}
        digest = program_digest(self.layout, names, program.types, (), ())
        return ("live", digest_of(digest), *super().also_key())

    @cached_property
    def numbers(self) -> dict[str, int]:
        world = IN_WORLDS[self.model.world.name]
        return {
            **super().numbers,
            "MOST_STEPS": self.model.most_steps,
            "EXACT": not derive.bags(self.layout),
            "GIVES_UP": world.gives_up,
            "BEATS": HEARTBEAT,
            "RECEIPTS": world.receipts(self.nodes),
        }

    skips_stuttering = False  # in the stable phase a stuttering receipt must be taken like any other

    def also_text(self) -> str:
        """Return the source that follows from the schema, the classes and the progress properties."""
        there = {f.name for f in self.layout.schema.fields}
        left = [f"{name}_left" for name in BUDGETS]
        forget = ["def forget_budgets(s: State) -> None:"]
        forget += [f"    s.{name} = 0" for name in left if name in there]
        waits = ["def waits_of(s: State, named: Node) -> int:", "    out = 0"]
        for k, goal in enumerate(self.phase.goals):
            given = "s, p, named" if goal.names_one else "s, p"
            who = self.model.may_wait(goal)
            waits += [f"    for p in range({who.start}, {who.stop}):", f"        if {goal.called}({given}):"]
            waits += [f"            out = out | (1 << (p + {k * self.nodes}))"]
        return "\n\n\n".join(
            "\n".join(x) for x in ([*forget, "    return"], [*waits, "    return out"], self.class_text())
        )

    @property
    def nodes(self) -> int:
        return self.model.configuration.nodes

    def class_text(self) -> list[str]:
        """Return the source of the function from a step word to the number of its class."""
        n = self.nodes
        lines = [
            "def class_of(word: int) -> int:",
            "    kind = (word >> 24) & 255",
            "    a = (word >> 16) & 255",
            "    b = (word >> 8) & 255",
        ]
        first = 0
        for f in fair_kinds(self.model):
            number = f"{first} + a * {n} + b" if f.pairs else f"{first} + a"
            lines += [f"    if {' or '.join(f'kind == {k}' for k in f.kinds)}:", f"        return {number}"]
            first += n * n if f.pairs else n
        for kind, which, action in fair_steps(self.model):
            who = takers(self.model, action)
            lines += [f"    if kind == {kind} and word & 255 == {which}:"]
            lines += [f"        return {first}" if who.start < 0 else f"        return {first - who.start} + a"]
            first += len(who)
        return [*lines, f"    return {graph.UNFAIR}"]

    def also_names(self, names: dict[str, Any]) -> None:
        for name, value in self.live_names.items():
            if names.get(name, value) is not value:
                where = said_at(names[name])
                raise ConfigError(f"{where}{name} is a name of the stable phase: rename it")
            names[name] = value
        for module in self.modules:  # the constants that its functions name
            for name, value in own_names(module).items():
                if isinstance(value, int) and names.setdefault(name, value) != value:
                    raise ConfigError(f"{name} is {value} in the stable phase: rename it")

    def _typed(self) -> TypedProgram:
        if self.symmetry:
            why = self.goals_asymmetry()
            if why:
                raise Asymmetric(why)
        program = super()._typed()
        self.refuse_what_is_gone(program)
        return program

    def refuse_what_is_gone(self, program: TypedProgram) -> None:
        """Check that progress properties and environment steps read only what a state of the stable phase has.

        Raises:
            ConfigError: one reads what such a state does not have: the world's budgets, which are spent, or annotations
                of the previous step.
        """
        spent = {f"{name}_left": "which is spent from the stabilization time on" for name in BUDGETS}
        scratch = {f.name: "which is of a step, and no state has it" for f in self.scratch}
        text = self.model.protocol.text
        asked = [(goal.called, f"progress property {goal.name}", spent | scratch) for goal in self.phase.goals]
        for change in text.changes:
            for f in filter(None, (change.when, change.function)):
                asked.append((text.apart.get(f.__name__, f.__name__), f"environment step {change.name}", spent))
        for name, what, gone in asked:
            for field in sorted(program.reads.get(name, ())):
                if field in gone:
                    raise ConfigError(f"--live: {what} reads {field}, {gone[field]}")

    @property
    def scratch(self) -> Sequence[Field]:
        """The step annotations, which no stored state has."""
        return [f for f in self.layout.schema.fields if f.role is Role.SCRATCH]

    def goals_asymmetry(self) -> str:
        """Return where the source of the stable phase distinguishes processes; empty if it does not."""
        front = self.front_end()
        front.namespace = {**front.namespace, **self.live_names}
        for module in self.modules:
            ints = {k: v for k, v in own_names(module).items() if isinstance(v, int)}
            front.namespace = {**ints, **front.namespace}
        roots = [goal.called for goal in self.phase.goals]
        roots += ["stable_begins", "stable_lasts", "stable_gives_up", "stable_beats", "stable_waits", "stable_beat_due"]
        found = asymmetries(front, roots, Trusted(DECODERS, (), self.model.generated_files))
        return f"the protocol distinguishes processes: {from_here(found[0].sentence())}" if found else ""

    # --- single states ---------------------------------------------------------------------------

    def stable(self, data: bytes, p: Sequence[int] = ()) -> bytes:
        """Return a state with process i renamed to p[i], if that is given, as the stable phase begins in it."""
        to = self.state(b"")
        self.stable_from(self.state(data), to, self.tables([p or range(self.nodes)]))
        return ctypes.string_at(to, self.layout.size)

    def stable_steps(self, data: bytes, named: int) -> list[tuple[int, bytes]]:
        """Return the steps possible in a state of the stable phase, each with the state after it.

        Raises:
            ValueError: one of them meets an error.
        """
        size, total, out = self.layout.size, self.layout.total, self.steps_room.address
        n = self.stable_successors(self.state(data), named, out, self.model.most_steps, self._work)
        if n < 0:
            raise ValueError("a value would leave its range")
        raw = ctypes.string_at(out, n * (total + 8))
        pieces = (raw[at : at + total + 8] for at in range(0, len(raw), total + 8))
        return [(int.from_bytes(piece[:8], "little"), piece[8 : 8 + size]) for piece in pieces]

    @property
    def overtakes(self) -> bool:
        """Whether each message must eventually be received, and not only some of each channel."""
        return any(f.each for f in IN_WORLDS[self.model.world.name].fair)

    def node_state(self, g: graph.Graph, data: Block, v: int) -> bytes:
        """Return the state of a node.

        Args:
            data: the packed states of the graph.
        """
        to = self.state(b"")
        self.unpack_node(data.address, g.at[v], to)
        return bytes(to[: self.layout.size])

    def waiting(self, data: bytes, named: int) -> int:
        """Return the progress properties that wait in a state, a bit for each and its process."""
        return int(self.waits_in(self.state(data), named))
