"""A result for a person: tables on a terminal, plain aligned text elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from checker.plain_text import Verbatim, plain
from checker.report.result import Part, Result, Row, Table, Words

if TYPE_CHECKING:
    from rich.table import Table as RichTable

__all__ = ["plain_text", "shown", "table", "text_of"]


def plain_text(result: Result) -> str:
    """Return a result as plain text."""
    return listed(result.parts())


def listed(parts: Sequence[Part]) -> str:
    """Return parts as plain text, set apart by empty lines."""
    return "\n\n".join(map(text_of, parts)) + "\n"


def text_of(part: Part) -> str:
    """Return a part as plain text: of a table the title above rows that are set in, or the head above rows."""
    from traces.explain.folding import aligned, note

    if isinstance(part, str):
        return part
    if isinstance(part, Words):
        return "\n".join(note(sentence) for sentence in part.sentences)
    if part.title:
        return "\n".join([part.title, *(f"  {line}" for line in aligned(part.rows, part.right).splitlines())])
    text = aligned([part.head, *part.rows] if part.head else part.rows, part.right, bool(part.head))
    return "\n".join(filter(None, (part.above, text, part.below)))


def shown(result: Result) -> list[str]:
    """Return a result as stdout has it, for `checker.ending.Answer`."""
    parts = result.parts()
    if not parts:
        return []
    return [coloured(parts) if sys.stdout.isatty() else listed(parts)]


def table(head: Row, rows: Sequence[Row]) -> str:
    """Return rows as stdout has them."""
    return coloured([Table(rows, head)]) if sys.stdout.isatty() else text_of(Table(rows, head))


def coloured(parts: Sequence[Part]) -> Verbatim:
    """Return parts as the terminal that stdout is shows them."""
    from rich.console import Console
    from rich.text import Text

    console, before = Console(highlight=False), None
    with console.capture() as captured:
        for part in parts:
            if isinstance(part, Table):
                for each in (part.above, drawn(part), part.below):
                    if each:
                        console.print(Text(plain(each)) if isinstance(each, str) else each)
            else:
                if isinstance(part, str) and before is not None:
                    console.print()
                text, colour = (part, "") if isinstance(part, str) else ("\n".join(part.sentences), part.colour)
                console.print(Text(plain(text).rstrip("\n"), style=colour))
            before = part
    return Verbatim(captured.get())


def drawn(part: Table) -> RichTable:
    """Return a table as terminals show it."""
    from rich import box, table
    from rich.text import Text

    out = table.Table(box=box.SIMPLE_HEAD if part.head else None, show_header=bool(part.head))
    for k, name in enumerate(part.head or part.rows[0] if part.rows else ()):
        out.add_column(name if part.head else "", justify="right" if k == part.right else "left")
    for k, row in enumerate(part.rows):
        colours = ["", part.colours[k] if part.colours else ""]
        out.add_row(*(Text(plain(cell), style=colours[c] if c < len(colours) else "") for c, cell in enumerate(row)))
    return out
