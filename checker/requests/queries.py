"""Write every query to z3 to a file, while a request is answered (docs/how-to/prove-a-protocol.md)."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from os import PathLike
from pathlib import Path
from typing import Annotated

from checker.errors import RequestError
from checker.requests.request import File, Option

Queries = Annotated[
    File,
    Option("Write every query as an SMT-LIB file into this new or empty folder, with a list of them.", place="folder"),
]


@contextlib.contextmanager
def queries_into(given: str | PathLike[str] | None, note: str = "") -> Iterator[None]:
    """Write the queries to z3 within into a folder, with a list of them; None or empty to write nothing.

    Raises:
        RequestError: the folder is neither new nor empty.
        NoVerdict: a query cannot be written.
    """
    if not given:
        yield
        return
    folder = Path(given)
    from checker.symbolic.smt2 import index, record_into

    make_ready(folder)
    record_into(folder)
    try:
        yield
        index(folder, sys.argv[1:], note)
    finally:
        record_into(None)


def make_ready(folder: Path, option: str = "--smt2") -> None:
    """Make the folder, unless it exists and is empty.

    Args:
        option: the one that names it.

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
