"""The event table: what is written can be read, and what is wrong with a file is said in a sentence."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner, Result

from checker.cli import main
from checker.manual import ManualPage
from tests.histories import Abcast, Deliver, History, Instance, Txn
from tests.judge_tables import rows_of, written
from traces.events.recorded import PLAIN, rows_of_run
from traces.events.table import COLUMNS, KINDS, OBSERVED, TableWriter, parts_of, read_part, schema
from traces.judging.judge import judge_plainly, read_units
from traces.record.events import events_of
from zabspec.simulator.run import Fault, Run

PAGE = ManualPage("file-formats", Path(__file__).parents[2] / "docs/reference/file-formats.md")
T = Txn(1, 1, 1)
SOME = History(2, (Abcast(Instance(1, 0, 0), T), Deliver(0, 0, T), Deliver(1, 0, T)))


def zabcheck(*arguments: object) -> Result:
    return CliRunner().invoke(main, [str(a) for a in arguments], prog_name="zabcheck")


def refused(path: Path) -> str:
    """What `judge` says of a file that is none of its kind: one sentence, exit 2."""
    result = zabcheck("judge", path)
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    assert result.stderr.startswith("zabcheck: ")
    assert result.stderr.count("\n") == 1
    return result.stderr


# --- the schema and the page -----------------------------------------------------------------------


def page_table(heading: str) -> list[list[str]]:
    (section,) = (section for section in PAGE.sections if section.heading == heading)
    lines = [line for line in section.text.splitlines() if line.startswith("|")][2:]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def test_the_page_has_every_column_and_kind() -> None:
    columns = [
        [f"`{n}`", "text" if text else "int64", "" if null else "never null", what] for n, text, null, what in COLUMNS
    ]
    assert page_table("Columns") == columns
    assert page_table("Kinds") == [[f"`{kind}`", what] for kind, what in KINDS.items()]


def test_one_schema() -> None:
    assert schema().names == [name for name, *_ in COLUMNS]
    assert set(OBSERVED) < set(KINDS)
    assert set(PLAIN) < set(KINDS)


# --- writing ---------------------------------------------------------------------------------------


def test_what_is_written_is_read(tmp_path: Path) -> None:
    rows = rows_of(SOME, 5)
    path = written(tmp_path / "t.parquet", [rows])
    (part,) = parts_of(path)
    table = read_part(part, [name for name, *_ in COLUMNS])
    assert table.to_pydict() == rows.columns
    assert (part.rows, part.least, part.most, part.whole) == (5 - 1, 5, 5, True)
    assert part.observes == OBSERVED


def test_a_run_is_in_one_row_group_if_it_fits(tmp_path: Path) -> None:
    runs = [rows_of(SOME, k) for k in range(10)]  # 4 rows each
    parts = parts_of(written(tmp_path / "t.parquet", runs, group=10))
    assert [(p.rows, p.least, p.most) for p in parts] == [(8, 2 * k, 2 * k + 1) for k in range(5)]
    assert all(p.whole for p in parts)
    long = [rows_of(SOME, 0), rows_of(History(2, SOME.events * 3), 1), rows_of(SOME, 2)]
    parts = parts_of(written(tmp_path / "t.parquet", long, group=5))
    assert [(p.rows, p.least, p.most) for p in parts] == [(4, 0, 0), (10, 1, 1), (4, 2, 2)]
    assert all(p.whole for p in parts)


def test_a_file_is_there_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"

    def interrupted() -> None:
        with TableWriter(path) as writer:
            writer.add(rows_of(SOME))
            raise RuntimeError

    with pytest.raises(RuntimeError):
        interrupted()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow(seconds=2)
def test_a_simulated_run_has_a_row_for_every_event(tmp_path: Path) -> None:
    run = Run(42, rounds=1500, proposals=12, faults=(Fault(800, "crash", 1), Fault(900, "recover", 1)))
    rows = rows_of_run(run, 3)
    _, events = events_of(run)
    told = [e for e in events if e["event"] in PLAIN or e["event"] in ("abcast", "abdeliver", "establish")]
    kinds = [
        (k, t)
        for k, t in zip(rows.columns["kind"], rows.columns["time"], strict=True)
        if k in PLAIN or k in ("abcast", "abdeliver", "establish")
    ]
    assert kinds == [(e["event"], e["tick"]) for e in told]
    assert rows.columns["kind"][0] == "run"
    assert rows.columns["index"][0] == 3
    assert set(rows.columns["run"]) == {3}
    for p in range(3):
        own = [x for x, q in zip(rows.columns["position"], rows.columns["process"], strict=True) if q == p]
        assert own == list(range(len(own)))
    assert {"ready", "crash", "recover"} < set(rows.columns["kind"])
    passes = [
        (p, x)
        for k, p, x in zip(*(rows.columns[c] for c in ("kind", "process", "pass")), strict=True)
        if k == "abdeliver"
    ]
    assert {x for p, x in passes if p == 1} == {0, 1}  # it crashed once
    assert {x for p, x in passes if p == 0} == {0}


def test_runs_in_several_files_are_several(tmp_path: Path) -> None:
    """A run has the number of its seed, or the one that is said."""
    for k, more in enumerate((["--seed", 3], ["--seed", 4], ["--seed", 4, "--run", 9])):
        done = zabcheck("simulate", "--rounds", 20, *more, "--table", tmp_path / f"{k}.parquet")
        assert done.exit_code == 0, done.output
    assert pq.read_table(tmp_path)["run"].unique().to_pylist() == [3, 4, 9]
    assert json.loads(zabcheck("judge", tmp_path, "--json").stdout)["runs"] == 3
    wrong = (
        ["--run", 9],
        ["--table", tmp_path / "t", "--run", 2**62 + 1],
        ["--table", tmp_path / "t", "--seed", 2**63],
    )
    for flags in wrong:
        assert zabcheck("simulate", "--rounds", 1, *flags).exit_code == 2


@pytest.mark.slow(seconds=2)
def test_simulate_writes_tables(tmp_path: Path) -> None:
    path = tmp_path / "run.parquet"
    result = zabcheck("simulate", "--seed", 14, "--rounds", 400, "--table", path)
    assert result.exit_code == 0, result.output
    found = zabcheck("judge", path, "--json")
    assert found.exit_code == 1, found.output
    report = json.loads(found.stdout)
    assert report["runs"] == 1
    assert {v["property"] for v in report["violations"]} >= {"total-order", "prefix"}
    assert all("--seed 14 " in v["command"] for v in report["violations"])
    assert zabcheck("simulate", "--table", path, "--engine", "compiled").exit_code == 2
    without = zabcheck("simulate", "--protocol", "examples/token_ring.py", "--table", tmp_path / "no.parquet")
    assert (without.exit_code, "an event table is of replicas" in without.output) == (2, True)
    assert not (tmp_path / "no.parquet").exists()


@pytest.mark.slow(seconds=4)
def test_without_pyarrow_there_is_one_sentence(tmp_path: Path) -> None:
    """A Python in which nothing of the extra can be found."""
    text = (
        "import importlib.util as u, sys; find = u.find_spec\n"
        "u.find_spec = lambda name, *a: None if name in ('pyarrow', 'pyspark') else find(name, *a)\n"
        "sys.modules |= dict.fromkeys(('pyarrow', 'numpy', 'pandas', 'pyspark', 'matplotlib', 'jinja2'))\n"
        "from checker.cli import main; main(sys.argv[1:])"
    )
    tables = "zabcheck: event tables need pyarrow, which `pip install 'zabcheck[tables]'` installs\n"
    missing = "zabcheck: this needs {}, which `pip install 'zabcheck[{}]'` installs\n"
    for arguments, said in (
        (["judge", "x.parquet"], tables),
        (["simulate", "--table", str(tmp_path / "x.parquet")], tables),
        (["sweep", str(tmp_path / "x"), "--seeds", "1:3"], missing.format("pyarrow", "tables")),
        (["--depth", "3", "--engine", "spark"], missing.format("pyspark", "spark")),
    ):
        done = subprocess.run([sys.executable, "-c", text, *arguments], capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (2, said)


# --- what is wrong with a file ---------------------------------------------------------------------


def test_files_that_are_no_tables(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    assert "No such file" in refused(path)
    path.write_bytes(b"not a table")
    assert "not a Parquet file, or is truncated" in refused(path)
    path.write_bytes(b"")
    assert "not a Parquet file" in refused(path)
    whole = written(tmp_path / "w.parquet", [rows_of(SOME)]).read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    assert "is truncated" in refused(path)
    empty = tmp_path / "empty"
    empty.mkdir()
    assert "there is no Parquet file in this folder" in refused(empty)


def test_a_damaged_page_is_noticed(tmp_path: Path) -> None:
    path = written(tmp_path / "t.parquet", [rows_of(SOME)])
    data = bytearray(path.read_bytes())
    footer = pq.ParquetFile(path).metadata.row_group(0).column(schema().names.index("counter"))
    data[footer.data_page_offset + footer.total_compressed_size - 3] ^= 0x55
    path.write_bytes(data)
    assert "row group 0 cannot be read" in refused(path)


def rewritten(path: Path, change: Any, metadata: dict[str, str] | None = None) -> Path:
    """A table with other columns."""
    table = change(rows_of(SOME).as_table())
    pq.write_table(table.replace_schema_metadata(metadata), path)
    return path


def test_columns_that_are_missing_or_of_another_type(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    assert "no column of that name" in refused(rewritten(path, lambda t: t.drop_columns(["pass"])))
    at = schema().names.index("epoch")
    text = refused(rewritten(path, lambda t: t.set_column(at, "epoch", t.column("epoch").cast(pa.int32()))))
    assert "column 'epoch' is int32, and in an event table it is int64" in text
    assert "is string" in refused(
        rewritten(path, lambda t: t.set_column(at, "epoch", t.column("epoch").cast(pa.string())))
    )
    at = schema().names.index("kind")
    whole = pa.array([1] * 4, pa.int64())
    assert "it is string" in refused(rewritten(path, lambda t: t.set_column(at, "kind", whole)))
    assert "of version 7" in refused(rewritten(path, lambda t: t, {"zabcheck.table": "7"}))


def test_columns_more_and_plain_strings_are_welcome(tmp_path: Path) -> None:
    at = schema().names.index("kind")

    def other(t: pa.Table) -> pa.Table:
        plain = t.set_column(at, "kind", t.column("kind").cast(pa.string()))
        return plain.append_column("host", pa.array(["x"] * len(t)))

    assert zabcheck("judge", rewritten(tmp_path / "t.parquet", other)).exit_code in (0, 1)


def changed(path: Path, **columns: Any) -> Path:
    """The table of a history with values put into its columns, by row."""
    rows = rows_of(SOME)
    for name, values in columns.items():
        for row, value in values.items():
            rows.columns[name][row] = value
    if None in rows.columns["run"]:
        made = pa.schema([f.with_nullable(True) for f in schema()])
        pq.write_table(pa.table([pa.array(rows.columns[f.name], f.type) for f in made], schema=made), path)
        return path
    return written(path, [rows])


@pytest.mark.parametrize(
    ("columns", "what"),
    [
        ({"run": {2: None}}, "has no run number"),
        ({"process": {2: None}}, "row 2: it does not name the process of this event"),
        ({"process": {2: 64}}, "row 2: processes are numbered 0 to 63"),
        ({"process": {2: -1}}, "row 2: processes are numbered 0 to 63"),
        ({"counter": {1: None}}, "row 1: a transaction has an epoch and a counter"),
        ({"position": {2: 0}}, "row 2: the rows of a process come in the order of their positions"),
        ({"time": {2: -5}}, "row 2: time never goes back within a run"),
        ({"kind": {3: "run"}}, "row 3: a run begins once"),
        ({"kind": {1: "abdeliver"}, "pass": {1: 5}}, "row 2: the passes of a process come one after another"),
    ],
)
def test_rows_that_cannot_be(tmp_path: Path, columns: dict[str, Any], what: str) -> None:
    assert what in refused(changed(tmp_path / "t.parquet", **columns))


def test_runs_that_do_not_lie_together(tmp_path: Path) -> None:
    """Within a row group, in two of them, and in two files."""
    path = tmp_path / "t.parquet"
    some = [rows_of(SOME, k) for k in (1, 2, 1)]
    assert "the rows of run 1 are not contiguous" in refused(written(path, some))
    assert "the rows of run 1 are not contiguous" in refused(written(path, some, group=4))
    unordered = [rows_of(SOME, k) for k in (9, 4, 7, 1, 2, 8, 3)]
    assert zabcheck("judge", written(path, unordered, group=12)).exit_code == 1  # which breaks nothing but a quorum
    assert "run 4" in refused(written(path, [*unordered, rows_of(SOME, 4), rows_of(SOME, 5)], group=12))
    folder = tmp_path / "many"
    folder.mkdir()
    written(folder / "a.parquet", [rows_of(SOME, k) for k in (1, 3, 5)])
    written(folder / "b.parquet", [rows_of(SOME, k) for k in (2, 4, 6)])
    assert zabcheck("judge", folder).exit_code == 1
    written(folder / "b.parquet", [rows_of(SOME, k) for k in (2, 3, 6)])
    assert "the rows of run 3 are not contiguous" in refused(folder)


def test_row_groups_of_other_writers_that_split_a_run_are_read_together(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    pq.write_table(pa.concat_tables([rows_of(SOME, k).as_table() for k in range(5)]), path, row_group_size=3)
    units = read_units(path)
    assert sum(len(u.parts) for u in units) == 7
    tally = judge_plainly(units, ("integrity",), 2)
    assert (tally.runs, tally.count("integrity", "holds")) == (5, 5)


def test_what_a_file_does_not_say_it_notes_is_not_held_against_its_runs(tmp_path: Path) -> None:
    """No row tells what was accepted, and nothing in the footer that it would."""
    path = tmp_path / "t.parquet"
    pq.write_table(rows_of(SOME, 0).as_table(), path)
    tally = judge_plainly(read_units(path), (), 1)
    assert tally.count("delivered-is-chosen", "not judged") == 1
    assert tally.count("integrity", "holds") == 1
    tally = judge_plainly(read_units(written(tmp_path / "all.parquet", [rows_of(SOME, 0)])), (), 1)
    assert tally.count("delivered-is-chosen", "violated") == 1


# --- the command -----------------------------------------------------------------------------------


def test_questions_that_are_wrong(tmp_path: Path) -> None:
    path = written(tmp_path / "t.parquet", [rows_of(SOME)])
    for arguments, what in (
        (["--engine", "spork"], "--engine must be plain or spark, not 'spork'"),
        (["--property", "agrement"], "did you mean agreement?"),
        (["--property", "invariant-1"], "about the state of a protocol, which a table does not have"),
        (["--engine", "plain", "--master", "local[2]"], "--master is for --engine spark"),
        (["--engine", "spark", "--threads", "2"], "--threads is for --engine plain"),
        (["--violations", tmp_path / "no" / "v.jsonl"], "there is no folder"),
        (["--violations", path], "would write into the table that is checked"),
    ):
        result = zabcheck("judge", path, *arguments)
        assert result.exit_code == 2, arguments
        assert what in result.stderr


def test_violations_are_written_down(tmp_path: Path) -> None:
    path = written(tmp_path / "t.parquet", [rows_of(SOME, k) for k in range(7)])
    out = tmp_path / "v.jsonl"
    result = zabcheck("judge", path, "--violations", out)
    assert result.exit_code == 1
    found = [json.loads(line) for line in out.read_text().splitlines()]
    assert [v["run"] for v in found] == list(range(7))
    assert {v["property"] for v in found} == {"delivered-is-chosen"}
    assert "4 more" in result.stdout
    assert zabcheck("judge", path, "--property", "agreement").exit_code == 3, "its premise is not reached"


def test_runs_are_numbered_as_the_table_does(tmp_path: Path) -> None:
    path = written(tmp_path / "t.parquet", [rows_of(SOME, k) for k in (1 << 40, -3)])
    report = json.loads(zabcheck("judge", path, "--json").stdout)
    assert [v["run"] for v in report["violations"]] == [-3, 1 << 40]
