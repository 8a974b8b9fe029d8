"""A text of one's own over connections: elections that are one step, states that runs begin in, in every engine."""

from __future__ import annotations

import itertools
import random
from functools import cache
from pathlib import Path

import pytest
from click.testing import CliRunner

from checker.cli import main
from checker.explore.breadth_first import Explorer
from checker.explore.compiled import Compiled
from checker.explore.interpret import Interpreter
from checker.explore.result import Exploration, Limits
from invariants import properties_of
from tests.second.reference import explore
from tests.transcript import file_of
from traces import Runner, Trace, build_trace
from traces.record.file import read_trace, write_trace
from traces.record.simulated import simulated_trace
from traces.replay.replay import replay
from zabspec.authoring.closing import leaves_open
from zabspec.model import Configuration, Model
from zabspec.protocols.registry import PROTOCOLS
from zabspec.simulator.plan import Run
from zabspec.simulator.run import play

TEXT = Path(__file__).parent / "texts" / "one_value.py"
NO_LIMIT = Limits(None, None, None, None)
STARTS = ("", "established")


@cache
def code(start: str) -> Compiled:
    c = Configuration(str(TEXT), start=start)
    made, reason = Compiled.of(Model(c), properties_of(str(TEXT)), True)
    assert not reason
    return made


@cache
def explored(start: str) -> Exploration:
    return Explorer(code(start), 1).run(NO_LIMIT, True)


@pytest.mark.slow(seconds=4)
@pytest.mark.parametrize("start", STARTS)
def test_every_engine_counts_the_same(start: str) -> None:
    found = explored(start)
    plain = Interpreter(code(start).model, properties_of(str(TEXT)), True).run(NO_LIMIT, True)
    assert (plain.levels, plain.raw_levels, plain.generated) == (found.levels, found.raw_levels, found.generated)
    assert {n: f.depth for n, f in plain.violations.items()} == {n: f.depth for n, f in found.violations.items()}

    assert found.violations.keys() == {"one-leader-a-term"}


@pytest.mark.parametrize("start", STARTS)
def test_a_counterexample_is_replayed_and_read_again(start: str, tmp_path: Path) -> None:
    c = explored(start).violations["one-leader-a-term"]
    trace = build_trace(code(start).model, c.property, c.schedule)
    write_trace(trace, tmp_path / "t.json")
    again: Trace = read_trace(tmp_path / "t.json")
    assert again.configuration.start == start
    replay(again)


@pytest.mark.parametrize("start", STARTS)
@pytest.mark.slow(seconds=2)
def test_random_walks_are_replayed_step_by_step(start: str) -> None:
    model, source = code(start).model, random.Random(5)
    kinds: set[str] = set()
    for _ in range(12):
        runner, words = Runner(model), []
        for _ in range(14):
            possible = runner.possible()
            if not possible:
                break
            words.append(source.choice(possible))
            kinds.add(runner.step(words[-1]).word.kind)
        replay(build_trace(model, None, words))
    assert {"elect", "join", "lose_connection", "leader_learns"} <= kinds


def test_who_is_elected_outranks_a_smallest_quorum() -> None:
    model = Model(Configuration(str(TEXT)))
    for terms in itertools.product((0, 1, 2), repeat=3):
        runner = Runner(model)
        for p, term in enumerate(terms):
            runner.state.term[p] = term
        found = {(w >> 16 & 255, w & 255) for w in runner.possible() if w >> 24 == 27}
        assert found == {(l, 1 << f) for l in range(3) for f in range(3) if f != l and terms[l] >= terms[f]}


def test_a_crash_forgets_what_is_volatile_of_every_pair() -> None:
    """Of a field of pairs, what the process has of each other."""
    runner = Runner(code("established").model)
    s = runner.state
    assert list(s.heard[0]) == [False, True, True]
    data = s.key()
    runner.names["forget"](s, 0)
    assert list(s.heard[0]) == [False, False, False]
    steps = dict(code("established").next_states(data))
    word = next(w for w in steps if w >> 24 == 20 and w >> 16 & 255 == 0)  # p0 steps down, and forgets
    after = Runner(code("established").model)
    after.step(word)
    assert after.state.key() == steps[word][: len(data)]
    assert list(after.state.heard[0]) == [False, False, False]


