"""Runs that begin from new servers: what is compared of them, and a server that exits for a TRUNC of what it has."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from checker.errors import NoVerdict, RequestError
from checker.zookeeper.requests.conformance import ConformanceRequest
from checker.zookeeper.requests.reenact import PlayRequest
from checker.zookeeper.runs import trace_of_row
from tests.servers import nowhere, official
from tests.zookeeper.reenact.compared import Server
from traces.zookeeper.reenact import aftermath, campaign, reenactment, starts
from traces.zookeeper.reenact.compare import Comparison
from traces.zookeeper.reenact.distributions import Cannot, Release
from traces.zookeeper.reenact.periodic import thread_is_there
from traces.zookeeper.reenact.plan import ESTABLISHED, NEW, numbered, plan_for
from traces.zookeeper.reenact.player import Exit, Played, Player
from traces.zookeeper.reenact.random_schedules import BUDGETS, WITH_MORE, drawn
from traces.zookeeper.reenact.reenactment import at_the_end, begin_new, tried
from traces.zookeeper.reenact.servers import Server as RealServer
from traces.zookeeper.reenact.starts import STARTS
from traces.zookeeper.reenact.stores import Disk
from traces.zookeeper.reenact.zxids import Zxids
from zabspec.zookeeper.of_releases import of_servers
from zabspec.zookeeper.state import LOOKING, WIDTH, first_of

BASE = 1 << 32 | 1
ROWS = ("trunc-snap", "trunc-epoch")
REPAIRED = "snap-tail,trunc-epoch"
SEALED = b"\0\0\0\1/"
NOTHING = Disk((), (0,), 0, 0)
NOT_CUT = "ERROR Learner: Not able to truncate the log 0x0"


# --- the model's numbers --------------------------------------------------------------------------


def test_the_zxids_of_new_servers_are_those_of_the_model() -> None:
    z = Zxids(BASE, new=True)
    for e in range(1, 5):
        assert z.epoch(e) == e
        for n in range(WIDTH):
            assert z.real(first_of(e) + n) == e << 32 | n
            assert z.told(e << 32 | n) == f"<{e},{n}>"
    assert (z.real(0), z.told(0)) == (0, "<0,0>")


def test_each_record_and_each_snapshot_of_new_servers_counts() -> None:
    """Of established servers all that was there before is <1,1>."""
    new, old = Zxids(BASE, new=True), Zxids(BASE)
    assert new.logged((BASE, BASE + 1, BASE)) == ["<1,1>", "<1,2>", "<1,1>"]
    assert old.logged((BASE, BASE + 1, BASE)) == ["<1,1>", "<1,2>"]
    assert new.saved((0, 1 << 32, BASE + 1)) == ["<0,0>", "<1,0>", "<1,2>"]
    assert old.saved((0, 1 << 32, BASE + 1)) == ["<1,2>"]


# --- what is compared -----------------------------------------------------------------------------


def of_new(folder: Path) -> tuple[Comparison, dict[Path, Disk], Any]:
    """Return new servers, their disks, and the model's initial state."""
    disks = {folder / f"{n}": NOTHING for n in (1, 2, 3)}
    servers = {n: Server(folder / f"{n}", disks, mode="") for n in (1, 2, 3)}
    for n, s in servers.items():
        s.snapshot = lambda zxid, n=n: folder / f"{n}-snapshot.{zxid:x}"
    nowhere = SimpleNamespace(newest=None)
    quorum = {(a, b): nowhere for a in servers for b in servers if a != b}
    ensemble: Any = SimpleNamespace(servers=servers, quorum=quorum)
    held = Comparison(ensemble, Zxids(BASE, new=True), (1, 2, 3), trees=True, root="")
    return held, disks, plan_for(trace_of_row("trunc-snap"), "").initial


