"""Clocks that drift, and leases: a tick is that of the second semantics, also of who is down; and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from checker.cli import main
from checker.explore.interpret import Interpreter
from checker.explore.result import Limits
from tests.second.harness.plain import Renamer, canonical
from tests.second.harness.question import Question
from tests.second.reference import explore
from tests.sources import never, some
from zabspec.authoring import glue
from zabspec.authoring.clocks import CLOCK_NAMES
from zabspec.authoring.declaration import ConfigError
from zabspec.model import Configuration, Model

EXAMPLES = Path(__file__).parents[2] / "examples"

TEXT = (
    '''"""Processes that have something for a while."""

from __future__ import annotations

from zabcheck.language import (
    NOBODY, Each, Fields, Node, action, clock, declare, is_down, lease, parameter, progress, safety,
)  # fmt: skip


class State(Fields):
    wait: Each[Node, int] = clock("before it begins again", 3, kept=True)
    own: Each[Node, Node] = lease("what it has", 2, kept=True)
    SKEW: int = parameter("by how many ticks clocks differ", 1)


def may_begin(s: State, p: Node) -> bool:
    return s.wait[p] == 0


@action(when=may_begin)
def begin(s: State, p: Node) -> None:
    s.wait[p] = 3
    s.own[p] = p
    s.own_left[p] = 2


@progress
def has(s: State, p: Node) -> bool:
    """What it has ends."""
    return s.own[p] != NOBODY


'''
    + some("owned", "s.own[p] == p", "It has something.")
    + never("claim", "CLAIM", "What is asked.", "owned")
    + """PROTOCOL = declare(__name__, budgets={"crashes": 1}, nodes=2, drift="skew")
"""
)
NOT_DONE = "is_down(s, p) and s.wait[p] == 1 and s.own[p] == NOBODY"


def written(folder: Path, claim: str = "s.own[p] != NOBODY and s.own_left[p] == 0", *changes: tuple[str, str]) -> str:
    """The text with pieces of it replaced, as a file."""
    text = TEXT.replace("CLAIM", claim)
    for old, new in changes:
        assert old in text
        text = text.replace(old, new, 1)
    path = folder / "ticking.py"
    path.write_text(text, encoding="utf-8")
    return str(path)


def counted(path: str, **given: object) -> tuple[list[int], bool]:
    """The states of each level, in plain Python, and whether these are all that there are."""
    found = Interpreter(Model(Configuration(path, crashes=1, **given)), (), False).run(Limits(depth=40), False)
    return list(found.levels), found.complete


@pytest.mark.parametrize("drift", [0, 1, 2])
def test_a_tick_is_that_of_the_second_semantics(drift: int, tmp_path: Path) -> None:
    """Also up to renaming, with orbits by brute force."""
    path = written(tmp_path)
    budgets = {"crashes": 1, "skew": drift}
    asked = {"protocol": path, "nodes": 2, "network": "datagrams", "budgets": budgets, "properties": []}
    states = explore(asked)["states"]
    levels, complete = counted(path, parameters=f"skew={drift}")
    assert complete
    assert sum(levels) == len(states)
    question = Question(asked)
    renamer = Renamer(question.plain, "", "")
    found = Interpreter(question.model, (), True).run(Limits(), False)
    assert sum(found.levels) == len({renamer.orbit(canonical(state))[0] for state in states}) < len(states)


WRONG = {  # a tick that does something else: what is replaced of its text, by what
    "too far ahead": ("s.clock_ahead[p] < 1", "s.clock_ahead[p] <= 1"),
    "never the slowest": ("s.clock_ahead[q] = s.clock_ahead[q] - 1", "s.clock_ahead[q] = s.clock_ahead[q]"),
    "all at once": ("s.wait[p] = s.wait[p] - 1", "s.wait[p] = 0"),
    "it does not end": ("s.own[p] = NOBODY", "s.own[p] = s.own[p]"),
    "who is down does not tick": ("k == 1", "k == 2"),
}


@pytest.mark.parametrize("what", WRONG)
def test_another_tick_has_other_states(what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old, new = WRONG[what]
    path = written(tmp_path)
    right, made, seen = counted(path), glue.world_text, []

    def wrong(*given: object, **more: object) -> str:
        text = made(*given, **more)  # type: ignore[arg-type]
        seen.append(old in text)
        return text.replace(old, new)

    monkeypatch.setattr("zabspec.authoring.reading.world_text", wrong)
    assert counted(path) != right
    assert any(seen)


def test_a_function_called_like_one_of_the_world_is_another(tmp_path: Path) -> None:
    """The text between a protocol and its world calls its own; a step of such a name is refused."""

    def levels(*changes: tuple[str, str]) -> list[int]:
        model = Model(Configuration(written(tmp_path, "s.own[p] == p", *changes), crashes=1))
        return list(Interpreter(model, (), False).run(Limits(depth=3), False).levels)

    right = levels()
    for name in CLOCK_NAMES:
        helper = f"def {name}(s: State, p: Node) -> bool:\n    return False\n\n\ndef may_begin("
        assert levels(("def may_begin(", helper), ("s.wait[p] == 0", f"s.wait[p] == 0 or {name}(s, p)")) == right, name
        with pytest.raises(ConfigError, match=f"the world has a {name} of its own"):
            levels(("when=may_begin", f"when={name}"), ("def may_begin", f"def {name}"))


def test_who_is_down_counts_on_and_is_replayed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also in the simulator, where the run is played again; and what it has ends, without its coming back."""
    monkeypatch.chdir(tmp_path)
    ran = CliRunner().invoke(main, ["--protocol", written(tmp_path, NOT_DONE), "--engine", "interpret"])
    assert ran.exit_code == 1, ran.output
    told = " ".join(ran.stdout.split())
    assert "was replayed in the simulator, step by step equal" in told
    assert told.count(": clock-ticks") > 1


def test_what_runs_out_runs_out_sooner_or_later(tmp_path: Path) -> None:
    """Also of a process that is down for good: its clock is fair. What is never ended is waited for in vain."""
    said = ["--live", "--protocol", written(tmp_path), "--skew", "1", "--crashes", "1"]
    held = CliRunner().invoke(main, said)
    assert held.exit_code == 0, held.output
    assert "clock-ticks" in held.stdout
    written(tmp_path, "s.own[p] == p and False", ("    s.own_left[p] = 2\n", "    s.own_left[p] = 0\n"))
    assert CliRunner().invoke(main, said).exit_code == 1


def test_a_command_without_budgets_refuses_the_flag_that_was_given(tmp_path: Path) -> None:
    path = str(EXAMPLES / "drifting_lease.py")
    found = CliRunner().invoke(main, ["sweep", str(tmp_path / "runs"), "--protocol", path, "--drift", "2"])
    assert (found.exit_code, "there is no option --drift" in found.output) == (2, True), found.output


def test_clocks_may_not_differ_by_more_than_is_kept(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="--skew 16: clocks differ by at most 15 ticks"):
        _ = Model(Configuration(written(tmp_path), parameters="skew=16")).parts


def test_drift_without_a_clock_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "none.py"
    ring = (EXAMPLES / "token_ring.py").read_text(encoding="utf-8")
    path.write_text(ring.replace("    __name__,\n", "    __name__,\n    drift=1,\n"), encoding="utf-8")
    with pytest.raises(ConfigError, match=r"none.py:\d+: drift=1, but there is no clock"):
        _ = Model(Configuration(str(path))).parts
