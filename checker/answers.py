"""What the functions of `zabcheck` give back: results for a program, a person and a notebook.

Each says what the command of that name prints, in the same words.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from checker.report.result import Result, Verdict

if TYPE_CHECKING:
    from pathlib import Path

    import networkx as nx

    from checker.ci.result import CheckResult
    from checker.graph.report import GraphReport
    from checker.live.report import LiveReport
    from checker.mutate.report import MutationReport
    from checker.proof.break_it import Broken
    from checker.proof.prove import Proof
    from checker.refinement.report import RefinementReport
    from checker.report.audit import AuditReport
    from checker.report.audit_logs import LogsReport
    from checker.report.bounded import BoundedReport
    from checker.report.induction import InductionReport
    from checker.report.judged import JudgedTable
    from checker.report.linted import LintReport
    from checker.report.replayed import ReplayResult
    from checker.report.report import Report
    from checker.report.shortened import Shortening
    from checker.report.simulated import Simulation
    from checker.report.witnessed import WitnessReport
    from checker.requests.quorums import Quorums
    from checker.requests.reenact import Reenacted as PlayedOnServers
    from checker.requests.sweep import Swept as FinishedSweep
    from checker.search.report import SearchReport
    from checker.zookeeper.record import RowOutcome
    from traces.conform.explained import Conformed as RecordOutcome
    from traces.judging.sentence import Violation
    from traces.judging.totals import Totals
    from traces.record.trace import Step, Trace
    from traces.replay.replay import Replayed as Played
    from traces.shorten.realise import Realised as PlainRun
    from traces.sweep.findings import Finding
    from traces.sweep.summary import Summary
    from traces.zookeeper.findings import Finding as ZooKeeperFinding
    from zabspec.model import Configuration
    from zabspec.simulator.run import Run
    from zabspec.timed.planned import CapacityPlan
    from zabspec.timed.setting import Setting

__all__ = [
    "Answered", "Audited", "Bounded", "Checked", "Conformed", "Explored", "Exported", "Graphed", "Inductive",
    "Judged", "Linted", "Listed", "Lived", "LogsAudited", "Minimised", "Mutated", "Planned", "Proved",
    "QuorumsChecked", "Realised", "Reenacted", "Refined", "Replayed", "Reported", "Searched", "Simulated", "Swept",
    "TrackRecord", "Verdict", "Witnessed",
]  # fmt: skip

HELD = 0


class Answered:
    """What every answer has: a sentence, an exit code, verdicts by name, and how it is shown."""

    def __init__(self, result: Result) -> None:
        import traces.pictures  # noqa: F401  # from then on a notebook shows the picture of a trace

        self._result = result

    @property
    def sentence(self) -> str:
        """The answer in a sentence."""
        return self._result.sentence

    @property
    def exit_code(self) -> int:
        """That of the command: 0 all held, 1 something is violated, 3 no verdict."""
        return self._result.exit_code

    @cached_property
    def verdicts(self) -> Mapping[str, Verdict]:
        """What is said of each property, by its name, in the order of the command's table."""
        return {v.name: v for v in self._result.said()}

    def text(self) -> str:
        """What the command prints."""
        from checker.report.formats.terminal import plain_text

        return plain_text(self._result)

    def as_json(self) -> Any:
        """What the command writes with `--json`, as JSON values."""
        from checker.report.formats.json_text import json_of

        return json_of(self._result)

    def html(self) -> str:
        """The answer as a page that needs nothing else: the first run drawn, where its kind has no page of its own.

        Raises:
            NoVerdict, TraceError: what is to be drawn is not so.
        """
        from checker.report.formats.html import as_html

        first = next(iter(self.runs.values()), None)
        if first is not None and not self._result.page():
            from traces.pictures import to_html

            return to_html(first)
        return as_html(self._result).decode()

    @property
    def runs(self) -> Mapping[str, Trace]:
        """The run of each verdict that has one."""
        return {name: v.trace for name, v in self.verdicts.items() if v.trace is not None}

    def picture(self) -> str:
        """The first run as a diagram in SVG; empty: the answer has no run.

        Raises:
            TraceError: the run does not break the property that it is said to break.
        """
        from traces.pictures import to_svg

        first = next(iter(self.runs.values()), None)
        return "" if first is None else to_svg(first)

    @property
    def passed(self) -> bool:
        """Whether the command would end with 0. Where nothing was put to the test it would not;
        of one property among others `verdicts` says so."""
        return self.exit_code == HELD

    @property
    def violations(self) -> Mapping[str, Verdict]:
        """Those of the verdicts that say of a property that it does not hold."""
        return {name: v for name, v in self.verdicts.items() if v.verdict in ("violated", "not inductive")}

    def __getitem__(self, name: str) -> Verdict:
        return self.verdicts[name]

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self.sentence}>"

    def _repr_html_(self) -> str:
        """The answer for a notebook."""
        from checker.report.formats.notebook import as_html

        return as_html(self._result)


