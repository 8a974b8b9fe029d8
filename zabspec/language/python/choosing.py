"""Derive from a step whether its first choice has something to choose from: otherwise the step is not enabled.

`any_of(s, members)` of an empty set is a run-time error. If it is the first that a step does, apart from looking at the
state, then what the step does up to there is a condition of the step, as if its author had repeated it in `when`. It is
written out as a function of its own, of the same statements:

    q = any_of(s, {q for ... if ...})        return len({q for ... if ...}) > 0
    a write, a call that may write           return True
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from types import FunctionType
from typing import Any, NamedTuple

from zabspec.language.layout.source import copied, definition, placed, recompiled
from zabspec.language.python import lang
from zabspec.language.python.lang import MessageName, RecordName
from zabspec.language.python.meanings import OF_PYTHON

MARKS = ("made_action", "made_change")
LOOKS = frozenset({"is_a", "is_quorum", "only", "processes"})  # words of the language that change nothing


def name_of(step: str) -> str:
    """Return the name of the function that says whether a step has something to choose from."""
    return f"{step}_may_choose"


def may_choose(function: FunctionType, step: str, names: Mapping[str, Any]) -> FunctionType:
    """Return the function that says whether a step, which this function takes, has something to choose from.

    Args:
        function: what takes the step.
        step: its name.
        names: the program's, in which a variant's functions stand for others.

    Raises:
        LanguageError: the function's file no longer matches what was loaded from it.
    """
    node, derived = copied(definition(function)), Derived(function, names)
    body = derived.block(node.body)
    node.body = [*body, ast.Return(ast.Constant(True))] if derived.chooses else [ast.Return(ast.Constant(True))]
    node.name, node.decorator_list, node.returns = name_of(step), [], ast.Name("bool", ast.Load())
    code = recompiled(function, copied(placed(node, node)))
    out = FunctionType(code, function.__globals__, node.name)
    out.__module__ = function.__module__
    vars(out).update({k: v for k, v in vars(function).items() if k in ("apart", "beside")}, syntax=node)
    return out


class Found(NamedTuple):
    """The first call of an expression that may do more than look.

    Attributes:
        call: it; None if it may be any number of calls.
        tests: what has to be true for it to be reached.
        without: the expression where it is not reached; None if it always is.
    """

    call: ast.Call | None
    tests: list[ast.expr]
    without: Any


class Derived:
    """What of a function's statements comes before its first choice. It changes what it is given.

    Attributes:
        chooses: it has one, of a set.
    """

    def __init__(self, function: FunctionType, names: Mapping[str, Any]) -> None:
        self.function, self.names, self.chooses = function, names, False

    def block(self, statements: list[ast.stmt]) -> list[ast.stmt]:
        """Return the statements up to the first that does more than look."""
        out: list[ast.stmt] = []
        for s in statements:
            out += self.statement(s)
            if isinstance(out[-1], ast.Return):
                break
        return out

    def statement(self, s: ast.stmt) -> list[ast.stmt]:
        """Return what a statement becomes: a return at last if it does more than look wherever it is evaluated."""
        out: list[ast.stmt] = []
        for place in ("test", "iter", "value", "targets"):
            held = getattr(s, place, None)
            while held is not None and (found := self.first(ast.Tuple(held) if isinstance(held, list) else held)):
                ends = ast.Return(self.there(found.call))
                if found.without is None:
                    return [*out, ends]
                out.append(ast.If(every(found.tests), [ends], []))
                held = found.without
                if place != "targets":  # nothing is left of a statement with a call there
                    setattr(s, place, held)
        match s:
            case ast.If():
                return [*out, ast.If(s.test, self.block(s.body), self.block(s.orelse))]
            case ast.For(orelse=[]):
                return [*out, ast.For(s.target, s.iter, self.block(s.body), [])]
            case ast.Assert():
                return [*out, ast.If(s.test, [ast.Pass()], [ast.Return(ast.Constant(True))])]
            case ast.Pass() | ast.Break() | ast.Continue() | ast.Expr(value=ast.Constant()):
                return [*out, s]
            case ast.Assign(targets=[target]) | ast.AugAssign(target=target) | ast.AnnAssign(target=target):
                if isinstance(target, ast.Name):
                    return [*out, s]
        return [*out, ast.Return(ast.Constant(True))]

    def there(self, call: ast.Call | None) -> ast.expr:
        """Return whether a call has something to choose from; true if it does not choose of a set."""
        match call:
            case ast.Call(
                func=ast.Name(id="any_of"),
                args=[_, ast.Set(elts=[ast.Constant(value=bool()), _]) | ast.Call(func=ast.Name(id="processes"))],
            ):
                return ast.Constant(True)
            case ast.Call(func=ast.Name(id="any_of"), args=[_, ast.Call(func=ast.Name(id="range"), args=ends)]):
                self.chooses = True
                return ast.Compare(ends[-1], [ast.Gt()], [ends[0] if len(ends) > 1 else ast.Constant(0)])
            case ast.Call(func=ast.Name(id="any_of"), args=[_, members]) if not self.is_role(members):
                self.chooses = True
                return ast.Compare(ast.Call(ast.Name("len", ast.Load()), [members], []), [ast.Gt()], [ast.Constant(0)])
        return ast.Constant(True)

    def is_role(self, node: ast.expr) -> bool:
        """Return whether an expression names a role."""
        return isinstance(node, ast.Name) and hasattr(self.function.__globals__.get(node.id), "__supertype__")

    def first(self, node: ast.AST) -> Found | None:
        """Return the first call that may do more than look, in Python's order; None if all of an expression looks."""
        match node:
            case ast.Compare(ops=[_, _, *_]):  # its middles call nothing
                sides = [node.left, *node.comparators]
                pairs = zip(sides, node.ops, sides[1:], strict=False)
                return self.first(ast.BoolOp(ast.And(), [ast.Compare(a, [op], [b]) for a, op, b in pairs]))
            case ast.BoolOp():
                return self.in_turn(node)
            case ast.IfExp() if not any(map(self.acts, ast.walk(node.test))):
                for place, reached, other in (
                    ("body", [node.test], node.orelse), ("orelse", [ast.UnaryOp(ast.Not(), node.test)], node.body),
                ):  # fmt: skip
                    if found := self.first(getattr(node, place)):
                        if found.without is not None:
                            setattr(node, place, found.without)
                        return Found(found.call, [*reached, *found.tests], other if found.without is None else node)
            case ast.GeneratorExp() | ast.ListComp() | ast.SetComp():
                return Found(None, [], None) if any(map(self.acts, ast.walk(node))) else None
        for place, held in ast.iter_fields(node):
            for at, part in enumerate(held if isinstance(held, list) else [held]):
                if isinstance(part, ast.AST) and (found := self.first(part)):
                    if found.without is None:
                        return found
                    if isinstance(held, list):
                        held[at] = found.without
                    else:
                        setattr(node, place, found.without)
                    return found._replace(without=node)
        return Found(node, [], None) if isinstance(node, ast.Call) and self.acts(node) else None

    def in_turn(self, node: ast.BoolOp) -> Found | None:
        """Return the first such call of conditions."""
        for k, part in enumerate(node.values):
            if found := self.first(part):
                before, behind = node.values[:k], node.values[k + 1 :]
                tests = before if isinstance(node.op, ast.And) else [ast.UnaryOp(ast.Not(), test) for test in before]
                left = before if found.without is None else [*before, found.without, *behind]
                without = ast.BoolOp(node.op, left) if len(left) > 1 else left[0] if left else None
                return Found(found.call, [*tests, *found.tests], without)
        return None

    def acts(self, node: ast.AST) -> bool:
        """Return whether it is a call that may do more than look."""
        if not isinstance(node, ast.Call):
            return False
        return not (isinstance(node.func, ast.Name) and looks(self.function, node.func.id, self.names))


