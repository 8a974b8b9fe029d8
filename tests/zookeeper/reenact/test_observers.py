"""An observer among the servers: its configuration, what it sends and gets, what differs from the model, its runs."""

from __future__ import annotations

import struct
from collections import Counter
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from checker.zookeeper.runs import trace_of_row
from tests.servers import nowhere, official
from tests.zookeeper.reenact.compared import BASE, FIRST, SECOND
from tests.zookeeper.reenact.compared import Server as ServerState
from tests.zookeeper.reenact.test_packets import streams
from traces.record.runner import Runner, build_trace
from traces.record.trace import StepWord
from traces.record.values import state_json
from traces.zookeeper.reenact import aftermath
from traces.zookeeper.reenact.compare import Comparison
from traces.zookeeper.reenact.distributions import Cannot
from traces.zookeeper.reenact.ensemble import Ensemble
from traces.zookeeper.reenact.messages import told_plan
from traces.zookeeper.reenact.plan import ReenactmentPlan, plan_for
from traces.zookeeper.reenact.player import OF_OBSERVER, Player, handler_waits
from traces.zookeeper.reenact.random_schedules import LONGEST, OFTEN, RARE, drawn, weight
from traces.zookeeper.reenact.reenactment import ahead, tried, uncounted
from traces.zookeeper.reenact.servers import Server
from traces.zookeeper.reenact.stores import Disk
from traces.zookeeper.reenact.wire.notifications import NotificationReader, Vote
from traces.zookeeper.reenact.wire.packets import (
    ACK,
    FOLLOWERINFO,
    INFORM,
    OBSERVERINFO,
    PROPOSAL,
    UPTODATE,
    Packet,
    PacketReader,
)
from traces.zookeeper.reenact.zxids import Zxids
from zabspec.model import Configuration, Model
from zabspec.quorums import OBSERVED
from zabspec.zookeeper.state import AWAITING_ACKS, LEADING

OBSERVER, NUMBER = 3, 4  # the process, and its server
LOGS = 10  # the seed of a run


@cache
def drawn_run() -> ReenactmentPlan:
    return drawn("observer", 7)


def state() -> dict[str, Any]:
    """The established start, whose packets have all been received."""
    c = Configuration("zookeeper", "observer", start="established", quorums=OBSERVED)
    s = state_json(Runner(Model(c)).state)
    s["to_follower"] = [[] for _ in range(4)]
    return s


def packet(kind: int, zxid: int) -> Packet:
    return Packet(kind, zxid, None, (), b"")


def comparison(
    up: list[Packet], down: list[Packet], batches: bool = False
) -> tuple[Comparison, dict[int, ServerState]]:
    """Servers of which the observer's link to the leader has these packets."""
    ends = SimpleNamespace(up=SimpleNamespace(ended=False, packets=up), down=SimpleNamespace(ended=False, packets=down))
    link = SimpleNamespace(newest=ends, model_packets=lambda stream: stream.packets)
    servers = {n: ServerState(Path(f"{n}")) for n in (3, 2, 1, NUMBER)}
    ensemble: Any = SimpleNamespace(servers=servers, quorum={(NUMBER, 3): link, (2, 3): link})
    return Comparison(ensemble, Zxids(BASE), (3, 2, 1, NUMBER), batches, observers={OBSERVER}), servers


# --- what servers send ----------------------------------------------------------------------------


@pytest.mark.parametrize("release", ["3.5.3", "3.9.5"])
def test_recorded_servers_told_their_observer_apart(release: str) -> None:
    """It registers with OBSERVERINFO, gets INFORM, acknowledges no transaction, and votes for no server."""
    sent: dict[bool, Counter[str]] = {True: Counter(), False: Counter()}
    votes: dict[bool, set[int]] = {True: set(), False: set()}
    informed = 0
    for (place, _), data in streams(f"observer-{release}").items():
        what, ends = place.split()
        opened = "->" in ends
        a, b = (int(n) for n in ends.replace("<-", "->").split("->"))
        by_observer, to_observer = (a if opened else b) == NUMBER, (b if opened else a) == NUMBER
        if what == "election":
            votes[by_observer] |= {m.zxid for m in NotificationReader(opened).feed(data) if isinstance(m, Vote)}
            continue
        for p in PacketReader().feed(data):
            sent[by_observer][p.name] += 1
            informed += p.kind == INFORM
            assert to_observer or p.kind != INFORM
            if p.kind == INFORM:  # with its transaction: the zxid is in its header, behind session and number
                assert p.data is not None
                assert struct.unpack_from(">q", p.data, 12) == (p.zxid,)
            assert not by_observer or p.kind != ACK or p.zxid & 0xFFFFFFFF == 0
    assert informed > 3
    assert sent[True]["OBSERVERINFO"] > 1
    assert (sent[True]["FOLLOWERINFO"], sent[False]["OBSERVERINFO"]) == (0, 0)
    assert (OF_OBSERVER - (1 << 64) in votes[True], OF_OBSERVER - (1 << 64) in votes[False]) == (True, False)


