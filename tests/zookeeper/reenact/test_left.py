"""What a re-enactment leaves for others: both lanes in a picture."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

from tests.zookeeper.reenact.schedules import zk_4394
from traces.zookeeper.reenact.lanes import drawn_lanes, seen_at
from traces.zookeeper.reenact.plan import plan_for
from traces.zookeeper.reenact.player import Played
from traces.zookeeper.reenact.reenactment import ReenactedRun

EVENTS = """\
    1.000 run: established, as the model is
    2.000 step: 1: lose connection {}
    2.100 election 3->1: came: LOOKING, for 3
    2.200 quorum 1<-3: lost: PING 0x100000001
    3.000 step: 2: learn of loss {}
    3.100 quorum 1->3: came: ACK 0x100000003
    3.200 quorum 1->3: let through: ACK 0x100000003
    3.300 server 3: sync thread: append 100000003 and is held
    3.400 server 3: sync thread: force log.
    3.500 server 2: killed
    4.000 run: done; all threads continue
    4.100 quorum 1->3: came: ACK 0x100000009
"""


def test_what_is_seen_at_a_step_is_said_without_pings_and_votes() -> None:
    assert seen_at(EVENTS) == {
        1: [],
        2: [
            "1 sends ACK 0x100000003 to 3", "3 reads ACK 0x100000003", "3: sync thread held at append 100000003",
            "3: sync thread does force log", "server 2: killed",
        ],
    }  # fmt: skip


def words(svg: str) -> list[str]:
    return [t.text or "" for t in ElementTree.fromstring(svg).iter("{http://www.w3.org/2000/svg}text")]


def test_both_lanes_are_drawn_and_where_they_part_is_named(tmp_path: Path) -> None:
    (tmp_path / "events.txt").write_text(EVENTS)
    plan = plan_for(zk_4394(), "3.9.2")
    run = ReenactedRun(Played(2, ["server 1 (p2), log: the model has <a>"], [0.25, 0.5], base=0x100000002), None)
    said = words(drawn_lanes(tmp_path, plan, run))
    assert {"server 3 (p0)", "server 1 (p1)", "nothing (0.25 s)"} <= set(said)
    text = " ".join(said)
    assert "1 sends ACK <1,2> to 3; 3 reads ACK <1,2>;" in text
    assert "DIFFERS: server 1 (p2), log: the model has <a>" in text
    assert said.count("not played") == len(plan.steps) - 3
    whole = ReenactedRun(Played(18, [], [0.1] * 18), None, ["a server ends"])
    said = words(drawn_lanes(tmp_path, plan, whole))
    assert "a server ends" in said
    assert "not played" not in said
