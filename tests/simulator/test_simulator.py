"""The simulator: the lab's bytes, two engines that agree, and the parts it is made of."""

from __future__ import annotations

import heapq
import random
import struct
from pathlib import Path

import pytest

from traces.record.events import events_of
from zabspec.model import ConfigError
from zabspec.simulator.dump import Dump, digest
from zabspec.simulator.model import Cluster
from zabspec.simulator.run import ENGINES, ROOMS, Fault, Run, SimulationError, Simulator, in_a_room, play, simulator_for

VECTORS = Path(__file__).parents[1] / "data" / "vectors.tsv"
ROOM = ROOMS[0]
BOTH = pytest.mark.parametrize("engine", ENGINES)


def vectors() -> list[tuple[Run, str]]:
    """The lab's runs, each with the digest of its dump."""
    found = []
    for line in VECTORS.read_text().splitlines()[1:]:
        seed, nodes, rounds, proposals, partition, sha256 = line.split("\t")
        numbers = [] if partition == "-" else [int(word) for word in partition.split(",")]
        blocked = tuple(zip(numbers[::2], numbers[1::2], strict=True))
        found.append((Run(int(seed), int(nodes), int(rounds), int(proposals), blocked), sha256))
    return found


def dump_of(simulator: Simulator) -> bytes:
    return Dump(simulator.layout).canonical(simulator.state)


def random_run(source: random.Random, protocol: str, nodes: int, rounds: int = 400, variant: str = "") -> Run:
    """A run with everything in it that a run can have."""
    faults: list[Fault] = []
    kinds = ["cut", "heal", "crash", "recover", "timeout", *(["lose"] if protocol == "zab" else [])]
    for _ in range(source.randrange(12)):
        kind, a, b = source.choice(kinds), source.randrange(nodes), source.randrange(nodes)
        pair = kind in ("cut", "heal", "lose")
        if not pair or a != b:
            faults.append(Fault(source.randrange(rounds), kind, a, b if pair else -1))
    return Run(
        source.randrange(2**64),
        nodes,
        rounds,
        source.randrange(9),
        tuple((0, k) for k in range(1, nodes) if source.random() < 0.1),
        tuple(faults),
        source.choice((1, 1, 2, 5)),
        source.choice((1, 3, 3, 20)),
        protocol,
        variant,
        source.choice(("", "lossy", "unordered", "duplicating")) if protocol == "zab" else "",
    )


# --- the lab's bytes -----------------------------------------------------------------------------


@pytest.mark.slow(seconds=3)
def test_all_vectors_compiled() -> None:
    wrong = [run for run, sha256 in vectors() if digest(dump_of(play(run))) != sha256]
    assert not wrong
    assert len(vectors()) == 49


def test_the_dump_is_the_text_field_by_field() -> None:
    """Of a run with two epochs, of which the lab has none."""
    first = play(Run(3, 3, 700, 20)).state
    leader = next(p for p in range(3) if first.role[p] == 2)
    simulator = play(Run(3, 3, 1500, 20, faults=(Fault(700, "crash", leader), Fault(800, "recover", leader))))
    s, wanted = simulator.state, b"DSEZAB01" + struct.pack("<I", 3)
    assert len({t.epoch for t in s.history[0]}) > 1
    for p in range(3):
        history, committed = list(s.history[p]), s.last_committed[p]
        numbers = (s.current_epoch[p], s.accepted_epoch[p], history[-1].epoch, history[-1].counter)
        numbers += (committed.epoch, committed.counter, len(history))
        wanted += struct.pack("<IBIIIIIII", p, s.role[p], *numbers)
        for t in history:
            payload = f"zab-{t.value - 1}".encode()
            wanted += struct.pack("<III", t.epoch, t.counter, len(payload)) + payload
    assert dump_of(simulator) == wanted


# --- the engines agree ---------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(("protocol", "nodes"), [("db19", 3), ("zab", 3), ("zab", 4), ("db19", 1)])
def test_compiled_and_interpreted_runs_are_the_same_bytes(protocol: str, nodes: int) -> None:
    """The whole state, scratch but for the paper's steps included, after runs with every fault."""
    source = random.Random(19)
    crashed = 0
    for _ in range(16):
        run = random_run(source, protocol, nodes)
        first, second = play(run), play(run, "interpret")
        assert first.cluster == second.cluster
        assert first.state.buffer == second.state.buffer, run
        crashed += any(f.kind == "crash" for f in run.faults)
    assert crashed > 4


@pytest.mark.parametrize("protocol", ["db19", "zab"])
def test_a_run_says_nothing_of_the_run_before(protocol: str) -> None:
    """The memory is used again, and only what was used is cleared."""
    source = random.Random(7)
    simulator = simulator_for(Cluster(protocol, "", 3, ROOM, False), "compiled")
    for _ in range(50):
        run = random_run(source, protocol, 3)
        simulator.begin(random_run(source, protocol, 3))
        simulator.advance(source.randrange(400))
        simulator.begin(run)
        simulator.advance(run.rounds)
        again = bytes(simulator.state.buffer)
        simulator.state.buffer[:] = bytes(simulator.layout.total)
        simulator.begin(run)
        simulator.advance(run.rounds)
        assert simulator.state.buffer == again


