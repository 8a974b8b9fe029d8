"""Every premise is seen to be met, and not to be met just short of that; every property of steps to break, alone.
Histories that break the properties of histories are in `tests/broken_histories.py`.

A premise that is met too easily lets a property pass that was not put to the test; one met too late hides that it was.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import FunctionType, ModuleType

import pytest

from checker.explore.interpret import Interpreter
from checker.explore.result import Limits
from invariants import MODULES, PROPERTIES, binding, property_named
from invariants.registry import STEP, Property
from tests.histories import Synthetic, Txn, model_of
from tests.models import DEFAULT, OwnVariant, python_names
from tests.protocols.paper_run import Run, gathered, proposed
from zabspec.history import accept
from zabspec.language.python.lang import Node, State
from zabspec.language.python.reference import StateView
from zabspec.language.python.sentences import sentence_of
from zabspec.model import Configuration, Model
from zabspec.worlds.actor import send_to_leader
from zabspec.zab import (
    ACK_E,
    ACK_LD,
    BROADCAST,
    DISCOVERY,
    NEWEPOCH,
    NEWLEADER,
    SYNCHRONIZATION,
    SYNCHRONIZING,
    last,
    promises,
)

# --- premises of properties of histories and states ------------------------------------------------

# Each makes a history up, and stops wherever the premise is nearly met: it must not be met there, and must be at the
# end.
Story = Callable[[Synthetic], Iterator[None]]


def a_delivery(s: Synthetic) -> Iterator[None]:
    yield
    a = s.abcast(0, 1)
    s.choose(1, a)
    yield
    s.deliver(1, a)


def the_last_process_delivers(s: Synthetic) -> Iterator[None]:
    yield
    s.deliver(2, s.abcast(0, 1))


def another_delivers_the_later(s: Synthetic) -> Iterator[None]:
    a, b = s.abcast(0, 1), s.abcast(0, 1)
    s.deliver(0, a, b)
    yield
    s.deliver(1, a)
    yield
    s.deliver(1, b)


def one_is_ahead(s: Synthetic) -> Iterator[None]:
    a, b = s.abcast(0, 1), s.abcast(0, 1)
    s.deliver(0, a)
    yield
    s.deliver(1, a)
    yield
    s.deliver(0, b)


def each_has_one(s: Synthetic) -> Iterator[None]:
    a, b = s.abcast(0, 1), s.abcast(0, 1)
    s.deliver(1, a)
    yield
    s.deliver(0, b)


def second_of_its_instance(s: Synthetic) -> Iterator[None]:
    a, rival, later, second = s.abcast(0, 1), s.abcast(1, 1), s.abcast(2, 2), s.abcast(0, 1)
    s.deliver(2, a, rival, later)
    yield
    s.deliver(0, Txn(1, 1, 4), Txn(1, 3, 0))  # out of nowhere: one with the second's identity, one with none
    yield
    s.deliver(1, second)


def led_twice(s: Synthetic) -> Iterator[None]:
    """A process that leads an epoch again is another instance."""
    s.abcast(0, 1)
    s.end_pass(0)
    again = s.abcast(0, 1)
    s.deliver(1, again)
    yield
    s.deliver(1, s.abcast(0, 1))


def of_two_epochs(s: Synthetic) -> Iterator[None]:
    a, a2, b = s.abcast(0, 1), s.abcast(0, 1), s.abcast(1, 2)
    s.deliver(0, a, a2)
    s.deliver(1, b)
    yield
    s.deliver(0, b)


def of_an_earlier_primary(s: Synthetic) -> Iterator[None]:
    a, b = s.abcast(0, 1), s.abcast(1, 2)
    yield
    s.deliver(2, b)
    yield
    s.deliver(2, a)


def broadcast_after_a_delivery(s: Synthetic) -> Iterator[None]:
    a = s.abcast(0, 1)
    s.abcast(0, 1)
    s.deliver(1, a)
    yield
    s.abcast(2, 2)


def preceded_by_what_its_primary_delivered(s: Synthetic) -> Iterator[None]:
    a, other = s.abcast(0, 1), s.abcast(1, 2)
    s.deliver(2, other)
    yield
    s.deliver(2, a)
    after_both = s.abcast(2, 3)
    yield
    s.deliver(1, after_both)


def two_by_one_process(s: Synthetic) -> Iterator[None]:
    a, b = s.abcast(0, 1), s.abcast(0, 1)
    s.deliver(0, a)
    s.deliver(1, b)
    yield
    s.deliver(2, a)
    yield
    s.deliver(2, b)


def two_of_rivals_are_in_no_order(s: Synthetic) -> Iterator[None]:
    a, rival = s.abcast(0, 1), s.abcast(1, 1)
    s.deliver(0, a, rival)
    yield
    s.deliver(0, s.abcast(2, 2))


def of_one_process_in_two_epochs(s: Synthetic) -> Iterator[None]:
    s.abcast(0, 1)
    s.end_pass(0)
    b, c = s.abcast(1, 2), s.abcast(0, 3)
    s.deliver(2, b)
    yield
    s.deliver(2, c)


def delivered_before_it_was_broadcast(s: Synthetic) -> Iterator[None]:
    s.deliver(0, Txn(2, 1, 2))
    a = s.abcast(0, 1)
    s.deliver(1, a)
    yield
    s.abcast(1, 2)


def of_its_own_epoch(s: Synthetic) -> Iterator[None]:
    a, b = s.abcast(0, 1), s.abcast(0, 2)
    s.state.current_epoch[1] = 1
    s.deliver(1, b)
    yield
    s.end_pass(1)
    s.state.current_epoch[1] = 2
    yield  # it delivered b, but in an earlier pass
    s.deliver(0, a, b)
    yield
    s.deliver(1, b)


def a_broadcast(s: Synthetic) -> Iterator[None]:
    s.establish(1)
    yield
    s.abcast(2, 1)


def leaders_of_two_epochs(s: Synthetic) -> Iterator[None]:
    yield
    s.establish(1)
    yield
    s.establish(1)
    yield
    s.establish(3)


def established_after_it_was_chosen(s: Synthetic) -> Iterator[None]:
    a = s.abcast(0, 2)
    s.choose(2, a)
    s.establish(1)
    yield
    s.establish(2, a)
    yield
    s.establish(3, a)


def chosen_before_one_established(s: Synthetic) -> Iterator[None]:
    a = s.abcast(0, 1)
    s.accept(0, 1, a)
    s.establish(3, a)
    yield
    s.accept(1, 1, a)


def two_of_an_epoch(s: Synthetic) -> Iterator[None]:
    s.abcast(0, 1)
    s.abcast(1, 2)
    yield
    s.abcast(1, 2)


def replaced_after_a_delivery(s: Synthetic) -> Iterator[None]:
    a = s.abcast(0, 1)
    s.names["revise"](s.state, 0, [])
    s.deliver(1, a)
    yield
    s.names["revise"](s.state, 1, [s.txn(a)])


def write_down(s: Synthetic, t: Txn, *processes: int) -> None:
    for p in processes:
        s.state.history[p].append(s.txn(t))


def no_more_than_a_quorum_has_it(s: Synthetic) -> Iterator[None]:
    a = s.abcast(0, 1)
    write_down(s, a, 0, 1, 2)
    s.deliver(2, a)
    s.establish(3, a)  # the last epoch there is
    yield
    s.state.history[1].clear()
    s.state.history[2].clear()
    yield
    write_down(s, a, 2)


def established_when_a_quorum_had_it(s: Synthetic) -> Iterator[None]:
    b, a = s.abcast(1, 2), s.abcast(0, 1)
    write_down(s, a, 1, 2)
    write_down(s, b, 0, 2)
    s.deliver(0, b)
    yield
    s.establish(1)
    s.establish(2)
    yield  # later than a, which nobody has delivered, and not than b
    s.deliver(0, a)


def the_same_two(s: Synthetic) -> Iterator[None]:
    a, b = s.abcast(0, 1), s.abcast(0, 1)
    s.deliver(0, a, b)
    s.deliver(1, b)
    yield
    s.deliver(1, a)


def nothing_more_under_a_leader(s: Synthetic) -> Iterator[None]:
    s.state.role[2], s.state.leader[2], s.state.stage[2] = 2, 2, 4
    s.state.role[0], s.state.leader[0], s.state.synced[0] = 1, 2, True
    yield
    s.deliver(1, s.abcast(2, 1))
    s.state.leader[0] = 1  # another's follower
    yield
    s.state.leader[0], s.state.synced[0] = 2, False
    yield
    s.state.synced[0], s.state.stage[2] = True, 3  # it recovers
    yield
    s.state.stage[2] = 4


def nothing_more_under_an_established_leader(s: Synthetic) -> Iterator[None]:
    leads(s, 2, 1)
    s.state.phase[2] = BROADCAST
    follows(s, 0, 2)
    s.state.phase[0] = BROADCAST
    yield
    s.deliver(1, s.abcast(2, 1))
    s.state.phase[0] = SYNCHRONIZATION
    yield
    s.state.phase[0], s.state.leader[0] = BROADCAST, 1  # another's follower
    yield
    s.state.leader[0], s.state.stage[2] = 2, 3
    yield
    s.state.stage[2] = 4


def two_writes_answered(s: Synthetic) -> Iterator[None]:
    a, b = s.abcast(0, 1), s.abcast(1, 2)
    s.deliver(2, a, b)  # neither was computed from the other
    yield
    c = s.abcast(0, 1)
    yield
    s.deliver(0, c)


def two_writes_one_of_which_was_known(s: Synthetic) -> Iterator[None]:
    a = s.abcast(0, 1)
    s.deliver(1, a)
    b = s.abcast(1, 2)
    yield
    s.deliver(2, b)


def a_later_server_to_read_at(s: Synthetic) -> Iterator[None]:
    a, b = s.abcast(0, 1), s.abcast(0, 1)
    s.deliver(0, b)
    yield
    s.deliver(1, a)  # from where a session may go to the first


def w3_with_w1_and_without_w2(s: Synthetic) -> Iterator[None]:
    w1 = s.abcast(0, 1)
    s.abcast(0, 1)
    s.deliver(1, w1)
    yield
    w3 = s.abcast(1, 2)
    yield
    s.deliver(1, w3)


def delivered_again(s: Synthetic) -> Iterator[None]:
    a = s.abcast(0, 1)
    s.end_pass(1)
    s.deliver(1, a)
    yield
    s.end_pass(1)
    yield
    s.deliver(1, a)


def leads(s: Synthetic, l: int, epoch: int) -> None:
    """Process l is an established leader, of zab or of ladis, in memory alone."""
    s.state.role[l], s.state.leader[l], s.state.new_epoch[l], s.state.stage[l] = 2, l, epoch, 4


def two_lead_at_once(s: Synthetic) -> Iterator[None]:
    leads(s, 1, 1)
    yield
    leads(s, 0, 1)
    yield
    s.state.new_epoch[0], s.state.stage[0] = 2, 3
    yield
    s.state.stage[0] = 4


def the_last_process_may_broadcast(s: Synthetic) -> Iterator[None]:
    leads(s, 2, 1)
    yield
    s.state.ready[2] = True


PREMISES: tuple[tuple[str, Story], ...] = (
    ("ladis-total-order", the_same_two),
    ("reliable-delivery", nothing_more_under_a_leader),
    ("zab-reliable-delivery", nothing_more_under_an_established_leader),
    ("integrity", a_delivery),
    ("integrity", the_last_process_delivers),
    ("total-order", another_delivers_the_later),
    ("agreement", one_is_ahead),
    ("agreement", each_has_one),
    ("local-primary-order", second_of_its_instance),
    ("local-primary-order", led_twice),
    ("global-primary-order", of_two_epochs),
    ("primary-integrity", of_an_earlier_primary),
    ("primary-integrity", broadcast_after_a_delivery),
    ("po-causal-order", second_of_its_instance),
    ("po-causal-order", preceded_by_what_its_primary_delivered),
    ("strict-causality", two_by_one_process),
    ("dsn-causal-order", of_one_process_in_two_epochs),
    ("dsn-causal-order", preceded_by_what_its_primary_delivered),
    ("dsn-causal-order", delivered_before_it_was_broadcast),
    ("prefix", second_of_its_instance),
    ("prefix", led_twice),
    ("causal-order", led_twice),
    ("causal-order", two_of_rivals_are_in_no_order),
    ("invariant-5", of_its_own_epoch),
    ("invariant-5-literal", of_its_own_epoch),
    ("one-primary-an-epoch", a_broadcast),
    ("one-leader-an-epoch", leaders_of_two_epochs),
    ("chosen-in-later-histories", established_after_it_was_chosen),
    ("chosen-in-later-histories", chosen_before_one_established),
    ("delivered-is-chosen", a_delivery),
    ("unique-zxid", two_of_an_epoch),
    ("durability", no_more_than_a_quorum_has_it),
    ("durability", established_when_a_quorum_had_it),
    ("delivered-stands", replaced_after_a_delivery),
    ("previous-leader-abandoned", two_lead_at_once),
    ("one-active-primary", the_last_process_may_broadcast),
    ("ladis-previous-leader-abandoned", two_lead_at_once),
    ("tree-writes", two_writes_answered),
    ("tree-writes", two_writes_one_of_which_was_known),
    ("tree-reads", a_later_server_to_read_at),
    ("tree-reads-anywhere", a_later_server_to_read_at),
    ("tree-example", w3_with_w1_and_without_w2),
    ("tree-example-of-requests", w3_with_w1_and_without_w2),
    ("tree-writes-of-requests", delivered_again),
    ("tree-snapshots", a_delivery),
    ("tree-snapshots-of-requests", a_delivery),
)


def blank(name: str) -> Synthetic:
    """A history with nothing in it, of a protocol that the property speaks of."""
    protocol = (property_named(name, PROPERTIES).protocols or ("zab",))[0]
    if protocol == "zab":
        return Synthetic(model_of(Configuration(txns=4, max_epoch=3, literal=True, passes=True)))
    return Synthetic(model_of(Configuration(protocol=protocol, txns=4)))


@pytest.mark.parametrize(("name", "story"), PREMISES, ids=lambda x: x if isinstance(x, str) else x.__name__)
def test_a_premise_is_met_here_and_not_just_short_of_it(name: str, story: Story) -> None:
    s = blank(name)
    witness = s.names[property_named(name, PROPERTIES).witness.__name__]
    assert not witness(s.state)
    for k, _ in enumerate(story(s)):
        assert not witness(s.state), f"already at the stop {k + 1}"
    assert witness(s.state)


def follows(s: Synthetic, f: int, l: int) -> None:
    """Process f has acknowledged the epoch of leader l, of zab or of ladis, and what it promised."""
    s.state.role[f], s.state.leader[f] = s.state.role[f] or 1, l
    if "synced" in s.model.program.layout.fields:
        s.state.synced[f] = f != l
    else:
        s.state.phase[f], s.state.promised_epoch[f] = SYNCHRONIZATION, s.state.new_epoch[l]


@pytest.mark.parametrize("name", ["previous-leader-abandoned", "ladis-previous-leader-abandoned"])
def test_a_leader_that_a_quorum_follows_is_not_abandoned(name: str) -> None:
    s = blank(name)
    p = property_named(name, PROPERTIES)

    def verdict() -> object:
        return s.names[p.holds.__name__](s.state)

    leads(s, 1, 1)
    leads(s, 0, 2)
    follows(s, 0, 0)
    follows(s, 1, 1)
    assert verdict()
    follows(s, 2, 0)
    assert verdict()
    follows(s, 2, 1)
    assert "only {p0} " in sentence_of(verdict())
    s.state.leader[2] = 0
    assert verdict()
    follows(s, 2, 1)
    s.state.new_epoch[0] = 1  # two leaders of one epoch break another property
    assert verdict()


def test_two_primaries_may_broadcast_at_one_moment_when_both_are_ready() -> None:
    s = blank("one-active-primary")
    for l, epoch in ((0, 1), (2, 2)):
        leads(s, l, epoch)
    holds = s.names["one_active_primary"]
    assert holds(s.state)
    s.state.ready[0] = True
    assert holds(s.state)
    s.state.ready[2] = True
    assert "p0 may broadcast in epoch 1, and p2 in epoch 2" in sentence_of(holds(s.state))


def test_who_has_promised_another_epoch_has_abandoned_the_leader() -> None:
    s = blank("previous-leader-abandoned")
    leads(s, 1, 1)
    leads(s, 0, 2)
    for f, l in ((0, 0), (1, 1), (2, 1)):
        follows(s, f, l)
    holds = s.names["previous_leader_abandoned"]
    assert not holds(s.state)
    s.state.phase[2] = DISCOVERY  # it has asked the leader, and not acknowledged its epoch
    assert holds(s.state)
    s.state.phase[2], s.state.promised_epoch[2] = BROADCAST, 2
    assert holds(s.state)


def test_every_premise_is_tried_both_ways() -> None:
    """A property needs a story here, or, if it is of steps, a row of STEP_PREMISES."""
    assert {name for name, _ in PREMISES} == {p.name for p in PROPERTIES if p.of != STEP}
    assert set(STEP_PREMISES) == set(STEP_BREAKS.values()) == {p.name for p in PROPERTIES if p.of == STEP}


# --- premises of properties of steps -----------------------------------------------------------------


class PremiseRun(Run):
    """A run that notes of each step which properties of steps have their premise met."""

    def __init__(self) -> None:
        super().__init__(nodes=3, txns=3)
        self.names = python_names(self.model.configuration)
        self.met: list[tuple[str, set[str]]] = []

    def take(self, kind: int, a: int, b: int = 0, place: int = 0, choice: int = 0) -> set[str]:
        before = self.s.copy()
        entered = super().take(kind, a, b, place, choice)
        met = {p.name for p in OF_STEPS if self.names[p.witness.__name__](before, self.s, self.s)}
        self.met.append((f"{'+'.join(sorted(entered))} at {a}", met))
        return entered


OF_STEPS = tuple(p for p in PROPERTIES if p.of == STEP and p.judges("zab"))  # also of those that have to be named

# At which steps of the run below each premise is met: there and at no other.
STEP_PREMISES = {
    "invariant-1": ["f.3.2 at 1", "f.3.2 at 1", "f.2.1 at 2", "f.2.1 at 1", "f.3.2 at 2", "f.3.2 at 0"],
    "invariant-2": ["f.3.2 at 1", "f.3.2 at 2"],
    "invariant-3": ["f.2.1 at 2", "f.2.1 at 1", "f.3.2 at 2"],
    "invariant-4": ["l.1.2+l.2.1 at 1"],
    "service-goes-on": [],  # nobody leads with three; `lost_follower` meets it
}


def second_epoch() -> PremiseRun:
    """Two transactions are accepted in epoch 1, by process 1 alone; it leads epoch 2 with process 2, and abcasts one.
    Process 0 accepts its own first transaction long after, when it has heard nothing."""
    run = PremiseRun()
    run.establish(0, 1)
    run.abcast(0)
    run.abcast(0)
    run.follower(1)
    run.follower(1)
    run.time_out(1)
    run.gather(1, 2)
    for f in (1, 2):
        run.follower(f)
    run.leader(1, 2)
    run.leader(1, 1)
    for f in (2, 1):
        run.follower(f)
    for f in (2, 1):
        run.leader(1, f)
    for f in (2, 1):
        run.follower(f)
    run.abcast(1)
    run.follower(2)
    run.follower(0)
    return run


@pytest.mark.parametrize("name", STEP_PREMISES)
def test_a_premise_is_met_at_these_steps_and_no_other(name: str) -> None:
    assert [step for step, met in second_epoch().met if name in met] == STEP_PREMISES[name]


def test_a_leader_loses_a_follower_and_has_a_quorum_without_it() -> None:
    run, (before, after) = lost_follower()
    witness = python_names(run.model.configuration)[property_named("service-goes-on", PROPERTIES).witness.__name__]
    assert witness(before, after, after)
    before.Q[0].discard(1)  # the leader alone is no quorum
    assert not witness(before, after, after)
    before.Q[0].add(1)
    before.Q[0].discard(2)  # what is lost was no follower yet
    assert not witness(before, after, after)
    before.Q[0].add(2)
    before.stage[0] = SYNCHRONIZING
    assert not witness(before, after, after)


def test_what_is_proposed_and_not_accepted_is_no_premise() -> None:
    run, (before, after) = second_proposal()
    witness = python_names(run.model.configuration)[property_named("invariant-2", PROPERTIES).witness.__name__]
    assert witness(before, after, after)
    after.accepts = 0
    assert not witness(before, after, after)


# --- properties of steps, each broken alone ----------------------------------------------------------

# A step of a run, and what of it is altered afterwards.
Altered = tuple[StateView, StateView]


def stepped(run: Run, take: Callable[[], object]) -> Altered:
    """The states around a step."""
    before = run.s.copy()
    take()
    return before, run.s


def second_proposal() -> tuple[Run, Altered]:
    """Process 1 accepts 1.2 after 1.1."""
    run = Run().establish(0, 1)
    run.abcast(0)
    run.abcast(0)
    run.follower(1)
    return run, stepped(run, lambda: run.follower(1))


def lost_follower() -> tuple[Run, Altered]:
    """The leader of all three learns that process 2 is lost."""
    run = Run().establish(0, 1, 2)
    run.time_out(2)
    return run, stepped(run, lambda: run.leader_learns(0, 2))


def second_delivery() -> tuple[Run, Altered]:
    """Process 1 delivers 1.3 after 1.2, which it delivered after 1.1; all have them."""
    run = Run().establish(0, 1, 2)
    for _ in range(3):
        run.abcast(0)
    for f in (0, 1, 2):
        for _ in range(3):
            run.follower(f)
            run.leader(0, f)
    run.follower(1)
    run.follower(1)
    assert run.delivered(1) == ["1.1", "1.2"]
    return run, stepped(run, lambda: run.follower(1))


def initial_history_accepted() -> tuple[Run, Altered]:
    """Process 2 accepts [1.1, 1.2] by NEWLEADER(2, ...)."""
    run = proposed()
    return run, stepped(run, lambda: run.follower(2))


def history_offered() -> tuple[Run, Altered]:
    """Process 1 sends ACK-E(1, [1.1, 1.2])."""
    run = gathered()
    return run, stepped(run, lambda: run.follower(1))


def history_chosen() -> tuple[Run, Altered]:
    """Process 1 chooses the [1.1, 1.2] that it was offered, and sends NEWLEADER to itself and 2."""
    run = gathered()
    run.follower(1)
    run.follower(2)
    run.leader(1, 2)
    return run, stepped(run, lambda: run.leader(1, 1))


def swap(s: StateView, f: int, j: int) -> None:
    """Two neighbours in f's history change places."""
    s.history[f][j], s.history[f][j + 1] = s.history[f][j + 1], s.history[f][j]


