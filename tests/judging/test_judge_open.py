"""What a row of a table leaves unknown accuses nobody and acquits nobody; every broadcast counts; and what is no
table is a sentence."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner, Result

from checker.cli import main
from tests.histories import Abcast, Accept, Deliver, Establish, Event, History, Instance, Replace, Txn
from tests.judge_tables import Verdicts, made_up, rows_of, some_moments, verdicts_of, written
from traces.judging import bounds, causality, numbers, runs
from traces.judging.bounds import judge_partial, judged_partially
from traces.judging.completions import completions, united
from traces.judging.passes import passes_of
from traces.judging.runs import BITS, COLUMNS, Batch
from traces.judging.single_run import judge_rows
from traces.judging.totals import Totals
from traces.judging.unknowns import (
    ALWAYS_SAID,
    EVERY,
    GAPS,
    TRANSACTIONS,
    Unknown,
    Where,
    affected,
    among,
    first_row,
    merged,
    sentence,
)
from traces.tables.table import OBSERVED, Rows, schema

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


def test_a_broadcast_of_unknown_epoch_does_not_precede_itself() -> None:
    """Found among 20,000 random tables: what one process delivers of two epochs reaches the premise, whatever the epoch
    of what another delivers alone."""
    alone, one, other = Txn(1, 1, 1), Txn(2, 1, 2), Txn(3, 1, 3)
    events: list[Event] = [Abcast(Instance(t.epoch, p, 0), t) for p, t in enumerate((alone, one, other))]
    events += [Deliver(0, 0, alone), Deliver(1, 0, one), Deliver(1, 0, other)]
    verdicts, _ = judged(forget(rows(*events), "abcast", "primary_epoch", 0))
    assert verdicts["global-primary-order"] == verdicts["causal-order"] == "held"


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


def test_a_primary_that_broadcasts_again_what_it_had_not_delivered() -> None:
    """The second broadcast of C is by an instance that has not delivered A."""
    late = Instance(2, 2, 0)
    events = (Abcast(FIRST, A), Deliver(0, 0, A), Deliver(1, 0, A), Abcast(LATER, C))
    assert judged(rows(*events))[0]["primary-integrity"] == "held"
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


@pytest.mark.parametrize(("time", "word"), [(2, "held"), (4, "violated"), (None, "open")])
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
    assert (verdicts["delivered-stands"], verdicts["total-order"]) == ("held", "violated")
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
    assert verdicts["one-primary-an-epoch"] == "held"
    assert [(name, where.row) for (name, _), where in tally.gaps.items()] == [("", 2)], "it is said which row"


def test_transactions_are_ordered_by_the_epochs_of_their_primaries() -> None:
    """By zxids p2 delivers in order; by primaries B comes from the earlier one."""
    made = rows(Abcast(FIRST, A), Abcast(LATER, C), Deliver(2, 0, A), Deliver(2, 0, C))
    assert judged(made)[0]["global-primary-order"] == "held"
    verdicts, _ = judged(put(made, "abcast", 0, primary_epoch=3))
    assert verdicts["global-primary-order"] == verdicts["causal-order"] == "violated"


# --- what is no process of the run ---------------------------------------------------------------


@pytest.mark.parametrize(("outsider", "word"), [(1, "held"), (5, "violated")])
def test_what_the_run_does_not_have_is_in_no_quorum(outsider: int, word: str) -> None:
    events = (Abcast(FIRST, A), Accept(0, 1, A), Accept(outsider, 1, A), Deliver(0, 0, A))
    verdicts, tally = judged(rows(*events))
    assert verdicts["delivered-is-chosen"] == word
    assert [name for name, _ in tally.gaps] == ([""] if outsider == 5 else [])


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


def test_a_crash_ends_a_pass_that_no_row_names() -> None:
    made = rows(Abcast(FIRST, A))
    for kind in ("abdeliver", "crash", "recover", "abdeliver"):
        of = {"epoch": 1, "counter": 1, "identity": 1} if kind == "abdeliver" else {}
        made.add(kind, 0, time=5, **of)
    verdicts, _ = judged(made)
    assert verdicts["total-order"] == "premise not reached"
    assert verdicts["agreement"] == "premise not reached", "one process delivered, and nothing is broken"


def test_passes_that_agree_may_lie_around_a_row_that_names_none() -> None:
    """The pass of the second delivery is not said: it may be of the first pass, and A is then delivered again in the
    next."""
    assert passes_of([0, 1, 2], [0, None, 1], [5, 6, 5], []).cuts(most=False) == [False, False, True]
    made = rows(Abcast(FIRST, A), Abcast(FIRST, B), Deliver(0, 0, A), Deliver(0, 0, B), Deliver(0, 1, A))
    verdicts, _ = judged(forget(made, "abdeliver", "pass", 1))
    assert verdicts["total-order"] != "violated"
    assert verdicts["agreement"] != "violated"


def test_without_times_a_partial_run_is_one_moment() -> None:
    """What is delivered in other orders is the same in the end, and there is no moment before that."""
    events = (
        Abcast(FIRST, A),
        Abcast(FIRST, B),
        Deliver(0, 0, A),
        Deliver(1, 0, B),
        Deliver(0, 0, B),
        Deliver(1, 0, A),
    )
    batch = Batch(rows_of(History(3, events), 0, [None] * len(events)).as_table().select(list(COLUMNS)), "one")
    ((_, found),) = batch.judged()
    assert not found[0][1] >> BITS["agreement"] & 1
    views = judge_partial(batch, 0, ("agreement", "total-order"))
    assert views is not None
    assert {name: of.word for name, of in views.items()} == {
        "agreement": "premise not reached",
        "total-order": "violated",
    }


@pytest.mark.parametrize(("times", "word"), [((2, None, 3), "held"), ((2, None, 2), "premise not reached")])
def test_a_lag_at_one_of_two_ends_is_a_lag(times: tuple[int | None, ...], word: str) -> None:
    """Found among random tables with several rows without a time: p1 delivers B, and p0 only in a later moment, of
    which no other row says where it begins."""
    events = (Abcast(FIRST, A), Deliver(0, 0, A), Deliver(1, 0, A), Abcast(FIRST, B), Deliver(1, 0, B))
    made = rows(*events, Abcast(LATER, C), Establish(3, ()), Deliver(0, 0, B))
    for k, time in enumerate((1, 1, 1, 1, 1, None, *times)):
        made.columns["time"][k] = time
    assert judged(made)[0]["agreement"] == word


def test_no_row_is_shown_to_break_what_it_may_keep() -> None:
    """The second abcast may be by the first's process, and by the third's."""
    third = Txn(1, 3, 4)
    made = forget(rows(Abcast(SECOND, A), Abcast(SECOND, B), Abcast(FIRST, third)), "abcast", "process", 1)
    verdicts, tally = judged(made)
    assert verdicts["one-primary-an-epoch"] == "violated"
    (said,) = (v for v in tally.violations if v.property == "one-primary-an-epoch")
    assert [e.row for e in said.events] == [1, 3]


def test_what_the_known_rows_break_is_broken_whatever_the_others_say() -> None:
    made = rows(Abcast(FIRST, A), Abcast(SECOND, B), Abcast(FIRST, Txn(1, 3, 4)))
    assert judged(forget(made, "abcast", "process", 2))[0]["one-primary-an-epoch"] == "violated"


@pytest.mark.slow(seconds=3)
def test_views_of_a_complete_run_come_to_what_the_kernel_says() -> None:
    for seed in range(200):
        source = random.Random(seed)
        h = made_up(source, source.randint(1, 30), source.choice((2, 3, 4)), txns=6)
        moments = some_moments(source, h)
        batch = Batch(rows_of(h, 0, moments).as_table().select(list(COLUMNS)), "one")
        ((_, found),) = batch.judged()
        _, broken, met, unknown = found[0].tolist()
        if unknown:
            continue
        views, kernel = judge_partial(batch, 0, judged_partially), batch.witness(0)
        assert views is not None
        for name in judged_partially:
            bit = 1 << BITS[name]
            word = "violated" if broken & bit else "held" if met & bit else "premise not reached"
            assert views[name].word == word, (seed, name)
            if word == "violated" and "integrity" not in kernel:
                by = [int(batch.columns["time"][rows[0]]) for rows in (views[name].rows, kernel[name])]
                assert by[0] == by[1], (seed, name, "in which moment")


def test_a_disagreement_names_what_each_process_delivered_alone() -> None:
    """Both delivered A first: that is not what they disagree on."""
    events = (Deliver(0, 0, A), Deliver(0, 0, B), Deliver(1, 0, A), Deliver(1, 0, C))
    batch = Batch(rows(*events).as_table().select(list(COLUMNS)), "one")
    list(batch.judged())
    views = judge_partial(batch, 0, ("agreement",))
    assert views is not None
    where = {(e.process, e.txn): row for row, e in enumerate(events, start=1)}
    by, of_one, of_other = where[1, C], where[0, B], where[1, C]
    for found in (views["agreement"].rows, batch.witness(0)["agreement"]):
        assert found[0] == by
        assert sorted(found[1:3]) == sorted((of_one, of_other))


@pytest.mark.parametrize("most", ["MOST_ROWS", "MOST_BROADCASTS"])
def test_a_partial_run_with_too_many_rows_is_not_judged(most: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Either is enough: it would take too long."""
    source = random.Random(1)
    h = made_up(source, 30, 3, txns=6)
    batch = Batch(rows_of(h, 0, some_moments(source, h)).as_table().select(list(COLUMNS)), "one")
    assert judge_partial(batch, 0, judged_partially) is not None
    monkeypatch.setattr(bounds, most, 0)
    assert judge_partial(batch, 0, judged_partially) is None


