"""Bounded model checking: what is there is found and replays, what is not is not found, and every end
of the command is the one the other commands have."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from checker.cli import main
from checker.explore.breadth_first import Explorer
from checker.explore.result import Limits
from checker.proofs.requests.bmc import first_broken
from checker.proofs.symbolic.bmc import Bounds, check, check_in_time
from checker.proofs.symbolic.solver import Solver
from checker.proofs.symbolic.transition import Transition
from checker.proofs.symbolic.unroll import Unrolling
from invariants import PROPERTIES, Property, property_named
from invariants.binding import full_namespace
from tests.commands.running import assert_refused
from tests.models import compiled, model, walk, walked
from tests.patience import HANG, ended, until_cpu
from tests.small_protocols import SMALL
from traces import Runner, build_trace, read_trace, verify, write_trace
from traces.replay.replay import replay
from zabspec.model import Configuration
from zabspec.proofs import symbolic_terms
from zabspec.proofs.symbolic_memory import values_of
from zabspec.proofs.symbolic_terms import Term, and_, equal
from zabspec.proofs.z3_terms import Z3Terms

QUIET = {"timeouts": 0, "crashes": 0, "losses": 0}
TWO: dict[str, Any] = {**QUIET, "nodes": 2, "txns": 1}
SMALL_QUORUM = Configuration(variant="small-quorum", **TWO)


def named(name: str) -> Property:
    return property_named(name, PROPERTIES)


@cache
def shortest(configuration: Configuration, name: str) -> tuple[int, ...]:
    """The steps of the explorer's shortest run that breaks a property."""
    p = named(name)
    found = Explorer(compiled(configuration, False, (p,)), 1).run(Limits())
    return found.violations[name].schedule


def saved(folder: Path, configuration: Configuration, name: str) -> Path:
    path = folder / "given.trace.json"
    trace = build_trace(model(configuration), named(name), shortest(configuration, name))
    write_trace(trace, path)
    return path


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["bmc", *arguments], prog_name="zabcheck")


# --- what is found -----------------------------------------------------------------------------


@pytest.mark.slow
def test_a_violation_is_found_from_a_state_of_a_trace_and_replays(folder: Path) -> None:
    """Exit 1, and the file that is written is an ordinary trace of the whole run, that replays once more."""
    configuration, name, before = SMALL_QUORUM, "delivered-is-chosen", 5
    words = shortest(configuration, name)
    given = saved(folder, configuration, name)
    at = len(words) - before
    result = run(
        "--from", f"{given}:{at}", "--depth", str(before), "--every", "9", "--property", name, "--trace", "out.json"
    )
    assert result.exit_code == 1, result.output
    assert f"from the state after step {at} of the trace" in " ".join(result.output.split())
    assert "steps replayed in the simulator, step by step equal" in " ".join(result.output.split())
    trace = read_trace(folder / "out.json")
    assert trace.property_name == name
    assert [step.word.word for step in trace.steps[:at]] == list(words[:at])
    verify(trace)
    replay(trace)


@pytest.mark.slow(seconds=1)
def test_a_violation_is_found_from_the_initial_state(folder: Path) -> None:
    """As deep as the explorer's shortest; told as JSON, too."""
    small = SMALL["return before an error"]
    Path("small.py").write_text(small.text, encoding="utf-8")
    result = run("--protocol", "small.py", "--depth", str(small.depth), "--every", "99", "--json")
    assert result.exit_code == 1, result.output
    report = json.loads(result.stdout)
    assert report["answer"] == "violated"
    assert report["violated"] == ["low"]
    assert report["replayed"] is True
    assert report["from_step"] == 0
    assert report["steps"] >= 2
    replay(read_trace(folder / report["trace"]))


@pytest.mark.slow
@pytest.mark.parametrize("together", [False, True], ids=["one by one", "in rounds"])
def test_the_bound_is_the_explorers(together: bool) -> None:
    """From each state of a shortest run no fewer steps do than the run has left, and so many do. In rounds
    there may be a run of fewer rounds than steps, and never one of fewer steps."""
    p = named("delivered-is-chosen")
    words = shortest(SMALL_QUORUM, p.name)
    m = model(SMALL_QUORUM)
    runner = Runner(m)
    for word in words[:-4]:
        runner.step(word)
    found = check(m, [p], Bounds(4, together=together), runner.state.key())
    broken = first_broken(m, words[:-4], found.schedule, [p])
    assert broken.steps >= 4
    if not together:
        assert (found.depth, found.rounds, broken.steps) == (3, 4, 4)


