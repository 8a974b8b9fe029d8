"""Every query of the one door to z3 as a file of SMT-LIB 2.6, for another solver (docs/how-to/prove-a-protocol.md).

A query is written after it is answered, with the answer as the status that another solver is expected to give: `unsat`,
`sat`, or `unknown`. Its file is named for what is asked: the words of every `about` around it, and a number where the
same is asked again. What a solver knows that cannot matter to a query (questions that were asked before, each behind a
switch that is off) is left out, so that a file is the same in whichever order queries are asked.
"""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import z3

from zabspec.files import write_whole

__all__ = ["INDEX", "NotWritten", "about", "index", "is_recording", "record", "record_into"]

INDEX = "index.json"
HEAD = "; zabcheck query: "
LONGEST = 120  # characters of a file's name

_folder: Path | None = None
_words: list[str] = []
_written: dict[str, int] = {}  # how often a name was given


class NotWritten(Exception):
    """A query could not be written: one sentence."""


def record_into(folder: str | Path | None) -> None:
    """Write every query of this process into a folder from now on; None: none."""
    global _folder
    _folder = Path(folder) if folder else None
    _words.clear()
    _written.clear()


def is_recording() -> bool:
    """Whether queries are written."""
    return _folder is not None


@contextlib.contextmanager
def about(*words: object) -> Iterator[None]:
    """Say what is asked meanwhile: a clause, an action. Files are named so."""
    said = [str(word) for word in words if str(word)]
    _words.extend(said)
    try:
        yield
    finally:
        del _words[len(_words) - len(said) :]


def record(assertions: Sequence[z3.BoolRef], status: str, seconds: float) -> None:
    """Write a query.

    Args:
        assertions: what is asked to have a model.
        status: `unsat`, `sat` or `unknown`: what z3 answered.
        seconds: that it took.

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
    """Declarations, assertions and the question, as z3 prints them."""
    solver = z3.Solver(ctx=assertions[0].ctx) if assertions else z3.Solver()
    solver.add(*assertions)
    lines = solver.to_smt2().splitlines()
    return "\n".join(line for line in lines if not line.startswith((";", "(set-info", "(set-logic"))) + "\n"


def index(folder: Path, command: Sequence[str], note: str = "") -> dict[str, Any]:
    """Write the list of the queries in a folder, each with the answer expected; returns it.

    Args:
        command: what asked them.
        note: what a reader has to know of the list.

    Raises:
        NotWritten: it cannot be written, or a query cannot be read again.
    """
    path = folder / INDEX
    try:
        queries = [listed(file) for file in sorted(folder.glob("*.smt2"))]
        made = {"command": list(command), "solver": f"z3 {z3.get_version_string()}", "queries": queries}
        made |= {"note": note} if note else {}
        write_whole(path, (json.dumps(made, indent=1) + "\n").encode())
    except (OSError, ValueError) as problem:
        raise NotWritten(f"cannot write {path}: {getattr(problem, 'strerror', None) or problem}") from None
    return made


def listed(file: Path) -> dict[str, Any]:
    """A query's row in the list."""
    with file.open(encoding="utf-8") as lines:
        first = lines.readline()
    if not first.startswith(HEAD):
        raise ValueError(f"{file.name} is not a query that was written here")
    return {"file": file.name, **json.loads(first.removeprefix(HEAD))}
