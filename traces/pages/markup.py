"""Markup: what is said is data, whatever it is called, and nothing in it is read as a tag."""

from __future__ import annotations

import re
from collections.abc import Mapping
from xml.sax.saxutils import escape, quoteattr

__all__ = ["FORBIDDEN", "Attributes", "tag", "text"]

FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")  # XML 1.0, 2.2


Attributes = Mapping[str, str | float]


def text(said: str) -> str:
    """Text between tags; what no document may hold is shown as a box."""
    return escape(FORBIDDEN.sub("\N{REPLACEMENT CHARACTER}", said))


def tag(name: str, attributes: Attributes | None = None, inside: str = "") -> str:
    """An element.

    Args:
        attributes: by name; `_` stands for `-`; a number is written with a tenth at most.
        inside: markup.
    """
    given = "".join(f" {key.replace('_', '-')}={value(v)}" for key, v in (attributes or {}).items())
    return f"<{name}{given}>{inside}</{name}>" if inside else f"<{name}{given}/>"


def value(given: str | float) -> str:
    """The value of an attribute, in its quotes."""
    said = given if isinstance(given, str) else f"{given:.1f}".removesuffix(".0")
    return quoteattr(FORBIDDEN.sub("\N{REPLACEMENT CHARACTER}", said))