@pytest.mark.parametrize("seed", range(4))
def test_a_simulated_run_that_elects_is_a_trace(seed: int) -> None:
    """An election and its voters' following are one step, as in the explorer, with the voters named."""
    trace = simulated_trace(Run(seed, rounds=120, protocol=str(TEXT)))
    elections = [step.word.operands for step in trace.steps if step.word.kind == "elect"]
    assert elections
    assert all(o["quorum"].bit_count() == 1 and not o["quorum"] >> o["leader"] & 1 for o in elections)


@pytest.mark.parametrize("engine", ["compiled", "interpret"])
def test_a_simulated_run_elects_and_begins_where_it_is_told(engine: str) -> None:
    elected = play(Run(1, rounds=200, protocol=str(TEXT)), engine).state
    assert sorted(elected.role) == [1, 1, 2]
    told = play(Run(1, rounds=1, protocol=str(TEXT), start="established"), engine).state
    assert list(told.role) == [2, 1, 1]


ALONE = {
    "a property": (
        "    return True\n\n\ndef two_lead",
        "    return s.chosen > 9 or s.role[0] != LEADING\n\n\ndef two_lead",
    ),
    "a value": ("    s.value[l] = s.term[l]\n", "    s.value[l] = s.term[l] + 5\n"),
    "a guard": ("    return s.role[p] == LEADING\n", "    return s.heard[p][s.role[p] // 2]\n"),
}


@pytest.mark.slow(seconds=2)
@pytest.mark.parametrize("case", ALONE)
def test_a_process_that_is_alone_elects_itself_in_a_replay(case: str, folder: Path) -> None:
    old, new = ALONE[case]
    text = TEXT.read_text(encoding="utf-8")
    assert old in text
    (folder / "mine.py").write_text(text.replace(old, new), encoding="utf-8")
    words = ["--protocol", "mine.py", "--nodes", "1", "--engine", "interpret"]
    ran = CliRunner().invoke(main, words)
    assert ran.exit_code == 1, ran.stderr


def test_what_was_sent_to_one_who_left_is_read_over_no_other_connection(tmp_path: Path) -> None:
    """A text that forgets whom it follows and closes nothing: it has messages of one iteration."""
    path = lapsing(tmp_path)
    model = Model(Configuration(path, nodes=3, budgets="lapses=1"))
    plain = Interpreter(model, properties_of(path), False).run(NO_LIMIT, True)
    assert not plain.violations
    found = Explorer(Compiled.of(model, properties_of(path), False)[0], 1).run(NO_LIMIT, True)
    assert (found.levels, found.violations) == (plain.levels, {})


def bounded(folder: Path, *changes: tuple[str, str]) -> str:
    """The same text, bounded by its world, with pieces of it replaced."""
    return lapsing(folder, ('world="connections"', 'world="connections",\n    bounded_by_world=True'), *changes)


def lapsing(folder: Path, *changes: tuple[str, str]) -> str:
    """The text, with pieces of it replaced."""
    text = file_of("own/over-connections", "lapsing.py")
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    path = folder / "lapsing.py"
    path.write_text(text)
    return str(path)


def test_one_that_its_world_bounds_may_leave_an_end_open(tmp_path: Path) -> None:
    """The search and the simulator mean what the second semantics means."""
    path = bounded(tmp_path)
    given = {"crashes": 1, "losses": 0, "timeouts": 0, "lapses": 1}
    second = explore({"protocol": path, "nodes": 2, "network": "fifo", "budgets": given, "properties": []})
    model = Model(Configuration(path, nodes=2, budgets="lapses=1", crashes=1, losses=0, timeouts=0))
    assert "leader and role may be reset" in model.leaves_open
    found = Interpreter(model, (), False, every_step=True).run(NO_LIMIT, False)
    assert found.distinct == len(second["states"])
    simulated_trace(Run(5, 2, 60, protocol=path, budgets="lapses=2"))


def test_a_function_called_came_back_is_the_protocols_own(tmp_path: Path) -> None:
    """A run that begins in a declared state calls the world's for each process."""
    path = tmp_path / "one_value.py"
    path.write_text(TEXT.read_text() + "\n\ndef came_back(s: State, p: Node) -> None:\n    s.value[p] = 0\n")
    model = Model(Configuration(str(path), start="established"))
    found = Interpreter(model, properties_of(str(path)), False).run(Limits(depth=0), True)
    assert found.levels == [1]
    assert not found.violations  # of chosen-lasts, which values of 0 violate


