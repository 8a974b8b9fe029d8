"""The variants of ZAB: each is the protocol with one rule changed.

A variant is the set of functions that stand in for functions of `zabspec.zab` of the same name;
all the rest is the protocol's own text. The `safe` ones take another reading that the paper
allows, or drop a rule that is not needed for safety; every other one breaks a property. What is
expected of each, and in which configuration, the gallery says (`docs/reference/variants.md`).
`docs/explanation/readings.md` says which open place of the paper each reading answers.
"""

from __future__ import annotations

from zabspec.authoring.declaration import Variant
from zabspec.history import abcast, abdeliver, accept, end_leadership, end_synchronization
from zabspec.language.python.lang import AnyMessage, Members, Node, State, Txn, forget, is_quorum
from zabspec.protocols import zab_missing_only
from zabspec.worlds.actor import choose, disconnect, durable, send_to_follower, send_to_leader
from zabspec.zab import (
    ACK, ACK_E, ACK_LD, BROADCAST, CEPOCH, COMMIT, COMMIT_LD, DISCOVERY, ELECTION, NEWEPOCH, NEWLEADER, PROMISING,
    PROPOSE, SYNCHRONIZATION, SYNCHRONIZING, accept_history, become_established, commit, committed_for_joiner,
    compare_zxid, count_acknowledgement, deliver_up_to, f_3_1, has_all_promises, l_2_1, l_3_1, last, next_counter,
    on_media, promises, quorum, receives_commits, receives_proposals, takes_proposals, to_commit, to_election, zxid_le,
)  # fmt: skip

# --- Phase 1: promises and epochs --------------------------------------------------------------


def promises_anything(s: State, f: Node, epoch: int) -> bool:
    """f.1.2 without its check of f.p."""
    return True


def promises_later_only(s: State, f: Node, epoch: int) -> bool:
    """f.1.2 to the letter: f.p < e'."""
    return s.promised_epoch[f] < epoch


def epoch_of_the_latest(s: State, l: Node) -> int:
    """l.1.1 with an e' that only has to be as late as the epochs received (and a first one)."""
    return max(1, s.new_epoch[l])


def send_current_epoch(s: State, f: Node) -> None:
    """f.1.1 as V.C writes it: CEPOCH(f.a)."""
    send_to_leader(s, f, CEPOCH(epoch=s.current_epoch[f]))


def half_quorum(s: State, members: Members) -> bool:
    """Half of the processes, rounded down: two of these need not intersect."""
    return len(members) >= s.NODES // 2


def all_of_them(s: State, members: Members) -> bool:
    """Every process has to be there."""
    return len(members) == s.NODES


def takes_late_cepoch(s: State, l: Node, m: CEPOCH) -> bool:
    """CEPOCH(e) is taken in every phase, before Phase 3 if e < e' only."""
    if s.stage[l] == PROMISING or s.stage[l] == SYNCHRONIZING:
        return m.epoch < s.new_epoch[l]
    return True


def takes_any_cepoch(s: State, l: Node, m: CEPOCH) -> bool:
    """CEPOCH(e) is taken in every phase, whatever e is."""
    return True


def joins_prospective(s: State, l: Node, f: Node, m: CEPOCH) -> None:
    """A follower that comes late, in Phase 1 or 2, is taken into Q."""
    s.Q[l].add(f)
    send_to_follower(s, l, f, NEWEPOCH(epoch=s.new_epoch[l]))
    if s.stage[l] == SYNCHRONIZING:
        send_to_follower(s, l, f, NEWLEADER(epoch=s.new_epoch[l], history=s.log[l]))


# --- Phase 1: the initial history --------------------------------------------------------------


def compare_by_zxid(s: State, l: Node, m: ACK_E) -> int:
    """l.1.2 without f.a: the highest last zxid."""
    return compare_zxid(last(m.history), last(s.log[l]))


