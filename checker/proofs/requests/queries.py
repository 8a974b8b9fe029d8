"""Write every query to z3 to a file, while a request is answered (docs/how-to/prove-a-protocol.md)."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from os import PathLike
from pathlib import Path
from typing import Annotated

from checker.output_files import check_empty
from checker.requests.base.request import File, Option

Queries = Annotated[
    File,
    Option("Write every query as an SMT-LIB file into this new or empty folder, with a list of them.", place="folder"),
]


@contextlib.contextmanager
def queries_into(given: str | PathLike[str] | None) -> Iterator[None]:
    """Write the queries to z3 within into a folder, with a list of them; None or empty to write nothing.

    Raises:
        RequestError: the folder is neither new nor empty.
        NoVerdict: a query cannot be written.
    """
    if not given:
        yield
        return
    folder = Path(given)
    from checker.proofs.symbolic.smt2 import index, record_into

    check_empty(folder, "--smt2")
    record_into(folder)
    try:
        yield
        index(folder, sys.argv[1:])
    finally:
        record_into(None)
