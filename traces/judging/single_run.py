"""Check one run from rows in memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from traces.judging.totals import Totals, Unit, asked_for, judge_unit

if TYPE_CHECKING:
    import pyarrow as pa

    from traces.events.table import Rows


@dataclass(frozen=True)
class InMemory(Unit):
    """Rows of whole runs that no file holds.

    Attributes:
        rows_of: the rows.
        noted: which kinds of event their source notes.
    """

    rows_of: pa.Table = field(kw_only=True)
    noted: tuple[str, ...] = field(kw_only=True)

    @property
    def rows(self) -> int:
        return int(self.rows_of.num_rows)

    @property
    def observes(self) -> tuple[str, ...]:
        return self.noted

    @property
    def name(self) -> str:
        return "the run"

    def read(self, columns: Sequence[str]) -> pa.Table:
        return self.rows_of.select(list(columns))


def judge_rows(rows: Rows, observes: Sequence[str], names: Sequence[str] = ()) -> Totals:
    """Check one run against properties of histories.

    Args:
        rows: the rows of the run.
        observes: the kinds of event that their source records.
        names: the properties to check; if empty, all that are checked by default.

    Raises:
        TableError: the rows are not those of a run.
    """
    return judge_unit(InMemory((), rows_of=rows.as_table(), noted=tuple(observes)), asked_for(names))
