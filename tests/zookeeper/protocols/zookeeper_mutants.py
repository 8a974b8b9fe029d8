"""Mutants of the newest release with all known repairs (`zabspec/zookeeper/variants/mutants.py`): each is found by
what the text itself does not do within the same budget."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from checker.explore.breadth_first import Explorer
from checker.explore.compiled import Compiled
from checker.explore.result import Exploration, Limits
from checker.zookeeper.record import KNOWN, NEWEST, PROTOCOL, configuration
from invariants import properties_of
from zabspec.model import Model


@dataclass(frozen=True)
class Mutant:
    """A mutant, and what shows it.

    Attributes:
        name: the variant, without `mutant-`.
        breaks: the property that it breaks first.
        depth: after how many steps.
        budget: how much of what may go wrong that takes.
    """

    name: str
    breaks: str
    depth: int
    budget: tuple[tuple[str, int], ...]


def budget(**given: int) -> tuple[tuple[str, int], ...]:
    return tuple(({"crashes": 0, "losses": 0, "elections": 1, "proposals": 0} | given).items())


CUT = budget(partitions=1, proposals=1)
CRASH = budget(partitions=1, crashes=1)

MUTANTS = (
    Mutant("ack-log", "served-is-on-a-quorum", 5, CUT),
    Mutant("ack-epoch", "epoch-is-on-a-quorum", 14, CUT),
    Mutant("epoch-log", "epoch-has-its-history", 27, CUT),
    Mutant("applied-early", "served-is-on-a-quorum", 1, CUT),
    Mutant("sync-unlogged", "served-is-on-a-quorum", 18, CUT),
    Mutant("sync-unapplied", "initial-history", 19, CUT),
    Mutant("leader-unlogged", "memory-is-the-disk", 15, CUT),
    Mutant("snap-unsaved", "memory-is-the-disk", 36, CUT),
    Mutant("committed-log-hole", "committed-log-is-whole", 13, CUT),
    Mutant("commit-alone", "served-is-on-a-quorum", 2, CUT),
    Mutant("serve-alone", "epoch-is-on-a-quorum", 9, CUT),
    Mutant("uptodate-early", "initial-history", 14, CUT),
    Mutant("uncommitted-applied", "served-is-on-a-quorum", 15, CUT),
    Mutant("ahead-diff", "served-is-on-a-quorum", 15, CUT),
    Mutant("diverged-diff", "trees-agree", 37, CUT),
    Mutant("forward-applied", "quiet-servers-agree", 21, CUT),
    Mutant("forward-outstanding", "no-stop", 17, CUT),
    Mutant("diff-uncommitted", "served-is-on-a-quorum", 17, CUT),
    Mutant("trunc-uncut", "served-is-on-a-quorum", 17, CUT),
    Mutant("snap-committed-log", "committed-log-is-whole", 29, CUT),
    Mutant("load-committed-log", "committed-log-is-whole", 9, CUT),
    Mutant("received-kept", "quiet-servers-agree", 25, CUT),
    Mutant("counter-goes-on", "zxids-are-of-their-epoch", 16, CUT),
    Mutant("not-forwarded", "memory-is-the-disk", 3, CUT),
    Mutant("accepted-unwritten", "starts-again", 13, CRASH),
    Mutant("proposed-unwritten", "starts-again", 10, CRASH),
)


def explore_all(variant: str, given: Mapping[str, int], seconds: float | None = None) -> Exploration:
    """Every property of the newest release with all known repairs, and a mutant or none, to the first that breaks or to
    the end."""
    c = configuration(variant or NEWEST, KNOWN, given)
    code, _ = Compiled.of(Model(c), properties_of(PROTOCOL), True)
    return Explorer(code, 2).run(Limits(None, None, seconds, None), False)


@cache
def unmutated(given: tuple[tuple[str, int], ...]) -> Exploration:
    """The text itself within a budget."""
    return explore_all("", dict(given))
