"""Fold text into lines of 80 columns, only between words, so that no name and no option is cut."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

WIDTH = 80
MOST_LINES = 2  # of a cell beside other cells; a longer one goes below its row
COMMAND = ": zabcheck "
COMMAND_LINE = re.compile(r"(?:mvn |zabcheck (?:[a-z]\S* ){0,2})-")  # a line that is to be copied, and is no prose
FAST = "\N{NO-BREAK SPACE}"


class Piece(NamedTuple):
    """A piece of a table line.

    Attributes:
        text: the piece, with the blanks that align it.
        row: the row that it belongs to, from 0; the head of a table, if there is one, is row 0.
        column: the column that it belongs to; -1 for a label or an indent.
    """

    text: str
    row: int
    column: int


def folded(said: str, first: str = "", others: str | None = None, width: int = WIDTH) -> str:
    """Fold a text into lines.

    Args:
        said: the text; its own line breaks stay.
        first: the prefix of the first line.
        others: the prefix of the other lines; by default blanks of the length of `first`.
        width: the maximum width in columns; a longer word exceeds it.
    """
    others = " " * len(first) if others is None else others
    out = []
    for k, line in enumerate(said.splitlines() or [""]):
        begins = others if k else first
        out += wrapped(line, width, begins, others) or [begins.rstrip()]
    return "\n".join(out)


def fitted(text: str, width: int = WIDTH) -> str:
    """Fold the lines of a text that are too long, and indent their continuations by two blanks.

    A line that is a command continues with backslashes, so that it can be copied.
    """
    out = []
    for line in text.split("\n"):
        begins = line[: len(line) - len(line.lstrip())]
        if len(line) <= width:
            out.append(line)
        elif COMMAND_LINE.match(line.lstrip()):
            out.append(command_lines(line.strip(), begins, width))
        else:
            out.append(folded(line.lstrip(), begins, begins + "  ", width))
    return "\n".join(out)


def command_lines(command: str, begins: str = "", width: int = WIDTH) -> str:
    """Fold a command into lines that a shell reads as one; an option stays beside its value."""
    first, *parts = re.split(r" (?=-)", command)
    lines = [begins + first]
    for part in parts:
        if len(lines[-1]) + 1 + len(part) <= width - 2:
            lines[-1] += f" {part}"
        else:
            lines.append(f"{begins}    {part}")
    return " \\\n".join(lines)


def wrapped(line: str, width: int, first: str = "", others: str = "") -> list[str]:
    """Fold a line into lines; a transaction stays beside its zxid."""
    lines = textwrap.wrap(
        line.replace(" <", f"{FAST}<"), width, initial_indent=first, subsequent_indent=others, break_long_words=False,
        break_on_hyphens=False, replace_whitespace=False, drop_whitespace=True,
    )  # fmt: skip
    return [said.replace(f"{FAST}<", " <") for said in lines]


def note(said: str, width: int = WIDTH) -> str:
    """Fold a sentence into lines; a command at its end gets lines of its own, so that it can be copied."""
    if len(said) <= width or COMMAND not in said:
        return folded(said, others="  ", width=width)
    before, _, command = said.rpartition(COMMAND)
    return folded(f"{before}:", others="  ", width=width) + "\n" + command_lines(f"zabcheck {command}", "  ", width)


def aligned(rows: Sequence[Sequence[str]], right: int = -1, head: bool = False, width: int = WIDTH) -> str:
    """Return rows as columns of text, two spaces apart: the lines of `pieces`.

    Args:
        rows: the rows, all of the same length.
        right: the column that is aligned to the right; -1 for none.
        head: whether the first row names the columns.
        width: the most columns of a line, except for a longer word.
    """
    return "\n".join("".join(p.text for p in line) for line in pieces(rows, right, head, width))


def pieces(
    rows: Sequence[Sequence[str]], right: int = -1, head: bool = False, width: int = WIDTH
) -> Iterator[list[Piece]]:
    """Yield the lines of a table, each as pieces, so that a terminal can colour single cells.

    Columns are narrowed until at most two lines of a cell result. As many columns as then fit stand beside each other;
    the values of the others follow below their row, each labelled with its column's name. No word is cut.
    """
    if not rows:
        return
    count = next(n for n in range(len(rows[0]), 0, -1) if n == 1 or fits([row[:n] for row in rows], width))
    if not head and len(rows[0]) == 2 and width - longest_word(rows, 0) - 2 >= max(width // 2, longest_word(rows, 1)):
        count = 2  # a name and its description: prose beside its name, of any length
    widths = narrowed([row[:count] for row in rows], width)
    names = rows[0] if head else [""] * len(rows[0])
    for number, row in enumerate(rows):
        cells = [wrapped(cell, w) or [""] for cell, w in zip(row, widths, strict=False)]
        for k in range(max(map(len, cells))):
            parts = [cell[k] if k < len(cell) else "" for cell in cells]
            last = max((c for c, part in enumerate(parts) if part), default=-1)
            line = []
            for c, part in enumerate(parts[: last + 1]):
                padded = part.rjust(widths[c]) if c == right else part.ljust(widths[c])
                line += ([Piece("  ", number, -1)] if c > 0 else []) + [
                    Piece(padded.rstrip() if c == last else padded, number, c)
                ]
            yield line
        for c, (name, cell) in enumerate(zip(names[count:], row[count:], strict=True), count):
            if cell and not (head and number == 0):
                begins = f"    {name}: " if name else "    "
                first, *others = folded(cell, begins, "      ", width).split("\n")
                yield [Piece(begins, number, -1), Piece(first[len(begins) :], number, c)]
                yield from ([Piece(line, number, c)] for line in others)


def fits(rows: Sequence[Sequence[str]], width: int) -> bool:
    """Return whether the columns can be narrowed to the width without making a cell too long."""
    widths = narrowed(rows, width)
    if total(widths) > width:
        return False
    return all(len(wrapped(cell, w)) <= MOST_LINES for row in rows for cell, w in zip(row, widths, strict=True))


def narrowed(rows: Sequence[Sequence[str]], width: int) -> list[int]:
    """Return the widths of the columns after narrowing the widest, at least to their longest words."""
    widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))]
    least = [longest_word(rows, k) for k in range(len(rows[0]))]
    while total(widths) > width:
        able = [k for k in range(len(widths)) if widths[k] > least[k]]
        if not able:
            break
        widths[max(able, key=lambda k: widths[k])] -= 1
    return widths


def longest_word(rows: Sequence[Sequence[str]], column: int) -> int:
    """Return the length of the longest word of a column."""
    return max((len(word) for row in rows for word in row[column].split()), default=0)


def total(widths: Iterable[int]) -> int:
    """Return the width of the columns together, with the blanks between them."""
    each = list(widths)
    return sum(each) + 2 * (len(each) - 1)
