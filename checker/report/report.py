"""Report the result of an exploration, for people and as JSON.

`Explored` has the words: the verdict line, a verdict per property, and what they depend on. Its JSON is documented by
`checker/report/documents.py` and `docs/reference/file-formats.md`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from shlex import quote, split
from typing import TYPE_CHECKING, Any, cast

from msgspec import UNSET, to_builtins

from checker.explore.result import NONE_THERE, NOT_ASKED, Exploration, Limits
from checker.opinion.outcome import NO_OPINION, SecondOpinion
from checker.report import documents
from checker.report.answer import Answered
from checker.report.command import command_words, witness_command
from checker.report.evidence import Gathered
from checker.report.promises import PAGE, promise_text, promises_of
from checker.report.remarks import disjoint_notes, left_out, left_out_notes
from checker.report.result import (
    COLOURS,
    ERROR,
    EXIT_CODES,
    FAILURE,
    HOLDS,
    NO_VERDICT,
    NOT_REACHED,
    SKIPPED,
    UNFALSIFIABLE,
    VIOLATED,
    CheckFindings,
    Counterexample,
    Part,
    Row,
    Table,
    Verdict,
    Words,
    per,
    plural,
    some,
)
from invariants.registry import NO_RUNTIME_ERROR, RUNTIME, Property
from traces.explain.folding import folded
from zabspec import __version__
from zabspec.authoring.unused import unused
from zabspec.language.layout.error_sites import met
from zabspec.model import ConfigError, Configuration, Model
from zabspec.properties import DEADLOCK
from zabspec.protocols.registry import PROTOCOLS
from zabspec.starts import Schedule
from zabspec.worlds.steps import ACTION, BUDGETS, ENVIRONMENT, NUMBERED

if TYPE_CHECKING:
    from checker.report.z3_answer import Z3Answer

__all__ = ["Advice", "Explored", "bounds_of", "command_words"]

BOUNDS = " within these bounds"  # which the first line of a report names
LARGE = 500_000  # distinct states from which on a report mentions that nothing was reduced
FORMAT = 1
MOST_BARE = 3  # vacuous properties that have a row each


@dataclass(frozen=True)
class Advice:
    """The advice of a protocol's recorded expectations beside an exploration.

    Attributes:
        command: one that reaches every premise and explores all states; empty if none is recorded.
        seconds: of CPU time that it took when it was last measured.
        within: whether each of its runs is one of what was explored: then only the depth was too small.
        without: faults that it leaves out.
    """

    command: str = ""
    seconds: float = 0.0
    within: bool = False
    without: Sequence[str] = ()


def faults_left_out(asked: Configuration, budget: Mapping[str, int]) -> list[str]:
    """Return the kinds of faults that a configuration has and an exploration with other budgets has not."""
    budgets = PROTOCOLS[asked.protocol].world.budgets.values()
    return [plural(0, b.one).removeprefix("0 ") for b in budgets if asked.budget[b.name] and not budget[b.name]]


def bounds_of(c: Configuration) -> str:
    """Return a configuration as the bounds of a verdict."""
    name = f"{c.protocol} with {c.variant}" if c.variant else c.protocol
    protocol = PROTOCOLS[c.protocol]
    counts = {"node": c.nodes, **({"transaction": c.txns} if protocol.transactions else {})}
    for budget in protocol.world.budgets.values():
        if (budget.always and protocol.declared.bounded_by_world) or c.budget[budget.name]:
            counts[budget.one] = c.budget[budget.name]
    bounds = [plural(v, k) for k, v in counts.items()]
    bounds += [f"{name} {n}" for name, n in c.budget.items() if name not in BUDGETS]
    others = [
        f"network {c.network}",
        *([f"quorums {c.quorums}"] if c.quorums else []),
        *([f"from {c.start}"] if c.start else []),
    ]
    return f"{name}, {', '.join(bounds + others)}{promise_text(c)}"


@dataclass(frozen=True, repr=False)
class Explored(Answered):
    """An exploration with its request.

    Attributes:
        exploration: counts and verdicts.
        configuration: the one explored.
        limits: the requested depth, and the other limits.
        epochs: the largest possible epoch.
        channels: the maximum number of messages in a channel to a leader and to a follower.
        keep_going: whether it continued past violations.
        threads: of the compiled engine; 0: not applicable.
        symmetry_off: why symmetry was not used; empty if it was.
        counterexamples: by property.
        reduction_off: why the exploration was not reduced; empty if it was.
        error_run: the run that needs more room than a capacity provides, if that ended the exploration.
        request: the one that it answers, as JSON; None if it is not known.
        advice: of recorded expectations; None if they were not looked up.
        evidence: of other kinds than exploring; None if it was not looked up. No verdict and no exit code depends on
            it.
        second: how the second semantics' opinion compares.
    """

    exploration: Exploration
    configuration: Configuration
    limits: Limits
    epochs: int
    channels: tuple[int, int]
    keep_going: bool = False
    threads: int = 0
    symmetry_off: str = ""
    counterexamples: Mapping[str, Counterexample] = field(default_factory=dict)
    symbolic: Mapping[str, Z3Answer] = field(default_factory=dict)  # z3's answer about each property
    required: Collection[str] = ()  # properties whose premise must be reached for a verdict
    reduction_off: str = "--reduction none"
    error_run: Counterexample | None = None  # the run to the run-time error of a capacity, or None
    never_false: Mapping[str, str] = field(default_factory=dict)  # properties that no state can break, with their lines
    request: Mapping[str, Any] | None = None
    advice: Advice | None = None
    evidence: Gathered | None = None
    second: SecondOpinion = NO_OPINION

    kind = "explore"

    # --- verdicts ----------------------------------------------------------------------------------

    @cached_property
    def cut_short(self) -> str:
        """Why not everything requested was explored; empty if it was, or a violation ended it."""
        r = self.exploration
        if self.second.difference:
            return self.second.trouble
        if r.error and not r.failed:
            return met(r.error)
        return r.stopped

    @cached_property
    def listed(self) -> tuple[Property, ...]:
        """The properties of the report: those that were judged, and the built-in one.

        The built-in one has no premise: it is about every step, so that it never shows that a property was checked
        non-vacuously. Protocols of this project derive their ranges from the budgets, so it is listed for them only if
        it is violated.
        """
        r = self.exploration
        found = PROTOCOLS.get(self.configuration.protocol)
        own = found is not None and not found.declared.bounded_by_world
        return (*r.properties, *([NO_RUNTIME_ERROR] if own or r.failed or not r.properties else []))

    @cached_property
    def covered(self) -> bool:
        """Whether every requested state was explored."""
        r = self.exploration
        if self.cut_short or r.error:
            return False
        to_depth = self.limits.depth is not None and r.depth >= self.limits.depth
        return r.complete or to_depth or r.levels[-1] == 0

    @cached_property
    def levels(self) -> list[int]:
        """The number of distinct states at each depth, as far as any were found."""
        levels = list(self.exploration.levels)
        while levels and levels[-1] == 0:
            levels.pop()
        return levels

    @property
    def states(self) -> int:
        """The number of distinct states; with symmetry, states that are renamings of each other count once."""
        return self.exploration.distinct

    @property
    def depth(self) -> int:
        """The depth of the deepest states found."""
        return self.exploration.depth

    @property
    def exhausted(self) -> bool:
        """Whether no state was left to explore; a reduction leaves out states without a change of verdicts."""
        return self.exploration.complete

    @property
    def saved(self) -> Sequence[str]:
        return [c.path for c in self.counterexamples.values() if c.path]

    @cached_property
    def whole_depth(self) -> int:
        """The depth up to which every state was found and judged; -1 if not even the initial state was."""
        return self.exploration.whole_depth

    def verdict(self, p: Property) -> str:
        """Return `holds`, `premise not reached`, `can never be False`, `violated`, or `no verdict`.

        There is no verdict on a property that is not violated if less was explored than requested.
        """
        r = self.exploration
        if p.name in r.violations:
            return VIOLATED if self.replayed(p.name) else NO_VERDICT
        if not self.covered:
            return NO_VERDICT
        if p.of == RUNTIME:
            return HOLDS
        if p.name in self.never_false:
            return UNFALSIFIABLE
        return HOLDS if p.name in r.witnessed else NOT_REACHED

    def replayed(self, name: str) -> bool:
        """Return whether a violation stands: nothing is known against it or its counterexample."""
        if self.second.difference:
            return False
        return name not in self.counterexamples or self.counterexamples[name].replayed

    def verdict_in_words(self, p: Property) -> str:
        """Return a property's verdict with the depth it depends on."""
        r, verdict = self.exploration, self.verdict(p)
        if verdict == VIOLATED:
            return f"VIOLATED at depth {r.violations[p.name].depth}"
        if verdict == HOLDS and p.of == RUNTIME:
            return "holds, in every step"
        if verdict == HOLDS:
            depth = r.depth_of(r.witnessed[p.name])  # that of a run, not of the shortest if states were left out
            at_most = depth.removesuffix(" at most")
            return f"holds, witnessed {'at' if at_most == depth else 'by'} {at_most}"
        if verdict == UNFALSIFIABLE:
            return f"not put to the test: it {UNFALSIFIABLE}"
        if verdict == NOT_REACHED:
            return f"{NOT_REACHED}{BOUNDS}"
        if p.name in r.violations:
            return "no verdict: its counterexample does not replay"
        seen = f", premise reached at {r.depth_of(r.witnessed[p.name])}" if p.name in r.witnessed else ""
        if self.whole_depth < 0:
            return "no verdict: nothing was explored"
        return f"no verdict: not violated to depth {self.whole_depth}{seen}"

    @cached_property
    def overall(self) -> str:
        """The verdict of the whole run."""
        verdicts = [self.verdict(p) for p in self.exploration.properties or self.listed]
        if VIOLATED in [self.verdict(p) for p in self.listed]:
            return VIOLATED
        if NO_VERDICT in verdicts or not self.covered or self.unmet:
            return NO_VERDICT
        return next(v for v in (HOLDS, NOT_REACHED, UNFALSIFIABLE) if v in verdicts)

    @cached_property
    def unmet(self) -> list[str]:
        """The properties that had to be put to the test and were not, if everything was explored."""
        required = [p for p in self.exploration.properties if p.name in self.required]
        return [p.name for p in required if self.verdict(p) in (NOT_REACHED, UNFALSIFIABLE)]

    @cached_property
    def exit_code(self) -> int:
        """The exit code of the command.

        0: all held, and a premise was reached. 1: a violation was found and written down. 3: no verdict, no premise was
        reached, or a violation that is not written down, such as a deeper one that z3 found.
        """
        if any(c.trouble for c in self.counterexamples.values()) or (self.error_run and self.error_run.trouble):
            return 3
        if self.overall != VIOLATED and any(b.broken or b.interrupted or b.trouble for b in self.symbolic.values()):
            return 3
        return EXIT_CODES[self.overall]

    @cached_property
    def bounds(self) -> str:
        """The configuration as the bounds of a verdict."""
        return bounds_of(self.configuration)

    @cached_property
    def extent(self) -> str:
        """How far the exploration went."""
        r = self.exploration
        if r.complete:
            return f"explored to exhaustion (depth {len(self.levels) - 1}{', reduced' if r.narrowed else ''})"
        if self.covered:
            return f"explored to depth {len(self.levels) - 1} and no further"
        if self.whole_depth < 0:
            return "nothing was explored"
        part = f" and part of depth {self.whole_depth + 1}" if len(self.levels) - 1 > self.whole_depth else ""
        return f"explored all states to depth {self.whole_depth}{part}"

    @cached_property
    def sentence(self) -> str:
        """The verdict line: the result, and its bounds."""
        r = self.exploration
        total, tail = len(r.properties), f"{self.extent}; {self.bounds}"
        if self.overall == VIOLATED:
            broken = [p.name for p in self.listed if self.verdict(p) == VIOLATED]
            broken.sort(key=lambda name: r.violations[name].depth)
            named = ", ".join(f"{name} at depth {r.violations[name].depth}" for name in broken)
            cut = f"; cut short: {self.cut_short}" if self.cut_short else ""
            return f"VIOLATED: {named}{cut}; {tail}"
        if self.overall == NO_VERDICT:
            wrong = [name for name in r.violations if not self.replayed(name)]
            if wrong and not self.second.difference:
                return f"no verdict: {self.counterexamples[wrong[0]].trouble}"
            lacking = f"--require-witness: not put to the test: {some(self.unmet)}"
            found = r.suspicion or "no violation found"
            return f"no verdict: {self.cut_short or lacking}; {found}; {tail}"
        if not r.properties:
            return f"holds: {NO_RUNTIME_ERROR.name}, in every step, and no other property was checked; {tail}"
        tested = sum(self.verdict(p) == HOLDS for p in r.properties)
        never = sum(p.name in self.never_false for p in r.properties)
        vain = f", {never} can never be False" if never else ""
        if not tested:
            return f"{self.overall}: no property ({total} checked) was put to the test{vain}; {tail}"
        if tested == total:
            return f"holds: {plural(total, 'property')}, each put to the test; {tail}"
        unreached = total - tested - never
        unmet = f", {plural(unreached, 'premise')} not reached" if unreached else ""
        return f"holds: {tested} of {total} properties put to the test{unmet}{vain}; {tail}"

    # --- figures -----------------------------------------------------------------------------------

    @cached_property
    def never_taken(self) -> list[str]:
        """The paper's steps that no transition entered."""
        return [name for name, count in self.exploration.step_counts.items() if not count]

    @cached_property
    def events(self) -> dict[str, int]:
        """The number of transitions of each kind of step."""
        out: dict[str, int] = {}
        for kind, count in sorted(self.exploration.event_counts.items()):
            name = NUMBERED[kind].called
            out[name] = out.get(name, 0) + count
        return out

    @cached_property
    def engine(self) -> str:
        if self.exploration.engine == "interpret":
            return "interpreted, plain Python sets"
        if self.exploration.engine == "spark":
            return f"compiled, in tasks of Spark, fingerprints of {self.exploration.fingerprint_bits} bits"
        return f"compiled, {plural(self.threads, 'thread')}"

    def figures(self) -> list[Row]:
        """Return every number of the run with its name."""
        r = self.exploration
        # in a small run nearly all memory is the program itself
        peak, unit = "at the peak", "CPU-second"
        if r.engine == "spark":  # the memory of Java is not known here
            peak, unit = "at the peak of the largest process", "CPU-second of Python's processes"
        each = f", {r.memory / r.distinct:,.1f} bytes a state, all included" if r.distinct >= 100_000 else ""
        each = "" if r.engine == "spark" else each
        return [
            (
                "distinct states",
                f"{r.distinct:,}"
                + (f" orbits, of {r.raw:,} states" if r.symmetry else "")
                + (" (reduced: only those that were visited)" if r.narrowed else ""),
            ),
            (
                "generated states",
                f"{r.generated:,}" + (" (reduced: only by transitions that were taken)" if r.reduced else ""),
            ),
            ("depth", f"{len(self.levels) - 1}" + (" (reduced)" if r.narrowed else "")),
            (
                "terminal states",
                f"{r.terminal:,}{'' if r.complete else ' of those expanded'}"
                f" ({self.terminal_means}{'; reduced' if r.narrowed else ''})",
            ),
            (
                "fingerprint collision",
                f"probability {r.collision_probability:.1e}" if r.collision_probability else "none",
            ),
            ("rate", f"{rate(r.distinct, r.seconds)} states/s, {rate(r.distinct, r.cpu_seconds)} per {unit}"),
            ("memory", f"{r.memory / 1e6:,.0f} MB {peak}" + each),
            ("time", f"{r.seconds:.2f} s exploring, {r.compile_seconds:.2f} s making the model ready"),
            ("symmetry", f"off: {self.symmetry_off}" if self.symmetry_off else "on"),
            *self.reduction_row(),
            *self.stuttering_row(),
            ("engine", self.engine),
            *self.spark_row(),
            *self.second.row,
            *([("largest epoch", f"{self.epochs} possible within the budgets")] if self.epochs else []),
        ]

    def spark_row(self) -> list[tuple[str, str]]:
        """Return the row on what Spark was used for."""
        r = self.exploration
        if r.engine != "spark":
            return []
        if not r.jobs:
            return [("Spark", f"not needed: {r.distinct:,} states were explored on the driver, in 0 jobs")]
        return [("Spark", f"{r.jobs} of {len(r.levels)} levels were jobs")]

    def reduction_row(self) -> list[tuple[str, str]]:
        """Return the rows on the reduction of a large exploration."""
        off, merged = self.exploration.ample_off, self.exploration.merged
        rows = [("ample sets", f"off: {off}")] if off else []
        if self.exploration.narrowed:
            fewer = "states with equal futures are merged" if off else "ample sets: fewer states, equal verdicts"
            return [("reduction", fewer), *rows, *([("observers", merged)] if merged else [])]
        large = self.exploration.distinct > LARGE and self.reduction_off
        return [("reduction", f"off: {self.reduction_off}")] if large else []

    @property
    def terminal_means(self) -> str:
        """The meaning of a terminal state."""
        return "no step is possible" if self.exploration.stuttering_off else "only stuttering receipts are possible"

    def stuttering_row(self) -> list[tuple[str, str]]:
        """Return whether stuttering receipts were left out, if they are possible."""
        off = self.exploration.stuttering_off
        if not off:
            return [("stuttering receipts", "left out, with the states that only they lead to")]
        return [] if off.startswith((NONE_THERE, NOT_ASKED)) else [("stuttering receipts", f"steps like others: {off}")]

    def verdict_rows(self) -> list[Row]:
        """Return for each property: name, verdict, source, and the premise if it was not reached."""
        rows: list[Row] = []
        for p in self.listed:
            premise = p.premise if self.verdict(p) == NOT_REACHED else ""
            rows.append((p.name, self.verdict_in_words(p), p.source, premise))
        return rows

    def verdict_table(self) -> Table:
        """Return the rows of properties; many vacuous ones are named in one line below."""
        rows = [(name, said.removesuffix(BOUNDS), *more) for name, said, *more in self.verdict_rows()]
        colours = [COLOURS[self.verdict(p)] for p in self.listed]
        beside = self.evidence or Gathered()
        cells = [beside.cells(p.name) for p in self.listed]
        bare = [k for k, p in enumerate(self.listed) if self.verdict(p) == NOT_REACHED and not any(cells[k])]
        folds, below = len(bare) > MOST_BARE and len(bare) < len(rows), ""
        if folds:
            names = ", ".join(self.listed[k].name for k in bare)
            below = f"premise not reached, {plural(len(bare), 'property')}: {names}"
        kept = [k for k in range(len(rows)) if not folds or k not in bare]
        if beside.head:  # the columns of evidence leave no room for the source of a property
            rows = [(name, said, *cells[k]) for k, (name, said, *_) in enumerate(rows)]
            head: Row = ("property", "explored", *beside.head)
            return Table([rows[k] for k in kept], head, colours=[colours[k] for k in kept], below=below)
        head = ("property", "verdict", "source", "premise")
        if not any(rows[k][3] for k in kept):
            head, rows = head[:3], [row[:3] for row in rows]
        return Table([rows[k] for k in kept], head, colours=[colours[k] for k in kept], below=below)

    def count_rows(self) -> list[Row]:
        """Return the numbers of transitions for each paper step and for each other kind of step."""
        steps: list[Row] = [
            (name, f"{n:,}" if n else "never taken") for name, n in self.exploration.step_counts.items()
        ]
        named = {NUMBERED[kind].called for kind in (ACTION, ENVIRONMENT)} if steps else {}  # each has a row already
        return steps + [(name, f"{n:,}") for name, n in self.events.items() if name not in named]

    @cached_property
    def unused(self) -> list[str]:
        """The parts of a user protocol without effect."""
        with suppress(ConfigError):  # its source may have changed
            found = PROTOCOLS.get(self.configuration.protocol)
            here = unused(Model(self.configuration)) if found is not None else []
            vain = [f"{name} is never False at this size ({place})" for name, place in self.never_false.items()]
            return here + vain
        return []

    def notes(self) -> list[str]:
        """Return the sentences that follow the figures."""
        out = disjoint_notes(self.configuration)
        if self.exploration.exhausted_before:
            out.append("the checkpoint was explored to exhaustion before: nothing was left to continue")
        if self.never_taken and self.exploration.step_counts:
            out.append(f"never taken within these bounds: {', '.join(self.never_taken)}")
        out += self.unused
        if self.configuration.merged_by_promise:
            out.append(
                "which steps are merged is the author's promise, not derived from the protocol; --reduction none "
                f"explores every step ({PAGE})"
            )
        if self.stopped_at_violation:
            out.append("the exploration stopped at the first violated level; --keep-going continues for every property")
        done = [name for name, c in self.counterexamples.items() if c.replayed and c.digest]
        if done:
            what = "each of the counterexamples was" if len(done) > 1 else f"the counterexample to {done[0]} was"
            out.append(f"{what} replayed in the simulator, step by step equal")
        for name, c in self.counterexamples.items():
            if c.path:
                out.append(f"the counterexample to {name} is in {c.path}; to step through it: {export_of(c.path)}")
            if c.trouble:
                out.append(c.trouble)
        if self.error_run is not None:
            path, trouble = self.error_run.path, self.error_run.trouble
            if path:
                out.append(f"the run that needs more room is in {path}; to step through it: {export_of(path)}")
            out += [trouble] if trouble else []
        return [*out, *self.way_to_witness(), *left_out_notes(self.left_out)]

    @cached_property
    def left_out(self) -> Sequence[str]:
        return left_out(self.configuration.protocol, self.exploration.properties)

    def way_to_witness(self) -> list[str]:
        """Return the command that shows the run to the premise of a property that holds.

        The same command with another name is for another property.
        """
        without = (NO_RUNTIME_ERROR.name, DEADLOCK)
        held = next((p.name for p in self.listed if self.verdict(p) == HOLDS and p.name not in without), "")
        command = witness_command(self.request, held) if held else ""
        return [f"a shortest run that reaches the premise of a property: {command}"] if command else []

    @property
    def stopped_at_violation(self) -> bool:
        """Whether a violation ended the exploration, and --keep-going would not have."""
        if self.keep_going or self.covered or self.cut_short or self.exploration.failed:
            return False
        return bool(self.exploration.violations)

    @property
    def stopped_at_depth(self) -> bool:
        """Whether the requested depth, and nothing else, ended the exploration."""
        r = self.exploration
        return not r.complete and not self.cut_short and not r.violations and self.whole_depth == self.limits.depth

    def too_few(self) -> list[documents.Reaching]:
        """Return how many premises were not reached, and a command that explores completely, with its recorded cost."""
        names = [p.name for p in self.listed if self.verdict(p) == NOT_REACHED]
        if not names or self.advice is None or not self.advice.command:
            return []
        depth, judged = self.limits.depth, len(self.exploration.properties)
        cut = self.stopped_at_depth and depth is not None and self.advice.within
        few = f"{plural(depth, 'step')} do not reach" if cut and depth is not None else ""
        few = few or "not reached within these bounds:"
        of = f"{len(names)} of {judged} premises"
        seconds = f"{self.advice.seconds:.1f} s of CPU time"
        all_are = f"without {' and '.join(self.advice.without)} all are" if self.advice.without else "all"
        sentence = f"{few} {of}; {all_are} reached in {seconds}, as last measured, by: {self.advice.command}"
        return [
            documents.Reaching(
                argv=split(self.advice.command), seconds=self.advice.seconds, leaves_out=list(self.advice.without),
                premises=names, sentence=sentence,
            )
        ]  # fmt: skip

    def run_text(self) -> str:
        """Return the first counterexample as text; of the others only why they are violations."""
        shown = [(name, c) for name, c in self.counterexamples.items() if c.text]
        if not shown:
            return self.error_run.text.rstrip() if self.error_run is not None else ""
        others = [folded(f"{name} breaks too: {c.why}", others="  ") for name, c in shown[1:]]
        return "\n\n".join([shown[0][1].text.rstrip(), *(["\n".join(others)] if others else [])])

    # --- as text -----------------------------------------------------------------------------------

    def parts(self) -> Sequence[Part]:
        r, reduced = self.exploration, " (reduced)"
        untested = self.overall == HOLDS and any(self.verdict(p) != HOLDS for p in r.properties)
        headline = Words([self.sentence], COLOURS[NOT_REACHED if untested else self.overall])
        parts: list[Part] = [headline, *filter(None, [self.run_text()])]
        if ways := self.too_few():
            parts.append(Words([way.sentence for way in ways]))
        parts.append(self.verdict_table())
        if self.evidence is not None and (legend := self.evidence.legend()):
            parts.append(Words(legend))
        if self.symbolic:
            parts.append(Table([(name, b.text) for name, b in self.symbolic.items()], ("property", "asked of z3")))
        parts.append(Table(self.figures()))
        levels = folded("  ".join(f"{n:,}" for n in self.levels), "  ")
        parts.append(f"states per level{reduced * r.narrowed}, from depth 0\n{levels}")
        if r.generated:
            counts = self.count_rows()
            colours = [("yellow" if count == "never taken" else "") for _, count in counts]
            title = f"transitions{reduced * r.reduced}"
            parts.append(Table(counts, ("step", title), title, 1, colours))
        return [*parts, *([Words(self.notes())] if self.notes() else [])]

    # --- for test reports, and drawn -----------------------------------------------------------------

    def said(self) -> Iterator[Verdict]:
        found = self.exploration
        for p in self.listed:
            broken, c = found.violations.get(p.name), self.counterexamples.get(p.name, Counterexample())
            at = found.witnessed.get(p.name) if broken is None else broken.depth
            yield Verdict(
                p.name, self.verdict(p), at, c.trouble or c.why, c.trace, c.text, p.source, p.statement, p.premise,
                *self.as_a_case(p), evidence=self.evidence.said_of(p.name) if self.evidence is not None else {},
            )  # fmt: skip

    def as_a_case(self, p: Property) -> tuple[str, str]:
        """Return how a test report lists a property, and the message.

        A premise that was not reached, and a property left unjudged because another was violated first, are skipped.
        One without a verdict because the run was cut short, a required premise, or any if no premise was reached, is an
        error.
        """
        verdict, words = self.verdict(p), self.verdict_in_words(p)
        if verdict == VIOLATED:
            return FAILURE, f"{words}: {p.statement}"
        if verdict in (NOT_REACHED, UNFALSIFIABLE):
            lacking = p.name in self.unmet or self.overall in (NOT_REACHED, UNFALSIFIABLE)
            return ERROR if lacking else SKIPPED, f"{words}: {p.premise}" if verdict == NOT_REACHED else words
        if verdict == NO_VERDICT:
            ended = not self.cut_short and p.name not in self.exploration.violations
            return SKIPPED if ended else ERROR, f"{words}; {self.sentence}"
        return "", ""

    @property
    def check_findings(self) -> CheckFindings:
        """Return what a check compares with its expectations.

        A violation whose counterexample does not replay does not count.
        """
        r = self.exploration
        return CheckFindings(
            self.sentence,
            (*r.properties, *([NO_RUNTIME_ERROR] if r.failed else [])),
            {name: found.depth for name, found in r.violations.items() if self.replayed(name)},
            {name: depth for name, depth in r.witnessed.items() if name not in self.never_false},
            self.whole_depth,
            self.covered,
            frozenset(name for name in r.violations if not self.replayed(name)),
            [*filter(None, [self.cut_short]), *self.troubles],
            len(self.levels) - 1,
            r.distinct,
            r.raw,
            r.complete,
            seconds=r.seconds + r.compile_seconds,
            counterexamples=self.counterexamples,
            promised=promise_text(self.configuration).removeprefix("; "),
            unheard="" if self.second.states else self.second.none,
            never_false=self.never_false,
        )

    @property
    def title(self) -> str:
        return f"zabcheck {self.bounds}"

    @property
    def seconds(self) -> float:
        return self.exploration.seconds

    @property
    def troubles(self) -> Sequence[str]:
        return [c.trouble for c in self.counterexamples.values() if c.trouble]

    def page(self) -> str:
        from checker.errors import NoVerdict
        from checker.report.page import ReportError, page_of

        try:
            return page_of(self.as_json())
        except ReportError as problem:
            raise NoVerdict(str(problem)) from None

    # --- as JSON -----------------------------------------------------------------------------------

    def as_json(self) -> dict[str, Any]:
        """Return the report as JSON values; `ExplorationReport` describes each."""
        r, limits = self.exploration, self.limits
        run = None if self.error_run is None else self.error_run.path or None
        report = documents.ExplorationReport(
            format=FORMAT,
            zabcheck=__version__,
            verdict=self.overall,
            sentence=self.sentence,
            exit_code=self.exit_code,
            request=None if self.request is None else dict(self.request),
            configuration=self.configuration.as_dict(),
            merged_by_promise=promises_of(self.configuration),
            derived=documents.Derived(self.epochs, *self.channels),
            limits=documents.ExplorationLimits(*limits.asked, self.keep_going),
            coverage=documents.Coverage(
                r.complete,
                self.covered,
                self.whole_depth,
                r.stopped or None,
                r.error or None,
                run,
            ),
            properties=[self.reported(p) for p in self.listed],
            states=documents.States(
                r.distinct, r.raw, r.generated, r.terminal, len(self.levels) - 1, self.levels, r.collision_probability
            ),
            steps=dict(r.step_counts),
            never_taken=self.never_taken,
            unused=self.unused,
            not_checked=list(self.left_out),
            required=sorted(self.required),
            to_reach=self.too_few(),
            events=self.events,
            cost=documents.Cost(
                *(r.seconds, r.cpu_seconds, r.compile_seconds),
                *(per(r.distinct, r.seconds), per(r.distinct, r.cpu_seconds), r.memory),
                # the largest process has only a part of the states
                None if r.engine == "spark" else per(r.memory, r.distinct),
            ),
            engine=documents.Engine(
                name=r.engine,
                threads=self.threads or None,
                symmetry=r.symmetry,
                symmetry_off=self.symmetry_off or None,
                reduced=r.reduced,
                ample_sets=r.narrowed,
                ample_sets_off=r.ample_off or UNSET,
                merged=r.merged or UNSET,
                reduction_off=self.reduction_off or None,
                stuttering_left_out=not r.stuttering_off,
                stuttering_off=r.stuttering_off or None,
                spark=documents.SparkJobs(r.jobs) if r.engine == "spark" else UNSET,
            ),
            evidence=UNSET if self.evidence is None else self.evidence.columns(p.name for p in self.listed),
            second_opinion=self.second.as_json() if self.second != NO_OPINION else UNSET,
        )
        return cast("dict[str, Any]", to_builtins(report))

    def reported(self, p: Property) -> documents.PropertyReport:
        """Return the verdict on a property with its counterexample, and what z3 and evidence say of it."""
        found, z3 = self.exploration.violations.get(p.name), self.symbolic.get(p.name)
        return documents.PropertyReport(
            name=p.name,
            of=p.of,
            source=p.source,
            statement=p.statement,
            premise=p.premise,
            verdict=self.verdict(p),
            witnessed_at=self.exploration.witnessed.get(p.name),
            violation=None if found is None else violated(self.counterexamples.get(p.name), found.schedule),
            symbolic=UNSET
            if z3 is None
            else documents.SymbolicReport(
                z3.verdict, z3.steps or None, z3.epochs or None, z3.broken or None, z3.premise, z3.trouble or None,
                list(z3.within),
            ),
            evidence=UNSET if self.evidence is None else self.evidence.of_property(p.name),
        )  # fmt: skip


def violated(run: Counterexample | None, schedule: Sequence[int]) -> documents.ViolationReport:
    """Return a violation for a report, with its steps."""
    c = run or Counterexample()
    shown = (c.path or None, c.text or None, c.why or None, c.replayed and bool(c.digest))
    start = schedule.start if isinstance(schedule, Schedule) and schedule.start is not None else UNSET
    return documents.ViolationReport(len(schedule), list(schedule), *shown, c.digest or None, c.trouble or None, start)


def export_of(path: str) -> str:
    """Return the command that makes a page of a saved trace."""
    page = path.removesuffix(".trace.json").removesuffix(".json") + ".html"
    return f"zabcheck export {quote(path)} --to html --output {quote(page)}"


def rate(states: int, seconds: float) -> str:
    return f"{states / seconds:,.0f}" if seconds else "-"
