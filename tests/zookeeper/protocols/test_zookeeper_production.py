"""ZooKeeper with the settings of production: what the text has only where its variant is asked for."""

from __future__ import annotations

from functools import cache
from types import SimpleNamespace
from typing import Any

import pytest

from checker.requests.base.model import ModelRequest
from checker.requests.simulate import Simulate
from checker.zookeeper.record import ask, configuration
from checker.zookeeper.requests.reenact import PlayRequest
from checker.zookeeper.rows import ROWS
from checker.zookeeper.runs import trace_of_row
from traces import Runner
from traces.record.values import state_json
from traces.zookeeper.reenact.distributions import NO_WALK, Cannot
from traces.zookeeper.reenact.servers import settings_for
from zabspec.model import Configuration, Model
from zabspec.protocols.registry import PROTOCOLS
from zabspec.zookeeper.of_releases import settled
from zabspec.zookeeper.state import FOLLOWING, NONE, SERVING, SNAPS, TRUNCS, WIDTH


def z(epoch: int, counter: int) -> int:
    return epoch * WIDTH + counter


def tree(*zxids: int) -> int:
    return sum(1 << zxid for zxid in set(zxids))


@cache
def runner(variant: str) -> Runner:
    name = PROTOCOLS["zookeeper"].combined(variant)
    return Runner(Model(Configuration("zookeeper", name, timeouts=0, budgets="elections=2,proposals=2")))


def leader(variant: str, **stores: list[int]) -> tuple[Any, dict[str, Any]]:
    """A state in which p0 leads, has these, has applied all that its log and committedLog have and <1,2>, and p1 is
    connected to it; and the text's functions."""
    made = runner(variant)
    s = made.state.copy()
    for name, values in stores.items():
        for value in values:
            getattr(s, name)[0].append(value)
    s.leader[1] = 0
    made.names["connect"](s, 1, 0)
    s.tree[0] = tree(z(1, 2), *stores["log"], *stores.get("committed_log", []))
    s.last_processed[0] = max(stores["log"][-1], *stores.get("committed_log", [0]))
    return s, {name.removesuffix("__own"): value for name, value in made.names.items()}


A, B, C, D = z(1, 1), z(1, 2), z(1, 3), z(2, 1)
WHOLE = {"log": [A, B, D], "committed_log": [D]}
LATE = {"log": [A, B, C, D], "committed_log": [D]}


@pytest.mark.parametrize(
    ("variant", "stores", "learner", "sent", "skips"),
    [
        ("", WHOLE, A, ["SNAP"], False),
        ("walk", WHOLE, A, ["DIFF", B, D], False),
        ("walk", WHOLE | {"files": [1]}, A, ["SNAP"], False),  # 64 MB are behind the file that is opened
        ("walk", WHOLE | {"files": [1]}, B, ["SNAP"], False),
        ("walk", LATE | {"files": [1]}, C, ["DIFF", D], False),  # the file that is opened is the last
        ("walk", WHOLE | {"files": [3]}, A, ["DIFF", B, D], False),  # nothing is in it yet
        ("walk-large", WHOLE | {"files": [1]}, A, ["DIFF", B, D], False),
        ("walk", {"log": [B, D], "committed_log": [D]}, A, ["SNAP"], False),  # it begins later
        ("walk", {"log": [A, D], "committed_log": [D]}, A, ["DIFF", D], True),  # ZOOKEEPER-2099
        ("walk,walk-whole", {"log": [A, D], "committed_log": [D], "snapshot_names": [B]}, A, ["SNAP"], False),
        ("walk,walk-whole", WHOLE | {"snapshot_names": [B]}, A, ["DIFF", B, D], False),
        ("walk", {"log": [A], "committed_log": [D]}, A, ["SNAP"], False),
        ("walk,before-2418", {"log": [A], "committed_log": [D]}, A, ["DIFF", D], True),  # ZOOKEEPER-2418
        ("walk,before-2418,2418", {"log": [A], "committed_log": [D]}, A, ["SNAP"], False),
        ("walk", {"log": [A, D], "committed_log": [D]}, B, ["SNAP"], False),  # no TRUNC into another epoch
        ("walk", {"log": [A, C], "committed_log": [C]}, B, ["TRUNC", C], True),
        ("walk", WHOLE, z(1, 0), ["SNAP"], False),
        ("walk", {"log": [A, B, D], "committed_log": [D]}, z(2, 0), ["DIFF", D], False),
    ],
)
def test_what_a_leader_reads_from_its_log(
    variant: str, stores: dict[str, list[int]], learner: int, sent: list[object], skips: bool
) -> None:
    s, names = leader(variant, **stores)
    s.peer_last[0][1] = learner
    names["sync_follower"](s, 0, 1)
    first, *rest = s.to_follower[1]
    proposed = [m.zxid for m in rest if str(m).startswith("PROPOSAL")]
    assert [str(first).partition("(")[0].split()[0], *proposed] == sent
    assert bool(s.skipped) == skips


