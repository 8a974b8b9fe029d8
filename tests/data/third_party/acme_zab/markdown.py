"""A result as Markdown: its sentence, and a row for each verdict."""

from __future__ import annotations

from checker.report.formats.format import Format
from checker.report.result import Result


def as_markdown(result: Result) -> bytes:
    """Return the text."""
    rows = [f"| {v.name} | {v.verdict} | {'' if v.at is None else v.at} |" for v in result.said()]
    table = ["", "| property | verdict | at |", "|---|---|---|", *rows] if rows else []
    return "\n".join([f"**{result.sentence}**", *table, ""]).encode()


FORMAT = Format("markdown", "Also write the verdicts as Markdown.", as_markdown)
