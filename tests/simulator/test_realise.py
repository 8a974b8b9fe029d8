"""Plain seeded runs that show what a counterexample says can happen."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from checker.cli import main
from checker.commands.init import START
from tests.patience import HANG, members, until
from traces import write_trace
from traces.judging.simulated import breaks, judge, judged_properties, verdicts, why_not_judged
from traces.shorten.realise import Realised, Wanted, attempt, command_line, realise, wanted_of
from zabspec.model import Configuration
from zabspec.simulator.run import Run

LAB = Wanted("prefix", Run(0))


@pytest.mark.slow(seconds=1)
@pytest.mark.parametrize("name", ["prefix", "one-leader-an-epoch"])
def test_the_printed_command_shows_it(name: str) -> None:
    found = realise(Wanted(name, Run(0)), 20_000, 120, 2)
    assert isinstance(found, Realised)
    words = shlex.split(command_line(found.run))
    assert words[0] == "zabcheck"
    done = CliRunner().invoke(main, [*words[1:], "--json"])
    assert done.exit_code == 1
    said = {p["name"]: p for p in json.loads(done.stdout)["properties"]}
    assert said[name]["verdict"] == "violated"


@pytest.mark.slow(seconds=2)
def test_a_user_protocol_is_realised_with_the_faults_of_its_request(tmp_path: Path) -> None:
    """And the command that is printed shows it."""
    text = tmp_path / "tpc.py"
    text.write_text(START.read_text(encoding="utf-8"), encoding="utf-8")
    wanted = wanted_of("agreement", Configuration(str(text), "hasty", crashes=0))
    assert wanted.faults == {"cut", "heal"}, "nobody crashes, and it has no timers"
    found = realise(wanted, 600, 120, 1)
    assert isinstance(found, Realised)
    words = shlex.split(command_line(found.run))
    done = CliRunner().invoke(main, [*words[1:], "--json"])
    said = {p["name"]: p for p in json.loads(done.stdout)["properties"]}
    assert (done.exit_code, said["agreement"]["verdict"]) == (1, "violated")


def test_a_user_run_has_the_start_and_the_faults_of_its_request() -> None:
    text = str(Path(__file__).parents[1] / "own" / "texts" / "ledger.py")
    wanted = wanted_of("promises-are-kept", Configuration(text, "idle", start="full", crashes=1, budgets="writes=3"))
    runs = [attempt(wanted, 200 * roughness + k) for roughness in range(5) for k in range(20)]
    assert {f.kind for run in runs for f in run.faults} == {"crash", "recover"}, "no connection is lost, nor cut"
    assert all((run.start, run.budgets) == ("full", "writes=3,elections=1") for run in runs)
    assert "--start full --budget writes=3 --budget elections=1" in command_line(runs[0])


@pytest.mark.slow(seconds=2)
def test_an_attempt_is_its_number() -> None:
    assert attempt(LAB, 417) == attempt(LAB, 417)
    assert len({attempt(LAB, n) for n in range(1000)}) == 1000


@pytest.mark.slow(seconds=1)
def test_the_first_attempts_are_the_labs_own() -> None:
    run = attempt(LAB, 7)
    assert (run.least_delay, run.delays, run.faults, run.blocked) == (1, 3, (), ())
    bit = [p.name for p in judged_properties("db19")].index("prefix")
    assert any(breaks(attempt(LAB, n), bit) >= 0 for n in range(200)), "nor does it take any fault"


@pytest.mark.parametrize("number", [19, 109, 922])
def test_one_property_alone_is_judged_as_all_are(number: int) -> None:
    """The tick in which each breaks, and that the others do not."""
    run = attempt(LAB, number)
    _, said = judge(run)
    assert [breaks(run, k) for k in range(len(said))] == [v.broken_at for v in said]
    assert verdicts(run) == sum(1 << k for k, v in enumerate(said) if not v.held)


@pytest.mark.slow(seconds=2)
def test_limits_are_kept() -> None:
    assert realise(Wanted("agreement", Run(0, protocol="zab")), 7, HANG, 2) == 7
    """A search that does not look at the clock goes on without end; it is given a minute."""
    wanted = "Wanted('agreement', Run(0, protocol='zab'))"
    code = f"from traces.shorten.realise import *; print(realise({wanted}, 10**9, 0.2, 2))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=HANG, check=True)
    assert int(done.stdout) in range(10**6)


@pytest.mark.slow(seconds=1)
def test_no_worker_outlives_the_search() -> None:
    """Not even when the search is killed."""
    code = (
        "from traces.shorten.realise import *; realise(Wanted('agreement', Run(0, protocol='zab')), 10**9, 36_000, 2)"
    )
    with subprocess.Popen([sys.executable, "-c", code], start_new_session=True) as search:
        assert until(lambda: len(members(search.pid)) >= 3)
        search.kill()
    assert until(lambda: not members(search.pid)), "a worker is left"


def test_an_altered_trace_is_refused(tmp_path: Path) -> None:
    from tests.replay.wandering import wandering

    path = tmp_path / "x.trace.json"
    write_trace(wandering("small-quorum"), path)
    path.write_text(path.read_text().replace('"variant": "small-quorum"', '"variant": "no-promise"'))
    done = CliRunner().invoke(main, ["realise", str(path)])
    assert done.exit_code == 2
    assert str(path) in done.stderr


def test_a_property_of_states_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from tests.replay.wandering import wandering

    trace = wandering("small-quorum")
    path = tmp_path / "x.trace.json"
    write_trace(replace(trace, property_name="invariant-5"), path)
    monkeypatch.setattr("traces.verify", lambda _: None)
    done = CliRunner().invoke(main, ["realise", str(path)])
    assert done.exit_code == 2
    assert (
        "are not checked against invariant-5: it is about the fields of zab beside those that replicas have"
        in done.stderr
    )


SAYS = """
def ever(s: State) -> bool:
    \"\"\"Any state.\"\"\"
    return True