def compare_by_length(s: State, l: Node, m: ACK_E) -> int:
    """l.1.2 by length; of two as long, the one with the highest last zxid."""
    if len(m.history) != len(s.log[l]):
        return 1 if len(m.history) > len(s.log[l]) else -1
    return compare_zxid(last(m.history), last(s.log[l]))


def names_the_latest(s: State, p: Node, l: Node) -> bool:
    """V.A: of a quorum, whoever is up or down, none has a later (f.a, f.zxid) than l at this instant."""
    epoch = s.current_epoch[l]
    end = last(s.history[l])
    return is_quorum(
        s,
        {
            q
            for q in range(s.NODES)
            if s.current_epoch[q] < epoch or (s.current_epoch[q] == epoch and zxid_le(last(s.history[q]), end))
        },
    )


def provides_own_history(s: State, l: Node, f: Node, m: ACK_E) -> None:
    """l.1.2 of a leader that fetches nothing, and waits in vain for a follower that is ahead of it: that may be of
    another quorum than the one that elected, or have accepted something since."""
    if m.current_epoch == s.current_epoch[l]:
        ahead = not zxid_le(last(m.history), last(s.history[l]))
    else:
        ahead = m.current_epoch > s.current_epoch[l]
    if not ahead:
        trusts_the_election(s, l, f, m)


def trusts_the_election(s: State, l: Node, f: Node, m: ACK_E) -> None:
    """l.1.2 of a leader that fetches nothing, and does not look at what its followers have."""
    s.acked[l].add(f)
    if has_all_promises(s, l):
        s.acked[l].clear()
        s.stage[l] = SYNCHRONIZING
        l_2_1(s, l)


def proposes_with_own_history(s: State, l: Node) -> int:
    """l.1.1 of a leader that knows the initial history by then: it has the latest one of a quorum."""
    s.log[l] = s.history[l]
    return s.new_epoch[l] + 1


# --- Phase 2 -----------------------------------------------------------------------------------


def propose_and_establish(s: State, l: Node) -> None:
    """l.2.1, and l.2.2 without waiting for an acknowledgement."""
    for g in range(s.NODES):
        if g in s.Q[l]:
            send_to_follower(s, l, g, NEWLEADER(epoch=s.new_epoch[l], history=s.log[l]))
    become_established(s, l)


def point_in_newleader(s: State, m: AnyMessage) -> int:
    """A crash may fall at one point inside f.2.1."""
    if m.kind == NEWLEADER:
        return 1
    return 0


def synchronize_epoch_first(s: State, f: Node, m: NEWLEADER) -> None:
    """f.2.1 in two writes: f.a, then the history."""
    s.current_epoch[f] = m.epoch
    on_media(s, f)
    if durable(s, 1):
        return
    accept_history(s, f, m)
    send_to_leader(s, f, ACK_LD(epoch=m.epoch, txn=last(m.history)))


def synchronize_ack_first(s: State, f: Node, m: NEWLEADER) -> None:
    """f.2.1 acknowledged before it is on stable storage."""
    send_to_leader(s, f, ACK_LD(epoch=m.epoch, txn=last(m.history)))
    if durable(s, 1):
        return
    accept_history(s, f, m)


def synchronize_history_first(s: State, f: Node, m: NEWLEADER) -> None:
    """f.2.1 in two writes: the history, then f.a; with both it has accepted (invariant 1)."""
    s.history[f] = m.history
    on_media(s, f)
    if durable(s, 1):
        return
    accept_history(s, f, m)
    send_to_leader(s, f, ACK_LD(epoch=m.epoch, txn=last(m.history)))


def synchronize_cleared_first(s: State, f: Node, m: NEWLEADER) -> None:
    """f.2.1 in two writes: the old history is cleared, then all is written anew."""
    s.history[f].clear()
    on_media(s, f)
    if durable(s, 1):
        return
    accept_history(s, f, m)
    send_to_leader(s, f, ACK_LD(epoch=m.epoch, txn=last(m.history)))