@pytest.mark.parametrize(
    ("disk", "what"),
    [
        (NOTHING, ""),
        (replace(NOTHING, log=(BASE,)), "log"),
        (replace(NOTHING, snapshots=(0, 1 << 32)), "snapshots"),
        (replace(NOTHING, snapshots=()), "snapshots"),
        (replace(NOTHING, current=-1), "currentEpoch"),
        (replace(NOTHING, accepted=1), "acceptedEpoch"),
    ],
)
def test_a_new_server_that_has_something_differs(disk: Disk, what: str, tmp_path: Path) -> None:
    held, disks, initial = of_new(tmp_path)
    disks[tmp_path / "2"] = disk
    assert [found.split(":")[0] for found in held.differences(initial, 1)] == (
        [f"server 2 (p1), {what}"] if what else []
    )


def test_a_server_with_a_snapshot_alone_is_compared_by_what_that_holds(
    tmp_path: Path,
) -> None:
    held, disks, initial = of_new(tmp_path)
    initial["snapshot_names"][2], initial["snapshot_trees"][2] = [first_of(1) + 1], [1 << first_of(1) + 1]
    disks[tmp_path / "3"] = replace(NOTHING, snapshots=(0, BASE))
    for nodes, differs in ((b"/1-1/1-1", False), (b"", True), (b"/1-1/1-2", True)):
        held.ensemble.servers[3].snapshot(BASE).write_bytes(nodes + SEALED)
        assert bool(held.of_disk(initial, 2)) is differs


def test_a_snapshot_0_that_is_not_empty_is_compared(tmp_path: Path) -> None:
    """A server that is truncated to <0,0> and has read a later snapshot saves it by that name (ZOOKEEPER-4837)."""
    held, _, initial = of_new(tmp_path)
    path = held.ensemble.servers[1].snapshot(0)
    path.write_bytes(b"/1-1/1-1" + SEALED)
    wanted = "server 1 (p0), tree of snapshot <0,0>: the model has [], the server [<1,1>]"
    assert held.of_disk(initial, 0) == [wanted]
    initial["snapshot_names"][0], initial["snapshot_trees"][0] = [0], [1 << first_of(1) + 1]
    assert held.of_disk(initial, 0) == []
    path.write_bytes(SEALED)
    assert len(held.of_disk(initial, 0)) == 1


# --- how they begin -------------------------------------------------------------------------------


def beginning(tmp_path: Path) -> tuple[Any, dict[Path, Disk], dict[int, str]]:
    """Return a player of new servers that have started already, their disks, and their logs."""
    held, disks, _ = of_new(tmp_path)
    plan = replace(plan_for(trace_of_row("trunc-snap"), ""), ids=(1, 2, 3))
    done: list[object] = []
    e: Any = held.ensemble
    e.regroup = lambda members: done.append(tuple(members))
    e.hold = lambda held: done.append("held" if held else "free")
    e.start_all = lambda: done.extend((1, 2, 3))
    e.gates = {n: SimpleNamespace(close=lambda *names: done.append(names)) for n in (1, 2, 3)}
    e.recording = SimpleNamespace(note=lambda *_: None, wait=lambda seen, _: seen())
    e.release = nowhere("3.9.5")
    player: Any = Player(e, plan, 1.0)
    player.compare, player.done = held, done
    logs = dict.fromkeys((1, 2, 3), "New election. My id = 1, proposed zxid=0x0")
    for n in (1, 2, 3):
        e.servers[n].said = lambda since, n=n: logs[n]
        e.servers[n].snapshot(0).write_bytes(SEALED)
    return player, disks, logs


def test_new_servers_begin_with_nothing_and_hear_nobody(tmp_path: Path) -> None:
    player, _, _ = beginning(tmp_path)
    begin_new(player)
    first = player.done.index(1)  # before a server is started, links and threads are held, and votes pass to nobody
    assert player.done[first:] == [1, 2, 3]
    assert {(), "held"} < {*player.done[:first]}
    assert sum("sync thread" in x for x in player.done[:first] if isinstance(x, tuple)) == 3
    assert player.compare.zxids == Zxids(BASE, new=True)
    assert player.writers == {}  # a session would be a transaction that the model does not have


