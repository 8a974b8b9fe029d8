"""The db-19 lab's node, fragment by fragment of its pseudo-code and reading by reading, in the CPython world.

Every test is named by its fragment, or by the number of the reading that settles what the lab's text leaves open, and
quotes the text. Handlers are driven one at a time, each with the message or the timer the test names; what a handler
sent stands in the bag until the test takes it out, and is shown as text: `Vote(1, 0.0, 0, 1)` has the fields in the
order of the lab's wire format, a zxid as epoch.counter.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest

from invariants.claims import unique_zxid
from zabspec.language import StateView
from zabspec.language.python import reference
from zabspec.language.python.lang import NOBODY
from zabspec.language.python.reference import MessageView, RecordValue
from zabspec.model import Configuration, Model
from zabspec.protocols.db19 import DOWN, FOLLOWING, LEADING, LOOKING
from zabspec.worlds.actor import ELECTION_TIMER, HEARTBEAT_TIMER


@cache
def model(nodes: int) -> Model:
    return Model(Configuration(protocol="db19", nodes=nodes, txns=4, timeouts=5, crashes=3, heartbeats=3, channel=60))


def text_of(value: Any) -> str:
    if isinstance(value, RecordValue):
        return f"{value.epoch}.{value.counter}"
    if isinstance(value, reference.SeqView):
        return f"[{', '.join(text_of(t) for t in value)}]"
    return str(value)


# The lab's wire format. A field beside these is of a repair, and zero in what the lab's node sends.
WIRE = {
    "LookForLeader": ("src_id", "last_zxid", "peer_epoch"),
    "Vote": ("voter_id", "last_zxid", "peer_epoch", "leader_id"),
    "NewEpoch": ("new_epoch",),
    "AckEpoch": ("current_epoch", "last_zxid"),
    "NewLeader": ("new_epoch", "history"),
    "AckLeader": ("new_epoch",),
    "Propose": ("txn",),
    "Ack": ("zxid",),
    "Commit": ("zxid",),
}


def text(m: MessageView) -> str:
    """A message as text: its kind and its fields, in the order of the wire format."""
    others = set(m.union.named(m.name).fields) - set(WIRE[m.name])
    assert all(getattr(m, name) == 0 for name in others)
    return f"{m.name}({', '.join(text_of(getattr(m, name)) for name in WIRE[m.name])})"


Zxid = tuple[int, int]


class Cluster:
    """Nodes whose handlers are called one at a time; `timers` has each arming of a timer, in order."""

    def __init__(self, nodes: int = 3) -> None:
        self.nodes = nodes
        program = model(nodes).program
        self.names: dict[str, Any] = reference.load(program.layout, program.namespace, program.types, program.steps)
        self.timers: list[tuple[int, int]] = []
        self.names["arm_timer"] = lambda s, p, timer: self.timers.append((p, timer))
        self.s = StateView(program.layout)
        self.names["initialize"](self.s)

    # what happens to a node

    def receives(self, p: int, source: int, kind: str, **fields: Any) -> list[str]:
        """Node p handles a message made for the test; what it sent."""
        assert set(fields) == set(WIRE[kind])
        zero = dict.fromkeys(model(self.nodes).union.named(kind).fields, 0)
        return self.does(self.names["on_message"], p, source, self.names[kind](**zero | fields))

    def times_out(self, p: int) -> list[str]:
        return self.does(self.names["on_timer"], p, ELECTION_TIMER)

    def beats(self, p: int) -> list[str]:
        return self.does(self.names["on_timer"], p, HEARTBEAT_TIMER)

    def proposes(self, p: int) -> list[str]:
        assert self.names["may_abcast"](self.s, p)
        return self.does(self.names["on_abcast"], p)

    def does(self, handler: Any, p: int, *arguments: Any) -> list[str]:
        """What the handler sent, in order, each as `target: message`; it is taken out of the bag."""
        self.timers.clear()
        handler(self.s, p, *arguments)
        sent = [f"{m.target}: {text(m)}" for m in self.s.in_flight]
        assert all(m.source == p for m in self.s.in_flight)
        self.s.in_flight.clear()
        return sent

    # how it came to be so

    def zxid(self, z: Zxid) -> RecordValue:
        made: RecordValue = self.names["Zxid"](epoch=z[0], counter=z[1])
        return made

    def txn(self, z: Zxid, value: int = 1) -> RecordValue:
        made: RecordValue = self.names["Txn"](epoch=z[0], counter=z[1], value=value)
        return made

    def log(self, *zxids: Zxid) -> reference.SeqView:
        """A history of transactions, as a message carries it."""
        s = StateView(model(self.nodes).program.layout)
        for k, z in enumerate(zxids):
            s.history[0].append(self.txn(z, k + 1))
        view: reference.SeqView = s.history[0]
        return view

    def has(self, p: int, *zxids: Zxid) -> Cluster:
        """Node p has this history."""
        self.s.history[p] = self.log(*zxids)
        return self

    def follows(self, p: int, leader: int, epoch: int = 1) -> Cluster:
        """Node p follows a leader whose epoch it has accepted."""
        self.names["become_following"](self.s, p, leader)
        self.s.accepted_epoch[p] = self.s.current_epoch[p] = epoch
        return self

    def elected(self, p: int) -> list[str]:
        """Node p begins to lead."""
        return self.does(self.names["become_leading"], p)

    def leads(self, p: int, *followers: int) -> Cluster:
        """Node p leads, synced with these followers, who know nothing of it yet."""
        self.elected(p)
        for f in followers:
            self.acks_epoch(p, f)
        for f in followers:
            self.receives(p, f, "AckLeader", new_epoch=self.s.current_epoch[p])
        return self

    def acks_epoch(self, p: int, f: int) -> list[str]:
        return self.receives(p, f, "AckEpoch", current_epoch=0, last_zxid=self.zxid((0, 0)))

    # what there is

    def history(self, p: int) -> str:
        return text_of(self.s.history[p])

    def delivered(self, p: int) -> str:
        return text_of(self.s.delivered[p])

    def view(self, p: int) -> list[int]:
        return list(self.s.vote_view[p])

    def committed(self, p: int) -> str:
        return text_of(self.s.last_committed[p])

    def acks(self, p: int) -> dict[str, set[int]]:
        return {text_of(z): set(self.s.ack_sets[p][k]) for k, z in enumerate(self.s.ack_zxids[p])}


def test_wire_format() -> None:
    """Nine variants, with the lab's fields in the lab's order."""
    union = model(3).union
    assert {m.name for m in union.messages} == set(WIRE)
    for m in union.messages:
        assert tuple(m.fields)[: len(WIRE[m.name])] == WIRE[m.name]


# --- the start, and Phase 0 ----------------------------------------------------------------------


def test_reading_3_start() -> None:
    """Every node is Looking with its timer armed, and sends nothing until that deadline passes."""
    c = Cluster()
    assert list(c.s.role) == [LOOKING] * 3
    assert list(c.s.leader_id) == [NOBODY] * 3
    assert list(c.s.in_flight) == []
    assert c.timers == [(p, ELECTION_TIMER) for p in range(3)]
    assert all(c.names["timer_armed"](c.s, p, ELECTION_TIMER) for p in range(3))


def test_on_entering_looking() -> None:
    """Own vote, a cleared view with it, LookForLeader and Vote to all, the tally."""
    c = Cluster().has(1, (1, 1), (1, 2))
    c.s.current_epoch[1] = 1
    c.s.vote_view[1][2] = 2
    sent = c.times_out(1)
    assert sent == [
        "0: LookForLeader(1, 1.2, 1)",
        "2: LookForLeader(1, 1.2, 1)",
        "0: Vote(1, 1.2, 1, 1)",
        "2: Vote(1, 1.2, 1, 1)",
    ]
    assert (c.s.vote_target_id[1], text_of(c.s.vote_target_zxid[1])) == (1, "1.2")
    assert c.view(1) == [NOBODY, 1, NOBODY]


def test_on_entering_looking_alone_is_to_be_elected() -> None:
    """check_election() is called on entering: one node of one is a quorum."""
    c = Cluster(1)
    assert c.times_out(0) == []
    assert c.s.role[0] == LEADING


@pytest.mark.parametrize(
    ("zxid", "voter", "adopts"),
    [
        ((1, 1), 2, True),
        ((0, 2), 0, False),
        ((1, 0), 2, False),
        ((2, 0), 0, True),
        ((1, 1), 0, False),
        ((1, 2), 0, True),
    ],
)
def test_on_vote_while_looking(zxid: Zxid, voter: int, adopts: bool) -> None:
    """if (peer_zxid, voter) > (vote_target_zxid, vote_target_id), lexicographically: adopt, clear, broadcast."""
    c = Cluster().has(1, (1, 1))
    c.times_out(1)
    sent = c.receives(1, voter, "Vote", voter_id=voter, last_zxid=c.zxid(zxid), peer_epoch=0, leader_id=2 - voter)
    assert c.s.role[1] == LOOKING
    assert (c.s.vote_target_id[1] == voter) == adopts
    assert text_of(c.s.vote_target_zxid[1]) == (f"{zxid[0]}.{zxid[1]}" if adopts else "1.1")
    assert sent == ([f"{q}: Vote(1, 1.1, 0, {voter})" for q in (0, 2)] if adopts else [])
    assert c.view(1)[1] == (voter if adopts else 1)
    assert c.view(1)[voter] == 2 - voter, "vote_view[voter] = leader_chosen, adopted or not"


def test_on_vote_clears_the_view_when_it_adopts() -> None:
    """vote_view.clear(); vote_view[self.id] = voter. Five nodes, so that nothing is elected."""
    c = Cluster(5)
    c.times_out(2)
    c.receives(2, 0, "Vote", voter_id=0, last_zxid=c.zxid((0, 0)), peer_epoch=0, leader_id=0)
    assert c.view(2) == [0, NOBODY, 2, NOBODY, NOBODY]
    c.receives(2, 4, "Vote", voter_id=4, last_zxid=c.zxid((0, 0)), peer_epoch=0, leader_id=3)
    assert c.view(2) == [NOBODY, NOBODY, 4, NOBODY, 3]


def test_on_vote_is_better_once() -> None:
    """The vote of the voter adopted is no better than itself: nothing is cleared or sent again."""
    c = Cluster(5)
    c.times_out(2)
    for sent in (4, 0):
        assert len(c.receives(2, 4, "Vote", voter_id=4, last_zxid=c.zxid((0, 0)), peer_epoch=0, leader_id=4)) == sent
        c.receives(2, 0, "Vote", voter_id=0, last_zxid=c.zxid((0, 0)), peer_epoch=0, leader_id=0)
    assert c.view(2) == [0, NOBODY, 4, NOBODY, 4]


def test_check_election() -> None:
    """count(v in vote_view.values() : v == target) >= quorum: if it is oneself, lead; else follow."""
    c = Cluster()
    c.times_out(2)
    sent = c.receives(2, 0, "Vote", voter_id=0, last_zxid=c.zxid((0, 0)), peer_epoch=0, leader_id=2)
    assert c.s.role[2] == LEADING
    assert sent == ["0: NewEpoch(1)", "1: NewEpoch(1)"]
    c.times_out(0)
    c.receives(0, 1, "Vote", voter_id=1, last_zxid=c.zxid((0, 0)), peer_epoch=0, leader_id=1)
    assert (c.s.role[0], c.s.leader_id[0]) == (FOLLOWING, 1)


def test_check_election_counts_its_own_target_only() -> None:
    """Two others that agree with each other do not elect anyone here."""
    c = Cluster()
    c.times_out(2)
    for voter in (0, 1):
        c.receives(2, voter, "Vote", voter_id=voter, last_zxid=c.zxid((0, 0)), peer_epoch=0, leader_id=1)
    assert c.s.role[2] == LOOKING
    assert c.view(2) == [1, 1, 2]


# --- the readings of the election ----------------------------------------------------------------


def test_reading_4_looking_enters_looking_again() -> None:
    """Looking or Following at the deadline enters Looking afresh: own vote, cleared view, both broadcasts."""
    c = Cluster(5)
    c.times_out(1)
    c.receives(1, 4, "Vote", voter_id=4, last_zxid=c.zxid((2, 2)), peer_epoch=0, leader_id=3)
    assert c.s.vote_target_id[1] == 4
    assert len(c.times_out(1)) == 8
    assert (c.s.vote_target_id[1], text_of(c.s.vote_target_zxid[1])) == (1, "0.0")
    assert c.view(1) == [NOBODY, 1, NOBODY, NOBODY, NOBODY]
    assert c.timers == [(1, ELECTION_TIMER)]
    c.follows(1, 4).times_out(1)
    assert c.s.role[1] == LOOKING


def test_reading_4_a_leader_never_steps_down_by_itself() -> None:
    """Leading only sends heartbeats."""
    c = Cluster().leads(2, 0)
    assert not c.names["timer_armed"](c.s, 2, ELECTION_TIMER)
    assert c.names["timer_armed"](c.s, 2, HEARTBEAT_TIMER)
    assert not c.names["timer_armed"](c.follows(1, 2).s, 1, HEARTBEAT_TIMER)


def test_reading_5_heartbeat_of_a_synced_leader() -> None:
    """Synced: Commit(last_committed), also when that is (0, 0)."""
    c = Cluster().leads(2, 0)
    assert c.beats(2) == ["0: Commit(0.0)", "1: Commit(0.0)"]
    c.proposes(2)
    c.receives(2, 1, "Ack", zxid=c.zxid((1, 1)))
    assert c.beats(2) == ["0: Commit(1.1)", "1: Commit(1.1)"]
    assert c.timers == [(2, HEARTBEAT_TIMER)]


def test_reading_5_heartbeat_before() -> None:
    """Discovery done, not synced: NewLeader. Before: nothing."""
    c = Cluster().has(2, (0, 1))
    c.elected(2)
    assert c.beats(2) == []
    c.acks_epoch(2, 0)
    assert not c.s.synced[2]
    assert c.beats(2) == ["0: NewLeader(1, [0.1])", "1: NewLeader(1, [0.1])"]


def test_reading_6_become_following_and_leading() -> None:
    """become_following sets role and leader, resets the timer. become_leading sets leader_id to itself, clears
    `synced` and the ack sets. Entering Looking clears leader_id."""
    c = Cluster()
    c.does(c.names["become_following"], 0, 2)
    assert (c.s.role[0], c.s.leader_id[0], c.timers) == (FOLLOWING, 2, [(0, ELECTION_TIMER)])
    c.times_out(0)
    assert (c.s.role[0], c.s.leader_id[0]) == (LOOKING, NOBODY)
    c.leads(2, 0)
    c.proposes(2)
    assert (c.s.leader_id[2], c.s.synced[2], c.acks(2)) == (2, True, {"1.1": {2}})
    c.elected(2)
    assert (c.s.leader_id[2], c.s.synced[2], c.acks(2)) == (2, False, {})
    assert (set(c.s.epoch_acks[2]), set(c.s.leader_acks[2])) == ({2}, set())


def test_reading_7_the_voter_is_adopted_and_votes_carry_the_own_zxid() -> None:
    """A better vote makes the node adopt the voter, not whom it names; and the vote carries the sender's last zxid."""
    c = Cluster(5).has(1, (1, 1))
    c.times_out(1)
    sent = c.receives(1, 3, "Vote", voter_id=3, last_zxid=c.zxid((1, 3)), peer_epoch=0, leader_id=4)
    assert c.s.vote_target_id[1] == 3
    assert sent[0] == "0: Vote(1, 1.1, 0, 3)"


