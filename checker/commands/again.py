"""What has turned out to be large is explored anew, reduced: when, why not, and what is told of both explorations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from checker.commands.engines import run_engine

if TYPE_CHECKING:
    from checker.explore.compiled import Compiled
    from checker.explore.result import Exploration, Limits
    from zabspec.model import Model

__all__ = ["again_reduced", "first_limits", "not_begun", "outgrown", "reduction_off"]

SMALL = 500_000  # distinct states up to which nothing is reduced
SHORT = 20.0  # seconds of a time limit in which nothing is begun again


def reduction_off(model: Model, limits: Limits, options: Mapping[str, Any]) -> str:
    """Why an exploration is not reduced however large it is; empty: it is, if it is large."""
    asked = options.get("reduction") or "none"
    if asked != "auto":
        return f"--reduction {asked}"
    for off, why in (
        (options["engine"] != "compiled", f"--engine {options['engine']}"),
        (limits.depth is not None, "--depth"),
        (options["keep_going"], "--keep-going"),
        (options.get("checkpoint") is not None, "--checkpoint"),
        (limits.memory is not None, "--memory-limit"),  # what does not fit lies on disk, which streams do not
        (limits.seconds is not None and limits.seconds < SHORT, "--time-limit"),
    ):
        if off:
            return why
    from checker.explore.reducible import why_not_reduced

    return why_not_reduced(model)


def not_begun(exploration: Exploration) -> str:
    """Why an exploration was not reduced, though it might have been."""
    return f"at most {SMALL:,} states" if exploration.distinct < SMALL else "it ended before that began"


def first_limits(limits: Limits) -> Limits:
    """Of a full search that is begun again, reduced, if the model is large: it ends where that is known."""
    return replace(limits, max_states=min(limits.max_states or SMALL, SMALL))


def outgrown(first: Exploration, limits: Limits) -> bool:
    """Whether such a search has ended because the model is large, and not because of what the user allows."""
    return first.stopped == f"--max-states {SMALL} reached" and limits.max_states != SMALL


def again_reduced(
    code: Compiled, engine: Any, first: Exploration, limits: Limits, options: Mapping[str, Any], started: float
) -> Exploration:
    """Explore anew what has turned out to be large: with ample sets, which leave out states, and if that does not say
    all that a full search would, with sleep sets, which leave out transitions.

    Args:
        code: the model in machine code.
        engine: that has explored it so far; `first`: what it has found.
        started: when all began, in seconds of the clock.

    Raises:
        RuntimeError: one search has found broken what the other has not, which cannot be.
    """
    from checker.explore.ample import AmpleExplorer, Narrowing, conclusive
    from checker.explore.reduced import ReducedExplorer
    from checker.explore.reducible import why_not_narrowed
    from checker.explore.reduction import Reducing

    threads, model, judged = engine.threads, code.model, code.properties
    suspected: tuple[str, ...] = ()
    erred = ""
    engine.forget()
    try:
        if not (why_not_narrowed(model) or limits.max_states is not None or first.violations or first.error):
            narrow = AmpleExplorer(Narrowing(model, judged, code.symmetry), threads)
            exploration = run_anew(narrow, limits, options, started)
            exploration.add_first(first)
            if conclusive(exploration):
                return exploration
            suspected, erred = tuple(exploration.violations), exploration.error
            if exploration.stopped and not exploration.apart:
                return replace(further(first, exploration), suspected=suspected, violations=first.violations)
            narrow.forget()
        explorer = ReducedExplorer(Reducing(model, judged, code.symmetry), threads)
        exploration = run_anew(explorer, limits, options, started)
    except KeyboardInterrupt:  # while a model was made ready
        return replace(first, stopped="interrupted", suspected=suspected)
    if exploration.complete and (suspected or erred) and not exploration.violations:
        raise RuntimeError(f"{erred or ' and '.join(suspected)} with ample sets, and not with sleep sets")
    return replace(further(first, exploration), suspected=() if exploration.violations else suspected)


def further(first: Exploration, second: Exploration) -> Exploration:
    """Of two explorations of a model the one that has found more states, if something ended the second: it may have
    come at once. How much was judged is never less than what is known."""
    if not second.stopped or second.violations or second.error or second.distinct > first.distinct:
        return second
    return replace(first, stopped=second.stopped, compile_seconds=second.compile_seconds)


def run_anew(engine: Any, limits: Limits, options: Mapping[str, Any], started: float) -> Exploration:
    """Explore with what is left of the time, of which all that has passed counts."""
    import time

    ready = time.perf_counter() - started
    exploration = run_engine(engine, replace(limits, spent=ready), options)
    exploration.compile_seconds += ready
    return exploration
