"""Rerun some of the runs that violated nothing, and compare them with their rows."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from traces.shorten.realise import command_line
from traces.sweep.block import block_table, properties_of
from traces.sweep.checksum import CheckedBlock, held, read_table
from traces.sweep.findings import NotRepeated
from traces.sweep.store import Store
from zabspec.limits import Deadline

MOST = 300  # runs: were one row in a hundred wrong, this would be missed once in twenty times
SECONDS = 10.0  # after which fewer must do
CONFIDENCE = 0.95


@dataclass(frozen=True)
class SpotCheck:
    """The result of rerunning some runs without violations, each of which agreed with its row.

    Attributes:
        runs: the number of runs that were rerun.
        of: the number of such runs in the table.
    """

    runs: int
    of: int

    @property
    def share(self) -> float:
        """Return the share of wrong rows above which one would have been found with probability `CONFIDENCE`."""
        if self.runs == self.of:
            return 0.0
        return 1.0 - float((1.0 - CONFIDENCE) ** (1.0 / self.runs))

    @property
    def sentence(self) -> str:
        """Return the result in a sentence; empty if there was nothing to rerun."""
        if not self.of:
            return ""
        did = f"{self.runs:,} of {self.of:,} runs without a violation were repeated and agree with their rows"
        if self.runs == self.of:
            return f"{did}."
        return (
            f"{did}; if more than {100 * self.share:.2g} % of those rows were wrong, this would have shown it with "
            f"probability {100 * CONFIDENCE:.0f} %."
        )


def run_again(store: Store, kept: Mapping[int, CheckedBlock], most: int = MOST, seconds: float = SECONDS) -> SpotCheck:
    """Rerun some random runs that violated nothing, chosen afresh each time.

    Args:
        kept: the finished blocks.
        most: the most runs.
        seconds: when to stop; one is rerun however long it takes.

    Raises:
        NotRepeated: one does not agree with its row.
    """
    source = random.SystemRandom()
    of = sum(sealed.held for sealed in kept.values())
    rows = rows_at(store, kept, source.sample(range(of), min(most, of)))
    source.shuffle(rows)
    until = Deadline(seconds)
    runs = 0
    for row in rows:
        if runs and until.over():
            break
        again = block_table(store.question, [row["number"]]).to_pylist()[0]
        if again != row:
            wrong = next(name for name in row if row[name] != again[name])
            raise NotRepeated(
                f"the table is not to be trusted: run {row['number']} was repeated, and its {wrong} is "
                f"{again[wrong]}, not {row[wrong]}; {command_line(store.question.run(row['number']))}"
            )
        runs += 1
    return SpotCheck(runs, of)


def rows_at(store: Store, kept: Mapping[int, CheckedBlock], places: list[int]) -> list[dict[str, Any]]:
    """Return the rows at some places among those of runs that violated nothing, block after block."""
    out: list[dict[str, Any]] = []
    properties = properties_of(store.question)
    wanted, start = sorted(places, reverse=True), 0
    for block in sorted(kept):
        end = start + kept[block].held
        here = []
        while wanted and wanted[-1] < end:
            here.append(wanted.pop() - start)
        if here:
            table = read_table(store.part(block))
            out += table.filter(held(table, properties)).take(here).to_pylist()
        start = end
    return out
