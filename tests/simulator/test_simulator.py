"""The simulator: the lab's bytes, two engines that agree, and the parts it is made of."""

from __future__ import annotations

import heapq
import random
import struct
from dataclasses import replace
from pathlib import Path

import pytest

from traces.record.events import events_of
from zabspec.model import ConfigError
from zabspec.simulator import mail
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


def interpreted_digest(run: Run) -> str:
    return digest(dump_of(play(run, "interpret")))


@pytest.mark.slow
def test_all_vectors_interpreted() -> None:
    """The longest and every sixteenth after it. What is compiled is held to all of them above,
    and below to what is interpreted."""
    longest_first = sorted(vectors(), key=lambda v: -v[0].nodes * v[0].rounds * (1 + v[0].proposals))
    for run, sha256 in longest_first[::16]:
        assert interpreted_digest(run) == sha256


def test_the_dump_is_the_text_field_by_field() -> None:
    """Read back with a reader of its own, from a run with two epochs."""
    run = Run(3, 3, 1500, 20)
    simulator = play(run)
    simulator.begin(run)
    simulator.advance(700)
    s = simulator.state
    leader = next(p for p in range(3) if s.role[p] == 2)
    simulator = play(replace(run, faults=(Fault(700, "crash", leader), Fault(800, "recover", leader))))
    assert len({t.epoch for t in s.history[0]}) > 1
    data = dump_of(simulator)
    assert data[:8] == b"DSEZAB01"
    assert struct.unpack_from("<I", data, 8) == (3,)
    at = 12
    for p in range(3):
        head = struct.unpack_from("<IBIIIIIII", data, at)
        at += 33
        history = list(s.history[p])
        last = (history[-1].epoch, history[-1].counter) if history else (0, 0)
        committed = (s.last_committed[p].epoch, s.last_committed[p].counter)
        epochs = (s.current_epoch[p], s.accepted_epoch[p])
        assert head == (p, s.role[p], *epochs, *last, *committed, len(history))
        for t in history:
            payload = f"zab-{t.value - 1}".encode()
            assert struct.unpack_from("<III", data, at) == (t.epoch, t.counter, len(payload))
            assert data[at + 12 : at + 12 + len(payload)] == payload
            at += 12 + len(payload)
    assert at == len(data)


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
        ({"seed": -1}, "--seed"),
        ({"seed": 2**64}, "--seed"),
        ({"nodes": 21}, "--nodes must be 1 to 20, not 21"),
        ({"proposals": 1001}, "--proposals"),
        ({"rounds": -1}, "--rounds"),
        ({"rounds": mail.LARGEST_TICK + 1}, "--rounds"),
        ({"least_delay": 0}, "--delay"),
        ({"delays": 0}, "--delay"),
        ({"blocked": ((0, 3),)}, "blocked 0,3"),
        ({"protocol": "raft"}, "there is no protocol 'raft'"),
        ({"variant": "no-promise"}, "'no-promise' of db19"),
        ({"network": "lossy"}, "there is no network 'lossy' for db19; there are datagrams, ordered, fifo"),
        ({"protocol": "zab", "network": "udp"}, "there is no network 'udp'"),
        ({"faults": (Fault(5, "burn", 0),)}, "there is no fault 'burn'"),
        ({"faults": (Fault(5, "crash", 3),)}, "there is no process 3"),
        ({"faults": (Fault(5, "cut", 0),)}, "there is no process -1"),
        ({"faults": (Fault(1000, "crash", 0),)}, "ticks 0 to 999"),
        ({"faults": (Fault(5, "lose", 0, 1),)}, "--lose is not for db19"),
        ({"faults": (Fault(5, "crash", 0),) * 65}, "at most 64 faults"),
    ],
)
def test_a_run_there_is_not(wrong: dict[str, object], sentence: str) -> None:
    with pytest.raises(ConfigError, match=sentence):
        Run(**({"seed": 1} | wrong))  # type: ignore[arg-type]


# --- what happens in a run -----------------------------------------------------------------------


def test_faults_of_one_tick_come_in_the_order_given() -> None:
    first = Run(1, faults=(Fault(9, "crash", 0), Fault(3, "cut", 0, 1), Fault(3, "heal", 0, 1)))
    assert [f.kind for f in first.faults] == ["cut", "heal", "crash"]
    blocked = play(Run(1, 3, 10, 0, faults=(Fault(3, "heal", 0, 1), Fault(3, "cut", 0, 1)))).state.sim_blocked
    assert blocked[0][1]
    assert not play(Run(1, 3, 10, 0, faults=first.faults)).state.sim_blocked[0][1]


def test_a_way_that_is_cut_and_healed() -> None:
    """While the leader cannot be heard, others are elected; when it heals they agree again."""
    cut = tuple(Fault(300, "cut", 1, q) for q in (0, 2))
    heal = tuple(Fault(900, "heal", 1, q) for q in (0, 2))
    run = Run(42, 3, 3000, 20, faults=(*cut, *heal))
    assert play(Run(42, 3, 300, 0)).state.role[1] == 2
    s = play(run).state
    assert s.current_epoch[0] > 1
    assert len({bytes(s.history[p].raw()) for p in range(3)}) == 1


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
