"""DSN'11, sentence by sentence: sections II, IV and V, in the CPython world.

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

from tests.models import model
from tests.protocols.paper_run import Run, proposed, zxid
from zabspec.language import Role, StateView, reference
from zabspec.language.reference import MessageView
from zabspec.model import Configuration
from zabspec.worlds import connections as c
from zabspec.zab import (
    BROADCAST,
    DISCOVERY,
    DOWN,
    ELECTION,
    ESTABLISHED,
    FOLLOWING,
    GATHERING,
    LEADING,
    NOBODY,
    PROMISING,
    SYNCHRONIZATION,
    SYNCHRONIZING,
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


def test_II_a_lost_connection_loses_what_was_not_received() -> None:
    """Channels are TCP connections: a prefix of what was sent is received, and nothing after."""
    run = Run().establish(0, 1)
    run.abcast(0)
    run.abcast(0)
    assert run.to_follower(1) == ["PROPOSE(1, 1.1)", "PROPOSE(1, 1.2)"]
    run.lose(1, 0)
    assert run.follower(1) == {"f.3.2"}  # the first still arrives
    run.follower_learns(1)
    assert run.history(1) == ["1.1"]
    assert run.to_follower(1) == []
    assert run.to_leader(1, 0) == []  # and the ACK went into a connection that was lost


def test_II_each_end_learns_of_a_loss_in_a_step_of_its_own() -> None:
    run = Run().establish(0, 1)
    run.lose(1, 0)
    assert run.roles() == [LEADING, FOLLOWING, ELECTION]
    run.leader_learns(0, 1)
    assert run.roles() == [ELECTION, FOLLOWING, ELECTION]
    run.follower_learns(1)
    assert run.roles() == [ELECTION, ELECTION, ELECTION]


@pytest.mark.parametrize("first", ["leader", "follower"])
def test_II_reconnects_when_both_ends_have_learned_of_the_loss(first: str) -> None:
    """Once we close a connection and establish a new one, a process only has messages from a single
    iteration: the new one opens when nothing of the old one is left at either end."""
    run = Run().establish(0, 1, 2)
    run.abcast(0)
    run.lose(1, 0)
    ends: list[Callable[[], None]] = [lambda: run.leader_learns(0, 1), lambda: run.follower_learns(1)]
    for learn in ends if first == "leader" else reversed(ends):
        assert not run.can(c.ORACLE, 1, 0)
        learn()
    assert run.oracle(1, 0) == {"f.1.1"}
    assert run.to_leader(1, 0) == ["CEPOCH(1)"]
    assert run.to_follower(1) == []


def test_II_nothing_is_left_of_a_connection_that_both_ends_gave_up() -> None:
    run = Run().establish(0, 1)
    run.abcast(0)
    run.follower(1)
    run.time_out(1)
    assert run.to_leader(1, 0) == ["ACK(1, 1.1)"]  # the leader may still receive it
    run.time_out(0)
    run.oracle(1, 0)
    assert run.to_leader(1, 0) == ["CEPOCH(1)"]
    assert run.to_follower(1) == []


def test_II_a_crashed_process_is_down_until_it_recovers() -> None:
    """We say that a process is up if it is not crashed, and down otherwise."""
    run = Run().establish(0, 1)
    run.crash(1)
    assert run.s.role[1] == DOWN
    assert [w >> 24 for w in run.possible() if w >> 16 & 255 == 1 and w >> 24 != c.PARTITION] == [c.RECOVER]
    run.recover(1)
    assert run.s.role[1] == ELECTION


def test_II_the_other_ends_of_a_crashed_process_learn_of_it() -> None:
    run = Run().establish(0, 1, 2)
    run.crash(0)
    for f in (1, 2):
        run.follower_learns(f)
    assert run.roles() == [DOWN, ELECTION, ELECTION]


def test_II_a_partition_loses_every_connection_across_the_cut() -> None:
    """Processes make progress if a quorum can exchange messages; across a cut none can."""
    run = Run(nodes=5).establish(0, 1, 2, 3, 4)
    run.take(c.PARTITION, 0b00110)
    assert [run.s.link[f][0] for f in range(5)] == [c.OPEN, c.LOST, c.LOST, c.OPEN, c.OPEN]
    assert run.s.partitions_left == 0


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


def test_II_a_partition_leaves_what_it_does_not_part() -> None:
    run = Run(nodes=5).elect(0, 1, 2).elect(3, 4)
    run.take(c.PARTITION, 0b10010)
    lost = {(f, l) for f in range(5) for l in range(5) if run.s.link[f][l] == c.LOST}
    assert lost == {(1, 0), (4, 3)}
    assert [run.s.link[f][l] for f, l in ((0, 0), (2, 0), (3, 3))] == [c.OPEN] * 3


# --- II: the networks that are not the paper's ---------------------------------------------------


def test_II_fifo_delivers_in_order_and_loses_connections_only() -> None:
    run = Run(timeouts=0, crashes=0, losses=0, partitions=0).establish(0, 1)
    run.abcast(0)
    run.abcast(0)
    receipts = [w for w in run.possible() if w >> 16 & 255 == 1]
    assert receipts == [c.TO_FOLLOWER << 24 | 1 << 16]
    assert {w >> 24 for w in run.possible()} == {c.TO_FOLLOWER, c.ABCAST, c.ORACLE}


def test_II_lossy_loses_one_message_while_later_ones_arrive() -> None:
    run = Run(network="lossy", drops=1).establish(0, 1)
    run.abcast(0)
    run.abcast(0)
    run.take(c.DROP_TO_FOLLOWER, 1, 0, 0)
    assert run.to_follower(1) == ["PROPOSE(1, 1.2)"]
    run.follower(1)
    assert run.history(1) == ["1.2"]  # f.3.2 has no gap check: the paper has none
    assert not run.can(c.DROP_TO_LEADER, 0, 1, 0)  # the budget is spent


def test_II_unordered_receives_any_message_in_flight() -> None:
    run = Run(network="unordered").establish(0, 1)
    run.abcast(0)
    run.abcast(0)
    run.follower(1, place=1)
    assert run.history(1) == ["1.2"]
    assert run.to_follower(1) == ["PROPOSE(1, 1.1)"]


def test_II_duplicating_receives_a_message_that_stays_in_flight() -> None:
    run = Run(network="duplicating", duplicates=1).establish(0, 1)
    run.abcast(0)
    assert run.take(c.REPEAT_TO_FOLLOWER, 1, 0, 0) == {"f.3.2"}
    assert run.to_follower(1) == ["PROPOSE(1, 1.1)"]
    assert run.follower(1) == {"f.3.2"}
    assert run.history(1) == ["1.1", "1.1"]


# --- III: primaries ------------------------------------------------------------------------------


def test_III_a_primary_broadcasts_only_after_ready() -> None:
    """A primary only starts generating state updates once the Zab layer indicates that recovery has
    completed: ready(e)."""
    run = Run().elect(0, 1)
    while not run.s.ready[0]:
        assert not run.can(c.ABCAST, 0)
        word = next(w for w in run.possible() if w >> 24 in (c.TO_LEADER, c.TO_FOLLOWER))
        run.take(word >> 24, word >> 16 & 255, word >> 8 & 255)
    assert run.can(c.ABCAST, 0)


def test_III_zxid_is_the_instance_and_a_counter_that_grows() -> None:
    """epoch(z) = instance = e, and c is incremented for every new transaction."""
    run = Run().establish(0, 1)
    run.abcast(0)
    run.abcast(0)
    assert [zxid(run.s.abcast_txn[k]) for k in range(2)] == ["1.1", "1.2"]
    run.settle(0, 1)
    run.time_out(0)
    run.follower_learns(1)
    run.establish(1, 2)
    run.abcast(1)
    assert zxid(run.s.abcast_txn[2]) == "2.1"


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


def test_IV_a_leader_executes_the_steps_of_a_follower_too() -> None:
    """A leader also executes the steps of a follower: it sends itself CEPOCH over a channel."""
    run = Run()
    assert run.oracle(0, 0) == {"f.1.1"}
    assert run.to_leader(0, 0) == ["CEPOCH(0)"]
    assert run.s.stage[0] == GATHERING
    assert run.s.phase[0] == DISCOVERY


def test_IV_being_named_by_the_oracle_does_not_establish_leadership() -> None:
    """To establish leadership, a process needs to complete Phase 2."""
    run = Run().elect(0, 1)
    run.oracle(2, 2)
    run.leader(2, 2)
    assert run.s.stage[2] == GATHERING
    assert run.to_follower(2) == []
    assert not any(run.s.established)
    run.settle(0, 1)
    assert run.s.stage[0] == ESTABLISHED
    assert list(run.s.established)[:2] == [0, 1]


def test_table_1_persistent_variables_survive_a_crash() -> None:
    """Table 1: f.p, f.a and h_f (with f.zxid) are persistent; nothing else is."""
    run = Run().establish(0, 1)
    run.abcast(0)
    run.settle(0, 1)
    persistent = {f.name for f in run.program.schema.fields if f.role is Role.PERSISTENT}
    assert persistent == {"promised_epoch", "current_epoch", "history"}
    run.crash(1)
    run.recover(1)
    assert (run.s.promised_epoch[1], run.s.current_epoch[1], run.history(1)) == (1, 1, ["1.1"])
    for f in run.program.schema.fields:
        if f.role is Role.VOLATILE:
            for index, at in run.program.layout.elements(f.name):
                if index[0] == 1:
                    assert not any(run.s.buffer[at : at + f.kind.size]), f.name


def test_table_1_initial_values() -> None:
    """f.p and f.a are initially bottom (0: before every epoch), h_f is initially empty."""
    run = Run()
    assert list(run.s.promised_epoch) == [0, 0, 0] == list(run.s.current_epoch)
    assert [run.history(f) for f in range(3)] == [[], [], []]
    assert run.roles() == [ELECTION] * 3
    assert list(run.s.leader) == [NOBODY] * 3


# --- IV: Phase 1 ---------------------------------------------------------------------------------


def test_f_1_1_sends_its_last_promise() -> None:
    """A follower sends to the prospective leader its last promise in a CEPOCH(f.p) message."""
    run = Run().establish(0, 1)
    run.time_out(1)
    run.oracle(1, 2)
    assert run.s.promised_epoch[1] == 1
    assert run.to_leader(1, 2) == ["CEPOCH(1)"]


def test_f_1_1_sends_the_promise_and_not_the_current_epoch() -> None:
    """CEPOCH(f.p), where V.C has CEPOCH(f.a): they differ after a promise that came to nothing."""
    run = Run().gather(0, 1)
    run.follower(1)
    run.time_out(1)
    run.oracle(1, 2)
    assert (run.s.promised_epoch[1], run.s.current_epoch[1]) == (1, 0)
    assert run.to_leader(1, 2) == ["CEPOCH(1)"]


def test_l_1_1_waits_for_a_quorum() -> None:
    """Upon receiving CEPOCH(e) messages from a quorum Q of followers."""
    run = Run(nodes=5).elect(0, 1, 2)
    for f in (0, 1):
        assert run.leader(0, f) == {"l.1.1"}
        assert run.s.stage[0] == GATHERING
    run.leader(0, 2)
    assert run.s.stage[0] == PROMISING
    assert run.Q(0) == {0, 1, 2}
    assert [run.to_follower(f) for f in range(5)] == [["NEWEPOCH(1)"]] * 3 + [[], []]


def test_l_1_1_asks_nobody_outside_Q_though_it_is_connected() -> None:
    """NEWEPOCH(e') goes to Q, and so does all that follows: NEWLEADER, its commit, proposals and their commits. One
    that is connected and whose CEPOCH has not been taken is no follower of the epoch."""
    run = Run(nodes=5).elect(0, 1, 2, 3)
    for f in (0, 1, 2):
        run.leader(0, f)
    assert run.s.stage[0] == PROMISING
    assert [run.to_follower(f) for f in (1, 3)] == [["NEWEPOCH(1)"], []]
    run.settle(0, 1, 2)
    assert run.s.stage[0] == ESTABLISHED
    run.abcast(0)
    assert [run.to_follower(f) for f in (1, 3)] == [["PROPOSE(1, 1.1)"], []]
    run.settle(0, 1, 2)
    assert run.delivered(2) == ["1.1"]
    assert run.to_follower(3) == []
    assert run.to_leader(3, 0) == ["CEPOCH(0)"]


def test_l_1_1_proposes_an_epoch_later_than_any_received() -> None:
    """The epoch number e' is such that it is later than any e received in a CEPOCH(e) message."""
    run = Run().establish(0, 1)
    run.time_out(1)
    run.gather(2, 1)
    assert run.to_follower(1) == ["NEWEPOCH(2)"] == run.to_follower(2)


def test_l_1_1_leaves_a_late_CEPOCH_in_its_channel() -> None:
    """Q is the quorum that was asked; a CEPOCH that comes after l.1.1 waits until Phase 3."""
    run = Run().gather(0, 1)
    run.oracle(2, 0)
    assert not run.can(c.TO_LEADER, 0, 2)
    run.settle(0, 1)
    assert run.can(c.TO_LEADER, 0, 2)


def test_f_1_2_acknowledges_a_later_epoch_and_records_the_promise() -> None:
    """Once it receives NEWEPOCH(e'), if f.p < e', then f.p <- e' and it acknowledges with
    ACK-E(f.a, h_f). It completes Phase 1."""
    run = Run().gather(0, 1)
    assert run.follower(1) == {"f.1.2"}
    assert run.s.promised_epoch[1] == 1
    assert run.to_leader(1, 0) == ["ACK_E(0, [])"]
    assert run.s.phase[1] == SYNCHRONIZATION


def test_f_1_2_acknowledges_with_the_current_epoch_and_the_history() -> None:
    run = Run().establish(0, 1)
    run.abcast(0)
    run.settle(0, 1)
    run.time_out(1)
    run.gather(2, 1)
    run.follower(1)
    assert run.to_leader(1, 2) == ["ACK_E(1, [1.1])"]


def test_f_1_2_does_not_acknowledge_an_earlier_epoch() -> None:
    """V.C: it only does so if the new epoch proposed is later than f.p."""
    run = Run().gather(0, 1)  # NEWEPOCH(1) is on its way to 1
    run.s.promised_epoch[1] = 2
    assert run.follower(1) == {"f.1.2"}
    assert run.s.promised_epoch[1] == 2
    assert run.to_leader(1, 0) == []
    assert run.s.phase[1] == DISCOVERY


def test_f_1_2_a_prospective_leader_never_offers_the_epoch_promised() -> None:
    """V.C: once a follower accepts a new epoch proposal for e, it does not send an acknowledgment for
    any other new epoch proposal for e: l.1.1 proposes a later one than each CEPOCH of Q."""
    run = Run().gather(0, 1)
    run.follower(1)
    run.time_out(1)
    run.elect(2, 1)
    run.leader(2, 2)
    run.leader(2, 1)
    assert run.to_follower(1) == ["NEWEPOCH(2)"]


def test_l_1_2_waits_for_every_follower_of_Q() -> None:
    """Once it receives a confirmation from each follower in Q."""
    run = Run(nodes=5).gather(0, 1, 2)
    for f in (0, 1, 2):
        run.follower(f)
    for f in (0, 1):
        assert run.leader(0, f) == {"l.1.2"}
        assert run.s.stage[0] == PROMISING
    assert run.leader(0, 2) == {"l.1.2", "l.2.1"}
    assert run.s.stage[0] == SYNCHRONIZING


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


def test_l_2_1_proposes_the_initial_history_to_Q() -> None:
    """The prospective leader proposes NEWLEADER(e', I_e') to all followers in Q."""
    run = Run().gather(0, 1)
    run.follower(0)
    run.follower(1)
    run.leader(0, 0)
    assert "l.2.1" in run.leader(0, 1)
    assert [run.to_follower(f) for f in range(3)] == [["NEWLEADER(1, [])"]] * 2 + [[]]


def test_f_2_1_accepts_the_initial_history_and_acknowledges() -> None:
    """If f.p = e': f.a <- e', each <v, z> of I_e' is accepted, h_f <- T; then it acknowledges."""
    run = proposed()
    assert run.follower(2) == {"f.2.1"}
    assert run.s.current_epoch[2] == 2
    assert run.history(2) == ["1.1", "1.2"]
    assert (run.s.accepts, run.s.accept_epoch) == (2, 2)
    assert run.to_leader(2, 1) == ["ACK_LD(2, 1.2)"]
    assert run.delivered(2) == []


def test_f_2_1_starts_a_new_iteration_if_it_promised_another_epoch() -> None:
    """If f.p != e', then the follower starts a new iteration."""
    run = proposed()
    run.s.promised_epoch[2] = 3
    assert run.follower(2) == {"f.2.1"}
    assert run.s.role[2] == ELECTION
    assert run.s.current_epoch[2] == 0
    assert run.history(2) == []


def test_f_2_1_follows_f_1_2() -> None:
    """Phase 2 comes after Phase 1: where NEWLEADER(e') overtakes NEWEPOCH(e'), a follower that promised e' in an
    earlier iteration does not take it."""
    run = Run(network="unordered").establish(0, 1, 2)
    run.time_out(2)
    run.leader_learns(0, 2)
    run.oracle(2, 0)
    run.leader(0, 2)
    assert run.to_follower(2) == ["NEWEPOCH(1)", "NEWLEADER(1, [])"]
    assert run.follower(2, place=1) == {"f.2.1"}
    assert run.s.promised_epoch[2] == 1
    assert run.s.phase[2] == DISCOVERY
    assert run.to_leader(2, 0) == []


def test_f_2_1_is_atomic() -> None:
    """It executes atomically: unmodified ZAB has no point inside f.2.1 at which it could crash."""
    run = proposed()
    assert not any(w >> 24 == c.CRASH_IN_RECEIPT for w in run.possible())


def test_f_2_1_replaces_what_was_not_in_the_initial_history() -> None:
    """h_f <- T: what a follower accepted beyond T is gone."""
    run = Run().establish(0, 1)
    run.abcast(0)
    run.follower(0)
    assert run.history(0) == ["1.1"]
    run.time_out(0)
    run.follower_learns(1)
    run.establish(1, 2)
    run.oracle(0, 1)
    run.settle(0, 1)
    assert run.history(0) == []
    assert run.s.current_epoch[0] == 2


def test_l_2_2_commits_when_a_quorum_acknowledged() -> None:
    """Upon receiving acknowledgments to NEWLEADER(e', I_e') from a quorum of followers, the leader
    sends a commit message to all followers and completes Phase 2."""
    run = Run(nodes=5).gather(0, 1, 2)
    for f in (0, 1, 2):
        run.follower(f)
    for f in (0, 1, 2):
        run.leader(0, f)
    for f in (0, 1, 2):
        run.follower(f)
    for f in (2, 1):
        assert run.leader(0, f) == {"l.2.2"}
        assert run.s.stage[0] == SYNCHRONIZING
        assert not any(run.s.established)
    run.leader(0, 0)
    assert run.s.stage[0] == ESTABLISHED
    assert [run.to_follower(f) for f in range(3)] == [["COMMIT_LD(1, 0.0)"]] * 3


def test_V_1_a_leader_is_established_when_a_quorum_accepted_NEWLEADER() -> None:
    """Definition V.1: l_e is established for e if its NEWLEADER(e, I_e) is accepted by a quorum Q."""
    run = proposed()
    run.follower(2)
    run.leader(1, 2)
    assert list(run.s.established)[:3] == [0, 1, 0]
    run.follower(1)
    run.leader(1, 1)
    assert list(run.s.established)[:3] == [0, 1, 1]


def test_f_2_2_delivers_the_initial_history_in_its_order() -> None:
    """Upon receiving a commit message from the leader, it delivers all transactions in the initial
    history I_e' by invoking abdeliver for each, following the order of I_e', and completes Phase 2."""
    run = proposed().settle(1)
    run.follower(2)
    run.leader(1, 2)
    assert run.to_follower(2) == ["COMMIT_LD(2, 1.2)"]
    assert run.delivered(2) == []
    assert run.follower(2) == {"f.2.2"}
    assert run.delivered(2) == ["1.1", "1.2"]
    assert run.s.phase[2] == BROADCAST


def test_f_2_2_delivers_again_in_a_new_epoch() -> None:
    """IX: messages can be delivered twice as long as they respect the order agreed upon."""
    run = Run().establish(0, 1)
    run.abcast(0)
    run.settle(0, 1)
    assert (run.delivered(1), run.s.pass_length[1]) == (["1.1"], 1)
    run.time_out(0)
    run.follower_learns(1)
    assert run.s.pass_length[1] == 0
    run.establish(1, 2)
    assert (run.delivered(1), run.s.pass_length[1], run.s.diverged[1]) == (["1.1"], 1, False)


def test_f_2_2_begins_anew_after_a_crash() -> None:
    """II: an iteration ends at a crash, and with it the pass; what the next one delivers again is no second history."""
    run = Run().establish(0, 1)
    run.abcast(0)
    run.abcast(0)
    run.settle(0, 1)
    for p in (0, 1):
        assert run.s.pass_length[p] == 2
        run.crash(p)
        assert (run.s.pass_length[p], run.s.delivered_length[p]) == (0, 0)
        assert run.delivered(p) == ["1.1", "1.2"]
    assert not run.s.abcast_in_pass[0]
    run.recover(1)
    run.establish(1, 2)
    assert (run.delivered(1), run.s.pass_length[1], run.s.diverged[1]) == (["1.1", "1.2"], 2, False)


# --- IV: Phase 3 ---------------------------------------------------------------------------------


def test_f_3_1_a_follower_that_leads_invokes_ready() -> None:
    """Follower f initially invokes ready(e') if it is leading."""
    run = Run().elect(0, 1)
    entered = set()
    while not run.s.ready[0]:
        word = next(w for w in run.possible() if w >> 24 in (c.TO_LEADER, c.TO_FOLLOWER))
        entered = run.take(word >> 24, word >> 16 & 255, word >> 8 & 255)
    assert entered == {"f.2.2", "f.3.1"}
    run.settle(0, 1)
    assert list(run.s.ready) == [True, False, False]


def test_l_3_1_proposes_to_Q_in_increasing_order_of_zxid() -> None:
    """Leader l proposes to all followers in Q in increasing order of zxid, such that epoch(z) = e' and
    z succeeds all zxid values previously broadcast in e'."""
    run = Run().establish(0, 1)
    assert run.abcast(0) == {"l.3.1"}
    run.abcast(0)
    assert run.to_follower(0) == run.to_follower(1) == ["PROPOSE(1, 1.1)", "PROPOSE(1, 1.2)"]
    assert run.to_follower(2) == []


def test_l_3_1_several_transactions_may_be_outstanding() -> None:
    """I: multiple outstanding transactions."""
    run = Run().establish(0, 1)
    for _ in range(3):
        run.abcast(0)
    assert run.s.committed[0] == 0
    assert len(run.s.log[0]) == 3


def test_l_3_1_a_joiner_receives_what_its_NEWLEADER_did_not_carry() -> None:
    """l.3.3 carried I_e' and beta_e' as they were: what is proposed from then on must follow."""
    run = Run().establish(0, 1)
    run.oracle(2, 0)
    run.leader(0, 2)
    run.abcast(0)
    assert run.to_follower(2) == ["NEWEPOCH(1)", "NEWLEADER(1, [])", "PROPOSE(1, 1.1)"]


def test_l_3_2_commits_when_a_quorum_acknowledged() -> None:
    """Upon receiving acknowledgments from a quorum of followers to a given proposal <e', <v, z>>, the
    leader sends a commit COMMIT(e', <v, z>) to all followers."""
    run = Run().establish(0, 1, 2)
    run.abcast(0)
    for f in (1, 2):
        run.follower(f)
    assert run.leader(0, 1) == {"l.3.2"}
    assert run.to_follower(1) == []
    assert run.s.committed[0] == 0
    run.leader(0, 2)
    assert run.s.committed[0] == 1
    assert [run.to_follower(f)[-1] for f in range(3)] == ["COMMIT(1, 1.1)"] * 3


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
    run.s.to_leader[0][0].remove(0)  # as if the first acknowledgement of 0 had not been
    run.leader(0, 0)
    assert run.s.committed[0] == 2
    assert run.to_follower(1) == ["COMMIT(1, 1.2)"]


def test_l_3_2_what_is_committed_is_not_committed_again() -> None:
    """Where acknowledgements overtake each other, those of 1.1 may come when 1.2 is committed, and 1.1 with it."""
    run = Run(network="unordered").establish(0, 1)
    run.abcast(0)
    run.abcast(0)
    for f in (0, 1):
        run.follower(f)
        run.follower(f)
    for f in (0, 1):
        run.leader(0, f, place=1)
    assert run.s.committed[0] == 2
    assert run.to_follower(1) == ["COMMIT(1, 1.2)"]
    for f in (0, 1):
        assert run.leader(0, f) == {"l.3.2"}
        assert run.s.committed[0] == 2
        assert [len(acks) for acks in run.s.acks[0]] == [0, 0, 0]
    assert run.to_follower(1) == ["COMMIT(1, 1.2)"]


def test_V_a_proposal_of_a_quorum_that_includes_the_leader_itself() -> None:
    """IV: the leader also follows, over a channel: its own log write is asynchronous too."""
    run = Run().establish(0, 1, 2)
    run.abcast(0)
    assert run.history(0) == []
    run.follower(1)
    run.follower(2)
    run.leader(0, 1)
    run.leader(0, 2)
    assert run.s.committed[0] == 1
    assert run.history(0) == []


def test_f_3_2_accepts_in_order_and_appends() -> None:
    """Follower f accepts proposals from l following reception order and appends them to h_f."""
    run = Run().establish(0, 1)
    run.abcast(0)
    run.abcast(0)
    assert run.follower(1) == {"f.3.2"}
    run.follower(1)
    assert run.history(1) == ["1.1", "1.2"]
    assert run.delivered(1) == []


def test_V_a_follower_acknowledges_when_the_proposal_is_on_stable_storage() -> None:
    """A follower does not send the acknowledgment back until it writes the proposal to local stable
    storage: whoever's ACK is in flight has the transaction, even if it crashes."""
    run = Run().establish(0, 1)
    run.abcast(0)
    assert run.to_leader(1, 0) == []
    run.follower(1)
    assert run.to_leader(1, 0) == ["ACK(1, 1.1)"]
    run.crash(1)
    assert run.history(1) == ["1.1"]


def test_f_3_2_accepts_before_the_commit_of_NEWLEADER_too() -> None:
    run = Run().establish(0, 1)
    run.oracle(2, 0)
    run.leader(0, 2)
    run.abcast(0)
    run.follower(2)
    run.follower(2)
    assert run.s.phase[2] == SYNCHRONIZATION
    assert run.follower(2) == {"f.3.2"}
    assert run.history(2) == ["1.1"]


def test_f_3_3_delivers_what_is_committed() -> None:
    """Follower f commits a transaction <v, z> by invoking abdeliver(<v, z>) once it receives
    COMMIT(e', <v, z>)."""
    run = Run().establish(0, 1)
    run.abcast(0)
    run.follower(0)
    run.follower(1)
    run.leader(0, 0)
    run.leader(0, 1)
    assert run.delivered(1) == []
    assert run.follower(1) == {"f.3.3"}
    assert run.delivered(1) == ["1.1"]


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


def joining(variant: str = "") -> Run:
    """0 leads epoch 1 with 1; one transaction is committed, one is not; 2 is about to join."""
    run = Run(variant=variant).establish(0, 1)
    run.abcast(0)
    run.settle(0, 1)
    run.abcast(0)
    run.oracle(2, 0)
    return run


def test_l_3_3_proposes_the_epoch_and_whole_history_to_a_joiner() -> None:
    """Upon receiving CEPOCH(e) from follower f while in Phase 3, leader l proposes back NEWEPOCH(e')
    and NEWLEADER(e', I_e' followed by beta_e')."""
    run = joining()
    assert run.leader(0, 2) == {"l.3.3"}
    assert run.to_follower(2) == ["NEWEPOCH(1)", "NEWLEADER(1, [1.1, 1.2])"]
    assert run.Q(0) == {0, 1}


def test_l_3_3_readmits_a_follower_that_promised_its_epoch() -> None:
    """An established leader of e may re-admit a follower that promised e, and that one acknowledges."""
    run = Run().establish(0, 1, 2)
    run.time_out(2)
    run.leader_learns(0, 2)
    run.oracle(2, 0)
    assert run.leader(0, 2) == {"l.3.3"}
    assert run.follower(2) == {"f.1.2"}
    assert run.s.promised_epoch[2] == 1
    assert run.to_leader(2, 0) == ["ACK_E(1, [])"]
    run.settle(0, 2)
    assert run.Q(0) == {0, 1, 2}
    assert run.s.phase[2] == BROADCAST


def test_l_3_4_sends_a_commit_and_takes_the_follower_into_Q() -> None:
    """Upon receiving an acknowledgment from f to the NEWLEADER(e', I_e' followed by beta_e') proposal,
    it sends a commit message to f. Leader l also makes Q <- Q u {f}."""
    run = joining()
    run.leader(0, 2)
    run.follower(2)
    run.follower(2)
    run.leader(0, 2)  # ACK-E, which an established leader has no use for
    assert run.leader(0, 2) == {"l.3.4"}
    assert run.Q(0) == {0, 1, 2}
    assert not set(run.s.joining[0])
    assert run.to_follower(2) == ["COMMIT_LD(1, 1.1)"]


def join(run: Run) -> Run:
    """2 joins 0, which takes the acknowledgement of NEWLEADER."""
    run.leader(0, 2)
    run.follower(2)
    run.follower(2)
    run.leader(0, 2)  # ACK-E
    assert run.leader(0, 2) == {"l.3.4"}
    return run


@pytest.mark.parametrize(
    ("variant", "sent"), [("", ["COMMIT_LD(1, 1.1)", "COMMIT(1, 1.2)"]), ("acks-ignored", ["COMMIT_LD(1, 1.1)"])]
)
def test_l_3_4_the_acknowledgment_counts_for_beta(variant: str, sent: list[str]) -> None:
    """2 accepted 1.2 with NEWLEADER (f.2.1): with the leader's own acknowledgement that is a quorum (l.3.2)."""
    run = joining(variant)
    run.follower(0)
    run.leader(0, 0)
    assert run.s.committed[0] == 1
    join(run)
    assert run.to_follower(2) == sent
    assert run.s.committed[0] == len(sent)


def test_V_C_the_acknowledgment_counts_for_nothing_of_I() -> None:
    """The NEWLEADER(e, I_e) proposal has already been committed; a leader that commits each proposal with its own
    quorum counts none for it either."""
    run = Run(variant="commit-out-of-order", timeouts=2).establish(0, 1)
    run.abcast(0)
    run.settle(0, 1)
    run.time_out(0)
    run.follower_learns(1)
    run.establish(0, 1)
    assert run.s.committed[0] == len(run.s.log[0]) == 1
    run.oracle(2, 0)
    join(run)
    assert not set(run.s.acks[0][0])


def test_l_3_4_the_joiner_delivers_what_is_committed_and_no_more() -> None:
    run = join(joining())
    run.follower(2)
    assert run.history(2) == ["1.1", "1.2"]
    assert run.delivered(2) == ["1.1"]
    assert run.s.phase[2] == BROADCAST


def test_l_3_4_the_rest_is_delivered_once_it_is_committed() -> None:
    run = joining().settle(0, 2).settle(0, 1, 2)
    assert [run.delivered(p) for p in range(3)] == [["1.1", "1.2"]] * 3


# --- V: in detail --------------------------------------------------------------------------------


def test_V_a_process_starts_in_ELECTION() -> None:
    """When a process starts, it enters the ELECTION state; so it does when it recovers."""
    run = Run()
    assert run.roles() == [ELECTION] * 3
    run.crash(0)
    run.recover(0)
    assert run.s.role[0] == ELECTION


def test_V_B_a_closed_connection_means_the_follower_is_down() -> None:
    """If a connection to a given follower closes, then the proposals queued to the connection are
    discarded and the leader considers the corresponding follower down."""
    run = Run().establish(0, 1, 2)
    run.lose(2, 0)
    run.abcast(0)
    assert run.to_follower(2) == []
    run.leader_learns(0, 2)
    assert run.Q(0) == {0, 1}
    assert run.s.role[0] == LEADING


def test_V_B_leader_without_quorum_goes_to_election() -> None:
    """If the leader does not have a quorum of followers supporting it, it renounces leadership of the
    epoch, and transitions to the ELECTION state."""
    run = Run().establish(0, 1, 2)
    for f in (1, 2):
        run.lose(f, 0)
        run.leader_learns(0, f)
        assert run.s.role[0] == (LEADING if f == 1 else ELECTION)
    assert run.s.leader[0] == NOBODY
    assert not run.s.ready[0]


@pytest.mark.parametrize("stage", [PROMISING, SYNCHRONIZING])
def test_V_B_a_prospective_leader_without_quorum_goes_to_election(stage: int) -> None:
    """The same before it is established: Q, which it asked for promises, is a quorum no longer."""
    run = Run().gather(0, 1)
    if stage == SYNCHRONIZING:
        for f in (0, 1):
            run.follower(f)
            run.leader(0, f)
    assert run.s.stage[0] == stage
    run.lose(1, 0)
    assert run.s.role[0] == LEADING
    run.leader_learns(0, 1)
    assert run.s.role[0] == ELECTION


def test_V_B_a_leader_unaware_of_its_loss_may_go_on_abcasting() -> None:
    """At any time there is at most one primary whose changes are incorporated; two may be active."""
    run = Run().establish(0, 1)
    run.lose(1, 0)
    run.follower_learns(1)
    run.establish(1, 2)
    run.abcast(1)
    run.abcast(0)
    assert [zxid(run.s.abcast_txn[k]) for k in range(2)] == ["2.1", "1.1"]
    assert list(run.s.ready) == [True, True, False]


def test_V_B_a_leader_may_time_out() -> None:
    """If the leader does not receive heartbeats from a quorum within a timeout interval."""
    run = Run().establish(0, 1)
    run.time_out(0)
    assert run.s.role[0] == ELECTION
    assert run.s.timeouts_left == 2
    run.follower_learns(1)
    assert run.s.role[1] == ELECTION


def test_V_B_gathering_goes_on_with_whoever_is_left() -> None:
    """A prospective leader that still gathers Q has no quorum to lose yet."""
    run = Run().elect(0, 1)
    run.leader(0, 1)
    run.lose(1, 0)
    run.leader_learns(0, 1)
    assert run.s.role[0] == LEADING
    assert run.Q(0) == set()


def test_V_C_a_follower_without_heartbeat_goes_to_election() -> None:
    """If there is an interval with no heartbeat ... the follower abandons the leader, transitions to
    ELECTION, and proceeds to Phase 1."""
    run = Run().establish(0, 1)
    run.time_out(1)
    assert run.s.role[1] == ELECTION
    assert run.s.leader[1] == NOBODY
    assert run.oracle(1, 2) == {"f.1.1"}


def test_V_C_a_follower_whose_connection_closes_goes_to_election() -> None:
    """... or the TCP connection closes."""
    run = Run().establish(0, 1)
    run.lose(1, 0)
    run.follower_learns(1)
    assert run.s.role[1] == ELECTION


def test_V_C_a_follower_follows_one_leader_at_a_time() -> None:
    """A follower only follows one leader at a time."""
    run = Run().establish(0, 1, 2)
    assert not any(w >> 24 == c.ORACLE for w in run.possible())
    run.time_out(1)
    run.oracle(1, 2)
    assert run.s.leader[1] == 2
    assert run.s.link[1][0] != c.OPEN


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


# --- VI ------------------------------------------------------------------------------------------


def test_VI_1_a_transaction_accepted_by_a_quorum_in_one_epoch_is_chosen() -> None:
    """Definition VI.1: a transaction is chosen if a quorum of followers accept a proposal
    <e, <v, z>> for some e."""
    run = Run().establish(0, 1, 2)
    run.abcast(0)
    run.follower(1)
    assert run.s.chosen_epoch[0] == 0
    run.follower(2)
    assert run.s.chosen_epoch[0] == 1
    assert run.s.committed[0] == 0


def test_VI_f_2_1_counts_as_acceptance() -> None:
    """f.2.1 accepts <e', <v, z>> for each <v, z> of I_e'."""
    run = Run().establish(0, 1)
    run.abcast(0)
    run.follower(1)
    run.time_out(1)
    run.gather(2, 1)
    for f in (1, 2):
        run.follower(f)
    run.leader(2, 2)
    run.leader(2, 1)
    for f in (1, 2):
        assert run.s.chosen_epoch[0] == 0
        run.follower(f)
    assert run.s.chosen_epoch[0] == 2


def test_every_step_of_the_paper_has_a_test() -> None:
    """f.1.1 to l.3.4: each has tests named after it, and is a step of the program."""
    steps = set(model(Configuration()).program.steps)
    assert steps == {
        "f.1.1", "l.1.1", "f.1.2", "l.1.2", "l.2.1", "f.2.1", "l.2.2", "f.2.2",
        "l.3.1", "l.3.2", "f.3.1", "f.3.2", "f.3.3", "l.3.3", "l.3.4",
    }  # fmt: skip
    for name in steps:
        assert any(n.startswith(f"test_{name.replace('.', '_')}_") for n in globals()), name
