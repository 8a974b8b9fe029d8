"""Define the memory of the checking kernels: a table's columns, what is known of the run, and the report."""

from __future__ import annotations

from traces.judging.numbers import ODD, PROPERTIES
from zabspec.language.analysis.structs import Struct, column, part, size, word, words
from zabspec.language.layout.wrapping import wrap_add, wrap_mul


class Table(Struct):
    """The columns of an event table, with NULL for nulls."""

    rows = size()
    meanings = size()
    kind = column(rows, width=4)  # a number for each word of the column
    meaning = column(meanings)  # which kind of event each of these is
    run = column(rows)
    process = column(rows)
    position = column(rows)
    passing = column(rows)
    primary_epoch = column(rows)
    attempt = column(rows)
    epoch = column(rows)
    counter = column(rows)
    identity = column(rows)
    digest = column(rows)
    index = column(rows)
    time = column(rows)


class Interned(Struct):
    """Entries of four words, numbered in order of arrival, with a hash table of them: 1 + an entry's number, or 0."""

    capacity = size()
    slots = size()  # a power of two, above `capacity`
    count = word()
    a = words(capacity)
    b = words(capacity)
    c = words(capacity)
    d = words(capacity)
    slot = words(capacity)
    hashed = words(slots)


class JudgedRun(Struct):
    """What is kept of a run.

    Where an axis is `capacity` long, an entry is a transaction, an instance, an epoch, an acceptance or a place; a run
    has at most that many of each.
    """

    processes = size()
    capacity = size()

    # Interned: transactions (identity, epoch, counter, digest), instances (attempt, epoch, process), epochs, zxids of
    # abcasts (0, epoch, counter), acceptances (transaction, epoch)
    txns = part(Interned)
    instances = part(Interned)
    epochs = part(Interned)
    zxids = part(Interned)
    acceptances = part(Interned)

    # Of a transaction
    abcast_row = words(capacity)  # the row of its first abcast; -1: none
    order = words(capacity)  # the place of that among the abcasts
    sent = words(capacity)  # the last abcast of it; -1: none
    first_row = words(capacity)  # the row of its first delivery by anyone; -1: none
    chosen_epoch = words(capacity)  # the least epoch in which a quorum accepted it; NEVER: none did
    chosen_row = words(capacity)  # the row by which a quorum first had; -1
    chosen_by = words(capacity)  # the acceptance by a quorum in the least epoch; -1
    mark = words(capacity)

    # Of an abcast, by its place among all
    abcasts = words(capacity)  # its transaction
    again = words(capacity)  # the abcast of the same transaction before it; -1: none
    sent_row = words(capacity)
    primary = words(capacity)  # the process; -1: not known
    led_epoch = words(capacity)  # the number of its primary's epoch; -1: not known
    instance = words(capacity)
    before = words(capacity)  # the abcast of its instance before it that is of another transaction; -1: none
    nth = words(capacity)  # its place among its instance's
    after = words(capacity)  # how many transactions its primary had delivered
    led = words(capacity)  # whether another transaction PO-precedes it
    seen = words(capacity)  # by which search for a chain

    # Of a place of a sequence
    related = words(capacity)  # the row by which what is there PO-precedes another transaction; NEVER: it does not

    # Of a process: where it delivered a transaction (-1: nowhere), what it delivered in order of the first delivery,
    # and in which row; of an instance how many of its abcasts, and the last of them + 1
    place = words(processes, capacity)
    sequence = words(processes, capacity)
    row = words(processes, capacity)
    delivered = words(processes, capacity)
    reached = words(processes, capacity)

    # Of an instance, an epoch, a zxid, an acceptance
    broadcast = words(capacity)  # how often it abcast
    latest = words(capacity)  # and the last of them; -1: none
    epoch_instance = words(capacity)  # the first instance that abcasts in it; -1: none
    epoch_row = words(capacity)  # and the row in which
    epoch_abcasts = words(capacity)  # under zxids of it
    epoch_leader = words(capacity)  # the row in which it is established; -1: none
    zxid_row = words(capacity)  # of the first abcast under it
    who = words(capacity)  # a mask of the processes that accepted
    quorum_row = words(capacity)  # the row by which a quorum had
    above = words(capacity)  # the acceptance that was of the least epoch before, so of a later one; -1: none

    # In order
    leaders = words(capacity)  # the rows in which leaders are established
    stack = words(capacity)
    sorted = words(capacity)
    reach = words(capacity)
    abcast_count = word()
    leader_count = word()

    # Of each process
    length = words(processes)  # how many transactions it delivered
    passing = words(processes)
    in_pass = words(processes)  # how many in its present pass
    pass_row = words(processes)  # from which row on
    last = words(processes)  # its last position
    active = words(processes)  # how many that are abcast too
    replaced = words(processes)  # how long the history was that it replaces
    compared = words(processes)  # how much of the new one has been read
    server = words(processes)
    farthest = words(processes)
    which = words(processes)
    scanned = words(processes)
    same = words(processes, processes)  # how far what two delivered is known to be the same
    lacks = words(processes, processes)  # how many transactions that the second delivered the first has not

    # So far
    nodes = word()  # how many processes the run says that it has; 0: it does not say
    begun = word()
    start = word()  # its first row
    now = word()
    dirty = word()  # a mask of those that delivered in this moment
    gaps = word()  # of how many instances some process has a transaction without an earlier one
    replacing = word()  # the process whose new history is being read, or -1
    replacing_row = word()
    standing = word()  # the row in which it delivered what the new one must have next
    astray = word()  # a mask of those with a pass that does not agree with an earlier one
    unpassed = word()  # a mask of those with a row that does not name its pass
    attempts = word()  # bit 0: an abcast has no attempt; bit 1: one has
    late = word()  # something was delivered before it was abcast, or is abcast again
    repeats = word()  # something is abcast again
    searches = word()  # for chains of PO precedence
    work = word()  # what these looked at
    last_kind = word()
    last_process = word()
    clock = word()  # bit 0: a row of the history has no time; bit 1: a row has one
    inside = word()  # a mask of the processes of the run that have a row
    outside = word()  # another process has an event
    identities = word()  # the same of the identities of transactions
    digests = word()  # and of their digests
    full = word()  # there is no room: check it again with more