def test_reading_7_look_for_leader_counts_as_a_vote_for_its_sender() -> None:
    c, other = Cluster(5), Cluster(5)
    for one in (c, other):
        one.times_out(1)
    sent = c.receives(1, 3, "LookForLeader", src_id=3, last_zxid=c.zxid((0, 1)), peer_epoch=0)
    assert sent == other.receives(1, 3, "Vote", voter_id=3, last_zxid=other.zxid((0, 1)), peer_epoch=0, leader_id=3)
    assert c.s.key() == other.s.key()
    assert c.view(1) == [NOBODY, 3, NOBODY, 3, NOBODY]


@pytest.mark.parametrize("kind", ["Vote", "LookForLeader"])
def test_reading_7_a_node_that_is_not_looking_answers_the_sender_alone(kind: str) -> None:
    """With its own Vote, naming its leader_id; and changes nothing."""
    c = Cluster().has(0, (1, 2)).follows(0, 2)
    c.leads(2, 1)
    fields = {"src_id": 1} if kind == "LookForLeader" else {"voter_id": 1, "leader_id": 1}
    for p, answer in ((0, "1: Vote(0, 1.2, 1, 2)"), (2, "1: Vote(2, 0.0, 1, 2)")):
        before = c.s.key()
        assert c.receives(p, 1, kind, last_zxid=c.zxid((4, 4)), peer_epoch=3, **fields) == [answer]
        assert (c.s.key(), c.timers) == (before, [])