def force_after_promise(s: State, f: Node, m: NEWEPOCH) -> None:
    """f.1.2 acknowledged when f.p is written, and not forced."""
    if s.phase[f] == DISCOVERY and promises(s, f, m.epoch):
        s.promised_epoch[f] = m.epoch
        s.phase[f] = SYNCHRONIZATION
        send_to_leader(s, f, ACK_E(current_epoch=s.current_epoch[f], history=s.history[f]))
        on_media(s, f)


def force_after_newleader(s: State, f: Node, m: NEWLEADER) -> None:
    """f.2.1 acknowledged when the history and f.a are written, and not forced."""
    s.history[f] = m.history
    s.current_epoch[f] = m.epoch
    send_to_leader(s, f, ACK_LD(epoch=m.epoch, txn=last(m.history)))
    accept_history(s, f, m)


def force_after_ack(s: State, f: Node, m: PROPOSE) -> None:
    """f.3.2 acknowledged when the proposal is written, and not forced."""
    if takes_proposals(s, f):
        s.history[f].append(m.txn)
        send_to_leader(s, f, ACK(epoch=m.epoch, txn=m.txn))
        on_media(s, f)
        accept(s, f, m.epoch, m.txn)


def force_later(s: State, f: Node, m: PROPOSE) -> None:
    """f.3.2 of a follower that forces and acknowledges what it has appended, or leaves that to a later force."""
    if takes_proposals(s, f):
        s.history[f].append(m.txn)
        if choose(s, 2) == 0:
            on_media(s, f)
            for k in range(len(s.history[f])):
                if s.history[f][k].epoch == m.epoch:
                    accept(s, f, m.epoch, s.history[f][k])
                    send_to_leader(s, f, ACK(epoch=m.epoch, txn=s.history[f][k]))


def only_cached(s: State, f: Node) -> None:
    """A disk that has a write in its cache says that it is on the media (VII)."""


def whole_history(s: State, f: Node, m: COMMIT_LD) -> Txn:
    """f.2.2 of all of h_f."""
    return last(s.history[f])


def commit_in_any_phase(s: State, f: Node, m: COMMIT_LD) -> None:
    """f.2.2 whenever a commit of NEWLEADER comes."""
    deliver_up_to(s, f, m.txn)
    if s.phase[f] == SYNCHRONIZATION:
        end_synchronization(s, f)
        s.phase[f] = BROADCAST
        if s.leader[f] == f:
            f_3_1(s, f)


def truncate_at_damage(s: State, p: Node) -> None:
    """LADIS 2 without the abort: any transaction may be damaged; the history ends before it."""
    kept = choose(s, len(s.history[p]) + 1)
    for _ in range(len(s.history[p])):
        if len(s.history[p]) > kept:
            s.history[p].pop()
    on_media(s, p)
    s.role[p] = ELECTION


def accept_damaged(s: State, f: Node, m: PROPOSE) -> None:
    """f.3.2, with a value that may be another than the one proposed."""
    if takes_proposals(s, f):
        read = (
            m.txn if choose(s, 2) == 0 else Txn(epoch=m.txn.epoch, counter=m.txn.counter, value=1 + choose(s, s.TXNS))
        )
        s.history[f].append(read)
        on_media(s, f)
        accept(s, f, m.epoch, read)
        send_to_leader(s, f, ACK(epoch=m.epoch, txn=read))


def zxid_of(s: State, t: Txn) -> Txn:
    """A transaction without its value."""
    return Txn(epoch=t.epoch, counter=t.counter, value=0)


def acknowledge_zxid(s: State, f: Node, m: PROPOSE) -> None:
    """f.3.2 with an acknowledgement that has no value."""
    if takes_proposals(s, f):
        s.history[f].append(m.txn)
        on_media(s, f)
        accept(s, f, m.epoch, m.txn)
        send_to_leader(s, f, ACK(epoch=m.epoch, txn=zxid_of(s, m.txn)))


