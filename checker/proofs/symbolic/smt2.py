"""Write every query to z3 as a file of SMT-LIB 2.6, for another solver (docs/how-to/prove-a-protocol.md).

A query is written after it is answered, with the answer as the status that another solver is expected to give: `unsat`,
`sat`, or `unknown`. Its file is named for its subject: the words of every `about` around it, and a number if the same
is queried again. Assertions of the solver that cannot matter to a query (earlier queries, each behind a switch that is
off) are left out, so that a file is the same in whichever order queries are run.
"""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import z3

from checker.errors import NoVerdict
from zabspec.files import write_whole

INDEX = "index.json"
HEAD = "; zabcheck query: "
LONGEST = 120  # characters of a file's name

_folder: Path | None = None
_words: list[str] = []
_written: dict[str, int] = {}  # how often each name was used


class NotWritten(NoVerdict):
    """A query could not be written; the message is one sentence."""


def record_into(folder: str | Path | None) -> None:
    """Write every query of this process into a folder from now on; None to stop."""
    global _folder
    _folder = Path(folder) if folder else None
    _words.clear()
    _written.clear()


def is_recording() -> bool:
    """Return whether queries are written."""
    return _folder is not None


@contextlib.contextmanager
def about(*words: object) -> Iterator[None]:
    """Name the subject of the queries within: a clause, an action. Files are named so."""
    said = [str(word) for word in words if str(word)]
    _words.extend(said)
    try:
        yield
    finally:
        del _words[len(_words) - len(said) :]


def record(assertions: Sequence[z3.BoolRef], status: str, seconds: float) -> None:
    """Write a query.

    Args:
        assertions: the formulas that are to have a model.
        status: z3's answer: `unsat`, `sat` or `unknown`.
        seconds: its time.

    Raises:
        NotWritten: the file cannot be written.
    """
    if _folder is None:
        return
    query = " ".join(_words) or "query"
    plain = re.sub(r"[^A-Za-z0-9]+", "-", query).strip("-")[:LONGEST] or "query"
    _written[plain] = count = _written.get(plain, 0) + 1
    name = plain if count == 1 else f"{plain}-{count}"
    head = {"query": query, "number": count, "status": status, "seconds": round(seconds, 4)}
    text = f"{HEAD}{json.dumps(head)}\n(set-logic ALL)\n(set-info :status {status})\n{body(assertions)}"
    path = _folder / f"{name}.smt2"
    try:
        write_whole(path, text.encode())
    except OSError as problem:
        raise NotWritten(f"cannot write {path}: {problem.strerror}") from None


def body(assertions: Sequence[z3.BoolRef]) -> str:
    """Return declarations, assertions and the check, as z3 prints them."""
    solver = z3.Solver(ctx=assertions[0].ctx) if assertions else z3.Solver()
    solver.add(*assertions)
    lines = solver.to_smt2().splitlines()
    return "\n".join(line for line in lines if not line.startswith((";", "(set-info", "(set-logic"))) + "\n"


def index(folder: Path, command: Sequence[str]) -> dict[str, Any]:
    """Write the list of the queries in a folder, each with the answer expected; return it.

    Args:
        command: the one that ran them.

    Raises:
        NotWritten: it cannot be written, or a query cannot be read again.
    """
    path = folder / INDEX
    try:
        queries = [listed(file) for file in sorted(folder.glob("*.smt2"))]
        made = {"command": list(command), "solver": f"z3 {z3.get_version_string()}", "queries": queries}
        write_whole(path, (json.dumps(made, indent=1) + "\n").encode())
    except (OSError, ValueError) as problem:
        raise NotWritten(f"cannot write {path}: {getattr(problem, 'strerror', None) or problem}") from None
    return made


def listed(file: Path) -> dict[str, Any]:
    """Return a query's row in the list."""
    with file.open(encoding="utf-8") as lines:
        first = lines.readline()
    if not first.startswith(HEAD):
        raise ValueError(f"{file.name} is not a query that was written here")
    return {"file": file.name, **json.loads(first.removeprefix(HEAD))}
