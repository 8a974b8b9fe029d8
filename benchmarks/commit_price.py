"""Measure the cost of a transaction with COMMIT and without, and keep the table in benchmarks/results/ladis.json.

    python -m benchmarks.commit_price

Each row is a simulated run: one takeover, a few transactions far apart, ten ticks a message, no loss.
"""

from __future__ import annotations

import json
import tempfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from click.testing import CliRunner

from benchmarks.figures import Figures
from checker.cli import main as zabcheck

PROTOCOL = Path(__file__).parents[1] / "examples/ladis_without_commit.py"
HOP, TXNS, APART = 10, 3, 100  # ticks a message takes, transactions, and about how many ticks lie between two


@dataclass(frozen=True)
class Price:
    """The cost of a transaction in one run, which is the same for all of them.

    Attributes:
        messages: the number of each kind that are sent for it.
        leader: message delays until the leader has delivered it.
        followers: message delays until all others have.
    """

    messages: Counter[str]
    leader: int
    followers: int


def measured(nodes: int, variant: str) -> Price:
    """Return the cost of a transaction in a simulated run.

    Raises:
        ValueError: its transactions do not cost the same, or a process does not deliver one.
    """
    with tempfile.TemporaryDirectory() as folder:
        events = Path(folder) / "events.jsonl"
        words = ["simulate", "--protocol", str(PROTOCOL), "--nodes", str(nodes), "--takeovers", "1"]
        words += ["--proposals", str(TXNS), "--rounds", str(APART * (TXNS + 1)), "--delay", f"{HOP}:{HOP}"]
        words += ["--events", str(events), *(["--variant", variant] if variant else [])]
        done = CliRunner().invoke(zabcheck, words)
        if done.exit_code:
            raise ValueError(done.output)
        rows = [json.loads(line) for line in events.read_text(encoding="utf-8").splitlines()]
    starts = [(k, row) for k, row in enumerate(rows) if row["event"] == "abcast"]
    prices = []
    for n, (k, abcast) in enumerate(starts):
        end = starts[n + 1][0] if n + 1 < len(starts) else len(rows)
        sent = Counter(row["message"]["kind"] for row in rows[k:end] if row["event"] == "send")
        at = {
            row["process"]: (row["tick"] - abcast["tick"]) // HOP
            for row in rows[k:end]
            if row["event"] == "abdeliver" and row["txn"] == abcast["txn"]
        }
        if len(at) < nodes:
            raise ValueError(f"{abcast['txn']} is delivered by {sorted(at)} alone")
        prices.append(Price(sent, at[abcast["process"]], max(d for p, d in at.items() if p != abcast["process"])))
    if len(prices) != TXNS or any(price != prices[0] for price in prices):
        raise ValueError(f"{nodes} processes, {variant or 'with COMMIT'}: {prices}")
    return prices[0]


HEAD = ("processes", "", "PROPOSE", "ACK", "COMMIT", "messages", "delays, leader", "delays, followers", "channels")


def table() -> list[list[str | int]]:
    """Return the rows of the table."""
    rows: list[list[str | int]] = []
    for nodes in (3, 5, 7):
        for variant in ("", "acks-to-all"):
            price = measured(nodes, variant)
            kinds = [price.messages[kind] for kind in ("PROPOSE", "ACK", "COMMIT")]
            channels = nodes * (nodes - 1) // 2 if variant else nodes - 1
            how = "without COMMIT" if variant else "with COMMIT"
            rows.append([nodes, how, *kinds, sum(kinds), price.leader, price.followers, channels])
    return rows


def main() -> None:
    """Keep the table."""
    kept = Figures("ladis", "price", HEAD)
    for row in table():
        kept.add(*row)


if __name__ == "__main__":
    main()
