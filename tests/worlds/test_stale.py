"""Stale networks, where messages of earlier connections arrive on the next: held against the second semantics."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.worlds.test_outages import ONE, agree
from zabspec.model import ConfigError, Configuration

STALE = Configuration(**{**ONE, "timeouts": 1}, network="stale")
WORLDS = [
    replace(STALE, txns=2),  # two messages of an earlier connection are in flight upwards from depth 20 on
    replace(STALE, timeouts=0, losses=1),
    replace(STALE, timeouts=0, partitions=1),
    replace(STALE, timeouts=0, power_losses=1),
]


@pytest.mark.slow(seconds=4)
@pytest.mark.parametrize("c", WORLDS, ids=lambda c: str(c.budget))
def test_stale_networks_are_as_the_second_semantics_has_them(c: Configuration) -> None:
    agree(c, {"txns": c.txns}, 22 if c.txns > 1 else 16)


def test_elections_in_one_step_are_refused() -> None:
    with pytest.raises(ConfigError, match=r"--network stale is not for .*ledger.py: its elections open several"):
        Configuration(str(Path(__file__).parents[1] / "own/texts/ledger.py"), network="stale")
