"""The result of a liveness check (`checker/report/documents.py`, docs/explanation/liveness.md)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, cast

from msgspec import to_builtins

from checker.explore.result import Limits
from checker.live.run import Live
from checker.report import documents
from checker.report.answer import Answered
from checker.report.promises import promise_text, promises_of
from checker.report.remarks import disjoint_notes, left_out_notes
from checker.report.report import bounds_of, rate
from checker.report.result import (
    COLOURS,
    EXIT_CODES,
    HOLDS,
    NO_VERDICT,
    NOT_REACHED,
    VIOLATED,
    CheckFindings,
    Counterexample,
    Part,
    Row,
    Table,
    Verdict,
    Words,
    plural,
)
from traces.explain.folding import folded
from traces.record.lasso import Lasso
from zabspec import __version__
from zabspec.language.layout.error_sites import met
from zabspec.language.layout.notation import named_by
from zabspec.model import Configuration
from zabspec.properties import ProgressProperty

FORMAT = 1


@dataclass(frozen=True)
class Starving:
    """A run in which a process starves, and its counterexample."""

    configuration: Configuration
    schedule: Sequence[int]
    lasso: Lasso
    counterexample: Counterexample

    @property
    def steps(self) -> int:
        return len(self.schedule)

    @property
    def ends(self) -> bool:
        """Whether the run ends: nothing more need happen."""
        return self.lasso.loop is None

    @property
    def sentence(self) -> str:
        """The sentence that names the process that waits, and from when on."""
        with named_by(self.configuration.played):
            return self.lasso.sentence(self.steps)


@dataclass(frozen=True, repr=False)
class Lived(Answered):
    """The result of a liveness check, with its request.

    Attributes:
        configuration: the request's, with the bounds that it was run with.
        assumed: the assumptions, a sentence each.
        starving: by progress property.
        threads: of the fault phase.
        symmetry_off: why states of the fault phase that are renamings of each other count separately; empty if they
            do not.
        request: the one that it answers, as JSON.
        left_out: the progress properties that were not checked.
    """

    live: Live
    configuration: Configuration
    limits: Limits
    epochs: int
    assumed: Sequence[str]
    starving: Mapping[str, Starving]
    threads: int
    symmetry_off: str
    request: Mapping[str, Any] | None = None
    left_out: Sequence[str] = ()

    kind = "live"

    # --- verdicts ----------------------------------------------------------------------------------

    @cached_property
    def cut_short(self) -> str:
        """Why not every requested fair run was checked; empty if every one was."""
        if self.live.error:
            return met(self.live.error)
        if self.live.second.difference:
            return self.live.second.trouble
        if self.live.stopped or not self.live.complete:
            return self.live.stopped or "not every state was explored"
        return ""

    def verdict(self, goal: ProgressProperty) -> str:
        """Return `holds`, `premise not reached` (no process ever waits), `violated` or `no verdict`."""
        if goal.name in self.starving:
            return VIOLATED if self.starving[goal.name].counterexample.replayed else NO_VERDICT
        if self.cut_short:
            return NO_VERDICT
        return HOLDS if goal.name in self.live.waited else NOT_REACHED

    @cached_property
    def overall(self) -> str:
        """The verdict of the whole run."""
        verdicts = [self.verdict(goal) for goal in self.live.goals]
        for said in (VIOLATED, NO_VERDICT, HOLDS):
            if said in verdicts:
                return said
        return NOT_REACHED

    @cached_property
    def exit_code(self) -> int:
        """The exit code of the command.

        0: no process starves. 1: one does, which is written down. 3: there is no verdict, or no process ever waits.
        """
        if any(s.counterexample.trouble for s in self.starving.values()):
            return 3
        return EXIT_CODES[self.overall]

    @cached_property
    def bounds(self) -> str:
        """The bounds of the request."""
        depth = f", stabilization times to depth {self.limits.depth}" if self.bounded else ""
        return f"{bounds_of(self.configuration)}{depth}"

    @cached_property
    def bounded(self) -> bool:
        """Whether a depth left stabilization times out."""
        return self.limits.depth is not None and not self.live.exploration.complete

    @cached_property
    def sentence(self) -> str:
        """The verdict line."""
        total = len(self.live.goals)
        if self.overall == VIOLATED:
            said = "; ".join(f"{name}: {s.sentence}" for name, s in self.starving.items() if s.counterexample.replayed)
            cut = f"; cut short: {self.cut_short}" if self.cut_short else ""
            return f"VIOLATED: {said}{cut}; {self.bounds}"
        if self.overall == NO_VERDICT:
            wrong = [s.counterexample.trouble for s in self.starving.values() if not s.counterexample.replayed]
            found = "" if wrong else "; no starving process was found"
            return f"no verdict: {wrong[0] if wrong else self.cut_short}{found}; {self.bounds}"
        tested = sum(self.verdict(goal) == HOLDS for goal in self.live.goals)
        if not tested:
            why = "no process ever waits" if self.live.starts else "there is no stabilization time"
            return f"premise not reached: {why} ({plural(total, 'progress property')}); {self.bounds}"
        of = plural(total, "progress property")
        return f"holds: no process starves in any fair run, {tested} of {of}; {self.bounds}"

    def verdict_in_words(self, goal: ProgressProperty) -> str:
        verdict = self.verdict(goal)
        if verdict == VIOLATED:
            return f"VIOLATED: {self.starving[goal.name].sentence}"
        if verdict == NOT_REACHED:
            return (
                f"premise not reached: "
                f"{'no process ever waits' if self.live.starts else 'there is no stabilization time'}"
            )
        return "holds: no process starves" if verdict == HOLDS else "no verdict"

    def other_reading(self, goal: ProgressProperty) -> str:
        """Return the variant under which a violated progress property holds, or an empty string.

        It is known for the protocol as the paper has it, over the paper's channels: a variant may violate the property
        for a reason of its own.
        """
        c = self.configuration
        plain = not c.variant and not c.quorums and c.network == "fifo" and self.verdict(goal) == VIOLATED
        return goal.holds_with if plain else ""

    # --- for people --------------------------------------------------------------------------------

    def figures(self) -> list[Row]:
        live, r = self.live, self.live.exploration
        fault_phase = f"{r.distinct:,} orbits, of {r.raw:,} states" if r.symmetry else f"{r.distinct:,} states"
        left = f"; {live.left_out:,} steps end the assumptions, and are not followed" if live.left_out else ""
        fingerprints = f"probability {r.collision_probability:.1e}" if r.collision_probability else "none"
        return [
            ("fault phase", f"{fault_phase}, depth {r.depth}"),
            ("stabilization times", f"{live.starts:,} of them, each with the named process, budgets aside"),
            ("stable phase", f"{live.nodes:,} states, {live.edges:,} steps{left}"),
            ("fingerprint collision", f"{fingerprints} (of the fault phase)"),
            ("rate", f"{rate(live.nodes, live.cpu_seconds)} states of the stable phase per CPU-second"),
            ("memory", f"{live.memory / 1e6:,.0f} MB at the peak"),
            ("time", f"{live.seconds:.2f} s, {live.compile_seconds:.2f} s making the model ready"),
            ("symmetry", f"off: {self.symmetry_off}" if self.symmetry_off else "in the fault phase only"),
            *live.second.row,
            *([("largest epoch", f"{self.epochs}; a larger one would give no verdict")] if self.epochs else []),
        ]

    def notes(self) -> list[str]:
        """Sentences that follow the figures."""
        out = disjoint_notes(self.configuration)
        done = [name for name, s in self.starving.items() if s.counterexample.digest]
        if done:
            out.append(
                f"replayed in the simulator, step by step equal, and found fair without the graph: {', '.join(done)}"
            )
        if self.live.followed:
            names = ", ".join(self.live.followed)
            out.append(f"found along one order of receiving, perhaps not a short run: {names}")
        readings: dict[str, list[str]] = {}
        for goal in self.live.goals:
            if variant := self.other_reading(goal):
                readings.setdefault(variant, []).append(goal.name)
        for variant, violated in readings.items():
            hold = "holds" if len(violated) == 1 else "hold"
            out.append(
                f"{' and '.join(violated)} {hold} under another reading, --variant {variant}, within the budgets of "
                f"docs/explanation/liveness.md"
            )
        for name, s in self.starving.items():
            if s.counterexample.path:
                out.append(
                    f"the run to {name} is in {s.counterexample.path}: it stabilizes after step "
                    f"{s.lasso.stabilization_time}" + ("" if s.ends else f", the loop after step {s.lasso.loop}")
                )
            if s.counterexample.trouble:
                out.append(s.counterexample.trouble)
        return [*out, *left_out_notes(self.left_out, "--progress-property")]

    def parts(self) -> Sequence[Part]:
        parts: list[Part] = [Words([self.sentence], COLOURS[self.overall])]
        parts += [s.counterexample.text.rstrip() for s in self.starving.values() if s.counterexample.text]
        rows = [(goal.name, self.verdict_in_words(goal), goal.source) for goal in self.live.goals]
        colours = [COLOURS[self.verdict(goal)] for goal in self.live.goals]
        parts.append(Table(rows, ("progress property", "verdict", "source"), colours=colours))
        parts.append("\n".join(["assumed", *(folded(said, "  ", "    ") for said in self.assumed)]))
        return [*parts, Table(self.figures()), *([Words(self.notes())] if self.notes() else [])]

    def said(self) -> Iterator[Verdict]:
        for goal in self.live.goals:
            s = self.starving.get(goal.name)
            c = s.counterexample if s is not None else Counterexample()
            at, why = (None, "") if s is None else (s.steps, c.trouble or s.sentence)
            yield Verdict(goal.name, self.verdict(goal), at, why, c.trace, c.text, goal.source, goal.statement)

    @property
    def check_findings(self) -> CheckFindings:
        """Return what a check compares with its expectations: a property is violated by a run that is fair and replays.

        If each property is violated, nothing that was left out could change that.
        """
        live, verdicts = self.live, {goal.name: self.verdict(goal) for goal in self.live.goals}
        violated = {name: s.steps for name, s in self.starving.items() if verdicts[name] == VIOLATED}
        cut = self.cut_short if violated.keys() != verdicts.keys() else ""
        return CheckFindings(
            self.sentence,
            live.goals,
            violated,
            dict.fromkeys(name for name in verdicts if name in live.waited and verdicts[name] in (HOLDS, VIOLATED)),
            -1 if self.cut_short else max(violated.values(), default=0),
            not self.cut_short,
            frozenset(self.starving.keys() - violated.keys()),
            [*filter(None, [cut]), *self.troubles],
            live.exploration.depth,
            live.nodes,
            exhausted=live.complete and live.exploration.complete,
            unit="step",
            seconds=live.seconds + live.compile_seconds,
            promised=promise_text(self.configuration).removeprefix("; "),
            counterexamples={name: s.counterexample for name, s in self.starving.items()},
        )

    @property
    def troubles(self) -> Sequence[str]:
        return [s.counterexample.trouble for s in self.starving.values() if s.counterexample.trouble]

    # --- as JSON -----------------------------------------------------------------------------------

    def as_json(self) -> dict[str, Any]:
        """Return the report as JSON values; `LiveReport` describes each."""
        live, r = self.live, self.live.exploration
        report = documents.LiveReport(
            format=FORMAT,
            zabcheck=__version__,
            verdict=self.overall,
            sentence=self.sentence,
            exit_code=self.exit_code,
            request=None if self.request is None else dict(self.request),
            configuration=self.configuration.as_dict(),
            merged_by_promise=promises_of(self.configuration),
            derived=documents.LiveDerived(self.epochs),
            limits=documents.LimitsReport(*self.limits.asked),
            assumptions=list(self.assumed),
            stopped=self.cut_short or None,
            fault_phase=documents.FaultPhase(
                r.distinct, r.raw, r.depth, r.complete, self.symmetry_off or None, r.collision_probability
            ),
            stable_phase=documents.StablePhase(live.starts, live.nodes, live.edges, live.left_out, live.complete),
            second_opinion=live.second.as_json(),
            progress_properties=[self.reported(goal) for goal in live.goals],
            not_checked=list(self.left_out),
            cost=documents.LiveCost(live.seconds, live.cpu_seconds, live.compile_seconds, live.memory, self.threads),
        )
        return cast("dict[str, Any]", to_builtins(report))

    def reported(self, goal: ProgressProperty) -> documents.GoalReport:
        """Return the verdict on a progress property, with the run in which a process starves."""
        found, starving = self.starving.get(goal.name), None
        if found is not None:
            c, lasso = found.counterexample, found.lasso
            starving = documents.StarvingReport(
                process=lasso.process,
                named=lasso.named,
                schedule=list(found.schedule),
                configuration=found.configuration.as_dict(),
                stabilization_time=lasso.stabilization_time,
                loop=lasso.loop,
                text=c.text or None,
                trace_file=c.path or None,
                followed=goal.name in self.live.followed,
                replayed=c.replayed and bool(c.digest),
                sha256=c.digest or None,
                problem=c.trouble or None,
            )
        readings = self.other_reading(goal) or None
        return documents.GoalReport(goal.name, goal.source, goal.statement, self.verdict(goal), readings, starving)
