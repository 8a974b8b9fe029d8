"""What is searched again with less left out, what ends that, and which touches of steps collide."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from checker.cli import main
from checker.explore.breadth_first import Explorer
from checker.explore.reduce import narrowing
from checker.explore.reduce.ample import AmpleExplorer
from checker.explore.reduce.reducible import why_not_narrowed
from checker.explore.reduce.reduction import collisions
from checker.explore.result import Exploration, Limits, Violation
from zabspec.language.analysis.footprints import Touch
from zabspec.model import Configuration, Model

SMALL = Configuration(nodes=3, txns=1, timeouts=1, crashes=0, losses=0)


def test_what_collides() -> None:
    """Reads do not; a write does, where the processes are the same, and unless its label may change places."""
    mine, any_one = Touch("x", ("a",), True), Touch("x", (None,), False)
    assert collisions({mine}, {mine}, frozenset()) == sum(1 << k for k in range(16) if k & 1)
    assert collisions({mine}, {Touch("x", ("b",), False)}, frozenset()) == sum(1 << k for k in range(16) if k & 2)
    assert collisions({mine}, {any_one}, frozenset()) == 0xFFFF
    assert collisions({any_one}, {any_one}, frozenset()) == 0
    assert collisions({mine}, {Touch("y", (), True)}, frozenset()) == 0
    assert collisions({mine}, {Touch("*", (), True)}, frozenset()) == 0xFFFF
    pair = frozenset({frozenset({"p", "q"})})
    assert collisions({replace(mine, label="p")}, {replace(mine, label="q")}, pair) == 0
    assert collisions({replace(mine, label="p")}, {replace(mine, label="p")}, pair) != 0
    assert collisions({mine}, {replace(mine, label="q")}, pair) != 0


# --- the command -----------------------------------------------------------------------------------


@pytest.mark.slow(seconds=1)
def test_only_what_is_large_is_reduced(monkeypatch: pytest.MonkeyPatch) -> None:
    question = [*BROKEN, "--property", "one-leader-an-epoch"]
    small = CliRunner().invoke(main, question)
    assert "reduc" not in small.output
    monkeypatch.setattr(narrowing, "SMALL", 1000)
    large = CliRunner().invoke(main, question)
    assert "(reduced: only by transitions that were taken)" in large.output
    assert "ample sets: fewer states, equal verdicts" in large.output
    said = " ".join(large.output.split())
    assert "(reduced: only those that were visited)" in said
    assert re.search(r"explored to exhaustion \(depth \d+, reduced\)", said)
    assert "witnessed by depth" in said, "a run of at most that length"
    assert large.exit_code == small.exit_code == 0
    assert large.output.split("(depth")[0] == small.output.split("(depth")[0]
    for option in (["--reduction", "none"], ["--depth", "60"], ["--keep-going"], ["--time-limit", "19"]):
        again = CliRunner().invoke(main, [*question, *option, "--json"])
        assert '"reduced": false' in again.output
        assert f'"reduction_off": "{" ".join(option[: 1 + (option[-1] == "none")])}"' in again.output
    assert CliRunner().invoke(main, [*question, "--reduction", "some"]).exit_code == 2


@pytest.mark.slow(seconds=2)
def test_a_violation_of_a_large_exploration_is_the_shortest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(narrowing, "SMALL", 1000)
    r = CliRunner().invoke(main, QUESTION)
    assert r.exit_code == 1
    assert r.output.startswith("VIOLATED: one-leader-an-epoch at depth 25"), "as in full: test_variants.py"


class Cut:
    """What ends each search that a command begins again: so many states, or what is raised as its model is made."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, ample: int | type, full: int | type) -> None:
        monkeypatch.setattr(narrowing, "SMALL", 1000)
        for kind, end in ((AmpleExplorer, ample), (Explorer, full)):
            monkeypatch.setattr(kind, "run", self.cut(kind.run, end, kind))

    @staticmethod
    def cut(run: Any, end: int | type, kind: type) -> Any:
        def stopped(self: Any, limits: Limits, *more: Any) -> Exploration:
            if type(self) is not kind or limits.max_states == narrowing.SMALL:  # the first search
                return run(self, limits, *more)  # type: ignore[no-any-return]
            if not isinstance(end, int):
                raise end
            return run(self, replace(limits, max_states=end), *more)  # type: ignore[no-any-return]

        return stopped


MANY = 10**9
BROKEN = ["--nodes", "3", "--txns", "1", "--timeouts", "1", "--crashes", "0", "--losses", "0", "--no-trace"]
QUESTION = [*BROKEN, "--variant", "equal-epoch"]


@cache
def first_search() -> Result:
    return CliRunner().invoke(main, [*QUESTION, "--max-states", "1000"])


@pytest.mark.slow(seconds=4)
@pytest.mark.parametrize(
    ("ample", "full", "said"),
    [
        (MANY, KeyboardInterrupt, "no verdict: interrupted; {} violated, with no path to it yet;"),
        (KeyboardInterrupt, MANY, "no verdict: interrupted; no violation found;"),
    ],
    ids=["between them", "before them"],
)
def test_a_limit_that_ends_the_second_search_says_what_is_known(
    monkeypatch: pytest.MonkeyPatch, ample: int | type, full: int | type, said: str
) -> None:
    """What is broken is told, that no run is known is too, and no less is said than the first search had seen."""
    Cut(monkeypatch, ample, full)
    first, r = first_search(), CliRunner().invoke(main, QUESTION)
    assert " ".join(r.output.split()).startswith(said.format("one-leader-an-epoch"))
    assert r.exit_code == 3
    assert "VIOLATED" not in r.output
    whole, states = ([int(re.search(asked, " ".join(x.output.split()))[1].replace(",", "")) for x in (first, r)]  # type: ignore[index]
                     for asked in (r"all states to depth (\d+)", r"distinct states ([\d,]+)"))  # fmt: skip
    assert whole[0] <= whole[1]
    assert 1000 <= states[0] <= states[1]


@pytest.mark.slow(seconds=2)
def test_what_only_one_search_finds_broken_is_no_verdict(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(narrowing, "SMALL", 1000)
    real = AmpleExplorer.run

    def finds(self: AmpleExplorer, *asked: Any) -> Exploration:
        result = real(self, *asked)
        result.violations = {"durability": Violation(result.properties[0], ())}
        return result

    monkeypatch.setattr(AmpleExplorer, "run", finds)
    r = CliRunner().invoke(main, BROKEN)
    assert r.exit_code == 3
    assert "durability with ample sets, and not with every state" in r.output


def test_where_nothing_is_said_of_the_world_nothing_is_reduced() -> None:
    assert not why_not_narrowed(Model(SMALL))
    own = Path(__file__).parents[1] / "own" / "texts" / "one_value.py"
    assert why_not_narrowed(Model(Configuration(str(own)))) == "an election is a step (elects)"
    assert "declares no two steps" in why_not_narrowed(Model(Configuration(protocol="db19")))
    for network in ("unordered", "lossy", "duplicating"):
        assert why_not_narrowed(Model(replace(SMALL, network=network)))
    assert why_not_narrowed(Model(replace(SMALL, partitions=1)))
