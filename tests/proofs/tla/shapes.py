"""Shapes of local names, control, calls and names, a step each, from every level of three processes."""

from __future__ import annotations

from typing import Annotated

from zabcheck.language import (
    NOBODY,
    AtMost,
    Each,
    Fields,
    Node,
    OneOf,
    Range,
    RecordType,
    SeqOf,
    any_process,
    choose,
    declare,
    environment,
    environment_step,
    safety,
)

CASES = 40
LOW = -3
TURN, SET = 0, 2  # of an enumeration
choice = 2  # a constant that is called like a name of the module's

Items = Annotated[SeqOf[Annotated[int, Range(0, 9)]], AtMost(4)]
Mode = Annotated[int, OneOf("turn", "Next", "S", "Idle", "plain")]


class Entry(RecordType, ordered=True):
    term: Annotated[int, Range(0, 3)]
    value: Annotated[int, Range(-2, 3)]


class State(Fields):
    turn: Annotated[int, Range(0, CASES)] = environment("which step was taken")
    mode: Mode = environment("an enumeration with names of the module's")
    level: Each[Node, Annotated[int, Range(0, 9)]] = environment("a number of each process")
    chief: Node = environment("a process")
    out: Annotated[int, Range(-99, 99)] = environment("what a step comes to")
    items: Items = environment("a sequence")
    book: Annotated[SeqOf[Entry], AtMost(4)] = environment("records")
    some: set[Node] = environment("a set")


def begins(s: State) -> bool:
    return s.turn == 0


@environment_step(when=begins, everywhere=True)
def set_up(s: State) -> None:
    for p in range(s.NODES):
        s.level[p] = choose(s, 3)
    s.chief = NOBODY
    s.out = 0
    s.turn = 1


def ready(s: State) -> bool:
    return s.turn == 1


# --- names that one round leaves to another ---


@environment_step(when=ready, everywhere=True)
def through_an_if(s: State) -> None:
    seen = 0
    for p in range(s.NODES):
        if s.level[p] < 2:
            if seen == 1:
                s.level[p] += 1
            seen = seen + 1
    s.turn = 2


@environment_step(when=ready, everywhere=True)
def through_an_else(s: State) -> None:
    seen = 0
    last = LOW
    for p in range(s.NODES):
        if s.level[p] == 0:
            s.out += last
        elif s.level[p] == 1:
            last = seen
        else:
            seen = seen + 2
            s.out -= 1
    s.turn = 3


@environment_step(when=ready, everywhere=True)
def through_two_loops(s: State) -> None:
    sum = 0
    for p in range(s.NODES):
        most = 0
        for q in range(s.NODES):
            if s.level[q] > most and q != p:
                most = s.level[q]
                sum = sum + 1
            if sum > 3:
                s.out = s.out - most
        sum = sum + most
    s.out += sum
    s.turn = 4


@environment_step(when=ready, everywhere=True)
def the_name_of_a_loop(s: State) -> None:
    k = 0
    for k in range(s.NODES):
        s.level[k] += 1
        if s.level[k] == 2:
            break
    s.out = k
    for k in range(s.out, 2):  # noqa: B007
        s.out += 10
    s.out += k
    s.turn = 5


@environment_step(when=ready, everywhere=True)
def a_break_within(s: State) -> None:
    found = LOW
    tries = 0
    for p in range(s.NODES):
        for q in range(p, s.NODES):
            tries = tries + 1
            if s.level[q] == 2:
                found = q
                break
            if s.level[p] == 1:
                continue
            s.out += 1
        if found != LOW and tries > 2:
            break
    s.out += 10 * found + tries
    s.turn = 6


def first_of(s: State, wanted: int) -> int:
    """A helper that returns from within two loops."""
    skipped = 0
    for p in range(s.NODES):
        for q in range(s.NODES):
            if p != q and s.level[p] + s.level[q] == wanted:
                return 10 * p + q - skipped
            if s.level[q] > wanted:
                skipped = skipped + 1
    return skipped


@environment_step(when=ready, everywhere=True)
def a_return_within(s: State) -> None:
    s.out = first_of(s, 2) + first_of(s, 3)
    s.turn = 7


def moved(s: State, p: Node) -> None:
    """A helper that changes the state and returns early."""
    if s.level[p] == 0:
        s.out += 5
        return
    rest = 2
    if s.level[p] == 1:
        s.level[p] = 0
        rest = 1
        if s.out > 4:
            return
    s.out += rest
    for q in range(s.NODES):
        if q == p:
            return
        s.out += rest
    s.out = LOW


@environment_step(when=ready, everywhere=True)
def an_early_return(s: State) -> None:
    for p in range(s.NODES):
        moved(s, p)
    s.turn = 8


