"""The kernels of judging say and keep the same in CPython, where every index and value is checked, and in machine code.

`ZABCHECK_KERNELS=1000` tries so many random tables instead of a few.
"""

from __future__ import annotations

import os
import random
from collections import Counter
from typing import Any

import pyarrow as pa
import pytest

from tests.judging.test_judge_definitions import Made, rows_of
from traces.events.table import Rows
from traces.judging.kernel import judge_runs
from traces.judging.memory import FirstRows, JudgedRun, RunReport, Table, room_for
from traces.judging.runs import COLUMNS, Batch
from zabspec.language import RangeError
from zabspec.language.analysis.structs import Struct
from zabspec.language.native.kernels import machine

TABLES = int(os.environ.get("ZABCHECK_KERNELS", "60"))
SPOILED: dict[str, tuple[Any, ...]] = {
    "process": (None, -2, 64), "position": (0, 99), "pass": (-1, 9), "epoch": (None, 0), "time": (0, 99),
    "index": (0, -1), "kind": ("run", "entry", "initial", "revise", "abcast"),
}  # fmt: skip


def held_by(s: Struct) -> Any:
    """All that a struct holds."""

    def flat(value: Any) -> Any:
        if isinstance(value, Struct):
            return held_by(value)
        return value if isinstance(value, int) else value.memory.tolist()

    return {name: flat(getattr(s, name)) for name in s.members}


def spoil(source: random.Random, rows: list[dict[str, Any]]) -> None:
    """A row says what no row may, or what another should."""
    name = source.choice(list(SPOILED))
    source.choice(rows)[name] = source.choice(SPOILED[name])


def batch_of(seed: int, runs: int) -> Batch:
    """Random runs, one behind the other, of which some are no runs."""
    tables = []
    for run in range(runs):
        source = random.Random(1000 * run + seed)
        made = Made(1000 * run + seed).made()
        for position, row in enumerate(made):
            row["position"] = position if source.random() < 0.9 else None
        if source.random() < 0.4:
            spoil(source, made)
        tables.append(rows_of(made, run).as_table())
    return Batch(pa.concat_tables(tables).unify_dictionaries().select(list(COLUMNS)), "random")


def judged(kernel: Any, table: Table, run: JudgedRun) -> tuple[int, FirstRows, RunReport]:
    found, out = FirstRows(most=3), RunReport()
    return kernel(table, run, out, found, 0, table.rows), found, out


def compare(batch: Batch, capacity: int, seen: Counter[str]) -> None:
    """Both readings of a table, with so much room."""
    runs = [room_for(batch.processes, capacity) for _ in range(2)]
    count, found, out = judged(judge_runs, batch.table, runs[0])
    again, same, other = judged(machine(judge_runs), batch.table, runs[1])
    assert count == again
    assert held_by(found) == held_by(same)
    assert held_by(out) == held_by(other)
    assert held_by(runs[0]) == held_by(runs[1])
    for k in range(count):
        seen[f"error {found.error[k]}"] += found.error[k] > 0
        seen["error" if found.error[k] > 0 else "no room" if found.error[k] < 0 else "judged"] += 1
        seen.update(f"broken {bit}" for bit in range(16) if found.broken[k] >> bit & 1)


@pytest.mark.slow(seconds=1)
def test_judging_leaves_the_same_in_cpython_and_in_machine_code() -> None:
    seen: Counter[str] = Counter()
    for seed in range(TABLES):
        batch = batch_of(seed, 2)
        compare(batch, batch.rows, seen)  # no more than a run may need
        compare(batch, random.Random(seed).randint(1, 4), seen)
    print(f"\n{TABLES:,} tables: {dict(sorted(seen.items()))}")
    assert min(seen[what] for what in ("judged", "error", "no room")) > TABLES // 10
    assert sum(seen[f"broken {bit}"] > 0 for bit in range(16)) >= 12


def test_judging_ends_where_there_is_no_room_for_another_answer() -> None:
    """The next call begins behind the last run that was answered: nothing is written past the end of the answers."""
    tables = [rows_of(Made(seed).made(), seed).as_table() for seed in range(5)]
    batch = Batch(pa.concat_tables(tables).unify_dictionaries().select(list(COLUMNS)), "random")
    for kernel in (judge_runs, machine(judge_runs)):
        count, found, _ = judged(kernel, batch.table, room_for(batch.processes, batch.rows))
        assert count == found.most == 3
        assert [found.first[k] for k in range(count)] == batch.starts[:3].tolist()


def test_a_run_of_as_many_processes_as_there_may_be_fits_the_masks() -> None:
    """The last process is bit 63 of a mask, which is the sign of a word."""
    rows = Rows(0, 64)
    for p in (63, 62, 0):
        rows.add("accept", p, time=1, primary_epoch=1, epoch=1, counter=1, identity=1)
    rows.add("abcast", 63, time=2, primary_epoch=1, attempt=0, epoch=1, counter=1, identity=1)
    for p in (0, 63):
        rows.add("abdeliver", p, time=3 + p, **{"pass": 0}, epoch=1, counter=1, identity=1)
    seen: Counter[str] = Counter()
    compare(Batch(rows.as_table().select(list(COLUMNS)), "one"), 8, seen)
    assert seen["judged"] == 1


def test_reading_past_the_end_of_an_array_is_an_error_in_cpython() -> None:
    batch = batch_of(0, 1)
    assert batch.processes > 1
    with pytest.raises(RangeError, match="has 1 entries, and none is"):
        judged(judge_runs, batch.table, room_for(1, batch.rows))
