"""Write the outcomes of checks, or of the gallery, as one page beside the pages of their runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from urllib.parse import quote

from checker.ci.judging import AS_EXPECTED, DIFFERS, NOT_RUN, UNDECIDED, CheckOutcome, expected, found, statement_of
from checker.report.escaped import template

COLOURS = {DIFFERS: "bad", UNDECIDED: "warn", AS_EXPECTED: "good"}  # the worst first


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
    return template("check.html.j2").render(
        sentence=sentence, what=what, outcomes=ran, runs=runs, quote=quote, left_out=len(outcomes) - len(ran),
        notes=["\n".join(lines) for lines in notes], shades=COLOURS, statement_of=statement_of, expected=expected,
        found=found, worst=next((c for status, c in COLOURS.items() if any(o.status == status for o in ran)), "good"),
    )  # fmt: skip