# --- Phase 1: discovery --------------------------------------------------------------------------


def test_become_leading() -> None:
    """pending_new_epoch = max(accepted_epoch, current_epoch) + 1; accepted_epoch = pending_new_epoch;
    epoch_acks = {self.id}; broadcast NewEpoch."""
    c = Cluster()
    c.s.accepted_epoch[1], c.s.current_epoch[1] = 3, 2
    assert c.elected(1) == ["0: NewEpoch(4)", "2: NewEpoch(4)"]
    assert (c.s.role[1], c.s.pending_new_epoch[1], c.s.accepted_epoch[1], c.s.current_epoch[1]) == (LEADING, 4, 4, 2)
    assert set(c.s.epoch_acks[1]) == {1}


def test_become_leading_alone_finishes_at_once() -> None:
    """try_finish_discovery() handles the n=1 case immediately, and so does try_finish_sync()."""
    c = Cluster(1)
    c.times_out(0)
    assert (c.s.current_epoch[0], c.s.synced[0], c.s.established[1]) == (1, True, 1)


def test_on_new_epoch_later() -> None:
    """if e > accepted_epoch: promise it, follow if not Following, reply, reset the timer."""
    c = Cluster().has(0, (1, 2))
    c.s.accepted_epoch[0], c.s.current_epoch[0] = 2, 1
    assert c.receives(0, 1, "NewEpoch", new_epoch=3) == ["1: AckEpoch(1, 1.2)"]
    assert (c.s.role[0], c.s.leader_id[0], c.s.accepted_epoch[0], c.s.current_epoch[0]) == (FOLLOWING, 1, 3, 1)
    assert (0, ELECTION_TIMER) in c.timers


