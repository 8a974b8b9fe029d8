"""Runs judged as their rows come by, in batches, come to what a table of them comes to."""

from __future__ import annotations

import pickle
import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from tests.histories import Abcast, Deliver, History, Instance, MadeUp, Txn
from tests.judge_tables import ALL, made_up, rows_of, verdicts_of, written
from tests.judging.orderly import orderly
from tests.judging.test_judge_definitions import Made
from tests.judging.test_judge_definitions import rows_of as of_rows
from traces.judging.batches import BY_TIME, MALFORMED, NUMBERED, WORDS, Judge, Spoken
from traces.judging.frames import JudgeUnits
from traces.judging.judge import read_units
from traces.judging.runs import BITS, JUDGED
from traces.judging.single_run import InMemory
from traces.judging.totals import UNSAID, asked_for, judge_unit
from traces.sweep.frames import Events, Runs
from traces.sweep.grid import Grid
from traces.tables.table import OBSERVED, Rows, TableError, TableWriter

NAMES = tuple(p.name for p in JUDGED)


def numbered(rows: Rows) -> pa.Table:
    rows.columns["row"][:] = range(len(rows))
    return rows.as_table()


def in_batches(table: pa.Table, size: int) -> Iterator[pa.RecordBatch]:
    yield from table.combine_chunks().to_batches(max_chunksize=size)


def judged(judge: Judge, table: pa.Table, size: int = 7) -> list[Spoken]:
    return [s for some in judge.spoken(in_batches(table, size)) for s in some]


def disordered(table: pa.Table) -> pa.Table:
    """Its rows in another order."""
    return table.take(random.Random(table.num_rows).sample(range(table.num_rows), table.num_rows))


def words_of(s: Spoken) -> dict[str, str]:
    return {name: WORDS[word] for name, word in zip(NAMES, s.words, strict=True) if word != UNSAID}


def alone(table: pa.Table) -> dict[str, str] | str:
    """What the judge of tables says of one run; or why it does not judge it."""
    try:
        return verdicts_of(judge_unit(InMemory((), rows_of=table, noted=OBSERVED), ALL))
    except TableError as problem:
        return str(problem)


def some_runs() -> list[pa.Table]:
    """Runs that may leave something unknown, empty ones, and some that are none."""
    made = [numbered(of_rows(Made(seed).made(), seed)) for seed in range(12)]
    made += [numbered(rows_of(made_up(random.Random(seed), 20), seed)) for seed in range(12, 20)]
    made += [numbered(Rows(seed, 3)) for seed in range(20, 22)]
    wrong = rows_of(made_up(random.Random(5), 20), 22)
    wrong.columns["time"][-1] = -1
    no_kind = made[0].slice(0, 1).set_column(0, "run", pa.array([23]))
    at = no_kind.schema.get_field_index("kind")
    return [
        *made,
        numbered(wrong),
        no_kind.set_column(at, no_kind.schema.field("kind").with_nullable(True), no_kind["kind"]),
    ]


def test_each_run_is_judged_as_it_is_alone() -> None:
    runs = some_runs()
    table = pa.concat_tables([disordered(t) for t in runs], promote_options="permissive")
    found = {s.run: s for s in judged(Judge(NAMES, OBSERVED, NUMBERED, at_once=500), table)}
    assert len(found) == len(runs)
    said: set[str] = set()
    for table in runs:
        run = table["run"][0].as_py()
        expected, words = alone(table), words_of(found[run])
        if isinstance(expected, str):
            assert set(words.values()) == {MALFORMED}
            assert {why.partition(":")[2] for why, *_ in found[run].said.values()} == {expected.partition(":")[2]}
        else:
            assert words == expected, run
        for row, word in enumerate(found[run].words):
            assert (row in found[run].said) == (WORDS[word] in ("violated", "open", "undecided", MALFORMED)), run
        said |= {*words.values()}
    assert said == {*WORDS}


def test_a_row_that_is_lost_or_twice_there_is_never_a_verdict() -> None:
    source = random.Random(3)
    for seed in range(6):
        table = numbered(rows_of(made_up(random.Random(seed), 20), seed))
        k = source.randrange(table.num_rows - 1)
        lost = pa.concat_tables([table.slice(0, k), table.slice(k + 1)])
        twice = pa.concat_tables([table.slice(0, k + 1), table.slice(k)])
        at = table.schema.get_field_index("row")
        unnumbered = pa.array([None if i == k else i for i in range(table.num_rows)], pa.int64())
        for some in (lost, twice, table.set_column(at, table.schema.field("row"), unnumbered)):
            damaged = disordered(some)
            for longest in (5, 1000):
                (said,) = judged(Judge((), OBSERVED, NUMBERED, longest=longest), damaged)
                assert set(words_of(said).values()) == {MALFORMED}
                assert "row" in said.said[0][0]


