"""Check runs of an event table against every property of histories, in the kernel language.

`judge_run` reads the rows of a run once, in order (`handlers.py` handles each kind of event), and then what it has kept
of it. For every property it is exact: the verdict is that of `invariants/` at the end of every moment, a moment being
the rows of one time. A few comparisons at each delivery are enough: of two processes that both delivered t, what each
had delivered before is the same set, for every such t, exactly if it is the same sequence at the same places."""

from __future__ import annotations

from traces.judging.conclusions import conclude
from traces.judging.deliveries import end_moment
from traces.judging.handlers import (
    on_abcast,
    on_abdeliver,
    on_accept,
    on_begin,
    on_entry,
    on_establish,
    on_revise,
    replaced,
    transaction,
)
from traces.judging.memory import FirstRows, JudgedRun, RunReport, Table, forget_entries, leaves_open, wrong
from traces.judging.numbers import (
    ABCAST,
    ABDELIVER,
    ACCEPT,
    ASTRAY_ENTRY,
    BEGIN,
    ENTRY,
    ESTABLISH,
    G_ABSENT,
    G_ATTEMPT,
    G_DIGEST,
    G_IDENTITY,
    G_KIND,
    G_MENDED,
    G_OUTSIDER,
    G_PASS,
    G_SOME_ATTEMPTS,
    G_TIME,
    INITIAL,
    MANY_PROCESSES,
    MISSPELT,
    MOST,
    NO_PROCESS,
    NO_ZXID,
    NULL,
    OTHER,
    OUT_OF_ORDER,
    PASS_BACK,
    REVISE,
    TIME_BACK,
    UNKNOWN,
)
from zabspec.language.layout.wrapping import count_bits, shl


def judge_runs(table: Table, run: JudgedRun, out: RunReport, found: FirstRows, start: int, end: int) -> int:
    """Check the runs in rows `start` to `end`, as many as `found` has room for; return how many were checked.

    A run for which `run` has no room is the last.
    """
    n = 0
    row = start
    while row < end and n < found.most:
        first = row
        here = table.run[row]
        while row < end and table.run[row] == here:
            row = row + 1
        judge_run(table, run, out, first, row)
        found.first[n] = first
        found.broken[n] = out.broken
        found.met[n] = out.met
        found.unknown[n] = out.unknown
        found.error[n] = -1 if run.full != 0 else out.error
        found.error_row[n] = out.error_row
        n = n + 1
        if run.full != 0:
            return n
    return n


def judge_run(table: Table, run: JudgedRun, out: RunReport, start: int, end: int) -> None:
    """Check the run in rows `start` to `end`; nothing may be interned before it, and nothing is left after it."""
    begin(run, out, start)
    row = start
    while row < end and run.full == 0 and out.error == 0:
        read_row(table, run, out, row)
        row = row + 1
    half_known(out, G_TIME, run.clock)
    if run.repeats != 0:
        half_known(out, G_MENDED, run.clock)
    if run.attempts == 1:
        leaves_open(out, G_ATTEMPT)
    half_known(out, G_SOME_ATTEMPTS, run.attempts)
    half_known(out, G_IDENTITY, run.identities)
    half_known(out, G_DIGEST, run.digests)
    if run.outside != 0 and count_bits(run.inside) < run.nodes:
        leaves_open(out, G_ABSENT)
    if run.full == 0 and out.error == 0:
        replaced(run, out)
        if run.dirty != 0 or run.gaps > 0:
            end_moment(run, out, end - 1)
        conclude(table, run, out, end)
    forget_entries(run.txns)
    forget_entries(run.instances)
    forget_entries(run.epochs)
    forget_entries(run.zxids)
    forget_entries(run.acceptances)


def begin(run: JudgedRun, out: RunReport, start: int) -> None:
    """Reset the memory for the run that begins in a row."""
    out.broken = 0
    out.met = 0
    out.unknown = 0
    out.error = 0
    out.error_row = 0
    for p in range(run.processes):
        run.length[p] = 0
        run.passing[p] = NULL
        run.in_pass[p] = 0
        run.pass_row[p] = start
        run.last[p] = NULL
        run.active[p] = 0
        run.replaced[p] = 0
        run.compared[p] = 0
        for q in range(run.processes):
            run.same[p][q] = 0
            run.lacks[p][q] = 0
    run.start = start
    run.now = NULL
    run.nodes = 0
    run.begun = 0
    run.abcast_count = 0
    run.leader_count = 0
    run.dirty = 0
    run.gaps = 0
    run.replacing = -1
    run.astray = 0
    run.unpassed = 0
    run.attempts = 0
    run.late = 0
    run.repeats = 0
    run.searches = 0
    run.work = 0
    run.last_kind = OTHER
    run.last_process = NULL
    run.clock = 0
    run.inside = 0
    run.outside = 0
    run.identities = 0
    run.digests = 0
    run.full = 0


