"""Run a typed program on terms, all its runs at once: the symbolic world.

Where control divides, both sides run on their own copy of memory and meet again: a cell that they leave different holds
an `ite` afterwards. Loops are unrolled as far as their bounds can reach. So there is one result, never a list of paths.
A value that would leave its range sets the state's `error` field to its site and is not stored, as in machine code.

Memory is in `symbolic_memory.py`, integers in `symbolic_numbers.py`; expressions are here, and the rest is in
`symbolic_statements.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any, TypeAlias

from zabspec.language.analysis import tree as t
from zabspec.language.analysis.liveness import Liveness, live_in
from zabspec.language.layout.kinds import Bool, Int, Kind, MessageUnion, Seq, SetOf, bits_for
from zabspec.language.layout.schema import Layout, Role
from zabspec.proofs import symbolic_numbers as n
from zabspec.proofs.symbolic_memory import (
    REGION,
    SLOTS,
    Cells,
    Values,
    cell_width,
    cells_of,
    message_cells,
    state_cells,
)
from zabspec.proofs.symbolic_terms import (
    Bits,
    Term,
    Truth,
    and_,
    bit,
    bit_or,
    concat,
    equal,
    extract,
    ite,
    not_,
    or_,
    shift_left,
    shift_right,
    zero_extend,
)

# A place, or which of several it is: the last one applies wherever none of the others' conditions does.
Ref: TypeAlias = tuple[tuple[Truth, int], ...]
Value: TypeAlias = Any  # an Integer, a Truth, Bits (a record or a set), a Ref, or a state's first byte


class Untranslatable(Exception):
    """A source uses what the symbolic world does not have (memory of the kernel); the message is one sentence."""


class Env:
    """The state of a symbolic execution: memory, local names, and when control is here at all.

    Attributes:
        memory: the contents of every cell.
        local: the values of names.
        alive: when control is here, among the runs that entered the function and have not returned from it; of those
            that have, it says nothing.
        touched: the cells written since the function was entered.
        frame: the running function; None outside any.
        shared: whether another run may hold the same memory and the same cells written: both are copied before a
            change.
    """

    __slots__ = ("alive", "frame", "local", "memory", "shared", "touched")

    def __init__(
        self,
        memory: Values,
        local: dict[str, Value],
        alive: Truth,
        touched: set[int],
        frame: Frame | None,
        shared: bool = False,
    ) -> None:
        self.memory, self.local, self.alive, self.touched, self.frame = memory, local, alive, touched, frame
        self.shared = shared

    def fork(self, test: Truth) -> Env:
        """Return a copy for the runs in which the test is true."""
        self.shared = True
        return Env(self.memory, self.local.copy(), and_(self.alive, test), self.touched, self.frame, True)

    def parted(self) -> Env:
        """Return a copy for a run that leaves here, whose memory is not changed any more."""
        return Env(self.memory, self.local, self.alive, self.touched, self.frame, self.shared)

    def become(self, other: Env) -> None:
        self.memory, self.local, self.alive, self.touched = other.memory, other.local, other.alive, other.touched
        self.shared = other.shared

    def own(self) -> None:
        """Make memory this run's own before changing it."""
        if self.shared:
            self.memory, self.touched, self.shared = self.memory.copy(), self.touched.copy(), False

    @property
    def here(self) -> Truth:
        """Return the condition under which control is here, of all runs."""
        frame = self.frame
        if frame is None:
            return self.alive
        here = and_(frame.entered, self.alive)
        return here if frame.returned is None else and_(here, not_(frame.returned.alive))


class Frame:
    """A running function.

    Attributes:
        entered: when it was entered, among all runs.
        returned: the runs that have returned from it, merged.
        value: their result.
        loops: the open loops, the innermost last.
    """

    def __init__(self, function: t.Function, entered: Truth) -> None:
        self.function = function
        self.kinds = dict(function.params) | function.locals
        self.live = live_in(function)
        self.entered = entered
        self.returned: Env | None = None
        self.value: Value = None
        self.loops: list[Loop] = []

    @property
    def elsewhere(self) -> tuple[Env | None, ...]:
        """The runs that left the innermost loop, or this iteration of it, and are still in the function."""
        return (self.loops[-1].broken, self.loops[-1].continued) if self.loops else ()