# --- the command ---------------------------------------------------------------------------------


def test_what_is_open_is_told_and_is_no_verdict(tmp_path: Path) -> None:
    path = written(tmp_path / "t.parquet", [NULLS["an attempt on one row only"][0]])
    result = zabcheck("judge", path)
    assert result.exit_code == 3, result.output
    assert (
        "one-primary-an-epoch is open: run 0, row 2, column 'attempt': the instance of the primary is unknown."
        in " ".join(result.stdout.split())
    )
    assert zabcheck("judge", path, "--allow-open").exit_code == 0
    answer = json.loads(zabcheck("judge", path, "--json").stdout)
    assert answer["exit_code"] == 3
    (told,) = (o for o in answer["open"] if o["property"] == "one-primary-an-epoch")
    assert told == {
        "property": "one-primary-an-epoch", "column": "attempt", "run": 0, "row": 2, "runs": 1,
        "why": "the instance of the primary is unknown",
    }  # fmt: skip
    assert zabcheck("judge", path, "--property", "unique-zxid").exit_code == 0, "of that nothing is open"


def test_a_violation_beside_what_is_open_is_a_violation(tmp_path: Path) -> None:
    made = forget(rows(*TWICE, Deliver(1, 0, Txn(2, 9, 9))), "abcast", "attempt", 1)
    for more in ((), ("--allow-open",)):
        assert zabcheck("judge", written(tmp_path / "t.parquet", [made]), *more).exit_code == 1


