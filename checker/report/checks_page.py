"""Write the outcomes of checks, or of the gallery, as one page beside the pages of their runs."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from checker.ci.judging import AS_EXPECTED, DIFFERS, KNOWN, NOT_RUN, Outcome, expected, found, statement_of
from checker.plain_text import plain
from traces.pages.shell import environment

if TYPE_CHECKING:
    from checker.ci.result import Checked

COLOURS = {DIFFERS: "bad", AS_EXPECTED: "good", KNOWN: "good"}


def index_of(result: Checked, drawn: Collection[str]) -> str:
    """Return the page of all outcomes.

    Args:
        drawn: the names of the runs that have a page of their own beside it.
    """
    ran = [o for o in result.outcomes if o.status != NOT_RUN]
    return (
        environment("checker.report")
        .get_template("check.html.j2")
        .render(
            sentence=plain(result.sentence), what=result.what, rows=[row_of(result, o, drawn) for o in ran],
            left_out=len(result.outcomes) - len(ran), notes=[plain(note) for note in result.notes()],
        )
    )  # fmt: skip


def row_of(result: Checked, o: Outcome, drawn: Collection[str]) -> dict[str, Any]:
    """Return the row of a check on the page."""
    made = o.found
    runs = [name for name, _ in result.runs_of(o) if name in drawn]
    return {
        "name": plain(o.check.name),
        "status": o.status,
        "colour": COLOURS.get(o.status, "warn"),
        "statement": plain(statement_of(o.check)),
        "expected": plain(expected(o.check.expect)),
        "outcome": plain(found(o)) if made is not None else "",
        "states": f"{made.states:,}" if made is not None and made.states is not None else "",
        "runs": [(plain(name.removeprefix(f"{o.check.name}-")), f"{quote(name)}.html") for name in runs],
    }
