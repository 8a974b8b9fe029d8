"""No table is *held* by what was not used of it: misspelt kinds, further columns, missing rows."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from checker.cli import main
from traces.events.table import Rows

NAMES = {"abcast": "ABCAST", "abdeliver": "ABDELIVER"}
ROWS = 1 + 4 * 3


def table(rename: dict[str, str] | None = None) -> pa.Table:
    """One run of two processes that deliver four transactions in one order, with some kinds spelt otherwise."""
    rows = Rows(0, 2, observes=("abcast", "abdeliver"))
    for k in range(4):
        txn = {"epoch": 1, "counter": k + 1, "primary_epoch": 1, "time": k}
        rows.add("abcast", 0, attempt=0, **txn)
        for p in range(2):
            rows.add("abdeliver", p, index=k, **{"pass": 0}, **txn)
    rows.columns["kind"] = [(rename or {}).get(kind, kind) for kind in rows.columns["kind"]]
    return rows.as_table()


def judged(path: Path, *flags: str) -> tuple[int, list[str], str]:
    """The exit code, the notes of the JSON, and the last line for people."""
    code, said = (CliRunner().invoke(main, ["judge", str(path), *flags, *more]) for more in (["--json"], []))
    assert code.exit_code == said.exit_code
    return code.exit_code, json.loads(code.stdout)["notes"], said.output


def test_a_table_whose_kinds_are_spelt_otherwise_has_no_verdict(tmp_path: Path) -> None:
    pq.write_table(table(), tmp_path / "right.parquet")
    assert judged(tmp_path / "right.parquet")[:2] == (0, [])
    pq.write_table(table(NAMES).append_column("cluster", pa.array(["a"] * ROWS)), tmp_path / "wrong.parquet")
    code, notes, _ = judged(tmp_path / "wrong.parquet")
    assert code == 3
    assert notes[0].startswith("4 rows are not used: there is no kind 'ABCAST'; did you mean abcast")
    assert notes[1].startswith("8 rows are not used: there is no kind 'ABDELIVER'; did you mean abdeliver")
    assert notes[2:] == ["columns that are not used: cluster"]


@pytest.mark.parametrize(("rows", "exit_code"), [(ROWS, 0), (ROWS + 1, 3)])
def test_a_table_that_was_cut_short_has_no_verdict(tmp_path: Path, rows: int, exit_code: int) -> None:
    pq.write_table(table(), tmp_path / "cut.parquet")
    code, notes, said = judged(tmp_path / "cut.parquet", "--rows", str(rows))
    assert code == exit_code
    assert bool(notes) == bool(exit_code)
    assert not exit_code or f"the table has {ROWS} rows, and {ROWS + 1} are expected" in " ".join(said.split())


def test_a_property_whose_premise_is_not_reached_did_not_hold(tmp_path: Path) -> None:
    pq.write_table(table().slice(0, 2), tmp_path / "one.parquet")
    assert judged(tmp_path / "one.parquet", "--property", "total-order")[0] == 3
