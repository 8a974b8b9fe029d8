"""Random expressions of the language, by type."""

from __future__ import annotations

from random import Random
from typing import TypeVar

from tests.second.generator.kinds import (
    Cell,
    Flag,
    Function,
    Kind,
    Mail,
    Members,
    Number,
    Numbers,
    Process,
    Record,
    Row,
    Value,
)
from tests.second.generator.scope import CLAIM, GUARD, HANDLER, HISTORY, PURE, Scope, Vocabulary

T = TypeVar("T")
WIDE = 99  # a local's value is taken to lie within -WIDE..WIDE
LARGE = 1 << 40  # beyond this no further product is formed


class Expressions:
    """Draws expressions.

    Args:
        random: what decides.
        words: what the protocol declares.
    """

    def __init__(self, random: Random, words: Vocabulary) -> None:
        self.random, self.words = random, words
        self.nested = 0  # calls around, of which one is an argument of the other

    def chance(self, p: float) -> bool:
        return self.random.random() < p

    def one(self, *given: T) -> T:
        return self.random.choice(given)

    # --- places -------------------------------------------------------------------------------------

    def place(self, scope: Scope, cell: Cell) -> str | None:
        """A place of a field, all its indices given; None: there is no process to index by."""
        text = f"{scope.state}.{cell.name}"
        for position, axis in enumerate(cell.indices):
            if axis == "NODE":
                own = cell.of_process and position == 0 and scope.what in (HANDLER, GUARD)
                index = scope.own if own else self.definite(scope)
                if not index:
                    return None
                text += f"[{index}]"
            else:
                text += f"[{self.index(scope, int(axis))}]"
        return text

    def index(self, scope: Scope, size: int) -> str:
        """A number within 0..size-1."""
        inside = [n for n, (low, high) in scope.names.numbers.items() if low >= 0 and high < size]
        if inside and self.chance(0.7):
            return self.one(*inside)
        some = [n for n, (low, high) in scope.names.numbers.items() if low >= 0]
        if some and self.chance(0.3):
            return f"min({self.one(*some)}, {size - 1})"
        return str(self.random.randrange(size))

    def cells(self, scope: Scope, *kinds: type) -> list[Cell]:
        """The fields of some kinds that may be read here."""
        return [c for c in self.words.cells if isinstance(c.kind, kinds) and scope.reads(c)]

    def read(self, scope: Scope, *kinds: type) -> tuple[str, Kind] | None:
        """A place of one of these kinds, with its kind: of the state, or of a message."""
        found: list[tuple[str, Kind]] = []
        cells = self.cells(scope, *kinds)
        if cells:
            cell = self.one(*cells)
            place = self.place(scope, cell)
            if place is not None:
                found.append((place, cell.kind))
        for name, mail in scope.names.mail.items():
            found += [(f"{name}.{part}", kind) for part, kind in mail.parts.items() if isinstance(kind, kinds)]
        found += [(name, kind) for name, kind in scope.names.rows.items() if isinstance(kind, kinds)]
        return self.one(*found) if found else None

    def element(self, scope: Scope, *kinds: type) -> tuple[str, Kind] | None:
        """An element of a sequence, within its capacity (past its length it is the low end)."""
        found = self.read(scope, Row)
        if found is None or not isinstance(found[1], Row) or not isinstance(found[1].element, kinds):
            return None
        return f"{found[0]}[{self.index(scope, found[1].capacity)}]", found[1].element

    # --- processes ----------------------------------------------------------------------------------

    def definite(self, scope: Scope) -> str:
        """A name that holds a process; empty: there is none."""
        known = [*scope.names.processes, *([scope.own] if scope.own else [])]
        return self.one(*known) if known else ""

    def process(self, scope: Scope) -> str:
        """A process, or nobody."""
        ways = ["NOBODY", *scope.names.perhaps]
        definite = self.definite(scope)
        ways += [definite] * 3 if definite else []
        found = self.read(scope, Process)
        if found is not None:
            ways += [found[0]] * 3
        made = self.element(scope, Process)
        if made is not None:
            ways.append(made[0])
        for helper in self.callable(scope, Process):
            ways.append(self.call(scope, helper, 1))
        if not self.words.symmetric and definite and self.chance(0.15):
            return self.one(f"({definite} + 1) % s.NODES".replace("s.", f"{scope.state}."), "0")
        if definite and self.chance(0.08):
            return f"{self.one(*ways)} if {self.truth(scope, 1)} else {self.one(*ways)}"
        return self.one(*ways)

    # --- numbers ------------------------------------------------------------------------------------

    def number(self, scope: Scope, depth: int = 2) -> Value:
        """An integer."""
        if depth <= 0 or self.chance(0.3):
            return self.leaf(scope)
        a, b = self.number(scope, depth - 1), self.number(scope, depth - 1)
        large = max(map(abs, (a.low, a.high, b.low, b.high))) > LARGE
        ways = ["+", "+", "-", "min", "max", "if"]
        ways += [] if large else ["*"]
        ways += ["//", "%", "neg", "bits", "shift"] if self.chance(0.45) else []
        match self.one(*ways):
            case "+":
                return Value(f"({a.text} + {b.text})", a.low + b.low, a.high + b.high)
            case "-":
                return Value(f"({a.text} - {b.text})", a.low - b.high, a.high - b.low)
            case "*":
                corners = [x * y for x in (a.low, a.high) for y in (b.low, b.high)]
                return Value(f"({a.text} * {b.text})", min(corners), max(corners))
            case "//":
                by = self.random.randint(1, 3)
                return Value(f"({a.text} // {by})", a.low // by, a.high // by)
            case "%":
                by = self.random.randint(2, 4)
                return Value(f"({a.text} % {by})", 0, by - 1)
            case "neg":
                return Value(f"(-{a.text})", -a.high, -a.low)
            case "bits" if a.low >= 0 and b.low >= 0:
                top = (1 << max(a.high, b.high).bit_length()) - 1
                return Value(f"({a.text} {self.one('&', '|', '^')} {b.text})", 0, top)
            case "shift" if a.low >= 0 and not large:
                by = self.random.randint(0, 3)
                if self.chance(0.5):
                    return Value(f"({a.text} << {by})", a.low << by, a.high << by)
                return Value(f"({a.text} >> {by})", a.low >> by, a.high >> by)
            case "min":
                return Value(f"min({a.text}, {b.text})", min(a.low, b.low), min(a.high, b.high))
            case "max":
                return Value(f"max({a.text}, {b.text})", max(a.low, b.low), max(a.high, b.high))
            case "if":
                test = self.truth(scope, 1)
                return Value(f"({a.text} if {test} else {b.text})", min(a.low, b.low), max(a.high, b.high))
        return a

    def leaf(self, scope: Scope) -> Value:
        """A number that is not made of others."""
        ways: list[Value] = [self.constant(scope)]
        ways += [Value(name, low, high) for name, (low, high) in scope.names.numbers.items()] * 2
        for _ in range(3):
            found = self.read(scope, Number)
            if found is not None and isinstance(found[1], Number):
                ways.append(Value(found[0], found[1].low, found[1].high))
        found = self.read(scope, Members, Numbers, Row)
        if found is not None:
            most = {Numbers: lambda k: k.count, Row: lambda k: k.capacity}.get(type(found[1]), lambda _: 7)(found[1])
            ways.append(Value(f"len({found[0]})", 0, most))
        made = self.element(scope, Number)
        if made is not None and isinstance(made[1], Number):
            ways.append(Value(made[0], made[1].low, made[1].high))
        record = self.record_place(scope)
        if record is not None:
            name, part = self.one(*record[1].parts)
            ways.append(Value(f"{record[0]}.{name}", part.low, part.high))
        ways += self.gathered(scope)
        for helper in self.callable(scope, Number):
            assert isinstance(helper.returns, Number)
            ways.append(Value(self.call(scope, helper, 1), helper.returns.low, helper.returns.high))
        if scope.what == CLAIM and self.words.budgets and self.chance(0.2):
            name = self.one(*self.words.budgets)
            ways.append(Value(f"{scope.state}.{name}_left", 0, 15))
        return self.one(*ways)

    def constant(self, scope: Scope) -> Value:
        """A number of the text, or of the question."""
        if scope.what != "pure" and self.chance(0.12):
            own = [name.upper() for name in self.words.budgets]
            name = self.one("NODES", "MAJORITY", *own)
            return Value(f"{scope.state}.{name}", 0, 15)
        if self.words.constants and self.chance(0.25):
            name = self.one(*self.words.constants)
            return Value(name, self.words.constants[name], self.words.constants[name])
        k = self.one(0, 1, 1, 2, 2, 3)
        return Value(str(k), k, k)

    # --- records ------------------------------------------------------------------------------------

    def record_place(self, scope: Scope, kind: Record | None = None) -> tuple[str, Record] | None:
        """A place or name that holds a record (of that kind)."""
        found: list[tuple[str, Record]] = list(scope.names.records.items())
        for place in (self.read(scope, Record), self.element(scope, Record)):
            if place is not None and isinstance(place[1], Record):
                found.append((place[0], place[1]))
        for helper in self.callable(scope, Record):
            assert isinstance(helper.returns, Record)
            if self.chance(0.3):
                found.append((self.call(scope, helper, 1), helper.returns))
        fitting = [f for f in found if kind is None or f[1] == kind]
        return self.one(*fitting) if fitting else None

    def record(self, scope: Scope, kind: Record) -> str:
        """A record of a kind."""
        known = self.record_place(scope, kind)
        if known is not None and self.chance(0.5):
            return known[0]
        parts = [f"{name}={self.within(scope, part)}" for name, part in kind.parts]
        return f"{kind.name}({', '.join(parts)})"

    def within(self, scope: Scope, kind: Number, depth: int = 2) -> str:
        """A number that lies in a kind's range, unless the protocol is one that errs."""
        value = self.number(scope, depth)
        if kind.low <= value.low and value.high <= kind.high:
            return value.text
        if self.words.errors and self.chance(0.3):
            return value.text
        if kind.low == 0 and self.chance(0.2):
            return f"({value.text} % {kind.high + 1})"
        text = value.text
        if value.high > kind.high:
            text = f"min({text}, {kind.high})"
        if value.low < kind.low:
            text = f"max({text}, {kind.low})"
        return text

    # --- truth --------------------------------------------------------------------------------------

    def truth(self, scope: Scope, depth: int = 2) -> str:
        """A truth value."""
        if depth > 0 and self.chance(0.35):
            left, right = self.truth(scope, depth - 1), self.truth(scope, depth - 1)
            return self.one(f"({left} and {right})", f"({left} or {right})", f"not ({left})")
        ways = [
            self.compared,
            self.compared,
            self.compared,
            self.flagged,
            self.same_process,
            self.member,
            self.emptiness,
        ]
        ways += [
            self.some,
            self.among,
            self.chained,
            self.records_compared,
            self.rows_compared,
            self.sets_compared,
            self.asked,
        ]
        for _ in range(6):
            text = self.one(*ways)(scope)
            if text is not None:
                return text
        return self.compared(scope)

    def led(self, scope: Scope, depth: int = 2) -> str:
        """A truth value that a statement begins with: a set of processes may be made before it."""
        if scope.what == PURE or not self.words.sets or not self.chance(self.words.sets):
            return self.truth(scope, depth)
        a, k, op = self.those(scope), self.random.randint(0, 2), self.one("==", "!=", "<", "<=", ">", ">=")
        ways = [
            f"len({a}) {op} {k}",
            f"not len({a}) {op} {k}",
            f"max(len({a}), 1) {op} {k}",
            f"len({a}) {op} len({self.those(scope)})",
        ]
        ways += [f"len({a}) + {self.leaf(scope).text} {op} {k}", f"len({a}) {op} {k} and {self.truth(scope, depth)}"]
        ways += [f"{self.truth(scope, depth)} {self.one('and', 'or')} len({a}) {op} {k}"]
        ways += [f"({self.leaf(scope).text} if len({a}) {op} {k} else {self.leaf(scope).text}) {op} 1"]
        if definite := self.definite(scope):
            ways.append(f"{definite} {self.one('in', 'not in')} {a}")
        if (found := self.read(scope, Members)) is not None:
            ways.append(f"{a} {self.one('==', '!=')} {found[0]}")
        return self.one(*ways)

    def those(self, scope: Scope) -> str:
        """A set of processes."""
        with scope.block(loop=True):
            q = scope.fresh("q")
            scope.names.processes.append(q)
            return f"{{{q} for {q} in range({scope.state}.NODES) if {self.truth(scope, 1)}}}"

    # --- what a loop or a comprehension goes through ------------------------------------------------

    def over_numbers(self, scope: Scope) -> str | None:
        name = scope.fresh("k")
        bounds = [("2", 2), ("3", 3)]
        found = self.read(scope, Members, Numbers, Row)
        if found is not None:
            most = found[1].capacity if isinstance(found[1], Row) else getattr(found[1], "count", 4)
            bounds.append((f"len({found[0]})", most))
        number = self.read(scope, Number)
        if number is not None and isinstance(number[1], Number) and number[1].low == 0 and "m." not in number[0]:
            bounds.append((number[0], number[1].high))
            bounds.append((f"min({number[0]}, 2)", 2))
        text, most = self.one(*bounds)
        start = "1, " if most > 1 and self.chance(0.2) else ""
        scope.names.numbers[name] = (1 if start else 0), max(0, most - 1)
        scope.names.fixed.add(name)
        return f"for {name} in range({start}{text}):"

    def over_processes(self, scope: Scope) -> str | None:
        if scope.what == "pure":
            return None
        name = scope.fresh("q")
        scope.names.processes.append(name)
        return f"for {name} in range({scope.state}.NODES):"

    def over_row(self, scope: Scope) -> str | None:
        found = self.read(scope, Row)
        if found is None or not isinstance(found[1], Row) or "(" in found[0]:
            return None
        kind = found[1].element
        name = scope.fresh("v")
        if isinstance(kind, Number):
            scope.names.numbers[name] = kind.low, kind.high
            scope.names.fixed.add(name)
        elif isinstance(kind, Flag):
            scope.names.flags[name] = False
        elif isinstance(kind, Record):
            scope.names.records[name] = kind
        else:
            scope.names.perhaps.append(name)
        return f"for {name} in {found[0]}:"

    def over_set(self, scope: Scope) -> str | None:
        found = self.read(scope, Members, Numbers)
        if found is None or "(" in found[0]:
            return None
        name = scope.fresh("i")
        if isinstance(found[1], Members):
            scope.names.processes.append(name)
        else:
            assert isinstance(found[1], Numbers)
            scope.names.numbers[name] = 0, found[1].count - 1
            scope.names.fixed.add(name)
        return f"for {name} in {found[0]}:"

    def through(self, scope: Scope) -> str:
        """The loops of a comprehension, with the names that they give a value."""
        made = [self.over_numbers, self.over_processes, self.over_processes, self.over_row, self.over_set]
        text = ""
        for _ in range(self.one(1, 1, 1, 2)):
            head = self.one(*made)(scope) or self.over_numbers(scope)
            assert head is not None
            text += f" {head.removesuffix(':')}"
            if self.chance(0.4):
                text += f" if {self.truth(scope, 0)}"
        return text

    def some(self, scope: Scope) -> str | None:
        """Whether something is so of some, or of all, that a comprehension goes through."""
        if not self.words.sets or scope.loops > 1:
            return None
        with scope.block(loop=True):
            through = self.through(scope)
            return f"{self.one('', 'not ')}{self.one('any', 'all')}({self.truth(scope, 1)}{through})"

    def gathered(self, scope: Scope) -> list[Value]:
        """A number that a comprehension comes to."""
        if not self.words.sets or scope.loops > 1 or not self.chance(self.words.sets):
            return []
        with scope.block(loop=True):
            through, which = self.through(scope), self.one("sum", "max", "min")
            if which == "sum":
                return [Value(f"sum(1{through})", 0, 63)]
            of, least = self.leaf(scope), self.random.randint(0, 2)
            text = f"{which}(({of.text}{through}), default={least})"
            return [Value(text, min(of.low, least), max(of.high, least))]

    def compared(self, scope: Scope) -> str:
        """Two numbers compared."""
        a = self.leaf(scope) if self.chance(0.7) else self.number(scope, 1)
        found = self.read(scope, Number)
        if found is not None and isinstance(found[1], Number):
            if found[1].names and self.chance(0.7):
                return f"{found[0]} {self.one('==', '!=')} {self.one(*found[1].names)}"
            a = Value(found[0], found[1].low, found[1].high)
        b = self.leaf(scope)
        if b.text == a.text or self.chance(0.5):
            low = min(4, max(0, a.low))
            k = self.random.randint(low, max(low, min(a.high, 4)))
            b = Value(str(k), k, k)
        op = self.one("==", "==", "!=", "<", "<=", ">", ">=")
        return f"{a.text} {op} {b.text}"

    def flagged(self, scope: Scope) -> str | None:
        found = self.read(scope, Flag)
        names = list(scope.names.flags)
        if found is not None:
            names.append(found[0])
        made = self.element(scope, Flag)
        names += [made[0]] if made is not None else []
        if not names:
            return None
        name = self.one(*names)
        return name if self.chance(0.7) else f"not {name}"

    def same_process(self, scope: Scope) -> str | None:
        definite = self.definite(scope)
        if not definite:
            return None
        if not self.words.symmetric and self.chance(0.3):
            others = [p for p in scope.names.processes if p != definite]
            other = self.one(*others) if others else str(self.random.randrange(2))
            return f"{definite} {self.one('<', '==', '>', '>=', '!=')} {other}"
        left, right = self.process(scope), self.process(scope)
        if " if " in left or " if " in right:
            return None
        return f"{left} {self.one('==', '!=')} {right}" if left != right else None

    def member(self, scope: Scope) -> str | None:
        """Whether something is in a set or a sequence."""
        word = self.one("in", "in", "not in")
        found = self.read(scope, Members, Numbers, Row)
        if found is None:
            return None
        place, kind = found
        if isinstance(kind, Members):
            definite = self.definite(scope)
            return f"{definite} {word} {place}" if definite else None
        if isinstance(kind, Numbers):
            return f"{self.leaf(scope).text} {word} {place}"
        assert isinstance(kind, Row)
        item = self.simple(scope, kind.element)
        return f"{item} {word} {place}" if item and "(" not in place else None

    def simple(self, scope: Scope, kind: Kind) -> str | None:
        """A value that calls nothing."""
        if isinstance(kind, Number):
            return self.one(*scope.names.numbers, str(self.random.randint(max(0, kind.low), max(0, kind.high))))
        if isinstance(kind, Flag):
            return self.one("True", "False", *scope.names.flags)
        if isinstance(kind, Process):
            return self.definite(scope) or None
        known = [n for n, k in scope.names.records.items() if k == kind]
        return self.one(*known) if known else None

    def emptiness(self, scope: Scope) -> str | None:
        found = self.read(scope, Members, Numbers, Row)
        if found is None:
            return None
        bounds = ["0", "1", "1", "2"] + ([f"{scope.state}.MAJORITY"] if scope.state else [])
        return f"len({found[0]}) {self.one('>', '==', '>=', '<')} {self.one(*bounds)}"

    def among(self, scope: Scope) -> str | None:
        """One of a few values."""
        found = self.read(scope, Number)
        if found is None or not isinstance(found[1], Number) or "(" in found[0] or not self.chance(0.5):
            return None
        few = sorted({self.random.randint(found[1].low, found[1].high) for _ in range(2)})
        inner = ", ".join(map(str, few)) + ("," if len(few) == 1 else "")
        return f"{found[0]} {self.one('in', 'not in')} ({inner})"

    def chained(self, scope: Scope) -> str | None:
        found = self.read(scope, Number)
        if found is None or "(" in found[0] or not self.chance(0.4):
            return None
        return f"{self.random.randint(0, 1)} <= {found[0]} {self.one('<', '<=')} {self.random.randint(1, 3)}"

    def records_compared(self, scope: Scope) -> str | None:
        a = self.record_place(scope)
        if a is None:
            return None
        ops = ["==", "!="] + (["<", "<=", ">", ">="] if a[1].ordered else [])
        return f"{a[0]} {self.one(*ops)} {self.record(scope, a[1])}"

    def rows_compared(self, scope: Scope) -> str | None:
        a, b = self.read(scope, Row), self.read(scope, Row)
        if a is None or b is None or a[0] == b[0]:
            return None
        assert isinstance(a[1], Row)
        assert isinstance(b[1], Row)
        if a[1].element != b[1].element:
            return None
        op, element = self.one("==", "!="), a[1].element
        if isinstance(element, Number) and 0 <= element.low <= element.high < 63 and len(a[0] + b[0]) % 2:
            return f"{{v for v in {a[0]}}} {op} set({b[0]})"  # which draws nothing
        return f"{a[0]} {op} {b[0]}"

    def few(self, scope: Scope, kind: Members | Numbers) -> str | None:
        """A set of one or two members that are written out."""
        if isinstance(kind, Members):
            known = [self.definite(scope) for _ in range(2)]
        else:
            known = [str(self.random.randrange(kind.count)), self.within(scope, Number(0, kind.count - 1))]
        return f"{{{', '.join(known[: self.random.randint(1, 2)])}}}" if all(known) else None

    def sets_compared(self, scope: Scope) -> str | None:
        if self.words.sets and self.chance(self.words.sets):
            found = self.read(scope, Members, Numbers)
            few = self.few(scope, found[1]) if found and isinstance(found[1], (Members, Numbers)) else None
            return f"{found[0]} {self.one('<', '<=', '>', '>=', '==')} {few}" if found and few else None
        a, b = self.read(scope, Members, Numbers), self.read(scope, Members, Numbers)
        return f"{a[0]} {self.one('==', '!=')} {b[0]}" if a and b and a[0] != b[0] and a[1] == b[1] else None

    def asked(self, scope: Scope) -> str | None:
        """A helper that says yes or no, or whether a process is down."""
        if scope.what == CLAIM and self.definite(scope) and self.chance(0.2):
            return f"is_down({scope.state}, {self.definite(scope)})"
        helpers = self.callable(scope, Flag)
        return self.call(scope, self.one(*helpers), 1) if helpers else None

    # --- calls --------------------------------------------------------------------------------------

    def callable(self, scope: Scope, kind: type) -> list[Function]:
        """The functions that may be called here for a value of a kind: seldom any, so that calls do not grow."""
        if self.nested > 0 or not self.chance(0.5):
            return []
        found: list[Function] = list(self.words.pures)
        if scope.what in (HANDLER, GUARD) and scope.own:
            found += self.words.helpers
        if scope.what == CLAIM and self.definite(scope):
            found += self.words.judges
        fitting = [f for f in found if isinstance(f.returns, kind)]
        return fitting[-3:] if scope.what != HISTORY else [f for f in fitting if not f.stateful]

    def call(self, scope: Scope, helper: Function, depth: int) -> str:
        self.nested += 1
        given = [scope.state] if helper.stateful else []
        if helper.own:
            given.append(scope.own if scope.what in (HANDLER, GUARD) else self.definite(scope))
        for _, kind in helper.parameters:
            given.append(self.argument(scope, kind, depth))
        self.nested -= 1
        return f"{helper.name}({', '.join(given)})"

    def argument(self, scope: Scope, kind: Kind, depth: int) -> str:
        """A value of a kind, for a parameter or a part of a message."""
        if isinstance(kind, Number):
            return self.within(scope, kind, depth - 1)
        if isinstance(kind, Flag):
            return self.truth(scope, max(0, depth - 1))
        if isinstance(kind, Process):
            return self.process(scope)
        if isinstance(kind, Record):
            parts = [f"{name}={self.within(scope, part, 0)}" for name, part in kind.parts]
            known = [n for n, k in scope.names.records.items() if k == kind]
            return self.one(*known) if known else f"{kind.name}({', '.join(parts)})"
        raise AssertionError(kind)

    def message(self, scope: Scope, mail: Mail) -> str | None:
        """A message of a kind; None: nothing here fills one of its parts."""
        parts = []
        for name, kind in mail.parts.items():
            if isinstance(kind, (Members, Numbers, Row)):
                fitting = [c for c in self.cells(scope, type(kind)) if c.kind == kind]
                place = self.place(scope, self.one(*fitting)) if fitting else None
                if place is None:
                    return None
                parts.append(f"{name}={place}")
            else:
                parts.append(f"{name}={self.argument(scope, kind, 2)}")
        return f"{mail.name}({', '.join(parts)})"
