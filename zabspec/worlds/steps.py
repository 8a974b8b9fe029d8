"""List the kinds of step, and the budgets that they spend, one row each.

All else that names a kind follows from its row: the constants that worlds read, the names of a step word's operands,
the name of a step and its text, the handler that the simulator's script runs for it, the options of commands. A step is
one word: kind, then three operands a, b, c of a byte each (`worlds/step_annotations.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

# The worlds, as a row names them.
CONNECTIONS, DATAGRAMS = "connections", "datagrams"
BOTH = (CONNECTIONS, DATAGRAMS)

# The operands that are processes. Of the others, a `place` is one among the messages in flight, a `point` one inside a
# handler, a `side` a set of processes as a mask without process 0, a `quorum` one of those who elect with the leader,
# `kept` a number of writes, `inside` the number of the kind of step that breaks off, and `which` the place, the timer
# or the number of the step that it is.
PROCESSES = frozenset({"process", "leader", "follower", "source"})
MASKS = frozenset({"side", "quorum"})


@dataclass(frozen=True)
class StepKind:
    """A kind of step.

    Attributes:
        number: its number in a step word; it is unique and never changes.
        name: its name in a trace.
        operands: the names of a, b, c, empty where one has no meaning; a is the process that takes the step, if a
            process does.
        called: the name of such a step in text, where the paper's steps have none.
        worlds: the worlds that have it.
        spends: the budget that one of it costs; empty if it is free.
        runs: the handler that it begins with; empty if it runs none.
        given: the operands that this handler is called with, and then `timer`, if one fires.
        message: where its message lies: `to_leader`, `to_follower`, `in_flight`; empty if there is none.
        keeps: whether a copy of that message stays.
        loses: whether that message is lost.
        by: what takes it where no process does: `network`, `environment`; empty if a process does.
        said: the words for a step of it where there is no message, its operands in braces, `label` the name it has in
            its trace and `more` what that says besides `called`; if empty, who takes it, and the label.
        inside: the kind of step inside which its process fails, of a kind that has no operand for that.
        refused: why the simulator's script could not have it taken.
    """

    number: int
    name: str
    operands: tuple[str, ...]
    called: str
    worlds: tuple[str, ...]
    spends: str = ""
    runs: str = ""
    given: tuple[str, ...] = ("process",)
    timer: int | None = None
    message: str = ""
    keeps: bool = False
    loses: bool = False
    by: str = ""
    said: str = ""
    inside: str = ""
    refused: str = "nothing happened"

    @property
    def names(self) -> tuple[str, ...]:
        """Return the operands that are in use."""
        return tuple(name for name in self.operands if name)

    @property
    def receives(self) -> bool:
        """Return whether a message is received normally: the step is then named after what its handler does."""
        return bool(self.message) and not self.keeps and not self.loses and not self.spends

    @property
    def has_peer(self) -> bool:
        """Return whether operand b is a process at the other end."""
        return len(self.operands) > 1 and self.operands[1] in PROCESSES

    @property
    def breaks_off(self) -> bool:
        """Return whether a step of this kind is one of another kind within which its process fails."""
        return bool(self.inside) or "inside" in self.operands

    def of_broken(self, process: int, which: int) -> dict[str, int]:
        """Return the operands of a step of this kind, from the process and number in the step that breaks it off.

        The process at the other end is encoded in the number (`worlds/crash_within.py`), except for a datagram, which
        names its sender.
        """
        first, second, third = (*self.operands, "", "")[:3]
        out = {first: process}
        if self.has_peer and self.message != "in_flight":
            out[second], which = which // PLACES, which % PLACES
        return {**out, **({third: which} if third else {})}


KINDS: dict[str, StepKind] = {}
PLACES = 32  # places in a channel that a step can be at which is broken off, and has another process at its other end
MOST_KINDS = 63  # worlds test for a kind with a mask, and an exploration counts steps by kind


def row(k: StepKind) -> int:
    """Enter a row; return its number."""
    assert k.name not in KINDS
    assert 0 < k.number < MOST_KINDS
    assert k.number not in {other.number for other in KINDS.values()}
    KINDS[k.name] = k
    return k.number


# fmt: off
OF_ONE, UP, DOWN = ("process",), ("leader", "follower", "place"), ("follower", "leader", "place")
ARRIVED = "the message arrived, and the process did not take it (not in turn, or down)"
CLOSED = "the notice arrived at an end that is closed"
UNARMED = "the timer is not armed"
ELECTING = "{process}: {label}, of {leader} by {quorum}"

ORACLE = row(StepKind(
    1, "oracle", ("process", "leader"), "oracle", (CONNECTIONS,), runs="on_oracle", given=("process", "leader"),
    said="{process}: oracle names {leader}{more}", refused="the process did not ask its oracle",
))
TO_LEADER = row(StepKind(
    2, "to_leader", UP, "receive", (CONNECTIONS,), runs="receive_as_leader", given=("leader", "follower"),
    message="to_leader", refused=ARRIVED,
))
TO_FOLLOWER = row(StepKind(
    3, "to_follower", DOWN, "receive", (CONNECTIONS,), runs="receive_as_follower", given=("follower",),
    message="to_follower", refused=ARRIVED,
))
LEADER_LEARNS = row(StepKind(
    4, "leader_learns", ("leader", "follower"), "learn of loss", (CONNECTIONS,), runs="on_follower_lost",
    given=("leader", "follower"), said="{leader}: learns that the connection of {follower} is lost", refused=CLOSED,
))
FOLLOWER_LEARNS = row(StepKind(
    5, "follower_learns", ("follower", "leader"), "learn of loss", (CONNECTIONS,), runs="on_leader_lost",
    given=("follower",), said="{follower}: learns that its connection to {leader} is lost", refused=CLOSED,
))
ABCAST = row(StepKind(6, "abcast", OF_ONE, "abcast", BOTH, runs="on_abcast", refused="the process may not abcast"))
TIMEOUT = row(StepKind(
    7, "timeout", OF_ONE, "timeout", (CONNECTIONS,), "timeouts", runs="on_timeout",
    refused="the process waits for nothing",
))
CRASH = row(StepKind(
    8, "crash", OF_ONE, "crash", BOTH, "crashes", runs="on_crash", refused="the process is down"
))
RECOVER = row(StepKind(
    9, "recover", OF_ONE, "recover", BOTH, runs="on_recovery", refused="the process is not down"
))
LOSE_CONNECTION = row(StepKind(
    10, "lose_connection", ("follower", "leader"), "lose connection", (CONNECTIONS,), "losses", by="network",
    said="network: {label} of {follower} to {leader}",
))
PARTITION = row(StepKind(
    11, "partition", ("side",), "partition", (CONNECTIONS,), "partitions", by="network",
    said="network: {label} cuts off {side}",
))
DROP_TO_LEADER = row(StepKind(
    12, "drop_to_leader", UP, "drop message", (CONNECTIONS,), "drops", message="to_leader", loses=True, by="network",
    refused=ARRIVED,
))
DROP_TO_FOLLOWER = row(StepKind(
    13, "drop_to_follower", DOWN, "drop message", (CONNECTIONS,), "drops", message="to_follower", loses=True,
    by="network", refused=ARRIVED,
))
REPEAT_TO_LEADER = row(StepKind(
    14, "repeat_to_leader", UP, "receive a copy", (CONNECTIONS,), "duplicates", runs="receive_as_leader",
    given=("leader", "follower"), message="to_leader", keeps=True, refused=ARRIVED,
))
REPEAT_TO_FOLLOWER = row(StepKind(
    15, "repeat_to_follower", DOWN, "receive a copy", (CONNECTIONS,), "duplicates", runs="receive_as_follower",
    given=("follower",), message="to_follower", keeps=True, refused=ARRIVED,
))
CRASH_IN_RECEIPT = row(StepKind(
    16, "crash_in_receipt", ("follower", "leader", "point"), "crash inside a step", (CONNECTIONS,), "crashes",
    runs="receive_as_follower", given=("follower",), message="to_follower", refused=ARRIVED,
))
RECEIVE = row(StepKind(
    17, "receive", ("process", "source", "place"), "receive", (DATAGRAMS,), runs="on_message",
    given=("process", "source"), message="in_flight", refused=ARRIVED,
))
ELECTION_TIMEOUT = row(StepKind(
    18, "election_timeout", OF_ONE, "election timer", (DATAGRAMS,), "timeouts", runs="on_timer", timer=0,
    refused=UNARMED,
))
HEARTBEAT = row(StepKind(
    19, "heartbeat", OF_ONE, "heartbeat timer", (DATAGRAMS,), "heartbeats", runs="on_timer", timer=1, refused=UNARMED,
))
ACTION = row(StepKind(
    20, "action", ("process", "", "which"), "action", BOTH, runs="on_act", given=("process", "which"),
    refused="the process may not take this step",
))
ENVIRONMENT = row(StepKind(
    21, "environment", ("", "", "which"), "environment", BOTH, runs="on_change", given=("which",), by="environment",
    said="environment: {label}", refused="no such change is possible",
))
DROP = row(StepKind(
    22, "drop", ("process", "source", "place"), "drop message", (DATAGRAMS,), "drops", message="in_flight", loses=True,
    by="network", refused=ARRIVED,
))
REPEAT = row(StepKind(
    23, "repeat", ("process", "source", "place"), "receive a copy", (DATAGRAMS,), "duplicates", runs="on_message",
    given=("process", "source"), message="in_flight", keeps=True, refused=ARRIVED,
))
POWER_LOSS = row(StepKind(
    24, "power_loss", ("process", "", "kept"), "power loss", BOTH, "power_losses", runs="on_crash",
    refused="the process is down",
))
CRASH_INSIDE = row(StepKind(
    25, "crash_inside", ("process", "inside", "which"), "crash inside a step", BOTH, "crashes", runs="on_crash",
))
POWER_LOSS_INSIDE = row(StepKind(
    26, "power_loss_inside", ("process", "inside", "which"), "power loss inside a step", BOTH, "power_losses",
    runs="on_crash",
))
ELECT = row(StepKind(
    27, "elect", ("leader", "", "quorum"), "elected", (CONNECTIONS,), runs="on_elected", given=("leader",),
    said="{leader}: {label} by {quorum}", refused="these may not elect it",
))
JOIN = row(StepKind(
    28, "join", ("process", "leader"), "join", (CONNECTIONS,), runs="on_follow", given=("process", "leader"),
    said="{process}: {label} {leader}", refused="it may not join that leader",
))
CRASH_ELECTING = row(StepKind(
    29, "crash_electing", ("process", "leader", "quorum"), "crash inside a step", (CONNECTIONS,), "crashes",
    runs="on_crash", said=ELECTING, inside="elect", refused="these may not elect it",
))
POWER_LOSS_ELECTING = row(StepKind(
    30, "power_loss_electing", ("process", "leader", "quorum"), "power loss inside a step", (CONNECTIONS,),
    "power_losses", runs="on_crash", said=ELECTING, inside="elect", refused="these may not elect it",
))
FOLLOWER_LOSES = row(StepKind(
    31, "follower_loses", ("follower", "leader"), "lose connection", (CONNECTIONS,), "losses", runs="on_leader_lost",
    given=("follower",), said="{follower}: its connection to {leader} is lost, and it learns of the loss first",
    refused="there is no open connection to lose",
))
LEADER_LOSES = row(StepKind(
    32, "leader_loses", ("leader", "follower"), "lose connection", (CONNECTIONS,), "losses", runs="on_follower_lost",
    given=("leader", "follower"), said="{leader}: the connection of {follower} is lost, and it learns of the loss "
    "first",
    refused="there is no open connection to lose",
))
OUTAGE = row(StepKind(
    33, "outage", ("",), "outage", BOTH, "outages", by="environment", said="environment: {label}",
))
OUTAGE_INSIDE = row(StepKind(
    34, "outage_inside", ("process", "inside", "which"), "outage inside a step", BOTH, "outages", runs="on_crash",
))
# fmt: on

NUMBERED: Mapping[int, StepKind] = {k.number: k for k in KINDS.values()}


def mask(kinds: Iterable[StepKind]) -> int:
    """Return a mask with the numbers of some kinds as bits, for code in the language."""
    return sum(1 << k.number for k in kinds)


# Of a kind, whether no process takes it, whether there is a process at the other end.
NOBODYS = mask(k for k in KINDS.values() if k.operands[0] not in PROCESSES)
PEERS = mask(k for k in KINDS.values() if k.has_peer)
# Those that break off another, of them those that break off an election, and those that cost a crash.
BROKEN_OFF = mask(k for k in KINDS.values() if k.breaks_off)
ELECTIONS_BROKEN_OFF = mask(k for k in KINDS.values() if k.inside)
CRASHES_INSIDE = mask(k for k in KINDS.values() if k.breaks_off and k.spends == "crashes")


@dataclass(frozen=True)
class Budget:
    """A bound on how often something may happen in a run.

    Attributes:
        name: its name in a configuration and as a flag.
        one: the words for one of it, as a report counts it.
        what: its description, as the help of a flag begins.
        usual: by world its default amount; 0 in a world that is not named.
        note: what else the help says.
        always: whether a report mentions it also where its amount is 0.
        network: by world the network without which its amount is 0.
        why: the reason for that, as the end of a sentence.
    """

    name: str
    one: str
    what: str
    usual: Mapping[str, int]
    note: str = ""
    always: bool = False
    network: Mapping[str, str] = field(default_factory=dict)
    why: str = ""

    def help(self, usual: bool = True) -> str:
        """Return the help of the budget's option.

        Args:
            usual: include the default amounts.
        """
        first, *others = [w for w in BOTH if w in self.usual]
        amounts = [str(self.usual[first])] if usual else []
        amounts += [f"over {w} {self.usual[w]}" for w in others if usual and self.usual[w] != self.usual[first]]
        amounts += [f"over {first} only"] if first == DATAGRAMS else []
        said = f" ({'; '.join(amounts)})" if amounts else ""
        return f"{self.what}{said}{self.note and '; '}{self.note}."


BUDGETS: Mapping[str, Budget] = {
    b.name: b
    for b in (
        Budget(
            "timeouts", "timeout", "Spurious timeouts", {CONNECTIONS: 2, DATAGRAMS: 2},
            "over datagrams every firing of an election timer", always=True,
        ),
        Budget("crashes", "crash", "Crashes", {CONNECTIONS: 1, DATAGRAMS: 0}, "recovery is free", always=True),
        Budget("losses", "lost connection", "Lost connections", {CONNECTIONS: 1}, always=True),
        Budget("partitions", "partition", "Cuts that lose every connection across them", {CONNECTIONS: 0}),
        Budget(
            "drops", "dropped message", "Single messages lost", {CONNECTIONS: 0, DATAGRAMS: 0},
            "over connections on lossy channels", network={CONNECTIONS: "lossy"},
            why=": on the paper's channels only connections are lost",
        ),
        Budget(
            "duplicates", "duplicated message", "Messages received twice", {CONNECTIONS: 0, DATAGRAMS: 0},
            "over connections on duplicating channels", network={CONNECTIONS: "duplicating"},
        ),
        Budget(
            "power_losses", "power loss", "Losses of power", {CONNECTIONS: 0, DATAGRAMS: 0},
            "unforced writes may be lost",
        ),
        Budget(
            "outages", "outage", "Outages: all processes lose power in one step", {CONNECTIONS: 0, DATAGRAMS: 0},
            "unforced writes may be lost",
        ),
        Budget("heartbeats", "heartbeat", "Firings of a heartbeat timer", {DATAGRAMS: 0}),
    )
}  # fmt: skip
