"""Mutants of ZooKeeper's newest release with all known repairs: each is found, and by what the text itself does not do
within the same budget (issue 14, acceptance 6)."""

from __future__ import annotations

import pytest

from invariants import properties_of
from tests.zookeeper.protocols.zookeeper_mutants import MUTANTS, Mutant, explore_all, unmutated
from zabspec.protocols.registry import PROTOCOLS

# One here; the gallery has them all.
FEW = ("load-committed-log",)
ASKED = [m for m in MUTANTS if m.name in FEW]


@pytest.mark.slow(seconds=6)
@pytest.mark.parametrize("mutant", ASKED, ids=lambda m: m.name)
def test_a_mutant_is_found_by_what_the_text_does_not_do(mutant: Mutant) -> None:
    found = explore_all(f"mutant-{mutant.name}", dict(mutant.budget))
    assert not found.error
    assert found.violations[mutant.breaks].depth == mutant.depth
    itself = unmutated(mutant.budget)
    assert itself.complete
    assert not itself.violations


def test_every_mutant_has_a_row() -> None:
    names = {name.removeprefix("mutant-") for name in PROTOCOLS["zookeeper"].variants if name.startswith("mutant-")}
    assert {m.name for m in MUTANTS} == names
    assert set(FEW) <= names
    assert {m.breaks for m in MUTANTS} <= {p.name for p in properties_of("zookeeper")}
