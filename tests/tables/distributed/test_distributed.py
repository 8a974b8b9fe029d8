"""The exploration on Spark: the local engine's answer whatever happens to tasks, workers and the driver.

Most configurations are small and run without a job where a level is tiny, as they do for a user; `few`
says up to how many states a level is expanded here.
"""

from __future__ import annotations

import contextlib
import copy
import dataclasses
import importlib.util
import itertools
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("numpy")
if importlib.util.find_spec("pyspark") is None:  # imported by what needs it: half a second, in every worker
    pytest.skip("no pyspark here", allow_module_level=True)
pytest.importorskip("pyarrow")

import numpy as np
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from checker.cli import main
from checker.errors import RequestError
from checker.explore.breadth_first import Explorer
from checker.explore.checkpoints import checkpoint as checkpoints
from checker.explore.checkpoints.checkpoint import Checkpoint, Level, LevelPart, Refused, located
from checker.explore.checkpoints.files import NOTHING, File
from checker.explore.checkpoints.task import ExplorationTask
from checker.explore.compiled import Compiled
from checker.explore.result import Exploration, Limits
from checker.requests.explore import Explore
from checker.tables.distributed import absorb, code, expand, keep, workspace
from checker.tables.distributed.cluster import Cluster, Here
from checker.tables.distributed.code import task_of
from checker.tables.distributed.explore import HERE, JOB, SparkExplorer
from checker.tables.distributed.fingerprints import (
    Fingerprints,
    concatenated,
    distinct,
    known,
    merge_slices,
    to_merge,
)
from checker.tables.distributed.run import Request, explore_on_spark, usual_parts
from checker.tables.distributed.storage import Damaged, Storage
from tests.models import judged
from tests.patience import HANG
from tests.standalone import Standalone
from traces.tables.spark.session import retrying, session
from zabspec.language import Layout
from zabspec.language.layout import derive
from zabspec.language.native.jit import cache_folder
from zabspec.model import Configuration, Model
from zabspec.simulator.run import sources_digest

SMALL = Configuration(nodes=3, txns=1, timeouts=1, crashes=0, losses=0)
BROKEN = Configuration(nodes=3, txns=2, timeouts=0, crashes=0, losses=0, variant="propose-to-synced-only")
CRASHES = Configuration(nodes=2, txns=2, timeouts=1, crashes=1, losses=1, partitions=1)
UNORDERED = Configuration(nodes=2, txns=2, timeouts=1, crashes=0, losses=0, network="unordered")
DISKS = Configuration(
    str(Path(__file__).parents[2] / "own" / "texts" / "ledger.py"), "hasty", crashes=1, losses=1,
    budgets="writes=2,elections=1",
)  # fmt: skip
OF_SWEEPS = ("zabspec", "invariants", "traces/judging/simulated.py")
OF_THE_MACHINE = (
    "seconds",
    "cpu_seconds",
    "compile_seconds",
    "memory",
    "properties",
    "engine",
    "fingerprint_bits",
    "jobs",
)

Case = tuple[Configuration, bool, dict[str, int], bool]
ALL_BROKEN: Case = (BROKEN, True, {}, True)


def answer(r: Exploration) -> dict[str, Any]:
    """Everything an exploration found, what depends on the clock and the machine left out."""
    fields = {k: v for k, v in dataclasses.asdict(r).items() if k not in OF_THE_MACHINE}
    fields["violations"] = {name: found.depth for name, found in r.violations.items()}
    return fields | {"verdicts": {p.name: r.verdict(p) for p in r.properties}}


def local(configuration: Configuration, symmetry: bool, limits: dict[str, int], keep_going: bool) -> dict[str, Any]:
    return copy.deepcopy(explored_here(configuration, symmetry, tuple(limits.items()), keep_going))


@cache
def explored_here(
    configuration: Configuration, symmetry: bool, limits: tuple[tuple[str, int], ...], keep_going: bool
) -> dict[str, Any]:
    """The local engine's answer to a question that several tests ask."""
    compiled, _ = Compiled.of(Model(configuration), judged(configuration.protocol), symmetry)
    return answer(Explorer(compiled, 1).run(Limits(**dict(limits)), keep_going))


