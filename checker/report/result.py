"""The result of a request: one model for all kinds of requests, from which every format is made.

A kind of request has a class of its result (`checker/report/`, and `report.py` of `live`, `search`, `mutate` and
`refinement`). The formats (`checker/report/formats/`) know this file, and no kind.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from msgspec import to_builtins

if TYPE_CHECKING:
    from traces.record.trace import Trace

HOLDS, NOT_REACHED, VIOLATED, NO_VERDICT = "holds", "premise not reached", "violated", "no verdict"
UNFALSIFIABLE = "can never be False"  # a property that no state breaks, whatever its premise
EXIT_CODES = {HOLDS: 0, NOT_REACHED: 3, UNFALSIFIABLE: 3, VIOLATED: 1, NO_VERDICT: 3}
COLOURS = {
    HOLDS: "green",
    NOT_REACHED: "yellow",
    UNFALSIFIABLE: "yellow",
    VIOLATED: "bold red",
    NO_VERDICT: "magenta",
}  # on a terminal
FAILURE, ERROR, SKIPPED = "failure", "error", "skipped"  # how a case of a test report ends, if not well
MOST_NAMED = 4  # properties in a sentence

Row = tuple[str, ...]


@dataclass(frozen=True)
class Counterexample:
    """The counterexample of one violation.

    Attributes:
        text: the trace as text.
        why: one sentence on why the run violates the property.
        path: the file it was saved in; empty if it was not saved.
        trouble: why it does not count, in a sentence: it did not replay, or was not saved.
        replayed: whether the interpreted world reached the same violation, and the simulator too,
            step by step equal.
        digest: the sha256 of the simulator's canonical dump at the end of the replay.
        trace: the trace; None if it could not be built.
    """

    text: str = ""
    why: str = ""
    path: str = ""
    trouble: str = ""
    replayed: bool = True
    digest: str = ""
    trace: Trace | None = None


@dataclass(frozen=True)
class Verdict:
    """The verdict on one property.

    Attributes:
        name: the property's, or the clause's, or the check's.
        verdict: in the words of the command.
        at: the depth, or the tick, of the violation or else of the witness; None if there is neither, or it is unknown.
        why: one sentence; empty if there is nothing to add.
        trace: the counterexample, if one was made.
        text: the counterexample as text.
        source: where the property is stated.
        statement: the property in words.
        premise: the condition without which it holds vacuously.
        ends: how a test report lists it: `failure`, `error` or `skipped`; empty if it passed.
        message: the message of a test report.
        group: the heading in a test report.
        seconds: its time, if that is known.
        evidence: of other kinds than the command's own: the claim, by the column that it is in.
    """

    name: str
    verdict: str
    at: int | None = None
    why: str = ""
    trace: Trace | None = field(default=None, repr=False)
    text: str = field(default="", repr=False)
    source: str = field(default="", repr=False)
    statement: str = field(default="", repr=False)
    premise: str = field(default="", repr=False)
    ends: str = field(default="", repr=False)
    message: str = field(default="", repr=False)
    group: str = field(default="zabcheck", repr=False)
    seconds: float = field(default=0.0, repr=False)
    evidence: Mapping[str, str] = field(default_factory=dict, repr=False)


# --- what a person reads ---------------------------------------------------------------------------


@dataclass(frozen=True)
class Table:
    """Rows of a report, in columns.

    Attributes:
        rows: each as long as the first.
        head: the names of the columns; empty if a row is a name and a value.
        title: a line above, with the rows indented; where there is no terminal it replaces the head.
        right: the column that is aligned to the right; -1 for none.
        colours: by row, the colour of its second cell on a terminal.
        above: lines directly before the table.
        below: a line directly after it.
    """

    rows: Sequence[Row]
    head: Row = ()
    title: str = ""
    right: int = -1
    colours: Sequence[str] = ()
    above: str = ""
    below: str = ""


@dataclass(frozen=True)
class Words:
    """Sentences, each folded if there is no terminal.

    Attributes:
        sentences: the sentences.
        colour: on a terminal.
        below: text under them, in lines already and without that colour.
    """

    sentences: Sequence[str]
    colour: str = ""
    below: str = ""


Part = str | Words | Table  # text is in its lines already


# --- what is wrong where ---------------------------------------------------------------------------


@dataclass(frozen=True)
class ReportPlace:
    """A line of a source.

    Attributes:
        path: the file.
        line: from 1; 0 for the whole file.
    """

    path: Path
    line: int = 0


@dataclass(frozen=True)
class ReportFinding:
    """One thing that is wrong.

    Attributes:
        level: `error`, `warning` or `notice`.
        of: the check, or the file, that the sentence is about.
        what: in what way it is wrong.
        says: the sentence.
        places: where to correct it, the best first.
    """

    level: str
    of: str
    what: str
    says: str
    places: Sequence[ReportPlace]


# --- what a check expects ---------------------------------------------------------------------------


class Named(Protocol):
    """A property or a progress property."""

    @property
    def name(self) -> str:
        """Its name."""

    @property
    def statement(self) -> str:
        """The property in words."""

    @property
    def source(self) -> str:
        """Where it is stated."""


@dataclass(frozen=True)
class CheckFindings:
    """The part of a result that a check compares with its expectations.

    Attributes:
        sentence: the verdict line of the command.
        properties: those that were judged.
        violated: each that is violated in a run that replays, with its length (simulated: the tick).
        met: each whose premise was met, with the depth; None if that is unknown.
        seen_to: the depth to which every state was judged; simulated: the last tick.
        covered: whether everything requested was explored, and nothing ended it before.
        doubtful: those that are violated in a run that does not replay, on which there is no verdict.
        unsettled: why not everything requested is known, a sentence each.
        depth, states, raw, exhausted: of the exploration; None for a simulated run.
        unit: in which violations and premises are counted: depth, tick, or step.
        sha256: of the simulated run.
        seconds: the time.
        cpu_seconds: of all cores, compilation and replay included; an equal part of what several checks share.
        counterexamples: by property.
        promised: which steps are merged by promise, as a sentence's part; empty if none are.
        unheard: why there is no second opinion, if one was requested; else empty.
        never_false: those that no state can break, none of which is met.
    """

    sentence: str
    properties: Sequence[Named]
    violated: Mapping[str, int]
    met: Mapping[str, int | None]
    seen_to: int
    covered: bool
    doubtful: frozenset[str] = frozenset()
    unsettled: Sequence[str] = ()
    depth: int | None = None
    states: int | None = None
    raw: int | None = None
    exhausted: bool | None = None
    unit: str = "depth"
    sha256: str = ""
    seconds: float = 0.0
    cpu_seconds: float = 0.0
    counterexamples: Mapping[str, Counterexample] = field(default_factory=dict)
    promised: str = ""
    unheard: str = ""
    never_false: Collection[str] = ()

    @property
    def vain(self) -> bool:
        """Whether no state can break any of the properties."""
        return bool(self.never_false) and all(p.name in self.never_false for p in self.properties)


# --- all of it -------------------------------------------------------------------------------------


class Result(ABC):
    """The result of a request.

    Attributes:
        kind: of the request, as in `checker/requests/base/kinds.py`.
        indent: of its JSON; None for one line.
        suites: the name of a test report of it as a whole.
        long: whether it is a list to look through, shown in a pager if the terminal is too small for it.
        framed: whether a notebook shows its whole page, though it has verdicts.
    """

    kind: str = ""
    indent: int | None = 1
    long: bool = False
    framed: bool = False
    suites: ClassVar[str] = "zabcheck"

    @property
    @abstractmethod
    def sentence(self) -> str:
        """The answer in a sentence."""

    @property
    @abstractmethod
    def exit_code(self) -> int:
        """0 if all held, 1 if something is violated, 3 if there is no verdict."""

    @abstractmethod
    def parts(self) -> Sequence[Part]:
        """Return the parts of the text for people, in order."""

    @abstractmethod
    def as_json(self) -> Any:
        """Return the result as JSON values."""

    def picture(self) -> str:
        """Return what it shows as an SVG diagram; empty if there is nothing to draw."""
        return ""

    def said(self) -> Iterator[Verdict]:
        """Yield the verdict on each property, in the order of the command's table."""
        return iter(())

    @property
    def check_findings(self) -> CheckFindings | None:
        """Return what a check compares with its expectations; None if checks do not support this kind."""
        return None

    @property
    def troubles(self) -> Sequence[str]:
        """The messages for stderr: why a violation does not count, or why there is no verdict."""
        return ()

    @property
    def left_out(self) -> Sequence[str]:
        """The names of the properties that could be checked and were not."""
        return ()

    @property
    def title(self) -> str:
        """A description of the request and its subject."""
        return f"zabcheck {self.kind}"

    @property
    def seconds(self) -> float | None:
        """The time it took; None if it is not known."""
        return None

    @property
    def findings(self) -> Sequence[ReportFinding]:
        """Return what is wrong, in the order in which it is to be read."""
        return ()

    @property
    def root(self) -> Path:
        """The top of the sources, which places are named from."""
        return Path()

    def page(self) -> str:
        """Return the page that this kind draws itself, as HTML; empty if its parts are written instead.

        Raises:
            NoVerdict: what is to be drawn does not replay.
        """
        return ""


# --- words -----------------------------------------------------------------------------------------


def plural(count: int, noun: str) -> str:
    """Return a count with its noun."""
    if count == 1:
        return f"1 {noun}"
    if noun.endswith("y"):
        return f"{count} {noun[:-1]}ies"
    return f"{count} {noun}{'es' if noun.endswith(('sh', 'ss', 'x')) else 's'}"


def some(names: Sequence[str]) -> str:
    """Return names in a line; of many only the first."""
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    return ", ".join(names[:MOST_NAMED]) + more


def values(given: Any) -> Any:
    """Return a result, or what is in one, as JSON values: an object has the names of its class."""
    return to_builtins(given, str_keys=True, enc_hook=lambda each: each.item() if hasattr(each, "item") else str(each))


def per(amount: float, of: float) -> float | None:
    """Return a ratio, or None if the divisor is 0."""
    return amount / of if of else None
