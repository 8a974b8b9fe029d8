"""Tables of protocols of one's own, judged row by row, stretch by stretch."""

from __future__ import annotations

import itertools
import json
import random
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

import zabcheck
from checker.cli import main
from tests.judging.own_tables import Row, runs, write
from tests.transcript import file_of
from traces.events.own import source_of
from traces.events.table import TableError
from traces.judging.judge import judge_plainly
from traces.judging.own import ObservedUnit, Seen, observed_units
from traces.judging.totals import COUNTS, Totals

pytest.importorskip("pyarrow")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("own")


def units_of(path: Path) -> list[ObservedUnit]:
    source = source_of(path)
    assert source is not None
    return observed_units(path, source)


def judged(path: Path) -> Totals:
    return judge_plainly(units_of(path), (), 1)


def as_dict(tally: Totals) -> dict[str, Any]:
    return {**vars(tally), "counts": tally.counts.tolist()}


def test_a_table_comes_to_what_its_runs_come_to_alone(folder: Path, tmp_path: Path) -> None:
    made, schema = runs(folder)
    whole = judged(write(tmp_path / "t.parquet", (row for run in made for row in run), schema))
    each = []
    for k, run in enumerate(made):
        each.append(judged(write(tmp_path / f"{k}.parquet", run, schema)))
        (tmp_path / f"{k}.parquet").unlink()
    apart = Totals(names=whole.names, what="observations")
    for tally in each:
        apart.add(tally)
    assert as_dict(whole) == as_dict(apart)
    assert whole.runs == 6
    assert whole.count("agreement", "violated") == 3
    assert whole.names == ("agreement",)
    assert whole.counts.shape == (1, len(COUNTS))
    assert all("has committed, and" in v.why for v in whole.violations)


def test_what_is_judged_apart_does_not_matter(folder: Path, tmp_path: Path) -> None:
    """Row groups of any size, runs in any order, in files of any number."""
    made, schema = runs(folder)
    usual = as_dict(judged(write(tmp_path / "t.parquet", (row for run in made for row in run), schema)))
    many = set()
    for seed in range(6):
        chance = random.Random(seed)
        order = list(made)
        if seed % 2:
            chance.shuffle(order)
        files = tmp_path / f"files_{seed}"
        files.mkdir()
        cut = chance.randrange(1, len(order))
        for name, part in (("a", order[:cut]), ("b", order[cut:])):
            write(files / f"{name}.parquet", (row for run in part for row in run), schema, chance.randrange(1, 40))
        many.add(len(units_of(files)) > 1)
        found = as_dict(judged(files))
        for which in (usual, found):
            which["violations"] = sorted(which["violations"], key=lambda v: v.run)
        assert found == usual
    assert True in many


def test_a_unit_ends_where_no_run_goes_on(folder: Path, tmp_path: Path) -> None:
    made, schema = runs(folder)
    rows = [row for run in made for row in run]
    found = units_of(write(tmp_path / "t.parquet", rows, schema, 3))
    between = [unit.runs() or (0, 0) for unit in found]
    assert between[0][0] == 8
    assert all(a[1] < b[0] for a, b in itertools.pairwise(between))
    assert sum(unit.rows for unit in found) == len(rows)
    assert len(found) > 1
    late: list[Row] = [{**made[0][0], "run": 0}, *rows, {**made[0][0], "run": -1}]
    assert len(units_of(write(tmp_path / "t.parquet", late, schema, 3))) == 1, "the last row is of the least run"


def test_a_table_whose_footers_name_no_runs_is_one_unit(folder: Path, tmp_path: Path) -> None:
    """Whoever wrote it left out the statistics: any run may go on anywhere."""
    made, schema = runs(folder)
    rows = [row for run in made for row in run]
    path = tmp_path / "t.parquet"
    pq.write_table(pa.Table.from_pylist(rows, schema=schema), path, row_group_size=3, write_statistics=False)
    (unit,) = units_of(path)
    assert len(unit.parts) > 1
    assert unit.rows == len(rows)


