"""Write a result as an HTML page: the one that its kind draws, or its parts; no text in it can become markup."""

from __future__ import annotations

from checker.plain_text import plain
from checker.report.formats.format import Format
from checker.report.formats.terminal import text_of
from checker.report.result import Result


def as_html(result: Result) -> bytes:
    """Return the page.

    Raises:
        NoVerdict: what is to be drawn does not replay.
    """
    return (result.page() or page_of_parts(result)).encode()


def page_of_parts(result: Result) -> str:
    """Return a page that has the parts of a result as text."""
    from traces.pages.shell import environment

    said = [plain(text_of(part)) for part in result.parts()]
    template = environment("checker.report").get_template("parts.html.j2")
    return template.render(sentence=plain(result.sentence), parts_said=said)


FORMAT = Format("html", "Also write the report as a page, with what it draws.", as_html, ("explore", "audit"))
