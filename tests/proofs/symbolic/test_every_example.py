"""Every example, with its first variant, has an answer of `induct`, `bmc` and `--symbolic`, never an internal error."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from checker.proofs.report.induction import Inductive
from checker.proofs.symbolic.bmc import Bounds, check
from invariants import properties_of
from invariants.registry import TERMINAL
from tests.small_protocols import asked
from zabspec.model import Model
from zabspec.proofs.symbolic_terms import forget_terms
from zabspec.protocols.registry import PROTOCOLS

# of these the others have all constructs (tests/second/generator/coverage.py) that zab and db19, which z3 is asked of
# beside, do not have
ALIKE = {
    "causal_broadcast", "chain_replication", "chain_with_master", "drifting_lease", "ladis_without_commit", "lease",
    "paxos", "primary_backup", "two_phase_commit", "viewstamped",
}  # fmt: skip
EXAMPLES = [
    path for path in sorted(Path(__file__).parents[3].joinpath("examples").glob("*.py")) if path.stem not in ALIKE
]


@pytest.mark.slow(seconds=4)
@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_z3_answers(example: Path) -> None:
    """With the least room for messages and transactions, and one move of an induction: the rest is terms."""
    protocol = PROTOCOLS[str(example)]
    judged = [p for p in properties_of(str(example)) if p.default and p.of != TERMINAL]
    variant = next(iter(protocol.variants), "")  # in which most of the protocol stands
    given: dict[str, Any] = {"variant": variant, "network": "", "channel": 1}
    given |= {"txns": 1} if protocol.transactions else {}
    report = Inductive(asked(str(example), most=1, limit=0.05, **given), {})
    found = check(Model(report.outcome.question.configuration), judged, Bounds(1, query_seconds=1.0))
    assert found.second.difference == ""
    assert [len(report.as_json()["clauses"])] == [len(report.outcome.verdicts)]
    assert all(report.parts())
    forget_terms()
