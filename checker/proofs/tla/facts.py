"""Facts about a program before it is translated, and about values during the translation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from checker.proofs.tla.env import Env, Fresh, Operator, Value, Word, asserted, fixed, walk
from checker.proofs.tla.places import place_of
from checker.proofs.tla.syntax import TlaText
from checker.proofs.tla.values import BOUND, WORDS_OF_TLA, named, node
from zabspec.language.analysis import tree as t
from zabspec.language.analysis.scalarset import PROCESS, Sorts
from zabspec.language.layout.kinds import Bool, Int, NodeId
from zabspec.language.layout.schema import Field, Layout, Role

CHOICES = "choices"  # the number of alternatives of a step: one, until it chooses


class Facts:
    """Facts about a typed program.

    Args:
        program: typed.
        layout: of its states.
        nodes: the number of processes.
        carried: the step annotations that a state carries from one operator to the next.
    """

    def __init__(self, program: t.TypedProgram, layout: Layout, nodes: int, carried: frozenset[str]) -> None:
        self.program, self.layout, self.nodes, self.carried = program, layout, nodes, carried
        self.read_scratch: set[str] = set()
        self.operators: dict[str, Operator] = {}
        self.enumerated: dict[str, int] = {}
        fields = {f.name for f in layout.schema.fields}
        processes = {node(p).text for p in range(nodes)}
        self.taken = set(WORDS_OF_TLA | processes | fields)  # names that no operator and no local name may have
        self.names: dict[str, str] = {}
        everywhere = Fresh(set(self.taken | BOUND))
        for name in program.functions:
            plain = named(name)
            self.names[name] = everywhere.name(plain if plain not in everywhere.used else f"do_{plain}")
        self.taken |= set(self.names.values())
        self.constants = self.enumerations()
        self.taken |= set(self.constants.values())
        self.writers = self.fixpoint(self.writes_itself)
        self.says = self.said()
        functions = program.functions
        self.sorts = {name: Sorts(f, program, layout.schema, lambda _: "").check() for name, f in functions.items()}
        self.loops = {name: {id(s) for s in sorts.loops_over_processes} for name, sorts in self.sorts.items()}
        self.touched: dict[str, set[str]] = {}
        self.current: t.Function
        self.fresh: Fresh
        self.written: set[str] = set()
        self.chooses = False  # the step may have several alternatives
        self.acting = False  # the kind of the translated step is known

    # --- what is known of the program -----------------------------------------------------------

    def enumerations(self) -> dict[tuple[str, int], str]:
        """Return the names of enumeration values; a name with two different values is left out."""
        found: dict[str, set[int]] = {}
        for f in self.layout.schema.fields:
            if isinstance(f.kind, Int):
                for k, name in enumerate(f.kind.names):
                    if name.isidentifier() and name == named(name) and name not in self.taken | BOUND:
                        found.setdefault(name, set()).add(k + f.kind.lo)
        return {(name, next(iter(values))): name for name, values in found.items() if len(values) == 1}

    def writes_itself(self, f: t.Function) -> bool:
        """Return whether a function's own statements change the state, or end the step by an `assert`."""
        for s in walk(f.body):
            if f.returns == t.VOID and asserted(s) is not None:
                return True
            if isinstance(s, (t.Store, t.Copy, t.SetChange, t.Clear, t.Append, t.Remove)):
                place = place_of(s.place, self.layout)
                if place.field is None or self.kept(place.field.name):
                    return True
            elif isinstance(s, t.Builtin) and s.op == "forget":
                return True
        return False

    def said(self) -> dict[str, set[str]]:
        """Return by function the step annotations that it, or one that it calls, may store."""
        functions = self.program.functions
        found = {name: self.said_itself(f.body) for name, f in functions.items()}
        calls = {name: {e.function for e in walk(f.body) if isinstance(e, t.Call)} for name, f in functions.items()}
        while True:
            more = {name: found[name].union(*(found[c] for c in calls[name])) for name in functions}
            if more == found:
                return found
            found = more

    def said_itself(self, body: Any) -> set[str]:
        """Return the step annotations that statements may store, without the functions that they call."""
        places = (
            place_of(s.place, self.layout).field
            for s in walk(body)
            if isinstance(s, (t.Store, t.Copy, t.SetChange, t.Clear, t.Append, t.Remove))
        )
        return {f.name for f in places if f is not None and f.role is Role.SCRATCH and not self.kept(f.name)}

    def said_by(self, body: Any) -> set[str]:
        """Return the step annotations that statements or expressions may store, with the functions that they call."""
        called = (self.says[e.function] for e in walk(body) if isinstance(e, t.Call))
        return self.said_itself(body).union(*called)

    def fixpoint(self, asked: Callable[[t.Function], bool]) -> set[str]:
        """Return the functions for which a condition is true, or for one that they call."""
        functions = self.program.functions
        found = {name for name, f in functions.items() if asked(f)}
        calls = {name: {e.function for e in walk(f.body) if isinstance(e, t.Call)} for name, f in functions.items()}
        while True:
            more = {name for name, called in calls.items() if name not in found and called & found}
            if not more:
                return found
            found |= more

    def kept(self, name: str) -> bool:
        """Return whether a field is part of what a state carries."""
        f = self.layout.fields[name]
        return name in self.carried if f.role is Role.SCRATCH else not fixed(f)

    @staticmethod
    def unsaid(f: Field) -> int:
        """Return the value of a carried step annotation in the variable: that before a step."""
        return 1 if f.name == CHOICES else 0

    def is_process(self, e: t.Expr, env: Env) -> bool:
        """Return whether a value is a process."""
        match e:
            case t.Load():
                return isinstance(e.place.kind, NodeId)
            case t.Call():
                return "return" in self.program.functions[e.function].processes
            case t.Choice():
                return self.is_process(e.then, env) or self.is_process(e.other, env)
            case t.Var():
                if e.type != t.INT:
                    return False
                sorts = self.sorts[self.current.name]
                if e.name in self.current.processes:
                    return True
                for loop in sorts.loops:
                    if loop.statement.name == e.name and loop.sort.found().kind == PROCESS:
                        return True
                return e.name in sorts.names and sorts.names[e.name].found().kind == PROCESS
            case t.RecordField():
                assert isinstance(e.value.type, t.RecordType)
                return isinstance(e.value.type.record.fields[e.name], NodeId)
        return False

    # --- what is known while translating --------------------------------------------------------

    def static(self, e: t.Expr, env: Env) -> int | bool | None:
        """Return the value of an expression if it is known during the translation."""
        match e:
            case t.Const(type=t.SetType()):
                return None  # a set, which is no number
            case t.Const():
                return bool(e.value) if e.type == t.BOOL else e.value
            case t.Var():
                value = env.names.get(e.name)
                return value if isinstance(value, (bool, int)) else None
            case t.Load():
                kind = e.place.kind
                if isinstance(kind, Int) and not isinstance(kind, Bool) and kind.lo == kind.hi:
                    return kind.lo
                place = place_of(e.place, self.layout)
                value = env.aside.get(place.field.name) if place.field is not None else None
                return value if isinstance(value, (bool, int)) else None
            case t.Binary():
                return self.static_binary(e, env)
            case t.Compare():
                a, b = self.static(e.left, env), self.static(e.right, env)
                return None if a is None or b is None else bool(compare(e.op, a, b))
            case t.Not():
                value = self.static(e.value, env)
                return None if value is None else not value
            case t.Logic():
                return self.static_logic(e, env)
            case t.Choice():
                test = self.static(e.test, env)
                return None if test is None else self.static(e.then if test else e.other, env)
            case t.Call():
                return self.static_call(e)
        return None

    def static_logic(self, e: t.Logic, env: Env) -> bool | None:
        values = [self.static(p, env) for p in e.parts]
        ends = e.op == "or"
        if ends in values[: next((k for k, v in enumerate(values) if v is None), len(values))]:
            return ends
        return None if None in values else not ends

    def static_call(self, e: t.Call) -> int | bool | None:
        """Return the constant that a function returns whatever its arguments, or None."""
        body = self.program.functions[e.function].body
        if len(body) == 1 and isinstance(body[0], t.Return) and isinstance(body[0].value, t.Const):
            value = body[0].value
            return bool(value.value) if value.type == t.BOOL else value.value
        return None

    def word(self, e: t.Expr, env: Env) -> Word | None:
        value = env.names.get(e.name) if isinstance(e, t.Var) else None
        return value if isinstance(value, Word) else None

    def operand(self, e: t.Binary, env: Env) -> Value:
        """Return an operand, or the kind, of a step word that is known."""
        if e.op != "&" or not isinstance(e.right, t.Const) or e.right.value != 255:
            return None
        shift, inner = 0, e.left
        if isinstance(inner, t.Binary) and inner.op == ">>" and isinstance(inner.right, t.Const):
            shift, inner = inner.right.value, inner.left
        word = self.word(inner, env)
        if word is None:
            return None
        if shift == 24:
            return word.kind
        if shift == 32:
            return TlaText("choice") if self.chooses else 0
        name = word.operands[(16, 8, 0).index(shift)]
        return TlaText(name) if name else 0

    def static_binary(self, e: t.Binary, env: Env) -> int | None:
        found = self.operand(e, env)
        if isinstance(found, int):
            return found
        a, b = self.static(e.left, env), self.static(e.right, env)
        return None if a is None or b is None else arithmetic(e.op, int(a), int(b))

    def where(self, _: Any) -> str:
        """Return the current function and its location, for a message."""
        return f"{self.current.called} ({self.current.file}:{self.current.line})"


def compare(op: str, a: int, b: int) -> bool:
    return {"==": a == b, "!=": a != b, "<": a < b, "<=": a <= b, ">": a > b, ">=": a >= b}[op]


def arithmetic(op: str, a: int, b: int) -> int | None:
    if op in ("//", "%") and b == 0:
        return None
    match op:
        case "+":
            return a + b
        case "-":
            return a - b
        case "*":
            return a * b
        case "//":
            return a // b
        case "%":
            return a % b
        case "&":
            return a & b
        case "|":
            return a | b
        case ">>":
            return a >> b
        case "<<":
            return a << b
    return None
