"""What TRUNC leaves of a log and of snapshots, what is added to committedLog, and what a sync thread of an earlier term
does, in ZooKeeper's text and with its repairs."""

from __future__ import annotations

from functools import cache
from types import SimpleNamespace
from typing import Any

import pytest
from click.testing import CliRunner

from checker.cli import main
from traces import Runner
from zabspec.model import Configuration, Model
from zabspec.protocols.registry import PROTOCOLS
from zabspec.zookeeper.state import DIFFS, SNAPS, WIDTH


def z(epoch: int, counter: int) -> int:
    return epoch * WIDTH + counter


def tree(*zxids: int) -> int:
    return sum(1 << zxid for zxid in zxids)


@cache
def runner(variant: str) -> Runner:
    name = PROTOCOLS["zookeeper"].combined(variant)
    return Runner(Model(Configuration("zookeeper", name, timeouts=0, budgets="elections=2,proposals=2")))


def server(variant: str, **stores: list[int]) -> tuple[Any, dict[str, Any]]:
    """A state in which p0 has these, and the text's functions."""
    made = runner(variant)
    s = made.state.copy()
    for name, values in stores.items():
        for value in values:
            getattr(s, name)[0].append(value)
    return s, {name.removesuffix("__own"): value for name, value in made.names.items()}


@pytest.mark.parametrize(
    ("variant", "log", "cut", "left"),
    [
        ("", [z(1, 1), z(1, 2)], z(1, 1), [z(1, 1)]),
        ("", [z(2, 1), z(2, 2)], z(2, 0), [z(2, 1)]),  # as the classes of 3.9.5 do (docs/findings/cut.md)
        ("", [z(1, 1), z(2, 1), z(2, 2)], z(1, 2), [z(1, 1), z(2, 1)]),
        ("", [z(1, 1)], z(1, 2), None),
        ("cut", [z(1, 1), z(1, 2)], z(1, 1), [z(1, 1)]),
        ("cut", [z(2, 1), z(2, 2)], z(2, 0), []),
        ("cut", [z(1, 1), z(2, 1), z(2, 2)], z(1, 2), [z(1, 1)]),
        ("cut", [z(1, 1)], z(1, 2), None),
    ],
)
def test_a_log_is_cut_behind_the_first_record_that_is_not_earlier(
    variant: str, log: list[int], cut: int, left: list[int] | None
) -> None:
    s, names = server(variant, log=log)
    assert names["cut_log"](s, 0, cut) == (left is not None)
    assert list(s.log[0]) == (log if left is None else left)


OF_A_SNAP = {"snapshot_names": [z(2, 0)], "snapshot_trees": [tree(z(1, 1))], "log": [z(2, 1)]}
BEFORE_DISCOVERY = {
    "snapshot_names": [z(1, 2)],
    "snapshot_trees": [tree(z(1, 1), z(1, 2))],
    "log": [z(1, 1), z(1, 2)],
}


@pytest.mark.parametrize(
    ("variant", "stores", "read"),
    [
        ("cut", OF_A_SNAP, tree(z(1, 1))),
        ("cut,4837", OF_A_SNAP, 0),  # the pull request: what is in no log is gone
        ("cut,4837-here", OF_A_SNAP, tree(z(1, 1))),
        ("cut", BEFORE_DISCOVERY, tree(z(1, 1), z(1, 2))),
        ("cut,4837", BEFORE_DISCOVERY, tree(z(1, 1))),
        ("cut,4837-here", BEFORE_DISCOVERY, tree(z(1, 1))),
    ],
)
def test_which_snapshots_are_read_after_a_cut(variant: str, stores: dict[str, list[int]], read: int) -> None:
    s, names = server(variant, **stores)
    stood = names["first_from"](s, 0, z(1, 1))
    assert names["cut_log"](s, 0, z(1, 1))
    names["reload_after_cut"](s, 0, z(1, 1), stood)
    assert s.tree[0] == read


