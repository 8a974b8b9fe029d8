"""Tables of protocols of one's own, judged row by row, stretch by stretch."""

from __future__ import annotations

import itertools
import json
import random
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


SHOWN = '''"""A door, which is opened once a turn."""

from __future__ import annotations

from typing import Annotated

from zabcheck.language import *


class State(Fields):
    turned: Each[Node, Annotated[int, Range(0, lambda size: size.turns)]] = stored("how often")
    opened: Annotated[int, Range(0, lambda size: 2 + size.turns)] = ghost("times")


def on_start(s: State, p: Node) -> None:
    opens(s, p, False)


def may(s: State, p: Node) -> bool:
    return s.turned[p] == 0


@action(when=may, budget="turns")
def turn(s: State, p: Node) -> None:
    s.turned[p] += 1
    opens(s, p, True)


@observation
def opens(s: State, p: Node, wide: bool) -> None:
    """The door is opened."""
    if wide:
        s.opened += 1


def open_before(s: State) -> None:
    s.opened = 2


def was_open(s: State) -> bool:
    """The door was opened."""
    return s.opened > 0


@safety(over="history", witness=was_open)
def once(s: State) -> bool:
    """The door is opened once."""
    return s.opened < 2


PROTOCOL = declare(
    __name__, nodes=2, budgets={"turns": 2}, starts=[Start("before", "it was open", open_before)]
)
'''


def test_a_table_of_a_trace_is_judged_as_the_trace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its ranges follow from a budget of its own, and it shows something as it starts."""
    monkeypatch.chdir(tmp_path)
    Path("door.py").write_text(SHOWN)
    asked = CliRunner().invoke(main, ["--protocol", "door.py", "--trace", "t.json"])
    assert asked.exit_code == 1
    assert CliRunner().invoke(main, ["export", "t.json", "--to", "parquet", "--output", "t.parquet"]).exit_code == 0
    tally = judged(tmp_path / "t.parquet")
    assert tally.rows == 4
    assert [(v.property, v.time) for v in tally.violations] == [("once", 2)]


def test_a_run_from_elsewhere_is_no_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Judged from the first state it would hold, and from where it began it does not."""
    monkeypatch.chdir(tmp_path)
    Path("door.py").write_text(SHOWN)
    asked = ["simulate", "--protocol", "door.py", "--start", "before", "--check"]
    assert "violated" in CliRunner().invoke(main, asked).output
    explored = CliRunner().invoke(main, ["--protocol", "door.py", "--start", "before", "--trace", "t.json"]).output
    assert "network datagrams, from before" in " ".join(explored.split("Configuration:")[1].split())
    for command in ([*asked, "--table", "t.parquet"], ["export", "t.json", "--to", "parquet", "--output", "t.parquet"]):
        refused = CliRunner().invoke(main, command)
        assert refused.exit_code == 2
        assert "a table begins in the initial state, but this run begins in 'before' (starts)" in refused.output


