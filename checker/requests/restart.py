"""Restart a large search with reductions, and combine both results."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from checker.explore.narrowing import SMALL, Searched, further, narrowed

if TYPE_CHECKING:
    from checker.explore.breadth_first import Explorer
    from checker.explore.compiled import Compiled
    from checker.explore.result import Exploration, Limits
    from checker.requests.exploration import ExploreRequest
    from checker.requests.running import EngineTask
    from invariants.registry import Property
    from zabspec.model import Model

__all__ = ["not_begun", "reduction_off", "restarted"]

SHORT = 20.0  # seconds of a time limit within which no search is restarted


def reduction_off(model: Model, limits: Limits, request: ExploreRequest) -> str:
    """Return why an exploration is not reduced however large it is; empty: it is, if it is large."""
    if request.reduction != "auto":
        return f"--reduction {request.reduction}"
    on_spark = request.engine == "spark"
    for off, why in (
        (request.engine == "interpret", f"--engine {request.engine}"),
        (limits.depth is not None, "--depth"),
        (request.keep_going, "--keep-going"),
        (bool(request.checkpoint) and not on_spark, "--checkpoint"),
        (limits.max_states is not None and on_spark, "--max-states"),
        (limits.memory is not None, "--memory-limit"),  # what does not fit lies on disk, which streams do not
        (limits.seconds is not None and limits.seconds < SHORT, "--time-limit"),
    ):
        if off:
            return why
    from checker.explore.reducible import why_not_narrowed, why_not_reduced

    return (why_not_narrowed if on_spark else why_not_reduced)(model)  # sleep sets need one order of all states


def not_begun(exploration: Exploration) -> str:
    """Return why an exploration was not reduced, though it might have been."""
    return (
        f"at most {SMALL:,} states"
        if exploration.distinct < SMALL
        else "the search that leaves out states did not begin, or did not decide"
    )


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
    from checker.explore.reduced import ReducedExplorer
    from checker.explore.reducible import why_not_narrowed
    from checker.explore.reduction import Reducing
    from checker.search.premises import depths_by_walks

    threads, model, judged, limits = engine.threads, code.model, code.properties, task.limits
    suspected: tuple[str, ...] = ()
    one, error, ample_off = False, "", ""

    def search(model: Model, asked: Sequence[Property], unmet: Collection[str], merging: bool) -> Searched:
        ample = AmpleExplorer(Narrowing(model, asked, code.symmetry, unmet, merging), threads)
        found = task.run(ample)
        ample.forget()
        return Searched(found, ample.unforeseen)

    engine.forget()
    try:
        if not (why_not_narrowed(model) or limits.max_states is not None or first.violations or first.error):
            exploration = narrowed(model, judged, first, depths_by_walks, search)
            if conclusive(exploration):
                return exploration
            suspected = exploration.suspected or tuple(exploration.violations)
            one, error, ample_off = exploration.suspects_one, exploration.error, exploration.ample_off
            if exploration.stopped and not exploration.apart:
                found = further(first, exploration)
                return replace(found, suspected=suspected, suspects_one=one, violations=first.violations)
        explorer = ReducedExplorer(Reducing(model, judged, code.symmetry), threads)
        exploration = replace(task.run(explorer), ample_off=ample_off)
    except KeyboardInterrupt:  # while a model was made ready
        return replace(first, stopped="interrupted", suspected=suspected, suspects_one=one)
    if exploration.complete and (suspected or error) and not exploration.violations:
        raise RuntimeError(f"{error or ' and '.join(suspected)} with ample sets, and not with sleep sets")
    if exploration.violations:
        suspected, one = (), False
    return replace(further(first, exploration), suspected=suspected, suspects_one=one)
