"""Restart a large search with reductions, and combine both results."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from checker.explore.narrowing import SMALL, Search, Searched, first_limits, further, narrowed, outgrown

if TYPE_CHECKING:
    from checker.explore.breadth_first import Explorer
    from checker.explore.compiled import Compiled
    from checker.explore.result import Exploration, Limits
    from checker.requests.exploration import ExploreRequest
    from checker.requests.running import EngineTask
    from invariants.registry import Property
    from zabspec.model import Model

__all__ = ["not_begun", "reduced", "reduction_off"]

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


def reduced(task: EngineTask, code: Compiled, threads: int) -> Exploration:
    """Explore a model in full if it is small, and else with reductions.

    A search in full ends at `SMALL` states, and then reductions begin. Where its levels grow steeply long before that,
    and every premise is met, they begin at once. What that finds is the answer if it decides everything, and visits so
    many states that the model is large; otherwise the search in full is made up for.

    Args:
        code: the model in machine code.

    Raises:
        RuntimeError: as `restarted`.
    """
    from checker.explore.breadth_first import Explorer
    from checker.explore.growing import Growing
    from checker.explore.reducible import why_not_narrowed

    limits = task.limits
    most = first_limits(limits)
    begun: Exploration | None = None
    if limits.max_states is None and not why_not_narrowed(code.model):
        growing = Growing(code, threads)
        first = task.run(growing, most)
        if not growing.grown:
            return restarted(task, code, growing, first) if outgrown(first, limits) else first
        growing.forget()
        begun = begun_early(task, code, first, threads)
        if begun is not None:
            from checker.explore.ample import conclusive

            if conclusive(begun) and begun.distinct >= SMALL:
                return begun
            if begun.stopped and not begun.apart:
                return restarted(task, code, growing, first, begun)
    engine = Explorer(code, threads)
    first = task.run(engine, most)
    return restarted(task, code, engine, first, begun) if outgrown(first, limits) else first


def begun_early(task: EngineTask, code: Compiled, first: Exploration, threads: int) -> Exploration | None:
    """Return what a search with ample sets and classes comes to that begins before a model has shown that it is large;
    None: some premise is still to be met, which a longer search in full may meet."""
    from checker.search.premises import depths_by_walks

    try:
        unmet = {p.name for p in code.properties if p.name not in first.witnessed}
        walked = depths_by_walks(code.model, code.properties, unmet) if unmet else {}
        if unmet - walked.keys():
            return None
        exploration = narrowed(code.model, code.properties, (), searching(task, code.symmetry, threads))
    except KeyboardInterrupt:  # while a model was made ready
        return replace(first, stopped="interrupted")
    exploration.add_first(first)
    exploration.add_walked(walked)
    return exploration


def restarted(
    task: EngineTask, code: Compiled, engine: Explorer, first: Exploration, begun: Exploration | None = None
) -> Exploration:
    """Explore a large model again: with ample sets, which leave out states; where that does not decide all that a full
    search would, with sleep sets, which leave out transitions.

    Args:
        code: the model in machine code.
        engine: the one that explored it so far; `first`: its result.
        begun: what the search with ample sets came to, if it was made already.

    Raises:
        RuntimeError: one search found a violation that the other did not, which is an error of zabcheck.
    """
    from checker.explore.ample import conclusive
    from checker.explore.reduced import ReducedExplorer
    from checker.explore.reducible import why_not_narrowed
    from checker.explore.reduction import Reducing
    from checker.search.premises import depths_by_walks

    threads, model, judged, limits = engine.threads, code.model, code.properties, task.limits
    suspected: tuple[str, ...] = ()
    one, error, ample_off = False, "", ""
    engine.forget()
    try:
        if not (why_not_narrowed(model) or limits.max_states is not None or first.violations or first.error):
            walked: dict[str, int] = {}
            if begun is None:
                unmet = {p.name for p in judged if p.name not in first.witnessed}
                walked = depths_by_walks(model, judged, unmet) if unmet else {}
                begun = narrowed(model, judged, unmet - walked.keys(), searching(task, code.symmetry, threads))
            exploration = begun
            exploration.add_first(first)
            exploration.add_walked(walked)
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


def searching(task: EngineTask, symmetry: bool, threads: int) -> Search:
    """Return how this machine searches with ample sets."""
    from checker.explore.ample import AmpleExplorer, Narrowing

    def search(model: Model, asked: Sequence[Property], unmet: Collection[str], merging: bool, ample: bool) -> Searched:
        code = Narrowing(model, asked, symmetry, unmet, merging)
        explorer = AmpleExplorer(code if ample else code.without_ample(), threads)
        exploration = task.run(explorer)
        explorer.forget()
        return Searched(exploration, explorer.unforeseen, code.classes.classes > 0)

    return search
