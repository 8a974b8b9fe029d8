"""Write a result for people: the only renderer of all that commands print.

A terminal shows what a pipe gets, at its own width and with colours. No word is cut: columns that do not fit are moved
below their row (`traces/explain/folding.py`).
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from checker.plain_text import Verbatim, plain
from checker.report.result import COLOURS, EXIT_CODES, NO_VERDICT, VIOLATED, Part, Result, Row, Table, Words

if TYPE_CHECKING:
    from rich.text import Text

HEAD = "bold"  # the style of column heads on a terminal
CODES = {EXIT_CODES[verdict]: COLOURS[verdict] for verdict in (VIOLATED, NO_VERDICT)}
Styled = list[tuple[str, str]]  # a line: pieces, each with its style


def plain_text(result: Result) -> str:
    """Return a result as plain text."""
    return listed(result.parts())


def listed(parts: Sequence[Part], width: int | None = None) -> str:
    """Return parts as plain text, separated by empty lines."""
    return "\n\n".join(text_of(part, width) for part in parts) + "\n"


def text_of(part: Part, width: int | None = None) -> str:
    """Return a part as plain text.

    Args:
        width: the maximum columns of a line, except for a longer word; None for 80, as in a pipe.
    """
    return "\n".join("".join(text for text, _ in line) for line in lines_of(part, width))


def lines_of(part: Part, width: int | None = None) -> Iterator[Styled]:
    """Return the lines of a part: for a table the title above indented rows, or the head above rows."""
    from traces.explain.folding import WIDTH, fitted, note, pieces

    width = width or WIDTH
    if isinstance(part, str):
        yield from unstyled(fitted(part, width))
        return
    if isinstance(part, Words):
        for sentence in part.sentences:
            yield from unstyled(note(sentence, width), part.colour)
        if part.below:
            yield from unstyled(fitted(part.below, width))
        return
    if part.above:
        yield from unstyled(fitted(part.above, width))
    begins = "  " if part.title else ""
    if part.title:
        yield [(part.title, HEAD)]
    head = bool(part.head) and not part.title
    rows = [[plain(cell) for cell in row] for row in ([part.head, *part.rows] if head else part.rows)]
    for line in pieces(rows, part.right, head, width - len(begins)):
        yield [(begins, ""), *((p.text, style(part, p.row, p.column, head)) for p in line)]
    if part.below:
        yield from unstyled(fitted(part.below, width))


def unstyled(text: str, colour: str = "") -> Iterator[Styled]:
    """Return the lines of a text, each of one style."""
    return ([(line, colour)] for line in text.split("\n"))


def style(part: Table, row: int, column: int, head: bool) -> str:
    """Return the style of a cell on a terminal: of the head, or of the second cell of a row."""
    if head and row == 0:
        return HEAD
    return part.colours[row - head] if column == 1 and part.colours else ""


def shown(result: Result) -> list[str]:
    """Return a result in stdout's form, for `checker.ending.Answer`."""
    parts = result.parts()
    if not parts:
        return []
    return [coloured(headed(result, parts)) if sys.stdout.isatty() else listed(parts)]


def headed(result: Result, parts: Sequence[Part]) -> Sequence[Part]:
    """Return parts for a terminal, on which the headline has the colour of the exit code unless it has its own.

    Exit code 0 has none: the report alone knows whether all that was requested was put to the test.
    """
    first, *others = parts
    colour = CODES.get(result.exit_code, "")
    if isinstance(first, Words) and not first.colour:
        return [Words(first.sentences, colour), *others]
    if isinstance(first, str) and first.startswith(result.sentence.split(" ")[0]):
        head, _, rest = first.partition("\n")
        return [Words([head], colour, below=rest), *others]
    return parts


def table(head: Row, rows: Sequence[Row]) -> str:
    """Return rows in stdout's form."""
    return coloured([Table(rows, head)]) if sys.stdout.isatty() else text_of(Table(rows, head))


def coloured(parts: Sequence[Part]) -> Verbatim:
    """Return parts for the terminal that stdout is; plain with `NO_COLOR`, or on a terminal without colours."""
    from rich.console import Console

    console = Console(highlight=False)
    if console.no_color or console.color_system is None:
        return Verbatim(plain(listed(parts, console.width)))
    with console.capture() as captured:
        for k, part in enumerate(parts):
            if k:
                console.print()
            for line in lines_of(part, console.width):
                console.print(as_text(line), soft_wrap=True)
    return Verbatim(captured.get())


def rendered(markdown: str) -> str:
    """Return Markdown for the terminal that stdout is; as it stands in a pipe, or on a terminal without colours."""
    from rich.console import Console
    from rich.markdown import Markdown

    console = Console(highlight=False)
    if not sys.stdout.isatty() or console.no_color or console.color_system is None:
        return markdown
    with console.capture() as captured:
        console.print(Markdown(plain(markdown), code_theme="ansi_dark", hyperlinks=False))
    return Verbatim(captured.get())


def as_text(line: Styled) -> Text:
    """Return a line for rich; nothing of it is markup."""
    from rich.text import Text

    return Text.assemble(*((plain(text), style) for text, style in line))