def test_on_new_epoch_earlier() -> None:
    """One earlier than the promise gets no answer; every NewEpoch resets the timer (reading 10)."""
    c = Cluster()
    c.s.accepted_epoch[0] = 2
    assert c.receives(0, 1, "NewEpoch", new_epoch=1) == []
    assert (c.s.role[0], c.s.accepted_epoch[0], c.timers) == (LOOKING, 2, [(0, ELECTION_TIMER)])


def test_on_ack_epoch() -> None:
    """Only if Leading: epoch_acks += F; what it carries is not looked at."""
    c = Cluster(5)
    c.elected(4)
    assert c.acks_epoch(4, 0) == []
    assert set(c.s.epoch_acks[4]) == {0, 4}
    assert c.acks_epoch(4, 0) == [], "a set: the same one twice is one"
    sent = c.receives(4, 1, "AckEpoch", current_epoch=3, last_zxid=c.zxid((3, 3)))
    assert sent == [f"{q}: NewLeader(1, [])" for q in range(4)]
    assert c.acks_epoch(0, 4) == []
    assert set(c.s.epoch_acks[0]) == set()


def test_try_finish_discovery() -> None:
    """current_epoch = pending_new_epoch, next_counter = 0, leader_acks = {self.id}, NewLeader with the history."""
    c = Cluster().has(2, (1, 1), (1, 2))
    c.s.current_epoch[2] = c.s.accepted_epoch[2] = 1
    c.elected(2)
    c.s.next_counter[2] = 3
    assert c.acks_epoch(2, 0) == [f"{q}: NewLeader(2, [1.1, 1.2])" for q in (0, 1)]
    assert (c.s.current_epoch[2], c.s.next_counter[2], set(c.s.leader_acks[2])) == (2, 0, {2})
    assert not c.s.synced[2]