def broken_by(made: Callable[[], tuple[Run, Altered]], alter: Callable[[Run, StateView, StateView], None]) -> set[str]:
    """What breaks once a step is altered, of all properties; nothing does before."""
    run, (before, after) = made()
    names = python_names(run.model.configuration)

    def broken() -> set[str]:
        out = {p.name for p in DEFAULT if p.of != STEP and not names[p.holds.__name__](after)}
        return out | {p.name for p in OF_STEPS if not names[p.holds.__name__](before, after, after)}

    assert not broken()
    alter(run, before, after)
    return broken()


def accepted_in_another_epoch(run: Run, before: StateView, after: StateView) -> None:
    after.current_epoch[1] = 0


def accepted_under_the_same_zxid(run: Run, before: StateView, after: StateView) -> None:
    after.history[1][1] = run.names["Txn"](epoch=1, counter=1, value=2)


def accepted_below(run: Run, before: StateView, after: StateView) -> None:
    before.history[1][0] = after.history[1][0] = run.names["Txn"](epoch=2, counter=1, value=1)


def delivered_out_of_order(run: Run, before: StateView, after: StateView) -> None:
    swap(after, 1, 1)


def delivered_second_out_of_order(run: Run, before: StateView, after: StateView) -> None:
    before.delivered_length[1], after.delivered_length[1] = 1, 2
    swap(after, 1, 0)


