# ruff: noqa: F821
# mypy: ignore-errors
"""One run of an event table judged by every property of histories, in the kernel language.

`judge_run` reads the rows of a run once, in order, and then what it has kept of it. For every
property it is exact: the verdict is that of `invariants/` at the end of every moment, a moment
being the rows of one time. `docs/judge.md` says why a few comparisons at each delivery are enough.
"""

from __future__ import annotations

from traces.judging.conclusions import conclude
from traces.judging.deliveries import diverge, end_moment, first_delivery, has_gap, stood
from traces.judging.planes import (
    A_ABOVE,
    A_ROW,
    A_WHO,
    AB_AFTER,
    AB_BEFORE,
    AB_INSTANCE,
    AB_LED,
    AB_ORDER,
    AB_PLACE,
    AB_ROW,
    ABCAST,
    ABCASTS,
    ABCASTS_OF,
    ABDELIVER,
    ACCEPT,
    ACCEPTED,
    ACTIVE,
    ASTRAY_ENTRY,
    BEGIN,
    BROKEN,
    CHOSEN_EPOCH,
    CHOSEN_LEAST,
    CHOSEN_ROW,
    COMPARED,
    E_COUNT,
    E_INSTANCE,
    E_LEADER,
    E_ROW,
    ENTRY,
    EPOCH,
    ERROR,
    ERROR_ROW,
    ESTABLISH,
    FIRST_ROW,
    G_AGAIN,
    G_ATTEMPT,
    G_DIGEST,
    G_DISAGREES,
    G_IDENTITY,
    G_LEADS,
    G_OTHER_EPOCH,
    G_OUTSIDER,
    G_PASS,
    G_PRIMARY,
    G_PROPOSED,
    G_QUORUM,
    G_TIME,
    G_WHO,
    I_COUNT,
    I_LAST,
    IN_PASS,
    INITIAL,
    INSTANCE,
    LACKS,
    LAST,
    LATE_BEGIN,
    LEADERS,
    LENGTH,
    MANY_PROCESSES,
    MET,
    MOST,
    NEVER,
    NO_PROCESS,
    NO_PROCESSES,
    NO_ZXID,
    NODES_OF,
    NULL,
    ONE_LEADER,
    ONE_PRIMARY,
    OTHER,
    OUT_OF_ORDER,
    PASS,
    PASS_BACK,
    PLANES,
    REPLACED,
    REPORT,
    REVISE,
    SAME,
    STACK,
    STANDS,
    TIME_BACK,
    TWO_BEGINS,
    TXN,
    TXNS_OF,
    UNIQUE_ZXID,
    ZXID,
    broke,
    forget_entries,
    half_known,
    intern,
    lacks_word,
    met,
    new_epoch,
    new_instance,
    new_transaction,
    wrong,
)
from zabspec.language.lang import Bytes, Words


