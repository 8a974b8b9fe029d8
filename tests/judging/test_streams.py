"""A stream of events judged as its rows come: what is said in the end is what is said of the table."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from importlib import import_module
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

pytest.importorskip("pandas")

from checker.errors import RequestError
from tests.judge_tables import made_up, rows_of
from traces.events.table import OBSERVED, ROW, TableError
from traces.judging import numbers
from traces.judging.runs import JUDGED
from traces.tables.judging.batches import NEEDED, NUMBERED, Judge, column_of
from traces.tables.judging.streams import ARRIVED, TEXTS, Bounds, Bucket, JudgeStream, as_frame, moments_over

BOUNDS = Bounds(idle=100, kept=200, disorder=500, longest=1000)


class State:
    """What Spark keeps of a bucket, and how far its watermark is."""

    def __init__(self) -> None:
        self.exists, self.get, self.hasTimedOut, self.timeout, self.watermark = False, (), False, 0, 0

    def update(self, kept: tuple[Any, ...]) -> None:
        self.exists, self.get = True, kept

    def remove(self) -> None:
        self.exists, self.get = False, ()

    def getCurrentWatermarkMs(self) -> int:
        return self.watermark

    def setTimeoutTimestamp(self, milliseconds: int) -> None:
        assert milliseconds > self.watermark
        self.timeout = milliseconds


def table_of(seed: int, run: int = 7) -> pa.Table:
    """A run that is made up at random."""
    rows = rows_of(made_up(random.Random(seed), 20), run)
    rows.columns["message"][0] = ",".join(OBSERVED)
    table = rows.as_table()
    columns = [c.cast(pa.string()) if pa.types.is_dictionary(c.type) else c for c in table.columns]
    return pa.table(columns, names=table.schema.names).select([*NEEDED, ROW]).combine_chunks()


def frame_of(rows: pa.Table, now: int) -> Any:
    """Rows as they come through pandas."""
    exact = {
        name: rows.column(name).fill_null(numbers.NULL).to_numpy() for name in rows.column_names if name not in TEXTS
    }
    texts = {name: rows.column(name).to_pylist() for name in TEXTS}
    return import_module("pandas").DataFrame(exact | texts | {ARRIVED: [now] * rows.num_rows})


def called(judge: JudgeStream, state: State, rows: pa.Table | None, now: int = 0) -> list[tuple[Any, ...]]:
    """What is said where rows come, or (None) where the time is over."""
    state.hasTimedOut = rows is None
    if rows is None:
        state.watermark = state.timeout
    some = [] if rows is None else [rows.slice(0, 0), rows.slice(0, 1), rows.slice(1)]
    frames = judge((3,), [frame_of(part, now) for part in some], state)
    return [row for frame in frames for row in frame.itertuples(index=False, name=None)]


def ended(judge: JudgeStream, state: State) -> list[tuple[Any, ...]]:
    """What a stream says in two silent halves of the idle time."""
    return [*called(judge, state, None), *called(judge, state, None)]


def batch(rows: pa.Table) -> list[tuple[int | None, str, str]]:
    """What is said of a table."""
    judge = Judge((), OBSERVED, NUMBERED)
    found = [s for some in judge.spoken(rows.combine_chunks().to_batches()) for s in some]
    return sorted((s.run, JUDGED[place].name, word) for s in found for place, word, _ in s.each())


def parts_of(rows: pa.Table, source: random.Random) -> Sequence[pa.Table]:
    """Rows in any order, in some parts."""
    order = list(range(rows.num_rows))
    source.shuffle(order)
    cuts = sorted(source.sample(range(1, len(order)), min(3, len(order) - 1)))
    return [rows.take(order[a:b]) for a, b in zip([0, *cuts], [*cuts, len(order)], strict=True)]


@pytest.mark.slow(seconds=1)
def test_rows_in_any_order_come_to_what_their_table_comes_to() -> None:
    """Of several runs in a bucket, in batches that cut each of them somewhere."""
    judge, early = JudgeStream(Judge((), OBSERVED, NUMBERED), BOUNDS), 0
    for seed in range(6):
        rows, state, said = pa.concat_tables([table_of(10 * seed + k, k) for k in range(4)]), State(), []
        for part in parts_of(rows, random.Random(seed)):
            now = called(judge, state, part)
            assert {verdict for _, _, verdict, *_ in now} <= {"violated"}
            early += len(now)
            said += now
        said += ended(judge, state)
        assert sorted((run, name, verdict) for run, name, verdict, *_ in said) == batch(rows)
        assert Bucket.of(state).as_tuple()[0] == b"", "of an ended run no row is kept"
        assert called(judge, state, None) == []
        assert not state.exists
    assert early > 0, "something was said before the end"


def test_a_run_ends_when_rows_of_others_came_for_a_while() -> None:
    """It stays open while it has rows itself, whatever becomes of the others of its bucket."""
    judge, state = JudgeStream(Judge((), OBSERVED, NUMBERED), BOUNDS), State()
    one, other = table_of(1, 1), table_of(2, 2)
    called(judge, state, one, now=1000)
    called(judge, state, other.slice(0, 2), now=1080)
    for now in (1050, 1090):
        state.watermark = now - BOUNDS.half
        assert {verdict for _, _, verdict, *_ in called(judge, state, other.slice(2, 1), now=now)} <= {"violated"}
    state.watermark = 1150 - BOUNDS.half + 1
    said = called(judge, state, other.slice(3), now=1200)
    assert {run for run, _, verdict, *_ in said if verdict != "violated"} == {1}
    assert Bucket.of(state).runs[2].ended is False


def test_a_run_does_not_end_while_a_query_that_was_down_reads_what_came_meanwhile() -> None:
    judge, state = JudgeStream(Judge((), OBSERVED, NUMBERED), BOUNDS), State()
    one, other = table_of(1, 1), table_of(2, 2)
    said = called(judge, state, one.slice(0, 2), now=1000)
    for k in range(3):
        said += called(judge, state, other.slice(k, 1), now=9000 + k)
        state.watermark = 9000 + k - BOUNDS.half
    said += called(judge, state, one.slice(2), now=9010)
    said += ended(judge, state) + ended(judge, state)  # of one run after the other
    assert sorted((run, name, verdict) for run, name, verdict, *_ in said if run == 1) == batch(one)


def test_a_state_of_another_number_of_buckets_is_refused() -> None:
    judge, state, rows = JudgeStream(Judge((), OBSERVED, NUMBERED), BOUNDS), State(), table_of(1)
    called(judge, state, rows)
    with pytest.raises(TableError, match=r"spark.zabcheck.buckets is 7, and the state in the checkpoint is of 64: set"):
        called(replace(judge, buckets=7), state, None)


@pytest.mark.slow(seconds=1)
def test_what_a_moment_violates_stays_violated() -> None:
    """Whatever rows follow: of every row at which a moment is over."""
    found = 0
    for seed in range(6):
        rows = table_of(seed)
        broken, time = violated(rows), column_of(rows, "time")
        for k in {moments_over(time, there) for there in range(2, rows.num_rows)} - {0}:
            before = violated(rows.slice(0, k))
            assert before <= broken
            found += len(before)
    assert found > 0


def violated(rows: pa.Table) -> set[str]:
    return {name for _, name, word in batch(rows) if word == "violated"}


def test_a_moment_that_goes_on_is_not_judged() -> None:
    time = np.array([numbers.NULL, 1, 1, 2, 2])
    assert [moments_over(time, there) for there in range(6)] == [0, 0, 1, 1, 3, 3]
    assert moments_over(np.array([0, numbers.NULL, 2]), 3) == 0


def test_a_row_that_is_missing_or_there_twice_is_malformed() -> None:
    judge, rows = JudgeStream(Judge((), OBSERVED, NUMBERED), BOUNDS), table_of(1)
    twice = pa.concat_tables([rows, rows.slice(3, 1)])
    missing = pa.concat_tables([rows.slice(0, 3), rows.slice(4)])
    for some, why in ((twice, "more than once"), (missing, "its row 3 is missing")):
        state = State()
        called(judge, state, some)
        said = ended(judge, state)
        assert {verdict for _, _, verdict, *_ in said} == {"malformed"}
        assert all(why in reason for _, _, _, reason, *_ in said)


def test_bounds_of_what_is_kept_are_said() -> None:
    rows = table_of(1)
    for bounds, some, verdict in (
        (Bounds(disorder=2), rows.slice(1), "malformed"),
        (Bounds(longest=2), rows, "undecided"),
    ):
        state = State()
        said = called(JudgeStream(Judge((), OBSERVED, NUMBERED), bounds), state, some)
        assert {word for _, _, word, *_ in said} == {verdict}
        bucket = Bucket.of(state)
        assert (state.get[1], bucket.runs[7].ended) == (b"", True)


def test_rows_behind_the_end_and_of_no_run_are_said() -> None:
    judge, rows, state = JudgeStream(Judge((), OBSERVED, NUMBERED), BOUNDS), table_of(1), State()
    called(judge, state, rows)
    ended(judge, state)
    late = called(judge, state, rows.slice(0, 2))
    assert {(word, why) for _, _, word, why, *_ in late} == {("malformed", "2 rows came after the end of the run")}
    nameless = rows.set_column(0, "run", pa.nulls(rows.num_rows, pa.int64()))
    assert {(run, word) for run, _, word, *_ in called(judge, State(), nameless)} == {(None, "malformed")}


@pytest.mark.filterwarnings("error::FutureWarning")
def test_verdicts_join_rows_without_types_as_pyspark_does() -> None:
    pd, run = import_module("pandas"), 2**53 + 1
    judge = JudgeStream(Judge((), OBSERVED, NUMBERED), BOUNDS)
    refused = as_frame(list(judge.told(judge.judge.refused(run, "why"))))
    joined = pd.concat([refused, pd.DataFrame(dict.fromkeys(refused.columns), index=[0])], ignore_index=True)
    assert pa.array(joined["run"], pa.int64()).to_pylist() == [run] * len(refused) + [None]


def test_a_stream_is_refused_with_a_sentence() -> None:
    from zabcheck.tables.spark import judge_stream

    with pytest.raises(RequestError, match="idle must be above 0"):
        judge_stream(None, idle=0)  # type: ignore[arg-type]
    with pytest.raises(RequestError, match="there is no kind 'abcats'"):
        judge_stream(None, observes=["abcats"])  # type: ignore[arg-type]
