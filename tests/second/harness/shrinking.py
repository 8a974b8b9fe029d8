"""A protocol and its request made smaller, as long as the difference stays."""

from __future__ import annotations

import ast
import copy
import tempfile
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from tests.second.generator import Generated
from tests.second.generator.favoured import drawn
from tests.second.generator.features import OF_WORLDS
from tests.second.generator.systems import with_system
from tests.second.harness.book import Reference
from tests.second.harness.checking import Outcome, compare, describe
from tests.second.harness.question import Question

LONGEST = 120.0  # seconds
Holds = Callable[[str, dict[str, Any]], bool]


def shrunk(outcome: Outcome, engines: Collection[str], favour: Sequence[str] = ()) -> list[str]:
    """The smallest protocol found that differs in the same engine, as lines: its text, its request, the difference."""
    name = next(iter(outcome.differences))
    made = drawn(outcome.seed, favour)
    last: list[str] = []
    with tempfile.TemporaryDirectory() as folder, Reference(30.0) as reference:
        files = iter(range(1 << 30))

        def differs(text: str, request: dict[str, Any]) -> bool:
            path = Path(folder) / f"smaller_{next(files)}.py"
            path.write_text(text)
            asked = {**request, "protocol": str(path)}
            try:
                book = reference.explore(asked)
                found = Outcome(outcome.seed)
                describe(found, replace(made, text=text), asked, book)
                some = [
                    d for d in compare(Question(asked), book, engines, found, reference.explore) if d.engine == name
                ]
            except Exception:  # it is no smaller protocol that can be asked about
                return False
            if some:
                last[:] = str(some[0]).splitlines()
            return bool(some)

        text, request = shrunk_while(differs, Generated(made.seed, made.text, outcome.request))
    return [f"seed {outcome.seed}, {name}, made smaller:", text, str(request), *last]


def shrunk_while(holds: Holds, given: Generated, longest: float = LONGEST) -> tuple[str, dict[str, Any]]:
    """The smallest text and request for which something holds, tried greedily."""
    end = time.monotonic() + longest
    text, request = ast.unparse(ast.parse(given.text)), {k: v for k, v in given.request.items() if k != "protocol"}
    again = True
    while again and time.monotonic() < end:
        again = False
        for made in candidates(text, request):
            if time.monotonic() > end:
                break
            if holds(*made):
                text, request = made
                again = True
                break
    return text, request


def candidates(text: str, request: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Everything that is one removal smaller: the largest first."""
    tree = ast.parse(text)
    for smaller in smaller_requests(request):
        yield text, smaller
    for k, node in enumerate(tree.body):
        if isinstance(node, (ast.FunctionDef, ast.Assign)) and "PROTOCOL" not in ast.unparse(node):
            made = copy.deepcopy(tree)
            removed = made.body.pop(k)
            names = {getattr(removed, "name", "").replace("_", "-")}
            left = [p for p in request["properties"] if p not in names]
            made = without_calls(made, removed)
            spent = without_unspent(made, request["budgets"])
            yield ast.unparse(ast.fix_missing_locations(made)), {**request, "properties": left, "budgets": spent}
    for where, k in places(tree):
        made = copy.deepcopy(tree)
        body = list(bodies(made))[where]
        statement = body[k]
        if isinstance(statement, (ast.If, ast.For)):
            yield edited(made, body, k, statement.body), request
            made = copy.deepcopy(tree)
            body = list(bodies(made))[where]
        yield edited(made, body, k, []), request
    yield from (edit for edit in without_entries(tree, request))


def without_unspent(tree: ast.Module, budgets: dict[str, int]) -> dict[str, int]:
    """Remove budgets that no step spends from what is declared; return the amounts of the others."""
    text, gone = ast.unparse(tree), set()
    for given in (k.value for k in ast.walk(tree) if isinstance(k, ast.keyword) and k.arg == "budgets"):
        assert isinstance(given, ast.Dict)
        for at, key in [*enumerate(ast.literal_eval(given))][::-1]:
            if key not in (*OF_WORLDS, "elections") and f"budget='{key}'" not in text:
                gone.add(key)
                del given.keys[at], given.values[at]
    return {name: n for name, n in budgets.items() if name not in gone}


def edited(tree: ast.Module, body: list[ast.stmt], k: int, instead: list[ast.stmt]) -> str:
    body[k : k + 1] = instead
    if not body:
        body.append(ast.Pass())
    return ast.unparse(ast.fix_missing_locations(tree))


def smaller_requests(request: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for name in request["properties"]:
        yield {**request, "properties": [p for p in request["properties"] if p != name]}
    for name, n in request["budgets"].items():
        if n:
            yield {**request, "budgets": {**request["budgets"], name: n - 1}}
    if request["nodes"] > 1:
        yield with_system({**request, "nodes": request["nodes"] - 1})
    for name in ("variant", "start"):
        if request.get(name):
            yield {**request, name: ""}


def bodies(tree: ast.Module) -> Iterator[list[ast.stmt]]:
    """The blocks of all functions but those that declare."""
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and node.name not in ("state", "messages", "types"):
            for part in ast.walk(node):
                for name in ("body", "orelse"):
                    block = getattr(part, name, None)
                    if isinstance(block, list) and block:
                        yield block


def places(tree: ast.Module) -> list[tuple[int, int]]:
    return [(where, k) for where, body in enumerate(bodies(tree)) for k in range(len(body))]


def without_calls(tree: ast.Module, removed: ast.stmt) -> ast.Module:
    """A module without the statements that call a function that was removed."""
    name = getattr(removed, "name", "")
    for body in bodies(tree):
        kept = [s for s in body if not (isinstance(s, ast.Expr) and ast.unparse(s).startswith(f"{name}("))]
        body[:] = kept or [ast.Pass()]
    return tree


def without_entries(tree: ast.Module, request: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Without a field, or a kind of message, that is declared."""
    for k, node in enumerate(tree.body):
        if isinstance(node, ast.ClassDef):
            for j in range(len(node.body) if node.name == "State" and len(node.body) > 1 else 0):
                made = copy.deepcopy(tree)
                made.body[k].body.pop(j)  # type: ignore[attr-defined]
                yield ast.unparse(made), request
            if node.name != "State":
                yield ast.unparse(ast.Module([*tree.body[:k], *tree.body[k + 1 :]], [])), request
