"""The judge of tables says of every run what the properties in memory say of its history."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from tests.broken_histories import BREAKS
from tests.histories import (
    Abcast,
    Accept,
    Deliver,
    History,
    Instance,
    Replace,
    Synthetic,
    Txn,
)
from tests.judge_tables import (
    ALL,
    Verdicts,
    first_broken,
    in_memory,
    judged_alone,
    made_up,
    rows_of,
    some_moments,
    verdict,
    verdicts_of,
    written,
)
from traces.events.table import OBSERVED, parts_of
from traces.judging import numbers
from traces.judging.judge import judge_plainly, read_units
from traces.judging.runs import BITS, BY_MOMENT, COLUMNS, JUDGED, KERNEL, Batch, judgeable, mask_of, needs
from traces.judging.single_run import judge_rows
from traces.judging.totals import COUNTS, Unit, judge_unit
from traces.judging.unknowns import BY_PRIMARY, BY_QUORUM

NAMES = tuple(p.name for p in JUDGED)


def test_every_property_of_histories_is_judged() -> None:
    assert set(BITS) == set(NAMES) == {*KERNEL, "durability", "dsn-causal-order"}
    assert judgeable(OBSERVED) == mask_of([*KERNEL, "dsn-causal-order"])


def test_of_what_no_event_says_nothing_is_judged() -> None:
    def told(h: Any) -> bool:
        return bool(h.delivered or h.revised)

    def untold(h: Any) -> bool:
        return bool(h.delivered or h.abcast_in_pass)

    def of_nothing(h: Any) -> bool:
        return bool(h)

    assert needs(told) == {"abdeliver", "revise"}
    assert needs(untold) is needs(of_nothing) is None


# --- histories made up at random -----------------------------------------------------------------


def compare(table: Verdicts, memory: Verdicts, about: object) -> None:
    different = {n: (table[n], memory[n]) for n in memory if table[n] != memory[n]}
    assert not different, (different, about)


@pytest.mark.slow
def test_hundreds_of_histories_in_one_table_are_judged_as_in_memory() -> None:
    """Runs one behind the other, so that nothing of one is left for the next."""
    histories, expected, tables = [], [], []
    for seed in range(400):
        source = random.Random(seed)
        nodes = source.choice((2, 3, 4))
        h = made_up(source, source.randint(1, 30), nodes, txns=6)
        moments = some_moments(source, h)
        histories.append((h.events, moments))
        expected.append({n: word for n, word in in_memory(h, moments, txns=6).items() if n in KERNEL})
        tables.append(rows_of(h, seed, moments).as_table())
    batch = Batch(pa.concat_tables(tables).unify_dictionaries().select(COLUMNS), "many")
    seen: Counter[tuple[str, str]] = Counter()
    place = 0
    for _, found in batch.judged():
        for _, broken, met, unknown in found.tolist():
            table = {n: verdict(broken >> BITS[n] & 1, met >> BITS[n] & 1) for n in NAMES}
            if unknown:
                assert unknown == 1 << numbers.G_MOMENTS
                table |= {n: "open" for n in BY_MOMENT if table[n] != "violated"}
            compare(table, expected[place], histories[place])
            seen.update(expected[place].items())
            place += 1
    assert place == 400
    for name in expected[0]:  # the comparison was put to the test
        assert seen[name, "violated"] >= 2, name
        assert seen[name, "holds"] >= 2, name
        assert seen[name, "premise not reached"] >= 2, name


@pytest.mark.slow
def test_a_violation_is_told_with_the_moment_in_which_it_was_first() -> None:
    """Where integrity is broken as well, what was delivered too early makes the order of events
    ambiguous, and the moment told may be a later or an earlier one."""
    seen: Counter[str] = Counter()
    for seed in range(400):
        source = random.Random(seed)
        h = made_up(source, source.randint(1, 30), source.choice((2, 3, 4)), txns=6)
        moments = [now for now in some_moments(source, h) if now is not None]
        if not moments:
            continue
        wanted = first_broken(h, moments, txns=6)
        if "integrity" not in wanted:
            found = {v.property: v.time for v in judge_rows(rows_of(h, 0, moments), OBSERVED, NAMES).violations}
            assert found == wanted, (seed, h.events, moments)
            seen.update(wanted.keys())
    assert set(seen) == {*KERNEL, "dsn-causal-order"} - {"integrity", "delivered-stands"}
    assert min(seen.values()) >= 1, seen


T1, T2, LATER = Txn(1, 1, 1), Txn(1, 2, 2), Txn(2, 1, 3)
FIRST, SECOND = Instance(1, 0, 0), Instance(2, 1, 0)
SHOWN: dict[str, tuple[list[Any], int, list[int]]] = {
    "po-causal-order": (
        [Abcast(FIRST, T1), Deliver(1, 0, T1), Abcast(SECOND, LATER), Deliver(2, 0, LATER)], 3, [1, 3, 4],
    ),
    "primary-integrity": ([Abcast(FIRST, T1), Deliver(0, 0, T1), Abcast(SECOND, LATER)], 2, [1, 2, 3]),
    "prefix": ([Abcast(FIRST, T1), Abcast(FIRST, T2), Deliver(1, 0, T2)], 2, [1, 2, 3]),
}  # fmt: skip


@pytest.mark.parametrize("name", SHOWN)
def test_a_violation_names_its_moment_and_its_rows_in_order(name: str) -> None:
    """The moment is that of the row by which it breaks, and what is broadcast comes before what is delivered."""
    events, time, shown = SHOWN[name]
    (found,) = (v for v in judge_rows(rows_of(History(3, tuple(events))), OBSERVED).violations if v.property == name)
    assert (found.time, [e.row for e in found.events]) == (time, shown)


def test_two_chains_to_one_transaction_may_share_a_part() -> None:
    """p4 and p5 delivered t4 with something else each, and either PO-precedes it through t3 alone."""
    a, b, c, d = (Txn(k, 1, k) for k in (1, 2, 3, 4))
    events: list[Any] = [Abcast(Instance(1, 0, 0), a), Deliver(1, 0, a), Abcast(Instance(2, 1, 0), b)]
    events += [Deliver(2, 0, a), Deliver(2, 0, b), Abcast(Instance(3, 2, 0), c)]
    events += [Deliver(3, 0, c), Abcast(Instance(4, 3, 0), d)]
    events += [Deliver(4, 0, b), Deliver(4, 0, d), Deliver(5, 0, a), Deliver(5, 0, d)]
    assert verdicts_of(judge_rows(rows_of(History(6, tuple(events))), OBSERVED))["strict-causality"] == "holds"


# --- histories that break one property, and what it implies --------------------------------------


@pytest.mark.parametrize("make", BREAKS, ids=lambda f: f.__name__)
def test_a_history_breaks_exactly(tmp_path: Path, make: Callable[[Synthetic], None]) -> None:
    """The events that a violation names are of the run, and few."""
    s = Synthetic.of()
    make(s)
    found = judged_alone(tmp_path / "t.parquet", s.history)
    # at every moment: what is broken for a while is broken
    moments = {n for n, v in in_memory(s.history).items() if v == "violated"}
    assert {n for n, v in found.items() if v == "violated"} == moments >= set(BREAKS[make].split())
    rows = rows_of(s.history)
    for v in judge_plainly(read_units(tmp_path / "t.parquet"), (), 1).violations:
        assert 1 <= len(v.events) <= 4
        assert v.why.endswith(".")
        for e in v.events:
            assert [rows.columns[c][e.row] for c in ("kind", "process", "position")] == [e.kind, e.process, e.position]
            assert e.txn == "" or e.txn in v.why or e.kind in ("accept", "abcast", "abdeliver")


@pytest.mark.parametrize("first", ["accept", "abcast"])
def test_what_two_rows_leave_unknown_is_open(first: str) -> None:
    """How many processes there are, and who abcast: neither makes the other known."""
    t, instance = Txn(1, 1, 1), Instance(1, 0, 0)
    early: list[Any] = [Accept(0, 1, t), Abcast(instance, t)]
    events = [*(early if first == "accept" else early[::-1]), Deliver(1, 0, t)]
    rows = rows_of(History(2, tuple(events)))
    for column in rows.columns.values():
        del column[0]  # which says how many
    rows.columns["process"][rows.columns["kind"].index("abcast")] = None
    found = verdicts_of(judge_rows(rows, OBSERVED))
    assert {name for name, word in found.items() if word == "open"} == {*BY_QUORUM, *BY_PRIMARY}
    assert found["integrity"] == "holds"


REPLACED: dict[str, tuple[tuple[int, ...], bool]] = {
    "the same": ((1, 2), True),
    "longer": ((1, 2, 3), True),
    "shorter": ((1,), False),
    "empty": ((), False),
    "changed": ((1, 3), False),
    "turned round": ((2, 1), False),
    "one put before": ((3, 1, 2), False),
}


@pytest.mark.parametrize("how", REPLACED)
def test_what_was_delivered_stands(tmp_path: Path, how: str) -> None:
    values, stands = REPLACED[how]
    t = {k: Txn(1, k, k) for k in (1, 2, 3)}
    instance = Instance(1, 0, 0)
    events = [Abcast(instance, t[k]) for k in t]
    events += [Deliver(1, 0, t[1]), Deliver(1, 0, t[2]), Replace(1, 0, tuple(t[k] for k in values))]
    for more in ((), (Abcast(instance, Txn(1, 4, 4)),)):  # the run ends there, or goes on
        verdicts = judged_alone(tmp_path / "t.parquet", History(2, (*events, *more)))
        assert verdicts["delivered-stands"] == ("holds" if stands else "violated")


def test_a_history_replaced_in_a_new_pass_may_lack_deliveries(tmp_path: Path) -> None:
    t = Txn(1, 1, 1)
    events = (Abcast(Instance(1, 0, 0), t), Deliver(1, 0, t), Replace(1, 1, ()))
    assert judged_alone(tmp_path / "t.parquet", History(2, events))["delivered-stands"] == "premise not reached"


def test_what_is_abcast_later_precedes_nothing(tmp_path: Path) -> None:
    """p1 delivers a out of nowhere and then abcasts b; a is abcast after that."""
    a, b = Txn(2, 1, 2), Txn(1, 1, 1)
    events = (Deliver(1, 0, a), Abcast(Instance(1, 1, 0), b), Abcast(Instance(2, 0, 0), a), Deliver(2, 0, b))
    table = judged_alone(tmp_path / "t.parquet", History(3, events))
    assert table["po-causal-order"] == "premise not reached"
    compare(table, in_memory(History(3, events)), events)


# --- what a table does not say -------------------------------------------------------------------


def judged_columns(tmp_path: Path, h: History, observes: tuple[str, ...] = OBSERVED, **blank: Any) -> Verdicts:
    rows = rows_of(h)
    for name in blank:
        rows.columns[name] = [None] * len(rows)
    path = tmp_path / "t.parquet"
    from traces.events.table import TableWriter

    with TableWriter(path, observes) as writer:
        writer.add(rows)
    return verdicts_of(judge_unit(Unit(tuple(parts_of(path))), ALL))


def one_of_each() -> History:
    s = Synthetic.of()
    a, b = s.abcast(0, 1), s.abcast(0, 1)
    s.choose(1, a, b)
    s.deliver(1, a, b)
    s.deliver(2, a)
    return s.history


def test_what_is_not_noted_is_not_judged(tmp_path: Path) -> None:
    verdicts = judged_columns(tmp_path, one_of_each(), ("abdeliver",))
    assert {n for n, v in verdicts.items() if v != "not judged"} == {"total-order", "agreement"}
    assert verdicts["durability"] == "not judged", "rows do not tell what is in stable histories"
    verdicts = judged_columns(tmp_path, one_of_each(), ("abcast", "abdeliver"))
    assert verdicts["delivered-is-chosen"] == verdicts["one-leader-an-epoch"] == "not judged"
    assert verdicts["integrity"] == verdicts["po-causal-order"] == "holds"


def test_transactions_without_identity_differ_by_zxid_and_digest(tmp_path: Path) -> None:
    verdicts = judged_columns(tmp_path, one_of_each(), identity=None)
    assert verdicts["agreement"] == verdicts["integrity"] == "holds"
    rows = rows_of(one_of_each())
    rows.columns["identity"] = [None] * len(rows)
    rows.columns["digest"] = [k if kind == "abdeliver" else 0 for k, kind in enumerate(rows.columns["kind"])]
    path = written(tmp_path / "t.parquet", [rows])
    tally = judge_unit(Unit(tuple(parts_of(path))), ALL)
    verdicts = verdicts_of(tally)
    assert verdicts["integrity"] == verdicts["agreement"] == "violated"
    first = next(v.why for v in tally.violations if v.property == "integrity")
    assert first.startswith("p1 delivered <1,1> of digest "), "it reads like the one that was broadcast"


def test_where_nobody_knows_who_abcast_primaries_are_left_open(tmp_path: Path) -> None:
    rows = rows_of(one_of_each())
    for k, kind in enumerate(rows.columns["kind"]):
        if kind == "abcast":
            rows.columns["process"][k] = rows.columns["position"][k] = None
    path = written(tmp_path / "t.parquet", [rows])
    verdicts = verdicts_of(judge_unit(Unit(tuple(parts_of(path))), ALL))
    assert {name for name, word in verdicts.items() if word == "open"} == {*BY_PRIMARY, "dsn-causal-order"}
    assert verdicts["integrity"] == "holds"


def test_only_what_is_asked_for_is_judged(tmp_path: Path) -> None:
    s = Synthetic.of()
    next(iter(BREAKS))(s)
    path = written(tmp_path / "t.parquet", [rows_of(s.history)])
    tally = judge_plainly(read_units(path), ("agreement",), 1)
    assert tally.violations == []
    assert tally.counts.sum() == 1
    assert tally.count("agreement", COUNTS[1]) == 1


def test_a_run_with_more_transactions_than_there_is_room_for_gets_more(tmp_path: Path) -> None:
    """No abcasts say how many there are: the planes grow while the batch is judged."""
    many = [Deliver(p, 0, Txn(1, k, k)) for k in range(1, 6000) for p in (0, 1)]
    few = [Deliver(0, 0, Txn(1, 1, 1)), Deliver(0, 0, Txn(1, 1, 1))]
    runs = [rows_of(History(2, tuple(events)), k) for k, events in enumerate((few, many, few))]
    path = written(tmp_path / "t.parquet", runs)
    tally = judge_plainly(read_units(path), ("total-order",), 1)
    assert [v.run for v in tally.violations] == [0, 2]
    assert tally.count("total-order", "holds") == 1
