"""The variants of db19: the lab's protocol with one rule repaired, and with several.

A variant is the set of functions that stand in for functions of `zabspec.protocols.db19` of the same name.
None is safe by itself: each takes away the class of counterexample it is named for, and `breaks` says
what it leaves within its budget and 13 steps (`docs/db19.md` goes further).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import FunctionType

from zabspec.language.lang import Node, State
from zabspec.own.authoring import Variant
from zabspec.protocols.db19 import (
    FOLLOWING,
    Ack,
    AckEpoch,
    NewEpoch,
    NewLeader,
    Propose,
    last_zxid,
)
from zabspec.protocols.election import zxid_less

__all__ = ["VARIANTS"]


def discovery_not_done(s: State, p: Node) -> bool:
    """AckEpoch counts until discovery is done, and not again."""
    return s.current_epoch[p] != s.pending_new_epoch[p]


def to_promised_leader(s: State, p: Node, source: Node, m: NewEpoch) -> bool:
    """The promised epoch is acknowledged again to the leader it was promised to."""
    return m.new_epoch == s.accepted_epoch[p] and s.role[p] == FOLLOWING and s.leader_id[p] == source


def from_promised_leader(s: State, p: Node, source: Node, m: NewLeader) -> bool:
    """NewLeader is taken for the epoch that was promised, from the leader it was promised to."""
    return m.new_epoch == s.accepted_epoch[p] and s.role[p] == FOLLOWING and s.leader_id[p] == source


def epoch_not_entered(s: State, p: Node, m: NewLeader) -> bool:
    """NewLeader is taken once an epoch."""
    return m.new_epoch != s.current_epoch[p]


def next_in_turn(s: State, p: Node, m: Propose) -> bool:
    """Propose is appended where it leaves no hole: the next of its epoch, or its first."""
    if m.txn.epoch != s.current_epoch[p]:
        return False
    if last_zxid(s, p).epoch == m.txn.epoch:
        return m.txn.counter == last_zxid(s, p).counter + 1
    return m.txn.counter == 1


def no_later_promise(s: State, p: Node) -> bool:
    """Propose is appended while no epoch later than the current one has been promised."""
    return s.accepted_epoch[p] == s.current_epoch[p]


def discovery_done(s: State, p: Node) -> bool:
    """AckLeader counts when discovery is done."""
    return s.current_epoch[p] == s.pending_new_epoch[p]


def history_no_later(s: State, p: Node, m: AckEpoch) -> bool:
    """AckEpoch counts from whoever has no later history than the leader: by current epoch, then by
    the last zxid."""
    if m.current_epoch != s.current_epoch[p]:
        return m.current_epoch < s.current_epoch[p]
    return not zxid_less(last_zxid(s, p), m.last_zxid)


def epoch_acknowledged(s: State, p: Node, m: NewEpoch) -> int:
    """AckEpoch says which epoch it acknowledges."""
    return m.new_epoch


def of_pending_epoch(s: State, p: Node, m: AckEpoch) -> bool:
    """AckEpoch counts for the epoch that the leader proposes."""
    return m.new_epoch == s.pending_new_epoch[p]


def of_own_epoch(s: State, p: Node, m: Ack) -> bool:
    """Ack counts for what this leader proposed in this epoch."""
    return m.zxid.epoch == s.current_epoch[p] and m.zxid.counter <= s.next_counter[p]


def from_leader(s: State, p: Node, source: Node) -> bool:
    """Commit counts from the leader that the process follows."""
    return s.role[p] == FOLLOWING and s.leader_id[p] == source


WITHIN = {"nodes": 3, "txns": 2, "timeouts": 1, "crashes": 0}
WITH_HEARTBEAT = {**WITHIN, "heartbeats": 1}


@dataclass(frozen=True)
class Repair:
    """One rule of the lab repaired.

    Attributes:
        name, rule, summary, why: as of a variant.
        overrides: the functions that stand in; `COMBINED` has what does the work of several at once.
    """

    name: str
    rule: str
    summary: str
    why: str
    overrides: Mapping[str, FunctionType]


REPAIRS = (
    Repair(
        "discovery-once",
        "AckEpoch",
        "an AckEpoch that comes when discovery is done does not repeat it",
        "it takes away the second NewLeader of an epoch, and with it the counter that begins again",
        {"in_discovery": discovery_not_done},
    ),
    Repair(
        "promise-once",
        "NewEpoch, NewLeader",
        "an epoch equal to the promise is acknowledged again to the leader it was promised to, and to no other; "
        "NewLeader is taken from that leader",
        "one quorum cannot promise an epoch to two leaders",
        {"acknowledges_again": to_promised_leader, "is_promised": from_promised_leader},
    ),
    Repair(
        "sync-once",
        "NewLeader",
        "NewLeader is taken once an epoch, and a late or repeated one is not",
        "it would take back what has been proposed, and delivered, since",
        {"is_first": epoch_not_entered},
    ),
    Repair(
        "no-holes",
        "Propose",
        "a proposal is appended only where it leaves no hole",
        "an acknowledgement of a zxid then speaks for all before it, and a commit passes over nothing",
        {"appends": next_in_turn},
    ),
    Repair(
        "promise-kept",
        "Propose",
        "a process that has promised a later epoch appends no proposal of an earlier one",
        "what it told the later leader of its history stays true",
        {"keeps_promise": no_later_promise},
    ),
    Repair(
        "sync-in-turn",
        "AckLeader",
        "an AckLeader counts when discovery is done, not one of the leader's earlier epoch before",
        "nobody is synced in an epoch that is over",
        {"in_synchronization": discovery_done},
    ),
    Repair(
        "best-history",
        "AckEpoch",
        "an AckEpoch from a process with a later history than the leader's does not count",
        "what a quorum has accepted is in the history of one that counts",
        {"is_no_later": history_no_later},
    ),
    Repair(
        "named-acks",
        "AckEpoch",
        "AckEpoch says which epoch it acknowledges, and counts for that one alone",
        "a late one, sent for an earlier epoch of the same leader, promises nothing for this one",
        {"named_epoch": epoch_acknowledged, "is_of_epoch": of_pending_epoch},
    ),
    Repair(
        "own-acks",
        "Ack",
        "an Ack counts for what the leader has proposed in this epoch",
        "a late one for a zxid of an earlier epoch commits nothing",
        {"counts_ack": of_own_epoch},
    ),
    Repair(
        "commit-of-leader",
        "Commit",
        "a Commit counts from the leader that the process follows",
        "a deposed leader commits nothing at those that have left it",
        {"takes_commit": from_leader},
    ),
)


def together(repairs: Iterable[Repair]) -> dict[str, FunctionType]:
    """What stands in when several rules are repaired: each repairs functions of its own."""
    return {name: function for repair in repairs for name, function in repair.overrides.items()}


SKIPS = ("total-order", "local-primary-order", "po-causal-order", "prefix")
LAB = ("delivered-is-chosen", "unique-zxid", "durability", *SKIPS, "delivered-stands")
# What breaks within the budget and 13 steps, the shortest first; what is not named here breaks as the lab's own does,
# or, with all but one repaired, not at all.
BREAKS: dict[str, tuple[str, ...]] = {
    "discovery-once": ("delivered-is-chosen", "durability", *SKIPS, "delivered-stands"),
    "no-holes": ("unique-zxid", "delivered-is-chosen", "durability"),
    "all-but-discovery-once": ("unique-zxid", "delivered-is-chosen", "durability"),
    "all-but-sync-once": ("durability", "delivered-stands"),  # a heartbeat repeats NewLeader
    "all-but-no-holes": ("delivered-is-chosen", "durability", *SKIPS, "delivered-stands"),
}


DEPTHS = {"all-but-sync-once": 12}


def with_one_repaired(repair: Repair) -> Variant:
    """The lab's protocol with one rule repaired."""
    return Variant(
        name=repair.name,
        rule=repair.rule,
        summary=repair.summary,
        safe=False,
        overrides=repair.overrides,
        budget=WITHIN,
        why=repair.why,
        breaks=BREAKS.get(repair.name, LAB),
        depth=11,
        repairs=True,
    )


def without(repair: Repair) -> Variant:
    """All rules repaired but one: what that one is for."""
    name = f"all-but-{repair.name}"
    return Variant(
        name=name,
        rule=repair.rule,
        summary=f"every repair together, {repair.name} left out",
        safe=False,
        overrides=together(r for r in REPAIRS if r is not repair),
        budget=WITH_HEARTBEAT,
        why=f"without it: {repair.why}",
        breaks=BREAKS.get(name, ()),
        depth=DEPTHS.get(name, 11) if name in BREAKS else 0,
    )


TABLE: tuple[Variant, ...] = (
    *(with_one_repaired(r) for r in REPAIRS),
    *(without(r) for r in REPAIRS),
    Variant(
        name="repaired",
        rule="all of these",
        summary="every repair together",
        safe=False,
        overrides=together(REPAIRS),
        budget=WITH_HEARTBEAT,
        why="nothing is known to break it; docs/db19.md says how far that was looked at",
    ),
)
VARIANTS: dict[str, Variant] = {v.name: v for v in TABLE}
