"""Texts that treat processes alike, each in a way that symmetry allows."""

from __future__ import annotations

from zabspec.language.python.lang import NOBODY, Node, State, forget
from zabspec.worlds.actor import LEADING, send_to_follower, send_to_leader
from zabspec.zab import CEPOCH, NEWEPOCH, last


def equality(s: State, f: Node, l: Node) -> bool:
    return f == l or s.leader[f] == l or s.leader[l] == NOBODY


def nobody(s: State, p: Node) -> None:
    s.leader[p] = NOBODY if s.ready[p] else p


def indexing_sending_sets(s: State, f: Node) -> None:
    l = s.leader[f]
    s.Q[l].add(f)
    s.link[f][l] = 1
    send_to_leader(s, f, CEPOCH(epoch=s.promised_epoch[f]))


def for_all(s: State, l: Node) -> bool:
    for g in range(s.NODES):
        if g in s.Q[l] and g not in s.acked[l]:
            return False
    return True


def exists_of_pairs(s: State) -> bool:
    for p in range(s.NODES):
        for q in range(s.NODES):
            if p != q and s.role[p] == LEADING and s.role[q] == LEADING:
                return True
    return False


def count_sum_least(s: State) -> int:
    n = 0
    total = 0
    low = 99
    for p in range(s.NODES):
        if s.ready[p]:
            n = n + 1
        total += s.promised_epoch[p]
        low = min(s.promised_epoch[p], low)
    return n + total + low


def a_flag_and_a_break(s: State) -> bool:
    found = False
    for p in range(s.NODES):
        if s.ready[p]:
            found = True
            break
    return found


def a_flag_of_the_state(s: State, l: Node) -> None:
    for p in range(s.NODES):
        if p in s.Q[l]:
            s.ready[l] = True


def union_and_greatest(s: State, l: Node) -> None:
    for p in range(s.NODES):
        if s.leader[p] == l:
            s.Q[l].add(p)
        s.new_epoch[l] = max(s.new_epoch[l], s.promised_epoch[p])


def a_constant_added(s: State, l: Node) -> None:
    for p in range(s.NODES):
        if s.ready[p]:
            s.committed[l] = s.committed[l] + 1


def writes_at_its_own(s: State, l: Node) -> None:
    for p in range(s.NODES):
        if p != l and s.stage[p] > 0:
            s.stage[p] = s.stage[p] - 1
            s.history[p].append(last(s.history[p]))
            forget(s, p)


def writes_at_its_own_by_a_call(s: State, l: Node) -> None:
    for g in range(s.NODES):
        if g in s.Q[l]:
            send_to_follower(s, l, g, NEWEPOCH(epoch=s.new_epoch[l]))


def writes_at_pairs(s: State) -> None:
    for p in range(s.NODES):
        for q in range(s.NODES):
            if s.link[p][q] == 1:
                s.link[p][q] = 0
                s.to_leader[p][q].clear()


def a_name_of_one_round(s: State) -> bool:
    for p in range(s.NODES):
        l = s.leader[p]
        if l != NOBODY and s.role[l] != LEADING:
            return False
    return True


def numbers_up_to_as_many_as_there_are_processes(s: State) -> int:
    n = 0
    for k in range(s.NODES):
        if k > 0:
            n = n * 2 + k
    return n


def greatest_and_least_by_a_test(s: State) -> int:
    high = -1
    low = 99
    for p in range(s.NODES):
        if s.promised_epoch[p] > high:
            high = s.promised_epoch[p]
        if low >= s.promised_epoch[p]:
            low = s.promised_epoch[p]
    return high - low


def a_name_that_is_a_loops_later(s: State, l: Node) -> None:
    p = l
    for p in range(s.NODES):
        s.stage[p] = 0


def the_same_constant_at_one_place(s: State, l: Node) -> None:
    for p in range(s.NODES):
        if s.ready[p]:
            s.stage[l] = 0
            return
        if s.stage[p] == 1:
            s.stage[l] = 0
            return


def any_or_all_by_a_word(s: State) -> bool:
    some = False
    every = True
    for p in range(s.NODES):
        some = some or s.ready[p]
        every = every and s.stage[p] == 0
    return some and every
