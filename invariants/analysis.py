"""State invariants 1 to 5 (DSN'11, section VI.B), over the protocol's own state.

1 to 4 are properties of steps: `before` and `after` are the states around one, `event` says what
it was. 5 is a property of the state.
"""

from __future__ import annotations

from invariants.registry import STATE, STEP, Property
from zabspec.language.python.lang import AnyMessage, Node, State, Txn, broken
from zabspec.worlds.steps import CRASH_IN_RECEIPT, REPEAT_TO_FOLLOWER, REPEAT_TO_LEADER, TO_FOLLOWER, TO_LEADER
from zabspec.zab import (
    ACK_E,
    BROADCAST,
    NEWEPOCH,
    NEWLEADER,
    PROMISING,
    PROPOSE,
    SYNCHRONIZING,
    carries,
)


def at_follower(event: State) -> bool:
    """Return whether the step is a follower's receipt of a message."""
    return event.event == TO_FOLLOWER or event.event == REPEAT_TO_FOLLOWER or event.event == CRASH_IN_RECEIPT


def at_leader(event: State) -> bool:
    """Return whether the step is a leader's receipt of a message."""
    return event.event == TO_LEADER or event.event == REPEAT_TO_LEADER


def zxid_before(t: Txn, u: Txn) -> bool:
    """Return whether t's zxid is before u's (III)."""
    return t.epoch < u.epoch or (t.epoch == u.epoch and t.counter < u.counter)


def invariant_1(before: State, event: State, after: State) -> bool:
    """Invariant 1 (VI.B): a follower f accepts a proposal <e, <v, z>> only if its current epoch
    f.a = e."""
    p = event.event_process
    if event.accepts > 0 and after.current_epoch[p] != event.accept_epoch:
        return broken(
            f"p{p} accepted a proposal of epoch {event.accept_epoch} while its current epoch is "
            f"{after.current_epoch[p]}"
        )
    return True


def accepted(before: State, event: State, after: State) -> bool:
    """A follower accepts a proposal."""
    return event.accepts > 0


def invariant_2(before: State, event: State, after: State) -> bool:
    """Invariant 2 (VI.B): during the broadcast phase of epoch e, a follower f such that f.a = e
    accepts proposals and delivers transactions according to zxid order."""
    if not at_follower(event):
        return True
    f = event.event_process
    if event.event_message.kind == PROPOSE and event.accepts > 0:
        n = len(before.history[f])
        if n > 0 and not zxid_before(before.history[f][n - 1], after.history[f][n]):
            return broken(
                f"p{f} accepted {after.history[f][n]} after {before.history[f][n - 1]}, against the order of zxids"
            )
    if after.phase[f] == BROADCAST and after.delivered_length[f] > before.delivered_length[f]:
        for k in range(after.delivered_length[f]):
            if k > 0 and k >= before.delivered_length[f]:
                if not zxid_before(after.history[f][k - 1], after.history[f][k]):
                    return broken(
                        f"p{f} delivered {after.history[f][k]} after {after.history[f][k - 1]}, against the order of "
                        "zxids"
                    )
    return True


def accepted_second(before: State, event: State, after: State) -> bool:
    """A follower accepts a proposal in the broadcast phase with one in its history."""
    if not at_follower(event) or event.accepts == 0:
        return False
    return event.event_message.kind == PROPOSE and len(before.history[event.event_process]) > 0


def invariant_3(before: State, event: State, after: State) -> bool:
    """Invariant 3 (VI.B): during Phase 1, a follower f promises not to accept proposals from the
    leader of any epoch e' < e before it provides its history as the initial history of an epoch."""
    p = event.event_process
    if event.accepts > 0 and event.accept_epoch < before.promised_epoch[p]:
        return broken(
            f"p{p} accepted a proposal of epoch {event.accept_epoch} after it had promised epoch "
            f"{before.promised_epoch[p]}"
        )
    return True


