"""The refinement mapping, in the language: which abstract actions a step of `zab` is, and how the two states agree.

This, and the agreement of the states (`agreement.py`), are written by hand. The guards and updates it leads to are the
abstract protocol's own (`generate.py`), and a step that changes something that an abstract state represents without
the matching action fails to agree. So a wrong line here makes the check fail; it cannot make it pass wrongly: whatever
actions are taken, they are the abstract protocol's, and the state they lead to is the executable one's.

    f.1.2   NEWEPOCH promised (a re-admission to an epoch already promised changes nothing of the abstract state)
    l.1.2   the last ACK-E makes the leader choose (with l.2.1)
    f.2.1   NEWLEADER accepted
    l.2.2   NEWLEADER acknowledged by a quorum
    f.2.2   the commit of NEWLEADER; f.3.1 with it at the leader's own follower
    l.3.1   an abcast
    f.3.2   PROPOSE accepted
    l.3.2   ACK that makes the leader commit
    f.3.3   COMMIT
    l.3.3   CEPOCH that an established leader answers with NEWLEADER
    l.3.4   the acknowledgement of that NEWLEADER, answered with a commit; then l.3.2, if the leader commits more
    restart an iteration ends: f.2.1 refused, a timeout, a lost connection, a crash

Everything else (the oracle, f.1.1, l.1.1, notices that end no iteration, faults of the network, recovery, what is
received and ignored) leaves the abstract state unchanged. An attempt is a process and an epoch: `zab` never lets a
process choose an initial history twice for one epoch, which l.1.2's guard `once` checks.
"""

from __future__ import annotations

from checker.explore.masks import any_of_latest, mask_of
from checker.proofs.refine.actions import (
    abstract_beginning,
    abstract_f_1_2,
    abstract_f_2_1,
    abstract_f_2_2,
    abstract_f_3_1,
    abstract_f_3_2,
    abstract_f_3_3,
    abstract_l_1_2,
    abstract_l_2_2,
    abstract_l_3_1,
    abstract_l_3_2,
    abstract_l_3_3,
    abstract_l_3_4,
    abstract_restart,
    world_apply,
    world_initialize,
)
from checker.proofs.refine.agreement import look_whether_agreed
from zabspec.language.python.lang import NOBODY, AnyMessage, Node, State, step
from zabspec.worlds.step_annotations import peer_in, process_in
from zabspec.worlds.steps import ABCAST, PARTITION, REPEAT_TO_FOLLOWER, REPEAT_TO_LEADER, TO_FOLLOWER, TO_LEADER
from zabspec.zab import (
    ACK_LD,
    BROADCAST,
    COMMIT,
    COMMIT_LD,
    DISCOVERY,
    ESTABLISHED,
    FOLLOWING,
    LEADING,
    NEWEPOCH,
    NEWLEADER,
    PROPOSE,
    SYNCHRONIZATION,
    SYNCHRONIZING,
    last,
)


def initialize(s: State) -> None:
    """Set both protocols to their beginning."""
    world_initialize(s)
    abstract_beginning(s)


def apply(s: State, word: int) -> None:
    """Take a step of the executable protocol, then the abstract actions it maps to, and compare the states."""
    look_before(s, word)
    world_apply(s, word)
    s.fault = 0
    s.action = 0
    follow_step(s)
    if s.action == 0:
        stutter(s)
    look_whether_agreed(s)


def refines(before: State, event: State, after: State) -> bool:
    """Every step of the executable protocol is the abstract actions it maps to, or leaves the abstract state unchanged.

    The guard of each of these actions is true.
    """
    return after.fault == 0


def some_action(before: State, event: State, after: State) -> bool:
    """Return whether a step is an abstract action."""
    return after.action > 0


@step("abstract stutter")
def stutter(s: State) -> None:
    """Record that the step is no abstract action."""


# --- what the step does not leave behind ---------------------------------------------------------


def look_before(s: State, word: int) -> None:
    """Save what must be known about the state before the step, of the process that takes it."""
    kind = (word >> 24) & 255
    if kind == TO_LEADER or kind == REPEAT_TO_LEADER:
        look_at(s, process_in(word), peer_in(word))
    elif kind != PARTITION:
        look_at(s, process_in(word), process_in(word))


def look_at(s: State, p: Node, f: Node) -> None:
    """Save the state of p, which takes the step, and of f, from which it receives if it leads."""
    s.was_active = 1 if s.role[p] == FOLLOWING or s.role[p] == LEADING else 0
    s.was_phase = s.phase[p]
    s.was_stage = s.stage[p]
    s.was_promised = s.promised_epoch[p]
    s.was_length = len(s.history[p])
    s.was_pass = s.pass_length[p]
    s.was_ready = 1 if s.ready[p] else 0
    s.was_committed = s.committed[p]
    s.was_sent = len(s.to_follower[f])
    s.was_log = 0
    for k in range(len(s.log[p])):
        s.was_log = s.was_log | (1 << s.log[p][k].value)
    s.was_acked = 0
    for g in range(s.NODES):
        if g in s.acked[p]:
            s.was_acked = s.was_acked | mask_of(g)
    for k in range(s.TXNS):
        s.was_acks[k] = 0
        for g in range(s.NODES):
            if g in s.acks[p][k]:
                s.was_acks[k] = s.was_acks[k] | mask_of(g)


# --- which actions a step is ---------------------------------------------------------------------


