"""The second explorer gives the examples of docs/reference/semantics.md, and shares no module with the product."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.second.explore import explore as search
from tests.second.reference import explore
from zabspec.second.own import build

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "reference" / "semantics.md").read_text(encoding="utf-8")
# the four plain states that the page shows
PLAIN, DISK_PLAIN, VOTES_PLAIN, ZAB_PLAIN = (
    json.loads(block) for block in re.findall(r"^```json\n(.*?)^```$", PAGE, flags=re.DOTALL | re.MULTILINE)
)

PINGS = """
from __future__ import annotations

from typing import Annotated

from zabcheck.language import (
    NOBODY, AtMost, Each, Fields, MessageType, Node, Range, SeqOf, action, declare, environment, environment_step,
    ghost, receives, send, stored, volatile,
)  # fmt: skip


class PING(MessageType):
    n: Annotated[int, Range(0, 3)]
    who: Node


class State(Fields):
    got: Each[Node, Annotated[SeqOf[Annotated[int, Range(0, 3)]], AtMost(4)]] = stored("")
    v: Each[Node, set[Node]] = volatile("")
    clock: Annotated[int, Range(0, 1)] = environment("")
    seen: Each[Node, Annotated[int, Range(0, 3)]] = ghost("")


def first(s: State, p: Node) -> bool:
    return p == 0
@action(when=first, budget="a")
def begin(s: State, p: Node) -> None:
    for n in range(3):
        send(s, p, 1, PING(n=n, who=0))
    send(s, p, 0, PING(n=3, who=NOBODY))
@receives
def on_ping(s: State, p: Node, m: PING) -> None:
    s.got[p].append(m.n)
@environment_step(budget="ticks")
def tick(s: State) -> None:
    s.clock = 1
PROTOCOL = declare(__name__, nodes=2, network="ordered",
    budgets={"crashes": 1, "drops": 1, "duplicates": 1, "a": 1, "ticks": 1})
"""

DISK = """
from __future__ import annotations

from typing import Annotated

from zabcheck.language import (
    AtMost, Each, Fields, MessageType, Node, Range, SeqOf, action, choose, declare, force, on_disk, send, stored,
    volatile,
)  # fmt: skip


class PING(MessageType):
    c: Annotated[int, Range(0, 1)]


class State(Fields):
    d: Each[Node, Annotated[int, Range(0, 2)]] = on_disk("")
    st: Each[Node, Annotated[int, Range(0, 4)]] = stored("")
    v: Each[Node, Annotated[int, Range(0, 1)]] = volatile("")
    log: Each[Node, Annotated[SeqOf[Annotated[int, Range(0, 7)]], AtMost(2)]] = on_disk("")


def on_start(s: State, p: Node) -> None:
    s.d[p] = 1
@action(budget="a")
def work(s: State, p: Node) -> None:
    s.d[p] = 2
    s.st[p] = 4
    c = choose(s, 2)
    send(s, p, p, PING(c=c))
    s.log[p].append(7)
    force(s, p)
@action(budget="b")
def spare(s: State, p: Node) -> None:
    s.v[p] = 1
PROTOCOL = declare(__name__, nodes=1,
    budgets={"crashes": 1, "power_losses": 1, "a": 1, "b": 1})
"""

VOTES = """
from __future__ import annotations

from typing import Annotated

from zabcheck.language import (
    NOBODY, Each, Fields, MessageType, Node, OneOf, Range, connect, declare, disconnect, on_disk, send_to_leader,
    volatile,
)  # fmt: skip


class HI(MessageType):
    n: Annotated[int, Range(0, 3)]


class State(Fields):
    role: Each[Node, Annotated[int, OneOf("ELECTION", "FOLLOWING", "LEADING")]] = volatile("")
    leader: Each[Node, Node] = volatile("")
    vote: Each[Node, Annotated[int, Range(0, 1)]] = on_disk("")
    n: Each[Node, Annotated[int, Range(0, 3)]] = volatile("")


def on_elected(s: State, l: Node) -> None:
    s.role[l] = 2
    s.vote[l] = 1
def on_follow(s: State, f: Node, l: Node) -> None:
    s.role[f] = 1
    s.leader[f] = l
    connect(s, f, l)
    send_to_leader(s, f, HI(n=1))
PROTOCOL = declare(__name__, world="connections", elects=("vote",),
    budgets={"crashes": 1, "losses": 1, "partitions": 1, "power_losses": 1, "outages": 0, "elections": 2})