def test_where_files_of_the_log_begin() -> None:
    """A start and TRUNC begin one with the next transaction; of two at one place one is left."""
    s, names = leader("walk", log=[A, B, D])
    names["end_file"](s, 0)
    names["end_file"](s, 0)
    assert list(s.files[0]) == [3]
    assert not names["ends_a_file"](s, 0)
    names["cut_log"](s, 0, A)
    names["end_file"](s, 0)
    assert list(s.files[0]) == [1]
    s, names = leader("", log=[A, B, D])
    names["end_file"](s, 0)
    assert list(s.files[0]) == []


def test_the_start_after_a_snap_is_reached_as_it_says() -> None:
    """By the beginning of ZK-2099's run, which is played on real servers."""
    reached = trace_of_row("2099").steps[35].state
    c = Configuration("zookeeper", "walk", start="after-snap", crashes=2, losses=1, budgets="elections=3,proposals=2")
    start = state_json(Runner(Model(c)).state)
    left = {name for name in start if name.endswith("_left")}
    assert {k: v for k, v in start.items() if k not in left} == {k: v for k, v in reached.items() if k not in left}
    assert start["elections_left"] == reached["elections_left"] == 1


def test_a_function_stands_for_a_step_only_where_it_replaces_one() -> None:
    """What a variant puts in a step's place would otherwise be that step in models without the variant, too."""
    variant = PROTOCOLS["zookeeper"].combined("coarse")
    program = Model(Configuration("zookeeper", variant, timeouts=0, budgets="elections=2,proposals=2")).program
    at = {n: program.namespace[program.apart.get(n, n)] for n in program.overrides}
    replaced = {n: f for n, f in program.overrides.items() if hasattr(at[n], "paper_step")}
    assert replaced
    assert not [f for f in replaced.values() if hasattr(f, "paper_step")]


# The beginning of the run that breaks no-stop at (4, 2, 2, 1) with all repairs but trunc-epoch; then p0's term ends.
COMES_TO_A_SNAPSHOT_ALONE = (
    0x1B000002, 0x2000100, 0x3010000, 0x2000100, 0x3010000, 0x3010000, 0x14010009, 0x14000005, 0x2000100, 0x14000000,
    0x3010000, 0x3010000, 0x1F010000, 0x1B010004, 0x2010200, 0x14000000, 0x3020100, 0x8020000, 0x4000100, 0x1B000004,
    0x2000200, 0x3020000, 0x2000200, 0x2010200, 0x3020000, 0x3020000, 0x14010005, 0x4010200, 0x8020000, 0x4000200,
)  # fmt: skip


def test_the_start_with_a_snapshot_alone_is_reached_as_it_says() -> None:
    fixes = "4882,4837-here,1558,trunc,cut,5094,2354,snap-tail,trunc-snap"
    budget: dict[str, Any] = {"crashes": 2, "losses": 1, "budgets": "elections=4,proposals=2"}
    variant = PROTOCOLS["zookeeper"].combined("coarse", fixes)
    runner = Runner(Model(Configuration("zookeeper", variant, **budget)))
    for word in COMES_TO_A_SNAPSHOT_ALONE:
        assert word in runner.possible(), hex(word)
        runner.step(word)
    reached = state_json(runner.state)
    start = state_json(Runner(Model(Configuration("zookeeper", variant, start="snapshot-alone", **budget))).state)
    left = {name for name in start if name.endswith("_left")}
    assert {k: v for k, v in start.items() if k not in left} == {k: v for k, v in reached.items() if k not in left}
    assert start["elections_left"] == reached["elections_left"] == 1


