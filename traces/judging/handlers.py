"""Handle each kind of event of a history, in the kernel language."""

from __future__ import annotations

from traces.judging.deliveries import diverge, first_delivery, gaps_more
from traces.judging.memory import JudgedRun, RunReport, Table, broke, intern, leaves_open, met, wrong
from traces.judging.numbers import (
    ABDELIVER,
    DELIVERED_STANDS,
    G_LEADS,
    G_OTHER_EPOCH,
    G_PRIMARY,
    G_PROPOSED,
    G_QUORUM,
    G_WHO,
    LATE_BEGIN,
    NEVER,
    NO_PROCESSES,
    NULL,
    ONE_LEADER_AN_EPOCH,
    ONE_PRIMARY_AN_EPOCH,
    TWO_BEGINS,
    UNIQUE_ZXID,
)
from zabspec.language.layout.wrapping import count_bits, shl

# --- what is known of transactions, instances and epochs ---------------------------------------------


def transaction(table: Table, run: JudgedRun, row: int) -> int:
    """Return the number of a row's transaction, which is created if new; -1 if there is no room for it."""
    known = run.txns.count
    t = intern(run.txns, table.identity[row], table.epoch[row], table.counter[row], table.digest[row])
    if t == known:
        run.abcast_row[t] = -1
        run.order[t] = NEVER
        run.sent[t] = -1
        run.first_row[t] = -1
        run.chosen_epoch[t] = NEVER
        run.chosen_row[t] = -1
        run.chosen_by[t] = -1
        run.mark[t] = 0
        for p in range(run.processes):
            run.place[p][t] = -1
    return t


def instance(run: JudgedRun, attempt: int, epoch: int, p: int) -> int:
    """Return the number of an instance, which is created if new; -1 if there is no room for it."""
    known = run.instances.count
    i = intern(run.instances, attempt, epoch, p, 0)
    if i == known:
        run.broadcast[i] = 0
        run.latest[i] = -1
        for q in range(run.processes):
            run.delivered[q][i] = 0
            run.reached[q][i] = 0
    return i


def numbered_epoch(run: JudgedRun, epoch: int) -> int:
    """Return the number of an epoch, which is created if new; -1 if there is no room for it."""
    known = run.epochs.count
    e = intern(run.epochs, epoch, 0, 0, 0)
    if e == known:
        run.epoch_instance[e] = -1
        run.epoch_row[e] = -1
        run.epoch_abcasts[e] = 0
        run.epoch_leader[e] = -1
    return e


# --- abcasts -----------------------------------------------------------------------------------------


def on_abcast(table: Table, run: JudgedRun, out: RunReport, row: int, p: int, t: int) -> None:
    """Handle an abcast of t, by process p if it is known."""
    if table.primary_epoch[row] == NULL:
        leaves_open(out, G_PRIMARY)
    elif table.primary_epoch[row] != table.epoch[row]:
        leaves_open(out, G_OTHER_EPOCH)
    run.attempts = run.attempts | (1 if table.attempt[row] == NULL else 2)
    if p == NULL:
        leaves_open(out, G_WHO)
    k = run.abcast_count
    e = numbered_epoch(run, table.epoch[row])
    if e < 0 or k == run.capacity:
        run.full = 1
        return
    run.abcast_count = k + 1
    run.abcasts[k] = t
    run.sent_row[k] = row
    run.seen[k] = 0
    run.again[k] = run.sent[t]
    run.sent[t] = k
    by_instance(table, run, out, row, p, k, e)
    if run.full != 0:
        return
    first = 1 if run.abcast_row[t] < 0 else 0
    if first != 0:
        run.abcast_row[t] = row
        run.order[t] = k
        under_zxid(table, run, out, row)
    else:
        broke(out, UNIQUE_ZXID, row, run.abcast_row[t], row, -1, -1)
        run.late = 1
        run.repeats = 1
    run.epoch_abcasts[e] = run.epoch_abcasts[e] + 1
    if run.epoch_abcasts[e] > 1:
        met(out, UNIQUE_ZXID)
    met(out, ONE_PRIMARY_AN_EPOCH)
    if run.first_row[t] >= 0:
        run.late = 1
        for q in range(run.processes):
            if run.place[q][t] >= 0:
                run.active[q] = run.active[q] + first
                run.gaps = run.gaps + gaps_more(run, q, k)


