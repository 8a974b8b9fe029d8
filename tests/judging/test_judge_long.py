"""One long history, judged by digests of blocks, comes to what it comes to when it is judged whole."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.histories import Abcast, Accept, Deliver, History, Instance, MadeUp, Txn
from tests.judge_tables import ALL, Verdicts, rows_of, verdicts_of, written
from tests.judging.orderly import TXNS, delivery, orderly, txn
from tests.models import much
from traces.judging import numbers
from traces.judging.blocks import SHIFT, summary_of
from traces.judging.history import NOT_LONG, judge_history
from traces.judging.judge import judge_plainly, read_units
from traces.judging.runs import KERNEL, mask_of
from traces.judging.totals import Totals, Unit, judge_unit
from traces.judging.unknowns import Where
from traces.tables.table import TableError, parts_of


def one_by_one(work: Callable[..., Any], arguments: Sequence[tuple[Any, ...]]) -> list[Any]:
    return [work(*a) for a in arguments]


def both(path: Path, h: History, group: int, shift: int, most: int = 1 << 22) -> tuple[Totals, Totals]:
    """A history in row groups of so many rows, judged whole and judged as a long one."""
    parts = tuple(parts_of(written(path, [rows_of(h)], longest=group)))
    assert len(parts) == -(-(len(h.events) + 1) // group) or any(p.rows > group for p in parts) is False
    return judge_unit(Unit(parts), ALL), judge_history(Unit(parts, True), ALL, one_by_one, shift, most)


def agree(whole: Verdicts, long: Verdicts, about: object) -> None:
    different = {n: (whole[n], long[n]) for n in whole if long[n] not in ("undecided", "not judged", whole[n])}
    assert not different, (different, about)
    assert {n for n, v in long.items() if v == "not judged"} == {*NOT_LONG, "durability", "dsn-causal-order"}


def drawn(source: random.Random) -> History:
    made = MadeUp(source, source.randint(2, 4), source.randint(3, 14), source.randint(1, 5))
    if source.random() < 0.6:
        made.disorder = source.choice((0.0, 0.0, 0.02))
    return made.history(source.randint(5, 80))


def spoilt(source: random.Random) -> History:
    """An orderly history of which some is lost with its primary, some missed by one process, some late,
    some delivered again in a later pass."""
    events = orderly(lag=source.choice((0, 0, 3, 30)))
    for _ in range(source.randint(0, 3)):
        first, length = source.randrange(TXNS), source.choice((1, 2, 5, 16, 20))
        whose = source.choice((None, None, 0, 1, 2))
        out = {txn(k) for k in range(first, min(TXNS, first + length))}
        events = [e for e in events if not (isinstance(e, Deliver) and e.txn in out and whose in (None, e.process))]
    if source.random() < 0.3:  # from somewhere on a process delivers when all is over
        p, k = source.randrange(3), source.randrange(TXNS)
        late = [e for e in events if isinstance(e, Deliver) and e.process == p and e.txn >= txn(k)]
        events = [e for e in events if e not in late] + late
    if source.random() < 0.4:
        p = source.randrange(3)
        seen = [e.txn for e in events if isinstance(e, Deliver) and e.process == p]
        again = seen[: source.randint(0, len(seen))]
        if source.random() < 0.4 and again:
            again.pop(source.randrange(len(again)))
        events += [Deliver(p, 1, t) for t in again]
    return History(3, tuple(events))


@pytest.mark.slow(seconds=2)
@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.randoms(use_true_random=False))
def test_a_long_history_is_judged_as_a_whole_one(tmp_path: Path, source: random.Random) -> None:
    h = drawn(source) if source.random() < 0.5 else spoilt(source)
    whole, long = both(tmp_path / "t.parquet", h, source.randint(5, 60), source.randint(0, 4))
    agree(verdicts_of(whole), verdicts_of(long), h.events)


@pytest.mark.slow
def test_hundreds_of_long_histories_are_judged_as_whole_ones(tmp_path: Path) -> None:
    seen: Counter[tuple[str, str, str]] = Counter()
    for seed in range(much(130, 70)):
        source = random.Random(seed)
        h = spoilt(source) if seed % 2 else drawn(source)
        whole, long = both(tmp_path / "t.parquet", h, source.randint(10, 60), source.randint(0, 4))
        one, other = verdicts_of(whole), verdicts_of(long)
        agree(one, other, (seed, h.events))
        seen.update((n, one[n], other[n]) for n in one)
    for name in verdicts_of(whole):
        if name not in (*NOT_LONG, "durability", "dsn-causal-order"):
            assert seen[name, "held", "held"] >= much(15, 8), name
            if name not in ("integrity", "strict-causality"):
                assert seen[name, "violated", "violated"] >= 1, name
            if name in ("total-order", "integrity", "one-primary-an-epoch", "unique-zxid"):
                assert seen[name, "violated", "undecided"] <= 2, name


# --- an orderly history, and one thing wrong with it ---------------------------------------------

EACH = 4


def judged(path: Path, events: list[Abcast | Deliver], group: int = 37, shift: int = EACH) -> tuple[Totals, Verdicts]:
    h = History(3, tuple(events))
    whole, long = both(path, h, group, shift)
    agree(verdicts_of(whole), verdicts_of(long), "orderly")
    return long, verdicts_of(long)


def wrong(verdicts: Verdicts) -> set[str]:
    return {n for n, v in verdicts.items() if v not in ("held", "premise not reached", "not judged")}


@pytest.mark.parametrize("lag", [0, 1, 15, 16, 17, 40, TXNS])
def test_a_lagging_process_breaks_nothing(tmp_path: Path, lag: int) -> None:
    _, verdicts = judged(tmp_path / "t.parquet", orderly(lag=lag))
    assert wrong(verdicts) == set()
    assert verdicts["total-order"] == verdicts["primary-integrity"] == verdicts["strict-causality"] == "held"


@pytest.mark.slow(seconds=1)
@pytest.mark.parametrize("shift", [0, 4, 12])
@pytest.mark.parametrize("group", [7, 64, 1000])
def test_blocks_and_row_groups_of_any_size(tmp_path: Path, group: int, shift: int) -> None:
    events = orderly(lag=9)
    assert wrong(judged(tmp_path / "t.parquet", events, group, shift)[1]) == set()
    del events[delivery(events, 1, 20)]
    assert "total-order" in wrong(judged(tmp_path / "t.parquet", events, group, shift)[1])


# the first and the last of a block, its inside, and both sides of the change of epochs
EDGES = (1, 15, 16, 30, 31, 32, 33, 48, 62)


def test_properties_without_a_kernel_are_not_judged_of_long_histories(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(KERNEL, "total-order")
    parts = tuple(parts_of(written(tmp_path / "t.parquet", [rows_of(History(3, tuple(orderly())))], longest=37)))
    tally = judge_history(Unit(parts, True), ALL, one_by_one, EACH)
    assert verdicts_of(tally)["total-order"] == "not judged"
    assert any(
        "is too long for one task" in note and "total-order, dsn-causal-order of it" in note for note in tally.notes
    )


@pytest.mark.parametrize("k", EDGES)
def test_a_delivery_left_out_on_any_edge(tmp_path: Path, k: int) -> None:
    events = orderly()
    del events[delivery(events, 2, k)]
    tally, verdicts = judged(tmp_path / "t.parquet", events)
    assert {"total-order", "local-primary-order", "prefix", "po-causal-order"} - wrong(verdicts) <= {
        "local-primary-order",
        "prefix",
    }
    found = next(v for v in tally.violations if v.property == "total-order")
    assert f"without t{k + 1} " in found.why
    assert [events[e.row - 1].process for e in found.events] == [e.process for e in found.events]


@pytest.mark.parametrize("k", EDGES)
def test_two_deliveries_in_the_other_order_on_any_edge(tmp_path: Path, k: int) -> None:
    events = orderly()
    i, j = delivery(events, 2, k - 1), delivery(events, 2, k)
    events[i], events[j] = events[j], events[i]
    _, verdicts = judged(tmp_path / "t.parquet", events)
    assert verdicts["total-order"] == "violated"
    assert wrong(verdicts) >= {"total-order", "po-causal-order"}


@pytest.mark.parametrize("k", EDGES)
def test_another_payload_on_any_edge(tmp_path: Path, k: int) -> None:
    events = orderly()
    i = delivery(events, 1, k)
    events[i] = Deliver(1, 0, txn(k)._replace(value=1000))
    tally, verdicts = judged(tmp_path / "t.parquet", events)
    assert verdicts["integrity"] == verdicts["agreement"] == "violated"
    assert "t1000" in next(v for v in tally.violations if v.property == "integrity").why


@pytest.mark.parametrize("shift", [2, 4])
@pytest.mark.parametrize("k", [0, 15, 16, 20, 31])
def test_a_primary_that_missed_a_delivery(tmp_path: Path, k: int, shift: int) -> None:
    """p1 delivers k only after it has begun to abcast, and everybody else goes on in the same order."""
    events = [e for e in orderly() if not (isinstance(e, Deliver) and e.process == 1 and e.txn >= txn(k))]
    events += [Deliver(1, 0, txn(i)) for i in range(k, TXNS)]
    _, verdicts = judged(tmp_path / "t.parquet", events, shift=shift)
    assert verdicts["primary-integrity"] == "violated"
    assert verdicts["total-order"] == verdicts["agreement"] == verdicts["global-primary-order"] == "held"


@pytest.mark.parametrize("stop", [1, 15, 16, 17, 40])
def test_redelivery_after_recovery(tmp_path: Path, stop: int) -> None:
    """p2 crashes at places on and off the edges, begins anew, and goes further."""
    events = orderly()
    i = delivery(events, 2, stop)
    kept = [e for k, e in enumerate(events) if not (isinstance(e, Deliver) and e.process == 2 and k >= i)]
    for passing, length in ((1, stop // 2), (2, stop), (3, TXNS)):
        kept += [Deliver(2, passing, txn(k)) for k in range(length)]
    assert wrong(judged(tmp_path / "t.parquet", kept)[1]) == set()
    kept.append(Deliver(2, 4, txn(1)))
    _, verdicts = judged(tmp_path / "t.parquet", kept)
    assert verdicts["total-order"] == verdicts["agreement"] == "violated"


def test_two_primaries_and_two_transactions_under_a_zxid(tmp_path: Path) -> None:
    events = orderly()
    _, verdicts = judged(tmp_path / "t.parquet", [*events, Abcast(Instance(2, 2, 0), Txn(2, 90, 500))])
    assert verdicts["one-primary-an-epoch"] == "violated"
    assert verdicts["unique-zxid"] == verdicts["total-order"] == "held"
    _, verdicts = judged(tmp_path / "t.parquet", [*events, Abcast(Instance(2, 1, 0), txn(50)._replace(value=500))])
    assert verdicts["unique-zxid"] == "violated"


def test_what_was_lost_with_its_primary_breaks_nothing(tmp_path: Path) -> None:
    """The last of epoch 1, more than a block of it, is abcast and never delivered."""
    events = [e for e in orderly() if not (isinstance(e, Deliver) and txn(8) <= e.txn < txn(32))]
    assert wrong(judged(tmp_path / "t.parquet", events)[1]) == set()


@pytest.mark.parametrize("shift", [0, 2, 3])
def test_a_gap_of_which_only_the_middle_is_delivered_by_others(tmp_path: Path, shift: int) -> None:
    """Of what p2 missed the beginning and the end are lost, and only in between is something that p0 and p1
    delivered."""
    missed = {txn(k) for k in range(8, 48)}
    lost = missed - {txn(k) for k in range(24, 32)}
    events = [
        e for e in orderly() if not (isinstance(e, Deliver) and (e.txn in lost or (e.process == 2 and e.txn in missed)))
    ]
    _, verdicts = judged(tmp_path / "t.parquet", events, 37, shift)
    assert verdicts["total-order"] == "violated"


def test_a_disagreement_mended_far_from_its_cause_is_not_held(tmp_path: Path) -> None:
    """p2 leaves out one delivery, and much later is ahead of the others for a moment, in a block that is
    whole in the end: there each lacks something of the other."""
    events = orderly()
    del events[delivery(events, 2, 8)]
    behind = [events.pop(delivery(events, p, 24)) for p in (0, 1)]
    at = delivery(events, 2, 24) + 1
    events[at:at] = behind
    whole, long = both(tmp_path / "t.parquet", History(3, tuple(events)), 37, 2)
    assert verdicts_of(whole)["agreement"] == "violated"
    assert verdicts_of(long)["agreement"] == "undecided"
    assert "more is violated" in " ".join(long.notes)


def test_too_much_that_differs_is_undecided_and_not_held(tmp_path: Path) -> None:
    """p2 delivers every second transaction; no more than a few rows may be looked at."""
    events = [e for e in orderly() if not (isinstance(e, Deliver) and e.process == 2 and e.txn.counter % 2)]
    h = History(3, tuple(events))
    whole, long = both(tmp_path / "t.parquet", h, 37, 0, most=8)
    agree(verdicts_of(whole), verdicts_of(long), h)
    assert "undecided" in verdicts_of(long).values()
    assert "too much differs" in " ".join(long.notes)


def test_a_long_run_is_found_among_others_and_over_several_files(tmp_path: Path) -> None:
    """Row groups of one run, in two files, are one long unit; whole runs beside it are judged as ever."""
    folder = tmp_path / "events"
    folder.mkdir()
    rows = rows_of(History(3, tuple(orderly(lag=5))), 7)
    half = len(rows) // 2
    first, second = (replaced(rows, slice(0, half)), replaced(rows, slice(half, None)))
    written(folder / "b.parquet", [first], longest=20)
    written(folder / "c.parquet", [second], longest=20)
    few = [rows_of(History(3, (Abcast(Instance(1, 0, 0), txn(0)), Deliver(0, 0, txn(0)))), k) for k in (1, 2)]
    written(folder / "a.parquet", few)
    units = read_units(folder, longest=100)
    assert [u.long for u in units] == [False, True]
    tally = judge_plainly(units, ("integrity", "agreement"), 2, shift=4)
    assert tally.runs == 3
    assert tally.count("integrity", "held") == 3
    assert not tally.violations


@pytest.mark.parametrize("off", [-1, 0, 1])
def test_a_violation_on_the_edge_of_two_files(tmp_path: Path, off: int) -> None:
    """p2 leaves out a delivery just before, at and just behind the place where one file ends."""
    events = orderly()
    at = delivery(events, 2, 20)
    del events[at]
    rows = rows_of(History(3, tuple(events)), 7)
    cut = at + 1 + off
    folder = tmp_path / "events"
    folder.mkdir()
    written(folder / "a.parquet", [replaced(rows, slice(0, cut))], longest=20)
    written(folder / "b.parquet", [replaced(rows, slice(cut, None))], longest=20)
    tally = judge_plainly(read_units(folder, longest=100), ("total-order",), 2, shift=4)
    (found,) = tally.violations
    assert found.why.endswith("but p2 delivered t22 <1,21> without t21 <1,20>.")
    assert [rows.columns["process"][e.row] for e in found.events] == [e.process for e in found.events]


def replaced(rows: Any, part: slice) -> Any:
    """Some of the rows of a run."""
    import copy

    out = copy.copy(rows)
    out.columns = {name: column[part] for name, column in rows.columns.items()}
    return out


@pytest.mark.parametrize(
    ("column", "what"), [("position", "in the order of their positions"), ("time", "time never goes back")]
)
def test_parts_in_the_wrong_order_are_found(tmp_path: Path, column: str, what: str) -> None:
    parts = parts_of(written(tmp_path / "t.parquet", [rows_of(History(3, tuple(orderly())))], longest=64))
    blank = [c for c in ("position", "time") if c != column]
    rows = rows_of(History(3, tuple(orderly())))
    for name in blank:
        rows.columns[name] = [None] * len(rows)
    parts = parts_of(written(tmp_path / "t.parquet", [rows], longest=64))
    unit = Unit((*parts[2:], *parts[:2]), True)
    with pytest.raises(TableError, match=what):
        judge_history(unit, ALL, one_by_one)


def test_the_digest_of_a_block_is_of_its_set(tmp_path: Path) -> None:
    """Two processes that deliver the same have the same sums, however the rows are cut; another payload
    has others."""
    events = orderly()
    sums = []
    for group, other in ((10, events), (1000, events), (1000, [*events[:-1], Deliver(2, 0, Txn(2, 31, 999))])):
        path = written(tmp_path / "t.parquet", [rows_of(History(3, tuple(other)))], longest=group)
        total: Counter[tuple[int, ...]] = Counter()
        base = 0
        for part in parts_of(path):
            for e in summary_of(part, base, SHIFT).entries.tolist():
                total[tuple(e[:5])] += e[6]
            base += part.rows
        sums.append({key: value % (1 << 64) for key, value in total.items()})
    assert sums[0] == sums[1] != sums[2]
    assert sums[0][1, 0, 0, 1, 0] == sums[0][1, 2, 0, 1, 0] == sums[0][0, 0, 0, 1, 0]


# --- what is said of a long history whatever is looked at one by one -----------------------------------


def of_long(path: Path, rows: Any, asked: int = ALL) -> Totals:
    """Rows of one run, judged as a long history in blocks of four."""
    return judge_history(Unit(tuple(parts_of(written(path, [rows], longest=37))), True), asked, one_by_one, 2)


def test_an_abcast_under_another_epoch_far_from_any_edge_is_told(tmp_path: Path) -> None:
    """Of it alone no row is looked at one by one; what is said of primaries goes by the one epoch, and the comparison
    of blocks by the other."""
    rows = rows_of(History(3, tuple(orderly())))
    at = [k for k, kind in enumerate(rows.columns["kind"]) if kind == "abcast"][18]
    rows.columns["primary_epoch"][at] = 2
    tally = of_long(tmp_path / "t.parquet", rows)
    assert tally.gaps["", numbers.G_OTHER_EPOCH] == Where(0, at)
    assert verdicts_of(tally)["one-primary-an-epoch"] == "undecided"


def test_who_is_none_of_the_run_is_told_if_it_only_accepts(tmp_path: Path) -> None:
    """Rows of acceptances are never looked at one by one."""
    events = [*orderly(), Accept(5, 1, txn(20))]
    tally = of_long(tmp_path / "t.parquet", rows_of(History(3, tuple(events))))
    assert tally.gaps["", numbers.G_OUTSIDER] == Where(0, len(events))
    rows = rows_of(History(3, tuple(events[:-1])))
    assert not of_long(tmp_path / "u.parquet", rows).gaps


def test_of_a_long_history_only_what_is_asked_for_is_judged(tmp_path: Path) -> None:
    tally = of_long(tmp_path / "t.parquet", rows_of(History(3, tuple(orderly()))), mask_of(["total-order"]))
    assert tally.counts.sum() == tally.count("total-order", "held") == 1
    assert tally.notes == [], "of others nothing is said, nor that they are not judged"


def test_of_two_rows_that_are_no_runs_the_first_is_named(tmp_path: Path) -> None:
    rows = rows_of(History(3, tuple(orderly())))
    rows.columns["time"][9] = rows.columns["time"][20] = 0
    (part,) = parts_of(written(tmp_path / "t.parquet", [rows]))
    with pytest.raises(TableError, match="row 9: time never goes back"):
        summary_of(part, 0)
