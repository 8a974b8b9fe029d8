"""Derive from a step whether its first choice has something to choose from: otherwise the step is not enabled.

`any_of(s, members)` of an empty set is a run-time error. If it is the first that a step does, apart from looking at the
state, then what the step does up to there is a condition of the step, as if its author had repeated it in `when`. It is
written out as a function of its own, of the same statements:

    q = any_of(s, {q for ... if ...})        return len({q for ... if ...}) > 0
    a write, a call that may write           return True
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator
from types import FunctionType

from zabspec.language import lang
from zabspec.language.bytecode import recompiled
from zabspec.language.lang import MessageName, RecordName
from zabspec.language.meanings import OF_PYTHON
from zabspec.language.source import definition

MARKS = ("made_action", "made_change")
CONDITIONAL = (ast.BoolOp, ast.IfExp, ast.GeneratorExp, ast.SetComp, ast.Lambda)
LOOKS = frozenset({"is_a", "is_quorum", "only", "processes"})  # words of the language that change nothing


def name_of(step: str) -> str:
    """Return the name of the function that says whether a step has something to choose from."""
    return f"{step}_may_choose"


def may_choose(function: FunctionType, step: str) -> FunctionType:
    """Return the function that says whether a step, which this function takes, has something to choose from.

    Raises:
        LanguageError: the function's file no longer matches what was loaded from it.
    """
    node, derived = copy.deepcopy(definition(function)), Derived(function)
    body = derived.block(node.body)
    node.body = [*body, ast.Return(ast.Constant(True))] if derived.chooses else [ast.Return(ast.Constant(True))]
    node.name, node.decorator_list, node.returns = name_of(step), [], ast.Name("bool", ast.Load())
    for part in ast.walk(node):
        if "lineno" in part._attributes and not hasattr(part, "lineno"):
            ast.copy_location(part, node)
    code = recompiled(copy.deepcopy(node), function.__code__.co_filename)
    out = FunctionType(code, function.__globals__, node.name)
    out.__module__ = function.__module__
    vars(out).update({k: v for k, v in vars(function).items() if k in ("apart", "beside")}, syntax=node)
    return out


class Derived:
    """What of a function's statements comes before its first choice.

    Attributes:
        chooses: it has one, of a set.
    """

    def __init__(self, function: FunctionType) -> None:
        self.function, self.chooses = function, False

    def block(self, statements: list[ast.stmt]) -> list[ast.stmt]:
        """Return the statements up to the first that does more than look."""
        out: list[ast.stmt] = []
        for s in statements:
            found = self.statement(s)
            out.append(found)
            if isinstance(found, ast.Return):
                break
        return out

    def statement(self, s: ast.stmt) -> ast.stmt:
        value = s.test if isinstance(s, ast.If) else s.iter if isinstance(s, ast.For) else getattr(s, "value", None)
        first = next(self.acting(value), None) if isinstance(value, ast.expr) else None
        match first:
            case ast.Call(func=ast.Name(id="any_of"), args=[_, members]) if not self.is_role(members):
                self.chooses = True
                size = ast.Call(ast.Name("len", ast.Load()), [members], [])
                return ast.Return(ast.Compare(size, [ast.Gt()], [ast.Constant(0)]))
            case None:
                match s:
                    case ast.If():
                        return ast.If(s.test, self.block(s.body), self.block(s.orelse))
                    case ast.For(orelse=[]):
                        return ast.For(s.target, s.iter, self.block(s.body), [])
                    case ast.Pass() | ast.Break() | ast.Continue() | ast.Expr(value=ast.Constant()):
                        return s
                    case ast.Assign(targets=[ast.Name()]) | ast.AugAssign(target=ast.Name()):
                        return s
                    case ast.AnnAssign(target=ast.Name(), value=ast.expr()):
                        return s
        return ast.Return(ast.Constant(True))

    def is_role(self, node: ast.expr) -> bool:
        """Return whether an expression names a role."""
        return isinstance(node, ast.Name) and hasattr(self.function.__globals__.get(node.id), "__supertype__")

    def acting(self, node: ast.AST, always: bool = True) -> Iterator[ast.expr]:
        """Yield the calls in an expression that may do more than look, in the order of evaluation.

        A choice that is not always made counts as a call of which nothing is known.
        """
        inner = always and not isinstance(node, CONDITIONAL)
        for part in ast.iter_child_nodes(node):
            yield from self.acting(part, inner)
        if isinstance(node, ast.Call) and not (isinstance(node.func, ast.Name) and looks(self.function, node.func.id)):
            yield node if always else ast.Constant(None)


def looks(function: FunctionType, name: str) -> bool:
    """Return whether what a function calls by a name writes nothing and chooses nothing, as far as the source shows."""
    given = function.__globals__.get(name)
    if name in OF_PYTHON:
        return given is None
    if isinstance(given, FunctionType):
        if given.__module__ == lang.__name__:
            return name in LOOKS
        return looks_only(given)
    return isinstance(given, (MessageName, RecordName))


def looks_only(function: FunctionType) -> bool:
    """Return whether a function writes nothing, and calls only what does not."""
    if function.__module__.partition(".")[0] in ("zabspec", "zabcheck", "checker"):
        return False
    node = definition(function)
    for part in ast.walk(node):
        if isinstance(part, (ast.Attribute, ast.Subscript)) and isinstance(part.ctx, ast.Store):
            return False
        if isinstance(part, ast.Call) and not (isinstance(part.func, ast.Name) and looks(function, part.func.id)):
            return False
    return True