def test_what_no_run_breaks_is_not_found() -> None:
    """The protocol itself keeps what its variants break, and the answer says within which bound."""
    one = ("--nodes", "1", "--txns", "1", "--timeouts", "0", "--crashes", "0", "--losses", "0")
    result = run(*one, "--depth", "8")
    assert result.exit_code == 0, result.output
    assert result.output.startswith("no violation within 8 steps from the initial state, 1 of 21 properties put to")
    assert "put to the test: one-primary-an-epoch premise not reached: integrity, " in " ".join(result.output.split())
    assert "A bounded result" in " ".join(result.output.split())
    vacuous = run(*one, "--depth", "2", "--json")
    assert vacuous.exit_code == 3, vacuous.output
    report = json.loads(vacuous.stdout)
    assert report["answer"] == "premise not reached"
    assert [len(names) for names in report["premises"].values()] == [0, 21, 0, 0]


@pytest.mark.slow(seconds=5)
def test_the_premises_of_a_bound_are_those_that_the_explorer_reaches() -> None:
    c = Configuration(nodes=1, txns=1, timeouts=0, crashes=0, losses=0)
    judged = tuple(p for p in PROPERTIES if p.default and p.judges("zab"))
    explored = Explorer(compiled(c, False, judged), 1).run(Limits())
    depths = sorted({*explored.witnessed.values()})
    assert explored.complete
    assert len(depths) > 1
    for depth in (depths[0] - 1, depths[1]):
        found = check(model(c), judged, Bounds(depth, depth, together=False)).premises
        assert found == {p.name: explored.meets_within(p.name, depth) for p in judged}, depth


@pytest.mark.slow
@pytest.mark.parametrize("together", [False, True], ids=["one by one", "in rounds"])
def test_every_state_that_steps_reach_is_reached(together: bool) -> None:
    """Where a random run of a few steps ends, some run of as many rounds ends, too; and no run ends in a
    state that so many steps do not reach, as long as each has a round of its own."""
    configuration = Configuration(nodes=2, txns=1, timeouts=1, crashes=1, losses=1)
    m, code = model(configuration), compiled(configuration)
    layout = m.program.layout
    source = random.Random(11)
    depth = 3
    transition = Transition(m, full_namespace(m))
    for start in source.sample(walked(configuration, 200), 2):
        reached = walk(start, code.next_states, layout.size, source.randrange(99), 60, depth)
        unrolled = Unrolling(transition, values_of(layout, start), together)
        z3_terms, solver = Z3Terms(), Solver(seconds=HANG, logic="QF_FD")
        for k in range(depth):
            conditions = list(unrolled.extend().constraints) + list(unrolled.early(k - 1))
            solver.add(*(z3_terms.truth(c) for c in conditions))
        level = {start}
        within = {start}
        for _ in range(depth):
            level = {after[: layout.size] for data in level for _, after in code.next_states(data)}
            within |= level
        others = [d for d in walked(configuration, 200) if d not in within][:3]
        for data in [*source.sample(reached, min(3, len(reached))), *others]:
            same: Term | bool = True
            for key, value in values_of(layout, data).items():
                if key in unrolled.state:
                    width = transition.cells.all[key].width
                    same = and_(same, equal(unrolled.state[key], value, width))
            found = not solver.whether(z3_terms.truth(same)).proved
            assert found == (data in within) or (together and found)


# --- what is refused, and what has no verdict ---------------------------------------------------

WRONG = (
    (("--depth", "0"), "--depth must be 1 to 1000"),
    (("--depth", "5000"), "--depth must be 1 to 1000"),
    ((), "--depth is missing, as in: zabcheck bmc"),
    (("--depth", "3", "--property", "agreements"), "there is no property 'agreements'"),
    (("--depth", "3", "--property", "invariant-5-literal"), "is checked by `zabcheck --property"),
    (("--depth", "3", "--every", "0"), "--every must be 1 or more"),
    (("--depth", "3", "--time-limit", "0"), "--time-limit must be a number of seconds above 0"),
    (("--depth", "3", "--query-limit", "nan"), "--query-limit must be a number of seconds above 0"),
    (("--depth", "3", "--seed", "-1"), "--seed must be 0 to"),
    (("--depth", "3", "--depth", "4"), "--depth is given twice"),
    (("--depth", "3", "--trace", "nowhere/x.json"), "there is no folder nowhere"),
    (("--depth", "3", "--from", "nothing.json"), "nothing.json"),
    (("--depth", "3", "--from", "nothing.json:4"), "nothing.json"),
    (("--depth", "3", "--from", "x", "--nodes", "3"), "--nodes does not go with --from"),
)