def delivered_under_the_same_zxid(run: Run, before: StateView, after: StateView) -> None:
    after.history[1][2] = after.history[1][1]


def accepted_below_its_promise(run: Run, before: StateView, after: StateView) -> None:
    before.promised_epoch[after.event_process] = after.accept_epoch + 1


def offered_less(run: Run, before: StateView, after: StateView) -> None:
    after.history[1].append(run.names["Txn"](epoch=1, counter=3, value=3))


def offered_in_another_order(run: Run, before: StateView, after: StateView) -> None:
    swap(after, 1, 0)


def offered_under_another_epoch(run: Run, before: StateView, after: StateView) -> None:
    after.current_epoch[1] = 0


def offered_something_else(run: Run, before: StateView, after: StateView) -> None:
    make = run.names["CEPOCH"]
    sent = after.to_leader[1][1]
    sent[len(sent) - 1] = make(epoch=1)


def no_longer_established(run: Run, before: StateView, after: StateView) -> None:
    after.stage[0] = SYNCHRONIZING


def no_longer_ready(run: Run, before: StateView, after: StateView) -> None:
    after.ready[0] = False


def accepted_less(run: Run, before: StateView, after: StateView) -> None:
    after.history[2].pop(1)


def accepted_in_another_order(run: Run, before: StateView, after: StateView) -> None:
    swap(after, 2, 0)