def test_a_server_is_configured_to_observe(tmp_path: Path) -> None:
    ports = {n: (10 * n, 10 * n + 1, n == NUMBER) for n in (1, NUMBER)}
    for n in ports:
        Server(tmp_path, n, nowhere("3.9.5"), (1, 2, 3), ports, {}, tmp_path / "shim.so", None)
    voter, observer = ((tmp_path / f"zoo{n}.cfg").read_text().splitlines() for n in ports)
    for lines in (voter, observer):  # all of them agree on who votes
        assert [x for x in lines if x.startswith("server.")] == [
            "server.1=127.0.0.1:10:11", "server.4=127.0.0.1:40:41:observer",
        ]  # fmt: skip
    assert ("peerType=observer" in voter, "peerType=observer" in observer) == (False, True)


# --- what is compared -----------------------------------------------------------------------------


def test_an_observer_registers_with_a_packet_of_its_own() -> None:
    s = state()
    said = {"kind": "FOLLOWERINFO", "accepted": 1}
    s["to_leader"][OBSERVER][0] = s["to_leader"][1][0] = [said]
    for kind, differs in ((OBSERVERINFO, (False, True)), (FOLLOWERINFO, (True, False))):
        held, _ = comparison([packet(kind, 1 << 32)], [])
        assert tuple(bool(held.of_link(s, f, 0)) for f in (OBSERVER, 1)) == differs


def test_a_learner_has_registered_once_its_own_kind_of_packet_waits() -> None:
    ends = SimpleNamespace(up=SimpleNamespace(dead=False, destination=object()), near_closed=False)
    for kind, found in ((OBSERVERINFO, [True, False]), (FOLLOWERINFO, [False, True])):
        link = SimpleNamespace(newest=ends, model_packets=lambda _, kind=kind: [packet(kind, 0)])
        ensemble: Any = SimpleNamespace(quorum={(NUMBER, 3): link, (2, 3): link}, observers={NUMBER})
        assert [Ensemble.registers(ensemble, n, 3) for n in (NUMBER, 2)] == found


def test_what_no_observer_sends_or_gets_differs() -> None:
    """Of a follower it may be early."""
    s = state()
    ack, proposal = packet(ACK, BASE + 1), packet(PROPOSAL, BASE + 1)
    held, _ = comparison([ack], [])
    assert held.of_link(s, OBSERVER, 0) == [
        "link of server 4 (p3) to 3 (p0): the model has [], the servers [ACK <1,2>]"
    ]
    assert held.of_link(s, 1, 0) == []
    held, _ = comparison([], [proposal])
    where = "link of server 4 (p3) from 3 (p0)"
    assert held.of_link(s, OBSERVER, 0) == [f"{where}: the model has [], the servers [PROPOSAL <1,2>]"]
    assert held.of_link(s, 1, 0) == []
    held, _ = comparison([], [packet(INFORM, BASE + 1)], batches=True)  # of a batch, all of which is committed
    assert held.of_link(s, OBSERVER, 0) == []
    s["to_follower"][OBSERVER] = [{"kind": "INFORM", "zxid": SECOND}]
    held, _ = comparison([], [packet(INFORM, BASE + 1)])
    assert held.of_link(s, OBSERVER, 0) == []
    assert held.of_link(s | {"to_follower": [[], [], [], [{"kind": "COMMIT", "zxid": SECOND}]]}, OBSERVER, 0)


