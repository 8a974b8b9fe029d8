"""Type functions: their statements, which names are assigned where, and the bounds of their loops."""

from __future__ import annotations

import ast
import copy
import re
from collections.abc import Callable
from types import FunctionType
from typing import TypeGuard

from zabspec.language.analysis import tree as t
from zabspec.language.analysis.order import Order
from zabspec.language.analysis.structs import Column, Size, StructMember
from zabspec.language.front.comprehensions import called, load, loops, named_apart, placed, store, sure
from zabspec.language.front.expressions import NOTED, as_value, kind_type, own_process
from zabspec.language.front.sentence_typing import Sentences, said, writes
from zabspec.language.layout.error_sites import BELOW_ZERO, asserted, members_of
from zabspec.language.layout.kinds import MessageUnion, Seq, SetOf
from zabspec.language.layout.place import is_own_file
from zabspec.language.layout.refusals import refusal
from zabspec.language.layout.source import annotated, check_open
from zabspec.language.python.meanings import constant, misused_names

MAKES_SEQUENCE = (ast.List, ast.ListComp, ast.BinOp, ast.IfExp)


class Widened(Exception):
    """A local name for a set has to hold more members than it was typed with: type the function once more."""


class FunctionTyper(Sentences):
    """Types one function."""

    def run(self) -> t.Function:
        a = self.node.args
        if not is_own_file(self.python.__code__.co_filename):
            for node, reason in misused_names(self.python, self.node, self.meant):
                raise self.fail(node, reason)
        if a.posonlyargs or a.kwonlyargs or a.vararg or a.kwarg:
            raise self.fail(self.node, f"{self.name} may have plain parameters only, without * and /")
        if any(constant(value) is None for value in self.python.__defaults__ or ()):
            raise self.fail(self.node, f"a default of {self.name} is not a constant")
        check_open(self.python, self.node.lineno)
        for arg in a.args:
            kind = self.annotation(arg.annotation, f"parameter {arg.arg}")
            if self.is_handler and isinstance(kind, t.StructType):
                raise self.fail(arg, "structs of arrays are for kernels, not for protocols")
            self.params.append((arg.arg, kind))
            self.locals[arg.arg] = kind
            self.note_kind(arg.arg, kind)
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
            inlined=hasattr(self.python, "inlined"), written=self.name, acts=self.acts or not self.is_handler,
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
        """Return a typed statement, whose result is the same in every order of evaluation."""
        made = self.typed(node)
        if any(not place.isidentifier() for place in self.kinds) and (writes(made) or self.writing(made)):
            self.kinds = {name: kind for name, kind in self.kinds.items() if name.isidentifier()}
        if not self.is_kernel:
            self.check_order(node, made)
        return made

    def check_order(self, node: ast.stmt, made: list[t.Stmt]) -> None:
        """Check that no call in a statement changes what is touched beside it.

        Raises:
            LanguageError: one does.
        """
        simple = not isinstance(node, (ast.If, ast.For, ast.While))
        among = list(t.statements(made)) if simple else made
        touching = [e for s in among for e in t.own_parts(s) if isinstance(e, (t.Call, t.Memory))]
        called = {e.function for e in touching if isinstance(e, t.Call)}
        if len(touching) < 2 or not any(map(self.may_write, called)):  # of one nothing is beside it
            return
        order = Order(self.front.effects, self.front.layout.fields)
        each = [order.statement(s) for s in among]
        if simple:
            order.beside(each)
        if order.found:
            culprit = self.front.function(order.found).called
            said = f"the result depends on whether {culprit} or what is beside it in this statement is evaluated first"
            raise self.fail(node, f"{said}: give {culprit} a line of its own, x = ...")

    def typed(self, node: ast.stmt) -> list[t.Stmt]:
        """Return a typed statement."""
        line = node.lineno
        match node:
            case (
                ast.Assign(targets=[target], value=ast.Call(func=ast.Attribute(attr="pop") as popped) as call)
                | ast.AnnAssign(target=target, value=ast.Call(func=ast.Attribute(attr="pop") as popped) as call)
            ):
                return self.taken(popped.value, call, target)
            case ast.Assign(targets=[target]):
                several = isinstance(node.value, MAKES_SEQUENCE) or is_slice(node.value)
                if several and self.is_sequence(target):
                    if isinstance(node.value, ast.IfExp):
                        yes, no = (ast.Assign([target], side) for side in (node.value.body, node.value.orelse))
                        return self.block(placed([ast.If(node.value.test, [yes], [no])], node))
                    return self.gather(target, node.value, node)
                return self.assign(target, self.expr(node.value), node)
            case ast.AugAssign(op=op):
                target = node.target
                held = copy.copy(target)
                held.ctx = ast.Load()  # of the target alone: what is in it is read already
                if self.is_sequence(target):
                    return self.gather(target, ast.BinOp(held, op, node.value), node)
                value = self.binary(type(op), self.expr(held), self.expr(node.value), node)
                return self.assign(target, value, node)
            case ast.AnnAssign(value=ast.expr() as value):
                if isinstance(node.target, ast.Name) and self.names_process(node.annotation):
                    self.of_processes.add(node.target.id)
                return self.assign(node.target, self.expr(value), node)
            case ast.If():
                return self.branches(node)
            case ast.For():
                return self.for_loop(node)
            case ast.While(orelse=[]):
                if self.is_handler or (self.front.declares and not is_own_file(self.python.__code__.co_filename)):
                    raise self.fail(node, "a protocol has no `while`: its loops have bounds, as for k in range(...)")
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
            case ast.Assert():
                made = [self.asserted(node)]
                self.kinds = self.kinds | self.kinds_if(node.test, True)
                return made
            case ast.Expr(value=ast.Call() as call):
                special = self.method_statement(call)
                if special is not None:
                    return [special]
                return [t.Evaluate(line, self.expr(call))]
        if isinstance(node, ast.Expr):
            self.expr(node.value)
        raise self.fail(node, refusal(node))

    def branches(self, node: ast.If) -> list[t.Stmt]:
        """Return an `if`; a configuration's constant leaves one side of it."""
        test = self.truth(node.test)
        if isinstance(test, t.Const):
            return self.block(node.body if test.value else node.orelse)
        before, kinds = self.assigned, self.kinds
        self.kinds = kinds | self.kinds_if(node.test, True)
        then = self.block(node.body)
        after_then, self.assigned, kinds_then = self.assigned, before, self.kinds
        self.kinds = kinds | self.kinds_if(node.test, False)
        other = self.block(node.orelse)
        if self.assigned is None:
            self.assigned, self.kinds = after_then, kinds_then
        elif after_then is not None:
            self.assigned, self.kinds = self.assigned & after_then, dict(self.kinds.items() & kinds_then.items())
        return [t.If(node.lineno, test, then, other)]

    def asserted(self, node: ast.Assert) -> t.Evaluate:
        """Return what meets a run-time error where the test is false."""
        said = getattr(node.msg, "value", None)  # of one that is written here (`comprehensions.sure`)
        site = self.site(node, *(said if isinstance(said, tuple) else asserted(node.test)))
        divisor = t.Choice(t.INT, self.truth(node.test), t.Const(t.INT, 1), t.Const(t.INT, 0))
        whole = t.Const(t.INT, 1)  # a division by zero is an error that every engine knows
        return t.Evaluate(node.lineno, t.Binary(t.INT, "//", whole, divisor, site, self.state_in_scope()))

    def for_loop(self, node: ast.For) -> list[t.Stmt]:
        """Return a loop, with what comes before it."""
        match node:
            case ast.For(target=ast.Name(id=name), iter=ast.Call(func=ast.Name(id=which)) as through, orelse=[]) if (
                which == "range" or (which == "processes" and self.is_of_language(which))
            ):
                return [self.counted(node, name, through)]
            case ast.For(target=ast.Tuple(elts=[ast.Name(id=name) as at, one]), orelse=[]) if (
                isinstance(node.iter, ast.Call)
                and ast.unparse(node.iter.func) == "enumerate"
                and len(node.iter.args) == 1
            ):
                return self.numbered(node, node.iter.args[0], at, one)
            case ast.For(target=ast.Name(id=name), orelse=[]):
                return self.each(node, name)
        raise self.fail(node, "a loop must be `for name in range(...)`, a sequence or a set, without else")

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
        if self.through_processes(node.iter):
            self.of_processes.add(name)
        return t.For(node.lineno, name, start, bounds[-1], self.loop(node.body, name, most=most))

    def made_name(self, what: str) -> str:
        """Return a local name that no source can have, and no other loop: those of a comprehension are in one place."""
        self.made += 1
        return f"{what}.loop{self.made}"

    def numbered(self, node: ast.For, held: ast.expr, at: ast.Name, one: ast.expr) -> list[t.Stmt]:
        """Return a loop through the elements of a sequence with their places, `for k, x in enumerate(...)`."""
        if isinstance(several := self.spelled(held), ast.Tuple):
            return self.among(ast.copy_location(ast.For(one, held, node.body, []), node), several.elts, at.id)
        there, before = self.made_name("there"), []
        if not self.stays(node):
            before, held = self.assign(ast.Name(there, ast.Store()), self.expr(held), node), load(there)
        given: ast.stmt = ast.Assign([one], ast.Subscript(held, load(at.id), ast.Load()))
        return [*before, *self.block(placed([through(at.id, held, [given, *node.body])], node))]

    def among(self, node: ast.For, given: list[ast.expr], at: str = "") -> list[t.Stmt]:
        """Return a loop through a few values, which are evaluated before it; `at`: the name that has their places."""
        at, before, values = at or self.made_name("at"), [], []
        for k, value in enumerate(map(self.expr, given)):
            if not isinstance(value, t.Const):
                before += self.assign(ast.Name(f"{at}.{k}", ast.Store()), value, node)
                value = t.Var(value.type, f"{at}.{k}")
            values.append(value)
        if not values:
            return []
        if any(at == p for p, _ in self.params):
            raise self.fail(node, f"parameter {at} may not be assigned")
        self.declare(at, t.INT, node)
        element: t.Expr = values[-1]
        for k, value in reversed([*enumerate(values[:-1])]):
            here = t.Compare(t.BOOL, "==", t.Var(t.INT, at), t.Const(t.INT, k))
            element = t.Choice(value.type, here, self.coerce(value, element.type, node), element)
        inside = self.loop(node.body, at, lambda: self.assign(node.target, element, node))
        return [*before, t.For(node.lineno, at, t.Const(t.INT, 0), t.Const(t.INT, len(values)), inside)]

    def each(self, node: ast.For, name: str) -> list[t.Stmt]:
        """Return a loop through a sequence, in its order, or through a set, from its least member.

        The members of a set, and the length of a sequence, are those before the first iteration.
        """
        meant = self.spelled(node.iter)
        if isinstance(meant, (ast.Tuple, ast.List)):
            return self.among(node, meant.elts)
        if isinstance(meant, ast.Call) and ast.unparse(meant.func) == "processes":
            raise self.fail(node, "processes is not imported: from zabcheck.language import processes")
        if isinstance(meant, ast.Call) and meant is not node.iter:
            return [self.counted(node, name, meant)]
        through = self.expr(node.iter)
        line, there, before = node.lineno, self.made_name("there"), []
        if isinstance(through.type, t.SetType) or not self.stays(node):
            before = self.assign(ast.Name(there, ast.Store()), through, node)
            through = t.Var(through.type, there)
        zero = t.Const(t.INT, 0)
        if isinstance(through.type, t.SetType):
            if name in (self.assigned or ()) or any(name == p for p, _ in self.params):
                raise self.fail(node, f"{name} already has a value: a loop over a set needs another name")
            self.declare(name, t.INT, node)
            if through.type.kind.nodes:
                self.of_processes.add(name)
            asked = t.SetHas(t.BOOL, through, t.Var(t.INT, name))
            body = t.If(line, asked, self.loop(node.body, name, most=through.type.kind.count), [])
            return [*before, t.For(line, name, zero, t.Const(t.INT, through.type.kind.count), [body])]
        if isinstance(through.type, t.SeqType):
            at = self.made_name("at")
            self.declare(at, t.INT, node)
            element = as_value(self.place_in(through, through.type.kind, t.Var(t.INT, at), node))
            inside = self.loop(node.body, at, lambda: self.assign(node.target, element, node))
            return [*before, t.For(line, at, zero, t.SeqLength(t.INT, through), inside)]
        raise self.fail(node, f"a loop iterates over range(...), a sequence or a set, not a {through.type.name}")

    def stays(self, node: ast.For) -> bool:
        """Return whether what a loop goes through is named by what stays the same while it goes on."""
        changed = assigned_names([node])
        constants = self.front.layout.schema.constants
        for part in ast.walk(node.iter):
            if isinstance(part, ast.Call) or (isinstance(part, ast.Name) and part.id in changed):
                return False
            indices = ast.walk(part.slice) if isinstance(part, ast.Subscript) else ()
            if any(isinstance(inner, ast.Attribute) and inner.attr not in constants for inner in indices):
                return False
        return True

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
        for other in assigned_names(body) | {name or ""}:
            self.note_kind(other, t.VOID)
        kinds, relied, self.relied = self.kinds, self.relied, {}
        self.loops += 1
        inner = [*begin(), *self.block(body)]
        self.loops -= 1
        places = [place for place in self.relied.keys() & kinds.keys() if not place.isidentifier()]
        if places and (writes(inner) or self.writing(inner)):
            raise self.fail(
                self.relied[places[0]],
                f"{places[0]} may be another message in the next round: test its kind inside the loop",
            )
        self.kinds, self.relied = kinds, relied | self.relied
        self.assigned, self.largest = before, largest
        return inner

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

    def note_kind(self, name: str, kind: t.AnyType) -> None:
        """Note which message a name is from here on, if its type says it."""
        only = {name: kind.only} if isinstance(kind, t.MessageType) and kind.only else {}
        beside = re.compile(rf"\b{name}\b")
        self.kinds = {place: known for place, known in self.kinds.items() if not beside.search(place)} | only

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
            if isinstance(value.type, t.MessageType) and self.loops and target.id in (self.assigned or ()):
                raise self.fail(node, f"{target.id} is a message of an earlier round or branch: use another name")
            value = self.kept_set(target.id, value, node)
            self.declare(target.id, value.type, node)
            self.note_kind(target.id, value.type)
            if self.is_process(value):
                self.of_processes.add(target.id)
            if found := self.origins(value):
                self.optional[target.id] = self.optional.get(target.id, frozenset()) | found
            if self.assigned is not None:
                self.assigned = self.assigned | {target.id}
            return [t.Assign(line, target.id, value)]
        slot = self.slot_at(target)
        if slot is not None:
            if isinstance(slot.member, (Size, StructMember, Column)):
                raise self.fail(node, f"{slot.member.name} cannot be written: it keeps its initial value")
            return [t.PutSlot(line, slot, self.coerce(value, t.INT, node))]
        if isinstance(target, ast.Subscript) and isinstance(target.value, ast.Name):
            base = self.expr(target.value)
            if base.type in (t.WORDS, t.BYTES):
                return [t.PutWord(line, base, self.integer(target.slice), value)]
        place = self.place(target, writing=True)
        kind = place.kind
        if kind.scalar:
            value = self.coerce(value, kind_type(kind), node, place.field)
            return [t.Store(line, place, value, self.range_site(node, kind, place.field))]
        if isinstance(kind, Seq) and isinstance(value.type, t.SeqType):
            given = getattr(node, "value", None)
            if value.type.kind == kind or given is None:
                return [t.Copy(line, place, value)]
            return self.gather(target, given, node)
        if isinstance(kind, MessageUnion) and isinstance(value.type, t.MessageType):
            return [t.Copy(line, place, value)]
        raise self.fail(node, f"{place.field} cannot hold a {value.type.name}")

    def kept_set(self, name: str, value: t.Expr, node: ast.stmt) -> t.Expr:
        """Return a set as a local name keeps it, which may have what any set that it is given may have.

        Raises:
            Widened: it was typed with a set that may have fewer.
        """
        if not isinstance(value.type, t.SetType):
            return value
        known = self.front.sets.get((self.key, name), value.type.kind)
        kind = self.front.sets[self.key, name] = self.joined(known, value.type.kind, node)
        if self.locals.get(name, t.SetType(kind)) != t.SetType(kind):
            raise Widened
        return self.as_set(value, kind, node)

    # --- sequences -----------------------------------------------------------------------------

    def is_sequence(self, target: ast.expr) -> bool:
        """Return whether a target is a sequence of the state."""
        if isinstance(target, ast.Name) or self.is_kernel:
            return False
        before = len(self.front.program.sites)
        found = self.place_or_value(target).type
        del self.front.program.sites[before:]  # it is typed once more
        return isinstance(found, t.SeqType)

    def taken(self, held: ast.expr, call: ast.Call, target: ast.expr) -> list[t.Stmt]:
        """Return the removal of an element, the last one or the one at a place, that is assigned."""
        if len(call.args) > 1 or call.keywords:
            raise self.fail(call, "pop is written pop(), of the last, or pop(0)")
        place = f"at.{call.lineno}.{call.col_offset}"
        name = target.id if isinstance(target, ast.Name) else f"taken.{place}"
        made = [store(place, call.args[0] if call.args else last_of(held))]
        made += [store(name, ast.Subscript(held, load(place), ast.Load())), method(held, "pop", load(place))]
        made += [] if isinstance(target, ast.Name) else [ast.Assign([target], load(name))]
        return self.block(placed(made, call))

    def gather(self, target: ast.expr, value: ast.expr, node: ast.stmt) -> list[t.Stmt]:
        """Return the assignment of a sequence that is made of others: it is emptied, and each element is appended.

        Raises:
            LanguageError: it is made of itself otherwise than by keeping a part of it, to which others are appended.
        """
        held, place, pieces = ast.unparse(target), self.place(target), added(value)
        kept = (filtered(pieces[0]) or ast.unparse(pieces[0].value if is_slice(pieces[0]) else pieces[0])) == held
        target = ast.parse(held, mode="eval").body  # to read it
        before: list[ast.stmt] = []  # what is evaluated before anything is written
        after: list[ast.stmt] = [] if kept else [method(target, "clear")]
        for k, piece in enumerate(pieces):
            here = f"{node.lineno}.{node.col_offset}.{k}"
            piece = named_apart(piece, here) if isinstance(piece, ast.ListComp) else piece
            if isinstance(piece, ast.List):
                names = [f"x{i}.{here}" for i in range(len(piece.elts))]
                before += map(store, names, piece.elts)
                after += [method(target, "append", load(name)) for name in names]
                continue
            if k or not kept:
                self.check_apart(piece, held, place, node)
            if isinstance(piece, ast.ListComp) and kept and not k:
                after += self.sifted(piece, target, here, before)
            elif isinstance(piece, ast.ListComp):
                after.append(loops(piece.generators, method(target, "append", piece.elt)))
            elif is_slice(piece):
                after += self.sliced(piece, target, here, before, cut=kept and not k)
            elif k or not kept:
                there: ast.expr = load(f"there.{here}")
                if self.stays(ast.For(there, piece, [], [])):
                    there = piece
                else:
                    before.append(store(f"there.{here}", piece))
                one = method(target, "append", ast.Subscript(there, load(f"at.{here}"), ast.Load()))
                after.append(through(f"at.{here}", there, [one]))
        return self.block(placed([*before, *after], node))

    def check_apart(self, piece: ast.expr, held: str, place: t.Memory, node: ast.stmt) -> None:
        """Check that a part of what a sequence becomes does not read the sequence, which is written meanwhile."""
        for part in ast.walk(piece):
            if isinstance(part, ast.Attribute) and part.attr == place.field:
                said = f"{held} may keep a part of itself, to which others are appended: {held}[:k] + [...]"
                raise self.fail(node, f"{said}; its other parts are made without {place.field}")
            kind = self.locals.get(part.id) if isinstance(part, ast.Name) else None
            if isinstance(kind, t.SeqType) and not (kind.kind != place.kind and kind.kind.element.scalar):
                raise self.fail(node, f"{ast.unparse(part)} may be {held} itself: append its elements in a loop")
            if isinstance(part, ast.Call) and isinstance(self.meant(name := ast.unparse(part.func)), FunctionType):
                raise self.fail(node, f"{name} cannot be called here: append its value in a loop")

    def sliced(
        self, piece: ast.Subscript, target: ast.expr, here: str, before: list[ast.stmt], cut: bool
    ) -> list[ast.stmt]:
        """Return what appends a slice to a sequence, or cuts it to one of itself; what is before takes its bounds."""
        bounds = piece.slice
        if not isinstance(bounds, ast.Slice) or bounds.step is not None:
            raise self.fail(piece, "a slice is written [low:high], without a step")
        low, up, at = (f"{what}.{here}" for what in ("low", "up", "at"))
        of, zero = self.place(piece.value).field, ast.Constant(0)
        before += [store(low, bounds.lower or zero), store(up, bounds.upper or called("len", piece.value))]
        before += [sure(ast.Compare(load(bound), [ast.GtE()], [zero]), of, BELOW_ZERO) for bound in (low, up)]
        behind = ast.Compare(load(at), [ast.GtE()], [load(low)])
        if cut:
            long = ast.Compare(called("len", target), [ast.Gt()], [load(up)])
            over, less = ast.If(long, [method(target, "pop")], []), method(target, "pop", zero)
            return [through(at, target, [over]), through(at, target, [ast.If(behind, [ast.Pass()], [less])])]
        one = method(target, "append", ast.Subscript(piece.value, load(at), ast.Load()))
        inside = ast.If(ast.BoolOp(ast.And(), [behind, ast.Compare(load(at), [ast.Lt()], [load(up)])]), [one], [])
        return [through(at, piece.value, [inside])]

    def sifted(self, piece: ast.ListComp, target: ast.expr, here: str, before: list[ast.stmt]) -> list[ast.stmt]:
        """Return what removes elements of a sequence; what is before tells which stay."""
        at, stay, loop = f"at.{here}", f"stay.{here}", piece.generators[0]
        places = ast.Tuple([ast.Name(at, ast.Store()), loop.target], ast.Store())
        one = store(stay, ast.BinOp(load(stay), ast.BitOr(), ast.Set([load(at)])))
        those = ast.comprehension(places, called("enumerate", target), loop.ifs, 0)
        before += [store(stay, called("set")), loops([those], one), store(at, ast.Constant(0))]
        next_one, less = store(at, ast.BinOp(load(at), ast.Add(), ast.Constant(1))), method(target, "pop", load(at))
        stays = ast.Compare(load(f"of.{here}"), [ast.In()], [load(stay)])
        return [through(f"of.{here}", target, [ast.If(stays, [next_one], [less])])]

    def method_statement(self, call: ast.Call) -> t.Stmt | None:
        if not isinstance(call.func, ast.Attribute) or call.keywords:
            return None
        name, line = call.func.attr, call.lineno
        if name not in ("add", "discard", "clear", "append", "pop"):
            if isinstance(call.func.value, ast.Name) and call.func.value.id not in self.locals:
                raise self.fail(call, f"{ast.unparse(call.func)} cannot be called here: import {name} by its name")
            there = "sets have add, discard and clear, sequences append, pop and clear"
            raise self.fail(call, f"there is no operation {name}: {there}")
        args, held = call.args, ast.unparse(call.func.value)
        if isinstance(self.locals.get(held), t.SetType) and name in ("add", "discard") and len(args) == 1:
            now = f"{held} = {held} {'|' if name == 'add' else '-'} {{{ast.unparse(args[0])}}}"
            raise self.fail(call, f"{held} is a local name, and only a set of the state has {name}: write {now}")
        place = self.place(call.func.value, writing=True)
        kind = place.kind
        if name == "clear" and not args and (isinstance(kind, (SetOf, Seq))):
            return t.Clear(line, place)
        if isinstance(kind, SetOf) and name in ("add", "discard") and len(args) == 1:
            site = self.site(call, place.field, members_of(kind.count))
            return t.SetChange(line, place, self.integer(args[0]), name == "add", site)
        if isinstance(kind, Seq) and name == "append" and len(args) == 1:
            value = self.expr(args[0])
            if kind.element.scalar:
                value = self.coerce(value, kind_type(kind.element), call, place.field)
            elif not isinstance(value.type, t.MessageType):
                rows = "sequences, and none can be appended: declare Each[number, SeqOf[...]] in its place"
                raise self.fail(call, f"{place.field} holds {rows if isinstance(kind.element, Seq) else 'messages'}")
            site = self.site(call, place.field, f"would hold more than {kind.capacity}", kind.widen)
            element = self.range_site(call, kind.element, place.field)
            return t.Append(line, place, value, site, element)
        if isinstance(kind, Seq) and name == "pop" and len(args) <= 1:
            site = self.site(call, place.field, "has no such place")
            last = ast.fix_missing_locations(ast.copy_location(last_of(call.func.value), call))
            return t.Remove(line, place, self.integer(args[0] if args else last), site)
        there = {SetOf: "add, discard and clear", Seq: "append, pop and clear"}.get(type(kind), "none")
        count = f"{len(args)} argument{'' if len(args) == 1 else 's'}"
        raise self.fail(call, f"{place.field} has no operation {name} with {count}; it has {there}")


