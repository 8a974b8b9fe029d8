"""Translate the steps of a world to actions: which are enabled, and what each does."""

from __future__ import annotations

from collections.abc import Sequence

from checker.proofs.tla.control import Control, falls_through
from checker.proofs.tla.env import ROOT, Env, Fresh, Operator, Untranslatable, Ways, Word, walk
from checker.proofs.tla.facts import CHOICES
from checker.proofs.tla.syntax import (
    FALSE,
    TRUE,
    If,
    Let,
    Node,
    Quantified,
    TlaText,
    conj,
    disj,
    either,
    flat,
    let,
    neg,
)
from checker.proofs.tla.values import zero
from zabspec.language.analysis import tree as t
from zabspec.language.layout.kinds import Bool, Int
from zabspec.language.layout.schema import Field
from zabspec.worlds.steps import NUMBERED, PROCESSES

EMIT, CHOOSE = "emit", "choose"
CHOICE = "choice"  # the field with the chosen alternative
MOST_CHOICES = 256
MOST_ROUNDS = 16  # rounds of a loop over numbers that are tested one by one


class Actions(Control):
    """Translates `enabled` and `apply`."""

    asked = False  # only the existence of a step is tested
    number = 0  # the kind of step that is translated

    def actions(self) -> Node:
        """Return the next-state relation of every step; every kind of step that may be enabled becomes an operator."""
        self.kinds: dict[tuple[int, tuple[str, ...]], Operator] = {}
        self.lists = self.fixpoint(lambda f: f.name == EMIT)
        f = self.program.functions["enabled"]
        self.current, self.fresh = f, Fresh(set(self.taken) | set(self.constants.values()))
        return self.emitting(f.body, Env({name: None for name, _ in f.params}, {self.state_of(f): ROOT}))

    # --- which steps are possible -------------------------------------------------------------------

    def emitting(self, body: Sequence[t.Stmt], env: Env) -> Node:
        """Return the steps that statements list, as a disjunction."""
        found: list[Node] = []
        for k, s in enumerate(body):
            match s:
                case t.Assign():
                    value = self.static(s.value, env)
                    if value is None:
                        return disj(*found, self.emitting_with(s, body[k + 1 :], env))
                    env = env.named(s.name, value)
                case t.If():
                    found.append(self.emitting_if(s, env))
                case t.For():
                    found.append(self.emitting_for(s, env))
                case t.Evaluate(value=t.Call() as call):
                    found.append(self.emitted(call, env))
                case t.PutWord():
                    pass
                case t.Return(value=None):
                    break
                case _:
                    raise Untranslatable(f"{self.where(s)}: {type(s).__name__} where steps are listed")
        return disj(*found)

    def emitting_with(self, s: t.Assign, rest: Sequence[t.Stmt], env: Env) -> Node:
        """Return the steps that statements list after an assignment to a local name.

        The name exists in the module too, where TLC then evaluates its value once.
        """
        value = self.expr(s.value, env, self.is_process(t.Var(s.value.type, s.name), env))
        if flat(value).text.isidentifier():
            return self.emitting(rest, env.named(s.name, value))
        called = self.fresh.name(s.name)
        return let([(called, value)], self.emitting(rest, env.named(s.name, TlaText(called))))

    def emitting_if(self, s: t.If, env: Env) -> Node:
        self.refuse_left(s, self.live.left(s))
        known = self.static(s.test, env)
        if known is not None:
            return self.emitting(s.then if known else s.other, env)
        if not (falls_through(s.then) and falls_through(s.other)):
            raise Untranslatable(f"{self.where(s)}: a return among other steps that are listed")
        test = self.expr(s.test, env)
        then = self.emitting(s.then, env) if test != FALSE else FALSE
        other = self.emitting(s.other, env) if test != TRUE else FALSE
        if then != FALSE and other != FALSE:
            return either(test, then, other)
        return self.where_it_holds(test, then) if then != FALSE else self.where_it_holds(neg(test), other)

    def emitting_for(self, s: t.For, env: Env) -> Node:
        """Return the steps that a loop lists: of some round, or of the only one that can list any."""
        self.refuse_left(s, self.live.carried(s))
        over = self.over(s, env)
        if over is None:
            return FALSE
        start, stop = self.static(s.start, env), self.static(s.stop, env)
        if over != "Node" and start is not None and stop is not None and stop - start <= MOST_ROUNDS:
            listing = [k for k in range(start, stop) if self.lists_any(s.body, env.named(s.name, k))]
            if len(listing) < 2:
                return self.emitting(s.body, env.named(s.name, listing[0])) if listing else FALSE
        name = self.fresh.name(s.name)
        inside = self.emitting(s.body, env.named(s.name, TlaText(name)))
        return inside if inside == FALSE else Quantified("\\E", name, over, inside)

    def refuse_left(self, s: t.Stmt, names: Sequence[str]) -> None:
        """Refuse local names that one part of a list of steps leaves to the next: a disjunction has none."""
        if names:
            raise Untranslatable(f"{self.where(s)}: {names[0]} is given a value among steps that are listed")

    def lists_any(self, body: Sequence[t.Stmt], env: Env) -> bool:
        """Return whether statements may list a step, as far as can be determined here, without side effects."""
        used, asked = set(self.fresh.used), self.asked
        self.asked = True
        found = self.emitting(body, env)
        self.asked, self.fresh.used = asked, used
        return found != FALSE

    def where_it_holds(self, test: Node, steps: Node) -> Node:
        """Return steps under a condition.

        A disjunction, an existential or an operator that may contain one is put in an IF: in a conjunction with a step
        TLC would treat each of its alternatives as a step of its own, and count it.
        """
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
        """Return the steps that a call lists."""
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
        """Return one step with its operands."""
        _, kind, *operands = e.args
        number = self.static(kind, env)
        if number is None:
            raise Untranslatable(f"{self.where(e)}: a step whose kind is not known")
        if self.asked:
            return TRUE
        named_, args = [], []
        for what, operand in zip(NUMBERED[int(number)].operands, operands, strict=False):
            known = 0 if what in PROCESSES else self.static(operand, env)
            named_.append("" if what not in PROCESSES and known == 0 else what)  # the first place, which is not written
            if named_[-1]:
                args.append(self.text(operand, env).text)
        action = self.action(int(number), tuple(named_))
        return TlaText(f"{action.name}({', '.join(args)})" if args else action.name)

    # --- what a step does -----------------------------------------------------------------------------

    def action(self, number: int, operands: tuple[str, ...]) -> Operator:
        """Return the operator of a kind of step with given operands; one without a name is 0."""
        if (number, operands) not in self.kinds:
            kind = NUMBERED[number]
            name = "".join(part.capitalize() for part in kind.name.split("_"))
            name = name if name not in self.taken else f"{name}Step"
            name = Fresh(self.taken).name(name)
            self.taken.add(name)
            outer = self.current, self.fresh, self.written, self.acting
            f = self.program.functions["apply"]
            self.current, self.fresh, self.acting = f, Fresh(set(self.taken) | set(self.constants.values())), True
            self.written = set()
            names = [self.fresh.name(what) if what else "" for what in operands]
            state, word = (p for p, _ in f.params)
            self.chooses = self.choices(number) > 1
            env = Env({word: Word(number, (*names, "", "", "")[:3])}, {state: ROOT})  # type: ignore[arg-type]
            body = self.block(
                f.body, env, lambda at: TlaText(at.now(state)), Ways(lambda at, _: TlaText(at.now(state)))
            )
            made = Operator(name, [n for n in names if n], self.taken_step(number, body))
            self.kinds[number, operands] = made
            self.current, self.fresh, self.written, self.acting = outer
        return self.kinds[number, operands]

    def taken_step(self, number: int, body: Node) -> Node:
        """Return the action of a step: the state after it becomes the variable's, without step annotations."""
        chooses = self.choices(number)
        said = [self.layout.fields[name] for name in sorted(self.carried & self.written)]
        self.number = number
        if chooses < 2 and not said:
            match body:
                case Let(body=TlaText(text=inner)):
                    return Let(body.names, TlaText(f"{ROOT}' = {inner}", True))
                case TlaText(text=inner):
                    return TlaText(f"{ROOT}' = {inner}", True)
            return let([("next", body)], TlaText(f"{ROOT}' = next", True))
        after, result = self.fresh.name("t"), self.fresh.name("result")
        becomes = self.becoming(after, said)
        if chooses > 1:
            # a step with more alternatives than are listed would be another model without them
            beyond = f'Assert({after}.choices <= {MOST_CHOICES}, "a step may choose in more than {MOST_CHOICES} ways")'
            kept = [TlaText(beyond)] if chooses >= MOST_CHOICES else []
            here = conj(*kept, TlaText(f"choice < {after}.choices", True), becomes)
            return self.choosing(result, body, after, here, said)
        return let([(result, body)], Quantified("\\E", after, f"{{{result}}}", becomes))

    def becoming(self, after: str, said: Sequence[Field]) -> Node:
        """Return the assignment of the state after a step to the variable, with step annotations reset."""
        forgotten = ", ".join(f"!.{f.name} = {self.before(f)}" for f in said)
        return TlaText(f"{ROOT}' = [{after} EXCEPT {forgotten}]" if said else f"{ROOT}' = {after}", True)

    def before(self, f: Field) -> str:
        """Return the value that the variable has of a step annotation."""
        return str(self.unsaid(f)) if isinstance(f.kind, Int) and not isinstance(f.kind, Bool) else zero(f.kind).text

    def choosing(self, result: str, body: Node, after: str, becomes: Node, said: Sequence[Field]) -> Node:
        """Return a step that may choose: most of them choose nothing, and only the first alternative exists then.

        A name that an existential binds is evaluated once, one of a LET with an operand at each use.
        """
        first, number = self.fresh.name("first"), self.number
        only = self.becoming(first, [f for f in said if f.name not in (CHOICE, CHOICES)])
        each = Quantified("\\E", after, f"{{{result}(choice)}}", becomes)
        ways = Quantified("\\E", "choice", f"0..{self.choices(number) - 1}", each)
        taken = Quantified("\\E", first, f"{{{result}(0)}}", If(TlaText(f"{first}.choices = 1", True), only, ways))
        return Let(((f"{result}(choice)", body),), taken)

    def choices(self, number: int) -> int:
        """Return an upper bound of a step's alternatives: 1 if the module has no choice, as nothing depends on any."""
        if CHOICES not in self.carried:
            return 1
        runs = NUMBERED[number].runs
        return min(self.ways(runs), MOST_CHOICES) if runs in self.program.functions else 1

    def ways(self, name: str) -> int:
        """Return an upper bound of a function's alternatives: its own, and those of the functions that it calls."""
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
