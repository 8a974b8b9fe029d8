# ruff: noqa: F821, PLW3301
# mypy: ignore-errors
"""What is judged when a run has been read: the properties that stay broken once they are, in the kernel
language."""

from __future__ import annotations

from traces.judging.planes import (
    A_ABOVE,
    A_ROW,
    AB_AFTER,
    AB_BEFORE,
    AB_INSTANCE,
    AB_LED,
    AB_ORDER,
    AB_ROW,
    ABCASTS,
    ACCEPTED,
    BROKEN,
    CAUSAL,
    CHOSEN_EPOCH,
    CHOSEN_LATER,
    CHOSEN_LEAST,
    CHOSEN_ROW,
    DELIVERED_CHOSEN,
    E_COUNT,
    EPOCH,
    FARTHEST,
    FIRST_ROW,
    GLOBAL_ORDER,
    INITIAL,
    INSTANCE,
    INTEGRITY,
    LEADERS,
    LENGTH,
    LOCAL_ORDER,
    MARK,
    MOST,
    NEVER,
    NULL,
    PLANES,
    PO_CAUSAL,
    PREFIX,
    PRIMARY_INTEGRITY,
    REACH,
    SAME,
    SCANNED,
    SERVER,
    SORTED,
    STACK,
    STRICT,
    TOTAL_ORDER,
    TXN,
    UNKNOWN,
    WHICH,
    WITNESS,
    broke,
    intern,
    met,
)
from zabspec.language.lang import Bytes, Words


def conclude(
    kinds: Bytes, kind_of: Words, primary_epoch: Words, identity: Words, epoch: Words, counter: Words, digest: Words,
    time: Words, end: int, processes: int, w: Words, cap: int, tables: Words, mask: int, v: Words, out: Words,
    txns: int, epochs: int, abcasts: int, leaders: int, late: bool,
) -> None:  # fmt: skip
    """The properties that, once broken, stay so: judged over all that was kept."""
    least = NEVER  # epoch delivered
    for t in range(txns):
        row = w[FIRST_ROW * cap + t]
        by = w[AB_ROW * cap + t]
        if row >= 0:
            least = min(least, w[(TXN + 1) * cap + t])
            met(out, INTEGRITY)
            met(out, DELIVERED_CHOSEN)
            if by < 0 or time[by] > time[row]:
                broke(out, INTEGRITY, row, row, by, -1, -1)
            if by >= 0:
                chosen = w[CHOSEN_ROW * cap + t]
                if chosen < 0 or (time[row] < time[chosen] and time[by] < time[chosen]):
                    broke(out, DELIVERED_CHOSEN, max(row, by), row, chosen, -1, -1)
    for p in range(processes):
        along(w, cap, processes, v, p, out)
        for q in range(processes):
            if p != q and v[LENGTH + p] > 1:
                if w[(PLANES + q) * cap + w[(PLANES + processes + p) * cap + 1]] >= 0:
                    met(out, TOTAL_ORDER)
    one = ((out[BROKEN] >> TOTAL_ORDER) & 1) == 0
    for p in range(processes):
        for q in range(p):
            if v[SAME + p * MOST + q] != min(v[LENGTH + p], v[LENGTH + q]):
                one = False
    if (out[UNKNOWN] & 1) == 0:
        if not one or late:
            po_causal(w, cap, processes, v, abcasts, late, out)
        strict(w, cap, processes, v, abcasts, late, out)
        greatest = NULL
        for e in range(epochs):
            if w[E_COUNT * cap + e] > 0:
                greatest = max(greatest, w[EPOCH * cap + e])
        if greatest > least and least != NEVER:
            met(out, PRIMARY_INTEGRITY)
            primary_integrity(w, cap, processes, v, txns, epochs, abcasts, tables, mask, out)
    if leaders > 0:
        later_histories(
            kinds, kind_of, primary_epoch, identity, epoch, counter, digest, end, w, cap, tables, mask, out, txns,
            leaders,
        )  # fmt: skip