@pytest.mark.slow(seconds=2)
def test_a_log_with_a_hole_is_a_row() -> None:
    """Its trace is replayed in the simulator on the way: elections that its start has spent count there, too."""
    asked = ask(next(r for r in ROWS if r.issue == "2099"), 60)
    assert asked.found
    assert asked.as_recorded


@pytest.mark.parametrize(
    ("variant", "log", "refused"),
    [
        ("hole", [A, B, C], False),
        ("hole", [A, C], True),
        ("hole", [A, D], False),  # of a later epoch it is the next
        ("hole", [A, D, C], False),  # not later than the last: passed over
        ("", [A, C], False),
    ],
)
def test_a_log_with_a_hole_is_refused_at_the_start(variant: str, log: list[int], refused: bool) -> None:
    s, names = leader(variant, log=log)
    s.current_epoch[0] = s.accepted_epoch[0] = 2
    names["on_recovery"](s, 0)
    assert bool(s.refused[0]) == refused


@pytest.mark.parametrize(("variant", "refused"), [("hole", True), ("", False)])
def test_a_hole_that_a_shutdown_meets_ends_the_process(variant: str, refused: bool) -> None:
    """It has applied <1,1>, and its sync thread has yet to log <1,3>: fastForwardDataBase throws."""
    s, names = leader(variant, log=[A], committed_log=[A])
    s.current_epoch[0] = s.accepted_epoch[0] = 2
    s.last_processed[0], s.role[0], s.phase[0] = A, FOLLOWING, SERVING
    s.sync_queue[0].append(C)
    names["shut_down"](s, 0)
    assert bool(s.refused[0]) == refused
    assert not s.hole[0]


@pytest.mark.parametrize(
    ("variant", "promised"), [("full-disk", 0), ("full-disk,before-2307", 2), ("full-disk,before-2307,2307", 0)]
)
def test_an_epoch_that_is_not_written(variant: str, promised: int) -> None:
    s, names = leader(variant, log=[A])
    s.accepted_epoch[0], s.full[0] = 1, True
    names["fail_to_accept"](s, 0, 2)
    assert (s.accepted_epoch[0], s.promised[0], names["known_epoch"](s, 0)) == (1, promised, max(1, promised))


@pytest.mark.parametrize(
    ("variant", "saved"), [("full-disk", True), ("full-disk,before-3701", False), ("full-disk,before-3701,3701", True)]
)
def test_a_log_that_is_not_truncated(variant: str, saved: bool) -> None:
    """The database is read again; whether a snapshot is saved afterwards."""
    s, names = leader(variant, log=[A, B])
    s.current_epoch[0] = s.accepted_epoch[0] = 1
    s.role[0], s.tree[0], s.full[0] = FOLLOWING, 0, True
    names["fail_to_truncate"](s, 0)
    assert (list(s.log[0]), s.tree[0], bool(s.full[0])) == ([A, B], tree(A, B), False)
    names["take_snapshot"](s, 0)
    assert (B in s.snapshot_names[0]) == saved


@pytest.mark.parametrize(
    ("variant", "lost"),
    [
        ("power", [A, B, D]),
        ("power,trunc-forced", [A, D]),
        ("", [A, D]),
    ],
)
def test_a_cut_that_is_not_forced_is_undone(variant: str, lost: list[int]) -> None:
    s, names = leader(variant, log=[A, B])
    s.role[0] = FOLLOWING
    names["on_trunc"](s, 0, SimpleNamespace(zxid=A))
    assert list(s.log[0]) == [A]
    s.log[0].append(D)
    names["lose_unforced"](s, 0)
    assert list(s.log[0]) == lost
    assert (list(s.uncut[0]), s.uncut_at[0]) == ([], 0)


