"""Tables of a protocol of one's own: of two-phase commit, some runs of which break it."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

from checker.commands.init import START
from zabspec.simulator.run import Run

Row = dict[str, Any]


@cache
def runs(folder: Path) -> tuple[tuple[tuple[Row, ...], ...], Any]:
    """The rows of a few runs of the variant that is hasty, three of which break it, and their schema."""
    import pyarrow.parquet as pq

    from checker.requests.simulate import write_table

    text = folder / "tpc.py"
    text.write_text(START.read_text(encoding="utf-8"), encoding="utf-8")
    out = []
    for seed in (8, 9, 10, 11, 16, 17):
        one = folder / f"one_{seed}.parquet"
        assert not write_table(Run(seed, protocol=str(text), variant="hasty"), one, seed)
        whole = pq.read_table(one)
        out.append(tuple(whole.to_pylist()))
        one.unlink()
    return tuple(out), whole.schema


def write(path: Path, rows: Iterable[Row], schema: Any, group: int = 7) -> Path:
    """A table of these rows, in small row groups."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    pq.write_table(pa.Table.from_pylist(list(rows), schema=schema), path, row_group_size=group)
    return path
