"""Texts that tell processes apart, each in the line whose comment is what is said of it (a pattern)."""

# ruff: noqa: F821 - the names are the language's, found in the program's namespace
from __future__ import annotations

from zabspec.language.python.lang import NOBODY, History, Node, State, Txn, forget
from zabspec.worlds.actor import LEADING, choose, send_to_leader
from zabspec.worlds.step_annotations import process_in
from zabspec.zab import CEPOCH, NEWEPOCH, last


def a_literal(s: State, l: Node) -> bool:
    return len(s.Q[l]) > 1 or l == 2  # the number 2


def a_literal_behind_an_epoch(s: State, l: Node) -> bool:
    return s.new_epoch[l] == 2 and l == 2  # the number 2


def the_last_process(s: State, l: Node) -> bool:
    return l == s.NODES - 1  # compared with the number 2


def a_literal_index(s: State) -> int:
    return s.role[0]  # as an index of role


def role_of_a_literal_passed(s: State, p: Node) -> int:
    return s.role[p]


def a_literal_passed(s: State) -> int:
    return role_of_a_literal_passed(s, 1)  # passed to \w+ as the process p


def a_literal_member(s: State, l: Node) -> bool:
    return 0 in s.Q[l]  # set of processes


def a_literal_stored(s: State, l: Node) -> None:
    s.leader[l] = 1  # stored in leader


def a_literal_by_a_condition(s: State, l: Node) -> int:
    return s.role[l if s.ready[l] else 0]  # by a condition


def an_order(s: State, f: Node, l: Node) -> bool:
    return f < l  # by their order


def an_order_against_nobody(s: State, p: Node) -> bool:
    return s.leader[p] >= 0  # order


def arithmetic(s: State, p: Node) -> int:
    return s.role[(p + 1) % s.NODES]  # arithmetic \(\+\) on a process


def parity(s: State, p: Node) -> bool:
    return p % 2 == 0  # arithmetic \(%\)


def the_least_of_two(s: State, p: Node, q: Node) -> int:
    return min(p, q)  # min takes


def the_least_of_a_loop(s: State) -> bool:
    least = s.NODES
    for p in range(s.NODES):
        if s.ready[p]:
            least = min(least, p)  # min takes
    return least > 0


def half_of_the_pairs(s: State) -> bool:
    for p in range(s.NODES):
        for q in range(p):  # bound of a loop
            if s.role[p] == s.role[q]:
                return True
    return False


def all_but_the_first(s: State) -> bool:
    for p in range(1, s.NODES):  # not over range
        if s.ready[p]:
            return True
    return False


def some_by_a_quorum_s_size(s: State) -> bool:
    for p in range(s.MAJORITY):  # not over range
        if s.ready[p]:
            return True
    return False


def a_number_that_becomes_a_process(s: State) -> int:
    k = 0
    if s.abcasts > 0:
        k = k + 1
    return s.role[k]  # a number stands for a process


def a_process_that_becomes_a_number(s: State, l: Node) -> bool:
    k = l
    return k > s.abcasts  # by their order


def g_of_an_integer_parameter(k: int) -> bool:
    return k == 1


def an_integer_parameter(s: State, l: Node) -> bool:
    return g_of_an_integer_parameter(l)  # passed to \w+ as the integer k


def an_integer_result(s: State, l: Node) -> int:
    return l  # as an integer


def a_result_that_is_none(s: State, l: Node) -> Node:
    return s.stage[l]  # where a process


def an_integer_field(s: State, l: Node) -> None:
    s.stage[l] = l  # stored in stage


def an_integer_of_a_message(s: State, f: Node) -> None:
    send_to_leader(s, f, CEPOCH(epoch=f))  # integer of a message


def an_integer_of_a_record(s: State, p: Node) -> Txn:
    return Txn(epoch=0, counter=p, value=0)  # stored in Txn.counter


def an_axis_of_transactions(s: State, p: Node) -> int:
    return s.abcast_attempt[p]  # index of abcast_attempt


def a_place_of_a_history(s: State, p: Node) -> Txn:
    return s.history[p][p]  # index of


