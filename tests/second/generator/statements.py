"""Random statements of the language: what handlers, observations and the environment do."""

from __future__ import annotations

import re

from tests.second.generator.expressions import WIDE, Expressions
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
)
from tests.second.generator.scope import HANDLER, Scope

Lines = list[str]
INDENT = "    "
# a value, and no sequence, for a place whose own text calls nothing
SIMPLE = re.compile(r"(s\.[^=()\n]+) = (?!.*\[(?:\d*:|[^\]]* for )|.*\+ \[)([^\n\[][^\n]*)")


def indented(lines: Lines) -> Lines:
    """Lines, one level further in."""
    return [INDENT + line for line in lines]


class Statements(Expressions):
    """Draws statements."""

    def body(self, scope: Scope, count: int, depth: int = 2) -> Lines:
        """Some statements, at least one."""
        lines: Lines = []
        for _ in range(count):
            lines += self.statement(scope, depth)
        return lines or ["pass"]

    def statement(self, scope: Scope, depth: int) -> Lines:
        ways = [self.write] * 6 + [self.local] * 2 + ([self.asserted] if self.words.sets else [])
        if scope.what == HANDLER:
            ways += [self.show] * 3 + [self.do, self.choose, self.force]
            ways += [self.send] * (3 if scope.may_send and scope.loops < 2 else 0)
        for _ in range(6):
            if depth > 0 and self.chance(0.4):
                made = self.one(self.branch, self.branch, self.loop, self.carried)(scope, depth - 1)
            else:
                made = self.one(*ways)(scope)
            if made:
                return made
        return ["pass"]

    # --- control ------------------------------------------------------------------------------------

    def inner(self, scope: Scope, depth: int, loop: bool = False) -> Lines:
        with scope.block(loop):
            return indented(self.body(scope, self.random.randint(1, 2), depth))

    def branch(self, scope: Scope, depth: int) -> Lines:
        lines = [f"if {self.led(scope)}:", *self.inner(scope, depth)]
        if self.chance(0.25):
            lines += [f"elif {self.led(scope, 1)}:", *self.inner(scope, depth)]
        if self.chance(0.35):
            lines += ["else:", *self.inner(scope, depth)]
        return lines

    def loop(self, scope: Scope, depth: int) -> Lines:
        """A loop over numbers, processes, a sequence or a set, with `break` and `continue` at times."""
        if scope.loops > 1:
            return []
        made = [self.over_numbers, self.over_processes, self.over_processes, self.over_row, self.over_set]
        with scope.block(loop=True):
            head = self.one(*made)(scope)
            if head is None:
                return []
            lines: Lines = []
            if self.chance(0.25):
                lines += [f"if {self.led(scope, 1)}:", f"{INDENT}{self.one('break', 'continue')}"]
            lines += self.body(scope, self.random.randint(1, 2), depth)
            if self.chance(0.1):
                lines += [f"if {self.truth(scope, 1)}:", f"{INDENT}break"]
            return [head, *indented(lines)]

    def carried(self, scope: Scope, depth: int) -> Lines:
        """A local that one round of a loop hands to the next, through an `if`, and a use of it afterwards."""
        if scope.loops > 1 or scope.what == "pure":
            return []
        name = scope.fresh("n")
        start = self.random.randint(0, 1)
        if self.chance(0.4):
            return self.carried_within(scope, name, start)
        scope.names.numbers[name] = 0, WIDE
        with scope.block(loop=True):
            head = self.one(self.over_numbers, self.over_processes)(scope)
            assert head is not None
            step = self.one(f"{name} = {name} + 1", f"{name} += 1", f"{name} = {name} + 2", f"{name} = max({name}, 1)")
            grows = [f"if {self.truth(scope, 1)}:", INDENT + step] if self.chance(0.7) else [step]
            uses: Lines = []
            if self.chance(0.6):
                uses = [f"if {name} {self.one('==', '>')} {self.one('0', '1')}:", *self.inner(scope, 0)]
            lines = [*uses, *grows] if self.chance(0.5) else [*grows, *uses]
        return [f"{name} = {start}", head, *indented(lines), *self.statement(scope, 0)]

    def carried_within(self, scope: Scope, name: str, start: int) -> Lines:
        """The same, of a local that is read and given a value within one `if` alone."""
        with scope.block(loop=True):
            head = self.one(self.over_numbers, self.over_processes)(scope)
            assert head is not None
            test = self.truth(scope, 1)
            use = [f"if {name} {self.one('==', '>')} {start}:", *indented(self.write(scope) or ["pass"])]
            body = self.one([*use, f"{name} = {name} + 1"], [f"{name} = {name} + 1", *use])
        return [f"{name} = {start}", head, *indented([f"if {test}:", *indented(body)])]

    # --- locals -------------------------------------------------------------------------------------

    def local(self, scope: Scope) -> Lines:
        """A local name gets a value, or another one."""
        known = [n for n in scope.names.numbers if n not in scope.names.fixed]
        flags = [n for n, may in scope.names.flags.items() if may]
        if known and self.chance(0.4):
            name = self.one(*known)
            value = self.number(scope)
            low, high = scope.names.numbers[name]
            if max(abs(value.low), abs(value.high)) > 1000:
                return []
            scope.names.numbers[name] = min(low, value.low, -WIDE), max(high, value.high, WIDE)
            if self.chance(0.4):
                return [f"{name} {self.one('+=', '-=')} {self.leaf(scope).text}"]
            return [f"{name} = {value.text}"]
        if flags and self.chance(0.3):
            return [f"{self.one(*flags)} = {self.truth(scope)}"]
        match self.one("number", "number", "flag", "process", "record"):
            case "number" if self.words.sets and scope.what != "pure" and self.chance(self.words.sets):
                text, name = self.those(scope), scope.fresh("n")
                scope.names.numbers[name] = -WIDE, WIDE
                return [f"{name} = len({text})"]
            case "number":
                value = self.number(scope)
                name = scope.fresh("n")
                scope.names.numbers[name] = min(value.low, -WIDE), max(value.high, WIDE)
                if abs(value.low) + abs(value.high) > 1000:
                    del scope.names.numbers[name]
                    return []
                return [f"{name}{': int' if self.chance(0.15) else ''} = {value.text}"]
            case "flag":
                text, name = self.led(scope), scope.fresh("b")
                scope.names.flags[name] = True
                return [f"{name}{': bool' if self.chance(0.15) else ''} = {text}"]
            case "process":
                if scope.what == "pure":
                    return []
                text, name = self.process(scope), scope.fresh("w")
                scope.names.perhaps.append(name)
                return [f"{name} = {text}"]
        kinds = self.words.records
        if not kinds:
            return []
        kind = self.one(*kinds)
        text, name = self.record(scope, kind), scope.fresh("r")
        scope.names.records[name] = kind
        return [f"{name} = {text}"]

    # --- writing ------------------------------------------------------------------------------------

    def writable(self, scope: Scope) -> list[Cell]:
        reserved = () if self.words.world == "datagrams" else ("role", "leader")
        return [c for c in self.words.cells if scope.writes(c) and c.name not in reserved]

    def write(self, scope: Scope) -> Lines:
        """A field changes, or two of them in one statement."""
        lines = self.changed(scope)
        if self.words.sets and self.chance(self.words.sets / 4) and (one := SIMPLE.fullmatch("\n".join(lines))):
            lines = self.changed(scope)
            if two := SIMPLE.fullmatch("\n".join(lines)):
                return [f"{one[1]}, {two[1]} = {one[2]}, {two[2]}"]
        return lines

    def changed(self, scope: Scope) -> Lines:
        cells = self.writable(scope)
        if not cells:
            return []
        cell = self.one(*cells)
        place = self.place(scope, cell)
        return self.change(scope, place, cell.kind) if place is not None else []

    def change(self, scope: Scope, place: str, kind: Kind) -> Lines:
        if isinstance(kind, Number):
            return self.change_number(scope, place, kind)
        if isinstance(kind, Flag):
            return [f"{place} = {self.one('True', 'True', self.truth(scope))}"]
        if isinstance(kind, Process):
            return [f"{place} = {self.process(scope)}"]
        if isinstance(kind, Record):
            return [f"{place} = {self.record(scope, kind)}"]
        if isinstance(kind, Row):
            return self.change_row(scope, place, kind)
        return self.change_set(scope, place, kind)

    def change_number(self, scope: Scope, place: str, kind: Number) -> Lines:
        if kind.names:
            return [f"{place} = {self.one(*kind.names)}"]
        ways = ["set", "set", "count", "count"]
        match self.one(*ways):
            case "count":
                text = self.one(f"{place} += 1", f"{place} = {place} + 1")
                if "(" in place.replace("min(", "("):
                    text = f"{place} = {place} + 1"
                if self.words.errors and self.chance(0.5):
                    return [text]
                return [f"if {place} < {kind.high}:", INDENT + text]
        return [f"{place} = {self.within(scope, kind)}"]

    def change_set(self, scope: Scope, place: str, kind: Members | Numbers) -> Lines:
        if self.words.sets and self.chance(self.words.sets):
            made = self.made_set(scope, place, kind)
            if made:
                return made
        copies = [c for c in self.cells(scope, type(kind)) if c.kind == kind]
        roll = self.random.random()
        if roll < 0.08:
            return [f"{place}.clear()"]
        if roll < 0.2 and copies:
            other = self.place(scope, self.one(*copies))
            return [f"{place} = {other}"] if other is not None and other != place else []
        word = "discard" if roll < 0.35 else "add"
        if isinstance(kind, Members):
            definite = self.definite(scope)
            return [f"{place}.{word}({definite})"] if definite else []
        return [f"{place}.{word}({self.within(scope, Number(0, kind.count - 1))})"]

    def made_set(self, scope: Scope, place: str, kind: Members | Numbers) -> Lines:
        """A set that is made of others, at times by a name that keeps what the place had."""
        few = self.few(scope, kind)
        if few is None:
            return []
        if self.chance(0.3):
            name, test = scope.fresh("those"), self.truth(scope, 1)
            kept = f"{name} = {place} {self.one('|', '-', '&', '^')} {few} if {test} else {place}"
            return [kept, f"{place}.clear()", f"{place} = {name} {self.one('|', '^')} {few}"]
        ways = [f"{place} {self.one('|', '-', '&', '^')}= {few}", f"{place} = {few}", f"{place} = set()"]
        ways += [f"{place} = {self.those(scope)} {self.one('|', '-', '^')} {few}"] if isinstance(kind, Members) else []
        return [self.one(*ways)]

    def made_row(self, scope: Scope, place: str, kind: Row) -> Lines:
        """A sequence that is made of parts of others."""
        low, name = self.random.randint(0, 1), scope.fresh("kept")
        fits = f"if len({place}) < {kind.capacity}:"
        value = self.element_value(scope, kind)
        test = f"{name} > {low}" if isinstance(kind.element, Number) else self.truth(scope, 1)
        ways = [
            [f"{place} = {place}[{low}:]"], [f"{place} = {place}[{low}:{low + 1}] + [{value}]"], [f"{place} = []"],
            [fits, f"{INDENT}{place} += [{value}]"], [f"{place} = [{value}] if len({place}) > {low} else []"],
            [f"if len({place}) > 0:", f"{INDENT}{name} = {place}.pop({self.one('', '0')})"],
            [fits, f"{INDENT}{place} = {place} + [{value}]"], [f"{place} = [{name} for {name} in {place} if {test}]"],
        ]  # fmt: skip
        return self.one(*ways) if kind.capacity > 1 else [f"{place} = []"]

    def asserted(self, scope: Scope) -> Lines:
        """An assertion, which fails where errors may be met."""
        if not self.words.sets or not self.chance(self.words.sets):
            return []
        return [f"assert {self.truth(scope)}{'' if self.words.errors else ' or True'}"]

    def change_row(self, scope: Scope, place: str, kind: Row) -> Lines:
        if self.words.sets and "(" not in place and self.chance(self.words.sets):
            return self.made_row(scope, place, kind)
        roll = self.random.random()
        copies = [c for c in self.cells(scope, Row) if isinstance(c.kind, Row) and c.kind.element == kind.element]
        if roll < 0.07:
            return [f"{place}.clear()"]
        if roll < 0.17 and copies:
            cell = self.one(*copies)
            other = self.place(scope, cell)
            assert isinstance(cell.kind, Row)
            fits = cell.kind.capacity <= kind.capacity or self.words.errors
            quiet = other is not None and "(" not in other + place and other != place
            return [f"{place} = {other}"] if fits and quiet else []
        if roll < 0.3:
            test = f"len({place}) > 0"
            return [f"if {test}:", f"{INDENT}{place}.pop({self.one('0', '0', f'len({place}) - 1')})"]
        if roll < 0.4:
            at = self.random.randrange(kind.capacity)
            guard = [] if self.words.errors else [f"if len({place}) > {at}:"]
            write = f"{place}[{at}] = {self.element_value(scope, kind)}"
            return [*guard, INDENT + write if guard else write]
        text = f"{place}.append({self.element_value(scope, kind)})"
        if self.words.errors and self.chance(0.5):
            return [text]
        return [f"if len({place}) < {kind.capacity}:", INDENT + text]

    def element_value(self, scope: Scope, kind: Row) -> str:
        if isinstance(kind.element, Record):
            return self.record(scope, kind.element)
        return self.argument(scope, kind.element, 2)

    # --- what handlers call -------------------------------------------------------------------------

    def send(self, scope: Scope) -> Lines:
        """A message to one, or to all."""
        mail = self.one(*scope.may_send)
        if self.words.world == "connections":
            return self.send_over_connection(scope, mail)
        with scope.block(loop=True):
            if scope.loops == 1 and self.chance(0.45):
                q = scope.fresh("q")
                scope.names.processes.append(q)
                made = self.message(scope, mail)
                test = self.one("", f"if {q} != {scope.own}:", f"if {q} != {scope.own}:")
                line = f"send({scope.state}, {scope.own}, {q}, {made})"
                inner = [test, INDENT + line] if test else [line]
                return [f"for {q} in range({scope.state}.NODES):", *indented(inner)] if made else []
        made = self.message(scope, mail)
        if made is None:
            return []
        perhaps = self.read(scope, Process)
        if perhaps is not None and self.chance(0.25):
            send = f"send({scope.state}, {scope.own}, {perhaps[0]}, {made})"
            return [f"if {perhaps[0]} != NOBODY:", INDENT + send]
        others = [q for q in scope.names.processes if q != scope.own] or [scope.own]
        return [f"send({scope.state}, {scope.own}, {self.one(*others)}, {made})"]

    def send_over_connection(self, scope: Scope, mail: Mail) -> Lines:
        made = self.message(scope, mail)
        if made is None:
            return []
        s, own = scope.state, scope.own
        if mail.up:
            send = f"send_to_leader({s}, {own}, {made})"
            return [f"if {s}.leader[{own}] != NOBODY:", INDENT + send]
        others = [q for q in scope.names.processes if q != own]
        if others and self.chance(0.6):
            return [f"send_to_follower({s}, {own}, {self.one(*others)}, {made})"]
        if scope.loops:
            return []
        q = scope.fresh("q")
        send = f"send_to_follower({s}, {own}, {q}, {made})"
        return [f"for {q} in range({s}.NODES):", f"{INDENT}if {q} != {own}:", INDENT * 2 + send]

    def show(self, scope: Scope) -> Lines:
        """An observation."""
        if not self.words.observations:
            return []
        shown: Function = self.one(*self.words.observations)
        given = [scope.state, scope.own] + [self.argument(scope, kind, 2) for _, kind in shown.parameters]
        return [f"{shown.name}({', '.join(given)})"]

    def do(self, scope: Scope) -> Lines:
        """A helper that writes."""
        if not self.words.doers:
            return []
        helper = self.one(*self.words.doers)
        given = [scope.state, scope.own] + [self.argument(scope, kind, 2) for _, kind in helper.parameters]
        return [f"{helper.name}({', '.join(given)})"]

    def choose(self, scope: Scope) -> Lines:
        if not scope.may_choose or scope.loops > 0 or self.nested:
            return []
        n = self.one(2, 2, 3)
        name = scope.fresh("c")
        scope.names.numbers[name] = 0, n - 1
        scope.names.fixed.add(name)
        if self.chance(0.5):
            return [
                f"{name} = choose({scope.state}, {n})",
                f"if {name} == {self.random.randrange(n)}:",
                *self.inner(scope, 0),
            ]
        return [f"{name} = choose({scope.state}, {n})", *self.write(scope)]

    def force(self, scope: Scope) -> Lines:
        if not self.words.disks:
            return []
        return [f"force({scope.state}, {scope.own})"]