"""


class Explored:
    """The result of a request about a source, with the successors of a state by label."""

    def __init__(self, folder: Path, source: str, **request: object) -> None:
        path = folder / "protocol.py"
        path.write_text(source)
        self.result = explore({"protocol": str(path)} | request)
        self.states = self.result["states"]

    def after(self, state: dict) -> list[tuple[str, dict]]:
        """Return label and result of each step of a state."""
        i = self.states.index(state)
        assert i < self.result["expanded"]
        return [(label, self.states[j]) for k, label, j in self.result["edges"] if k == i]

    def results(self, state: dict, label: str) -> list[dict]:
        """Return the results of the steps with a label."""
        return [result for name, result in self.after(state) if name == label]


def line(state: dict) -> list[tuple[int, int]]:
    """Return `n` and `ahead` of what is in flight to p1."""
    return sorted((m["n"], m["ahead"]) for m in state["network"]["in_flight"] if m["target"] == 1)


@pytest.fixture(scope="module")
def pings(tmp_path_factory: pytest.TempPathFactory) -> Explored:
    return Explored(tmp_path_factory.mktemp("pings"), PINGS, max_depth=3)


def test_the_example_of_datagrams(pings: Explored) -> None:
    """Section 7's example and the first plain state."""
    (sent,) = pings.results(pings.states[0], "action:begin")
    assert sent == PLAIN
    received = {tuple(line(s)) for s in pings.results(sent, "receive") if s["fields"]["got"] == [[], [1]]}
    assert received == {((2, 0),)}
    assert ((0, 0), (2, 1)) in {tuple(line(s)) for s in pings.results(sent, "drop")}
    (again,) = [s for s in pings.results(sent, "repeat") if s["fields"]["got"] == [[], [2]]]
    assert line(again) == [(2, 0)]
    assert again["network"]["in_line"] == [[1, 1], [0, 0]]


def test_on_fifo_only_the_first_is_received(tmp_path: Path) -> None:
    """Section 7's example on `fifo`."""
    fifo = Explored(tmp_path, PINGS, max_depth=2, network="fifo")
    (sent,) = fifo.results(fifo.states[0], "action:begin")
    for label in ("receive", "repeat"):
        assert sorted(s["fields"]["got"] for s in fifo.results(sent, label)) == [[[], [0]], [[3], []]]
    assert len(fifo.results(sent, "drop")) == 4


def test_the_example_of_a_disk(tmp_path: Path) -> None:
    """Section 11's worked example and the second plain state."""
    disk = Explored(tmp_path, DISK, max_depth=2)
    start = disk.states[0]
    assert start == DISK_PLAIN
    lost = disk.results(start, "power_loss")
    assert sorted(s["fields"]["d"] for s in lost) == [[0], [1]]
    for state in lost:
        assert state["budgets"]["power_losses"] == 0
        assert state["ghosts"]["crashed"] == [True]
        assert state["disks"] == {"unforced": [0], "d_images": [[0] * 5], "log_images": [[[]] * 5]}
    (crashed,) = disk.results(start, "crash")
    assert {**crashed, "budgets": 0, "ghosts": 0} == {**start, "budgets": 0, "ghosts": 0}
    inside = disk.results(start, "crash_inside")
    seen = {
        (
            s["fields"]["d"][0], s["fields"]["st"][0], len(s["fields"]["log"][0]), s["disks"]["unforced"][0],
            tuple(m["c"] for m in s["network"]["in_flight"]), s["budgets"]["a"], s["budgets"]["b"],
        )
        for s in inside
    }  # fmt: skip
    assert seen == {
        (1, 0, 0, 1, (), 0, 1), (1, 0, 0, 1, (), 1, 0), (2, 0, 0, 2, (), 0, 1), (2, 4, 0, 2, (), 0, 1),
        (2, 4, 0, 2, (0,), 0, 1), (2, 4, 0, 2, (1,), 0, 1), (2, 4, 1, 3, (0,), 0, 1), (2, 4, 1, 3, (1,), 0, 1),
        (2, 4, 1, 0, (0,), 0, 1), (2, 4, 1, 0, (1,), 0, 1),
    }  # fmt: skip
    logged = [s["fields"] for s in disk.results(start, "power_loss_inside") if s["network"]["in_flight"]]
    assert {(f["d"][0], len(f["log"][0])) for f in logged} == {(0, 0), (1, 0), (2, 0), (2, 1)}


