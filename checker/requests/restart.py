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
    most = replace(limits, max_states=min(limits.max_states or SMALL, SMALL))
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
        exploration = narrowed(task, code, (), threads)
    except KeyboardInterrupt:  # while a model was made ready
        return replace(first, stopped="interrupted")
    exploration.add_first(first)
    exploration.add_walked(walked)
    return exploration


def outgrown(first: Exploration, limits: Limits) -> bool:
    """Return whether a search in full ended because the model is large, and not because of a limit of the request."""
    return first.stopped == f"--max-states {SMALL} reached" and limits.max_states != SMALL


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
                begun = narrowed(task, code, unmet - walked.keys(), threads)
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
