"""What a row of a table leaves unknown accuses nobody and acquits nobody; every broadcast counts; and what is no
table is a sentence."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner, Result

from checker.cli import main
from tests.histories import Abcast, Accept, Deliver, Establish, Event, History, Instance, Replace, Txn
from tests.judge_tables import Verdicts, rows_of, verdicts_of, written
from traces.events.table import OBSERVED, Rows, schema
from traces.judging import causality, numbers, runs
from traces.judging.runs import COLUMNS, Batch
from traces.judging.single_run import judge_rows
from traces.judging.totals import Totals
from traces.judging.unknowns import (
    GAPS,
    Unknown,
    Where,
    among,
    first_row,
)

A, B, C = Txn(1, 1, 1), Txn(1, 2, 2), Txn(2, 1, 3)
FIRST, SECOND, LATER = Instance(1, 0, 0), Instance(1, 1, 0), Instance(2, 1, 0)


def rows(*events: Event, nodes: int = 3) -> Rows:
    return rows_of(History(nodes, events))


def judged(made: Rows) -> tuple[Verdicts, Totals]:
    tally = judge_rows(made, OBSERVED)
    return verdicts_of(tally), tally


def forget(made: Rows, kind: str, column: str, *which: int) -> Rows:
    """Rows of a kind, counted, say nothing in a column; all of them if none is named."""
    at = [k for k, word in enumerate(made.columns["kind"]) if word == kind]
    for k in [at[i] for i in which] if which else at:
        made.columns[column][k] = None
    return made


def put(made: Rows, of: str, which: int, **values: Any) -> Rows:
    at = [k for k, word in enumerate(made.columns["kind"]) if word == of]
    for column, value in values.items():
        made.columns[column][at[which]] = value
    return made


def zabcheck(*arguments: object) -> Result:
    return CliRunner().invoke(main, [str(a) for a in arguments], prog_name="zabcheck")


# --- epochs that are not said ----------------------------------------------------------------------


@pytest.mark.parametrize("epoch", [-(1 << 62), 1 << 62])
def test_an_unknown_epoch_may_be_before_or_after_any_other(epoch: int) -> None:
    """Whichever is delivered first, the other may be of an earlier epoch."""
    for first, second in ((A, C), (C, A)):
        made = rows(Abcast(FIRST, A), Abcast(LATER, C), Deliver(2, 0, first), Deliver(2, 0, second))
        put(made, "abcast", 0, primary_epoch=epoch)
        verdicts, _ = judged(forget(made, "abcast", "primary_epoch", 1))
        assert verdicts["global-primary-order"] == verdicts["causal-order"] == "open", first


# --- broadcast again -----------------------------------------------------------------------------


def test_two_instances_that_broadcast_the_same_transaction_in_an_epoch() -> None:
    verdicts, tally = judged(rows(Abcast(FIRST, A), Abcast(SECOND, A), Deliver(0, 0, A)))
    assert verdicts["one-primary-an-epoch"] == verdicts["unique-zxid"] == "violated"
    why = {v.property: v.why for v in tally.violations}
    assert why["one-primary-an-epoch"] == (
        "No history that satisfies one-primary-an-epoch has these: p0 broadcast t1 <1,1>; p1 broadcast t1 <1,1>."
    )


def test_an_initial_history_out_of_order_is_shown_with_what_stands_before() -> None:
    """A is chosen after the leader was established, with B, which nobody accepted, before it."""
    accepted = (Accept(p, 1, A) for p in (0, 1))
    _, tally = judged(rows(Abcast(FIRST, A), Abcast(FIRST, B), Establish(2, (B, A)), *accepted))
    assert [(v.property, v.why) for v in tally.violations] == [(
        "chosen-in-later-histories",
        "t1 <1,1> was chosen in epoch 1, but is missing or out of order in the initial history of epoch 2. Of these "
        "rows: a process was established as a leader; a process had t2 <1,2> in its initial history.",
    )]  # fmt: skip


def test_a_primary_that_broadcasts_again_what_it_had_not_delivered() -> None:
    """The second broadcast of C is by an instance that has not delivered A."""
    late = Instance(2, 2, 0)
    events = (Abcast(FIRST, A), Deliver(0, 0, A), Deliver(1, 0, A), Abcast(LATER, C))
    assert judged(rows(*events))[0]["primary-integrity"] == "holds"
    verdicts, tally = judged(rows(*events, Abcast(late, C)))
    assert verdicts["primary-integrity"] == "violated"
    assert next(v for v in tally.violations if v.property == "primary-integrity").why == (
        "p2, primary of epoch 2, broadcast t3 <2,1> without having delivered t1 <1,1> of the earlier epoch 1, which p0 "
        "delivered."
    )


def test_what_is_broadcast_before_and_after_another_is_ordered_both_ways() -> None:
    verdicts, _ = judged(rows(Abcast(FIRST, A), Abcast(FIRST, B), Abcast(FIRST, A), Deliver(1, 0, A), Deliver(1, 0, B)))
    assert verdicts["local-primary-order"] == "violated"


def test_a_transaction_is_not_ordered_before_itself() -> None:
    """The paper has transactions broadcast once: nothing is broken, and nothing is held."""
    verdicts, _ = judged(rows(Abcast(FIRST, A), Abcast(FIRST, A), Abcast(FIRST, B), Deliver(1, 0, A), Deliver(1, 0, B)))
    assert verdicts["local-primary-order"] == verdicts["prefix"] == "premise not reached"
    assert verdicts["unique-zxid"] == "violated"


def of_many(count: int) -> Rows:
    """Nobody orders what two primaries broadcast in turn, and the first broadcasts again what it did at first."""
    txns = [Txn(1, k + 1, k + 1) for k in range(count)]
    events: list[Event] = [Abcast((FIRST, SECOND)[k % 2], t) for k, t in enumerate(txns)]
    return rows(*events, Abcast(FIRST, txns[0]), *(Deliver(2, 0, t) for t in txns))


def test_every_two_transactions_are_compared_as_long_as_that_is_quick(monkeypatch: pytest.MonkeyPatch) -> None:
    assert judged(of_many(600))[0]["strict-causality"] == "violated"
    monkeypatch.setattr(causality, "MOST_WORK", -1)
    monkeypatch.setattr(runs, "machine", lambda kernel: kernel)  # the limit is compiled in
    verdicts, tally = judged(of_many(6))
    assert verdicts["strict-causality"] == "undecided"
    assert verdicts["unique-zxid"] == verdicts["one-primary-an-epoch"] == "violated"
    assert not [name for name, _ in tally.gaps], "there is no null to name"


@pytest.mark.parametrize(("time", "word"), [(2, "holds"), (4, "violated"), (None, "open")])
def test_a_broadcast_that_relates_two_in_a_later_moment_is_too_late(time: int | None, word: str) -> None:
    """p2 delivered A and B, of two primaries, and then broadcasts B again. The next row has the time of that."""
    again = Instance(3, 2, 0)
    made = rows(Abcast(FIRST, A), Abcast(SECOND, B), Deliver(2, 0, A), Deliver(2, 0, B), Abcast(again, B))
    for column, value in (("time", time), ("kind", "abcast")):
        made.columns[column][-1] = value
    for k in range(5):
        made.columns["time"][k] = min(k, 2)
    made.add("crash", 1, time=4)
    assert judged(made)[0]["strict-causality"] == word


def test_a_history_is_compared_with_its_pass_where_passes_disagree() -> None:
    """What p0 had delivered in its second pass is B, which stands, and then C, which does not."""
    events = (Deliver(0, 0, A), Deliver(0, 1, B), Replace(0, 1, (B,)), Deliver(0, 1, C))
    verdicts, _ = judged(rows(*events))
    assert (verdicts["delivered-stands"], verdicts["total-order"]) == ("holds", "violated")
    verdicts, tally = judged(rows(*events, Replace(0, 1, (B, A))))
    assert verdicts["delivered-stands"] == "violated"
    (said,) = (v for v in tally.violations if v.property == "delivered-stands")
    assert [(e.kind, e.row) for e in said.events] == [("revise", 6), ("abdeliver", 5), ("entry", 8)]


# --- the epoch of a primary ----------------------------------------------------------------------


def test_the_epoch_of_a_primary_is_its_own_and_not_the_zxids() -> None:
    made = put(rows(Abcast(FIRST, A), Abcast(LATER, C)), "abcast", 1, primary_epoch=1)
    verdicts, _ = judged(made)
    assert verdicts["one-primary-an-epoch"] == "violated"
    made = put(rows(Abcast(FIRST, A), Abcast(SECOND, B)), "abcast", 1, primary_epoch=2)
    verdicts, tally = judged(made)
    assert verdicts["one-primary-an-epoch"] == "holds"
    assert [(name, where.row) for (name, _), where in tally.gaps.items()] == [("", 2)], "it is said which row"


def test_transactions_are_ordered_by_the_epochs_of_their_primaries() -> None:
    """By zxids p2 delivers in order; by primaries B comes from the earlier one."""
    made = rows(Abcast(FIRST, A), Abcast(LATER, C), Deliver(2, 0, A), Deliver(2, 0, C))
    assert judged(made)[0]["global-primary-order"] == "holds"
    verdicts, _ = judged(put(made, "abcast", 0, primary_epoch=3))
    assert verdicts["global-primary-order"] == verdicts["causal-order"] == "violated"


# --- what is no process of the run ---------------------------------------------------------------


@pytest.mark.parametrize(("outsider", "others", "word"), [(1, (), "holds"), (5, (1, 2), "violated"), (3, (1,), "open")])
def test_what_the_run_does_not_have_is_in_no_quorum(outsider: int, others: tuple[int, ...], word: str) -> None:
    """Unless a process of the run has no row: then numbers may begin at 1."""
    events = (
        Abcast(FIRST, A),
        Accept(0, 1, A),
        Accept(outsider, 1, A),
        Deliver(0, 0, A),
        *(Deliver(p, 0, A) for p in others),
    )
    verdicts, tally = judged(rows(*events))
    assert verdicts["delivered-is-chosen"] == word
    assert ("" in [name for name, _ in tally.gaps]) == (outsider > 1)


def test_beside_one_process_there_is_none() -> None:
    verdicts, tally = judged(rows(Abcast(FIRST, A), Accept(1, 1, A), Deliver(0, 0, A), nodes=1))
    assert verdicts["delivered-is-chosen"] == "violated"
    assert [name for name, _ in tally.gaps] == [""]


# --- nulls ---------------------------------------------------------------------------------------

TWICE = (Abcast(FIRST, A), Abcast(FIRST, B))
SEEN = (Abcast(FIRST, A), Deliver(0, 0, A), Deliver(1, 0, A))
CHOSEN = (Abcast(FIRST, A), Accept(0, 1, A), Accept(1, 1, A), Deliver(0, 0, A))
NULLS: dict[str, tuple[Rows, str, str]] = {
    "an acceptance without its epoch": (
        forget(rows(*CHOSEN), "accept", "primary_epoch", 1), "delivered-is-chosen", "primary_epoch"),
    "two leaders without an epoch": (
        forget(rows(Establish(1, ()), Establish(2, ())), "establish", "primary_epoch"), "one-leader-an-epoch",
        "primary_epoch"),
    "a leader without an epoch": (
        forget(rows(*CHOSEN, Establish(2, ())), "establish", "primary_epoch"), "chosen-in-later-histories",
        "primary_epoch"),
    "a digest on one row only": (put(rows(*SEEN), "abcast", 0, digest=7), "integrity", "digest"),
    "an identity on one row less": (forget(rows(*SEEN), "abdeliver", "identity", 0), "agreement", "identity"),
    "an attempt on one row only": (forget(rows(*TWICE), "abcast", "attempt", 1), "one-primary-an-epoch", "attempt"),
    "no attempts": (forget(rows(*TWICE), "abcast", "attempt"), "one-primary-an-epoch", "attempt"),
    "a primary without an epoch": (
        forget(rows(Abcast(FIRST, A), Abcast(LATER, C)), "abcast", "primary_epoch", 1), "one-primary-an-epoch",
        "primary_epoch"),
    "nobody's broadcast": (forget(rows(*TWICE), "abcast", "process", 1), "one-primary-an-epoch", "process"),
    "redelivery in no pass": (forget(rows(*SEEN, Deliver(0, 1, A)), "abdeliver", "pass"), "total-order", "pass"),
    "a time that is missing": (
        forget(rows(Abcast(FIRST, A), Abcast(FIRST, B), Deliver(0, 0, B), Deliver(0, 0, A)), "abdeliver", "time", 0),
        "prefix", "time"),
    "how many there are": (forget(rows(*CHOSEN), "run", "index"), "delivered-is-chosen", "index"),
}  # fmt: skip


@pytest.mark.parametrize("what", NULLS)
def test_a_null_neither_accuses_nor_acquits(what: str) -> None:
    made, name, column = NULLS[what]
    verdicts, tally = judged(made)
    assert verdicts[name] == "open"
    from traces.judging.unknowns import GAPS

    said = {GAPS[bit].column: where for (of, bit), where in tally.gaps.items() if of == name}
    assert set(said) == {column}
    assert made.columns[column][said[column].row] is None, "it is said which row"


# What is violated for certain, whatever the nulls stand for, and what the sentence says of it.
CERTAIN: dict[str, tuple[Rows, str, str]] = {
    "a delivery of nothing, without attempts": (
        forget(rows(*SEEN, Deliver(2, 0, B)), "abcast", "attempt"), "integrity",
        "p2 delivered t2 <1,2>, which no process had broadcast."),
    "two orders, without passes": (
        forget(rows(*TWICE, *(Deliver(p, 0, t) for p, t in ((0, A), (0, B), (1, B), (1, A)))), "abdeliver", "pass"),
        "total-order", "p0 delivered t1 <1,1> before t2 <1,2>, but p1 delivered t2 <1,2> without t1 <1,1>."),
    "two primaries of an epoch, without attempts": (
        forget(rows(Abcast(FIRST, A), Abcast(SECOND, B)), "abcast", "attempt"), "one-primary-an-epoch",
        "Two primaries broadcast in epoch 1: p0 broadcast t1 <1,1>, and p1 broadcast t2 <1,2>."),
    "two leaders of an epoch beside one without": (
        forget(rows(Establish(1, ()), Establish(1, ()), Establish(2, ())), "establish", "primary_epoch", 2),
        "one-leader-an-epoch", ""),
    "what a leader lacks, beside an acceptance without an epoch": (
        forget(rows(*CHOSEN, Accept(2, 1, A), Establish(2, ())), "accept", "primary_epoch", 2),
        "chosen-in-later-histories", ""),
}  # fmt: skip


@pytest.mark.parametrize("what", CERTAIN)
def test_what_is_violated_whatever_a_null_stands_for_is_violated(what: str) -> None:
    made, name, why = CERTAIN[what]
    verdicts, tally = judged(made)
    assert verdicts[name] == "violated"
    (said,) = (v.why for v in tally.violations if v.property == name)
    assert said.startswith(why), said
    assert "No history that satisfies" not in said


def test_what_one_instance_would_violate_is_open_without_attempts() -> None:
    """Two broadcasts of a process in an epoch need not be of one instance; that two processes are two is certain."""
    made = rows(*TWICE, Deliver(1, 0, B))
    assert judged(made)[0]["local-primary-order"] == judged(made)[0]["prefix"] == "violated"
    verdicts, _ = judged(forget(made, "abcast", "attempt"))
    assert verdicts["local-primary-order"] == verdicts["prefix"] == verdicts["po-causal-order"] == "open"


def test_a_redelivery_without_a_pass_is_no_violation() -> None:
    """It may be of the next pass; what another process delivers in another order is a violation all the same."""
    made = forget(rows(*TWICE, Deliver(0, 0, A), Deliver(0, 0, B), Deliver(0, 0, A)), "abdeliver", "pass")
    verdicts, _ = judged(made)
    assert (verdicts["total-order"], verdicts["agreement"]) == ("open", "open")


def test_a_disagreement_names_what_each_process_delivered_alone() -> None:
    """Both delivered A first: that is not what they disagree on."""
    events = (Deliver(0, 0, A), Deliver(0, 0, B), Deliver(1, 0, A), Deliver(1, 0, C))
    batch = Batch(rows(*events).as_table().select(list(COLUMNS)), "one")
    list(batch.judged())
    where = {(e.process, e.txn): row for row, e in enumerate(events, start=1)}
    by, of_one, of_other = where[1, C], where[0, B], where[1, C]
    found = batch.witness(0)["agreement"]
    assert found[0] == by
    assert sorted(found[1:3]) == sorted((of_one, of_other))


# --- the command ---------------------------------------------------------------------------------


def test_what_is_open_is_told_and_is_no_verdict(tmp_path: Path) -> None:
    path = written(tmp_path / "t.parquet", [NULLS["an attempt on one row only"][0]])
    result = zabcheck("judge", path)
    assert result.exit_code == 3, result.output
    assert (
        "one-primary-an-epoch are open, since attempt is null (run 0, row 2: other broadcasts have an instance, and"
        in " ".join(result.stdout.split())
    )
    assert zabcheck("judge", path, "--allow-open").exit_code == 0
    answer = json.loads(zabcheck("judge", path, "--json").stdout)
    assert answer["exit_code"] == 3
    (told,) = (o for o in answer["open"] if o["property"] == "one-primary-an-epoch")
    assert told == {
        "property": "one-primary-an-epoch", "column": "attempt", "run": 0, "row": 2, "runs": 1,
        "why": "other broadcasts have an instance, and this has none",
    }  # fmt: skip
    assert zabcheck("judge", path, "--property", "unique-zxid").exit_code == 0, "of that nothing is open"


def test_a_violation_beside_what_is_open_is_a_violation(tmp_path: Path) -> None:
    made = forget(rows(*TWICE, Deliver(1, 0, Txn(2, 9, 9))), "abcast", "attempt", 1)
    for more in ((), ("--allow-open",)):
        assert zabcheck("judge", written(tmp_path / "t.parquet", [made]), *more).exit_code == 1


def test_a_property_that_no_table_is_judged_by_is_not_judged(tmp_path: Path) -> None:
    path = written(tmp_path / "t.parquet", [rows(*CHOSEN)])
    result = zabcheck("judge", path, "--property", "durability", "--json")
    assert result.exit_code == 3, result.output
    (said,) = json.loads(result.stdout)["properties"]
    assert (said["name"], said["not_judged"], said["holds"]) == ("durability", 1, 0)


def test_what_is_said_of_rows_is_said_in_the_answer(tmp_path: Path) -> None:
    made = rows(Abcast(FIRST, A), Deliver(7, 0, A))
    result = zabcheck("judge", written(tmp_path / "t.parquet", [made]))
    assert "run 0, row 2: this is not a process of the run" in result.stdout


# --- what is no table ----------------------------------------------------------------------------


def refused(path: Path, code: int = 2) -> str:
    result = zabcheck("judge", path)
    assert (result.exit_code, result.stdout, result.stderr.count("\n")) == (code, "", 1), result.output
    return result.stderr


def test_a_table_without_runs_has_no_verdict(tmp_path: Path) -> None:
    assert "there is no run in this table" in refused(written(tmp_path / "t.parquet", []), 3)


WRONG: dict[str, tuple[str, int, dict[str, Any], str]] = {
    "a number beyond all": ("abcast", 0, {"epoch": (1 << 63) - 1}, "column 'epoch' has a number that is out of range"),
    "the least number": ("abcast", 0, {"digest": -(1 << 63)}, "column 'digest' has a number that is out of range"),
    "no processes": ("run", 0, {"index": 0}, "a run has at least one process"),
    "a run that begins late": ("abcast", 0, {"kind": "run", "index": 3}, "a run begins once"),
    "an entry of nothing": ("abcast", 0, {"kind": "initial"}, "the entries of a history come directly behind"),
    "a process below zero": ("abdeliver", 0, {"process": -1}, "processes are numbered 0 to 63"),
    "a pass that goes back": ("abdeliver", 1, {"process": 0, "pass": -1, "position": None}, "the passes of a process"),
}


@pytest.mark.parametrize("what", WRONG)
def test_rows_that_are_no_runs(tmp_path: Path, what: str) -> None:
    kind, which, values, sentence = WRONG[what]
    assert sentence in refused(written(tmp_path / "t.parquet", [put(rows(*SEEN), kind, which, **values)]))


def test_a_run_begins_before_anything_happens_in_it(tmp_path: Path) -> None:
    made = rows(*SEEN)
    for column in made.columns.values():
        column.append(column.pop(0))
    made.columns["time"][-1] = 9
    assert "a run begins with its row of kind run" in refused(written(tmp_path / "t.parquet", [made]))


@pytest.mark.parametrize("what", ["no kind", "a kind that is no text"])
def test_a_row_says_in_text_what_happened(tmp_path: Path, what: str) -> None:
    table = rows(*SEEN).as_table()
    at = table.schema.get_field_index("kind")
    words: pa.Array
    if what == "no kind":
        words = pa.array(["run", None, "abdeliver", "abdeliver"])
    else:
        raw = pa.array([b"run", b"\xff", b"abdeliver", b"abdeliver"])
        words = pa.Array.from_buffers(pa.string(), 4, raw.buffers())
    fields = [pa.field(f.name, pa.string()) if f.name == "kind" else f for f in schema()]
    columns = [words if k == at else table.column(k) for k in range(table.num_columns)]
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table(columns, schema=pa.schema(fields)), path)
    assert ("a row has no kind" if what == "no kind" else "is not text") in refused(path)


def test_what_a_table_says_in_text_is_shown_and_not_obeyed(tmp_path: Path) -> None:
    made = rows(Deliver(1, 0, A))
    made.columns["detail"][0] = "zabcheck \x1b[2J\x07 simulate"
    result = zabcheck("judge", written(tmp_path / "t.parquet", [made]))
    assert result.exit_code == 1
    assert "zabcheck ?[2J? simulate" in result.stdout


MORE_THAN_NULLS: dict[int, tuple[list[Event], int]] = {
    numbers.G_OTHER_EPOCH: ([Abcast(FIRST, A), Abcast(FIRST, C), Abcast(LATER, B)], 2),
    numbers.G_OUTSIDER: ([Abcast(FIRST, A), Deliver(1, 0, A), Deliver(5, 0, A), Deliver(4, 0, A)], 3),
}


@pytest.mark.parametrize("gap", [GAPS[bit] for bit in MORE_THAN_NULLS], ids=lambda gap: gap.why)
def test_what_is_said_of_rows_is_told_by_the_first_row_that_has_it(gap: Unknown) -> None:
    """Rows before it are of its kind, and are as they should be."""
    events, row = MORE_THAN_NULLS[gap.bit]
    batch = Batch(rows(*events).as_table().select(list(COLUMNS)), "one")
    ((_, found),) = batch.judged()
    assert gap in among(int(found[0][3])), "the kernel noted it"
    assert first_row(batch, 0, gap) == Where(0, row)
