"""What the tests of re-enactment share."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.zookeeper.reenact.compared import BASE
from traces.zookeeper.reenact.stores import Disk


@pytest.fixture
def disks(tmp_path: Path) -> dict[Path, Disk]:
    return {tmp_path / f"{n}": Disk((BASE,), (), 1, 1) for n in (1, 2, 3)}
