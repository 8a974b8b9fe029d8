"""Write the report of an exploration, which `--json` wrote, as a page, or explore its request again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from checker.errors import NO_VERDICT, RequestError
from checker.output_files import is_one_file
from checker.report.answer import Answered, ByName
from checker.report.result import Part
from checker.requests.base.request import File, Option, Request, function
from checker.requests.base.watch import QUIET, Watch
from checker.requests.explore import Explore
from invariants.registry import NO_RUNTIME_ERROR

if TYPE_CHECKING:
    from traces.record.trace import Trace

AS_STATED = "as the file states, not run again; --rerun explores the request again"
STDOUT = "-"


@dataclass(frozen=True, repr=False)
class Reported(Answered):
    """A report of an exploration, as its JSON states, unless it was explored again.

    Attributes:
        request: the request.
        given: the content of the file.
        note: whether the figures were measured again, with the same result.
        same: whether the result is the same; None if it was not explored again.
    """

    request: ReportRequest
    given: Mapping[str, Any]
    note: str
    same: bool | None

    kind = "report"

    @property
    def sentence(self) -> str:
        return str(self.given["sentence"])

    @property
    def exit_code(self) -> int:
        return NO_VERDICT if self.same is False else int(self.given["exit_code"])

    @property
    def troubles(self) -> Sequence[str]:
        return [self.note]

    def parts(self) -> Sequence[Part]:
        return [] if self.request.html or self.request.rerun else [self.sentence]

    def as_json(self) -> Mapping[str, Any]:
        return self.given

    def page(self) -> str:
        from checker.report.page import page_of

        return page_of(self.given, stated=not self.same)

    @property
    def raw(self) -> str:
        return self.page() if self.request.html == STDOUT else ""

    @property
    def outputs(self) -> Sequence[tuple[Path, bytes]]:
        named = self.request.html not in ("", STDOUT)
        return [(Path(self.request.html), self.page().encode())] if named else []

    @property
    def runs(self) -> Mapping[str, Trace]:
        """The run of each violation, replayed."""
        from checker.report.page import trace_of

        broken = [p for p in self.given["properties"] if p["verdict"] == "violated"]
        return ByName({p["name"]: trace_of(self.given, p) for p in broken})


@dataclass(frozen=True)
class ReportRequest(Request):
    """Write a report (zabcheck --json > RUN.json) as one page: verdicts, counterexamples drawn, coverage.

    Sentence, verdicts and figures are as the file states. Each counterexample is rerun, and the picture is of that run.
    The exit code is that of the report. --rerun explores the request again, and reports what it found; the exit code is
    3 if the result differs.

    Or write the folder of a finding in ZooKeeper (zabcheck report ZK-trunc --output DIR): its run as a page, a repair,
    a JUnit test, and their results on each release. Exit code 3: the model no longer finds it.
    """

    kind: ClassVar[str] = "report"
    others: ClassVar[tuple[str, ...]] = ("zookeeper-finding",)

    run: Annotated[File, Option(argument=True, metavar="RUN.json|ZK-NAME", place="read")] = ""
    html: Annotated[
        File, Option("Write the page to this file; stdout if not given.", metavar="[FILE]", bare=STDOUT, place="write")
    ] = ""
    rerun: Annotated[bool, Option("Explore the request again, and report whether the result is the same.")] = False

    def answer(self, watch: Watch = QUIET) -> Reported:
        from checker.report.page import page_of, read_report

        run = Path(self.run)
        if self.html not in ("", STDOUT):
            if is_one_file(Path(self.html), run):
                raise RequestError(f"--html {self.html} is the report itself")
        given = read_report(run)
        if self.rerun:
            same, note, given = compared(run, given, watch)
        else:
            same, note = None, f"{run}: {AS_STATED}"
        if self.html:
            page_of(given, stated=not same)  # each run is replayed
        return Reported(self, given, note, same)


report = function(ReportRequest)


def compared(run: Path, given: dict[str, Any], watch: Watch) -> tuple[bool, str, dict[str, Any]]:
    """Explore again; return whether the outcome is the same, how it differs, and the report to show.

    That is the new one if it is the same, since the comparison leaves out sentences and times.

    Raises:
        RequestError: the report's request cannot be run here.
        NoVerdict: there is no outcome.
    """
    try:
        found = again(given, watch)
    except RequestError as problem:
        raise RequestError(f"{run} cannot be explored again: {problem}") from None
    if unlike := differences(given, found):
        return False, f"{run}: explored again, with another result: {'; '.join(unlike)}", given
    asked = "; the results of z3 were not recomputed" if any("symbolic" in p for p in given["properties"]) else ""
    shown = {**found, "to_reach": [], **{name: given[name] for name in ("request", "exit_code")}}
    return True, f"{run}: explored again, with the same result{asked}: {found['sentence']}", shown


# The figures of an exploration that do not depend on the machine and its limits; and its reductions.
FIGURES = ("distinct", "raw", "generated", "terminal", "depth", "levels")
MODE = ("symmetry", "symmetry_off", "reduced", "ample_sets", "stuttering_left_out")


def again(report: Mapping[str, Any], watch: Watch = QUIET) -> dict[str, Any]:
    """Explore the request of a report again, and return the new report, without evidence.

    Raises:
        RequestError, ConfigError, LanguageError: the request cannot be answered here.
        NoVerdict: it has no outcome.
    """
    return request_of(report).answer(watch).as_json()


def differences(report: Mapping[str, Any], found: Mapping[str, Any]) -> list[str]:
    """List the differences between a report and one of the same request; empty if the outcome is the same.

    A report of Spark's reduced search is compared with a reduced search on this machine: both visit the same states,
    but this machine takes fewer transitions, and does not first visit all states of as many levels.
    """
    fewer = report["engine"]["name"] == "spark" and report["engine"]["reduced"]
    names = ("verdict",) if report.get("error") else ("verdict", "exit_code")
    said = [(name, report[name], found[name]) for name in names]
    covered = ("exhausted",) if fewer else ("exhausted", "complete_depth")
    said += [(name, report["coverage"][name], found["coverage"][name]) for name in covered]
    there = {p["name"]: p for p in found["properties"]}
    for p in report["properties"]:
        now = there.get(p["name"], {"verdict": "not judged", "violation": None, "witnessed_at": None})
        said.append((p["name"], p["verdict"], now["verdict"]) if fewer else (p["name"], outcome(p), outcome(now)))
    said += [(name, report["engine"].get(name), found["engine"][name]) for name in MODE]
    figures = (name for name in FIGURES if not (fewer and name == "generated"))
    said += [(name, report["states"][name], found["states"][name]) for name in figures]
    counts = () if fewer else ("steps", "events")
    said += [(name, report[name], found[name]) for name in ("limits", *counts)]
    return [f"{name} {short(now)}, but the report says {short(before)}" for name, before, now in said if before != now]


def outcome(p: Mapping[str, Any]) -> str:
    """Return a property's verdict and its depth."""
    depth = p["violation"]["depth"] if p["violation"] else p["witnessed_at"]
    return p["verdict"] if depth is None else f"{p['verdict']} at depth {depth}"


def request_of(report: Mapping[str, Any]) -> Explore:
    """Return the request that a report answers, for an engine of this machine, which writes no file.

    Raises:
        RequestError: it has none, or one that is about something else.
    """
    request, engine = Explore.from_json(report["request"]), report["engine"]
    judged, configuration = request.checks()
    if configuration.as_dict() != report["configuration"]:
        raise RequestError("its request is for another configuration")
    if {p.name for p in judged} != {p["name"] for p in report["properties"]} - {NO_RUNTIME_ERROR.name}:
        raise RequestError("its request is for other properties")
    here = replace(request, checkpoint="", resume=False, symbolic=None, evidence="explored", trace=None)
    if request.engine != "spark":
        return here
    reduction: Literal["stuttering", "none"] = "stuttering" if engine["stuttering_left_out"] else "none"
    full = here.reduction if engine["reduced"] else reduction  # as in the search that measured its figures
    return replace(here, engine="compiled", master="", fingerprint=None, reduction=full)


def short(value: Any) -> str:
    """Return a value, shortened for a sentence."""
    text = str(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
