"""A server that is ahead of the model, or behind it, differs: nothing that is queued is allowed for."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.reenact.schedules import zk_4394
from traces.reenact import compare
from traces.reenact.compare import Comparison
from traces.reenact.servers import Release
from traces.reenact.stores import Disk
from traces.reenact.zxids import Zxids
from zabspec.protocols.zookeeper.state import WIDTH

BASE = 0x100000002
FIRST, SECOND = WIDTH + 1, WIDTH + 2


@dataclass
class Server:
    """A server of which all that is compared is given."""

    data: Path
    mode: str = "leader"
    zxid: int = BASE
    runs: bool = True

    def status(self) -> tuple[str, int]:
        return self.mode, self.zxid


@pytest.fixture
def disks(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> dict[Path, Disk]:
    made = {tmp_path / f"{n}": Disk((BASE,), (), 1, 1) for n in (1, 2, 3)}
    monkeypatch.setattr(compare, "read_disk", made.__getitem__)
    return made


def comparison(disks: dict[Path, Disk], batches: bool = False) -> tuple[Comparison, dict[int, Server]]:
    servers = {n: Server(path) for n, path in zip((1, 2, 3), disks, strict=True)}
    ensemble: Any = SimpleNamespace(servers=servers)
    return Comparison(ensemble, Zxids(BASE), (1, 2, 3), batches), servers


def state() -> dict[str, Any]:
    """The established start, with a transaction in the leader's queue and one to be applied."""
    from traces.record.runner import Runner
    from traces.record.values import state_json
    from zabspec.model import Model

    s = state_json(Runner(Model(zk_4394().configuration)).state)
    s["sync_queue"][0], s["to_apply"][0] = [SECOND], [SECOND]
    return s


def test_a_log_that_is_ahead_by_what_is_queued_differs(disks: dict[Path, Disk]) -> None:
    held, _ = comparison(disks)
    assert held.of_disk(state(), 0) == []
    first = next(iter(disks))
    disks[first] = Disk((BASE, BASE + 1), (), 1, 1)
    assert held.of_disk(state(), 0) == ["server 1 (p0), log: the model has [<1,1>], the server [<1,1>, <1,2>]"]
    old, _ = comparison(disks, batches=True)  # before 3.6.0 the sync thread forces what is queued at once
    assert old.of_disk(state(), 0) == []
    disks[first] = Disk((BASE, BASE + 1, BASE + 2), (), 1, 1)
    assert len(old.of_disk(state(), 0)) == 1  # and no more than that


def test_a_tree_that_is_ahead_by_what_is_to_be_applied_differs(disks: dict[Path, Disk]) -> None:
    held, servers = comparison(disks)
    assert held.of_process(state(), 0) == []
    servers[1].zxid = BASE + 1
    assert held.of_process(state(), 0) == ["server 1 (p0), lastProcessedZxid: the model has <1,1>, the server <1,2>"]


@pytest.mark.parametrize(
    ("name", "batches"), [("3.5.3", True), ("3.4.10", True), ("3.6.0", False), ("3.10.0", False), ("master", False)]
)
def test_the_releases_whose_sync_thread_forces_one_at_a_time(name: str, batches: bool) -> None:
    assert Release(name, (), {}).batches is batches