def test_a_leader_serves_early_only_with_a_quorum_that_votes() -> None:
    """The acknowledgement of NEWLEADER by an observer does not count."""
    s = state()
    s["role"][0], s["phase"][0] = LEADING, AWAITING_ACKS
    held, servers = comparison([], [packet(UPTODATE, 0)])
    for acks, early in (([0, OBSERVER], True), ([0, 1], False)):
        s["new_leader_acks"][0] = acks
        found = held.of_process(s, 0) + held.of_link(s, OBSERVER, 0)
        assert [("role" in x, "UPTODATE" in x) for x in found] == ([(True, False), (False, True)] if early else [])
    servers[3].mode = ""
    s["new_leader_acks"][0] = [0]
    assert held.of_process(s, 0) == []


@pytest.mark.parametrize(("mode", "differs"), [("observer", False), ("follower", True)])
def test_an_observer_says_what_it_is(mode: str, differs: bool) -> None:
    held, servers = comparison([], [])
    servers[NUMBER].mode = mode
    s = state()
    s["last_processed"][OBSERVER] = FIRST
    assert bool(held.of_process(s, OBSERVER)) is differs


def test_the_vote_of_an_observer_is_for_no_server() -> None:
    plan = drawn_run()
    for p, voted, agrees in ((OBSERVER, OF_OBSERVER, True), (OBSERVER, BASE, False), (1, BASE, True), (1, 1, False)):
        line = f"New election. My id =  {plan.ids[p]}, proposed zxid=0x{voted:x}"
        player: Any = Player.__new__(Player)
        player.plan, player.ids, player.patience, player.after = plan, plan.ids, 1.0, plan.initial
        player.said = lambda _, line=line: line
        player.wait = lambda seen, *_: seen()
        player.compare = Comparison(player, Zxids(BASE), plan.ids)
        if agrees:
            Player.votes(player, p)
        else:
            with pytest.raises(Cannot, match="vote"):
                Player.votes(player, p)


def test_a_handler_that_waits_for_a_quorum_reads_nothing() -> None:
    s = state()
    assert not handler_waits(s, 0, OBSERVER)
    for name in ("heard", "answered", "settled"):
        assert handler_waits(s | {name: [[OBSERVER], [], [], []]}, 0, OBSERVER)


def test_what_an_observer_has_is_on_no_quorum() -> None:
    """Neither is it told that a quorum holds what is not committed because an observer does."""
    plan, s = drawn_run(), state()
    held: dict[int, Disk] = {}
    last = replace(plan.steps[-1], state=s)
    servers = {n: SimpleNamespace(on_disk=partial(held.__getitem__, n)) for n in plan.ids}
    player: Any = SimpleNamespace(
        compare=SimpleNamespace(zxids=Zxids(BASE)), ensemble=SimpleNamespace(servers=servers),
        played=SimpleNamespace(writes=[]),
    )  # fmt: skip
    for holders, found in (({3, NUMBER}, 0), ({3, 2}, 1)):
        held |= {n: Disk((BASE + 1,) if n in holders else (), (), 1, 1) for n in servers}
        assert len(uncounted(player, replace(plan, steps=(last,)))) == found


def test_a_disk_with_an_epoch_and_without_its_history_is_named() -> None:
    plan, s = drawn_run(), state()
    s["current_epoch"], s["founded"] = [2, 2, 1, 2], [0, 0, 1 | 1 << FIRST | 1 << SECOND, *[0] * 8]
    disks: dict[int, Disk] = {}
    servers = {n: SimpleNamespace(on_disk=partial(disks.__getitem__, n)) for n in plan.ids}
    player: Any = SimpleNamespace(
        compare=SimpleNamespace(zxids=Zxids(BASE)), ensemble=SimpleNamespace(servers=servers),
    )  # fmt: skip
    whole, short = Disk((BASE, BASE + 1), (), 2, 2), Disk((BASE,), (), 2, 2)
    for second, found in (
        (short, ["server 2 has currentEpoch 2 on its disk, and not <1,2>, with which the leader of that epoch began"]),
        (whole, []), (replace(short, current=1), []), (replace(short, snapshots=(BASE + 1,)), []),
    ):  # fmt: skip
        # Neither server 1, whose epoch is another, nor the observer has to have it.
        disks |= {3: whole, 2: second, 1: replace(short, current=1), 4: short}
        last = replace(plan.steps[-1], state=s)
        assert ahead(player, replace(plan, steps=(last,))) == found
    disks[2], s["term"][0] = short, 2  # the leader of that epoch serves
    assert ahead(player, replace(plan, steps=(last,)))[0].endswith("began (server 3)")


# --- what is played -------------------------------------------------------------------------------


