"""Check that processes are a scalarset (Ip and Dill), and find where a protocol tells them apart.

Renaming processes changes nothing of what a protocol does if it only compares them for equality, with each other or
with NOBODY, indexes axes of processes, passes, stores and sends them, and puts them into sets of processes; and if no
loop over them has another result in another order (`loops.py`). Any other use is an asymmetry: the protocol is in the
language, and is reported, with file and line, to have no symmetry.

A value that is a process is known by its declaration: a parameter or result annotated `Node`, a part of kind `NodeId`,
a member of a set of processes. What a local name holds follows from its assignments and uses. The name of a loop over
all processes may be either, as it is used.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from zabspec.language.analysis import tree as t
from zabspec.language.analysis.liveness import live_in
from zabspec.language.layout.kinds import Kind, MessageUnion, NodeId, Seq, SetOf
from zabspec.language.layout.schema import NODE, Layout, Role, Schema

PROCESS, NUMBER = "process", "number"

# The kernel's operations that make numbers of numbers; all others read memory as it lies.
ON_NUMBERS = frozenset(
    {"mulhi", "shl", "shr", "wrap_mul", "wrap_add", "unsigned_less", "unsigned_rem", "count_bits", "extract", "deposit"}
)


@dataclass(frozen=True)
class Asymmetry:
    """A place where processes are told apart."""

    file: str
    line: int
    reason: str

    def sentence(self) -> str:
        """Return the message for a user."""
        return f"{self.reason} ({self.file}:{self.line})" if self.line else f"{self.reason} ({self.file})"


class Sort:
    """Whether a value is a process or a number; not known yet when `kind` is empty."""

    def __init__(self, kind: str = "") -> None:
        self.kind = kind
        self.same_as: Sort | None = None

    def found(self) -> Sort:
        sort = self
        while sort.same_as is not None:
            sort = sort.same_as
        return sort


@dataclass
class Loop:
    """A loop, the sort of its name, and whether it visits every process."""

    statement: t.For
    sort: Sort
    whole: bool


class Sorts:
    """The sorts of one function's values.

    Args:
        function: typed.
        program: the functions that it calls, typed.
        schema: which processes there are, and of which roles.
        refused: whether a function of that name may not be called from here; with the reason.
    """

    def __init__(
        self, function: t.Function, program: t.TypedProgram, schema: Schema, refused: Callable[[str], str]
    ) -> None:
        self.function, self.program, self.schema, self.refused = function, program, schema, refused
        # The range of a loop that visits all processes, or all of a role: every renaming maps it to itself.
        self.ranges = {(0, schema.nodes), *((r.first, r.end) for r in schema.roles or ())}
        self.line = function.line
        self.asymmetries: list[Asymmetry] = []
        self.names: dict[str, Sort] = {
            name: Sort(PROCESS if name in function.processes else NUMBER) for name, _ in function.params
        }
        self.inside: list[Loop] = []
        self.loops: list[Loop] = []
        self.bounds: list[tuple[Sort, int]] = []
        self.read_outside: dict[str, int] = {}  # names read where no loop gives them a value
        self.within: list[Sorts] | None = None  # of the comprehensions in it, while their sorts are inferred
        self.result = Sort(PROCESS if "return" in function.processes else NUMBER)

    def check(self) -> Sorts:
        """Check the function."""
        self.block(self.function.body)
        for bound, line in self.bounds:  # what a loop's name is may show only later
            if bound.found().kind == PROCESS:
                self.tell("a process is the bound of a loop", line)
        for loop in self.loops:
            self.conclude(loop)
        return self

    def infer(self) -> None:
        """Enter into the functions of comprehensions which of their parameters are processes, and the result."""
        self.within = []
        self.block(self.function.body)
        for part in self.within:
            f = part.function
            sorts = {**{name: part.names[name] for name, _ in f.params}, "return": part.result}
            f.processes = frozenset(name for name, sort in sorts.items() if sort.found().kind == PROCESS)

    @property
    def loops_over_processes(self) -> list[t.For]:
        """Return the loops of the function that go through processes."""
        return [loop.statement for loop in self.loops if loop.sort.found().kind == PROCESS]

    def tell(self, reason: str, line: int = 0) -> None:
        found = Asymmetry(self.function.file, line or self.line, reason)
        if found not in self.asymmetries:
            self.asymmetries.append(found)

    def conclude(self, loop: Loop) -> None:
        """Check a loop when the whole function has been read."""
        name, line = loop.statement.name, loop.statement.line
        left = name in live_in(self.function).after(loop.statement)
        if loop.sort.found().kind == PROCESS:
            if not loop.whole:
                self.tell(f"a loop over processes, of {name}, is not over range(s.NODES)", line)
            if left:
                self.tell(
                    f"{name}, the variable of a loop over processes, is used after the loop",
                    self.read_outside.get(name, line),
                )
        elif left:
            self.alike(self.name(name), Sort(NUMBER), f"{name} holds a process here and a number elsewhere")

    # --- values ------------------------------------------------------------------------------

    def want(self, value: t.Expr, kind: str, reason: str) -> None:
        """Require a value to be a process, or a number; otherwise report the reason."""
        sort = self.of(value).found()
        if not sort.kind:
            sort.kind = kind
        elif sort.kind != kind:
            self.tell(reason)

    def alike(self, a: Sort, b: Sort, reason: str) -> Sort:
        """Require two values to be of one sort."""
        a, b = a.found(), b.found()
        if a is not b:
            if a.kind and b.kind:
                if a.kind != b.kind:
                    self.tell(reason)
            elif a.kind:
                b.same_as = a
            else:
                a.same_as = b
        return a.found()

    def name(self, name: str) -> Sort:
        for loop in reversed(self.inside):
            if loop.statement.name == name:
                return loop.sort
        return self.names.setdefault(name, Sort())

    def of(self, e: t.Expr) -> Sort:
        """Return the sort of a value, checking everything in it."""
        match e:
            case t.Const():
                return Sort() if e.value == -1 and e.type == t.INT else Sort(NUMBER)
            case t.Var():
                if e.type != t.INT:
                    return Sort(NUMBER)
                if not any(loop.statement.name == e.name for loop in self.inside):
                    self.read_outside.setdefault(e.name, self.line)
                return self.name(e.name)
            case t.Load():
                self.place(e.place)
                return Sort(PROCESS if isinstance(e.place.kind, NodeId) else NUMBER)
            case t.Memory():
                self.place(e)
            case t.OneOfSet():
                self.of(e.members)
                self.want(e.which, NUMBER, "a process determines which member of a set is chosen")
                return Sort(PROCESS)
            case t.Choice():
                self.of(e.test)
                a, b = self.of(e.then), self.of(e.other)
                return self.alike(a, b, "a value is a process or a number, by a condition")
            case t.Call():
                return self.call(e)
            case t.Compare():
                self.compare(e)
            case t.RecordField(value=t.Expr(type=t.RecordType(record=record))):
                self.of(e.value)
                held = record.fields[e.name]
                return Sort(PROCESS if isinstance(held, NodeId) else NUMBER)
            case t.InRole():
                self.want(e.process, PROCESS, "the role of a number is used")
            case t.OneOfRole():
                self.of(e.right)  # what is chosen, and added to the first
                return Sort(PROCESS)
            case t.SetHas() | t.SetWith():
                self.of(e.value)
                assert isinstance(e.value.type, t.SetType)
                self.member(e.value.type.kind, e.item)
            case t.MakeRecord():
                for name, part, _ in e.parts:
                    self.keep(e.record.fields[name], part, f"{e.record.name}.{name}")
            case t.MakeMessage():
                for _, kind, part, _ in e.parts:
                    self.keep(kind, part, "an integer of a message")
            case t.Binary():
                for side in (e.left, e.right):
                    self.want(side, NUMBER, f"arithmetic ({e.op}) on a process")
            case t.Builtin():
                self.builtin(e)
            case t.SameSeq() | t.Logic() | t.Not() | t.SetSize() | t.IsQuorum() | t.SeqLength() | t.MessageKind():
                for part in t.inside(e):
                    self.of(part)
            case _:
                raise AssertionError(f"{type(e).__name__} has no sort")
        return Sort(NUMBER)

    def compare(self, e: t.Compare) -> None:
        if e.op not in ("==", "!="):
            for side in (e.left, e.right):
                self.want(side, NUMBER, f"processes are compared by their order ({e.op})")
            if isinstance(e.left.type, t.RecordType) and e.left.type.record.processes:
                self.tell(f"records with processes are compared by their order ({e.op})")
        else:
            a, b = self.of(e.left), self.of(e.right)
            other = e.right if isinstance(e.right, t.Const) else e.left
            what = f"the number {other.value}" if isinstance(other, t.Const) else "a number"
            self.alike(a, b, f"a process is compared with {what}")

    def builtin(self, e: t.Builtin) -> None:
        if e.op == "forget":
            self.want(e.args[1], PROCESS, "forget takes a process, not a number")
            return
        if e.op not in ("min", "max") and e.op not in ON_NUMBERS:
            self.tell(f"{e.op} reads raw memory, with processes as numbers")
        for argument in e.args:
            self.want(argument, NUMBER, f"{e.op} takes numbers, not processes")

    def call(self, e: t.Call) -> Sort:
        target = self.program.functions[e.function]
        if target.within and self.within is not None:
            part = Sorts(target, self.program, self.schema, self.refused)
            part.names = {name: self.of(value) for (name, _), value in zip(target.params, e.args, strict=True)}
            part.result, part.within = Sort("" if target.returns == t.INT else NUMBER), self.within
            self.within.append(part)
            part.block(target.body)
            return part.result
        why = self.refused(e.function)
        if why:
            self.tell(why)
        for (name, kind), value in zip(target.params, e.args, strict=True):
            if kind != t.INT:
                self.of(value)
            elif name in target.processes:
                self.want(value, PROCESS, f"a number is passed to {target.called} as the process {name}")
            else:
                self.want(value, NUMBER, f"a process is passed to {target.called} as the integer {name}")
        return Sort(PROCESS if "return" in target.processes else NUMBER)

    # --- places ------------------------------------------------------------------------------

    def place(self, place: t.Memory) -> None:
        if not isinstance(place.base, t.Var):
            self.of(place.base)
        for term in place.terms:
            if term.process:
                what = f"the number {term.index.value}" if isinstance(term.index, t.Const) else "a number"
                self.want(term.index, PROCESS, f"{what} stands for a process, as an index of {place.field}")
            else:
                self.want(term.index, NUMBER, f"a process is an index of {place.field}, where a number is expected")

    def keep(self, kind: Kind, value: t.Expr, where: str) -> None:
        """Check a value that is kept in a place of a kind."""
        if isinstance(kind, NodeId):
            self.want(value, PROCESS, f"a number is stored in {where}, which holds a process")
        elif value.type == t.INT:
            self.want(value, NUMBER, f"a process is stored in {where}, which holds a number")
        else:
            self.of(value)

    def member(self, kind: SetOf, item: t.Expr) -> None:
        if kind.nodes:
            self.want(item, PROCESS, "a number is used as a member of a set of processes")
        else:
            self.want(item, NUMBER, "a process is used as a member of a set of numbers")

    # --- statements --------------------------------------------------------------------------

    def block(self, body: list[t.Stmt]) -> None:
        for s in body:
            self.line = s.line
            self.statement(s)

    def statement(self, s: t.Stmt) -> None:
        match s:
            case t.Assign():
                sort = self.of(s.value)
                if s.value.type == t.INT:
                    self.alike(self.name(s.name), sort, f"{s.name} holds a process here and a number elsewhere")
                    self.check_not_of_loop(s.name)
            case t.Store():
                self.place(s.place)
                self.keep(s.place.kind, s.value, s.place.field)
            case t.Copy():
                self.place(s.place)
                self.of(s.value)
            case t.SetChange():
                self.place(s.place)
                assert isinstance(s.place.kind, SetOf)
                self.member(s.place.kind, s.item)
            case t.Clear():
                self.place(s.place)
            case t.Append():
                self.place(s.place)
                assert isinstance(s.place.kind, Seq)
                self.keep(s.place.kind.element, s.value, s.place.field)
            case t.Remove():
                self.place(s.place)
                self.want(s.index, NUMBER, f"a process is a place in {s.place.field}")
            case t.PutWord():
                self.tell("raw words are written, with processes as numbers")
            case t.Evaluate():
                self.of(s.value)
            case t.Return():
                self.give_back(s)
            case t.If():
                self.of(s.test)
                self.block(s.then)
                self.block(s.other)
            case t.While():
                self.of(s.test)
                self.block(s.body)
            case t.For():
                self.loop(s)

    def give_back(self, s: t.Return) -> None:
        if s.value is None:
            return
        if s.value.type != t.INT:
            self.of(s.value)
        elif not self.result.found().kind:
            self.alike(self.result, self.of(s.value), "")
        elif self.result.found().kind == PROCESS:
            self.want(s.value, PROCESS, f"{self.function.called} returns a number where a process is expected")
        else:
            self.want(s.value, NUMBER, f"{self.function.called} returns a process as an integer")

    def loop(self, s: t.For) -> None:
        self.bounds += [(self.of(bound), s.line) for bound in (s.start, s.stop)]
        self.check_not_of_loop(s.name)
        whole = (
            isinstance(s.start, t.Const)
            and isinstance(s.stop, t.Const)
            and (s.start.value, s.stop.value) in self.ranges
        )
        loop = Loop(s, Sort(), whole)
        self.loops.append(loop)
        self.inside.append(loop)
        self.block(s.body)
        self.inside.pop()

    def check_not_of_loop(self, name: str) -> None:
        """Check that the name of a loop over processes gets no other value inside it."""
        for loop in self.inside:
            if loop.statement.name == name:
                self.alike(
                    loop.sort, Sort(NUMBER), f"{name}, a loop variable over processes, is assigned another value"
                )


def in_layout(layout: Layout, union: MessageUnion | None) -> list[Asymmetry]:
    """Return where the schema holds processes that renaming does not reach."""
    found = []

    def tell(where: str, reason: str) -> None:
        found.append(Asymmetry(f"field {where}", 0, reason))

    nodes = layout.schema.nodes
    for f in layout.schema.fields:
        if f.role is Role.SCRATCH:
            continue
        if NODE in f.axes[f.node_axes :] or f.node_axes > 2:
            tell(f.name, "a process is an index behind a number: write the numbers last")
        for part in f.kind.all_parts():
            if isinstance(part, NodeId) and (part.lo, part.hi) != (-1, nodes - 1):
                tell(f.name, f"it holds processes -1..{nodes - 1}, and its range is {part.lo}..{part.hi}")
            if isinstance(part, SetOf) and part.nodes and part.count != nodes:
                tell(f.name, f"it holds a set of {part.count} processes, and there are {nodes}")
    return found