def test_servers_that_are_not_new_are_not_played_with(tmp_path: Path) -> None:
    player, disks, logs = beginning(tmp_path)
    logs[2] = "New election. My id = 1, proposed zxid=0x100000001"
    with pytest.raises(Cannot, match="as it votes: the model has <0,0>, the server <1,1>"):
        begin_new(player)
    player, disks, _ = beginning(tmp_path)
    disks[tmp_path / "3"] = replace(NOTHING, current=1)
    with pytest.raises(Cannot, match="currentEpoch: the model has 0, the server 1"):
        begin_new(player)
    for content, said in (
        (b"", r"saves .*snapshot\.0"),
        (b"/1-1" + SEALED, r"tree of snapshot <0,0>: .* the server \[<1,1>\]"),
    ):
        player, _, _ = beginning(tmp_path)
        player.ensemble.servers[1].snapshot(0).write_bytes(content)
        with pytest.raises(Cannot, match=said):
            begin_new(player)


def test_a_release_without_local_sessions_is_refused(tmp_path: Path) -> None:
    old = nowhere("3.4.10")
    starts.check_start(ESTABLISHED, old, "")
    with pytest.raises(Cannot, match="sessions that are no transactions"):
        starts.check_start(NEW, old, "")


def test_power_is_not_lost_in_runs_from_new_servers(tmp_path: Path) -> None:
    """The model has no snapshot.0, which the first leader writes over, and does not force."""
    release = nowhere("3.9.5")
    starts.check_start(ESTABLISHED, release, "power")
    starts.check_start(NEW, release, "snapshots")
    with pytest.raises(Cannot, match="no power can be lost"):
        starts.check_start(NEW, release, "3.9.5,power")
    plan = plan_for(trace_of_row("trunc-snap"), "power")
    with pytest.raises(Cannot, match="no power can be lost"):
        reenactment.play(tmp_path, release, plan)


def test_only_new_servers_have_local_sessions(tmp_path: Path) -> None:
    """Elsewhere they have the settings that they had."""
    for name, start in STARTS.items():
        folder = tmp_path / (name or "new")
        made = RealServer(folder, 1, nowhere("3.9.5"), (1, 2, 3), {}, {}, tmp_path / "shim.so", None, lines=start.lines)
        assert ("localSessionsEnabled=true" in made.configuration.read_text()) is (name == NEW)


# --- the runs -------------------------------------------------------------------------------------


@pytest.mark.parametrize("row", ROWS)
def test_a_run_from_new_servers_elects_first_and_ends_in_an_exit(row: str) -> None:
    trace = trace_of_row(row)
    plan = plan_for(trace, "")
    assert [s.word.kind for s in plan.steps[:2]] == ["elect", "join"]
    assert (plan.broken, plan.skipped, plan.inserted) == (("no-stop",), (), ())
    last = plan.steps[-1]
    assert (last.message is not None and last.message.kind, last.state["log"][last.process or 0]) == ("TRUNC", [])
    repaired = plan_for(trace, REPAIRED)
    assert (repaired.broken, repaired.skipped, repaired.inserted) == ((), (), ())
    assert [s.word.word for s in repaired.steps] == [s.word.word for s in plan.steps]
    assert repaired.steps[-1].message is not None
    assert repaired.steps[-1].message.kind == "SNAP"
    smaller = plan_for(trace, "snap-tail,trunc-snap")  # the repair that is not complete
    assert smaller.broken == (("no-stop",) if row == "trunc-epoch" else ())
    snapshot = max(s.number for s in plan.steps if s.label == "snapshot at NEWLEADER")
    assert plan_for(trace, "", snapshot).broken == ()


def test_of_new_servers_any_may_have_the_smallest_id() -> None:
    """Votes are equal in both elections; at the established start p0 has led another server before."""
    s = {"current_epoch": [0, 0, 0], "last_processed": [0, 0, 0]}
    wins = ((1, 1), (2, 2))
    steps: Any = [
        SimpleNamespace(state=s, word=SimpleNamespace(kind="elect", operands={"leader": l, "quorum": q}))
        for l, q in wins
    ]
    assert numbered([s, s, s], steps, NEW) == (1, 2, 3)
    with pytest.raises(Cannot, match="no server ids decide"):
        numbered([s, s, s], steps, ESTABLISHED)