CLOSES = ("    forget(s, p)\n", "    disconnect(s, p)\n    forget(s, p)\n")
NAMES = ("    connect,\n", "    connect,\n    disconnect,\n")
OPEN: dict[str, tuple[tuple[tuple[str, str], ...], str]] = {
    "it closes first": ((CLOSES,), ""),
    "in a function of its own": (
        (("    forget(s, p)\n", "    quits(s, p)\n\n\ndef quits(s: State, p: Node) -> None:\n    disconnect(s, p)\n"
          "    if s.told[p] != NOBODY:\n        return\n    forget(s, p)\n"),), "",
    ),
    "in one branch alone": (
        (("    forget(s, p)\n", "    if s.told[p] == NOBODY:\n        disconnect(s, p)\n    forget(s, p)\n"),),
        "may be reset with a connection open",
    ),
    "behind a round of a loop": (
        (("    forget(s, p)\n", "    for q in range(s.NODES):\n        if s.told[p] == q:\n            break\n"
          "        disconnect(s, p)\n    s.role[p] = ELECTION\n"),),
        "role is changed where its process may have a connection open",
    ),
    "it follows another at once": (
        (CLOSES, ("    s.told[f] = m.who\n", "    s.leader[f] = m.who\n")), "leader is changed where",
    ),
    "it connects before it says to whom": (
        (CLOSES, ("        s.leader[p] = l\n        connect(s, p, l)\n", "        connect(s, p, l)\n"
                  "        s.leader[p] = l\n")), "it connects to a process that it does not yet follow",
    ),
    "while it still looks for a leader": (
        (CLOSES, ("LEADING if l == p else FOLLOWING", "LEADING if l == p else ELECTION")), "it connects to a process",
    ),
    "to another than it was named": (
        (CLOSES, ("        s.leader[p] = l\n", "        l2 = p\n        s.leader[p] = l2\n"),
         ("connect(s, p, l)", "connect(s, p, l2)")), "it connects to a process",
    ),
    "as it comes up again": (
        (CLOSES, ("def may_lapse", "def is_down(s: State, p: Node) -> bool:\n    return s.told[p] == p\n\n\n"
                  "def on_crash(s: State, p: Node) -> None:\n    s.told[p] = p\n\n\n"
                  "def on_recovery(s: State, p: Node) -> None:\n    forget(s, p)\n\n\ndef may_lapse")),
        "may be reset with a connection open",
    ),
    "as it comes up again, down by its role or otherwise": (
        (("    forget(s, p)\n", "    s.told[p] = p\n"), ("range(3)", "range(3)\nDOWN = 3"),
         ('"LEADING"', '"LEADING", "DOWN"'),
         ("def may_lapse", "def is_down(s: State, p: Node) -> bool:\n    if s.told[p] == p:\n        return True\n"
          "    return s.role[p] == DOWN\n\n\ndef on_crash(s: State, p: Node) -> None:\n    s.role[p] = DOWN\n\n\n"
          "def on_recovery(s: State, p: Node) -> None:\n    forget(s, p)\n\n\ndef may_lapse")),
        "may be reset with a connection open",
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", OPEN)
def test_where_a_text_may_leave_an_end_open(what: str, tmp_path: Path) -> None:
    changes, said = OPEN[what]
    model = Model(Configuration(bounded(tmp_path, NAMES, *changes)))
    assert said in model.leaves_open
    assert (model.leaves_open == "") == (said == "")
    assert bool(model.leaving) == (said != "")


def test_protocols_of_this_project_leave_no_end_open() -> None:
    """With each variant: the world's shorter functions are theirs, and so are reductions."""
    for name in ("zab", "ladis"):
        found = PROTOCOLS[name]
        for variant in ("", *found.variants):
            left = leaves_open(vars(found.text.module), found.overrides(variant), (), ["leader", "role"])
            assert left == "", variant


@pytest.mark.parametrize(("nodes", "seed"), [(2, 5), (3, 8)])
def test_the_simulator_tells_nothing_to_one_who_follows_nobody(nodes: int, seed: int, tmp_path: Path) -> None:
    simulated_trace(Run(seed, nodes, 60, protocol=lapsing(tmp_path), budgets="lapses=2"))
