"""No ghost field can be left out (issue 2, acceptance 7): for each there are reachable states that differ in it alone,
so that dropping it from the identity of states loses some; and for all but those of LOSES, a run from two such states
whose verdicts or witnesses differ, so that what is lost matters already in spaces this small.

The search is plain Python over the successors of either world, with whole states in a dictionary."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from itertools import islice
from types import FunctionType

import pytest

from checker.explore.compiled import full_namespace
from invariants import PROPERTIES
from invariants.registry import STEP, Property, property_named
from tests.models import DEFAULT, OwnVariant, compiled, judged, model
from zabspec.history import abdeliver, accept
from zabspec.language import Role, StateView, derive, reference
from zabspec.language.lang import Node, State, Txn
from zabspec.model import Configuration, Model
from zabspec.worlds.actor import choose, send_to_leader
from zabspec.zab import ACK_E, DISCOVERY, NEWEPOCH, NEWLEADER, SYNCHRONIZATION, promises

Successors = Callable[[bytes], list[tuple[int, bytes]]]
Said = Callable[[bytes], object]

# For each ghost, a configuration whose whole space is small and that needs it.
ELECTED_AGAIN = Configuration(variant="equal-epoch", nodes=1, txns=2, timeouts=2, crashes=0, losses=0)
TWO_TIMEOUTS = Configuration(nodes=2, txns=1, timeouts=2, crashes=0, losses=0)
TWO_TXNS = Configuration(nodes=2, txns=2, timeouts=1, crashes=0, losses=0)
ALONE = Configuration(nodes=1, txns=2, timeouts=2, crashes=0, losses=0)
REPLACED = Configuration(protocol="db19", nodes=2, txns=1, timeouts=1, crashes=1, heartbeats=1)

MATTERS = {
    "abcast_txn": ALONE,
    "abcast_attempt": ELECTED_AGAIN,
    "chosen_epoch": TWO_TIMEOUTS,
    "established": TWO_TXNS,
    "delivered": TWO_TXNS,
    "abcast_in_pass": ELECTED_AGAIN,
    "revised": REPLACED,
}
# States are lost without these too; that a verdict hangs on them shows in larger spaces only.
LOSES = {"abcast_by": TWO_TXNS, "accepted": TWO_TXNS}
# Needed by a protocol that is careless about what it delivers; see `deliver_perhaps`.
OTHER = ("abcast_after", "pass_length", "diverged")
# Needed where a transaction is missing from an initial history and comes back; see `offer_perhaps`.
AGAIN = ("missing_epoch",)


def without(layout: object, name: str) -> Callable[[bytes], bytes]:
    """A state's identity with one field's bytes left at zero."""
    places = [o + k for _, o in layout.elements(name) for k in range(layout.fields[name].kind.size)]  # type: ignore[attr-defined]

    def key(data: bytes) -> bytes:
        out = bytearray(data)
        for at in places:
            out[at] = 0
        return bytes(out)

    return key


def explored(first: bytes, successors: Successors, key: Callable[[bytes], bytes]) -> dict[bytes, bytes]:
    """Breadth-first to exhaustion: the first state found for every key."""
    seen = {key(first): first}
    level = [first]
    while level:
        new = []
        for data in level:
            for _, after in successors(data):
                k = key(after)
                if k not in seen:
                    seen[k] = after
                    new.append(after)
        level = new
    return seen


def differ(x: bytes, y: bytes, successors: Successors, said: Said, most: int = 400) -> bool:
    """Whether some run that both states can make shows different verdicts or witnesses, or ends for one alone."""
    seen, queue = {(x, y)}, [(x, y)]
    for a, b in queue:
        if said(a) != said(b):
            return True
        one, two = successors(a), successors(b)
        if [w for w, _ in one] != [w for w, _ in two]:
            return True
        for (_, c), (_, d) in zip(one, two, strict=True):
            if c != d and (c, d) not in seen and len(seen) < most:
                seen.add((c, d))
                queue.append((c, d))
    return False


def merged(states: dict[bytes, bytes], key: Callable[[bytes], bytes]) -> Iterator[tuple[bytes, bytes]]:
    """Pairs of states that are one when the field is left out."""
    first: dict[bytes, bytes] = {}
    for data in states.values():
        kept = first.setdefault(key(data), data)
        if kept != data:
            yield kept, data


def whole(data: bytes) -> bytes:
    return data


@cache
def space(configuration: Configuration) -> tuple[dict[bytes, bytes], Successors, Said]:
    """Every reachable state of a configuration, its successors, and what the properties say of a state."""
    code = compiled(configuration)
    size, everything = code.layout.size, (1 << len(judged(configuration.protocol))) - 1
    memo: dict[bytes, list[tuple[int, bytes]]] = {}

    def successors(data: bytes) -> list[tuple[int, bytes]]:
        """Messages in flight in order, where their order means nothing."""
        if data not in memo:
            memo[data] = [(w, derive.in_order(code.layout, after[:size])) for w, after in code.next_states(data)]
        return memo[data]

    def said(data: bytes) -> object:
        s = code.state(data)
        return code.judge_state(s, everything), code.witness_state(s, everything)

    return explored(code.model.program.initial().key(), successors, whole), successors, said


def check(
    states: dict[bytes, bytes], first: bytes, successors: Successors, said: Said, key: Callable[[bytes], bytes]
) -> None:
    """Without the field fewer states are found, and the runs of some that were merged are told apart."""
    assert len(explored(first, successors, key)) < len(states)
    assert any(differ(x, y, successors, said) for x, y in islice(merged(states, key), 300))


@pytest.mark.slow
@pytest.mark.parametrize("name", MATTERS)
def test_a_ghost_left_out_loses_states_that_matter(name: str) -> None:
    """Fewer states are found without the field, and some of those lost have runs of other verdicts."""
    configuration = MATTERS[name]
    states, successors, said = space(configuration)
    program = model(configuration).program
    check(states, program.initial().key(), successors, said, without(program.layout, name))


@pytest.mark.parametrize("name", LOSES)
@pytest.mark.slow(seconds=1)
def test_a_ghost_left_out_loses_states(name: str) -> None:
    """Fewer states are found without the field."""
    configuration = LOSES[name]
    states, successors, _ = space(configuration)
    program = model(configuration).program
    assert len(explored(program.initial().key(), successors, without(program.layout, name))) < len(states)


# --- ghosts that the protocol's own state implies, in zab ------------------------------------------


def deliver_perhaps(s: State, f: Node, t: Txn) -> None:
    """Deliver the transaction named, or do not; and keep no account of it."""
    if choose(s, 2) == 1:
        for k in range(len(s.history[f])):
            if s.history[f][k] == t:
                abdeliver(s, f, t)


def offer_perhaps(s: State, f: Node, m: NEWEPOCH) -> None:
    """f.1.2 that may hold the history back (the leader's own log is empty then)."""
    if s.phase[f] == DISCOVERY and promises(s, f, m.epoch):
        s.promised_epoch[f] = m.epoch
        s.phase[f] = SYNCHRONIZATION
        if choose(s, 2) == 1:
            send_to_leader(s, f, ACK_E(current_epoch=s.current_epoch[f], history=s.log[f]))
        else:
            send_to_leader(s, f, ACK_E(current_epoch=s.current_epoch[f], history=s.history[f]))


def keep_longer(s: State, f: Node, m: NEWLEADER) -> None:
    """f.2.1 that keeps what it has where that is more."""
    if len(m.history) >= len(s.history[f]):
        s.history[f] = m.history
    for k in range(len(m.history)):
        accept(s, f, m.epoch, m.history[k])


CARELESS: dict[str, FunctionType] = {"deliver_up_to": deliver_perhaps}
FORGETFUL: dict[str, FunctionType] = {"f_1_2": offer_perhaps, "accept_history": keep_longer}


def python_space(
    own: Model, judged: tuple[Property, ...]
) -> tuple[dict[bytes, bytes], Successors, Said, bytes, object]:
    """The same as `space`, in the CPython world."""
    program = own.program
    layout = program.layout
    names = reference.load(layout, full_namespace(own), program.types, program.steps)
    memo: dict[bytes, list[tuple[int, bytes]]] = {}

    def successors(data: bytes) -> list[tuple[int, bytes]]:
        if data not in memo:
            out: dict[int, int] = {}
            names["enabled"](StateView(layout, data), out)
            found = memo[data] = []
            for k in range(1, out[0] + 1):
                choice, choices = 0, 1
                while choice < choices:
                    after = StateView(layout, data)
                    names["apply"](after, out[k] | choice << 32)
                    choices = after.choices
                    found.append((out[k] | choice << 32, after.key()))
                    choice += 1
        return memo[data]

    def said(data: bytes) -> object:
        s = StateView(layout, data)
        return [(bool(names[p.holds.__name__](s)), bool(names[p.witness.__name__](s))) for p in judged]

    first = program.initial().key()
    return explored(first, successors, whole), successors, said, first, layout


OF_STATES = tuple(p for p in DEFAULT if p.of != STEP)


@pytest.mark.slow
@pytest.mark.parametrize("name", OTHER)
def test_a_ghost_that_zab_implies_is_needed_by_another_protocol(name: str) -> None:
    """In zab `pass_length` equals `delivered_length`, `diverged` never comes true, and a primary has always delivered
    its initial history (`abcast_after`): one that may skip a delivery needs all three, with one process."""
    states, successors, said, first, layout = careless_space()
    check(states, first, successors, said, without(layout, name))


@cache
def careless_space() -> tuple[dict[bytes, bytes], Successors, Said, bytes, object]:
    return python_space(OwnVariant(ALONE, CARELESS), OF_STATES)


@pytest.mark.parametrize("name", AGAIN)
def test_a_ghost_is_needed_where_a_transaction_comes_back(name: str) -> None:
    """A transaction that an established epoch lacked is in a later one again: only `missing_epoch` remembers, and
    `chosen-in-later-histories` hangs on it."""
    own = OwnVariant(Configuration(nodes=1, txns=1, timeouts=2, crashes=0, losses=0), FORGETFUL)
    states, successors, said, first, layout = python_space(own, OF_STATES)
    check(states, first, successors, said, without(layout, name))


@pytest.mark.parametrize("configuration", [TWO_TXNS, ALONE])
def test_what_zab_implies(configuration: Configuration) -> None:
    """`abcasts`, which the world counts with, is how many of `abcast_txn` are not zero, so it is no ghost; in zab
    `pass_length` is `delivered_length`."""
    layout = model(configuration).program.layout
    for data in space(configuration)[0].values():
        s = StateView(layout, data)
        assert s.abcasts == sum(t.value > 0 for t in s.abcast_txn)
        assert list(s.pass_length) == list(s.delivered_length)


def test_the_literal_reading_of_invariant_5_needs_synced_length() -> None:
    """`synced_length` is kept only where invariant 5 is read to the letter. With a quorum of one a second process joins
    before the commit or after it: states that differ in what it delivered in Phase 2 alone, and in the verdict."""
    configuration = Configuration(
        variant="small-quorum", nodes=2, txns=2, timeouts=0, crashes=0, losses=0, literal=True
    )
    code = compiled(configuration, False, (property_named("invariant-5-literal", PROPERTIES),))
    size = code.layout.size

    def successors(data: bytes) -> list[tuple[int, bytes]]:
        return [(w, after[:size]) for w, after in code.next_states(data)]

    def said(data: bytes) -> object:
        return code.judge_state(code.state(data), 1), code.witness_state(code.state(data), 1)

    first = code.model.program.initial().key()
    check(explored(first, successors, whole), first, successors, said, without(code.layout, "synced_length"))


def test_every_ghost_is_among_those_tested() -> None:
    """A ghost added to the schema needs a test here. `revised` holds nothing in zab."""
    ghosts = {f.name for f in model(TWO_TXNS).program.schema.fields if f.role is Role.GHOST}
    assert ghosts == {f.name for f in model(REPLACED).program.schema.fields if f.role is Role.GHOST}
    assert ghosts == {*MATTERS, *LOSES, *OTHER, *AGAIN, "synced_length"}


def test_an_instance_keeps_its_attempt_when_another_interleaves() -> None:
    """Two processes that lead one epoch at once (no-promise, small-quorum) abcast in turn: p, q, p. The first and third
    are of one primary instance, or local primary order is not judged between them."""
    own = Model(Configuration(nodes=3, txns=3, timeouts=0, crashes=0, losses=0))
    names, s = own.program.python, own.program.initial()
    for counter, p in enumerate((0, 1, 0), 1):
        names["abcast"](s, p, 1, counter)
    assert s.abcast_attempt[0] != s.abcast_attempt[1]
    assert s.abcast_attempt[0] == s.abcast_attempt[2]
