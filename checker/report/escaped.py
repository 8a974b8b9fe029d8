"""Pages on which nothing looks like something else: control characters are escaped as in a terminal."""

from __future__ import annotations

from functools import cache
from typing import Any

from jinja2 import Template

from checker.plain_text import plain
from traces.pages.markup import visible
from traces.pages.shell import environment


def escaped(value: Any) -> Any:
    """Return a value as a page shows it, a text without characters that a terminal would obey."""
    return visible(plain(value)) if type(value) is str else value


@cache  # an overlay keeps no template: each page would compile its own
def template(name: str) -> Template:
    """Return a template of this folder."""
    return environment("checker.report").overlay(finalize=escaped).get_template(name)
