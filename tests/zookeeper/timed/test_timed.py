"""The timed world: Figures 6 and 7 of DSN'11, arithmetic, and `zabcheck plan`."""

from __future__ import annotations

import ctypes
import itertools
import json
import pickle
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from benchmarks import performance_points as points
from checker.cli import main
from zabspec import zab
from zabspec.authoring.annotated import Annotations
from zabspec.authoring.declaration import ConfigError, Size
from zabspec.language import Seq, SetOf
from zabspec.simulator.plan import Run
from zabspec.simulator.run import play as simulate
from zabspec.zookeeper.timed import run, world
from zabspec.zookeeper.timed.planned import HELD, bounds, limit
from zabspec.zookeeper.timed.run import measure
from zabspec.zookeeper.timed.setting import DISKS, Disk, Setting

ABOUT = 0.10  # the tenth that issue and page speak of
FEW = 4000  # operations


def throughput(servers: int, disk: str, operations: int = FEW) -> float:
    return measure(Setting(servers, DISKS[disk], operations=operations)).throughput


# --- Figure 6 --------------------------------------------------------------------------------------


def test_the_limit_is_the_arithmetic_of_a_gigabit() -> None:
    """VII: 125 MB/s over 1,024 bytes to every follower."""
    assert limit(2) == 125_000_000 / 1024
    assert [round(limit(n)) for n in (3, 7, 13)] == [61035, 20345, 10173]
    assert limit(5, 4096) == 125_000_000 / (4096 * 4)


@pytest.mark.slow(seconds=1)
@pytest.mark.parametrize("disk", ["none", "cache"])
@pytest.mark.parametrize("servers", [2, 3, 5, 7, 8, 13])
def test_network_and_write_cache_come_within_a_tenth_of_the_limit(servers: int, disk: str) -> None:
    """VII: "almost identical to network only and both are saturating the network"."""
    assert 1 - ABOUT <= throughput(servers, disk) / limit(servers) <= 1


@pytest.mark.slow(seconds=2)
def test_without_a_write_cache_throughput_is_flat_up_to_seven_servers() -> None:
    """VII: "roughly constant", and "with more than seven servers, throughput decreases"."""
    rates = {n: throughput(n, "hdd", 6000) for n in (2, 4, 6, 7, 9, 11, 13)}
    flat = [rates[n] for n in (2, 4, 6, 7)]
    assert max(flat) - min(flat) <= 2 * ABOUT * max(flat)
    assert min(flat) > rates[9] > rates[11] > rates[13]
    for n in (9, 11, 13):
        assert rates[n] == pytest.approx(throughput(n, "none"), rel=ABOUT)
    assert flat[0] < limit(2) / 5  # "a high price to pay"


# --- Figure 7, and arithmetic ------------------------------------------------------------------------

ROUND_TRIPS, FORCED = (50_000, 2_000_000, 20_000_000), (0, 50_000, 1_000_000, 50_000_000)
GRID = list(itertools.product((2, 5, 13), ROUND_TRIPS, (128, 1024, 16384), FORCED))


