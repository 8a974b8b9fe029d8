"""Fairness by its definition (docs/explanation/liveness.md): in the search, in the check of its runs, and in the second
semantics."""

from __future__ import annotations

import random
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from checker.cli import main
from checker.explore.result import Limits
from checker.live.code import LiveCode
from checker.live.lasso import lasso_of
from checker.live.run import Live, LiveRun
from checker.requests.live import assumed
from tests.live.fair_texts import MARKS, RULES, TABLE, TABLES, marked
from tests.second.reference import explore
from tests.transcript import file_of
from traces.record.fair import NotFair, hold_fair
from traces.record.lasso import Lasso
from zabspec.language.python.reference import StateView
from zabspec.model import ConfigError, Configuration, Model

# --- held against the second semantics -------------------------------------------------------------

CUT = 200  # states that the second semantics looks at


def begins_in(monkeypatch: pytest.MonkeyPatch, state: StateView, model: Model) -> None:
    """Let runs begin in a state."""
    monkeypatch.setattr(type(model.program), "starts", property(lambda _: {state.key(): None}))
    monkeypatch.setattr(type(model.program), "initial", lambda _: state.copy())


def with_rules(model: Model, rules: dict[str, int]) -> StateView:
    """The initial state with a table."""
    s = StateView(model.program.layout)
    model.program.python["initialize"](s)
    for name, rule in rules.items():
        setattr(s, name, rule)
    return s


def as_second(goals: dict[str, Any], run: LiveRun, live: Live, about: object) -> Counter[tuple[str, bool]]:
    """Hold the search to the second semantics, and each run that it finds to the definition; count who starves."""
    starves = {name: goal["result"] == "violated" for name, goal in goals.items()}
    assert {name for name, is_so in starves.items() if is_so} == {*live.found}, about
    for of in live.found.values():
        found = lasso_of(run, of)
        hold_fair(Model(found.configuration), found.schedule, found.lasso)
    return Counter(starves.items())


@pytest.mark.slow(seconds=6)
def test_the_search_and_the_second_semantics_agree_on_who_starves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of tables that say what is sent, to whom, and when a step may be taken. Those with a message to a process that is
    down, and those in which messages overtake each other, were refused before: no verdict, "please report it"."""
    path, constant = tmp_path / "tables.py", tmp_path / "constant.py"
    path.write_text(TABLES)
    codes = {
        network: LiveCode.of(Model(Configuration(str(path), nodes=2, network=network, crashes=1)), (), True)[0]
        for network in ("datagrams", "fifo")
    }
    source, counts = random.Random("datagrams 1"), Counter[tuple[str, bool]]()
    for k in range(36):  # in every other nobody is down, whom one would wait for in any case
        network, crashes = "fifo" if k % 3 == 2 else "datagrams", k % 2
        code = codes[network]
        rules = {name: source.randrange(256) for name in RULES}
        if source.random() < 0.5:  # A and C are sent at first, each receipt of A sends A: C may be overtaken
            rules.update(rule_begin=1 | 3 << 3, rule_a=source.choice((1 | 1 << 3, 5 | 5 << 3)), rule_may=0)
        constant.write_text(TABLES)
        for name, rule in rules.items():
            constant.write_text(constant.read_text().replace(f"s.{name}", str(rule)))
        request = {"protocol": str(constant), "nodes": 2, "network": network, "budgets": {"crashes": crashes}}
        second = explore({**request, "properties": [], "live": True, "max_states": CUT})
        if not second["complete"] or second["errors"]:
            continue
        initial = with_rules(code.model, {**rules, "crashes_left": crashes})
        begins_in(monkeypatch, initial, code.model)
        run = LiveRun(code, 1)
        live = run.run(Limits(None, None, None, None))
        assert live.complete, live.stopped
        counts += as_second(second["goals"], run, live, rules)
    assert [n > 1 for n in counts.values()] == 4 * [True], counts


def drawn_table(source: random.Random) -> dict[str, int]:
    """A table of one fair action or two. In most of them a process goes from phase 0 to phase 1 and back, waiting, and
    another action leads away from there, which is possible again and again, and not always; in some it goes on from
    phase 2 to phase 3 and back."""
    table = {name: source.randrange(1 << 12) for name in TABLE}
    acts = source.choice((1, 3, source.randrange(1, len(MARKS))))
    for k in {*range(1, len(MARKS))} - {acts}:
        table[f"rule_{k}"] &= 0xFF0
    if source.random() < 0.75:
        table["rule_0"] = table["rule_0"] & 0xF00 | 1 << 4 | 3
        table[f"rule_{acts}"] &= 0xFFD
        table["rule_goal"] = 3
    if acts == 1:  # from phase 2 to phase 3 and back, where it waits no longer
        table["rule_2"] = 2 << 10 | 3 << 8 | 0b1100
    return table


@pytest.mark.slow(seconds=1)
def test_every_fairness_of_actions_is_the_second_semantics(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Weak and strong, of each process and of whichever: tables say when actions can be taken, and what they do."""
    path, constant = tmp_path / "marked.py", tmp_path / "constant.py"
    path.write_text(marked())
    code = LiveCode.of(Model(Configuration(protocol=str(path), nodes=2)), (), False)[0]
    source, counts = random.Random(5), Counter[tuple[str, bool]]()
    for _ in range(16):
        table = drawn_table(source)
        constant.write_text(marked(table))
        asked_for = {"protocol": str(constant), "nodes": 2, "network": "datagrams", "budgets": {}, "properties": []}
        second = explore({**asked_for, "live": True})
        initial = with_rules(code.model, table)
        begins_in(monkeypatch, initial, code.model)
        run = LiveRun(code, 1)
        live = run.run(Limits(None, None, None, None))
        assert live.complete, live.stopped
        counts += as_second(second["goals"], run, live, table)
    assert [n > 1 for n in counts.values()] == 4 * [True], counts


