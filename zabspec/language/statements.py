"""Type functions: their statements, which names are assigned where, and the bounds of their loops."""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable

from zabspec.language import tree as t
from zabspec.language.desugaring import assigned_names, fill, must_stay
from zabspec.language.expressions import NOTED, kind_type, own_process
from zabspec.language.kinds import Int, MessageUnion, Seq, SetOf
from zabspec.language.meanings import misused_names
from zabspec.language.place import is_own_file
from zabspec.language.sentence_typing import Sentences, said, writes
from zabspec.language.slots import slot_at, writable
from zabspec.language.source import annotated


class FunctionTyper(Sentences):
    """Types one function."""

    def run(self) -> t.Function:
        a = self.node.args
        if not is_own_file(self.python.__code__.co_filename):
            for node, reason in misused_names(self.python, self.node, self.meant):
                raise self.fail(node, reason)
        if a.posonlyargs or a.kwonlyargs or a.vararg or a.kwarg or a.defaults:
            raise self.fail(self.node, f"{self.name} may have plain parameters without defaults only")
        if self.python.__closure__:
            names = ", ".join(self.python.__code__.co_freevars)
            raise self.fail(
                self.node,
                f"{self.name} reads names of an enclosing function, which the language does not support: {names}",
            )
        for arg in a.args:
            kind = self.annotation(arg.annotation, f"parameter {arg.arg}")
            if self.is_handler and isinstance(kind, t.StructType):
                raise self.fail(arg, "structs of arrays are for kernels, not for protocols")
            self.params.append((arg.arg, kind))
            self.locals[arg.arg] = kind
            if self.names_process(arg.annotation):
                self.processes.add(arg.arg)
        if self.is_handler:
            self.own = own_process(self.params, self.processes)
        if self.names_process(self.node.returns):
            self.processes.add("return")
        if self.node.returns is not None:
            self.returns = self.annotation(self.node.returns, "the result")
            if isinstance(self.returns, (t.SeqType, t.MessageType)):
                raise self.fail(
                    self.node.body[-1],
                    f"{self.name} cannot return a {self.returns.name}: it exists only in the function that made it",
                )
        if self.front.has_optional and not is_own_file(self.python.__code__.co_filename):
            numbers = [name for name, kind in self.params if kind == t.INT and name not in self.processes]
            self.optional = {name: frozenset({name}) for name in numbers}
        body = self.block(self.node.body)
        if any(isinstance(kind, t.SetType) for _, kind in self.params):
            culprit = "it" if writes(body) else self.writing(body)
            if culprit:
                raise self.fail(self.node, f"{self.name} takes a set of processes, and {culprit} writes")
        if self.returns != t.VOID and not ends(body):
            raise self.fail(self.node, f"{self.name} may end without returning a value")
        given = dict(self.params)
        local = {k: v for k, v in self.locals.items() if k not in given}
        if self.needs_state:
            self.params.append((NOTED, t.STATE))
        return t.Function(
            self.key, self.file, self.node.lineno, self.params, self.returns, local, body, self.paper_step,
            frozenset(self.processes), optional=dict(self.optional) if self.asks_optional or self.optional else None,
            inlined=hasattr(self.python, "inlined"), written=self.name,
        )  # fmt: skip

    # --- statements --------------------------------------------------------------------------

    def block(self, body: list[ast.stmt]) -> list[t.Stmt]:
        out: list[t.Stmt] = []
        for node in body:
            if (
                isinstance(node, ast.Expr)
                and isinstance(node.value, ast.Constant)
                and isinstance(node.value.value, str)
            ):
                continue  # a docstring
            out.extend(self.statement(node))
        return out

    def statement(self, node: ast.stmt) -> list[t.Stmt]:
        """Return a typed statement."""
        line = node.lineno
        match node:
            case ast.Assign(targets=[target]):
                return self.assign(target, self.expr(node.value), node)
            case ast.AugAssign(op=op):
                target = node.target
                if any(isinstance(part, ast.Call) for part in ast.walk(target)):
                    raise self.fail(node, "an index of `+=` cannot call a function: it would be called twice")
                load = copy.copy(target)
                load.ctx = ast.Load()  # of the target alone: what is in it is read already
                value = self.binary(type(op), self.expr(load), self.expr(node.value), node)
                return self.assign(target, value, node)
            case ast.AnnAssign(value=ast.expr() as value):
                return self.assign(node.target, self.expr(value), node)
            case ast.If():
                test = self.truth(node.test)
                if isinstance(test, t.Const):  # a configuration's constant: the other side is not there
                    return self.block(node.body if test.value else node.orelse)
                before = self.assigned
                then = self.block(node.body)
                after_then, self.assigned = self.assigned, before
                other = self.block(node.orelse)
                self.assigned = both(after_then, self.assigned)
                return [t.If(line, test, then, other)]
            case ast.For(target=ast.Name(id=name), iter=ast.Call(func=ast.Name(id=which)) as through, orelse=[]) if (
                which == "range" or (which == "processes" and self.is_of_language(which))
            ):
                return [self.counted(node, name, through)]
            case ast.For(target=ast.Name(id=name), orelse=[]):
                return [self.each(node, name)]
            case ast.For():
                raise self.fail(node, "a loop must be `for name in range(...)`, a sequence or a set, without else")
            case ast.While(orelse=[]):
                if self.is_handler or (self.front.declares and not is_own_file(self.python.__code__.co_filename)):
                    raise self.fail(node, "a protocol has no `while`: its loops have bounds")
                return [t.While(line, self.truth(node.test), self.loop(node.body))]
            case ast.Break() | ast.Continue():
                if not self.loops:
                    raise self.fail(node, "break or continue outside a loop")
                self.assigned = None
                return [t.Break(line) if isinstance(node, ast.Break) else t.Continue(line)]
            case ast.Pass():
                return []
            case ast.Return():
                made = self.return_(node)
                self.assigned = None
                return made
            case ast.Expr(value=ast.Call() as call):
                special = self.method_statement(call)
                if special is not None:
                    return [special]
                return [t.Evaluate(line, self.expr(call))]
        if isinstance(node, ast.Expr):
            raise self.fail(
                node,
                f"Expr is not in the language: the value of {ast.unparse(node)} is unused (is a `return` missing?)",
            )
        raise self.fail(node, f"{type(node).__name__} is not in the language")

    def counted(self, node: ast.For, name: str, through: ast.Call) -> t.For:
        """Return a loop through `range(...)`, or through the processes of a role."""
        if isinstance(through.func, ast.Name) and through.func.id == "processes":
            bounds: list[t.Expr] = [*self.processes_of(through)]
        else:
            bounds = [self.integer(a) for a in through.args]
        if len(bounds) not in (1, 2):
            raise self.fail(node, "range takes a bound, or a start and a bound")
        start = bounds[0] if len(bounds) == 2 else t.Const(t.INT, 0)
        self.used_as_number(*bounds)
        if any(name == p for p, _ in self.params):
            raise self.fail(node, f"parameter {name} may not be assigned")
        self.declare(name, t.INT, node)
        most = self.bound(bounds[-1], node) if self.is_handler else None
        return t.For(node.lineno, name, start, bounds[-1], self.loop(node.body, name, most=most))

    def each(self, node: ast.For, name: str) -> t.For:
        """Return a loop through a sequence, in its order, or through a set, from its least member.

        The members are tested in every iteration, as in Python; the length of a sequence is taken before the first.
        """
        if isinstance(node.iter, ast.Call):
            called = node.iter.func
            if isinstance(called, ast.Name) and called.id == "processes" and "processes" not in self.front.namespace:
                raise self.fail(node, "processes is not imported: from zabcheck.language import processes")
            raise self.fail(
                node, f"a loop iterates over range(...), a sequence or a set, and {ast.unparse(node.iter)} is not one"
            )
        constants = self.front.layout.schema.constants
        must_stay(self, node, node.iter, {name, *assigned_names(node.body)}, constants)
        through = self.expr(node.iter)
        line, zero = node.lineno, t.Const(t.INT, 0)
        if isinstance(through.type, t.SetType):
            if name in (self.assigned or ()) or any(name == p for p, _ in self.params):
                raise self.fail(node, f"{name} already has a value: a loop over a set needs another name")
            self.declare(name, t.INT, node)
            asked = t.SetHas(t.BOOL, through, t.Var(t.INT, name))
            body = t.If(line, asked, self.loop(node.body, name, most=through.type.kind.count), [])
            return t.For(line, name, zero, t.Const(t.INT, through.type.kind.count), [body])
        if isinstance(through.type, t.SeqType):
            at = f"at.{line}.{node.col_offset}"
            self.declare(at, t.INT, node)
            element = self.element(through, t.Var(t.INT, at), node)
            inside = self.loop(node.body, at, lambda: self.assign(node.target, element, node))
            return t.For(line, at, zero, t.SeqLength(t.INT, through), inside)
        raise self.fail(node, f"a loop iterates over range(...), a sequence or a set, not a {through.type.name}")

    def names_process(self, annotation: ast.expr | None) -> bool:
        """Return whether an annotation declares a process."""
        return annotation is not None and annotated(annotation) in ("Node", *self.front.roles)

    def loop(
        self,
        body: list[ast.stmt],
        name: str | None = None,
        begin: Callable[[], list[t.Stmt]] = list,
        most: int | None = None,
    ) -> list[t.Stmt]:
        """Return the body of a loop, after what each iteration begins with.

        What it assigns may be unassigned after it; the loop's name has its bound, `most`, only in a body that does not
        give it another value.
        """
        before, largest = self.assigned, self.largest
        self.largest = {k: v for k, v in largest.items() if k != name}
        if name is not None and most is not None and name not in assigned_names(body):
            self.largest[name] = most
        if name is not None and before is not None:
            self.assigned = before | {name}
        self.loops += 1
        inner = [*begin(), *self.block(body)]
        self.loops -= 1
        self.assigned, self.largest = before, largest
        return inner

    def bound(self, e: t.Expr, node: ast.AST) -> int:
        """Return the largest value of a loop's bound in a handler, which must follow from the configuration."""
        match e:
            case t.Const():
                return e.value
            case t.Var(name=name) if name in self.largest:
                return self.largest[name]
            case t.SeqLength(seq=t.Expr(type=t.SeqType(kind=kind))):
                return kind.capacity
            case t.SetSize(value=t.Expr(type=t.SetType(kind=members))):
                return members.count
            case t.Load(place=t.Memory(kind=Int(hi=hi))):
                return hi
            case t.RecordField():
                return (1 << e.bits) - 1 + e.lo
            case t.Binary(op="+"):
                return self.bound(e.left, node) + self.bound(e.right, node)
            case t.Binary(op="&", right=t.Const(value=mask)) if mask >= 0:
                return mask
            case t.Binary(op="-", right=t.Const(value=less)):
                return self.bound(e.left, node) - less
            case t.Builtin(op="min" | "max"):
                return max(self.bound(a, node) for a in e.args)
        raise self.fail(node, "a loop's bound must follow from the configuration")

    def return_(self, node: ast.Return) -> list[t.Stmt]:
        line = node.lineno
        if node.value is None or (isinstance(node.value, ast.Constant) and node.value.value is None):
            if self.returns != t.VOID:
                raise self.fail(node, f"{self.name} must return a value")
            return [t.Return(line, None)]
        if self.returns == t.VOID:
            raise self.fail(node, f"{self.name} is declared to return nothing")
        if said(node.value):
            self.check_sentence(node.value)
            return [t.Return(line, self.coerce(t.Const(t.BOOL, 0), self.returns, node))]
        value = self.coerce(self.expr(node.value), self.returns, node)
        if self.front.has_optional:
            self.used_as_number(value)  # so that it is also checked whether the result may be NOTHING
        return [t.Return(line, value)]

    def declare(self, name: str, kind: t.AnyType, node: ast.AST) -> None:
        known = self.locals.setdefault(name, kind)
        if isinstance(known, t.MessageType) and isinstance(kind, t.MessageType):
            return
        if known != kind:
            raise self.fail(node, f"{name} is both {known.name} and {kind.name}")

    def assign(self, target: ast.expr, value: t.Expr, node: ast.stmt) -> list[t.Stmt]:
        line = node.lineno
        if isinstance(target, ast.Name):
            if self.is_handler and any(target.id == p for p, _ in self.params):
                raise self.fail(node, f"parameter {target.id} may not be assigned")
            if isinstance(value.type, t.SetType) and not self.is_new(value):
                said = "a set of the state cannot be given a name: it would be a copy here and a view in CPython"
                raise self.fail(node, said)
            if isinstance(value, t.MakeMessage) and self.loops:
                raise self.fail(node, "a message made in a loop cannot be given a name: the next would replace it")
            self.declare(target.id, value.type, node)
            if found := self.origins(value):
                self.optional[target.id] = self.optional.get(target.id, frozenset()) | found
            if self.assigned is not None:
                self.assigned = self.assigned | {target.id}
            return [t.Assign(line, target.id, value)]
        slot = slot_at(self, target)
        if slot is not None:
            return [t.PutSlot(line, writable(self, slot, node), self.coerce(value, t.INT, node))]
        if isinstance(target, ast.Subscript) and isinstance(target.value, ast.Name):
            base = self.expr(target.value)
            if base.type in (t.WORDS, t.BYTES):
                return [t.PutWord(line, base, self.integer(target.slice), value)]
        place = self.place(target, writing=True)
        kind = place.kind
        if kind.scalar:
            return [t.Store(line, place, self.coerce_kind(value, kind, node), self.range_site(node, place))]
        if isinstance(kind, Seq) and isinstance(value.type, t.SeqType):
            return [t.Copy(line, place, value)] if value.type.kind == kind else self.refill(place, value, node)
        if isinstance(kind, MessageUnion) and isinstance(value.type, t.MessageType):
            return [t.Copy(line, place, value)]
        raise self.fail(node, f"{place.field} cannot hold a {value.type.name}")

    def is_new(self, value: t.Expr) -> bool:
        """Return whether a set was made here: it is no view in CPython."""
        made = isinstance(value, t.Call) and self.front.program.functions[value.function].within
        return bool(made) or isinstance(value, t.SetWith)

    def refill(self, place: t.Memory, value: t.Expr, node: ast.stmt) -> list[t.Stmt]:
        """Return the assignment of a sequence of another kind, element by element."""
        for side in (part for part in ast.iter_child_nodes(node) if isinstance(part, ast.expr)):
            must_stay(self, node, side, (), self.front.layout.schema.constants)
        made = fill(self, place, value, node)
        for part in made:
            if isinstance(part, t.For):
                self.declare(part.name, t.INT, node)
        held, wanted = value.type, place.kind
        assert isinstance(held, t.SeqType)
        assert isinstance(wanted, Seq)
        if kind_type(held.kind.element) != kind_type(wanted.element):
            raise self.fail(node, f"{place.field} cannot hold a sequence of other elements")
        return made

    def range_site(self, node: ast.AST, place: t.Memory) -> int:
        kind = place.kind
        if isinstance(kind, Int):
            return self.site(node, place.field, f"would leave its range {kind.lo}..{kind.hi}", kind.widen)
        return 0

    def method_statement(self, call: ast.Call) -> t.Stmt | None:
        if not isinstance(call.func, ast.Attribute) or call.keywords:
            return None
        name, line = call.func.attr, call.lineno
        if name not in ("add", "discard", "clear", "append", "remove"):
            if isinstance(call.func.value, ast.Name) and call.func.value.id not in self.locals:
                raise self.fail(call, f"{ast.unparse(call.func)} cannot be called here: import {name} by its name")
            raise self.fail(call, f"there is no operation {name}")
        place = self.place(call.func.value, writing=True)
        kind = place.kind
        args = call.args
        if name == "clear" and not args and (isinstance(kind, (SetOf, Seq))):
            return t.Clear(line, place)
        if isinstance(kind, SetOf) and name in ("add", "discard") and len(args) == 1:
            site = self.site(call, place.field, f"takes members 0..{kind.count - 1} only")
            return t.SetChange(line, place, self.integer(args[0]), name == "add", site)
        if isinstance(kind, Seq) and name == "append" and len(args) == 1:
            value = self.expr(args[0])
            if kind.element.scalar:
                value = self.coerce_kind(value, kind.element, call)
            elif not isinstance(value.type, t.MessageType):
                raise self.fail(call, f"{place.field} holds messages")
            site = self.site(call, place.field, f"would hold more than {kind.capacity}", kind.widen)
            element = 0
            if isinstance(kind.element, Int):
                inside = kind.element
                element = self.site(call, place.field, f"would leave its range {inside.lo}..{inside.hi}", inside.widen)
            return t.Append(line, place, value, site, element)
        if isinstance(kind, Seq) and name == "remove" and len(args) == 1:
            site = self.site(call, place.field, "has no such place")
            return t.Remove(line, place, self.integer(args[0]), site)
        raise self.fail(call, f"{place.field} has no operation {name} with {len(args)} arguments")


def both(a: frozenset[str] | None, b: frozenset[str] | None) -> frozenset[str] | None:
    """Return the names that are assigned whichever path control took."""
    if a is None or b is None:
        return b if a is None else a
    return a & b


def ends(body: list[t.Stmt]) -> bool:
    """Return whether control cannot reach the end."""
    if not body:
        return False
    final = body[-1]
    if isinstance(final, t.Return):
        return True
    if isinstance(final, t.If):
        return ends(final.then) and ends(final.other)
    return isinstance(final, t.While) and isinstance(final.test, t.Const) and bool(final.test.value)
