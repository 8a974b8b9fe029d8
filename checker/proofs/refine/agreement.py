"""The agreement between the abstract and the executable state after each step, in the language.

The two represent the same things in two ways: a history as a set of prefixes and as a sequence, deliveries as a
relation and as the observed history. An action of the abstract protocol that does less, more or something else than
the executable one causes a disagreement here.
"""

from __future__ import annotations

from zabspec.language.python.lang import History, Node, State
from zabspec.zab import ESTABLISHED, LEADING, SYNCHRONIZING

# What the two states must agree on after each step, in the order of comparison: a fault's number, from 1.
(
    AGREE_PROMISED, AGREE_CURRENT, AGREE_HIST, AGREE_SEQUENCE, AGREE_IN_PASS, AGREE_DELIVERED, AGREE_ORDER,
    AGREE_BORN, AGREE_ABCAST, AGREE_SOONER, AGREE_HEARD,
    AGREE_CHOSE, AGREE_LOG, AGREE_LOG_SEQUENCE, AGREE_ESTABLISHED, AGREE_COMMIT, AGREE_READY,
) = range(1, 18)  # fmt: skip

AGREEMENTS = (
    "promised: f.p of each process",
    "current: f.a of each process",
    "hist: h_f of each process as a set",
    "hist: h_f of each process is in the order in which histories extend each other",
    "in_pass: what each process has delivered in this pass",
    "delivered: what each process ever delivered",
    "order: what each process delivered before what",
    "born: what was abcast",
    "abcast: by whom and in which epoch",
    "sooner: what each primary abcast before what",
    "heard: what each primary's process had delivered when it abcast",
    "chose: a leader past l.1.2 has chosen its initial history",
    "log: the leader's log as a set",
    "log: the leader's log is in the order in which histories extend each other",
    "established: whether the leader is",
    "commit: what the leader has committed",
    "ready: whether the primary is",
)


AGREEMENT_LIMIT = 18  # more than any of them


def unless_fault(s: State, number: int, held: bool) -> None:
    """Record a fault of the step unless a condition holds or an earlier fault is recorded."""
    if not held and s.fault == 0:
        s.fault = number


def differs(s: State, number: int, agreed: bool) -> None:
    """Record a disagreement of the states as the fault, that with the least number, whichever process it is about."""
    if not agreed:
        s.amiss = max(s.amiss, AGREEMENT_LIMIT - number)


def look_whether_agreed(s: State) -> None:
    """Compare everything that both states represent."""
    s.amiss = 0
    for p in range(s.NODES):
        differs(s, AGREE_PROMISED, s.a_promised[p] == s.promised_epoch[p])
        differs(s, AGREE_CURRENT, s.a_current[p] == s.current_epoch[p])
        differs(s, AGREE_SEQUENCE, is_sequence(s, s.history[p]))
        for x in range(s.TXNS + 1):
            here = place_in(s.history[p], x)
            differs(s, AGREE_HIST, (x in s.a_hist[p]) == (here >= 0))
        look_at_deliveries(s, p)
        if s.role[p] == LEADING and s.stage[p] >= SYNCHRONIZING:
            look_at_leader(s, p, s.new_epoch[p])
    look_at_abcasts(s)
    if s.amiss > 0:
        unless_fault(s, AGREEMENT_LIMIT - s.amiss, False)


def place_in(h: History, x: int) -> int:
    """Return the position of a transaction in a sequence, from 1; 0 for the empty history; -1 if it is not in it."""
    if x == 0:
        return 0
    for k in range(len(h)):
        if h[k].value == x:
            return k + 1
    return -1


def is_sequence(s: State, h: History) -> bool:
    """Return whether each entry is a transaction as it was abcast, and extends the one before it."""
    for k in range(len(h)):
        x = h[k].value
        if x == 0 or x > s.abcasts:
            return False
        if s.abcast_txn[x - 1] != h[k] or len(s.a_prefix[x]) != k + 2:
            return False
        if k > 0 and h[k - 1].value not in s.a_prefix[x]:
            return False
    return True


def look_at_deliveries(s: State, p: Node) -> None:
    """Compare what p has delivered, in this pass and ever."""
    for y in range(s.TXNS + 1):
        at = place_in(s.delivered[p], y)
        differs(s, AGREE_DELIVERED, (y in s.a_delivered[p]) == (at >= 0))
        differs(s, AGREE_IN_PASS, (y in s.a_in_pass[p]) == (at >= 0 and at <= s.pass_length[p]))
        for x in range(s.TXNS + 1):
            sooner = place_in(s.delivered[p], x)
            differs(s, AGREE_ORDER, (y in s.a_order[p][x]) == (sooner >= 0 and sooner < at))
    differs(s, AGREE_ORDER, not s.diverged[p])


def look_at_leader(s: State, l: Node, e: int) -> None:
    """Compare the attempt of a leader that has chosen its initial history."""
    differs(s, AGREE_CHOSE, e in s.a_chose[l])
    differs(s, AGREE_LOG_SEQUENCE, is_sequence(s, s.log[l]))
    differs(s, AGREE_ESTABLISHED, (e in s.a_established[l]) == (s.stage[l] == ESTABLISHED))
    differs(s, AGREE_READY, (e in s.a_ready[l]) == s.ready[l])
    for x in range(s.TXNS + 1):
        at = place_in(s.log[l], x)
        differs(s, AGREE_LOG, (x in s.a_log[l][e]) == (at >= 0))
        done = s.stage[l] == ESTABLISHED and at >= 0 and at <= s.committed[l]
        differs(s, AGREE_COMMIT, (x in s.a_commit[l][e]) == done)


def look_at_abcasts(s: State) -> None:
    """Compare what was abcast, by whom, and what came before it."""
    for y in range(s.TXNS + 1):
        differs(s, AGREE_BORN, (y in s.a_born) == (y <= s.abcasts))
        for l in range(s.NODES):
            for e in range(s.EPOCHS + 1):
                differs(s, AGREE_ABCAST, (y in s.a_abcast[l][e]) == was_abcast_by(s, l, e, y))
        for x in range(s.TXNS + 1):
            differs(s, AGREE_SOONER, (y in s.a_sooner[x]) == abcast_sooner(s, x, y))
            differs(s, AGREE_HEARD, (y in s.a_heard[x]) == abcast_after(s, x, y))


def was_abcast_by(s: State, l: Node, e: int, x: int) -> bool:
    """Return whether transaction x was abcast by l as the primary of epoch e."""
    return x > 0 and x <= s.abcasts and s.abcast_by[x - 1] == l and s.abcast_txn[x - 1].epoch == e


def abcast_sooner(s: State, x: int, y: int) -> bool:
    """Return whether transaction x was abcast before y by the same primary."""
    return x > 0 and x < y and y <= s.abcasts and was_abcast_by(s, s.abcast_by[x - 1], s.abcast_txn[x - 1].epoch, y)


def abcast_after(s: State, x: int, y: int) -> bool:
    """Return whether y is the empty history or a transaction that x was abcast after."""
    return x > 0 and x <= s.abcasts and (y == 0 or (y - 1) in s.abcast_after[x - 1])