SPENDING = """
from typing import Annotated

from zabcheck.language import Each, Fields, Range, Node, action, declare, on_disk


class State(Fields):
    d: Each[Node, Annotated[int, Range(0, 1)]] = on_disk("")


def unwritten(s: State, p: Node) -> bool:
    return s.d[p] == 0
@action(when=unwritten, budget="BUDGET")
def write(s: State, p: Node) -> None:
    s.d[p] = 1
PROTOCOL = declare(__name__, nodes=1, budgets={"crashes": 1, "power_losses": 1})
"""


@pytest.mark.parametrize(("budget", "inside"), [("crashes", "crash_inside"), ("power_losses", "power_loss_inside")])
def test_inside_a_step_that_spends_a_failure_another_has_to_be_left(budget: str, inside: str, tmp_path: Path) -> None:
    """S10: `write` spends one itself."""
    source = SPENDING.replace("BUDGET", budget)
    one = Explored(tmp_path, source, max_depth=1)
    assert one.results(one.states[0], "action:write")
    assert not one.results(one.states[0], inside)
    assert one.results(one.states[0], "crash_inside" if budget != "crashes" else "power_loss_inside")
    two = Explored(tmp_path, source, max_depth=1, budgets={"crashes": 2, "power_losses": 2})
    failed = two.results(two.states[0], inside)
    assert {(s["budgets"][budget], s["fields"]["d"][0]) for s in failed} == {(0, 0), (0, 1)}


def test_the_example_of_connections(tmp_path: Path) -> None:
    """The third plain state, and its steps."""
    votes = Explored(tmp_path, VOTES, max_depth=2)
    assert VOTES_PLAIN in votes.results(votes.states[0], "elect")
    steps = votes.after(VOTES_PLAIN)
    labels = [label for label, _ in steps]
    assert {label: labels.count(label) for label in labels if "inside" not in label} == {
        "to_leader": 1, "join": 1, "lose_connection": 1, "partition": 1, "crash": 3, "power_loss": 4,
    }  # fmt: skip
    (lost,) = votes.results(VOTES_PLAIN, "lose_connection")
    assert lost["network"]["link"][1][0] == 2
    links = {
        tuple(s["ghosts"]["crashed"]): (s["network"]["link"][1][0], len(s["network"]["to_leader"][1][0]))
        for s in votes.results(VOTES_PLAIN, "crash")
    }
    assert links[True, False, False] == (4, 0)
    assert links[False, True, False] == (3, 1)
    assert "crash_electing" in {label for _, label, _ in votes.result["edges"]}


def test_no_module_of_the_product_is_loaded() -> None:
    """The second explorer runs user protocols, and ours, without the product."""
    program = """
import sys
from tests.second.reference import explore
explore({"protocol": "examples/raft_election.py", "nodes": 2, "max_states": 50})
for protocol in ("zab", "ladis", "db19", "zookeeper"):
    explore({"protocol": protocol, "nodes": 2, "max_states": 5})
files = {getattr(m, "__file__", None) or "" for name, m in sys.modules.items() if name[:14] != "second_source_"}
ours = {f for f in files if any(f"/{part}/" in f for part in ("zabspec", "checker", "invariants", "traces"))}
assert not [f for f in ours if "/zabspec/second/" not in f and not f.endswith("/zabspec/__init__.py")], ours
"""
    subprocess.run([sys.executable, "-c", program], check=True, cwd=ROOT)


def test_an_exploration_is_breadth_first() -> None:
    """A state's depth is that of the shortest path (M6)."""
    world = build({"protocol": str(ROOT / "examples/token_ring.py"), "nodes": 2})
    graph, _ = search(world, [], 1 << 62, 1 << 62)
    least = {0: 0}
    for i, _, j in graph.edges:
        least[j] = min(least.get(j, 1 << 62), least[i] + 1)
    assert graph.depth == [least[k] for k in range(len(graph.states))]


def test_the_example_of_zab(tmp_path: Path) -> None:
    """The fourth plain state, and the steps from it."""
    request = {"protocol": "zab", "nodes": 2, "sizes": {"txns": 1}, "budgets": {"timeouts": 1}, "max_depth": 3}
    zab = Explored(tmp_path, "", **request)
    start = zab.states[0]
    assert start == ZAB_PLAIN
    assert sorted(label for label, _ in zab.after(start)) == ["crash"] * 2 + ["oracle"] * 4
    (named,) = [s for s in zab.results(start, "oracle") if s["fields"]["leader"] == [None, 0]]
    assert (named["fields"]["role"], named["fields"]["phase"]) == ([0, 1], [0, 1])
    assert named["network"]["link"][1][0] == 1
    assert named["network"]["to_leader"][1][0] == [{"message": "CEPOCH", "epoch": 0}]
    (lost,) = zab.results(named, "lose_connection")
    assert (lost["network"]["link"][1][0], lost["network"]["to_leader"][1][0]) == (4, [])
    (late,) = zab.results(named, "timeout")
    assert late["network"]["link"][1][0] == 0
    (led,) = [s for s in zab.results(named, "oracle") if s["fields"]["leader"] == [0, 0]]
    (lost,) = zab.results(led, "lose_connection")
    assert (lost["network"]["link"][1][0], len(lost["network"]["to_leader"][1][0])) == (2, 1)
    assert 3 in {s["network"]["link"][1][0] for s in zab.results(led, "timeout")}


