"""Show a result in a notebook."""

from __future__ import annotations

from collections.abc import Sequence

from checker.errors import HELD, NO_VERDICT, VIOLATED
from checker.report.remarks import left_out_notes
from checker.report.result import Result

COLOURS = {HELD: "#1a7f37", VIOLATED: "#cf222e", NO_VERDICT: "#8250df"}
LEFT = ' style="text-align:left"'


def as_html(result: Result) -> str:
    """Return the sentence, a row for each verdict, and the first counterexample."""
    from html import escape

    verdicts = list(result.said())
    columns = list(dict.fromkeys(column for v in verdicts for column in v.evidence))
    rows = [
        (v.name, v.verdict, "" if v.at is None else str(v.at), v.why, *(v.evidence.get(c, "") for c in columns))
        for v in verdicts
    ]
    shown = next((v.text for v in verdicts if v.text), "")
    parts = [f'<p style="color:{COLOURS[result.exit_code]}"><b>{escape(result.sentence)}</b></p>']
    parts += [html_table(("property", "verdict", "at", "why", *columns), rows)] if rows else []
    parts += [f"<p>{escape(note)}</p>" for note in left_out_notes(result.left_out)]
    parts += [f"<details><summary>counterexample</summary><pre>{escape(shown)}</pre></details>"] if shown else []
    return "\n".join(parts)


def html_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table whose cells are text; columns that are empty in every row are left out."""
    from html import escape

    kept = [k for k in range(len(head)) if any(row[k] for row in rows)]

    def line(tag: str, cells: Sequence[str]) -> str:
        return "<tr>" + "".join(f"<{tag}{LEFT}>{escape(cells[k])}</{tag}>" for k in kept) + "</tr>"

    return "\n".join(["<table>", line("th", head), *(line("td", row) for row in rows), "</table>"])
