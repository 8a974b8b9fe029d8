"""Play the configurations of a sweep in processes of this machine."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import ExitStack
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from traces.events.recorded import observes
from traces.events.table import USUAL, TableWriter
from traces.tables.sweep.block import block_table
from traces.tables.sweep.events import events_of
from traces.tables.sweep.grid import Grid
from zabspec.files import replacing
from zabspec.signals import Working, unheard

if TYPE_CHECKING:
    import pyarrow as pa

RUNS, EVENTS = "runs.parquet", "events.parquet"  # the names of the tables
BLOCK = 100  # configurations that a process plays before it says so
OFTEN = 0.5  # seconds between two looks at what is finished

Played = tuple["pa.Table", list["pa.Table"]]  # rows of runs, and events of each run
Tell = Callable[[int], object]  # how many configurations are finished


def play(question: Grid, numbers: range, events: bool) -> Played:
    """Play some configurations; return their rows, and the events of each run if these are asked for."""
    said = [table for number in numbers for table in events_of(question, number)] if events else []
    return block_table(question, numbers), said


def blocks(question: Grid, events: bool, processes: int, tell: Tell) -> Iterator[Played]:
    """Yield what the blocks of a sweep come to, in their order.

    The first block is played here: whatever it compiles the others have then.
    """
    ranges = [range(k, min(k + BLOCK, question.count)) for k in range(0, question.count, BLOCK)]
    yield play(question, ranges[0], events)
    done = len(ranges[0])
    tell(done)
    if processes == 1 or len(ranges) < 3:
        for numbers in ranges[1:]:
            yield play(question, numbers, events)
            done += len(numbers)
            tell(done)
        return
    under_way: list[Future[Played]] = []
    waiting = iter(ranges[1:])
    with Working(processes, unheard) as pool:
        while True:
            for some in islice(waiting, 4 * processes - len(under_way)):
                under_way.append(pool.submit(play, question, some, events))
            if not under_way:
                return
            while not under_way[0].done():
                wait(under_way[:1], OFTEN, FIRST_COMPLETED)
            played = under_way.pop(0).result()
            done += played[0].num_rows
            tell(done)
            yield played


def write_tables(question: Grid, folder: Path, events: bool, processes: int, tell: Tell) -> pa.Table:
    """Play every configuration, and write the tables: each is there when all of it is.

    Args:
        folder: receives `runs.parquet`, and `events.parquet` if events are asked for.
        processes: how many; 0 for one a core.
        tell: called now and then.

    Returns:
        The rows of all runs.

    Raises:
        OSError: they cannot be written.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    kinds = {kind for protocol in question.protocol for kind in observes(protocol)} if events else set[str]()
    every = all(kinds == {*observes(protocol)} for protocol in question.protocol) if events else False
    rows = []
    with ExitStack() as files:
        table = files.enter_context(TableWriter(folder / EVENTS, kinds if every else USUAL)) if events else None
        for some, said in blocks(question, events, processes or len(os.sched_getaffinity(0)), tell):
            rows.append(some)
            for run in said:
                assert table is not None
                table.add_table(run)
    out = pa.concat_tables(rows)
    with replacing(folder / RUNS) as new:
        pq.write_table(out, new, compression="zstd", write_page_checksum=True)
    return out
