"""What came of a request: one model, whatever was requested, that every format is made from.

A kind of request has a class that says what its answer comes to (`checker/report/`, and `report.py` of `live`,
`search`, `mutate` and `refinement`). The formats (`checker/report/formats/`) know this file, and no kind.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

if TYPE_CHECKING:
    from traces.record.trace import Trace

__all__ = [
    "COLOURS", "ERROR", "EXIT_CODES", "FAILURE", "HOLDS", "NOT_REACHED", "NO_VERDICT", "SKIPPED",
    "VIOLATED", "CheckFindings", "Counterexample", "Finding", "Named", "Part", "Place", "Result", "Row", "Rule",
    "StatedResult", "Table", "Verdict", "Words", "installed_version", "per", "plural", "some",
]  # fmt: skip

HOLDS, NOT_REACHED, VIOLATED, NO_VERDICT = "holds", "premise not reached", "violated", "no verdict"
EXIT_CODES = {HOLDS: 0, NOT_REACHED: 3, VIOLATED: 1, NO_VERDICT: 3}
COLOURS = {HOLDS: "green", NOT_REACHED: "yellow", VIOLATED: "bold red", NO_VERDICT: "magenta"}  # on a terminal
FAILURE, ERROR, SKIPPED = "failure", "error", "skipped"  # how a case of a test report ends, if not well
MOST_NAMED = 4  # properties in a sentence

Row = tuple[str, ...]


@dataclass(frozen=True)
class Counterexample:
    """What became of one violation's trace.

    Attributes:
        text: the trace as a person reads it.
        why: one sentence saying why the run cannot be.
        path: the file it was saved in; empty: in none.
        trouble: why it does not count, in a sentence: it did not replay, or was not saved.
        replayed: whether the interpreted world reached the same violation, and the simulator too,
            step by step equal.
        digest: the sha256 of the simulator's canonical dump at the end of the replay.
        trace: the trace; none: it could not be built.
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
    """What is said of one property.

    Attributes:
        name: the property's, or the clause's, or the check's.
        verdict: in the words of the command that was asked.
        at: the depth, or the tick, of the violation or else of the witness; none: of neither, or not known.
        why: one sentence; empty: there is nothing to add.
        trace: the counterexample, where one was made.
        text: the counterexample as a person reads it.
        source: where the property is stated.
        statement: it in words.
        premise: when it is put to the test.
        ends: how a test report has it: `failure`, `error` or `skipped`; empty: it passed.
        message: what a test report says of that.
        group: what a test report lists it below.
        seconds: how long it took, where that is known of it alone.
        evidence: of other kinds than the command's own: what is claimed, by the column that it stands in.
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
        rows: them, each as long as the first.
        head: what the columns are called; empty: a row is a name and what is said of it.
        title: a line above, set out from the rows; where there is no terminal it stands for the head.
        right: the column that is set to the right; -1: none.
        colours: by row, the colour of its second cell on a terminal.
        above: lines that stand directly before.
        below: a line that follows at once.
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
    """Sentences, each folded where there is no terminal.

    Attributes:
        sentences: them.
        colour: on a terminal.
    """

    sentences: Sequence[str]
    colour: str = ""


Part = str | Words | Table  # text is in its lines already


# --- what is wrong where ---------------------------------------------------------------------------


@dataclass(frozen=True)
class Rule:
    """What can be found.

    Attributes:
        name: its identifier, as `agreement`.
        summary: it in one sentence.
        statement: all that there is to say of it.
        help: what to do about a result.
    """

    name: str
    summary: str
    statement: str = ""
    help: str = ""


@dataclass(frozen=True)
class Place:
    """Where something is: a line of a text, bytes of a file that is none, or what has only a name.

    Attributes:
        path: the file; None: it is in none.
        line: of a text, from 1; 0: the whole file.
        offset: of a file of bytes, from 0.
        length: how many bytes from there; 0: not known.
        named: what it is called without its file, as the name of a handler, or of a server.
        says: what is to be seen there.
    """

    path: Path | None = None
    line: int = 0
    offset: int | None = None
    length: int = 0
    named: str = ""
    says: str = ""


@dataclass(frozen=True)
class Finding:
    """One thing that is wrong.

    Attributes:
        rule: the name of its rule.
        level: `error`, `warning`, `note` or `none`.
        says: the sentence.
        places: where: what is to be mended.
        steps: the places that lead there, in order; they are related, too.
        same: what stays as it is from run to run, so that a host knows a finding again; empty: rule and place tell.
        accepted: why it is known and let pass; empty: it is not.
        further: anything else, as JSON.
        related: places that belong to it, and are not to be mended.
        of: the check, or the place, that the sentence is about.
        what: in what way it is wrong; empty: as its rule says.
    """

    rule: str
    level: str
    says: str
    places: Sequence[Place] = ()
    steps: Sequence[Place] = ()
    same: str = ""
    accepted: str = ""
    further: Mapping[str, Any] = field(default_factory=dict)
    related: Sequence[Place] = ()
    of: str = ""
    what: str = ""


# --- what a check expects ---------------------------------------------------------------------------


class Named(Protocol):
    """What is judged, or asked after: a property, or a goal."""

    @property
    def name(self) -> str:
        """What it is called."""

    @property
    def statement(self) -> str:
        """It in words."""

    @property
    def source(self) -> str:
        """Where it is stated."""


@dataclass(frozen=True)
class CheckFindings:
    """What was found.

    Attributes:
        sentence: the verdict line of the command.
        properties: those that were judged.
        violated: each that broke in a run that replays, with its length (simulated: the tick).
        met: each whose premise was met, with the depth; None: it is not known at which.
        seen_to: every state to this depth was judged; simulated: the last tick.
        covered: all that was asked for was looked at, and nothing ended it before.
        doubtful: those that broke in a run that does not replay, of which nothing is known.
        unsettled: why not all that was asked for is known, a sentence each.
        depth, states, raw, exhausted: of the exploration; None: of a simulated run.
        unit: what violations and premises are counted in: depth, tick, or step.
        sha256: of the simulated run.
        seconds: how long it took.
        cpu_seconds: of all cores, compilation and replay included; an equal part of what several checks share.
        counterexamples: by property.
        promised: what of the steps is merged by promise, as a sentence's part; empty: nothing.
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