def count_zxid(s: State, l: Node, f: Node, m: ACK) -> None:
    """l.3.2 by zxid."""
    for k in range(len(s.log[l])):
        if zxid_of(s, s.log[l][k]) == m.txn and to_commit(s, l, k):
            count_acknowledgement(s, l, f, k)


def commit_zxid(s: State, l: Node, k: int) -> None:
    """l.3.2 with a commit that has no value."""
    s.committed[l] = max(s.committed[l], k + 1)
    for j in range(s.committed[l]):
        s.acks[l][j].clear()
    for g in range(s.NODES):
        if receives_commits(s, l, g):
            send_to_follower(s, l, g, COMMIT(epoch=s.new_epoch[l], txn=zxid_of(s, s.log[l][k])))


# --- Phase 3: zxids ----------------------------------------------------------------------------


def last_counter(s: State) -> int:
    """The last value of an epoch's counter; ZooKeeper's is 2**32 - 1."""
    return 2


def roll_over(s: State, p: Node) -> None:
    """V, l.3.1: a request that comes when the counter has its last value ends the leadership: its transaction is of a
    later epoch."""
    if next_counter(s, p) > last_counter(s):
        to_election(s, p)
    else:
        l_3_1(s, p, abcast(s, p, s.new_epoch[p], next_counter(s, p)))


def rollovers(txns: int) -> int:
    """How many leaderships can end by `roll_over`: each after a transaction, and before another."""
    return max(0, txns - 1)


def wrapped_counter(s: State, l: Node) -> int:
    """l.3.1: the counter begins again after its last value, in the same epoch."""
    t = last(s.log[l])
    if t.epoch == s.new_epoch[l] and t.counter < last_counter(s):
        return t.counter + 1
    return 1


# --- Phase 3 -----------------------------------------------------------------------------------


def propose_and_commit(s: State, l: Node, t: Txn) -> None:
    """l.3.1 with the commit of l.3.2 right after, without waiting for an acknowledgement."""
    s.log[l].append(t)
    for g in range(s.NODES):
        if receives_proposals(s, l, g):
            send_to_follower(s, l, g, PROPOSE(epoch=s.new_epoch[l], txn=t))
    commit(s, l, len(s.log[l]) - 1)


def in_q(s: State, l: Node, g: Node) -> bool:
    """l.3.1 to the letter: to the followers in Q."""
    return g in s.Q[l]


def in_q_or_joining(s: State, l: Node, g: Node) -> bool:
    """To Q and to whoever was sent NEWLEADER by l.3.3."""
    return g in s.Q[l] or g in s.joining[l]


def in_broadcast(s: State, f: Node) -> bool:
    """f.3.2 in Phase 3 only: a proposal that comes in Phase 2 is dropped."""
    return s.phase[f] == BROADCAST


def acknowledged_by_joiner(s: State, l: Node, m: ACK_LD) -> Txn:
    """l.3.4: all that the NEWLEADER carried which the joiner acknowledges."""
    return m.txn


def last_of_initial(s: State, l: Node) -> Txn:
    """The last transaction of I_e': those of the log that are not of epoch e'."""
    n = 0
    for k in range(len(s.log[l])):
        if s.log[l][k].epoch < s.new_epoch[l]:
            n = k + 1
    if n == 0:
        return Txn(epoch=0, counter=0, value=0)
    return s.log[l][n - 1]


def initial_for_joiner(s: State, l: Node, m: ACK_LD) -> Txn:
    """l.3.4: the initial history I_e', and nothing of beta_e'."""
    return last_of_initial(s, l)


def nobody_is_joining(s: State, p: Node) -> bool:
    """III: a primary abcasts once it is ready, and while no follower has NEWLEADER to acknowledge."""
    return s.ready[p] and len(s.joining[p]) == 0


