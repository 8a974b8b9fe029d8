"""Plain seeded runs that show what a counterexample says can happen."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

from checker.cli import main
from traces import write_trace
from traces.judged import judged_properties, verdicts
from traces.realise import Realised, Wanted, attempt, command_line, realise

LAB = Wanted("prefix", "db19", "", 3, "")


@pytest.mark.parametrize("name", ["prefix", "unique-zxid", "delivered-is-chosen", "one-leader-an-epoch"])
def test_the_printed_command_shows_it(name: str) -> None:
    found = realise(Wanted(name, "db19", "", 3, ""), 20_000, 120, 2)
    assert isinstance(found, Realised)
    words = shlex.split(command_line(found.run))
    assert words[0] == "zabcheck"
    done = CliRunner().invoke(main, [*words[1:], "--json"])
    assert done.exit_code == 1
    said = {p["name"]: p for p in json.loads(done.stdout)["properties"]}
    assert said[name]["verdict"] == "violated"


def test_an_unsafe_variant_of_zab_is_realised() -> None:
    found = realise(Wanted("agreement", "zab", "small-quorum", 3, ""), 20_000, 120, 2)
    assert isinstance(found, Realised)


def test_zab_itself_is_not() -> None:
    assert realise(Wanted("agreement", "zab", "", 3, ""), 1000, 120, 2) == 1000


def test_an_attempt_is_its_number() -> None:
    assert attempt(LAB, 417) == attempt(LAB, 417)
    assert len({attempt(LAB, n) for n in range(1000)}) == 1000


def test_the_first_attempts_are_the_labs_own() -> None:
    run = attempt(LAB, 7)
    assert (run.least_delay, run.delays, run.faults, run.blocked) == (1, 3, (), ())
    bit = [p.name for p in judged_properties("db19")].index("prefix")
    assert any(verdicts(attempt(LAB, n)) >> bit & 1 for n in range(200)), "nor does it take any fault"


def test_a_property_of_states_is_refused(tmp_path: Path) -> None:
    from test_minimise import wandering

    trace = wandering("small-quorum")
    path = tmp_path / "x.trace.json"
    object.__setattr__(trace, "property_name", "invariant-5")
    write_trace(trace, path)
    done = CliRunner().invoke(main, ["realise", str(path)])
    assert done.exit_code == 2
    assert "not a property of histories" in done.stderr
