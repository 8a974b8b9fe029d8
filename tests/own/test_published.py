"""Published models, written here from their algorithms: as many states as their authors and TLC count."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from checker.cli import main

TEXTS = Path(__file__).parent / "texts"
# the file, the states of the specification of that name among the TLA+ examples, and of how many orbits they are
PUBLISHED = [
    ("two_phase", 288, 80),  # TwoPhase, of three resource managers
    ("echo", 75, 75),  # Echo, of three nodes, each beside each other; one begins
    ("readers", 21_527, 3_601),  # ReadersWriters, of three actors
    ("ewd840", 302, 302),  # EWD840, N = 3: runs begin in 192 states
    ("scheduling", 1_690, 165),  # SchedulingAllocator, of three clients and two resources
    ("voting", 599, 77),  # Voting, of three acceptors and two values: TLC counts 77 up to renaming
    ("bridge", 3_605, 1_065),  # SingleLaneBridge, of two cars to the right and two to the left, who queue
    ("alternating", 240, 120),  # AlternatingBit, of two data and channels of two that lose any message
    ("lamport", 724_274, 724_274),  # LamportMutex, of three processes, with clocks up to 6: ids break ties
]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "states", "orbits"), PUBLISHED)
def test_a_published_model_has_the_states_that_are_published(name: str, states: int, orbits: int) -> None:
    asked = ["--protocol", str(TEXTS / f"{name}.py"), "--no-trace", "--reduction", "none"]
    found = CliRunner().invoke(main, asked)
    assert found.exit_code == 0, found.output
    said = f"{orbits:,} orbits, of {states:,} states" if orbits < states else f"{states:,}\n"
    assert f"distinct states        {said}" in found.stdout, found.output
    if orbits < states:
        whole = CliRunner().invoke(main, [*asked, "--no-symmetry"])
        assert re.search(rf"(?m)^distinct states +{states:,}$", whole.stdout), whole.output


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "count"), [("scheduling", "2 of 2 progress properties"), ("bridge", "2 of 2"), ("alternating", "1 of 1")]
)
def test_who_waits_is_served(name: str, count: str) -> None:
    found = CliRunner().invoke(main, ["--protocol", str(TEXTS / f"{name}.py"), "--live", "--no-trace"])
    assert found.stdout.startswith(f"holds: no process starves in any fair run, {count}"), found.output


@pytest.mark.slow(seconds=1)
def test_without_strong_fairness_a_channel_loses_every_message(tmp_path: Path) -> None:
    weak = (TEXTS / "alternating.py").read_text().replace('fair="strong"', 'fair="weak"')
    (tmp_path / "alternating.py").write_text(weak)
    found = CliRunner().invoke(main, ["--protocol", str(tmp_path / "alternating.py"), "--live", "--no-trace"])
    assert found.stdout.startswith("VIOLATED: arrives"), found.output


def test_two_jugs_measure_four_gallons_in_six_steps() -> None:
    """DieHard: 16 states, and a shortest run of six steps."""
    asked = ["--protocol", str(TEXTS / "die_hard.py"), "--no-trace", "--keep-going"]
    found = CliRunner().invoke(main, asked)
    assert found.stdout.startswith("VIOLATED: never-four at depth 6; explored to exhaustion"), found.output
    assert "16 orbits, of 16 states" in found.stdout
    assert re.search(r"second opinion +16 states of 8 levels, 96 steps, 1 property: agreed", found.stdout)
