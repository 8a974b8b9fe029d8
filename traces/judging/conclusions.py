"""What is judged when a run has been read: the properties that stay broken once they are, in the kernel language.

Here the sequences of deliveries are gone along; `causality.py`, `primaries.py` and `quorums.py` have the rest.
"""

from __future__ import annotations

from traces.judging.causality import po_causal, strict
from traces.judging.memory import JudgedRun, RunReport, Table, broke, epoch_of, is_broken, met, primary_of
from traces.judging.numbers import (
    CAUSAL_ORDER,
    DELIVERED_IS_CHOSEN,
    G_WHO,
    GLOBAL_PRIMARY_ORDER,
    INTEGRITY,
    LOCAL_PRIMARY_ORDER,
    NULL,
    PO_CAUSAL_ORDER,
    PREFIX,
    STRICT_CAUSALITY,
    TOTAL_ORDER,
)
from traces.judging.primaries import primary_integrity
from traces.judging.quorums import later_histories


def conclude(table: Table, run: JudgedRun, out: RunReport, end: int) -> None:
    """The properties that, once broken, stay so: judged over all that was kept of the run, which ends before `end`."""
    for t in range(run.txns.count):
        if run.first_row[t] >= 0:
            delivered(table, run, out, t)
    for p in range(run.processes):
        along(run, out, p)
        if run.length[p] > 1:
            for q in range(run.processes):
                if p != q and run.place[q][run.sequence[p][1]] >= 0:
                    met(out, TOTAL_ORDER)
    if ((out.unknown >> G_WHO) & 1) == 0:
        if run.late != 0 or not one_sequence(run, out):
            po_causal(run, out)
        strict(run, out)
        primary_integrity(run, out)
    if run.leader_count > 0:
        later_histories(table, run, out, end)


def delivered(table: Table, run: JudgedRun, out: RunReport, t: int) -> None:
    """Whether t, which was delivered, was abcast before and is chosen."""
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
    """Whether what any process delivered is the beginning of one sequence."""
    if is_broken(out, TOTAL_ORDER):
        return False
    for p in range(run.processes):
        for q in range(p):
            if run.same[p][q] != min(run.length[p], run.length[q]):
                return False
    return True


def along(run: JudgedRun, out: RunReport, p: int) -> None:
    """What is to be seen along the sequence that p delivered."""
    highest = NULL
    high_row = -1
    for s in range(run.processes):
        run.server[s] = -1
    first = -1  # of those that were abcast
    for j in range(run.length[p]):
        t = run.sequence[p][j]
        row = run.row[p][j]
        epoch = epoch_of(run, t)
        by = run.abcast_row[t]
        if by >= 0:
            if first >= 0:
                met(out, STRICT_CAUSALITY)
                if epoch != epoch_of(run, first):
                    met(out, GLOBAL_PRIMARY_ORDER)
                    met(out, CAUSAL_ORDER)
            else:
                first = t
            local_order(run, out, p, j)
            if run.led[t] != 0:
                met(out, PO_CAUSAL_ORDER)
            if epoch < highest:
                broke(out, GLOBAL_PRIMARY_ORDER, max(row, by), high_row, row, by, -1)
                broke(out, CAUSAL_ORDER, max(row, by), high_row, row, by, -1)
            if epoch > highest:
                highest = epoch
                high_row = row
            if run.instance[t] >= 0:
                of_server(run, out, p, j)


def local_order(run: JudgedRun, out: RunReport, p: int, j: int) -> None:
    """Whether p has delivered what its instance abcast just before the transaction that p delivered in place j."""
    t = run.sequence[p][j]
    row = run.row[p][j]
    by = run.abcast_row[t]
    before = run.before[t]
    if before >= 0:
        met(out, LOCAL_PRIMARY_ORDER)
        met(out, PREFIX)
        at = run.place[p][before]
        if at < 0 or at > j:
            other = run.row[p][at] if at >= 0 else -1
            broke(out, LOCAL_PRIMARY_ORDER, max(row, by), run.abcast_row[before], by, row, other)
            broke(out, PO_CAUSAL_ORDER, max(row, by), run.abcast_row[before], by, row, other)


def of_server(run: JudgedRun, out: RunReport, p: int, j: int) -> None:
    """Whether what one process abcast is delivered in the order of its abcasts."""
    t = run.sequence[p][j]
    s = primary_of(run, t)
    latest = run.server[s]
    if latest >= 0:
        met(out, CAUSAL_ORDER)
    if latest >= 0 and run.order[run.sequence[p][latest]] > run.order[t]:
        row = run.row[p][j]
        by = run.abcast_row[t]
        broke(out, CAUSAL_ORDER, max(row, by), run.row[p][latest], row, by, -1)
    else:
        run.server[s] = j
