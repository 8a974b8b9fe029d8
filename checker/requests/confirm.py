"""Explore whether clauses are true in every reachable state."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from checker.requests.clauses import ClausesRequest, argument, sorted_out
from checker.requests.exploration import ExplorationRequest
from checker.requests.explore import explored
from checker.requests.ready import make_ready
from checker.requests.request import at_least, seconds
from checker.requests.watch import Watch

if TYPE_CHECKING:
    from checker.report.result import Part, StatedResult

HELD, NOT_INDUCTIVE, NO_VERDICT = 0, 1, 3


@dataclass(frozen=True)
class ConfirmRequest(ClausesRequest):
    """An exploration of reachable states with the clauses as its properties.

    Attributes:
        depth: the number of steps; None for exhaustion.
        jobs: threads; None for all cores.
        time_limit: seconds in all.
    """

    kind: ClassVar[str] = "confirm"

    depth: int | None = None
    jobs: int | None = None
    time_limit: float = 1800.0

    def validate(self) -> None:
        super().validate()
        at_least(self, 0, "depth")
        at_least(self, 1, "jobs")
        seconds(self, "time_limit")


def answer(request: ConfirmRequest, watch: Watch | None = None) -> StatedResult:
    """Explore the configuration, with as many epochs as its budgets allow.

    Raises:
        RequestError: there is no such protocol, configuration or clause.
    """
    from checker.explore.compiled import Compiled
    from checker.explore.groups import groups_of
    from checker.report.result import StatedResult
    from traces import build_trace, to_text
    from zabspec.model import Model

    argument(request.model.name)
    request.refuse_network()
    configuration = request.whole_configuration()
    asked, _, targets = sorted_out(request, configuration)
    clauses = [*asked, *(targets if request.clauses else [])]
    model = Model(replace(configuration, max_epoch=0))
    search = ExplorationRequest(
        depth=request.depth, reduction="none", threads=request.jobs, time_limit=request.time_limit
    )
    for group in groups_of(clauses):
        make_ready(partial(Compiled.of, model, group, True, True), "the clauses in machine code")
    seen, _, symmetry_off = explored(model, clauses, search.limits, search, watch or Watch())
    bad = seen.violations
    where = "every reachable state" if seen.complete else f"every state up to depth {len(seen.levels) - 1}"
    code, sentence = HELD, f"{len(clauses)} clauses hold in {where} ({seen.distinct:,} of them)"
    if seen.failed and len(bad) == 1:
        code, sentence = NOT_INDUCTIVE, f"{next(iter(bad))} is violated in a reachable run: {seen.error}"
    elif bad:
        code, sentence = NOT_INDUCTIVE, f"{' and '.join(bad)} is False in a reachable state, so it is not an invariant"
    elif seen.error:
        code, sentence = NO_VERDICT, f"no verdict: {seen.error} after {seen.distinct:,} states"
    elif seen.stopped and not seen.complete:  # whatever depth was requested
        whole = f"the clauses hold in every state up to depth {seen.expanded_levels}"
        code, sentence = NO_VERDICT, f"no verdict: {seen.stopped} after {seen.distinct:,} states; {whole}"
    content = {
        "request": request.as_json(),
        "answer": {HELD: "confirmed", NOT_INDUCTIVE: "violated", NO_VERDICT: "undecided"}[code],
        "sentence": sentence,
        "configuration": model.configuration.as_dict(),
        "clauses": [c.name for c in clauses],
        "violated": {name: list(v.schedule) for name, v in bad.items()},
        "symmetry_off": symmetry_off or None,
        "states": seen.distinct,
        "complete": seen.complete,
        "depth": request.depth,
        "seconds": round(seen.seconds, 3),
    }
    text: list[Part] = ["\n".join([sentence, *([f"symmetry off: {symmetry_off}"] if symmetry_off else [])])]
    text += [to_text(build_trace(model, v.property, v.schedule)).rstrip() for v in bad.values()]
    return StatedResult(sentence, code, content, text, kind="induct")
