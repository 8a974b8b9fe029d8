"""Determine what a piece of code reads and writes, from which the independence of a loop's iterations follows.

A place is identified by its field and by the names that index its axes of processes: parameters of the function, and
the names of loops around it; of any other index nothing is known (`None`). A call has the effects of the function it
calls, with the arguments in place of parameters.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

from zabspec.language.analysis import tree as t
from zabspec.language.analysis.erring import Erring, Shown
from zabspec.language.analysis.intervals import alike
from zabspec.language.analysis.liveness import Liveness, given, live_in, reads
from zabspec.language.analysis.optional import Calculated, origins
from zabspec.language.layout.kinds import NOTHING, Kind, Seq, SetOf
from zabspec.language.layout.schema import NODE, Layout, Role

UNKNOWN = "?"  # a field that is not known
STEPS = "the steps that are possible"  # what `enabled` makes


class Access(NamedTuple):
    """A field, or the argument of a reference parameter (`@` before its name), with the names that index it.

    The names are those of its axes of processes.
    """

    field: str
    keys: tuple[str | None, ...] = ()


class Write(NamedTuple):
    """A write, and how it changes what is there.

    `how`: `= c` for a constant, `+ c` for a constant added, `max`, `min`, `add`, `discard`, `append` to
    a bag of messages, `list` for a step that is listed; empty for any other.
    """

    at: Access
    how: str
    line: int


@dataclass
class Effects:
    """The effects of a piece of a function.

    Attributes:
        errs: the lines in which a run-time error may be met.
        needs: the parameters that have to be an index below some bound, or there may be one too.
        counts: the same, of what a loop indexes by them that may end early: then the order matters.
    """

    reads: set[Access] = field(default_factory=set)
    writes: list[Write] = field(default_factory=list)
    names_read: set[str] = field(default_factory=set)
    names_written: list[tuple[str, str, int]] = field(default_factory=list)  # name, how, line
    errs: set[int] = field(default_factory=set)
    needs: dict[str, int] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)

    @cached_property
    def touched(self) -> frozenset[str]:
        """Return the fields that are read or written: of the effects of a whole function, which do not change."""
        return frozenset([*(a.field for a in self.reads), *(w.at.field for w in self.writes)])

    @property
    def is_plain(self) -> bool:
        """Return whether evaluating it makes no difference: it writes nothing and meets no run-time error."""
        return not (self.writes or self.errs or self.needs)

    def take(self, other: Effects) -> None:
        self.errs |= other.errs
        for mine, theirs in ((self.needs, other.needs), (self.counts, other.counts)):
            for name, bound in theirs.items():
                mine[name] = min(bound, mine.get(name, bound))
        self.reads |= other.reads
        self.writes += other.writes
        self.names_read |= other.names_read
        self.names_written += other.names_written


class EffectsOf:
    """The effects of one function's statements.

    Args:
        function: the function, typed.
        layout: the layout of the state.
        functions: the functions that it calls.
        called: their effects, as seen from outside.
    """

    def __init__(
        self, function: t.Function, layout: Layout, functions: Mapping[str, t.Function], called: Mapping[str, Effects]
    ) -> None:
        self.function, self.layout, self.functions, self.called = function, layout, functions, called
        self.line = function.line
        assigned = set(given(function.body))
        self.known = {name for name, _ in function.params} - assigned  # names that hold one value throughout
        self.erring = Erring(function, functions)
        self.contexts: dict[int, Erring] = {}  # the facts that hold at each loop
        self.unsure: dict[int, str] = {}  # by their lines, calls that may pass what `counts` of the function is not
        self.asking = False  # whether to check for calculations with numbers that may be NOTHING
        self.nothing: list[tuple[int, Calculated]] = []  # such numbers, with their lines
        self.gives: frozenset[str] = frozenset()  # where what it gives back is from, that may be NOTHING
        self.loops: list[str] = []
        self.aliases: dict[str, set[Access]] = {}

    @property
    def live(self) -> Liveness:
        """The live names of the function: what has no loops is not asked for them."""
        return live_in(self.function)

    def outside(self) -> Effects:
        """Return the effects as a caller sees them: those on parameters and on the state."""
        whole = self.block(self.function.body)
        params = {name for name, _ in self.function.params}

        def seen(a: Access) -> Access:
            return a if not any(a.keys) else Access(a.field, tuple(k if k in params else None for k in a.keys))

        reads = {seen(a) for a in whole.reads}
        writes: dict[tuple[Access, str], int] = {}  # each once, where it is first
        for w in whole.writes:
            writes.setdefault((seen(w.at), w.how), w.line)
        written = [Write(at, how, line) for (at, how), line in writes.items()]
        return Effects(reads, written, errs=whole.errs, needs=whole.needs, counts=whole.counts)

    def calculated(self) -> list[tuple[int, Calculated]]:
        """Return the optional numbers that may be NOTHING where they are calculated with, with their lines.

        Afterwards `gives` is the origin of what is returned.
        """
        self.asking = True
        self.outside()
        return self.nothing

    # --- statements --------------------------------------------------------------------------

    def block(self, body: Iterable[t.Stmt]) -> Effects:
        out = Effects()
        added: t.Append | None = None  # what was appended to a bag just before
        last = ""  # the name of its place there
        for s in body:
            if added is not None and isinstance(s, t.Assign) and is_last(s.value, added.place):
                last = s.name
                out.names_written.append((s.name, "", s.line))
            elif added is not None and isinstance(s, t.Store) and last and is_inside(s.place, added.place, last):
                out.take(self.of(s.value))  # still of what is appended, wherever that comes to lie
            else:
                out.take(self.statement(s))
                bag = isinstance(s, t.Append) and isinstance(s.place.kind, Seq) and s.place.kind.bag
                added, last = (s if isinstance(s, t.Append) and bag else None), ""
        return out

    def statement(self, s: t.Stmt) -> Effects:
        self.line = s.line
        match s:
            case t.Assign():
                return self.assign(s)
            case t.Store() | t.Copy() | t.SetChange() | t.Clear() | t.Append() | t.Remove():
                return self.change(s)
            case t.PutWord():
                out = self.of(s.array, s.index, s.value)
                out.writes.append(Write(Access(UNKNOWN), "", s.line))
                return out
            case t.Evaluate():
                return self.of(s.value)
            case t.If(test=t.Compare() as test, then=[t.Assign() as kept], other=[]) if (
                which := picks(test, kept)
            ) and self.of(kept.value).is_plain:
                out = self.of(kept.value, *([test] if self.asking else []))
                out.names_written.append((kept.name, which, kept.line))
                return out
            case t.If(test=test, then=[t.Assign(value=t.Var()) as kept, t.Assign() as known], other=[]) if (
                which := picks_first(test, kept, known)
            ):
                names = [(kept.name, which, kept.line), (known.name, which, known.line)]
                out = self.of(kept.value)
                out.names_written += names
                return out
            case t.If():
                return self.branch(s)
            case t.For():
                return self.loop(s)
            case t.While():
                here, self.erring = self.erring, self.erring.copied()
                self.erring.enter(s)
                out = self.of(s.test)
                out.take(self.block(s.body))
                self.erring = here
                here.left(s)
                return out
            case t.Return():
                if s.value is None:
                    return Effects()
                if self.asking and not self.is_there(s.value):
                    self.gives |= self.origins(s.value)
                return self.of(s.value)
        return Effects()

    def branch(self, s: t.If) -> Effects:
        out = self.of(s.test)
        sides = []
        tested = out.writes[:]
        for side, truth in ((s.then, True), (s.other, False)):
            with self.erring.given(shown := self.shown(s.test, truth, tested)):
                out.take(self.block(side))
            sides.append(shown)
        for side, other in ((s.then, 1), (s.other, 0)):
            if side and isinstance(side[-1], (t.Return, t.Break, t.Continue)) and not out.writes:
                left = set(given((s.then, s.other)[other]))  # what it gives another value is another
                self.erring.shown_there += [k for k in sides[other] if not left & reads(k[0])]  # only it continues
        return out

    def loop(self, s: t.For) -> Effects:
        out = self.of(s.start, s.stop)
        if self.asking:
            self.has_to_be_there(s.start, s.stop)
        round_ = self.body(s)
        if any(ends_in(s.body)) and self.is_unordered(s):
            round_.take(Effects(counts=dict(round_.needs)))
        out.take(round_)
        out.names_written.append((s.name, "", s.line))
        return out

    def is_unordered(self, s: t.For) -> bool:
        """Return whether a loop may be one over processes, or is one through a bag."""
        match s.stop:
            case t.SeqLength(seq=t.Expr(type=t.SeqType(kind=kind))):
                return kind.bag
            case t.Const(value=value):
                schema = self.layout.schema
                return value == schema.nodes or value in {r.end for r in schema.roles or ()}
        return False

    def body(self, s: t.For) -> Effects:
        """Return the effects of one iteration of a loop."""
        here = self.erring
        self.erring = self.contexts.setdefault(id(s), here.copied()).copied()
        self.loops.append(s.name)
        self.erring.enter(s)
        out = self.block(s.body)
        self.loops.pop()
        self.erring = here
        if out.writes:
            here.written()
        here.left(s)
        return out

    def assign(self, s: t.Assign) -> Effects:
        if self.asking:
            self.of(s.value)  # what is gathered is calculated with too
        how, rest = gathered(s.value, lambda e: isinstance(e, t.Var) and e.name == s.name)
        out = self.of(rest)
        if isinstance(s.value, t.Memory) or isinstance(s.value.type, (t.SeqType, t.MessageType)):
            self.aliases.setdefault(s.name, set()).update(out.reads)
        if how in ("or", "and") and not out.is_plain:
            how, out = "", self.of(s.value)  # whether it writes, or errs, depends on what was gathered before
        self.erring.assigned(s.name, s.value)
        out.names_written.append((s.name, how, s.line))
        return out

    def change(self, s: t.Store | t.Copy | t.SetChange | t.Clear | t.Append | t.Remove) -> Effects:
        out = Effects()
        self.indices(s.place, out)
        how = ""
        match s:
            case t.Store():
                if self.asking:
                    self.of(s.value)
                how, rest = gathered(s.value, lambda e: isinstance(e, t.Load) and alike(e.place, s.place))
                if how == "sum":
                    how = ""  # of what is not constant: its range may be left in one order and not in another
                if how in ("or", "and") and not self.of(rest).is_plain:
                    how = ""
                out.take(self.of(s.value if not how else rest))
                if how in ("or", "and", "union", "intersection", ""):
                    self.may_err(self.erring.leaves_kind(s.value, s.place.kind), out)
            case t.Copy():
                out.take(self.of(s.value))
            case t.SetChange():
                how = "add" if s.add else "discard"
                out.take(self.of(s.item))
                assert isinstance(s.place.kind, SetOf)
                self.index(s.item, s.place.kind.count, out)
            case t.Clear():
                how = "= empty"
            case t.Append():
                how = "append" if isinstance(s.place.kind, Seq) and s.place.kind.merged else ""
                out.take(self.of(s.value))
                self.may_err(True, out)
            case t.Remove():
                out.take(self.of(s.index))
                self.may_err(True, out)
        out.writes += [Write(at, how, s.line) for at in self.accesses(s.place)]
        self.erring.written()
        return out

    # --- errors ------------------------------------------------------------------------------

    def may_err(self, bad: bool, out: Effects) -> None:
        if bad:
            out.errs.add(self.line)

    def index(self, e: t.Expr, bound: int, out: Effects) -> None:
        """Add the effects of using a number as an index, or as a member of a set."""
        if isinstance(e, t.Var) and e.name in self.known:
            out.needs[e.name] = min(bound, out.needs.get(e.name, bound))
        else:
            self.may_err(self.erring.leaves(e, 0, bound - 1), out)

    # --- expressions -------------------------------------------------------------------------

    def of(self, *expressions: t.Expr) -> Effects:
        out = Effects()
        for e in expressions:
            self.add(e, out)
        return out

    def add(self, e: t.Expr, out: Effects) -> None:
        """Add the effects of an expression to others."""
        if self.asking:
            self.calculates(e)
        match e:
            case t.Const():
                return
            case t.Var():
                self.variable(e, out)
            case t.Load():
                self.add(e.place, out)
            case t.Memory():
                self.indices(e, out)
                out.reads |= self.accesses(e)
            case t.Call():
                self.call(e, out)
            case t.Builtin(op="forget"):
                self.forgotten(e, out)
            case t.MakeRecord() | t.MakeMessage():
                self.made(e, out)
            case t.Logic() | t.Choice():
                self.conditions(e, out)
            case t.Binary(site=site, op=op) if site:
                self.add(e.left, out)
                self.add(e.right, out)
                low, high = self.erring.of(e.right)
                self.may_err(op not in ("//", "%") or low <= 0 <= high, out)
            case _:
                for piece in t.inside(e):
                    self.add(piece, out)

    def calculates(self, e: t.Expr) -> None:
        """Record an optional number that may be NOTHING where it is calculated with or ordered."""
        match e:
            case t.Binary():
                parts = [e.left, e.right]
            case t.Compare(op="<" | "<=" | ">" | ">="):
                parts = [e.left, e.right]
            case t.Builtin(op="min" | "max"):
                parts = e.args
            case t.Call():
                target = self.functions[e.function]
                for (name, _), value in zip(target.params, e.args, strict=True):
                    if name in target.wants and not self.is_there(value):
                        self.nothing.append((self.line, Calculated(value, self.origins(value), e.function, name)))
                return
            case _:
                return
        self.has_to_be_there(*parts)

    def has_to_be_there(self, *parts: t.Expr) -> None:
        """Record which of some numbers may be NOTHING."""
        for part in parts:
            if not self.is_there(part):
                self.nothing.append((self.line, Calculated(part, self.origins(part))))

    def origins(self, e: t.Expr) -> frozenset[str]:
        """Return the origins of a number that may be NOTHING."""
        return origins(e, self.function.optional or {}, self.functions)

    def is_there(self, e: t.Expr) -> bool:
        """Return whether a number is not NOTHING where it stands."""
        if not self.origins(e) or self.erring.of(e)[0] > NOTHING or self.erring.is_not(e, NOTHING):
            return True
        if not isinstance(e, t.Choice):
            return False
        tested = self.of(e.test).writes
        sides = []
        for side, truth in ((e.then, True), (e.other, False)):
            with self.erring.given(self.shown(e.test, truth, tested)):
                sides.append(self.is_there(side))
        return all(sides)

    def made(self, e: t.MakeRecord | t.MakeMessage, out: Effects) -> None:
        """Add the effects of making a record or a message."""
        for part in e.parts:
            self.add(part[-2], out)
        if isinstance(e, t.MakeRecord):
            kinds: list[tuple[Kind, t.Expr]] = [(e.record.fields[name], value) for name, value, _ in e.parts]
        else:
            kinds = [(kind, value) for _, kind, value, _ in e.parts]
        self.may_err(any(self.erring.leaves_kind(value, kind) for kind, value in kinds), out)

    def conditions(self, e: t.Logic | t.Choice, out: Effects) -> None:
        """Add the effects of a condition; what follows a test uses what the test has shown."""
        if isinstance(e, t.Choice):
            tested = self.of(e.test)
            out.take(tested)
            for side, truth in ((e.then, True), (e.other, False)):
                with self.erring.given(self.shown(e.test, truth, tested.writes)):
                    self.add(side, out)
            return
        with self.erring.given([]):
            for part in e.parts:
                tested = self.of(part)
                out.take(tested)
                self.erring.shown_there += self.shown(part, e.op == "and", tested.writes)

    def shown(self, test: t.Expr, truth: bool, writes: list[Write]) -> list[Shown]:
        """Return what a test shows; nothing if the test changes what it reads."""
        return [] if writes else self.erring.shown(test, truth)

    def variable(self, e: t.Var, out: Effects) -> None:
        out.names_read.add(e.name)
        if isinstance(e.type, (t.SeqType, t.MessageType)):
            out.reads |= self.referred(e.name)

    def referred(self, name: str) -> set[Access]:
        """Return what a name that holds a sequence or a message refers to."""
        if any(name == p for p, _ in self.function.params):
            return {Access("@" + name)}
        return {Access(a.field, (None,) * len(a.keys)) for a in self.aliases.get(name, {Access(UNKNOWN)})}

    def indices(self, place: t.Memory, out: Effects) -> None:
        for term in place.terms:
            self.add(term.index, out)
            if term.site and term.bag is None:  # a place in a bag is always there
                self.index(term.index, term.bound, out)
                self.may_err(term.length is not None, out)
        if not isinstance(place.base, t.Var):
            self.add(place.base, out)

    def accesses(self, place: t.Memory) -> set[Access]:
        base = place.base
        if not isinstance(base, t.Var):
            return {Access(UNKNOWN)}
        if base.type != t.STATE:
            return self.referred(base.name)
        keys = tuple(self.key(term.index) for term in place.terms if term.process)
        return {Access(self.layout.field_at(place.offset) or UNKNOWN, keys)}

    def key(self, index: t.Expr) -> str | None:
        """Return the name of an index, if it denotes one process during one iteration of the loops around, or None."""
        if isinstance(index, t.Var) and (index.name in self.known or index.name in self.loops):
            return index.name
        return None

    def forgotten(self, e: t.Builtin, out: Effects) -> None:
        """Add the effects of `forget`: every volatile field of a process."""
        self.add(e.args[1], out)
        self.index(e.args[1], self.layout.schema.nodes, out)
        key = self.key(e.args[1])
        for f in self.layout.fields.values():
            if f.role is Role.VOLATILE:
                keys = (key, *(None for _ in range(f.node_axes - 1))) if NODE in f.axes else ()
                out.writes.append(Write(Access(f.name, keys), "" if keys else "= empty", self.line))
        self.erring.written()

    def call(self, e: t.Call, out: Effects) -> None:
        target, params = self.called[e.function], self.functions[e.function].params
        given = {name: value for (name, _), value in zip(params, e.args, strict=True)}
        for name, value in given.items():
            if "@" + name not in target.touched:
                self.add(value, out)
            elif isinstance(value, t.Memory):
                self.indices(value, out)
            elif not isinstance(value, t.Var):
                self.add(value, out)
        for a in target.reads:
            out.reads |= self.seen(a, given)
        for w in target.writes:
            out.writes += [Write(at, w.how, self.line) for at in self.seen(w.at, given)]
        self.may_err(bool(target.errs), out)
        for name, bound in target.needs.items():
            self.index(given[name], bound, out)
        for name, bound in target.counts.items():
            value = given[name]
            if isinstance(value, t.Var) and value.name in self.known:
                out.counts[value.name] = min(bound, out.counts.get(value.name, bound))
            elif self.erring.leaves(value, 0, bound - 1):
                called = self.functions[e.function].called
                why = f"{name} of {called} may be out of range there, depending on the order of a loop"
                self.unsure.setdefault(self.line, why)
        if target.writes:
            self.erring.written()

    def seen(self, a: Access, given: Mapping[str, t.Expr]) -> set[Access]:
        """Return what a callee's access means for the caller."""
        if a.field.startswith("@"):
            value = given[a.field[1:]]
            if isinstance(value, t.Memory):
                return self.accesses(value)
            if isinstance(value, t.Var):
                return self.referred(value.name)
            return set()
        if not any(a.keys):  # nothing of it is named by the callee
            return {a}
        return {Access(a.field, tuple(None if k is None else self.key(given[k]) for k in a.keys))}


