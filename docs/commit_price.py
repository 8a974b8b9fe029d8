"""Measure the cost of a transaction with COMMIT and without, and write the table of benchmarks/results/ladis.md.

    python docs/commit_price.py

Each row is a simulated run: one takeover, a few transactions far apart, ten ticks a message, no loss.
"""

from __future__ import annotations

import json
import re
import tempfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from click.testing import CliRunner

from checker.cli import main as zabcheck

DOCS = Path(__file__).parent
PAGE = DOCS.parent / "benchmarks/results/ladis.md"
PROTOCOL = DOCS.parent / "examples/ladis_without_commit.py"
TABLE = re.compile(r"(<!-- table: price -->\n)(.*?)(<!-- end of price -->)", re.DOTALL)
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


def table() -> str:
    """Return the rows."""
    head = ("processes", "", "PROPOSE", "ACK", "COMMIT", "messages", "delays, leader", "delays, followers", "channels")
    lines = [head, ["---"] * len(head)]
    for nodes in (3, 5, 7):
        for variant in ("", "acks-to-all"):
            price = measured(nodes, variant)
            kinds = [price.messages[kind] for kind in ("PROPOSE", "ACK", "COMMIT")]
            channels = nodes * (nodes - 1) // 2 if variant else nodes - 1
            how = "without COMMIT" if variant else "with COMMIT"
            lines.append((nodes, how, *kinds, sum(kinds), price.leader, price.followers, channels))
    return "".join(f"| {' | '.join(map(str, cells))} |\n" for cells in lines)


def main() -> None:
    """Write the table."""
    text = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(TABLE.sub(lambda found: found[1] + table() + found[3], text), encoding="utf-8")


if __name__ == "__main__":
    main()
