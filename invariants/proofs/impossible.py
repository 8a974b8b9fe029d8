"""List the steps of `zab`, and the paper's steps, that no state allows in which the clauses hold."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.resources import files

FILE = "impossible.txt"
NO_STATE = "no state"  # of what no state allows, whatever it satisfies

HEAD = """\
# Moves, and steps of the paper, that no state allows in which the clauses hold, with the clauses that forbid each.
# Where anything else is never possible `zabcheck induct` ends with 3: every clause is kept by what is never done.
"""


@cache
def impossible() -> Mapping[str, tuple[str, ...]]:
    """Return the clauses that forbid each impossible move and step of the paper; empty if no state at all allows it.

    A move is named with its processes numbered as they come, a step of the paper with the number of processes.
    """
    found: dict[str, tuple[str, ...]] = {}
    for line in files(__package__).joinpath(FILE).read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            what, _, clauses = line.rpartition(": ")
            found[what] = () if clauses == NO_STATE else tuple(clauses.split(", "))
    return found


def lines(found: Mapping[str, tuple[str, ...]]) -> str:
    """Return the content of the file that lists them."""
    return HEAD + "".join(f"{what}: {', '.join(clauses) or NO_STATE}\n" for what, clauses in found.items())
