"""Text in lines of 80 columns: folded between words, never inside one, so that no name and no flag is cut."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Sequence

__all__ = ["WIDTH", "aligned", "fitted", "folded", "note"]

WIDTH = 80
MOST_LINES = 2  # of a cell beside others; what is longer goes below its row
COMMAND = ": zabcheck "
FAST = "\N{NO-BREAK SPACE}"


def folded(said: str, first: str = "", others: str | None = None, width: int = WIDTH) -> str:
    """A text in lines.

    Args:
        said: it; lines of its own stay.
        first: what its first line begins with.
        others: what the others begin with; as many blanks as `first` has letters if not given.
        width: the most columns of a line, but for a word that is longer.
    """
    others = " " * len(first) if others is None else others
    out = []
    for k, line in enumerate(said.splitlines() or [""]):
        begins = others if k else first
        out += wrapped(line, width, begins, others) or [begins.rstrip()]
    return "\n".join(out)


def fitted(text: str, width: int = WIDTH) -> str:
    """A text whose lines that are too long are folded, two blanks farther in than they begin."""
    out = []
    for line in text.split("\n"):
        begins = line[: len(line) - len(line.lstrip())]
        out.append(line if len(line) <= width else folded(line.lstrip(), begins, begins + "  ", width))
    return "\n".join(out)


def wrapped(line: str, width: int, first: str = "", others: str = "") -> list[str]:
    """A line in lines; a transaction stays beside its zxid."""
    lines = textwrap.wrap(
        line.replace(" <", f"{FAST}<"), width, initial_indent=first, subsequent_indent=others, break_long_words=False,
        break_on_hyphens=False, replace_whitespace=False, drop_whitespace=True,
    )  # fmt: skip
    return [said.replace(f"{FAST}<", " <") for said in lines]


def note(said: str, width: int = WIDTH) -> str:
    """A sentence in lines; a command at its end stands by itself, and can be copied from there."""
    if len(said) <= width or COMMAND not in said:
        return folded(said, others="  ", width=width)
    before, _, command = said.rpartition(COMMAND)
    lines = ["  zabcheck"]
    for part in re.split(r" (?=-)", command):  # a flag stays beside its value
        if len(lines[-1]) + 1 + len(part) <= width - 2:
            lines[-1] += f" {part}"
        else:
            lines.append(f"      {part}")
    return folded(f"{before}:", others="  ", width=width) + "\n" + " \\\n".join(lines)


def aligned(rows: Sequence[Sequence[str]], right: int = -1, head: bool = False, width: int = WIDTH) -> str:
    """Rows as columns of text, two spaces apart.

    Columns are narrowed where that makes two lines of a cell at the most. As many as fit so stand beside each other;
    what the others say stands below its row, named as the head names its column.

    Args:
        rows: them, each as long as the first.
        right: the column that is set to the right; -1: none.
        head: the first row names the columns.
        width: the most columns of a line, but for a word that is longer.
    """
    count = next(n for n in range(len(rows[0]), 0, -1) if n == 1 or fits([row[:n] for row in rows], width))
    widths = narrowed([row[:count] for row in rows], width)
    names, lines = rows[0] if head else [""] * len(rows[0]), []
    for number, row in enumerate(rows):
        cells = [wrapped(cell, w) or [""] for cell, w in zip(row, widths, strict=False)]
        for k in range(max(map(len, cells))):
            parts = [cell[k] if k < len(cell) else "" for cell in cells]
            set_out = [
                p.rjust(w) if c == right else p.ljust(w) for c, (p, w) in enumerate(zip(parts, widths, strict=True))
            ]
            lines.append("  ".join(set_out).rstrip())
        for name, cell in zip(names[count:], row[count:], strict=True):
            if cell and not (head and number == 0):
                lines.append(folded(cell, f"    {name}: " if name else "    ", "      ", width))
    return "\n".join(lines)


def fits(rows: Sequence[Sequence[str]], width: int) -> bool:
    """Whether columns can be narrowed so that they fit, and no cell is long for it."""
    widths = narrowed(rows, width)
    if total(widths) > width:
        return False
    return all(len(wrapped(cell, w)) <= MOST_LINES for row in rows for cell, w in zip(row, widths, strict=True))


def narrowed(rows: Sequence[Sequence[str]], width: int) -> list[int]:
    """How wide the columns are: the widest are narrowed, to their longest words at the least."""
    widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))]
    least = [max((len(word) for row in rows for word in row[k].split()), default=0) for k in range(len(rows[0]))]
    while total(widths) > width:
        able = [k for k in range(len(widths)) if widths[k] > least[k]]
        if not able:
            break
        widths[max(able, key=lambda k: widths[k])] -= 1
    return widths


def total(widths: Iterable[int]) -> int:
    """How wide columns are together."""
    each = list(widths)
    return sum(each) + 2 * (len(each) - 1)
