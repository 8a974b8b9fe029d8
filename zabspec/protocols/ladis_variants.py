"""The variants of ZAB as LADIS'08 describes it: each is the protocol with one place of the text read otherwise, or
with one rule of DSN'11 added.

A variant is the set of functions that stand in for functions of `zabspec.protocols.ladis` (or of its oracle) of the
same name. `docs/explanation/readings.md` says which sentence of the paper each answers, and
`docs/reference/variants.md` what each of the rules is needed for.
"""

from __future__ import annotations

from zabspec.authoring.declaration import Variant
from zabspec.history import accept, end_leadership
from zabspec.language.python.lang import Node, State, Txn, forget
from zabspec.protocols.ladis import (
    ACK, ACK_E, BROADCAST, COMMIT, FOLLOW, GATHERING, NEWEPOCH, PROMISING, PROPOSAL, RECOVERY, accepts_at_once,
    begin_broadcast, count_ack, deliver_up_to, followed_by_quorum, last, latest_epoch, lead, quorum, synchronize,
    to_election, zxid_le,
)  # fmt: skip
from zabspec.worlds.actor import choose, disconnect, force, send_to_follower, send_to_leader

# --- the election --------------------------------------------------------------------------------


def names_anybody(s: State, p: Node, l: Node) -> bool:
    """An election that looks at no log."""
    return True


# --- zxids ---------------------------------------------------------------------------------------


def counts_from_zero(s: State) -> int:
    """4.2 to the letter: the first message has the counter that was "set to zero"."""
    return 0


# --- recovery: truncation ------------------------------------------------------------------------


def never_truncates(s: State, l: Node, end: Txn) -> Txn:
    """A log only grows: the follower gets what comes after its last zxid."""
    return end


def truncates_own_epoch(s: State, l: Node, end: Txn) -> Txn:
    """Truncation within an epoch of which the leader has an entry; else the follower keeps its log."""
    kept = Txn(epoch=0, counter=0, value=0)
    for k in range(len(s.history[l])):
        if s.history[l][k].epoch == end.epoch:
            kept = s.history[l][k]
    return end if kept.epoch == 0 or zxid_le(end, kept) else kept


def truncates_to_committed(s: State, l: Node, end: Txn) -> Txn:
    """4.2 to the letter: to the last proposal of that epoch, or before, that this leader has committed."""
    kept = Txn(epoch=0, counter=0, value=0)
    for k in range(s.committed[l]):
        if s.history[l][k].epoch <= end.epoch:
            kept = s.history[l][k]
    return end if zxid_le(end, kept) else kept


# --- recovery: what is queued, and when the follower counts ----------------------------------------


def queues_committed(s: State, l: Node, k: int) -> bool:
    """To a follower that joins while the leader broadcasts, what is committed and no more."""
    return k < s.committed[l] or s.stage[l] != BROADCAST


def on_the_list_later(s: State, l: Node) -> bool:
    """A follower is not yet on the broadcast list once all is queued..."""
    return False


def on_the_list_recognized(s: State, l: Node) -> bool:
    """... but once it has acknowledged NEWLEADER."""
    return True


def counts_always(s: State, l: Node) -> bool:
    """A new leader commits each message of its log when a quorum has acknowledged that one, before a
    quorum has recognised it."""
    return True


def recognized_acknowledges(s: State, l: Node, f: Node) -> None:
    """The acknowledgement of NEWLEADER acknowledges every proposal queued before it."""
    s.recognized[l].add(f)
    if s.stage[l] == BROADCAST:
        for k in range(len(s.history[l])):
            if k >= s.committed[l]:
                count_ack(s, l, f, k)
    elif s.stage[l] == RECOVERY and quorum(s, s.recognized[l]):
        begin_broadcast(s, l)


def deliver_once_synced(s: State, f: Node, m: COMMIT) -> None:
    """A follower delivers nothing before it has recognised its leader."""
    if s.synced[f]:
        deliver_up_to(s, f, m.txn)


def recognized_commits(s: State, l: Node, f: Node) -> None:
    """With that, the acknowledgement of NEWLEADER is answered by the COMMIT that came too early."""
    s.recognized[l].add(f)
    if s.stage[l] == RECOVERY and quorum(s, s.recognized[l]):
        begin_broadcast(s, l)
    elif s.stage[l] == BROADCAST and s.committed[l] > 0:
        send_to_follower(s, l, f, COMMIT(txn=s.history[l][s.committed[l] - 1]))


# --- the disk ------------------------------------------------------------------------------------


def force_after_ack(s: State, f: Node, m: PROPOSAL) -> None:
    """4.1 without "as soon as the proposal is on the disk media": it is acknowledged when it is written."""
    s.history[f].append(m.txn)
    if accepts_at_once(s, f):
        send_to_leader(s, f, ACK(txn=m.txn))
        force(s, f)
        accept(s, f, m.epoch, m.txn)


