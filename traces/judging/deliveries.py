"""Compare deliveries while a run is read, and check properties at the end of each moment, in the kernel language."""

from __future__ import annotations

from traces.judging.memory import JudgedRun, RunReport, broke, is_broken, met, row_of
from traces.judging.numbers import AGREEMENT, PREFIX, TOTAL_ORDER
from zabspec.language.layout.wrapping import shl


def gaps_more(run: JudgedRun, p: int, k: int) -> int:
    """Count that p delivered the transaction of abcast k; return by how much the number of gaps at p grows.

    There is at most one gap per instance; the result may be negative.
    """
    i = run.instance[k]
    before = 1 if run.reached[p][i] > run.delivered[p][i] else 0
    run.delivered[p][i] = run.delivered[p][i] + 1
    run.reached[p][i] = max(run.reached[p][i], run.nth[k] + 1)
    after = 1 if run.reached[p][i] > run.delivered[p][i] else 0
    return after - before


def first_delivery(run: JudgedRun, out: RunReport, row: int, p: int, t: int) -> None:
    """Record the first delivery of t by p, and compare it with the deliveries of every other process."""
    j = run.length[p]
    run.length[p] = j + 1
    run.place[p][t] = j
    run.sequence[p][j] = t
    run.row[p][j] = row
    if run.first_row[t] < 0:
        run.first_row[t] = row
    for q in range(run.processes):
        if q != p:
            other = run.place[q][t]
            if other >= 0:
                run.lacks[p][q] = run.lacks[p][q] - 1
                same = run.same[p][q]
                if other != j or same < j:
                    disorder(run, out, row, p, q, t, same)
                else:
                    run.same[p][q] = j + 1
                    run.same[q][p] = j + 1
            else:
                run.lacks[q][p] = run.lacks[q][p] + 1


def disorder(run: JudgedRun, out: RunReport, row: int, p: int, q: int, t: int, same: int) -> None:
    """Record that p and q both delivered t after different prefixes, with one transaction that differs."""
    a = p
    b = q
    if same >= run.place[p][t]:  # q delivered more before t than p
        a = q
        b = p
    x = run.sequence[a][same]
    broke(out, TOTAL_ORDER, row, run.row[a][same], row_of(run, a, t), row_of(run, b, t), row_of(run, b, x))


def diverge(run: JudgedRun, out: RunReport, row: int, p: int, earlier: int) -> None:
    """Record that a pass of p is not prefix-compatible with an earlier one, or delivers something twice.

    If a row did not name its pass, p may have begun another pass, and nothing is violated for certain.
    """
    if ((run.unpassed >> p) & 1) == 0:
        broke(out, TOTAL_ORDER, row, earlier, row, -1, -1)
        broke(out, AGREEMENT, row, earlier, row, -1, -1)
    run.astray = run.astray | shl(1, p)


# --- the end of a moment -----------------------------------------------------------------------------


def end_moment(run: JudgedRun, out: RunReport, row: int) -> None:
    """Check what must hold at the end of every moment, and may be repaired in a later one."""
    for p in range(run.processes):
        if ((run.dirty >> p) & 1) == 1:
            agreed(run, out, row, p)
    if run.gaps > 0 and not is_broken(out, PREFIX):
        gap(run, out, row)


def agreed(run: JudgedRun, out: RunReport, row: int, p: int) -> None:
    """Check that the deliveries of p agree with those of every other process."""
    for q in range(run.processes):
        if run.lacks[q][p] > 0 and p != q:  # p has more than q
            if run.length[q] > 0:
                met(out, AGREEMENT)
            if run.lacks[p][q] > 0 and not is_broken(out, AGREEMENT):
                broke(out, AGREEMENT, row, only(run, p, q), only(run, q, p), -1, -1)
        if run.lacks[p][q] > 0 and run.length[p] > 0:
            met(out, AGREEMENT)


def only(run: JudgedRun, p: int, q: int) -> int:
    """Return the row of p's first delivery that q has not made; -1 if there is none."""
    for j in range(run.length[p]):
        if run.place[q][run.sequence[p][j]] < 0:
            return run.row[p][j]
    return -1


def gap(run: JudgedRun, out: RunReport, row: int) -> None:
    """Report which process delivered a transaction of an instance without an earlier one."""
    for p in range(run.processes):
        for i in range(run.instances.count):
            if run.reached[p][i] > run.delivered[p][i]:
                k = run.latest[i]
                later = -1
                while k >= 0:
                    if run.place[p][run.abcasts[k]] >= 0:
                        later = k
                    elif later >= 0:
                        had = row_of(run, p, run.abcasts[later])
                        broke(out, PREFIX, row, run.sent_row[k], run.sent_row[later], had, -1)
                        return
                    k = run.before[k]
