"""Quorum systems of a request, of as many processes as it has: weights and groups, also disjoint ones."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from typing import Any

SIZE_OF = re.compile(r"len\((?!s\.chain)[^()]*\)(?! == 0)")  # of a set, perhaps, unless it is asked to be empty
NUMBER_OF = re.compile(r"(?<!range\()s\.NODES|s\.MAJORITY")

SYSTEMS = {
    1: ("weights 1",),
    2: ("weights 2,1", "weights 1,0", "weights 1,1", "weights 2,-1"),
    3: (
        "weights 2,1,1", "weights 1,1,0", "groups {1,2},{3}", "weights 3,3,-3", "weights 1,1,1", "weights 3,1,1",
    ),
}  # fmt: skip
DRAWS = 12  # a multiple of how many there are of each size


def with_system(request: Mapping[str, Any]) -> dict[str, Any]:
    """Return a request whose system is one of as many processes as it has; one that names none stays as it is."""
    if "roles" in request:
        return with_roles(request)
    if "system" not in request:
        return dict(request)
    there = SYSTEMS[request["nodes"]]
    return {**request, "quorums": there[request["system"] % len(there)]}


def with_roles(request: Mapping[str, Any]) -> dict[str, Any]:
    """Return a request with as many processes of its roles as it has processes, and at least one of each; of a third
    role one."""
    first, second, *more = request["roles"]
    nodes = max(2 + len(more), request["nodes"])
    few = max(1, (nodes - len(more)) // 2) if request["skew"] else 1
    counts = {first: few, second: nodes - len(more) - few, **dict.fromkeys(more, 1)}
    return {**request, "nodes": nodes, "budgets": {**request["budgets"], **counts}}


def may_count(text: str) -> bool:
    """Return whether a protocol may be refused a system, because it may count majorities itself."""
    if SIZE_OF.search(text) or NUMBER_OF.search(text):
        return True
    loops = (node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.For))
    return any(
        isinstance(part, ast.AugAssign) or (isinstance(part, ast.Assign) and isinstance(part.value, ast.BinOp))
        for loop in loops
        for part in ast.walk(loop)
    )