def test_rows_without_a_run_are_told() -> None:
    table = numbered(Rows(1, 3))
    nameless = table.set_column(0, pa.field("run", pa.int64()), pa.array([None], pa.int64()))
    found = judged(Judge(), pa.concat_tables([nameless, table, nameless], promote_options="permissive"))
    assert [s.run for s in found] == [1, None]
    assert set(words_of(found[1]).values()) == {MALFORMED}
    assert found[1].said[0][0] == "2 rows have no run number"


def test_order_by_time_says_nothing_that_rows_in_order_do_not() -> None:
    """What is told of rows sorted by their columns is told of them in their order; else it is open."""
    runs = []
    for seed in range(60):
        source = random.Random(seed)
        nodes = source.choice((1, 2, 3))
        h = MadeUp(source, nodes, 4, 3).history(20)
        slow, now, moments = source.choice((0.2, 0.7, 1.0)), 0, []
        for _ in h.events:
            now += source.random() < slow
            moments.append(None if seed % 7 == 0 and (seed % 2 or source.random() < 0.2) else now)
        rows = rows_of(h, seed, moments)
        if seed % 5 == 0:
            for _ in range(2):
                rows.columns[source.choice(("process", "position"))][source.randrange(len(rows))] = None
        runs.append(numbered(rows))
    told = 0
    found = {
        s.run: words_of(s)
        for s in judged(Judge(NAMES, OBSERVED, BY_TIME), pa.concat_tables([disordered(t) for t in runs]))
    }
    for table in runs:
        words, expected = found[table["run"][0].as_py()], alone(table)
        if set(words.values()) == {"open"}:
            continue
        told += 1
        if isinstance(expected, str):
            assert set(words.values()) == {MALFORMED}, (table["run"][0], expected)
        else:
            assert words == expected, table["run"][0]
    assert 8 < told < 55


@pytest.mark.parametrize("lacks", ["position", "process", ""])
def test_rows_whose_order_nothing_says_are_open(lacks: str) -> None:
    """Two deliveries of one process, two abcasts of nobody, or abcasts of two processes, in one moment."""
    t, u = Txn(1, 1, 1), Txn(1, 2, 2)
    first, other = Instance(1, 0, 0), Instance(1, 0 if lacks else 1, 0)
    h = History(2, (Abcast(first, t), Abcast(other, u), *(Deliver(p, 0, x) for p in (0, 1) for x in (t, u))))
    rows = rows_of(h, 0, [3, 3, *((4, 5) if lacks == "process" else (4, 4)), 6, 7])
    for k, kind in enumerate(rows.columns["kind"]):
        if kind == ("abdeliver" if lacks == "position" else "abcast") and lacks:
            rows.columns[lacks][k] = None
    (said,) = judged(Judge((), OBSERVED, BY_TIME), numbered(rows))
    assert set(words_of(said).values()) == {"open"}
    assert said.said[0][0].endswith(f"gives the order of its rows of time {4 if lacks == 'position' else 3}")


def test_a_long_run_is_judged_by_blocks_from_a_file() -> None:
    """Between two short runs; it comes to what the rows held come to, or is left open."""
    events = orderly(lag=9)
    broken = [*events[:40], Deliver(1, 0, Txn(1, 30, 31)), *events[41:]]
    some: Sequence[Any] = (Abcast(Instance(1, 0, 0), Txn(1, 1, 1)), Deliver(0, 0, Txn(1, 1, 1)))
    tables = [numbered(rows_of(History(3, tuple(e)), k)) for k, e in enumerate((some, events, some, broken, some))]
    sent = pa.concat_tables([disordered(t) for t in tables])
    found = judged(Judge((), OBSERVED, NUMBERED, at_once=100, longest=50), sent)
    assert sorted(s.run for s in found if s.run is not None) == [0, 1, 2, 3, 4]
    for s in found:
        whole, words = alone(tables[s.run or 0]), words_of(s)
        assert isinstance(whole, dict)
        assert {n for n, w in words.items() if w != whole[n]} <= {
            n for n, w in words.items() if w in ("undecided", "not judged")
        }
    by_run = {s.run: s for s in found}
    assert words_of(by_run[1])["total-order"] == "held"
    assert words_of(by_run[3])["total-order"] == "violated"
    assert "delivered" in by_run[3].said[NAMES.index("total-order")][0]


