"""A stream of events judged as its rows come: what is said in the end is what is said of the table."""

from __future__ import annotations

import random
from collections.abc import Sequence
from importlib import import_module
from typing import Any

import pyarrow as pa
import pytest

pytest.importorskip("pandas")

from checker.errors import RequestError
from tests.judge_tables import made_up, rows_of
from traces.judging import numbers
from traces.judging.batches import NEEDED, NUMBERED, Judge
from traces.judging.streams import NUMBERS, TEXTS, Bounds, JudgeStream, moments_over, words_of
from traces.tables.table import OBSERVED, ROW

BOUNDS = Bounds(idle=100, kept=200, disorder=500, longest=1000)


class State:
    """What Spark keeps of a run."""

    def __init__(self) -> None:
        self.exists, self.get, self.hasTimedOut, self.timeout = False, (), False, 0

    def update(self, kept: tuple[Any, ...]) -> None:
        self.exists, self.get = True, kept

    def remove(self) -> None:
        self.exists, self.get = False, ()

    def setTimeoutDuration(self, milliseconds: int) -> None:
        self.timeout = milliseconds


def table_of(seed: int, run: int = 7) -> pa.Table:
    """A run that is made up at random."""
    rows = rows_of(made_up(random.Random(seed), 20), run)
    rows.columns["message"][0] = ",".join(OBSERVED)
    table = rows.as_table()
    columns = [c.cast(pa.string()) if pa.types.is_dictionary(c.type) else c for c in table.columns]
    return pa.table(columns, names=table.schema.names).select([*NEEDED, ROW]).combine_chunks()


def frame_of(rows: pa.Table) -> Any:
    """Rows as they come through pandas."""
    exact = {name: rows.column(name).fill_null(numbers.NULL).to_numpy() for name in NUMBERS}
    return import_module("pandas").DataFrame(exact | {name: rows.column(name).to_pylist() for name in TEXTS})


def called(judge: JudgeStream, state: State, rows: pa.Table | None, run: int | None = 7) -> list[tuple[Any, ...]]:
    """What is said where rows come, or (None) where the time is over."""
    state.hasTimedOut = rows is None
    some = [] if rows is None else [rows.slice(0, 0), rows.slice(0, 1), rows.slice(1)]
    frames = judge((run,), [frame_of(part) for part in some], state)
    return [row for frame in frames for row in frame.itertuples(index=False, name=None)]


def batch(rows: pa.Table) -> list[tuple[str, str]]:
    """What is said of a table."""
    (said,) = next(iter(Judge((), OBSERVED, NUMBERED).spoken(rows.to_batches())))
    return words_of(said)


def parts_of(rows: pa.Table, source: random.Random) -> Sequence[pa.Table]:
    """Rows in any order, in some parts."""
    order = list(range(rows.num_rows))
    source.shuffle(order)
    cuts = sorted(source.sample(range(1, len(order)), min(3, len(order) - 1)))
    return [rows.take(order[a:b]) for a, b in zip([0, *cuts], [*cuts, len(order)], strict=True)]


@pytest.mark.slow(seconds=1)
def test_rows_in_any_order_come_to_what_their_table_comes_to() -> None:
    judge, early = JudgeStream(Judge((), OBSERVED, NUMBERED), BOUNDS), 0
    for seed in range(10):
        rows, state, said = table_of(seed), State(), []
        for part in parts_of(rows, random.Random(seed)):
            now = called(judge, state, part)
            assert {verdict for _, _, verdict, *_ in now} <= {"violated"}
            early += len(now)
            said += now
        said += called(judge, state, None)
        assert sorted((name, verdict) for _, name, verdict, *_ in said) == sorted(batch(rows))
        assert state.timeout == BOUNDS.kept
        assert called(judge, state, None) == []
        assert not state.exists
    assert early > 0, "something was said before the end"


@pytest.mark.slow(seconds=1)
def test_what_a_moment_violates_stays_violated() -> None:
    """Whatever rows follow: of every row at which a moment is over."""
    found = 0
    for seed in range(6):
        rows = table_of(seed)
        broken = {name for name, word in batch(rows) if word == "violated"}
        for k in {moments_over(rows, there) for there in range(2, rows.num_rows)} - {0}:
            before = {name for name, word in batch(rows.slice(0, k)) if word == "violated"}
            assert before <= broken
            found += len(before)
    assert found > 0


def test_a_moment_that_goes_on_is_not_judged() -> None:
    rows = pa.table({"time": pa.array([None, 1, 1, 2, 2], pa.int64())})
    assert [moments_over(rows, there) for there in range(6)] == [0, 0, 1, 1, 3, 3]
    assert moments_over(pa.table({"time": pa.array([0, None, 2], pa.int64())}), 3) == 0


def test_a_row_that_is_missing_or_there_twice_is_malformed() -> None:
    judge, rows = JudgeStream(Judge((), OBSERVED, NUMBERED), BOUNDS), table_of(1)
    twice = pa.concat_tables([rows, rows.slice(3, 1)])
    missing = pa.concat_tables([rows.slice(0, 3), rows.slice(4)])
    for some, why in ((twice, "more than once"), (missing, "its row 3 is missing")):
        state = State()
        called(judge, state, some)
        said = called(judge, state, None)
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
        assert (state.get[0], state.get[3]) == (b"", True)


def test_rows_behind_the_end_and_of_no_run_are_said() -> None:
    judge, rows, state = JudgeStream(Judge((), OBSERVED, NUMBERED), BOUNDS), table_of(1), State()
    called(judge, state, rows)
    called(judge, state, None)
    late = called(judge, state, rows.slice(0, 2))
    assert {(word, why) for _, _, word, why, *_ in late} == {("malformed", "2 rows came after the end of the run")}
    nameless = called(judge, State(), rows, None)
    assert {word for _, _, word, *_ in nameless} == {"malformed"}


@pytest.mark.filterwarnings("error::FutureWarning")
def test_verdicts_join_rows_without_types_as_pyspark_does() -> None:
    pd, run = import_module("pandas"), 2**53 + 1
    judge = JudgeStream(Judge((), OBSERVED, NUMBERED), BOUNDS)
    refused = judge.as_frame(judge.judge.refused(run, "why"))
    joined = pd.concat([refused, pd.DataFrame(dict.fromkeys(refused.columns), index=[0])], ignore_index=True)
    assert pa.array(joined["run"], pa.int64()).to_pylist() == [run] * len(refused) + [None]


def test_a_stream_is_refused_with_a_sentence() -> None:
    from zabcheck.spark import judge_stream

    with pytest.raises(RequestError, match="idle must be above 0"):
        judge_stream(None, idle=0)  # type: ignore[arg-type]
    with pytest.raises(RequestError, match="there is no kind 'abcats'"):
        judge_stream(None, observes=["abcats"])  # type: ignore[arg-type]
