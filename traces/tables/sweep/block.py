"""Run a block of a sweep, which is a range of consecutive configurations, and return its rows.

Nothing here knows of Spark: a task calls `block_table`, and so does a plain loop.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from functools import cache
from typing import Any

import pyarrow as pa

from traces.judging.simulated import Judged, Verdict, judge, judged_properties
from traces.tables.sweep.grid import AXES, Grid, schedule_text
from zabspec.language.layout.kinds import Record, Seq
from zabspec.language.python.reference import StateView
from zabspec.simulator.dump import WORDS, Dump, FieldDump, digest
from zabspec.simulator.run import Run, SimulationError

HOLDS, NOT_REACHED, VIOLATED = VERDICTS = ("holds", "premise not reached", "violated")
NOT_JUDGED = None
COUNTS = ("elections", "commits", "messages", "abcasts")
TEXTS = ("protocol", "variant", "network", "oracle", "delay", "partition", "schedule", "drawn")


def properties_of(question: Grid) -> tuple[str, ...]:
    """Return the names of the properties that a sweep checks: those of any of its protocols."""
    return tuple(dict.fromkeys(p.name for protocol in question.protocol for p in judged_properties(protocol)))


def schema_of(question: Grid) -> pa.Schema:
    """Return the schema of a sweep's table (docs/reference/file-formats.md)."""
    text, number = pa.string(), pa.int32()
    return pa.schema(
        [
            ("number", pa.int64()),
            ("seed", pa.int64()),
            *((axis, text if axis in TEXTS else number) for axis in AXES),
            ("drawn", text),
            ("sha256", text),
            *((count, pa.int64()) for count in COUNTS),
            *((name, text) for name in properties_of(question)),
            ("error", text),
        ]
    )


class Reader:
    """Reads counts from states of one layout; reading field by field would take as long as the run."""

    def __init__(self, judged: Judged) -> None:
        layout, cluster = judged.layout, judged.cluster
        self.own = not cluster.parts_of.declared.replicas
        self.dump: Dump | FieldDump
        if self.own:  # except for messages, these counts exist only for an atomic broadcast
            self.dump = FieldDump(cluster.parts.fields, cluster.nodes)
            return
        self.dump = Dump(layout)
        delivered = layout.fields["delivered"].kind
        assert isinstance(delivered, Seq)
        assert isinstance(delivered.element, Record)
        self.header, self.word = delivered.header, WORDS[delivered.element.size]
        value = delivered.element
        self.shift, self.mask = value.shift("value"), (1 << value.fields["value"].bits) - 1
        self.places = [layout.offset("delivered", p) for p in range(layout.schema.nodes)]
        self.established, (stride,) = layout.strides(layout.fields["established"])
        assert stride == 1
        self.epochs = judged.cluster.largest_epoch + 1

    def counts(self, s: StateView) -> tuple[int, int, int, int]:
        """Return the numbers of leaders established, transactions delivered, messages sent, and abcasts.

        A transaction counts as delivered if any process delivered it.
        """
        if self.own:
            return 0, 0, s.sim_seq, 0
        delivered = set()
        for at in self.places:
            count = int.from_bytes(s.buffer[at : at + self.header], "little")
            words = struct.unpack_from(f"<{count}{self.word}", s.buffer, at + self.header)
            delivered.update([w >> self.shift & self.mask for w in words])
        elections = sum(s.buffer[self.established : self.established + self.epochs])
        return elections, len(delivered), s.sim_seq, s.abcasts


@cache
def reader_of(judged: Judged) -> Reader:
    """Return the reader of a simulator, cached in this process."""
    return Reader(judged)


def answer(run: Run) -> tuple[str | None, tuple[int | None, ...], list[Verdict], str]:
    """Return the digest of a run's dump, its counts, its verdicts, and the error that ended it (or empty)."""
    try:
        judged, said = judge(run)
    except SimulationError as problem:
        return None, (None,) * len(COUNTS), [], str(problem)
    reader = reader_of(judged)
    return digest(reader.dump.canonical(judged.state)), reader.counts(judged.state), said, ""


def block_table(question: Grid, numbers: Iterable[int]) -> pa.Table:
    """Return the rows of some configurations, in their order.

    Args:
        question: the grid, checked.
        numbers: the numbers of the configurations.
    """
    schema = schema_of(question)
    columns: dict[str, list[Any]] = {name: [] for name in schema.names}
    properties = properties_of(question)
    for number in numbers:
        values = question.values(number)
        run, drawn = question.run_of(values)
        sha256, counts, said, error = answer(run)
        row = dict(zip(COUNTS, counts, strict=True)) | values
        row |= {v.of.name: VIOLATED if not v.held else HOLDS if v.met else NOT_REACHED for v in said}
        row |= {"number": number, "sha256": sha256, "error": error, "drawn": schedule_text(drawn)}
        for name in properties:
            row.setdefault(name, NOT_JUDGED)
        for name, column in columns.items():
            column.append(row[name])
    return pa.Table.from_pydict(columns, schema=schema)
