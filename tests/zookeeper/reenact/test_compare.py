"""A server that is ahead of the model, or behind it, differs: nothing that is queued is allowed for."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.servers import nowhere
from tests.zookeeper.reenact.compared import BASE, comparison, state
from traces.zookeeper.reenact.stores import Disk


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
    assert nowhere(name).batches is batches