@BOTH
def test_a_run_in_pieces_is_the_run(engine: str) -> None:
    run = Run(5, rounds=300)
    whole = bytes(play(run, engine).state.buffer)
    simulator = play(run, engine)
    simulator.begin(run)
    for until in (1, 2, 150, 299, 300):
        simulator.advance(until)
        assert simulator.state.sim_moment == until
    assert simulator.state.buffer == whole


# --- errors, and room ----------------------------------------------------------------------------


@BOTH
def test_an_error_names_the_field(engine: str) -> None:
    simulator = simulator_for(Cluster("db19", "", 3, ROOM, False), engine)
    simulator.begin(Run(1))
    simulator.state.sim_seq = 2**24 - 3
    with pytest.raises(SimulationError, match=r"^sim_seq would leave its range 0\.\.16777215.* at") as problem:
        simulator.advance(1000)
    assert not problem.value.lacks_room
    assert simulator.state.sim_moment < 300  # it stopped there
    simulator.begin(Run(1))
    simulator.advance(1000)
    assert simulator.state.sim_seq < 10_000


@pytest.mark.slow(seconds=1)
@BOTH
def test_a_run_that_bursts_its_room_gets_a_larger_one(engine: str) -> None:
    run = Run(1, 3, 12_000, 0, least_delay=10_000, delays=1)
    small = simulator_for(Cluster("db19", "", 3, ROOM, False), engine)
    small.begin(run)
    with pytest.raises(SimulationError) as problem:
        small.advance(12_000)
    assert problem.value.lacks_room
    simulator = play(run, engine)
    assert simulator.cluster.proposals > ROOM
    assert simulator.state.sim_fresh > small.cluster.slots


def test_a_run_that_bursts_every_room_is_an_error() -> None:
    tried = []

    def attempt(cluster: Cluster) -> None:
        tried.append(cluster.proposals)
        raise SimulationError("queued would leave its range", lacks_room=True)

    with pytest.raises(SimulationError, match="queued"):
        in_a_room(Run(1, proposals=100), False, attempt)
    assert tried == [256, 1024]


def test_a_cluster_refuses_a_run_of_another() -> None:
    simulator = simulator_for(Cluster("db19", "", 3, ROOM, False), "interpret")
    for run in (Run(1, 4), Run(1, proposals=ROOM + 1), Run(1, protocol="zab")):
        with pytest.raises(ValueError, match="cluster"):
            simulator.begin(run)


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"blocked": ((0, 3),)}, "blocked 0,3"),
        ({"faults": (Fault(5, "burn", 0),)}, "there is no fault 'burn'"),
        ({"faults": (Fault(5, "cut", 0),)}, "there is no process -1"),
    ],
)
def test_a_run_there_is_not(wrong: dict[str, object], sentence: str) -> None:
    """What no command line says; what one says is in `tests/transcripts/commands/wrong-simulations.txt`."""
    with pytest.raises(ConfigError, match=sentence):
        Run(**({"seed": 1} | wrong))  # type: ignore[arg-type]


# --- what happens in a run -----------------------------------------------------------------------


def test_faults_of_one_tick_come_in_the_order_given() -> None:
    first = Run(1, faults=(Fault(9, "crash", 0), Fault(3, "cut", 0, 1), Fault(3, "heal", 0, 1)))
    assert [f.kind for f in first.faults] == ["cut", "heal", "crash"]
    blocked = play(Run(1, 3, 10, 0, faults=(Fault(3, "heal", 0, 1), Fault(3, "cut", 0, 1)))).state.sim_blocked
    assert blocked[0][1]
    assert not play(Run(1, 3, 10, 0, faults=first.faults)).state.sim_blocked[0][1]


@pytest.mark.parametrize("network", ["", "ordered"])
def test_on_an_ordered_network_no_datagram_overtakes_another(network: str) -> None:
    run = Run(3, rounds=600, proposals=30, delays=60, network=network)
    arrived: dict[tuple[int, int], list[int]] = {}
    for event in events_of(run)[1]:
        if event["event"] == "deliver":
            arrived.setdefault((event["from"], event["to"]), []).append(event["seq"])
    assert len(arrived) == 6
    assert all(numbers == sorted(numbers) for numbers in arrived.values()) == (network == "ordered")
    assert digest(dump_of(play(run))) == digest(dump_of(play(run, "interpret")))


# --- the heap ------------------------------------------------------------------------------------


def test_mail_arrives_in_the_order_of_the_lab() -> None:
    """(delivery time, sender, sequence number), by a heap of another make."""
    events = events_of(Run(7, 5, 600, 8))[1]
    waiting: list[tuple[int, int, int]] = []
    delivered = 0
    for e in events:
        if e["event"] == "send":
            heapq.heappush(waiting, (e["arrives"], e["from"], e["seq"]))
        elif e["event"] == "deliver":
            assert heapq.heappop(waiting) == (e["tick"], e["from"], e["seq"])
            delivered += 1
    assert delivered > 200