def along(w: Words, cap: int, processes: int, v: Words, p: int, out: Words) -> None:
    """What is to be seen along the sequence that p delivered."""
    highest = NULL
    high_row = -1
    for s in range(processes):
        v[SERVER + s] = -1
    first = -1
    for j in range(v[LENGTH + p]):
        t = w[(PLANES + processes + p) * cap + j]
        row = w[(PLANES + 2 * processes + p) * cap + j]
        e = w[(TXN + 1) * cap + t]
        if j == 0:
            first = e
        elif e != first:
            met(out, GLOBAL_ORDER)
            met(out, CAUSAL)
        if j == 1:
            met(out, STRICT)
        by = w[AB_ROW * cap + t]
        if by >= 0:
            before = w[AB_BEFORE * cap + t]
            if before >= 0:
                met(out, LOCAL_ORDER)
                met(out, PREFIX)
                met(out, CAUSAL)
                at = w[(PLANES + p) * cap + before]
                if at < 0 or at > j:
                    other = w[(PLANES + 2 * processes + p) * cap + at] if at >= 0 else -1
                    broke(out, LOCAL_ORDER, max(row, by), w[AB_ROW * cap + before], by, row, other)
                    broke(out, PO_CAUSAL, max(row, by), w[AB_ROW * cap + before], by, row, other)
            if w[AB_LED * cap + t] != 0:
                met(out, PO_CAUSAL)
            if e < highest:
                broke(out, GLOBAL_ORDER, max(row, by), high_row, row, by, -1)
                broke(out, CAUSAL, max(row, by), high_row, row, by, -1)
            if e > highest:
                highest = e
                high_row = row
            i = w[AB_INSTANCE * cap + t]
            if i >= 0:
                s = w[(INSTANCE + 2) * cap + i]
                if v[SERVER + s] >= 0:
                    u = w[(PLANES + processes + p) * cap + v[SERVER + s]]
                    if w[AB_ORDER * cap + u] > w[AB_ORDER * cap + t]:
                        broke(
                            out, CAUSAL, max(row, by), w[(PLANES + 2 * processes + p) * cap + v[SERVER + s]], row, by,
                            -1,
                        )  # fmt: skip
                    else:
                        v[SERVER + s] = j
                else:
                    v[SERVER + s] = j


def po_causal(w: Words, cap: int, processes: int, v: Words, abcasts: int, late: bool, out: Words) -> None:
    """PO causal order where what was delivered is not one sequence: what a primary had delivered
    before an abcast, who delivers that must have delivered before it."""
    for q in range(processes):
        i = 0
        for p in range(processes):
            v[FARTHEST + p] = -1
            v[WHICH + p] = -1
        for k in range(abcasts):
            u = w[ABCASTS * cap + k]
            instance = w[AB_INSTANCE * cap + u]
            if w[(INSTANCE + 2) * cap + instance] == q:
                if late:
                    i = 0
                while i < w[AB_AFTER * cap + u]:
                    t = w[(PLANES + processes + q) * cap + i]
                    i = i + 1
                    if w[AB_ROW * cap + t] >= 0 and w[AB_ORDER * cap + t] < k:
                        for p in range(processes):
                            at = w[(PLANES + p) * cap + t]
                            if at < 0:
                                at = NEVER
                            if at > v[FARTHEST + p]:
                                v[FARTHEST + p] = at
                                v[WHICH + p] = t
                for p in range(processes):
                    j = w[(PLANES + p) * cap + u]
                    if j >= 0 and v[FARTHEST + p] > j:
                        t = v[WHICH + p]
                        at = w[(PLANES + p) * cap + t]
                        row = w[(PLANES + 2 * processes + p) * cap + j]
                        other = w[(PLANES + 2 * processes + p) * cap + at] if at >= 0 else -1
                        broke(out, PO_CAUSAL, max(row, w[AB_ROW * cap + u]), w[AB_ROW * cap + t],
                              w[AB_ROW * cap + u], row, other)  # fmt: skip


def strict(w: Words, cap: int, processes: int, v: Words, abcasts: int, late: bool, out: Words) -> None:
    """Strict causality. What is broken stays so: the delivery by which it first was is found by halving."""
    for p in range(processes):
        high = v[LENGTH + p]
        if high > 1 and unrelated(w, cap, processes, v, p, high, abcasts, late) >= 0:
            low = 1
            while high - low > 1:
                middle = (low + high) >> 1
                if unrelated(w, cap, processes, v, p, middle, abcasts, late) >= 0:
                    high = middle
                else:
                    low = middle
            u = unrelated(w, cap, processes, v, p, high, abcasts, late)
            t = v[WHICH + p]
            a = w[(PLANES + 2 * processes + p) * cap + w[(PLANES + p) * cap + t]]
            b = w[(PLANES + 2 * processes + p) * cap + w[(PLANES + p) * cap + u]]
            by = max(w[AB_ROW * cap + t], w[AB_ROW * cap + u])
            broke(out, STRICT, max(max(a, b), by), min(a, b), max(a, b), w[AB_ROW * cap + t], w[AB_ROW * cap + u])


