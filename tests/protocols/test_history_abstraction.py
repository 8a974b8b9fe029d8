"""The ghost fields lose nothing: over them `invariants/` says what the paper says over the complete
history (`histories.py`), after every step of random runs and over histories made up at random."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.broken_histories import BREAKS
from tests.histories import (
    JUDGED,
    NAIVE,
    NAIVE_OF_SOME,
    Abcast,
    History,
    MadeUp,
    Recorder,
    Synthetic,
    Txn,
    Walk,
    judged,
    model_of,
)
from zabspec.model import Configuration
from zabspec.protocols import zab_variants
from zabspec.protocols.registry import PROTOCOLS

NAMES = tuple(p.name for p in JUDGED)


def test_every_history_property_has_a_naive_twin() -> None:
    assert set(NAIVE) == set(NAMES)
    assert NAIVE.keys() | NAIVE_OF_SOME.keys() == {p.name for name in PROTOCOLS for p in judged(name)}


# --- random walks in the CPython world -----------------------------------------------------------

VERDICTS: Counter[tuple[str, bool]] = Counter()


def same_verdicts(recorder: Recorder) -> dict[str, bool]:
    """What both say of the history so far."""
    ghost, naive = recorder.ghost_verdicts(), recorder.naive_verdicts()
    different = {name for name in NAMES if ghost[name] != naive[name]}
    assert not different, (different, recorder.events)
    VERDICTS.update(ghost.items())
    return ghost


def walk_and_compare(configuration: Configuration, seeds: range, length: int = 150, faults: float = 1.0) -> int:
    """Compare whenever a step changed the observed history, or an event was seen; returns the steps."""
    model = model_of(configuration)
    size = model.program.layout.history_size
    steps = 0
    for seed in seeds:
        walk = Walk(model, seed, faults)
        known: tuple[int, bytes] = (0, b"")
        for _ in range(length):
            if not walk.step():
                break
            steps += 1
            now = len(walk.events), bytes(walk.state.buffer[:size])
            if now != known:
                known = now
                same_verdicts(walk)
    return steps


FIFO = (
    Configuration(nodes=2, txns=3, timeouts=2),
    Configuration(txns=4, timeouts=3, crashes=2, losses=2, partitions=1),
    Configuration(nodes=5, txns=2, timeouts=2, crashes=1, losses=1),
)
BROKEN_NETWORKS = (
    Configuration(txns=4, timeouts=3, crashes=1, losses=1, network="lossy", drops=4),
    Configuration(txns=4, timeouts=3, crashes=1, losses=1, network="unordered"),
    Configuration(txns=4, timeouts=3, crashes=1, losses=1, network="duplicating", duplicates=4),
)


@pytest.mark.slow(seconds=1)
@pytest.mark.parametrize("configuration", FIFO, ids=lambda c: f"{c.nodes}-{c.txns}")
def test_ghosts_agree_with_the_complete_history_under_fifo(configuration: Configuration) -> None:
    assert walk_and_compare(configuration, range(8)) > 100


@pytest.mark.slow(seconds=1)
@pytest.mark.parametrize("configuration", BROKEN_NETWORKS, ids=lambda c: c.network)
def test_ghosts_agree_with_the_complete_history_where_zab_breaks(configuration: Configuration) -> None:
    VERDICTS.clear()
    assert walk_and_compare(configuration, range(12)) > 480
    assert any(not verdict for _, verdict in VERDICTS)


@pytest.mark.slow(seconds=1)
@pytest.mark.parametrize("variant", sorted(zab_variants.VARIANTS)[::9])
def test_ghosts_agree_with_the_complete_history_of_a_variant(variant: str) -> None:
    configuration = Configuration(txns=3, timeouts=4, crashes=3, losses=3, variant=variant)
    assert walk_and_compare(configuration, range(4), faults=2.0) > 200


# --- histories made up at random -----------------------------------------------------------------


def replay_and_compare(h: History) -> None:
    s = Synthetic.of()
    for event in h.events:
        s.replay(event)
        same_verdicts(s)
    assert s.history == h


@pytest.mark.slow(seconds=1)
@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.randoms(use_true_random=False), st.integers(1, 16))
def test_ghosts_agree_with_the_complete_history_on_any_history(source: random.Random, length: int) -> None:
    replay_and_compare(MadeUp(source).history(length))


@pytest.mark.slow
def test_ghosts_agree_with_the_complete_history_on_many_histories() -> None:
    VERDICTS.clear()
    for seed in range(120):
        replay_and_compare(MadeUp(random.Random(seed)).history(18))
    both = {(name, verdict) for name in NAMES for verdict in (True, False)}
    assert both - set(VERDICTS) == {("integrity", False)}  # see `of_nowhere` below


# --- for each property a history that breaks it, and as little else as can be --------------------


@pytest.mark.slow(seconds=1)
def test_strict_causality_of_a_process_that_delivers_in_any_order() -> None:
    """The text looks at neighbours alone; here are chains and forks in which they stand far apart."""
    verdicts = Counter[bool]()
    for seed in range(80):
        source = random.Random(seed)
        s = Synthetic.of(txns=6)
        for _ in range(6):
            p = source.randrange(2)  # two primaries that hardly hear of each other
            known = [e.txn for e in s.events if isinstance(e, Abcast)]
            if known and source.random() < 0.5:
                s.deliver(p, source.choice(known))
            s.abcast(p, p + 1)
        known = [e.txn for e in s.events if isinstance(e, Abcast)]
        s.deliver(2, *source.sample(known, source.randint(2, 4)))
        expected = NAIVE["strict-causality"](s.history)
        verdicts[expected] += 1
        assert s.ghost_verdicts()["strict-causality"] == expected
    assert min(verdicts[True], verdicts[False]) > 8


@pytest.mark.parametrize("make", BREAKS, ids=lambda f: f.__name__)
def test_a_history_breaks_exactly(make: Callable[[Synthetic], None]) -> None:
    s = Synthetic.of()
    make(s)
    verdicts = s.ghost_verdicts()
    assert {name for name in NAMES if not verdicts[name]} == set(BREAKS[make].split())
    assert verdicts == s.naive_verdicts()


def test_every_history_property_is_broken_by_one_of_these() -> None:
    assert {name for broken in BREAKS.values() for name in broken.split()} == set(NAMES)


def test_redelivery_in_the_same_order_is_allowed() -> None:
    """III, IX: at-least-once. A pass may stop short, begin anew, and go further."""
    s = Synthetic.of()
    a, b, c = s.abcast(0, 1), s.abcast(0, 1), s.abcast(0, 1)
    s.choose(1, a, b, c)
    for some in ((a, b), (a,), (), (a, b, c), (a, b)):
        s.end_pass(2)
        s.deliver(2, *some)
        assert all(s.ghost_verdicts().values())
        assert all(s.naive_verdicts().values())


# --- histories that ghosts once judged wrongly ----------------------------------------------------


def test_an_instance_stays_one_when_a_rival_broadcasts_in_between() -> None:
    """Two instances take turns in epoch 1; the first one's second transaction is delivered without its first."""
    s = Synthetic.of()
    s.abcast(0, 1)
    s.abcast(1, 1)
    s.deliver(2, s.abcast(0, 1))
    assert s.ghost_verdicts() == s.naive_verdicts()


