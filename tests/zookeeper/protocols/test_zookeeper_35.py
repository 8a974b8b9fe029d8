"""Release 3.5.10 of ZooKeeper, difference by difference, beside 3.5.3, 3.6.0 and 3.9.1: what each does."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.zookeeper.protocols.test_zookeeper_34 import ONE, THREE, TWO, at_diff, ended, fill, server, z
from zabspec.zookeeper.state import DIFFS, LEADING, LOOKING, NONE, SERVING, SNAPS, SYNCING, TO_ACK, WAITING
from zabspec.zookeeper.variants.releases import V353, V360, V391, V3510

RELEASES = ("3.5.3", "3.5.10", "3.6.0", "3.9.1")


def received(variant: str) -> tuple[list[int], list[int], list[int]]:
    """NEWLEADER behind a DIFF with one transaction: what is in the list still, in the sync thread's queue, in the
    log."""
    s, names = server(variant)
    s.sync_mode[1] = DIFFS
    fill(s.not_logged[1], [TWO])
    names["persist_received"](s, 1)
    return list(s.not_logged[1]), list(s.sync_queue[1]), list(s.log[1])


def interrupted_before(variant: str) -> int:
    """A SNAP to <1,2> is interrupted before NEWLEADER, of a server whose log ends with <1,1>: its
    lastProcessedZxid."""
    s, names = server(variant)
    s.phase[1], s.sync_mode[1] = SYNCING, SNAPS
    fill(s.log[1], [ONE])
    s.tree[1], s.last_processed[1] = 1 << ONE | 1 << TWO, TWO
    names["end_starting"](s, 1)
    return int(s.last_processed[1])


def interrupted_behind(variant: str) -> tuple[int, int]:
    """The same between the acknowledgement of NEWLEADER and UPTODATE, when its snapshot is saved, and <1,3> is logged
    behind it: its lastProcessedZxid, and what it has applied."""
    s, names = server(variant)
    s.phase[1], s.sync_mode[1] = TO_ACK, SNAPS
    s.tree[1], s.last_processed[1] = 1 << ONE | 1 << TWO, TWO
    names["take_snapshot"](s, 1)
    names["acknowledge"](s, 1)
    assert s.phase[1] == WAITING
    fill(s.log[1], [THREE])
    names["end_starting"](s, 1)
    return int(s.last_processed[1]), int(s.tree[1])


BEFORE, BEHIND = (TWO, 1 << ONE | 1 << TWO), (THREE, 1 << ONE | 1 << TWO | 1 << THREE)
Shown = tuple[Callable[[str], object], object, object, object, object]
DIFFERENCES: dict[str, Shown] = {
    "persist_received": (received, ([TWO], [], []), ([], [TWO], []), ([TWO], [], []), ([], [TWO], [])),
    "clear_interrupted": (interrupted_before, TWO, ONE, TWO, ONE),
    "end_sync": (interrupted_behind, BEFORE, BEHIND, BEFORE, BEFORE),
    "end_running": (ended("end_running", LOOKING), ([ONE, TWO, THREE], [ONE]), ([ONE, TWO], [ONE, TWO]),
                    ([ONE, TWO, THREE], [ONE, TWO]), ([ONE, TWO], [ONE, TWO])),
    "end_leader": (ended("end_leader", LEADING), ([ONE, TWO, THREE], [ONE]), ([ONE, TWO, THREE], [ONE, TWO, THREE]),
                   ([ONE, TWO, THREE], [ONE, TWO, THREE]), ([ONE, TWO, THREE], [ONE, TWO, THREE])),
    "take_diff_zxid": (at_diff, z(2, 1), ONE, ONE, ONE),
}  # fmt: skip


@pytest.mark.parametrize("name", DIFFERENCES)
def test_what_it_does(name: str) -> None:
    shown, *expected = DIFFERENCES[name]
    assert [shown(release) for release in RELEASES] == expected


def test_each_difference_is_shown_here() -> None:
    """`leaves_at_diff` and `clears_interrupted` say of two of them what merged steps ask."""
    differ = {
        name
        for other in (V353, V360, V391)
        for name in other.keys() | V3510.keys()
        if V3510.get(name) is not other.get(name)
    }
    assert differ == {"leaves_at_diff", "clears_interrupted", *DIFFERENCES}
    assert {name for name in V3510 if V3510[name] is not V391.get(name)} == {"end_sync"}


@pytest.mark.parametrize("repair", ["3911", "4646", "4394"])
def test_the_repair_that_moved_the_end_of_a_sync_moves_it_here(repair: str) -> None:
    """ZOOKEEPER-3911 did, in 3.6.3 and 3.7.0; its backport did not."""
    assert interrupted_behind(f"3.5.10,{repair}") == BEFORE


def test_a_sync_has_ended_where_a_server_serves() -> None:
    s, names = server("3.5.10")
    s.phase[1], s.sync_mode[1] = WAITING, SNAPS
    names["on_uptodate"](s, 1, names["UPTODATE"]())
    assert (s.phase[1], s.sync_mode[1]) == (SERVING, NONE)