def force_later(s: State, f: Node, m: PROPOSAL) -> None:
    """4.1: "batching when it can": the follower forces and acknowledges all, or leaves that to a later force."""
    s.history[f].append(m.txn)
    if accepts_at_once(s, f) and choose(s, 2) == 0:
        force(s, f)
        for k in range(len(s.history[f])):
            accept(s, f, m.epoch, s.history[f][k])
            send_to_leader(s, f, ACK(txn=s.history[f][k]))


# --- losses --------------------------------------------------------------------------------------


def keep_recognized(s: State, l: Node, f: Node) -> None:
    """Who recognised a new leader and is lost goes on counting, as DSN'11 has it for NEWLEADER."""
    s.Q[l].discard(f)
    s.gathered[l].discard(f)
    s.held[l].discard(f)
    s.answered[l][f] = Txn(epoch=0, counter=0, value=0)
    if s.stage[l] == BROADCAST and not followed_by_quorum(s, l):
        to_election(s, l)


def to_election_and_remember(s: State, p: Node) -> None:
    """What was delivered is remembered until a crash, and not delivered again."""
    k = s.delivered_length[p]
    disconnect(s, p)
    end_leadership(s, p)
    forget(s, p)
    s.delivered_length[p] = k


# --- rules of DSN'11 -----------------------------------------------------------------------------


def asks_first(s: State, l: Node, f: Node, m: FOLLOW) -> None:
    """Phase 1 of DSN'11: the leader proposes its epoch before it sends anything of its log."""
    send_to_follower(s, l, f, NEWEPOCH(epoch=s.new_epoch[l]))


def promises_later(s: State, p: Node, epoch: int) -> bool:
    """f.1.2 to the letter: f.p < e'. Nobody leads, or follows, in an epoch it has promised before."""
    return s.promised_epoch[p] < epoch


def keeps_promise(s: State, p: Node, epoch: int) -> None:
    """f.1.2: f.p, on the disk."""
    s.promised_epoch[p] = epoch
    force(s, p)


def gathered_quorum(s: State, l: Node) -> bool:
    """Whether the leader, and those that have answered it, are a quorum."""
    return quorum(s, {q for q in range(s.NODES) if q == l or q in s.gathered[l]})


def gather_first(s: State, l: Node) -> None:
    """l.1.1: the leader waits for CEPOCH from a quorum; `new_epoch` is the latest epoch heard of."""
    s.stage[l] = GATHERING
    s.new_epoch[l] = latest_epoch(s, l)
    if gathered_quorum(s, l):
        lead(s, l, s.new_epoch[l] + 1)


def gathers(s: State, l: Node, f: Node, m: FOLLOW) -> None:
    """l.1.1: then it proposes an epoch later than any that these have on their disks."""
    if s.stage[l] == GATHERING:
        s.gathered[l].add(f)
        s.new_epoch[l] = max(s.new_epoch[l], m.epoch)
        if gathered_quorum(s, l):
            lead(s, l, s.new_epoch[l] + 1)
            for g in range(s.NODES):
                if g in s.gathered[l]:
                    send_to_follower(s, l, g, NEWEPOCH(epoch=s.new_epoch[l]))
            s.gathered[l].clear()
    else:
        send_to_follower(s, l, f, NEWEPOCH(epoch=s.new_epoch[l]))


def compares_first(s: State) -> int:
    """l.1.2: before a leader brings anybody to its state it compares that with a quorum's."""
    return PROMISING


def none_ahead(s: State, l: Node, f: Node, m: ACK_E) -> None:
    """l.1.2: the history kept is the best of a quorum that has promised. LADIS'08's leader fetches
    none: it waits until that best one is its own, and then brings everybody to it."""
    if s.stage[l] == PROMISING:
        s.answered[l][f] = m.txn
        if ahead(s, l, m):
            s.held[l].add(f)
        else:
            s.gathered[l].add(f)
        if gathered_quorum(s, l):
            s.stage[l] = RECOVERY
            for g in range(s.NODES):
                if g in s.gathered[l] or g in s.held[l]:
                    synchronize(s, l, g, s.answered[l][g])
                    s.answered[l][g] = Txn(epoch=0, counter=0, value=0)
            s.gathered[l].clear()
            s.held[l].clear()
    else:
        synchronize(s, l, f, m.txn)


def ahead(s: State, l: Node, m: ACK_E) -> bool:
    """l.1.2: (f.a, f.zxid) of the acknowledgement beats the leader's own."""
    if m.current_epoch != s.current_epoch[l]:
        return m.current_epoch > s.current_epoch[l]
    return not zxid_le(m.txn, last(s.history[l]))


def accepts_when_synced(s: State, f: Node) -> bool:
    """f.3.2 comes after f.2.1: what is on the disk of a follower that has not written down the epoch loses to any log
    of that epoch, so it does not acknowledge it."""
    return s.synced[f]


