"""DSN'11, sentence by sentence: what no story of `tests/scenarios/zab-paper-*.txt` can show.

Every test is named by section and step, and quotes what the paper says there. A `Run` takes the
steps the test names, each of which must be possible, and shows messages as text:
`NEWLEADER(1, [1.1])` proposes epoch 1 with an initial history of the one transaction of zxid <1, 1>.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Callable
from typing import Any

import pytest

from tests.protocols.paper_run import Run, proposed
from zabspec.language import StateView
from zabspec.language.python import reference
from zabspec.language.python.reference import MessageView
from zabspec.model import Configuration
from zabspec.worlds import connections as c
from zabspec.zab import (
    BROADCAST,
    DISCOVERY,
    DOWN,
    ELECTION,
    FOLLOWING,
    LEADING,
    NOBODY,
    SYNCHRONIZATION,
)

# --- II: the system model ------------------------------------------------------------------------


@pytest.mark.parametrize("nodes", range(1, 8))
def test_II_1_any_two_quorums_intersect(nodes: int) -> None:
    """Definition II.1: for all Q1, Q2: Q1 and Q2 intersect."""
    assert 2 * Configuration(nodes=nodes).smallest_quorum > nodes


class Channels:
    """What was sent into each connection, and what was received from it, from the senders' own calls."""

    def __init__(self, run: Run, seed: int) -> None:
        self.run = run
        self.random = random.Random(seed)
        program = run.program
        self.names = reference.load(program.layout, program.namespace, program.types, program.steps)
        run.names = self.names
        self.incarnation: dict[tuple[int, int], int] = defaultdict(int)
        self.sent: dict[tuple[int, int, str, int], list[bytes]] = defaultdict(list)
        self.received: dict[tuple[int, int, str, int], list[bytes]] = defaultdict(list)
        for name, record in (("connect", self.opens), ("send_to_leader", self.up), ("send_to_follower", self.down)):
            self.names[name] = self.wrapped(self.names[name], record)

    def at_failure(self, expected: str) -> str:
        return self.run.at_failure(expected)

    def wrapped(self, original: Callable[..., None], record: Callable[..., None]) -> Callable[..., None]:
        def call(s: StateView, *arguments: Any) -> None:
            record(s, *arguments)
            original(s, *arguments)

        return call

    def opens(self, s: StateView, f: int, l: int) -> None:
        left_over = [*s.to_follower[f], *s.to_leader[f][l]]
        assert not left_over
        self.incarnation[f, l] += 1

    def key(self, f: int, l: int, direction: str) -> tuple[int, int, str, int]:
        return f, l, direction, self.incarnation[f, l]

    def up(self, s: StateView, f: int, m: MessageView) -> None:
        self.sent[self.key(f, s.leader[f], "up")].append(m.raw())

    def down(self, s: StateView, l: int, f: int, m: MessageView) -> None:
        if s.leader[f] == l:
            self.sent[self.key(f, l, "down")].append(m.raw())

    def step(self) -> bool:
        s = self.run.s
        words = self.run.possible()
        if not words:
            return False
        weights = [{c.ORACLE: 0.3, c.CRASH: 0.03, c.TIMEOUT: 0.03}.get(w >> 24, 1.0) for w in words]
        word = self.random.choices(words, weights)[0]
        self.run.note(word)
        self.names["apply"](s, word)
        a, b = word >> 16 & 255, word >> 8 & 255
        if word >> 24 == c.TO_LEADER:
            self.received[self.key(b, a, "up")].append(s.event_message.raw())
        elif word >> 24 == c.TO_FOLLOWER:
            self.received[self.key(a, b, "down")].append(s.event_message.raw())
        return True

    def in_flight(self, f: int, l: int, direction: str) -> list[bytes]:
        s = self.run.s
        if direction == "up":
            return [m.raw() for m in s.to_leader[f][l]]
        return [m.raw() for m in s.to_follower[f]] if s.leader[f] == l else []


def walked_channels() -> list[Channels]:
    out = []
    for seed in range(12):
        channels = Channels(Run(timeouts=3, crashes=2, losses=3), seed)
        for _ in range(60):
            if not channels.step():
                break
        out.append(channels)
    return out


def test_II_channel_integrity_property() -> None:
    """Integrity: p_j receives a message m from p_i only if p_i has sent m."""
    for channels in walked_channels():
        assert sum(map(len, channels.received.values())) > 0
        for key, received in channels.received.items():
            assert set(received) <= set(channels.sent[key])


