"""Structs of arrays: one text, checked in CPython and as fast as memory in machine code."""

from __future__ import annotations

import array
import random
from types import FunctionType
from typing import Any

import pytest

from zabspec.language import Field, FrontEnd, Int, LanguageError, RangeError, Role, Schema
from zabspec.language.analysis.structs import Struct, column, part, size, word, words
from zabspec.language.layout.cache_key import digest_of
from zabspec.language.layout.schema import Layout
from zabspec.language.layout.wrapping import count_bits, shl, wrap_mul
from zabspec.language.native.kernels import machine, program_of
from zabspec.language.python.lang import Node, State

SIGN = 63


class Counts(Struct):
    """How often each number came."""

    most = size()
    seen = word()
    times = words(most, width=2)


class Grid(Struct):
    """Rows of numbers, and what they come to."""

    rows = size()
    columns = size()
    best = word()
    given = column(rows, width=4)
    total = words(rows)
    cell = words(rows, columns)
    pair = words(2, rows, columns, width=1)
    counts = part(Counts)


def fill(g: Grid, seed: int) -> int:
    """Writes every array, by every way that there is to name a place."""
    word_ = seed
    counts = g.counts
    for r in range(g.rows):
        for c in range(g.columns):
            word_ = wrap_mul(word_ ^ (r + 1), 0x5851F42D4C957F2D)
            g.cell[r][c] = word_
            g.pair[c & 1][r][c] = word_ & 255
            g.total[r] += count_bits(word_)
            counts.times[(word_ >> 3) & 7] += 1
            counts.seen = counts.seen + 1
        g.total[r] = g.total[r] + g.given[r] + shl(1, SIGN if r == 1 else r)
        if r == 0 or g.total[r] > g.total[g.best]:
            g.best = r
    return g.total[g.best] ^ g.counts.seen


def made(rows: int, columns: int) -> Grid:
    given = array.array("I", range(7, 7 + rows))
    return Grid(rows=rows, columns=columns, given=given, counts=Counts(most=8))


def held_by(s: Struct) -> Any:
    def flat(value: Any) -> Any:
        return value if isinstance(value, int) else held_by(value) if isinstance(value, Struct) else [*map(flat, value)]

    return {name: flat(getattr(s, name)) for name in s.members}


def test_a_kernel_leaves_the_same_in_cpython_and_in_machine_code() -> None:
    fast, source = machine(fill), random.Random(1)
    for _ in range(20):
        rows, columns, seed = source.randint(1, 9), source.randint(1, 9), source.getrandbits(60)
        one, other = made(rows, columns), made(rows, columns)
        assert fill(one, seed) == fast(other, seed)
        assert held_by(one) == held_by(other)


def reach(g: Grid, r: int, c: int) -> int:
    return g.cell[r][c]


@pytest.mark.parametrize(("r", "c", "which"), [(2, 0, "cell"), (-1, 0, "cell"), (1, 3, r"cell\[1\]"), (0, -1, "cell")])
def test_an_index_outside_its_axis_is_an_error_in_cpython(r: int, c: int, which: str) -> None:
    with pytest.raises(RangeError, match=which + r".* has [23] entries, and none is"):
        reach(made(2, 3), r, c)


def test_a_value_wider_than_its_element_is_an_error_and_not_stored() -> None:
    g = made(2, 3)
    for store in (
        lambda: g.total.__setitem__(0, 1 << 63),
        lambda: g.pair[0][1].__setitem__(2, 256),
        lambda: g.counts.times.__setitem__(3, -1),
        lambda: setattr(g, "best", -(1 << 63) - 1),
    ):
        with pytest.raises(RangeError, match="would leave its"):
            store()
    assert held_by(g) == held_by(made(2, 3))


def test_what_is_given_is_not_written() -> None:
    g = made(2, 3)
    for name in ("rows", "counts", "given"):
        with pytest.raises(AttributeError, match=f"{name} of Grid cannot change"):
            setattr(g, name, 1)
    with pytest.raises(TypeError):
        g.given[0] = 1  # type: ignore[index]
    assert g.given[0] == 7


