"""Write out comprehensions as the loops that they stand for: `any`, `all`, `sum`, `min`, `max`, sets and `any_of`.

    any(test for x in there if other)    for x in there:
                                             if other:
                                                 if test:
                                                     return True
                                         return False

The front end types these statements as the body of a function, whose parameters are the names that they read, and calls
it where the comprehension is (`Expressions.lift`). So no back end knows comprehensions, and what is evaluated, in which
order, and what is not, is as in Python.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass

from zabspec.language.layout.kinds import SetOf
from zabspec.language.layout.source import copied
from zabspec.language.layout.source import placed as placed_at

QUANTIFIERS = ("any", "all", "sum", "min", "max")
# calls that no source can write: `SetWith`, `OneOfSet`, and a number, which a truth value is too where it is added up
WITH_MEMBER, MEMBER_OF, NUMBER_OF = "with.member", "member.of", "number.of"


@dataclass(frozen=True)
class Inner:
    """The body of the function that a comprehension stands for.

    Attributes:
        statements: its statements.
        names: the names that they give a value.
        result: the name that gathers the result, or holds the set that it is about.
    """

    statements: list[ast.stmt]
    names: frozenset[str]
    result: str


def load(name: str) -> ast.Name:
    return ast.Name(name, ast.Load())


def store(name: str, value: ast.expr) -> ast.stmt:
    return ast.Assign([ast.Name(name, ast.Store())], value)


def called(name: str, *args: ast.expr) -> ast.Call:
    return ast.Call(load(name), [*args], [])


def sure(test: ast.expr, *said: str) -> ast.stmt:
    """Return an assertion that is written here; with the two parts of its run-time error."""
    return ast.Assert(test, ast.Constant(said))  # type: ignore[arg-type]  # no source has such a constant


def placed(statements: list[ast.stmt], node: ast.expr | ast.stmt) -> list[ast.stmt]:
    """Return statements, of which what is made here has the place of an expression."""
    return [placed_at(s, node) for s in statements]


def written(text: str, node: ast.AST, number: int) -> ast.expr:
    """Return an expression that is written here, in names that no source can have: `x` is `x.<number>`."""
    made = ast.parse(text, mode="eval").body
    called = {id(part.func) for part in ast.walk(made) if isinstance(part, ast.Call)}
    for part in ast.walk(made):
        if isinstance(part, ast.Name) and id(part) not in called:
            part.id = f"{part.id}.{number}"
        if "lineno" in part._attributes:
            ast.copy_location(part, node)
    return made


def loops(generators: Sequence[ast.comprehension], inner: ast.stmt) -> ast.stmt:
    """Return the loops and tests of a comprehension around a statement."""
    for generator in reversed(generators):
        for test in reversed(generator.ifs):
            inner = ast.If(test, [inner], [])
        inner = ast.For(generator.target, generator.iter, [inner], [])
    return inner


def named_apart(made: ast.ListComp, mark: str) -> ast.ListComp:
    """Return a list comprehension whose names are no local names of the function, as in Python."""
    made = copied(made)
    outside = set(ast.walk(made.generators[0].iter))
    names = {part.id for g in made.generators for part in ast.walk(g.target) if isinstance(part, ast.Name)}
    for part in set(ast.walk(made)) - outside:
        if isinstance(part, ast.Name) and part.id in names:
            part.id += f".{mark}"
    return made


def gone_through(place: ast.expr) -> ast.GeneratorExp:
    """Return the comprehension of the elements of a sequence, or of the members of a set."""
    each = ast.comprehension(ast.Name("each.one", ast.Store()), place, [], 0)
    return ast.copy_location(ast.GeneratorExp(load("each.one"), [each]), place)


def body_of(which: str, node: ast.GeneratorExp | ast.SetComp, number: int, default: ast.expr | None = None) -> Inner:
    """Return what a comprehension stands for.

    Args:
        which: one of `QUANTIFIERS`, or `set`.
        node: the comprehension.
        number: of the function, for the names that are made.
        default: of `min` and `max`.
    """
    result, element = f"{which}.{number}", node.elt
    known, there = f"found.{number}", f"element.{number}"
    before: list[ast.stmt] = []
    after: ast.expr = load(result)
    match which:
        case "any" | "all":
            ends = which == "any"
            test = element if ends else ast.UnaryOp(ast.Not(), element)
            inner: ast.stmt = ast.If(test, [ast.Return(ast.Constant(ends))], [])
            after = ast.Constant(not ends)
        case "sum":
            before = [store(result, ast.Constant(0))]
            inner = store(result, ast.BinOp(load(result), ast.Add(), called(NUMBER_OF, element)))
        case "set":
            inner = store(result, called(WITH_MEMBER, load(result), element))
        case _:
            assert default is not None
            before = [store(result, default), store(known, ast.Constant(False))]
            beyond = ast.Compare(load(there), [ast.Gt() if which == "max" else ast.Lt()], [load(result)])
            better = ast.BoolOp(ast.Or(), [ast.UnaryOp(ast.Not(), load(known)), beyond])
            kept = ast.If(better, [store(result, load(there)), store(known, ast.Constant(True))], [])
            inner = ast.If(ast.Constant(True), [store(there, element), kept], [])
    statements = [*before, loops(node.generators, inner), ast.Return(after)]
    targets = {part.id for g in node.generators for part in ast.walk(g.target) if isinstance(part, ast.Name)}
    at = element if hasattr(element, "lineno") else node
    return Inner(placed(statements, at), frozenset({result, known, there, *targets}), result)


def chosen_member(state: ast.expr, number: int, kind: SetOf, node: ast.expr) -> Inner:
    """Return the choice of a member of a set: how many come before it is chosen."""
    those, which, member = f"those.{number}", f"which.{number}", f"member.{number}"
    choice = store(which, called("choose", state, called("len", load(those))))
    if kind.nodes:
        statements = [choice, ast.Return(called(MEMBER_OF, load(those), load(which)))]
    else:
        there = ast.Compare(load(member), [ast.In()], [load(those)])
        last = ast.If(ast.Compare(load(which), [ast.Eq()], [ast.Constant(0)]), [ast.Return(load(member))], [])
        fewer = store(which, ast.BinOp(load(which), ast.Sub(), ast.Constant(1)))
        through = called("range", ast.Constant(kind.count))
        loop = ast.For(ast.Name(member, ast.Store()), through, [ast.If(there, [last, fewer], [])], [])
        statements = [choice, loop, ast.Return(ast.Constant(kind.count - 1))]
    return Inner(placed(statements, node), frozenset({which, member}), those)
