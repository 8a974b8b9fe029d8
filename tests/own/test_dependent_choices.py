"""A choice that depends on an earlier one: each sequence of choices is one alternative, counted and walked once."""

from __future__ import annotations

from pathlib import Path

import pytest

import zabcheck
from invariants import properties_of
from traces.walk.walker import Walker
from zabspec.model import Configuration, Model

TEXT = '''"""A process that chooses."""

from __future__ import annotations

from typing import Annotated

from zabcheck.language import Each, Fields, Range, Node, action, broken, choose, declare, on_disk, safety, stored


Place = Annotated[int, Range(0, 9)]


class State(Fields):
    at: Each[Node, Place] = {kind}("where it is")
    then: Each[Node, Place] = {kind}("where it is then")
    last: Each[Node, Place] = {kind}("where it is at last")


def fresh(s: State, p: Node) -> bool:
    return s.at[p] == 0


@action(when=fresh)
def go(s: State, p: Node) -> None:
{body}


def moved(s: State) -> bool:
    """One has gone."""
    return s.at[0] > 0


@safety(witness=moved)
def never(s: State) -> bool:
    """It is never so."""
    if {bad}:
        return broken("it is so")
    return True


PROTOCOL = declare(__name__, nodes=1, budgets={{"crashes": {crashes}}})
'''

# Four alternatives: 1, and 2 to 4.
DEPENDS = """    first = choose(s, 2)
    if first == 0:
        s.at[p] = 1
    else:
        second = choose(s, 3)
        s.at[p] = 2 + second
"""
# With a crash: two alternatives; five failures inside: before it, behind each write of the first, at the end of both;
# and a crash before it.
WRITES = """    first = choose(s, 2)
    if first == 0:
        s.at[p] = 1
        s.then[p] = 1
        s.last[p] = 1
"""


def written(folder: Path, body: str, bad: str, kind: str = "stored", crashes: int = 0) -> str:
    path = folder / "chooses.py"
    path.write_text(TEXT.format(body=body, bad=bad, kind=kind, crashes=crashes))
    return str(path)


@pytest.mark.parametrize("engine", ["compiled", "interpret"])
def test_each_sequence_of_choices_is_generated_once(tmp_path: Path, engine: str) -> None:
    path = written(tmp_path, DEPENDS, "s.at[0] == 5")
    found = zabcheck.explore(protocol=path, engine=engine, evidence="explored")
    assert (found.levels, found.exploration.generated) == ([1, 4], 4)


@pytest.mark.parametrize("engine", ["compiled", "interpret"])
def test_each_failure_inside_is_generated_once(tmp_path: Path, engine: str) -> None:
    path = written(tmp_path, WRITES, "s.at[0] == 5", "on_disk", 1)
    found = zabcheck.explore(protocol=path, engine=engine, evidence="explored", depth=1)
    assert found.exploration.event_counts == {20: 2, 8: 1, 25: 6}


@pytest.mark.parametrize(
    ("body", "bad", "crashes"),
    [
        (DEPENDS, "s.at[0] == 4", 0),
        (WRITES, "s.then[0] == 1 and s.last[0] == 0", 1),
    ],
)
def test_random_walks_take_every_alternative(tmp_path: Path, body: str, bad: str, crashes: int) -> None:
    path = written(tmp_path, body, bad, "on_disk" if crashes else "stored", crashes)
    found = zabcheck.search(protocol=path, seed=1, time_limit=20)
    assert [v.property_name for v in found.runs.values()] == ["never"]


def test_a_walk_lists_every_alternative_once(tmp_path: Path) -> None:
    configuration = Configuration(written(tmp_path, DEPENDS, "s.at[0] == 5"))
    walker = Walker(Model(configuration), properties_of(configuration.protocol))
    listed = [
        (p.alternative, p.choices, walker.after(walker.start, p.index).state.at[0]) for p in walker.start.possible
    ]
    assert sorted(at for _, _, at in listed) == [1, 2, 3, 4]
    assert [(k, n) for k, n, _ in listed] == [(1, 4), (2, 4), (3, 4), (4, 4)]
