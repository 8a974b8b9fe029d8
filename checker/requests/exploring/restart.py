"""Restart a large search with reductions, and combine both results."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from checker.explore.reduce import narrowing
from checker.explore.reduce.narrowing import Search, Searched, first_limits, further, narrowed, outgrown, suspecting

if TYPE_CHECKING:
    from checker.explore.breadth_first import Explorer
    from checker.explore.compiled import Compiled
    from checker.explore.result import Exploration, Limits
    from checker.requests.exploring.exploration import ExplorationRequest
    from checker.requests.exploring.running import EngineTask
    from invariants.registry import Property
    from zabspec.model import Model

SHORT = 20.0  # seconds of a time limit within which no search is restarted


def reduction_off(model: Model, limits: Limits, request: ExplorationRequest) -> str:
    """Return why an exploration is not reduced however large it is; empty if a large one is."""
    if request.reduction != "auto":
        return f"--reduction {request.reduction}"
    on_spark = request.engine == "spark"
    for off, why in (
        (request.engine == "interpret", f"--engine {request.engine}"),
        (limits.depth is not None, "--depth"),
        (request.keep_going, "--keep-going"),
        (bool(request.checkpoint) and not on_spark, "--checkpoint"),
        (limits.max_states is not None, "--max-states"),
        (limits.memory is not None, "--memory-limit"),  # with states on disk it was not tried
        (limits.seconds is not None and limits.seconds < SHORT, "--time-limit"),
    ):
        if off:
            return why
    from checker.explore.reduce.reducible import why_not_narrowed

    return why_not_narrowed(model)


def not_begun(exploration: Exploration) -> str:
    """Return why an exploration was not reduced, though it could have been."""
    return (
        f"at most {narrowing.SMALL:,} states"
        if exploration.distinct < narrowing.SMALL
        else "the reduced search did not start, or had no verdict"
    )


def reduced(task: EngineTask, code: Compiled, threads: int) -> Exploration:
    """Explore a model in full if it is small, and with reduction if it is large.

    A large one is explored again, with ample sets, which leave out states. If that does not decide all that a full
    search would, it is explored in full.

    A model is large if a search in full finds `SMALL` states. If its levels grow steeply long before that, every
    premise is met, and no time limit is given, it is assumed to be large at once. The result is then the answer if it
    decides everything, and visits so many states that the model is large; otherwise the search in full is completed.

    Args:
        code: the model in machine code; nothing keeps it from being reduced (`reduction_off`).

    Raises:
        RuntimeError: one search found a violation that the other did not, which is an error of zabcheck.
    """
    from checker.explore.breadth_first import Explorer
    from checker.explore.growing import GROWS, Growing

    model, judged, limits = code.model, code.properties, task.limits
    most = first_limits(limits)
    # with a time limit, the full search is not cut short: its depth is reported if the time is over
    engine: Explorer = (Growing if limits.seconds is None else Explorer)(code, threads)
    first = task.run(engine, most)
    early, search = first.stopped == GROWS, searching(task, code.symmetry, threads)
    found: Exploration | None = None

    try:
        while early or outgrown(first):
            engine.forget()
            if not (first.violations or first.error):
                from checker.explore.reduce.ample import conclusive
                from checker.search.premises import depths_by_walks

                walked: dict[str, int] = {}
                if found is None:
                    unmet = {p.name for p in judged if p.name not in first.witnessed}
                    walked = depths_by_walks(model, judged, unmet) if unmet else {}
                    unmet -= walked.keys()
                    found = None if early and unmet else narrowed(model, judged, unmet, search)
                if found is not None:
                    found.add_first(first)
                    found.add_walked(walked)
                    if conclusive(found) and (not early or found.distinct >= narrowing.SMALL):
                        return found
                    if found.stopped and not found.apart:
                        return suspecting(replace(further(first, found), violations=first.violations), found)
            if not early:
                break
            early, engine = False, Explorer(code, threads)
            first = task.run(engine, most)
        else:
            return suspecting(first, found)
        exploration = task.run(Explorer(code, threads))
        exploration.ample_off = found.ample_off if found is not None else ""
    except KeyboardInterrupt:  # while a model was compiled
        return suspecting(replace(first, stopped="interrupted"), found)
    return suspecting(further(first, exploration), found)


def searching(task: EngineTask, symmetry: bool, threads: int) -> Search:
    """Return the function that searches with ample sets on this machine."""
    from checker.explore.reduce.ample import AmpleExplorer, Narrowing

    def search(model: Model, asked: Sequence[Property], unmet: Collection[str], merging: bool, ample: bool) -> Searched:
        code = Narrowing(model, asked, symmetry, unmet, merging)
        explorer = AmpleExplorer(code if ample else code.without_ample(), threads)
        exploration = task.run(explorer)
        explorer.forget()
        return Searched(exploration, explorer.unforeseen, code.classes.classes > 0)

    return search
