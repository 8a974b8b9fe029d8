"""Report the result of searching for the runs that reach premises."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from checker.report.answer import Answered
from checker.report.promises import promise_json
from checker.report.remarks import disjoint_notes
from checker.report.report import bounds_of
from checker.report.result import Counterexample, Part, Table, Verdict, Words, plural, some
from zabspec import __version__

if TYPE_CHECKING:
    from checker.explore.result import Exploration
    from invariants.registry import Property
    from zabspec.model import Configuration

FORMAT = 1
HELD, NO_VERDICT = 0, 3


@dataclass(frozen=True, repr=False)
class Witnessed(Answered):
    """The shortest runs to premises.

    Attributes:
        configuration: the one explored.
        judged: the requested properties.
        reached: the run to the premise of each that was reached, by name.
        explored: the explorations, each of some of the properties.
        request: the one that it answers, as JSON.
    """

    configuration: Configuration
    judged: Sequence[Property]
    reached: Mapping[str, Counterexample]
    explored: Sequence[Exploration]
    request: Mapping[str, Any] | None = None

    kind = "witness"

    @property
    def exit_code(self) -> int:
        """0 if there is a run for each property, and it replays; 3 if not."""
        return NO_VERDICT if self.missing or self.troubles else HELD

    def drawing(self) -> str:
        """Return a page with a table, and each run behind it; for a single run it is that of the run.

        Raises:
            TraceError: a run does not show what it is recorded to show.
        """
        from traces.pages.shell import environment
        from traces.pictures import to_html
        from traces.pictures.html import shown
        from traces.pictures.svg import STYLE

        traces = {name: c.trace for name, c in self.reached.items() if c.trace is not None and not c.trouble}
        if len(self.judged) == 1 and traces:
            return to_html(next(iter(traces.values())))
        rows = [
            {
                "name": p.name,
                "premise": p.premise,
                "steps": len(traces[p.name].steps) if p.name in traces else None,
                "problem": self.reached[p.name].trouble if p.name in self.reached else self.searched,
            }
            for p in self.judged
        ]
        runs = [(name, shown(trace, f"{name}-")) for name, trace in traces.items()]
        template = environment("traces.pictures", "checker.report").get_template("witness.html.j2")
        return template.render(style=STYLE, sentence=self.sentence, rows=rows, runs=runs)

    @property
    def missing(self) -> list[str]:
        """The properties whose premise was not reached."""
        return [p.name for p in self.judged if p.name not in self.reached]

    @property
    def troubles(self) -> Sequence[str]:
        return [c.trouble for c in self.reached.values() if c.trouble]

    @property
    def sentence(self) -> str:
        """The number of premises that are reached, and the bounds."""
        shown = {name: c for name, c in self.reached.items() if c.trace is not None}
        bounds = bounds_of(self.configuration)
        if len(self.judged) == 1 and shown:
            ((name, c),) = shown.items()
            assert c.trace is not None
            return f"the premise of {name} is first reached after {plural(len(c.trace.steps), 'step')}; {bounds}"
        said = f"the premises of {len(shown)} of {plural(len(self.judged), 'property')} are reached"
        if self.missing:
            said = f"{said}, and " if shown else ""
            said += f"{self.searched} reaches the premise of {some(self.missing)}"
        return f"{said}; {bounds}"

    @property
    def searched(self) -> str:
        """The runs that were explored, if a premise was not reached."""
        if why := next((r.error or r.stopped for r in self.explored if r.error or r.stopped), ""):
            return f"no run found until the exploration ended ({why})"
        if all(r.complete for r in self.explored):
            return "no run"
        return f"no run of at most {plural(min(len(r.levels) - 1 for r in self.explored), 'step')}"

    def said(self) -> Iterator[Verdict]:
        for p in self.judged:
            c = self.reached.get(p.name, Counterexample())
            at = len(c.trace.steps) if c.trace is not None else None
            yield Verdict(
                p.name, "premise reached" if at is not None else "premise not reached", at, c.trouble, c.trace
            )

    def parts(self) -> Sequence[Part]:
        parts: list[Part] = [Words([self.sentence, *disjoint_notes(self.configuration)])]
        runs = [c for c in self.reached.values() if c.text]
        if len(self.judged) == 1 and runs:
            saved = [f"saved in {runs[0].path}"] if runs[0].path else []
            return [*parts, runs[0].text.rstrip(), *saved]
        rows = []
        for v in self.said():
            path = self.reached[v.name].path if v.name in self.reached else ""
            premise = next(p.premise for p in self.judged if p.name == v.name)
            rows.append((v.name, "not reached" if v.at is None else str(v.at), path, premise))
        return [*parts, Table(rows, ("property", "steps", "saved in", "premise"))]

    def details(self) -> dict[str, Any]:
        return {
            "format": FORMAT,
            "zabcheck": __version__,
            "configuration": self.configuration.as_dict(),
            "merged_by_promise": promise_json(self.configuration),
            "states": sum(r.distinct for r in self.explored),
            "properties": [
                {
                    "property": p.name,
                    "premise": p.premise,
                    "steps": None if c is None or c.trace is None else len(c.trace.steps),
                    "trace": c.path or None if c is not None else None,
                    "replayed": c.replayed if c is not None else None,
                    "problem": c.trouble or None if c is not None else None,
                }
                for p in self.judged
                for c in [self.reached.get(p.name)]
            ],
        }
