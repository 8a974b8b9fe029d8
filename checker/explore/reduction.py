"""Derive from a model's source which steps commute, and compile a model to explore with sleep sets.

docs/explanation/reductions.md has the argument. A step is of a class: its case (kind, message received, whether its
process follows itself) and its processes. For each two cases a word has, for each way in which their four processes may
coincide, whether what they touch collides (`relation`). Nothing here knows a protocol; which of the world's own
functions commute is declared beside them (`Conventions.commute`).
"""

from __future__ import annotations

import ctypes
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from types import ModuleType
from typing import Any

from checker.explore import kernel, sleep_kernel
from checker.explore.compiled import EXPORTS, Compiled
from invariants.registry import STEP
from zabspec.language.analysis import tree as t
from zabspec.language.analysis.footprints import ANYTHING, Case, Touch, footprints
from zabspec.language.analysis.locality import StepLocality
from zabspec.language.layout.conventions import Conventions
from zabspec.language.layout.kinds import Seq
from zabspec.language.layout.schema import Layout

I64, PTR = ctypes.c_int64, ctypes.c_void_p
NEVER = 0xFFFF  # of two cases whose steps are never independent
MOST_CASES = 64
NOBODY = 255  # in a class: there is no such process

# The ways in which a process of one step may be one of the other's: bits of a number.
SAME: Mapping[tuple[str, str], int] = {("a", "a"): 1, ("a", "b"): 2, ("b", "a"): 4, ("b", "b"): 8}


Pairs = Collection[frozenset[str]]  # of labels; of one with itself, that label alone


def pairs_of(pairs: Iterable[tuple[str, str]]) -> Pairs:
    """Return pairs of labels, in either order."""
    return frozenset(frozenset(pair) for pair in pairs)


def collisions(one: Iterable[Touch], other: Iterable[Touch], commute: Pairs, apart: Pairs = frozenset()) -> int:
    """Return for each way in which the processes of two steps may coincide a bit: whether what they touch collides.

    Bit k of the number stands for the coincidences whose bits (`SAME`) are those of k.

    Args:
        commute: the pairs of labels that do not collide.
        apart: those that do not if two processes take the steps.
    """
    needed: set[int] = set()  # the coincidences without which a pair of touches is apart
    by_field: dict[str, list[Touch]] = {}
    for y in other:
        by_field.setdefault(y.field, []).append(y)
    for x in one:
        if x.field == ANYTHING or ANYTHING in by_field:
            return NEVER
        for y in by_field.get(x.field, ()):
            labels = frozenset((x.label, y.label)) if x.label and y.label else frozenset()
            if not (x.writes or y.writes) or (labels and labels in commute):
                continue
            pairs = {(p, q) for p, q in zip(x.keys, y.keys, strict=True) if p is not None and q is not None}
            if labels and labels in apart:
                pairs.add(("a", "a"))
            needed.add(sum(SAME[pair] for pair in pairs))
    return sum(1 << k for k in range(16) if any(k & bits == bits for bits in needed))


def relation(
    cases: Mapping[Case, frozenset[Touch]], commute: Iterable[tuple[str, str]], apart: Iterable[tuple[str, str]] = ()
) -> list[int]:
    """Return the word of each two cases, row by row in their order; beyond the last case they are never independent."""
    pairs, of_two = pairs_of(commute), pairs_of(apart)
    touched = list(cases.values())
    found: dict[tuple[frozenset[Touch], frozenset[Touch]], int] = {}
    for x in touched:
        for y in touched:
            if (x, y) not in found:
                found[x, y] = collisions(x, y, pairs, of_two)
    beyond = MOST_CASES - len(touched)
    rows = [[*(found[x, y] for y in touched), *[NEVER] * beyond] for x in touched]
    return [word for row in [*rows, *[[NEVER] * MOST_CASES] * beyond] for word in row]


def class_text(layout: Layout, cases: Sequence[Case], world: Conventions) -> str:
    """Return the kernel source of `class_of_step`: the class of a step that is possible in a state."""
    n = layout.schema.nodes
    at, (stride,) = layout.strides(layout.fields[world.follows])
    lines = [
        "def class_of_step(s: State, word: int) -> int:",
        "    held = as_bytes(s)",
        "    kind = (word >> 24) & 255",
        "    a = (word >> 16) & 255",
        "    b = (word >> 8) & 255",
        f"    case = {len(cases)}",
        "    named = 7",
        f"    if a >= {n} or (word & 255) != 0:",
        "        return case",
        f"    leader = held[{at} + a * {stride}]",
        "    own = 1 if leader == a + 1 else 0",
    ]
    for kind in dict.fromkeys(c.kind for c in cases):
        lines.append(f"    if kind == {kind}:")
        if kind in world.paired:
            lines += [f"        if b >= {n}:", f"            return {len(cases)}", "        named = b"]
        else:
            lines += ["        b = leader - 1", "        if leader == 0:", f"            b = {NOBODY}"]
        if kind in world.received:
            name, order = world.channels[kind]
            first, strides = layout.strides(layout.fields[name])
            held = layout.fields[name].kind
            assert isinstance(held, Seq)
            place = " + ".join(f"{by} * {step}" for by, step in zip(order, strides, strict=True))
            lines.append(f"        tag = held[{first + held.header} + {place}]")
            lines += [
                f"        if tag == {c.tag}:\n            case = {k} + own"
                for k, c in enumerate(cases)
                if c.kind == kind and not c.own
            ]
        else:
            lines.append(f"        case = {next(k for k, c in enumerate(cases) if c.kind == kind)} + own")
    lines.append("    return case | (a << 8) | (b << 16) | (((kind << 6) | (a << 3) | named) << 32)")
    return "\n".join(lines)