@pytest.mark.parametrize(
    ("variant", "mode", "log", "names"),
    [
        ("", SNAPS, [z(1, 1), z(1, 2), z(2, 1)], [z(1, 1), z(2, 0), z(2, 1)]),
        ("snap-tail", SNAPS, [z(1, 1)], [z(1, 1)]),
        ("snap-tail", DIFFS, [z(1, 1), z(1, 2), z(2, 1)], [z(1, 1), z(2, 0), z(2, 1)]),
    ],
)
def test_what_stays_on_the_disk_behind_a_snap(variant: str, mode: int, log: list[int], names: list[int]) -> None:
    """Its snapshot is saved already, as the first of three, at <1,1>."""
    at, later = tree(z(1, 1)), tree(z(1, 1), z(1, 2))
    stores = {"snapshot_names": [z(1, 1), z(2, 0), z(2, 1)], "snapshot_trees": [at, at, later]}
    s, functions = server(variant, log=[z(1, 1), z(1, 2), z(2, 1)], **stores)
    s.sync_mode[0], s.last_processed[0] = mode, z(1, 1)
    functions["persist"](s, 0)
    assert (list(s.log[0]), list(s.snapshot_names[0])) == (log, names)
    assert len(s.snapshot_trees[0]) == len(names)


@pytest.mark.parametrize(
    ("variant", "committed", "term", "truncates"),
    [
        ("", [], 2, True),
        ("trunc-snap", [], 2, False),
        ("trunc-snap", [], 1, True),  # of the running epoch: the learner has logged it
        ("trunc-snap", [z(1, 1)], 2, True),
        ("trunc-epoch", [], 1, True),
        ("trunc-epoch", [z(1, 1)], 2, False),  # the learner may have a snapshot and no log
        ("trunc-epoch", [z(1, 1)], 1, True),
    ],
)
def test_who_is_ahead_gets_snap_for_what_may_be_in_no_log(
    variant: str, committed: list[int], term: int, truncates: bool
) -> None:
    s, functions = server(variant, committed_log=committed)
    s.term[0], s.peer_last[0][1] = term, z(1, 2)
    functions["connect"](s, 1, 0)
    functions["sync_follower"](s, 0, 1)
    assert str(s.to_follower[1][0]).startswith("TRUNC" if truncates else "SNAP")


def test_committed_log_takes_nothing_twice_from_3_9_4_on() -> None:
    for variant, there in (("", [z(1, 1)]), ("3.9.3", [z(1, 1), z(1, 1)]), ("3.9.3,4925", [z(1, 1)])):
        s, names = server(variant, committed_log=[z(1, 1)])
        names["apply_txn"](s, 0, z(1, 1))
        assert list(s.committed_log[0]) == there


def test_a_sync_thread_of_an_earlier_term_ends_with_its_first_flush() -> None:
    """A batch is one flush; <0,0> is between two terms' threads."""
    a, b, c = z(1, 1), z(1, 2), z(2, 1)
    for step, log, queue in (("log_stale", [a], [c]), ("log_stale_batch", [a], [b, 0, c])):
        s, names = server("3.9.2", stale_queue=[a, b, 0, c])
        assert names["has_stale_batch"](s, 0)
        names[step](s, 0)
        assert (list(s.log[0]), list(s.stale_queue[0])) == (log, queue)
    s, names = server("3.9.2", stale_queue=[b], sync_queue=[c])
    assert not names["has_stale_batch"](s, 0)
    names["outlive"](s, 0)
    assert list(s.stale_queue[0]) == [b, 0, c]
    assert not names["has_stale_batch"](s, 0)


# --- an interruption ------------------------------------------------------------------------------


def test_nothing_is_asked_after_an_interruption(monkeypatch: pytest.MonkeyPatch) -> None:
    """An exploration ends with what it has; the rows after it are not begun."""

    class Interrupted:
        def __init__(self, *_: object) -> None: ...

        def run(self, *_: object) -> SimpleNamespace:
            return SimpleNamespace(stopped="interrupted")

    monkeypatch.setattr("checker.zookeeper.record.Explorer", Interrupted)
    monkeypatch.setattr("checker.zookeeper.record.Compiled", SimpleNamespace(of=lambda *_: (None, "")))
    ended = CliRunner().invoke(main, ["zookeeper", "ZK-4394"])
    assert ended.exit_code == 3
    assert "interrupted; there is no verdict" in ended.output