def test_II_channel_prefix_property() -> None:
    """Prefix: if p_j receives m and there is m' sent before m in that iteration, p_j receives m'
    before m. So what was received, with what is in flight, begins what was sent."""
    lost = 0
    for channels in walked_channels():
        for key, sent in channels.sent.items():
            received = channels.received[key]
            assert received == sent[: len(received)]
            lost += len(received) < len(sent)
    assert lost > 0


def test_II_channel_single_iteration_property() -> None:
    """Single iteration: the input buffer of p_j for channel c_ij contains messages from at most one
    iteration: that of the connection there is (`opens` asserts that it starts empty)."""
    for channels in (Channels(Run(timeouts=3, crashes=2, losses=3), seed) for seed in range(6)):
        for _ in range(60):
            if not channels.step():
                break
            for f, l in channels.incarnation:
                for direction in ("up", "down"):
                    key = channels.key(f, l, direction)
                    flying = channels.in_flight(f, l, direction)
                    done = len(channels.received[key])
                    assert flying == channels.sent[key][done : done + len(flying)]


def test_II_a_crashed_process_is_down_until_it_recovers() -> None:
    """We say that a process is up if it is not crashed, and down otherwise."""
    run = Run().establish(0, 1)
    run.crash(1)
    assert run.s.role[1] == DOWN
    assert [w >> 24 for w in run.possible() if w >> 16 & 255 == 1 and w >> 24 != c.PARTITION] == [c.RECOVER]
    run.recover(1)
    assert run.s.role[1] == ELECTION


def test_II_a_partition_may_cut_wherever_it_parts_two_that_are_connected() -> None:
    """A cut is named by the side that process 0 is not on; one that parts no connection is no step."""

    def cuts() -> set[int]:
        return {w >> 16 & 255 for w in run.possible() if w >> 24 == c.PARTITION}

    run = Run(nodes=4)
    assert cuts() == set()
    run.elect(0, 1)
    assert cuts() == {0b0010, 0b0110, 0b1010, 0b1110}
    run.elect(2, 3)
    assert cuts() == {0b0010, 0b0110, 0b1010, 0b1110, 0b0100, 0b1000}  # not 0b1100: it parts neither pair
    run.lose(3, 2)
    assert cuts() == {0b0010, 0b0110, 0b1010, 0b1110}
    run.take(c.PARTITION, 0b0110)
    assert cuts() == set()


# --- II: the networks that are not the paper's ---------------------------------------------------


def test_II_lossy_loses_one_message_while_later_ones_arrive() -> None:
    run = Run(network="lossy", drops=1).establish(0, 1)
    run.abcast(0)
    run.abcast(0)
    run.take(c.DROP_TO_FOLLOWER, 1, 0, 0)
    assert run.to_follower(1) == ["PROPOSE(1, 1.2)"]
    run.follower(1)
    assert run.history(1) == ["1.2"]  # f.3.2 has no gap check: the paper has none
    assert not run.can(c.DROP_TO_LEADER, 0, 1, 0)  # the budget is spent


def test_II_duplicating_receives_a_message_that_stays_in_flight() -> None:
    run = Run(network="duplicating", duplicates=1).establish(0, 1)
    run.abcast(0)
    assert run.take(c.REPEAT_TO_FOLLOWER, 1, 0, 0) == {"f.3.2"}
    assert run.to_follower(1) == ["PROPOSE(1, 1.1)"]
    assert run.follower(1) == {"f.3.2"}
    assert run.history(1) == ["1.1", "1.1"]


# --- III: primaries ------------------------------------------------------------------------------


def test_III_zxids_are_ordered_by_epoch_then_counter() -> None:
    """z precedes z' if epoch(z) < epoch(z'), or they are equal and counter(z) < counter(z')."""
    run = Run(max_epoch=3)
    make, le = run.names["Txn"], run.names["zxid_le"]
    one, two, three = (make(epoch=e, counter=n, value=1) for e, n in ((1, 2), (1, 3), (2, 1)))
    assert le(one, two)
    assert le(two, three)
    assert le(one, three)
    assert le(one, one)
    assert not le(two, one)
    assert not le(three, two)


# --- IV: roles and the oracle --------------------------------------------------------------------