def accepted_after_two_promises(before: State, event: State, after: State) -> bool:
    """A follower that has promised a second epoch accepts a proposal."""
    return event.accepts > 0 and before.promised_epoch[event.event_process] > 1


def invariant_4(before: State, event: State, after: State) -> bool:
    """Invariant 4 (VI.B): the initial history I_e of an epoch e is the history of some follower.
    ACK-E(f.a, h_f) (Phase 1) and NEWLEADER(e, I_e) (Phase 2) do not alter, reorder, or lose
    transactions in h_f and I_e."""
    p = event.event_process
    if at_follower(event) and event.event_message.kind == NEWEPOCH:
        l = before.leader[p]
        n = len(after.to_leader[p][l])
        if n > len(before.to_leader[p][l]):
            return offers_history(after, p, after.to_leader[p][l][n - 1])
    if at_follower(event) and event.event_message.kind == NEWLEADER and event.accepts > 0:
        return after.role[p] == 3 or accepts_all(after, p, event.event_message)
    if at_leader(event) and before.stage[p] == PROMISING and after.stage[p] == SYNCHRONIZING:
        offered = event.event_message.kind == ACK_E and takes_offer(after, p, event.event_message)
        if after.log[p] != before.log[p] and not offered:
            return broken(f"p{p} made {after.log[p]} the initial history, which no follower offered it")
        for g in range(after.NODES):
            n = len(after.to_follower[g])
            if g in after.Q[p] and n > len(before.to_follower[g]):
                sent = after.to_follower[g][n - 1]
                if sent.kind != NEWLEADER or not sends_log(after, p, sent):
                    return broken(f"The initial history of p{p} is {after.log[p]}, but it sent p{g} {sent}")
    return True


def offers_history(s: State, f: Node, m: AnyMessage) -> bool:
    """The message is f's ACK-E, and carries h_f as it is."""
    if m.kind != ACK_E:
        return broken(f"p{f} answered NEWEPOCH with {m.kind}")
    return offers(s, f, m)


def offers(s: State, f: Node, m: ACK_E) -> bool:
    """ACK-E carries f.a and h_f as they are."""
    if m.current_epoch != s.current_epoch[f] or not carries(s.history[f], m.history):
        return broken(
            f"The history of p{f} is {s.history[f]} with current epoch {s.current_epoch[f]}, but its ACK-E carried "
            f"{m.history} with current epoch {m.current_epoch}"
        )
    return True


def takes_offer(s: State, l: Node, m: ACK_E) -> bool:
    """The initial history is the one the acknowledgement carried."""
    return carries(s.log[l], m.history)


def sends_log(s: State, l: Node, m: NEWLEADER) -> bool:
    """NEWLEADER carries the initial history as it is."""
    return carries(s.log[l], m.history)


def accepts_all(s: State, f: Node, m: NEWLEADER) -> bool:
    """h_f is the history that NEWLEADER carried."""
    if not carries(s.history[f], m.history):
        return broken(f"NEWLEADER carried {m.history}, but the history of p{f} became {s.history[f]}")
    return True


def initial_history_chosen(before: State, event: State, after: State) -> bool:
    """A prospective leader chooses an initial history that is not empty."""
    p = event.event_process
    return (
        at_leader(event) and before.stage[p] == PROMISING and after.stage[p] == SYNCHRONIZING and len(after.log[p]) > 0
    )


def stray(h: State, f: Node, skip: int) -> int:
    """Return where f's deliveries in this pass of its own epoch, from place `skip` on, leave the broadcast sequence.

    The deliveries must be a prefix of what was broadcast in that epoch. The result is -1 if they are.
    """
    e = h.current_epoch[f]
    at = 0
    for k in range(h.pass_length[f]):
        if k >= skip and h.delivered[f][k].epoch == e:
            while at < h.abcasts and h.abcast_txn[at].epoch != e:
                at = at + 1
            if at >= h.abcasts or h.abcast_txn[at] != h.delivered[f][k]:
                return k
            at = at + 1
    return -1


