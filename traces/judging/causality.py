"""Check PO causal order and strict causality of a run, in the kernel language."""

from __future__ import annotations

from traces.judging.memory import JudgedRun, RunReport, Table, broke, is_broken, leaves_open, row_of
from traces.judging.numbers import G_MANY, NEVER, PO_CAUSAL_ORDER, STRICT_CAUSALITY

MOST_WORK = 1 << 26  # deliveries that searches for chains look at where every two transactions are compared

# --- PO causal order -------------------------------------------------------------------------------


def po_causal(run: JudgedRun, out: RunReport) -> None:
    """Check PO causal order where what was delivered is not one sequence.

    A process that delivers an abcast must have delivered before it what its primary had delivered before the abcast.
    """
    for q in range(run.processes):
        i = 0
        for p in range(run.processes):
            run.farthest[p] = -1
            run.which[p] = -1
        for k in range(run.abcast_count):
            if run.primary[k] == q:
                if run.late != 0:
                    i = 0
                while i < run.after[k]:
                    t = run.sequence[q][i]
                    i = i + 1
                    if run.order[t] < k:
                        precedes_what_follows(run, t)
                for p in range(run.processes):
                    delivered_in_order(run, out, p, k)


def precedes_what_follows(run: JudgedRun, t: int) -> None:
    """Record that t precedes later abcasts: for each process, the last delivery among what precedes them."""
    for p in range(run.processes):
        at = run.place[p][t]
        if at < 0:
            at = NEVER
        if at > run.farthest[p]:
            run.farthest[p] = at
            run.which[p] = t


def delivered_in_order(run: JudgedRun, out: RunReport, p: int, k: int) -> None:
    """Return whether p, if it delivered the transaction of abcast k, delivered before it what precedes it."""
    j = run.place[p][run.abcasts[k]]
    if j >= 0 and run.farthest[p] > j:
        t = run.which[p]
        row = run.row[p][j]
        by = run.sent_row[k]
        broke(out, PO_CAUSAL_ORDER, max(row, by), run.abcast_row[t], by, row, row_of(run, p, t))


# --- strict causality ------------------------------------------------------------------------------


def strict(table: Table, run: JudgedRun, out: RunReport) -> None:
    """Check strict causality."""
    for p in range(run.processes):
        if run.length[p] > 1 and unrelated(run, p, run.length[p]) >= 0:
            if run.repeats != 0:
                every_two(table, run, out, p)
            else:
                first_unrelated(run, out, p)
    if run.repeats != 0 and run.work > MOST_WORK:
        leaves_open(out, G_MANY)


def first_unrelated(run: JudgedRun, out: RunReport, p: int) -> None:
    """Find by bisection the delivery by which p first violated strict causality, which stays violated."""
    low = 1
    high = run.length[p]
    while high - low > 1:
        middle = (low + high) >> 1
        if unrelated(run, p, middle) >= 0:
            high = middle
        else:
            low = middle
    u = unrelated(run, p, high)
    unrelated_pair(run, out, p, run.which[p], u)


def unrelated_pair(run: JudgedRun, out: RunReport, p: int, t: int, u: int) -> None:
    """Record that neither of two transactions that p delivered PO-precedes the other."""
    a = row_of(run, p, t)
    b = row_of(run, p, u)
    delivered = max(a, b)
    abcast = max(run.abcast_row[t], run.abcast_row[u])
    broke(
        out, STRICT_CAUSALITY, max(delivered, abcast), min(a, b), delivered, run.abcast_row[t], run.abcast_row[u]
    )  # fmt: skip


def unrelated(run: JudgedRun, p: int, length: int) -> int:
    """Return a transaction among p's first `length` deliveries that the previous abcast does not PO-precede.

    `run.which[p]` becomes that previous one. The result is -1 if there is none: then any two are related, since chains
    join up. Of each transaction the first abcast counts.
    """
    last = -1
    for k in range(run.abcast_count):
        u = run.abcasts[k]
        j = run.place[p][u]
        if j >= 0 and j < length and run.order[u] == k:
            if run.repeats != 0 and run.work > MOST_WORK:
                return -1  # it takes too long, which `strict` says
            if last >= 0 and not directly(run, last, k):
                if not precedes(run, last, k):
                    run.which[p] = run.abcasts[last]
                    return u
            last = k
    return -1


