"""Who takes over, and when (LADIS'08 3): explored. States made by hand are in `test_premises.py`."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from checker.cli import main
from checker.explore.breadth_first import Explorer
from checker.explore.compiled import Compiled
from checker.explore.result import Limits
from invariants import takeover
from tests.histories import model_of
from zabspec.model import Configuration


@pytest.mark.slow(seconds=3)
@pytest.mark.parametrize(("timeouts", "crashes", "met", "lost"), [(1, 0, 25, 20), (0, 1, 26, 20)])
def test_zab_has_a_quorum_abandon_the_previous_leader(timeouts: int, crashes: int, met: int, lost: int) -> None:
    model = model_of(Configuration(txns=1, timeouts=timeouts, crashes=crashes, losses=0))
    named = ("previous-leader-abandoned", "service-goes-on")
    code, why = Compiled.of(model, tuple(p for p in takeover.PROPERTIES if p.name in named), True)
    found = Explorer(code, 1).run(Limits())
    assert (why, found.complete, found.violations) == ("", True, {})
    assert found.witnessed == {"previous-leader-abandoned": met, "service-goes-on": lost}


@pytest.mark.slow(seconds=3)
@pytest.mark.parametrize("name", ["takeover-ladis", "two-active-primaries"])
def test_the_gallery_shows_what_breaks(name: str) -> None:
    found = CliRunner().invoke(main, ["gallery", name])
    assert found.exit_code == 0, found.output