def keeps_epoch(s: State, p: Node, epoch: int) -> None:
    """f.2.1: f.a, on the disk, once its history is that of the epoch's leader."""
    s.current_epoch[p] = epoch


# --- the table -----------------------------------------------------------------------------------

TABLE = (
    # The paper read otherwise. LADIS'08's own protocol breaks once a process gives up an iteration: where a reading
    # shows nothing before that, it is shown with the rules of DSN'11 beside it.
    Variant(
        name="any-leader",
        rule="4.2",
        summary="the election ignores logs",
        safe=True,
        overrides={"oracle_may_name": names_anybody},
    ),
    Variant(
        name="counter-zero",
        rule="4.2",
        summary="the first message of an epoch has counter 0, as 4.2 has it, which is NEWLEADER's too",
        overrides={"first_counter": counts_from_zero},
    ),
    Variant(
        name="never-truncate",
        rule="4.2",
        summary="a follower forgets nothing",
        overrides={"common_end": never_truncates},
    ),
    Variant(
        name="truncate-own-epoch",
        rule="4.2",
        summary="a follower truncates within an epoch of which the leader has an entry, and else forgets nothing",
        overrides={"common_end": truncates_own_epoch},
    ),
    Variant(
        name="truncate-committed",
        rule="4.2",
        summary="a follower truncates to the last entry of its epoch that this leader has committed, as 4.2 has it",
        overrides={"common_end": truncates_to_committed},
    ),
    Variant(
        name="queue-committed",
        rule="4.2",
        summary="a follower that joins in broadcast mode is sent what is committed, not what is proposed",
        overrides={"queues": queues_committed},
    ),
    Variant(
        name="list-recognized",
        rule="4.2",
        summary="a follower is on the broadcast list once it has acknowledged NEWLEADER",
        overrides={"lists_at_once": on_the_list_later, "lists_late": on_the_list_recognized},
    ),
    Variant(
        name="newleader-acks",
        rule="4.2",
        summary="the acknowledgement of NEWLEADER acknowledges all that the leader's log has when it comes",
        overrides={"on_recognized": recognized_acknowledges},
    ),
    Variant(
        name="commit-each",
        rule="4.2",
        summary="a new leader commits each message of its log when a quorum has acknowledged it, recognised or not",
        safe=True,
        overrides={"counts_now": counts_always},
    ),
    Variant(
        name="deliver-once-synced",
        rule="4.2",
        summary="a follower delivers nothing before it has recognised its leader",
        safe=True,
        overrides={"on_commit": deliver_once_synced, "on_recognized": recognized_commits},
    ),
    Variant(
        name="ack-before-write",
        rule="4.1",
        summary="a proposal is acknowledged before it is forced to the disk; power may be lost between",
        overrides={"on_proposal": force_after_ack},
    ),
    Variant(
        name="group-commit",
        rule="2, 4.1",
        summary="a follower forces several proposals together, and acknowledges them then",
        safe=True,
        overrides={"on_proposal": force_later},
    ),
    Variant(
        name="keep-recognized",
        rule="4",
        summary="a follower that recognised a new leader and is lost still counts",
        safe=True,
        overrides={"on_follower_lost": keep_recognized},
    ),
    Variant(
        name="remember-delivered",
        rule="2",
        summary="what was delivered is remembered until a crash, and not delivered again",
        safe=True,
        overrides={"to_election": to_election_and_remember},
    ),
    # Rules of DSN'11: together they are enough, and none can be left out.
    Variant(
        name="promise",
        rule="DSN'11 f.1.2",
        summary="a process follows, and leads, in epochs later than all it has promised; the promise is on its disk",
        safe=True,
        overrides={"greet": asks_first, "promises": promises_later, "keep_promise": keeps_promise},
        repairs=True,
    ),
    Variant(
        name="later-epoch",
        rule="DSN'11 l.1.1",
        summary="a leader waits for a quorum, and takes an epoch later than all that these have on their disks",
        safe=True,
        overrides={"greet": asks_first, "take_over": gather_first, "on_connected": gathers},
        repairs=True,
    ),
    Variant(
        name="none-ahead",
        rule="DSN'11 l.1.2",
        summary=(
            "a leader synchronizes no follower before a quorum that answered its proposal of an epoch "
            "is not ahead of it"
        ),
        safe=True,
        overrides={"greet": asks_first, "first_stage": compares_first, "on_ack_e": none_ahead},
        repairs=True,
    ),
    Variant(
        name="current-epoch",
        rule="DSN'11 f.2.1, l.1.2",
        summary=(
            "who recognises a leader writes down its epoch, which comes before the zxid where logs are "
            "compared; what it has of that leader it acknowledges from then on"
        ),
        safe=True,
        overrides={"keep_epoch": keeps_epoch, "accepts_at_once": accepts_when_synced},
        repairs=True,
    ),
)
VARIANTS: dict[str, Variant] = {v.name: v for v in TABLE}
