"""What the tests of re-enactment share."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.reenact.compared import BASE
from traces.reenact import compare
from traces.reenact.stores import Disk


@pytest.fixture
def disks(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> dict[Path, Disk]:
    made = {tmp_path / f"{n}": Disk((BASE,), (), 1, 1) for n in (1, 2, 3)}
    monkeypatch.setattr(compare, "read_disk", made.__getitem__)
    return made