def test_reading_8_a_follower_keeps_its_leader() -> None:
    """if role != Following: on NewEpoch and on NewLeader a node that follows keeps leader_id."""
    c = Cluster().follows(0, 2)
    assert c.receives(0, 1, "NewEpoch", new_epoch=2) == ["1: AckEpoch(1, 0.0)"]
    assert (c.s.leader_id[0], c.s.accepted_epoch[0]) == (2, 2)
    assert c.receives(0, 1, "NewLeader", new_epoch=2, history=c.log((2, 1))) == ["1: AckLeader(2)"]
    assert (c.s.leader_id[0], c.history(0)) == (2, "[2.1]")
    assert c.timers == [(0, ELECTION_TIMER)], "reset all the same"


def test_reading_9_a_late_ack_epoch_repeats_discovery() -> None:
    """try_finish_discovery has no guard: it resets the counter and broadcasts NewLeader again."""
    c = Cluster().leads(2, 0)
    c.proposes(2)
    assert c.s.next_counter[2] == 1
    assert c.acks_epoch(2, 1) == ["0: NewLeader(1, [1.1])", "1: NewLeader(1, [1.1])"]
    assert (c.s.next_counter[2], set(c.s.leader_acks[2]), c.s.synced[2]) == (0, {2}, True)
    assert c.proposes(2)[0] == "0: Propose(1.1)", "a second transaction under the zxid of the first"
    assert not unique_zxid(c.s)


def test_reading_10_an_equal_epoch_is_only_acknowledged() -> None:
    """NewEpoch(e) with e == accepted_epoch: whoever sends it; no role changes; the timer is reset."""
    c = Cluster().follows(0, 2, 1)
    c.s.accepted_epoch[1] = 1
    for p, source, role in ((0, 1, FOLLOWING), (1, 2, LOOKING)):
        leader = c.s.leader_id[p]
        assert c.receives(p, source, "NewEpoch", new_epoch=1) == [f"{source}: AckEpoch({c.s.current_epoch[p]}, 0.0)"]
        assert (c.s.role[p], c.s.leader_id[p], c.s.accepted_epoch[p]) == (role, leader, 1)
        assert c.timers == [(p, ELECTION_TIMER)]


def test_reading_10_a_leader_follows_a_later_one() -> None:
    """A leader that gets a higher NewEpoch, or a NewLeader with e >= accepted_epoch, follows."""
    c = Cluster().leads(2, 0)
    c.receives(2, 1, "NewEpoch", new_epoch=1)
    assert c.s.role[2] == LEADING
    c.receives(2, 1, "NewEpoch", new_epoch=2)
    assert (c.s.role[2], c.s.leader_id[2], c.s.synced[2]) == (FOLLOWING, 1, False)
    c = Cluster().leads(2, 0)
    c.receives(2, 1, "NewLeader", new_epoch=1, history=c.log())
    assert (c.s.role[2], c.s.leader_id[2]) == (FOLLOWING, 1)


# --- Phase 2: synchronization --------------------------------------------------------------------


def test_on_new_leader() -> None:
    """if e >= accepted_epoch: both epochs are e, the history is the leader's, follow, reset the timer, reply."""
    c = Cluster().has(0, (1, 1), (1, 2), (1, 3))
    c.s.accepted_epoch[0] = 2
    assert c.receives(0, 1, "NewLeader", new_epoch=2, history=c.log((1, 1), (2, 1))) == ["1: AckLeader(2)"]
    assert (c.s.accepted_epoch[0], c.s.current_epoch[0], c.history(0)) == (2, 2, "[1.1, 2.1]")
    assert (c.s.role[0], c.s.leader_id[0]) == (FOLLOWING, 1)
    assert (0, ELECTION_TIMER) in c.timers


def test_on_new_leader_of_an_earlier_epoch() -> None:
    c = Cluster().has(0, (1, 1))
    c.s.accepted_epoch[0] = 2
    before = c.s.key()
    assert c.receives(0, 1, "NewLeader", new_epoch=1, history=c.log()) == []
    assert (c.s.key(), c.timers) == (before, [])


def test_on_new_leader_of_an_epoch_never_promised() -> None:
    """e > accepted_epoch will do: NewEpoch may have been overtaken, or lost."""
    c = Cluster()
    assert c.receives(0, 1, "NewLeader", new_epoch=3, history=c.log()) == ["1: AckLeader(3)"]
    assert (c.s.accepted_epoch[0], c.s.current_epoch[0]) == (3, 3)