class Explored(Answered):
    """What an exploration found.

    Attributes:
        report: the report of the command, with every figure.
    """

    def __init__(self, report: Report) -> None:
        super().__init__(report)
        self.report = report

    @property
    def configuration(self) -> Configuration:
        """What was explored; its budgets are those that were taken."""
        return self.report.configuration

    @property
    def states(self) -> int:
        """Distinct states, renamings of each other counted once where there is symmetry."""
        return self.report.exploration.distinct

    @property
    def depth(self) -> int:
        """The depth of the deepest states found."""
        return self.report.exploration.depth

    @property
    def levels(self) -> Sequence[int]:
        """Distinct states at each depth."""
        return tuple(self.report.exploration.levels)

    @property
    def exhausted(self) -> bool:
        """Whether no state is left to look at."""
        return self.report.exploration.complete


class Simulated(Answered):
    """What a run of the simulator came to.

    Attributes:
        answer: what the command prints from.
    """

    def __init__(self, answer: Simulation) -> None:
        super().__init__(answer)
        self.answer = answer

    @property
    def run(self) -> Run:
        """The run: seed, sizes, delays, faults."""
        return self.answer.run

    @property
    def sha256(self) -> str:
        """The digest of the canonical dump."""
        return self.answer.sha256

    @property
    def dump(self) -> bytes:
        """The canonical dump."""
        return self.answer.bytes

    def text(self) -> str:
        from checker.report.formats.terminal import text_of

        table = ["", text_of(self.answer.table())] if self.answer.verdicts else []
        return "\n".join([f"sha256 {self.sha256}", self.answer.summary(), *table]) + "\n"

    @cached_property
    def drawn(self) -> tuple[Trace, list[tuple[str, str]]]:
        """The run up to the violation that came first, or the whole run, as a trace; and what is to be said of it, if
        it is no more than a part of that.

        Raises:
            TraceError: it cannot be told as a trace.
        """
        return self.answer.told()

    @property
    def runs(self) -> Mapping[str, Trace]:
        """The run, under the property that it breaks first."""
        return {self.drawn[0].property_name: self.drawn[0]}

    def html(self) -> str:
        from traces.pictures.html import page

        trace, story = self.drawn
        return page(trace, story=story)


class Replayed(Answered):
    """A trace that the simulator took, step by step equal.

    Attributes:
        trace: the trace.
        played: what the simulator did.
    """

    def __init__(self, replayed: ReplayResult) -> None:
        super().__init__(replayed)
        self.trace: Trace = replayed.trace
        self.played: Played = replayed.played

    @property
    def runs(self) -> Mapping[str, Trace]:
        """The trace, under the property that it breaks or puts to the test."""
        return {self.trace.property_name or self.trace.premise_of: self.trace}

    @property
    def steps(self) -> Sequence[Step]:
        """The steps, as the simulator took them."""
        return self.played.steps

    @property
    def sha256(self) -> str:
        """The digest of the canonical dump at the end."""
        return self.played.sha256


class Judged(Answered):
    """What judging an event table came to.

    Attributes:
        tally: for each property how many runs of each verdict, the violations, and what is open.
        asked: the properties that were judged.
    """

    def __init__(self, table: JudgedTable) -> None:
        super().__init__(table)
        self.tally: Totals = table.totals
        self.asked = table.judged

    @property
    def broken(self) -> Sequence[Violation]:
        """Every violation: the run, the moment, the rows that show it."""
        return tuple(self.tally.violations)


class Inductive(Answered):
    """What z3 says of the clauses of an inductive invariant.

    Attributes:
        outcome: what was found of each clause, and what is taken for granted.
    """

    def __init__(self, report: InductionReport) -> None:
        super().__init__(report)
        self.outcome = report.outcome

    @property
    def granted(self) -> Sequence[str]:
        """What every answer takes for granted, a sentence each."""
        return tuple(self.outcome.granted)


