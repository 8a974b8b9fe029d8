# ruff: noqa: F821
# mypy: ignore-errors
"""What the judging of a run keeps, in the kernel language: planes of words, tables, and the report.

A plane has `cap` words, an entry for a transaction, an instance, an epoch or a place. When one is full
the answer is -1, and the run is to be judged again with larger ones.
"""

from __future__ import annotations

from zabspec.language.lang import Words

NULL = -(1 << 63)  # where a column says nothing
NEVER = (1 << 63) - 1
MOST = 64  # processes of a run
ODD = -7046029254386353131

# The kinds of event that a history is made of.
OTHER, ABCAST, ABDELIVER, ACCEPT, ESTABLISH, INITIAL, REVISE, ENTRY, BEGIN = range(9)

# The properties, by the bits of every mask.
(
    INTEGRITY, TOTAL_ORDER, AGREEMENT, LOCAL_ORDER, GLOBAL_ORDER, PRIMARY_INTEGRITY, PO_CAUSAL, STRICT, PREFIX,
    CAUSAL, ONE_PRIMARY, ONE_LEADER, CHOSEN_LATER, DELIVERED_CHOSEN, UNIQUE_ZXID, STANDS,
) = range(16)  # fmt: skip

# What is wrong with a run that cannot be judged.
(
    NO_PROCESS, MANY_PROCESSES, NO_ZXID, OUT_OF_ORDER, PASS_BACK, TIME_BACK, TWO_BEGINS, LATE_BEGIN, NO_PROCESSES,
    ASTRAY_ENTRY,
) = range(1, 11)  # fmt: skip

# What the rows of a run leave unknown, or have that the comparisons here do not see; bits of a mask (`gaps.py`).
(
    G_WHO, G_QUORUM, G_PRIMARY, G_ATTEMPT, G_PROPOSED, G_LEADS, G_PASS, G_IDENTITY, G_DIGEST, G_TIME, G_AGAIN,
    G_OTHER_EPOCH, G_OUTSIDER, G_DISAGREES,
) = range(14)  # fmt: skip

# Interned by up to four words, with the place in the table behind them: transactions (identity, epoch, counter,
# digest), instances (attempt, epoch, process), epochs, zxids (of abcasts), acceptances (transaction, epoch).
TXN, INSTANCE, EPOCH, ZXID, ACCEPTED = 0, 5, 10, 15, 20
# Of a transaction:
AB_ROW = 25  # the row of its abcast; -1: none
AB_ORDER = 26  # its place among the abcasts
AB_INSTANCE = 27
AB_BEFORE = 28  # the transaction that its instance abcast before it; -1: none
AB_PLACE = 29  # its place among its instance's
AB_AFTER = 30  # how many transactions its primary had delivered
AB_LED = 31  # whether another PO-precedes it
FIRST_ROW = 32  # the row of its first delivery by anyone; -1: none
CHOSEN_EPOCH = 33  # the least epoch in which a quorum accepted it; NEVER: none
CHOSEN_ROW = 34  # the row by which a quorum first had, in whatever epoch
MARK = 35
# Of an instance: how many it abcast, and the last
I_COUNT = 36
I_LAST = 37
# Of an epoch: the instance and row of its first abcast, how many, the row in which a leader was established
E_INSTANCE = 38
E_ROW = 39
E_COUNT = 40
E_LEADER = 41
A_WHO = 42  # of an acceptance: who
ABCASTS = 43  # the transactions in order of their abcasts
LEADERS = 44  # the rows in which leaders were established
STACK = 45
SORTED = 46
REACH = 47
CHOSEN_LEAST = 48  # of a transaction: the acceptance by a quorum in the least epoch; -1: none
A_ROW = 49  # of such an acceptance: the row by which a quorum had
A_ABOVE = 50  # and the one that was the least before, so of a later epoch; -1: none
PLANES = 51
# and then, for each process in turn: where it delivered a transaction (-1: nowhere), what it delivered in order of
# the first delivery, and in which row; for each instance how many of its transactions, and the last of them + 1

