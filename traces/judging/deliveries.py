# mypy: ignore-errors
"""Deliveries compared while a run is read, and what is judged at the end of every moment, in the kernel
language."""

from __future__ import annotations

from traces.judging.planes import (
    AB_BEFORE,
    AB_INSTANCE,
    AB_PLACE,
    AB_ROW,
    AGREEMENT,
    BROKEN,
    COMPARED,
    FIRST_ROW,
    I_LAST,
    LACKS,
    LENGTH,
    MET,
    MOST,
    PLANES,
    PREFIX,
    SAME,
    TOTAL_ORDER,
    broke,
)
from zabspec.language.lang import Words


def has_gap(w: Words, cap: int, processes: int, p: int, t: int) -> int:
    """Count that p delivered abcast t; how many instances more (or less) now have a gap at p."""
    i = w[AB_INSTANCE * cap + t]
    if i < 0:
        return 0
    count = (PLANES + 3 * processes + p) * cap + i
    most = (PLANES + 4 * processes + p) * cap + i
    before = 1 if w[most] > w[count] else 0
    w[count] = w[count] + 1
    w[most] = max(w[most], w[AB_PLACE * cap + t] + 1)
    after = 1 if w[most] > w[count] else 0
    return after - before


def first_delivery(w: Words, cap: int, processes: int, v: Words, p: int, t: int, row: int, out: Words) -> None:
    """p delivers t, for the first time: compare with what every other process delivered."""
    j = v[LENGTH + p]
    v[LENGTH + p] = j + 1
    w[(PLANES + p) * cap + t] = j
    w[(PLANES + processes + p) * cap + j] = t
    w[(PLANES + 2 * processes + p) * cap + j] = row
    if w[FIRST_ROW * cap + t] < 0:
        w[FIRST_ROW * cap + t] = row
    for q in range(processes):
        if q != p:
            other = w[(PLANES + q) * cap + t]
            if other >= 0:
                v[LACKS + p * MOST + q] = v[LACKS + p * MOST + q] - 1
                same = v[SAME + p * MOST + q]
                if other != j or same < j:
                    disorder(w, cap, processes, p, q, t, same, row, out)
                else:
                    v[SAME + p * MOST + q] = j + 1
                    v[SAME + q * MOST + p] = j + 1
            else:
                v[LACKS + q * MOST + p] = v[LACKS + q * MOST + p] + 1


def disorder(w: Words, cap: int, processes: int, p: int, q: int, t: int, same: int, row: int, out: Words) -> None:
    """p and q have both delivered t, and not the same before it: name one transaction that differs."""
    j = w[(PLANES + p) * cap + t]
    other = w[(PLANES + q) * cap + t]
    a = p
    b = q
    if same >= j:  # q delivered more before t than p
        a = q
        b = p
        j = other
    x = w[(PLANES + processes + a) * cap + same]
    late = w[(PLANES + b) * cap + x]
    broke(
        out, TOTAL_ORDER, row,
        w[(PLANES + 2 * processes + a) * cap + same],
        w[(PLANES + 2 * processes + a) * cap + j],
        w[(PLANES + 2 * processes + b) * cap + w[(PLANES + b) * cap + t]],
        w[(PLANES + 2 * processes + b) * cap + late] if late >= 0 else -1,
    )  # fmt: skip


def end_moment(
    w: Words, cap: int, processes: int, v: Words, dirty: int, gaps: int, instances: int, row: int, out: Words
) -> None:
    """What must hold at the end of every moment, and may be mended in a later one."""
    for p in range(processes):
        if ((dirty >> p) & 1) == 1:
            for q in range(processes):
                if v[LACKS + q * MOST + p] > 0 and p != q:  # p has more than q
                    if v[LENGTH + q] > 0:
                        out[MET] = out[MET] | (1 << AGREEMENT)
                    if v[LACKS + p * MOST + q] > 0 and ((out[BROKEN] >> AGREEMENT) & 1) == 0:
                        broke(
                            out, AGREEMENT, row, only(w, cap, processes, v, p, q), only(w, cap, processes, v, q, p),
                            -1, -1,
                        )  # fmt: skip
                if v[LACKS + p * MOST + q] > 0 and v[LENGTH + p] > 0:
                    out[MET] = out[MET] | (1 << AGREEMENT)
    if gaps > 0 and ((out[BROKEN] >> PREFIX) & 1) == 0:
        gap(w, cap, processes, instances, row, out)


def only(w: Words, cap: int, processes: int, v: Words, p: int, q: int) -> int:
    """The row of the first delivery of p that q has not made."""
    for j in range(v[LENGTH + p]):
        if w[(PLANES + q) * cap + w[(PLANES + processes + p) * cap + j]] < 0:
            return w[(PLANES + 2 * processes + p) * cap + j]
    return -1


def gap(w: Words, cap: int, processes: int, instances: int, row: int, out: Words) -> None:
    """Some process has delivered of some instance a transaction without an earlier one: which."""
    for p in range(processes):
        for i in range(instances):
            count = w[(PLANES + 3 * processes + p) * cap + i]
            if w[(PLANES + 4 * processes + p) * cap + i] > count:
                t = w[I_LAST * cap + i]
                later = -1
                while t >= 0:
                    at = w[(PLANES + p) * cap + t]
                    if at >= 0:
                        later = t
                    elif later >= 0:
                        place = w[(PLANES + p) * cap + later]
                        broke(
                            out, PREFIX, row, w[AB_ROW * cap + t], w[AB_ROW * cap + later],
                            w[(PLANES + 2 * processes + p) * cap + place], -1,
                        )  # fmt: skip
                        return
                    t = w[AB_BEFORE * cap + t]


def diverge(out: Words, row: int, earlier: int) -> None:
    """A pass that is not prefix-compatible with an earlier one, or delivers something twice."""
    broke(out, TOTAL_ORDER, row, earlier, row, -1, -1)
    broke(out, AGREEMENT, row, earlier, row, -1, -1)


def stood(w: Words, cap: int, processes: int, v: Words, p: int) -> int:
    """The row in which p delivered the entry of its history that is to be compared next."""
    k = v[COMPARED + p]
    if k < v[LENGTH + p]:
        return w[(PLANES + 2 * processes + p) * cap + k]
    return -1


# --- when the run is over ------------------------------------------------------------------------
