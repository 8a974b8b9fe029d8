"""Write a result as an HTML page: the one that its kind draws, or its parts; no text in it can become markup."""

from __future__ import annotations

import re
from collections.abc import Sequence

from checker.plain_text import plain
from checker.report.formats.format import Format
from checker.report.formats.terminal import text_of
from checker.report.result import Result, Row, Table

KINDS = ("explore", "audit", "graph", "plan", "quorums")


def as_html(result: Result) -> bytes:
    """Return the page.

    Raises:
        NoVerdict: what is to be drawn does not replay.
    """
    return (result.page() or page_of_parts(result)).encode()


def page_of_parts(result: Result) -> str:
    """Return a page that has the parts of a result: tables as tables, the rest as text."""
    from traces.pages.shell import environment

    blocks: list[tuple[str, Sequence[str], Sequence[Row], str]] = []
    for part in result.parts():
        if isinstance(part, Table):
            blocks.append((plain(part.title or part.above), part.head, part.rows, plain(part.below)))
        else:
            said, headline = unfolded(plain(text_of(part))), plain(result.sentence)
            said = "" if " ".join(said.split()) == headline else said.removeprefix(f"{headline}\n")
            blocks.append((said, (), (), ""))
    template = environment("checker.report").get_template("parts.html.j2")
    return template.render(
        sentence=plain(result.sentence), code=result.exit_code, blocks=blocks, picture=result.picture()
    )


def unfolded(text: str) -> str:
    """Return a text without the line breaks that only fit it to a terminal: a page folds lines itself."""
    return re.sub(r"(?<!\\)\n {2,}(?=\S)", " ", text)


FORMAT = Format("html", "Also write the report as a page, with what it draws.", as_html, KINDS)
