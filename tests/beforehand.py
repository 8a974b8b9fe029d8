"""What is done once for all processes of the tests, that each would do for itself otherwise.

pytest rewrites the assertions of each file of the tests that it imports. In a clean tree that is seconds of work, which
every worker of pytest-xdist would do at the same time as the others. It is done before they begin, by pytest's own
functions, which nobody promises: without them workers begin later, and that is all.

The project's own packages are taken as they are, though pytest would rewrite them: what is compiled is kept under a key
that has the code of the compiler, and rewritten code would be another's, so that every model that a test compiles, and
a command or a task that it starts compiles as well, would be compiled twice.
"""

from __future__ import annotations

import contextlib
import gc
import os
import sys
from pathlib import Path

import pytest
from _pytest.assertion import rewrite as made

PACKAGES = ("zabspec", "invariants", "traces", "checker", "zabcheck")
TOP = Path(__file__).parent.parent


def leave_packages() -> None:
    """What is imported of the project from here on is not rewritten."""
    for finder in sys.meta_path:
        if isinstance(finder, made.AssertionRewritingHook):
            with contextlib.suppress(Exception):
                finder._must_rewrite.difference_update(PACKAGES)
                finder._marked_for_rewrite_cache.clear()


leave_packages()

from zabspec.language.jit import cache_folder  # noqa: E402


def keep_bytecode() -> None:
    """Where the environment says that bytecode is not to be written beside its text, it is kept beside the cache
    folder: the tests start hundreds of processes, each of which would compile all that it imports."""
    if sys.dont_write_bytecode and os.environ.pop("PYTHONDONTWRITEBYTECODE", None):
        folder = cache_folder()
        sys.dont_write_bytecode = False
        sys.pycache_prefix = os.environ["PYTHONPYCACHEPREFIX"] = str(folder.with_name(f"{folder.name}-bytecode"))


def rewrite(config: pytest.Config) -> None:
    """Rewrite what is imported, on two cores, if several workers are to begin."""
    if getattr(config.option, "numprocesses", None) and not hasattr(config, "workerinput"):
        gc.disable()  # syntax is in no circle
        with contextlib.suppress(Exception):
            rewrite_files(config)
        gc.enable()


def rewrite_files(config: pytest.Config) -> None:
    """Keep what pytest makes of each file where it looks for it, unless it is there."""
    state = config.stash[made.assertstate_key]
    files = sorted((TOP / "tests").rglob("*.py"), key=lambda file: file.stat().st_size)
    child = os.fork()
    for path in files[child == 0 :: 2]:
        folder = made.get_cache_dir(path)
        kept = folder / f"{path.stem}{made.PYC_TAIL}"
        with contextlib.suppress(Exception):
            if made._read_pyc(path, kept) is None and made.try_makedirs(folder):
                source, code = made._rewrite_test(path, config)
                made._write_pyc(state, code, source, kept)
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)