def question(configuration: Configuration, symmetry: bool, parts: int = 4, wide: bool = False) -> ExplorationTask:
    return asked_of(code.WideCode if wide else code.Code, configuration, symmetry, parts)


@cache
def asked_of(kind: type[code.Code], configuration: Configuration, symmetry: bool, parts: int) -> ExplorationTask:
    return task_of(configuration, judged(configuration.protocol), symmetry, kind.wide, parts)[0]


def distributed(
    where: Cluster | Here, folder: Path, case: Case, few: int = 300, parts: int = 4, wide: bool = False
) -> dict[str, Any]:
    configuration, symmetry, limits, keep_going = case
    explorer = SparkExplorer(question(configuration, symmetry, parts, wide), Checkpoint(Storage(str(folder))))
    explorer.here = few
    return answer(explorer.run(where, Limits(**limits), keep_going))


# --- pure functions ------------------------------------------------------------------------------

words = st.lists(
    st.one_of(st.integers(0, 6), st.integers(2**63 - 2, 2**63 + 2), st.integers(0, 2**64 - 1)), max_size=40
)


@st.composite
def columns(draw: st.DrawFn, wide: bool) -> Fingerprints:
    first = draw(words)
    second = draw(st.lists(st.integers(0, 2), min_size=len(first), max_size=len(first))) if wide else None
    return Fingerprints(np.array(first, np.uint64), None if second is None else np.array(second, np.uint64))


def pairs(column: Fingerprints) -> list[tuple[int, int]]:
    """What numpy says, as Python sees it."""
    second = [0] * len(column) if column.second is None else column.second.tolist()
    return list(zip(column.first.tolist(), second, strict=True))


both = st.booleans().flatmap(lambda wide: st.lists(columns(wide), min_size=1, max_size=4))


@settings(deadline=None)
@given(st.booleans().flatmap(columns))
def test_the_first_of_equal_fingerprints_is_kept(column: Fingerprints) -> None:
    sorted_, places = distinct(column)
    everything = pairs(column)
    assert pairs(sorted_) == sorted(set(everything))
    assert [everything.index(pair) for pair in pairs(sorted_)] == places.tolist()