def test_a_property_that_no_table_is_judged_by_is_not_judged(tmp_path: Path) -> None:
    path = written(tmp_path / "t.parquet", [rows(*CHOSEN)])
    result = zabcheck("judge", path, "--property", "durability", "--json")
    assert result.exit_code == 0, result.output
    (said,) = json.loads(result.stdout)["properties"]
    assert (said["name"], said["not_judged"], said["held"]) == ("durability", 1, 0)


def test_what_is_said_of_rows_is_said_in_the_answer(tmp_path: Path) -> None:
    made = rows(Abcast(FIRST, A), Deliver(7, 0, A))
    result = zabcheck("judge", written(tmp_path / "t.parquet", [made]))
    assert "run 0, row 2, column 'process': this is not a process of the run" in result.stdout


# --- what is no table ----------------------------------------------------------------------------


def refused(path: Path) -> str:
    result = zabcheck("judge", path)
    assert (result.exit_code, result.stdout, result.stderr.count("\n")) == (2, "", 1), result.output
    return result.stderr


def test_a_table_without_runs_is_none(tmp_path: Path) -> None:
    assert "there is no run in this table" in refused(written(tmp_path / "t.parquet", []))


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


def test_rows_with_the_same_gap_are_told_by_the_first_of_them() -> None:
    early, late = Where(2, 7, 3), Where(4, 0, 2)
    assert merged(None, late) == late
    assert merged(early, late) == merged(late, early) == Where(2, 7, 5)
    gap = GAPS[0]
    assert sentence(gap, Where(2, -1)) == f"run 2: {gap.why}"
    assert sentence(gap, Where(2, 0)) == f"run 2, row 0, column 'process': {gap.why}"
    assert sentence(gap, early) == f"run 2, row 7, column 'process': {gap.why} (and so in 2 more runs)"


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


def test_every_unknown_has_its_own_bit_and_leaves_something_open() -> None:
    assert [gap.bit for gap in GAPS] == list(range(len(GAPS)))
    assert tuple(among(EVERY)) == GAPS
    assert {gap.bit for gap in GAPS if not (gap.affects or gap.blocks)} <= set(ALWAYS_SAID)
    assert {name for gap in GAPS for name in gap.affects} < set(BITS)
    assert {name for gap in GAPS for name in gap.kinds} == {"run", "establish", "revise", *TRANSACTIONS}
    more_than_nulls = {numbers.G_AGAIN, numbers.G_OTHER_EPOCH, numbers.G_OUTSIDER, numbers.G_MANY}
    assert {gap.bit for gap in GAPS if not gap.null} == more_than_nulls
    assert affected(1 << GAPS[1].bit) == dict.fromkeys(GAPS[1].affects, (GAPS[1],))


def test_what_two_rows_say_of_one_transaction_is_what_either_does() -> None:
    for one, other, both in (
        ((1, None), (None, 2), (1, 2)),
        ((1, None), (1, 2), (1, 2)),
        ((None, None), (None, 2), (None, 2)),
        ((1, 2), (1, 3), None),
        ((1, 2), (1, 2), (1, 2)),
    ):
        assert united(one, other) == united(other, one) == both


def test_every_way_in_which_rows_may_be_of_transactions_is_looked_at() -> None:
    """Two that are known and one of which half is: it is the one with that half, or a third."""
    keys = {0: (1, 1), 1: (2, 1), 2: (None, 2), 3: (1, None)}
    found = completions(keys)
    assert found is not None
    ways = {tuple(way[r] for r in keys) for way in found}
    assert ways == {(0, 1, 2, 0), (0, 1, 2, 2), (0, 1, 2, 3)}
    assert completions(keys, 3) == found
    assert completions(keys, 2) is None
    alike = completions({0: (None, 2), 1: (None, 2)})
    assert alike is not None
    assert {tuple(way.values()) for way in alike} == {(0, 0), (0, 1)}, "alike in what is known, they may be two"