def gridded(servers: int, round_trip: int, size: int, force: int) -> Setting:
    disk = Disk("grid", force, force // 4, 500_000_000 if force else 0)
    return Setting(servers, disk, size=size, round_trip=round_trip, jitter=round_trip // 20)


def test_an_operation_alone_takes_its_ways_sending_and_one_forced_write() -> None:
    for place in GRID:
        setting = replace(gridded(*place), outstanding=1, operations=20)
        within = bounds(setting)
        for latency in measure(setting).latencies:
            assert within.least <= latency <= within.most, place


@pytest.mark.slow(seconds=4)
def test_throughput_is_the_least_of_network_window_and_forced_writes() -> None:
    """What is outstanding shares two forced writes: the one that goes on when an operation comes, and its own."""
    for k, place in list(enumerate(GRID))[::5]:  # all values of each
        outstanding = 1000 if k % 9 == 0 else (200, 30)[k % 2]
        setting = replace(gridded(*place), outstanding=outstanding, operations=5 * outstanding)
        (_, round_trip, size, force), within = place, bounds(setting)
        cycle = round_trip + 2 * force + (2 * outstanding * size if force else 0)  # 2 ns a byte
        expected = min(within.network, outstanding * 1e9 / cycle)
        rate = measure(setting).throughput
        assert 0.85 * expected <= rate <= 1.4 * expected, place
        assert rate <= 1.1 * within.throughput, place


def test_latency_hardly_grows_with_servers_beyond_the_forced_write() -> None:
    """Figure 7, as far as its text goes: milliseconds are its clock's, and the cache's price is "significant"."""
    means = {
        (n, d): measure(Setting(n, DISKS[d], outstanding=1, operations=60)).latency for n in (2, 13) for d in DISKS
    }
    assert means[2, "none"] < means[13, "none"] < means[2, "none"] + 100_000
    assert means[13, "cache"] < 1_000_000
    assert 25_000_000 < means[2, "hdd"] < 35_000_000
    assert means[13, "hdd"] == pytest.approx(means[2, "hdd"], rel=ABOUT)


# --- whose rules -------------------------------------------------------------------------------------


def test_the_steps_are_zabs_own() -> None:
    names = run.program().namespace
    for name in ("on_abcast", "l_3_1", "f_3_2", "l_3_2", "f_3_3", "deliver_up_to", "quorum", "commit"):
        assert names[name] is getattr(zab, name)
    assert names["send_to_leader"] is world.send_to_leader


def test_it_begins_where_recovery_ends() -> None:
    """Every field of every process is what a simulated recovery without a fault leaves, all three being in Q."""
    recovered = first_recovery()
    s = started()
    size = Size(3, 1, 1, 2)
    for field in Annotations(size, {}).fields(zab.State):
        for p in range(3):
            a, b = (getattr(state, field.name)[p] for state in (s, recovered))
            if isinstance(field.kind, Seq):
                a, b = len(a), len(b)
                assert a == 0
            elif field.name == "acks":  # of each proposal, of which there was none
                continue
            elif isinstance(field.kind, SetOf):
                a, b = ([q in members for q in range(3)] for members in (a, b))
            assert a == b, (field.name, p)


def first_recovery() -> run.StateView:
    """A recovery under the first process, in epoch 1, that nobody joins late."""
    for seed in range(400):
        s = simulate(Run(seed, protocol="zab", rounds=150, proposals=0)).state
        established = s.stage[0] == zab.ESTABLISHED and s.new_epoch[0] == 1
        if established and all(s.phase[p] == zab.BROADCAST for p in range(3)) and all(q in s.Q[0] for q in range(3)):
            return s
    raise AssertionError("no such recovery")


def started() -> run.StateView:
    s = run.StateView(run.program().layout)
    run.fill(s, Setting(3))
    run.machine().start(ctypes.addressof((ctypes.c_char * s.layout.total).from_buffer(s.buffer)))
    return s


def test_every_follower_has_the_leaders_history_in_order() -> None:
    setting = Setting(4, DISKS["cache"], operations=60, outstanding=7)
    s = run.play(setting)
    log = [(t.epoch, t.counter, t.value) for t in s.log[0]]
    assert log == [(1, k, k) for k in range(1, 61)]
    for p in range(4):
        history = [(t.epoch, t.counter, t.value) for t in s.history[p]]
        assert history == log[: len(history)]
        assert s.delivered_length[p] <= len(history)
    assert s.delivered_length[0] == 60


@pytest.mark.slow(seconds=2)
def test_cpython_and_machine_code_play_the_same_run() -> None:
    setting = Setting(3, DISKS["ssd"], operations=25, outstanding=6)
    s = run.StateView(run.program().layout)
    run.fill(s, setting)
    names = run.program().python
    names["start"](s)
    names["run"](s, 10**6)
    assert s.buffer == run.play(setting).buffer


def test_a_seed_is_a_run_and_another_is_another() -> None:
    setting = Setting(3, DISKS["hdd"], operations=50, outstanding=5)
    assert measure(setting) == measure(setting)
    assert measure(setting).latencies != measure(replace(setting, seed=2)).latencies


def test_what_is_out_of_range_is_refused() -> None:
    for wrong in ({"servers": 14}, {"servers": 1}, {"outstanding": 0}, {"operations": 10**6}, {"round_trip": -1}):
        with pytest.raises(ConfigError):
            Setting(**{"servers": 3, **wrong})  # type: ignore[arg-type]


# --- slow followers --------------------------------------------------------------------------------

LAG = HELD["--slow-by"][1]


@pytest.mark.parametrize("servers", [3, 5, 7])
def test_a_slow_minority_does_not_slow_the_quorum(servers: int) -> None:
    """LADIS'08 5: "a slow server will not affect bursty throughput since fast quorums of servers that do not contain
    the slow server can ack the messages". Nor does any operation wait for it that is alone."""
    alike = Setting(servers, DISKS["ssd"], operations=FEW)
    slow = replace(alike, slow=(servers - 1) // 2, slow_by=LAG)
    assert measure(slow).throughput == pytest.approx(measure(alike).throughput, rel=0.03)
    alone = replace(slow, outstanding=1, operations=60)
    assert max(measure(alone).latencies) <= bounds(replace(alone, slow=0)).most


@pytest.mark.parametrize(("servers", "slow", "unanimous"), [(3, 1, True), (13, 1, True), (2, 1, False), (5, 3, False)])
def test_a_quorum_that_needs_a_slow_server_waits_for_it(servers: int, slow: int, unanimous: bool) -> None:
    """Each operation goes to a slow server and back: where a quorum has to be all of them, or most are slow."""
    alike = Setting(servers, DISKS["ssd"], outstanding=100, operations=600)
    setting = replace(alike, slow=slow, slow_by=LAG, unanimous=unanimous)
    assert min(measure(setting).latencies) >= 2 * LAG
    assert measure(setting).throughput < measure(alike).throughput / 2
    assert min(measure(replace(setting, outstanding=1, operations=60)).latencies) >= 2 * LAG


def test_a_plan_says_what_slow_followers_make() -> None:
    few = ("--latency", "1ms", "--disk", "none", "--outstanding", "20", "--slow", "1")
    plain, needed = (json.loads(planned(*few, *more, "--json").stdout) for more in ((), ("--quorum", "all")))
    assert plain["throughput"]["mean"] > 0.9 * plain["alike"]["throughput"]
    assert needed["throughput"]["mean"] < 0.2 * needed["alike"]["throughput"]
    assert (plain["requested"]["survives"], needed["requested"]["survives"]) == (1, 0)
    assert "1 follower slow makes" in " ".join(planned(*few).stdout.split())


# --- over seeds ----------------------------------------------------------------------------------------


def test_points_gather_the_seeds_of_a_setting_and_settings_travel() -> None:
    settings = [s for s in points.figure_7([1, 2], ("hdd",)) if s.servers in (2, 5)]
    assert pickle.loads(pickle.dumps(settings)) == settings
    found = points.points(settings, [latency for _, latency in points.here(settings)])
    assert [(p.servers, p.disk) for p in found] == [(2, "hdd"), (5, "hdd")]
    assert all(p.low < p.mean < p.high for p in found)


@pytest.mark.slow(seconds=3)
def test_pictures_are_the_same_for_the_same_points() -> None:
    pytest.importorskip("matplotlib")
    from benchmarks.performance_pictures import latency_picture, throughput_picture

    found = [points.Point(n, d, 1.0, 2.0, 3.0) for d in points.PAPER_DISKS for n in points.SERVERS]
    for picture in (throughput_picture, latency_picture):
        made = picture(found)
        assert made == picture(found)
        assert made.startswith(b"<?xml")
        assert len(made) < 80_000


# --- zabcheck plan ---------------------------------------------------------------------------------------


def planned(*words: str) -> Result:
    return CliRunner().invoke(main, ["plan", *words], prog_name="zabcheck")


@pytest.mark.slow(seconds=3)
@pytest.mark.parametrize(
    ("words", "bound"),
    [
        ("--servers 4 --disk hdd --outstanding 100", "disk"),
        ("--servers 3 --disk none --latency 20ms --outstanding 20", "waiting"),
        ("--servers 13 --forced-write 50us", "interface"),
    ],
)
def test_a_plan_says_what_bounds_it(words: str, bound: str) -> None:
    answer = planned(*words.split(), "--json")
    assert answer.exit_code == 0
    said = json.loads(answer.stdout)
    assert said["bound"] == bound
    assert said["throughput"]["least"] <= said["throughput"]["mean"] <= said["throughput"]["most"]
    assert (said["more"] is None) == ("13" in words)
    assert said["assumptions"]


def test_a_plan_for_people_fits_a_terminal_and_prints_what_it_assumes() -> None:
    answer = planned("--outstanding", "20")
    assert answer.exit_code == 0
    assert "Assumptions" in answer.stdout
    assert "survives 1 crash, as before" in " ".join(answer.stdout.split())
    assert max(len(line) for line in answer.stdout.splitlines()) <= 80


VOTERS = "\n".join(f"server.{n}=h{n}:2888:3888" for n in range(1, 6)) + "\nserver.6=h6:2888:3888:observer\n"


def test_a_plan_reads_a_configuration(tmp_path: Path) -> None:
    """Its servers that vote are counted, and what the model leaves out is said."""
    (tmp_path / "zoo.cfg").write_text(VOTERS)
    answer = planned(str(tmp_path / "zoo.cfg"), "--outstanding", "20", "--json")
    read, counted = json.loads(answer.output)["assumptions"][:2]
    assert read.startswith("configuration: majorities of 5; 1 observer ignored")
    assert counted.startswith("5 servers, one leads")


def test_a_configuration_whose_quorums_are_no_majorities_is_refused(tmp_path: Path) -> None:
    """Two groups of two survive no crash, whatever four equal servers survive."""
    (tmp_path / "zoo.cfg").write_text(VOTERS.replace("server.5", "#") + "group.1=1:2\ngroup.2=3:4\n")
    answer = planned(str(tmp_path / "zoo.cfg"))
    assert answer.exit_code == 2
    assert "majorities of 2 groups" in answer.output
    assert "--servers 4" in answer.output


def test_the_grid_of_the_tests_spans_what_a_plan_may_ask() -> None:
    for k, name in ((0, "--servers"), (1, "--latency"), (2, "--size")):
        assert (min(place[k] for place in GRID), max(place[k] for place in GRID)) == HELD[name][:2]
    forced = [place[3] for place in GRID if place[3]]
    assert (min(forced), max(forced)) == HELD["--forced-write"][:2]