@environment_step(when=ready, everywhere=True)
def a_process_is_carried(s: State) -> None:
    best = NOBODY
    for p in range(s.NODES):
        if best == NOBODY or s.level[p] > s.level[best]:
            best = p
        if s.level[p] == 0:
            best = NOBODY
    s.chief = best
    if best == NOBODY:
        s.out = 7
    s.turn = 9


@environment_step(when=ready, everywhere=True)
def chosen_in_a_loop(s: State) -> None:
    before = 0
    for p in range(s.NODES):
        if s.level[p] == 1:
            n = choose(s, 2)
            s.out += n * (before + 1)
            before = before + n
    s.turn = 10


# --- numbers ---


@environment_step(when=ready, everywhere=True)
def below_zero(s: State) -> None:
    a = LOW * s.level[0] - 1
    s.out = a // 2 + 10 * (a % 3) - a // -2
    for k in range(LOW, 0):
        s.out += k // 2
    s.turn = 11


@environment_step(when=ready, everywhere=True)
def bits(s: State) -> None:
    a = s.level[0] + 2 * s.level[1]
    s.out = (a & 3) + ((a | 4) << 1) + (a >> 1) + (1 if a & 1 == 1 else 0)
    s.turn = 12


# --- the order in which a step evaluates ---


def bump(s: State, p: Node) -> int:
    s.level[p] += 1
    return s.level[p]


@environment_step(when=ready, everywhere=True)
def left_of_a_call(s: State) -> None:
    s.out = 10 * s.level[0] + bump(s, 0) + s.level[0]
    s.turn = 13


def two(s: State, a: int, b: int) -> None:
    s.out = 10 * a + b


@environment_step(when=ready, everywhere=True)
def an_argument_before_a_call(s: State) -> None:
    two(s, s.level[1], bump(s, 1))
    s.turn = 14


@environment_step(when=ready, everywhere=True)
def two_calls(s: State) -> None:
    s.out = s.level[2] * bump(s, 2) - bump(s, 2) * s.level[2]
    s.out += bump(s, 0)
    s.turn = 15


@environment_step(when=ready, everywhere=True)
def a_call_in_a_test(s: State) -> None:
    if s.level[0] < bump(s, 0) and s.level[0] > 1:
        s.out = 3
    elif s.level[1] == s.level[0] - 1 + bump(s, 1):
        s.out = 4
    s.turn = 16


# --- names of the module's own ---


def Max(s: State, p: Node) -> int:
    """Not the greater of two."""
    return s.level[p] - 1


def Append(s: State, S: int) -> int:
    state = S
    value = state + 1
    for k0 in range(2):
        if value > 1:
            state = state + k0
            s.out += state
        value = value + 1
    return state + value


def m(s: State) -> int:
    left = 0
    for t in range(2):
        left = left + t * s.level[t]
    return left


def p1(s: State) -> int:
    return 4


def Environment(s: State) -> int:
    return p1(s) + choice


def IF(s: State, LET: int) -> int:
    IN = LET + 1
    return IN  # noqa: RET504


@environment_step(when=ready, everywhere=True)
def names(s: State) -> None:
    s.out = Max(s, 0) + Append(s, s.level[1]) + m(s) + Environment(s)
    s.out += IF(s, s.level[0])
    s.mode = 1 + s.level[2]
    s.turn = 17


@environment_step(when=ready, everywhere=True)
def many_called_alike(s: State) -> None:
    for p in range(s.NODES):
        s.out += s.level[p]
    for p in range(s.NODES):
        for p2 in range(s.NODES):
            if s.level[p] > s.level[p2]:
                s.out += 1
    for p in range(2):
        s.out += p
    s.turn = 18


# --- sequences, records, sets ---


@environment_step(when=ready, everywhere=True)
def sequences(s: State) -> None:
    count = len(s.items)
    for p in range(s.NODES):
        if s.level[p] > 0:
            s.items.append(s.level[p])
            count = count + 1
    if count > 2:
        s.items.pop(1)
    for x in s.items:
        s.out = 3 * s.out + x
    if count == 0:
        s.items.clear()
    s.turn = 19


@environment_step(when=ready, everywhere=True)
def records(s: State) -> None:
    for p in range(s.NODES):
        s.book.append(Entry(term=p, value=s.level[p] - 2))
    top = s.book[0]
    for e in s.book:
        if e.value > top.value:
            top = e
    s.out = 10 * top.term + top.value
    if s.book[0] < s.book[1]:
        s.book.pop(0)
    s.turn = 20


@environment_step(when=ready, everywhere=True)
def sets(s: State) -> None:
    size = 0
    for p in range(s.NODES):
        if s.level[p] != 1:
            s.some.add(p)
            size = len(s.some)
        elif size > 0:
            s.some.discard(0)
    for p in s.some:
        s.out += p + size
    if 1 in s.some:
        s.chief = 1
    s.turn = 21