def every(tests: list[ast.expr]) -> ast.expr:
    """Return the test whether all of some are true."""
    return copied(ast.BoolOp(ast.And(), tests) if len(tests) > 1 else tests[0])


def looks(function: FunctionType, name: str, names: Mapping[str, Any], above: tuple[FunctionType, ...] = ()) -> bool:
    """Return whether what a function calls by a name writes nothing and chooses nothing, as far as the source shows.

    Args:
        above: the functions that call it: one that calls itself is refused later.
    """
    given = function.__globals__.get(name)
    if name in OF_PYTHON:
        return given is None
    if isinstance(given, FunctionType):
        if given.__module__ == lang.__name__:
            return name in LOOKS
        called = names.get(getattr(function, "apart", {}).get(name, name), given)
        return called in above or looks_only(called, names, (*above, called))
    return isinstance(given, (MessageName, RecordName))


def looks_only(function: FunctionType, names: Mapping[str, Any], above: tuple[FunctionType, ...]) -> bool:
    """Return whether a function writes nothing, and calls only what does not."""
    if function.__module__.partition(".")[0] in ("zabspec", "zabcheck", "checker"):
        return False
    node = definition(function)
    for part in ast.walk(node):
        if isinstance(part, (ast.Attribute, ast.Subscript)) and isinstance(part.ctx, ast.Store):
            return False
        if isinstance(part, ast.Call) and not (
            isinstance(part.func, ast.Name) and looks(function, part.func.id, names, above)
        ):
            return False
    return True
