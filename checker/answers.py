"""What the functions of `zabcheck` give back: answers for a program, a person and a notebook.

Each wraps what the command of that name prints, and says it in the same words.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from html import escape
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from checker.report.report import Report
    from checker.report.simulated import Simulation
    from checker.symbolic.pool import Outcome
    from traces.judging.sentence import Violation
    from traces.judging.totals import Totals
    from traces.record.trace import Step, Trace
    from traces.replay.replay import Replayed as Played
    from zabspec.model import Configuration
    from zabspec.simulator.run import Run

__all__ = ["Explored", "Inductive", "Judged", "Replayed", "Simulated", "Verdict"]

HELD, VIOLATED, NO_VERDICT = 0, 1, 3
SEVEREST = ("violated", "undecided", "open", "not judged", "held")  # what is said of many runs is the first of these
COLOURS = {HELD: "#1a7f37", VIOLATED: "#cf222e", NO_VERDICT: "#8250df"}


@dataclass(frozen=True)
class Verdict:
    """What is said of one property.

    Attributes:
        name: the property's, or the clause's.
        verdict: in the words of the command that was asked.
        at: the depth, or the tick, of the violation or else of the witness; none: of neither, or not known.
        why: one sentence; empty: there is nothing to add.
        trace: the counterexample, where one was made.
        text: the counterexample as a person reads it.
    """

    name: str
    verdict: str
    at: int | None = None
    why: str = ""
    trace: Trace | None = field(default=None, repr=False)
    text: str = field(default="", repr=False)


class Answered(ABC):
    """What every answer has: a sentence, an exit code, verdicts by name, and how it is shown."""

    @property
    @abstractmethod
    def sentence(self) -> str:
        """The answer in a sentence."""

    @property
    @abstractmethod
    def exit_code(self) -> int:
        """That of the command: 0 all held, 1 something is violated, 3 no verdict."""

    @cached_property
    def verdicts(self) -> Mapping[str, Verdict]:
        """What is said of each property, by its name, in the order of the command's table."""
        return {v.name: v for v in self.said()}

    @abstractmethod
    def said(self) -> Iterator[Verdict]:
        """The same, one after another."""

    @abstractmethod
    def text(self) -> str:
        """What the command prints."""

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
        """The answer for a notebook: the sentence, a row for each verdict, and the first counterexample."""
        rows = [(v.name, v.verdict, "" if v.at is None else str(v.at), v.why) for v in self.verdicts.values()]
        shown = next((v.text for v in self.verdicts.values() if v.text), "")
        parts = [f'<p style="color:{COLOURS[self.exit_code]}"><b>{escape(self.sentence)}</b></p>']
        parts += [html_table(("property", "verdict", "at", "why"), rows)] if rows else []
        parts += [f"<details><summary>counterexample</summary><pre>{escape(shown)}</pre></details>"] if shown else []
        return "\n".join(parts)