def follow_step(s: State) -> None:
    """Take the abstract actions of the step just taken."""
    if s.event == TO_FOLLOWER or s.event == REPEAT_TO_FOLLOWER:
        follow_follower(s, s.event_process, s.event_peer, s.event_message)
    elif s.event == TO_LEADER or s.event == REPEAT_TO_LEADER:
        follow_leader(s, s.event_process, s.event_peer)
    elif s.event == ABCAST and s.role[s.event_process] == LEADING:  # `counter-rolls-over` may give up instead
        follow_abcast(s, s.event_process)
    p = s.event_process
    if p != NOBODY and s.was_active == 1 and s.role[p] != FOLLOWING and s.role[p] != LEADING:
        abstract_restart(s, p)


def follow_follower(s: State, f: Node, l: Node, m: AnyMessage) -> None:
    """Take the abstract actions of a follower that received m from its leader l."""
    if m.kind == NEWEPOCH:
        follow_newepoch(s, f, l, m)
    elif m.kind == NEWLEADER:
        follow_newleader(s, f, l, m)
    elif m.kind == COMMIT_LD:
        follow_commit_ld(s, f, l, m)
    elif m.kind == PROPOSE:
        follow_propose(s, f, l, m)
    elif m.kind == COMMIT:
        follow_commit(s, f, l, m)


def follow_newepoch(s: State, f: Node, l: Node, m: NEWEPOCH) -> None:
    """Take f.1.2 if the follower has promised the epoch with this NEWEPOCH."""
    if s.was_phase == DISCOVERY and s.phase[f] == SYNCHRONIZATION and s.was_promised != m.epoch:
        abstract_f_1_2(s, f, l, m.epoch)


def follow_newleader(s: State, f: Node, l: Node, m: NEWLEADER) -> None:
    """Take f.2.1 if the follower has accepted this NEWLEADER."""
    if s.was_phase == SYNCHRONIZATION and s.phase[f] == SYNCHRONIZATION:
        abstract_f_2_1(s, f, l, m.epoch, last(m.history).value)


def follow_commit_ld(s: State, f: Node, l: Node, m: COMMIT_LD) -> None:
    """Take f.2.2 if the follower delivers with this commit of NEWLEADER, and f.3.1 if it becomes ready."""
    if s.was_phase == SYNCHRONIZATION or s.pass_length[f] != s.was_pass:
        abstract_f_2_2(s, f, l, m.epoch, m.txn.value)
    if s.ready[f] and s.was_ready == 0:
        abstract_f_3_1(s, f, l, m.epoch)


def follow_propose(s: State, f: Node, l: Node, m: PROPOSE) -> None:
    """Take f.3.2 if the follower's history has grown by this PROPOSE."""
    if len(s.history[f]) != s.was_length:
        abstract_f_3_2(s, f, l, m.epoch, m.txn.value)


def follow_commit(s: State, f: Node, l: Node, m: COMMIT) -> None:
    """Take f.3.3 if the follower was in the broadcast phase, or has delivered with this COMMIT."""
    if s.was_phase == BROADCAST or s.pass_length[f] != s.was_pass:
        abstract_f_3_3(s, f, l, m.epoch, m.txn.value)


def follow_leader(s: State, l: Node, f: Node) -> None:
    """Take the abstract actions of a leader that received a message from follower f."""
    e = s.new_epoch[l]
    if s.was_stage < SYNCHRONIZING and s.stage[l] >= SYNCHRONIZING:
        follow_choice(s, l, e)
    if s.was_stage < ESTABLISHED and s.stage[l] == ESTABLISHED:
        abstract_l_2_2(s, l, e, s.was_acked | mask_of(f))
    elif s.was_stage == ESTABLISHED:
        if s.event_message.kind == ACK_LD:
            if len(s.to_follower[f]) > s.was_sent and s.to_follower[f][s.was_sent].kind == COMMIT_LD:
                abstract_l_3_4(s, f, l, e, s.to_follower[f][s.was_sent].txn.value)  # the history that it names
        elif len(s.to_follower[f]) > s.was_sent and s.to_follower[f][s.was_sent].kind == NEWEPOCH:
            abstract_l_3_3(s, l, e, last(s.log[l]).value)
    follow_commitment(s, l, e, mask_of(f))


def follow_choice(s: State, l: Node, e: int) -> None:
    """Take l.1.2: the history chosen came from a process in Q; of those, one with the latest f.a."""
    best = -1
    q = 0
    h = last(s.log[l]).value
    for p in range(s.NODES):
        if p in s.Q[l]:
            q = q | mask_of(p)
            if h in s.a_ack_hist[l][p][e] and came_from(s, l, p, e):
                best = max(best, s.a_ack_current[l][p][e])
    abstract_l_1_2(s, l, e, q, any_of_latest(s, l, e, h, best), h)


def came_from(s: State, l: Node, p: Node, e: int) -> bool:
    """Return whether the leader's log is the history in p's ACK-E."""
    return len(s.a_ack_hist[l][p][e]) == len(s.log[l]) + 1


def follow_commitment(s: State, l: Node, e: int, heard: int) -> None:
    """Take l.3.2 if the leader has committed more of its log.

    Its quorum is those who had acknowledged it before, and `heard`.
    """
    if s.was_stage == ESTABLISHED and s.committed[l] > s.was_committed:
        k = s.committed[l] - 1
        abstract_l_3_2(s, l, e, s.was_acks[k] | heard, s.log[l][k].value)


def follow_abcast(s: State, p: Node) -> None:
    """Take l.3.1: the new history extends the log as it was."""
    for x in range(s.TXNS + 1):
        if ((s.was_log >> x) & 1) == 1:
            s.a_prefix[s.abcasts].add(x)
    abstract_l_3_1(s, p, p, s.new_epoch[p], s.abcasts)
    follow_commitment(s, p, s.new_epoch[p], 0)