def test_a_check_leaves_no_terms_behind() -> None:
    """A process that checks one model after the other would keep those of all."""
    tiny = Configuration(nodes=1, txns=1, timeouts=0, crashes=0, losses=0)
    before = symbolic_terms.variable("before", 8)
    assert check_in_time(model(tiny), PROPERTIES[:1], Bounds(2)).depth == 2
    assert symbolic_terms.variable("after", 8).serial > before.serial + 1, "terms were made"
    assert len(symbolic_terms._known) == 1


@pytest.mark.parametrize(("arguments", "sentence"), WRONG, ids=[" ".join(a) or "nothing" for a, _ in WRONG])
def test_a_wrong_question_is_exit_2_and_one_sentence(arguments: tuple[str, ...], sentence: str, folder: Path) -> None:
    """Nothing on stdout, no traceback, and nothing is written."""
    assert_refused(run(*arguments), sentence)
    assert not list(folder.iterdir())


def test_a_state_that_there_is_not_or_that_is_broken_already_is_refused(folder: Path) -> None:
    """A step beyond the trace; a state in which the property is broken before anything is asked."""
    path = saved(folder, SMALL_QUORUM, "delivered-is-chosen")
    beyond = run("--from", f"{path}:99", "--depth", "2")
    assert beyond.exit_code == 2
    assert "the trace has 11 steps" in beyond.stderr
    long = run("--from", f"{path}:{'9' * 5000}", "--depth", "2")
    assert long.exit_code == 2
    assert len(long.stderr.splitlines()) == 1
    broken = run("--from", str(path), "--depth", "2", "--property", "delivered-is-chosen")
    assert broken.exit_code == 2
    assert "step 11 of the trace violates delivered-is-chosen; start from --from ...:10" in broken.stderr


def test_an_undecided_question_is_exit_3() -> None:
    """Never dressed as either of the other answers; it says how far it got."""
    result = run("--nodes", "2", "--txns", "1", "--depth", "30", "--query-limit", "0.02", "--json")
    assert result.exit_code == 3, result.output
    report = json.loads(result.stdout)
    assert report["answer"] == "undecided"
    assert "out of time" in report["sentence"]
    assert report["violated"] == []


@pytest.mark.slow(seconds=1)
@pytest.mark.parametrize(("depth", "within"), [("3", True), ("8", False)])
def test_an_error_that_breaks_nothing_is_no_verdict(folder: Path, depth: str, within: bool) -> None:
    """A step that meets one has no state after it: what would come then is not looked at."""
    one = ("--nodes", "1", "--txns", "1", "--timeouts", "1", "--crashes", "0", "--losses", "0", "--max-epoch", "1")
    result = run(*one, "--depth", depth)
    assert result.exit_code == 3, result.output  # within three steps no premise is reached
    said = "no verdict: a value would leave its range: new_epoch would leave its range 0..1 in step l.1.1"
    assert (said in " ".join(result.output.split())) is not within
    assert ("widen it with --max-epoch" in " ".join(result.output.split())) is not within
    assert ("no value leaves its range" in " ".join(result.output.split())) is within


@pytest.mark.slow(seconds=1)
def test_a_time_limit_holds_whatever_is_being_done(tmp_path: Path) -> None:
    """A question this deep takes a minute to build, and z3 longer. In a process of its own: the work is left behind."""
    code = "import sys; from checker.cli import main; main(sys.argv[1:])"
    command = [sys.executable, "-c", code, "bmc", "--depth", "60", "--every", "60", "--time-limit", "1"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=HANG)
    assert done.returncode == 3, done.stderr
    assert "no verdict: out of time before depth 60" in " ".join(done.stdout.split())
    assert "Traceback" not in done.stderr


@pytest.mark.slow
def test_ctrl_c_ends_it(tmp_path: Path) -> None:
    """Exit 3 with one sentence, soon; a question this deep takes z3 minutes."""
    code = "import sys; from checker.cli import main; main(sys.argv[1:])"
    command = [sys.executable, "-c", code, "bmc", "--depth", "40", "--every", "40", "--time-limit", str(HANG)]
    process = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    until_cpu(process, 1)
    out, err, spent = ended(process, signal.SIGINT)
    assert spent < 20, "CPU seconds"
    assert process.returncode == 3, err
    assert out == ""
    assert err.strip() == "zabcheck: interrupted; there is no verdict"
