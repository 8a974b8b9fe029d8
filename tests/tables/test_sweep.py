"""Sweeps: the grid, blocks of runs, the folder, Spark against a plain loop, and the command."""

from __future__ import annotations

import itertools
import json
import os
import random
import re
import shlex
import signal
import subprocess
import sys
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
from checker.requests.simulate import Simulate
from tests.commands.running import request_of
from tests.patience import HANG, members, until
from tests.spark import LocalSpark
from traces.judging.simulated import judge
from traces.shorten.realise import command_line
from traces.tables.sweep.block import COUNTS, HOLDS, NOT_REACHED, VIOLATED, block_table, properties_of
from traces.tables.sweep.events import events_of
from traces.tables.sweep.findings import NotRepeated, findings
from traces.tables.sweep.frames import runs_frame
from traces.tables.sweep.grid import AXES, PROGRAM, Draws, Grid, permuted, schedule_of, schedule_text
from traces.tables.sweep.local import write_tables
from traces.tables.sweep.report import interval, write_report
from traces.tables.sweep.summary import (
    Group,
    Summary,
    Together,
    VerdictTotals,
    alike_in_frame,
    alike_in_table,
    summary_of,
)
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


def run_of_command(command: str) -> Run:
    """Return the run that a command line of `zabcheck simulate` describes."""
    words = shlex.split(command)
    assert words[:2] == ["zabcheck", "simulate"]
    request = request_of("simulate", *words[2:])
    assert isinstance(request, Simulate)
    return request.run()


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
            "messages": s.sim_seq,
            "abcasts": s.abcasts,
        }
        assert {name: row[name] for name in COUNTS} == counts
        assert (row["seed"], row["nodes"], row["error"]) == (run.seed, run.nodes, "")


def test_a_run_without_an_end_is_a_row_too(monkeypatch: pytest.MonkeyPatch) -> None:
    from zabspec.simulator.run import SimulationError

    def burst(run: Run) -> Any:
        raise SimulationError("queue is full at tick 7")

    monkeypatch.setattr("traces.tables.sweep.block.judge", burst)
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


# --- processes of this machine, and what their rows come to -------------------------------------------


