"""Report rows of the track record: a table, and the story of each row that was named."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from checker.ending import HELD, NO_VERDICT, VIOLATED
from checker.report.promises import PAGE
from checker.report.result import Part, StatedResult, Table, Verdict, Words
from checker.zookeeper.record import MERGED
from checker.zookeeper.story import asked, headline, methods, settings, story

if TYPE_CHECKING:
    from checker.zookeeper.record import RowOutcome


def story_parts(one: RowOutcome) -> list[Part]:
    """Return the story of a row: what happens, the run, and the Java method of each step."""
    from traces import to_text

    out: list[Part] = [Words([headline(one)]), Table(story(one))]
    run = one.without.trace
    if run is not None:
        out.append(to_text(run).rstrip())
        out.append(Table(methods(run), ("step", "who and what", "in ZooKeeper"), right=0))
    return out


def rows_result(
    request: Mapping[str, Any], asked: Sequence[RowOutcome], split: bool = False, stories: Sequence[Part] = ()
) -> StatedResult:
    """Return the result of rows: exit code 0 if each is as recorded, 1 if one has changed, 3 if one has no verdict.

    Args:
        request: the one that it answers, as JSON.
        split: whether each step was explored separately.
        stories: the parts before the table.
    """
    undecided = [one for one in asked if one.undecided]
    changed = [one for one in asked if not one.as_recorded and not one.undecided]
    found = sum(one.found for one in asked)
    more = f"; {len(undecided)} have no verdict" if undecided else ""
    sentence = f"{found} of {len(asked)} rows are reproduced; {len(changed) or 'none'} changed{more}"
    merged = "" if split else f"\n{merged_by_promise()}; --split does not merge steps"
    head = (
        "bug",
        "release",
        "breaks",
        "steps",
        "states",
        "seconds",
        "its fix",
        "with it",
        "states",
        "published",
        "row",
    )
    code = VIOLATED if changed else NO_VERDICT if undecided else HELD
    rows = [Table([told(one) for one in asked], head, below=sentence + merged)]
    content = {
        "request": dict(request),
        "sentence": sentence,
        "exit_code": code,
        "rows": [row_object(x) for x in asked],
    }
    verdicts = [verdict(one) for one in asked]
    return StatedResult(sentence, code, content, [*stories, *rows], judged=verdicts, kind="zookeeper")


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
