"""What is said of tables is what the definitions say, whatever the tables leave unknown.

`ZABCHECK_TABLES=20000` judges so many random tables instead of a few hundred, and tells what it came to.
"""

from __future__ import annotations

import os
import random
from collections import Counter
from collections.abc import Sequence
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from checker.opinion.judged import contradicts
from tests.histories import Abcast, Deliver, History, Instance, Txn
from tests.judge_tables import rows_of as rows_of_run
from tests.judge_tables import verdicts_of, written
from traces.events.table import COLUMNS, OBSERVED, Rows
from traces.judging import definition, observed, sentence
from traces.judging.definition import judged_by_definition as by_its_text
from traces.judging.judge import judge_plainly, read_units
from traces.judging.observed import Observed
from traces.judging.runs import COLUMNS as IN_BATCH
from traces.judging.runs import JUDGED as OF_TABLES
from traces.judging.runs import KERNEL, Batch
from traces.judging.single_run import judge_rows
from traces.judging.totals import COUNTS
from zabspec.second.definitions import Row, judged_by_definition, unknowns

TABLES = int(os.environ.get("ZABCHECK_TABLES", "200"))
T, U, FIRST = Txn(1, 1, 1), Txn(1, 2, 2), Instance(1, 0, 0)
NULLED = {
    "abcast": ("process", "primary_epoch", "attempt", "identity", "digest", "time"),
    "abdeliver": ("pass", "identity", "digest", "time"),
    "accept": ("primary_epoch", "identity", "digest", "time"),
    "establish": ("primary_epoch", "time"),
    "initial": ("identity", "digest", "time"),
    "revise": ("pass", "time"),
    "entry": ("identity", "digest", "time"),
    "run": ("index",),
}


class Made:
    """A run made up at random, more or less orderly, as rows."""

    def __init__(self, seed: int) -> None:
        self.random = source = random.Random(seed)
        self.nodes = source.choice((2, 3, 3, 4))
        self.disorder = source.choice((0.0, 0.05, 0.15, 0.4))
        self.again = source.choice((0.0, 0.0, 0.0, 0.4))
        self.wrong_epoch = source.choice((0.0, 0.0, 0.0, 0.3))
        self.outsiders = source.choice((0.0, 0.0, 0.0, 0.3))
        self.quick = source.choice((0.5, 1.0))
        self.rows: list[Row] = []
        self.now, self.epoch = 0, 0
        self.passing = [0] * (self.nodes + 2)
        self.primary: tuple[int, int, int] | None = None  # epoch, process, attempt
        self.known: list[Row] = []
        if source.random() < 0.9:
            self.note("run", index=self.nodes)

    def note(self, kind: str, **values: Any) -> None:
        self.now += self.random.random() < self.quick
        row = dict.fromkeys(name for name, *_ in COLUMNS) | {"kind": kind, "time": self.now, "run": 0}
        self.rows.append(row | values)

    def astray(self, probability: float) -> bool:
        return self.random.random() < probability

    def process(self) -> int:
        return (
            self.nodes + self.random.randrange(2) if self.astray(self.outsiders) else self.random.randrange(self.nodes)
        )

    @staticmethod
    def txn(t: Row) -> Row:
        return {c: t[c] for c in ("epoch", "counter", "identity", "digest")}

    def abcast(self) -> None:
        if self.primary is None or self.astray(0.35):
            self.epoch += self.primary is None or not self.astray(self.disorder)
            p = self.process()
            self.primary = (max(1, self.epoch), p, self.random.randrange(2))
            if not self.astray(self.disorder):
                for t in self.known:
                    self.deliver(p, t)
        epoch, p, attempt = self.primary
        if self.known and self.astray(self.again):
            t = self.random.choice(self.known)
        else:
            counter = 1 + sum(t["epoch"] == epoch for t in self.known)
            n = len(self.known) + 1
            t = {"epoch": epoch, "counter": counter, "identity": n, "digest": 7 * n % 3}
            self.known.append(t)
        epoch += self.astray(self.wrong_epoch) * self.random.choice((-1, 1))
        self.note("abcast", process=p, primary_epoch=epoch, attempt=attempt, **self.txn(t))

    def delivered(self, p: int) -> list[Row]:
        return [
            self.txn(r)
            for r in self.rows
            if r["kind"] == "abdeliver" and r["process"] == p and r["pass"] == self.passing[p]
        ]

    def deliver(self, p: int | None = None, t: Row | None = None) -> None:
        p = self.process() if p is None else p
        left = [x for x in self.known if self.txn(x) not in self.delivered(p)]
        if t is None and self.known:
            t = self.random.choice(self.known) if self.astray(self.disorder) else left[0] if left else None
        elif t is not None and t not in left:
            return
        if self.astray(self.disorder / 8):  # of nowhere
            t = {"epoch": 1, "counter": 9, "identity": 99, "digest": 0}
        if t is not None:
            self.note("abdeliver", process=p, **{"pass": self.passing[p]}, **self.txn(t))

    def catch_up(self) -> None:
        p = self.process()
        for t in self.known:
            if not self.astray(self.disorder / 2):
                self.deliver(p, t)

    def accept(self) -> None:
        if self.known:
            t = self.random.choice([self.known[0], *self.known])
            epoch = t["epoch"] + self.astray(0.2)
            for p in range(self.nodes) if self.astray(0.6) else [self.process()]:
                self.note("accept", process=p, primary_epoch=epoch, **self.txn(t))

    def establish(self) -> None:
        initial = [t for t in self.known if not self.astray(self.disorder)]
        if self.astray(self.disorder):
            self.random.shuffle(initial)
        self.note("establish", primary_epoch=self.epoch + self.random.randrange(2))
        for t in initial:
            self.note("initial", **self.txn(t))

    def crash(self) -> None:
        p = self.process()
        if self.astray(0.7):
            self.note("crash", process=p)
            self.note("recover", process=p)
        self.passing[p] += 1

    def revise(self) -> None:
        p = self.process()
        had = self.delivered(p)
        if had and self.astray(self.disorder):
            had.pop(self.random.randrange(len(had)))
        self.note("revise", process=p, **{"pass": self.passing[p]})
        for t in had:
            self.note("entry", process=p, **t)

    def made(self) -> list[Row]:
        source = self.random
        steps = (self.abcast, self.deliver, self.catch_up, self.accept, self.establish, self.crash, self.revise)
        self.abcast()
        for step in source.choices(steps, (4, 4, 3, 2, 1, 1, 0.5), k=source.randint(1, 14)):
            step()
        if self.astray(0.3):
            for name in source.sample(("identity", "digest", "time"), source.randint(1, 2)):
                for row in self.rows:
                    row[name] = None
        if self.astray(0.6):
            for _ in range(source.choice((1, 1, 2, 3))):
                self.forget()
        return self.rows

    def forget(self) -> None:
        """A column of a row, or of every row of its kind, says nothing."""
        row = self.random.choice(self.rows)
        if row["kind"] in NULLED:
            column = self.random.choice(NULLED[row["kind"]])
            for r in self.rows if self.astray(0.15) else [row]:
                if r["kind"] == row["kind"]:
                    r[column] = None


