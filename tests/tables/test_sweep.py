"""Sweeps: the grid, blocks of runs, the folder, Spark against a plain loop, and the command."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import random
import re
import shlex
import signal
import subprocess
import sys
import time
import xml.etree.ElementTree as ET
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from checker.cli import main
from checker.commands.sweep import run_of_command
from tests.patience import HANG, members, until
from tests.spark import LocalSpark
from traces.judging.simulated import judge
from traces.shorten.realise import command_line
from traces.spark import SparkFailed
from traces.sweep import job, store
from traces.sweep.block import COUNTS, HOLDS, NOT_REACHED, VIOLATED, block_table, properties_of
from traces.sweep.findings import NotRepeated, findings
from traces.sweep.grid import AXES, PROGRAM, Grid, grid_of, schedule_of, schedule_text
from traces.sweep.plots import interval
from traces.sweep.random_numbers import Draws, permuted
from traces.sweep.report import write_report
from traces.sweep.spot_check import SpotCheck, run_again
from traces.sweep.store import Store, StoreError, open_store
from traces.sweep.summary import Group, Summary, Together, VerdictTotals, summarise
from zabspec.model import ConfigError
from zabspec.simulator.dump import Dump, digest
from zabspec.simulator.run import Run, play

# --- the grid ------------------------------------------------------------------------------------

WIDE = Grid(
    seeds=("5:9", "100", "2:4"),
    variant=("none", "no-holes"),
    nodes=(3, 5),
    rounds=(600, 1000),
    proposals=(3, 0),
    delay=("1:3", "2:40"),
    partition=("none", "0,1,4,2"),
    schedule=("none", "crash 1@300 recover 1@450 cut 0:2@300"),
    faults=(0, 3),
)


def test_every_configuration_has_one_number() -> None:
    WIDE.check()
    assert WIDE.size == WIDE.count == 2**8 * 7
    seen = {tuple(WIDE.values(number).items()) for number in range(WIDE.count)}
    expected = itertools.product(*(getattr(WIDE, axis) for axis in AXES), (5, 6, 7, 8, 100, 2, 3))
    assert {tuple(value for _, value in items) for items in seen} == set(expected)
    assert [WIDE.values(number)["seed"] for number in range(8)] == [5, 6, 7, 8, 100, 2, 3, 5], (
        "the seed changes fastest"
    )


def test_the_run_of_a_number() -> None:
    question = replace(WIDE, seeds=("7",), variant=("no-holes",), nodes=(3,), faults=(0,))
    run = question.run(question.count - 1)
    schedule = tuple(schedule_of("cut 0:2@300 crash 1@300 recover 1@450"))
    assert run == Run(7, 3, 1000, 0, ((0, 1),), schedule, 2, 39, "db19", "no-holes"), "4,2 is out of range at 3 nodes"


def test_programs_that_go_together() -> None:
    question = Grid(protocol=("db19", "zab"), variant=("none", "no-holes", "no-promise"), network=("none", "lossy"))
    question.check()
    assert set(question.programs) == {
        ("db19", "none", "none", "none"),
        ("db19", "no-holes", "none", "none"),
        *(("zab", v, n, "none") for v in ("none", "no-promise") for n in ("none", "lossy")),
    }
    runs = [question.run(number) for number in range(0, question.count, 1000)]
    assert {(r.protocol, r.variant, r.network) for r in runs} == {
        tuple("" if w == "none" else w for w in program[:3]) for program in question.programs
    }


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({"seeds": ("5:5",)}, "START < STOP"),
        ({"seeds": ("1:9", "4")}, "--seeds has 4 twice"),
        ({"seeds": (f"{2**63}",)}, "below 2\\*\\*63"),
        ({"seeds": (f"1:{2**62}",)}, "at most 10,000,000,000 configurations, not 4,611,686,018,427,387,903"),
        ({"nodes": (3, 3)}, "--nodes has 3 twice"),
        ({"nodes": (3, 21)}, "--nodes must be 1 to 20, not 21"),
        ({"proposals": (64,)}, "at most 63 proposals, not 64"),
        ({"delay": ("3",)}, "--delay must be LEAST:MOST"),
        ({"delay": ("3:2",)}, "--delay must be LEAST:MOST"),
        ({"variant": ("no-such",)}, "there is no variant 'no-such' of db19"),
        (
            {"variant": ("no-promise",), "protocol": ("zab", "db19")},
            "--protocol db19 is compatible with none of the other values",
        ),
        ({"network": ("lossy",)}, "there is no network 'lossy' for db19"),
        ({"protocol": ("paxos",)}, "there is no protocol 'paxos'"),
        ({"partition": ("0,1,2",)}, "--partition must be pairs"),
        ({"schedule": ("crash 1",)}, "--schedule must be as"),
        ({"schedule": ("crash 4@5",), "nodes": (5, 3)}, "there is no process 4; they are 0 to 2"),
        ({"schedule": ("crash 1@700",), "rounds": (1000, 600)}, "ticks 0 to 599"),
        ({"schedule": ("lose 1:0@7",)}, "--lose is not for db19"),
        ({"faults": (17,)}, "--faults must be 0 to 16"),
        ({"fault_kinds": ("flood",)}, "there is no kind 'flood'"),
        ({"faults": (1,), "fault_kinds": ("lose",)}, "none of these kinds is possible for db19"),
        (
            {"faults": (1,), "fault_kinds": ("cut",), "nodes": (3, 1)},
            "none of these kinds is possible for db19 with --nodes 1",
        ),
    ],
)
def test_questions_that_are_wrong(changed: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ConfigError, match=sentence):
        Grid(**changed).check()


def test_a_question_is_its_json() -> None:
    assert grid_of(json.loads(json.dumps(WIDE.as_json()))) == WIDE
    for wrong in ({"seed": 1}, {"seeds": 7}, {"nodes": ["3"]}):
        with pytest.raises(ConfigError):
            grid_of(wrong)


@given(st.integers(1, 5000), st.integers(0, 9))
@settings(deadline=None, max_examples=40)
def test_a_sample_repeats_nothing(size: int, key: int) -> None:
    assert sorted(permuted(number, size, key) for number in range(size)) == list(range(size))


def test_a_sample_is_spread_over_the_grid() -> None:
    """Of 10^12 configurations, those of 4,000 are of every seed's leading digit alike, and two seeds share few."""
    question = Grid(seeds=("0:1000000000000",), sample=4000)
    seeds = [question.values(number)["seed"] for number in range(question.count)]
    tenths = Counter(seed // 10**11 for seed in seeds)
    assert len(tenths) == 10
    assert all(abs(found - 400) < 6 * 19 for found in tenths.values()), "within six deviations"
    other = replace(question, sample_seed=1)
    assert not set(seeds) & {other.values(number)["seed"] for number in range(4000)}
    assert replace(question, seeds=("0:10",)).count == 10, "a sample larger than the grid is the grid"


def test_draws_are_the_same_everywhere() -> None:
    """Written down once: sweeps of long ago must draw the same."""
    draws = Draws("x")
    assert [draws.below(1000) for _ in range(10)] == [145, 75, 676, 140, 617, 72, 731, 960, 585, 799]
    assert [permuted(number, 1000, 5) for number in range(6)] == [805, 377, 153, 736, 942, 176]


@pytest.mark.slow(seconds=1)
@given(st.integers(0, 2**63 - 1), st.integers(1, 16), st.integers(1, 7), st.integers(1, 2000), st.booleans())
@settings(deadline=None, max_examples=200)
def test_random_faults_make_runs_that_can_be_written_down(
    seed: int, faults: int, nodes: int, rounds: int, zab: bool
) -> None:
    """What is drawn is allowed, in the right order, and the command line means the same run."""
    question = Grid(
        seeds=(str(seed),), nodes=(nodes,), rounds=(rounds,), faults=(faults,), protocol=("zab" if zab else "db19",)
    )
    question.check()
    values = question.values(0)
    run, drawn = question.run_of(values)
    assert run.faults == drawn == schedule_of(schedule_text(drawn))
    assert run_of_command(command_line(run)) == run
    begun = sum(f.kind not in ("heal", "recover") for f in drawn)
    assert faults <= begun <= 2 * faults, "a cut is one way or both"
    ends = {"cut": "heal", "crash": "recover"}
    for kind, end in ends.items():
        begun_at = sorted((f.a, f.b) for f in drawn if f.kind == kind)
        assert begun_at == sorted((f.a, f.b) for f in drawn if f.kind == end)


def test_every_kind_of_fault_is_drawn() -> None:
    question = Grid(seeds=("0:200",), protocol=("zab",), faults=(4,))
    kinds = Counter(f.kind for number in range(question.count) for f in question.run(number).faults)
    assert set(kinds) == {"cut", "heal", "crash", "recover", "timeout", "lose"}
    assert all(100 < kinds[kind] < 500 for kind in ("crash", "timeout", "lose")), kinds


# --- a block -------------------------------------------------------------------------------------

SMALL = Grid(
    seeds=("1:41",), variant=("none", "repaired"), nodes=(3, 2), rounds=(600,), proposals=(3,), faults=(0, 2),
    delay=("1:60",),
)  # fmt: skip


def plain_rows(question: Grid) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = block_table(question, range(question.count)).to_pylist()
    return rows


@pytest.mark.slow(seconds=4)
def test_a_row_is_what_simulate_says() -> None:
    """Digest, verdicts and counts, against the unobserved run, the judged one, and states read a field at a time."""
    for row in plain_rows(SMALL)[::11]:
        run = SMALL.run(row["number"])
        simulator = play(run)
        assert row["sha256"] == digest(Dump(simulator.layout).canonical(simulator.state))
        judged, said = judge(run)
        words = {v.of.name: VIOLATED if not v.held else HOLDS if v.met else NOT_REACHED for v in said}
        assert {name: row[name] for name in words} == words
        s = judged.state
        counts = {
            "elections": sum(s.established),
            "commits": len({t.value for p in range(run.nodes) for t in s.delivered[p]}),
            "messages": s.seq,
            "abcasts": s.abcasts,
        }
        assert {name: row[name] for name in COUNTS} == counts
        assert (row["seed"], row["nodes"], row["error"]) == (run.seed, run.nodes, "")


def test_a_run_without_an_end_is_a_row_too(monkeypatch: pytest.MonkeyPatch) -> None:
    from zabspec.simulator.run import SimulationError

    def burst(run: Run) -> Any:
        raise SimulationError("queue is full at tick 7")

    monkeypatch.setattr("traces.sweep.block.judge", burst)
    row = block_table(SMALL, [3]).to_pylist()[0]
    assert (row["error"], row["sha256"], row["messages"], row["prefix"]) == (
        "queue is full at tick 7",
        None,
        None,
        None,
    )


@pytest.mark.slow(seconds=2)
def test_protocols_side_by_side() -> None:
    """What a protocol is not judged by is empty."""
    question = Grid(seeds=("1:3",), protocol=("zab", "db19"), rounds=(400,), proposals=(2,))
    one, *_, last = plain_rows(question)
    assert (one["protocol"], last["protocol"]) == ("zab", "db19")
    assert one["delivered-stands"] is None
    assert last["delivered-stands"] is not None


# --- the folder ----------------------------------------------------------------------------------


def opened(folder: Path, question: Grid = SMALL, block: int = 20) -> Store:
    return open_store(folder, question, lambda _: block)


def test_a_finished_block_is_not_run_again(tmp_path: Path) -> None:
    place = opened(tmp_path / "new" / "folder")
    assert place.missing() == list(range(16))
    assert place.run_block(7) == 20
    assert place.missing() == [k for k in range(16) if k != 7]
    assert opened(place.folder, block=99) == place, "the blocks stay as they were cut"
    assert place.row(7 * 20 + 3)["number"] == 143
    assert open_store(place.folder, None, lambda _: 1) == place


def test_damaged_and_unfinished_files_are_not_believed(tmp_path: Path) -> None:
    place = opened(tmp_path)
    for block in (0, 1, 2):
        place.run_block(block)
    whole = place.part(0).read_bytes()
    place.part(0).write_bytes(whole[:-7])
    place.part(1).write_bytes(place.part(15).parent.joinpath("block-00000002.parquet").read_bytes()[:0])
    short = block_table(SMALL, range(40, 59))
    pq.write_table(short, place.part(2))
    (place.runs / ".new-abc").write_bytes(whole)
    assert place.missing() == list(range(16))
    place.clear()
    assert list(place.runs.iterdir()) == []


def test_blocks_are_the_same_whoever_runs_them(tmp_path: Path) -> None:
    one, two = opened(tmp_path / "one"), opened(tmp_path / "two")
    for place in (one, two):
        place.run_block(3)
    first = one.part(3).read_bytes()
    assert first == two.part(3).read_bytes()
    one.run_block(3)
    assert one.part(3).read_bytes() == first


def test_how_a_sweep_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    """A block is worth half a second, there are enough of them to share, and not more than a folder should hold."""

    def cut(seeds: int, seconds: float) -> int:
        clock = itertools.count()
        monkeypatch.setattr(job, "answer", lambda run: None)
        monkeypatch.setattr("time.process_time", lambda: next(clock) * seconds)
        return job.block_for(Grid(seeds=(f"0:{seeds}",)))

    assert cut(10**6, 0.001) == 500
    assert cut(6400, 0.001) == 100
    assert cut(10**6, 10.0) == 50, "20,000 blocks"
    assert cut(1, 10.0) == cut(3, 0.001) == 1


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda folder: (folder / "thesis.tex").write_text("x"), "has something other than a sweep"),
        (lambda folder: (folder / "sweep.json").write_text("{}"), "not of a sweep of this version"),
        (lambda folder: (folder / "sweep.json").write_text("[]"), "not of a sweep of this version"),
        (lambda folder: (folder / "sweep.json").write_text("\\0"), "has no valid request"),
        (lambda folder: (folder / "sweep.json").mkdir(), "Is a directory"),
        (
            lambda folder: opened(folder, replace(SMALL, nodes=(3, 5))),
            "of another request: its --nodes is 3 5, not 3 2",
        ),
        (lambda folder: altered(folder, "sources", "0"), "made by another version of zabcheck"),
        (lambda folder: altered(folder, "question", {"seeds": []}), "has no valid request"),
    ],
)
def test_folders_that_hold_something_else(tmp_path: Path, make: Any, sentence: str) -> None:
    make(tmp_path)
    with pytest.raises(StoreError, match=sentence):
        opened(tmp_path)