def test_what_a_struct_is_made_of_is_checked() -> None:
    for given, why in (
        ({"most": 8, "least": 1}, "Counts takes no least"),
        ({}, "Counts needs most"),
    ):
        with pytest.raises(TypeError, match=why):
            Counts(**given)
    for times in (array.array("H", [1] * 7), array.array("I", [1] * 4), bytes(16)):
        with pytest.raises(ValueError, match=r"Counts.times"):
            Counts(most=8, times=memoryview(times).cast("B").cast("H") if isinstance(times, bytes) else times)
    with pytest.raises(TypeError, match=r"Grid\.counts is a Counts"):
        Grid(rows=1, columns=1, given=array.array("I", [1]), counts=made(1, 1))
    with pytest.raises(TypeError, match="1, 2, 4 or 8 bytes"):
        words(3, width=3)
    with pytest.raises(TypeError, match="fill takes a Grid, not a Counts"):
        machine(fill)(Counts(most=1), 1)  # type: ignore[arg-type]


def test_arrays_that_are_given_are_written_where_they_lie() -> None:
    own = array.array("q", [0, 0])
    g = Grid(rows=2, columns=1, given=array.array("I", [3, 4]), counts=Counts(most=8), total=own)
    machine(fill)(g, 5)
    assert list(own) == list(g.total) != [0, 0]


def unknown_member(g: Grid) -> int:
    return g.nothing  # type: ignore[attr-defined, no-any-return]


def too_few(g: Grid) -> int:
    return g.cell[0]  # type: ignore[return-value]


def too_many(g: Grid) -> int:
    return g.best[0]  # type: ignore[index, no-any-return]


def writes_size(g: Grid) -> int:
    g.rows = 3
    return 0


def writes_column(g: Grid) -> int:
    g.given[0] = 3  # type: ignore[index]
    return 0


def compares(g: Grid) -> int:
    return 1 if g.counts == g.counts else 0


@pytest.mark.parametrize(
    ("kernel", "why"),
    [
        (unknown_member, "Grid has no nothing"),
        (too_few, "cell of Grid takes 2 indices, and 1 are given"),
        (too_many, "best of Grid takes 0 indices, and 1 are given"),
        (writes_size, "rows cannot be written"),
        (writes_column, "given cannot be written"),
        (compares, "a struct cannot be compared"),
    ],
)
def test_what_a_struct_does_not_have_is_refused_with_its_line(kernel: FunctionType, why: str) -> None:
    with pytest.raises(LanguageError, match=rf"test_structs.py:\d+: {why}"):
        machine(kernel)


def handler(s: State, p: Node, g: Grid) -> None:
    g.best = p


def test_a_protocol_does_not_get_structs() -> None:
    scratch = (Field("steps", Int(0, 1), Role.SCRATCH), Field("error", Int(0, 1), Role.SCRATCH))
    front = FrontEnd(Layout(Schema(1, scratch, {})), {"handler": handler, "Grid": Grid}, {}, {"handler"})
    with pytest.raises(LanguageError, match="structs of arrays are for kernels"):
        front.function("handler")


def takes_truth(g: Grid, flag: bool) -> int:
    return 1 if flag else g.best


def test_how_a_kernel_is_called_follows_from_its_annotations() -> None:
    with pytest.raises(LanguageError, match=r"takes_truth is called from outside.* flag is bool"):
        machine(takes_truth)


def test_the_program_of_a_kernel_is_what_it_names() -> None:
    assert set(program_of(fill)) == {"fill", "Grid", "SIGN"}


def test_another_width_is_another_program() -> None:
    class Narrow(Struct):
        most = size()
        cell = words(most, width=4)

    class Wide(Struct):
        most = size()
        cell = words(most, width=8)

    Wide.__qualname__ = Narrow.__qualname__
    assert digest_of(Narrow) != digest_of(Wide)