def html_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table whose cells are text; columns that are empty in every row are left out."""
    kept = [k for k in range(len(head)) if any(row[k] for row in rows)]

    def line(tag: str, cells: Sequence[str]) -> str:
        style = ' style="text-align:left"'
        return "<tr>" + "".join(f"<{tag}{style}>{escape(cells[k])}</{tag}>" for k in kept) + "</tr>"

    return "\n".join(["<table>", line("th", head), *(line("td", row) for row in rows), "</table>"])


class Explored(Answered):
    """What an exploration found.

    Attributes:
        report: the report of the command, with every figure.
    """

    def __init__(self, report: Report) -> None:
        self.report = report

    @property
    def sentence(self) -> str:
        return self.report.sentence

    @property
    def exit_code(self) -> int:
        return self.report.exit_code

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

    def said(self) -> Iterator[Verdict]:
        found = self.report.exploration
        for p in self.report.listed:
            broken, shown = found.violations.get(p.name), self.report.counterexamples.get(p.name)
            at = found.witnessed.get(p.name) if broken is None else broken.depth
            if shown is None:
                yield Verdict(p.name, self.report.verdict(p), at)
            else:
                why = shown.trouble or shown.why
                yield Verdict(p.name, self.report.verdict(p), at, why, shown.trace, shown.text)

    def text(self) -> str:
        return self.report.text()

    def as_json(self) -> dict[str, Any]:
        """The report of `--json` (`docs/report.md`)."""
        return self.report.as_json()


class Simulated(Answered):
    """What a run of the simulator came to.

    Attributes:
        answer: what the command prints from.
    """

    def __init__(self, answer: Simulation) -> None:
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

    @property
    def sentence(self) -> str:
        from checker.report.report import plural

        broken = ", ".join(f"{v.name} at tick {v.at}" for v in self.violations.values())
        judged = len(self.verdicts)
        if broken:
            verdict = f"VIOLATED: {broken}"
        else:
            verdict = (
                f"{plural(judged, 'property')} judged, none violated" if judged else "not judged (check=True does)"
            )
        return f"{verdict}; {self.answer.summary()}; sha256 {self.sha256}"

    @property
    def exit_code(self) -> int:
        return self.answer.code

    def said(self) -> Iterator[Verdict]:
        from checker.report.simulated import verdict_word

        for v, why in self.answer.verdicts:
            yield Verdict(v.of.name, verdict_word(v), None if v.held or not v.judged else v.broken_at, why)

    def text(self) -> str:
        from checker.report.simulated import verdict_row
        from traces.explain.folding import aligned

        rows = [verdict_row(v, why) for v, why in self.answer.verdicts]
        table = ["", aligned([("property", "verdict", "why"), *rows], head=True)] if rows else []
        return "\n".join([f"sha256 {self.sha256}", self.answer.summary(), *table]) + "\n"


class Replayed(Answered):
    """A trace that the simulator took, step by step equal.

    Attributes:
        trace: the trace.
        played: what the simulator did.
    """

    def __init__(self, trace: Trace, played: Played) -> None:
        self.trace = trace
        self.played = played

    @property
    def steps(self) -> Sequence[Step]:
        """The steps, as the simulator took them."""
        return self.played.steps

    @property
    def sha256(self) -> str:
        """The digest of the canonical dump at the end."""
        return self.played.sha256

    @property
    def sentence(self) -> str:
        return self.played.sentence

    @property
    def exit_code(self) -> int:
        return HELD  # that it replays; what it breaks was found by whoever made it

    def said(self) -> Iterator[Verdict]:
        if self.trace.property_name:
            yield Verdict(self.trace.property_name, "breaks at the last step and not before", len(self.steps))
        if self.trace.lasso is not None:
            yield Verdict(self.trace.lasso.goal, "is not reached: " + self.trace.lasso.sentence(len(self.steps)), None)

    def text(self) -> str:
        from checker.report.replayed import as_text

        return as_text(self.played) + "\n"


class Judged(Answered):
    """What judging an event table came to.

    Attributes:
        tally: for each property how many runs of each verdict, the violations, and what is open.
        asked: the properties that were judged.
    """

    def __init__(self, tally: Totals, asked: Sequence[str], code: int) -> None:
        self.tally = tally
        self.asked = tuple(asked)
        self._code = code

    @property
    def broken(self) -> Sequence[Violation]:
        """Every violation: the run, the moment, the rows that show it."""
        return tuple(self.tally.violations)

    @property
    def sentence(self) -> str:
        runs = "1 run" if self.tally.runs == 1 else f"{self.tally.runs:,} runs"
        looked_at = f"{runs}, {self.tally.rows:,} {self.tally.what}"
        if self.violations:
            return f"VIOLATED: {', '.join(self.violations)}; {looked_at}"
        unsettled = [v.name for v in self.verdicts.values() if v.verdict in ("undecided", "open")]
        if unsettled:
            return f"not violated, and not settled: {', '.join(unsettled)}; {looked_at}"
        held = sum(v.verdict == "held" for v in self.verdicts.values())
        return f"nothing violated: {held} of {len(self.asked)} properties put to the test and held; {looked_at}"

    @property
    def exit_code(self) -> int:
        return self._code

    def said(self) -> Iterator[Verdict]:
        from traces.judging.totals import COUNTS

        first = {v.property: v for v in reversed(self.tally.violations)}
        for name in self.asked:
            runs = {what: self.tally.count(name, what) for what in COUNTS}
            word = next((what for what in SEVEREST if runs[what]), "premise not reached")
            counts = ", ".join(f"{what} in {n:,}" for what, n in runs.items() if n)
            told = f"; first in run {first[name].run}: {first[name].why}" if name in first else ""
            yield Verdict(name, word, first[name].time if name in first else None, counts + told)

    def text(self) -> str:
        from checker.report.judged import as_text

        return as_text(self.tally, list(self.asked)) + "\n"


class Inductive(Answered):
    """What z3 says of the clauses of an inductive invariant.

    Attributes:
        outcome: what was found of each clause, and what is taken for granted.
    """

    def __init__(self, outcome: Outcome) -> None:
        self.outcome = outcome

    @property
    def sentence(self) -> str:
        from checker.report.induction import answer_of, conclusion

        obstacles = self.outcome.obstacles
        if obstacles:
            return f"nothing is proved: {obstacles[0]}"
        broken = f": {', '.join(self.violations)}" if self.violations else ""
        return f"{answer_of(self.outcome)[0]}{broken}; {conclusion(self.outcome)}"

    @property
    def exit_code(self) -> int:
        from checker.report.induction import answer_of

        return answer_of(self.outcome)[1]

    @property
    def granted(self) -> Sequence[str]:
        """What every answer takes for granted, a sentence each."""
        return tuple(self.outcome.granted)

    def said(self) -> Iterator[Verdict]:
        from checker.report.induction import counterexample, verdict_text

        for v in self.outcome.verdicts:
            shown = "\n".join(counterexample(v)) if v.word == "not inductive" else ""
            word = v.word if shown else verdict_text(v, self.outcome)
            yield Verdict(v.clause.name, word, None, " ".join(v.clause.statement.split()), None, shown)

    def text(self) -> str:
        from checker.report.induction import as_text

        return as_text(self.outcome) + "\n"
