"""Report rows of the track record: a table, and the story of each row that was named."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from checker.errors import HELD, NO_VERDICT, VIOLATED
from checker.report.answer import Answered
from checker.report.promises import PAGE
from checker.report.result import Part, Table, Verdict, Words
from checker.zookeeper.record import MERGED
from checker.zookeeper.story import asked, headline, methods, settings, story

if TYPE_CHECKING:
    from checker.requests.base.request import Request
    from checker.zookeeper.record import RowOutcome

HEAD = (
    "bug", "release", "breaks", "steps", "states", "seconds", "its fix", "with it", "states", "published", "row",
)  # fmt: skip


def story_parts(one: RowOutcome) -> list[Part]:
    """Return the story of a row: what happens, the run, and the Java method of each step."""
    from traces import to_text

    out: list[Part] = [Words([headline(one)]), Table(story(one))]
    run = one.without.trace
    if run is not None:
        out.append(to_text(run).rstrip())
        out.append(Table(methods(run), ("step", "who and what", "in ZooKeeper"), right=0))
    return out


@dataclass(frozen=True, repr=False)
class TrackRecord(Answered):
    """Known bugs of ZooKeeper, reproduced: 0 if each row is as recorded, 1 if one has changed, 3 if one has no verdict.

    Attributes:
        request: the request.
        rows: each with the run that violates a property of its release, and the effect of its fix.
        named: whether the request names rows, whose stories are then told.
        split: whether steps were explored unmerged.
        unsaved: what could not be saved.
    """

    request: Request
    rows: Sequence[RowOutcome]
    named: bool
    split: bool
    unsaved: Sequence[str] = ()

    kind = "zookeeper"

    @property
    def changed(self) -> Sequence[RowOutcome]:
        """The rows that are not as recorded."""
        return [one for one in self.rows if not one.as_recorded and not one.undecided]

    @property
    def exit_code(self) -> int:
        if self.unsaved:
            return NO_VERDICT
        return VIOLATED if self.changed else NO_VERDICT if any(one.undecided for one in self.rows) else HELD

    @property
    def sentence(self) -> str:
        found, undecided = sum(one.found for one in self.rows), sum(one.undecided for one in self.rows)
        more = f"; {undecided} have no verdict" if undecided else ""
        return f"{found} of {len(self.rows)} rows are reproduced; {len(self.changed) or 'none'} changed{more}"

    @property
    def long(self) -> bool:  # type: ignore[override]
        return self.named

    def parts(self) -> Sequence[Part]:
        stories = [part for one in self.rows for part in story_parts(one)] if self.named else []
        merged = "" if self.split else f"\n{merged_by_promise()}; --split does not merge steps"
        return [*stories, Table([told(one) for one in self.rows], HEAD, below=self.sentence + merged)]

    def details(self) -> dict[str, Any]:
        return {"rows": [row_object(one) for one in self.rows]}

    def said(self) -> Iterator[Verdict]:
        return map(verdict, self.rows)

    def drawing(self) -> str:
        """Return, for a single row with a run, a page with its story and its run; otherwise nothing."""
        from traces.pictures.html import page

        run = self.rows[0].without.trace if len(self.rows) == 1 else None
        return "" if run is None else page(run, story=story(self.rows[0]))

    @property
    def outputs(self) -> Sequence[tuple[Path, bytes]]:
        page = self.request.outputs.get("html")
        drawn = self.drawing() if page else ""
        return [(page, drawn.encode())] if page and drawn else []

    def save(self) -> TrackRecord:
        """Save the run of a single row, if the request names a file for it; return the answer with what failed."""
        from traces import TraceError, write_trace

        if not self.request.outputs:
            return self
        run = self.rows[0].without.trace
        if run is None:
            missing = f"ZK-{self.rows[0].row.issue} violates nothing, so there is no run to save or draw"
            return replace(self, unsaved=[missing])
        try:
            if trace := self.request.outputs.get("trace"):
                write_trace(run, trace)
        except TraceError as problem:
            return replace(self, unsaved=[str(problem)])
        return self


def verdict(one: RowOutcome) -> Verdict:
    """Return the verdict on a row, with the run that violates a property of its release."""
    said = "no verdict" if one.undecided else "found" if one.found else "not found"
    why = "" if one.as_recorded or one.undecided else "this has changed"
    return Verdict(f"ZK-{one.row.issue}", said, one.without.depth or None, why, one.without.trace)


def row_object(one: RowOutcome) -> dict[str, Any]:
    """Return a row as JSON values."""
    row, a, b = one.row, one.without, one.repaired
    return {
        "row": f"ZK-{row.issue}", "release": row.number or row.release, "settings": settings(row),
        "property": row.breaks, "depth": a.depth or None,
        "states": a.states, "fix": list(row.fix), "depth_with_fix": b.depth or None, "states_with_fix": b.states,
        "reproduced": one.found, "as_recorded": one.as_recorded if one.recorded else None, "undecided": one.undecided,
    }  # fmt: skip


def merged_by_promise() -> str:
    """Return the sentence on the assumption of every answer about merged steps."""
    return f"holds: with steps merged by promise of variant {MERGED} ({PAGE})"


def told(one: RowOutcome) -> tuple[str, ...]:
    """Return a row of the table."""
    row, a, b = one.row, one.without, one.repaired
    verdict = f"breaks at {b.depth}" if b.depth else b.trouble or "holds"
    state = ("found" if one.found else "not found") + ("" if one.as_recorded else ", CHANGED")
    state += "" if one.recorded else ", not recorded"
    state = "no verdict" if one.undecided else state
    return (
        f"ZK-{row.issue}", asked(row), row.breaks, str(a.depth) if a.depth else a.trouble or "holds", f"{a.states:,}",
        f"{a.seconds:.1f}", ",".join(row.fix), verdict, f"{b.states:,}", row.published, state,
    )  # fmt: skip