class Audited(Answered):
    """What an audit of data directories came to.

    Attributes:
        audit: findings, and what each server starts with.
    """

    def __init__(self, report: AuditReport) -> None:
        super().__init__(report)
        self.audit = report.audit

    @property
    def findings(self) -> Sequence[ZooKeeperFinding]:
        """What was found, the worst first as the command prints it."""
        return tuple(self.audit.findings)


class Conformed(Answered):
    """Whether a run of a release's model explains the record of a free-running ensemble.

    Attributes:
        outcome: how far it is explained, and what the explaining run violates; None: it was only recorded.
        folder: what the ensemble has left; None: nobody ran one.
    """

    def __init__(self, result: Result, outcome: RecordOutcome | None, folder: Path | None = None) -> None:
        super().__init__(result)
        self.outcome = outcome
        self.folder = folder


class Linted(Answered):
    """The mistakes of a protocol's file.

    Attributes:
        mistakes: by line.
        complete: False where more may show when these are mended.
    """

    def __init__(self, result: LintReport) -> None:
        super().__init__(result)
        self.mistakes = result.linted.mistakes
        self.complete = result.linted.complete


class Planned(Answered):
    """What an ensemble may be expected to do.

    Attributes:
        setting: what was simulated.
        plan: throughput in operations a second, latency in nanoseconds, and what bounds them.
    """

    def __init__(self, result: Result, setting: Setting, plan: CapacityPlan) -> None:
        super().__init__(result)
        self.setting = setting
        self.plan = plan


class QuorumsChecked(Answered):
    """Whether the quorums of a configuration intersect.

    Attributes:
        found: the quorums, two that are disjoint if there are, and what the ensemble survives.
    """

    def __init__(self, result: Result, found: Quorums) -> None:
        super().__init__(result)
        self.found = found


class Minimised(Answered):
    """A counterexample, shortened.

    Attributes:
        trace: the shorter one, verified and replayed.
        steps_before: how many steps there were.
        shortest: whether none is shorter with its configuration.
    """

    def __init__(self, result: Result, found: Shortening) -> None:
        super().__init__(result)
        self.trace = found.trace
        self.steps_before = found.before
        self.shortest = found.shortest

    @property
    def runs(self) -> Mapping[str, Trace]:
        """The shorter trace."""
        return {self.trace.property_name: self.trace}


class Exported(Answered):
    """A trace in another form.

    Attributes:
        trace: the trace.
        data: the form, as the file has it.
    """

    def __init__(self, result: Result, trace: Trace, data: bytes) -> None:
        super().__init__(result)
        self.trace = trace
        self.data = data

    @property
    def runs(self) -> Mapping[str, Trace]:
        """The trace."""
        return {self.trace.property_name or self.trace.premise_of: self.trace}


class Checked(Answered):
    """What the checks of a file came to.

    Attributes:
        outcomes: of each check, what was found and what differs.
    """

    def __init__(self, result: CheckResult) -> None:
        super().__init__(result)
        self.outcomes = tuple(result.outcomes)

    @cached_property
    def runs(self) -> Mapping[str, Trace]:
        """The run of each violation, by check and property."""
        from checker.ci.result import traces_of

        made = [(one, one.found.counterexamples) for one in self.outcomes if one.found is not None]
        return {name: trace for one, names in made for name, trace in traces_of(one, names)}

    def html(self) -> str:
        from checker.report.formats.html import as_html

        return as_html(self._result).decode()


class TrackRecord(Answered):
    """Known bugs of ZooKeeper, found again.

    Attributes:
        rows: each with the run that breaks its release and what its fix changes.
    """

    def __init__(self, result: Result, rows: Sequence[RowOutcome]) -> None:
        super().__init__(result)
        self.rows = tuple(rows)

    def html(self) -> str:
        """The answer as a page: of one row its story and its run."""
        from checker.report.formats.html import as_html
        from checker.zookeeper.story import story
        from traces.pictures.html import page

        run = self.rows[0].without.trace if len(self.rows) == 1 else None
        return as_html(self._result).decode() if run is None else page(run, story=story(self.rows[0]))


class OfReport(Answered):
    """An answer that is a report.

    Attributes:
        report: the report of the command, with every figure.
    """

    report: Any

    def __init__(self, report: Result) -> None:
        super().__init__(report)
        self.report = report


class Lived(OfReport):
    """The answer of a liveness check: whether, with no more faults, a process starves."""

    report: LiveReport


class Searched(OfReport):
    """What random walks found."""

    report: SearchReport


class Mutated(OfReport):
    """Which small changes of a protocol no property notices."""

    report: MutationReport


