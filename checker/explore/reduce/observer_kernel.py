"""Ghost abstraction, in the kernel language: hash and compare observations by their class.

docs/explanation/reductions.md has the argument. A *value* is the content of the ghosts of derived observers:
`VALUE_WORDS` words, under masks. Two values are of one class if no judged property distinguishes them, or what can be
observed after them (`checker/explore/reduce/observers.py`). A visited state has the number of its class in the place of
the value, in bits that renaming processes does not change: the number of the class up to renaming, and for each process
its part in it. While a state is expanded it has the value that represents its class.

`OBSERVERS_AT` holds four words: whether there are classes, where the values that represent them are, where the table of
values is (both in bytes from the thread's memory), and the number of its rows. Then the number of the class of the
state being expanded, and the value of a successor. A row of the table is the number of a value's class, from 1, and the
value; a row of the other is whether a state may have that number, and the value.
"""

from __future__ import annotations

from checker.explore.interface import (
    CODED_AT, OBSERVERS_AT, RING_AT, TOTAL, VALUE_WORDS, breaks_alone, breaks_expected, coded_class, judge, observe,
    put_class, put_raw, put_value, value_of, witness,
)  # fmt: skip
from checker.explore.kernel import R_CLASSLESS
from zabspec.language.python.lang import Bytes, State, Words
from zabspec.language.python.memory import (
    as_bytes, bytes_at, copy_bytes, load_half, state_at, store_half, words_at, zero_bytes,
)  # fmt: skip
from zabspec.language.layout.wrapping import mulhi, shr, wrap_mul

# Words at OBSERVERS_AT
THERE, STANDING, TABLE, ROWS, CAME_WITH, HAD = range(6)
BROKEN_CLASS = 0  # the number of the class of all values that break a property

# Where a letter leads besides to a value: 32 bits
LEAST_END = 0xFFFFFFFC
UNLIKE, BROKEN, FAILED, IMPOSSIBLE = 0xFFFFFFFC, 0xFFFFFFFD, 0xFFFFFFFE, 0xFFFFFFFF


def restore_ghosts(s: State, work: Bytes) -> None:
    """Write the value that represents the class of a visited state in the place of the number."""
    known = words_at(work, OBSERVERS_AT)
    if known[THERE] != 0:
        known[CAME_WITH] = coded_class(s)
        row = words_at(work, known[STANDING] + 8 * (VALUE_WORDS + 1) * known[CAME_WITH])
        put_value(s, words_at(bytes_at(row, 1), 0))


def abstract_ghosts(before: State, after: State, work: Bytes, report: Words) -> None:
    """Replace a successor's value by the number of its class, and keep the value for `recover_ghosts`."""
    known = words_at(work, OBSERVERS_AT)
    if known[THERE] != 0:
        held = words_at(bytes_at(known, HAD), 0)
        value_of(before, words_at(work, CODED_AT))
        value_of(after, held)
        if same_words(held, words_at(work, CODED_AT)):
            put_class(after, known[CAME_WITH])
        else:
            put_class(after, class_of_value(after, work, report))


def recover_ghosts(after: State, work: Bytes) -> None:
    """Restore the value of a successor."""
    known = words_at(work, OBSERVERS_AT)
    if known[THERE] != 0:
        put_value(after, words_at(bytes_at(known, HAD), 0))


def class_of_value(s: State, work: Bytes, report: Words) -> int:
    """Return the number of the class of the value that a successor has.

    A value that violates a property is in no table. A value that is in no table and violates no judged property
    violates one that was expected to hold, or was observed in an unforeseen way: that is recorded, and the search
    proves nothing.
    """
    known = words_at(work, OBSERVERS_AT)
    table = words_at(work, known[TABLE])
    place = value_place(table, known[ROWS], words_at(bytes_at(known, HAD), 0))
    if table[place] != 0:
        return table[place] - 1
    if not breaks_alone(s):
        report[R_CLASSLESS] = 1
    return BROKEN_CLASS


def enter_class(s: State, work: Bytes, report: Words) -> None:
    """Replace the value of any state by the number of its class."""
    known = words_at(work, OBSERVERS_AT)
    if known[THERE] != 0:
        value_of(s, words_at(bytes_at(known, HAD), 0))
        put_class(s, class_of_value(s, work, report))


def same_words(one: Words, other: Words) -> bool:
    """Return whether two values are the same."""
    different = 0
    for k in range(VALUE_WORDS):
        different = different | (one[k] ^ other[k])
    return different == 0


def value_place(table: Words, rows: int, wanted: Words) -> int:
    """Return the offset in the table of a value's row, or of the free row where the search for it ends."""
    h = 0
    for k in range(VALUE_WORDS):
        h = wrap_mul(h ^ wanted[k], 0x2545F4914F6CDD1D)
        h = h ^ shr(h, 29)
    row = mulhi(shr(h, 1), 2 * rows)
    searching = True
    while searching:
        at = row * (VALUE_WORDS + 1)
        if table[at] == 0:
            searching = False
        elif same_words(words_at(bytes_at(table, at + 1), 0), wanted):
            searching = False
        else:
            row = row + 1
            if row == rows:
                row = 0
    return row * (VALUE_WORDS + 1)


# --- the automaton of observations ----------------------------------------------------------------


