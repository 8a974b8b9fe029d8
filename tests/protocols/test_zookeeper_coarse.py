"""Steps put together show what the split ones show: every row of the track record is found with them too."""

from __future__ import annotations

import os
from dataclasses import replace

import pytest

from checker.zookeeper.record import NEWEST, ask
from checker.zookeeper.rows import ROWS, Row
from zabspec.protocols.zookeeper.coarse import COARSE, OVERRIDES

FEW = ("1282",)  # with ZABCHECK_EVERY all


@pytest.mark.slow(seconds=6)
@pytest.mark.parametrize(
    "row", [r for r in ROWS if os.environ.get("ZABCHECK_EVERY") or r.issue in FEW], ids=lambda r: r.issue
)
def test_a_row_is_found_with_coarse_steps(row: Row) -> None:
    release = "coarse" if row.release == NEWEST else f"{row.release},coarse"
    asked = ask(replace(row, release=release), 120)
    assert asked.found
    assert asked.without.depth <= row.depth  # a merged step is one
    assert asked.without.trace is not None


def test_each_merged_step_can_be_split() -> None:
    assert {v.name for v in COARSE} == {"coarse", *(f"coarse-{name}" for name in OVERRIDES)}