@pytest.mark.parametrize(
    ("times", "word"),
    [((1, 1, 1), "holds"), ((1, 2, 3), "violated"), ((None, None, None), "open"), ((1, None, 1), "holds"),
     ((1, None, 2), "open"), ((1, 1, None), "open"), ((1, 2, None), "open"), ((None, None, 2), "open"),
     ((None, 1, 2), "violated"), ((2, 2, 1), "less than that of a row before")],
)  # fmt: skip
def test_a_row_without_a_time_may_be_of_the_moment_before(
    times: tuple[int | None, ...], word: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two doors are open until the third row says that one is closed."""
    import pyarrow.parquet as pq

    monkeypatch.chdir(tmp_path)
    Path("door.py").write_text(
        SHOWN.replace("s.opened += 1", "s.opened += 1\n    elif s.opened > 0:\n        s.opened -= 1")
    )
    simulated = ["simulate", "--protocol", "door.py", "--rounds", "9", "--table", "t.parquet"]
    assert CliRunner().invoke(main, simulated).exit_code == 0
    schema = pq.read_schema("t.parquet")
    observed: list[Row] = [
        {"run": 7, "kind": ""},
        *(
            {"run": 7, "process": 0, "kind": "opens", "time": time, "field.wide": wide}
            for time, wide in zip(times, (1, 1, 0), strict=True)
        ),
    ]
    path = write(tmp_path / "t.parquet", observed, schema)
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
def test_a_premise_where_a_moment_may_end_is_open(
    times: tuple[int | None, ...], word: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of the moments that end, only one behind the second row meets the premise."""
    import pyarrow.parquet as pq

    monkeypatch.chdir(tmp_path)
    counted = "s.opened += 1\n    else:\n        s.opened = 0"
    Path("door.py").write_text(SHOWN.replace("s.opened += 1", counted).replace("s.opened < 2", "s.opened < 3"))
    simulated = ["simulate", "--protocol", "door.py", "--rounds", "9", "--table", "t.parquet"]
    assert CliRunner().invoke(main, simulated).exit_code == 0
    observed: list[Row] = [
        {"run": 7, "kind": ""},
        *(
            {"run": 7, "process": 0, "kind": "opens", "time": time, "field.wide": wide}
            for time, wide in zip(times, (0, 1, 0), strict=True)
        ),
    ]
    found = judged(write(tmp_path / "t.parquet", observed, pq.read_schema("t.parquet")))
    assert found.count("once", word) == 1
    assert len(found.notes) == (word == "open")


@pytest.mark.parametrize(("wide", "taken"), [(0, True), (1, True), (True, True), (7, False), (-1, False)])
def test_a_truth_value_is_0_or_1(wide: int, taken: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A row that says 7 was taken for one that says true."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    monkeypatch.chdir(tmp_path)
    Path("door.py").write_text(SHOWN)
    simulated = ["simulate", "--protocol", "door.py", "--rounds", "9", "--table", "t.parquet"]
    assert CliRunner().invoke(main, simulated).exit_code == 0
    schema = pq.read_schema("t.parquet")
    if wide is True:
        schema = schema.set(schema.get_field_index("field.wide"), pa.field("field.wide", pa.bool_()))
    row: Row = {"run": 7, "process": 0, "kind": "opens", "time": 1, "field.wide": wide}
    path = write(tmp_path / "t.parquet", [{"run": 7, "kind": ""}, row], schema)
    if taken:
        assert judged(path).count("once", "holds" if wide else "premise not reached") == 1
        return
    with pytest.raises(TableError, match=f"run 7, row 0: wide is {wide}, which is not a bool"):
        judged(path)


OTHERS = """
@safety(witness=was_open)
def in_turn(s: State) -> bool:
    \"\"\"Nobody turns twice.\"\"\"
    return s.turned[0] < 2


@invariant
def ever(s: State) -> bool:
    \"\"\"It is opened.\"\"\"
    return s.opened > 0


"""


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
    ("name", "said"),
    [("in-turn", "it is over states, and a table has only observations: use over='history'"),
     ("ever", "it is over states, and a table has only observations")],
)  # fmt: skip
def test_a_property_that_no_table_has_is_refused_by_what_it_needs(
    name: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("door.py").write_text(SHOWN.replace("PROTOCOL =", f"{OTHERS}PROTOCOL ="))
    simulated = ["simulate", "--protocol", "door.py", "--rounds", "60", "--table", "t.parquet"]
    assert CliRunner().invoke(main, simulated).exit_code == 0
    refused = CliRunner().invoke(main, ["judge", "t.parquet", "--property", name])
    assert refused.exit_code == 2
    assert f"a table is not checked against {name}: {said}" in " ".join(refused.output.split())
    refused = CliRunner().invoke(main, ["judge", "t.parquet", "--engine", "spark"])
    assert (refused.exit_code, "is judged in this process" in refused.output) == (2, True)


BEGUN = '''
from __future__ import annotations

from typing import Annotated

from zabcheck.language import Each, Fields, Node, Range, action, declare, ghost, initial, observation, safety, stored


class State(Fields):
    x: Each[Node, Annotated[int, Range(0, 3)]] = stored("how often it went up")
    seen: Annotated[int, Range(0, 9)] = ghost("how often that was seen")


@observation
def saw(s: State, p: Node) -> None:
    s.seen += 1


@action(when=lambda s, p: s.x[p] < 3, budget="ups")
def up(s: State, p: Node) -> None:
    s.x[p] += 1
    saw(s, p)


def some(s: State) -> bool:
    """Something was seen."""
    return s.seen > 0


@safety(over="history", witness=some)
def within(s: State) -> bool:
    """It was seen so often."""
    return WITHIN


PROTOCOL = declare(__name__, budgets={"ups": 3}, nodes=2)
'''


@pytest.mark.parametrize(
    ("begins", "within", "ends", "said"),
    [
        ("", "s.seen > 0", 1, "at time 0: within is False."),
        ("", "s.seen < 4", 0, ""),
        (
            "    s.seen = 2",
            "s.seen < 4",
            2,
            "a run begins with values in seen, which no row of a table shows",
        ),
        ("    s.x[0] = 1", "s.seen < 4", 0, ""),
        ("    add(s)", "s.seen < 4", 2, "a run begins with values in seen"),
    ],
)
def test_a_run_is_judged_from_its_first_state_on(
    begins: str, within: str, ends: int, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    start = f"def add(s: State) -> None:\n    s.seen += 1\n\n\n@initial\ndef begin(s: State) -> None:\n{begins}\n\n\n"
    text = BEGUN.replace("WITHIN", within).replace("def some", (start if begins else "") + "def some")
    Path("begun.py").write_text(text if begins else text.replace("initial, ", ""))
    simulated = CliRunner().invoke(main, ["simulate", "--protocol", "begun.py", "--table", "t.parquet"])
    assert simulated.exit_code == 0
    judged = CliRunner().invoke(main, ["judge", "t.parquet"])
    assert (judged.exit_code, said in " ".join(judged.output.split())) == (ends, True)


def test_what_is_checked_only_if_named_is_checked_where_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It was called an @invariant, and refused by the command that the report advised."""
    monkeypatch.chdir(tmp_path)
    text = BEGUN.replace("WITHIN", "s.seen < 3").replace("initial, ", "")
    Path("begun.py").write_text(text.replace('over="history"', 'default=False, over="history"'))
    run = ["simulate", "--protocol", "begun.py", "--table", "t.parquet", "--check"]
    usual, named = (CliRunner().invoke(main, [*run, *more]) for more in ([], ["--property", "within"]))
    assert (usual.exit_code, named.exit_code) == (3, 1)
    assert "not checked: within; --property checks what it names" in usual.output
    judged = [CliRunner().invoke(main, ["judge", "t.parquet", *more]) for more in ([], ["--property", "within"])]
    assert [done.exit_code for done in judged] == [3, 1]
    assert "within is violated in run" in judged[1].output


def test_a_violation_that_stays_is_not_said_to_have_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("begun.py").write_text(BEGUN.replace("WITHIN", "s.seen < 3").replace("initial, ", ""))
    checked = CliRunner().invoke(main, ["simulate", "--protocol", "begun.py", "--check"])
    assert checked.exit_code == 1
    assert "within is False" in checked.output
    assert "ended within the tick" not in checked.output


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [("process", 3, "p is 3, which is not a client"), ("field.q", 0, "q is 0, which is not a server"), ("", 0, "")],
)
def test_a_row_is_of_a_process_of_its_role(
    field: str, value: int, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a server did was counted of no client, so that a table whose processes have other numbers held."""
    monkeypatch.chdir(tmp_path)
    text = (
        BEGUN.replace("WITHIN", "s.seen < 9")
        .replace("initial, ", "")
        .replace("s: State, p: Node", "s: State, p: Client")
    )
    text = text.replace("def saw(s: State, p: Client)", "def saw(s: State, p: Client, q: Server)")
    text = text.replace("saw(s, p)", "saw(s, p, any_of(s, Server))").replace("Each[Node,", "Each[Client,")
    text = text.replace("import Each,", "import any_of, Each,").replace("import Annotated", "import Annotated, NewType")
    text = text.replace(
        "class State", 'Client = NewType("Client", Node)\nServer = NewType("Server", Node)\n\n\nclass State'
    )
    Path("begun.py").write_text(text.replace("nodes=2", 'roles={"client": 2, "server": 2}'))
    made = CliRunner().invoke(main, ["simulate", "--protocol", "begun.py", "--table", "t.parquet"])
    assert made.exit_code == 0
    whole = pq.read_table("t.parquet")
    rows = [{**row, field: value} if row["kind"] and field else row for row in whole.to_pylist()]
    done = CliRunner().invoke(main, ["judge", str(write(tmp_path / "u.parquet", rows, whole.schema))])
    assert (done.exit_code, said in done.output) == (2 if said else 0, True)


MINE = '''
from zabcheck.language import safety


def never_two(s: State, p: Node) -> bool:
    return len(s.delivered[p]) < 9


def some_delivered(s: State) -> bool:
    """It may deliver."""
    return s.abcasts < 9


@safety(over="history", witness=some_delivered)
def mine(s: State) -> bool:
    """It delivers few."""
    return all(never_two(s, p) for p in range(s.NODES))


'''


def test_properties_of_transactions_are_not_judged_by_observations(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Their premises were called not reached, in runs that reach them."""
    monkeypatch.chdir(tmp_path)
    assert CliRunner().invoke(main, ["init", "mine.py", "--from", "ladis_without_commit"]).exit_code == 0
    text = Path("mine.py").read_text(encoding="utf-8")
    Path("mine.py").write_text(text.replace("PROTOCOL = declare(", f"{MINE}PROTOCOL = declare("), encoding="utf-8")
    run = ["simulate", "--protocol", "mine.py", "--seed", "3", "--json"]
    checked = json.loads(CliRunner().invoke(main, [*run, "--check"]).output)
    assert {p["name"]: p["verdict"] for p in checked["properties"]}["integrity"] == "holds"
    assert CliRunner().invoke(main, [*run, "--table", "t.parquet"]).exit_code == 0
    judged = CliRunner().invoke(main, ["judge", "t.parquet", "--json"])
    assert judged.exit_code == 3
    counts = json.loads(judged.output)["properties"]
    assert {(p["premise_not_reached"], p["holds"], p["not_judged"]) for p in counts} == {(0, 0, 1)}
    assert "mine" in {p["name"] for p in counts}
