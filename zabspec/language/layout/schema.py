"""Define the schema: the state of a system, declared once.

From the declaration follow the layout in memory (here), hashing, packing and permuting
(`derive.py`), the values a person reads (`reference.py`) and the fields of every trace.

Layout. Fields are grouped by the axes they are declared over:

    history   ghost fields of the observed history, contiguous, so that a step which observes
              nothing is recognised by one comparison
    plain     all other fields without a process axis
    node      one block per process
    pair      one block per ordered pair of processes
    scratch   what a step reports about itself; not part of the state, never hashed

Every block is padded with zeros to whole 64-bit words; a word of padding is never written.
"""

from __future__ import annotations

import bisect
import itertools
import math
import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum

from zabspec.language.layout.kinds import Kind
from zabspec.quorums import QuorumSystem
from zabspec.roles import Roles

NODE = "node"


class Role(Enum):
    """The kind of a field, which decides who may touch it."""

    PERSISTENT = "persistent"  # of a process, survives a crash (DSN'11 Table 1)
    VOLATILE = "volatile"  # of a process, lost in a crash
    GHOST = "ghost"  # bookkeeping of the checker; no handler may read it
    NETWORK = "network"  # what is in flight, and what connections there are
    BUDGET = "budget"  # what faults and requests are left
    SHARED = "shared"  # the actions of all processes read and write it
    ENVIRONMENT = "environment"  # what is around the processes: any may read it, steps of the environment write it
    SCRATCH = "scratch"  # what the last step says about itself; not part of the state


@dataclass(frozen=True)
class Field:
    """One field of the state, over zero or more axes (`node` or a number of entries)."""

    name: str
    kind: Kind
    role: Role
    axes: tuple[str | int, ...] = ()
    doc: str = ""
    observed: bool = False  # it belongs to the observed history
    disk: bool = False  # persistent, and on a disk: power loss keeps what is forced (`zabspec/worlds/storage.py`)
    reading: str = ""  # how a person reads one of its entries, as `epoch {} served`; empty: by its name
    of: str = ""  # the role whose processes have it, the others keeping the low end for ever; empty if all have it
    timer: bool = False  # it says whether a timer is armed
    lasts: int = 0  # of a lease: for how many ticks it is given at most; 0: it is none
    lasts_widen: str = ""  # the flag that widens that
    clock: bool = False  # a clock, which each tick makes smaller, down to 0 (`zabspec/authoring/clocks.py`)
    ends: str = ""  # for the clock of a lease, the field that is reset to its low end when it reaches 0
    keys: tuple[str, ...] = ()  # for each further axis the role whose processes are its keys; empty for any

    @property
    def node_axes(self) -> int:
        """Return the number of leading axes of processes, by which its blocks are repeated; 0 for annotations."""
        count = 0
        if self.role is Role.SCRATCH:
            return count
        for axis in self.axes:
            if axis != NODE:
                break
            count += 1
        return count


@dataclass(frozen=True)
class Block:
    """A run of fields with one layout, repeated `count` times every `stride` bytes."""

    name: str
    offset: int
    stride: int
    count: int


@dataclass(frozen=True)
class Schema:
    """The fields of a state and the constants its protocol text refers to as `s.NAME`."""

    nodes: int
    fields: tuple[Field, ...]
    constants: Mapping[str, int] = field(hash=False)
    quorums: QuorumSystem | None = None  # which sets of processes are quorums; None: majorities
    roles: Roles | None = None  # which processes are of which role; None: all are alike

    @property
    def renamings(self) -> tuple[tuple[int, ...], ...]:
        """Return the renamings of processes, i to p[i], that keep its quorums and roles; the first is the identity."""
        if self.roles:
            return self.roles.renamings
        return self.quorums.renamings if self.quorums else tuple(itertools.permutations(range(self.nodes)))

    @property
    def group(self) -> tuple[tuple[int, ...], ...]:
        """Return the renamings that keep its quorums; empty if all that keep the roles do."""
        kept = self.quorums.renamings if self.quorums else ()
        return kept if len(kept) < math.factorial(self.nodes) else ()

    @property
    def cells(self) -> list[range]:
        """Return the processes of each role; without a `group`, any renaming within them is one of `renamings`."""
        return [role.members for role in self.roles] if self.roles else [range(self.nodes)]

    @property
    def renames(self) -> bool:
        """Return whether there is another renaming than the one that changes nothing."""
        return len(self.group) > 1 if self.group else any(len(cell) > 1 for cell in self.cells)

    def some_renaming(self, source: random.Random) -> tuple[int, ...]:
        """Return a renaming, at random, that changes something."""
        p = same = tuple(range(self.nodes))
        while p == same:
            p = source.choice(self.group or [tuple(p for cell in self.cells for p in source.sample(cell, len(cell)))])
        return p

    def to_first(self, p: int) -> tuple[int, ...]:
        """Return the renaming that maps a process to the first that any maps it to: the identity if that is itself."""
        if self.group:
            return min(self.group, key=lambda renaming: (renaming[p], renaming))
        first = next(cell.start for cell in self.cells if p in cell)
        return tuple({p: first, first: p}.get(k, k) for k in range(self.nodes))

    def __post_init__(self) -> None:
        if self.quorums and self.roles:
            raise ValueError("a schema has a quorum system or roles: a renaming would have to keep both")
        if self.roles and self.roles.nodes != self.nodes:
            raise ValueError(f"roles of {self.roles.nodes} processes, of which the schema has {self.nodes}")
        if self.quorums and self.quorums.nodes != self.nodes:
            raise ValueError(f"quorums of {self.quorums.nodes} processes, of which the schema has {self.nodes}")
        seen: set[str] = set()
        for f in self.fields:
            if f.name in seen or f.name in self.constants:
                raise ValueError(f"the schema declares {f.name!r} twice")
            if f.role is Role.SCRATCH and f.node_axes:
                raise ValueError(f"{f.name!r} is a step annotation, which is not laid out by process")
            if f.node_axes > (1 if f.observed else 2):  # the blocks of a layout are repeated by no more
                raise ValueError(f"{f.name!r} has {f.node_axes} axes of processes, and is laid out by fewer")
            seen.add(f.name)