def test_on_ack_leader() -> None:
    """Only if Leading and e == current_epoch: leader_acks += F."""
    c = Cluster(5)
    c.elected(4)
    for f in (0, 1):
        c.acks_epoch(4, f)
    c.receives(4, 0, "AckLeader", new_epoch=2)
    assert set(c.s.leader_acks[4]) == {4}
    c.receives(4, 0, "AckLeader", new_epoch=1)
    assert (set(c.s.leader_acks[4]), c.s.synced[4]) == ({0, 4}, False)
    c.receives(4, 0, "AckLeader", new_epoch=1)
    assert not c.s.synced[4]
    c.receives(4, 1, "AckLeader", new_epoch=1)
    assert c.s.synced[4]
    c.follows(3, 4).receives(3, 0, "AckLeader", new_epoch=1)
    assert set(c.s.leader_acks[3]) == set()


def test_try_finish_sync() -> None:
    """synced; if last_zxid > last_committed: it is committed, and Commit broadcast. Once only."""
    c = Cluster().has(2, (1, 1), (1, 2))
    c.elected(2)
    c.acks_epoch(2, 0)
    sent = c.receives(2, 0, "AckLeader", new_epoch=1)
    assert sent == ["0: Commit(1.2)", "1: Commit(1.2)"]
    assert (c.s.synced[2], c.committed(2), c.s.established[1]) == (True, "1.2", 1)
    assert c.receives(2, 1, "AckLeader", new_epoch=1) == []
    assert c.s.established[1] == 1


def test_try_finish_sync_with_nothing_to_commit() -> None:
    c = Cluster()
    c.elected(2)
    c.acks_epoch(2, 0)
    assert c.receives(2, 0, "AckLeader", new_epoch=1) == []
    assert (c.s.synced[2], c.committed(2)) == (True, "0.0")


def test_reading_11_new_leader_never_lowers_last_committed() -> None:
    c = Cluster().has(0, (1, 1), (1, 2)).follows(0, 2)
    c.receives(0, 2, "Commit", zxid=c.zxid((1, 2)))
    c.receives(0, 1, "NewLeader", new_epoch=2, history=c.log((1, 1)))
    assert (c.history(0), c.committed(0)) == ("[1.1]", "1.2")


def test_reading_11_commit_whoever_sent_it() -> None:
    """Commit advances last_committed whoever sent it; only the timer needs the current leader."""
    for sender, armed in ((1, []), (2, [(0, ELECTION_TIMER)])):
        c = Cluster().has(0, (1, 1), (1, 2)).follows(0, 2)
        assert c.receives(0, sender, "Commit", zxid=c.zxid((1, 1))) == []
        assert (c.committed(0), c.timers) == ("1.1", armed)


@pytest.mark.parametrize("zxid", [(1, 3), (2, 0), (2, 1)])
def test_reading_11_a_commit_beyond_the_last_zxid_is_ignored(zxid: Zxid) -> None:
    """Not even what there is of it is committed; the timer is reset all the same."""
    c = Cluster().has(0, (1, 1), (1, 2)).follows(0, 2)
    c.receives(0, 2, "Commit", zxid=c.zxid(zxid))
    assert (c.committed(0), c.timers) == ("0.0", [(0, ELECTION_TIMER)])


# --- Phase 3: broadcast --------------------------------------------------------------------------


def test_propose_requires_leading_and_synced() -> None:
    c = Cluster()
    c.elected(2)
    may = c.names["may_abcast"]
    assert not may(c.s, 2)
    c.acks_epoch(2, 0)
    assert not may(c.s, 2)
    c.receives(2, 0, "AckLeader", new_epoch=1)
    assert may(c.s, 2)
    assert not may(c.follows(0, 2).s, 0)


def test_propose() -> None:
    """next_counter += 1; the zxid is (current_epoch, next_counter); push, ack_set[zxid] = {self}, broadcast."""
    c = Cluster().leads(2, 0)
    assert c.proposes(2) == ["0: Propose(1.1)", "1: Propose(1.1)"]
    assert c.proposes(2) == ["0: Propose(1.2)", "1: Propose(1.2)"]
    assert (c.s.next_counter[2], c.history(2)) == (2, "[1.1, 1.2]")
    assert c.acks(2) == {"1.1": {2}, "1.2": {2}}
    assert [t.value for t in c.s.history[2]] == [1, 2]


def test_propose_alone_commits() -> None:
    """try_commit(zxid): single-node case."""
    c = Cluster(1)
    c.times_out(0)
    assert c.proposes(0) == []
    assert (c.committed(0), c.delivered(0)) == ("1.1", "[1.1]")


def test_on_propose() -> None:
    """if txn.zxid > last_zxid(): push, reset the timer, Ack."""
    c = Cluster().follows(0, 2)
    assert c.receives(0, 2, "Propose", txn=c.txn((1, 1))) == ["2: Ack(1.1)"]
    assert (c.history(0), c.timers) == ("[1.1]", [(0, ELECTION_TIMER)])
    for again in ((1, 1), (0, 2)):
        assert c.receives(0, 2, "Propose", txn=c.txn(again)) == []
        assert (c.history(0), c.timers) == ("[1.1]", [])