def catches_up(s: State, l: Node, f: Node, m: ACK_LD) -> None:
    """l.3.4 with what was proposed since the NEWLEADER that is acknowledged, before its commit."""
    for k in range(len(s.log[l])):
        if not zxid_le(s.log[l][k], m.txn):
            send_to_follower(s, l, f, PROPOSE(epoch=s.new_epoch[l], txn=s.log[l][k]))
    send_to_follower(s, l, f, COMMIT_LD(epoch=s.new_epoch[l], txn=committed_for_joiner(s, l, m)))


def commit_newleader_again(s: State, l: Node, f: Node, m: ACK_LD) -> None:
    """l.3.4 with a commit to every follower: to those that were in Q it is the old one, of I_e'."""
    for g in range(s.NODES):
        if g in s.Q[l] and g != f:
            send_to_follower(s, l, g, COMMIT_LD(epoch=s.new_epoch[l], txn=last_of_initial(s, l)))
    send_to_follower(s, l, f, COMMIT_LD(epoch=s.new_epoch[l], txn=committed_for_joiner(s, l, m)))


def nothing_with_newleader(s: State, l: Node, k: int, m: ACK_LD) -> bool:
    """V.C, of a NEWLEADER that carries more than I_e' too: its acknowledgement counts for no proposal."""
    return False


def yields_to_promise(s: State, l: Node, f: Node, m: CEPOCH) -> None:
    """l.3.3 of a follower that can promise e'; one that has promised a later epoch ends the leadership, and the next
    iteration proposes a later one (l.1.1)."""
    if m.epoch > s.new_epoch[l]:
        to_election(s, l)
    else:
        send_to_follower(s, l, f, NEWEPOCH(epoch=s.new_epoch[l]))
        send_to_follower(s, l, f, NEWLEADER(epoch=s.new_epoch[l], history=s.log[l]))
        s.joining[l].add(f)


def deliver_named(s: State, f: Node, m: COMMIT) -> None:
    """f.3.3 of the transaction named, without what precedes it."""
    if s.phase[f] == BROADCAST:
        for k in range(len(s.history[f])):
            if k >= s.delivered_length[f] and s.history[f][k] == m.txn:
                abdeliver(s, f, m.txn)
                s.delivered_length[f] = k + 1


def deliver_once_accepted(s: State, f: Node, m: COMMIT) -> None:
    """f.3.3 as soon as NEWLEADER is accepted, before its commit too."""
    if s.phase[f] >= SYNCHRONIZATION and s.current_epoch[f] == s.promised_epoch[f]:
        deliver_up_to(s, f, m.txn)


def lacks_quorum(s: State, l: Node, k: int) -> bool:
    """l.3.2 for each proposal on its own, whatever later one is committed."""
    return not quorum(s, s.acks[l][k])


def commit_each(s: State, l: Node, k: int) -> None:
    """l.3.2 for the k-th transaction: the acknowledgements of those before it go on counting."""
    s.committed[l] = max(s.committed[l], k + 1)
    for g in range(s.NODES):
        if g in s.Q[l]:
            send_to_follower(s, l, g, COMMIT(epoch=s.new_epoch[l], txn=s.log[l][k]))


# --- iterations and losses ---------------------------------------------------------------------


def to_election_and_remember(s: State, p: Node) -> None:
    """V: abandon the iteration, but not what was delivered in it: the pass goes on."""
    k = s.delivered_length[p]
    disconnect(s, p)
    end_leadership(s, p)
    forget(s, p)
    s.delivered_length[p] = k


def forget_lost_follower(s: State, l: Node, f: Node) -> None:
    """V.B: the leader also forgets what a lost follower acknowledged."""
    s.Q[l].discard(f)
    s.joining[l].discard(f)
    s.acked[l].discard(f)
    for k in range(len(s.log[l])):
        s.acks[l][k].discard(f)
    if s.stage[l] >= PROMISING and not quorum(s, s.Q[l]):
        to_election(s, l)


# --- the table ---------------------------------------------------------------------------------