BLOCKS = ("history", "history-node", "plain", "node", "pair", "scratch")


class Layout:
    """Where every element of every field lies, in bytes from the start of a state."""

    def __init__(self, schema: Schema) -> None:
        self.schema = schema
        self.fields: dict[str, Field] = {f.name: f for f in schema.fields}
        self.blocks: dict[str, Block] = {}
        self.inner: dict[str, int] = {}  # offset of a field inside its block
        n = schema.nodes
        self._sizes = {f.name: tuple(n if a == NODE else int(a) for a in f.axes) for f in schema.fields}
        self._inner_axes = {f.name: self._sizes[f.name][f.node_axes :] for f in schema.fields}
        self._plain_counts = {name: math.prod(axes) for name, axes in self._inner_axes.items()}
        counts = {"history-node": n, "node": n, "pair": n * n}
        at = 0
        for name in BLOCKS:
            size = 0
            for f in schema.fields:
                if self.block_name(f) == name:
                    self.inner[f.name] = size
                    size += self.plain_count(f) * f.kind.size
            stride = (size + 7) // 8 * 8
            count = counts.get(name, 1)
            self.blocks[name] = Block(name, at, stride, count)
            at += stride * count
        self._strides = {f.name: self._strides_of(f) for f in schema.fields}
        # of each field: itself, the offset of its first element, the sizes of its axes, the bytes each index moves by
        self.places = {
            f.name: (f, self._strides[f.name][0], self._sizes[f.name], self._strides[f.name][1]) for f in schema.fields
        }
        self._elements: dict[str, tuple[tuple[tuple[int, ...], int], ...]] = {}
        firsts = ((self._strides[f.name][0], self.plain_count(f) * f.kind.size, f.name) for f in schema.fields)
        self._firsts = sorted((start, start + size, name) for start, size, name in firsts if size)
        self.total = at
        self.size = self.blocks["scratch"].offset  # the bytes that are the state
        self.history_size = self.blocks["plain"].offset

    @staticmethod
    def block_name(f: Field) -> str:
        if f.role is Role.SCRATCH:
            return "scratch"
        if f.observed:
            return "history-node" if f.node_axes else "history"
        return ("plain", "node", "pair")[f.node_axes]

    def inner_axes(self, f: Field) -> tuple[int, ...]:
        """Return the sizes of the axes after the leading process axes."""
        return self._inner_axes[f.name]

    def plain_count(self, f: Field) -> int:
        return self._plain_counts[f.name]

    def of_process(self, f: Field) -> tuple[int, tuple[int, ...], int]:
        """Return where a field of each process, or of each pair, lies.

        Returns:
            The stride between processes, the offsets of the first process's pieces, and the size of each piece; all in
            bytes.
        """
        base, strides = self.strides(f)
        others = range(self.schema.nodes) if f.node_axes == 2 else range(1)
        pieces = tuple(base + other * strides[1] if other else base for other in others)
        return strides[0], pieces, self.plain_count(f) * f.kind.size

    def axis_sizes(self, f: Field) -> tuple[int, ...]:
        return self._sizes[f.name]

    def field_at(self, offset: int) -> str:
        """Return the field whose first element is at, or contains, an offset; empty if there is none."""
        k = bisect.bisect_right(self._firsts, offset, key=lambda found: found[0]) - 1
        return self._firsts[k][2] if k >= 0 and offset < self._firsts[k][1] else ""

    def strides(self, f: Field) -> tuple[int, tuple[int, ...]]:
        """Return the offset of element (0, 0, ...) and the stride of each index, in bytes."""
        return self._strides[f.name]

    def _strides_of(self, f: Field) -> tuple[int, tuple[int, ...]]:
        block = self.blocks[self.block_name(f)]
        out: list[int] = []
        step = f.kind.size
        for a in reversed(self.inner_axes(f)):
            out.insert(0, step)
            step *= a
        if f.node_axes == 2:
            out[:0] = [block.stride * self.schema.nodes, block.stride]
        elif f.node_axes == 1:
            out[:0] = [block.stride]
        return block.offset + self.inner[f.name], tuple(out)

    def offset(self, name: str, *index: int) -> int:
        """Return the offset of one element from the start of the state, in bytes."""
        base, strides = self.strides(self.fields[name])
        return base + sum(i * k for i, k in zip(index, strides, strict=True))

    def elements(self, name: str) -> Iterator[tuple[tuple[int, ...], int]]:
        """Yield every index of a field with its offset, in order."""
        found = self._elements.get(name)
        if found is None:
            places = itertools.product(*map(range, self._sizes[name]))
            found = self._elements[name] = tuple((index, self.offset(name, *index)) for index in places)
        return iter(found)