def test_on_propose_only_if_following_that_leader() -> None:
    """(only if Following and L == leader_id)"""
    c = Cluster().follows(0, 2)
    assert c.receives(0, 1, "Propose", txn=c.txn((1, 1))) == []
    assert c.receives(1, 2, "Propose", txn=c.txn((1, 1))) == []
    c.leads(2, 0)
    assert c.receives(2, 1, "Propose", txn=c.txn((1, 1))) == []
    assert [c.history(p) for p in range(3)] == ["[]"] * 3


def test_on_ack_and_try_commit() -> None:
    """ack_set[zxid] += F; at a quorum last_committed = zxid, and Commit; nothing for one committed already."""
    c = Cluster(5).leads(4, 0, 1)
    c.proposes(4)
    assert c.receives(4, 0, "Ack", zxid=c.zxid((1, 1))) == []
    assert c.receives(4, 0, "Ack", zxid=c.zxid((1, 1))) == [], "a set: the same one twice is one"
    assert c.acks(4) == {"1.1": {0, 4}}
    assert c.receives(4, 1, "Ack", zxid=c.zxid((1, 1))) == [f"{q}: Commit(1.1)" for q in range(4)]
    assert (c.committed(4), c.delivered(4)) == ("1.1", "[1.1]")
    assert c.receives(4, 2, "Ack", zxid=c.zxid((1, 1))) == []


def test_propose_sets_the_ack_set_to_itself() -> None:
    """ack_set[zxid] = {self.id}: an Ack that came before the proposal is forgotten."""
    c = Cluster(5).leads(4, 0, 1)
    c.receives(4, 0, "Ack", zxid=c.zxid((1, 1)))
    assert c.acks(4) == {"1.1": {0}}
    c.proposes(4)
    assert c.acks(4) == {"1.1": {4}}


def test_on_ack_others_keep_their_sets_when_one_is_committed() -> None:
    c = Cluster(5).leads(4, 0, 1)
    for _ in range(3):
        c.proposes(4)
    c.receives(4, 0, "Ack", zxid=c.zxid((1, 2)))
    c.receives(4, 1, "Ack", zxid=c.zxid((1, 3)))
    for f in (2, 3):
        c.receives(4, f, "Ack", zxid=c.zxid((1, 1)))
    assert c.committed(4) == "1.1"
    assert c.acks(4) == {"1.2": {0, 4}, "1.3": {1, 4}}


def test_on_ack_only_if_leading() -> None:
    c = Cluster().follows(0, 2).has(0, (1, 1))
    for f in (1, 2):
        assert c.receives(0, f, "Ack", zxid=c.zxid((1, 1))) == []
    assert (c.committed(0), c.acks(0)) == ("0.0", {})


def test_on_commit() -> None:
    """if last_committed < zxid <= last_zxid(): last_committed = zxid."""
    c = Cluster().has(0, (1, 1), (1, 2), (1, 3)).follows(0, 2)
    for zxid, after in (((1, 2), "1.2"), ((1, 1), "1.2"), ((1, 2), "1.2"), ((1, 3), "1.3")):
        assert c.receives(0, 2, "Commit", zxid=c.zxid(zxid)) == []
        assert c.committed(0) == after


def test_what_only_a_leader_reads_is_forgotten_when_it_leads_no_longer() -> None:
    """Beyond the lab: its next leadership begins by setting all of it, so that keeping it would tell states apart that
    behave alike."""
    c = Cluster().leads(2, 0)
    c.proposes(2)
    c.times_out(2)
    assert (c.s.pending_new_epoch[2], c.s.next_counter[2], c.s.synced[2], c.acks(2)) == (0, 0, False, {})
    assert set(c.s.epoch_acks[2]) | set(c.s.leader_acks[2]) == set()
    assert c.s.current_epoch[2] == c.s.accepted_epoch[2] == 1


@pytest.mark.parametrize(("nodes", "quorum"), [(1, 1), (2, 2), (3, 2), (4, 3), (5, 3), (6, 4), (7, 4)])
def test_reading_12_quorum_is_half_of_the_nodes_and_one(nodes: int, quorum: int) -> None:
    c = Cluster(nodes)
    assert c.names["quorum"](c.s, set(range(quorum)))
    assert not c.names["quorum"](c.s, set(range(1, quorum)))


def test_reading_12_broadcast_is_to_peers_by_ascending_id() -> None:
    c = Cluster(5)
    assert c.elected(2) == [f"{q}: NewEpoch(1)" for q in (0, 1, 3, 4)]


def test_reading_13_proposals_go_to_a_synced_leader() -> None:
    """They wait while there is none. Which of several takes them is the world's: here any (`enabled`)."""
    c = Cluster().leads(2, 0)
    c.leads(1, 0)
    assert [c.names["may_abcast"](c.s, p) for p in range(3)] == [False, True, True]


def test_reading_14_a_history_can_have_holes() -> None:
    """Propose is accepted whenever its zxid is greater than last_zxid()."""
    c = Cluster().follows(0, 2)
    assert c.receives(0, 2, "Propose", txn=c.txn((1, 2), 2)) == ["2: Ack(1.2)"]
    assert c.receives(0, 2, "Propose", txn=c.txn((1, 1), 1)) == []
    assert c.receives(0, 2, "Propose", txn=c.txn((3, 4), 4)) == ["2: Ack(3.4)"]
    assert c.history(0) == "[1.2, 3.4]"


