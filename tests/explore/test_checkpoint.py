"""Checkpoints of the local engine, a frontier on disk, and what is told while it explores."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from checker.cli import main
from checker.explore import breadth_first
from checker.explore.breadth_first import Explorer
from checker.explore.checkpoints.checkpoint import Refused, check_same
from checker.explore.checkpoints.files import Folder
from checker.explore.checkpoints.kept import Kept
from checker.explore.compiled import Compiled
from checker.explore.memory import Budget, Pool
from checker.explore.predecessors import PREDECESSOR, Predecessors
from checker.explore.result import Exploration, Limits
from checker.report import progress
from checker.report.progress import ProgressLine
from invariants import properties_of
from zabspec.model import Configuration, Model

QUESTION = {"nodes": 3, "txns": 2, "timeouts": 0, "crashes": 0, "losses": 0}


@cache
def code(variant: str = "") -> Compiled:
    judged = [p for p in properties_of("zab") if p.default and p.judges("zab")]
    return Compiled.of(Model(Configuration(**QUESTION, variant=variant)), judged, True)[0]


def explored(where: Path | None, resume: bool = False, depth: int | None = None, threads: int = 1) -> Exploration:
    limits = Limits(depth)
    if where is None:
        return Explorer(code(), threads).run(limits)
    with Kept(where, code(), limits, resume) as keeper:
        return Explorer(code(), threads).run(limits, keeper=keeper)


def figures(r: Exploration) -> tuple[Any, ...]:
    """All that an exploration counts and finds."""
    covered = (r.levels, r.raw_levels, r.expanded_levels, r.complete, r.stopped)
    return covered, r.generated, r.terminal, r.step_counts, r.event_counts, r.witnessed, sorted(r.violations)


@cache
def whole() -> tuple[Any, ...]:
    return figures(explored(None))


@pytest.mark.slow(seconds=1)
@pytest.mark.parametrize("depth", [0, 7, 30])
def test_what_goes_on_from_a_checkpoint_counts_what_one_run_does(tmp_path: Path, depth: int) -> None:
    folder = tmp_path / "kept"
    explored(folder, depth=depth)
    assert figures(explored(folder, resume=True, threads=2)) == whole()
    for _ in range(2):  # it is at its end, and stays whole there
        assert figures(explored(folder, resume=True)) == whole()


def killed_at(where: Path, operation: int) -> bool:
    """Explore, or go on, in a child that kills itself at so many writes and renames; whether it was killed."""
    child = os.fork()
    if child == 0:
        left = operation

        def counted(real: Callable[..., Any]) -> Callable[..., Any]:
            def call(*args: Any) -> Any:
                nonlocal left
                left -= 1
                if left == 0 and real is Folder.write:  # in the midst of a file
                    Path(args[0].path(args[1])).write_bytes(b"half")
                if left == 0:
                    os.kill(os.getpid(), signal.SIGKILL)
                return real(*args)

            return call

        Folder.write, Folder.replace, Folder.remove = map(counted, (Folder.write, Folder.replace, Folder.remove))  # type: ignore[method-assign, assignment]
        try:
            explored(where, resume=(where / "level-00000.json").exists())
        finally:
            os._exit(0)
    return os.WIFSIGNALED(os.waitpid(child, 0)[1])


@pytest.mark.slow(seconds=2)
def test_20_kills_between_any_two_writes_lose_nothing(tmp_path: Path) -> None:
    folder, kills = tmp_path / "kept", 0
    for k in range(20):
        if not (folder / "level-00000.json").exists() and folder.exists():
            for left in folder.rglob("*"):  # killed before its first level: nothing to go on from
                left.unlink() if left.is_file() else None
            for left in folder.iterdir():
                left.rmdir()
        kills += killed_at(folder, 1 + (7 * k + 3) % 11)
    assert kills >= 18
    assert figures(explored(folder, resume=True)) == whole()


@pytest.mark.slow(seconds=2)
def test_a_violation_found_before_is_told_when_it_goes_on(tmp_path: Path) -> None:
    names = [p.name for p in code().properties]
    broken = code("commit-on-propose")
    assert [p.name for p in broken.properties] == names
    for resume in (False, True):
        with Kept(tmp_path / "kept", broken, Limits(), resume) as keeper:
            r = Explorer(broken, 1).run(Limits(), keeper=keeper)
        found = {name: f.schedule for name, f in r.violations.items()}
        assert found == {n: f.schedule for n, f in Explorer(broken, 1).run(Limits()).violations.items()} != {}


@pytest.mark.slow(seconds=1)
def test_what_a_checkpoint_is_not_of_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "kept"
    with pytest.raises(Refused, match="has no checkpoint"):
        explored(folder, resume=True)
    explored(folder, depth=9)
    with pytest.raises(Refused, match="--resume continues from it"):
        explored(folder)
    with pytest.raises(Refused, match="is already at depth 9"):
        explored(folder, resume=True, depth=8)
    with pytest.raises(Refused, match="another request: variant"):
        Kept(folder, code("commit-on-propose"), Limits(), True)
    with Kept(folder, code(), Limits(), True), pytest.raises(Refused, match="another run is using"):
        Kept(folder, code(), Limits(), True)
    question = Kept(folder, code(), Limits(), True)
    with question:
        spark = replace(question.task, engine="spark")
        with pytest.raises(Refused, match="is of another engine: resume it with --engine compiled"):
            check_same(question.task, spark, question.level, Limits(), "kept")
        with pytest.raises(Refused, match="is of another engine: resume it with --engine spark"):
            check_same(spark, question.task, question.level, Limits(), "kept")
    monkeypatch.setattr(code(), "identity", "another text")
    with pytest.raises(Refused, match="another version"):
        explored(folder, resume=True)


@pytest.mark.parametrize("what", ["00009/states", "00004/prints", "00003/predecessors", "level-00009.json"])
@pytest.mark.parametrize("how", ["gone", "short", "changed"])
def test_a_damaged_checkpoint_is_refused(tmp_path: Path, what: str, how: str) -> None:
    folder = tmp_path / "kept"
    explored(folder, depth=9)
    file = folder / what
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 1
    if how == "gone":
        file.unlink()
    else:
        file.write_bytes(data[: len(data) // 2] if how == "short" else data)
    with pytest.raises(Refused, match="damaged"):
        explored(folder, resume=True)


def test_a_frontier_on_disk_is_the_same_frontier(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(breadth_first, "UNIT", 640)
    monkeypatch.setattr(Budget, "scarce", lambda _: True)
    spilled, real = [], breadth_first.LevelGroup.spill

    def noted(group: breadth_first.LevelGroup, pool: Any) -> None:
        spilled.append(group.chunks[-1].used)
        real(group, pool)

    monkeypatch.setattr(breadth_first.LevelGroup, "spill", noted)
    assert figures(explored(None, threads=2)) == whole()
    assert len(spilled) > 40
    explored(tmp_path / "kept", depth=20)
    assert figures(explored(tmp_path / "kept", resume=True)) == whole()


def test_predecessors_on_disk_are_the_same_predecessors(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of the levels before memory was scarce, too; and a violation is reached by the same schedule."""
    usual, spilling = Explorer(code(), 1), Explorer(code(), 1)
    found = usual.run(Limits(), False)
    monkeypatch.setattr(Budget, "scarce", lambda _: len(spilling.preds) > len(found.levels) // 2)
    again = spilling.run(Limits(), False)
    assert usual.preds.spilled == 0 < spilling.preds.spilled == len(spilling.preds)
    assert not any(part.packed for level in spilling.preds.levels for part in level)
    assert found.levels == again.levels
    assert usual.preds.every() == spilling.preds.every()
    for depth, states in enumerate(found.levels):
        last = states - 1
        assert usual.schedule_to(depth, last) == spilling.schedule_to(depth, last)


def test_few_blocks_are_kept_for_reuse_once_memory_is_scarce(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the frontier had in memory is counted as free again, and the table can have it."""
    budget = Budget(1 << 40)
    pool, before = Pool(1 << 20, budget), budget.spent
    monkeypatch.setattr("checker.explore.memory.SPARE", 2)
    for scarce, kept in ((False, 5), (True, 2)):
        monkeypatch.setattr(Budget, "scarce", lambda _, now=scarce: now)
        blocks = [pool.take() for _ in range(5)]
        assert budget.spent == before + 5 * (1 << 20)
        while blocks:
            pool.give(blocks.pop())
        assert len(pool.free) == kept
        assert budget.spent == before + kept * (1 << 20)


def test_predecessors_stay_in_memory_where_the_disk_is_full(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where it fills while they are written: what was written before is read from there."""
    kept, budget = Predecessors(), Budget(1 << 40)
    before = budget.spent
    monkeypatch.setattr(Budget, "scarce", lambda _: True)
    entry = [k.to_bytes(4, "little") + (k + 1).to_bytes(2, "little") for k in range(6)]
    kept.append([(2, entry[0] + entry[1])], budget)
    assert budget.spent == before
    real, kept.file = kept.file, FullDisk()  # type: ignore[assignment]
    kept.append([(1, entry[2]), (2, entry[3] + entry[4])], budget)
    assert budget.spent == before + 3 * PREDECESSOR
    kept.file = real
    assert [kept.of(0, 1), kept.of(1, 0), kept.of(1, 2)] == [(1, 2), (2, 3), (4, 5)]
    kept.append([(1, entry[5])], budget)
    assert (budget.spent, kept.spilled) == (before, 3)
    assert [kept.of(0, 0), kept.of(1, 1), kept.of(2, 0)] == [(0, 1), (3, 4), (5, 6)]
    with pytest.raises(IndexError):
        kept.of(1, 3)


class FullDisk:
    """A file on a disk without room."""

    def seek(self, *_: int) -> int:
        return 0

    def write(self, _: bytes) -> int:
        raise OSError(28, "No space left on device")


def test_no_room_on_disk_is_no_verdict(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(breadth_first, "UNIT", 640)
    monkeypatch.setattr(Budget, "scarce", lambda _: True)
    monkeypatch.setattr("zabspec.temporary.DISK", "/")
    monkeypatch.setenv("TMPDIR", "/nowhere")
    r = explored(None)
    assert not r.complete
    assert "the frontier cannot be put on disk" in r.stopped


# --- the command ---------------------------------------------------------------------------------------

WORDS = [*(f"--{name}={n}" for name, n in QUESTION.items()), "--property=one-leader-an-epoch"]


def asked(*words: str) -> Result:
    return CliRunner().invoke(main, [*WORDS, *words], prog_name="zabcheck")


@pytest.mark.slow(seconds=2)
def test_the_command_goes_on_from_a_checkpoint(tmp_path: Path) -> None:
    folder = str(tmp_path / "kept")
    first = asked("--checkpoint", folder, "--max-states", "500")
    assert first.exit_code == 3
    assert "--resume continues from it" in first.stderr
    second, plain = (json.loads(asked(*words, "--json").stdout) for words in (["--checkpoint", folder, "--resume"], []))
    for report in (second, plain):
        del report["cost"], report["request"], report["engine"]["reduction_off"], report["second_opinion"]["seconds"]
    assert second == plain
    third = asked("--checkpoint", folder, "--resume")
    assert "the checkpoint was explored to exhaustion before: nothing was left to continue" in third.stdout


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--resume"], "--resume needs --checkpoint"),
        (["--engine", "interpret", "--checkpoint", "x"], "--checkpoint does not go with --engine interpret"),
        (["--checkpoint", "/proc/nowhere"], "/proc/nowhere"),
        (["--checkpoint", "/etc/hostname"], "--checkpoint /etc/hostname"),
    ],
)
def test_a_wrong_question_is_refused(words: list[str], said: str) -> None:
    answer = asked(*words)
    assert answer.exit_code == 2
    assert said in answer.stderr


def test_a_line_now_and_then_where_there_is_no_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(progress, "SELDOM", 0.0)
    with ProgressLine() as line:
        Explorer(code(), 1).run(Limits(8), progress=line)
    said = capsys.readouterr().err.splitlines()
    assert len(said) >= 8
    assert said[-1].startswith("zabcheck: level 8 (100 %): ")
    assert " MiB" in said[-1]


def test_a_rate_is_that_of_all_runs_up_to_now() -> None:
    r = Exploration(code().properties, levels=[1, 10, 100], seconds=10.0)
    with ProgressLine() as line:
        line.drawn -= 2 * progress.SELDOM
        told: list[str] = []
        line.terminal, line.started, line.show = True, 0.0, told.append  # type: ignore[method-assign]
        line(r, 5, 10)
    assert ", 11/s, " in told[0]