@pytest.mark.parametrize(
    ("mark", "said"),
    [
        ('fair="often"', 'fair is "weak", "strong" or False'),
        ('fair_to="everybody"', 'fair_to is "process"'),
        (
            'fair="strong", budget="tries"',
            "a step that costs a budget need not be taken: without tries it could be fair",
        ),
        ('fair_to="action", budget="tries"', "a step that costs a budget need not be taken"),
        ('fair=False, fair_to="action"', "fair=False contradicts"),
    ],
)
def test_a_fairness_that_cannot_be_is_refused_with_its_line(mark: str, said: str, tmp_path: Path) -> None:
    source = marked().replace("when=may_0", f"when=may_0, {mark}")
    (tmp_path / "marked.py").write_text(source)
    line = next(k for k, text in enumerate(source.split("\n"), 1) if mark in text)
    with pytest.raises(ConfigError, match=f"marked.py:{line}: .*{said}"):
        Model(Configuration(protocol=str(tmp_path / "marked.py")))


def test_an_answer_says_which_fairness_it_assumes(tmp_path: Path) -> None:
    (tmp_path / "marked.py").write_text(marked())
    (said,) = (one for one in assumed(Model(Configuration(protocol=str(tmp_path / "marked.py")))) if "acts-0" in one)
    assert said.endswith(
        "each process takes it if it can: acts-0; some process takes it if one can: acts-2; each process takes it if "
        "it can infinitely often (strongly fair): acts-1; some process takes it if one can infinitely often "
        "(strongly fair): acts-3"
    )


LIGHT = """from __future__ import annotations

from zabcheck.language import (
    Each, Fields, Node, action, declare, environment, environment_step, progress, safety, shared,
)


class State(Fields):
    light: bool = environment("it is on")
    seen: Each[Node, bool] = shared("it has seen the light")


@environment_step(FAIR)
def flip(s: State) -> None:
    s.light = not s.light


@action(when=lambda s, p: s.light, fair="strong")
def see(s: State, p: Node) -> None:
    s.seen[p] = True


@safety(over="step")
def stays(before: State, event: State, after: State) -> bool:
    '''What is seen stays seen.'''
    return all(after.seen[p] or not before.seen[p] for p in range(before.NODES))


@progress
def sees(s: State, p: Node) -> bool:
    '''It sees the light.'''
    return not s.seen[p]


PROTOCOL = declare(__name__, nodes=2)
"""


@pytest.mark.parametrize(
    ("fair", "begins"),
    [("", "VIOLATED: sees: p0 starves"), ('fair="weak"', "holds: no process"), ('fair="strong"', "holds: no process")],
)
def test_the_environment_may_be_fair(fair: str, begins: str, tmp_path: Path) -> None:
    """As the second semantics finds, which agrees; and a property of steps needs no witness."""
    (tmp_path / "light.py").write_text(LIGHT.replace("FAIR", fair))
    asked = ["--protocol", str(tmp_path / "light.py"), "--no-trace"]
    found = CliRunner().invoke(main, [*asked, "--live"])
    assert found.stdout.startswith(begins), found.output
    assert re.search(r"second opinion +.* agreed", found.stdout) or "VIOLATED" in begins, found.output
    assert ("the environment takes it if it can" in found.stdout) == bool(fair), found.output
    assert "stays             holds, witnessed at depth 1" in CliRunner().invoke(main, asked).stdout


def test_a_run_whose_fair_step_changes_nothing_is_not_fair(tmp_path: Path) -> None:
    """Nor is it where that step alone is claimed to be taken: some alternative of it changes something."""
    path, coin = tmp_path / "mine.py", file_of("own/nothing-is-no-step", "mine.py")
    path.write_text(coin)
    model = Model(Configuration(protocol=str(path), nodes=1))
    words = [0] * (model.most_steps + 1)
    model.program.python["enabled"](model.program.initial(), words)
    claim = Lasso("tails", "It shows heads.", "mine.py", 0, None, 0, 0)
    with pytest.raises(NotFair, match="for ever enabled and never taken: p0 does toss"):
        hold_fair(model, [words[1]], claim)
    path.write_text(coin.replace("== 1", "== 1 and p > 0"))
    hold_fair(Model(Configuration(protocol=str(path), nodes=1)), [words[1]], claim)
