"""Show a result in a notebook."""

from __future__ import annotations

from collections.abc import Sequence

from checker.errors import HELD, NO_VERDICT, VIOLATED
from checker.report.remarks import left_out_notes
from checker.report.result import NOT_REACHED, UNFALSIFIABLE, Result

COLOURS = {HELD: "#1a7f37", VIOLATED: "#cf222e", NO_VERDICT: "#8250df"}
UNTESTED = "#9a6700"  # of a headline: nothing is violated, and some property was not put to the test
FRAME = "width:100%;height:32em;border:1px solid #d0d7de"
LEFT = ' style="text-align:left"'


def as_html(result: Result) -> str:
    """Return the sentence, a row for each verdict, and the first counterexample; without verdicts, the whole page."""
    from html import escape

    from checker.report.formats.html import as_html as page_of

    verdicts = list(result.said())
    columns = list(dict.fromkeys(column for v in verdicts for column in v.evidence))
    rows = [
        (v.name, v.verdict, "" if v.at is None else str(v.at), v.why, *(v.evidence.get(c, "") for c in columns))
        for v in verdicts
    ]
    shown = next((v.text for v in verdicts if v.text), "")
    picture = result.picture()
    untested = result.exit_code == HELD and any(v.verdict in (NOT_REACHED, UNFALSIFIABLE) for v in verdicts)
    colour = UNTESTED if untested else COLOURS[result.exit_code]
    parts = [f'<p style="color:{colour}"><b>{escape(result.sentence)}</b></p>']
    if result.framed or not rows:
        return f'{parts[0]}\n<iframe srcdoc="{escape(page_of(result).decode())}" style="{FRAME}"></iframe>'
    parts.append(html_table(("property", "verdict", "at", "why", *columns), rows))
    parts += [f"<p>{escape(note)}</p>" for note in left_out_notes(result.left_out)]
    parts += [picture] if picture else []
    parts += [f"<details><summary>counterexample</summary><pre>{escape(shown)}</pre></details>"] if shown else []
    return "\n".join(parts)


def html_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table whose cells are text; columns that are empty in every row are left out."""
    from html import escape

    kept = [k for k in range(len(head)) if any(row[k] for row in rows)]

    def line(tag: str, cells: Sequence[str]) -> str:
        return "<tr>" + "".join(f"<{tag}{LEFT}>{escape(cells[k])}</{tag}>" for k in kept) + "</tr>"

    return "\n".join(["<table>", line("th", head), *(line("td", row) for row in rows), "</table>"])
