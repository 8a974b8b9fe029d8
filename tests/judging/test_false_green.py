"""No table is *held* by what was not used of it: foreign kinds, lost and repeated rows, numbers of other processes.

Each way is tried on the three that judge: the command, batches of rows (a DataFrame), and a stream.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from checker.cli import main
from tests.judging.test_streams import BOUNDS, State, called, ended
from traces.events.table import ROW, Rows, TableError
from traces.judging.runs import JUDGED
from traces.tables.conform import spark_schema
from traces.tables.judging.batches import NEEDED, NUMBERED, Judge
from traces.tables.judging.frames import check_frame
from traces.tables.judging.streams import JudgeStream

NOTED = ("abcast", "abdeliver", "accept")
OF_QUORUMS = ("delivered-is-chosen", "chosen-in-later-histories")
EXPECTED = "n"


def table() -> pa.Table:
    """One run of three processes that accept and deliver four transactions in one order."""
    rows = Rows(0, 3, observes=NOTED)
    for k in range(4):
        txn = {"epoch": 1, "counter": k + 1, "primary_epoch": 1, "time": k}
        rows.add("abcast", 0, attempt=0, **txn)
        for p in range(3):
            rows.add("accept", p, **txn)
        for p in range(3):
            rows.add("abdeliver", p, index=k, **{"pass": 0}, **txn)
    made = rows.as_table()
    return plain(made).append_column(EXPECTED, pa.array([made.num_rows] * made.num_rows, pa.int64()))


def plain(made: pa.Table) -> pa.Table:
    """A table as other programs write it: texts are no dictionaries, and anything may be null."""
    columns = [c.cast(pa.string()) if pa.types.is_dictionary(c.type) else c for c in made.columns]
    return pa.table(columns, names=made.schema.names)


def with_column(name: str, change: Callable[[pa.ChunkedArray], pa.ChunkedArray]) -> Callable[[pa.Table], pa.Table]:
    return lambda t: t.set_column(t.schema.get_field_index(name), name, change(t.column(name)))


def spelt(other: str, kind: str = "abdeliver", of: int | None = None) -> Callable[[pa.Table], pa.Table]:
    """A kind under another name: of all rows, or of the rows of one process."""

    def change(t: pa.Table) -> pa.Table:
        here = pc.equal(t["kind"], kind)
        here = here if of is None else pc.and_(here, pc.fill_null(pc.equal(t["process"], of), False))
        return with_column("kind", lambda kinds: pc.if_else(here, other, kinds))(t)

    return change


def without(k: int) -> Callable[[pa.Table], pa.Table]:
    return lambda t: pa.concat_tables([t.slice(0, k), t.slice(k + 1)])


ALL = tuple(p.name for p in JUDGED)
WAYS: dict[str, tuple[Callable[[pa.Table], pa.Table], Sequence[str]]] = {
    "upper case": (spelt("ABDELIVER"), ALL),
    "a space": (spelt("abdeliver "), ALL),
    "a hyphen": (spelt("ab-cast", "abcast"), ALL),
    "another word": (spelt("commit"), ALL),
    "another word of one process": (spelt("commit", of=2), ALL),
    "another word for an accept": (spelt("ack", "accept"), ALL),
    "a word of messages": (spelt("deliver"), ALL),
    "no word": (spelt(""), ALL),
    "a null kind": (spelt("", of=1), ALL),
    "the run's own row": (spelt("start", "run"), OF_QUORUMS),
    "processes from 1": (with_column("process", lambda p: pc.add(p, 1)), OF_QUORUMS),
    "one process": (with_column("process", lambda p: pc.multiply(p, 0)), ALL),
    "no processes": (with_column("process", lambda p: pc.if_else(pc.is_valid(p), None, p)), ALL),
    "no run": (with_column("run", lambda r: pc.if_else(pc.is_valid(r), None, r)), ALL),
    "no row": (lambda t: t.slice(0, 0), ALL),
    "the run's row alone": (lambda t: t.slice(0, 1), ALL),
    "broadcasts alone": (lambda t: t.filter(pc.equal(t["kind"], "abcast")), ALL),
    "a lost row": (without(9), ALL),
    "a lost beginning": (lambda t: t.slice(8), ALL),
    "a sample": (lambda t: t.filter(pc.equal(pc.bit_wise_and(t[ROW], 1), 0)), ALL),
    "rows without a number": (with_column(ROW, lambda r: pc.if_else(pc.equal(r, 9), None, r)), ALL),
    "a row twice": (lambda t: pa.concat_tables([t.slice(0, 10), t.slice(9)]), ALL),
    "all rows twice": (lambda t: pa.concat_tables([t, t]), ALL),
    "cut short": (lambda t: t.slice(0, t.num_rows - 3), ALL),
}


def held_by_command(found: pa.Table, path: Path, *flags: str) -> set[str]:
    """What the command says has held, in JSON; with a number of rows, only if it exits with 0."""
    pq.write_table(found.replace_schema_metadata({"zabcheck.observes": ",".join(NOTED)}), path)
    shown, said = (CliRunner().invoke(main, ["judge", str(path), *flags, *more]) for more in ([], ["--json"]))
    assert shown.exit_code == said.exit_code
    answer = json.loads(said.stdout)
    held = {p["name"] for p in answer.get("properties", ()) if p["holds"]}
    if said.exit_code:
        assert answer.get("verdict") != "holds"
        assert "nothing violated" not in shown.output
    return held if said.exit_code == 0 or not flags else set()


def held_by_batches(found: pa.Table) -> set[str]:
    judge = Judge((), NOTED, NUMBERED, expected=EXPECTED)
    spoken = [s for some in judge.spoken(found.combine_chunks().to_batches()) for s in some]
    return {JUDGED[place].name for s in spoken for place, word, _ in s.each() if word == "holds"}


def held_by_stream(found: pa.Table) -> set[str]:
    judge, state = JudgeStream(Judge((), NOTED, NUMBERED, (), EXPECTED), BOUNDS), State()
    rows = found.select([*NEEDED, ROW, EXPECTED]).combine_chunks()
    said = called(judge, state, rows) if rows.num_rows else []
    return {name for _, name, word, *_ in [*said, *(ended(judge, state) if state.exists else [])] if word == "holds"}


def test_the_whole_table_holds_in_every_way(tmp_path: Path) -> None:
    """Else nothing below could fail."""
    here = held_by_command(table(), tmp_path / "t.parquet", "--rows", str(table().num_rows))
    assert {"integrity", "total-order", "prefix", "delivered-is-chosen"} <= here
    assert here == held_by_batches(table()) == held_by_stream(table())


@pytest.mark.parametrize("way", WAYS)
def test_a_foreign_table_is_not_held(way: str, tmp_path: Path) -> None:
    change, names = WAYS[way]
    found = change(table())
    assert not held_by_batches(found) & {*names}
    assert not held_by_stream(found) & {*names}
    flags = ("--rows", str(table().num_rows)) if way == "cut short" else ()
    assert not held_by_command(found, tmp_path / "t.parquet", *flags) & {*names}


def test_what_may_be_repaired_within_a_run_without_times_is_not_held(tmp_path: Path) -> None:
    """A delivery before the broadcast, a gap, and two that have what the other lacks: all gone at the end."""
    rows = Rows(0, 2, observes=NOTED)
    for kind, p, counter in (("abdeliver", 1, 1), ("abcast", 0, 1), ("abcast", 0, 2), ("abdeliver", 0, 2),
                             ("abdeliver", 0, 1)):  # fmt: skip
        rows.add(kind, p, epoch=1, counter=counter, primary_epoch=1, attempt=0, **{"pass": 0})
    made = plain(rows.as_table())
    found = made.append_column(EXPECTED, pa.array([made.num_rows] * made.num_rows, pa.int64()))
    for held in (held_by_command(found, tmp_path / "t.parquet"), held_by_batches(found), held_by_stream(found)):
        assert not held & {"integrity", "agreement", "prefix"}
        assert "unique-zxid" in held


def test_what_no_property_reads_changes_no_verdict(tmp_path: Path) -> None:
    """Rows of kinds that do not exist are named with their number, and so are columns; they have no transaction."""
    more = pa.table({"kind": ["heartbeat", "deliver"], "run": [0, 0], ROW: [table().num_rows + k for k in range(2)]})
    found = pa.concat_tables([table(), more], promote_options="default")
    names = held_by_command(found, tmp_path / "t.parquet")
    assert names == held_by_command(table(), tmp_path / "t.parquet")
    pq.write_table(found, tmp_path / "t.parquet")
    notes = json.loads(CliRunner().invoke(main, ["judge", str(tmp_path / "t.parquet"), "--json"]).stdout)["notes"]
    assert notes[0].startswith("1 row is not used: there is no kind 'heartbeat'")
    assert notes[1:] == [f"columns that are not used: {EXPECTED}"]


def test_a_folder_is_read_whole(tmp_path: Path) -> None:
    """Whatever its files are called; a table that is being written, and one with old versions, is refused."""
    broken = with_column("counter", lambda c: pc.if_else(pc.equal(c, 3), 9, c))  # the delivery of what nobody broadcast
    other = with_column("run", lambda r: pc.add(r, 1))(broken(table().filter(pc.not_equal(table()["kind"], "abcast"))))
    pq.write_table(table(), tmp_path / "a.parquet")
    pq.write_table(other.drop_columns([ROW]), tmp_path / "000000_0")
    (tmp_path / "report.html").write_text("<html>")
    said = CliRunner().invoke(main, ["judge", str(tmp_path), "--json"])
    assert (said.exit_code, json.loads(said.stdout)["runs"]) == (1, 2), said.output
    for name, why in (("_temporary", "a job is writing this table"), ("_delta_log", "this is a Delta table")):
        (tmp_path / name).mkdir()
        said = CliRunner().invoke(main, ["judge", str(tmp_path)])
        assert (said.exit_code, why in said.output) == (2, True), said.output
        (tmp_path / name).rmdir()


def test_a_property_whose_premise_is_not_reached_did_not_hold(tmp_path: Path) -> None:
    pq.write_table(table().slice(0, 2), tmp_path / "one.parquet")
    said = CliRunner().invoke(main, ["judge", str(tmp_path / "one.parquet"), "--property", "total-order"])
    assert said.exit_code == 3, said.output


@pytest.mark.parametrize(("kind", "fits"), [("long", True), ("int", True), ("double", False), ("string", False)])
def test_a_number_of_rows_is_a_whole_number(kind: str, fits: bool) -> None:
    """A stream took 13.9 for 13, and a table of texts ended in Spark's error."""
    from pyspark.sql.types import DoubleType, IntegerType, LongType, StringType, StructField, StructType

    types = {"long": LongType(), "int": IntegerType(), "double": DoubleType(), "string": StringType()}
    found = StructType([*spark_schema().fields, StructField(EXPECTED, types[kind])])
    if fits:
        check_frame(found, expected=EXPECTED)
        return
    with pytest.raises(TableError, match="a number of rows is a whole number"):
        check_frame(found, expected=EXPECTED)
