"""Escape characters that a terminal would obey."""

from __future__ import annotations

import re

LONGEST = 2000  # characters of a sentence: what it quotes may be larger than any screen
# Control characters of terminals, and those that change where other characters are shown.
ORDERS = re.compile("[\0-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


class Verbatim(str):
    """Text that is written unchanged: with colours for a terminal, or without a line end."""

    __slots__ = ()


def plain(text: str) -> str:
    """Return the text with control characters escaped; lines stay lines."""
    return ORDERS.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def one_line(text: str) -> str:
    """Return the text escaped, as part of one line."""
    return plain(text).replace("\n", "\\n").replace("\t", "\\t")


def sentence(text: str) -> str:
    """Return a sentence on one line, cut if it is very long."""
    words = plain(" ".join(text.split()))
    return words if len(words) <= LONGEST else f"{words[:LONGEST]} ..."
