"""Read and write which hypotheses each query needs, in `needs.txt`, which `benchmarks/find_needs.py` made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

FILE = Path(__file__).with_name("needs.txt")
HEAD = (
    "# Which hypotheses each query of the proof needs: a query, and under it, indented, their names.",
    "# Written by `python -m benchmarks.find_needs`; do not edit.",
)
INDENT = "    "


def needs_in(text: str) -> dict[str, tuple[str, ...]]:
    """Return by query the names of the hypotheses that it needs.

    Raises:
        ValueError: the text names a query twice, or a hypothesis before any query.
    """
    found: dict[str, list[str]] = {}
    names: list[str] | None = None
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("#"):
            continue
        if line.startswith(INDENT):
            if names is None:
                raise ValueError(f"line {number}: {line.strip()} belongs to no query")
            names.append(line.strip())
        elif line in found:
            raise ValueError(f"line {number}: {line} is listed twice")
        else:
            names = found[line] = []
    return {query: tuple(names) for query, names in found.items()}


def needs_text(needs: Mapping[str, Sequence[str]]) -> str:
    """Return the content of `needs.txt` for the hypotheses of each query, as `needs_in` reads it."""
    lines = [line for query, names in needs.items() for line in (query, *(INDENT + name for name in names))]
    return "\n".join([*HEAD, *lines]) + "\n"


NEEDS = needs_in(FILE.read_text(encoding="utf-8"))