def test_a_drawn_run_has_an_observer_that_follows_and_never_leads() -> None:
    plan = drawn_run()
    assert (plan.ids, list(plan.observers)) == ((3, 2, 1, NUMBER), [OBSERVER])
    assert told_plan(plan)[0].endswith("p3 is server 4, an observer")
    kinds = {s.message.kind for s in plan.steps if s.message is not None and s.process == OBSERVER}
    assert {"INFORM", "NEWLEADER", "UPTODATE"} <= kinds
    for before, step in zip(plan.states, plan.steps, strict=False):
        assert step.state["role"][OBSERVER] != LEADING
        if step.word.kind == "elect":
            assert step.word.operands["leader"] != OBSERVER
            assert not step.word.operands["quorum"] >> OBSERVER & 1
        more = len(step.state["to_leader"][OBSERVER][0]) - len(before["to_leader"][OBSERVER][0])
        assert (step.label, more) != ("sync thread", 1) or step.process != OBSERVER


def test_what_an_observer_does_is_drawn_more_often_and_its_faults_are_not() -> None:
    assert len(drawn_run().steps) > LONGEST
    for kind, operands, wanted in (
        ("join", {"process": OBSERVER, "leader": 0}, OFTEN),
        ("to_leader", {"leader": 0, "follower": OBSERVER, "place": 0}, OFTEN),
        ("to_leader", {"leader": 0, "follower": 1, "place": 0}, 1.0),
        ("crash", {"process": OBSERVER}, RARE["crash"]),
    ):
        assert weight(StepWord(kind, operands, 0), ()) == wanted


def test_an_observer_is_planned_for_and_other_weights_are_refused() -> None:
    plan = drawn_run()
    trace = build_trace(Model(plan.configuration), None, [s.word.word for s in plan.steps[:20]])
    made = plan_for(trace, "observer")
    assert (made.ids[OBSERVER], sorted(made.ids[:OBSERVER]), made.skipped) == (NUMBER, [1, 2, 3], ())
    weights = replace(trace.configuration, variant="", quorums="weights 2,1,1", nodes=3)
    with pytest.raises(Cannot, match="without groups"):
        plan_for(replace(trace, configuration=weights), "")
    five = replace(trace.configuration, quorums="weights 1,1,1,1,1,0", nodes=6)
    with pytest.raises(Cannot, match="three servers that vote"):
        plan_for(replace(trace, configuration=five), "observer")


@pytest.mark.every
@pytest.mark.slow(seconds=12)
def test_a_leader_counts_its_observer_in_3_5_3_and_not_in_3_6_0(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """ZOOKEEPER-2959: of its run 3.6.0 does not take the step in which the observer completes a quorum."""
    monkeypatch.setattr(aftermath, "SETTLES", 0.5)  # one that leads no quorum waits for it, and does not serve
    trace = trace_of_row("2959")
    plan = plan_for(trace, trace.configuration.variant)
    run, _ = tried(tmp_path / "old", official("3.5.3"), plan, 2, 20.0, print)
    assert run.agreed, (run.trouble, run.played.differs)
    assert [x for x in run.harm if "server 2 has currentEpoch 2 on its disk, and not <1,2>" in x]
    plan = plan_for(trace, "3.6.0,observer,before-2959")
    run, _ = tried(tmp_path / "new", official("3.6.0"), plan, 0, 5.0, print)
    assert not run.trouble
    step = plan.steps[run.played.steps]
    assert (step.message is not None and step.message.kind, step.process) == ("FOLLOWERINFO", 1)
    assert any("server 2 (p1), acceptedEpoch: the model has 2, the server 1" in x for x in run.played.differs)


@pytest.mark.every
@pytest.mark.slow(seconds=8)
def test_a_run_with_an_observer_agrees_step_by_step(tmp_path: Path) -> None:
    """It is brought up to date, gets INFORM, logs and applies. In 3.6.0 the request made of that has no zxid."""
    plan = drawn("3.6.0,observer", LOGS)
    own = [s for s in plan.steps if s.process == OBSERVER]
    for name in ("sync thread", "commit thread", "acknowledge NEWLEADER"):
        assert any(s.label == name for s in own), name
    assert any(s.message is not None and s.message.kind == "INFORM" for s in own)
    run, _ = tried(tmp_path, official("3.6.0"), plan, 2, 20.0, print)
    assert run.agreed, (run.trouble, run.played.differs)
