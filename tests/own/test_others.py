"""Protocols of others in examples/: their states, and where a changed rule breaks them, by the second semantics.

Small questions; the gallery has the large ones, and docs/explanation/case-studies.md the table.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from checker.explore.interpret import Interpreter
from checker.explore.result import Limits
from tests.second.harness.question import Question
from tests.second.reference import explore

EXAMPLES = Path(__file__).parents[2] / "examples"

# by example: how many processes, and the budgets
ALIKE = {
    "raft": (2, {"elections": 1, "crashes": 0}),
    "viewstamped": (2, {"suspicions": 1, "crashes": 0}),
    "chain_with_master": (2, {"removals": 1}),
    "primary_backup": (2, {"removals": 1}),
    "configurations": (2, {"installs": 2}),
}
# by example and variant: processes, budgets, the violated property, and after how many steps
BREAKS = {
    ("viewstamped", "amnesia"): (3, {"suspicions": 0, "crashes": 1}, "total-order", 8),
    ("chain_with_master", "eager"): (3, {"removals": 1}, "agreement", 4),
}


def asked(name: str, nodes: int, budgets: dict[str, int], **more: Any) -> dict[str, Any]:
    every = {"protocol": str(EXAMPLES / f"{name}.py"), "nodes": nodes, "network": "fifo", "budgets": budgets}
    return {**every, "sizes": {"txns": 1}, "properties": [], **more}


@pytest.mark.slow(seconds=1)
@pytest.mark.parametrize("name", ALIKE)
def test_the_second_semantics_counts_the_same_states(name: str) -> None:
    request = asked(name, *ALIKE[name])
    plain = explore(request)
    found = Interpreter(Question(request).model, (), False, every_step=True).run(Limits(), False)
    assert plain["complete"]
    assert found.complete
    assert len(plain["states"]) == sum(found.levels) > 20


@pytest.mark.parametrize(("name", "variant"), BREAKS)
def test_the_second_semantics_breaks_a_changed_rule(name: str, variant: str) -> None:
    nodes, budgets, broken, depth = BREAKS[name, variant]
    request = asked(name, nodes, budgets, variant=variant, max_depth=depth, properties=[broken])
    request["sizes"]["txns"] = 2
    assert explore(request)["verdicts"][broken] == {"result": "violated", "depth": depth}