def chosen_otherwise_than_offered(run: Run, before: StateView, after: StateView) -> None:
    """It was offered [1.1, 1.2], and proposes [1.2] to all."""
    after.log[1].pop(0)
    for g in (1, 2):
        sent = after.to_follower[g]
        sent[len(sent) - 1] = run.names["NEWLEADER"](epoch=2, history=after.log[1])


def proposed_otherwise_to_the_last(run: Run, before: StateView, after: StateView) -> None:
    sent = after.to_follower[2]
    sent[len(sent) - 1] = run.names["NEWLEADER"](epoch=2, history=after.history[2])


def proposed_otherwise_to_itself(run: Run, before: StateView, after: StateView) -> None:
    sent = after.to_follower[1]
    sent[len(sent) - 1] = run.names["NEWLEADER"](epoch=2, history=after.history[2])


ALTERED = {
    second_proposal: (
        accepted_in_another_epoch, accepted_under_the_same_zxid, accepted_below, accepted_below_its_promise,
    ),
    second_delivery: (delivered_out_of_order, delivered_second_out_of_order, delivered_under_the_same_zxid),
    lost_follower: (no_longer_established, no_longer_ready),
    initial_history_accepted: (accepted_less, accepted_in_another_order, accepted_below_its_promise),
    history_offered: (
        offered_less, offered_in_another_order, offered_under_another_epoch, offered_something_else,
    ),
    history_chosen: (
        chosen_otherwise_than_offered, proposed_otherwise_to_the_last, proposed_otherwise_to_itself,
    ),
}  # fmt: skip
STEP_BREAKS = {
    accepted_in_another_epoch: "invariant-1",
    accepted_under_the_same_zxid: "invariant-2",
    accepted_below: "invariant-2",
    delivered_out_of_order: "invariant-2",
    delivered_second_out_of_order: "invariant-2",
    delivered_under_the_same_zxid: "invariant-2",
    accepted_below_its_promise: "invariant-3",
    no_longer_established: "service-goes-on",
    no_longer_ready: "service-goes-on",
    offered_less: "invariant-4",
    offered_in_another_order: "invariant-4",
    offered_under_another_epoch: "invariant-4",
    offered_something_else: "invariant-4",
    accepted_less: "invariant-4",
    accepted_in_another_order: "invariant-4",
    chosen_otherwise_than_offered: "invariant-4",
    proposed_otherwise_to_the_last: "invariant-4",
    proposed_otherwise_to_itself: "invariant-4",
}


