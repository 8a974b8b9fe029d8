"""Define the stable phase of each world: its rules, and the one definition of fairness.

docs/explanation/liveness.md, "Fairness", states the definition.

A run of the stable phase is fair if no obligation is enabled for ever from some moment on, and never met after it.
The obligations are the classes of `Fair`: a class is enabled in a state in which one of its steps is possible, or due,
and met by a step of it. Where `each` says so, each message is a class of its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import ModuleType

from zabspec.live import connections, datagrams
from zabspec.worlds.steps import (
    CONNECTIONS,
    DATAGRAMS,
    ELECTION_TIMEOUT,
    FOLLOWER_LEARNS,
    HEARTBEAT,
    LEADER_LEARNS,
    ORACLE,
    RECEIVE,
    TIMEOUT,
    TO_FOLLOWER,
    TO_LEADER,
)


@dataclass(frozen=True)
class Fair:
    """Steps with the same kind of fairness.

    Attributes:
        name: their name.
        kinds: their kinds of step.
        pairs: whether there is a class for each process and its peer; if not, for each process.
        receives: whether they are receipts.
        each: whether each message that may be received is a class of its own: where messages overtake each other,
            receiving something of a channel is not enough. Messages with equal content are one.
        said: the words for what does not happen for ever where a class of them is unfair, with the process p and its
            peer q.
    """

    name: str
    kinds: tuple[int, ...]
    said: str
    pairs: bool = False
    receives: bool = False
    each: bool = False


@dataclass(frozen=True)
class StableWorld:
    """The stable phase of a world.

    Attributes:
        rules: the module with the functions that say what may happen in it.
        names_one: whether the oracle names a process, in user protocols.
        gives_up: the kind of step by which a process gives up.
        fair: its fair steps. Receipts come last.
        assumed: the assumptions about its protocols, one sentence each.
        unfair: networks that are refused, because no fairness is assumed there that would be enough.
    """

    rules: ModuleType
    names_one: bool
    gives_up: int
    fair: tuple[Fair, ...]
    assumed: tuple[str, ...] = ()
    unfair: tuple[str, ...] = ()

    def receipts(self, nodes: int) -> int:
        """Return the number of the first class of receipts; all later ones but actions are of receipts."""
        return sum(nodes * nodes if f.pairs else nodes for f in self.fair if not f.receives)


OWN = "{p} gets an answer from its oracle, or gives up"

OVER_CONNECTIONS = StableWorld(
    connections,
    names_one=True,
    gives_up=TIMEOUT,
    fair=(
        Fair("own", (ORACLE, TIMEOUT), OWN),
        Fair(
            "follower_end", (TO_FOLLOWER, FOLLOWER_LEARNS),
            "{p} receives from its leader, or learns that the connection is lost", receives=True,
        ),
        Fair(
            "leader_end", (TO_LEADER, LEADER_LEARNS),
            "{p} receives from {q}, or learns that the connection is lost", pairs=True, receives=True,
        ),
    ),
    assumed=(
        "the oracle names one process that is up, and keeps naming it",
        "a process that follows another leader, or over a dead connection, eventually gives up; no other process does",
        "eventually (weakly fair): each process gets an answer from its oracle; each end of each connection receives "
        "what was sent, or learns of a loss",
    ),
    unfair=("unordered", "stale"),  # one message is overtaken for ever; one arrives long after its connection
)  # fmt: skip

OVER_DATAGRAMS = StableWorld(
    datagrams,
    names_one=False,
    gives_up=ELECTION_TIMEOUT,
    fair=(
        Fair("own", (ELECTION_TIMEOUT,), OWN),
        Fair("heartbeat", (HEARTBEAT,), "{p} sends a heartbeat"),
        Fair("channel", (RECEIVE,), "{p} receives from {q}", pairs=True, receives=True, each=True),
    ),
)

IN_WORLDS: dict[str, StableWorld] = {CONNECTIONS: OVER_CONNECTIONS, DATAGRAMS: OVER_DATAGRAMS}
