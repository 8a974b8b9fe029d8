"""What is not put to the test is said to be so, by every engine that judges tables: property by property, of tables
that tell little."""

from __future__ import annotations

from typing import Any

import pytest

from checker.opinion.judged import contradicts
from tests.judge_tables import verdicts_of
from tests.judging.test_judge_definitions import Made, rows_of
from traces.events.table import OBSERVED
from traces.judging.definition import judged_by_definition as by_its_text
from traces.judging.runs import COLUMNS as IN_BATCH
from traces.judging.runs import JUDGED, KERNEL, Batch
from traces.judging.single_run import judge_rows
from zabspec.second.definitions import Row, judged_by_definition

NOT_REACHED = "premise not reached"


class Table(Made):
    """Rows, one after the other."""

    def __init__(self, nodes: int = 3) -> None:
        super().__init__(0)
        self.nodes, self.quick, self.rows, self.now = nodes, 1.0, [], 0
        self.note("run", index=nodes)

    def sends(self, p: int, epoch: int, counter: int) -> Table:
        self.note("abcast", process=p, primary_epoch=epoch, attempt=0, **zxid(epoch, counter))
        return self

    def delivers(self, p: int, epoch: int, counter: int) -> Table:
        self.note("abdeliver", process=p, **{"pass": 0}, **zxid(epoch, counter))
        return self

    def accepted(self, epoch: int, counter: int) -> Table:
        for p in range(self.nodes):
            self.note("accept", process=p, primary_epoch=epoch, **zxid(epoch, counter))
        return self

    def established(self, epoch: int) -> Table:
        self.note("establish", primary_epoch=epoch)
        return self


def zxid(epoch: int, counter: int) -> dict[str, Any]:
    return {"epoch": epoch, "counter": counter, "identity": 10 * epoch + counter, "digest": 0}


TABLES: dict[str, tuple[Table, set[str]]] = {
    "empty": (Table(), set()),
    "only deliveries": (Table().delivers(0, 1, 1).delivers(0, 2, 1).delivers(1, 1, 1), {"agreement"}),
    "only deliveries, two by two": (
        Table().delivers(0, 1, 1).delivers(0, 2, 1).delivers(1, 1, 1).delivers(1, 2, 1), {"total-order", "agreement"},
    ),
    "only broadcasts": (Table().sends(0, 1, 1).sends(0, 1, 2).sends(1, 2, 1), {"one-primary-an-epoch", "unique-zxid"}),
    "one broadcast": (Table().sends(0, 1, 1), {"one-primary-an-epoch"}),
    "one broadcast, others delivered": (
        Table().sends(0, 2, 1).delivers(0, 1, 1).delivers(0, 1, 2).delivers(0, 2, 1),
        {"one-primary-an-epoch"},
    ),
    "broadcast in two epochs, others delivered": (
        Table().sends(0, 1, 1).sends(1, 3, 1).delivers(2, 1, 7).delivers(2, 2, 1).delivers(2, 4, 1),
        {"one-primary-an-epoch"},
    ),
    "the second delivered, another before it": (
        Table().sends(0, 1, 1).sends(0, 1, 2).delivers(1, 1, 9).delivers(1, 1, 2),
        {"one-primary-an-epoch", "unique-zxid"},
    ),
    "one process": (
        Table(1).sends(0, 1, 1).accepted(1, 1).delivers(0, 1, 1).sends(0, 2, 1).accepted(2, 1).delivers(0, 2, 1),
        {"integrity", "global-primary-order", "primary-integrity", "po-causal-order", "strict-causality",
         "causal-order", "one-primary-an-epoch", "delivered-is-chosen"},
    ),
    "one transaction": (
        Table().sends(0, 1, 1).accepted(1, 1).delivers(0, 1, 1).delivers(1, 1, 1).delivers(2, 1, 1),
        {"integrity", "one-primary-an-epoch", "delivered-is-chosen"},
    ),
    "only leaders": (Table().established(1).established(2), {"one-leader-an-epoch"}),
    "only acceptances": (Table().accepted(1, 1), set()),
    "two of one process in two epochs": (
        Table().sends(0, 1, 1).sends(0, 2, 1).delivers(1, 1, 1).delivers(1, 2, 1),
        {"integrity", "global-primary-order", "causal-order", "one-primary-an-epoch"},
    ),
}  # fmt: skip


def by_definition(rows: list[Row]) -> dict[str, str]:
    """What the second judge says of rows that leave nothing unknown."""
    words = judged_by_definition(rows)
    assert words is not None
    return {name: "".join(said) for name, said in words.items()}


def by_the_texts(rows: list[Row]) -> dict[str, str]:
    batch = Batch(rows_of(rows).as_table().select(list(IN_BATCH)), "the run")
    return {p.name: by_its_text(batch, 0, p).word for p in JUDGED if p.name in KERNEL}


def by_the_kernel(rows: list[Row]) -> dict[str, str]:
    return verdicts_of(judge_rows(rows_of(rows), OBSERVED))


def left_open(rows: list[Row]) -> list[Row]:
    """The rows with another broadcast that leaves open whose it is: what depends on it is open."""
    more = dict.fromkeys(rows[0]) | {"run": 0, "kind": "abcast", "primary_epoch": 9, "attempt": 0, "time": 99}
    return [*rows, more | zxid(9, 1)]


@pytest.mark.parametrize("name", TABLES)
def test_a_property_whose_premise_is_not_reached_is_not_said_to_be_held(name: str) -> None:
    """Causal order, primary integrity, global primary order and strict causality were held of transactions that nobody
    broadcast, and delivered transactions were chosen that nobody had."""
    table, held = TABLES[name]
    wanted = by_definition(table.rows)
    assert {p for p, word in wanted.items() if word == "holds"} == held
    for judge in (by_the_texts, by_the_kernel):
        said = judge(table.rows)
        assert {p: said[p] for p in wanted} == wanted, judge.__name__


@pytest.mark.parametrize("name", TABLES)
def test_a_partial_run_reaches_the_premises_of_every_completion(name: str) -> None:
    rows = left_open(TABLES[name][0].rows)
    words = judged_by_definition(rows)
    assert words is not None
    said = by_the_kernel(rows)
    for p, of in words.items():
        assert not contradicts(said[p], of), (p, said[p], of)
        assert said[p] in of or said[p] == "open", (p, said[p], of)
