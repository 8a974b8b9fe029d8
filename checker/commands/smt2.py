"""The option `--smt2 DIR` of the commands that ask z3: every query as a file (docs/smt2.md)."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from pathlib import Path

import click

from checker.commands.common import PATH, Cannot

__all__ = ["NO_QUERIES", "SMT2", "queries_into"]

SMT2 = click.option(
    "--smt2", type=PATH, metavar="DIR",
    help="Write every query as SMT-LIB into this new or empty folder, one file each, and a list of them.",
)  # fmt: skip
NO_QUERIES = "nothing is asked of a solver here: both protocols are explored side by side"


@contextlib.contextmanager
def queries_into(folder: Path | None, note: str = "") -> Iterator[None]:
    """Write what is asked of z3 meanwhile into a folder, and the list of it; None: nothing is written.

    Raises:
        UsageError: the folder is no new or empty one.
        Cannot: a query cannot be written.
    """
    if folder is None:
        yield
        return
    from checker.symbolic.smt2 import NotWritten, index, record_into

    make_ready(folder)
    record_into(folder)
    try:
        yield
        index(folder, sys.argv[1:], note)
    except NotWritten as problem:
        raise Cannot(str(problem)) from None
    finally:
        record_into(None)


def make_ready(folder: Path) -> None:
    """Make the folder, unless it is there and empty.

    Raises:
        UsageError: it cannot be used.
    """
    try:
        folder.mkdir(exist_ok=True)
        if any(folder.iterdir()):
            raise click.UsageError(f"--smt2 {folder}: the folder is not empty")
        probe = folder / ".zabcheck"
        probe.touch()
        probe.unlink()
    except (OSError, ValueError) as problem:
        reason = getattr(problem, "strerror", None) or str(problem)
        raise click.UsageError(f"--smt2 {folder}: {reason}") from None
