"""Determine what a step of each kind reads and writes, by the processes in its word: from `enabled` and `apply`.

Both functions are walked with the kind of step given, so that only the branches of that kind count; callees are walked
where they are called. A touch is a field with the processes that index it: `a` and `b` are those of the step word, None
is any. For enabledness, the tests count that lie on the way to where the step is listed.

A few functions of the worlds do something whose order does not matter although what they touch overlaps (a message is
appended while another is taken). They, and what a kind of step does to the network by itself, are labels here: which
pairs of labels commute is declared beside the world (`worlds/connections.py`) and checked by tests.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from zabspec.language.analysis import tree as t
from zabspec.language.analysis.liveness import given
from zabspec.language.layout.conventions import Conventions
from zabspec.language.layout.kinds import Int
from zabspec.language.layout.schema import NODE, Layout, Role

ANYTHING = "*"  # a field that is not known
OF_THE_STEP = ""  # what a step says about itself, which no other step reads


@dataclass(frozen=True)
class Touch:
    """A field, the processes that index it (`a`, `b`, or None for any), whether it is written, and a label.

    The label names what touches it; it is empty for none.
    """

    field: str
    keys: tuple[str | None, ...]
    writes: bool
    label: str = ""


@dataclass(frozen=True)
class Case:
    """The steps of a kind that share the following facts.

    Attributes:
        kind: the number of the kind.
        tag: the kind of the message that is received, from 1; 0 if none is.
        own: whether the process that takes it follows itself.
    """

    kind: int
    tag: int = 0
    own: bool = False


CLOSED = "closed"  # the label of what is written to the role of a process that has closed its connections


@dataclass(frozen=True)
class Symbol:
    """A process that is unknown but fixed; `of` is the field and process whose value it is."""

    name: str
    of: tuple[str, Symbol] | None = None


@dataclass(frozen=True)
class WordPart:
    """The word of the step, shifted to the right."""

    shift: int


@dataclass(frozen=True)
class Alias:
    """A name for a part of the state."""

    field: str
    keys: tuple[Symbol | None, ...]


@dataclass(frozen=True)
class Test:
    """The test whether a field of a process has a value."""

    of: tuple[str, Symbol]
    value: int


A, B = Symbol("a"), Symbol("b")
Value = int | Symbol | WordPart | Alias | Test | None  # None: not known


@dataclass(frozen=True)
class Reach:
    """A field under symbols, as a function sees it."""

    field: str
    keys: tuple[Symbol | None, ...]
    writes: bool
    label: str


Names = dict[str, tuple[Value, frozenset[Reach]]]


@dataclass
class Listed:
    """How steps of a kind are listed."""

    touches: set[Touch] = field(default_factory=set)
    known: dict[tuple[str, str], int | Symbol] | None = None  # what fields of process a are known to hold


def footprints(
    program: t.TypedProgram, layout: Layout, world: Conventions, own: bool = False
) -> dict[Case, frozenset[Touch]]:
    """Return what steps touch, case by case, for the kinds that may be listed at all.

    Args:
        program: typed, with `enabled` and `apply`.
        layout: of the state.
        world: the world's conventions.
        own: only for ample processes, which follow another process.
    """
    listing = Walk(program, layout, world, None)
    listing.run("enabled")
    found: dict[Case, frozenset[Touch]] = {}
    for kind, listed in listing.listed.items():
        if own and kind not in world.own_roles:
            continue
        for tag in world.received.get(kind, (0,)):
            for itself in (False,) if own else (False, True):
                case = Case(kind, tag, itself)
                taking = Walk(program, layout, world, case)
                known = dict(listed.known or {})
                role = world.own_roles[kind] if own else None
                if role is not None:
                    known[world.role, A.name] = role
                if kind not in world.paired:
                    known[world.follows, A.name] = A if itself else B
                elif itself and (world.follows, A.name) not in known:
                    known[world.follows, A.name] = A
                taking.known = known
                taking.run("apply")
                of_kind = world.kinds.get(kind, "")
                guard = {Touch(x.field, x.keys, x.writes, x.label or taking.own_label(x.field)) for x in listed.touches}
                if listing.trouble or taking.trouble or not of_kind:
                    guard.add(Touch(ANYTHING, (), True))
                found[case] = frozenset(guard | taking.done)
    return found


def guards(program: t.TypedProgram, layout: Layout, world: Conventions) -> dict[int, frozenset[Touch]]:
    """Return what decides whether a step of each kind is possible, by the processes in its word.

    Args:
        program: typed, with `enabled`.
        layout: of the state.
        world: the world's conventions.
    """
    listing = Walk(program, layout, world, None)
    listing.run("enabled")
    more = {Touch(ANYTHING, (), True)} if listing.trouble else set()
    return {kind: frozenset(listed.touches | more) for kind, listed in listing.listed.items()}


class Walk:
    """Walks through a function and what it calls.

    Args:
        case: the case of the step taken; None to walk the listing of steps.
    """

    def __init__(self, program: t.TypedProgram, layout: Layout, world: Conventions, case: Case | None) -> None:
        self.program, self.layout, self.world, self.case = program, layout, world, case
        self.called = "" if case is None else world.kinds.get(case.kind, "")
        self.known: dict[tuple[str, str], int | Symbol] = {}  # what fields of a process hold
        self.spoiled: set[str] = set()  # fields that are written somewhere in what was walked
        self.reached: set[Reach] = set()  # everything touched
        self.listed: dict[int, Listed] = {}
        self.path: list[frozenset[Reach]] = []  # what is read by the tests on the way
        self.within: list[str] = []  # the labels we are in
        self.closed = False  # whether the process that acts has closed its connections, on every way here
        self.left: list[bool] = []  # that, where the function returns
        self.fresh = 0
        self.trouble = ""

    def run(self, name: str) -> None:
        f = self.program.functions[name]
        names: Names = {p: (WordPart(0) if p == "word" else None, frozenset()) for p, _ in f.params}
        self.body(f.body, names)

    @property
    def done(self) -> set[Touch]:
        """Return what the step touches."""
        return {Touch(r.field, tuple(map(operand, r.keys)), r.writes, r.label) for r in self.reached}

    def own_label(self, name: str) -> str:
        """Return the label for what a kind of step does to the network by itself; empty for other fields."""
        return self.called if name in self.layout.fields and self.layout.fields[name].role is Role.NETWORK else ""

    # --- statements --------------------------------------------------------------------------------

    def body(self, statements: Sequence[t.Stmt], names: Names) -> bool:
        """Walk statements; return whether what comes after them is unreachable."""
        return any(self.statement(s, names) for s in statements)

    def statement(self, s: t.Stmt, names: Names) -> bool:
        match s:
            case t.Assign():
                names[s.name] = self.of(s.value, names)
            case t.Store() | t.Copy() | t.Append():
                value, _ = self.of(s.value, names)
                self.reach(s.place, names, True, value if isinstance(s, t.Store) else None)
            case t.SetChange():
                self.of(s.item, names)
                self.reach(s.place, names, True)
            case t.Clear():
                self.reach(s.place, names, True)
            case t.Remove():
                self.of(s.index, names)
                self.reach(s.place, names, True)
            case t.Evaluate():
                self.of(s.value, names)
            case t.If():
                return self.branch(s, names)
            case t.For():
                self.loop(s, names)
            case t.Return():
                self.left.append(self.closed)
                names["return"] = self.joined(names.get("return"), self.of(s.value, names) if s.value else None)
                return True
            case t.Break() | t.Continue():
                return True
            case _:  # kernels' statements
                self.trouble = f"line {s.line} has an operation that this analysis does not cover"
        return False

    @staticmethod
    def joined(
        one: tuple[Value, frozenset[Reach]] | None, other: tuple[Value, frozenset[Reach]] | None
    ) -> tuple[Value, frozenset[Reach]]:
        if one is None or other is None:
            return one or other or (None, frozenset())
        return (one[0] if one[0] == other[0] else None), one[1] | other[1]

    def branch(self, s: t.If, names: Names) -> bool:
        value, reads = self.of(s.test, names)
        if isinstance(value, int):
            return self.body(s.then if value else s.other, names)
        self.path.append(reads)
        left, right = dict(names), dict(names)
        ends = self.sides(s, value, left, right)
        if not (leaves(s.then) or leaves(s.other)):
            self.path.pop()  # if not, it decides what follows, too
        for name in left.keys() | right.keys():
            if left.get(name) is names.get(name) is right.get(name):
                continue  # neither side has given it a value
            sides = [side.get(name) for side, end in ((left, ends[0]), (right, ends[1])) if not end or name == "return"]
            if sides:
                value, more = self.joined(sides[0], sides[-1])
                sure = name == "return" or None not in sides
                names[name] = (value if sure else None, more | reads)
        return all(ends)

    def sides(self, s: t.If, value: Value, left: Names, right: Names) -> tuple[bool, bool]:
        """Walk both sides of a test; return whether what comes after each is unreachable."""
        known, closed = self.known, self.closed
        if isinstance(value, Test):
            self.known = {**known, (value.of[0], value.of[1].name): value.value}
        one = self.body(s.then, left)
        self.known, one_closed, self.closed = known, self.closed, closed
        other = self.body(s.other, right)
        self.known = known
        if other:
            self.closed = one_closed
        elif not one:
            self.closed = self.closed and one_closed
        return one, other

    def loop(self, s: t.For, names: Names) -> None:
        (start, one), (stop, other) = self.of(s.start, names), self.of(s.stop, names)
        if isinstance(start, int) and isinstance(stop, int) and stop <= start:
            return
        depth = len(self.path)
        self.path.append(one | other)
        changed = [*given(s.body), s.name]
        for name in changed:
            before = names.get(name, (None, frozenset()))
            names[name] = (None, before[1])
        closed = self.closed
        for _ in range(2):  # what a round changes, the next one meets
            self.fresh += 1
            inner = dict(names)
            inner[s.name] = (Symbol(f"{s.name} {self.fresh}"), frozenset())
            self.body(s.body, inner)
            for name in {*changed, "return"} & inner.keys():
                value = inner[name] if name != s.name else (None, frozenset())
                keep = self.joined(names.get(name), value)
                names[name] = (keep[0] if name == "return" and "return" not in names else None, keep[1])
            self.closed = closed
        if not leaves(s.body):
            del self.path[depth:]

    # --- places and expressions ----------------------------------------------------------------------

    def reach(
        self, place: t.Memory, names: Names, writes: bool, value: Value = None
    ) -> tuple[Reach | None, frozenset[Reach]]:
        """Touch a place, written if a value is given; return how, and all that is read for it."""
        read: frozenset[Reach] = frozenset()
        keys: list[Symbol | None] = []
        for term in place.terms:
            index, more = self.of(term.index, names)
            read |= more
            if term.process:
                keys.append(index if isinstance(index, Symbol) else None)
        base = place.base
        if isinstance(base, t.Var) and base.type == t.STATE:
            known = place.field in self.layout.fields
            name = place.field if known else self.layout.field_at(place.offset) or ANYTHING
        else:
            held = names.get(base.name, (None, frozenset()))[0] if isinstance(base, t.Var) else None
            if isinstance(base, t.Memory):
                return self.reach(base, names, writes)
            if not isinstance(held, Alias):
                name, keys = ANYTHING, []
            else:
                name, keys = held.field, list(held.keys)
        if name == OF_THE_STEP or (name != ANYTHING and self.layout.fields[name].role is Role.SCRATCH):
            return None, read
        made = self.touch(name, self.keys(name, keys), writes, value)
        return made, read | {made}

    def touch(self, name: str, keys: tuple[Symbol | None, ...], writes: bool, value: Value = None) -> Reach:
        """Touch a field; `value` is what is written."""
        label = self.label(name)
        if name == self.world.role and not self.within:
            was = self.held(name, A)
            safe = self.closed or (isinstance(was, int) and was != self.world.leading)
            if writes and keys == (A,) and safe and isinstance(value, int) and value != self.world.leading:
                label = CLOSED
        made = Reach(name, keys, writes, label)
        self.reached.add(made)
        if writes:
            self.spoiled.add(name)
        return made

    def keys(self, name: str, keys: Sequence[Symbol | None]) -> tuple[Symbol | None, ...]:
        if name == ANYTHING:
            return ()
        axes = sum(axis == NODE for axis in self.layout.fields[name].axes)
        return tuple(keys[:axes]) + (None,) * (axes - len(keys))

    def label(self, name: str) -> str:
        f = self.layout.fields.get(name)
        if f is None or not (f.role in (Role.NETWORK, Role.GHOST) or f.observed or name == self.world.role):
            return ""
        return self.within[-1] if self.within else self.own_label(name)

    def held(self, name: str, process: Symbol) -> int | Symbol | None:
        """Return what a field of a process is known to hold; None once any write to the field was met."""
        return None if {name, ANYTHING} & self.spoiled else self.known.get((name, process.name))

    def of(self, e: t.Expr, names: Names) -> tuple[Value, frozenset[Reach]]:
        """Return the value of an expression, as far as it is known, and what it reads."""
        match e:
            case t.Const():
                return e.value, frozenset()
            case t.Var():
                return names.get(e.name, (None, frozenset()))
            case t.Load():
                return self.load(e.place, names)
            case t.Memory():
                at, read = self.reach(e, names, False)
                return (Alias(at.field, at.keys) if at is not None else Alias(OF_THE_STEP, ())), read
            case t.Call():
                return self.call(e, names)
            case t.Builtin(op="forget"):
                return self.forgotten(e, names)
            case t.MakeRecord() | t.MakeMessage():
                return None, self.union([part[-2] for part in e.parts], names)
            case t.Logic():
                return self.logic(e, names)
            case t.Choice():
                return self.choice(e, names)
            case t.Not():
                value, read = self.of(e.value, names)
                return (int(not value) if isinstance(value, int) else None), read
            case t.MessageKind():
                held, read = self.of(e.message, names)
                tagged = isinstance(held, Alias) and held.field == OF_THE_STEP and self.case is not None
                return (self.case.tag if tagged and self.case and self.case.tag else None), read
            case t.Binary() | t.Compare():
                return self.computed(e, names)
        return None, self.union(t.inside(e), names)

    def union(self, parts: Iterable[t.Expr], names: Names) -> frozenset[Reach]:
        out: frozenset[Reach] = frozenset()
        for part in parts:
            out |= self.of(part, names)[1]
        return out

    def load(self, place: t.Memory, names: Names) -> tuple[Value, frozenset[Reach]]:
        at, read = self.reach(place, names, False)
        if at is None:
            return self.said(place), read
        if isinstance(place.kind, Int) and place.kind.lo == place.kind.hi and place.field in self.layout.fields:
            return place.kind.lo, read
        if len(at.keys) != 1 or at.keys[0] is None or len(place.terms) != 1:
            return None, read
        known = self.held(at.field, at.keys[0])
        return (Symbol(f"{at.field} of {at.keys[0].name}", (at.field, at.keys[0])) if known is None else known), read

    def said(self, place: t.Memory) -> Value:
        """Return a step annotation, as far as it is known."""
        if self.case is None or not isinstance(place.base, t.Var) or place.base.type != t.STATE:
            return None
        if place.field == self.world.kind_field:
            return self.case.kind
        paired = self.case.kind in self.world.paired
        return {self.world.process_field: A, self.world.peer_field: B if paired else None}.get(place.field)

    def logic(self, e: t.Logic, names: Names) -> tuple[Value, frozenset[Reach]]:
        read: frozenset[Reach] = frozenset()
        unknown = False
        for part in e.parts:
            value, more = self.of(part, names)
            if isinstance(value, int) and bool(value) == (e.op == "or"):
                return int(bool(value)), read | more
            unknown = unknown or not isinstance(value, int)
            read |= more
        return (None if unknown else int(e.op == "and")), read

    def choice(self, e: t.Choice, names: Names) -> tuple[Value, frozenset[Reach]]:
        test, read = self.of(e.test, names)
        if isinstance(test, int):
            value, more = self.of(e.then if test else e.other, names)
            return value, read | more
        value, more = self.joined(self.of(e.then, names), self.of(e.other, names))
        return value, read | more

    def computed(self, e: t.Binary | t.Compare, names: Names) -> tuple[Value, frozenset[Reach]]:
        (left, one), (right, other) = self.of(e.left, names), self.of(e.right, names)
        read = one | other
        if isinstance(left, WordPart) and isinstance(right, int):
            if e.op == ">>":
                return WordPart(left.shift + right), read
            if e.op == "&" and right == 255 and left.shift == 24:
                return (None if self.case is None else self.case.kind), read
            return None, read
        if isinstance(e, t.Compare) and e.op == "==":
            for held, value in ((left, right), (right, left)):
                if isinstance(held, Symbol) and held.of is not None and isinstance(value, int):
                    return Test(held.of, value), read
        if isinstance(left, int) and isinstance(right, int):
            return worth(e.op, left, right), read
        return None, read

    def forgotten(self, e: t.Builtin, names: Names) -> tuple[Value, frozenset[Reach]]:
        who, read = self.of(e.args[1], names)
        for name, f in self.layout.fields.items():
            if f.role is Role.VOLATILE:
                self.touch(name, self.keys(name, [who if isinstance(who, Symbol) else None]), True, 0)
        return None, read

    # --- calls -----------------------------------------------------------------------------------------

    def call(self, e: t.Call, names: Names) -> tuple[Value, frozenset[Reach]]:
        does = self.world.decoders.get(e.function, "")
        given = [self.of(value, names) for value in e.args]
        if does == "list":
            self.list_step(given)
        if does in ("list", "begin"):
            return None, frozenset()
        if does:
            return (A if does == "a" else B), frozenset()
        f = self.program.functions[e.function]
        inner: Names = dict(zip((name for name, _ in f.params), given, strict=True))
        label = [e.function] if e.function in self.world.labels else []
        path, reached, left = len(self.path), self.reached, self.left
        self.within += label
        self.reached, self.left = set(), []
        ended = self.body(f.body, inner)
        touched, self.reached = self.reached, reached | self.reached
        self.closed = all(self.left) and (ended or self.closed)
        self.left = left
        del self.path[path:]
        if label:
            self.within.pop()
        if e.function in self.world.closing and len(given) > 1 and given[1][0] == A:
            self.closed = True
        return inner.get("return", (None, frozenset()))[0], frozenset(touched).union(*(more for _, more in given))

    def list_step(self, given: Sequence[tuple[Value, frozenset[Reach]]]) -> None:
        """Record that a step is listed: `emit(out, kind, a, b, c)`."""
        if self.case is not None:
            return
        (kind, _), (a, _), (b, _) = given[1:4]
        if not isinstance(kind, int):
            self.trouble = "the kind of a step that is listed is not known"
            return
        listed = self.listed.setdefault(kind, Listed())
        reads = frozenset().union(*self.path, *(more for _, more in given))

        def called(key: Symbol | None) -> str | None:
            if key is None:
                return None
            return A.name if key == a else B.name if key == b else None

        listed.touches |= {Touch(r.field, tuple(map(called, r.keys)), r.writes, r.label) for r in reads}
        known: dict[tuple[str, str], int | Symbol] = {}
        if isinstance(a, Symbol):
            known = {
                (name, A.name): held
                for (name, of), held in self.known.items()
                if of == a.name and isinstance(held, int)
            }
            if isinstance(b, Symbol) and b.of is not None and b.of[1] == a:
                known[b.of[0], A.name] = B
        listed.known = known if listed.known is None else dict(listed.known.items() & known.items())


def operand(key: Symbol | None) -> str | None:
    """Return the operand of the step word that a process is, or None."""
    return "a" if key == A else "b" if key == B else None


def leaves(statements: Sequence[t.Stmt]) -> bool:
    """Return whether statements may leave their loop or function."""
    return any(isinstance(s, (t.Return, t.Break, t.Continue)) for s in t.statements(statements))


def worth(op: str, left: int, right: int) -> int | None:
    """Return the result of an operation on two numbers; None for operations that are not handled here."""
    if op in ("//", "%", "^", "<<") or (op == ">>" and not 0 <= right < 64):
        return None
    return int(t.OPERATORS[op](left, right))
