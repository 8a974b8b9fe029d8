"""Check, after a run has been read, the properties that stay violated once they are, in the kernel language.

This file walks along the sequences of deliveries; `causality.py`, `primaries.py` and `quorums.py` have the rest.
"""

from __future__ import annotations

from traces.judging.causality import po_causal, strict
from traces.judging.memory import JudgedRun, RunReport, Table, broke, is_broken, met
from traces.judging.numbers import (
    CAUSAL_ORDER,
    DELIVERED_IS_CHOSEN,
    GLOBAL_PRIMARY_ORDER,
    INTEGRITY,
    LOCAL_PRIMARY_ORDER,
    NEVER,
    NULL,
    PO_CAUSAL_ORDER,
    PREFIX,
    STRICT_CAUSALITY,
    TOTAL_ORDER,
)
from traces.judging.primaries import primary_integrity
from traces.judging.quorums import later_histories


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
