"""Answers of the functions that `zabcheck` exports: results for a program, a person and a notebook.

Each contains what the command of that name prints, in the same words.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from checker.report.answer import Answered
from checker.report.result import Part, Result, Verdict

if TYPE_CHECKING:
    from checker.zookeeper.record import RowOutcome
    from traces.record.trace import Trace

__all__ = [
    "Answered",
    "Reported", "TrackRecord", "Verdict",
]  # fmt: skip


class Wrapper(Answered):
    """An answer that is a result of another class."""

    def __init__(self, result: Result) -> None:
        import traces.pictures  # noqa: F401  # from then on a notebook shows the picture of a trace

        self._result = result

    @property
    def kind(self) -> str:  # type: ignore[override]
        return self._result.kind

    @property
    def sentence(self) -> str:
        return self._result.sentence

    @property
    def exit_code(self) -> int:
        return self._result.exit_code

    @property
    def left_out(self) -> Sequence[str]:
        return self._result.left_out

    def parts(self) -> Sequence[Part]:
        return self._result.parts()

    def as_json(self) -> Any:
        return self._result.as_json()

    def said(self) -> Iterator[Verdict]:
        return self._result.said()

    def page(self) -> str:
        return self._result.page()


class TrackRecord(Wrapper):
    """Known bugs of ZooKeeper, reproduced.

    Attributes:
        rows: each with the run that violates a property of its release, and the effect of its fix.
    """

    def __init__(self, result: Result, rows: Sequence[RowOutcome]) -> None:
        super().__init__(result)
        self.rows = tuple(rows)

    def html(self) -> str:
        """Return the answer as an HTML page; for a single row, a page with its story and its run."""
        from checker.report.formats.html import as_html
        from checker.zookeeper.story import story
        from traces.pictures.html import page

        run = self.rows[0].without.trace if len(self.rows) == 1 else None
        return as_html(self._result).decode() if run is None else page(run, story=story(self.rows[0]))


class Reported(Wrapper):
    """A report of an exploration, as its JSON states: the figures are not measured again.

    Attributes:
        given: the content of the file.
    """

    def __init__(self, result: Result, given: Mapping[str, Any]) -> None:
        super().__init__(result)
        self.given = given

    def html(self) -> str:
        from checker.report.page import page_of

        return page_of(self.given, stated=True)

    @property
    def runs(self) -> Mapping[str, Trace]:
        """The run of each violation, replayed."""
        from checker.report.page import trace_of

        broken = [p for p in self.given["properties"] if p["verdict"] == "violated"]
        return {p["name"]: trace_of(self.given, p) for p in broken}
