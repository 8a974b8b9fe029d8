"""Check, after a run has been read, the properties that stay violated once they are, in the kernel language.

This file walks along the sequences of deliveries; `causality.py` has the rest.
"""

from __future__ import annotations

from traces.judging.causality import po_causal, strict
from traces.judging.memory import JudgedRun, RunReport, Table, broke, intern, is_broken, met
from traces.judging.numbers import (
    CAUSAL_ORDER,
    CHOSEN_IN_LATER_HISTORIES,
    DELIVERED_IS_CHOSEN,
    GLOBAL_PRIMARY_ORDER,
    INITIAL,
    INTEGRITY,
    LOCAL_PRIMARY_ORDER,
    NEVER,
    NULL,
    PO_CAUSAL_ORDER,
    PREFIX,
    PRIMARY_INTEGRITY,
    STRICT_CAUSALITY,
    TOTAL_ORDER,
)

# --- check that the initial histories of epochs have what was chosen before, in order, in the kernel language ---


def later_histories(table: Table, run: JudgedRun, out: RunReport, end: int) -> None:
    """Check that each initial history has what was chosen in earlier epochs, in the order of zxids.

    They are checked from the latest epoch down.
    """
    left = gather_chosen(run)
    sort_leaders(table, run)
    for i in range(left):
        if table.primary_epoch[run.leaders[0]] > run.chosen_epoch[run.stack[i]]:
            met(out, CHOSEN_IN_LATER_HISTORIES)
    for k in range(run.leader_count):
        leader = run.leaders[k]
        row = leader + 1
        latest = row  # the row of the latest zxid so far
        while row < end and table.meaning[table.kind[row]] == INITIAL:
            t = intern(run.txns, table.identity[row], table.epoch[row], table.counter[row], table.digest[row])
            if zxid_le(table, latest, row):
                run.mark[t] = k
                latest = row
            elif run.mark[t] != k:
                run.mark[t] = -2 - latest
            row = row + 1
        left = lacking(table, run, out, k, left)


def zxid_le(table: Table, a: int, b: int) -> bool:
    """Return whether the zxid of row a precedes that of row b or equals it."""
    return table.epoch[a] < table.epoch[b] or (
        table.epoch[a] == table.epoch[b] and table.counter[a] <= table.counter[b]
    )


def gather_chosen(run: JudgedRun) -> int:
    """Put the chosen transactions on the stack; return how many."""
    left = 0
    for t in range(run.txns.count):
        if run.chosen_epoch[t] != NEVER:
            run.stack[left] = t
            left = left + 1
        run.mark[t] = -1
    return left


def sort_leaders(table: Table, run: JudgedRun) -> None:
    """Sort the leaders by epoch, the latest first; there are few, almost in order."""
    for k in range(run.leader_count):
        row = run.leaders[k]
        j = k
        while j > 0 and table.primary_epoch[run.leaders[j - 1]] < table.primary_epoch[row]:
            run.leaders[j] = run.leaders[j - 1]
            j = j - 1
        run.leaders[j] = row


def lacking(table: Table, run: JudgedRun, out: RunReport, k: int, left: int) -> int:
    """Find the transactions on the stack, chosen before leader k's epoch, that its initial history has not in place.

    The mark of one in place is k; of one behind a later zxid it names the row of that, and else it is -1.

    All that were chosen before stay on the stack, including the missing ones: they may have been in the history of an
    earlier epoch.

    Returns:
        How many stay.
    """
    kept = 0
    leader = run.leaders[k]
    epoch = table.primary_epoch[leader]
    for i in range(left):
        t = run.stack[i]
        if run.chosen_epoch[t] < epoch:
            run.stack[kept] = t
            kept = kept + 1
            if run.mark[t] != k:
                chosen = chosen_row(run, t, epoch)
                by = max(leader, run.abcast_row[t])
                late = max(-1, -2 - run.mark[t])
                broke(out, CHOSEN_IN_LATER_HISTORIES, max(by, chosen), chosen, leader, run.abcast_row[t], late)
            run.mark[t] = -1
    return kept


def chosen_row(run: JudgedRun, t: int, epoch: int) -> int:
    """Return the row by which a transaction was first chosen in an epoch before this one; there must be one."""
    a = run.chosen_by[t]
    above = run.above[a]
    while above >= 0 and run.acceptances.b[above] < epoch:
        a = above
        above = run.above[a]
    return run.quorum_row[a]


# --- check primary integrity of a run, in the kernel language --------------------------------------


def primary_integrity(run: JudgedRun, out: RunReport) -> None:
    """Check that every primary had delivered, when it abcast, all deliveries of earlier epochs.

    An unknown primary (-1) is one that delivered nothing.
    """
    least = NEVER  # of the epochs of which anything is delivered that was abcast
    greatest = NULL  # of those in which anything is abcast
    for k in range(run.abcast_count):
        if run.led_epoch[k] >= 0:
            epoch = run.epochs.a[run.led_epoch[k]]
            greatest = max(greatest, epoch)
            if run.first_row[run.abcasts[k]] >= 0:
                least = min(least, epoch)
    if greatest > least and least != NEVER:
        met(out, PRIMARY_INTEGRITY)
        sort_epochs(run)
        for p in range(-1, run.processes):
            if leads(run, p):
                find_reach(run, p)
                of_primary(run, out, p)