def under_zxid(table: Table, run: JudgedRun, out: RunReport, row: int) -> None:
    """Check that no other transaction is abcast under the same zxid."""
    known = run.zxids.count
    z = intern(run.zxids, 0, table.epoch[row], table.counter[row], 0)
    if z < 0:
        run.full = 1
    elif z == known:
        run.zxid_row[z] = row
    else:
        broke(out, UNIQUE_ZXID, row, run.zxid_row[z], row, -1, -1)


def by_instance(table: Table, run: JudgedRun, out: RunReport, row: int, p: int, k: int, e: int) -> None:
    """Attribute abcast k to its instance.

    Args:
        p: the process, NULL if unknown.
        e: the number of the epoch of its zxid.
    """
    epoch = table.primary_epoch[row]
    if epoch == NULL:
        e = -1
    elif epoch != table.epoch[row]:
        e = numbered_epoch(run, epoch)
    i = instance(run, table.attempt[row], epoch, p)
    if i < 0 or (e < 0 and epoch != NULL):
        run.full = 1
        return
    if e >= 0 and run.epoch_instance[e] < 0:
        run.epoch_instance[e] = i
        run.epoch_row[e] = row
    elif e >= 0 and run.epoch_instance[e] != i:
        broke(out, ONE_PRIMARY_AN_EPOCH, row, run.epoch_row[e], row, -1, -1)
    t = run.abcasts[k]
    before = run.latest[i]
    while before >= 0 and run.abcasts[before] == t:
        before = run.before[before]
    had = 0  # of other transactions that are abcast
    if p != NULL:
        had = run.active[p] - (1 if run.abcast_row[t] >= 0 and run.place[p][t] >= 0 else 0)
    run.primary[k] = p if p != NULL else -1
    run.led_epoch[k] = e
    run.instance[k] = i
    run.before[k] = before
    run.nth[k] = run.broadcast[i]
    run.after[k] = run.length[p] if p != NULL else 0
    run.led[k] = 1 if before >= 0 or had > 0 else 0
    run.latest[i] = k
    run.broadcast[i] = run.broadcast[i] + 1


# --- deliveries --------------------------------------------------------------------------------------


def on_abdeliver(run: JudgedRun, out: RunReport, row: int, p: int, t: int) -> None:
    """Handle the delivery of t by p."""
    place = run.in_pass[p]
    run.in_pass[p] = place + 1
    before = run.place[p][t]
    if place < run.length[p]:
        if run.sequence[p][place] != t:
            diverge(run, out, row, p, run.row[p][place])
    elif before >= 0:
        diverge(run, out, row, p, run.row[p][before])
    if before < 0:
        first_delivery(run, out, row, p, t)
        run.dirty = run.dirty | shl(1, p)
        if run.abcast_row[t] >= 0:
            run.active[p] = run.active[p] + 1
            k = run.sent[t]
            while k >= 0:
                run.gaps = run.gaps + gaps_more(run, p, k)
                k = run.again[k]


# --- quorums and leaders -----------------------------------------------------------------------------