def judge_run(
    kinds: Bytes,
    kind_of: Words,
    process: Words,
    position: Words,
    passes: Words,
    primary_epoch: Words,
    attempt: Words,
    epoch: Words,
    counter: Words,
    identity: Words,
    digest: Words,
    index: Words,
    time: Words,
    start: int,
    end: int,
    processes: int,
    w: Words,
    cap: int,
    tables: Words,
    mask: int,
    v: Words,
    out: Words,
) -> int:
    """Judge the run in rows `start` to `end`; returns 0, or -1 if `cap` is too small for it.

    Args:
        kinds: a number of 4 bytes for each row; `kind_of` says which kind that is.
        process ... time: the columns of the table; NULL where they say nothing.
        processes: no process of the run has this number or a higher one.
        w: (PLANES + 5 * processes) planes of `cap` words.
        tables: five tables of `mask + 1` words, all zero; they are left so.
        v: WORK words.
        out: the report.
    """
    for k in range(REPORT):
        out[k] = 0
    for p in range(processes):
        v[LENGTH + p] = 0
        v[PASS + p] = NULL
        v[IN_PASS + p] = 0
        v[LAST + p] = NULL
        v[ACTIVE + p] = 0
        v[REPLACED + p] = 0
        for q in range(processes):
            v[SAME + p * MOST + q] = 0
            v[LACKS + p * MOST + q] = 0
    txns = 0
    instances = 0
    epochs = 0
    zxids = 0
    acceptances = 0
    abcasts = 0
    leaders = 0
    nodes = 0
    full = False
    late = False  # something was delivered before it was abcast
    dirty = 0
    gaps = 0
    replaced = -1  # the process whose replaced history is being read
    replaced_row = -1
    begun = False
    clock = 0  # 1: a row of the history has no time; 2: a row has one
    identities = 0  # the same of the identities of transactions, and of their digests
    digests = 0
    astray = 0  # the processes with a pass that does not agree with an earlier one
    last_kind = OTHER
    last_process = NULL
    now = NULL
    row = start
    while row < end and not full and out[ERROR] == 0:
        if time[row] != NULL and time[row] != now:
            if dirty != 0 or gaps > 0:
                end_moment(w, cap, processes, v, dirty, gaps, instances, row - 1, out)
                dirty = 0
            if time[row] < now:
                wrong(out, TIME_BACK, row)
            now = time[row]
        kind = kind_of[load_half(kinds, 4 * row)]
        p = process[row]
        if p != NULL:
            if p < 0 or p >= MOST:
                wrong(out, MANY_PROCESSES, row)
                break
            if position[row] != NULL:
                if position[row] <= v[LAST + p]:
                    wrong(out, OUT_OF_ORDER, row)
                v[LAST + p] = position[row]
        if replaced >= 0 and kind != ENTRY:
            if v[COMPARED + replaced] < v[REPLACED + replaced]:
                broke(out, STANDS, replaced_row, replaced_row, stood(w, cap, processes, v, replaced), -1, -1)
            replaced = -1
        if kind != BEGIN and time[row] != NULL:
            clock = clock | 2
        if kind == INITIAL and last_kind != ESTABLISH and last_kind != INITIAL:
            wrong(out, ASTRAY_ENTRY, row)
        if kind == ENTRY and ((last_kind != REVISE and last_kind != ENTRY) or p != last_process):
            wrong(out, ASTRAY_ENTRY, row)
        last_kind = kind
        last_process = p
        if kind != OTHER:
            t = -1
            if kind != BEGIN and time[row] == NULL:
                clock = clock | 1
            if p != NULL and nodes > 0 and p >= nodes:
                lacks_word(out, G_OUTSIDER)
            if kind != ESTABLISH and kind != REVISE and kind != BEGIN:
                if epoch[row] == NULL or counter[row] == NULL:
                    wrong(out, NO_ZXID, row)
                    break
                identities = identities | (1 if identity[row] == NULL else 2)
                digests = digests | (1 if digest[row] == NULL else 2)
                t = intern(
                    w, cap, TXN, tables, mask, txns, identity[row], epoch[row], counter[row], digest[row]
                )  # fmt: skip
                if t < 0:
                    full = True
                    break
                if t == txns:
                    txns = txns + 1
                    new_transaction(w, cap, processes, t)
            if p == NULL and kind != ABCAST and kind != BEGIN and kind != ESTABLISH and kind != INITIAL:
                wrong(out, NO_PROCESS, row)
                break
            if kind == ABDELIVER or kind == REVISE:
                if passes[row] == NULL:
                    lacks_word(out, G_PASS)
                elif passes[row] != v[PASS + p]:
                    if passes[row] < v[PASS + p]:
                        wrong(out, PASS_BACK, row)
                    v[PASS + p] = passes[row]
                    v[IN_PASS + p] = 0
            if kind == ABDELIVER:
                place = v[IN_PASS + p]
                v[IN_PASS + p] = place + 1
                before = w[(PLANES + p) * cap + t]
                if place < v[LENGTH + p]:
                    if w[(PLANES + processes + p) * cap + place] != t:
                        diverge(out, row, w[(PLANES + 2 * processes + p) * cap + place])
                        astray = astray | (1 << p)
                elif before >= 0:
                    diverge(out, row, w[(PLANES + 2 * processes + p) * cap + before])
                    astray = astray | (1 << p)
                if before < 0:
                    first_delivery(w, cap, processes, v, p, t, row, out)
                    dirty = dirty | (1 << p)
                    if w[AB_ROW * cap + t] >= 0:
                        v[ACTIVE + p] = v[ACTIVE + p] + 1
                        gaps = gaps + has_gap(w, cap, processes, p, t)
            elif kind == ABCAST:
                if primary_epoch[row] == NULL:
                    lacks_word(out, G_PRIMARY)
                elif primary_epoch[row] != epoch[row]:
                    lacks_word(out, G_OTHER_EPOCH)
                if attempt[row] == NULL:
                    lacks_word(out, G_ATTEMPT)
                if p == NULL:
                    lacks_word(out, G_WHO)
                if w[AB_ROW * cap + t] >= 0:  # the same transaction again
                    lacks_word(out, G_AGAIN)
                    broke(out, UNIQUE_ZXID, row, w[AB_ROW * cap + t], row, -1, -1)
                else:
                    w[AB_ROW * cap + t] = row
                    w[AB_ORDER * cap + t] = abcasts
                    w[ABCASTS * cap + abcasts] = t
                    abcasts = abcasts + 1
                    w[AB_INSTANCE * cap + t] = -1
                    w[AB_BEFORE * cap + t] = -1
                    w[AB_AFTER * cap + t] = 0
                    w[AB_LED * cap + t] = 0
                    e = intern(w, cap, EPOCH, tables, mask, epochs, epoch[row], 0, 0, 0)
                    z = intern(w, cap, ZXID, tables, mask, zxids, 0, epoch[row], counter[row], 0)
                    if e < 0 or z < 0:
                        full = True
                        break
                    if e == epochs:
                        epochs = epochs + 1
                        new_epoch(w, cap, e)
                    if z == zxids:
                        zxids = zxids + 1
                        w[STACK * cap + z] = row
                    else:
                        broke(out, UNIQUE_ZXID, row, w[STACK * cap + z], row, -1, -1)
                    w[E_COUNT * cap + e] = w[E_COUNT * cap + e] + 1
                    if w[E_COUNT * cap + e] > 1:
                        met(out, UNIQUE_ZXID)
                    met(out, ONE_PRIMARY)
                    if p != NULL:
                        i = intern(w, cap, INSTANCE, tables, mask, instances, attempt[row], epoch[row], p, 0)
                        if i < 0:
                            full = True
                            break
                        if i == instances:
                            instances = instances + 1
                            new_instance(w, cap, processes, i)
                        if w[E_INSTANCE * cap + e] < 0:
                            w[E_INSTANCE * cap + e] = i
                            w[E_ROW * cap + e] = row
                        elif w[E_INSTANCE * cap + e] != i:
                            broke(out, ONE_PRIMARY, row, w[E_ROW * cap + e], row, -1, -1)
                        w[AB_INSTANCE * cap + t] = i
                        w[AB_BEFORE * cap + t] = w[I_LAST * cap + i]
                        w[AB_PLACE * cap + t] = w[I_COUNT * cap + i]
                        w[AB_AFTER * cap + t] = v[LENGTH + p]
                        w[AB_LED * cap + t] = 1 if w[I_COUNT * cap + i] > 0 or v[ACTIVE + p] > 0 else 0
                        w[I_LAST * cap + i] = t
                        w[I_COUNT * cap + i] = w[I_COUNT * cap + i] + 1
                    if w[FIRST_ROW * cap + t] >= 0:
                        late = True
                        for q in range(processes):
                            if w[(PLANES + q) * cap + t] >= 0:
                                v[ACTIVE + q] = v[ACTIVE + q] + 1
                                gaps = gaps + has_gap(w, cap, processes, q, t)
            elif kind == ACCEPT:
                if nodes == 0:
                    lacks_word(out, G_QUORUM)
                elif primary_epoch[row] == NULL:
                    lacks_word(out, G_PROPOSED)
                elif p < nodes:  # what others accept chooses nothing
                    a = intern(w, cap, ACCEPTED, tables, mask, acceptances, t, primary_epoch[row], 0, 0)
                    if a < 0:
                        full = True
                        break
                    if a == acceptances:
                        acceptances = acceptances + 1
                        w[A_WHO * cap + a] = 0
                    w[A_WHO * cap + a] = w[A_WHO * cap + a] | (1 << p)
                    if 2 * count_bits(w[A_WHO * cap + a]) > nodes:
                        if w[CHOSEN_EPOCH * cap + t] == NEVER:
                            w[CHOSEN_ROW * cap + t] = row
                        if primary_epoch[row] < w[CHOSEN_EPOCH * cap + t]:
                            w[CHOSEN_EPOCH * cap + t] = primary_epoch[row]
                            w[A_ROW * cap + a] = row
                            w[A_ABOVE * cap + a] = w[CHOSEN_LEAST * cap + t]
                            w[CHOSEN_LEAST * cap + t] = a
            elif kind == ESTABLISH and primary_epoch[row] == NULL:
                lacks_word(out, G_LEADS)
            elif kind == ESTABLISH:
                e = intern(w, cap, EPOCH, tables, mask, epochs, primary_epoch[row], 0, 0, 0)
                if e < 0 or leaders == cap:
                    full = True
                    break
                if e == epochs:
                    epochs = epochs + 1
                    new_epoch(w, cap, e)
                if w[E_LEADER * cap + e] >= 0:
                    broke(out, ONE_LEADER, row, w[E_LEADER * cap + e], row, -1, -1)
                else:
                    w[E_LEADER * cap + e] = row
                w[LEADERS * cap + leaders] = row
                leaders = leaders + 1
                if primary_epoch[row] != primary_epoch[w[LEADERS * cap]]:
                    met(out, ONE_LEADER)
            elif kind == REVISE:
                if ((astray >> p) & 1) == 1:
                    lacks_word(out, G_DISAGREES)
                v[REPLACED + p] = v[IN_PASS + p]
                v[COMPARED + p] = 0
                if v[REPLACED + p] > 0:
                    met(out, STANDS)
                    replaced = p
                    replaced_row = row
            elif kind == ENTRY:
                k = v[COMPARED + p]
                if replaced == p and k < v[REPLACED + p] and k < v[LENGTH + p]:
                    if w[(PLANES + processes + p) * cap + k] != t:
                        broke(out, STANDS, replaced_row, replaced_row, stood(w, cap, processes, v, p), row, -1)
                v[COMPARED + p] = k + 1
            elif kind == BEGIN:
                if begun:
                    wrong(out, TWO_BEGINS, row)
                elif row != start:
                    wrong(out, LATE_BEGIN, row)
                if index[row] != NULL and index[row] <= 0:
                    wrong(out, NO_PROCESSES, row)
                begun = True
                nodes = max(0, index[row])
        row = row + 1
    half_known(out, G_TIME, clock)
    half_known(out, G_IDENTITY, identities)
    half_known(out, G_DIGEST, digests)
    if not full and out[ERROR] == 0:
        if replaced >= 0 and v[COMPARED + replaced] < v[REPLACED + replaced]:
            broke(out, STANDS, replaced_row, replaced_row, stood(w, cap, processes, v, replaced), -1, -1)
        end_moment(w, cap, processes, v, dirty, gaps, instances, end - 1, out)
        conclude(kinds, kind_of, primary_epoch, identity, epoch, counter, digest, time, end, processes, w, cap,
                 tables, mask, v, out, txns, epochs, abcasts, leaders, late)  # fmt: skip
    out[NODES_OF] = nodes
    out[TXNS_OF] = txns
    out[ABCASTS_OF] = abcasts
    forget_entries(w, cap, TXN, tables, mask, txns)
    forget_entries(w, cap, INSTANCE, tables, mask, instances)
    forget_entries(w, cap, EPOCH, tables, mask, epochs)
    forget_entries(w, cap, ZXID, tables, mask, zxids)
    forget_entries(w, cap, ACCEPTED, tables, mask, acceptances)
    return -1 if full else 0