def test_random_runs_from_new_servers_establish_their_first_leader() -> None:
    plan = drawn("3.9.2", 5, start=NEW)
    assert (plan.configuration.start, len(plan.steps)) == (NEW, WITH_MORE)
    assert plan.initial["current_epoch"] == plan.initial["last_processed"] == [0, 0, 0]
    assert plan.initial["role"] == [LOOKING] * 3
    served = next(k for k, s in enumerate(plan.steps) if s.label == "startZkServer")
    assert "elect" in [s.word.kind for s in plan.steps[:served]]
    assert BUDGETS[NEW] != BUDGETS[ESTABLISHED]
    assert [s.word for s in plan.steps] == [s.word for s in drawn("3.9.2", 5, start=NEW).steps]


@pytest.mark.parametrize(("start", "before"), [(NEW, False), (ESTABLISHED, True)])
def test_no_snapshot_of_new_servers_is_due_for_what_was_before(
    start: str, before: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert thread_is_there([], 0, before=before) is before
    asked: list[object] = []
    monkeypatch.setattr(
        "traces.zookeeper.reenact.random_schedules.thread_is_there", lambda *given: asked.append(given[-1])
    )
    drawn("snapshots", 6, start=start)
    assert {*asked} == {before}


def test_files_of_a_new_servers_log_are_named() -> None:
    """One that begins with a transaction of the run may be written over."""
    for release, variant, made in (
        ("3.9.5", "", "hole,log-files"), ("3.5.4", "3.5.3", "3.5.3,log-files"), ("3.5.3", "3.5.3,walk", "3.5.3,walk"),
        ("3.5.3", "3.5.3", "3.5.3,walk,before-2418"),  # whatever snapshotSizeFactor is
        ("3.9.5", "snapshots", "snapshots,hole,log-files,rolls"), ("3.9.5", "log-files", "log-files,hole"),
    ):  # fmt: skip
        assert of_servers(variant, release, NEW) == made
    assert (of_servers("3.9.3", "3.9.3"), of_servers("", "3.9.5", ESTABLISHED)) == ("3.9.3", "hole")
    assert PlayRequest(variant="trunc").variant_for("3.9.5", NEW) == "trunc,hole,log-files"


def test_where_random_runs_begin_is_asked_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[object] = []

    def played(_: object, asked: list[tuple[Release, str, int]], *given: object) -> tuple[()]:
        seen.append((given[-1], [variant for _, variant, _ in asked]))
        return ()

    monkeypatch.setattr(ConformanceRequest, "found", lambda _, name: nowhere(name))
    monkeypatch.setattr(campaign, "played", played)
    for name in ("new", "established"):
        ConformanceRequest("3.9.5", runs=1, start=name, output=str(tmp_path / name)).answer()
    assert seen == [(NEW, ["hole,log-files"]), (ESTABLISHED, ["hole"])]
    with pytest.raises(RequestError, match="--start must be established or new, not 'after-snap'"):
        ConformanceRequest("3.9.5", runs=1, start="after-snap")
    with pytest.raises(NoVerdict, match="sessions that are no transactions"):
        ConformanceRequest("3.4.10", runs=1, start="new", output=str(tmp_path / "old")).answer()


# --- a server that exits --------------------------------------------------------------------------


def truncated(code: int | None, log: str) -> Any:
    """Return a player whose server receives a TRUNC, and ends with a code, or does not end (None)."""
    process = SimpleNamespace(returncode=code)
    player: Any = Player.__new__(Player)
    player.ids, player.played, player.step = (1, 2, 3), Played(), SimpleNamespace(number=50)
    player.patience = 1.0
    player.done = []
    player.server = lambda _: SimpleNamespace(runs=code is None, process=process)
    player.said = lambda _: log
    player.wait = lambda seen, what, *_: seen() or player.done.append(f"not seen: {what}")
    player.recover = lambda p: player.done.append(f"recovers p{p}")
    player.ensemble = SimpleNamespace(
        kill=lambda n: player.done.append(f"kills {n}"), recording=SimpleNamespace(note=lambda *_: None)
    )
    player.cannot_cut(2, lambda: player.done.append("let through"))
    return player


def test_a_server_that_exits_for_a_truncation_is_started_again() -> None:
    player = truncated(13, NOT_CUT)
    assert player.done == ["let through", "kills 3", "recovers p2"]
    assert player.played.exits == [Exit(50, 3, 13)]
    stays = truncated(None, "New election. My id = 3, proposed zxid=0x0")
    assert (stays.done, stays.played.exits) == (["let through"], [])


@pytest.mark.parametrize(("code", "log"), [(1, NOT_CUT), (13, "ERROR something else"), (-9, "")])
def test_a_server_that_exits_for_something_else_differs(code: int, log: str) -> None:
    with pytest.raises(Cannot, match=f"exits with code {code}, not because it cannot cut its log"):
        truncated(code, log)


def test_an_exit_is_named_where_the_model_has_it() -> None:
    plan = plan_for(trace_of_row("trunc-snap"), "")
    n = plan.ids[plan.steps[-1].process or 0]
    player: Any = SimpleNamespace(said=lambda _: NOT_CUT, played=Played(exits=[Exit(plan.steps[-1].number, n, 13)]))
    wanted = f"server {n} exits with code 13 because of a packet from its leader: Not able to truncate the log 0x0"
    assert at_the_end(player, plan) == [wanted]
    assert at_the_end(player, replace(plan, broken=())) == []
    player.played.exits = [Exit(3, n, 13)]  # in another step
    assert at_the_end(player, plan) == []


@pytest.mark.parametrize(
    ("ran", "log", "exits"),
    [(True, "", True), (False, "New election. My id = 1, proposed zxid=0x0", True), (False, "", False)],
)
def test_a_server_that_exits_later_is_not_one_that_cannot_start(
    ran: bool, log: str, exits: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = f"{log}\njava.io.IOException: No log files found"
    life = iter([ran, False, False, False, False])

    class Ends:
        """A server that ends, after it has been started, or after it was left running."""

        process = SimpleNamespace(returncode=13)

        @property
        def runs(self) -> bool:
            return next(life)

        def said(self, since: int = 0) -> str:
            return text

        def status(self) -> tuple[str, int]:
            return "", -1

    ensemble: Any = SimpleNamespace(
        recording=SimpleNamespace(note=lambda *_: None, wait=lambda seen, _: seen()), quorum={}, open_all=lambda: None,
        servers={1: Ends()}, start=lambda n: None,
    )  # fmt: skip
    out = aftermath.aftermath(ensemble, Played())
    assert (bool(out.exits), bool(out.refuses)) == (exits, not exits)
    said = "looks for a leader, and exits with code 13" if exits else "can no longer be started"
    assert out.harm == [f"server 1 {said}: java.io.IOException: No log files found"]


# --- on servers -----------------------------------------------------------------------------------


@pytest.mark.slow(seconds=7)
def test_a_real_server_with_a_snapshot_and_no_log_exits_as_the_model_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its run begins from new servers."""
    monkeypatch.setattr(aftermath, "SETTLES", 5.0)
    run, _ = tried(tmp_path, official("3.9.5"), plan_for(trace_of_row("trunc-snap"), ""), 2, 20.0, print)
    assert run.agreed, (run.trouble, run.played.differs)
    assert [x.code for x in run.played.exits] == [13]
    assert "exits with code 13 because of a packet from its leader: Not able to truncate the log 0x0" in run.harm[0]


@pytest.mark.every
@pytest.mark.slow(seconds=7)
def test_a_released_leader_does_not_do_what_the_repaired_models_does(tmp_path: Path) -> None:
    """It receives ACKEPOCH, and sends TRUNC."""
    trace = trace_of_row("trunc-snap")
    run, _ = tried(tmp_path, official("3.9.5"), plan_for(trace, REPAIRED), 0, 5.0, print)
    assert (run.trouble, run.played.steps) == ("", len(plan_for(trace, "").steps) - 2)
    assert any("the model has [SNAP <0,0>, NEWLEADER]" in x and "[TRUNC <0,0>" in x for x in run.played.differs)


@pytest.mark.every
@pytest.mark.slow(seconds=8)
def test_a_random_run_from_new_servers_agrees_step_by_step(tmp_path: Path) -> None:
    plan = drawn("3.6.0,log-files", 5, start=NEW)
    run, _ = tried(tmp_path, official("3.6.0"), plan, 2, 20.0, print)
    assert run.agreed, (run.trouble, run.played.differs)
