"""The states of orbits are those of every renaming of the initial state, also where that distinguishes processes."""

from __future__ import annotations

import zabcheck

VIEWS = "examples/views.py"  # it begins with two of three processes as members


def test_states_of_orbits_are_not_said_to_be_reached() -> None:
    found = zabcheck.explore(protocol=VIEWS, evidence="explored", reduction="none")
    apart = zabcheck.explore(protocol=VIEWS, evidence="explored", reduction="none", symmetry=False)
    raw = found.exploration.raw
    assert apart.states < raw, "the three starts that are renamings of each other reach more"
    assert dict(found.figures())["distinct states"] == f"{found.states:,} orbits, of {raw:,} states"
