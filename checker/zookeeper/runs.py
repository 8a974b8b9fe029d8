"""Runs of the track record as they are played on real servers (docs/reenact.md): the schedule of each in the text of a
release without any repair, with what a server does by itself where it does it.
"""

from __future__ import annotations

from dataclasses import dataclass

from traces import Trace, build_trace
from traces.record.trace import StepWord
from zabspec.model import Configuration, Model

__all__ = ["RUNS", "Recorded", "trace_of_row"]


@dataclass(frozen=True)
class Recorded:
    """A run.

    Attributes:
        release: whose text has it, and whose servers showed it.
        crashes, losses, partitions, elections, proposals, write_errors: how much it needs of each.
        words: its steps.
    """

    release: str
    crashes: int
    losses: int
    partitions: int
    elections: int
    proposals: int
    write_errors: int
    words: str


# The actions as the words number them: which number one has may change with the text.
ACTIONS = (
    "propose", "sync thread", "log write fails", "sync thread of an earlier term", "commit thread",
    "write own currentEpoch", "startZkServer", "snapshot at NEWLEADER", "persist at NEWLEADER", "write currentEpoch",
    "acknowledge NEWLEADER",
)  # fmt: skip

# fmt: off
RUNS = {
    "4643": Recorded(
        "3.9.1", 2, 1, 0, 2, 0, 0,
        "3010000 14010001 2000100 14000001 14000004 8000000 5020000 5010000 1b010004 2010200 3020100 2010200 3020100 "
        "3020100 3020100 3020100 14020009 9000000 8020000 9020000 1b020001 2020000 3000200 2020000 14020005 3000200 "
        "3000200 14000007 14000009 14000008 1400000a 2020000 14020006",
    ),
    "4646": Recorded(
        "3.9.1", 2, 1, 0, 2, 0, 0,
        "14000001 8000000 5010000 9000000 1b000002 2000100 3010000 2000100 3010000 3010000 3010000 3010000 14010009 "
        "14010008 1401000a 2000100 14000005 14000006 8000000 5010000 5020000 1b010004 2010200 3020100 2010200 3020100 "
        "3020100 14020009 14020008 14010005 1402000a 2010200 14010006",
    ),
    "3911": Recorded(
        "3.6.0", 2, 1, 0, 2, 0, 0,
        "14000001 8000000 5010000 9000000 1b000002 2000100 3010000 2000100 3010000 3010000 3010000 3010000 14010009 "
        "14010008 1401000a 2000100 14000005 14000006 8000000 5020000 5010000 1b010004 2010200 3020100 2010200 3020100 "
        "3020100 14020009 14020008 14010005 1402000a 2010200 14010006",
    ),
    "4394": Recorded(
        "3.9.2", 1, 1, 0, 2, 0, 0,
        "8010000 4000100 9010000 1c010000 2000100 3010000 2000100 3010000 3010000 3010000 14010008 14010009 3020000 "
        "14020001 14000001 1401000a 2000200 3010000",
    ),
    "4712": Recorded(
        "3.9.2", 2, 0, 0, 1, 1, 0,
        "3010000 14010001 2000100 14000001 14000000 14000001 3020000 3020000 8000000 14020004 5020000 9000000 "
        "1b000004 5010000 1c010000 2000100 2000200 3020000 2000200 3020000 3020000 3020000 3020000 14020008 8020000 "
        "14000005 4000200 9020000 1c020000 2000200 3020000 2000200 3020000 3020000 14020008 14020009 1402000a 2000200 "
        "14000006 3020000",
    ),
    "4925": Recorded(
        "3.9.3", 1, 0, 1, 2, 1, 0,
        "14000001 8000000 9000000 5010000 1b000002 2000100 3010000 2000100 3010000 3010000 3010000 3010000 14010008 "
        "14010009 1401000a 5020000 b020000 5010000 1b010004 2010200 3020100 2010200 3020100 3020100 14020008 14020009 "
        "1402000a 14010005 2010200 14010006 14010000 3020100 3020100 14020001 14010001 2010200 3020100 14020004",
    ),
    "2355": Recorded(
        "3.5.3", 0, 2, 0, 2, 1, 0,
        "a010000 14000000 4000100 3020000 14020001 2000200 5010000 1c010000 14000001 2000100 14000004 3010000 2000100 "
        "3010000 a010000 5010000 4000100 1c010000 2000100 3010000 2000100 3010000 3010000 3010000 14010009 14010008 "
        "1401000a 2000100 3010000 14000001 14010001 2000100 3010000 14010004",
    ),
    "2845": Recorded(
        "3.5.3", 1, 0, 1, 1, 1, 0,
        "3010000 14010001 b060000 5010000 5020000 1b020002 2020100 3010200 2020100 3010200 3010200 14010009 14010008 "
        "1401000a 2020100 14020005 14020006 14020000 3010200 3010200 14010001 2000100 2020100 14000001 14020001 "
        "14020004 14000004",
    ),
    "4837": Recorded(
        "3.9.5", 0, 1, 1, 2, 1, 0,
        "b060000 4000100 5020000 4000200 1b000004 a020000 5020000 5010000 1b010004 2010200 4000200 3020100 1c000100 "
        "2010200 2010000 3000100 2010000 3000100 3000100 14000007 14000008 14000009 1400000a 2010000 14010005 "
        "14010006 3000100 14010000 3000100 14000001 2010000 14010001 14010004",
    ),
    "2354": Recorded(
        "3.9.5", 1, 0, 1, 1, 1, 0,
        "b060000 5010000 5020000 1b010004 2010200 3020100 2010200 3020100 3020100 14020008 14020009 1402000a 2010200 "
        "14010005 4000200 4000100 14010006 3020100 1c000100 14010000 2010000 3020100 14020001 2010200 14010001 "
        "14010004 3000100 2010000 3000100 3000100 14000007 8000000 9000000",
    ),
    "4882": Recorded(
        "3.9.3", 1, 0, 0, 1, 1, 1,
        "3010000 14010001 14000000 2000100 3020000 14020001 2000200 14000004 14000002 5010000 3020000 5020000 "
        "1b020002 1c000200 2020100 2020000 3000200 2020000 3000200 3000200 3000200 3000200 14000008 8000000 14020005 "
        "4020000 9000000 1c000200 2020000 3000200 2020000 3000200 3000200 14000008 14000009 1400000a 2020000 14020006 "
        "3000200",
    ),
    "trunc": Recorded(
        "3.9.5", 2, 0, 0, 2, 0, 0,
        "3010000 14010001 8010000 2000100 4000100 9010000 1c010000 2000100 3010000 2000100 14000001 14000004 3010000 "
        "8000000 5010000 5020000 1b010004 2010200 3020100 2010200 3020100 3020100 14020008 14020009 14010005 1402000a "
        "2010200 14010006",
    ),
}
# fmt: on


def trace_of_row(issue: str) -> Trace:
    """The run of a row, as a trace.

    Raises:
        TraceError: the text has it no more.
    """
    from checker.zookeeper.releases import variant_of

    r = RUNS[issue]
    c = Configuration(
        "zookeeper",
        variant_of("zookeeper", r.release),
        start="established",
        timeouts=0,
        crashes=r.crashes,
        losses=r.losses,
        partitions=r.partitions,
        budgets=f"elections={r.elections},proposals={r.proposals},write_errors={r.write_errors}",
    )
    model = Model(c)
    return build_trace(model, None, [renumbered(int(word, 16), model) for word in r.words.split()])


def renumbered(word: int, model: Model) -> int:
    """A step word with the number that its action has in a model."""
    parts = StepWord.of(word)
    if parts.kind != "action":
        return word
    which = list(model.program.actions).index(ACTIONS[parts.operands["which"]])
    return StepWord(parts.kind, {**parts.operands, "which": which}, parts.choice).word
