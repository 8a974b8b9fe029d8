"""Check primary integrity of a run, in the kernel language."""

from __future__ import annotations

from traces.judging.memory import JudgedRun, RunReport, broke, is_broken, met
from traces.judging.numbers import NEVER, NULL, PRIMARY_INTEGRITY


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
