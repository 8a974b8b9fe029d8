"""Search a large model with ample sets, by either engine: decide what is judged, merged and conclusive.

docs/explanation/reductions.md has the argument. Premises that the full search has not met are searched by random walks
first, as classes that keep them multiply the states. What follows from other properties is judged by these at
deliveries. A search that meets something unforeseen is rerun with less left out.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace

from checker.explore.reduce.deliveries import AtDelivery, DeliveryModel
from checker.explore.result import Exploration, Limits
from invariants.registry import Property
from zabspec.model import Model

SMALL = 500_000  # distinct states up to which nothing is reduced


@dataclass(frozen=True)
class Searched:
    """The outcome of a search with ample sets.

    Attributes:
        exploration: its result.
        unforeseen: whether it met an observation without a class, and has no other obstacle: a property that is not
            judged, and was expected to hold, is violated.
        merges: whether there are classes.
    """

    exploration: Exploration
    unforeseen: bool = False
    merges: bool = False


# Search a model for the properties to judge; the names of the premises still to be met, whether states are merged that
# differ only in what was observed, and whether with ample sets.
Search = Callable[[Model, Sequence[Property], Collection[str], bool, bool], Searched]


def narrowed(model: Model, judged: Sequence[Property], unmet: Collection[str], search: Search) -> Exploration:
    """Search with ample sets and with classes of observed histories, and rerun with less left out where needed.

    If steps turn out not to commute, rerun with classes alone, if there are any. If something is observed that was not
    foreseen, rerun without classes.

    Args:
        unmet: the properties whose premises are not met yet.

    Returns: the result of the last of these searches; it has `apart` set if it is not conclusive.
    """
    at = AtDelivery.of(model, judged, unmet)
    asked_of = DeliveryModel(model.configuration) if at.replaced else model
    found = search(asked_of, at.asked, unmet, True, True)
    connected = not found.exploration.apart or found.unforeseen  # as each process follows
    if not connected and found.merges:
        found = search(asked_of, at.asked, unmet, True, False)
    exploration = at.told(found.exploration)
    if not (at.believed(found.exploration) or found.exploration.stopped):
        # a property's replacement is violated; the property itself may hold
        found = search(model, judged, unmet, True, connected)
        exploration = found.exploration
    if found.unforeseen and connected:  # a property that is not judged is violated, which was expected to hold
        exploration = search(model, judged, unmet, False, True).exploration
    return exploration


def first_limits(limits: Limits) -> Limits:
    """Return the limits of a full search that is restarted with reduction if the model turns out to be large."""
    return replace(limits, max_states=SMALL)


def outgrown(first: Exploration) -> bool:
    """Return whether such a search ended because the model is large."""
    return first.stopped == f"--max-states {SMALL} reached"


def further(first: Exploration, second: Exploration) -> Exploration:
    """Return the second exploration, or the one with more states if the second was ended early.

    A report then covers no less than what is known.
    """
    if not second.stopped or second.violations or second.error or second.distinct > first.distinct:
        return second
    return replace(first, stopped=second.stopped, compile_seconds=second.compile_seconds)


def suspecting(r: Exploration, found: Exploration | None) -> Exploration:
    """Return a result with the violations of an ample-set search for which the result has no run.

    Args:
        found: the result of that search, or None if there was none.

    Raises:
        RuntimeError: the result is of all states, and has no violation.
    """
    if found is None or r.violations:
        return r
    broken = found.suspected or tuple(found.violations)
    if r.complete and (broken or found.error):
        raise RuntimeError(f"{found.error or ' and '.join(broken)} with ample sets, and not with every state")
    return replace(r, suspected=broken, suspects_one=found.suspects_one)