def assigned_names(body: list[ast.stmt]) -> set[str]:
    """Return the local names that statements assign."""
    parts = (part for statement in body for part in ast.walk(statement))
    return {part.id for part in parts if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)}


def added(value: ast.expr) -> list[ast.expr]:
    """Return the sequences that `+`, or `*` in a list, makes a sequence of, in order."""
    if isinstance(value, ast.BinOp) and isinstance(value.op, ast.Add):
        return [*added(value.left), *added(value.right)]
    if isinstance(value, ast.List) and any(isinstance(part, ast.Starred) for part in value.elts):
        ones = (part.value if isinstance(part, ast.Starred) else ast.List([part], ast.Load()) for part in value.elts)
        return [piece for one in ones for piece in added(one)]
    return [value]


def last_of(held: ast.expr) -> ast.expr:
    """Return the last place of a sequence."""
    return ast.BinOp(called("len", held), ast.Sub(), ast.Constant(1))


def method(place: ast.expr, name: str, *given: ast.expr) -> ast.stmt:
    """Return the statement that calls a method of a sequence."""
    return ast.Expr(ast.Call(ast.Attribute(place, name, ast.Load()), [*given], []))


def through(name: str, place: ast.expr, body: list[ast.stmt]) -> ast.stmt:
    """Return the loop through the places of a sequence."""
    return ast.For(ast.Name(name, ast.Store()), called("range", called("len", place)), body, [])


def filtered(node: ast.expr) -> str:
    """Return the sequence of which a list comprehension keeps some elements; empty if it is none of these."""
    match node:
        case ast.ListComp(elt=ast.Name(id=kept), generators=[ast.comprehension(ast.Name(id=name), of)]) if kept == name:
            return ast.unparse(of)
    return ""


def is_slice(node: ast.expr) -> TypeGuard[ast.Subscript]:
    """Return whether an expression is a slice of a sequence."""
    return isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice)


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