def sort_epochs(run: JudgedRun) -> None:
    """Sort the numbers of the epochs by their values, ascending (Shell's sort)."""
    epochs = run.epochs.count
    for e in range(epochs):
        run.sorted[e] = e
    step = 1
    while step < epochs:
        step = 3 * step + 1
    while step > 0:
        for k in range(step, epochs):
            e = run.sorted[k]
            j = k
            while j >= step and run.epochs.a[run.sorted[j - step]] > run.epochs.a[e]:
                run.sorted[j] = run.sorted[j - step]
                j = j - step
            run.sorted[j] = e
        step = step // 3


def leads(run: JudgedRun, p: int) -> bool:
    """Return whether p ever abcasts."""
    for k in range(run.abcast_count):
        if run.primary[k] == p:
            return True
    return False


def place_of(run: JudgedRun, p: int, t: int) -> int:
    """Return the place at which p delivered a transaction; -1 if it did not."""
    return run.place[p][t] if p >= 0 else -1


def find_reach(run: JudgedRun, p: int) -> None:
    """Record for each epoch the farthest place at which p delivered anything of an earlier epoch.

    It is NEVER if p lacks something of them, and -1 if there is nothing.
    """
    for e in range(run.epochs.count):
        run.reach[e] = -1
    for k in range(run.abcast_count):
        t = run.abcasts[k]
        e = run.led_epoch[k]
        if run.first_row[t] >= 0 and e >= 0:
            at = place_of(run, p, t)
            run.reach[e] = max(run.reach[e], at if at >= 0 else NEVER)
    reach = -1
    for k in range(run.epochs.count):
        e = run.sorted[k]
        own = run.reach[e]
        run.reach[e] = reach
        reach = max(reach, own)


def of_primary(run: JudgedRun, out: RunReport, p: int) -> None:
    """Check that p had delivered enough when it abcast, until a violation would be later than a known one."""
    for k in range(run.abcast_count):
        e = run.led_epoch[k]
        if run.primary[k] == p and e >= 0:
            if is_broken(out, PRIMARY_INTEGRITY) and run.sent_row[k] >= out.by[PRIMARY_INTEGRITY]:
                return
            if run.reach[e] >= run.after[k]:
                undelivered(run, out, p, k)
                run.reach[e] = -1  # what it abcasts later in this epoch breaks nothing earlier


def undelivered(run: JudgedRun, out: RunReport, p: int, k: int) -> None:
    """Report a delivered transaction of an earlier epoch than abcast k's that p had not delivered at the abcast."""
    best = NEVER
    which = -1
    for other in range(run.abcast_count):
        t = run.abcasts[other]
        e = run.led_epoch[other]
        if run.first_row[t] >= 0 and e >= 0 and run.epochs.a[e] < run.epochs.a[run.led_epoch[k]]:
            at = place_of(run, p, t)
            if at < 0 or at >= run.after[k]:
                if max(run.first_row[t], run.sent_row[other]) < best:
                    best = max(run.first_row[t], run.sent_row[other])
                    which = other
    if which >= 0:
        t = run.abcasts[which]
        at = place_of(run, p, t)
        own = run.row[p][at] if at >= 0 else -1
        by = run.sent_row[k]
        broke(out, PRIMARY_INTEGRITY, max(best, by), run.sent_row[which], run.first_row[t], by, own)


def conclude(table: Table, run: JudgedRun, out: RunReport, end: int) -> None:
    """Check the properties that stay violated once they are, over the memory of a run that ends before `end`."""
    for t in range(run.txns.count):
        if run.first_row[t] >= 0:
            delivered(table, run, out, t)
    for p in range(run.processes):
        along(run, out, p)
        if run.length[p] > 1:
            for q in range(run.processes):
                if p != q and run.place[q][run.sequence[p][1]] >= 0:
                    met(out, TOTAL_ORDER)
    if run.late != 0 or not one_sequence(run, out):
        po_causal(run, out)
    strict(table, run, out)
    primary_integrity(run, out)
    if run.leader_count > 0:
        later_histories(table, run, out, end)
    if run.repeats != 0:
        for k in range(run.abcast_count):
            before_itself(run, out, k)


def delivered(table: Table, run: JudgedRun, out: RunReport, t: int) -> None:
    """Check that t, which was delivered, was abcast before and is chosen."""
    row = run.first_row[t]
    by = run.abcast_row[t]
    met(out, INTEGRITY)
    if by < 0 or table.time[by] > table.time[row]:
        broke(out, INTEGRITY, row, row, by, -1, -1)
    if by >= 0:
        met(out, DELIVERED_IS_CHOSEN)
        chosen = run.chosen_row[t]
        if chosen < 0 or (table.time[row] < table.time[chosen] and table.time[by] < table.time[chosen]):
            broke(out, DELIVERED_IS_CHOSEN, max(row, by), row, chosen, -1, -1)


