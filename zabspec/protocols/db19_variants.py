"""The variants of db19: the lab's protocol with one rule repaired, and with several.

A variant is the set of functions that stand in for functions of `zabspec.protocols.db19` of the same name.
None is safe by itself: each takes away the class of counterexample it is named for; what it leaves the
gallery says (`benchmarks/results/db19.md` goes further).
"""

from __future__ import annotations

from collections.abc import Iterable

from zabspec.authoring.declaration import Variant
from zabspec.language.python.lang import Node, State
from zabspec.protocols.db19 import (
    FOLLOWING, Ack, AckEpoch, NewEpoch, NewLeader, Propose, last_zxid,
)  # fmt: skip
from zabspec.protocols.election import zxid_less
from zabspec.worlds.actor import send


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


def acknowledge_by_name(s: State, p: Node, source: Node, m: NewEpoch) -> None:
    """AckEpoch says which epoch it acknowledges."""
    zxid = last_zxid(s, p)
    send(s, p, source, AckEpoch(current_epoch=s.current_epoch[p], last_zxid=zxid, new_epoch=m.new_epoch))


def of_pending_epoch(s: State, p: Node, m: AckEpoch) -> bool:
    """AckEpoch counts for the epoch that the leader proposes."""
    return m.new_epoch == s.pending_new_epoch[p]


def of_own_epoch(s: State, p: Node, m: Ack) -> bool:
    """Ack counts for what this leader proposed in this epoch."""
    return m.zxid.epoch == s.current_epoch[p] and m.zxid.counter <= s.next_counter[p]


def from_leader(s: State, p: Node, source: Node) -> bool:
    """Commit counts from the leader that the process follows."""
    return s.role[p] == FOLLOWING and s.leader_id[p] == source


REPAIRS = (
    Variant(
        name="discovery-once",
        rule="AckEpoch",
        summary="an AckEpoch that comes when discovery is done does not repeat it",
        overrides={"in_discovery": discovery_not_done},
        repairs=True,
    ),
    Variant(
        name="promise-once",
        rule="NewEpoch, NewLeader",
        summary=(
            "an epoch equal to the promise is acknowledged again to the leader it was promised to, and to no other; "
            "NewLeader is taken from that leader"
        ),
        overrides={"acknowledges_again": to_promised_leader, "is_promised": from_promised_leader},
        repairs=True,
    ),
    Variant(
        name="sync-once",
        rule="NewLeader",
        summary="NewLeader is taken once an epoch, and a late or repeated one is not",
        overrides={"is_first": epoch_not_entered},
        repairs=True,
    ),
    Variant(
        name="no-holes",
        rule="Propose",
        summary="a proposal is appended only where it leaves no hole",
        overrides={"appends": next_in_turn},
        repairs=True,
    ),
    Variant(
        name="promise-kept",
        rule="Propose",
        summary="a process that has promised a later epoch appends no proposal of an earlier one",
        overrides={"keeps_promise": no_later_promise},
        repairs=True,
    ),
    Variant(
        name="sync-in-turn",
        rule="AckLeader",
        summary="an AckLeader counts when discovery is done, not one of the leader's earlier epoch before",
        overrides={"in_synchronization": discovery_done},
        repairs=True,
    ),
    Variant(
        name="best-history",
        rule="AckEpoch",
        summary="an AckEpoch from a process with a later history than the leader's does not count",
        overrides={"is_no_later": history_no_later},
        repairs=True,
    ),
    Variant(
        name="named-acks",
        rule="AckEpoch",
        summary="AckEpoch says which epoch it acknowledges, and counts for that one alone",
        overrides={"acknowledge_epoch": acknowledge_by_name, "is_of_epoch": of_pending_epoch},
        repairs=True,
    ),
    Variant(
        name="own-acks",
        rule="Ack",
        summary="an Ack counts for what the leader has proposed in this epoch",
        overrides={"counts_ack": of_own_epoch},
        repairs=True,
    ),
    Variant(
        name="commit-of-leader",
        rule="Commit",
        summary="a Commit counts from the leader that the process follows",
        overrides={"takes_commit": from_leader},
        repairs=True,
    ),
)


def together(name: str, rule: str, summary: str, repairs: Iterable[Variant]) -> Variant:
    """Several rules repaired: each repairs functions of its own."""
    return Variant(name, summary, {k: f for v in repairs for k, f in v.overrides.items()}, rule)


TABLE: tuple[Variant, ...] = (
    *REPAIRS,
    *(  # what each is for
        together(
            f"all-but-{left.name}",
            left.rule,
            f"every repair together, {left.name} left out",
            (v for v in REPAIRS if v is not left),
        )
        for left in REPAIRS
    ),
    together("repaired", "all of these", "every repair together", REPAIRS),
)
VARIANTS: dict[str, Variant] = {v.name: v for v in TABLE}
