"""Primary integrity of a run, in the kernel language."""

from __future__ import annotations

from traces.judging.memory import JudgedRun, RunReport, broke, epoch_of, intern, is_broken, met, primary_of
from traces.judging.numbers import NEVER, NULL, PRIMARY_INTEGRITY


def primary_integrity(run: JudgedRun, out: RunReport) -> None:
    """Whether every primary had delivered, when it abcast, what anyone delivers of an epoch before."""
    least = NEVER  # of the epochs of which anything is delivered that was abcast
    for t in range(run.txns.count):
        if run.first_row[t] >= 0 and run.abcast_row[t] >= 0:
            least = min(least, epoch_of(run, t))
    greatest = NULL  # of those in which anything is abcast
    for e in range(run.epochs.count):
        if run.epoch_abcasts[e] > 0:
            greatest = max(greatest, run.epochs.a[e])
    if greatest > least and least != NEVER:
        met(out, PRIMARY_INTEGRITY)
        sort_epochs(run)
        for p in range(run.processes):
            if leads(run, p):
                find_reach(run, p)
                of_primary(run, out, p)


def sort_epochs(run: JudgedRun) -> None:
    """The numbers of the epochs by what they are, least first (Shell's sort)."""
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
    """Whether p ever abcasts."""
    for k in range(run.abcast_count):
        if primary_of(run, run.abcasts[k]) == p:
            return True
    return False


def find_reach(run: JudgedRun, p: int) -> None:
    """Of each epoch the farthest place at which p delivered anything of an epoch before it; NEVER: it lacks
    something of them; -1: there is nothing."""
    for e in range(run.epochs.count):
        run.reach[e] = -1
    for k in range(run.abcast_count):
        t = run.abcasts[k]
        if run.first_row[t] >= 0:
            e = intern(run.epochs, epoch_of(run, t), 0, 0, 0)
            at = run.place[p][t]
            run.reach[e] = max(run.reach[e], at if at >= 0 else NEVER)
    reach = -1
    for k in range(run.epochs.count):
        e = run.sorted[k]
        own = run.reach[e]
        run.reach[e] = reach
        reach = max(reach, own)


def of_primary(run: JudgedRun, out: RunReport, p: int) -> None:
    """Whether p, when it abcast, had delivered so far: until what it abcast would be broken later than is known."""
    for k in range(run.abcast_count):
        u = run.abcasts[k]
        if primary_of(run, u) == p:
            if is_broken(out, PRIMARY_INTEGRITY) and run.abcast_row[u] >= out.by[PRIMARY_INTEGRITY]:
                return
            e = intern(run.epochs, epoch_of(run, u), 0, 0, 0)
            if run.reach[e] >= run.after[u]:
                undelivered(run, out, p, u)
                run.reach[e] = -1  # what it abcasts later in this epoch breaks nothing earlier


def undelivered(run: JudgedRun, out: RunReport, p: int, u: int) -> None:
    """Something of an earlier epoch than u's is delivered, and p had not when it abcast u: which."""
    best = NEVER
    which = -1
    for t in range(run.txns.count):
        if run.first_row[t] >= 0 and run.abcast_row[t] >= 0 and epoch_of(run, t) < epoch_of(run, u):
            at = run.place[p][t]
            if at < 0 or at >= run.after[u]:
                if max(run.first_row[t], run.abcast_row[t]) < best:
                    best = max(run.first_row[t], run.abcast_row[t])
                    which = t
    if which >= 0:
        at = run.place[p][which]
        own = run.row[p][at] if at >= 0 else -1
        by = run.abcast_row[u]
        broke(
            out, PRIMARY_INTEGRITY, max(best, by), run.abcast_row[which], run.first_row[which], by, own
        )  # fmt: skip
