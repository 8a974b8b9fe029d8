"""What became of a matrix: one table, one sentence, one exit code."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from checker.ci.configuration import HOLDS, NOT_REACHED, Check, Expectation
from checker.ci.judging import AS_EXPECTED, DIFFERS, KNOWN, NOT_RUN, UNDECIDED, Outcome
from checker.report.report import installed_version, plural, some
from traces.explain.folding import aligned, folded

if TYPE_CHECKING:
    from traces import Trace

__all__ = ["FORMAT", "Result", "traces_of"]

FORMAT = 1
HEAD = ("check", "status", "expected", "found", "depth", "states", "seconds")
HELD, VIOLATED, NO_VERDICT = 0, 1, 3
WORDS = {AS_EXPECTED: "as expected", KNOWN: "as expected", DIFFERS: "differs", UNDECIDED: "no verdict"}


@dataclass(frozen=True)
class Result:
    """The outcomes of the checks of a file.

    Attributes:
        path: the file.
        outcomes: in its order.
        what: what its checks are called.
        changed: by real path of a file, the lines that `--changed-since` says were changed.
        warnings: what is to be said besides, a sentence each.
    """

    path: Path
    outcomes: Sequence[Outcome]
    what: str = "check"
    changed: Mapping[str, Collection[int]] = field(default_factory=dict)
    warnings: Sequence[str] = ()

    def of(self, *statuses: str) -> list[Outcome]:
        return [o for o in self.outcomes if o.status in statuses]

    @property
    def exit_code(self) -> int:
        """0: all that was run is as expected; 1: something differs; 3: of something there is no verdict."""
        if self.of(DIFFERS):
            return VIOLATED
        return NO_VERDICT if self.of(UNDECIDED) else HELD

    @property
    def sentence(self) -> str:
        """What became of it, in a line."""
        run = len(self.outcomes) - len(self.of(NOT_RUN))
        if not run:
            return f"nothing was run: {self.counted(len(self.outcomes))} left out; {self.path}"
        parts = []
        for status in (DIFFERS, UNDECIDED):
            if found := self.of(status):
                parts.append(f"{status}: {len(found)} of {self.counted(run)} ({some([o.check.name for o in found])})")
        if not parts:
            parts.append(f"as expected: {len(self.of(AS_EXPECTED, KNOWN))} of {self.counted(run)}")
        if known := self.of(KNOWN):
            parts.append(f"{len(known)} known to differ ({some([o.check.name for o in known])})")
        if left := self.of(NOT_RUN):
            parts.append(f"{len(left)} not run")
        return f"{'; '.join(parts)}; {self.path}"

    def counted(self, number: int) -> str:
        return plural(number, self.what)

    def rows(self) -> list[tuple[str, ...]]:
        """The table, a row a check."""
        return [row(o) for o in self.outcomes]

    def notes(self) -> list[str]:
        """For each check that is not as expected, why, the counterexample's sentence with it."""
        return [note for o in self.outcomes for note in notes_of(o)]

    def folded_notes(self) -> list[str]:
        """The notes in lines, as one part of a text; none: there are none."""
        notes = [folded(note, others="  ") for note in self.notes()]
        return ["\n".join(notes)] if notes else []

    def runs(self) -> list[tuple[str, Trace]]:
        """The counterexamples that are worth keeping, each with a name for its file: those to what is new."""
        return [pair for o in self.outcomes for pair in traces_of(o, [d.name for d in o.new if d.depth is not None])]

    def text(self) -> str:
        """All of it."""
        parts = [folded(self.sentence, others="  "), aligned([HEAD, *self.rows()], head=True), *self.folded_notes()]
        parts += ["\n".join(folded(f"warning: {w}", others="  ") for w in self.warnings)] if self.warnings else []
        return "\n\n".join(parts) + "\n"

    def as_json(self) -> dict[str, Any]:
        """The same for machines (docs/ci.md)."""
        return {
            "format": FORMAT,
            "zabcheck": installed_version(),
            "file": str(self.path),
            "exit_code": self.exit_code,
            "sentence": self.sentence,
            "warnings": list(self.warnings),
            "checks": [json_of(o) for o in self.outcomes],
        }


# --- a check ---------------------------------------------------------------------------------------


def row(o: Outcome) -> tuple[str, ...]:
    f = o.found
    if f is None:
        measured = f"({o.check.seconds:g})" if o.check.seconds and o.status == NOT_RUN else ""
        return (o.check.name, o.status, expected(o.check.expect), "-", "", "", measured)
    states = "" if f.states is None else f"{f.states:,}"
    depth = str(f.seen_to if f.depth is None else f.depth)
    return (o.check.name, o.status, expected(o.check.expect), found(o), depth, states, f"{f.seconds:.1f}")


def expected(e: Expectation) -> str:
    """What is to be found, in a few words."""
    if e.violated:
        return breaks(e.violated.items())
    return "holds" if e.verdict == HOLDS else "premises not reached" if e.verdict == NOT_REACHED else e.verdict


def breaks(found: Iterable[tuple[str, int]]) -> str:
    """The property that breaks first, with the length of its run, and how many more there are."""
    (name, depth), *more = sorted(found, key=lambda pair: pair[1])
    return f"{name} {depth}" + (f" and {len(more)} more" if more else "")


def found(o: Outcome) -> str:
    """What was found, in a few words."""
    f = o.found
    assert f is not None
    if f.violated:
        return breaks(f.violated.items())
    if f.unsettled:
        return "-"
    tested = len(set(f.met))
    promised = ", merged by promise" if f.promised else ""
    return f"holds ({tested} of {len(f.properties)}){promised}" if tested else "premises not reached"


def notes_of(o: Outcome) -> list[str]:
    name, out = o.check.name, []
    for d in o.differences:
        out.append(f"{name}: {d.says}" + (f" (let pass {d.known})" if d.known else ""))
        shown = o.found.counterexamples.get(d.name) if o.found is not None else None
        if shown is not None and shown.why and not d.known:
            out.append(f"  {shown.why}")
    out += [f"{name}: {reason}" for reason in o.reasons if o.status != NOT_RUN]
    if o.found is not None and o.found.promised:
        out.append(f"{name}: {o.found.promised}")
    if o.new and o.found is not None:
        out += [f"  what is expected is said by: {o.check.expect.source}"]
    return out


def json_of(o: Outcome) -> dict[str, Any]:
    f, e = o.found, o.check.expect
    return {
        "name": o.check.name,
        "status": o.status.lower(),
        "options": dict(o.check.values),
        "expected": {"verdict": e.verdict, "violated": dict(e.violated), "source": e.source},
        "differences": [
            {"what": d.what, "property": d.name or None, "depth": d.depth, "says": d.says, "known": d.known or None}
            for d in o.differences
        ],
        "reasons": list(o.reasons),
        "found": None
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
    }


def traces_of(o: Outcome, names: Iterable[str]) -> list[tuple[str, Trace]]:
    """The counterexamples of a check to some properties, each with a name for its file."""
    made = o.found.counterexamples if o.found is not None else {}
    shown = [(name, made[name].trace) for name in names if name in made]
    return [(f"{o.check.name}-{name}", trace) for name, trace in shown if trace is not None]


def statement_of(check: Check) -> str:
    """What a check is about, in a sentence."""
    return check.claim or f"{expected(check.expect)}: {check.expect.source}"
