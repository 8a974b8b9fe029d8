"""Count the synchronizations of a run by kind: what a leader sent to a learner, and how much of it arrived."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from traces.record.trace import Step
from zabspec.protocols.zookeeper.state import FOLLOWING, SYNCING

KINDS = ("DIFF", "DIFF + txns", "TRUNC", "TRUNC + txns", "SNAP", "SNAP + txns")
FIRST = ("DIFF", "TRUNC", "SNAP")


@dataclass
class Sync:
    """One synchronization of a learner with its leader.

    Attributes:
        learner: the number of the learner.
        first: DIFF, TRUNC or SNAP.
        transactions: the number of proposals that follow it, and of INFORM, before NEWLEADER.
        received: whether NEWLEADER was received, so that the learner has all of it.
        acknowledged: whether it was acknowledged, so that it is on the learner's disk.
    """

    learner: int
    first: str
    transactions: int = 0
    received: bool = False
    acknowledged: bool = False

    @property
    def kind(self) -> str:
        return f"{self.first} + txns" if self.transactions else self.first


def syncs_of(steps: Sequence[Step]) -> list[Sync]:
    """Return the synchronizations whose first packet the learner has received, in order."""
    out: list[Sync] = []
    now: dict[int, Sync] = {}
    for step in steps:
        p = step.process
        if p is not None and step.message is not None and step.word.kind == "to_follower":
            kind = step.message.kind
            if kind in FIRST:
                now[p] = Sync(p, kind)
                out.append(now[p])
            elif p in now and kind in ("PROPOSAL", "INFORM") and step.state["phase"][p] == SYNCING:
                now[p].transactions += 1
            elif p in now and kind == "NEWLEADER":
                now[p].received = True
        elif p in now and step.label == "acknowledge NEWLEADER":
            now.pop(p).acknowledged = True
        for q in [q for q in now if step.state["role"][q] != FOLLOWING]:
            del now[q]
    return out
