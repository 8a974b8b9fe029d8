"""Restart a large search with reductions, and combine both results."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from checker.explore.breadth_first import Explorer
    from checker.explore.compiled import Compiled
    from checker.explore.result import Exploration, Limits
    from checker.requests.exploration import ExploreRequest
    from checker.requests.running import EngineTask
    from zabspec.model import Model

__all__ = ["first_limits", "not_begun", "outgrown", "reduction_off", "restarted"]

SMALL = 500_000  # distinct states up to which nothing is reduced
SHORT = 20.0  # seconds of a time limit within which no search is restarted


def reduction_off(model: Model, limits: Limits, request: ExploreRequest) -> str:
    """Return why an exploration is not reduced however large it is; empty: it is, if it is large."""
    if request.reduction != "auto":
        return f"--reduction {request.reduction}"
    for off, why in (
        (request.engine != "compiled", f"--engine {request.engine}"),
        (limits.depth is not None, "--depth"),
        (request.keep_going, "--keep-going"),
        (bool(request.checkpoint), "--checkpoint"),
        (limits.memory is not None, "--memory-limit"),  # what does not fit lies on disk, which streams do not
        (limits.seconds is not None and limits.seconds < SHORT, "--time-limit"),
    ):
        if off:
            return why
    from checker.explore.reducible import why_not_reduced

    return why_not_reduced(model)


def not_begun(exploration: Exploration) -> str:
    """Return why an exploration was not reduced, though it might have been."""
    return f"at most {SMALL:,} states" if exploration.distinct < SMALL else "it ended before that began"


def first_limits(limits: Limits) -> Limits:
    """Return the limits of a full search that is restarted, reduced, where the model turns out to be large."""
    return replace(limits, max_states=min(limits.max_states or SMALL, SMALL))


def outgrown(first: Exploration, limits: Limits) -> bool:
    """Return whether such a search ended because the model is large, and not because of a limit of the request."""
    return first.stopped == f"--max-states {SMALL} reached" and limits.max_states != SMALL


def restarted(task: EngineTask, code: Compiled, engine: Explorer, first: Exploration) -> Exploration:
    """Explore a large model again: with ample sets, which leave out states; where that does not decide all that a full
    search would, with sleep sets, which leave out transitions.

    Args:
        code: the model in machine code.
        engine: the one that explored it so far; `first`: its result.

    Raises:
        RuntimeError: one search found a violation that the other did not, which is an error of zabcheck.
    """
    from checker.explore.ample import AmpleExplorer, Narrowing, conclusive
    from checker.explore.deliveries import AtDelivery, DeliveryModel
    from checker.explore.reduced import ReducedExplorer
    from checker.explore.reducible import why_not_narrowed
    from checker.explore.reduction import Reducing
    from checker.search.premises import depths_by_walks
    from invariants import OF_PAPERS

    threads, model, judged, limits = engine.threads, code.model, code.properties, task.limits
    suspected: tuple[str, ...] = ()
    one, error, ample_off = False, "", ""
    engine.forget()
    try:
        if not (why_not_narrowed(model) or limits.max_states is not None or first.violations or first.error):
            unmet = {p.name for p in judged if p.name not in first.witnessed}
            walked = depths_by_walks(model, judged, unmet) if unmet else {}
            unmet -= walked.keys()
            # what other properties read of ghosts is followed too, but random ones have not shown that enough (0019)
            merging = all(p.default and p in OF_PAPERS for p in judged)
            at = AtDelivery.of(model, judged, unmet) if merging else AtDelivery((*judged,), ())
            asked_of = DeliveryModel(model.configuration) if at.replaced else model
            ample = AmpleExplorer(Narrowing(asked_of, at.asked, code.symmetry, unmet, merging), threads)
            searched = task.run(ample)
            exploration = at.told(searched)
            if not (at.believed(searched) or searched.stopped):  # what a property follows from is broken; it may not be
                ample.forget()
                ample = AmpleExplorer(Narrowing(model, judged, code.symmetry, unmet, merging), threads)
                exploration = task.run(ample)
            if ample.unforeseen:  # a property that is not judged is broken, which was expected to hold
                ample.forget()
                ample = AmpleExplorer(Narrowing(model, judged, code.symmetry, unmet, False), threads)
                exploration = task.run(ample)
            exploration.add_first(first)
            exploration.add_walked(walked)
            if conclusive(exploration):
                return exploration
            suspected = exploration.suspected or tuple(exploration.violations)
            one, error, ample_off = exploration.suspects_one, exploration.error, exploration.ample_off
            if exploration.stopped and not exploration.apart:
                found = further(first, exploration)
                return replace(found, suspected=suspected, suspects_one=one, violations=first.violations)
            ample.forget()
        explorer = ReducedExplorer(Reducing(model, judged, code.symmetry), threads)
        exploration = replace(task.run(explorer), ample_off=ample_off)
    except KeyboardInterrupt:  # while a model was made ready
        return replace(first, stopped="interrupted", suspected=suspected, suspects_one=one)
    if exploration.complete and (suspected or error) and not exploration.violations:
        raise RuntimeError(f"{error or ' and '.join(suspected)} with ample sets, and not with sleep sets")
    if exploration.violations:
        suspected, one = (), False
    return replace(further(first, exploration), suspected=suspected, suspects_one=one)


def further(first: Exploration, second: Exploration) -> Exploration:
    """Return the second exploration, or the one with more states if something ended the second early: a report covers
    no less than what is known."""
    if not second.stopped or second.violations or second.error or second.distinct > first.distinct:
        return second
    return replace(first, stopped=second.stopped, compile_seconds=second.compile_seconds)
