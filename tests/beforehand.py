"""What has to be so before a test imports anything of the project.

The project's own packages are imported as they are, though pytest would rewrite their assertions, since zabcheck is a
plugin of it: what is compiled is kept under a key that has the code of the compiler, and rewritten code would be
another's, so that every model that a test compiles, and a command or a task that it starts compiles as well, would be
compiled twice.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType

PACKAGES = ("zabspec", "invariants", "traces", "checker", "zabcheck")


class AsTheyAre(MetaPathFinder):
    """Finds the project's modules as Python does; in front of pytest's finder, which rewrites what it finds."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        return PathFinder.find_spec(fullname, path, target) if fullname.partition(".")[0] in PACKAGES else None


sys.meta_path.insert(0, AsTheyAre())

from zabspec.language.native.jit import cache_folder  # noqa: E402


def keep_bytecode() -> None:
    """Where the environment says that bytecode is not to be written beside its text, it is kept beside the cache
    folder: the tests start hundreds of processes, each of which would compile all that it imports."""
    if sys.dont_write_bytecode and os.environ.pop("PYTHONDONTWRITEBYTECODE", None):
        folder = cache_folder()
        sys.dont_write_bytecode = False
        sys.pycache_prefix = os.environ["PYTHONPYCACHEPREFIX"] = str(folder.with_name(f"{folder.name}-bytecode"))
