"""Search a large model with ample sets, by whichever engine: what is judged, what is merged, and what is believed.

docs/reduction.md has the argument. Premises that the full search has not met are met by random walks first, since
classes that keep them multiply the states. What follows from other properties is judged by these at deliveries. A
search that meets what it did not expect is made again with less left out.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from checker.explore.deliveries import AtDelivery, DeliveryModel
from checker.explore.result import Exploration, Limits
from invariants import OF_PAPERS
from invariants.registry import Property
from zabspec.model import Model

__all__ = ["SMALL", "Search", "Searched", "Walk", "first_limits", "further", "narrowed", "outgrown"]

SMALL = 500_000  # distinct states up to which nothing is reduced

# Meet premises by random walks: the model, what is judged, and the names of the premises still to be met; returns for
# those that were met after how many steps.
Walk = Callable[[Model, Sequence[Property], Collection[str]], Mapping[str, int]]


@dataclass(frozen=True)
class Searched:
    """What a search with ample sets came to.

    Attributes:
        exploration: its result.
        unforeseen: whether it met a class that it has not, and nothing else stands against it: a property that is not
            judged, and was expected to hold, is violated.
    """

    exploration: Exploration
    unforeseen: bool = False


# Search with ample sets: the model, the properties to judge, the names of the premises still to be met, and whether
# states are merged that differ only in what was observed.
Search = Callable[[Model, Sequence[Property], Collection[str], bool], Searched]


def narrowed(model: Model, judged: Sequence[Property], first: Exploration, walk: Walk, search: Search) -> Exploration:
    """Search with ample sets; the result is conclusive, or says why it is not (`checker.explore.ample.conclusive`).

    Args:
        first: what a full search found that ended because the model is large.
    """
    unmet = {p.name for p in judged if p.name not in first.witnessed}
    walked = walk(model, judged, unmet) if unmet else {}
    unmet -= walked.keys()
    # what other properties read of ghosts is followed too, but random ones have not shown that enough (0019)
    merging = all(p.default and p in OF_PAPERS for p in judged)
    at = AtDelivery.of(model, judged, unmet) if merging else AtDelivery((*judged,), ())
    searched = search(DeliveryModel(model.configuration) if at.replaced else model, at.asked, unmet, merging)
    exploration = at.told(searched.exploration)
    if not (at.believed(searched.exploration) or searched.exploration.stopped):
        searched = search(model, judged, unmet, merging)  # what a property follows from is violated; it may hold
        exploration = searched.exploration
    if searched.unforeseen:
        exploration = search(model, judged, unmet, False).exploration
    exploration.add_first(first)
    exploration.add_walked(walked)
    return exploration


def first_limits(limits: Limits) -> Limits:
    """Return the limits of a full search that is restarted, reduced, where the model turns out to be large."""
    return replace(limits, max_states=min(limits.max_states or SMALL, SMALL))


def outgrown(first: Exploration, limits: Limits) -> bool:
    """Return whether such a search ended because the model is large, and not because of a limit of the request."""
    return first.stopped == f"--max-states {SMALL} reached" and limits.max_states != SMALL


def further(first: Exploration, second: Exploration) -> Exploration:
    """Return the second exploration, or the one with more states if something ended the second early: a report covers
    no less than what is known."""
    if not second.stopped or second.violations or second.error or second.distinct > first.distinct:
        return second
    return replace(first, stopped=second.stopped, compile_seconds=second.compile_seconds)
