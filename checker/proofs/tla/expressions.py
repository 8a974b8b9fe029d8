"""Translate typed expressions to operators of TLA+.

Consecutive statements become a chain of states: a function that changes the state becomes an operator from a state,
which is a record of all fields, to the one after it; its return value is a part of its result. Loops over processes
iterate over the set of them.
"""

from __future__ import annotations

from collections.abc import Sequence

from checker.proofs.tla.env import ROOT, Env, Fresh, Next, Operator, Untranslatable, Value, Ways, Word, walk
from checker.proofs.tla.facts import Facts
from checker.proofs.tla.places import AccessPart, TlaPlace, place_of
from checker.proofs.tla.syntax import FALSE, TRUE, If, Let, Node, Quantified, TlaText, either, flat, neg
from checker.proofs.tla.values import named, number, zero
from zabspec.language.analysis import tree as t
from zabspec.language.layout.kinds import Bool, Int, Kind, NodeId, Record
from zabspec.language.layout.schema import Role

NAMED = "give its value a name, in a line of its own"
SIMPLE = {"+": "+", "-": "-", "*": "*", "//": "\\div", "%": "%"}
BITS = {"&": "BitAnd", "|": "BitOr"}
TURNED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
COMPARE = {"==": "=", "!=": "#", "<": "<", "<=": "<=", ">": ">", ">=": ">="}


