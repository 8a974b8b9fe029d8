"""Find the top of the sources of a file: the folder that paths are relative to, whatever the current folder."""

from __future__ import annotations

import os
from pathlib import Path, PurePosixPath


def top_of(file: Path) -> Path:
    """Return git's top level above a file; outside git, the file's own folder."""
    for whole in (os.path.abspath(file), os.path.realpath(file)):
        for folder in Path(whole).parents:
            if os.path.exists(folder / ".git"):  # in a worktree it is a file
                return folder
    return Path(os.path.abspath(file)).parent


def from_top(path: Path, top: Path) -> PurePosixPath | None:
    """Return a path relative to the top of the sources, or None if it is not below it."""
    for name in (os.path.abspath, os.path.realpath):
        whole, above = Path(name(path)), Path(name(top))
        if whole.is_relative_to(above):
            return PurePosixPath(whole.relative_to(above).as_posix())
    return None