TABLE = (
    # Phase 1: promises and epochs
    Variant(
        name="no-promise",
        rule="f.1.2",
        summary="a follower acknowledges NEWEPOCH(e') whatever it has promised",
        overrides={"promises": promises_anything},
    ),
    Variant(
        name="equal-epoch",
        rule="l.1.1",
        summary=(
            "the epoch proposed is the latest of those received, not one above it, and the followers that "
            "promised it acknowledge it"
        ),
        overrides={"epoch_to_propose": epoch_of_the_latest},
    ),
    Variant(
        name="late-cepoch-unchecked",
        rule="l.1.1, l.1.2",
        summary="a leader in Phase 1 or 2 takes a late CEPOCH(e) into Q and sends it NEWEPOCH(e'), even if e is e'",
        overrides={"takes_cepoch": takes_any_cepoch, "late_cepoch": joins_prospective},
    ),
    Variant(
        name="late-cepoch-joins",
        rule="l.1.1, l.1.2",
        summary=(
            "a leader in Phase 1 or 2 takes a late CEPOCH(e) with e < e' into Q and sends it "
            "NEWEPOCH(e'); l.1.2 waits for it too"
        ),
        safe=True,
        overrides={"takes_cepoch": takes_late_cepoch, "late_cepoch": joins_prospective},
    ),
    Variant(
        name="cepoch-current-epoch",
        rule="f.1.1",
        summary="CEPOCH carries f.a, as V.C writes it, not f.p",
        safe=True,
        overrides={"f_1_1": send_current_epoch},
    ),
    Variant(
        name="strict-rejoin",
        rule="f.1.2",
        summary="f.1.2 to the letter: an equal epoch is not acknowledged, by whomever it is proposed",
        safe=True,
        overrides={"promises": promises_later_only},
    ),
    Variant(
        name="small-quorum",
        rule="II.1",
        summary="half of the processes, rounded down, are a quorum",
        overrides={"quorum": half_quorum},
    ),
    Variant(
        name="unanimous",
        rule="II.1",
        summary="all processes together are the only quorum",
        safe=True,
        overrides={"quorum": all_of_them},
    ),
    # Phase 1: the initial history
    Variant(
        name="history-by-zxid",
        rule="l.1.2",
        summary="the initial history is the one with the highest zxid, whatever its f.a",
        overrides={"compare": compare_by_zxid},
    ),
    Variant(
        name="history-by-length",
        rule="l.1.2",
        summary="the initial history is the longest; of two as long, the one with the highest zxid",
        overrides={"compare": compare_by_length},
    ),
    Variant(
        name="missing-only",
        rule="l.1.2, f.2.1",
        summary=(
            "ACK-E and NEWLEADER carry only what the other side lacks of a history, which CEPOCH and NEWEPOCH "
            "name the end of"
        ),
        safe=True,
        overrides=zab_missing_only.OVERRIDES,
    ),
    Variant(
        name="elect-the-latest",
        rule="V.A, l.1.2",
        summary=(
            "the oracle names a process with the latest history of a quorum, which is the initial one: nothing is "
            "fetched, and a follower that is ahead is waited for in vain"
        ),
        safe=True,
        overrides={
            "oracle_may_name": names_the_latest,
            "l_1_2": provides_own_history,
            "epoch_to_propose": proposes_with_own_history,
        },
    ),
    Variant(
        name="trust-the-election",
        rule="V.A, l.1.2",
        summary="the same, and the leader does not compare its history with those of its followers",
        overrides={
            "oracle_may_name": names_the_latest,
            "l_1_2": trusts_the_election,
            "epoch_to_propose": proposes_with_own_history,
        },
    ),
    # Phase 2
    Variant(
        name="no-sync",
        rule="l.2.2",
        summary="the leader commits NEWLEADER and is established as soon as it has proposed it",
        overrides={"l_2_1": propose_and_establish},
    ),
    Variant(
        name="epoch-then-history",
        rule="f.2.1",
        summary="f.a and the history are written one after the other; a crash may come between",
        overrides={"synchronize": synchronize_epoch_first, "durable_points": point_in_newleader},
    ),
    Variant(
        name="history-then-epoch",
        rule="f.2.1",
        summary="the history and f.a are written one after the other; a crash may come between",
        safe=True,
        overrides={"synchronize": synchronize_history_first, "durable_points": point_in_newleader},
    ),
    Variant(
        name="clear-then-history",
        rule="f.2.1",
        summary="the old history is cleared before f.a and the new one are written; a crash may come between",
        overrides={"synchronize": synchronize_cleared_first, "durable_points": point_in_newleader},
    ),
    Variant(
        name="ack-then-history",
        rule="f.2.1",
        summary="NEWLEADER is acknowledged before f.a and the history are written; a crash may come between",
        overrides={"synchronize": synchronize_ack_first, "durable_points": point_in_newleader},
    ),
    Variant(
        name="promise-before-write",
        rule="f.1.2",
        summary="NEWEPOCH is acknowledged before f.p is forced to the disk; power may be lost between",
        overrides={"f_1_2": force_after_promise},
    ),
    Variant(
        name="newleader-before-write",
        rule="f.2.1",
        summary=(
            "NEWLEADER is acknowledged when f.a and the history are written, and before they are forced: a crash does "
            "no harm, as under `ack-then-history`; loss of power does"
        ),
        overrides={"synchronize": force_after_newleader},
    ),
    Variant(
        name="ack-before-write",
        rule="f.3.2",
        summary="a proposal is acknowledged before it is forced to the disk; power may be lost between",
        overrides={"f_3_2": force_after_ack},
    ),
    Variant(
        name="group-commit",
        rule="f.3.2",
        summary="a follower forces several proposals together, and acknowledges them then",
        safe=True,
        overrides={"f_3_2": force_later},
    ),
    Variant(
        name="write-cache",
        rule="VII",
        summary="the disk says of all that it has in its cache that it is on the media",
        overrides={"on_media": only_cached},
    ),
    Variant(
        name="damage-truncated",
        rule="LADIS 2",
        summary=(
            "a process that finds a damaged transaction in its history as it recovers drops it and all after it, and "
            "goes on"
        ),
        overrides={"on_recovery": truncate_at_damage},
    ),
    Variant(
        name="damage-in-message",
        rule="LADIS 2",
        summary="a proposal arrives with another value, and no digest shows it",
        overrides={"f_3_2": accept_damaged},
    ),
    Variant(
        name="stale-commit-ld",
        rule="l.3.4, f.2.2",
        summary=(
            "whenever a follower joins, the commit of I_e' is sent to all of Q again, and f.2.2 acts on a "
            "commit of NEWLEADER in whatever phase it comes"
        ),
        safe=True,
        overrides={"commit_newleader": commit_newleader_again, "f_2_2": commit_in_any_phase},
    ),
    # Phase 3: zxids
    Variant(
        name="counter-wraps",
        rule="l.3.1",
        summary="the counter of a zxid has two values, and wraps around in the same epoch",
        overrides={"next_counter": wrapped_counter},
    ),
    Variant(
        name="counter-rolls-over",
        rule="l.3.1",
        summary=(
            "the counter of a zxid has two values; a leader that has used the last one gives up leadership when the "
            "next request comes, as ZooKeeper's does"
        ),
        safe=True,
        overrides={"on_abcast": roll_over},
        gives_up=rollovers,
    ),
    # Phase 3
    Variant(
        name="commit-on-propose",
        rule="l.3.2",
        summary="COMMIT is sent right after PROPOSE",
        overrides={"l_3_1": propose_and_commit},
    ),
    Variant(
        name="commit-named-only",
        rule="f.3.3",
        summary="COMMIT delivers the transaction it names, and not what precedes it",
        safe=True,
        overrides={"f_3_3": deliver_named},
    ),
    Variant(
        name="commit-out-of-order",
        rule="l.3.2",
        summary="each proposal is committed when that one has its quorum, whatever later one is committed",
        safe=True,
        overrides={"to_commit": lacks_quorum, "commit": commit_each},
    ),
    Variant(
        name="propose-to-synced-only",
        rule="l.3.1",
        summary="to the letter: proposals go to Q, so a joiner gets none until it has acknowledged NEWLEADER",
        overrides={"receives_proposals": in_q},
    ),
    Variant(
        name="pause-while-joining",
        rule="l.3.1",
        summary=(
            "the primary abcasts nothing while a follower that joins has not acknowledged NEWLEADER; proposals go to Q"
        ),
        safe=True,
        overrides={"may_abcast": nobody_is_joining, "receives_proposals": in_q},
    ),
    Variant(
        name="catch-up-at-commit",
        rule="l.3.1, l.3.4",
        summary="proposals go to Q; what a joiner missed since NEWLEADER it is sent before the commit of NEWLEADER",
        safe=True,
        overrides={"receives_proposals": in_q, "commit_newleader": catches_up},
    ),
    Variant(
        name="propose-in-broadcast-only",
        rule="f.3.2",
        summary=(
            "a follower takes proposals in Phase 3 only, and drops those that come before the commit of NEWLEADER"
        ),
        overrides={"takes_proposals": in_broadcast},
    ),
    Variant(
        name="join-deliver-acked",
        rule="l.3.4",
        summary="the commit to a joiner delivers all of I_e' and beta_e' that its NEWLEADER carried",
        overrides={"committed_for_joiner": acknowledged_by_joiner},
    ),
    Variant(
        name="join-commit-all",
        rule="f.2.2",
        summary="the commit of NEWLEADER delivers all of h_f",
        overrides={"covered_by_commit": whole_history},
    ),
    Variant(
        name="join-deliver-initial",
        rule="l.3.4",
        summary="to the letter of f.2.2: the commit to a joiner delivers I_e' alone",
        safe=True,
        overrides={"committed_for_joiner": initial_for_joiner},
    ),
    Variant(
        name="acks-ignored",
        rule="l.3.4, l.3.2",
        summary="a joiner's acknowledgement of NEWLEADER is not counted for the proposals that it carried",
        safe=True,
        overrides={"acknowledged_with_newleader": nothing_with_newleader},
    ),
    Variant(
        name="commits-to-joiners",
        rule="l.3.2, f.3.3",
        summary="COMMIT also goes to who is joining, and delivers as soon as NEWLEADER is accepted",
        safe=True,
        overrides={"receives_commits": in_q_or_joining, "f_3_3": deliver_once_accepted},
    ),
    Variant(
        name="no-values",
        rule="f.3.2, l.3.2",
        summary="acknowledgements and commits carry the zxid alone, as IV allows",
        safe=True,
        overrides={"f_3_2": acknowledge_zxid, "l_3_2": count_zxid, "commit": commit_zxid},
    ),
    # iterations and losses
    Variant(
        name="keep-commit-index",
        rule="f.2.2, V.C",
        summary=(
            "what was delivered is remembered when an iteration ends without a crash, and f.2.2 does not "
            "deliver it again"
        ),
        safe=True,
        overrides={"to_election": to_election_and_remember},
    ),
    Variant(
        name="yield-to-promise",
        rule="l.3.3",
        summary="an established leader to whom a follower comes that has promised a later epoch gives up leadership",
        safe=True,
        overrides={"l_3_3": yields_to_promise},
    ),
    Variant(
        name="forget-acks",
        rule="V.B",
        summary="a leader that loses a follower forgets what that one acknowledged",
        safe=True,
        overrides={"on_follower_lost": forget_lost_follower},
    ),
)
VARIANTS: dict[str, Variant] = {v.name: v for v in TABLE}