def ends_in(body: list[t.Stmt], inner: bool = False) -> Iterable[list[t.Stmt]]:
    """Yield the blocks that end a loop early."""
    for s in body:
        match s:
            case t.If():
                yield from ends_in(s.then, inner)
                yield from ends_in(s.other, inner)
            case t.For() | t.While():
                yield from ends_in(s.body, True)
            case t.Return():
                yield body
            case t.Break() if not inner:
                yield body


def is_last(e: t.Expr, seq: t.Memory) -> bool:
    """Return whether an expression is the last place of a sequence, as `len(seq) - 1`."""
    match e:
        case t.Binary(op="-", left=t.SeqLength(seq=t.Memory() as counted), right=t.Const(value=1)):
            return alike(counted, seq)
    return False


def is_inside(place: t.Memory, seq: t.Memory, name: str) -> bool:
    """Return whether a place is in the element of a sequence at the index that a name holds."""
    at = len(seq.terms)
    if len(place.terms) != at + 1 or not alike(place.base, seq.base) or not alike(place.terms[:at], seq.terms):
        return False
    return isinstance(index := place.terms[at].index, t.Var) and index.name == name


def picks(test: t.Compare, kept: t.Assign) -> str:
    """Return whether `if value > name: name = value` keeps the greatest, or the least; empty for neither."""
    for name, value, greatest in ((test.left, test.right, "<"), (test.right, test.left, ">")):
        if isinstance(name, t.Var) and name.name == kept.name and alike(value, kept.value):
            return {"==": "", "!=": ""}.get(test.op, "max" if test.op.startswith(greatest) else "min")
    return ""


