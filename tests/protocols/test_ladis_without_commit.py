"""`examples/ladis_without_commit.py`: what a run does, and what a transaction costs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from benchmarks import commit_price
from checker.cli import main

TOP = Path(__file__).parents[2]
PROTOCOL = str(TOP / "examples/ladis_without_commit.py")
FIGURES = TOP / "benchmarks/results/ladis.json"


@pytest.mark.parametrize("nodes", [3, 4, 5])
@pytest.mark.parametrize("variant", ["", "acks-to-all"])
def test_a_transaction_costs_what_the_page_says(nodes: int, variant: str) -> None:
    others, majority = nodes - 1, nodes // 2 + 1
    price = commit_price.measured(nodes, variant)
    if variant:
        assert price.messages == {"PROPOSE": others, "ACK": others * others}
        assert (price.leader, price.followers) == (2, 1 if majority == 2 else 2)
    else:
        assert price.messages == {"PROPOSE": others, "ACK": others, "COMMIT": others}
        assert (price.leader, price.followers) == (2, 3)


@pytest.mark.slow(seconds=3)
def test_the_table_is_what_is_measured() -> None:
    kept = json.loads(FIGURES.read_text(encoding="utf-8"))["price"]
    assert (tuple(kept["head"]), kept["rows"]) == (commit_price.HEAD, commit_price.table())


def test_a_price_is_refused_where_somebody_does_not_deliver(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(commit_price, "APART", 24)  # the next transaction comes before the last COMMIT arrives
    with pytest.raises(ValueError, match="is delivered by"):
        commit_price.measured(3, "")


def test_without_commit_nobody_sends_one(tmp_path: Path) -> None:
    events = tmp_path / "events.jsonl"
    words = ["--takeovers", "2", "--proposals", "6", "--rounds", "400", "--variant", "acks-to-all"]
    done = CliRunner().invoke(main, ["simulate", "--protocol", PROTOCOL, *words, "--check", "--events", str(events)])
    assert done.exit_code == 0, done.output
    rows = [json.loads(line) for line in events.read_text().splitlines()]
    kinds = {row["message"]["kind"] for row in rows if row["event"] == "send"}
    assert kinds == {"NEWEPOCH", "ACK_E", "NEWLEADER", "PROPOSE", "ACK"}
    assert sum(row["event"] == "abdeliver" for row in rows) >= 6
