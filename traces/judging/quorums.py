"""Check that the initial histories of epochs contain what was chosen before, in the kernel language."""

from __future__ import annotations

from traces.judging.memory import JudgedRun, RunReport, Table, broke, intern, met
from traces.judging.numbers import CHOSEN_IN_LATER_HISTORIES, INITIAL, NEVER


def later_histories(table: Table, run: JudgedRun, out: RunReport, end: int) -> None:
    """Check that each initial history contains what was chosen in earlier epochs, from the latest epoch down."""
    left = gather_chosen(run)
    sort_leaders(table, run)
    for i in range(left):
        if table.primary_epoch[run.leaders[0]] > run.chosen_epoch[run.stack[i]]:
            met(out, CHOSEN_IN_LATER_HISTORIES)
    for k in range(run.leader_count):
        leader = run.leaders[k]
        row = leader + 1
        while row < end and table.meaning[table.kind[row]] == INITIAL:
            t = intern(run.txns, table.identity[row], table.epoch[row], table.counter[row], table.digest[row])
            run.mark[t] = k
            row = row + 1
        left = lacking(run, out, k, leader, table.primary_epoch[leader], left)


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


def lacking(run: JudgedRun, out: RunReport, k: int, leader: int, epoch: int, left: int) -> int:
    """Find the transactions on the stack, chosen before an epoch, that leader k's initial history (marked k) lacks.

    All that were chosen before stay on the stack, including the missing ones: they may have been in the history of an
    earlier epoch.

    Returns:
        How many stay.
    """
    kept = 0
    for i in range(left):
        t = run.stack[i]
        if run.chosen_epoch[t] < epoch:
            run.stack[kept] = t
            kept = kept + 1
            if run.mark[t] != k:
                chosen = chosen_row(run, t, epoch)
                by = max(leader, run.abcast_row[t])
                broke(out, CHOSEN_IN_LATER_HISTORIES, max(by, chosen), chosen, leader, run.abcast_row[t], -1)
    return kept


def chosen_row(run: JudgedRun, t: int, epoch: int) -> int:
    """Return the row by which a transaction was first chosen in an epoch before this one; there must be one."""
    a = run.chosen_by[t]
    above = run.above[a]
    while above >= 0 and run.acceptances.b[above] < epoch:
        a = above
        above = run.above[a]
    return run.quorum_row[a]