def rows_of(made: Sequence[Row], run: int = 0) -> Rows:
    rows = Rows(run, 1)
    for name, column in rows.columns.items():
        column[:] = [run if name == "run" else r[name] for r in made]
    return rows


def decided(words: set[str]) -> bool:
    return words == {"violated"} or "violated" not in words


def judged_so_far() -> list[tuple[int, list[Row], dict[str, set[str]]]]:
    """So many tables, with what the definitions say; those that can be completed in too many ways are left out."""
    out: list[tuple[int, list[Row], dict[str, set[str]]]] = []
    for seed in count():
        if len(out) == TABLES:
            break
        made = Made(seed).made()
        words = judged_by_definition(made)
        if words is not None:
            out.append((seed, made, words))
    return out


@pytest.fixture(scope="module")
def tables() -> list[tuple[int, list[Row], dict[str, set[str]]]]:
    return judged_so_far()


@pytest.mark.slow(seconds=3)
def test_random_tables_are_judged_by_the_definitions(
    tables: Sequence[tuple[int, list[Row], dict[str, set[str]]]], tmp_path: Path
) -> None:
    seen: Counter[tuple[str, str]] = Counter()
    needless: Counter[str] = Counter()
    total = None
    for seed, made, words in tables:
        tally = judge_rows(rows_of(made), OBSERVED)
        for name, said in verdicts_of(tally).items():
            if name not in words:
                assert said == "not judged", (seed, name)
                continue
            assert not contradicts(said, words[name]), (seed, name, said, words[name])
            seen[name, said] += 1
            seen["", said] += 1
            needless[name] += said == "open" and decided(words[name])
            assert said != "undecided", (seed, name)
        total = tally.counts if total is None else total + tally.counts
    needs = sum(needless.values())
    words = ", ".join(f"{word} {seen['', word]:,}" for word in COUNTS if seen["", word])
    print(
        f"\n{len(tables):,} of {TABLES:,} tables: {words}; open where the definitions decide {needs}: {dict(+needless)}"
    )
    for name in tables[0][2]:
        assert seen[name, "violated"] >= 1 or TABLES < 200, name
        assert seen[name, "holds"] >= 1 or TABLES < 200, name
    path = written(tmp_path / "many.parquet", [rows_of(made, seed) for seed, made, _ in tables], group=2000)
    assert (judge_plainly(read_units(path), (), 2).counts == total).all()


