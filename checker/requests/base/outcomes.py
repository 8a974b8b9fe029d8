"""Where what was found by checks, or by entries of the gallery, is saved and shown."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from checker.errors import RequestError
from checker.requests.base.request import File, Option, Request


@dataclass(frozen=True, kw_only=True)
class OutcomesRequest(Request):
    """A request whose answer has the outcomes of checks, and where their runs go."""

    traces: Annotated[
        File, Option("Save the runs of new violations in this folder, to be replayed.", place="folder")
    ] = ""
    html: Annotated[
        File, Option("Save a page of all checks in this folder, and one page for each violation.", place="folder")
    ] = ""
    github: Annotated[bool, Option("Print annotations for GitHub Actions.", text=True)] = False

    def check_folders(self) -> None:
        """Check that the folders exist.

        Raises:
            RequestError: one does not.
        """
        for name in ("traces", "html"):
            if (folder := getattr(self, name)) and not Path(folder).is_dir():
                raise RequestError(f"--{name} {folder}: there is no such folder")
