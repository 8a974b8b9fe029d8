"""Explore whether clauses are true in every reachable state."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Annotated, ClassVar

from checker.errors import HELD, NO_VERDICT, VIOLATED
from checker.proofs.requests.clauses import ClausesRequest, InAll, argument, sorted_out
from checker.report.answer import StatedAnswer
from checker.requests.base.bounded import Threads
from checker.requests.base.request import Option, function
from checker.requests.base.watch import QUIET, Watch
from checker.requests.explore import explored
from checker.requests.exploring.exploration import ExplorationRequest
from checker.requests.exploring.ready import make_ready
from zabspec.typed import Natural

if TYPE_CHECKING:
    from checker.report.result import Part


@dataclass(frozen=True, repr=False)
class Confirmed(StatedAnswer):
    """Whether clauses are true in every reachable state."""


@dataclass(frozen=True)
class Confirm(ClausesRequest):
    """Explore whether clauses are true in every reachable state, with as many epochs as the budgets allow."""

    kind: ClassVar[str] = "confirm"
    mode: ClassVar[str | Option] = Option(
        "Explore instead: check every clause in every reachable state.", flag="confirm"
    )

    depth: Annotated[Natural | None, Option("With --confirm: largest number of steps; to exhaustion if not given.")] = (
        None
    )
    processes: Threads = None
    time_limit: InAll = 1800.0

    def answer(self, watch: Watch = QUIET) -> Confirmed:
        from checker.explore.compiled import Compiled
        from checker.explore.groups import groups_of
        from traces import build_trace, to_text
        from zabspec.model import Model

        argument(self.name)
        self.refuse_network()
        configuration = self.whole_configuration()
        asked, _, targets = sorted_out(self, configuration)
        clauses = [*asked, *(targets if self.clauses else [])]
        model = Model(replace(configuration, max_epoch=0))
        search = ExplorationRequest(
            depth=self.depth, reduction="none", threads=self.processes, time_limit=self.time_limit
        )
        for group in groups_of(clauses):
            make_ready(partial(Compiled.of, model, group, True, True), "the clauses in machine code")
        seen, _, symmetry_off = explored(model, clauses, search.limits, search, watch)
        bad = seen.violations
        where = "every reachable state" if seen.complete else f"every state up to depth {len(seen.levels) - 1}"
        code, sentence = HELD, f"{len(clauses)} clauses hold in {where} ({seen.distinct:,} of them)"
        if seen.failed and len(bad) == 1:
            code, sentence = VIOLATED, f"{next(iter(bad))} is violated in a reachable run: {seen.error}"
        elif bad:
            code, sentence = VIOLATED, f"{' and '.join(bad)} is False in a reachable state: no invariant"
        elif seen.error:
            code, sentence = NO_VERDICT, f"no verdict: {seen.error} after {seen.distinct:,} states"
        elif seen.stopped and not seen.complete:  # whatever depth was requested
            whole = f"the clauses hold in every state up to depth {seen.expanded_levels}"
            code, sentence = NO_VERDICT, f"no verdict: {seen.stopped} after {seen.distinct:,} states; {whole}"
        content = {
            "request": self.as_json(),
            "answer": {HELD: "confirmed", VIOLATED: "violated", NO_VERDICT: "undecided"}[code],
            "sentence": sentence,
            "configuration": model.configuration.as_dict(),
            "clauses": [c.name for c in clauses],
            "violated": {name: list(v.schedule) for name, v in bad.items()},
            "symmetry_off": symmetry_off or None,
            "states": seen.distinct,
            "complete": seen.complete,
            "depth": self.depth,
            "seconds": round(seen.seconds, 3),
        }
        text: list[Part] = ["\n".join([sentence, *([f"symmetry off: {symmetry_off}"] if symmetry_off else [])])]
        text += [to_text(build_trace(model, v.property, v.schedule)).rstrip() for v in bad.values()]
        return Confirmed(sentence, code, content, text, kind="confirm")


confirm = function(Confirm)