def test_a_later_initial_history_lacks_what_is_broadcast_after_it() -> None:
    """A deposed primary broadcasts in epoch 1 when epoch 2 is established, and a quorum accepts it in epoch 1."""
    s = Synthetic.of()
    s.establish(2)
    s.choose(1, s.abcast(0, 1))
    assert s.ghost_verdicts() == s.naive_verdicts()


def test_an_initial_history_lacks_what_an_earlier_epoch_later_accepts() -> None:
    """A transaction of epoch 2 is in no initial history of epoch 2, and a quorum accepts it in epoch 1."""
    s = Synthetic.of()
    a = s.abcast(0, 2)
    s.establish(2)
    s.choose(1, a)
    assert s.ghost_verdicts() == s.naive_verdicts()


def test_only_broadcasts_of_primaries_are_ordered_by_primaries() -> None:
    """Transactions out of nowhere break integrity and nothing else."""
    s = Synthetic.of()
    s.deliver(0, Txn(2, 1, 3), Txn(1, 1, 4))
    s.deliver(1, Txn(2, 1, 3), Txn(1, 1, 4))
    s.abcast(2, 3)
    assert s.ghost_verdicts() == s.naive_verdicts()


@pytest.mark.parametrize("nowhere", [Txn(1, 1, 4), Txn(3, 1, 4), Txn(1, 3, 0)], ids=str)
def test_what_no_primary_broadcast_is_ordered_with_nothing(nowhere: Txn) -> None:
    for swapped in (False, True):
        s = Synthetic.of()
        a = s.abcast(0, 2)
        s.deliver(1, *((nowhere, a) if swapped else (a, nowhere)))
        s.deliver(2, a)
        assert s.ghost_verdicts() == s.naive_verdicts()


def test_an_earlier_epoch_may_choose_what_a_later_one_chose_before() -> None:
    """A quorum accepts in epoch 2, and then, one having accepted in epoch 1 long since, one more does in epoch 1."""
    s = Synthetic.of()
    a = s.abcast(0, 1)
    s.accept(0, 1, a)
    s.choose(2, a)
    assert s.state.chosen_epoch[0] == 2
    s.accept(1, 1, a)
    assert s.state.chosen_epoch[0] == 1
    s.establish(2)
    assert s.ghost_verdicts() == s.naive_verdicts()
    assert not s.ghost_verdicts()["chosen-in-later-histories"]


def test_who_accepted_is_forgotten_once_it_cannot_matter() -> None:
    """From the epoch on that chose it, and in no epoch before."""
    s = Synthetic.of()
    a = s.abcast(0, 1)
    for epoch in (1, 2, 3):
        s.accept(0, epoch, a)
    s.accept(1, 2, a)
    assert [set(s.state.accepted[e][0]) for e in range(4)] == [set(), {0}, set(), set()]
    s.accept(2, 3, a)
    s.accept(2, 2, a)
    assert [set(s.state.accepted[e][0]) for e in range(4)] == [set(), {0}, set(), set()]