def directly(run: JudgedRun, a: int, b: int) -> bool:
    """Return whether abcast a, the earlier one, PO-precedes abcast b without an intermediate."""
    if run.instance[a] == run.instance[b]:
        return True
    if run.primary[b] < 0:
        return False
    at = run.place[run.primary[b]][run.abcasts[a]]
    return at >= 0 and at < run.after[b]


def precedes(run: JudgedRun, a: int, b: int) -> bool:
    """Return whether abcast a PO-precedes abcast b, through any chain.

    Everything that precedes b is visited, all of it if a is -1, and marked in `run.seen`.
    """
    since = max(a, 0)
    run.searches = run.searches + 1  # each has marks of its own: what one has seen another may yet have to visit
    stamp = run.searches
    for p in range(run.processes):
        run.scanned[p] = 0
    run.stack[0] = b
    run.seen[b] = stamp
    depth = 1
    while depth > 0:
        depth = depth - 1
        x = run.stack[depth]
        if x == a:
            return True
        before = run.before[x]
        if before >= since and run.seen[before] != stamp:
            run.seen[before] = stamp
            run.stack[depth] = before
            depth = depth + 1
        q = run.primary[x]
        if q >= 0:
            i = 0 if run.late != 0 else run.scanned[q]
            run.work = run.work + run.after[x] - i
            while i < run.after[x]:
                y = run.sent[run.sequence[q][i]]
                while y >= 0:
                    if y < x and y >= since and run.seen[y] != stamp:
                        run.seen[y] = stamp
                        run.stack[depth] = y
                        depth = depth + 1
                    y = run.again[y]
                i = i + 1
            run.scanned[q] = max(run.scanned[q], i)
    return False


# --- what is abcast again --------------------------------------------------------------------------


def every_two(table: Table, run: JudgedRun, out: RunReport, p: int) -> None:
    """Check strict causality of what p delivered for every two transactions, where some is abcast again.

    A later abcast may repair a violation, and chains by different abcasts of one transaction do not join up.
    """
    for j in range(run.length[p]):
        if run.sent[run.sequence[p][j]] >= 0:
            find_related(run, p, j)
            for i in range(run.length[p]):
                two(table, run, out, p, i, j)
            if run.work > MOST_WORK:
                return


def find_related(run: JudgedRun, p: int, j: int) -> None:
    """Record for each place of p's sequence the row by which it PO-precedes that in place j; NEVER if it does not."""
    for i in range(run.length[p]):
        run.related[i] = NEVER
    k = run.sent[run.sequence[p][j]]
    while k >= 0:
        precedes(run, -1, k)
        for i in range(run.length[p]):
            a = run.sent[run.sequence[p][i]]
            while a >= 0:
                if run.seen[a] == run.searches:
                    run.related[i] = min(run.related[i], run.sent_row[k])
                a = run.again[a]
        k = run.again[k]


def two(table: Table, run: JudgedRun, out: RunReport, p: int, i: int, j: int) -> None:
    """Check whether one of p's deliveries in places i and j PO-precedes the other at the end of their moment.

    The transaction in place i was abcast before.
    """
    t = run.sequence[p][i]
    u = run.sequence[p][j]
    if run.sent[t] >= 0 and run.order[t] < run.order[u]:
        begin = max(run.row[p][i], run.row[p][j])
        begin = max(begin, run.abcast_row[u])
        if is_broken(out, STRICT_CAUSALITY) and begin >= out.by[STRICT_CAUSALITY]:
            return
        if later(table, begin, run.related[i]) and run.work <= MOST_WORK:
            if later(table, begin, related_by(run, u, t)):
                unrelated_pair(run, out, p, t, u)


def later(table: Table, row: int, other: int) -> bool:
    """Return whether a row is of a later moment than one before it, or does not exist."""
    return other == NEVER or (other > row and table.time[other] > table.time[row])


def related_by(run: JudgedRun, t: int, u: int) -> int:
    """Return the row by which t PO-precedes u, by any of their abcasts; NEVER if it does not."""
    row = NEVER
    k = run.sent[u]
    while k >= 0:
        a = run.sent[t]
        while a >= 0:
            if a < k and run.sent_row[k] < row and (directly(run, a, k) or precedes(run, a, k)):
                row = run.sent_row[k]
            a = run.again[a]
        k = run.again[k]
    return row