# Words for each process, and for each two.
(
    LENGTH, PASS, IN_PASS, LAST, ACTIVE, REPLACED, COMPARED, SERVER, FARTHEST, WHICH, SCANNED,
) = range(0, 11 * MOST, MOST)  # fmt: skip
SAME = 11 * MOST  # how far what two processes delivered is known to be the same
LACKS = SAME + MOST * MOST  # how many transactions that the second delivered the first has not
WORK = LACKS + MOST * MOST

# The report: masks of what is broken, met and unknown; an error and its row; and for each property the
# row by which it is broken, and up to four rows that break it (-1: none).
BROKEN, MET, UNKNOWN, ERROR, ERROR_ROW, NODES_OF, TXNS_OF, DELIVERIES_OF, ABCASTS_OF = range(9)
WITNESS = 16
REPORT = WITNESS + 5 * 16


def broke(out: Words, k: int, by: int, a: int, b: int, c: int, d: int) -> None:
    """Property k is broken by row `by`; the earliest is kept."""
    at = WITNESS + 5 * k
    if ((out[BROKEN] >> k) & 1) == 0 or by < out[at]:
        out[BROKEN] = out[BROKEN] | (1 << k)
        out[at] = by
        out[at + 1] = a
        out[at + 2] = b
        out[at + 3] = c
        out[at + 4] = d


def met(out: Words, k: int) -> None:
    out[MET] = out[MET] | (1 << k)


def lacks_word(out: Words, gap: int) -> None:
    """Note that the run has this gap."""
    out[UNKNOWN] = out[UNKNOWN] | (1 << gap)


def half_known(out: Words, gap: int, seen: int) -> None:
    """A column is null in some rows and not in others: bits 1 and 2 of `seen`."""
    if seen == 3:
        lacks_word(out, gap)


def wrong(out: Words, error: int, row: int) -> int:
    out[ERROR] = error
    out[ERROR_ROW] = row
    return 0


def intern(w: Words, cap: int, base: int, tables: Words, mask: int, count: int, a: int, b: int, c: int, d: int) -> int:
    """The number of an entry of four words; `count` if it is new, -1 if there is no room for it."""
    table = base // 5 * (mask + 1)
    place = wrap_add(wrap_add(a, c), wrap_mul(b, ODD)) & mask
    while tables[table + place] != 0:
        i = tables[table + place] - 1
        if w[base * cap + i] == a and w[(base + 1) * cap + i] == b:
            if w[(base + 2) * cap + i] == c and w[(base + 3) * cap + i] == d:
                return i
        place = (place + 1) & mask
    if count == cap:
        return -1
    tables[table + place] = count + 1
    w[base * cap + count] = a
    w[(base + 1) * cap + count] = b
    w[(base + 2) * cap + count] = c
    w[(base + 3) * cap + count] = d
    w[(base + 4) * cap + count] = place
    return count


def forget_entries(w: Words, cap: int, base: int, tables: Words, mask: int, count: int) -> None:
    """Empty a table of its entries."""
    table = base // 5 * (mask + 1)
    for i in range(count):
        tables[table + w[(base + 4) * cap + i]] = 0


def new_transaction(w: Words, cap: int, processes: int, t: int) -> None:
    w[AB_ROW * cap + t] = -1
    w[AB_ORDER * cap + t] = NEVER
    w[FIRST_ROW * cap + t] = -1
    w[CHOSEN_EPOCH * cap + t] = NEVER
    w[CHOSEN_ROW * cap + t] = -1
    w[CHOSEN_LEAST * cap + t] = -1
    w[MARK * cap + t] = 0
    for p in range(processes):
        w[(PLANES + p) * cap + t] = -1


def new_instance(w: Words, cap: int, processes: int, i: int) -> None:
    w[I_COUNT * cap + i] = 0
    w[I_LAST * cap + i] = -1
    for p in range(processes):
        w[(PLANES + 3 * processes + p) * cap + i] = 0
        w[(PLANES + 4 * processes + p) * cap + i] = 0


def new_epoch(w: Words, cap: int, e: int) -> None:
    w[E_INSTANCE * cap + e] = -1
    w[E_ROW * cap + e] = -1
    w[E_COUNT * cap + e] = 0
    w[E_LEADER * cap + e] = -1