class Expressions(Facts):
    """Translates expressions, and functions that consist of one."""

    # --- operators ------------------------------------------------------------------------------

    def operator(self, name: str) -> Operator:
        """Return a function as an operator; it is translated on first use."""
        if name not in self.operators:
            f = self.program.functions[name]
            outer = getattr(self, "current", None), getattr(self, "fresh", None), self.written, self.acting
            self.written, self.acting = set(), False
            self.current, self.fresh = f, Fresh(set(self.taken) | set(self.constants.values()))
            env, params = Env({}, {}), []
            for param, kind in f.params:
                called = self.fresh.name(param)
                params.append(called)
                env = env.at(param, called) if kind == t.STATE else env.named(param, TlaText(called))
            body = self.body(f, env)
            self.operators[name] = Operator(self.names[name], params, body, f)
            self.touched[name] = self.written
            self.current, self.fresh, self.written, self.acting = outer  # type: ignore[assignment]
        self.written |= self.touched[name]
        return self.operators[name]

    def body(self, f: t.Function, env: Env) -> Node:
        def back(at: Env, value: Node | None) -> Node:
            if f.name not in self.writers:
                return value if value is not None else TRUE
            state = at.now(self.state_of(f))
            if f.returns == t.VOID:
                return TlaText(state)
            assert value is not None
            return TlaText(f"[state |-> {state}, value |-> {flat(value).text}]")

        return self.block(f.body, env, lambda at: back(at, None), Ways(back))

    @staticmethod
    def state_of(f: t.Function) -> str:
        return next(name for name, kind in f.params if kind == t.STATE)

    # --- expressions ----------------------------------------------------------------------------

    def process(self, e: t.Expr, env: Env) -> Node:
        """Return an expression in the place of a process."""
        if isinstance(e, t.Const) and e.value == -1:
            return TlaText("NOBODY")
        return self.expr(e, env, True)

    def kept_as(self, kind: Kind, e: t.Expr, env: Env) -> Node:
        """Return a value in the form in which a location of a kind stores it."""
        if isinstance(kind, NodeId):
            return self.process(e, env)
        if isinstance(kind, Int) and kind.names and isinstance(e, t.Const):
            return self.enumerated_value(kind, e.value)
        if isinstance(kind, Int) and kind.names and isinstance(e, t.Choice):
            sides = self.kept_as(kind, e.then, env), self.kept_as(kind, e.other, env)
            known = self.static(e.test, env)
            return either(self.expr(e.test, env), *sides) if known is None else sides[not known]
        return self.expr(e, env)

    def enumerated_value(self, kind: Int, value: int) -> TlaText:
        name = kind.named(value)
        if (name, value) in self.constants:
            self.enumerated[name] = value
            return TlaText(name)
        return number(value)

    def expr(self, e: t.Expr, env: Env, process: bool = False) -> Node:
        """Return an expression that changes nothing."""
        known = self.static(e, env)
        if known is not None and not isinstance(e.type, t.NameType):
            if isinstance(known, bool):
                return TRUE if known else FALSE
            return TlaText("NOBODY") if process and known == -1 else number(known)
        if isinstance(e, t.Choice):
            return self.on_Choice(e, env, process)
        return getattr(self, f"on_{type(e).__name__}", self.unknown)(e, env)

    def text(self, e: t.Expr, env: Env) -> TlaText:
        return flat(self.expr(e, env))

    def unknown(self, e: t.Expr, env: Env) -> Node:
        raise Untranslatable(f"{self.where(e)}: a module has no {type(e).__name__}")

    def on_Var(self, e: t.Var, env: Env) -> Node:
        if e.type == t.STATE:
            return TlaText(env.now(e.name))
        value = env.names[e.name]
        assert isinstance(value, (TlaText, Let, If, Quantified)) or value is not None
        if isinstance(value, Word):
            raise Untranslatable(f"{self.where(e)}: a step word is passed on")
        return value if not isinstance(value, (int, bool)) else number(int(value))

    def on_Const(self, e: t.Const, env: Env) -> Node:
        if isinstance(e.type, t.NameType):
            raise Untranslatable(f"{self.where(e)}: a message's name is not a value")
        if isinstance(e.type, t.SetType):
            everyone = e.type.kind.nodes and e.value == e.type.kind.hi
            return TlaText("Node" if everyone else f"{{{', '.join(map(str, e.type.kind.members(e.value)))}}}")
        return number(e.value)

    def index(self, part: AccessPart, env: Env) -> str:
        """Return the accesses to a part of a value: `[i]` or `.name`."""
        if part.how == "part":
            return f".{named(part.name)}"
        assert part.index is not None
        if part.how == "axis":
            e = self.process(part.index, env) if part.process else self.expr(part.index, env)
            return f"[{flat(e).text}]"
        return f"[{self.place_in(part.index, env)}]"

    def place_in(self, index: t.Expr, env: Env) -> str:
        """Return an index of a sequence, which begins with 1 in TLA+."""
        known = self.static(index, env)
        if known is not None:
            return str(known + 1)
        if isinstance(index, t.Binary) and index.op == "-" and self.static(index.right, env) == 1:
            return self.text(index.left, env).text
        return f"{self.text(index, env).tight} + 1"

    def on_Memory(self, e: t.Memory, env: Env) -> Node:
        place = place_of(e, self.layout)
        if place.field is None:
            base = self.text(place.base, env).tight
        else:
            base = self.field(place, env)
            if place.field.name in env.aside:
                value = env.aside[place.field.name]
                if not isinstance(value, TlaText):
                    return value  # type: ignore[return-value]
                base = value.tight
        return TlaText(base + "".join(self.index(p, env) for p in place.parts))

    def field(self, place: TlaPlace, env: Env) -> str:
        assert place.field is not None
        assert isinstance(place.base, t.Var)
        if place.field.role is Role.SCRATCH and place.field.name not in env.aside:
            self.read_scratch.add(place.field.name)
        return f"{env.states[place.base.name]}.{place.field.name}"

    def on_Load(self, e: t.Load, env: Env) -> Node:
        return self.on_Memory(e.place, env)

    def on_Binary(self, e: t.Binary, env: Env) -> Node:
        found = self.operand(e, env)
        if found is not None and not isinstance(found, (Word, int)):
            return found
        if e.op in SIMPLE:
            return TlaText(f"{self.text(e.left, env).tight} {SIMPLE[e.op]} {self.text(e.right, env).tight}", True)
        if e.op == "&" and self.static(e.right, env) == 1:
            inner = e.left
            if isinstance(inner, t.Binary) and inner.op == ">>":
                by = self.text(inner.right, env).tight
                return TlaText(f"({self.text(inner.left, env).tight} \\div 2^{by}) % 2", True)
            return TlaText(f"{self.text(inner, env).tight} % 2", True)
        if e.op == "<<":
            return TlaText(f"{self.text(e.left, env).tight} * 2^{self.text(e.right, env).tight}", True)
        if e.op == ">>":
            return TlaText(f"{self.text(e.left, env).tight} \\div 2^{self.text(e.right, env).tight}", True)
        if e.op in BITS:
            return TlaText(f"{BITS[e.op]}({self.text(e.left, env).text}, {self.text(e.right, env).text})")
        raise Untranslatable(f"{self.where(e)}: a module has no operation {e.op}")

    def on_Compare(self, e: t.Compare, env: Env) -> Node:
        for a, b in ((e.left, e.right), (e.right, e.left)):
            if isinstance(a, t.Const) and isinstance(a.type, t.NameType):
                assert isinstance(b, t.MessageKind)
                assert isinstance(b.message.type, t.MessageType)
                name = b.message.type.union.messages[a.value - 1].name
                return TlaText(f'{self.text(b.message, env).tight}.kind {COMPARE[e.op]} "{name}"', True)
        sides = []
        for a, b in ((e.left, e.right), (e.right, e.left)):
            if self.is_process(a, env) or self.is_process(b, env):
                sides.append(flat(self.process(a, env)))
            elif (kind := self.enumeration(b)) is not None:
                sides.append(flat(self.kept_as(kind, a, env)))
            else:
                sides.append(self.text(a, env))
        left, right = sides
        if self.static(e.left, env) is not None and e.op in TURNED:
            return TlaText(f"{right.tight} {TURNED[e.op]} {left.tight}", True)
        if isinstance(e.left.type, t.RecordType) and e.op not in ("==", "!="):
            return self.ordered(e.left.type.record, e.op, left, right)
        return TlaText(f"{left.tight} {COMPARE[e.op]} {right.tight}", True)

    def enumeration(self, e: t.Expr) -> Int | None:
        """Return the enumeration that a value belongs to, if it is read from a field of one."""
        if isinstance(e, t.Var):
            given = [s.value for s in walk(self.current.body) if isinstance(s, t.Assign) and s.name == e.name]
            kinds = {self.enumeration(v) for v in given if isinstance(v, t.Load)}
            return kinds.pop() if len(kinds) == 1 and all(isinstance(v, t.Load) for v in given) else None
        kind = e.place.kind if isinstance(e, t.Load) else None
        return kind if isinstance(kind, Int) and kind.names else None

    def ordered(self, record: Record, op: str, left: TlaText, right: TlaText) -> Node:
        """Return the comparison of two records by their first field, then by the next."""
        if truths := [n for n, k in record.fields.items() if isinstance(k, Bool)]:
            said = f"{record.name} is compared by its order, and {truths[0]} is a truth value, which has none in TLA+"
            raise Untranslatable(f"{self.where(record)}: {said}")
        if op in (">", ">="):
            left, right, op = right, left, {">": "<", ">=": "<="}[op]
        name = f"{named(record.name)}_precedes"
        while name in self.taken:
            name += "_"
        if name not in self.operators:
            body: Node = FALSE
            for f in reversed(list(record.fields)):
                a, b = f"a.{named(f)}", f"b.{named(f)}"
                body = (
                    TlaText(f"{a} < {b} \\/ ({a} = {b} /\\ ({flat(body).text}))", True)
                    if body != FALSE
                    else TlaText(f"{a} < {b}", True)
                )
            self.operators[name] = Operator(name, ["a", "b"], body)
        less = f"{name}({left.text}, {right.text})"
        return TlaText(less) if op == "<" else TlaText(f"{left.tight} = {right.tight} \\/ {less}", True)

    def on_SameSeq(self, e: t.SameSeq, env: Env) -> Node:
        return TlaText(f"{self.text(e.left, env).tight} = {self.text(e.right, env).tight}", True)

    def on_Logic(self, e: t.Logic, env: Env) -> Node:
        parts = [self.expr(p, env) for p in e.parts]
        out = parts[-1]
        for p in reversed(parts[:-1]):
            out = either(p, out, FALSE) if e.op == "and" else either(p, TRUE, out)
        return out

    on_InRole, on_OneOfRole = on_Logic, on_Binary  # processes are numbers here: see `translated`

    def on_Not(self, e: t.Not, env: Env) -> Node:
        return neg(self.expr(e.value, env))

    def on_OneOfSet(self, e: t.OneOfSet, env: Env) -> Node:
        return self.on_Choice(e, env)

    def on_Choice(self, e: t.Choice, env: Env, process: bool = False) -> Node:
        value = self.process if process or self.is_process(e, env) else self.expr
        test = self.static(e.test, env)
        if test is not None:
            return value(e.then if test else e.other, env)
        return either(self.expr(e.test, env), value(e.then, env), value(e.other, env))

    def on_Call(self, e: t.Call, env: Env) -> Node:
        f = self.program.functions[e.function]
        if f.name in self.writers:
            raise Untranslatable(f"{self.where(e)}: {f.called} is called inside an expression: {NAMED}")
        if any(self.word(a, env) is not None for a in e.args) or self.of_variables(e, env):
            return self.inlined(f, e, env)
        return TlaText(self.called(f, e, env))

    def called(self, f: t.Function, e: t.Call, env: Env) -> str:
        operator = self.operator(f.name)
        args = []
        for (name, kind), a in zip(f.params, e.args, strict=True):
            if kind == t.STATE:
                args.append(self.text(a, env).text)
            elif name in f.processes:
                args.append(flat(self.process(a, env)).text)
            else:
                args.append(self.text(a, env).text)
        return f"{operator.name}({', '.join(args)})" if args else operator.name

    def inlined(self, f: t.Function, e: t.Call, env: Env) -> Node:
        """Return the body of a function that changes nothing, in place of its call."""
        inner, caller = self.entered(f, e, env), self.current
        self.current = f
        out = self.block(f.body, inner, lambda _: TRUE, Ways(lambda _, value: value if value is not None else TRUE))
        self.current = caller
        return out

    def of_variables(self, e: t.Call, env: Env) -> bool:
        """Return whether a call reads the variable itself: it is inlined where a step's condition is written."""
        states = [a.name for a in e.args if isinstance(a, t.Var) and a.type == t.STATE]
        return bool(states) and all(env.states[s] == ROOT and not env.pending.get(s) for s in states)

    def entered(self, f: t.Function, e: t.Call, env: Env) -> Env:
        """Return the environment at the start of a called function."""
        names: dict[str, Value] = {}
        states: dict[str, str] = {}
        for (name, kind), a in zip(f.params, e.args, strict=True):
            word, known = self.word(a, env), self.static(a, env)
            if kind == t.STATE:
                assert isinstance(a, t.Var)
                states[name] = env.states[a.name]
            elif kind in (t.WORDS, t.BYTES):
                names[name] = None
            elif word is not None or known is not None:
                names[name] = (
                    word if word is not None else (TlaText("NOBODY") if name in f.processes and known == -1 else known)
                )
            else:
                names[name] = self.process(a, env) if name in f.processes else self.expr(a, env)
        of = {
            name: a.name
            for (name, kind), a in zip(f.params, e.args, strict=True)
            if isinstance(a, t.Var) and kind == t.STATE
        }
        return Env(names, states, env.aside, {name: env.pending.get(outer, ()) for name, outer in of.items()})

    def on_RecordField(self, e: t.RecordField, env: Env) -> Node:
        if not e.bits:
            return number(e.lo)
        return TlaText(f"{self.text(e.value, env).tight}.{named(e.name)}")

    def on_MakeRecord(self, e: t.MakeRecord, env: Env) -> Node:
        parts = (f"{named(n)} |-> {flat(self.kept_as(e.record.fields[n], v, env)).text}" for n, v, _ in e.parts)
        return TlaText("[" + ", ".join(parts) + "]")

    def on_MakeMessage(self, e: t.MakeMessage, env: Env) -> Node:
        assert isinstance(e.type, t.MessageType)
        union = e.type.union
        m = union.messages[e.tag - 1]
        by_offset = {union.offsets(m.name)[n]: n for n in m.fields}
        parts = [f'kind |-> "{m.name}"']
        parts += [f"{named(by_offset[o])} |-> {flat(self.kept_as(k, v, env)).text}" for o, k, v, _ in e.parts]
        parts += [f"{named(n)} |-> {zero(k).text}" for n, k in union.envelope.items()]
        return TlaText("[" + ", ".join(parts) + "]")

    def on_SetHas(self, e: t.SetHas, env: Env) -> Node:
        assert isinstance(e.value.type, t.SetType)
        item = self.process(e.item, env) if e.value.type.kind.nodes else self.expr(e.item, env)
        return TlaText(f"{flat(item).tight} \\in {self.text(e.value, env).tight}", True)

    def on_SetSize(self, e: t.SetSize, env: Env) -> Node:
        return TlaText(f"Cardinality({self.text(e.value, env).text})")

    def on_SetWith(self, e: t.SetWith, env: Env) -> Node:
        assert isinstance(e.value.type, t.SetType)
        item = self.process(e.item, env) if e.value.type.kind.nodes else self.expr(e.item, env)
        return TlaText(f"{self.text(e.value, env).tight} \\union {{{flat(item).text}}}", True)

    def on_IsQuorum(self, e: t.IsQuorum, env: Env) -> Node:
        if not isinstance(e.value.type, t.SetType):
            raise Untranslatable(f"{self.where(e)}: a set of processes that is a mask")
        return TlaText(f"IsQuorum({self.text(e.value, env).text})")

    def on_SeqLength(self, e: t.SeqLength, env: Env) -> Node:
        return TlaText(f"Len({self.text(e.seq, env).text})")

    def on_Builtin(self, e: t.Builtin, env: Env) -> Node:
        if e.op not in ("min", "max"):
            raise Untranslatable(f"{self.where(e)}: a module has no {e.op}")
        args = [self.text(a, env).text for a in e.args]
        out = args[0]
        for a in args[1:]:
            out = f"{e.op.capitalize()}({out}, {a})"
        return TlaText(out)

    # --- statements (the rest is in `Statements`) -----------------------------------------------

    def block(self, body: Sequence[t.Stmt], env: Env, after: Next, ways: Ways) -> Node:
        raise NotImplementedError  # pragma: no cover - statements have it