@pytest.mark.slow(seconds=1)
def test_property_functions_judge_random_tables_by_the_definitions(
    tables: Sequence[tuple[int, list[Row], dict[str, set[str]]]],
) -> None:
    """As those of a property that no kernel judges; what a row leaves unknown that it reads is open."""
    seen: Counter[tuple[str, str]] = Counter()
    for seed, made, words in tables:
        batch = Batch(rows_of(made).as_table().select(list(IN_BATCH)), "the run")
        for p in OF_TABLES:
            if p.name in KERNEL:
                said = by_its_text(batch, 0, p).word
                assert not contradicts(said, words[p.name]), (seed, p.name, said, words[p.name])
                seen[p.name, said] += 1
    for name in KERNEL:
        assert seen[name, "holds"] + seen[name, "violated"] >= 1, name
        assert seen[name, "open"] < sum(n for (of, _), n in seen.items() if of == name) * 2 / 3, name


def by_texts(*names: str, **nulled: str) -> set[str]:
    """What texts of properties say of a run in which p0 abcasts two transactions and delivers them, and then p1 does.

    Args:
        nulled: of a kind of row the column in which none says anything.
    """
    delivered = [Deliver(p, 0, t) for p in (0, 1) for t in (T, U)]
    made = rows_of_run(History(2, (Abcast(FIRST, T), Abcast(FIRST, U), *delivered)))
    for kind, column in nulled.items():
        for k, word in enumerate(made.columns["kind"]):
            made.columns[column][k] = None if word == kind else made.columns[column][k]
    batch = Batch(made.as_table().select(list(IN_BATCH)), "the run")
    return {by_its_text(batch, 0, p).word for p in OF_TABLES if p.name in names}


def test_a_property_function_says_nothing_where_what_it_reads_is_null() -> None:
    """A delivery in no named pass, or an abcast by no named instance, is not folded as if it were of one."""
    assert by_texts("local-primary-order", "total-order") == {"holds"}
    assert by_texts("total-order", abdeliver="pass") == {"open"}
    for column in ("primary_epoch", "attempt"):
        assert by_texts("local-primary-order", abcast=column) == {"open"}


def test_abcasts_are_folded_in_the_order_of_their_numbers() -> None:
    """A transaction's number is its place among the abcasts, by which properties find it."""
    batch = Batch(
        rows_of_run(History(2, (Abcast(FIRST, T), Abcast(FIRST, U)))).as_table().select(list(IN_BATCH)), "the run"
    )
    _, first, second = rows = sentence.rows_of(batch, range(3))
    h = Observed(rows, ("identity", "epoch", "counter"))
    with pytest.raises(observed.Unknown):
        h.fold(second, ())
    h.fold(first, ())
    h.fold(second, ())
    assert h.abcasts == 2


def test_no_property_function_judges_histories_after_passes_disagree() -> None:
    """The observed history has what a process delivered in order of the first delivery, over all its passes."""
    stands = next(p for p in OF_TABLES if p.name == "delivered-stands")
    made = Made(3801).made()
    assert (judged_by_definition(made) or {})["delivered-stands"] == {"holds"}
    assert by_its_text(Batch(rows_of(made).as_table().select(list(IN_BATCH)), "the run"), 0, stands).word == "open"


def test_properties_without_a_kernel_are_judged_except_in_large_runs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made = next(m for m in (Made(seed).made() for seed in count()) if "violated" in outcome(m, "total-order"))
    fast = judge_rows(rows_of(made), OBSERVED)
    monkeypatch.delitem(KERNEL, "total-order")
    slow = judge_rows(rows_of(made), OBSERVED)
    assert (fast.counts == slow.counts).all()
    first, second = (next(v for v in t.violations if v.property == "total-order") for t in (fast, slow))
    assert (first.run, first.time) == (second.run, second.time)
    assert second.why.endswith(".")
    assert second.events
    monkeypatch.setattr(definition, "MOST_ROWS", 1)
    large = judge_rows(rows_of(made), OBSERVED)
    assert verdicts_of(large)["total-order"] == "not judged"
    assert large.notes == [
        "the run: total-order is checked by its definition, in runs of at most 1 rows: 1 are larger, and not checked"
    ]


def outcome(made: list[Row], name: str) -> str:
    """What is said of a table that leaves nothing unknown; of another nothing."""
    words = judged_by_definition(made) or {}
    return "".join(words.get(name, ())) if len(words.get(name, ())) == 1 and not unknowns(made) else ""