@environment_step(when=ready, everywhere=True)
def a_view(s: State) -> None:
    s.items.append(s.level[0])
    shown = s.items
    s.out = len(shown)
    s.items.append(s.level[1])
    shown = s.items
    s.out += 10 * len(shown)
    s.turn = 22


def plus_one(s: State, x: int) -> int:
    return 5 if x == -1 and s.level[0] == 1 else x + 1


@environment_step(when=ready, everywhere=True)
def nobody_is_a_number(s: State) -> None:
    s.out = plus_one(s, s.chief)
    for p in range(s.NODES):
        if s.level[p] > 0 and s.chief < p:
            s.chief = p
    s.turn = 23


# --- one value or another ---


@environment_step(when=ready, everywhere=True)
def a_process_or_nobody(s: State) -> None:
    s.chief = 2 if s.level[2] == 0 else NOBODY
    best = s.chief if s.level[0] > s.level[1] else NOBODY
    s.chief = best if s.level[1] > 0 else 1
    s.out = 1 if best == NOBODY else 2 + best
    s.turn = 24


@environment_step(when=ready, everywhere=True)
def a_value_of_an_enumeration(s: State) -> None:
    s.mode = TURN if s.level[0] > s.level[1] else SET
    s.out = 1 if s.mode == SET else 2
    s.turn = 25


def claimed(s: State, p: Node) -> Node:
    s.level[p] += 1
    return NOBODY if s.level[p] > 2 else p


@environment_step(when=ready, everywhere=True)
def a_process_from_a_call(s: State) -> None:
    s.chief = claimed(s, 1)
    s.out = (1 if claimed(s, 2) == NOBODY else 2) + (10 if claimed(s, 0) == s.chief else 20)
    s.turn = 26


@environment_step(when=ready, everywhere=True)
def two_that_change_places(s: State) -> None:
    x = 0
    y = 1
    for p in range(s.NODES):
        z = x
        if s.level[p] == 1:
            x = y
            y = z
        else:
            x = z + y
    s.out = 10 * x + y
    s.turn = 27


@environment_step(when=ready, everywhere=True)
def a_round_is_left(s: State) -> None:
    a = 0
    for p in range(s.NODES):
        b = a
        for q in range(s.NODES):
            if q == p:
                continue
            if s.level[q] < s.level[p]:
                b = b + 1
                break
            a = a + 1
        if a > 4:
            continue
        a = a + b
    s.out = a
    s.turn = 28


@environment_step(when=ready, everywhere=True)
def chosen_by_what_was_chosen(s: State) -> None:
    n = 0
    for p in range(2):
        k = choose(s, p + 2)
        for q in range(s.NODES):
            if q < k:
                n = n + s.level[q] + choose(s, 2)
    s.out = n
    s.turn = 29


def changes_and_returns(s: State, p: Node) -> int:
    """A helper that changes the state in loops, and returns from within them."""
    t = 1
    for q in range(s.NODES):
        s.level[q] = min(s.level[q] + 1, 5)
        if s.level[q] == 2:
            return t
        t = t + p
        for r in range(q):
            if s.level[r] == 3:
                s.level[r] = 0
                return t + 10
    return 0


@environment_step(when=ready, everywhere=True)
def called_in_every_round(s: State) -> None:
    for p in range(s.NODES):
        s.out = s.out + changes_and_returns(s, p)
    s.turn = 30


@environment_step(when=ready, everywhere=True)
def a_record_is_carried(s: State) -> None:
    top = Entry(term=0, value=-1)
    for p in range(s.NODES):
        e = Entry(term=s.level[p], value=p)
        if e >= top:
            top = e
        elif s.level[p] == 1:
            top = Entry(term=3, value=top.value)
    s.out = 10 * top.term + top.value
    s.turn = 31


@environment_step(when=ready, everywhere=True)
def a_choice_within_a_change(s: State) -> None:
    s.items.append(s.level[0])
    s.items.append(7)
    s.items.pop(choose(s, len(s.items)))
    s.some.add(any_process(s))
    s.some.discard(any_process(s))
    s.turn = 32


@environment_step(when=ready, everywhere=True)
def asserts_what_is_so_by_now(s: State) -> None:
    s.out = 7
    assert s.out == 7
    for p in range(s.NODES):
        assert s.level[p] < 3
    s.turn = 33


def someone(s: State) -> bool:
    """A process has a level."""
    return s.turn == 1


@safety(witness=someone)
def next(s: State) -> bool:
    """An invariant that is called like the next-state relation."""
    return s.out < 99


@safety(witness=someone)
def type_OK(s: State) -> bool:
    """One that is called nearly like TypeOK."""
    return s.out < 99


@safety(witness=someone)
def p0(s: State) -> bool:
    """One that is called like a process."""
    return s.out < 99


PROTOCOL = declare(__name__)
