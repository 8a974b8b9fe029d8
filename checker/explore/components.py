"""How a state is cut into components, and of each case of step which of them it reads and writes: from the derived
footprints (`zabspec/language/footprints.py`), for any text that they can follow.

A component is some fields of one process, of one ordered pair of processes, or of none. Which fields lie together
follows from who reads them: what is read by the same steps costs one key. How they are cut decides how often something
is found again, never what is found.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from zabspec.language import tree as t
from zabspec.language.derive import used_bits
from zabspec.language.footprints import ANYTHING, Case, Conventions, Names, Reach, Symbol, Touch, Value, Walk
from zabspec.language.kinds import Seq
from zabspec.language.schema import Field, Layout, Role

__all__ = ["MOST_COMPONENTS", "Component", "Cut", "NotCut", "appended_to", "cut_of", "listed_of", "name_groups"]

MOST_COMPONENTS = 64  # a set of them is a word
FEW_BITS = 4  # fields of a process that hold no more lie together
ALIKE = 0.6  # of what reads either of two fields of a process, so much must read both for them to lie together


class NotCut(ValueError):
    """A state is not cut into components: one sentence says why."""


@dataclass(frozen=True)
class Component:
    """Some fields of one process, of a pair, or of none.

    Attributes:
        group: the number of the fields among all groups of fields.
        processes: none, one, or two.
        runs: where its bytes lie in a state: offset and size.
    """

    group: int
    processes: tuple[int, ...]
    runs: tuple[tuple[int, int], ...]

    @property
    def size(self) -> int:
        return sum(size for _, size in self.runs)


def listed_of(program: t.TypedProgram, layout: Layout, world: Conventions) -> dict[int, set[Touch]]:
    """Of each kind of step, what the tests read that lie on the way to where it is listed."""
    walk = Walk(program, layout, world, None)
    walk.run("enabled")
    anything = {Touch(ANYTHING, (), True)} if walk.trouble else set()
    return {kind: {*listed.touches, *anything} for kind, listed in walk.listed.items()}


def name_groups(
    layout: Layout, cases: Mapping[Case, frozenset[Touch]], listed: Iterable[Touch], judged: Sequence[Collection[str]]
) -> tuple[tuple[str, ...], ...]:
    """The fields that lie together, by names, each once.

    Args:
        cases: what steps touch; `listed`: what the listing of steps reads.
        judged: the fields that each property of states reads.
    """
    listing = {touch.field for touch in listed}
    readers: dict[str, set[object]] = {}
    writers: dict[str, set[object]] = {}
    shared: dict[str, set[object]] = {}
    for number, touched in enumerate(cases.values()):
        for touch in touched:
            (writers if touch.writes else readers).setdefault(touch.field, set()).add(number // 2)
            if touch.keys and touch.keys[0] != "a":
                shared.setdefault(touch.field, set()).add((number // 2, touch.keys, touch.writes))
    groups: list[list[str]] = []
    of_group: list[tuple[object, ...]] = []
    for f in layout.schema.fields:
        if f.role is Role.SCRATCH:
            continue
        reads = frozenset(readers.get(f.name, ()))
        written = frozenset(writers.get(f.name, ()))
        kind = (Layout.block_name(f), f.node_axes)
        seen = tuple(k for k, names in enumerate(judged) if f.name in names)
        if f.node_axes == 1:
            alone = frozenset(shared.get(f.name, ()))
            mark: tuple[object, ...] = (*kind, f.kind.size > 8, alone, seen)
        elif f.node_axes:
            mark = (*kind, f.kind.size > 8)
            reads = frozenset()
        else:
            mark = (*kind, written, f.name in listing)
            reads = frozenset()
        for k, (other, others) in enumerate(of_group):
            assert isinstance(others, frozenset)
            least = ALIKE * max(1, min(len(reads), len(others)))
            if other == mark and (reads == others or len(reads & others) >= least):
                groups[k].append(f.name)
                of_group[k] = (mark, reads | others)
                break
        else:
            groups.append([f.name])
            of_group.append((mark, reads))
    return joined(layout, groups, of_group)


def joined(
    layout: Layout, groups: Sequence[Sequence[str]], of_group: Sequence[tuple[object, ...]]
) -> tuple[tuple[str, ...], ...]:
    """The same groups, but that those of a process which hold next to nothing lie together."""
    found: list[tuple[tuple[str, ...], object, int]] = []
    for names, (mark, _) in zip(groups, of_group, strict=True):
        fields = [layout.fields[name] for name in names]
        bits = sum(layout.plain_count(f) * sum(used_bits(f.kind)) for f in fields)
        assert isinstance(mark, tuple)
        alone = fields[0].node_axes == 1 and not mark[3]
        where = (Layout.block_name(fields[0]), alone)
        for k, (others, there, held) in enumerate(found):
            if alone and there == where and held + bits <= FEW_BITS:
                found[k] = (*others, *names), where, held + bits
                break
        else:
            found.append((tuple(names), where, bits))
    return tuple(names for names, _, _ in found)


class Appends(Walk):
    """A walk that also notes which fields are written otherwise than by appending to them."""

    def __init__(self, program: t.TypedProgram, layout: Layout, world: Conventions, case: Case | None) -> None:
        super().__init__(program, layout, world, case)
        self.appending = False
        self.otherwise: set[str] = set()

    def statement(self, s: t.Stmt, names: Names) -> bool:
        if not isinstance(s, t.Append):
            return super().statement(s, names)
        self.of(s.value, names)
        self.appending = True
        self.reach(s.place, names, True)
        self.appending = False
        return False

    def touch(self, name: str, keys: tuple[Symbol | None, ...], writes: bool, value: Value = None) -> Reach:
        if not (writes and self.appending):
            self.otherwise.add(name)
        return super().touch(name, keys, writes, value)


def appended_to(
    program: t.TypedProgram, layout: Layout, world: Conventions, cases: Mapping[Case, frozenset[Touch]]
) -> dict[Case, set[str]]:
    """Of each case of step the sequences with which nothing is done but that something is appended to them. What it
    does is then told from the step alone, whatever they hold."""
    found = {}
    for case, touched in cases.items():
        walk = Appends(program, layout, world, case)
        walk.run("apply")
        names = {x.field for x in touched if isinstance(layout.fields[x.field].kind, Seq)}
        read = {x.field for x in touched if not x.writes}
        found[case] = (
            set() if walk.trouble else {name for name in names - read - walk.otherwise if layout.fields[name].node_axes}
        )
    return found


@dataclass(frozen=True)
class Cut:
    """The components of a state.

    Attributes:
        groups: fields by names.
        components: in the order of a vector.
    """

    groups: tuple[tuple[str, ...], ...]
    components: tuple[Component, ...]

    def places(self, layout: Layout, touch: Touch, a: int | None = None, b: int | None = None) -> set[int]:
        """The components that a touch may be of.

        Args:
            a, b: the processes of the step; None: any.
        """
        f = layout.fields[touch.field]
        group = next(k for k, names in enumerate(self.groups) if f.name in names)
        keys = touch.keys[: f.node_axes]
        asked = tuple({"a": a, "b": b}.get(key) if key is not None else None for key in keys)
        return {
            k
            for k, c in enumerate(self.components)
            if c.group == group and all(q is None or p == q for p, q in zip(c.processes, asked, strict=True))
        }

    def places_of(self, layout: Layout, name: str) -> set[int]:
        """The components that hold a field, of any process."""
        f = layout.fields[name]
        return set() if f.role is Role.SCRATCH else self.places(layout, Touch(name, (None,) * f.node_axes, False))

    def renamed(self, permutation: Sequence[int]) -> list[int]:
        """Of each component, which one it is under a renaming of processes."""
        at = {(c.group, c.processes): k for k, c in enumerate(self.components)}
        return [at[c.group, tuple(permutation[p] for p in c.processes)] for c in self.components]


def runs_of(layout: Layout, fields: Sequence[Field], processes: tuple[int, ...]) -> tuple[tuple[int, int], ...]:
    """Where the bytes of some fields lie, of these processes; neighbours are joined."""
    runs: list[tuple[int, int]] = []
    for f in fields:
        base, strides = layout.strides(f)
        at = base + sum(p * stride for p, stride in zip(processes, strides, strict=False))
        size = layout.plain_count(f) * f.kind.size
        if runs and sum(runs[-1]) == at:
            runs[-1] = (runs[-1][0], runs[-1][1] + size)
        elif size:
            runs.append((at, size))
    return tuple(runs)


def cut_of(layout: Layout, groups: Sequence[Sequence[str]]) -> Cut:
    """The components that groups of fields make."""
    n = layout.schema.nodes
    found: list[Component] = []
    for k, names in enumerate(groups):
        fields = [layout.fields[name] for name in names]
        of: list[tuple[int, ...]] = [()]
        for _ in range(fields[0].node_axes):
            of = [(*processes, p) for processes in of for p in range(n)]
        found += [Component(k, processes, runs_of(layout, fields, processes)) for processes in of]
    return Cut(tuple(map(tuple, groups)), tuple(found))
