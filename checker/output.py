"""Tables on stdout, for a terminal and for other readers."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from checker.plain_text import Verbatim

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["coloured", "table"]


def coloured(show: Callable[[Console], object]) -> Verbatim:
    """Return what is shown on stdout, which is a terminal."""
    from rich.console import Console

    console = Console(highlight=False)
    with console.capture() as captured:
        show(console)
    return Verbatim(captured.get())


def table(head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    """Return rows: as a table for a terminal, aligned otherwise."""
    if not sys.stdout.isatty():
        from traces.explain.folding import aligned

        return aligned([head, *rows], head=True)
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    out = Table(*head, box=SIMPLE_HEAD)
    for row in rows:
        out.add_row(*(Text(cell) for cell in row))
    return coloured(lambda console: console.print(out))
