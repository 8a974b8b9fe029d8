"""Write markup: all text is data, whatever it contains, and nothing in it is read as a tag."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from xml.sax.saxutils import escape, quoteattr

FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")  # XML 1.0, 2.2
# Characters that show text in another place than where it stands, or end a line that does not end.
MOVING = re.compile("[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")


Attributes = Mapping[str, str | float]


def visible(said: str) -> str:
    """Replace the characters of a text that no document may contain, or that move other text, by a box."""
    return MOVING.sub("\N{REPLACEMENT CHARACTER}", FORBIDDEN.sub("\N{REPLACEMENT CHARACTER}", said))


def text(said: str) -> str:
    """Return text as it is written between tags."""
    return escape(visible(said))


def tag(name: str, attributes: Attributes | None = None, inside: str = "") -> str:
    """Return an element.

    Args:
        attributes: by name; `_` stands for `-`; a number is written with one decimal at most.
        inside: markup.
    """
    given = "".join(f" {key.replace('_', '-')}={value(v)}" for key, v in (attributes or {}).items())
    return f"<{name}{given}>{inside}</{name}>" if inside else f"<{name}{given}/>"


def value(given: str | float) -> str:
    """Return the value of an attribute, in its quotes."""
    return quoted(given) if isinstance(given, str) else f'"{given:.1f}"'.replace('.0"', '"')


@lru_cache(maxsize=4096)
def quoted(said: str) -> str:
    """Return a text in quotes, cached, since a drawing repeats few texts."""
    return quoteattr(visible(said))