def sees_text(judging: Sequence[str]) -> str:
    """Return the kernel source of `sees_step`: whether some step property reads beyond the process that takes the step.

    The bodies here are placeholders, which are replaced by what follows from each property's source
    (`zabspec/language/analysis/locality.py`).
    """
    parts = [f"_looks_{k}(before, after, after)" for k in range(len(judging))]
    text = [f"def sees_step(before: State, after: State) -> bool:\n    return {' or '.join(parts) or 'False'}"]
    head = "(before: State, event: State, after: State) -> bool:\n    return True"
    return "\n\n\n".join([*(f"def _looks_{k}{head}" for k in range(len(judging))), *text])


class Reducing(Compiled):
    """A model in machine code that explores with sleep sets."""

    also_modules: tuple[ModuleType, ...] = (sleep_kernel,)
    exports: Mapping[str, tuple[Any, ...]] = {
        **{name: of for name, of in EXPORTS.items() if name != "insert"},
        "claim_states": (I64, PTR, I64, I64, PTR, I64, PTR),
        "begin_gathering": (None, PTR, I64, PTR, PTR),
        "gather_states": (I64, PTR, I64, PTR, PTR, I64, I64, PTR, PTR, PTR, I64),
        "class_of_step": (I64, PTR, I64),
        "visible_step": (I64, PTR, PTR),
    }  # fmt: skip

    claim_states: Any
    begin_gathering: Any
    gather_states: Any
    class_of_step: Any
    visible_step: Any

    @cached_property
    def conventions(self) -> Conventions:
        found = self.model.world.conventions(self.model.configuration, self.model.union)
        assert found is not None
        return found

    @cached_property
    def stepping(self) -> t.TypedProgram:
        """The typed functions that list and take steps."""
        return self.model.program.typed(("enabled", "apply"))

    @cached_property
    def cases(self) -> dict[Case, frozenset[Touch]]:
        """What steps touch, by case."""
        return footprints(self.stepping, self.layout, self.conventions)

    @property
    def classed(self) -> dict[Case, frozenset[Touch]]:
        """The cases that have classes, as many as there is room for: both cases of a kind and message, or none."""
        return dict([*self.cases.items()][: MOST_CASES - 2])

    def also_text(self) -> str:
        return "\n\n\n".join(
            (
                class_text(self.layout, list(self.classed), self.conventions),
                f"def steps_commute(s: State) -> bool:\n    return {self.conventions.where}(s)",
                sees_text(self.judging),
            )
        )

    @cached_property
    def judging(self) -> list[str]:
        """The names of functions that judge steps, except those that a step violates as early as possible."""
        judged = (p for p in self.properties if p.of == STEP and not p.sooner)
        return [f.__name__ for p in judged for f in (p.holds, p.witness)]

    def _typed(self) -> t.TypedProgram:
        typed = super()._typed()
        self.own: set[Touch] = set()
        for k, name in enumerate(self.judging):
            looks = StepLocality(typed, self.layout, self.conventions)
            made = looks.of_function(typed.functions[name])
            typed.functions[f"_looks_{k}"] = replace(made, name=f"_looks_{k}")
            self.own |= looks.own
        return typed

    def also_key(self) -> tuple[object, ...]:
        return ("sleep sets", self.conventions)

    def also_facts(self, typed: t.TypedProgram) -> dict[str, Any]:
        cases = {case: touched | self.own for case, touched in self.classed.items()}
        return {"relation": relation(cases, self.conventions.commute, self.conventions.commute_apart)}

    @cached_property
    def numbers(self) -> dict[str, int]:
        n = dict(super().numbers)
        most = self.model.most_steps
        n["MOST_STEPS"] = most
        n["SLEEP_AT"] = n["IMAGE_AT"] + kernel.RING * n["TOTAL"]
        n["NOTED_AT"] = n["SLEEP_AT"] + 8 * (most + 2)
        n["HEADS_AT"] = n["NOTED_AT"] + 8 * 3 * kernel.RING
        n["RELATION_AT"] = n["HEADS_AT"] + 8 * kernel.GROUPS
        n["CASES"] = MOST_CASES
        n["PACKED_LIMIT"] += sleep_kernel.SLEEPER_BYTES
        n["MARGIN"] = (most + kernel.RING) * (self.header + n["PACKED_LIMIT"])
        return n

    @property
    def work(self) -> int:
        return self.numbers["RELATION_AT"] + 2 * MOST_CASES**2
