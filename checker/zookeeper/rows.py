"""Read the track record (`rows.toml`): each row a bug, a release that has it, the fixes of all others, and its own."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, field
from importlib.resources import files
from typing import Any


@dataclass(frozen=True)
class Row:
    """A bug.

    Attributes:
        issue: its number in ZooKeeper's tracker; a name if it is in none, and was found here.
        release: one that has it.
        others: the known fixes of other bugs, none of which contains its own.
        fix: its own.
        breaks: the property.
        says: what happens, in a sentence.
        split: the paper's step that the code splits.
        budget: the amounts of faults and actions that differ from the usual.
        depth: the number of steps to the violation, as recorded, each taken separately.
        merged: the number with merged steps (`zabspec/zookeeper/variants/coarse.py`).
        held: whether with its fix it holds within the same budget, as recorded.
        published: what others have published of it: seconds, depth, states.
        start: where its runs begin; empty for the initial state.
        settings: variants of settings that it needs, and with which it is explored.
        number: the release to explore, if it behaves differently with these than the one whose model it has; empty if
            it does not.
    """

    issue: str
    release: str
    others: tuple[str, ...]
    fix: tuple[str, ...]
    breaks: str
    says: str
    split: str
    budget: dict[str, int] = field(default_factory=dict)
    depth: int = 0
    merged: int = 0
    held: bool = True
    published: str = ""
    start: str = "established"
    settings: str = ""
    number: str = ""


def row_of(issue: str, also: list[str], without: list[str], **given: Any) -> Row:
    """Return a row of the file: the fixes of other bugs are the usual ones, with some more, and without some."""
    others = tuple(name for name in (*READ["others"], *also) if name not in without)
    return Row(issue, others=others, fix=tuple(given.pop("fix")), **given)


READ = tomllib.loads(files("checker.zookeeper").joinpath("rows.toml").read_text(encoding="utf-8"))
USUAL: dict[str, int] = READ["usual"]
# What a client may see of a violation, by property: no more than the property's statement implies.
CLIENTS: dict[str, str] = READ["clients"]
NOT_FOUND: dict[str, str] = READ["not_found"]  # rows of BUGS.tsv without a row here, with the reason
ROWS = tuple(row_of(issue, **{"also": [], "without": [], **row}) for issue, row in READ["rows"].items())
