"""Run a matrix of named checks, and compare each with its expected result."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar

from checker.requests.base.outcomes import OutcomesRequest
from checker.requests.base.request import File, Option, Words, function, names_in
from checker.requests.base.watch import QUIET, Watch

if TYPE_CHECKING:
    from checker.ci.result import Checked


@dataclass(frozen=True)
class CheckRequest(OutcomesRequest):
    """Run the checks of zabcheck.toml and compare the results with its expectations.

    Exit codes: 0 all as expected; 1 something differs: a new violation, one that vanished, a premise no longer reached,
    a changed figure; 2 the file or the request is wrong; 3 some check has no verdict.

    Examples:
      zabcheck check                           zabcheck.toml, or pyproject.toml with a table tool.zabcheck
      zabcheck check course                    the same in another folder
      zabcheck check --only joins --only agrees
      zabcheck check ci/zabcheck.toml --junit zabcheck.xml
      zabcheck check --github --changed-since origin/main
    """

    kind: ClassVar[str] = "check"

    file: Annotated[File | None, Option(place="read any", argument=True, metavar="[FILE]")] = None
    only: Annotated[Words, Option("Run only this check (repeatable).", metavar="NAME")] = ()
    changed_since: Annotated[
        str | None,
        Option(
            "Run only checks that can be affected by changes since this commit, as git reports them.", metavar="REV"
        ),
    ] = None

    def answer(self, watch: Watch = QUIET) -> Checked:
        from checker.ci.changed import changed_lines
        from checker.ci.configuration import matrix_file, read_matrix
        from checker.ci.selection import chosen, result_of

        self.check_folders()
        matrix = read_matrix(matrix_file(Path(self.file or "")))
        left = chosen(matrix, names_in(self.only), self.changed_since)
        since = changed_lines(matrix, self.changed_since) if self.changed_since is not None else {}
        found = result_of(matrix, left)
        return replace(found, changed=since, request=self).save()


check = function(CheckRequest)