def on_accept(table: Table, run: JudgedRun, out: RunReport, row: int, p: int, t: int) -> None:
    """Handle the acceptance of t's proposal by p."""
    epoch = table.primary_epoch[row]
    if run.nodes == 0:
        leaves_open(out, G_QUORUM)
    elif epoch == NULL:
        leaves_open(out, G_PROPOSED)
    elif p < run.nodes:  # what others accept chooses nothing
        known = run.acceptances.count
        a = intern(run.acceptances, t, epoch, 0, 0)
        if a < 0:
            run.full = 1
            return
        if a == known:
            run.who[a] = 0
        run.who[a] = run.who[a] | shl(1, p)
        if 2 * count_bits(run.who[a]) > run.nodes:
            if run.chosen_epoch[t] == NEVER:
                run.chosen_row[t] = row
            if epoch < run.chosen_epoch[t]:
                run.chosen_epoch[t] = epoch
                run.quorum_row[a] = row
                run.above[a] = run.chosen_by[t]
                run.chosen_by[t] = a


def on_establish(table: Table, run: JudgedRun, out: RunReport, row: int) -> None:
    """Handle the establishment of an epoch's leader."""
    epoch = table.primary_epoch[row]
    if epoch == NULL:
        leaves_open(out, G_LEADS)
        return
    e = numbered_epoch(run, epoch)
    if e < 0 or run.leader_count == run.capacity:
        run.full = 1
        return
    if run.epoch_leader[e] >= 0:
        broke(out, ONE_LEADER_AN_EPOCH, row, run.epoch_leader[e], row, -1, -1)
    else:
        run.epoch_leader[e] = row
    run.leaders[run.leader_count] = row
    run.leader_count = run.leader_count + 1
    if epoch != table.primary_epoch[run.leaders[0]]:
        met(out, ONE_LEADER_AN_EPOCH)


# --- histories that are replaced ---------------------------------------------------------------------


def on_revise(table: Table, run: JudgedRun, out: RunReport, row: int, p: int) -> None:
    """Handle that p replaces its history; the following rows have the new entries."""
    run.replaced[p] = run.in_pass[p]
    run.compared[p] = 0
    if run.replaced[p] > 0:
        met(out, DELIVERED_STANDS)
        run.replacing = p
        run.replacing_row = row
        run.standing = run.pass_row[p] - 1
        stands_next(table, run, p)


def on_entry(table: Table, run: JudgedRun, out: RunReport, row: int, p: int, t: int) -> None:
    """Handle t as the next entry of p's new history."""
    k = run.compared[p]
    if run.replacing == p and k < run.replaced[p]:
        if transaction(table, run, run.standing) != t:
            broke(out, DELIVERED_STANDS, run.replacing_row, run.replacing_row, run.standing, row, -1)
        run.compared[p] = k + 1
        if k + 1 < run.replaced[p]:
            stands_next(table, run, p)


def stands_next(table: Table, run: JudgedRun, p: int) -> None:
    """Advance to the next row in which p delivered something in its pass, which must exist.

    Passes that agree begin alike, so the row may be one of an earlier pass.
    """
    if ((run.astray >> p) & 1) == 0:
        run.standing = run.row[p][run.compared[p]]
        return
    run.standing = run.standing + 1
    while table.process[run.standing] != p or table.meaning[table.kind[run.standing]] != ABDELIVER:
        run.standing = run.standing + 1


def replaced(run: JudgedRun, out: RunReport) -> None:
    """End the new history that was being read, if any."""
    p = run.replacing
    if p >= 0 and run.compared[p] < run.replaced[p]:
        broke(out, DELIVERED_STANDS, run.replacing_row, run.replacing_row, run.standing, -1, -1)
    run.replacing = -1


# --- the run -----------------------------------------------------------------------------------------


def on_begin(table: Table, run: JudgedRun, out: RunReport, row: int) -> None:
    """Handle the row that gives the number of processes."""
    if run.begun != 0:
        wrong(out, TWO_BEGINS, row)
    elif row != run.start:
        wrong(out, LATE_BEGIN, row)
    if table.index[row] != NULL and table.index[row] <= 0:
        wrong(out, NO_PROCESSES, row)
    run.begun = 1
    run.nodes = max(0, table.index[row])