def a_set_of_numbers(s: State, p: Node) -> None:
    s.abcast_after[0].add(p)  # member of a set of numbers


def members_of_a_set_as_bits(s: State, l: Node) -> int:
    bits = 0
    for g in range(s.NODES):
        if g in s.Q[l]:
            bits = bits | (1 << g)  # arithmetic \(<<\)
    return bits


def an_alternative_as_a_process(s: State, l: Node) -> bool:
    return s.ready[choose(s, s.NODES)]  # a number stands for a process


def the_state_s_bytes(s: State) -> int:
    return load_word(as_bytes(s), 0)  # reads raw memory


def the_world_s_own_decoding(s: State, word: int) -> int:
    return s.role[process_in(word)]  # is only for the world


def the_last_of_a_loop(s: State) -> Node:
    found = NOBODY
    for p in range(s.NODES):
        if s.ready[p]:
            found = p  # what found holds depends on the order
    return found


def the_first_of_a_loop(s: State) -> Node:
    for p in range(s.NODES):
        if s.ready[p]:
            return p  # which process it visits first
    return NOBODY


def the_name_of_a_loop_after_it(s: State) -> int:
    p = NOBODY
    for p in range(s.NODES):
        if s.ready[p]:
            break
    return s.role[p]  # p, the variable of a loop over processes, is used after the loop


def a_value_kept_from_the_last_round(s: State, l: Node) -> None:
    for p in range(s.NODES):
        s.new_epoch[l] = s.promised_epoch[p]  # what new_epoch holds depends on the order


def two_constants(s: State, l: Node) -> None:
    for p in range(s.NODES):
        if s.ready[p]:
            s.stage[l] = 1  # what stage holds depends on the order
        elif s.role[p] == LEADING:
            s.stage[l] = 2


def two_constants_before_a_break(s: State) -> int:
    x = 0
    for p in range(s.NODES):
        if s.ready[p]:
            x = 1
            break
        if s.role[p] == LEADING:
            x = 2
            break  # more than one way
    return x


def two_answers(s: State) -> bool:
    for p in range(s.NODES):
        if s.ready[p]:
            return True
        if s.role[p] == LEADING:
            return False  # more than one way
    return False


def a_break_before_the_work(s: State) -> None:
    for p in range(s.NODES):
        if s.ready[p]:
            break  # may end before
        s.stage[p] = 1


def the_first_round_alone(s: State) -> int:
    x = 0
    for p in range(s.NODES):
        if s.ready[p]:
            x = 1
        break  # which process it visits first
    return x


def a_place_set_before_a_break(s: State) -> None:
    for p in range(s.NODES):
        if s.ready[p]:
            s.stage[p] = 1
            break  # which process it visits first


def a_count_that_is_read(s: State) -> None:
    n = 0
    for p in range(s.NODES):
        if n < 2:
            s.stage[p] = 1
            n = n + 1  # reads n


def a_field_that_is_read_where_others_write(s: State) -> None:
    for p in range(s.NODES):
        s.stage[p] = s.stage[s.leader[p]]  # stage


def a_pair_turned_round(s: State) -> None:
    for p in range(s.NODES):
        for q in range(s.NODES):
            s.link[p][q] = s.link[q][p]  # what link holds


def an_order_of_messages(s: State, l: Node) -> None:
    for g in range(s.NODES):
        if g in s.Q[l]:
            s.to_follower[l].append(NEWEPOCH(epoch=s.promised_epoch[g]))  # to_follower


def g_of_an_order_of_transactions_by_a_call(s: State, l: Node, p: Node) -> None:
    s.log[l].append(last(s.history[p]))


def an_order_of_transactions_by_a_call(s: State, l: Node) -> None:
    for p in range(s.NODES):
        g_of_an_order_of_transactions_by_a_call(s, l, p)  # what log holds depends on the order


def a_sum_that_may_leave_its_range(s: State, l: Node) -> None:
    for p in range(s.NODES):
        s.committed[l] = s.committed[l] + s.delivered_length[p]  # what committed holds


def added_and_taken_out(s: State, l: Node) -> None:
    for p in range(s.NODES):
        s.Q[l].add(p)  # what Q holds
        s.Q[l].discard(s.leader[p])