class Bounded(OfReport):
    """Whether some run of at most so many steps breaks a property, as z3 says."""

    report: BoundedReport

    @property
    def runs(self) -> Mapping[str, Trace]:
        """The run that breaks a property, if there is one."""
        found = self.report.counterexample
        return {} if found is None or found.trace is None else {found.trace.property_name: found.trace}


class Refined(OfReport):
    """Whether every step of `zab` is one of abstract ZAB."""

    report: RefinementReport

    @property
    def runs(self) -> Mapping[str, Trace]:
        """The shortest run to each thing that fails."""
        return {name: failed.trace for name, failed in self.report.failures.items()}


class LogsAudited(OfReport):
    """What text logs of servers say of their history."""

    report: LogsReport

    def html(self) -> str:
        from importlib.metadata import version

        from traces.zookeeper.log_picture import page_of_logs, picture_of_logs

        return page_of_logs(picture_of_logs(self.report.history, self.report.broken, version("zabcheck")))

    def picture(self) -> str:
        """What the logs tell, as a diagram in SVG."""
        from importlib.metadata import version

        from traces.pictures.svg import document
        from traces.zookeeper.log_picture import picture_of_logs

        return document(picture_of_logs(self.report.history, self.report.broken, version("zabcheck")).picture)


class Witnessed(OfReport):
    """The shortest runs that put properties to the test."""

    report: WitnessReport

    def html(self) -> str:
        from checker.report.witness_page import page_of_runs

        return page_of_runs(self.report)


class Graphed(OfReport):
    """A graph of states, and what every violating run does."""

    report: GraphReport

    @property
    def graph(self) -> nx.DiGraph[int]:
        """The graph."""
        return self.report.graph


class Proved(Answered):
    """The proof of abstract ZAB, or what breaks a mutant of it.

    Attributes:
        found: a proof for each seed; or the mutant with the run that breaks it.
    """

    def __init__(self, result: Result, found: Sequence[Proof] | Broken) -> None:
        super().__init__(result)
        self.found = found


class Realised(Answered):
    """A plain seeded run that breaks what a counterexample breaks.

    Attributes:
        trace: the counterexample.
        found: the run; None: none of those that were tried breaks it.
    """

    def __init__(self, result: Result, trace: Trace, found: PlainRun | None) -> None:
        super().__init__(result)
        self.trace = trace
        self.found = found

    def text(self) -> str:
        return super().text() if self.found is not None else f"{self.sentence}\n"

    @property
    def runs(self) -> Mapping[str, Trace]:
        """The counterexample."""
        return {self.trace.property_name: self.trace}


class Swept(Answered):
    """A finished sweep of simulated runs.

    Attributes:
        summary: all runs, counted.
        findings: for each program the first run that violates each property.
        files: the report, its page among them.
    """

    def __init__(self, result: Result, swept: FinishedSweep) -> None:
        super().__init__(result)
        self.summary: Summary = swept.summary
        self.findings: Sequence[Finding] = swept.found
        self.files = tuple(swept.files)

    def html(self) -> str:
        page = next(file for file in self.files if file.suffix == ".html")
        return page.read_text(encoding="utf-8")


class Reenacted(Answered):
    """A trace, as it was played on real servers.

    Attributes:
        trace: the trace.
        played: every run, and the folder that has what it left.
    """

    def __init__(self, result: Result, trace: Trace, played: PlayedOnServers) -> None:
        super().__init__(result)
        self.trace = trace
        self.played = played

    @property
    def runs(self) -> Mapping[str, Trace]:
        """The trace."""
        return {self.trace.property_name or self.trace.premise_of: self.trace}


class Listed(Answered):
    """What there is to choose from.

    Attributes:
        rows: each by the names of its columns.
    """

    def __init__(self, result: Result) -> None:
        super().__init__(result)
        self.rows: Sequence[Mapping[str, str]] = result.as_json()


class Reported(Answered):
    """A report of an exploration that was saved as JSON.

    Attributes:
        given: what the file has.
    """

    def __init__(self, result: Result, given: Mapping[str, Any]) -> None:
        super().__init__(result)
        self.given = given

    def html(self) -> str:
        from checker.report.page import page_of

        return page_of(self.given)

    @property
    def runs(self) -> Mapping[str, Trace]:
        """The run of each violation, taken again."""
        from checker.report.page import trace_of

        broken = [p for p in self.given["properties"] if p["verdict"] == "violated"]
        return {p["name"]: trace_of(self.given, p) for p in broken}
