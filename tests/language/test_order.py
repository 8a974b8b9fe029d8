"""A statement is refused where the order of evaluation matters, unless all back ends have the same.

`tests/proofs/tla/shapes.py` holds that they do.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.language.test_language import program, rejected

HELPERS = """
def bump(s: State, p: Node) -> int:
    s.x[p] = s.x[p] + 1
    s.group[p].add(p)
    s.few[p].append(1)
    return 1


def grow(s: State, p: Node) -> bool:
    return bump(s, p) == 1


def count(s: State, members: Members, n: int) -> int:
    return len(members) + n


def among(s: State, p: Node) -> bool:
    return any(grow(s, p) for k in range(2))


def h(s: State, p: Node) -> None:
    a, b = 0, 0
"""

REFUSED = [
    "s.many[p][s.x[p]] = bump(s, p)",
    "s.many[p][s.x[p]] += bump(s, p)",
    "s.y[p] = max(0, bump(s, p), s.x[p])",
    "s.flag[p] = bump(s, p) in s.group[p]",
    "s.flag[p] = bump(s, p) in s.few[p]",
    "s.flag[p] = s.group[p] == {k for k in range(s.NODES) if k == p and grow(s, p)}",
    "s.y[p] = count(s, s.group[p], bump(s, p))",
    "s.group[p] |= {k for k in range(s.NODES) if grow(s, p)}",
    "s.acks[p][s.x[p]].add(bump(s, p))",
    "s.group[p].add(bump(s, p))",
    "s.few[p].append(bump(s, p))",
    "s.few[p][0] = bump(s, p)",
    "s.few[p].pop(bump(s, p))",
    "a = s.few[p].pop(bump(s, p))",
    "s.few[p] += [bump(s, p)]",
    "s.log[p].append(Txn(epoch=bump(s, p), counter=s.x[p], value=0))",
    "for k in range(bump(s, p), s.x[p]): pass",
]
TAKEN = [
    "s.flag[p] = bump(s, p) in (0, s.x[p])",
    "s.acks[p][0] = {s.x[p], bump(s, p)}",
    "s.y[p] = s.x[p] + bump(s, p)",
    "s.x[p] += bump(s, p)",
    "s.flag[p] = among(s, p) == (s.x[p] == 1)",
    "s.flag[p] = 0 < s.x[p] < bump(s, p)",
    "s.y[p] = bump(s, p) + bump(s, p)",
    "if s.x[p] == bump(s, p): pass",
    "assert s.x[p] == bump(s, p)",
    "s.x[p] = bump(s, p)",
    "s.y[p] = 2 * bump(s, p) + b",
    "s.flag[p] = s.x[p] > 0 and grow(s, p) and s.x[p] > 1",
    "s.y[p] = bump(s, p) if s.x[p] > 0 else s.x[p]",
    "s.many[p][bump(s, p)] = 1",
    "s.y[p], s.x[p] = s.y[p], bump(s, p)",
    "s.flag[p] = bump(s, p) in (0, s.y[p])",
    "s.y[p] = count(s, {p}, bump(s, p))",
]


@pytest.mark.parametrize("statement", REFUSED)
def test_a_call_beside_what_it_changes_is_refused(statement: str, tmp_path: Path) -> None:
    error = rejected(tmp_path, f"{HELPERS}    {statement}\n")
    assert "is evaluated first" in error.reason, error.reason
    assert "a line of its own" in error.reason


@pytest.mark.parametrize("statement", TAKEN)
def test_one_that_is_in_order_is_taken(statement: str, tmp_path: Path) -> None:
    program(tmp_path, protocol=f"{HELPERS}    {statement}\n").typed(["h"])