def a_flag_that_stops_the_rest(s: State) -> None:
    done = False
    for p in range(s.NODES):
        done = done or end_of_a_flag_that_stops_the_rest(s, p)  # done


def end_of_a_flag_that_stops_the_rest(s: State, p: Node) -> bool:
    s.stage[p] = 0
    return s.ready[p]


def the_last_that_differs(s: State) -> int:
    last_epoch = -1
    for p in range(s.NODES):
        if s.promised_epoch[p] != last_epoch:
            last_epoch = s.promised_epoch[p]  # what last_epoch holds depends on the order
    return last_epoch


def the_last_that_beats_another(s: State) -> int:
    found = -1
    for p in range(s.NODES):
        if s.promised_epoch[p] > found:
            found = s.current_epoch[p]  # what found holds depends on the order
    return found


def whose_is_greatest(s: State) -> Node:
    best = -1
    who = NOBODY
    for p in range(s.NODES):
        if s.promised_epoch[p] > best:
            best = s.promised_epoch[p]
            who = p  # what who holds depends on the order
    return who


def a_loop_given_another_process(s: State) -> None:
    for p in range(s.NODES):
        p = s.leader[p]  # p, a loop variable over processes, is assigned another value
        s.ready[p] = False


def a_literal_in_the_place_of_a_message(s: State, l: Node) -> bool:
    return s.to_leader[0][l][0].kind == CEPOCH  # as an index of to_leader


def two_maxima_with_one_flag(s: State) -> int:
    """Whichever has the first value, the other begins with what it was set to."""
    epoch = 0
    stage = 5
    some = False
    for p in range(s.NODES):
        if s.ready[p]:
            e = s.current_epoch[p]
            if not some or e > epoch:
                epoch = e
                some = True  # what some holds depends on the order
        k = s.stage[p]
        if not some or k > stage:
            stage = k
            some = True
    return 10 * epoch + stage


def an_order_in_an_inner_loop(s: State, l: Node) -> None:
    for p in range(s.NODES):
        for k in range(s.TXNS):
            s.committed[l] = s.delivered_length[p] + k  # what committed holds depends on the order


def counted_and_bounded(s: State) -> int:
    n = 0
    for p in range(s.NODES):
        n = n + 1  # what n holds depends on the order
        n = min(s.promised_epoch[p], n)
    return n


def constants_at_two_places(s: State, l: Node) -> None:
    for p in range(s.NODES):
        if s.ready[p]:
            s.stage[l] = 0
            return
        if s.stage[p] == 1:
            s.committed[l] = 0
            return  # ends in more than one way


def forgets_while_another_is_read(s: State, l: Node) -> None:
    for p in range(s.NODES):
        if s.stage[l] == 0:
            forget(s, p)  # what stage holds depends on the order


def g_of_a_count_passed(s: State, p: Node, n: int) -> None:
    s.stage[p] = n


def a_count_passed(s: State) -> None:
    n = 0
    for p in range(s.NODES):
        n = n + 1  # reads n, which its other rounds write
        g_of_a_count_passed(s, p, n)


def a_message_by_a_count(s: State, l: Node) -> None:
    n = 0
    for p in range(s.NODES):
        n = n + 1  # reads n, which its other rounds write
        s.ready[p] = s.to_leader[p][l][n].kind == CEPOCH


def g_length_of(h: History) -> int:
    return len(h)


def a_history_read_by_a_call(s: State, l: Node) -> None:
    for p in range(s.NODES):
        if g_length_of(s.history[l]) == 0:
            s.history[p].clear()  # reads history, which its other rounds write


def a_history_read_under_a_name(s: State, l: Node) -> None:
    h = s.history[l]
    for p in range(s.NODES):
        if g_length_of(h) == 0:
            s.history[p].clear()  # reads history, which its other rounds write


def greatest_then_least(s: State) -> int:
    n = 0
    for p in range(s.NODES):
        if s.promised_epoch[p] > n:
            n = s.promised_epoch[p]  # what n holds depends on the order
        if s.current_epoch[p] < n:
            n = s.current_epoch[p]
    return n
