"""Write every query to z3 as a file, while a request is answered (docs/how-to/prove-a-protocol.md)."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from pathlib import Path

from checker.errors import NoVerdict, RequestError

__all__ = ["queries_into"]


@contextlib.contextmanager
def queries_into(given: Path | str | None, note: str = "") -> Iterator[None]:
    """Write what is asked of z3 meanwhile into a folder, and the list of it; None or empty: nothing is written.

    Raises:
        RequestError: the folder is no new or empty one.
        NoVerdict: a query cannot be written.
    """
    if not given:
        yield
        return
    folder = Path(given)
    from checker.symbolic.smt2 import NotWritten, index, record_into

    make_ready(folder)
    record_into(folder)
    try:
        yield
        index(folder, sys.argv[1:], note)
    except NotWritten as problem:
        raise NoVerdict(str(problem)) from None
    finally:
        record_into(None)


def make_ready(folder: Path, option: str = "--smt2") -> None:
    """Make the folder, unless it is there and empty.

    Args:
        option: which names it.

    Raises:
        RequestError: it cannot be used.
    """
    try:
        folder.mkdir(exist_ok=True)
        empty = not any(folder.iterdir())
        if empty:
            probe = folder / ".zabcheck"
            probe.touch()
            probe.unlink()
    except (OSError, ValueError) as problem:
        reason = getattr(problem, "strerror", None) or str(problem)
        raise RequestError(f"{option} {folder}: {reason}") from None
    if not empty:
        raise RequestError(f"{option} {folder}: the folder is not empty")
