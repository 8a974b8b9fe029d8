"""The fields of a model, and the object `s` through which functions read and write them (L2, L3)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from enum import Enum
from typing import Any

from zabspec.second.kinds import Fault, Int, Kind, Record

NODE = "node"


class Role(Enum):
    """What a field is for (section 3.1)."""

    PERSISTENT = "persistent"
    VOLATILE = "volatile"
    GHOST = "ghost"
    NETWORK = "network"
    BUDGET = "budget"
    SHARED = "shared"
    ENVIRONMENT = "environment"
    SCRATCH = "scratch"


class Field:
    """One field of a model.

    Args:
        name, kind, role, doc: as declared.
        axes: `NODE` or a number for each axis.
        disk: whether a power loss may lose writes of it.
        group: the part of a plain state that has it (W1).
        key: its name there.
    """

    def __init__(self, name: str, kind: Kind, role: Role, axes: Any = (), doc: str = "", disk: bool = False) -> None:
        self.name, self.kind, self.role, self.axes, self.doc, self.disk = name, kind, role, axes, doc, disk
        self.clock_of: str | None = None  # of a clock, whose it is: a role's, or everybody's (T2); None: it is none
        self.ended_by: Field | None = None  # of a lease, its clock (T1)
        self.derived = False  # whether its axes are zabcheck's
        self.group, self.key = ("ghosts" if role is Role.GHOST else "fields"), name
        self.dims: tuple[int, ...] = ()
        self.stride = self.count = 1  # entries of one process; of all

    def placed(self, nodes: int) -> Field:
        """Return the field with the sizes of its axes in a model of `nodes` processes."""
        self.dims = tuple(nodes if axis == NODE else axis for axis in self.axes)
        for dim in self.dims:
            self.count *= dim
        self.stride = self.count // self.dims[0] if self.dims and self.count else self.count
        return self

    def plain(self, values: Any, dims: tuple[int, ...] | None = None) -> Any:
        """Return the field's values as JSON, nested by its axes (W2)."""
        dims = self.dims if dims is None else dims
        if not dims:
            return self.kind.plain(next(values))
        return [self.plain(values, dims[1:]) for _ in range(dims[0])]


def part(name: str, kind: Kind, role: Role, group: str, *axes: Any, key: str = "") -> Field:
    """Return a field of the world, which stands in `group` of plain states."""
    field = Field(name, kind, role, axes)
    field.group, field.key, field.derived = group, key or name, True
    return field


class Axis:
    """A field, or a part of one, that an index goes into."""

    __slots__ = ("cells", "children", "derived", "direct", "kind", "offset", "size", "wrote")

    def __init__(
        self, cells: list, offset: int, dims: tuple[int, ...], kind: Kind, wrote: Callable | None, derived: bool
    ) -> None:
        self.cells, self.offset, self.size, self.kind, self.wrote = cells, offset, dims[0], kind, wrote
        self.derived, self.direct, self.children = derived, isinstance(kind, Int | Record), None
        if len(dims) > 1:
            stride = 1
            for dim in dims[1:]:
                stride *= dim
            self.children = [Axis(cells, offset + k * stride, dims[1:], kind, wrote, derived) for k in range(self.size)]

    def __getitem__(self, k: int) -> Any:
        if not 0 <= k < self.size:
            raise Fault(f"index {k} of an axis of {self.size}", self.derived)
        if self.children is not None:
            return self.children[k]
        if self.direct:
            return self.cells[self.offset + k]
        return self.kind.view(self.cells, self.offset + k, self.wrote)

    def __setitem__(self, k: int, value: Any) -> None:
        if self.children is not None:
            raise TypeError("an axis cannot be assigned to")
        if not 0 <= k < self.size:
            raise Fault(f"index {k} of an axis of {self.size}", self.derived)
        self.cells[self.offset + k] = self.kind.store(value)
        if self.wrote:
            self.wrote(self.offset + k)


class Cells(list):
    """The values of a state, and how often one was written."""

    writes = 0

    def __setitem__(self, place: Any, value: Any) -> None:
        self.writes += not isinstance(place, slice)
        super().__setitem__(place, value)


class Layout:
    """The fields of one model, in the order in which a state has their values."""

    def __init__(self, fields: list[Field], nodes: int, constants: dict[str, int]) -> None:
        self.fields = [field.placed(nodes) for field in fields]
        self.by_name = {field.name: field for field in self.fields}
        self.offset: dict[str, int] = {}
        self.initial: list = []
        for field in self.fields:
            self.offset[field.name] = len(self.initial)
            self.initial += [field.kind.low] * field.count
        self.sorted = [
            (k, field.kind)
            for field in self.fields
            if getattr(field.kind, "bag", False)
            for k in range(self.offset[field.name], self.offset[field.name] + field.count)
        ]
        self.constants = constants

    def entries(self, field: Field, p: int) -> range:
        """Return the places in a state of what process p has of a field."""
        start = self.offset[field.name] + p * field.stride
        return range(start, start + field.stride)

    def snapshot(self, cells: list) -> tuple:
        """Return the state that `cells` hold. Two are equal iff the states are (M2)."""
        for k, kind in self.sorted:
            cells[k] = kind.same(cells[k])
        return tuple(cells)

    def plain(self, state: tuple) -> dict[str, dict[str, Any]]:
        """Return the plain state of `state` (W1)."""
        result: dict[str, dict[str, Any]] = {g: {} for g in ("fields", "network", "budgets", "ghosts", "disks")}
        for field in self.fields:
            start = self.offset[field.name]
            result[field.group][field.key] = field.plain(_values(state, start))
        return result

    def of_plain(self, plain: dict[str, dict[str, Any]]) -> tuple:
        """Return the state that `plain` writes; a field that it lacks has its initial values."""
        cells = list(self.initial)
        for field in self.fields:
            if field.key in plain[field.group]:
                values = [plain[field.group][field.key]]
                for _ in field.dims:
                    values = [value for row in values for value in row]
                start = self.offset[field.name]
                cells[start : start + field.count] = map(field.kind.of_plain, values)
        return self.snapshot(cells)

    def object(self, wrote: Callable | None = None) -> Any:
        """Make an object through which functions see a state; `__load__` gives it one.

        Args:
            wrote: called with the place of each write to a persistent field.
        """
        cells = Cells(self.initial)
        names: dict[str, Any] = dict(self.constants)
        attributes = {}
        for field in self.fields:
            observed = wrote if field.role is Role.PERSISTENT else None
            if field.dims:
                offset = self.offset[field.name]
                attributes[field.name] = Axis(cells, offset, field.dims, field.kind, observed, field.derived)
            else:
                names[field.name] = _single(field.kind, self.offset[field.name])
        made = type("S", (State,), names)()
        made.__cells__ = cells
        made.__dict__.update(attributes)
        return made


def _values(state: tuple, start: int) -> Iterator[Any]:
    while True:
        yield state[start]
        start += 1


def _single(kind: Kind, place: int) -> property:
    """Return the property that reads and writes a field without axes."""

    def read(s: State) -> Any:
        return kind.view(s.__cells__, place)

    def write(s: State, value: Any) -> None:
        s.__cells__[place] = kind.store(value)

    return property(read, write)


class State:
    """What the functions of a protocol call `s`; what is here besides its fields has a name that no field can have."""

    __cells__: list

    def __load__(self, state: tuple) -> None:
        """Show `state` from now on."""
        self.__cells__[:] = state
