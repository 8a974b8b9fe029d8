"""The election with its votes refines the election of one step, and a mutant of it does not."""

from __future__ import annotations

import pytest

from checker.zookeeper.record import KNOWN
from tests.protocols.votes_refine import RefinementQuery, WithVotes, refines
from zabspec.model import Configuration, Model
from zabspec.protocols.registry import PROTOCOLS

CUT = Configuration("zookeeper", "3.5.3", start="established", budgets="elections=1", crashes=0, losses=0, partitions=1)


@pytest.mark.slow(seconds=4)
def test_votes_refine_the_election_of_one_step() -> None:
    """From the beginning, with all known repairs: every step is hidden or a coarse one, at most 11 hidden in a row."""
    merged = ",".join(f"coarse-{name}" for name in ("restart", "newleader", "epoch", "serve"))
    variant = PROTOCOLS["zookeeper"].combined(merged, ",".join(KNOWN))
    r = refines(Configuration("zookeeper", variant, budgets="elections=1", crashes=0, losses=1))
    assert r.holds
    assert (r.states, r.steps, r.hidden, r.longest) == (8_894, 24_348, 5_883, 11)


@pytest.mark.slow(seconds=4)
def test_a_mutant_that_votes_with_the_last_logged_zxid_is_no_refinement() -> None:
    """A server is elected whose lastProcessedZxid is less than that of who elects it: no step of the coarse text."""
    r = refines(CUT, logged=True)
    assert not r.holds
    assert len(r.broken) == 14
    asked = RefinementQuery(WithVotes(CUT, logged=True), Model(CUT))
    state = asked.fine.model.program.initial().key()
    for word in r.broken:
        before, state = state, dict(asked.fine.next_states(state))[word][: asked.size]
    fine = asked.fine.view(before)
    leader, follower = (word >> 16) & 255, next(q for q in range(3) if (word & 255) >> q & 1)
    assert max(fine.log[leader]) >= max(fine.log[follower])
    assert fine.last_processed[leader] < fine.last_processed[follower]