@pytest.mark.parametrize(
    ("made", "alter"),
    [(made, alter) for made, alters in ALTERED.items() for alter in alters],
    ids=lambda f: f.__name__,
)
def test_a_step_altered_breaks_one_property_alone(
    made: Callable[[], tuple[Run, Altered]], alter: Callable[[Run, StateView, StateView], None]
) -> None:
    assert broken_by(made, alter) == {STEP_BREAKS[alter]}


# What may look like a break and is none: the property must not say so.


def what_was_delivered_before_is_not_judged_again(run: Run, before: StateView, after: StateView) -> None:
    swap(before, 1, 0)
    swap(after, 1, 0)


def out_of_order_beyond_what_is_delivered(run: Run, before: StateView, after: StateView) -> None:
    before.delivered_length[1] = after.delivered_length[1] = 1
    swap(after, 1, 1)


def in_another_phase(run: Run, before: StateView, after: StateView) -> None:
    after.phase[1] = SYNCHRONIZATION
    swap(after, 1, 1)


def an_acceptance_is_no_delivery(run: Run, before: StateView, after: StateView) -> None:
    after.phase[2] = BROADCAST
    before.history[2].append(run.names["Txn"](epoch=3, counter=1, value=3))


def crashed_while_accepting(run: Run, before: StateView, after: StateView) -> None:
    after.role[2] = 3
    after.history[2].pop(1)


