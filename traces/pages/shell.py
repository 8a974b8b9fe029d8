"""The frame of a page, and how templates are read."""

from __future__ import annotations

import hashlib
import re
from base64 import b64encode
from collections.abc import Sequence
from functools import cache

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined

from traces.pages.colours import variables
from traces.pages.markup import visible

END = re.compile("[.;] ")  # of a clause
LONGEST = 60  # characters of a title: what tabs, bookmarks and histories show


@cache
def environment(*packages: str) -> Environment:
    """Return templates in which all text is data.

    Args:
        packages: packages whose folder `templates` is read in addition to that of the shell.
    """
    loader = ChoiceLoader([PackageLoader(name) for name in ("traces.pages", *packages)])
    out = Environment(loader=loader, autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=StrictUndefined)
    out.finalize = lambda value: visible(value) if type(value) is str else value

    def source(name: str) -> str:
        return "\n" + loader.get_source(out, name)[0].strip() + "\n"

    def policy(scripts: Sequence[str], connects: bool) -> str:
        return policy_of([source(name) for name in scripts], connects)

    out.globals |= {"colours": variables(), "source": source, "policy": policy}
    out.filters |= {"short": short, "headline": headline, "rest": rest}
    return out


def policy_of(scripts: Sequence[str], connects: bool) -> str:
    """Return the content security policy of a page: its own styles and these scripts, and nothing from elsewhere.

    Args:
        scripts: their text; no other script, which the data might contain, is run.
        connects: whether the page may send requests to the server that it came from.
    """
    digests = [f"'sha256-{b64encode(hashlib.sha256(text.encode()).digest()).decode()}'" for text in scripts]
    said = ["default-src 'none'", "base-uri 'none'", "form-action 'none'", "img-src data:", "style-src 'unsafe-inline'"]
    said += [f"script-src {' '.join(digests)}"] + (["connect-src 'self'"] if connects else [])
    return "; ".join(said)


def headline(said: str) -> str:
    """Return the first clause of a text as a headline: without its full stop; a word that begins it has a capital."""
    first = END.split(said, 1)[0].removesuffix(".")
    return first[:1].upper() + first[1:] if first.partition(" ")[0].isalpha() else first


def rest(said: str) -> str:
    """Return what follows the headline of a text, which may be nothing."""
    return "".join(END.split(said, 1)[1:])


def short(said: str) -> str:
    """Return a title: the words that have room, up to the end of the first sentence."""
    words = " ".join(said.split())
    first = words.partition("; ")[0]
    if len(first) <= LONGEST:
        return first.removesuffix(".")
    cut = first[: LONGEST - 1]
    return (cut.rpartition(" ")[0] or cut).rstrip(",:;. ") + "\N{HORIZONTAL ELLIPSIS}"
