"""Write the tables about ZooKeeper that pages have (`checker/page_tables.py`)."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from pathlib import Path

from checker.page_tables import table

RELEASES = "zookeeper-releases.toml"  # beside the page of ZooKeeper's bugs


def properties(_: Path) -> str:
    """Return the table of the properties of `zookeeper`, with the statement of each from its source."""
    from zabspec.protocols.registry import PROTOCOLS

    return table(("property", "statement"), ((f"`{p.name}`", p.statement) for p in PROTOCOLS["zookeeper"].claims))


def bugs(_: Path) -> str:
    """Return the track record: each known bug, its release, the property that it violates, and its fix."""
    from checker.zookeeper.rows import ROWS

    rows = (
        (
            r.issue,
            (r.number or r.release) + (f" with `{r.settings}`" if r.settings else ""),
            r.says,
            f"`{r.breaks}`",
            str(r.merged),
            ", ".join(r.fix),
            "holds" if r.held else "not settled",
            r.published,
        )
        for r in ROWS
    )
    return table(("bug", "release", "what happens", "violates", "steps", "fix", "with it", "published"), rows)


def releases(folder: Path) -> str:
    """Return the table of which release has which bug, as a data file beside the page records it."""
    from checker.zookeeper.rows import ROWS

    recorded = tomllib.loads((folder / RELEASES).read_text(encoding="utf-8"))
    violated = {row.issue: row.breaks for row in ROWS}
    rows = (
        (bug, f"`{violated[bug]}`", *map(of_release, occurs, recorded["breaks"][bug], recorded["by_it"][bug]))
        for bug, occurs in recorded["occurs"].items()
    )
    return table(("bug", "violates", *recorded["releases"]), rows)


def of_release(occurs: int, breaks: int, by_it: bool) -> str:
    """Return the text of a cell of that table.

    Args:
        occurs: after how many steps the mechanism occurs; 0: never.
        breaks: after how many the property is violated; 0: never.
        by_it: the mechanism occurs in that run.
    """
    if by_it:
        return f"**{breaks}**"
    other = f"; other {breaks}" if breaks else ""
    return (f"occurs {occurs}" if occurs else "no") + other


def audit_codes(_: Path) -> str:
    """Return the table of every code of an audit, with its usual advice."""
    from traces.zookeeper.audit.codes import TABLE

    return table(("code", "what it is", "what to do"), ((f"`{c.code}`", c.what, c.do) for c in TABLE))


TABLES: dict[str, Callable[[Path], str]] = {
    "audit-codes": audit_codes,
    "bugs": bugs,
    "properties": properties,
    "releases": releases,
}
