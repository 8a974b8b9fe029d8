"""What z3 says of small protocols of many shapes: an answer, never an internal error, and what a search says."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest
from click.testing import CliRunner

from checker.cli import main
from checker.explore.breadth_first import Explorer
from checker.explore.compiled import Compiled
from checker.explore.result import Limits
from checker.symbolic import extension
from checker.symbolic.bmc import Bounds, check
from invariants import properties_of
from invariants.registry import Property
from tests.own.test_own_induction import asked
from zabspec.model import Configuration, Model

TEXT = '''"""A small protocol."""
from __future__ import annotations

from zabcheck.language import (
    NOBODY, Int, Node, NodeId, State, action, broken, choose, declare, safety, stored,
)


def state(size):
    return [stored("level", Int(0, 4), "its level"), stored("leader", NodeId.of(size.nodes), "its leader")]


def may_grow(s: State, p: Node) -> bool:
    return s.level[p] < 2


@action(when=may_grow)
def grow(s: State, p: Node) -> None:
    s.level[p] += 1


def may_elect(s: State, p: Node) -> bool:
    return s.leader[p] == NOBODY


@action(when=may_elect)
def elect(s: State, p: Node) -> None:
    s.leader[p] = p


def up(s: State) -> bool:
    """Someone is up."""
    for p in range(s.NODES):
        if s.level[p] > 0:
            return True
    return False


HELPER
@safety(witness=up)
def low(s: State) -> bool:
    """No level above 2."""
    for p in range(s.NODES):
        CHECK
        if s.level[p] > 2:
            return broken(f"p{p} is {s.level[p]}")
    return True


PROTOCOL = declare(__name__, state=state, nodes=2)
'''

FOLLOWS = """def follows(s: State, p: Node) -> bool:
    if s.leader[p] == NOBODY:
        return False
    return s.level[s.leader[p]] > LIMIT


"""
LEVEL = """def its_level(s: State, p: Node) -> int:
    return s.level[s.leader[p]]