def test_reading_14_an_ack_speaks_for_its_own_zxid_only() -> None:
    """The second proposal has its quorum, and is committed over the first, which has none."""
    c = Cluster().leads(2, 0)
    c.proposes(2)
    c.proposes(2)
    assert c.receives(2, 1, "Ack", zxid=c.zxid((1, 2))) == ["0: Commit(1.2)", "1: Commit(1.2)"]
    assert c.delivered(2) == "[1.1, 1.2]"
    assert c.acks(2) == {}


def test_reading_14_a_commit_passes_over_a_hole() -> None:
    """It speaks for its own zxid; what is not there is not delivered."""
    c = Cluster().has(0, (1, 2)).follows(0, 2)
    c.receives(0, 2, "Commit", zxid=c.zxid((1, 2)))
    assert c.delivered(0) == "[1.2]"


def test_reading_14_an_ack_of_an_unknown_zxid_creates_its_set() -> None:
    """And at a quorum commits it, in a history or not."""
    c = Cluster(5).leads(4, 0, 1)
    c.receives(4, 0, "Ack", zxid=c.zxid((1, 3)))
    assert c.acks(4) == {"1.3": {0}}
    for f in (1, 2):
        sent = c.receives(4, f, "Ack", zxid=c.zxid((1, 3)))
    assert sent == [f"{q}: Commit(1.3)" for q in range(4)]
    assert (c.committed(4), c.history(4)) == ("1.3", "[]")


# --- beyond the lab: what is observed, crashes ---------------------------------------------------


def test_each_handler_delivers_every_entry_up_to_last_committed() -> None:
    c = Cluster().has(0, (1, 1), (1, 2), (1, 3)).follows(0, 2)
    c.receives(0, 2, "Commit", zxid=c.zxid((1, 2)))
    assert c.delivered(0) == "[1.1, 1.2]"
    c.receives(0, 2, "NewLeader", new_epoch=1, history=c.log((1, 1), (1, 2), (1, 3)))
    assert c.delivered(0) == "[1.1, 1.2]"
    c.receives(0, 2, "Commit", zxid=c.zxid((1, 3)))
    assert c.delivered(0) == "[1.1, 1.2, 1.3]"


@pytest.mark.parametrize(
    ("history", "revised"),
    [(((1, 1), (1, 2), (1, 3)), 1), (((1, 1), (1, 2)), 1), (((1, 1),), 2), (((1, 1), (1, 3), (1, 4)), 2), ((), 2)],
)
def test_a_history_replaced_under_what_was_delivered_is_seen(history: tuple[Zxid, ...], revised: int) -> None:
    """An entry that vanishes, changes, or has another put before it."""
    c = Cluster().has(0, (1, 1), (1, 2), (1, 3)).follows(0, 2)
    c.receives(0, 2, "NewLeader", new_epoch=1, history=c.log((1, 1), (1, 2), (1, 3)))
    assert c.s.revised[0] == 0
    c.receives(0, 2, "Commit", zxid=c.zxid((1, 2)))
    c.receives(0, 1, "NewLeader", new_epoch=2, history=c.log(*history))
    assert c.s.revised[0] == revised


def test_a_crash_keeps_what_the_lab_calls_persistent() -> None:
    """current_epoch, accepted_epoch, history, last_committed; the rest is as at the start, and the pass begins anew."""
    c = Cluster().has(0, (1, 1), (1, 2)).follows(0, 2)
    c.receives(0, 2, "Commit", zxid=c.zxid((1, 1)))
    c.receives(0, 1, "NewEpoch", new_epoch=3)
    c.does(c.names["on_crash"], 0)
    assert (c.s.role[0], c.s.leader_id[0], c.s.delivered_length[0]) == (DOWN, NOBODY, 0)
    assert (c.s.current_epoch[0], c.s.accepted_epoch[0], c.history(0), c.committed(0)) == (1, 3, "[1.1, 1.2]", "1.1")
    assert c.does(c.names["on_recovery"], 0) == []
    assert (c.s.role[0], c.timers) == (LOOKING, [(0, ELECTION_TIMER)])
    assert (c.delivered(0), c.s.delivered_length[0], c.s.diverged[0]) == ("[1.1]", 1, False)


# --- whether all of the text was tried -----------------------------------------------------------


def test_every_fragment_and_reading_has_a_test() -> None:
    """The lab's fragments, and the readings of a node: 1, 2 and 15 are of the simulator."""
    fragments = (
        "on_entering_looking", "on_vote_while_looking", "check_election", "become_leading", "on_new_epoch",
        "on_ack_epoch", "try_finish_discovery", "on_new_leader", "on_ack_leader", "try_finish_sync", "propose",
        "on_propose", "on_ack", "on_ack_and_try_commit", "on_commit",
    )  # fmt: skip
    for name in (*fragments, *(f"reading_{k}_" for k in range(3, 15))):
        assert any(n.startswith(f"test_{name}") for n in globals()), name