def test_IV_the_oracle_may_name_anyone_and_different_ones() -> None:
    """Each process implements a leader oracle, and the leader oracle provides the identifier of the
    prospective leader."""
    run = Run()
    assert all(run.can(c.ORACLE, p, l) for p in range(3) for l in range(3))
    run.oracle(0, 1)
    run.oracle(1, 2)
    run.oracle(2, 2)
    assert run.roles() == [FOLLOWING, FOLLOWING, LEADING]
    assert list(run.s.leader) == [1, 2, 2]


def test_IV_the_oracle_is_asked_in_ELECTION_only() -> None:
    run = Run().elect(0, 1)
    assert {w >> 16 & 255 for w in run.possible() if w >> 24 == c.ORACLE} == {2}


def test_table_1_initial_values() -> None:
    """f.p and f.a are initially bottom (0: before every epoch), h_f is initially empty."""
    run = Run()
    assert list(run.s.promised_epoch) == [0, 0, 0] == list(run.s.current_epoch)
    assert [run.history(f) for f in range(3)] == [[], [], []]
    assert run.roles() == [ELECTION] * 3
    assert list(run.s.leader) == [NOBODY] * 3


# --- IV: Phase 1 ---------------------------------------------------------------------------------


def test_f_1_2_does_not_acknowledge_an_earlier_epoch() -> None:
    """V.C: it only does so if the new epoch proposed is later than f.p."""
    run = Run().gather(0, 1)  # NEWEPOCH(1) is on its way to 1
    run.s.promised_epoch[1] = 2
    assert run.follower(1) == {"f.1.2"}
    assert run.s.promised_epoch[1] == 2
    assert run.to_leader(1, 0) == []
    assert run.s.phase[1] == DISCOVERY


def offers(*of_followers: tuple[int, list[tuple[int, int]]]) -> Run:
    """Followers 0, 1, ... of a leader about to take their ACK-E, with these f.a and histories."""
    run = Run(max_epoch=6)
    make = run.names["Txn"]
    for f, (current, history) in enumerate(of_followers):
        run.s.promised_epoch[f] = run.s.current_epoch[f] = current
        for k, (epoch, counter) in enumerate(history):
            run.s.history[f].append(make(epoch=epoch, counter=counter, value=k + 1))
    run.gather(0, *range(1, len(of_followers)))
    for f in range(len(of_followers)):
        run.follower(f)
    return run


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
@pytest.mark.parametrize(("epoch", "sent"), [(2, "NEWLEADER(3, [1.1])"), (1, "NEWLEADER(2, [1.1, 1.2])")])
def test_l_1_2_prefers_the_later_current_epoch_then_the_higher_zxid(
    epoch: int, sent: str, order: tuple[int, int]
) -> None:
    """f'.a < f.a: the history of f, however long and high that of f' is; or (f'.a = f.a) and f'.zxid precedes
    f.zxid."""
    run = offers((epoch, [(1, 1)]), (1, [(1, 1), (1, 2)]))
    for f in order:
        run.leader(0, f)
    assert run.to_follower(0) == [sent]


def test_l_1_2_compares_the_last_zxid_and_not_the_length() -> None:
    run = offers((2, [(1, 1), (1, 2)]), (2, [(2, 1)]))
    run.leader(0, 0)
    run.leader(0, 1)
    assert run.to_follower(1) == ["NEWLEADER(3, [2.1])"]


def test_l_1_2_a_tie_may_go_either_way() -> None:
    """Ties between different histories are nondeterministic (they do not occur in ZAB)."""
    taken = []
    for choice in (0, 1):
        run = offers((1, [(1, 1), (1, 2)]), (1, [(1, 2)]))
        run.leader(0, 0)
        run.leader(0, 1, choice=choice)
        assert run.s.choices == 2
        taken.append(run.to_follower(0))
    assert sorted(taken) == [["NEWLEADER(2, [1.1, 1.2])"], ["NEWLEADER(2, [1.2])"]]


# --- IV: Phase 2 ---------------------------------------------------------------------------------


def test_f_2_1_starts_a_new_iteration_if_it_promised_another_epoch() -> None:
    """If f.p != e', then the follower starts a new iteration."""
    run = proposed()
    run.s.promised_epoch[2] = 3
    assert run.follower(2) == {"f.2.1"}
    assert run.s.role[2] == ELECTION
    assert run.s.current_epoch[2] == 0
    assert run.history(2) == []


# --- IV: Phase 3 ---------------------------------------------------------------------------------