HARMLESS = {
    second_delivery: (
        what_was_delivered_before_is_not_judged_again, out_of_order_beyond_what_is_delivered, in_another_phase,
    ),
    initial_history_accepted: (an_acceptance_is_no_delivery, crashed_while_accepting),
}  # fmt: skip


@pytest.mark.parametrize(
    ("made", "alter"),
    [(made, alter) for made, alters in HARMLESS.items() for alter in alters],
    ids=lambda f: f.__name__,
)
def test_a_step_altered_where_no_property_looks_breaks_nothing(
    made: Callable[[], tuple[Run, Altered]], alter: Callable[[Run, StateView, StateView], None]
) -> None:
    assert broken_by(made, alter) == set()


# --- the same by a rule of the protocol changed --------------------------------------------------------


def accept_under_the_last_epoch(s: State, f: Node, m: NEWLEADER) -> None:
    """f.2.1 that accepts what there is under an epoch that is over."""
    e = m.epoch
    if e > 1 and len(m.history) > 0:
        e = e - 1
    s.current_epoch[f] = e
    s.history[f] = m.history
    for k in range(len(m.history)):
        accept(s, f, e, m.history[k])
    send_to_leader(s, f, ACK_LD(epoch=m.epoch, txn=last(m.history)))


def offer_no_epoch(s: State, f: Node, m: NEWEPOCH) -> None:
    """f.1.2 that acknowledges with the first epoch of all."""
    if s.phase[f] == DISCOVERY and promises(s, f, m.epoch):
        s.promised_epoch[f] = m.epoch
        s.phase[f] = SYNCHRONIZATION
        send_to_leader(s, f, ACK_E(current_epoch=0, history=s.history[f]))