# --- all of it -------------------------------------------------------------------------------------


class Result(ABC):
    """What came of a request.

    Attributes:
        kind: of the request, as `checker/requests/kinds.py` has it.
        indent: of its JSON; None: it is one line.
        suites: what a test report of it is called as a whole.
    """

    kind: str = ""
    indent: int | None = 1
    suites: ClassVar[str] = "zabcheck"

    @property
    @abstractmethod
    def sentence(self) -> str:
        """The answer in a sentence."""

    @property
    @abstractmethod
    def exit_code(self) -> int:
        """0 all held, 1 something is violated, 3 no verdict."""

    @abstractmethod
    def parts(self) -> Sequence[Part]:
        """What a person reads, a part after another."""

    @abstractmethod
    def as_json(self) -> Any:
        """What a machine reads, as JSON values."""

    def said(self) -> Iterator[Verdict]:
        """What is said of each property, in the order of the command's table."""
        return iter(())

    @property
    def check_findings(self) -> CheckFindings | None:
        """What a check holds against its expectations; None: no check asks for this kind."""
        return None

    @property
    def troubles(self) -> Sequence[str]:
        """What stderr has to say: why a violation does not count, or why there is no verdict."""
        return ()

    @property
    def title(self) -> str:
        """What was asked of what."""
        return f"zabcheck {self.kind}"

    @property
    def seconds(self) -> float | None:
        """How long it took; None: it is not known."""
        return None

    @property
    def rules(self) -> Sequence[Rule]:
        """Every rule that was asked about, broken or not."""
        return ()

    @property
    def findings(self) -> Sequence[Finding]:
        """What is wrong, in the order in which it is to be read."""
        return ()

    @property
    def notices(self) -> Sequence[tuple[str, str]]:
        """What is to be said besides, each with what it is of."""
        return ()

    @property
    def unanswered(self) -> Sequence[str]:
        """Why there is no answer to something, a sentence each."""
        return ()

    @property
    def root(self) -> Path:
        """The top of the sources, which places are named from."""
        return Path()

    def page(self) -> str:
        """The page that this kind draws itself, as HTML; empty: its parts are written.

        Raises:
            NoVerdict: what is to be drawn is not so.
        """
        return ""


@dataclass(frozen=True)
class StatedResult(Result):
    """A result that is stated whole.

    Attributes:
        content: its JSON.
        text: its parts.
        verdicts: what is said of properties.
    """

    sentence: str = ""
    exit_code: int = 0
    content: Any = None
    text: Sequence[Part] = ()
    troubles: Sequence[str] = ()
    verdicts: Sequence[Verdict] = ()
    kind: str = ""
    indent: int | None = 1

    def parts(self) -> Sequence[Part]:
        return self.text

    def as_json(self) -> Any:
        return self.content

    def said(self) -> Iterator[Verdict]:
        return iter(self.verdicts)


# --- words -----------------------------------------------------------------------------------------


def installed_version() -> str:
    """The version of the installed distribution."""
    from importlib.metadata import version

    return version("zabcheck")


def plural(count: int, noun: str) -> str:
    """A count with its noun."""
    if count == 1:
        return f"1 {noun}"
    if noun.endswith("y"):
        return f"{count} {noun[:-1]}ies"
    return f"{count} {noun}{'es' if noun.endswith(('sh', 'ss', 'x')) else 's'}"


def some(names: Sequence[str]) -> str:
    """Names, of many the first."""
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    return ", ".join(names[:MOST_NAMED]) + more


def per(amount: float, of: float) -> float | None:
    """A ratio; none where there is nothing to divide by."""
    return amount / of if of else None
