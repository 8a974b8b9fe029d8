"""Report the outcomes of a matrix: one table, one sentence, one exit code, and the findings with their locations."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from checker.ci.judging import (
    AS_EXPECTED,
    DIFFERS,
    HEAD,
    NOT_RUN,
    PREMISE_LOST,
    UNDECIDED,
    CheckOutcome,
    counterexample,
    expected,
    found,
    statement_of,
)
from checker.ci.places import places_of
from checker.errors import HELD, NO_VERDICT, VIOLATED
from checker.report.answer import Answered, ByName
from checker.report.result import (
    ERROR,
    FAILURE,
    SKIPPED,
    Part,
    ReportFinding,
    ReportPlace,
    Table,
    Verdict,
    plural,
    some,
    values,
)
from checker.report.sources import top_of
from traces.explain.folding import folded
from zabspec import __version__

if TYPE_CHECKING:
    from checker.requests.base.outcomes import OutcomesRequest
    from traces import Trace

FORMAT = 1
INDEX = {"check": "checks.html", "entry": "gallery.html"}  # the page of all checks, by what they are called
ENDS = {DIFFERS: FAILURE, UNDECIDED: ERROR, NOT_RUN: SKIPPED}


@dataclass(frozen=True, repr=False)
class Checked(Answered):
    """The outcomes of the checks of a file.

    Attributes:
        path: the file.
        outcomes: in the file's order.
        what: the noun for its checks.
        changed: by real path of a file, the lines that changed according to `--changed-since`.
        request: the request; it says which runs are saved where.
        unsaved: what could not be saved.
    """

    path: Path
    outcomes: Sequence[CheckOutcome]
    what: str = "check"
    changed: Mapping[str, Collection[int]] = field(default_factory=dict)
    request: OutcomesRequest | None = None
    unsaved: Sequence[str] = ()

    kind = "check"

    def of(self, *statuses: str) -> list[CheckOutcome]:
        return [o for o in self.outcomes if o.status in statuses]

    @property
    def exit_code(self) -> int:
        """0 if all that was run is as expected, 1 if something differs, 3 if there is no verdict on something."""
        if self.unsaved:
            return NO_VERDICT
        if self.of(DIFFERS):
            return VIOLATED
        return NO_VERDICT if self.of(UNDECIDED) else HELD

    @property
    def sentence(self) -> str:
        """The outcome of all checks in a line."""
        run = len(self.outcomes) - len(self.of(NOT_RUN))
        if not run:
            return f"nothing was run: {self.counted(len(self.outcomes))} skipped; {self.path}"
        parts = []
        for status in (DIFFERS, UNDECIDED):
            if found := self.of(status):
                parts.append(f"{status}: {len(found)} of {self.counted(run)} ({some([o.check.name for o in found])})")
        if not parts:
            parts.append(f"as expected: {len(self.of(AS_EXPECTED))} of {self.counted(run)}")
        if left := self.of(NOT_RUN):
            parts.append(f"{len(left)} not run")
        if worth := sum(o.check.points for o in self.outcomes):
            parts.append(f"{sum(map(points_of, self.outcomes))} of {worth} points")
        return f"{'; '.join(parts)}; {self.path}"

    def counted(self, number: int) -> str:
        return plural(number, self.what)

    def folded_notes(self) -> list[str]:
        """Return why checks are not as expected, with the sentences of counterexamples, in at most one text."""
        notes = [folded(note, others="  ") for o in self.outcomes for note in notes_of(o)]
        return ["\n".join(notes)] if notes else []

    @cached_property
    def runs(self) -> Mapping[str, Trace]:
        """The run of each violation, by check and property."""
        made = [(o, o.found.counterexamples) for o in self.outcomes if o.found is not None]
        return ByName({name: trace for o, names in made for name, trace in traces_of(o, names)})

    @property
    def new_runs(self) -> Mapping[str, Trace]:
        """The counterexamples that are worth saving, by names for their files."""
        return dict(pair for o in self.outcomes for pair in self.runs_of(o))

    def save(self) -> Checked:
        """Save the runs worth keeping in the folder of the request; return the result with what failed."""
        from traces import TraceError, write_trace

        unsaved = []
        folder = self.request.traces if self.request is not None else ""
        for name, trace in self.new_runs.items() if folder else ():
            try:
                write_trace(trace, Path(folder) / f"{name}.trace.json")
            except TraceError as problem:
                unsaved.append(str(problem))
        return replace(self, unsaved=unsaved)

    @property
    def outputs(self) -> Sequence[tuple[Path, bytes]]:
        """The page of all checks, and one for each new violation, if the request names a folder for them."""
        from checker.report.checks_page import index_of
        from traces.pictures import to_html

        if self.request is None or not self.request.html:
            return []
        folder = Path(self.request.html)
        pages = [(folder / f"{name}.html", to_html(trace).encode()) for name, trace in self.new_runs.items()]
        drawn = {o.check.name: [name for name, _ in self.runs_of(o)] for o in self.outcomes}
        index = index_of(self.sentence, self.what, self.outcomes, drawn, [*filter(None, map(notes_of, self.outcomes))])
        return [*pages, (folder / INDEX[self.what], index.encode())]

    @property
    def annotated(self) -> bool:
        return self.request is not None and self.request.github

    def html(self) -> str:
        from checker.report.formats.html import as_html

        return as_html(self).decode()

    def runs_of(self, o: CheckOutcome) -> list[tuple[str, Trace]]:
        """Return the counterexamples of a check to new violations."""
        return traces_of(o, [d.name for d in o.differences if d.depth is not None])

    def parts(self) -> Sequence[Part]:
        return [folded(self.sentence, others="  "), Table([row(o) for o in self.outcomes], HEAD), *self.folded_notes()]

    # --- for test reports and code hosts -------------------------------------------------------------

    def said(self) -> Iterator[Verdict]:
        """Yield a verdict for each check: a failure if something differs, an error if there is no verdict."""
        for o in self.outcomes:
            says = "; ".join([*(d.says for d in o.differences), *o.reasons])
            shown = (counterexample(o, d) for d in o.differences)
            runs = "\n\n".join(c.text for c in shown if c is not None and c.text)
            seconds = o.found.seconds if o.found is not None else 0.0
            yield Verdict(
                o.check.name, o.status, None, says, None, runs, o.check.expect.stated, statement_of(o.check),
                ends=ENDS.get(o.status, ""), message=says, seconds=seconds,
                evidence={"points": f"{points_of(o)} of {o.check.points}"} if o.check.points else {},
            )  # fmt: skip

    @property
    def title(self) -> str:
        return f"zabcheck {self.path}"

    @property
    def seconds(self) -> float:
        return sum(v.seconds for v in self.said())

    @property
    def root(self) -> Path:
        return top_of(self.path)

    @cached_property
    def findings(self) -> Sequence[ReportFinding]:
        """Return one finding for each difference, and one for each check without a verdict."""
        return [finding for o in self.outcomes for finding in self.findings_of(o)]

    def findings_of(self, o: CheckOutcome) -> Iterator[ReportFinding]:
        name, here = o.check.name, ReportPlace(self.path, o.check.line)
        for d in o.differences:
            c = counterexample(o, d)
            says = f"{d.says}. {c.why if c is not None else ''}".strip()
            found = places_of(c.trace, self.changed) if c is not None and c.trace is not None else []
            yield ReportFinding("error", name, d.what, says, [*found, here])
        if o.status == UNDECIDED:
            yield ReportFinding("warning", name, "no verdict", "; ".join(o.reasons), [here])

    def as_json(self) -> dict[str, Any]:
        """Return the outcomes as JSON values (docs/how-to/ci.md)."""
        return {
            "format": FORMAT,
            "zabcheck": __version__,
            "file": str(self.path),
            "exit_code": self.exit_code,
            "sentence": self.sentence,
            "checks": [json_of(o) for o in self.outcomes],
        }


# --- a check ---------------------------------------------------------------------------------------


def points_of(o: CheckOutcome) -> int:
    """Return the points that a check has earned."""
    return o.check.points if o.status == AS_EXPECTED else 0


def row(o: CheckOutcome) -> tuple[str, ...]:
    f = o.found
    if f is None:
        measured = f"({o.check.seconds:g})" if o.check.seconds and o.status == NOT_RUN else ""
        return (o.check.name, o.status, expected(o.check.expect), "-", "", "", measured)
    states = "" if f.states is None else f"{f.states:,}"
    depth = str(f.seen_to if f.depth is None else f.depth)
    return (o.check.name, o.status, expected(o.check.expect), found(o), depth, states, f"{f.seconds:.1f}")


def notes_of(o: CheckOutcome) -> list[str]:
    name, out = o.check.name, []
    lost = [d for d in o.differences if d.what == PREMISE_LOST and d.name]
    if len(lost) > 1:
        premises = some([d.name for d in lost])
        out.append(f"{name}: the premises of {premises} are not reached, and were expected to be")
    for d in o.differences:
        if len(lost) > 1 and d in lost:
            continue
        out.append(f"{name}: {d.says}")
        shown = o.found.counterexamples.get(d.name) if o.found is not None else None
        if shown is not None and shown.why:
            out.append(f"  {shown.why}")
    out += [f"{name}: {reason}" for reason in o.reasons if o.status != NOT_RUN]
    if o.found is not None and o.found.promised:
        out.append(f"{name}: {o.found.promised}")
    if o.found is not None and o.found.unheard and not o.reasons:
        out.append(f"{name}: no second opinion: {o.found.unheard}")
    if o.differences and o.found is not None:
        out += [f"  expected by: {o.check.expect.stated}"]
    return out


def json_of(o: CheckOutcome) -> dict[str, Any]:
    f, e = o.found, o.check.expect
    return {
        "name": o.check.name,
        "status": o.status.lower(),
        "options": dict(o.check.values),
        "expected": {"verdict": e.verdict, "violated": dict(e.violated), "source": e.stated},
        "differences": values(o.differences),
        "reasons": list(o.reasons),
        "result": None
        if f is None
        else {
            "sentence": f.sentence,
            "violated": dict(f.violated),
            "premises_met": dict(f.met),
            "why": {name: c.why for name, c in f.counterexamples.items()},
            "depth": f.depth,
            "states": f.states,
            "raw": f.raw,
            "exhausted": f.exhausted,
            "sha256": f.sha256 or None,
            "seconds": f.seconds,
            "cpu_seconds": f.cpu_seconds,
        },
        "measured_cpu_seconds": o.check.seconds or None,
        "points": points_of(o),
    }


def traces_of(o: CheckOutcome, names: Iterable[str]) -> list[tuple[str, Trace]]:
    """Return the counterexamples of a check to some properties, each with a name for its file."""
    made = o.found.counterexamples if o.found is not None else {}
    shown = [(name, made[name].trace) for name in names if name in made]
    return [(f"{o.check.name}-{name}", trace) for name, trace in shown if trace is not None]
