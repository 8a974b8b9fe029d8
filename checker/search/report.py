"""Report the result of a random search. It never says that a property holds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from checker.report.answer import Answered
from checker.report.promises import promise_json
from checker.report.remarks import disjoint_notes, left_out, left_out_notes
from checker.report.report import bounds_of
from checker.report.result import Counterexample, Part, Row, Table, Verdict, plural
from checker.search.search import Walked
from traces.explain.folding import folded
from zabspec.language.layout.error_sites import met
from zabspec.model import Configuration
from zabspec.worlds.steps import NUMBERED

FORMAT = 1


@dataclass(frozen=True)
class Shortened:
    """A violation that was found, and what became of its trace.

    Attributes:
        walked: steps of the walk that violated it.
        minimised: whether it was shortened until no step could be removed.
        seed: the search's seed, with which the same walk is repeated.
    """

    counterexample: Counterexample
    walked: int
    walk: int
    minimised: bool

    @property
    def steps(self) -> int:
        trace = self.counterexample.trace
        return len(trace.steps) if trace is not None else self.walked


@dataclass(frozen=True, repr=False)
class Searched(Answered):
    """The result of a search, with its request.

    Attributes:
        found: by property.
        most: the maximum number of steps of a walk.
        request: the one that it answers, as JSON.
    """

    walked: Walked
    configuration: Configuration
    found: Mapping[str, Shortened]
    most: int
    request: Mapping[str, Any] | None = None

    kind = "search"

    @property
    def exit_code(self) -> int:
        """1 if a violation was found and written down; 3 for no verdict, whatever was walked."""
        runs = [v.counterexample for v in self.found.values() if not self.walked.second.difference]
        return 1 if runs and all(c.replayed and not c.trouble for c in runs) else 3

    @property
    def troubles(self) -> Sequence[str]:
        return [v.counterexample.trouble for v in self.found.values() if v.counterexample.trouble]

    @property
    def sentence(self) -> str:
        """The first line of the report."""
        w = self.walked
        if w.second.difference:
            return f"no verdict: {w.second.trouble}"
        if self.found:
            found = [
                f"{name} after {plural(v.steps, 'step')}" + (f", {v.walked} as walked" if v.steps != v.walked else "")
                for name, v in self.found.items()
            ]
            return f"VIOLATED: {'; '.join(found)} (found at random: a shorter run may exist)"
        why = f"; {w.stopped}" if w.stopped else ""
        if w.error:
            why += f"; {met(w.error)}"
        return f"no verdict: no violation found, but only some runs were walked{why}"

    @property
    def unmet(self) -> list[str]:
        """The properties whose premise no walk met."""
        return [p.name for p in self.walked.properties if p.name not in self.walked.met]

    def figures(self) -> list[tuple[str, str]]:
        w = self.walked
        rate = w.steps / max(w.cpu_seconds, 1e-9)
        rows = [
            ("looked for", f"random walks, seed {w.seed}, {bounds_of(self.configuration)}"),
            ("walks", f"{w.walks:,}; {w.ended:,} ended in a terminal state, the longest has {w.longest:,} steps"),
            (
                "steps",
                f"{w.steps:,}, each checked against {plural(len(w.properties), 'property')}; {rate:,.0f} a CPU-second",
            ),
            ("time", f"{w.seconds:.1f} s on {plural(w.threads, 'thread')}, {w.compile_seconds:.1f} s compiling before"),
        ]
        if w.errors:
            rows.append(("errors", f"{w.errors:,} walks ended: {met(w.error)}"))
        return [*rows, *w.second.row]

    def notes(self) -> list[str]:
        """Return sentences on what was not covered."""
        w, out = self.walked, disjoint_notes(self.configuration)
        never = [name for name, n in w.step_counts.items() if not n]
        if never:
            out.append(f"steps never taken: {', '.join(never)}")
        met = len(w.properties) - len(self.unmet)
        out.append(f"premises reached: {met} of {len(w.properties)}")
        if self.unmet:
            out.append(f"premises not reached: {', '.join(self.unmet)}")
        for name, v in self.found.items():
            again = f"walk {v.walk:,} of seed {w.seed}"
            kept = f"; its trace: {v.counterexample.path}" if v.counterexample.path else ""
            short = "" if v.minimised else "; not minimised for lack of time"
            out.append(f"{name}: {again}{short}{kept}")
        return [*out, *left_out_notes(self.left_out)]

    @property
    def left_out(self) -> Sequence[str]:
        return left_out(self.configuration.protocol, self.walked.properties)

    def counts(self) -> list[Row]:
        w = self.walked
        rows: list[Row] = [(name, f"{n:,}") for name, n in w.step_counts.items() if n]
        return rows + [(name, f"{n:,}") for name, n in self.kinds.items()]

    @property
    def kinds(self) -> dict[str, int]:
        """The kinds of steps that the paper has no name for, by what they are called."""
        out: dict[str, int] = {}
        for k, n in self.walked.event_counts.items():
            if k in NUMBERED and not NUMBERED[k].receives:
                out[NUMBERED[k].called] = out.get(NUMBERED[k].called, 0) + n
        return out

    def said(self) -> Iterator[Verdict]:
        for p in self.walked.properties:
            v = self.found.get(p.name)
            c = v.counterexample if v is not None else Counterexample()
            sure = v is not None and c.replayed and not self.walked.second.difference
            word = "violated" if sure else "no verdict"
            at = None if v is None else v.steps
            yield Verdict(p.name, word, at, c.trouble or c.why, c.trace, c.text, p.source, p.statement, p.premise)

    def parts(self) -> Sequence[Part]:
        parts: list[Part] = [folded(self.sentence, others="  ")]
        parts += [v.counterexample.text.rstrip() for v in self.found.values() if v.counterexample.text]
        notes = "\n".join(folded(note, others="  ") for note in self.notes())
        return [
            *parts,
            Table(self.figures()),
            notes,
            *([Table(self.counts(), title="steps taken", right=1)] if self.walked.steps else []),
        ]

    def as_json(self) -> dict[str, Any]:
        w = self.walked
        return {
            "format": FORMAT,
            "verdict": "violated" if self.found and not w.second.difference else "no verdict",
            "sentence": self.sentence,
            "seed": w.seed,
            "request": self.request,
            "configuration": self.configuration.as_dict(),
            "merged_by_promise": promise_json(self.configuration),
            "threads": w.threads,
            "walks": w.walks,
            "steps": w.steps,
            "most_steps": self.most,
            "longest": w.longest,
            "errors": w.errors,
            "error": w.error,
            "stopped": w.stopped,
            "second_opinion": w.second.as_json(),
            "seconds": round(w.seconds, 3),
            "cpu_seconds": round(w.cpu_seconds, 3),
            "compile_seconds": round(w.compile_seconds, 3),
            "premises": {p.name: p.name in w.met for p in w.properties},
            "not_checked": self.left_out,
            "steps_taken": {**w.step_counts, **self.kinds},
            "violations": [
                {
                    "property": name,
                    "walk": v.walk,
                    "walked": v.walked,
                    "steps": v.steps,
                    "minimised": v.minimised,
                    "why": v.counterexample.why,
                    "trace": v.counterexample.path or None,
                    "problem": v.counterexample.trouble or None,
                }
                for name, v in self.found.items()
            ],
        }
