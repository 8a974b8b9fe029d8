"""Report the mistakes in a protocol's file, for every format."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from checker.report.answer import Answered
from checker.report.result import Part, ReportFinding, ReportPlace, Row, Table, Words, plural
from checker.report.sources import top_of

if TYPE_CHECKING:
    from checker.requests.base.mistakes import Mistake
    from checker.requests.base.request import Request

MISTAKE, NOTE = "protocol-mistake", "no-effect"
MORE = "There may be more mistakes: run it again after fixing these."


@dataclass(frozen=True, repr=False)
class Linted(Answered):
    """The report of the mistakes in a file.

    Attributes:
        path: the file, as it was named.
        mistakes: by line.
        annotated: whether the text ends with annotations.
        request: the one that it answers.
    """

    path: str
    mistakes: Sequence[Mistake]
    annotated: bool = False
    request: Request | None = None

    kind = "lint"

    @property
    def errors(self) -> Sequence[Mistake]:
        """The mistakes without the notes."""
        return [m for m in self.mistakes if m.level == "error"]

    @property
    def sentence(self) -> str:
        notes = len(self.mistakes) - len(self.errors)
        said = f"{self.path}: {plural(len(self.errors), 'mistake') if self.errors else 'no mistakes'}"
        return f"{said}; {plural(notes, 'note')}" if notes else said

    @property
    def exit_code(self) -> int:
        """0 if the file can be explored, 1 if it has mistakes."""
        return 1 if self.errors else 0

    def parts(self) -> Sequence[Part]:
        rows: list[Row] = [
            (f"{m.path}:{m.line}" if m.line else m.path, f"{'note: ' if m.level == 'note' else ''}{m.reason}")
            for m in self.mistakes
        ]
        out: list[Part] = [Words([self.sentence], "" if self.mistakes else "green")]
        if rows:
            out.append(Table(rows))
        explored = f"to explore its states: zabcheck --protocol {self.path}"
        return [*out, Words([MORE if self.errors else explored])]

    def details(self) -> dict[str, Any]:
        keys = ("path", "line", "column", "level", "reason")
        return {
            "protocol": self.path,
            "mistakes": [{key: getattr(m, key) for key in keys} for m in self.mistakes],
        }

    @property
    def findings(self) -> Sequence[ReportFinding]:
        return [
            ReportFinding(
                "error" if m.level == "error" else "notice",
                Path(m.path).name,
                MISTAKE if m.level == "error" else NOTE,
                m.reason,
                [ReportPlace(Path(m.path).resolve(), m.line)],
            )
            for m in self.mistakes
        ]

    @property
    def root(self) -> Path:
        return top_of(Path(self.path).resolve())
