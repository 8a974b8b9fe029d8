"""Outages, in which all processes lose power, and the disks of `zab` and `ladis`: held against the second semantics."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from checker.explore.breadth_first import Explorer
from checker.explore.compiled import Compiled
from checker.explore.interpret import Interpreter
from checker.explore.result import Limits
from invariants import properties_of
from tests.second.reference import explore
from tests.transcript import file_of
from traces import build_trace
from traces.replay.replay import replay
from zabspec.authoring.unused import unused
from zabspec.model import ConfigError, Configuration, Model

MENDED = "promise,later-epoch,none-ahead,current-epoch"
ONE = {"nodes": 2, "txns": 1, "timeouts": 0, "crashes": 0, "losses": 0}
NAMES = """(
    AtMost, Each, Fields, Node, Range, SeqOf, State, Variant, action, broken, declare, force, ghost, observation,
    on_disk, safety,
)"""
BUDGETS = ("timeouts", "crashes", "losses", "power_losses", "outages", "partitions")
WORLDS = [
    Configuration(**{**ONE, "power_losses": 1}),
    Configuration("ladis", **{**ONE, "outages": 1}),
    Configuration("ladis", MENDED, **{**ONE, "outages": 1}),
    Configuration(variant="write-cache", **{**ONE, "nodes": 1, "outages": 1}),
    Configuration(variant="damage-truncated", **{**ONE, "crashes": 1}),
    Configuration("ladis", f"ack-before-write,{MENDED}", **{**ONE, "power_losses": 1}),
]


def agree(c: Configuration, sizes: dict[str, int], depth: int | None = None) -> Explorer:
    """The compiled engine and the second semantics explore all states, or those to a depth: as many at each depth, with
    the same violations. In CPython the first half of the levels has as many."""
    judged = [p for p in properties_of(c.protocol) if p.default and p.judges(c.protocol)]
    machine = Explorer(Compiled(Model(c), judged, symmetry=False), 1)
    fast = machine.run(Limits(depth=depth), True)
    half = len(fast.levels) // 2
    slow = Interpreter(Model(c), judged, False).run(Limits(depth=half), True)
    budgets = {name: c.budget[name] for name in (*BUDGETS, "puts") if name in c.budget}
    request = {"protocol": c.protocol, "nodes": c.nodes, "variant": c.variant, "budgets": budgets, "sizes": sizes}
    request |= {"network": c.network, "max_depth": depth}
    second = explore({**request, "properties": [p.name for p in judged]})
    levels = Counter(second["depth"])
    assert [*fast.levels] == [levels[k] for k in range(len(levels))]
    assert [*slow.levels] == [*fast.levels][: half + 1]
    broken = {name: v["depth"] for name, v in second["verdicts"].items() if v["result"] == "violated"}
    assert {name: v.depth for name, v in fast.violations.items()} == broken
    for found in fast.violations.values():
        trace = build_trace(Model(c), found.property, found.schedule)
        assert replay(trace).steps == trace.steps
    return machine


@pytest.mark.slow(seconds=3)
@pytest.mark.parametrize("c", WORLDS, ids=lambda c: f"{c.protocol} {c.variant} {c.outages} {c.crashes}")
def test_disks_of_zab_and_ladis_are_as_the_second_semantics_has_them(c: Configuration) -> None:
    agree(c, {"txns": c.txns})


@pytest.mark.parametrize("crashes", [0, 1])
def test_an_outage_takes_what_nobody_has_forced(crashes: int, tmp_path: Path) -> None:
    """Also of a process that is down."""
    path = tmp_path / "log.py"
    path.write_text(file_of("own/disks", "log.py").replace("import *", f"import {NAMES}"), encoding="utf-8")
    agree(Configuration(str(path), nodes=2, crashes=crashes, outages=1), {})


@pytest.mark.parametrize("faults", [(2, 0, 0), (0, 1, 0), (0, 0, 1), (1, 1, 1)])
def test_a_process_starts_at_once_behind_any_crash(faults: tuple[int, int, int], tmp_path: Path) -> None:
    """Within a step, in an outage, and as its state is behind the crash; no step makes images behind the last loss."""
    crashes, power_losses, outages = faults
    path = tmp_path / "at_once.py"
    path.write_text(file_of("own/who-is-down", "at_once.py"))
    c = Configuration(str(path), nodes=2, crashes=crashes, power_losses=power_losses, outages=outages)
    agree(c, {})
    assert unused(Model(c)) == []


def test_without_a_loss_of_power_nothing_is_on_a_disk() -> None:
    assert not Model(Configuration(crashes=1)).fails
    assert Model(Configuration(outages=1)).fails
    with pytest.raises(ConfigError, match=r"--outages is not for .*ledger.py: within its elections"):
        Configuration(str(Path(__file__).parents[1] / "own/texts/ledger.py"), outages=1)