def judge_runs(
    kinds: Bytes, kind_of: Words, run: Words, process: Words, position: Words, passes: Words, primary_epoch: Words,
    attempt: Words, epoch: Words, counter: Words, identity: Words, digest: Words, index: Words, time: Words,
    start: int, end: int, processes: int, w: Words, cap: int, tables: Words, mask: int, v: Words, out: Words,
    found: Words, most: int,
) -> int:  # fmt: skip
    """Judge the runs in rows `start` to `end`, up to `most` of them; returns how many were. Of each
    the first row, what is broken, met and unknown, an error and its row go to `found`; one that
    `cap` is too small for is the last, with -1 for its error."""
    n = 0
    row = start
    while row < end and n < most:
        first = row
        here = run[row]
        while row < end and run[row] == here:
            row = row + 1
        done = judge_run(
            kinds, kind_of, process, position, passes, primary_epoch, attempt, epoch, counter, identity, digest, index,
            time, first, row, processes, w, cap, tables, mask, v, out,
        )  # fmt: skip
        found[6 * n] = first
        found[6 * n + 1] = out[BROKEN]
        found[6 * n + 2] = out[MET]
        found[6 * n + 3] = out[UNKNOWN]
        found[6 * n + 4] = done if done < 0 else out[ERROR]
        found[6 * n + 5] = out[ERROR_ROW]
        n = n + 1
        if done < 0:
            return n
    return n