WAITING = """
from __future__ import annotations

from zabcheck.language import Each, Fields, MessageType, Node, action, declare, progress, receives, send, stored


class GO(MessageType): ...


class State(Fields):
    asked: Each[Node, bool] = stored("")
    done: Each[Node, bool] = stored("")
    v: Each[Node, bool] = stored("")


def not_asked(s: State, p: Node) -> bool:
    return not s.asked[p]
@action(when=not_asked BUDGET)
def ask(s: State, p: Node) -> None:
    s.asked[p] = True
    send(s, p, p, GO())
@receives
def on_go(s: State, p: Node, m: GO) -> None:
    s.done[p] = True
@action()
def spin(s: State, p: Node) -> None:
    s.v[p] = not s.v[p]
@progress
def asks(s: State, p: Node) -> bool:
    return not s.asked[p]
@progress
def gets(s: State, p: Node) -> bool:
    return s.asked[p] and not s.done[p]
PROTOCOL = declare(__name__, nodes=2, budgets={"asks": 1, "drops": DROPS})
"""


@pytest.mark.parametrize(
    ("budget", "drops", "asks", "gets"),
    [
        ("", "0", "held", "held"),
        (", budget='asks'", "0", "violated", "held"),
        (", fair=False", "0", "violated", "held"),
        ("", "1", "held", "violated"),
    ],
)
def test_a_goal_holds_in_fair_runs(tmp_path: Path, budget: str, drops: str, asks: str, gets: str) -> None:
    """G1 and G4: a fair action happens beside one that never ends, others need not, and what is lost never arrives."""
    source = WAITING.replace("BUDGET", budget).replace("DROPS", drops)
    waiting = Explored(tmp_path, source, live=True)
    assert waiting.result["goals"] == {"asks": {"result": asks}, "gets": {"result": gets}}


AGAIN = """
from __future__ import annotations

from zabcheck.language import Each, Fields, MessageType, Node, declare, progress, receives, send, stored


class A(MessageType): ...


class B(MessageType): ...


class State(Fields):
    done: Each[Node, bool] = stored("")


def on_start(s: State, p: Node) -> None:
    send(s, p, p, A())
    send(s, p, p, B())
@receives
def on_a(s: State, p: Node, m: A) -> None:
    send(s, p, p, A())
@receives
def on_b(s: State, p: Node, m: B) -> None:
    s.done[p] = True
@progress
def ends(s: State, p: Node) -> bool:
    return not s.done[p]
PROTOCOL = declare(__name__, nodes=1, flight=lambda size: 3)
"""


def test_each_content_between_two_processes_is_received(tmp_path: Path) -> None:
    """G1: a class is of a sender, a receiver and a content. One that is sent again and again holds up no other."""
    assert Explored(tmp_path, AGAIN, live=True).result["goals"] == {"ends": {"result": "held"}}


OWN_DOWN = """
from typing import Annotated

from zabcheck.language import Each, Fields, Range, Node, OneOf, declare, stored
UP, DOWN = range(2)


class State(Fields):
    where: Each[Node, Annotated[int, OneOf("UP", "DOWN")]] = stored("")


def is_down(s: State, p: Node) -> bool:
    return s.where[p] == DOWN
def on_crash(s: State, p: Node) -> None:
    s.where[p] = DOWN
def on_recovery(s: State, p: Node) -> None:
    s.where[p] = UP
PROTOCOL = declare(__name__, budgets={"crashes": 1}, nodes=2)
"""


def test_a_protocol_that_keeps_who_is_down(tmp_path: Path) -> None:
    """F1: there is no `crashed`; who is down recovers, and nobody else does."""
    own = Explored(tmp_path, OWN_DOWN)
    start = own.states[0]
    assert "crashed" not in start["ghosts"]
    assert [label for label, _ in own.after(start)] == ["crash"] * 2
    for down in own.results(start, "crash"):
        assert sorted(down["fields"]["where"]) == [0, 1]
        assert own.results(down, "recover")[0]["fields"]["where"] == [0, 0]
