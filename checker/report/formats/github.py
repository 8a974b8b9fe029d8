"""Output for GitHub Actions: annotations, which are lines on stdout, and the summary of a step, a file.

The formats are those of "Workflow commands for GitHub Actions".
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from checker.report.result import ReportPlace, Result
from checker.report.sources import from_top

IN_DATA = (("%", "%25"), ("\r", "%0D"), ("\n", "%0A"))
IN_PROPERTY = (*IN_DATA, (":", "%3A"), (",", "%2C"))


def annotation_lines(result: Result) -> list[str]:
    """Return a line for each finding."""
    out = []
    for f in result.findings:
        where = nearest(f.places, result.root)
        out.append(annotation(f.level, f"{f.of}: {f.what}", f.says, where, result.root))
    return out


def nearest(where: Sequence[ReportPlace], root: Path) -> ReportPlace | None:
    """Return the first of some places that is below the root: the handler, if the source is in this repository."""
    below = (p for p in where if from_top(p.path, root) is not None)
    return next(below, next(iter(where), None))


def annotation(level: str, title: str, says: str, place: ReportPlace | None, root: Path) -> str:
    """Return the line that shows a sentence beside a line of a file.

    Args:
        level: `error`, `warning` or `notice`.
        place: where; None for a sentence without a place.
        root: the top of the repository; a place outside it is named in the sentence, as GitHub could not show it.
    """
    given: dict[str, str] = {}
    if place is not None:
        inside = from_top(place.path, root)
        if inside is not None:
            given = {"file": str(inside), **({"line": str(place.line)} if place.line else {})}
        else:
            says = f"{says} ({place.path.name}:{place.line})"
    given["title"] = title
    told = ",".join(f"{name}={escaped(value, IN_PROPERTY)}" for name, value in given.items())
    return f"::{level} {told}::{escaped(says, IN_DATA)}"


def escaped(text: str, table: tuple[tuple[str, str], ...]) -> str:
    for what, instead in table:
        text = text.replace(what, instead)
    return text