def number_of(h: State, f: Node, skip: int, place: int) -> int:
    """Return how many transactions of its own epoch f had delivered before a place of this pass, from `skip` on."""
    return sum(1 for k in range(place) if k >= skip and h.delivered[f][k].epoch == h.current_epoch[f])


def due(h: State, e: int, number: int) -> Txn:
    """Return the transaction that was broadcast in epoch e after `number` others; the empty transaction if none."""
    for k in range(h.abcasts):
        if h.abcast_txn[k].epoch == e:
            if number == 0:
                return h.abcast_txn[k]
            number = number - 1
    return Txn(epoch=0, counter=0, value=0)


def invariant_5(h: State) -> bool:
    """Invariant 5 (VI.B): let D_f be the sequence of transactions f delivered since it last joined
    its epoch, in whichever phase, those of the initial history left out; then D_f is a prefix of
    beta_f.e."""
    for f in range(h.NODES):
        if not h.diverged[f] and stray(h, f, 0) >= 0:
            t = h.delivered[f][stray(h, f, 0)]
            n = number_of(h, f, 0, stray(h, f, 0))
            return broken(
                f"p{f} delivered {t} as number {n + 1} of epoch {t.epoch} in this pass, where the broadcast has "
                f"{due(h, t.epoch, n) if due(h, t.epoch, n).value > 0 else 'no more'}"
            )
    return True


def delivered_own_epoch(h: State) -> bool:
    """A process has delivered a transaction broadcast in the epoch it is in."""
    return any(
        k < len(h.delivered[f]) and h.delivered[f][k].epoch == h.current_epoch[f]
        for f in range(h.NODES)
        for k in range(h.pass_length[f])
    )


def invariant_5_literal(h: State) -> bool:
    """Invariant 5 to the letter (VI.5, VI.B): D_f is the sequence of transactions f delivered while
    in the broadcast phase of epoch f.a, and D_f is a prefix of beta_f.e. It does not hold: the
    commit of l.3.4 makes a late joiner deliver the first of beta in Phase 2."""
    for f in range(h.NODES):
        if not h.diverged[f] and stray(h, f, h.synced_length[f]) >= 0:
            t = h.delivered[f][stray(h, f, h.synced_length[f])]
            n = number_of(h, f, h.synced_length[f], stray(h, f, h.synced_length[f]))
            return broken(
                f"p{f} delivered {t} as number {n + 1} of epoch {t.epoch} in Phase 3, where the broadcast has "
                f"{due(h, t.epoch, n) if due(h, t.epoch, n).value > 0 else 'no more'}"
            )
    return True


ZAB = ("zab",)

PROPERTIES = (
    Property("invariant-1", STEP, "DSN'11 VI.B", "a proposal is accepted", invariant_1, accepted, protocols=ZAB),
    Property(
        "invariant-2", STEP, "DSN'11 VI.B",
        "a proposal is accepted after another", invariant_2, accepted_second, protocols=ZAB,
    ),
    Property(
        "invariant-3", STEP, "DSN'11 VI.B",
        "a follower that promised a second epoch accepts a proposal", invariant_3, accepted_after_two_promises,
        protocols=ZAB,
    ),
    Property(
        "invariant-4", STEP, "DSN'11 VI.B",
        "an initial history that is not empty is chosen", invariant_4, initial_history_chosen, protocols=ZAB,
    ),
    Property(
        "invariant-5", STATE, "DSN'11 VI.B",
        "a process delivers a transaction of its own epoch", invariant_5, delivered_own_epoch, protocols=ZAB,
    ),
    Property(
        "invariant-5-literal", STATE, "DSN'11 VI.5, VI.B",
        "a process delivers a transaction of its own epoch", invariant_5_literal, delivered_own_epoch, default=False,
        protocols=ZAB,
    ),
)  # fmt: skip