RULES = {
    "synchronize": (accept_under_the_last_epoch, "invariant-3"),
    "f_1_2": (offer_no_epoch, "invariant-4"),
}


@pytest.mark.parametrize("rule", RULES)
def test_a_rule_changed_breaks_one_property_alone(rule: str) -> None:
    """In everything that one process can do with a transaction and a timeout."""
    function, name = RULES[rule]
    own = OwnVariant(Configuration(nodes=1, txns=1, timeouts=1, crashes=0, losses=0), {rule: function})
    result = Interpreter(own, DEFAULT, False).run(Limits(), keep_going=True)
    assert result.complete
    assert set(result.violations) == {name}


# --- what a property is, and what it is bound with ------------------------------------------------------


def test_a_property_is_found_by_its_name_and_says_what_its_function_does() -> None:
    p = property_named("integrity", PROPERTIES)
    assert p.statement.startswith("Integrity (III.A): if some process delivers")
    assert Property("x", STEP, "", "", lambda *_: True, lambda *_: True).statement == ""
    with pytest.raises(KeyError, match="nothing-like-it"):
        property_named("nothing-like-it", PROPERTIES)


@pytest.mark.parametrize(
    ("name", "said"),
    [("same_instance", "two properties define same_instance"), ("promises", "a property and the program both define")],
)
def test_a_name_is_of_one_text(name: str, said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A property that took the place of another's function, or of the protocol's, would be judged by the wrong one."""
    module = ModuleType("own_properties")

    def function(s: State) -> bool:
        return s.abcasts >= 0

    own = FunctionType(function.__code__, module.__dict__, name)
    own.__module__ = module.__name__
    setattr(module, name, own)
    monkeypatch.setattr(binding, "MODULES", (*MODULES, module))
    with pytest.raises(ValueError, match=said):
        binding.full_namespace(Model(Configuration(nodes=1)))


def test_what_a_text_takes_from_another_is_defined_once() -> None:
    """A property's module may import a function of the protocol, which a configuration puts another in the place of."""
    names = binding.full_namespace(Model(Configuration(nodes=1, variant="small-quorum")))
    assert {"same_instance", "promises", "integrity"} <= set(names)