def test_a_long_run_notes_what_its_first_row_says() -> None:
    """Whichever of its rows came first, and whatever is said of runs that do not say it."""
    rows = rows_of(History(3, tuple(orderly())))
    rows.columns["message"][0] = "abcast,abdeliver"
    for longest in (50, 10_000):
        (said,) = judged(Judge((), OBSERVED, NUMBERED, at_once=100, longest=longest), disordered(numbered(rows)))
        assert words_of(said)["one-leader-an-epoch"] == "not judged"


def test_what_a_run_notes_is_told_by_its_first_row() -> None:
    """Runs of several sources in one table; of one that does not say it is what the caller says."""
    rows = [Rows(0, 3, None, ("abcast", "abdeliver")), Rows(1, 3, None, OBSERVED), Rows(2, 3), Rows(3, 3, None, ())]
    found = {s.run: words_of(s) for s in judged(Judge(), pa.concat_tables([numbered(r) for r in rows]))}
    unjudged = [{n for n, w in found[k].items() if w == "not judged"} for k in range(4)]
    assert unjudged[0] == unjudged[2] > unjudged[1]
    assert unjudged[3] == {*found[3]}
    assert "one-leader-an-epoch" in unjudged[0] - unjudged[1]


def test_files_are_judged_as_they_are_read(tmp_path: Path) -> None:
    """What a task does that is given units of a table; one that is damaged is told, and nothing else is lost."""
    tables = [numbered(rows_of(made_up(random.Random(k), 20), k)) for k in range(6)]
    events = orderly(lag=9)
    for name, some in (("a", tables[:3]), ("b", tables[3:])):
        with TableWriter(tmp_path / f"{name}.parquet", OBSERVED) as table:
            for t in some:
                table.add_table(t)
    long = written(tmp_path / "c.parquet", [rows_of(History(3, tuple(events)), 9)], longest=50)
    units = read_units(tmp_path, longest=100)
    assert [u.long for u in units] == [False, False, True]
    sent = pa.RecordBatch.from_pydict({"unit": [pickle.dumps(u) for u in units]})

    def said() -> dict[int | None, list[str]]:
        rows = [r for out in JudgeUnits(())([sent]) for r in out.to_pylist()]
        return {r["run"]: [WORDS[w] for w in r["words"] if w != UNSAID] for r in rows}

    found = said()
    assert found.keys() == {*range(6), 9}
    for k, t in enumerate(tables):
        whole = verdicts_of(judge_unit(InMemory((), rows_of=t, noted=OBSERVED), asked_for(())))
        assert found[k] == [word for name, word in whole.items() if BITS[name] != BITS["dsn-causal-order"]]
    assert "held" in found[9]
    assert found[9].count("not judged") > found[0].count("not judged"), "it is judged by blocks"
    long.unlink()
    (tmp_path / "b.parquet").write_bytes(b"PAR1 none")
    found = said()
    assert found.keys() == {0, 1, 2, None}
    assert {*found[None]} == {MALFORMED}


def test_runs_that_are_made_are_judged_as_they_were_played() -> None:
    """What tasks make of a grid: what is said of the events of a run is what was said of the run itself."""
    question = Grid(seeds=("1",), protocol=("db19", "zab"), faults=(3,), rounds=(120,))
    numbers = [pa.RecordBatch.from_pydict({"id": [*range(question.count)]})]
    runs = {r["number"]: r for out in Runs(question)(numbers) for r in out.to_pylist()}
    events = pa.Table.from_batches(Events(question, False)(numbers))
    found = {s.run: words_of(s) for s in judged(Judge(order=NUMBERED), events)}
    assert found.keys() == runs.keys() == {0, 1}
    told = [(run, name, word) for run, said in found.items() for name, word in said.items()]
    told = [(run, name, word) for run, name, word in told if word != "not judged" and runs[run].get(name)]
    assert len(told) > 20
    assert all({"held": "holds"}.get(word, word) == runs[run][name] for run, name, word in told)
    assert {name for _, name, word in told if word == "held"} >= {"integrity", "agreement"}
