"""Where generated text stands: what a function is, and which names it may use there."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from tests.second.generator.kinds import Cell, Function, Kind, Mail, Number, Record, Row

# What a function is. A guard looks at one process, an observation writes ghosts, a claim reads everything.
HANDLER, GUARD, PURE = "handler", "guard", "pure"
SURROUNDINGS, EVERYWHERE, START = "surroundings", "everywhere", "start"
OBSERVATION, CLAIM, HISTORY = "observation", "claim", "history"


@dataclass
class Names:
    """What has a value at some place of a function."""

    numbers: dict[str, tuple[int, int]] = field(default_factory=dict)  # locals and parameters, with their ranges
    fixed: set[str] = field(default_factory=set)  # of them those that no statement may assign
    flags: dict[str, bool] = field(default_factory=dict)  # whether it may be assigned
    processes: list[str] = field(default_factory=list)  # each holds a process, never nobody
    perhaps: list[str] = field(default_factory=list)  # a process or nobody
    records: dict[str, Record] = field(default_factory=dict)
    rows: dict[str, Row] = field(default_factory=dict)
    mail: dict[str, Mail] = field(default_factory=dict)

    def copy(self) -> Names:
        return Names(
            dict(self.numbers), set(self.fixed), dict(self.flags), list(self.processes), list(self.perhaps),
            dict(self.records), dict(self.rows), dict(self.mail),
        )  # fmt: skip


@dataclass
class Vocabulary:
    """What a protocol declares."""

    cells: list[Cell] = field(default_factory=list)
    mails: list[Mail] = field(default_factory=list)
    records: list[Record] = field(default_factory=list)
    rows: list[Row] = field(default_factory=list)
    helpers: list[Function] = field(default_factory=list)  # that only look
    doers: list[Function] = field(default_factory=list)  # that write
    pures: list[Function] = field(default_factory=list)  # without a state
    judges: list[Function] = field(default_factory=list)  # what properties call
    observations: list[Function] = field(default_factory=list)
    budgets: dict[str, int] = field(default_factory=dict)
    constants: dict[str, int] = field(default_factory=dict)
    world: str = "datagrams"
    disks: bool = False
    symmetric: bool = True
    errors: bool = False  # values may leave their ranges
    sets: float = 0.0  # how often a statement begins with a set of processes


@dataclass
class Scope:
    """Where text stands.

    Attributes:
        what: what the function is.
        state: the name of its state; `states`: of a property of steps, those before and after.
        own: the process it acts for; empty: none.
        names: what has a value here.
        loops: how many loops around.
        choices: how many alternatives of a step are left to choose from.
    """

    what: str
    state: str = "s"
    own: str = ""
    names: Names = field(default_factory=Names)
    loops: int = 0
    may_send: tuple[Mail, ...] = ()
    may_choose: bool = False
    counter: list[int] = field(default_factory=lambda: [0])

    def fresh(self, stem: str) -> str:
        self.counter[0] += 1
        return f"{stem}{self.counter[0]}"

    @contextmanager
    def block(self, loop: bool = False) -> Iterator[None]:
        """A block of statements: what is first assigned in it has no value after it."""
        kept, self.names = self.names, self.names.copy()
        self.loops += loop
        try:
            yield
        finally:
            self.loops -= loop
            self.names = kept

    def over(self, state: str) -> Scope:
        """The same with another state's fields."""
        return replace(self, state=state)

    def reads(self, cell: Cell) -> bool:
        """Whether it may read a field."""
        if self.what in (HANDLER, GUARD):
            return cell.role in ("environment", "shared") or (cell.of_process and bool(self.own))
        if self.what in (SURROUNDINGS, EVERYWHERE):
            return cell.role != "ghost"
        if self.what == OBSERVATION:
            return cell.role == "ghost"
        if self.what == HISTORY:
            return cell.role == "ghost"
        return self.what in (CLAIM, START)

    def writes(self, cell: Cell) -> bool:
        """Whether it may write a field."""
        if self.what == HANDLER:
            return cell.of_process or cell.role == "shared"
        if self.what == SURROUNDINGS:
            return cell.role in ("environment", "shared")
        if self.what == EVERYWHERE:
            return cell.role != "ghost" and cell.role != "on_disk"
        if self.what == START:
            return True
        return self.what == OBSERVATION and cell.role == "ghost"

    def bind(self, name: str, kind: Kind) -> None:
        """A parameter."""
        if isinstance(kind, Number):
            self.names.numbers[name] = kind.low, kind.high
            self.names.fixed.add(name)
        elif isinstance(kind, Record):
            self.names.records[name] = kind
        elif isinstance(kind, Row):
            self.names.rows[name] = kind
        elif kind.annotated == "bool":  # type: ignore[union-attr]
            self.names.flags[name] = False
        else:
            self.names.perhaps.append(name)
