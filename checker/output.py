"""Tables on stdout."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from checker.ending import HELD, say

__all__ = ["table"]


def table(head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> int:
    """Print rows: as a table on a terminal, aligned otherwise."""
    if not sys.stdout.isatty():
        from traces.explain.folding import aligned

        return say(aligned([head, *rows], head=True), HELD)
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    out = Table(*head, box=SIMPLE_HEAD)
    for row in rows:
        out.add_row(*(Text(cell) for cell in row))
    Console().print(out)
    return HELD