def picks_first(test: t.Expr, kept: t.Assign, known: t.Assign) -> str:
    """Return what `if not known or value > name: name = value; known = True` keeps, if it is all that writes both.

    It has the two names: with another partner, the first value of one would decide for the other.
    """
    match test, known.value:
        case t.Logic(op="or", parts=[t.Not(value=t.Var(name=name)), t.Compare() as beyond]), t.Const(value=1) if (
            name == known.name and (which := picks(beyond, kept))
        ):
            return f"first, or {which}, of {kept.name} by {name}"
    return ""


def gathered(value: t.Expr, itself: Callable[[t.Expr], bool]) -> tuple[str, t.Expr]:
    """Return how a stored value derives from the previous one, and what else it uses."""
    match value:
        case t.Const():
            return f"= {value.value}", value
        case t.SetWith() if itself(value.value):
            return "add", value.item
        case t.Binary(op="+" | "|" | "&", left=left, right=right) if itself(left) != itself(right):
            rest = right if itself(left) else left
            if value.op == "+" and isinstance(rest, t.Const):
                return "+ " + ("1" if rest.value >= 0 else "-1"), rest
            return {"+": "sum", "|": "union", "&": "intersection"}[value.op], rest
        case t.Binary(op="-", left=left, right=t.Const() as rest) if itself(left):
            return "+ " + ("-1" if rest.value >= 0 else "1"), rest
        case t.Builtin(op="min" | "max", args=[left, right]) if itself(left) != itself(right):
            return value.op, right if itself(left) else left
        case t.Logic(op=op, parts=[left, *rest]) if itself(left) and len(rest) == 1:
            return op, rest[0]
    return "", value