class Loop:
    """The runs that left a loop, and those that left this iteration of it.

    Attributes:
        after: the local names that are read behind it.
        head: those that are read from the next turn on.
    """

    def __init__(self, s: t.For | t.While, live: Liveness) -> None:
        self.after, self.head = live.after(s), live.head(s)
        self.broken: Env | None = None
        self.continued: Env | None = None


class Expressions:
    """Executes expressions symbolically.

    Args:
        program: the typed program.
        layout: the layout of its states.
        hooks: functions that are answered here instead of executed: name -> what is done with the arguments.
    """

    def __init__(
        self, program: t.TypedProgram, layout: Layout, hooks: Mapping[str, Callable[..., Value]] | None = None
    ) -> None:
        self.program = program
        self.layout = layout
        self.hooks = dict(hooks or {})
        self.cells = state_cells(layout)
        self.regions: list[Cells] = []
        self._calm: dict[int, bool] = {}
        self._rests: dict[int, t.Logic] = {}
        self._kinds: dict[int, Int | SetOf] = {}  # of each expression that is a record's field
        self._how: dict[type, Callable[..., Value]] = {}  # what runs an expression, or a statement, of a type

    # --- memory --------------------------------------------------------------------------------

    def region(self, cells: Cells) -> int:
        """Return the first byte of a new region of memory."""
        self.regions.append(cells)
        return (len(self.regions) - 1) * REGION

    def key(self, at: int, width: int) -> int:
        """Return the cell with a width at a byte of memory."""
        place, inner = divmod(at, REGION)
        return self.regions[place].key(inner, width) + (place * REGION << SLOTS)

    def keys(self, kind: Kind, at: int) -> list[tuple[int, int]]:
        """Return the cells of a value of a kind, with their widths."""
        place, inner = divmod(at, REGION)
        base = place * REGION << SLOTS
        return [(key + base, width) for key, width in cells_of(kind, self.regions[place], inner)]

    def write(self, env: Env, key: int, value: Bits | Truth) -> None:
        if env.shared:
            env.own()
        env.memory[key] = value
        env.touched.add(key)

    def write_where(self, env: Env, test: Truth, key: int, value: Bits | Truth, width: int) -> None:
        self.write(env, key, ite(test, value, env.memory[key], width))

    def report(self, bad: Truth, state: t.Expr, site: int, env: Env) -> None:
        """Record the site in the state's error field where `bad`, unless one is there already."""
        if bad is False:
            return
        key = self.key(self.expr(state, env) + self.layout.offset("error"), 32)
        old = env.memory[key]
        self.write(env, key, ite(and_(bad, equal(old, 0, 32)), site, old, 32))

    def place(self, m: t.Memory, env: Env) -> Ref:
        """Return where a place is; an index outside its bound is an error, and then the first entry."""
        base = self.expr(m.base, env)
        places: Ref = ((True, base),) if isinstance(base, int) else base
        offset = m.offset
        for term in m.terms:
            index = self.expr(term.index, env)
            good = and_(n.less_equal(0, index), n.less(index, term.bound))
            if term.length is not None:
                assert isinstance(term.length.type, t.SeqType)
                good = and_(good, n.less(index, self.length(self.expr(term.length, env), term.length.type.kind, env)))
            bad = not_(good)
            self.report(bad, m.state, term.site, env)
            if isinstance(index, n.Num):
                entries = range(max(index.lo, 0), min(index.hi, term.bound - 1) + 1)
                ways = [(n.same(index, k), k * term.stride) for k in entries if k]
                if 0 in entries or bad is not False:
                    ways.append((True, 0))
                places = self.spread(places, ways)
            else:
                offset += (0 if bad is True else index) * term.stride
        return tuple((test, at + offset) for test, at in places)

    @staticmethod
    def spread(places: Ref, ways: list[tuple[Truth, int]]) -> Ref:
        """Return every place moved in every way; the last is the default."""
        out: list[tuple[Truth, int]] = []
        for test, at in places:
            out += [(and_(test, way), at + move) for way, move in ways]
        return tuple(out)

    @staticmethod
    def exactly(places: Ref) -> Ref:
        """Return the same places, the last with its own condition."""
        if len(places) == 1:
            return ((True, places[0][1]),)
        taken: Truth = False
        out: list[tuple[Truth, int]] = []
        for test, at in places[:-1]:
            out.append((and_(test, not_(taken)), at))
            taken = or_(taken, test)
        return (*out, (not_(taken), places[-1][1]))

    def cell(self, places: Ref, width: int, env: Env) -> Bits | Truth:
        """Return what the cell with a width at a place holds."""
        value = env.memory[self.key(places[-1][1], width)]
        for test, at in reversed(places[:-1]):
            value = ite(test, env.memory[self.key(at, width)], value, width)
        return value

    def load(self, places: Ref, kind: Kind, env: Env) -> Value:
        width = cell_width(kind)
        value: Value = 0 if width < 0 else self.cell(places, width, env)
        return n.number(value, kind.lo, kind.hi) if isinstance(kind, Int) and not isinstance(kind, Bool) else value

    def length(self, places: Ref, kind: Seq, env: Env) -> n.Integer:
        if not kind.capacity:
            return 0
        return n.number(self.cell(places, bits_for(kind.capacity), env), 0, kind.capacity)

    def store(self, places: Ref, kind: Kind, value: Value, state: t.Expr, site: int, env: Env) -> None:
        """Store a value of one cell; outside its range it is an error and not stored."""
        width = cell_width(kind)
        good: Truth = True
        if isinstance(kind, Int) and not isinstance(kind, Bool):
            good = and_(n.less_equal(kind.lo, value), n.less_equal(value, kind.hi))
            value = n.raw(value, kind.lo, max(width, 1))
        if width >= 0:
            for test, at in self.exactly(places):
                self.write_where(env, and_(test, good), self.key(at, width), value, width)
        self.report(not_(good), state, site, env)

    def copy(self, to: Ref, source: Ref, kind: Kind, env: Env) -> None:
        """Copy a whole sequence or message; the two may be the same place."""
        froms = [(test, self.keys(kind, at)) for test, at in source]
        values = []
        for k, (last, width) in enumerate(froms[-1][1]):
            value = env.memory[last]
            for test, keys in reversed(froms[:-1]):
                value = ite(test, env.memory[keys[k][0]], value, width)
            values.append(value)
        for test, at in self.exactly(to):
            for (key, width), value in zip(self.keys(kind, at), values, strict=True):
                self.write_where(env, test, key, value, width)

    def zero(self, places: Ref, kind: Kind, env: Env, where: Truth = True) -> None:
        for test, at in self.exactly(places):
            for key, width in self.keys(kind, at):
                self.write_where(env, and_(test, where), key, 0 if width else False, width)

    # --- where control divides -----------------------------------------------------------------

    def join(self, test: Truth, a: Env, c: Env, kinds: Mapping[str, t.AnyType], live: Collection[str] = ()) -> Env:
        """Merge two runs into one: `a` where the test is true, else `c`, with the local names that are still read."""
        if a.memory is not c.memory:
            a.own()
            a.touched |= c.touched
        memory = a.memory
        for key in a.touched if memory is not c.memory else ():
            x, y = memory.get(key), c.memory.get(key)
            if x is not y:
                if x is None or y is None:  # a message that only one side made
                    memory[key] = x if y is None else y  # type: ignore[assignment]
                else:
                    memory[key] = ite(test, x, y, self.width_of(key))
        local = {}
        for name, y in c.local.items():
            if name in live:  # then both sides give it a value, or it had one before
                x = a.local[name]
                local[name] = x if x is y else self.choose(test, x, y, kinds[name])
        return Env(memory, local, or_(a.alive, c.alive), a.touched, a.frame, a.shared)

    def width_of(self, key: int) -> int:
        place, inner = divmod(key, REGION << SLOTS)
        return self.regions[place].all[inner].width

    def choose(self, test: Truth, x: Value, y: Value, kind: t.AnyType) -> Value:
        """Return x where the test is true, else y: values of one type."""
        if not isinstance(test, Term):
            return x if test else y
        if isinstance(kind, (t.SeqType, t.MessageType)):
            return tuple((and_(test, w), at) for w, at in self.exactly(x)) + y
        if kind == t.BOOL:
            return ite(test, x, y, 0)
        if isinstance(kind, t.RecordType):
            return ite(test, x, y, kind.record.bits)
        if isinstance(kind, t.SetType):
            return ite(test, x, y, kind.kind.count)
        if kind in (t.STATE, t.VOID, t.WORDS, t.BYTES):
            if x != y:
                raise Untranslatable("one name stands for two things in memory")
            return x
        return n.choose(test, x, y)

    def calm(self, e: t.Expr) -> bool:
        """Return whether evaluating e changes nothing, so that it may run even if its value is not used."""
        found = self._calm.get(id(e))
        if found is None:
            match e:
                case t.Call() | t.MakeMessage() | t.MakeRecord() | t.Builtin(op="forget"):
                    found = False
                case t.Binary(site=site) if site:
                    found = False
                case t.Load(place=place):
                    found = self.calm(place)
                case t.Memory():
                    inside = (isinstance(x.index, t.Const) and 0 <= x.index.value < x.bound for x in e.terms)
                    found = all(inside) and self.calm(e.base)
                case _:
                    parts = [v for v in vars(e).values() if isinstance(v, t.Expr)]
                    parts += [x for v in vars(e).values() if isinstance(v, list) for x in v if isinstance(x, t.Expr)]
                    found = all(self.calm(x) for x in parts)
            self._calm[id(e)] = found
        return found

    def either(self, test: Truth, then: t.Expr | None, other: t.Expr | None, kind: t.AnyType, env: Env) -> Value:
        """Return one of two expressions, of which only the selected one takes effect.

        None stands for the truth value that ends an `or` or an `and`.
        """

        def side(e: t.Expr | None, default: bool, where: Env) -> Value:
            return default if e is None else self.expr(e, where)

        if not isinstance(test, Term):
            return side(then, True, env) if test else side(other, False, env)
        if (then is None or self.calm(then)) and (other is None or self.calm(other)):
            return self.choose(test, side(then, True, env), side(other, False, env), kind)
        a, c = env.fork(test), env.fork(not_(test))
        x, y = side(then, True, a), side(other, False, c)
        alive, local = env.alive, env.local
        env.become(self.join(test, a, c, {}))
        env.alive, env.local = alive, local
        return self.choose(test, x, y, kind)

    # --- expressions ---------------------------------------------------------------------------

    def expr(self, e: t.Expr, env: Env) -> Value:
        """Return the value of an expression; its effects are in `env`."""
        kind = e.__class__
        how = self._how.get(kind)
        if how is None:
            how = self._how[kind] = getattr(type(self), f"on_{kind.__name__}", type(self).unknown)
        return how(self, e, env)

    def unknown(self, e: t.Expr, env: Env) -> Value:
        raise Untranslatable(f"the symbolic world has no {type(e).__name__}")

    def on_Const(self, e: t.Const, env: Env) -> Value:
        return bool(e.value) if e.type == t.BOOL else e.value

    def on_Var(self, e: t.Var, env: Env) -> Value:
        return env.local[e.name]

    def on_Load(self, e: t.Load, env: Env) -> Value:
        return self.load(self.place(e.place, env), e.place.kind, env)

    def on_Memory(self, e: t.Memory, env: Env) -> Value:
        return self.place(e, env)

    def on_Binary(self, e: t.Binary, env: Env) -> Value:
        left, right = self.expr(e.left, env), self.expr(e.right, env)
        if e.state is not None:
            self.report(n.overflows(e.op, left, right), e.state, e.site, env)
        return n.BINARY[e.op](left, right)

    on_OneOfRole = on_Binary

    def on_Compare(self, e: t.Compare, env: Env) -> Value:
        left, right = self.expr(e.left, env), self.expr(e.right, env)
        kind = e.left.type
        if kind is t.INT or kind == t.INT or isinstance(kind, t.NameType):
            return n.COMPARE[e.op](left, right)
        width = 0
        if isinstance(kind, t.RecordType):
            width = kind.record.bits
            if e.op not in ("==", "!="):
                words = (n.number(x, 0, (1 << width) - 1) for x in (left, right))
                return n.COMPARE[e.op](*words)
        elif isinstance(kind, t.SetType):
            width = kind.kind.count
        same = equal(left, right, width)
        return same if e.op == "==" else not_(same)

    def on_Not(self, e: t.Not, env: Env) -> Value:
        return not_(self.expr(e.value, env))

    def on_Logic(self, e: t.Logic, env: Env) -> Value:
        first, *rest = e.parts
        value = self.expr(first, env)
        if not rest:
            return value
        more = rest[0] if len(rest) == 1 else self.without_first(e)
        if e.op == "and":
            return self.either(value, more, None, t.BOOL, env)
        return self.either(value, None, more, t.BOOL, env)

    on_InRole = on_Logic

    def without_first(self, e: t.Logic) -> t.Logic:
        """Return the rest of an `and` or an `or`, cached.

        `calm` identifies an expression by its address in Python, which another may get once it is freed.
        """
        found = self._rests.get(id(e))
        if found is None:
            found = self._rests[id(e)] = t.Logic(e.type, e.op, e.parts[1:])
        return found

    def on_OneOfSet(self, e: t.OneOfSet, env: Env) -> Value:
        return self.on_Choice(e, env)

    def on_Choice(self, e: t.Choice, env: Env) -> Value:
        return self.either(self.expr(e.test, env), e.then, e.other, e.type, env)

    def on_Call(self, e: t.Call, env: Env) -> Value:
        args = [self.expr(a, env) for a in e.args]
        hook = self.hooks.get(e.function)
        return self.run(self.program.functions[e.function], args, env) if hook is None else hook(env, *args)

    def run(self, function: t.Function, args: list[Value], env: Env) -> Value:
        raise NotImplementedError  # pragma: no cover - statements have it

    def on_Builtin(self, e: t.Builtin, env: Env) -> Value:
        args = [self.expr(a, env) for a in e.args]
        if e.op == "forget":
            inside = and_(n.less_equal(0, args[1]), n.less(args[1], self.layout.schema.nodes))
            self.report(not_(inside), e.args[0], args.pop(), env)
        if e.op == "count_bits" and n.span(args[0])[0] >= 0 and n.span(args[0])[1] >> self.layout.schema.nodes == 0:
            return self.members(args[0])
        return getattr(self, f"builtin_{e.op}", self.no_builtin)(args, env)

    def members(self, mask: Value) -> Value:
        """Return how many processes a mask has, for the world's `is_quorum`."""
        count: Value = 0
        for p in range(self.layout.schema.nodes):
            count = n.add(count, n.bit_and(n.right(mask, p), 1))
        return count

    def no_builtin(self, args: list[Value], env: Env) -> Value:
        raise Untranslatable("the symbolic world has no operations on the kernel's memory")

    def builtin_min(self, args: list[Value], env: Env) -> Value:
        return n.minimum(*args)

    def builtin_max(self, args: list[Value], env: Env) -> Value:
        return n.maximum(*args)

    def builtin_forget(self, args: list[Value], env: Env) -> Value:
        """Reset every volatile field of a process to the lowest value of its range."""
        base, p = args
        whose = [(n.same(p, q), q) for q in range(self.layout.schema.nodes)]
        for field in self.layout.schema.fields:
            if field.role is Role.VOLATILE:
                for index, at in self.layout.elements(field.name):
                    self.zero(((True, base + at),), field.kind, env, whose[index[0]][0])

    def on_RecordField(self, e: t.RecordField, env: Env) -> Value:
        word = self.expr(e.value, env)
        assert isinstance(e.value.type, t.RecordType)
        if not e.bits:
            return e.lo
        kind = self._kinds.get(id(e))
        if kind is None:
            kind = self._kinds[id(e)] = e.value.type.record.fields[e.name]
        if isinstance(kind, Bool):
            return bit(word, e.shift)
        held = extract(word, e.shift, e.bits)
        return held if isinstance(kind, SetOf) else n.number(held, kind.lo, kind.hi)

    def on_MakeRecord(self, e: t.MakeRecord, env: Env) -> Value:
        """Return the record's word, the first field highest; a field outside its range is an error, and zero."""
        word: Bits = 0
        above = e.record.bits  # where the last field that was put there begins
        for name, value, site in e.parts:
            kind = e.record.fields[name]
            v = self.expr(value, env)
            if isinstance(kind, Bool):
                held: Bits = ite(v, 1, 0, 1)
            elif isinstance(kind, SetOf):
                held = v
            else:
                good = and_(n.less_equal(kind.lo, v), n.less_equal(v, kind.hi))
                self.report(not_(good), e.state, site, env)
                held = ite(good, n.raw(v, kind.lo, kind.bits), 0, kind.bits)
            if kind.bits:
                at = e.record.shift(name)
                gap = above - at - kind.bits
                if gap:
                    word = concat(word, 0, gap, e.record.bits - above + gap)
                word = concat(word, held, kind.bits, e.record.bits - at)
                above = at
        return word if not above else concat(word, 0, above, e.record.bits)

    def on_MakeMessage(self, e: t.MakeMessage, env: Env) -> Value:
        assert isinstance(e.type, t.MessageType)
        union: MessageUnion = e.type.union
        values = [self.expr(value, env) for _, _, value, _ in e.parts]
        base = self.region(message_cells(union))
        tag, *rest = self.keys(union, base)
        self.write(env, tag[0], e.tag)
        for key, width in rest:
            self.write(env, key, 0 if width else False)
        for (offset, kind, _, site), value in zip(e.parts, values, strict=True):
            if kind.scalar:
                self.store(((True, base + offset),), kind, value, e.state, site, env)
            else:
                self.copy(((True, base + offset),), value, kind, env)
        return ((True, base),)

    def on_SetHas(self, e: t.SetHas, env: Env) -> Value:
        mask, item = self.expr(e.value, env), self.expr(e.item, env)
        assert isinstance(e.value.type, t.SetType)
        count = e.value.type.kind.count
        if not isinstance(item, n.Num):
            return 0 <= item < count and bit(mask, item)
        inside = and_(n.less_equal(0, item), n.less(item, count))
        width = max(count, item.hi.bit_length() + 1)
        return and_(inside, bit(shift_right(zero_extend(mask, width), n.raw(item, 0, width), width), 0))

    def on_SetSize(self, e: t.SetSize, env: Env) -> Value:
        mask = self.expr(e.value, env)
        assert isinstance(e.value.type, t.SetType)
        total: n.Integer = 0
        for k in range(e.value.type.kind.count):
            total = n.add(total, n.number(extract(mask, k, 1), 0, 1))
        return total

    def on_SetWith(self, e: t.SetWith, env: Env) -> Value:
        mask, item = self.expr(e.value, env), self.expr(e.item, env)
        assert isinstance(e.value.type, t.SetType)
        width = e.value.type.kind.count
        return bit_or(mask, shift_left(1, item if isinstance(item, int) else n.raw(item, 0, width), width), width)

    def on_IsQuorum(self, e: t.IsQuorum, env: Env) -> Value:
        """Return a quorum's bit in the table of the system, of which each member selects a half."""
        system = self.layout.schema.quorums
        assert system is not None
        if not isinstance(e.value.type, t.SetType):
            raise Untranslatable("a set of processes that is a mask")
        mask = self.expr(e.value, env)
        halves: list[Truth] = [system.has(m) for m in range(1 << system.nodes)]
        for p in range(system.nodes):
            pairs = zip(halves[::2], halves[1::2], strict=True)
            test = bit(mask, p)
            halves = [or_(and_(test, there), and_(not_(test), without)) for without, there in pairs]
        return halves[0]

    def on_SeqLength(self, e: t.SeqLength, env: Env) -> Value:
        assert isinstance(e.seq.type, t.SeqType)
        return self.length(self.expr(e.seq, env), e.seq.type.kind, env)

    def on_MessageKind(self, e: t.MessageKind, env: Env) -> Value:
        assert isinstance(e.message.type, t.MessageType)
        union = e.message.type.union
        return n.number(self.cell(self.expr(e.message, env), union.tag_bits, env), 0, len(union.messages))

    def on_SameSeq(self, e: t.SameSeq, env: Env) -> Value:
        """Compare sequences, which are equal when every cell is: unused elements are zero."""
        assert isinstance(e.left.type, t.SeqType)
        kind = e.left.type.kind
        result: Truth = True
        sides = [[(w, self.keys(kind, at)) for w, at in self.expr(x, env)] for x in (e.left, e.right)]
        for k, (_, width) in enumerate(sides[0][-1][1]):
            pair = []
            for ways in sides:
                value = env.memory[ways[-1][1][k][0]]
                for test, keys in reversed(ways[:-1]):
                    value = ite(test, env.memory[keys[k][0]], value, width)
                pair.append(value)
            result = and_(result, equal(pair[0], pair[1], width))
        return result
