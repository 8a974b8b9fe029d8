"""Check a table in this process: its units in threads."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from functools import partial
from threading import Event

from traces.events.places import Place
from traces.events.table import TableError, parts_of
from traces.judging.kernel import judge_runs
from traces.judging.totals import Span, Totals, Unit, check_spans, units_of
from zabspec.language.native.kernels import machine

Progress = Callable[[int, int, Totals], object]  # rows checked, of how many, and the results so far
OFTEN = 0.1  # seconds between two looks at what is done


def read_units(path: Place) -> list[Unit]:
    """Return the units of a table, from the footers of its files.

    Raises:
        TableError: it is no event table.
    """
    return units_of(parts_of(path))


def numbers_in(units: Sequence[Unit]) -> Callable[[Span], Sequence[int]]:
    """Return a function that reads the number of every run of a unit."""
    named = {unit.name: unit for unit in units}

    def numbers(span: Span) -> Sequence[int]:
        column = named[span.where].read(("run",)).column("run").to_numpy().tolist()
        return [n for k, n in enumerate(column) if k == 0 or n != column[k - 1]]

    return numbers


def judge_plainly(
    units: Sequence[Unit], names: Sequence[str], threads: int, progress: Progress = lambda *_: None
) -> Totals:
    """Check every unit in this process, one unit per thread.

    Violations are in the order of their runs: units end in any order.

    Args:
        names: the properties to check; if empty, all that are checked by default.

    Raises:
        TableError: a unit cannot be checked, or a run is in two units.
    """
    total, done = Totals(), 0
    everything = sum(u.rows for u in units)
    machine(judge_runs)  # compiled once, before threads ask for it
    stop = Event()
    begun = dict.fromkeys(range(len(units)), 0)  # the number of rows checked, for each unit under way
    pool = ThreadPoolExecutor(threads)
    try:
        under_way = {
            pool.submit(u.judge, names, stop.is_set, partial(begun.__setitem__, k)): k for k, u in enumerate(units)
        }
        wrong: tuple[int, TableError] | None = None  # the first in the table, whichever is found first
        while under_way:
            finished, _ = wait(under_way, OFTEN, FIRST_COMPLETED)
            for future in finished:
                k = under_way.pop(future)
                done += units[k].rows
                begun[k] = 0
                try:
                    total.add(future.result())
                except TableError as problem:
                    wrong = (k, problem) if wrong is None else min(wrong, (k, problem), key=lambda w: w[0])
            if wrong is not None:
                under_way = {future: k for future, k in under_way.items() if k < wrong[0]}
            progress(done + sum(begun.values()), everything, total)
        if wrong is not None:
            raise wrong[1]
    finally:
        stop.set()
        pool.shutdown(wait=False, cancel_futures=True)
    total.violations.sort(key=lambda v: (v.run, v.property))
    check_spans(total.spans, numbers_in(units))
    return total
