"""The steps of a world as actions: which are possible, and what each does."""

from __future__ import annotations

from collections.abc import Sequence

from checker.tla.env import Env, Fresh, Operator, Untranslatable, Ways, Word, fixed, walk
from checker.tla.statements import Statements, falls_through
from checker.tla.syntax import FALSE, If, Node, Quantified, Text, conj, disj, flat, let, neg
from zabspec.language import tree as t
from zabspec.language.kinds import Seq
from zabspec.language.schema import Role
from zabspec.worlds.steps import NUMBERED

__all__ = ["Actions"]

EMIT, CHOOSE = "emit", "choose"
MOST_CHOICES = 256


class Actions(Statements):
    """Translates `enabled` and `apply`."""

    def actions(self, idle: bool) -> Node:
        """The next-state relation; every kind of step that may be possible becomes an operator.

        Args:
            idle: a step that does nothing but take a message out is no step.
        """
        self.idle = idle
        if idle:
            self.operators["Idle"] = self.idleness()
        self.kinds: dict[int, Operator] = {}
        self.lists = self.fixpoint(lambda f: f.name == EMIT)
        f = self.program.functions["enabled"]
        self.current, self.fresh = f, Fresh(set(self.taken) | set(self.constants.values()))
        return self.emitting(f.body, Env({name: None for name, _ in f.params}, {self.state_of(f): ""}))

    # --- which steps are possible -------------------------------------------------------------------

    def emitting(self, body: Sequence[t.Stmt], env: Env) -> Node:
        """The steps that statements list, as a disjunction."""
        found: list[Node] = []
        for s in body:
            match s:
                case t.Assign():
                    value = self.static(s.value, env)
                    process = self.is_process(t.Var(s.value.type, s.name), env)
                    env = env.named(s.name, value if value is not None else self.expr(s.value, env, process))
                case t.If():
                    found.append(self.emitting_if(s, env))
                case t.For():
                    over = self.over(s, env)
                    if over is not None:
                        name = self.fresh.name(s.name)
                        inside = self.emitting(s.body, env.named(s.name, Text(name)))
                        found.append(inside if inside == FALSE else Quantified("\\E", name, over, inside))
                case t.Evaluate(value=t.Call() as call):
                    found.append(self.emitted(call, env))
                case t.PutWord():
                    pass
                case t.Return(value=None):
                    break
                case _:
                    raise Untranslatable(f"{self.where(s)}: {type(s).__name__} where steps are listed")
        return disj(*found)

    def emitting_if(self, s: t.If, env: Env) -> Node:
        known = self.static(s.test, env)
        if known is not None:
            return self.emitting(s.then if known else s.other, env)
        if not (falls_through(s.then) and falls_through(s.other)):
            raise Untranslatable(f"{self.where(s)}: a return among other steps that are listed")
        then, other = self.emitting(s.then, env), self.emitting(s.other, env)
        if then == FALSE and other == FALSE:
            return FALSE
        test = self.expr(s.test, env)
        return disj(self.where_it_holds(test, then), self.where_it_holds(neg(test), other))

    def where_it_holds(self, test: Node, steps: Node) -> Node:
        """Steps under a condition. A disjunction, an existence or an operator that may say one stands in an IF: beside
        a step TLC would take each of its ways for a step of its own, and count it."""
        if steps == FALSE:
            return FALSE
        said = flat(test).text
        calls = any(f"{o.name}(" in said for o in self.operators.values())
        return (
            If(test, steps, FALSE)
            if calls or any(x in said for x in ("\\/", "\\E", "=>", "IF "))
            else conj(test, steps)
        )

    def emitted(self, e: t.Call, env: Env) -> Node:
        """The steps that a call lists."""
        f = self.program.functions[e.function]
        if f.name == EMIT:
            return self.step(e, env)
        if f.name not in self.lists:
            return FALSE
        caller, inner = self.current, self.entered(f, e, env)
        self.current = f
        out = self.emitting(f.body, inner)
        self.current = caller
        return out

    def step(self, e: t.Call, env: Env) -> Node:
        """One step, its operands given."""
        _, kind, *operands = e.args
        number = self.static(kind, env)
        if number is None:
            raise Untranslatable(f"{self.where(e)}: a step whose kind is not known")
        action = self.action(int(number))
        args = []
        for what, operand in zip(NUMBERED[int(number)].operands, operands, strict=False):
            if what:
                args.append(self.text(operand, env).text)
        return Text(f"{action.name}({', '.join(args)})" if args else action.name)

    # --- what a step does -----------------------------------------------------------------------------

    def action(self, number: int) -> Operator:
        """A kind of step."""
        if number not in self.kinds:
            kind = NUMBERED[number]
            name = "".join(part.capitalize() for part in kind.name.split("_"))
            name = name if name not in self.taken else f"{name}Step"
            self.taken.add(name)
            outer = self.current, self.fresh, self.written, self.acting
            f = self.program.functions["apply"]
            self.current, self.fresh, self.acting = f, Fresh(set(self.taken) | set(self.constants.values())), True
            self.written = set()
            names = [self.fresh.name(what) if what else "" for what in kind.operands]
            operands = (*names, "", "", "")[:3]
            state, word = (p for p, _ in f.params)
            self.chooses = self.choices(number) > 1
            env = Env({word: Word(number, operands)}, {state: ""})  # type: ignore[arg-type]
            body = self.block(f.body, env, lambda at: Text(at.now(state)), Ways(lambda at, _: Text(at.now(state))))
            self.kinds[number] = Operator(name, [n for n in names if n], self.taken_step(number, body))
            self.current, self.fresh, self.written, self.acting = outer
        return self.kinds[number]

    def taken_step(self, number: int, body: Node) -> Node:
        """The action: the state after it becomes the variables."""
        state = [f.name for f in self.layout.schema.fields if f.role is not Role.SCRATCH and not fixed(f)]
        changed = [name for name in state if name in self.written]
        kept = [name for name in state if name not in self.written]
        after = self.fresh.name("t")
        parts: list[Node] = []
        tests: list[Node] = []
        chooses = self.choices(number)
        if chooses > 1:
            tests.append(Text(f"choice < {after}.choices", True))
        if self.idle:
            tests.append(Text(f"~Idle({after})"))
        parts += [Text(f"{n}' = {after}.{n}", True) for n in changed]
        if kept:
            parts.append(Text(f"UNCHANGED <<{', '.join(kept)}>>"))
        becomes = conj(*parts)
        for test in reversed(tests):
            becomes = self.where_it_holds(test, becomes)
        if len(flat(body).text) > 60:
            result = self.fresh.name("result")
            out = let([(result, body)], Quantified("\\E", after, f"{{{result}}}", becomes))
        else:
            out = Quantified("\\E", after, f"{{{flat(body).text}}}", becomes)
        return Quantified("\\E", "choice", f"0..{chooses - 1}", out) if chooses > 1 else out

    def idleness(self) -> Operator:
        """Whether a step does nothing but take a message out: the network may as well have kept it."""
        bag = next(f.name for f in self.layout.schema.fields if isinstance(f.kind, Seq) and f.kind.bag)
        same = [
            Text(f"t.{f.name} = {f.name}", True)
            for f in self.layout.schema.fields
            if f.role not in (Role.SCRATCH, Role.NETWORK) and not fixed(f)
        ]
        return Operator("Idle", ["t"], conj(Text(f"Len(t.{bag}) + 1 = Len({bag})", True), *same))

    def choices(self, number: int) -> int:
        """How many ways a step may choose, at most."""
        runs = NUMBERED[number].runs
        return min(self.ways(runs), MOST_CHOICES) if runs in self.program.functions else 1

    def ways(self, name: str) -> int:
        """The same of a function: what it chooses, and what those that it calls do."""
        if name == CHOOSE:
            return MOST_CHOICES
        body, out = self.program.functions[name].body, 1
        again = {id(e) for loop in walk(body) if isinstance(loop, t.For) for e in walk(loop.body)}
        for e in walk(body):
            if isinstance(e, t.Call):
                alternatives = e.args[1] if e.function == CHOOSE else None
                ways = alternatives.value if isinstance(alternatives, t.Const) else self.ways(e.function)
                out *= MOST_CHOICES if ways > 1 and id(e) in again else ways
        return out
