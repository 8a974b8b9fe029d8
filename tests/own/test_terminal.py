"""Deadlock: a property of the states in which no step is possible, `@safety(over="terminal")`."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from checker.cli import main
from tests.second.reference import explore

DINING = str(Path(__file__).parent / "texts" / "dining.py")


@pytest.mark.parametrize("nodes", [2, 3])
@pytest.mark.parametrize("options", [[], ["--engine", "interpret"], ["--reduction", "none"]])
def test_a_deadlock_is_a_violation_with_its_run(options: list[str], nodes: int) -> None:
    """In as many steps as the second semantics says; with one philosopher the other way round there is none."""
    asked = ["--protocol", DINING, "--nodes", str(nodes), *options, "--no-trace"]
    found = CliRunner().invoke(main, asked)
    assert found.exit_code == 1
    assert "no-deadlock" in found.stdout
    assert "waits forever" in found.stdout
    request = {"protocol": DINING, "nodes": nodes, "network": "datagrams", "budgets": {}, "properties": ["no-deadlock"]}
    depth = explore(request)["verdicts"]["no-deadlock"]["depth"]
    assert depth == nodes
    assert f"VIOLATED: no-deadlock at depth {depth}" in found.stdout
    mended = CliRunner().invoke(main, [*asked, "--variant", "left_handed"])
    assert mended.exit_code == 0, mended.output


def test_engines_without_terminal_states_say_so() -> None:
    found = CliRunner().invoke(main, ["bmc", "--protocol", DINING, "--depth", "3", "--property", "no-deadlock"])
    assert found.exit_code == 2
    assert "no-deadlock is a property of terminal states, which bmc does not check" in " ".join(found.output.split())