def room_for(processes: int, capacity: int) -> JudgedRun:
    """Allocate memory for runs of some processes, and of at most some transactions, instances and so on."""
    slots = 1 << (2 * capacity - 1).bit_length()
    tables = ("txns", "instances", "epochs", "zxids", "acceptances")
    return JudgedRun(
        processes=processes, capacity=capacity, **{t: Interned(capacity=capacity, slots=slots) for t in tables}
    )


class RunReport(Struct):
    """The result of a run: masks of what is violated, met and unknown, an error and its row.

    For each property it has the row by which it is violated, and up to four rows that show it (-1 for none).
    """

    broken = word()
    met = word()
    unknown = word()
    error = word()
    error_row = word()
    by = words(PROPERTIES)
    witness = words(PROPERTIES, 4)


class FirstRows(Struct):
    """The first row and the result of each of some runs; an error of -1 means that there was no room."""

    most = size()
    first = words(most)
    broken = words(most)
    met = words(most)
    unknown = words(most)
    error = words(most)
    error_row = words(most)


# --- the report ----------------------------------------------------------------------------------


def broke(out: RunReport, k: int, by: int, a: int, b: int, c: int, d: int) -> None:
    """Record that property k is violated by row `by`; the earliest is kept."""
    if not is_broken(out, k) or by < out.by[k]:
        out.broken = out.broken | (1 << k)
        out.by[k] = by
        out.witness[k][0] = a
        out.witness[k][1] = b
        out.witness[k][2] = c
        out.witness[k][3] = d


def is_broken(out: RunReport, k: int) -> bool:
    """Return whether property k is violated."""
    return ((out.broken >> k) & 1) == 1


def met(out: RunReport, k: int) -> None:
    """Record that the premise of property k is met."""
    out.met = out.met | (1 << k)


def leaves_open(out: RunReport, gap: int) -> None:
    """Record that the run has this gap."""
    out.unknown = out.unknown | (1 << gap)


def wrong(out: RunReport, error: int, row: int) -> None:
    """Record an error and its row."""
    out.error = error
    out.error_row = row


# --- what is interned ----------------------------------------------------------------------------


def intern(known: Interned, a: int, b: int, c: int, d: int) -> int:
    """Return the number of an entry; a new one gets the old `count`, or -1 if there is no room for it."""
    mask = known.slots - 1
    place = wrap_add(wrap_add(a, c), wrap_mul(b, ODD)) & mask
    while known.hashed[place] != 0:
        i = known.hashed[place] - 1
        if known.a[i] == a and known.b[i] == b:
            if known.c[i] == c and known.d[i] == d:
                return i
        place = (place + 1) & mask
    count = known.count
    if count == known.capacity:
        return -1
    known.hashed[place] = count + 1
    known.a[count] = a
    known.b[count] = b
    known.c[count] = c
    known.d[count] = d
    known.slot[count] = place
    known.count = count + 1
    return count


def forget_entries(known: Interned) -> None:
    """Remove all entries from the table."""
    for i in range(known.count):
        known.hashed[known.slot[i]] = 0
    known.count = 0


def row_of(run: JudgedRun, p: int, t: int) -> int:
    """Return the row in which p delivered a transaction; -1 if it did not."""
    at = run.place[p][t]
    return run.row[p][at] if at >= 0 else -1
