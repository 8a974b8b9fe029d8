"""Each clause of the inductive invariant is one sentence, so that it can be asked about by itself.

A clause refuses a state in one place, for one thing: it is a premise, and what must not be where that is so. Two things
that must not be are two clauses.
"""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from collections.abc import Callable
from typing import Any

import pytest

from invariants.inductive import CLAUSES, MODULES, datagrams

EVERY = (*CLAUSES, *datagrams.CLAUSES)


def refuses(node: ast.AST) -> bool:
    """Whether a statement says that a state is not so: `return False`, or a sentence why (`return broken(...)`)."""
    if not isinstance(node, ast.Return):
        return False
    value = node.value
    said = isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id == "broken"
    return said or (isinstance(value, ast.Constant) and value.value is False)


def alternatives(test: ast.expr) -> bool:
    """Whether a test is of several things of which each is enough: `a or b`, or `not (a and b)`. Whether one thing has
    one of several values is one thing: `x == 1 or x == 2`."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return isinstance(test.operand, ast.BoolOp) and isinstance(test.operand.op, ast.And)
    if not (isinstance(test, ast.BoolOp) and isinstance(test.op, ast.Or)):
        return False
    compared = [ast.dump(v.left) for v in test.values if isinstance(v, ast.Compare) and isinstance(v.ops[0], ast.Eq)]
    return len(compared) < len(test.values) or len(set(compared)) > 1


def as_loop(function: ast.FunctionDef) -> None:
    """Write `return all(...)` at the end of a clause as the loop that it stands for."""
    match function.body[-1]:
        case ast.Return(value=ast.Call(func=ast.Name(id="all"), args=[ast.GeneratorExp() as given])):
            test = given.elt
            test = test.operand if isinstance(test, ast.UnaryOp) else ast.UnaryOp(ast.Not(), test)
            inner: ast.stmt = ast.If(test, [ast.Return(ast.Constant(False))], [])
            for part in reversed(given.generators):
                for other in reversed(part.ifs):
                    inner = ast.If(other, [inner], [])
                inner = ast.For(part.target, part.iter, [inner], [])
            function.body[-1:] = [inner, ast.Return(ast.Constant(True))]


def flaws(source: str) -> list[str]:
    """Why a clause is not one sentence; none: it is."""
    (function,) = ast.parse(textwrap.dedent(source)).body
    assert isinstance(function, ast.FunctionDef)
    as_loop(function)
    sentence = " ".join((ast.get_docstring(function) or "").split())
    one = re.fullmatch(r"[A-Z][^;:]*\.", sentence) and ". " not in sentence
    out = [] if one else ["it is not said in one sentence"]
    returns = [node for node in ast.walk(function) if isinstance(node, ast.Return)]
    refusals = [node for node in returns if refuses(node)]
    if len(refusals) != 1:
        out.append(f"it refuses a state in {len(refusals)} places")
    last = function.body[-1]
    if len(returns) != len(refusals) + 1 or ast.unparse(last) != "return True":
        out.append("it does not say at its end, and there alone, that a state is so")
    for node in ast.walk(function):
        if isinstance(node, ast.If) and any(map(refuses, (*node.body, *node.orelse))):
            if len(node.body) != 1 or node.orelse:
                out.append("it does more where it refuses")
            if alternatives(node.test):
                out.append(f"it refuses a state for several things: {ast.unparse(node.test)}")
    return out


def test_every_clause_is_one_sentence() -> None:
    found = {c.name: flaws(inspect.getsource(c.holds)) for c in EVERY}
    assert {name: why for name, why in found.items() if why} == {}


def test_every_clause_is_named_after_its_function_and_no_two_say_the_same() -> None:
    assert [c.name for c in EVERY] == [c.holds.__name__.replace("_", "-") for c in EVERY]
    assert len({c.name for c in EVERY}) == len({c.statement for c in EVERY}) == len(EVERY)


def test_every_function_that_could_be_a_clause_is_one() -> None:
    """One that somebody wrote and did not list would never be asked about."""
    known = {c.holds for c in EVERY}
    for module in MODULES:
        for name, function in inspect.getmembers(module, inspect.isfunction):
            if function.__module__ == module.__name__ and list(inspect.signature(function).parameters) == ["s"]:
                assert function in known, name


# --- the rule itself -------------------------------------------------------------------------------


def two_loops(s: Any) -> bool:
    """Nothing is late."""
    for p in range(s.NODES):
        if s.late[p]:
            return False
    for p in range(s.NODES):
        if s.early[p]:
            return False
    return True


def two_things(s: Any) -> bool:
    """Nothing is late."""
    for p in range(s.NODES):
        if s.late[p] or s.early[p]:
            return False
    return True


def one_of_two_must_be(s: Any) -> bool:
    """Nothing is late."""
    for p in range(s.NODES):
        if not (s.on_time[p] and s.there[p]):
            return False
    return True


def two_sentences(s: Any) -> bool:
    """Nothing is late; nothing is early."""
    for p in range(s.NODES):
        if s.late[p]:
            return False
    return True


def says_so_twice(s: Any) -> bool:
    """Nothing is late."""
    if s.never:
        return True
    for p in range(s.NODES):
        if s.late[p]:
            return False
    return True


def one_thing_of_two_kinds(s: Any) -> bool:
    """No message of a kind that a leader sends is in flight to a leader."""
    for p in range(s.NODES):
        if s.kind[p] == 1 or s.kind[p] == 2:
            return False
    return True


@pytest.mark.parametrize(
    ("clause", "why"),
    [
        (two_loops, "refuses a state in 2 places"),
        (two_things, "for several things"),
        (one_of_two_must_be, "for several things"),
        (two_sentences, "not said in one sentence"),
        (says_so_twice, "at its end, and there alone"),
        (one_thing_of_two_kinds, ""),
    ],
)
def test_the_rule_tells_one_sentence_from_several(clause: Callable[..., Any], why: str) -> None:
    found = flaws(inspect.getsource(clause))
    assert [why in f for f in found] == ([True] if why else [])
