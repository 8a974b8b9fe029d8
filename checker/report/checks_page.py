"""Write the outcomes of checks, or of the gallery, as one page beside the pages of their runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote

from checker.ci.judging import AS_EXPECTED, DIFFERS, NOT_RUN, CheckOutcome, expected, found, statement_of
from checker.plain_text import plain
from traces.pages.shell import environment

COLOURS = {DIFFERS: "bad", AS_EXPECTED: "good"}


def index_of(
    sentence: str,
    what: str,
    outcomes: Sequence[CheckOutcome],
    runs: Mapping[str, Sequence[str]],
    notes: Sequence[Sequence[str]],
) -> str:
    """Return the page of all outcomes.

    Args:
        sentence: what came out.
        what: the noun for a check.
        runs: by check, the names of its runs that have a page of their own beside it.
        notes: of each check that is not as expected, why, line by line.
    """
    ran = [o for o in outcomes if o.status != NOT_RUN]
    return (
        environment("checker.report")
        .get_template("check.html.j2")
        .render(
            sentence=plain(sentence), what=what, rows=[row_of(o, runs[o.check.name]) for o in ran],
            left_out=len(outcomes) - len(ran), notes=[plain("\n".join(lines)) for lines in notes],
        )
    )  # fmt: skip


def row_of(o: CheckOutcome, runs: Sequence[str]) -> dict[str, Any]:
    """Return the row of a check on the page."""
    made = o.found
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
