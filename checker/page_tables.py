"""Write the tables of pages that state what code or data files state already, in place of `<!-- generated: NAME -->`.

The site and `zabcheck docs` show a page with these tables; its file has the marks alone, so nothing is written twice.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

__all__ = ["MARK", "RELATIONS", "TABLES", "with_tables"]

RELATIONS = "property-relations.toml"  # beside the page of properties
MARK = re.compile(r"^<!-- generated: ([\w-]+) -->$", re.MULTILINE)


def with_tables(text: str, folder: Path) -> str:
    """Return a page with a table in place of each mark.

    Args:
        text: Markdown.
        folder: the page's, in which data files lie.

    Raises:
        KeyError: a mark names no table.
    """
    return MARK.sub(lambda found: TABLES[found[1]](folder), text)


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table as Markdown; a bar in a cell does not end the cell."""
    cells = [[" ".join(cell.split()).replace("|", r"\|") for cell in row] for row in rows]
    return "\n".join("| " + " | ".join(row) + " |" for row in (head, ["---"] * len(head), *cells))


def properties(_: Path) -> str:
    """Return the table of the properties of the papers: what `invariants/` states of each."""
    from invariants import PROPERTIES

    return table(
        ("property", "of", "judges", "source", "statement", "witness"),
        ((f"`{p.name}`", p.of, ", ".join(p.protocols) or "all", p.source, p.statement, p.premise) for p in PROPERTIES),
    )


def relations(folder: Path) -> dict[str, list[dict[str, Any]]]:
    """Return the implications and counterexamples that a folder's data file lists."""
    return tomllib.loads((folder / RELATIONS).read_text(encoding="utf-8"))


def named(names: Iterable[str]) -> str:
    """Return names in a line: properties as they are, conditions in italics."""
    from invariants import PROPERTIES

    known = {p.name for p in PROPERTIES}
    return ", ".join(name if name in known else f"*{name}*" for name in names)


def implications(folder: Path) -> str:
    """Return the table of which properties imply which."""
    rows = relations(folder)["implication"]
    return table(("if", "then", "because"), ((named(r["if"]), named([r["then"]]), r.get("because", "")) for r in rows))


def counterexamples(folder: Path) -> str:
    """Return the table of histories, one for each implication that fails."""
    rows = relations(folder)["counterexample"]
    return table(
        ("these hold", "this does not", "in this history"),
        ((named(r["these_hold"]), named([r["violated"]]), "; ".join(r["history"])) for r in rows),
    )


# The tables by the name in their mark, each written by a function of the page's folder.
TABLES: dict[str, Callable[[Path], str]] = {
    "properties": properties,
    "implications": implications,
    "counterexamples": counterexamples,
}