def test_l_3_2_a_commit_covers_those_before_it() -> None:
    """f.3.3 commits all that precede it, so once a later one is committed no commit is sent for them."""
    run = Run().establish(0, 1, 2)
    run.abcast(0)
    run.abcast(0)
    for f in (0, 1):
        run.follower(f)
        run.follower(f)
    run.leader(0, 1)
    run.leader(0, 1)
    run.s.to_leader[0][0].pop(0)  # as if the first acknowledgement of 0 had not been
    run.leader(0, 0)
    assert run.s.committed[0] == 2
    assert run.to_follower(1) == ["COMMIT(1, 1.2)"]


def test_f_3_3_follows_f_2_2() -> None:
    """COMMIT is of Phase 3: where the commit of NEWLEADER was lost, one that comes after it delivers nothing."""
    run = Run(network="lossy", drops=1).gather(0, 1)
    for f in (0, 1):
        run.follower(f)
        run.leader(0, f)
    for f in (0, 1):
        run.follower(f)
        run.leader(0, f)
    run.take(c.DROP_TO_FOLLOWER, 1, 0, 0)
    run.settle(0, 1)
    run.abcast(0)
    run.settle(0, 1)
    assert run.s.phase[1] == SYNCHRONIZATION
    assert run.history(1) == ["1.1"]
    assert (run.delivered(0), run.delivered(1)) == (["1.1"], [])


def test_f_3_3_delivers_all_that_precede_it_first() -> None:
    """... and it has committed all transactions <v', z'> such that <v', z'> is in h_f and z' precedes z."""
    run = Run().establish(0, 1, 2)
    run.abcast(0)
    run.abcast(0)
    run.follower(1)
    run.follower(1)
    make = run.names["COMMIT"]
    run.s.to_follower[1].append(make(epoch=1, txn=run.s.abcast_txn[1]))
    assert run.follower(1) == {"f.3.3"}
    assert run.delivered(1) == ["1.1", "1.2"]


# --- V: in detail --------------------------------------------------------------------------------


def test_V_C_an_established_leader_ignores_acknowledgements_of_NEWLEADER() -> None:
    """If the leader is already established, the NEWLEADER(e, I_e) proposal has already been committed,
    so any acknowledgements for the NEWLEADER(e, I_e) proposal are ignored."""
    run = Run(network="duplicating", duplicates=1).gather(0, 1)
    for f in (0, 1):
        run.follower(f)
    for f in (0, 1):
        run.leader(0, f)
    for f in (0, 1):
        run.follower(f)
    run.leader(0, 0)
    assert run.take(c.REPEAT_TO_LEADER, 0, 1) == {"l.2.2"}
    assert run.to_leader(1, 0) == ["ACK_LD(1, 0.0)"]
    sent = run.to_follower(1)
    assert run.leader(0, 1) == set()
    assert run.to_follower(1) == sent
    assert run.Q(0) == {0, 1}


def test_V_only_an_iteration_can_time_out() -> None:
    run = Run()
    assert not any(w >> 24 == c.TIMEOUT for w in run.possible())
    run.oracle(0, 0)
    assert run.can(c.TIMEOUT, 0)


def test_V_who_is_in_an_iteration_and_who_is_still_recovering() -> None:
    """What the simulator's timers ask: one in ELECTION or down has nothing to abandon; Phases 1 and 2 are recovery."""
    run = Run()

    def says(name: str) -> list[bool]:
        return [bool(run.names[name](run.s, p)) for p in range(3)]

    assert says("may_time_out") == [False, False, False]
    run.elect(0, 1)
    assert says("may_time_out") == [True, True, False]
    assert says("recovering")[:2] == [True, True]
    while run.s.phase[1] != BROADCAST:
        assert says("recovering")[:2] == [run.s.phase[0] != BROADCAST, True]
        word = next(w for w in run.possible() if w >> 24 in (c.TO_LEADER, c.TO_FOLLOWER))
        run.take(word >> 24, word >> 16 & 255, word >> 8 & 255)
    run.settle(0, 1)
    assert says("recovering")[:2] == [False, False]
    run.crash(1)
    assert says("may_time_out") == [True, False, False]


def test_V_budgets_run_out() -> None:
    """A fault is a step only while its budget lasts."""
    run = Run(timeouts=0, crashes=1, losses=0, partitions=0).establish(0, 1)
    run.crash(1)
    assert {w >> 24 for w in run.possible()} <= {c.ORACLE, c.RECOVER, c.FOLLOWER_LEARNS, c.LEADER_LEARNS, c.ABCAST}