def half_known(out: RunReport, gap: int, seen: int) -> None:
    """Report a gap if a column is null in some rows only, which sets both bits of `seen`."""
    if seen == 3:
        leaves_open(out, gap)


# --- a row ---------------------------------------------------------------------------------------


def read_row(table: Table, run: JudgedRun, out: RunReport, row: int) -> None:
    """Add a row to the memory of its run."""
    time = table.time[row]
    if time != NULL and time != run.now:
        moment(run, out, row, time)
    kind = table.meaning[table.kind[row]]
    p = table.process[row]
    if p != NULL:
        if p < 0 or p >= MOST:
            wrong(out, MANY_PROCESSES, row)
            return
        if table.position[row] != NULL:
            if table.position[row] <= run.last[p]:
                wrong(out, OUT_OF_ORDER, row)
            run.last[p] = table.position[row]
        if p < run.nodes:
            run.inside = run.inside | shl(1, p)
    if run.replacing >= 0 and kind != ENTRY:
        replaced(run, out)
    if kind != BEGIN and time != NULL:
        run.clock = run.clock | 2
    if kind == INITIAL and run.last_kind != ESTABLISH and run.last_kind != INITIAL:
        wrong(out, ASTRAY_ENTRY, row)
    if kind == ENTRY and ((run.last_kind != REVISE and run.last_kind != ENTRY) or p != run.last_process):
        wrong(out, ASTRAY_ENTRY, row)
    run.last_kind = kind
    run.last_process = p
    if kind == OTHER or kind > BEGIN:
        if may_be_event(table, row, kind):
            leaves_open(out, G_KIND)
        return
    if kind != BEGIN and time == NULL:
        run.clock = run.clock | 1
    if p != NULL and run.nodes > 0 and p >= run.nodes:
        leaves_open(out, G_OUTSIDER)
        run.outside = 1
    event(table, run, out, row, kind, p)


def may_be_event(table: Table, row: int, kind: int) -> bool:
    """Return whether a row of another kind may be an event of the history: it has what only these have."""
    if kind == MISSPELT or table.epoch[row] != NULL or table.counter[row] != NULL or table.identity[row] != NULL:
        return True
    return kind == UNKNOWN and table.primary_epoch[row] != NULL


def moment(run: JudgedRun, out: RunReport, row: int, time: int) -> None:
    """Begin another moment in a row."""
    if run.dirty != 0 or run.gaps > 0:
        end_moment(run, out, row - 1)
        run.dirty = 0
    if time < run.now:
        wrong(out, TIME_BACK, row)
    run.now = time


def event(table: Table, run: JudgedRun, out: RunReport, row: int, kind: int, p: int) -> None:
    """Handle an event of the history, of process p (NULL if none)."""
    t = -1
    if kind != ESTABLISH and kind != REVISE and kind != BEGIN:
        if table.epoch[row] == NULL or table.counter[row] == NULL:
            wrong(out, NO_ZXID, row)
            return
        run.identities = run.identities | (1 if table.identity[row] == NULL else 2)
        run.digests = run.digests | (1 if table.digest[row] == NULL else 2)
        t = transaction(table, run, row)
        if t < 0:
            run.full = 1
            return
    if p == NULL and kind != ABCAST and kind != BEGIN and kind != ESTABLISH and kind != INITIAL:
        wrong(out, NO_PROCESS, row)
        return
    if kind == ABDELIVER or kind == REVISE:
        in_pass(table, run, out, row, p)
    if kind == ABDELIVER:
        on_abdeliver(run, out, row, p, t)
    elif kind == ABCAST:
        on_abcast(table, run, out, row, p, t)
    elif kind == ACCEPT:
        on_accept(table, run, out, row, p, t)
    elif kind == ESTABLISH:
        on_establish(table, run, out, row)
    elif kind == REVISE:
        on_revise(table, run, out, row, p)
    elif kind == ENTRY:
        on_entry(table, run, out, row, p, t)
    elif kind == BEGIN:
        on_begin(table, run, out, row)


def in_pass(table: Table, run: JudgedRun, out: RunReport, row: int, p: int) -> None:
    """Update the pass of p from a row."""
    passing = table.passing[row]
    if passing == NULL:
        leaves_open(out, G_PASS)
        run.unpassed = run.unpassed | shl(1, p)
    elif passing != run.passing[p]:
        if passing < run.passing[p]:
            wrong(out, PASS_BACK, row)
        run.passing[p] = passing
        run.in_pass[p] = 0
        run.pass_row[p] = row