def unrelated(
    w: Words, cap: int, processes: int, v: Words, p: int, length: int, abcasts: int, late: bool
) -> int:  # fmt: skip
    """Of what p delivered first, so many, a transaction that the one abcast before it (which `v[WHICH + p]`
    is told) does not PO-precede; -1: there is none, and so any two are related, since chains join up."""
    last = -1
    for k in range(abcasts):
        u = w[ABCASTS * cap + k]
        j = w[(PLANES + p) * cap + u]
        if j >= 0 and j < length:
            if last >= 0 and not directly(w, cap, processes, last, u):
                if not precedes(w, cap, processes, v, last, u, late):
                    v[WHICH + p] = last
                    return u
            last = u
    return -1


def directly(w: Words, cap: int, processes: int, t: int, u: int) -> bool:
    """Whether t, which was abcast earlier, PO-precedes u without anything in between."""
    i = w[AB_INSTANCE * cap + u]
    if w[AB_INSTANCE * cap + t] == i:
        return True
    at = w[(PLANES + w[(INSTANCE + 2) * cap + i]) * cap + t]
    return at >= 0 and at < w[AB_AFTER * cap + u]


def precedes(w: Words, cap: int, processes: int, v: Words, t: int, u: int, late: bool) -> bool:
    """Whether t PO-precedes u, through whatever chain: everything that precedes u is visited."""
    stamp = u + 1
    for p in range(processes):
        v[SCANNED + p] = 0
    w[STACK * cap] = u
    w[MARK * cap + u] = stamp
    depth = 1
    since = w[AB_ORDER * cap + t]
    while depth > 0:
        depth = depth - 1
        x = w[STACK * cap + depth]
        if x == t:
            return True
        order = w[AB_ORDER * cap + x]
        before = w[AB_BEFORE * cap + x]
        if before >= 0 and w[MARK * cap + before] != stamp and w[AB_ORDER * cap + before] >= since:
            w[MARK * cap + before] = stamp
            w[STACK * cap + depth] = before
            depth = depth + 1
        q = w[(INSTANCE + 2) * cap + w[AB_INSTANCE * cap + x]]
        i = 0 if late else v[SCANNED + q]
        while i < w[AB_AFTER * cap + x]:
            y = w[(PLANES + processes + q) * cap + i]
            if w[AB_ROW * cap + y] >= 0 and w[MARK * cap + y] != stamp:
                if w[AB_ORDER * cap + y] < order and w[AB_ORDER * cap + y] >= since:
                    w[MARK * cap + y] = stamp
                    w[STACK * cap + depth] = y
                    depth = depth + 1
            i = i + 1
        v[SCANNED + q] = max(v[SCANNED + q], i)
    return False


def sort_epochs(w: Words, cap: int, epochs: int) -> None:
    """The numbers of the epochs by what they are, least first (Shell's sort)."""
    for e in range(epochs):
        w[SORTED * cap + e] = e
    step = 1
    while step < epochs:
        step = 3 * step + 1
    while step > 0:
        for k in range(step, epochs):
            e = w[SORTED * cap + k]
            j = k
            while j >= step and w[EPOCH * cap + w[SORTED * cap + j - step]] > w[EPOCH * cap + e]:
                w[SORTED * cap + j] = w[SORTED * cap + j - step]
                j = j - step
            w[SORTED * cap + j] = e
        step = step // 3


def primary_integrity(
    w: Words, cap: int, processes: int, v: Words, txns: int, epochs: int, abcasts: int, tables: Words, mask: int,
    out: Words,
) -> None:  # fmt: skip
    """Primary integrity: for each process the farthest place at which it delivered anything of an epoch
    before; a primary of a later one must have delivered more."""
    sort_epochs(w, cap, epochs)
    for p in range(processes):
        leads = False
        for e in range(epochs):
            w[REACH * cap + e] = -1
        for k in range(abcasts):
            u = w[ABCASTS * cap + k]
            if w[(INSTANCE + 2) * cap + w[AB_INSTANCE * cap + u]] == p:
                leads = True
                break
        if leads:
            for k in range(abcasts):
                t = w[ABCASTS * cap + k]
                if w[FIRST_ROW * cap + t] >= 0:
                    e = intern(w, cap, EPOCH, tables, mask, epochs, w[(TXN + 1) * cap + t], 0, 0, 0)
                    at = w[(PLANES + p) * cap + t]
                    if at < 0:
                        at = NEVER
                    w[REACH * cap + e] = max(w[REACH * cap + e], at)
            reach = -1
            for k in range(epochs):
                e = w[SORTED * cap + k]
                own = w[REACH * cap + e]
                w[REACH * cap + e] = reach
                reach = max(reach, own)
            for k in range(abcasts):
                u = w[ABCASTS * cap + k]
                if w[(INSTANCE + 2) * cap + w[AB_INSTANCE * cap + u]] == p:
                    if ((out[BROKEN] >> PRIMARY_INTEGRITY) & 1) == 1:
                        if w[AB_ROW * cap + u] >= out[WITNESS + 5 * PRIMARY_INTEGRITY]:
                            break
                    e = intern(w, cap, EPOCH, tables, mask, epochs, w[(TXN + 1) * cap + u], 0, 0, 0)
                    if w[REACH * cap + e] >= w[AB_AFTER * cap + u]:
                        undelivered(w, cap, processes, p, u, txns, out)
                        w[REACH * cap + e] = -1  # what it abcasts later in this epoch breaks nothing earlier