@pytest.mark.parametrize(
    ("variant", "mode", "kept"),
    [
        ("power", SNAPS, True),
        ("power", TRUNCS, False),
        ("power", NONE, False),  # ZooKeeperServer.loadData
        ("power,before-2872", SNAPS, False),
        ("power,before-2872,2872", SNAPS, True),
        ("power,trunc-forced", TRUNCS, True),
        ("", TRUNCS, True),
    ],
)
@pytest.mark.parametrize("written_back", [False, True])
def test_which_snapshots_are_lost_with_power(variant: str, mode: int, kept: bool, written_back: bool) -> None:
    s, names = leader(variant, log=[A])
    s.role[0], s.sync_mode[0] = FOLLOWING, mode
    names["take_snapshot"](s, 0)
    if written_back:
        names["write_back"](s, 0)
    names["lose_unforced"](s, 0)
    assert list(s.snapshot_names[0]) == ([A] if kept or written_back else [])


def test_a_snapshot_that_is_forced_later_is_kept() -> None:
    s, names = leader("power", log=[A])
    names["take_snapshot"](s, 0)
    s.role[0], s.sync_mode[0] = FOLLOWING, SNAPS
    names["take_snapshot"](s, 0)
    names["lose_unforced"](s, 0)
    assert list(s.snapshot_names[0]) == [A]


def test_settings_are_those_of_a_release() -> None:
    assert settled("3.5.3", "3.5.3", "walk") == "3.5.3,walk,before-2418"
    assert settled("3.9.2", "3.9.2", "coarse,walk,4837") == "3.9.2,walk"
    assert settled("", "master", "walk-large") == "walk-large"
    assert settled("3.5.10", "3.5.10", "") == "3.5.10"
    assert settled("", "3.9.4", "hole") == "hole"
    assert settled("3.9.3", "3.9.3", "hole,walk") == "3.9.3,walk"
    assert settled("", "3.5.6", "full-disk") == "full-disk,before-2307,before-3701"
    assert settled("", "3.6.2", "full-disk") == "full-disk,before-2307"
    assert [settled("", r, "full-disk") for r in ("3.5.8", "3.6.3", "master")] == ["full-disk"] * 3
    assert settled("3.5.3", "3.5.3", "power") == "3.5.3,power,before-2872"
    assert [settled("", r, "power") for r in ("3.5.10", "3.6.0")] == ["power"] * 2
    asked = ModelRequest(protocol="zookeeper", variant="walk", release="3.5.10").configuration()
    assert asked.variant.split(",")[:3] == ["3.5.10", "walk", "before-2418"]
    assert "before-2418" in configuration("3.5.10", (), {}, settings="walk").variant
    named = [
        ("walk", "3.5.10"),
        ("3.5.10,walk", ""),
        ("3.5.10+walk", ""),
        ("power+walk", "3.5.10"),
        ("power, walk", "3.5.10"),
    ]
    for variant, release in named:
        of_release = ModelRequest(protocol="zookeeper", variant=variant, release=release).configuration().variant
        assert "before-2418" in of_release.split(","), (variant, release)
    assert "before-2872" in ModelRequest(protocol="zookeeper", variant="3.5.3,power").configuration().variant
    assert "before-2307" in Simulate(protocol="zookeeper", variant="3.6.0,full-disk").run().variant
    assert PlayRequest(variant="3.6.0,full-disk").variant_for("3.6.0") == "3.6.0,full-disk,before-2307"
    # What is asked is besides the release's, unless another release's model is.
    assert PlayRequest(variant="full-disk").variant_for("3.6.0") == "3.6.0,full-disk,before-2307"
    assert PlayRequest(variant="power").variant_for("3.8.6") == "3.9.2,power"
    assert PlayRequest(variant="trunc").variant_for("3.9.5") == "trunc,hole"  # a log that lacks one
    assert PlayRequest(variant="3.9.3").variant_for("3.9.5") == "3.9.3,hole"
    assert [settings_for(v) for v in ("3.9.2", "3.9.2,walk")] == [NO_WALK, ()]
    with pytest.raises(Cannot, match="hundreds of megabytes"):
        settings_for("3.9.2,walk-large")
