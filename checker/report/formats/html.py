"""A result as a page of HTML: the one that its kind draws, or its parts; nothing of it can become markup."""

from __future__ import annotations

from checker.plain_text import plain
from checker.report.formats.format import Format
from checker.report.formats.terminal import text_of
from checker.report.result import Result

__all__ = ["FORMAT", "as_html"]


def as_html(result: Result) -> bytes:
    """Return the page.

    Raises:
        NoVerdict: what is to be drawn is not so.
    """
    return (result.page() or page_of_parts(result)).encode()


def page_of_parts(result: Result) -> str:
    """Return a page that has the parts of a result as text."""
    from html import escape

    title = escape(plain(result.sentence))
    blocks = "\n".join(f"<pre>{escape(plain(text_of(part)))}</pre>" for part in result.parts())
    head = f"<!doctype html><html lang=en><meta charset=utf-8><title>{title}</title>"
    return f"{head}\n<h1>{title}</h1>\n{blocks}\n</html>\n"


FORMAT = Format("html", "Also write the report as a page, with what it draws.", as_html, ("explore", "audit"))