def undelivered(w: Words, cap: int, processes: int, p: int, u: int, txns: int, out: Words) -> None:
    """Something of an earlier epoch than u's is delivered, and p had not when it abcast u: which."""
    best = NEVER
    which = -1
    for t in range(txns):
        if w[FIRST_ROW * cap + t] >= 0 and w[AB_ROW * cap + t] >= 0:
            if w[(TXN + 1) * cap + t] < w[(TXN + 1) * cap + u]:
                at = w[(PLANES + p) * cap + t]
                if at < 0 or at >= w[AB_AFTER * cap + u]:
                    if max(w[FIRST_ROW * cap + t], w[AB_ROW * cap + t]) < best:
                        best = max(w[FIRST_ROW * cap + t], w[AB_ROW * cap + t])
                        which = t
    if which >= 0:
        at = w[(PLANES + p) * cap + which]
        own = w[(PLANES + 2 * processes + p) * cap + at] if at >= 0 else -1
        broke(
            out, PRIMARY_INTEGRITY, max(best, w[AB_ROW * cap + u]), w[AB_ROW * cap + which],
            w[FIRST_ROW * cap + which], w[AB_ROW * cap + u], own,
        )  # fmt: skip


def later_histories(
    kinds: Bytes, kind_of: Words, primary_epoch: Words, identity: Words, epoch: Words, counter: Words, digest: Words,
    end: int, w: Words, cap: int, tables: Words, mask: int, out: Words, txns: int, leaders: int,
) -> None:  # fmt: skip
    """Whether the initial histories of epochs have what was chosen before: from the latest epoch down,
    each looks at what all later ones have."""
    left = 0
    least = NEVER
    for t in range(txns):
        if w[CHOSEN_EPOCH * cap + t] != NEVER:
            least = min(least, w[CHOSEN_EPOCH * cap + t])
            w[STACK * cap + left] = t
            left = left + 1
        w[MARK * cap + t] = -1
    for k in range(leaders):
        if primary_epoch[w[LEADERS * cap + k]] > least:
            met(out, CHOSEN_LATER)
    # the leaders by epoch, the latest first; there are few, and they come in order
    for k in range(leaders):
        row = w[LEADERS * cap + k]
        j = k
        while j > 0 and primary_epoch[w[LEADERS * cap + j - 1]] < primary_epoch[row]:
            w[LEADERS * cap + j] = w[LEADERS * cap + j - 1]
            j = j - 1
        w[LEADERS * cap + j] = row
    for k in range(leaders):
        leader = w[LEADERS * cap + k]
        row = leader + 1
        while row < end and kind_of[load_half(kinds, 4 * row)] == INITIAL:
            t = intern(
                w, cap, TXN, tables, mask, txns, identity[row], epoch[row], counter[row], digest[row]
            )  # fmt: skip
            w[MARK * cap + t] = k
            row = row + 1
        kept = 0
        for i in range(left):
            t = w[STACK * cap + i]
            if w[CHOSEN_EPOCH * cap + t] < primary_epoch[leader]:
                w[STACK * cap + kept] = t  # also if it is missing: in an earlier epoch it may have been before
                kept = kept + 1
                if w[MARK * cap + t] != k:
                    chosen = chosen_row(w, cap, t, primary_epoch[leader])
                    by = max(max(leader, w[AB_ROW * cap + t]), chosen)
                    broke(out, CHOSEN_LATER, by, chosen, leader, w[AB_ROW * cap + t], -1)
        left = kept


def chosen_row(w: Words, cap: int, t: int, epoch: int) -> int:
    """The row by which a transaction was first chosen in an epoch before this one, as it was in some."""
    a = w[CHOSEN_LEAST * cap + t]
    above = w[A_ABOVE * cap + a]
    while above >= 0 and w[(ACCEPTED + 1) * cap + above] < epoch:
        a = above
        above = w[A_ABOVE * cap + a]
    return w[A_ROW * cap + a]