def ever_after(before: State, event: State, after: State) -> bool:
    \"\"\"Any step.\"\"\"
    return True


@safety(over="step", witness=ever_after)
def of_steps(before: State, event: State, after: State) -> bool:
    \"\"\"No step.\"\"\"
    return True


@safety(witness=ever)
def of_mail(s: State) -> bool:
    \"\"\"Not all is on its way.\"\"\"
    return len(s.in_flight) < 9


@invariant
def of_none(s: State) -> bool:
    \"\"\"Any state.\"\"\"
    return True


PROTOCOL ="""


@pytest.mark.parametrize(
    ("name", "said"),
    [("of-steps", "it is over steps, and not over states or histories"),
     ("of-mail", "it reads messages in flight"),
     ("of-none", "it is checked only if named"),
     ("durability", "does not declare replicas"),
     ("no-runtime-error", "it is built in, or not a property of this protocol"),
     ("agreement", "")],
)  # fmt: skip
def test_what_a_simulated_run_is_not_judged_by_says_what_it_needs(name: str, said: str, tmp_path: Path) -> None:
    text = tmp_path / "tpc.py"
    own = START.read_text(encoding="utf-8").replace("PROTOCOL =", SAYS.lstrip())
    own = own.replace("from zabcheck.language import (", "from zabcheck.language import (invariant,", 1)
    text.write_text(own, encoding="utf-8")
    found = why_not_judged(str(text), name)
    assert (said in found) if said else not found
    assert bool(found) != (name in {p.name for p in judged_properties(str(text))})


def test_a_run_of_what_its_world_bounds_has_its_budgets_and_start(tmp_path: Path) -> None:
    """As a run of any protocol has."""
    path = tmp_path / "bounded.py"
    text = (Path(__file__).parents[1] / "own" / "texts" / "ledger.py").read_text()
    budgets = 'budgets={"writes": 1, "elections": 1, "crashes": 0, "losses": 0, "power_losses": 1},'
    assert budgets in text
    path.write_text(text.replace(budgets, 'budgets={"writes": 1, "elections": 1}, bounded_by_world=True,'))
    wanted = wanted_of("promises-are-kept", Configuration(str(path), "idle", start="full", budgets="writes=3"))
    assert (wanted.run.budgets, wanted.run.start) == ("writes=3,elections=1", "full")
    run = attempt(wanted, 1)
    assert (run.budgets, run.start) == (wanted.run.budgets, "full")
