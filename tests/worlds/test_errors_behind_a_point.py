"""Failing within a step, where the handler meets a run-time error: behind the point it does not happen, before it there
are the points passed so far, and other choices have theirs."""

from __future__ import annotations

from pathlib import Path

import pytest

from checker.explore.breadth_first import Explorer
from checker.explore.compiled import Compiled
from checker.explore.interpret import Interpreter
from checker.explore.result import Exploration, Limits
from invariants import properties_of
from zabspec.model import Configuration, Model

TEXT = '''"""A handler that errs at its end, in one of its choices."""

from typing import Annotated

from zabcheck.language import *

D = Annotated[int, Range(0, 3)]


class State(Fields):
    d: Each[Node, D] = on_disk("written")
    e: Each[Node, Annotated[int, Range(0, 9)]] = stored("forced as it is written")
    small: Each[Node, Annotated[int, Range(0, 1)]] = volatile("what overflows")
    shown: Each[Node, D] = ghost("what was shown")


@observation
def show(s: State, p: Node, k: int) -> None:
    s.shown[p] = k


def not_yet(s: State, p: Node) -> bool:
    return s.d[p] == 0 and s.e[p] == 0


@action(when=not_yet)
def put(s: State, p: Node) -> None:
    BODY


def some(s: State) -> bool:
    """It has written."""
    return s.d[0] > 0 or s.e[0] > 0


@safety(witness=some)
def quiet(s: State) -> bool:
    """Nothing loud is shown."""
    return s.shown[0] < 9


PROTOCOL = declare(
    __name__, budgets={"crashes": 1}, nodes=1, unforced=2,
)
'''

BODIES = {
    # what it does, and the results (d, e, shown) of failing within it
    "at its end": (
        ["s.d[p] = 1", "show(s, p, 2)", "s.small[p] = 2"],
        {(0, 0, 0), (1, 0, 0), (1, 0, 2)},
    ),
    "in one choice": (
        ["c = choose(s, 3)", "s.d[p] = c + 1", "if c == 0:", "    s.small[p] = 2", "s.e[p] = c"],
        {(0, 0, 0), (1, 0, 0), (2, 0, 0), (2, 1, 0), (3, 0, 0), (3, 2, 0)},
    ),
    "before a later choice": (
        ["s.e[p] = 1", "c = choose(s, 2)", "s.small[p] = 2 - c", "k = choose(s, 2)", "s.e[p] = 2 + k"],
        {(0, 0, 0), (0, 1, 0), (0, 2, 0), (0, 3, 0)},
    ),
    "in a statement that writes": (
        ["s.e[p] = 1", "s.e[p] = s.e[p] + 9", "s.e[p] = 2"],
        {(0, 0, 0), (0, 1, 0)},
    ),
    "with many choices behind the point": (
        ["s.e[p] = 1", "a = choose(s, 5)", "b = choose(s, 5)", "c = choose(s, 5)", "s.d[p] = 1"],
        {(0, 0, 0), (0, 1, 0), (1, 1, 0)},
    ),
}  # fmt: skip


def both(tmp_path: Path, body: list[str]) -> tuple[Exploration, set[tuple[int, int, int]]]:
    """Explored by both engines, which agree; and what the first step's states are, the process being down."""
    path = tmp_path / "text.py"
    path.write_text(TEXT.replace("BODY", "\n    ".join(body)), encoding="utf-8")
    c = Configuration(str(path))
    code = Compiled.of(Model(c), properties_of(str(path)), False)[0]
    fast = Explorer(code, 1).run(Limits(), True)
    slow_engine = Interpreter(Model(c), properties_of(str(path)), False)
    slow = slow_engine.run(Limits(), True)
    assert (fast.levels, fast.generated, fast.event_counts) == (slow.levels, slow.generated, slow.event_counts)
    assert {n: v.depth for n, v in fast.violations.items()} == {n: v.depth for n, v in slow.violations.items()}
    model = Model(c)
    initial = model.program.initial()
    found = set()
    for _, after in slow_engine.successors(initial.key()):
        if after.crashed[0] and after.event == 25:
            found.add((after.d[0], after.e[0], after.shown[0]))
    made = {data for word, data in code.next_states(initial.key()) if word >> 24 & 255 == 25}
    assert len({data[: model.program.layout.size] for data in made}) == len(found)
    return fast, found


@pytest.mark.slow(seconds=1)
@pytest.mark.parametrize("named", sorted(BODIES))
def test_failing_within_a_step_that_errs(named: str, tmp_path: Path) -> None:
    body, expected = BODIES[named]
    fast, found = both(tmp_path, body)
    assert found == expected
    assert ("no-runtime-error" in fast.violations) == any("small" in line or "+ 9" in line for line in body)
    assert not fast.error or "no-runtime-error" in fast.violations


CONNECTED = '''"""An election in which the part of each process errs at its end."""

from typing import Annotated

from zabcheck.language import *


class State(Fields):
    role: Each[Node, Annotated[int, OneOf("LOOKING", "FOLLOWING", "LEADING")]] = stored("what it does")
    leader: Each[Node, Node] = stored("whom it follows")
    vote: Each[Node, Annotated[int, Range(0, 3)]] = on_disk("written")
    small: Each[Node, Annotated[int, Range(0, 1)]] = volatile("what overflows")


def on_elected(s: State, l: Node) -> None:
    s.vote[l] = 1
    s.role[l] = 2
    ELECTED


def on_follow(s: State, f: Node, l: Node) -> None:
    s.vote[f] = 2
    s.role[f] = 1
    s.leader[f] = l
    FOLLOW


def some(s: State) -> bool:
    """It has written."""
    return s.vote[0] > 0


@safety(witness=some)
def little(s: State) -> bool:
    """Votes are small."""
    return s.vote[0] < 3


PROTOCOL = declare(
    __name__, world="connections", elects=("vote",),
    budgets={"crashes": 1, "elections": 1}, nodes=2, unforced=4,
)
'''


@pytest.mark.slow(seconds=2)
@pytest.mark.parametrize(
    ("elected", "follow", "failed"), [("s.small[l] = 2", "return", 0), ("return", "s.small[f] = 2", 1)]
)
def test_an_election_has_the_error_of_who_goes_on_and_not_of_who_failed(
    elected: str, follow: str, failed: int, tmp_path: Path
) -> None:
    """p0 is elected by p1: the one whose part errs may fail before it; the error is the step's if the other fails."""
    path = tmp_path / "elected.py"
    path.write_text(CONNECTED.replace("    ELECTED\n", f"    {elected}\n").replace("    FOLLOW\n", f"    {follow}\n"))
    c = Configuration(str(path))
    model = Model(c)
    engine = Interpreter(model, properties_of(str(path)), False)
    code = Compiled.of(Model(c), properties_of(str(path)), False)[0]
    initial = model.program.initial().key()
    size = model.program.layout.size
    slow = {(word, after.key()) for word, after in engine.successors(initial)}
    fast = {(word, data[:size]) for word, data in code.next_states(initial)}
    assert slow == fast
    inside = [(word, after) for word, after in engine.successors(initial) if after.event == 29]
    assert {(word >> 16 & 255) == (word >> 8 & 255) for word, _ in inside} == {failed == 0}
    assert len({after.key() for word, after in inside}) > 2
