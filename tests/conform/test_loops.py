"""Loops that stop where the rest of them does nothing: which qualify, and that what they compute stays the same."""

from __future__ import annotations

import copy
import random
from collections.abc import Callable
from pathlib import Path
from types import FunctionType

import pytest

from invariants.binding import full_namespace
from tests.conform.tampering import put, sample
from traces.conform.explained import text_of
from traces.conform.loops import stopping
from traces.conform.record import read_record

Queue = list[int]
ROOM = 40


def removes(q: Queue, z: int) -> None:
    for k in range(ROOM):
        if k < len(q) and q[k] == z:
            q.pop(k)


def drops_behind(q: Queue, kept: int) -> None:
    for _ in range(ROOM):
        last = len(q) - 1
        if last >= kept:
            q.pop(last)


def finds(q: Queue, z: int) -> int:
    kept = 0
    found = False
    for k in range(len(q)):
        if not found:
            kept = k + 1
            found = q[k] >= z
    return kept


def drops_first(q: Queue, z: int) -> None:
    for _ in range(ROOM):
        if len(q) > 0 and q[0] != z:
            q.pop(0)


# What follows would compute something else, were it to stop at its first iteration that does nothing.


def counts_up(q: Queue, z: int) -> None:
    count = 0
    for _ in range(ROOM):
        count = count + 1
        if count > z:
            q.append(count)


def other_way(q: Queue, z: int) -> None:
    for k in range(ROOM):
        if k >= len(q) and k > z:
            q.append(k)


def by_its_number(q: Queue, z: int) -> None:
    for k in range(ROOM):
        if k == z:
            q.append(k)


def has_else(q: Queue, z: int) -> None:
    for k in range(ROOM):
        if k < len(q) and q[k] == z:
            q.pop(k)
        else:
            q.append(z)


def read_behind(q: Queue, z: int) -> int:
    for k in range(ROOM):
        if k < len(q) and q[k] == z:
            q.pop(k)
    return k


def calls(q: Queue, z: int) -> None:
    for _ in range(ROOM):
        if q.count(z) > 0 and is_fifth(q):
            q.append(z)


def is_fifth(q: Queue) -> bool:
    q.append(0)
    return len(q) % 5 == 0


def one_then_another(q: Queue, z: int) -> None:
    for _ in range(ROOM):
        q.append(len(q))
        if len(q) > z:
            q.pop(0)


STOP = (removes, drops_behind, finds, drops_first)
STAY = (counts_up, other_way, by_its_number, has_else, read_behind, calls, one_then_another)


@pytest.mark.parametrize("function", STOP + STAY)
def test_what_a_loop_computes_stays_the_same(function: Callable[[Queue, int], object]) -> None:
    assert isinstance(function, FunctionType)
    stops = FunctionType(stopping(function), globals())
    draw = random.Random(1)
    for _ in range(200):
        q = [draw.randrange(6) for _ in range(draw.randrange(9))]
        z, other = draw.randrange(6), copy.copy(q)
        assert (function(q, z), q) == (stops(other, z), other)


def test_only_loops_that_can_stop_are_changed() -> None:
    assert [f for f in STOP if stopping(f) is f.__code__] == []
    assert [f for f in STAY if stopping(f) is not f.__code__] == []


class Counted(list[int]):
    """A queue that counts how often its length is asked."""

    asked = 0

    def __len__(self) -> int:
        self.asked += 1
        return super().__len__()


def test_a_loop_stops_behind_what_there_is() -> None:
    for function in (removes, drops_behind, drops_first):
        q = Counted([1, 2, 3])
        FunctionType(stopping(function), globals())(q, 1)
        assert 0 < q.asked < 20


def test_loops_over_the_room_of_a_queue_stop_in_a_text(tmp_path: Path) -> None:
    """Those in which a minute of an ensemble would spend nearly all of its time, also behind what counts steps."""
    text = text_of(read_record(put(tmp_path / "record.jsonl", sample())), "")  # which other tests have made
    namespace = full_namespace(text.model)
    for name in ("leader_commits", "drop_behind", "log_stale"):
        written, loaded = namespace[text.key(name)], text[name]
        called = [loaded, *(cell.cell_contents for cell in loaded.__closure__ or ())]
        assert stopping(written) is not written.__code__
        assert stopping(written) in [f.__code__ for f in called if isinstance(f, FunctionType)]