def test_what_is_no_table_is_a_sentence(folder: Path, tmp_path: Path) -> None:
    made, schema = runs(folder)
    one, other = list(made[0]), list(made[1])

    def refused(rows: list[Row]) -> str:
        with pytest.raises(TableError) as problem:
            judged(write(tmp_path / "t.parquet", rows, schema, 3))
        return str(problem.value)

    assert "the rows of run 8 are not contiguous" in refused([*one, *other, *one[1:]])
    assert "run 8 begins twice" in refused([*one, *one])
    found = judged(write(tmp_path / "t.parquet", one[1:], schema))
    assert [*found.counts.sum(axis=0)][COUNTS.index("holds")] == 0, "its first row is missing"
    assert "a row has no run number" in refused([*one, {**one[-1], "run": None}])
    nodes = {**schema.metadata, b"zabcheck.own": schema.metadata[b"zabcheck.own"].replace(b'"nodes": 3', b'"nodes": 4')}
    write(tmp_path / "u.parquet", other, schema.with_metadata(nodes))
    with pytest.raises(TableError, match="not of the same protocol, source and size"):
        judged(tmp_path)
    (tmp_path / "u.parquet").unlink()


def test_a_footer_that_lies_is_found_out(folder: Path, tmp_path: Path) -> None:
    """A unit is judged apart because its footer says which runs are there."""
    made, schema = runs(folder)
    (unit,) = units_of(write(tmp_path / "t.parquet", made[0], schema, 100))
    (part,) = unit.parts
    for least, most in ((9, 9), (0, 7)):
        with pytest.raises(TableError, match="footer excludes run 8"):
            replace(unit, parts=(replace(part, least=least, most=most),)).judge(())
    with pytest.raises(TableError, match="its source has changed"):
        replace(unit, source=replace(unit.source, text="other")).judge(())


def test_numbers_that_were_seen() -> None:
    for seed in range(50):
        chance, seen, known = random.Random(seed), Seen(), set[int]()
        for _ in range(60):
            number = chance.randrange(-20, 20)
            assert seen.add(number) == (number not in known)
            known.add(number)
        ranges = list(zip(seen.starts, seen.ends, strict=True))
        assert [n for a, b in ranges for n in range(a, b + 1)] == sorted(known)
        assert all(b + 1 < c for (_, b), (c, _) in itertools.pairwise(ranges)), "as few as there can be"


def test_the_command(folder: Path, tmp_path: Path) -> None:
    made, schema = runs(folder)
    path = write(tmp_path / "t.parquet", (row for run in made for row in run), schema)
    done = CliRunner().invoke(main, ["judge", str(path), "--json"], prog_name="zabcheck")
    said = json.loads(done.stdout)
    assert (done.exit_code, said["runs"]) == (1, 6)
    done = CliRunner().invoke(main, ["judge", str(path), "--threads", "2"], prog_name="zabcheck")
    assert done.exit_code == 2
    assert "read by one thread" in done.stderr
    found = zabcheck.judge(path)
    assert (found.exit_code, list(found.violations)) == (1, ["agreement"])
    assert found.sentence == f"VIOLATED: agreement; 6 runs, {said['rows']:,} observations"
    assert [v.run for v in found.broken] == [v["run"] for v in said["violations"]]


SHOWN, BEGUN = (file_of("judging/own-tables", f"{name}.py") for name in ("door", "begun"))


def simulated(folder: Path, text: str, rounds: int) -> pa.Table:
    """Return the table of a simulated run of a protocol."""
    (folder / "own.py").write_text(text)
    words = ["--protocol", str(folder / "own.py"), "--rounds", str(rounds), "--table", str(folder / "made.parquet")]
    assert CliRunner().invoke(main, ["simulate", *words]).exit_code == 0
    return pq.read_table(folder / "made.parquet")


def opened(folder: Path, text: str, times: Sequence[int | None], wide: Sequence[int], bools: bool = False) -> Path:
    """Return a table with a run of `door.py` in which a door is opened at these times."""
    schema = simulated(folder, text, 9).schema
    if bools:
        schema = schema.set(schema.get_field_index("field.wide"), pa.field("field.wide", pa.bool_()))
    rows: list[Row] = [{"run": 7, "kind": ""}]
    for time, value in zip(times, wide, strict=True):
        rows.append({"run": 7, "process": 0, "kind": "opens", "time": time, "field.wide": value})
    return write(folder / "t.parquet", rows, schema)


