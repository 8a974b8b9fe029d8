"""Add to the report of an exploration the gallery's advice, and what is known of its properties by other means."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from checker.ci.advice import advised
from checker.report.evidence import Gathered
from checker.requests.explore import EXPLORED
from zabspec.joining import NotInstalled, joined_as

if TYPE_CHECKING:
    from checker.report.report import Explored
    from checker.requests.base.watch import Watch
    from checker.requests.explore import Explore


def completed(report: Explored, request: Explore, watch: Watch) -> Explored:
    """Return the report with the gallery's advice, and with evidence by the entry point `evidence`.

    Raises:
        RequestError, NoVerdict: as for the commands that compute evidence.
    """
    report = advised(report)
    if request.evidence == EXPLORED:
        return report
    try:
        with_evidence = joined_as("evidence", "evidence")
    except NotInstalled as problem:
        return replace(report, evidence=Gathered(nothing=str(problem)))
    with watch.working() as tell:
        found: Explored = with_evidence(report, request, tell)
    return found
