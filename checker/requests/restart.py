"""Restart a large search with reductions, and combine both results."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from checker.explore.ample import Narrowing
    from checker.explore.breadth_first import Explorer
    from checker.explore.compiled import Compiled
    from checker.explore.result import Exploration, Limits
    from checker.requests.exploration import ExploreRequest
    from checker.requests.running import EngineTask
    from zabspec.model import Model

__all__ = ["not_begun", "reduced", "reduction_off"]

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


def reduced(task: EngineTask, code: Compiled, threads: int) -> Exploration:
    """Explore a model in full if it is small. A large one is explored again: with ample sets, which leave out states;
    where that does not decide all that a full search would, with sleep sets, which leave out transitions.

    A model is large if a search in full finds `SMALL` states. Where its levels grow steeply long before that, every
    premise is met, and no time limit is given, it is taken to be large at once. What is found then is the answer if it
    decides everything, and visits so many states that the model is large; otherwise the search in full is made up for.

    Args:
        code: the model in machine code.

    Raises:
        RuntimeError: one search found a violation that the other did not, which is an error of zabcheck.
    """
    from checker.explore.breadth_first import Explorer
    from checker.explore.growing import GROWS, Growing
    from checker.explore.reducible import why_not_narrowed

    model, judged, limits = code.model, code.properties, task.limits
    narrow = limits.max_states is None and not why_not_narrowed(model)
    most = replace(limits, max_states=min(limits.max_states or SMALL, SMALL))
    # within a time limit no less is looked at in full than before: how deep that goes is what is told if time is over
    engine: Explorer = (Growing if narrow and limits.seconds is None else Explorer)(code, threads)
    first = task.run(engine, most)
    early = first.stopped == GROWS
    found: Exploration | None = None

    def told(r: Exploration) -> Exploration:
        """Return a result, with what a search with ample sets has found broken where it says of nothing how."""
        if found is None or r.violations:
            return r
        broken = found.suspected or tuple(found.violations)
        if r.complete and (broken or found.error):
            other = "sleep sets" if r.reduced else "every state"
            raise RuntimeError(f"{found.error or ' and '.join(broken)} with ample sets, and not with {other}")
        return replace(r, suspected=broken, suspects_one=found.suspects_one)

    try:
        while early or (first.stopped == f"--max-states {SMALL} reached" and limits.max_states != SMALL):
            engine.forget()
            if narrow and not (first.violations or first.error):
                from checker.explore.ample import conclusive
                from checker.search.premises import depths_by_walks

                walked: dict[str, int] = {}
                if found is None:
                    unmet = {p.name for p in judged if p.name not in first.witnessed}
                    walked = depths_by_walks(model, judged, unmet) if unmet else {}
                    unmet -= walked.keys()
                    found = None if early and unmet else narrowed(task, code, unmet, threads)
                if found is not None:
                    found.add_first(first)
                    found.add_walked(walked)
                    if conclusive(found) and (not early or found.distinct >= SMALL):
                        return found
                    if found.stopped and not found.apart:
                        return told(replace(further(first, found), violations=first.violations))
            if not early:
                break
            early, engine = False, Explorer(code, threads)
            first = task.run(engine, most)
        else:
            return told(first)
        from checker.explore.reduced import ReducedExplorer
        from checker.explore.reduction import Reducing

        exploration = task.run(ReducedExplorer(Reducing(model, judged, code.symmetry), threads))
        exploration.ample_off = found.ample_off if found is not None else ""
    except KeyboardInterrupt:  # while a model was made ready
        return told(replace(first, stopped="interrupted"))
    return told(further(first, exploration))


def narrowed(task: EngineTask, code: Compiled, unmet: Collection[str], threads: int) -> Exploration:
    """Explore with ample sets, and with classes of what was observed; where steps turn out not to change places, with
    classes alone, if there are any; where something is observed that was not foreseen, without classes.

    Args:
        code: the model in machine code, as it was explored in full.
        unmet: the properties whose premises are still to be met.

    Returns: what the last of these searches came to: `apart` where it is not to be believed.
    """
    from checker.explore.ample import AmpleExplorer, Narrowing
    from checker.explore.deliveries import AtDelivery, DeliveryModel

    model, judged = code.model, code.properties

    def searched(narrow: Narrowing) -> tuple[bool, Exploration]:
        search = AmpleExplorer(narrow, threads)
        exploration = task.run(search)
        search.forget()
        return search.unforeseen, exploration

    at = AtDelivery.of(model, judged, unmet)
    asked_of = DeliveryModel(model.configuration) if at.replaced else model
    narrow = Narrowing(asked_of, at.asked, code.symmetry, unmet)
    unforeseen, found = searched(narrow)
    connected = not found.apart or unforeseen  # as each process follows
    if not connected and narrow.classes.classes:
        narrow = narrow.without_ample()
        unforeseen, found = searched(narrow)
    exploration = at.told(found)
    if not (at.believed(found) or found.stopped):  # what a property follows from is broken; it may not be itself
        narrow = Narrowing(model, judged, code.symmetry, unmet)
        unforeseen, exploration = searched(narrow if connected else narrow.without_ample())
    if unforeseen and connected:  # a property that is not judged is broken, which was expected to hold
        unforeseen, exploration = searched(Narrowing(model, judged, code.symmetry, unmet, False))
    return exploration


def further(first: Exploration, second: Exploration) -> Exploration:
    """Return the second exploration, or the one with more states if something ended the second early: a report covers
    no less than what is known."""
    if not second.stopped or second.violations or second.error or second.distinct > first.distinct:
        return second
    return replace(first, stopped=second.stopped, compile_seconds=second.compile_seconds)
