"""What the language does not have is refused in the words of who wrote it, never by a class of Python's parser."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from tests.language.test_language import rejected

# a statement for every class of the parser that a function of a protocol may not have
WRITTEN = """
AsyncFor        async for q in s.few[p]: pass
AsyncFunctionDef    async def inner(): pass
AsyncWith       async with s: pass
Await           await s
ClassDef        class A: pass
Delete          del s.few[p][0]
Dict            a = {1: 2}
DictComp        a = {q: 1 for q in range(3)}
Div             s.x[p] = s.x[p] / 2
FunctionDef     def inner(): pass
GeneratorExp    a = (q for q in range(3))
Global          global FIVE
Import          import os
ImportFrom      from os import path
Invert          s.x[p] = ~s.x[p]
Is              s.flag[p] = s.x[p] is FIVE
IsNot           s.flag[p] = s.x[p] is not FIVE
JoinedStr       a = f"{p}"
Lambda          a = lambda: 1
List            a = [1]
ListComp        a = [q for q in range(3)]
MatMult         s.x[p] = s.x[p] @ 2
Match           match p: case _: pass
NamedExpr       s.flag[p] = (a := True)
Nonlocal        nonlocal FIVE
Raise           raise ValueError
Return          return 1
Slice           a = s.few[p][0:1]
Starred         s.flag[p] = is_quorum(s, *s.few[p])
Try             try: pass
TryStar         try: pass
Tuple           a = 1, 2
UAdd            s.x[p] = +s.x[p]
With            with s: pass
Yield           yield 1
YieldFrom       yield from s.few[p]
Assign          a = b = 1
AnnAssign       a: int
Expr            s.x[p]
Constant        a = 1.5
Constant        a = "idle"
Constant        a = b"idle"
Constant        a = None
Constant        a = 2j
Constant        a = ...
"""
# every other class of statements, values and operators, which the language has
HAS = """
Add And Assert Attribute AugAssign BinOp BitAnd BitOr BitXor BoolOp Break Call Compare Continue Eq FloorDiv For
FormattedValue Gt GtE If IfExp In LShift Lt LtE Mod Mult Name Not NotEq NotIn Or Pass Pow RShift Set SetComp Sub
Subscript USub UnaryOp While
"""
KINDS = (ast.stmt, ast.expr, ast.operator, ast.unaryop, ast.cmpop, ast.boolop)
CLASSES = {c.__name__ for kind in KINDS for c in vars(ast).values() if isinstance(c, type) and issubclass(c, kind)}
OLDER = {"Bytes", "Ellipsis", "ExtSlice", "Index", "NameConstant", "Num", "Str", "TemplateStr", "Interpolation"}
CASES = [line.split(None, 1) for line in WRITTEN.strip().splitlines()]


def test_every_class_of_the_parser_is_one_or_the_other() -> None:
    written = {name for name, _ in CASES}
    assert written | set(HAS.split()) == CLASSES - OLDER - {k.__name__ for k in KINDS} - {"TypeAlias"}
    assert written.isdisjoint(HAS.split())


@pytest.mark.parametrize(("name", "statement"), CASES)
def test_it_is_refused_in_words(name: str, statement: str, tmp_path: Path) -> None:
    after = {"Try": "    finally:\n        pass\n", "TryStar": "    except* ValueError:\n        pass\n"}
    statement = statement.replace(": ", ":\n        ").replace("_:\n ", "_: ") if ": pass" in statement else statement
    start = "async def" if name in ("AsyncFor", "AsyncWith", "Await") else "def"
    text = f"{start} h(s: State, p: Node) -> None:\n    {statement}\n{after.get(name, '')}"
    if name == "Nonlocal":
        text = "def h(s: State, p: Node) -> None:\n    FIVE = 1\n    def inner():\n        nonlocal FIVE\n"
    error = rejected(tmp_path, text)
    assert not re.search(rf"\b({'|'.join(CLASSES)})\b", error.reason), error.reason
    assert "is not in the language: " in error.reason or name == "Return"
