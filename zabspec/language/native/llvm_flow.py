"""Emit control flow in LLVM assembly, tracking which names have one value and which indices are in range.

Little assembly compiles quickly. So a name that is assigned once is that value, and has no memory; a nested condition
is a jump; an index that goes through a range, or was checked against its bound on the way here, is not checked again.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Mapping, Sequence

from zabspec.language.analysis import tree as t
from zabspec.language.analysis.liveness import given, live_in
from zabspec.language.analysis.structs import Array, Member, Size, StructMember

LASTS = ", !invariant.load !1"  # sizes and addresses stay, whatever is stored: so they are read once
RARE = ", !prof !0"
BY_REFERENCE = (t.SeqType, t.MessageType, t.StructType)
TYPES: dict[t.AnyType, str] = {
    t.BOOL: "i1", t.VOID: "void", t.STATE: "ptr", t.WORDS: "ptr", t.BYTES: "ptr", t.INT: "i64",
}  # fmt: skip

# Which index was checked against which bound, with the state in which an error is recorded; and its replacement.
Checked = Mapping[tuple[str, int, str], str]


def llvm_type(kind: t.AnyType) -> str:
    """Return the LLVM type of a value."""
    if isinstance(kind, t.Type):
        return TYPES[kind]
    return "ptr" if isinstance(kind, BY_REFERENCE) else "i64"


class FlowEmitter(ABC):
    """Emits the blocks of one function.

    Attributes:
        lines, entry: what is emitted; the locals that lie in memory, at its beginning.
        numbered: how many results have a number for a name: in LLVM these count up in the order of the instructions.
        closed: whether control does not come here.
        here: the label of the block.
        names: what a name stands for, where it has one value.
        below: of values that go through a range from zero or more, its end.
        checked: as `Checked`.
    """

    def __init__(self, function: t.Function) -> None:
        self.f = function
        self.lines: list[str] = []
        self.entry: list[str] = []
        self.counter = self.numbered = 0
        self.loops: list[tuple[str, str]] = []
        self.closed = False
        self.here = "%entry"
        self.often = Counter(given(function.body))
        self.names = {name: f"%p.{name}" for name, _ in function.params if name not in self.often}
        self.kinds = {**function.locals, **dict(function.params)}
        self.kept: set[str] = set()  # names that lie in memory
        self.below: dict[str, int] = {}
        self.checked: Checked = {}

    @abstractmethod
    def expr(self, e: t.Expr) -> str:
        """Emit an expression; return its value."""

    @abstractmethod
    def statement(self, s: t.Stmt) -> None:
        """Emit a statement."""

    # --- plumbing ------------------------------------------------------------------------------

    def new(self, hint: str = "v") -> str:
        self.counter += 1
        return f"%{hint}{self.counter}"

    def emit(self, text: str) -> None:
        if not self.closed:
            self.lines.append("  " + text)

    def value(self, text: str) -> str:
        """Emit an instruction; return the name of its result: its number, which LLVM keeps in no table of names."""
        if self.closed:
            return self.new("none")
        name = f"%{self.numbered}"
        self.numbered += 1
        self.lines.append(f"  {name} = {text}")
        return name

    def label(self, name: str) -> None:
        self.jump(name)
        self.label_only(name)

    def label_only(self, name: str) -> None:
        self.lines.append(f"{name[1:]}:")
        self.closed = False
        self.here = name

    def jump(self, name: str) -> None:
        if not self.closed:
            self.emit(f"br label {name}")
            self.closed = True

    def branch(self, test: str, then: str, other: str, rare: bool = False) -> None:
        """Branch to `then`, which may be `rare` (errors are: they are kept out of the way), or to `other`."""
        self.emit(f"br i1 {test}, label {then}, label {other}{RARE if rare else ''}")
        self.closed = True

    # --- members of structs of arrays, at addresses from the struct's header -------------------

    def member(self, header: str, m: Member) -> str:
        """Return where a member's word lies in the header."""
        return self.value(f"getelementptr i64, ptr {header}, i64 {m.place}")

    def slot_place(self, e: t.Slot) -> tuple[str, int]:
        """Return where a slot's value lies, and in how many bytes.

        A header's sizes and addresses are marked as constant, so that they are read once and not again after each
        store.
        """
        header, m = self.expr(e.struct), e.member
        if not isinstance(m, Array):
            return self.member(header, m), 8
        start = self.value(f"load ptr, ptr {self.member(header, m)}, align 8{LASTS}")
        at = self.expr(e.indices[0])
        for index, axis in zip(e.indices[1:], m.axes[1:], strict=True):
            count = str(axis)
            if isinstance(axis, Size):
                count = self.value(f"load i64, ptr {self.member(header, axis)}, align 8{LASTS}")
            at = self.value(f"add i64 {self.value(f'mul i64 {at}, {count}')}, {self.expr(index)}")
        return self.value(f"getelementptr i{8 * m.width}, ptr {start}, i64 {at}"), m.width

    def slot(self, e: t.Slot) -> str:
        place, width = self.slot_place(e)
        if isinstance(e.member, StructMember):
            return self.value(f"load ptr, ptr {place}, align 8{LASTS}")
        raw = self.value(f"load i{8 * width}, ptr {place}, align {width}{LASTS if isinstance(e.member, Size) else ''}")
        return raw if width == 8 else self.value(f"zext i{8 * width} {raw} to i64")

    def put_slot(self, s: t.PutSlot) -> None:
        v = self.expr(s.value)
        place, width = self.slot_place(s.slot)
        narrow = v if width == 8 else self.value(f"trunc i64 {v} to i{8 * width}")
        self.emit(f"store i{8 * width} {narrow}, ptr {place}, align {width}")

    # --- names ---------------------------------------------------------------------------------

    def place_of(self, name: str) -> str:
        """Return the memory of a name that is assigned in several places."""
        if name not in self.kept:
            self.kept.add(name)
            kind = llvm_type(self.kinds[name])
            first = {"ptr": "null", "i1": "false"}.get(kind, "0")
            if any(name == parameter for parameter, _ in self.f.params):
                first = f"%p.{name}"
            self.entry += [f"  %l.{name} = alloca {kind}", f"  store {kind} {first}, ptr %l.{name}"]
        return f"%l.{name}"

    def variable(self, e: t.Var) -> str:
        known = self.names.get(e.name)
        return known if known is not None else self.value(f"load {llvm_type(e.type)}, ptr {self.place_of(e.name)}")

    def assign(self, s: t.Assign) -> None:
        v = self.expr(s.value)
        if self.often[s.name] == 1 and not any(s.name == parameter for parameter, _ in self.f.params):
            self.names[s.name] = v  # who reads it comes from here: the front end has seen to that
        else:
            self.emit(f"store {llvm_type(s.value.type)} {v}, ptr {self.place_of(s.name)}")

    # --- conditions ----------------------------------------------------------------------------

    def condition(self, e: t.Expr, then: str, other: str) -> tuple[Checked, Checked]:
        """Branch to `then` where a condition holds, else to `other`; return what is checked at either."""
        match e:
            case t.Not():
                at_other, at_then = self.condition(e.value, other, then)
                return at_then, at_other
            case t.Logic():
                offs: list[Checked] = []
                for k, part in enumerate(e.parts):
                    more = self.new("more") if k + 1 < len(e.parts) else ""
                    if e.op == "and":
                        on, off = self.condition(part, more or then, other)
                    else:
                        off, on = self.condition(part, then, more or other)
                    offs.append(off)
                    if more:
                        self.label_only(more)
                        self.checked = on
                return (on, common(*offs)) if e.op == "and" else (common(*offs), on)
        self.branch(self.expr(e), then, other)
        return self.checked, self.checked

    def logic(self, e: t.Logic) -> str:
        after, ends = self.new("after"), []
        left: Checked | None = None
        for part in e.parts[:-1]:
            v = self.expr(part)
            left = self.checked if left is None else left
            more = self.new("more")
            ends.append(f"[ {'false' if e.op == 'and' else 'true'}, {self.here} ]")
            self.branch(v, *((more, after) if e.op == "and" else (after, more)))
            self.label_only(more)
        v = self.expr(e.parts[-1])
        ends.append(f"[ {v}, {self.here} ]")
        self.label(after)
        self.checked = self.checked if left is None else left
        return self.value(f"phi i1 {', '.join(ends)}")

    def choice(self, e: t.Choice) -> str:
        kind = llvm_type(e.type)
        if all(isinstance(side, (t.Const, t.Var)) for side in (e.then, e.other)):
            test, then, other = self.expr(e.test), self.expr(e.then), self.expr(e.other)
            return self.value(f"select i1 {test}, {kind} {then}, {kind} {other}")
        sides, after = (self.new("then"), self.new("else")), self.new("after")
        known = self.condition(e.test, *sides)
        ends = []
        for side, value, at in zip(sides, (e.then, e.other), known, strict=True):
            self.label_only(side)
            self.checked = at
            ends.append(f"[ {self.expr(value)}, {self.here} ]")
            self.jump(after)
        self.label_only(after)
        self.checked = common(*known)
        return self.value(f"phi {kind} {', '.join(ends)}")

    # --- statements ----------------------------------------------------------------------------

    def block(self, body: Sequence[t.Stmt]) -> None:
        for s in body:
            if self.closed:
                return
            self.statement(s)

    def if_(self, s: t.If) -> None:
        if isinstance(s.test, t.Const):
            self.block(s.then if s.test.value else s.other)
            return
        then, other, after = self.new("then"), self.new("else"), self.new("after")
        at_then, at_other = self.condition(s.test, then, other if s.other else after)
        ends: list[Checked] = []
        sides = ((then, at_then, s.then), (other, at_other, s.other))
        for label, known, body in sides if s.other else sides[:1]:
            self.label_only(label)
            self.checked = known
            self.block(body)
            if not self.closed:
                ends.append(self.checked)
            self.jump(after)
        if not s.other:
            ends.append(at_other)
        if ends:  # else control does not come there
            self.label_only(after)
            self.checked = common(*ends)

    def for_(self, s: t.For) -> None:
        start, stop = self.expr(s.start), self.expr(s.stop)
        head, body, again, after = self.new("head"), self.new("body"), self.new("next"), self.new("after")
        before, known = self.here, self.checked
        now, following = self.new(), self.new()
        self.label(head)
        self.emit(f"{now} = phi i64 [ {start}, {before} ], [ {following}, {again} ]")
        self.branch(self.value(f"icmp slt i64 {now}, {stop}"), body, after)
        self.label_only(body)
        own = s.name not in given(s.body)
        if own:
            self.names[s.name] = now
            if isinstance(s.start, t.Const) and s.start.value >= 0 and isinstance(s.stop, t.Const):
                self.below[now] = s.stop.value
        if not own or s.name in live_in(self.f).head(s):  # it may be read where its value is another round's
            self.emit(f"store i64 {now}, ptr {self.place_of(s.name)}")
        self.loops.append((again, after))
        self.block(s.body)
        self.loops.pop()
        self.label(again)
        self.emit(f"{following} = add i64 {now}, 1")
        self.jump(head)
        self.label_only(after)
        self.checked = known
        if own:
            del self.names[s.name]

    def while_(self, s: t.While) -> None:
        head, body, after = self.new("head"), self.new("body"), self.new("after")
        known = self.checked
        self.label(head)
        self.checked, _ = self.condition(s.test, body, after)
        self.label_only(body)
        self.loops.append((head, after))
        self.block(s.body)
        self.loops.pop()
        self.jump(head)
        self.label_only(after)
        self.checked = known


def common(*sides: Checked) -> Checked:
    """Return what is checked on every path."""
    first, *others = sides
    return {k: v for k, v in first.items() if all(other.get(k) == v for other in others)} if others else first