"""
GROW = "s.level[p] += 1"


@dataclass(frozen=True)
class Small:
    """A small protocol, and what is right about it.

    Attributes:
        check: what the property has besides.
        helper: what it calls.
        grow: the step, if it is another.
        induct: the verdict of an induction; empty where steps have run-time errors.
        depth: of the shortest violation, or error; None for none.
    """

    check: str = "pass"
    helper: str = ""
    grow: str = GROW
    induct: str = "proved"
    depth: int | None = None

    @property
    def text(self) -> str:
        return TEXT.replace("HELPER\n", self.helper).replace("CHECK", self.check).replace(GROW, self.grow)


SMALL = {
    "as it is": Small(),
    "false in every state": Small("return False", induct="not inductive", depth=0),
    "violated at the start": Small("if s.level[p] == 0:\n            return False", induct="not inductive", depth=0),
    # a clause read past this helper's return has an error wherever nobody leads, so that nothing else was assumed
    "return before an error": Small(
        "if s.level[p] == 2 or follows(s, p):\n            return broken(f'p{p}')",
        FOLLOWS.replace("LIMIT", "3"), induct="not inductive", depth=2,
    ),
    "return before no error": Small("if follows(s, p):\n            return False", FOLLOWS.replace("LIMIT", "2")),
    "an error in a clause": Small(
        "if s.level[s.leader[p]] > 3:\n            return False", induct="not inductive", depth=0
    ),
    # the first call can only have the error that was met before it, and the second has it by itself
    "an error met before": Small(
        "if s.level[p] == 4 and s.level[s.leader[p]] > 0 and its_level(s, p) > 0:\n            return False\n"
        "        if s.level[p] == 1 and its_level(s, p) > 2:\n            return False",
        LEVEL, induct="not inductive", depth=1,
    ),
    "nested returns": Small(
        "if s.level[p] > 2:\n            if s.leader[p] == p:\n                if s.level[p] > 3:\n"
        "                    return broken(f'a {p}')\n                else:\n"
        "                    return broken(f'b {s.level[p]}')\n            elif s.level[p] == 4:\n"
        "                return False"
    ),
    "three alternatives": Small(grow="s.level[p] = choose(s, 3)"),
    "one alternative too many": Small(grow="s.level[p] = choose(s, 4)", induct="not inductive", depth=1),
    "division": Small("if 4 // (1 + s.level[p]) == 0:\n            return False"),
    "division in a step": Small(grow="s.level[p] = (s.level[p] + 3) // 2"),
    "division by zero in a clause": Small(
        "if 4 // (2 - s.level[p]) > 9:\n            return False", induct="not inductive", depth=2
    ),
    "remainder": Small(grow="s.level[p] = (s.level[p] + 5) % 3"),
    "an index below zero": Small(
        "if s.level[s.level[p] - 1] > 3:\n            return False", induct="not inductive", depth=0
    ),
    "beyond a range": Small(grow="s.level[p] += 5", induct="", depth=1),
}  # fmt: skip


@pytest.fixture
def written(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    path = tmp_path / "small.py"
    path.write_text(SMALL[request.param].text, encoding="utf-8")
    return path


def property_of(path: Path) -> Property:
    return next(p for p in properties_of(str(path)) if p.name == "low")


@pytest.mark.slow(seconds=2)
@pytest.mark.parametrize(("written", "small"), SMALL.items(), ids=SMALL, indirect=["written"])
def test_z3_and_a_search_of_everything_agree(written: Path, small: Small) -> None:
    model, p = Model(Configuration(str(written), nodes=2)), property_of(written)
    searched = Explorer(Compiled.of(model, [p], False)[0], 1).run(Limits(None, None, None, None), False)
    assert min((len(v.schedule) for v in searched.violations.values()), default=None) == small.depth
    outcome = asked(str(written))
    verdict = next(v for v in outcome.verdicts if v.clause.name == "low")
    if small.induct:
        assert (verdict.word, outcome.obstacles) == (small.induct, [])
    else:
        assert "a step can have a run-time error" in outcome.obstacles[0]
    for depth in range(1, 4):
        found = check(model, [p], Bounds(depth, together=False))
        reached = small.depth is not None and small.depth <= depth
        assert bool(found.broken or found.left_range) == reached, (depth, found)


@pytest.mark.slow(seconds=4)
@pytest.mark.parametrize("written", ["violated at the start"], indirect=True)
def test_a_run_without_a_step_is_a_counterexample(written: Path) -> None:
    ran = CliRunner().invoke(main, ["bmc", "--protocol", str(written), "--depth", "2"])
    assert ran.exit_code == 1, ran.output
    assert "low is violated after 0 steps" in ran.output


@pytest.mark.slow(seconds=4)
@pytest.mark.parametrize("written", ["one alternative too many", "as it is"], indirect=True)
def test_a_column_that_fails_is_a_sentence_in_it(written: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A violation, and what else an exploration found, is reported whatever happens to z3."""

    def fails(*_: object) -> None:
        raise KeyError(512)

    monkeypatch.setattr(extension, "inductive", fails)
    monkeypatch.chdir(written.parent)
    violated = "choose(s, 4)" in written.read_text(encoding="utf-8")
    other = written.read_text(encoding="utf-8").replace("PROTOCOL =", OTHER + "PROTOCOL =")
    written.write_text(other, encoding="utf-8")
    ran = CliRunner().invoke(main, ["--protocol", str(written), "--symbolic", "5"])
    assert ran.exit_code == (1 if violated else 3), ran.output
    assert "an internal error (KeyError: 512), there is no verdict; please report it" in " ".join(ran.output.split())
    assert ("VIOLATED: low at depth 1" in ran.output) is violated


OTHER = '''@safety(witness=up)
def another(s: State) -> bool:
    """No level above 4."""
    for p in range(s.NODES):
        if s.level[p] > 4:
            return False
    return True


'''
