"""Quick code and thorough code are of one assembly: whoever changes from one to the other on the way finds the same."""

# ruff: noqa: PT018
from __future__ import annotations

from pathlib import Path

import pytest

from checker.explore import breadth_first
from checker.explore.breadth_first import Explorer
from checker.explore.compiled import Compiled
from checker.explore.reduce.ample import AmpleExplorer, Narrowing
from checker.explore.result import Exploration, Limits
from tests.models import DEFAULT
from zabspec.language.native import tiered
from zabspec.language.native.tiered import TieredCode
from zabspec.model import Configuration, Model

SMALL = Configuration(nodes=2, txns=1, timeouts=1, crashes=1, losses=0)
OF_THE_MACHINE = ("seconds", "cpu_seconds", "compile_seconds", "memory", "engine", "properties")
NEVER, AT_ONCE = 1e9, 0.0


def numbers(text: str, key: str = "key") -> TieredCode:
    return TieredCode(
        key, lambda: (f"define i64 @f() {{\n  ret i64 {text}\n}}\n", {"fact": text}), lambda _: {"more": 1}
    )


def test_code_that_has_worked_for_long_is_made_thoroughly(folder: Path, ways: list[bool]) -> None:
    """Quick code until it has worked for `SETTLE` seconds in all, thorough code then, and for who comes next."""
    one = numbers("7")
    assert not one.code.thorough and not one.settled
    assert not one.worked(0.6 * tiered.SETTLE) and ways == [False]
    before = one.code
    assert one.worked(0.6 * tiered.SETTLE) and ways == [False, True]
    assert one.settled and one.code.thorough and one.code is not before
    assert one.code.facts == before.facts == {"fact": "7", "more": 1}
    assert not one.worked(1e6) and ways == [False, True]
    next_one = numbers("7")
    assert next_one.settled and next_one.code.thorough and ways == [False, True]
    assert len(list(folder.glob("*.o"))) == 2


def test_quick_code_is_kept_too(folder: Path, ways: list[bool]) -> None:
    numbers("7")
    assert not numbers("7").settled and ways == [False]
    assert TieredCode("key", lambda: ("", {}), lambda _: {}, quick=True).code.facts["fact"] == "7"


def test_who_wants_thorough_code_has_it_at_once(folder: Path, ways: list[bool]) -> None:
    numbers("7")
    text = "define i64 @f() {\n  ret i64 7\n}\n"
    assert TieredCode("key", lambda: (text, {}), lambda _: {}, quick=False).code.thorough
    assert ways == [False, True]


def test_the_rest_of_a_time_limit_is_not_spent_on_compiling(folder: Path, ways: list[bool]) -> None:
    one = numbers("7")
    assert not one.worked(10, left=tiered.AHEAD * tiered.SETTLE - 0.1)
    assert not one.settled and ways == [False]
    assert one.worked(0, left=tiered.AHEAD * tiered.SETTLE)


def test_code_of_another_text_is_not_taken(folder: Path) -> None:
    """The numbers of errors that were noted are of the text that there was."""
    one = numbers("7")
    one._make = lambda: ("define i64 @f() {\n  ret i64 8\n}\n", {"fact": "8"})
    one._made = None
    before = one.code
    assert not one.worked(10)
    assert one.code is before and one.settled


def told(r: Exploration) -> dict[str, object]:
    return {name: value for name, value in vars(r).items() if name not in OF_THE_MACHINE}


@pytest.mark.slow(seconds=3)
@pytest.mark.parametrize("reduced", [False, True])
def test_an_exploration_that_changes_code_on_the_way_finds_the_same(
    folder: Path, ways: list[bool], monkeypatch: pytest.MonkeyPatch, reduced: bool
) -> None:
    """Everything it tells, from the first level in quick code and from the second in thorough code."""
    model = Model(Configuration(nodes=2, txns=2, timeouts=1, crashes=1, losses=0, variant="no-promise"))

    monkeypatch.setattr(breadth_first, "BETWEEN", 0.0)  # it looks at the clock after each level, short as they are

    def explored(settle: float) -> tuple[Exploration, bool]:
        monkeypatch.setattr(tiered, "SETTLE", settle)
        code = (Narrowing if reduced else Compiled)(model, DEFAULT, True)
        assert not code.code.thorough
        found = (AmpleExplorer if reduced else Explorer)(code, 1).run(Limits(depth=12), True)  # type: ignore[arg-type]
        return found, code.code.thorough

    quick, was = explored(NEVER)
    assert not was and ways == [False]
    changed, was = explored(AT_ONCE)
    assert was and ways == [False, True]
    assert told(changed) == told(quick)
    assert changed.compile_seconds > quick.compile_seconds  # which is none of the exploration's time
