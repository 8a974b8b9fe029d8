"""Text for a terminal, without what a terminal obeys."""

from __future__ import annotations

import re

__all__ = ["Verbatim", "one_line", "plain", "sentence"]

LONGEST = 2000  # characters of a sentence: what it quotes may be larger than any screen
# Characters that a terminal takes for an order, or shows in another place than where they stand.
ORDERS = re.compile("[\0-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


class Verbatim(str):
    """Text that is written as it is: with colours for a terminal, or without an end of line."""

    __slots__ = ()


def plain(text: str) -> str:
    """Return the text with such characters escaped; lines stay lines."""
    return ORDERS.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def one_line(text: str) -> str:
    """Return the text escaped, as part of one line."""
    return plain(text).replace("\n", "\\n").replace("\t", "\\t")


def sentence(text: str) -> str:
    """Return a sentence on one line, cut where it is very long."""
    words = plain(" ".join(text.split()))
    return words if len(words) <= LONGEST else f"{words[:LONGEST]} ..."
