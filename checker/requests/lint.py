"""Report mistakes of a protocol's file."""

from __future__ import annotations

from dataclasses import dataclass
from os import fspath
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar

from checker.errors import RequestError
from checker.requests.base.request import File, Option, Request, function
from checker.requests.base.watch import QUIET, Watch

if TYPE_CHECKING:
    from checker.report.linted import Linted


@dataclass(frozen=True)
class Lint(Request):
    """Report mistakes in a protocol's file: the line, what is wrong, and what to write.

    These are the first of its declarations, or the first of each function; without any, what has no effect.

    Exit codes: 0 no mistakes; 1 mistakes; 2 the file cannot be read.

    Examples:
      zabcheck init tpc.py
      zabcheck lint tpc.py --json
      zabcheck lint tpc.py --github
    """

    kind: ClassVar[str] = "lint"

    file: Annotated[File, Option(place="read", argument=True)] = ""
    github: Annotated[bool, Option("Print annotations for GitHub Actions.", text=True)] = False

    def validate(self) -> None:
        if not fspath(self.file).endswith(".py"):
            raise RequestError(f"{self.file}: a protocol is a file that ends in .py")

    def answer(self, watch: Watch = QUIET) -> Linted:
        from checker.report.linted import Linted
        from checker.requests.base.mistakes import mistakes_in

        return Linted(fspath(self.file), mistakes_in(Path(self.file)), self.github, self)


lint = function(Lint)
