"""Runs judged as their rows come by, in batches, come to what a table of them comes to."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pyarrow as pa
import pytest

from tests.histories import Abcast, Deliver, History, Instance, MadeUp, Txn
from tests.judge_tables import ALL, made_up, rows_of, verdicts_of
from tests.judging.orderly import orderly
from tests.judging.test_judge_definitions import Made
from tests.judging.test_judge_definitions import rows_of as of_rows
from traces.events.table import OBSERVED, Rows, TableError
from traces.judging.runs import JUDGED
from traces.judging.single_run import InMemory
from traces.judging.totals import BYTES_A_ROW, UNSAID, judge_unit
from traces.tables.judging.batches import BY_TIME, MALFORMED, NUMBERED, WORDS, Judge, Spoken, columns_of
from traces.tables.sweep.frames import Events, Runs
from traces.tables.sweep.grid import Grid

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
            assert {said.reason.partition(":")[2] for said in found[run].said.values()} == {expected.partition(":")[2]}
        else:
            assert words == expected, run
        for row, word in enumerate(found[run].words):
            assert (row in found[run].said) == (WORDS[word] in ("violated", "open", "undecided", MALFORMED)), run
        said |= {*words.values()}
    assert said == {*WORDS}


def test_rows_without_a_run_are_told() -> None:
    table = numbered(Rows(1, 3))
    nameless = table.set_column(0, pa.field("run", pa.int64()), pa.array([None], pa.int64()))
    found = judged(Judge(), pa.concat_tables([nameless, table, nameless], promote_options="permissive"))
    assert [s.run for s in found] == [1, None]
    assert set(words_of(found[1]).values()) == {MALFORMED}
    assert found[1].said[0].reason == "2 rows have no run number"


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
    assert said.said[0].reason.endswith(f"gives the order of its rows of time {4 if lacks == 'position' else 3}")


def test_a_run_that_memory_does_not_hold_is_refused_with_its_size() -> None:
    """Wherever its rows come among those of others, in however many batches."""
    some = (Abcast(Instance(1, 0, 0), Txn(1, 1, 1)), Deliver(0, 0, Txn(1, 1, 1)))
    tables = [numbered(rows_of(History(3, tuple(e)), k)) for k, e in enumerate((some, orderly(), some, orderly()))]
    for at_once in (5, 1000):
        found = judged(Judge((), OBSERVED, NUMBERED, at_once=at_once, most=50), pa.concat_tables(tables))
        assert [(s.run, s.rows) for s in found] == [(k, t.num_rows) for k, t in enumerate(tables)]
        assert [MALFORMED in words_of(s).values() for s in found] == [False, True, False, True]
        assert found[1].said[0].reason == (
            f"a run is judged in memory: this has {tables[1].num_rows} rows, and there is room for 50 at "
            f"{BYTES_A_ROW} bytes a row"
        )


def test_a_run_of_another_number_of_rows_than_expected_is_malformed() -> None:
    tables = [numbered(rows_of(History(3, tuple(orderly())), k)) for k in range(3)]
    sizes = [tables[0].num_rows, tables[1].num_rows + 1, None]
    sent = pa.concat_tables([t.append_column("n", pa.array([n] * t.num_rows, pa.int64()))
                             for t, n in zip(tables, sizes, strict=True)])  # fmt: skip
    found = judged(Judge((), OBSERVED, NUMBERED, expected="n"), sent)
    assert [MALFORMED in words_of(s).values() for s in found] == [False, True, True]
    assert found[1].said[0].reason == f"it has {tables[1].num_rows} rows, and {sizes[1]} are expected"
    size = tables[0].num_rows
    (said,) = judged(
        Judge((), OBSERVED, NUMBERED, expected="n"),
        tables[0].append_column("n", pa.array([*[size] * (size - 1), size + 9], pa.int16())),
    )
    assert said.said[0].reason == f"it has {size} rows, and {size} or {size + 9} are expected"


def test_a_property_that_is_named_twice_is_no_other_property() -> None:
    table = numbered(rows_of(History(3, tuple(orderly())), 0))
    one, two = (judged(Judge(("integrity",) * times, OBSERVED, NUMBERED), table) for times in (1, 2))
    assert [words_of(s) for s in one] == [words_of(s) for s in two] == [{"integrity": "holds"}]


def test_a_column_that_differs_within_a_run_is_noted() -> None:
    """Two clusters that number their runs alike, in one table."""
    rows = [numbered(rows_of(History(3, tuple(orderly())), k)) for k in (1, 2)]
    half = rows[0].num_rows // 2
    names = ["east"] * half + ["west"] * (rows[0].num_rows - half) + ["east"] * rows[1].num_rows
    sent = pa.concat_tables(rows).append_column("cluster", pa.array(names))
    found = judged(Judge((), OBSERVED, NUMBERED, further=("cluster",)), sent)
    assert [(s.further, "values of column 'cluster'" in "".join(s.notes)) for s in found] == [
        (("east",), True), (("east",), False),
    ]  # fmt: skip


def test_columns_that_no_property_reads_are_not_needed() -> None:
    tables = [numbered(rows_of(made_up(random.Random(seed), 20), seed)) for seed in range(9)]
    whole = pa.concat_tables(tables)
    sent = whole.append_column("cluster", pa.array([f"c{r}" for r in whole.column("run").to_pylist()]))
    for name in ("total-order", "integrity", "prefix", "one-leader-an-epoch", "delivered-is-chosen"):
        every = judged(Judge((name,), OBSERVED, NUMBERED), whole)
        few = sent.select([*columns_of([name]), "row", "cluster"])
        assert few.num_columns < sent.num_columns
        found = judged(Judge((name,), OBSERVED, NUMBERED, further=("cluster",)), few)
        assert [(s.run, words_of(s)) for s in found] == [(s.run, words_of(s)) for s in every]
        assert [s.further for s in found] == [(f"c{s.run}",) for s in found]


def test_what_a_run_notes_is_told_by_its_first_row() -> None:
    """Runs of several sources in one table; of one that does not say it is what the caller says."""
    rows = [Rows(0, 3, None, ("abcast", "abdeliver")), Rows(1, 3, None, OBSERVED), Rows(2, 3), Rows(3, 3, None, ())]
    found = {s.run: words_of(s) for s in judged(Judge(), pa.concat_tables([numbered(r) for r in rows]))}
    unjudged = [{n for n, w in found[k].items() if w == "not judged"} for k in range(4)]
    assert unjudged[0] == unjudged[2] > unjudged[1]
    assert unjudged[3] == {*found[3]}
    assert "one-leader-an-epoch" in unjudged[0] - unjudged[1]


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
    assert all(word == runs[run][name] for run, name, word in told)
    assert {name for _, name, word in told if word == "holds"} >= {"integrity", "agreement"}