@settings(deadline=None)
@given(both)
def test_what_a_run_has_is_known(several: list[Fingerprints]) -> None:
    wanted, run = distinct(several[0])[0], distinct(several[-1])[0]
    for kept in (run, run[: len(run) // 2]):
        assert known(kept, wanted).tolist() == [pair in set(pairs(kept)) for pair in pairs(wanted)]


@settings(deadline=None)
@given(both, st.integers(1, 7))
def test_merged_runs_are_their_union_in_order(several: list[Fingerprints], size: int) -> None:
    seen: set[tuple[int, int]] = set()
    runs = []
    for column in several:
        run = distinct(column)[0]
        run = run[np.array([pair not in seen for pair in pairs(run)], np.bool_)]
        seen |= set(pairs(run))
        runs.append(run)
    pieces = list(merge_slices(runs, size))
    assert pairs(concatenated(pieces, several[0].second is not None)) == sorted(seen)


@settings(deadline=None)
@given(st.lists(st.lists(st.tuples(st.integers(1, 9), st.integers(1, 99)), max_size=6), min_size=1, max_size=5))
def test_a_level_is_shared_out_whole_and_evenly(parts: list[list[tuple[int, int]]]) -> None:
    files = [File("", 0, 0, sum(count for count, _ in blocks)) for blocks in parts]
    level = Level(1, [LevelPart(f, f, (), tuple(b)) for f, b in zip(files, parts, strict=True)], [1], [1], [])
    pieces = [piece for share in level.shares() for piece in share]
    for k, blocks in enumerate(parts):
        mine = [piece for piece in pieces if piece.part == k]
        starts = {sum(n for n, _ in blocks[:i]): sum(size for _, size in blocks[:i]) for i in range(len(blocks))}
        assert all(starts[piece.first] == piece.at for piece in mine)
        assert [i for piece in mine for i in range(piece.first, piece.first + piece.count)] == list(
            range(files[k].count)
        )
    total = sum(file.count for file in files)
    sizes = [sum(piece.count for piece in share) for share in level.shares()]
    assert all(abs(size - total / len(parts)) < 2 * 9 for size in sizes)
    for share, (of_it, size) in enumerate(zip(level.shares(), sizes, strict=True)):
        there = [(piece.part, piece.first + i) for piece in of_it for i in range(piece.count)]
        assert [located(level, share, place) for place in range(size)] == there


@settings(deadline=None)
@given(st.lists(st.integers(1, 1000), max_size=200))
def test_an_owner_has_few_runs_each_much_larger_than_the_next(sizes: list[int]) -> None:
    runs: list[int] = []
    for new in sizes:
        n = to_merge(runs, new)
        runs = [*runs[: len(runs) - n], new + sum(runs[len(runs) - n :])]
        assert all(older >= 2 * younger for older, younger in itertools.pairwise(runs))
    assert sum(runs) == sum(sizes)


def test_parts_and_attempts_follow_from_the_master() -> None:
    assert [usual_parts(n) for n in (1, 2, 3, 8, 1600, 99999)] == [2, 4, 8, 16, 4096, 65536]
    assert retrying("local[*]", 4) == "local[*,4]"
    assert retrying("local[3]", 4) == "local[3,4]"
    assert retrying("local[3]", 1) == "local[3]"
    assert retrying("local[3,1]", 4) == "local[3,1]"
    assert retrying("spark://a:1", 4) == "spark://a:1"


# --- the same answer, without Spark --------------------------------------------------------------


@pytest.mark.slow(seconds=2)
def test_any_number_of_parts_and_bits_gives_the_same_answer(tmp_path: Path) -> None:
    assert distributed(Here(), tmp_path, ALL_BROKEN, parts=16, wide=True) == local(*ALL_BROKEN)


@pytest.mark.slow(seconds=3)
def test_128_bits_tell_states_apart_that_64_do_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first 64 bits are made to collide: only twenty of them differ."""
    case = (SMALL, False, {"depth": 16}, False)
    wanted = local(*case)
    usual = derive.hash_text

    def weak(layout: Layout, name: str = "hash_state", seed: int = 1) -> str:
        text = usual(layout, name, seed)
        return text.replace("return h0 if h0 != 0 else 1", f"return (h0 & {-1 << 44}) | 1") if seed == 1 else text

    monkeypatch.setattr(derive, "hash_text", weak)
    for kind in (code.Code, code.WideCode):  # kept apart from the usual ones
        monkeypatch.setattr(
            code,
            kind.__name__,
            type(kind.__name__, (kind,), {"also_key": lambda self, kind=kind: ("weak", *kind.also_key(self))}),
        )
    narrow, wide = (distributed(Here(), tmp_path / str(bits), case, wide=bits) for bits in (False, True))
    assert sum(narrow["levels"]) < sum(wide["levels"])
    assert wide == wanted


@pytest.mark.slow(seconds=2)
def test_a_step_that_breaks_a_property_is_found_with_the_same_run(tmp_path: Path) -> None:
    case = (UNORDERED, True, {"depth": 18}, True)
    wanted = local(*case)
    assert "invariant-2" in wanted["violations"]
    assert distributed(Here(), tmp_path, case) == wanted


@pytest.mark.slow(seconds=1)
def test_a_counterexample_is_a_shortest_run_that_ends_in_a_violation(tmp_path: Path) -> None:
    asked = question(BROKEN, True, 32)
    r = SparkExplorer(asked, Checkpoint(Storage(str(tmp_path)))).run(Here(), Limits(depth=29), keep_going=True)
    assert answer(r) == local(BROKEN, True, {"depth": 29}, True)
    compiled = code.code_for(asked)
    assert r.violations
    for name, found in r.violations.items():
        state = compiled.model.program.initial().key()
        for word in found.schedule:
            (state,) = (after[: compiled.layout.size] for taken, after in compiled.next_states(state) if taken == word)
        (bit,) = (1 << k for k, p in enumerate(compiled.properties) if p.name == name)
        assert compiled.judged_state(state, bit)[0] == bit, name


class Little(Here):
    """An owner has room for sixty fingerprints."""

    memory = 1000


@pytest.mark.slow(seconds=1)
def test_fingerprints_that_lie_on_disk_are_judged_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spilled: list[int] = []
    usual = absorb.Owner.spill
    monkeypatch.setattr(absorb.Owner, "spill", lambda self: (spilled.append(self.held), usual(self)))
    assert distributed(Little(), tmp_path, ALL_BROKEN, few=0, wide=True) == local(*ALL_BROKEN)
    assert len(spilled) > 100
    assert max(spilled) <= Little.memory + 24 * 4096  # one message more


@pytest.mark.slow(seconds=1)
def test_a_table_that_may_not_grow_is_emptied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workspace, "FIRST_CAPACITY", 64)
    monkeypatch.setattr(workspace, "SECTION", 512)
    monkeypatch.setattr(workspace, "LARGEST", 8 * 16 * 64)
    monkeypatch.setattr(workspace, "_workspaces", {})
    emptied: list[bool] = []
    usual = workspace.Table.room
    monkeypatch.setattr(workspace.Table, "room", lambda self, most: (emptied.append(usual(self, most)), emptied[-1])[1])
    assert distributed(Here(), tmp_path, ALL_BROKEN, parts=2) == local(*ALL_BROKEN)
    assert emptied.count(False) > 10


@pytest.mark.slow(seconds=1)
def test_small_buffers_change_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every boundary of a task is crossed many times: sections, chunks, and growing tables."""
    monkeypatch.setattr(workspace, "FIRST_CAPACITY", 32)
    monkeypatch.setattr(workspace, "SECTION", 512)
    monkeypatch.setattr(workspace, "CHUNK", 2048)
    monkeypatch.setattr(workspace, "_workspaces", {})
    case = (SMALL, False, {"depth": 20}, False)
    assert distributed(Here(), tmp_path, case, parts=2, wide=True) == local(*case)


@pytest.mark.slow(seconds=2)
def test_a_value_out_of_its_range_is_told(tmp_path: Path) -> None:
    case = (dataclasses.replace(SMALL, max_epoch=1), True, {}, False)
    found = distributed(Here(), tmp_path, case)
    assert found["error"] == local(*case)["error"]
    assert "--max-epoch" in found["error"]


@pytest.mark.slow(seconds=1)
def test_a_limit_on_states_ends_after_a_whole_level(tmp_path: Path) -> None:
    found = distributed(Here(), tmp_path, (SMALL, True, {"max_states": 500}, False))
    assert "--max-states 500 reached" in found["stopped"]
    assert not found["complete"]
    assert sum(found["levels"]) >= 500 > sum(found["levels"][:-1])
    assert found["levels"] == local(SMALL, True, {"depth": len(found["levels"]) - 1}, False)["levels"]


# --- checkpoints ---------------------------------------------------------------------------------


def to_depth(folder: Path, depth: int, parts: int = 4) -> SparkExplorer:
    explorer = SparkExplorer(question(SMALL, True, parts), Checkpoint(Storage(str(folder))))
    explorer.run(Here(), Limits(depth=depth))
    return explorer


@pytest.mark.slow(seconds=1)
def test_what_did_not_count_changes_nothing(tmp_path: Path) -> None:
    """What was left over is removed and what is needed is kept; then a level made twice, as by a driver that died
    before its commit, and a manifest half written."""
    explorer = to_depth(tmp_path, 12)
    level, saved = explorer.level, {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file()}
    assert level is not None
    assert {name for name in saved if name.endswith(".states")} == {p.states.name for p in level.parts if p.count}
    runs = [run for part in level.parts for run in part.runs]
    assert {name for name in saved if name.endswith(".run")} == {run.name for run in runs}
    assert sum(run.count for run in runs) == sum(level.levels)
    Storage(str(tmp_path)).create(checkpoints.folder_of(13))
    Here().level(explorer.question, explorer.storage, level, lambda part: True)
    left = {path.name for path in (tmp_path / "00013").iterdir()}
    (tmp_path / ".level-00013.json.new").write_text('{"format": 1, "sha')
    again = SparkExplorer(explorer.question, explorer.checkpoint, explorer.checkpoint.last()[1])
    assert answer(again.run(Here(), Limits())) == local(SMALL, True, {}, False)
    assert left
    assert not left & {path.name for path in (tmp_path / "00013").iterdir()}


@pytest.mark.slow(seconds=1)
def test_a_level_is_expanded_here_as_long_as_that_is_sooner(tmp_path: Path) -> None:
    """By its size, until a level has shown how long a state takes: of a slow protocol fewer are expanded here."""
    explorer = SparkExplorer(question(SMALL, True), Checkpoint(Storage(str(tmp_path))))
    sizes = (1, HERE, HERE + 1, 400_000, 400_001)
    levels = [Level(0, [], [size], [size], []) for size in sizes]
    assert [explorer.small(level) for level in levels] == [True, True, False, False, False]
    explorer.pace = JOB / 400_000
    assert [explorer.small(level) for level in levels] == [True, True, True, True, False]
    explorer.pace = 10 * JOB / HERE
    assert [explorer.small(level) for level in levels] == [True, False, False, False, False]
    explorer.pace = 0.0
    explorer.run(Here(), Limits(depth=8))
    assert not explorer.pace  # its levels are tiny


def test_a_task_keeps_nothing_that_is_not_known_to_be_whole(tmp_path: Path) -> None:
    """A level of which all answers are lost would be the last, and everything would hold; a state that was altered
    where it lay would be explored for the one that was found."""
    explorer = to_depth(tmp_path, 4)
    level, task, storage = explorer.level, explorer.question, explorer.storage
    assert level is not None
    storage.create(checkpoints.folder_of(5))
    rows = [row for source in range(task.parts) for row in expand.expanded(task, storage, level, source)]
    answers = list(absorb.absorbed(task, storage, level, rows))
    with pytest.raises(RuntimeError, match="owners reported on 0 states"):
        list(keep.kept(task, storage, level, [row for row in answers if "answers" not in row]))
    assert list(keep.kept(task, storage, level, answers))
    path = tmp_path / next(row["candidates"].name for row in rows if row.get("candidates", NOTHING).count)
    at = path.read_bytes().rindex(b"\1")
    flip(path, at)
    with pytest.raises(Damaged, match="found is damaged"):
        list(keep.kept(task, storage, level, answers))
    flip(path, at)
    os.truncate(path, path.stat().st_size - 8)
    with pytest.raises(Damaged, match="bytes, not"):
        list(keep.kept(task, storage, level, answers))


def test_a_checkpoint_may_lie_at_an_address(tmp_path: Path) -> None:
    """Whatever pyarrow opens: the request takes it, and a run goes on from it."""
    for where in (f"file://{tmp_path}/levels", "hdfs://name:8020/zab"):
        here = where if "hdfs" in where else str(tmp_path / "levels")
        assert Explore(engine="spark", checkpoint=where).checkpoint == here
    for where, engine in (
        ("s3://key:word@bucket/zab?scheme=http", "spark"),
        ("s3://bucket/zab", "compiled"),
    ):
        with pytest.raises(RequestError, match=r"^--checkpoint s3://bucket/zab: ") as refused:
            Explore(engine=engine, checkpoint=where)
        assert "word" not in str(refused.value).replace("password", "")
    checkpoint = Checkpoint(Storage(f"file://{tmp_path}/levels"))
    checkpoint.storage.create()
    assert not checkpoint.storage.local
    SparkExplorer(question(SMALL, True), checkpoint).run(Here(), Limits(depth=4))
    asked, level = checkpoint.last()
    found = answer(SparkExplorer(asked, checkpoint, level).run(Here(), Limits(depth=12)))
    assert found == local(SMALL, True, {"depth": 12}, False)


def flip(path: Path, at: int) -> None:
    data = bytearray(path.read_bytes())
    data[at] ^= 1
    path.write_bytes(data)


@pytest.mark.slow(seconds=1)
def test_a_damaged_checkpoint_is_refused(tmp_path: Path) -> None:
    to_depth(tmp_path, 8)
    checkpoint = Checkpoint(Storage(str(tmp_path)))
    manifest = tmp_path / "level-00008.json"
    whole = manifest.read_bytes()
    for at in (0, len(whole) // 2, len(whole) - 3):
        flip(manifest, at)
        with pytest.raises(Refused, match="is damaged"):
            checkpoint.last()
        manifest.write_bytes(whole)
    _, level = checkpoint.last()
    part = next(k for k, one in enumerate(level.parts) if one.count)
    way = checkpoint.ordinals(level, part, 0)
    predecessors = list(tmp_path.glob("0000[1-7]/*.pred"))
    for path in predecessors:
        flip(path, 0)
    with pytest.raises(Damaged, match="is damaged"):
        checkpoint.ordinals(level, part, 0)
    for path in predecessors:
        flip(path, 0)
    assert checkpoint.ordinals(level, part, 0) == way
    run = next(part.runs[0] for part in level.parts if part.runs)
    flip(tmp_path / run.name, 3)
    with pytest.raises(Damaged, match="is damaged"):
        checkpoint.storage.read(run)
    (tmp_path / run.name).unlink()
    with pytest.raises(Refused, match="is missing"):
        checkpoint.last()
    (tmp_path / "level-00003.json").unlink()
    with pytest.raises(Refused, match="damaged"):
        checkpoint.last()


def test_a_checkpoint_is_one_run_s_at_a_time(tmp_path: Path) -> None:
    one, other = Checkpoint(Storage(str(tmp_path))), Checkpoint(Storage(str(tmp_path)))
    one.lock()
    with pytest.raises(Refused, match="another run is using"):
        other.lock()
    one.unlock()
    other.lock()
    other.unlock()


OF_ANOTHER: tuple[tuple[dict[str, Any], str], ...] = (
    ({"configuration": CRASHES}, "nodes 3, not 2"),
    ({"symmetry": False}, "symmetry is on"),
    ({"properties": judged("zab")[:3]}, "other properties"),
    ({"request": {"wide": True}}, "fingerprints of 64 bits"),
    ({"limits": Limits(depth=4)}, "is already at depth 6"),
    ({"request": {"resume": False}}, "--resume continues from it"),
)


@pytest.mark.slow(seconds=4)
def test_a_checkpoint_of_another_question_is_refused(tmp_path: Path) -> None:
    to_depth(tmp_path, 6)
    usual: dict[str, Any] = {"configuration": SMALL, "properties": judged("zab"), "symmetry": True, "limits": Limits()}
    for asked, said in OF_ANOTHER:
        request = Request("local[2]", str(tmp_path), **{"resume": True, **asked.get("request", {})})
        with pytest.raises(Refused, match=re.escape(said)):
            explore_on_spark(**{**usual, **asked, "request": request}, keep_going=False)


# --- on Spark ------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def standalone(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Standalone]:
    if not sys.platform.startswith("linux"):
        pytest.skip("needs /proc, and 127.0.0.2")
    daemons = Standalone(tmp_path_factory.mktemp("standalone"))
    yield daemons
    daemons.end()


@pytest.fixture(scope="module")
def kept_there(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The workers' folder for compiled code: only they write there, while other tests run beside this one."""
    folder = tmp_path_factory.mktemp("kept")
    folder.chmod(0o700)
    return folder


def take_along(there: Path, *asked: ExplorationTask) -> set[str]:
    """Give the workers what is compiled here, these tasks' too; the names of all that they have then."""
    here = cache_folder()
    for task in asked:
        code.made_for(task)
    for name in os.listdir(here):
        if name.endswith(".o") and not (there / name).exists():
            try:
                os.link(here / name, there / name)
            except OSError:  # on another disk
                shutil.copy2(here / name, there / name)
    return set(os.listdir(there))


@pytest.fixture(scope="module")
def cluster(standalone: Standalone, kept_there: Path) -> Iterator[Cluster]:
    """One session for all, in which a task that is slow is run a second time elsewhere."""
    conf = {
        "spark.speculation": "true",
        "spark.speculation.interval": "100ms",
        "spark.speculation.minTaskRuntime": "2s",
        "spark.speculation.multiplier": "3",
        "spark.speculation.quantile": "0.5",
        "spark.executor.memory": "512m",
        "spark.executor.extraJavaOptions": "-XX:+UseSerialGC",
        "spark.executorEnv.ZABCHECK_CACHE": str(kept_there),
    }
    with session(standalone.master, conf=conf) as spark:
        yield Cluster(spark, worth=1)


@pytest.mark.slow
def test_a_standalone_cluster_is_given_our_packages(cluster: Cluster, standalone: Standalone) -> None:
    """The code that tasks run is what was sent, as files, the same as here; pyspark is not from Spark's archive."""

    def where(numbers: Iterator[int]) -> Iterator[str]:
        import py4j
        import pyspark

        import zabspec.simulator.run as module

        assert not any(".zip" in str(one.__file__) for one in (py4j, pyspark)), (py4j, pyspark)
        for number in numbers:
            yield f"{module.__file__} {number} {module.sources_digest(*OF_SWEEPS)}"

    found = cluster.spark.sparkContext.parallelize([1, 2], 2).mapPartitions(where).collect()
    for number, line in enumerate(found, 1):
        path, said, digest = line.split()
        assert path.startswith(str(standalone.folder / "worker-"))
        assert path.endswith("/zabspec/simulator/run.py")
        assert (int(said), digest) == (number, sources_digest(*OF_SWEEPS))


@pytest.mark.slow
@pytest.mark.parametrize("case", [ALL_BROKEN, (DISKS, False, {}, True)], ids=["broken", "disks"])
def test_spark_gives_the_local_engine_s_answer(cluster: Cluster, kept_there: Path, tmp_path: Path, case: Case) -> None:
    wanted = local(*case)
    few = sorted(wanted["levels"])[-3]  # two levels are jobs
    known = take_along(kept_there, question(*case[:2]))
    assert distributed(cluster, tmp_path, case, few) == wanted
    if case[0] is not DISKS:  # a user protocol has another key there
        assert set(os.listdir(kept_there)) == known, "the tasks found the code that there was"


@pytest.mark.slow
def test_every_level_as_a_job_of_tasks_of_several_parts(cluster: Cluster, kept_there: Path, tmp_path: Path) -> None:
    taken: dict[int, int] = {}

    class Counting(Cluster):
        def sources(self, parts: int, tasks: int) -> Any:
            taken[tasks] = parts
            return super().sources(parts, tasks)

    asked = question(SMALL, True, 8, wide=True)
    take_along(kept_there, asked)
    explorer = SparkExplorer(asked, Checkpoint(Storage(str(tmp_path))))
    explorer.here = 0
    r = explorer.run(Counting(cluster.spark, worth=40), Limits(depth=9))
    assert answer(r) == local(SMALL, True, {"depth": 9}, False)
    assert r.jobs == 9
    assert taken == dict.fromkeys((1, 2, 3), 8)
    assert cluster.cores() == 2


class Sabotaged(Cluster):
    """A cluster whose tasks fare badly: what is done to them stands before the task itself."""

    def __init__(self, cluster: Cluster, *blows: Callable[[], None]) -> None:
        super().__init__(cluster.spark, cluster.worth)
        self.blows = blows

    def tasks(self, question: ExplorationTask, storage: Storage, depth: int) -> tuple[Any, Any, Any]:
        def struck(blow: Callable[[], None], task: Any) -> Any:
            def run(rows: Any) -> Iterator[Any]:
                out = list(task(rows))  # its files are written before it is struck
                blow()
                return iter(out)

            return run

        expand, absorb, keep = map(struck, self.blows, super().tasks(question, storage, depth))
        return expand, absorb, keep


def once_in(folder: Path, what: Callable[[], None], *parts: int) -> Callable[[], None]:
    """Something that is done once by the tasks of some parts of each stage: by the first attempt that comes so far."""

    def blow() -> None:
        from pyspark import TaskContext

        context = TaskContext.get()
        if context is not None and context.partitionId() in parts:
            with contextlib.suppress(FileExistsError):
                (folder / f"{context.stageId()}-{context.partitionId()}").touch(exist_ok=False)
                what()

    return blow


DAWDLE = HANG  # seconds


def die() -> None:
    os._exit(7)


def dawdle() -> None:
    time.sleep(DAWDLE)  # a second attempt is made long before


@pytest.fixture
def by_value() -> Iterator[None]:
    """The functions of this file reach tasks whole: there they cannot be imported."""
    from pyspark import cloudpickle

    cloudpickle.register_pickle_by_value(sys.modules[__name__])
    yield
    cloudpickle.unregister_pickle_by_value(sys.modules[__name__])


@pytest.mark.slow
@pytest.mark.usefixtures("by_value")
def test_tasks_that_die_are_run_again_and_those_that_run_twice_count_once(
    cluster: Cluster, kept_there: Path, tmp_path: Path
) -> None:
    """In each of the three stages of a level one of either kind; on a busy machine Spark may lose another by itself."""
    died, ran = tmp_path / "died", tmp_path / "ran"
    died.mkdir()
    ran.mkdir()
    blow, slow = once_in(died, die, 1), (once_in(ran, dawdle, part) for part in (2, 3, 0))

    def both(dawdles: Callable[[], None]) -> Callable[[], None]:
        return lambda: (blow(), dawdles(), None)[-1]

    case = (SMALL, True, {"depth": 13}, False)
    take_along(kept_there, question(*case[:2]))
    found = distributed(Sabotaged(cluster, *map(both, slow)), tmp_path / "levels", case, few=260)
    assert found == local(*case)
    for struck in (died, ran):
        assert len({path.name.split("-")[0] for path in struck.iterdir()}) == 3, "three stages"


# --- on Spark, from outside ----------------------------------------------------------------------

# levels of more than a thousand states, twenty of them here, are jobs: they take seconds, on any machine
JOBS = "from checker.tables.distributed import explore; explore.HERE = 1000; from checker.cli import main; main()"
FAR = 38
ASKED = ["--engine", "spark", "--json", "--no-trace", "--depth", str(FAR)]
ASKED += ["--nodes", "3", "--txns", "1", "--timeouts", "1", "--crashes", "0", "--losses", "0"]


def command(*options: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", JOBS, *ASKED, *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def wait_for(path: Path, process: subprocess.Popen[str]) -> None:
    while not path.exists():
        assert process.poll() is None, process.communicate()
        time.sleep(0.01)


@pytest.mark.slow
def test_a_run_that_is_ended_is_resumed(
    cluster: Cluster, kept_there: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ended by SIGTERM, as by Ctrl-C, in a job, and resumed on another master: its answer is that of a run that nobody
    disturbed. What a kill may leave half written is put there by other tests."""
    options = ("--checkpoint", str(tmp_path / "levels"))
    process = command("--master", "local[2]", *options)
    wait_for(tmp_path / "levels" / "level-00021.json", process)
    os.killpg(process.pid, signal.SIGTERM)  # as a terminal does it with SIGINT: all the processes get it
    _, trouble = process.communicate(timeout=HANG)
    assert process.returncode == 3
    assert "--resume continues from it" in trouble
    checkpoint = Checkpoint(Storage(str(tmp_path / "levels")))
    _, interrupted = checkpoint.last()
    assert 21 <= interrupted.depth < FAR - 4, "it was to be ended half-way"

    monkeypatch.setattr("checker.tables.distributed.explore.HERE", 1000)
    monkeypatch.setattr(
        "checker.tables.distributed.run.session", lambda *_, **__: contextlib.nullcontext(cluster.spark)
    )
    wanted = local(SMALL, True, {"depth": FAR}, False)
    take_along(kept_there)
    ran = CliRunner().invoke(main, [*ASKED, *options, "--resume"])
    assert not [line for line in ran.stderr.splitlines() if not line.startswith("zabcheck: level ")]  # if it is slow
    said = json.loads(ran.stdout)
    assert checkpoint.last()[1].jobs > interrupted.jobs
    assert (said["states"]["levels"], said["states"]["generated"]) == (wanted["levels"], wanted["generated"])
    assert said["steps"] == wanted["step_counts"]
    met = {p["name"]: p["witnessed_at"] for p in said["properties"] if p["witnessed_at"] is not None}
    assert met == wanted["witnessed"]
    assert said["exit_code"] == 0


# --- the last, since it breaks the cluster that others share -------------------------------------


@pytest.mark.slow
def test_a_cluster_that_loses_a_worker_gives_the_same_answer(
    cluster: Cluster, standalone: Standalone, kept_there: Path, tmp_path: Path
) -> None:
    case = (SMALL, False, {"depth": 22}, False)
    asked = question(SMALL, False, 8)
    take_along(kept_there, asked)
    explorer = SparkExplorer(asked, Checkpoint(Storage(str(tmp_path))))
    explorer.here = 7000
    lost: list[int] = []

    def watch(r: Exploration, expanded: int, size: int) -> None:
        if not lost and r.depth >= 18 and 0 < expanded < size:  # in the middle of a level
            lost.append(r.depth)
            standalone.kill(2)

    found = answer(explorer.run(cluster, Limits(depth=22), progress=watch))
    assert found == local(*case)
    assert lost
    assert lost[0] < 21