def one_sequence(run: JudgedRun, out: RunReport) -> bool:
    """Return whether the deliveries of all processes are prefixes of one sequence."""
    if is_broken(out, TOTAL_ORDER):
        return False
    for p in range(run.processes):
        for q in range(p):
            if run.same[p][q] != min(run.length[p], run.length[q]):
                return False
    return True


def along(run: JudgedRun, out: RunReport, p: int) -> None:
    """Check the properties that are visible along the sequence of p's deliveries."""
    least = NEVER  # the least and the greatest of the epochs so far, with the delivery and the abcast that give it
    greatest = NULL
    high_row = -1
    high_by = -1
    for s in range(run.processes):
        run.server[s] = -1
    sent = 0  # so far, of those that were abcast
    for j in range(run.length[p]):
        t = run.sequence[p][j]
        row = run.row[p][j]
        k = run.sent[t]
        if k >= 0:
            if sent > 0:
                met(out, STRICT_CAUSALITY)
            sent = 1
            low = NEVER
            high = NULL
            low_by = -1
            last = -1
            while k >= 0:
                local_order(run, out, p, j, k)
                if run.led[k] != 0:
                    met(out, PO_CAUSAL_ORDER)
                e = run.led_epoch[k]
                if e >= 0:
                    if run.epochs.a[e] <= low:
                        low = run.epochs.a[e]
                        low_by = run.sent_row[k]
                    if run.epochs.a[e] >= high:
                        high = run.epochs.a[e]
                        last = run.sent_row[k]
                if run.primary[k] >= 0:
                    of_server(run, out, p, j, k)
                k = run.again[k]
            if low < greatest or high > least:
                met(out, GLOBAL_PRIMARY_ORDER)
                met(out, CAUSAL_ORDER)
            if low < greatest:
                by = max(low_by, high_by)
                by = max(by, row)
                broke(out, GLOBAL_PRIMARY_ORDER, by, high_row, row, low_by, -1)
                broke(out, CAUSAL_ORDER, by, high_row, row, low_by, -1)
            least = min(least, low)
            if high > greatest:
                greatest = high
                high_row = row
                high_by = last
            k = run.sent[t]
            while k >= 0:
                if run.primary[k] >= 0:
                    run.server[run.primary[k]] = max(run.server[run.primary[k]], k)
                k = run.again[k]


def local_order(run: JudgedRun, out: RunReport, p: int, j: int, k: int) -> None:
    """Check that p had delivered the earlier abcasts of the instance of abcast k, which it delivered in place j."""
    before = run.before[k]
    if before >= 0:
        met(out, LOCAL_PRIMARY_ORDER)
        met(out, PREFIX)
        at = run.place[p][run.abcasts[before]]
        if at < 0 or at > j:
            row = run.row[p][j]
            by = run.sent_row[k]
            other = run.row[p][at] if at >= 0 else -1
            broke(out, LOCAL_PRIMARY_ORDER, max(row, by), run.sent_row[before], by, row, other)
            broke(out, PO_CAUSAL_ORDER, max(row, by), run.sent_row[before], by, row, other)


def of_server(run: JudgedRun, out: RunReport, p: int, j: int, k: int) -> None:
    """Check that the abcasts of one process are delivered in their order."""
    latest = run.server[run.primary[k]]
    if latest >= 0:
        met(out, CAUSAL_ORDER)
        if latest > k:
            row = run.row[p][j]
            abcast = max(run.sent_row[k], run.sent_row[latest])
            other = run.row[p][run.place[p][run.abcasts[latest]]]
            broke(out, CAUSAL_ORDER, max(row, abcast), other, row, run.sent_row[k], -1)


def before_itself(run: JudgedRun, out: RunReport, k: int) -> None:
    """Clear the premises that fail if abcast k orders a delivered transaction before itself.

    The papers assume that a transaction is abcast once.
    """
    t = run.abcasts[k]
    other = run.again[k]
    while other >= 0 and run.first_row[t] >= 0:
        p = run.primary[k]
        if run.instance[other] == run.instance[k]:
            unmet(out, LOCAL_PRIMARY_ORDER)
            unmet(out, PREFIX)
            unmet(out, PO_CAUSAL_ORDER)
        if p >= 0 and run.place[p][t] >= 0 and run.place[p][t] < run.after[k]:
            unmet(out, PO_CAUSAL_ORDER)
        if run.led_epoch[other] != run.led_epoch[k] and run.led_epoch[other] >= 0 and run.led_epoch[k] >= 0:
            unmet(out, GLOBAL_PRIMARY_ORDER)
            unmet(out, CAUSAL_ORDER)
        if p >= 0 and run.primary[other] == p:
            unmet(out, CAUSAL_ORDER)
        other = run.again[other]


def unmet(out: RunReport, k: int) -> None:
    """Clear the premise of property k, whatever else was seen."""
    out.met = out.met & (-1 ^ (1 << k))
