"""Definition III.1 over tables: as the naive judge has it, only where named, and beside the other causal orders."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from checker.errors import RequestError
from checker.opinion.judged import contradicts
from checker.tables.requests.judge import JudgeRequest
from tests.histories import Synthetic
from tests.judge_tables import rows_of as rows_of_history
from tests.judge_tables import verdicts_of, written
from tests.judging.test_judge_definitions import Made, rows_of
from tests.small_tables import small_table
from traces.events.table import OBSERVED
from traces.judging.single_run import judge_rows
from zabspec.second.definitions import OF_HISTORIES, judged_by_definition, unknowns

NAME = "dsn-causal-order"
OTHERS = ("po-causal-order", "causal-order", "strict-causality")
BY = {name: OF_HISTORIES[name] for name in (NAME, *OTHERS)}


@pytest.mark.slow(seconds=3)
def test_hundreds_of_small_tables_are_judged_as_naively() -> None:
    seen: Counter[str] = Counter()
    beside: Counter[tuple[str, str]] = Counter()
    for seed in range(600):
        made = small_table(seed)
        words = judged_by_definition(made, by=BY)
        said = verdicts_of(judge_rows(rows_of(made), OBSERVED, (NAME,)))[NAME]
        assert words is not None
        assert words[NAME] == {said}, (seed, made)
        seen[said] += 1
        beside.update((name, f"{''.join(words[name])}, {said}") for name in OTHERS)
    assert min(seen[word] for word in ("holds", "violated", "premise not reached")) > 50, seen
    # what PO-precedes happens before: causal order without PO causal order there is not
    assert not beside["po-causal-order", "violated, holds"]
    assert not beside["po-causal-order", "violated, premise not reached"]
    assert beside["po-causal-order", "holds, violated"] > 5, beside
    for name in ("causal-order", "strict-causality"):
        assert min(beside[name, "violated, holds"], beside[name, "holds, violated"]) > 5, beside


def test_orderly_tables_are_judged_as_naively() -> None:
    """With accepted proposals, established leaders, passes and crashes, as the judge of tables is tried elsewhere."""
    seen: Counter[str] = Counter()
    for seed in range(300):
        made = Made(seed).made()
        sent = [tuple(Made.txn(r).values()) for r in made if r["kind"] == "abcast"]
        if unknowns(made) or len(set(sent)) < len(sent):
            continue
        words = judged_by_definition(made, by=BY)
        said = verdicts_of(judge_rows(rows_of(made), OBSERVED, (NAME,)))[NAME]
        assert words is not None
        if said not in ("undecided", "open"):  # a primary's epoch is not that of its zxid: the text judges no such run
            assert words[NAME] == {said}, (seed, made)
        seen[said] += 1
    assert min(seen[word] for word in ("holds", "violated", "premise not reached")) > 10, seen
    assert seen["undecided"] + seen["open"] < sum(seen.values()) / 4, seen


@pytest.mark.slow(seconds=2)
def test_what_a_row_leaves_unknown_is_never_held_or_violated() -> None:
    seen: Counter[str] = Counter()
    for seed in range(150):
        made = Made(seed).made()
        words = judged_by_definition(made, by=BY)
        if words is None or not unknowns(made):
            continue
        said = verdicts_of(judge_rows(rows_of(made), OBSERVED, (NAME,)))[NAME]
        assert not contradicts(said, words[NAME]), (seed, said, words[NAME])
        seen[said] += 1
    assert seen["open"] > 20, seen


def leads_again() -> Synthetic:
    """Figure 3 by hand: what p0 broadcast first nobody delivers, and what it broadcasts later both do."""
    s = Synthetic.of()
    s.abcast(0, 1)
    b = s.abcast(1, 2)
    s.deliver(1, b)
    s.end_pass(0)
    s.deliver(0, b)
    c = s.abcast(0, 3)
    s.deliver(0, c)
    s.deliver(1, c)
    return s


def independent() -> Synthetic:
    """Figure 4 by hand: two transactions that know nothing of each other, and both delivered."""
    s = Synthetic.of()
    a, b = s.abcast(0, 1), s.abcast(1, 2)
    s.deliver(0, a, b)
    s.deliver(1, a, b)
    return s


def verdicts(s: Synthetic) -> tuple[str, ...]:
    found = verdicts_of(judge_rows(rows_of_history(s.history), OBSERVED, tuple(BY)))
    return tuple(found[name] for name in BY)


def test_figures_3_and_4_by_hand() -> None:
    assert verdicts(leads_again()) == ("violated", "holds", "holds", "holds")
    assert verdicts(independent()) == ("premise not reached", "premise not reached", "holds", "violated")


def test_the_sentence_says_who_delivered_what_without_what(tmp_path: Path) -> None:
    path = written(tmp_path / "t.parquet", [rows_of_history(leads_again().history)])
    found = JudgeRequest(str(path), properties=(NAME,)).answer()
    assert found.exit_code == 1
    said = "t1 <1,1> happens before t3 <3,1> (p0 broadcast it earlier), but p0 delivered t3 <3,1> without t1 <1,1>."
    assert [(v.property, v.why) for v in found.totals.violations] == [(NAME, said)]


def test_a_table_is_judged_by_it_only_where_it_is_named(tmp_path: Path) -> None:
    path = written(tmp_path / "t.parquet", [rows_of_history(leads_again().history)])
    found = JudgeRequest(str(path)).answer()
    assert NAME not in found.judged
    report = found.as_json()
    assert NAME in report.pop("not_checked")
    assert NAME not in json.dumps(report)
    assert NAME not in {v.property for v in found.totals.violations}
    with pytest.raises(RequestError, match="did you mean dsn-causal-order"):
        JudgeRequest(str(path), properties=("dsn-causal-ordr",)).answer()