def enter_value(value: Words, table: Words, rows: int) -> None:
    """Put the first value into an empty table."""
    place = value_place(table, rows, value)
    table[place] = 1
    for k in range(VALUE_WORDS):
        table[place + 1 + k] = value[k]


def close_values(
    values: Words, begun: int, count: int, most: int, table: Words, rows: int, letters: Words, ways: Bytes, work: Bytes
) -> int:
    """Find every value that observations lead to, and where each letter leads; return the number of values.

    It returns -1 if there are more than `most`, and `-2 - k` if what the k-th letter returns depends on more than what
    the protocol may know.

    Args:
        values: `VALUE_WORDS` words each; `begun` of `count` are followed already.
        table: of values, with at least twice as many rows as there may be values.
        letters: their number, then four words for each.
        ways: 32 bits for each value and letter: the value it leads to, or how it ends.
    """
    s = state_at(work, 0)
    child = state_at(work, RING_AT)
    raw = state_at(work, RING_AT + TOTAL)
    found = words_at(work, CODED_AT)
    zero_bytes(as_bytes(s), TOTAL)
    k = begun
    while k < count:
        put_value(s, words_at(bytes_at(values, k * VALUE_WORDS), 0))
        for j in range(letters[0]):
            copy_bytes(as_bytes(child), as_bytes(s), TOTAL)
            said = observe(child, letters[1 + 4 * j], letters[2 + 4 * j], letters[3 + 4 * j], letters[4 + 4 * j])
            to = IMPOSSIBLE
            if child.error != 0:
                to = FAILED
            elif said >= 0:
                if said > 0:
                    copy_bytes(as_bytes(raw), as_bytes(s), TOTAL)
                    put_raw(raw)
                    again = observe(raw, letters[1 + 4 * j], letters[2 + 4 * j], letters[3 + 4 * j], letters[4 + 4 * j])
                    if again != said or raw.error != 0:
                        return -2 - j
                value_of(child, found)
                to = BROKEN
                if not breaks_alone(child) and not breaks_expected(child):
                    place = value_place(table, rows, found)
                    if table[place] == 0:
                        if count == most:
                            return -1
                        table[place] = count + 1
                        for i in range(VALUE_WORDS):
                            table[place + 1 + i] = found[i]
                            values[count * VALUE_WORDS + i] = found[i]
                        count = count + 1
                    to = table[place] - 1
            store_half(ways, 4 * (k * letters[0] + j), to)
        k = k + 1
    return count


def refine_classes(old: Bytes, new: Bytes, ways: Bytes, count: int, letters: int, table: Words, rows: int) -> int:
    """Split classes by where letters lead from their values; return the number of classes after that.

    Args:
        old, new: 32 bits for each value: its class.
        table: `rows` words, at least twice as many as values.
    """
    for k in range(rows):
        table[k] = 0
    classes = 0
    for k in range(count):
        h = load_half(old, 4 * k)
        for j in range(letters):
            h = wrap_mul(h ^ class_behind(old, ways, k * letters + j), 0x2545F4914F6CDD1D)
            h = h ^ shr(h, 29)
        row = mulhi(shr(h, 1), 2 * rows)
        searching = True
        while searching:
            if table[row] == 0:
                table[row] = k + 1
                store_half(new, 4 * k, classes)
                classes = classes + 1
                searching = False
            elif alike(old, ways, letters, table[row] - 1, k):
                store_half(new, 4 * k, load_half(new, 4 * (table[row] - 1)))
                searching = False
            else:
                row = row + 1
                if row == rows:
                    row = 0
    return classes


def class_behind(classes: Bytes, ways: Bytes, way: int) -> int:
    """Return the class of the value that a letter leads to, or how it ends."""
    to = load_half(ways, 4 * way)
    if to >= LEAST_END:
        return to
    return load_half(classes, 4 * to)


def alike(classes: Bytes, ways: Bytes, letters: int, one: int, other: int) -> bool:
    """Return whether two values are of one class, and each letter leads from them to values of one class."""
    if load_half(classes, 4 * one) != load_half(classes, 4 * other):
        return False
    for j in range(letters):
        if class_behind(classes, ways, one * letters + j) != class_behind(classes, ways, other * letters + j):
            return False
    return True


def judge_values(value: Words, places: Words, mask: int, premise: bool, out: Bytes, work: Bytes) -> None:
    """Judge a value together with all that some fields of the protocol may hold.

    Args:
        places: the number of bytes, then for each its offset and the number of its values.
        mask: the one property that is judged; `premise`: whether its premise is evaluated instead.
        out: a byte for each combination: whether it is violated, or met, and 2 if judging fails.
    """
    s = state_at(work, 0)
    zero_bytes(as_bytes(s), TOTAL)
    put_value(s, value)
    b = as_bytes(s)
    number = 1
    for k in range(places[0]):
        number = number * places[2 + 2 * k]
    for k in range(number):
        rest = k
        for i in range(places[0]):
            b[places[1 + 2 * i]] = rest % places[2 + 2 * i]
            rest = rest // places[2 + 2 * i]
        s.error = 0
        found = 0
        if premise:
            found = witness(s, mask, True)
        else:
            found = judge(s, mask, True)
        out[k] = (1 if found != 0 else 0) | (2 if s.error != 0 else 0)
