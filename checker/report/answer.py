"""The base of every answer: a result that shows itself in a terminal, a program, a page and a notebook."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from checker.errors import HELD, RequestError
from checker.report.result import Part, Result, Table, Verdict, plural
from zabspec.typed import near

if TYPE_CHECKING:
    from traces.record.trace import Trace

Named = TypeVar("Named")


class ByName(dict[str, Named]):
    """Values by name; a wrong name is a KeyError that says which are near."""

    def __missing__(self, name: str) -> Named:
        raise KeyError(f"{name}{near(name, self) or '; there are ' + ', '.join(self)}")


class Picture(str):
    """An SVG diagram, which a notebook shows as a picture."""

    __slots__ = ()

    def _repr_svg_(self) -> str:
        return self


class Answered(Result):
    """Base of every answer: a sentence, an exit code, verdicts by name, and renderings."""

    @cached_property
    def verdicts(self) -> Mapping[str, Verdict]:
        """The verdict of each property by its name, in the order of the command's table."""
        return ByName({v.name: v for v in self.said()})

    def text(self) -> str:
        """Return the text that the command prints."""
        from checker.report.formats.terminal import plain_text

        return plain_text(self) if self.parts() else f"{self.sentence}\n"

    def html(self) -> str:
        """Return the answer as a self-contained HTML page; without a page of its kind, a drawing of the first run.

        Raises:
            NoVerdict, TraceError: what is to be drawn does not replay.
        """
        from checker.report.formats.html import as_html

        drawn = "" if self.page() else self.drawing()
        return drawn or as_html(self).decode()

    def as_json(self) -> Any:
        """Return the answer as JSON values: its request, its sentence, its exit code, and what is of its kind."""
        request = getattr(self, "request", None)
        asked = getattr(request, "as_json", lambda: request)()
        return {"request": asked, "sentence": self.sentence, "exit_code": self.exit_code, **self.details()}

    def details(self) -> dict[str, Any]:
        """Return what the JSON of this kind of answer has besides."""
        return {}

    @property
    def runs(self) -> Mapping[str, Trace]:
        """The run of each verdict that has one, by property name."""
        return ByName({name: v.trace for name, v in self.verdicts.items() if v.trace is not None})

    @property
    def raw(self) -> str:
        """What stdout has instead of the text, unchanged, for another program; empty for the text."""
        return ""

    @property
    def outputs(self) -> Sequence[tuple[Path, bytes]]:
        """The files that the request names and that are written after everything else, each with its content."""
        return ()

    unsaved: Sequence[str] = ()  # what could not be written: the exit code is 3

    @property
    def annotated(self) -> bool:
        """Whether the text ends with annotations for GitHub Actions."""
        return False

    goes_on = False  # whether `then` has something to do

    def then(self) -> Answered | None:
        """Go on after this answer is written, and return the next one; None if this is the last."""
        return None

    @property
    def saved(self) -> Sequence[str]:
        """The files that its traces were saved in."""
        return ()

    def drawing(self) -> str:
        """Return a page that draws the first run; empty if there is no run.

        Raises:
            TraceError: the run does not violate the property that it is recorded to violate.
        """
        from traces.pictures import to_html

        first = next(iter(self.runs.values()), None)
        return "" if first is None else to_html(first)

    def picture(self) -> Picture:
        """Return the first run as an SVG diagram, or the empty string if the answer has no run.

        Raises:
            TraceError: the run does not violate the property that it is recorded to violate.
        """
        from traces.pictures import to_svg

        first = next(iter(self.runs.values()), None)
        return Picture("" if first is None else to_svg(first))

    @property
    def passed(self) -> bool:
        """Whether the command would end with 0.

        It would not if no property was checked non-vacuously. A single vacuous property among others shows in
        `verdicts`.
        """
        return self.exit_code == HELD

    @property
    def violations(self) -> Mapping[str, Verdict]:
        """The verdicts of violated properties."""
        return ByName({name: v for name, v in self.verdicts.items() if v.verdict in ("violated", "not inductive")})

    def __getitem__(self, name: str) -> Verdict:
        return self.verdicts[name]

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self.sentence}>"

    def _repr_html_(self) -> str:
        """Return the answer as HTML for a notebook."""
        from checker.report.formats.notebook import as_html

        return as_html(self)


class TraceAnswer(Answered):
    """Base of the answers about one trace.

    Attributes:
        trace: the trace.
    """

    trace: Trace

    @property
    def runs(self) -> Mapping[str, Trace]:
        """The trace, by the property that it shows something of."""
        return {self.trace.property_name or self.trace.premise_of: self.trace}


@dataclass(frozen=True, repr=False)
class StatedAnswer(Answered):
    """An answer that is given as a whole.

    Attributes:
        content: its JSON.
        body: its parts.
        judged: the verdicts on properties.
    """

    sentence: str = ""
    exit_code: int = 0
    content: Any = None
    body: Sequence[Part] = ()
    troubles: Sequence[str] = ()
    judged: Sequence[Verdict] = ()
    kind: str = ""
    indent: int | None = 1

    def parts(self) -> Sequence[Part]:
        return self.body

    def as_json(self) -> Any:
        return self.content

    def said(self) -> Iterator[Verdict]:
        return iter(self.judged)


@dataclass(frozen=True, repr=False)
class Listed(StatedAnswer):
    """Rows of a list, such as variants or properties."""

    long = True

    @property
    def rows(self) -> Sequence[Mapping[str, str]]:
        """The rows, each a mapping from column name to value."""
        rows: Sequence[Mapping[str, str]] = self.content
        return rows


def listed(head: Sequence[str], rows: Sequence[Sequence[str]], words: Sequence[str], what: str) -> Listed:
    """Return the rows that contain all of some words, in any column and in any case.

    Args:
        head: the names of the columns.
        what: a row is.

    Raises:
        RequestError: no row does.
    """
    found = [tuple(row) for row in rows if all(word.lower() in " ".join(row).lower() for word in words)]
    if words and not found:
        raise RequestError(f"no {what} is described with {' and '.join(map(repr, words))}")
    content = [{name.replace(" ", "_"): cell for name, cell in zip(head, row, strict=True)} for row in found]
    return Listed(plural(len(found), what), content=content, body=[Table(found, tuple(head))], kind="listed")