def altered(folder: Path, name: str, value: Any) -> None:
    place = opened(folder)
    (folder / store.MANIFEST).write_text(json.dumps(place.manifest | {name: value}))


def test_folders_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(StoreError, match="Not a directory"):
        opened(tmp_path / "file")
    with pytest.raises(StoreError, match=r"file/x.*Not a directory"):
        opened(tmp_path / "file" / "x")
    with pytest.raises(StoreError, match="cannot be written: "):
        opened(Path("/proc/sweep"))
    with pytest.raises(StoreError, match="has no sweep"):
        open_store(tmp_path / "none", None, lambda _: 1)


def test_a_full_disk_leaves_no_half_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = opened(tmp_path)

    def full(handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        place.run_block(0)
    assert list(place.runs.iterdir()) == []
    done = CliRunner().invoke(main, ["sweep", str(tmp_path / "other"), "--seeds", "1:9"])
    assert (done.exit_code, done.stdout, done.stderr) == (
        3,
        "",
        "zabcheck: No space left on device; there is no verdict\n",
    )


# --- Spark against a plain loop ------------------------------------------------------------------


@pytest.fixture(scope="module")
def spark(local_spark: LocalSpark) -> Any:
    """A session that tries tasks again, and runs slow ones twice."""
    return local_spark.get()


@pytest.fixture(scope="module")
def swept(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Store:
    """SMALL, swept on Spark while tasks fail and files of killed workers lie about."""
    place = opened(tmp_path_factory.mktemp("sweep") / "of [1]{2}*? 3")  # Spark reads more into names than is there
    (place.runs / ".new-killed").write_bytes(b"half")
    place.run_block(2)

    class Failing(job.RunBlock):
        def __call__(self, block: int) -> int:
            once = self.store.folder.parent / f"failed-{self.store.folder.name}-{block}"
            if block % 3 == 0 and not once.exists():
                once.touch()
                self.store.run_block(block)  # finished, and the driver does not hear of it
                raise ValueError("lost")
            if block % 5 == 1:
                time.sleep(0.5)  # slow enough to be run twice
            return super().__call__(block)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(job, "RunBlock", Failing)
        job.run_missing(spark, place, place.missing())
    return place


def table_of(place: Store) -> list[dict[str, Any]]:
    return [row for block in range(place.blocks) for row in pq.read_table(place.part(block)).to_pylist()]


@pytest.mark.slow
def test_spark_gives_what_a_plain_loop_gives(swept: Store) -> None:
    assert table_of(swept) == plain_rows(SMALL)
    assert sorted(path.name for path in swept.runs.iterdir()) == [swept.part(k).name for k in range(swept.blocks)]
    assert swept.missing() == []


def plain_group(rows: list[dict[str, Any]], names: tuple[str, ...]) -> Group:
    tallies = {}
    for name in names:
        said = Counter(row[name] for row in rows)
        broke = [row["number"] for row in rows if row[name] == VIOLATED]
        tallies[name] = VerdictTotals(said[HOLDS], said[NOT_REACHED], said[VIOLATED], min(broke, default=-1))
    return Group(
        len(rows),
        sum(any(row[name] == VIOLATED for name in names) for row in rows),
        sum(bool(row["error"]) for row in rows),
        {count: sum(row[count] for row in rows) for count in COUNTS},
        tallies,
    )


def plain_summary(question: Grid, rows: list[dict[str, Any]]) -> Summary:
    """The same in plain Python."""
    names = properties_of(question)

    def grouped(*axes: str) -> dict[Any, Group]:
        keys = dict.fromkeys(tuple(row[axis] for axis in axes) for row in rows)
        return {key: plain_group([r for r in rows if tuple(r[a] for a in axes) == key], names) for key in keys}

    broke: dict[Any, list[int]] = {}
    for row in rows:
        those = tuple(name for name in names if row[name] == VIOLATED)
        if those:
            broke.setdefault((tuple(row[axis] for axis in PROGRAM), those), []).append(row["number"])
    together = [Together(p, those, len(numbers), min(numbers)) for (p, those), numbers in broke.items()]
    return Summary(
        plain_group(rows, names),
        {axis: {key[0]: group for key, group in grouped(axis).items()} for axis in question.swept},
        grouped(*PROGRAM),
        tuple(sorted(together, key=lambda t: (-t.runs, t.first))),
    )


@pytest.mark.slow
def test_spark_adds_up_what_a_plain_loop_does(spark: Any, swept: Store) -> None:
    assert summarise(spark, swept) == plain_summary(SMALL, plain_rows(SMALL))


@pytest.mark.slow
def test_a_worker_that_does_not_see_the_folder(spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    elsewhere = opened(tmp_path / "sweep")
    os.rename(elsewhere.folder, tmp_path / "away")
    with pytest.raises(Exception, match=r"does not see .*: all must share it"):
        job.run_missing(spark, elsewhere, [0])
    os.rename(tmp_path / "away", elsewhere.folder)

    class Idle(job.RunBlock):
        def __call__(self, block: int) -> int:
            return block

    monkeypatch.setattr(job, "RunBlock", Idle)
    with pytest.raises(SparkFailed, match="blocks are missing"):
        job.run_missing(spark, elsewhere, [0, 1])


# --- the report ----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def reported(tmp_path_factory: pytest.TempPathFactory) -> tuple[Store, Summary]:
    """SMALL by a plain loop, with its report."""
    place = opened(tmp_path_factory.mktemp("report"))
    for block in place.missing():
        place.run_block(block)
    summary = plain_summary(SMALL, plain_rows(SMALL))
    write_report(place, summary, findings(place, summary, run_of_command), SpotCheck(300, 57_213))
    return place, summary


@pytest.mark.slow(seconds=1)
def test_findings_are_the_first_of_their_program(reported: tuple[Store, Summary]) -> None:
    place, summary = reported
    rows = table_of(place)
    found = findings(place, summary, run_of_command)
    assert {(f.program, f.name) for f in found} == {
        (tuple(row[axis] for axis in PROGRAM), name)
        for row in rows
        for name in properties_of(SMALL)
        if row[name] == VIOLATED
    }
    assert {"prefix", "total-order", "unique-zxid", "delivered-is-chosen"} <= {f.name for f in found}
    for f in found:
        same = [row for row in rows if tuple(row[axis] for axis in PROGRAM) == f.program]
        assert f.number == next(row["number"] for row in same if row[f.name] == VIOLATED)
        assert f.violated == sum(row[f.name] == VIOLATED for row in same)


@pytest.mark.slow(seconds=3)
def test_a_row_that_is_not_done_again_is_not_reported(reported: tuple[Store, Summary], tmp_path: Path) -> None:
    place, summary = reported
    other = opened(tmp_path)
    for block in range(other.blocks):
        other.part(block).write_bytes(place.part(block).read_bytes())
    number = summary.every.tallies["prefix"].first
    table = pq.read_table(other.part(number // other.block)).to_pylist()
    table[number % other.block]["sha256"] = "0" * 64
    pq.write_table(
        block_table(SMALL, []).from_pylist(table, schema=block_table(SMALL, []).schema),
        other.part(number // other.block),
    )
    with pytest.raises(NotRepeated, match=f"run {number} "):
        findings(other, summary)
    with pytest.raises(NotRepeated, match="is not the run of row"):
        findings(place, summary, lambda command: Run(1))


@pytest.mark.slow(seconds=1)
def test_the_report_stands_alone(reported: tuple[Store, Summary]) -> None:
    place, summary = reported
    html = (place.folder / "report.html").read_text()
    markdown = (place.folder / "report.md").read_text()
    assert not re.search(r"(src|href)=.(?!#)", html.replace('xlink:href="#', "")), "nothing is fetched"
    for axis in SMALL.swept:
        picture = place.folder / "plots" / f"{axis}.svg"
        assert ET.parse(picture).getroot().tag.endswith("svg")
        assert f"](plots/{axis}.svg)" in markdown
    assert html.count("<svg") == len(SMALL.swept) + 1
    for name, tally in summary.every.tallies.items():
        assert f"| {name} | {tally.violated:,} | {tally.holds:,} | {tally.not_reached:,} |" in markdown
        assert f'>{name}</td><td class="n" data-label="violated">{tally.violated:,}</td>' in html
    assert SpotCheck(300, 57_213).sentence in markdown
    assert SpotCheck(300, 57_213).sentence in html
    for f in findings(place, summary):
        assert f.command in markdown
        assert f.command in html
    for axis, groups in summary.axes.items():
        for value, group in groups.items():
            assert f"| {value} | {group.runs:,} | {group.broken:,} of {group.runs:,}" in markdown, axis


@pytest.mark.slow(seconds=1)
def test_the_report_is_the_same_when_written_again(reported: tuple[Store, Summary]) -> None:
    place, summary = reported
    files = [*place.folder.glob("report.*"), *place.folder.glob("plots/*")]
    before = {path: path.read_bytes() for path in files}
    write_report(place, summary, findings(place, summary), SpotCheck(300, 57_213))
    assert {path: path.read_bytes() for path in files} == before
    assert len(files) == 2 + 1 + len(SMALL.swept)


def test_a_sweep_that_finds_nothing_has_a_report(tmp_path: Path) -> None:
    question = Grid(seeds=("1:5",), protocol=("zab",), rounds=(300,), proposals=(1,))
    place = opened(tmp_path, question)
    place.run_block(0)
    summary = plain_summary(question, plain_rows(question))
    assert summary.every.broken == 0
    write_report(place, summary, findings(place, summary), run_again(place, place.check()))
    text = (tmp_path / "report.md").read_text()
    assert "none violates any of" in text
    assert "this is not a proof" in text
    assert "Never checked non-vacuously: " in text
    assert list((tmp_path / "plots").iterdir()) == []


def test_intervals() -> None:
    """Wilson's, against figures worked out by hand, and his coverage by trial."""
    assert interval(0, 10) == pytest.approx((0, 0.27753), abs=1e-4)
    assert interval(5, 10) == pytest.approx((0.23659, 0.76341), abs=1e-4)
    assert interval(10, 10) == pytest.approx((0.72247, 1), abs=1e-4)
    source = random.Random(1)
    inside = 0
    for _ in range(1000):
        low, high = interval(sum(source.random() < 0.1 for _ in range(100)), 100)
        inside += low <= 0.1 <= high
    assert 920 <= inside <= 980


# --- the command ---------------------------------------------------------------------------------


def refused(*words: str) -> str:
    """What the command says to a question that is wrong."""
    done = CliRunner().invoke(main, ["sweep", *words])
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1
    return done.stderr


def test_wrong_questions_are_refused_before_anything_starts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = str(tmp_path / "x")
    assert "--seeds is missing" in refused(folder, "--nodes", "3")
    assert "'x' is none" in refused(folder, "--seeds", "1:9", "--nodes", "3,x")
    assert "has an empty one" in refused(folder, "--seeds", "1:9,")
    assert "--nodes must be 1 to 20, not 21" in refused(folder, "--seeds", "1:9", "--nodes", "21")
    assert "--sample must be 1 or more" in refused(folder, "--seeds", "1:9", "--sample", "0")
    assert "--sample-seed needs --sample" in refused(folder, "--seeds", "1:9", "--sample-seed", "1")
    assert "--nodes is given twice" in refused(folder, "--nodes", "3", "--nodes", "5")
    assert "has no sweep" in refused(folder)
    assert not (tmp_path / "x").exists()
    (tmp_path / "file").write_text("x")
    assert "Not a directory" in refused(str(tmp_path / "file"), "--seeds", "1:9")
    opened(tmp_path / "other")
    assert "of another request: its --seeds is 1:41, not 1:9" in refused(str(tmp_path / "other"), "--seeds", "1:9")
    monkeypatch.setattr("traces.spark.session.find_spec", lambda name: None if name == "pyspark" else name)
    assert "pyspark is not installed; `pip install 'zabcheck[spark]'`" in refused(folder, "--seeds", "1:9")
    monkeypatch.undo()
    monkeypatch.setattr("traces.spark.java.find_spec", lambda name: None)
    monkeypatch.setattr("pyspark.SparkContext._active_spark_context", None)  # that of the tests above
    monkeypatch.setenv("PATH", "")
    monkeypatch.setenv("JAVA_HOME", "")
    assert "needs Java 17 or later" in refused(folder, "--seeds", "1:9")
    assert not (tmp_path / "x").exists(), "what nothing was run for does not bind a folder to a question"


# with ZABCHECK_EVERY a hundred thousand
ALL = 100_000 if os.environ.get("ZABCHECK_EVERY") else 8_000
SEEDS = f"1:{ALL // 4 + 1}"
QUESTION = ["--seeds", SEEDS, "--rounds", "600", "--proposals", "3", "--delay", "1:3,1:60", "--faults", "0,4"]


def command(folder: Path, *words: str) -> subprocess.Popen[str]:
    program = str(Path(sys.executable).parent / "zabcheck")
    return subprocess.Popen(
        [program, "sweep", str(folder), *words, "--master", "local[2]"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
    )  # fmt: skip


def finished(folder: Path) -> list[Path]:
    return sorted((folder / "runs").glob("block-*.parquet"))


@pytest.mark.slow
def test_thousands_of_runs_killed_and_gone_on_with(tmp_path: Path) -> None:
    """Killed in the middle, gone on with, and its report finds what is known to be wrong with db19."""
    folder = tmp_path / "out"
    first = command(folder, *QUESTION)
    blocks = -(-ALL // json.loads(wait_for(folder / "sweep.json", first))["block"])
    while len(finished(folder)) < blocks // 3:
        assert first.poll() is None, first.communicate()
        time.sleep(0.05)
    os.killpg(first.pid, signal.SIGKILL)
    first.communicate()
    assert until(lambda: not members(first.pid))
    before = {path: (path.stat().st_ino, path.stat().st_mtime_ns) for path in finished(folder)}
    assert blocks // 3 <= len(before) < blocks
    second = command(folder, *QUESTION, "--json")
    out, err = second.communicate()
    assert (second.returncode, err) == (1, "")
    assert {path: (path.stat().st_ino, path.stat().st_mtime_ns) for path in before} == before, "not run again"
    said = json.loads(out)
    assert (said["runs"], said["unfinished"], said["exit_code"]) == (ALL, 0, 1)
    found = {f["property"]: f for f in said["first"]}
    known = {"prefix", "total-order", "local-primary-order", "po-causal-order", "agreement", "unique-zxid"}
    known |= {"delivered-is-chosen", "delivered-stands", "primary-integrity", "chosen-in-later-histories"}
    assert known <= set(found), "benchmarks/results/db19.md, classes 1 to 4, 6, 8 and 9"
    for command_text in {f["command"] for f in found.values()}:
        done = CliRunner().invoke(main, [*shlex.split(command_text)[1:], "--json"])
        assert done.exit_code == 1
        shown = json.loads(done.stdout)
        broken = {p["name"]: p["tick"] for p in shown["properties"] if p["verdict"] == "violated"}
        for f in found.values():
            if f["command"] == command_text:
                assert (broken[f["property"]], shown["sha256"]) == (f["tick"], f["sha256"])
    rows = pq.read_table(folder / "runs", columns=["number", "prefix"]).to_pydict()
    assert sorted(rows["number"]) == list(range(ALL))
    assert rows["prefix"].count(VIOLATED) == said["properties"]["prefix"]["violated"]
    for axis, values in said["axes"].items():
        assert sum(v["runs"] for v in values) == ALL, axis
    assert (folder / "report.html").exists()


def wait_for(path: Path, process: subprocess.Popen[str]) -> str:
    while not path.exists():
        assert process.poll() is None, process.communicate()
        time.sleep(0.05)
    return path.read_text()


@pytest.mark.slow
def test_ctrl_c_says_how_far_it_got(tmp_path: Path) -> None:
    folder = tmp_path / "out"
    process = command(folder, "--seeds", "1:200001")
    try:
        wait_for(folder / "sweep.json", process)
        while not finished(folder):
            assert process.poll() is None, process.communicate()
            time.sleep(0.1)
        os.killpg(process.pid, signal.SIGINT)
        out, err = process.communicate(timeout=HANG)
    except BaseException:
        os.killpg(process.pid, signal.SIGKILL)
        raise
    assert (process.returncode, out) == (3, "")
    told = re.fullmatch(
        r"zabcheck: interrupted with ([\d,]+) of 200,000 configurations finished; `.*` continues\n", err
    )
    assert told, err
    block = json.loads((folder / "sweep.json").read_text())["block"]
    assert int(told[1].replace(",", "")) == block * len(finished(folder))
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, 0)
        assert until(lambda: not members(process.pid))
