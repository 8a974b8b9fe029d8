"""Fields that all processes share: `shared(...)`, by Peterson's mutual exclusion."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from checker.cli import main
from checker.explore.interpret import Interpreter
from checker.explore.result import Limits
from checker.proofs.tla.module import module_of
from tests.second.harness.question import Question
from tests.second.reference import explore
from zabspec.model import Configuration, Model

TEXT = '''"""Mutual exclusion of two processes (Peterson 1981)."""

from __future__ import annotations

from typing import Annotated

from zabcheck.language import Each, Fields, Node, OneOf, Size, action, declare, progress, safety, shared, stored

IDLE, FLAGGED, WAITING, CRITICAL = range(4)


class State(Fields):
    at: Each[Node, Annotated[int, OneOf("IDLE", "FLAGGED", "WAITING", "CRITICAL")]] = stored("where it is")
    wants: Each[Node, bool] = shared("who wants to enter")
    turn: Node = shared("who lets the other go first")


@action(fair=False)
def want(s: State, p: Node) -> None:
    if s.at[p] == IDLE:
        s.wants[p] = True
        s.at[p] = FLAGGED


def is_flagged(s: State, p: Node) -> bool:
    return s.at[p] == FLAGGED


@action(when=is_flagged)
def yield_turn(s: State, p: Node) -> None:
    s.turn = p
    s.at[p] = WAITING


def may_enter(s: State, p: Node) -> bool:
    return s.at[p] == WAITING and (s.turn != p or not any(s.wants[q] for q in range(s.NODES) if q != p))


@action(when=may_enter)
def enter(s: State, p: Node) -> None:
    s.at[p] = CRITICAL


def inside(s: State, p: Node) -> bool:
    return s.at[p] == CRITICAL


@action(when=inside)
def leave(s: State, p: Node) -> None:
    s.at[p] = IDLE
    s.wants[p] = False


def somebody(s: State) -> bool:
    """A process is in its critical section."""
    return any(inside(s, p) for p in range(s.NODES))


@safety(witness=somebody)
def exclusion(s: State) -> bool:
    """At most one process is in its critical section."""
    return sum(1 for p in range(s.NODES) if inside(s, p)) <= 1


@progress
def entered(s: State, p: Node) -> bool:
    """Who wants to enter does."""
    return s.at[p] in (FLAGGED, WAITING)


PROTOCOL = declare(__name__, nodes=2)
'''


def written(folder: Path, *changes: tuple[str, str]) -> str:
    text = TEXT
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    (folder / "peterson.py").write_text(text)
    return str(folder / "peterson.py")


@pytest.mark.parametrize("engine", ["interpret", "compiled"])
def test_petersons_algorithm_excludes(engine: str, tmp_path: Path) -> None:
    """Its states are those of the second semantics; processes are interchangeable, with what they share."""
    path = written(tmp_path)
    found = CliRunner().invoke(main, ["--protocol", path, "--engine", engine, "--no-trace"])
    assert found.exit_code == 0
    assert "13 orbits, of 24 states" in found.stdout
    request = {"protocol": path, "nodes": 2, "network": "datagrams", "budgets": {}, "properties": []}
    every = Interpreter(Question(request).model, (), False, every_step=True).run(Limits(), False)
    assert len(explore(request)["states"]) == sum(every.levels) == 24


def test_nobody_starves_and_tla_has_the_field(tmp_path: Path) -> None:
    path = written(tmp_path)
    found = CliRunner().invoke(main, ["--protocol", path, "--live", "--no-trace"])
    assert "holds: no process starves" in found.stdout
    selfish = written(tmp_path, ("when=inside", "when=inside, fair=False"))
    assert CliRunner().invoke(main, ["--protocol", selfish, "--live", "--no-trace"]).exit_code == 1
    assert "turn" in module_of(Model(Configuration(protocol=written(tmp_path), nodes=2)), (), "Peterson").text


@pytest.mark.parametrize("engine", ["interpret", "compiled"])
@pytest.mark.parametrize("test", ["s.turn != p or True or", "s.turn != p or s.turn == p or"])
def test_without_its_condition_two_are_inside(engine: str, test: str, tmp_path: Path) -> None:
    found = CliRunner().invoke(main, ["--protocol", written(tmp_path, ("s.turn != p or", test)), "--engine", engine])
    assert found.exit_code == 1
    assert "breaks exclusion" in " ".join(found.stdout.split())


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (
            "turn: Node = shared(",
            "turn: Node = environment(",
            "not write environment field turn; declare it with shared",
        ),
        (
            "s.wants[p] = False",
            "s.at[1 - p] = IDLE",
            "own process only: at[p]; send a message, or declare it",
        ),
        ("return s.at[p] == FLAGGED", "s.turn = p\n    return s.at[p] == FLAGGED", "may not write shared field turn"),
        ('stored("where', 'on_disk("where', "turn is shared, and a process with a disk fails inside a step"),
    ],
)
def test_what_is_not_shared_is_refused(old: str, new: str, said: str, tmp_path: Path) -> None:
    path = written(tmp_path, (old, new), ("declare, progress", "declare, environment, on_disk, progress"))
    found = CliRunner().invoke(main, ["lint", path])
    assert found.exit_code == 1
    assert said in " ".join(found.stdout.split())
