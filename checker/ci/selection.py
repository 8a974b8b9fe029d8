"""Select the checks of a file that are run, and run them."""

from __future__ import annotations

from collections.abc import Sequence

from checker.ci.changed import touched
from checker.ci.configuration import Check, Matrix, MatrixError
from checker.ci.judging import left_out
from checker.ci.result import Checked
from checker.ci.running import asked_by, outcomes
from checker.report.progress import StatusLine
from zabspec.typed import near


def chosen(matrix: Matrix, only: Sequence[str], revision: str | None) -> dict[str, str]:
    """Return the checks that are skipped, each with the reason.

    Raises:
        MatrixError: there is no such check, or no such commit.
    """
    names = [c.name for c in matrix.checks]
    for name in only:
        if name not in names:
            raise MatrixError(f"there is no check {name!r}{near(name, names) or '; there are ' + ', '.join(names)}")
    out = {name: "another check was requested" for name in names if only and name not in only}
    if revision is not None:
        kept = {c.name for c in touched(matrix, revision)}
        out |= {name: f"nothing that it depends on has changed since {revision}" for name in names if name not in kept}
    return out


def result_of(matrix: Matrix, left: dict[str, str], what: str = "check") -> Checked:
    """Run the checks that are not skipped.

    Raises:
        MatrixError: a request is wrong.
    """
    asked = asked_by(matrix, [c for c in matrix.checks if c.name not in left])
    with StatusLine() as line:
        begun = iter(range(1, len(asked) + 1))

        def watch(check: Check) -> None:
            said = f"{check.name} ({next(begun)} of {len(asked)})"
            if line.terminal:
                line.show(said)
            elif line.due_seldom():
                line.say(said)

        found = {o.check.name: o for o in outcomes(asked, watch)}
    whole = [found.get(c.name) or left_out(c, left[c.name]) for c in matrix.checks]
    return Checked(matrix.path, whole, what)
