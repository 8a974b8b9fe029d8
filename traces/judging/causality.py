"""PO causal order and strict causality of a run, in the kernel language."""

from __future__ import annotations

from traces.judging.memory import JudgedRun, RunReport, broke, primary_of, row_of
from traces.judging.numbers import NEVER, PO_CAUSAL_ORDER, STRICT_CAUSALITY

# --- PO causal order -------------------------------------------------------------------------------


def po_causal(run: JudgedRun, out: RunReport) -> None:
    """PO causal order where what was delivered is not one sequence: what a primary had delivered
    before an abcast, who delivers that must have delivered before it."""
    for q in range(run.processes):
        i = 0
        for p in range(run.processes):
            run.farthest[p] = -1
            run.which[p] = -1
        for k in range(run.abcast_count):
            u = run.abcasts[k]
            if primary_of(run, u) == q:
                if run.late != 0:
                    i = 0
                while i < run.after[u]:
                    t = run.sequence[q][i]
                    i = i + 1
                    if run.abcast_row[t] >= 0 and run.order[t] < k:
                        precedes_what_follows(run, t)
                for p in range(run.processes):
                    delivered_in_order(run, out, p, u)


def precedes_what_follows(run: JudgedRun, t: int) -> None:
    """t precedes what is abcast from now on: of what does, each process delivered which the last."""
    for p in range(run.processes):
        at = run.place[p][t]
        if at < 0:
            at = NEVER
        if at > run.farthest[p]:
            run.farthest[p] = at
            run.which[p] = t


def delivered_in_order(run: JudgedRun, out: RunReport, p: int, u: int) -> None:
    """Whether p, if it delivered u, delivered what precedes it before."""
    j = run.place[p][u]
    if j >= 0 and run.farthest[p] > j:
        t = run.which[p]
        row = run.row[p][j]
        by = run.abcast_row[u]
        broke(out, PO_CAUSAL_ORDER, max(row, by), run.abcast_row[t], by, row, row_of(run, p, t))


# --- strict causality ------------------------------------------------------------------------------


def strict(run: JudgedRun, out: RunReport) -> None:
    """Strict causality. What is broken stays so: the delivery by which it first was is found by halving."""
    for p in range(run.processes):
        high = run.length[p]
        if high > 1 and unrelated(run, p, high) >= 0:
            low = 1
            while high - low > 1:
                middle = (low + high) >> 1
                if unrelated(run, p, middle) >= 0:
                    high = middle
                else:
                    low = middle
            u = unrelated(run, p, high)
            t = run.which[p]
            a = row_of(run, p, t)
            b = row_of(run, p, u)
            delivered = max(a, b)
            abcast = max(run.abcast_row[t], run.abcast_row[u])
            by = max(delivered, abcast)
            broke(out, STRICT_CAUSALITY, by, min(a, b), delivered, run.abcast_row[t], run.abcast_row[u])


def unrelated(run: JudgedRun, p: int, length: int) -> int:
    """Of what p delivered first, so many, a transaction that the one abcast before it (which `run.which[p]` is told)
    does not PO-precede; -1: there is none, and so any two are related, since chains join up."""
    last = -1
    for k in range(run.abcast_count):
        u = run.abcasts[k]
        j = run.place[p][u]
        if j >= 0 and j < length:
            if last >= 0 and not directly(run, last, u):
                if not precedes(run, last, u):
                    run.which[p] = last
                    return u
            last = u
    return -1


def directly(run: JudgedRun, t: int, u: int) -> bool:
    """Whether t, which was abcast earlier, PO-precedes u without anything in between."""
    if run.instance[t] == run.instance[u]:
        return True
    at = run.place[primary_of(run, u)][t]
    return at >= 0 and at < run.after[u]


def precedes(run: JudgedRun, t: int, u: int) -> bool:
    """Whether t PO-precedes u, through whatever chain: everything that precedes u is visited."""
    run.searches = run.searches + 1  # each has marks of its own: what one has seen another may yet have to visit
    stamp = run.searches
    for p in range(run.processes):
        run.scanned[p] = 0
    run.stack[0] = u
    run.mark[u] = stamp
    depth = 1
    since = run.order[t]
    while depth > 0:
        depth = depth - 1
        x = run.stack[depth]
        if x == t:
            return True
        before = run.before[x]
        if before >= 0 and run.mark[before] != stamp and run.order[before] >= since:
            run.mark[before] = stamp
            run.stack[depth] = before
            depth = depth + 1
        q = primary_of(run, x)
        i = 0 if run.late != 0 else run.scanned[q]
        while i < run.after[x]:
            y = run.sequence[q][i]
            if run.abcast_row[y] >= 0 and run.mark[y] != stamp:
                if run.order[y] < run.order[x] and run.order[y] >= since:
                    run.mark[y] = stamp
                    run.stack[depth] = y
                    depth = depth + 1
            i = i + 1
        run.scanned[q] = max(run.scanned[q], i)
    return False