@pytest.mark.parametrize(
    ("times", "word"),
    [((1, 1, 1), "holds"), ((1, 2, 3), "violated"), ((None, None, None), "open"), ((1, None, 1), "holds"),
     ((1, None, 2), "open"), ((1, 1, None), "open"), ((1, 2, None), "open"), ((None, None, 2), "open"),
     ((None, 1, 2), "violated"), ((2, 2, 1), "less than that of a row before")],
)  # fmt: skip
def test_a_row_without_a_time_may_be_of_the_moment_before(
    times: tuple[int | None, ...], word: str, tmp_path: Path
) -> None:
    """Two doors are open until the third row says that one is closed."""
    text = SHOWN.replace("s.opened += 1", "s.opened += 1\n    elif s.opened > 0:\n        s.opened -= 1")
    path = opened(tmp_path, text, times, (1, 1, 0))
    if word not in COUNTS:
        with pytest.raises(TableError, match=word):
            judged(path)
        return
    found = judged(path)
    assert found.count("once", word) == 1
    assert [note.split(" has")[0] for note in found.notes] == (
        [f"run 7 is open: row {times.index(None)}"] if word == "open" else []
    )
    assert [v.time for v in found.violations] == ([2 if times[0] else 1] if word == "violated" else [])


@pytest.mark.parametrize(
    ("times", "word"),
    [((1, None, 2), "open"), ((1, 2, None), "open"), ((1, None, 1), "premise not reached"), ((1, 2, 3), "holds"),
     ((1, 2, 2), "premise not reached"),
     ((None, None, None), "open"), ((1, 1, None), "open"), ((None, 1, 2), "holds")],
)  # fmt: skip
def test_a_premise_where_a_moment_may_end_is_open(times: tuple[int | None, ...], word: str, tmp_path: Path) -> None:
    """Of the moments that end, only one behind the second row meets the premise."""
    counted = "s.opened += 1\n    else:\n        s.opened = 0"
    text = SHOWN.replace("s.opened += 1", counted).replace("s.opened < 2", "s.opened < 3")
    found = judged(opened(tmp_path, text, times, (0, 1, 0)))
    assert found.count("once", word) == 1
    assert len(found.notes) == (word == "open")


@pytest.mark.parametrize(("wide", "taken"), [(0, True), (1, True), (True, True), (7, False), (-1, False)])
def test_a_truth_value_is_0_or_1(wide: int, taken: bool, tmp_path: Path) -> None:
    """A row that says 7 was taken for one that says true."""
    path = opened(tmp_path, SHOWN, [1], [wide], wide is True)
    if taken:
        assert judged(path).count("once", "holds" if wide else "premise not reached") == 1
        return
    with pytest.raises(TableError, match=f"run 7, row 0: wide is {wide}, which is not a bool"):
        judged(path)


def test_violations_come_in_the_order_of_runs_whichever_unit_ends_first(tmp_path: Path) -> None:
    made, schema = runs(tmp_path)
    path = write(tmp_path / "t.parquet", (row for run in made for row in run), schema, 5)
    source = source_of(path)
    assert source is not None
    units = observed_units(path, source)
    there, back = judge_plainly(units, (), 1), judge_plainly(units[::-1], (), 1)
    assert there.violations == back.violations
    assert len({v.run for v in there.violations}) > 1


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [("process", 3, "p is 3, which is not a client"), ("field.q", 0, "q is 0, which is not a server"), ("", 0, "")],
)
def test_a_row_is_of_a_process_of_its_role(field: str, value: int, said: str, tmp_path: Path) -> None:
    """What a server did was counted of no client, so that a table whose processes have other numbers held."""
    text = BEGUN
    for old, new in (
        ("s.seen < 4", "s.seen < 9"), ("s: State, p: Node", "s: State, p: Client"), ("Each[Node,", "Each[Client,"),
        ("def saw(s: State, p: Client)", "def saw(s: State, p: Client, q: Server)"),
        ("saw(s, p)", "saw(s, p, any_of(s, Server))"), ("import Each,", "import any_of, Each,"),
        ("import Annotated", "import Annotated, NewType"), ("nodes=2", 'roles={"client": 2, "server": 2}'),
        ("class State", 'Client = NewType("Client", Node)\nServer = NewType("Server", Node)\n\n\nclass State'),
    ):  # fmt: skip
        assert old in text
        text = text.replace(old, new)
    whole = simulated(tmp_path, text, 1000)
    rows = [{**row, field: value} if row["kind"] and field else row for row in whole.to_pylist()]
    done = CliRunner().invoke(main, ["judge", str(write(tmp_path / "u.parquet", rows, whole.schema))])
    assert (done.exit_code, said in done.output) == (2 if said else 0, True)