def test_processes_come_to_what_a_plain_loop_comes_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows and events, in order; nothing is there before all is."""
    monkeypatch.setattr("traces.tables.sweep.local.BLOCK", 3)
    few = replace(SMALL, seeds=("10:12",))
    seen: list[int] = []
    table = write_tables(few, tmp_path, True, 2, seen.append)
    assert seen == [*range(3, few.count, 3), few.count]
    assert table.to_pylist() == pq.read_table(tmp_path / "runs.parquet").to_pylist() == plain_rows(few)
    events = pq.read_table(tmp_path / "events.parquet")
    assert events.to_pylist() == [row for n in range(few.count) for t in events_of(few, n) for row in t.to_pylist()]


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


@pytest.fixture(scope="module")
def rows() -> Any:
    return block_table(SMALL, range(SMALL.count))


@pytest.mark.slow(seconds=1)
def test_rows_are_added_up_as_plain_python_does(rows: Any) -> None:
    assert summary_of(SMALL, alike_in_table(SMALL, rows)) == plain_summary(SMALL, plain_rows(SMALL))


@pytest.mark.slow
def test_spark_plays_and_adds_up_what_a_plain_loop_does(local_spark: LocalSpark, rows: Any, tmp_path: Path) -> None:
    """While tasks are run twice: the DataFrame is the table, and its groups are the same."""
    frame = runs_frame(local_spark.get(), SMALL, partitions=5)
    frame.write.parquet(str(tmp_path / "runs"))
    written = local_spark.get().read.parquet(str(tmp_path / "runs"))
    assert [row.asDict() for row in written.orderBy("number").collect()] == rows.to_pylist()
    here, there = alike_in_table(SMALL, rows), alike_in_frame(SMALL, written)
    assert sorted(map(repr, here)) == sorted(map(repr, there))


# --- the report ----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def reported(rows: Any, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Summary, Any]:
    """SMALL, with its report."""
    folder, summary = tmp_path_factory.mktemp("report"), summary_of(SMALL, alike_in_table(SMALL, rows))
    found = findings(SMALL, summary, lambda k: rows["sha256"][k].as_py(), run_of_command)
    write_report(folder, SMALL, summary, found)
    return folder, summary, found


@pytest.mark.slow(seconds=1)
def test_findings_are_the_first_of_their_program(reported: Any, rows: Any) -> None:
    _, summary, found = reported
    table = rows.to_pylist()
    assert {(f.program, f.name) for f in found} == {
        (tuple(row[axis] for axis in PROGRAM), name)
        for row in table
        for name in properties_of(SMALL)
        if row[name] == VIOLATED
    }
    assert {"prefix", "total-order", "unique-zxid", "delivered-is-chosen"} <= {f.name for f in found}
    for f in found:
        same = [row for row in table if tuple(row[axis] for axis in PROGRAM) == f.program]
        assert f.number == next(row["number"] for row in same if row[f.name] == VIOLATED)
        assert (f.violated, f.tested) == (
            sum(row[f.name] == VIOLATED for row in same), sum(row[f.name] in (VIOLATED, HOLDS) for row in same),
        )  # fmt: skip
    number = summary.every.tallies["prefix"].first
    digests = rows["sha256"].to_pylist()
    digests[number] = "0" * 64
    with pytest.raises(NotRepeated, match=f"run {number} "):
        findings(SMALL, summary, digests.__getitem__)
    with pytest.raises(NotRepeated, match="is not the run of row"):
        findings(SMALL, summary, rows["sha256"].to_pylist().__getitem__, lambda command: Run(1))


@pytest.mark.slow(seconds=1)
def test_the_report_stands_alone(reported: Any) -> None:
    folder, summary, found = reported
    html, markdown = ((folder / f"report.{end}").read_text() for end in ("html", "md"))
    assert not re.search(r"(src|href)=.(?!#)", html.replace('xlink:href="#', "")), "nothing is fetched"
    for axis in SMALL.swept:
        picture = folder / "plots" / f"{axis}.svg"
        assert ET.parse(picture).getroot().tag.endswith("svg")
        assert f"](plots/{axis}.svg)" in markdown
    assert html.count("<svg") == len(SMALL.swept) + 1
    for name, tally in summary.every.tallies.items():
        assert f"| {name} | {tally.violated:,} | {tally.holds:,} | {tally.not_reached:,} |" in markdown
        assert f'>{name}</td><td class="n" data-label="violated">{tally.violated:,}</td>' in html
        low, high = interval(tally.violated, tally.tested)
        assert not tally.tested or f"{100 * low:.3g} to {100 * high:.3g} %" in html, (
            "of the runs that put it to the test"
        )
    assert all(f.command in markdown and f.command in html for f in found)
    for axis, groups in summary.axes.items():
        for value, group in groups.items():
            assert f"| {value} | {group.runs:,} | {group.broken:,} of {group.runs:,}" in markdown, axis
    files = [*folder.glob("report.*"), *folder.glob("plots/*")]
    before = {path: path.read_bytes() for path in files}
    write_report(folder, SMALL, summary, found)
    assert {path: path.read_bytes() for path in files} == before, "it is the same when it is written again"


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


@pytest.mark.parametrize(("proposals", "exit_code"), [(1, 0), (0, 3)])
def test_a_sweep_that_finds_nothing_has_pictures(tmp_path: Path, proposals: int, exit_code: int) -> None:
    """If nothing was broadcast either, which is no verdict."""
    words = ["--protocol", "zab", "--rounds", "300", "--proposals", str(proposals), "--nodes", "2,3"]
    done = CliRunner().invoke(main, ["sweep", str(tmp_path / "x"), "--seeds", "1:4", *words, "--json"])
    assert done.exit_code == exit_code, done.output
    text = (tmp_path / "x" / "report.md").read_text()
    assert "none violates any of" in text
    assert "this is not a proof" in text
    assert "Put to the test in no run: " in text
    pictures = {path.stem: path.read_text() for path in (tmp_path / "x" / "plots").iterdir()}
    assert ("<text" in pictures["rates"], "nodes" in pictures) == (True, exit_code == 0)
    assert Path(json.loads(done.stdout)["table"]).exists()  # a folder, where a session of Spark is there


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
    assert "--processes is for this machine" in refused(folder, "--seeds", "1:9", "--processes", "2", "--master", "x")
    assert not (tmp_path / "x").exists()
    (tmp_path / "file").write_text("x")
    assert "File exists" in refused(str(tmp_path / "file"), "--seeds", "1:9")
    (tmp_path / "other" / "runs").mkdir(parents=True)
    assert "has runs already" in refused(str(tmp_path / "other"), "--seeds", "1:9")
    monkeypatch.setattr("checker.tables.requests.sweep.has_session", lambda: False)
    assert "an address is written by Spark" in refused("s3a://key:secret@lake/x", "--seeds", "1:9")
    assert "secret" not in refused("s3a://key:secret@lake/x", "--seeds", "1:9")
    monkeypatch.setattr("zabspec.extras.find_spec", lambda name: None if name == "matplotlib" else name)
    assert "needs matplotlib, which `pip install 'zabcheck[plots]'` installs" in refused(folder, "--seeds", "1:9")


@pytest.mark.slow
def test_ctrl_c_says_how_far_it_got(tmp_path: Path) -> None:
    """And no table is there."""
    program = [str(Path(sys.executable).parent / "zabcheck"), "sweep", str(tmp_path / "x"), "--seeds", "1:1000001"]
    process = subprocess.Popen(
        [*program, "--processes", "2"], stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    assert until(lambda: (tmp_path / "x").exists() and len(members(process.pid)) >= 3)
    os.killpg(process.pid, signal.SIGINT)
    _, err = process.communicate(timeout=HANG)
    assert (process.returncode, "of 1,000,000 configurations; no table was written" in err) == (3, True), err
    assert [*(tmp_path / "x").iterdir()] == []
    assert until(lambda: not members(process.pid))
